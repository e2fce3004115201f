/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* QPs of datagrams, the manager's own and endpoints', and the handles of their peers' addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/cm/ud.h"

enum {
	PSN = 1, /* CM-7 */
};

/* ---- States (CM-7) ---- */

int vrb_ucm_to_init(const struct vrb_dev *dev, struct ibv_qp *ibqp, uint16_t pkey_index)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .pkey_index = pkey_index,
				    .port_num = dev->port,
				    .qkey = UCM_QKEY };

	return ibv_modify_qp(ibqp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
}

int vrb_ucm_to_rts(struct ibv_qp *ibqp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .sq_psn = PSN };
	int err = ibv_modify_qp(ibqp, &attr, IBV_QP_STATE);

	attr.qp_state = IBV_QPS_RTS;
	return err ? err : ibv_modify_qp(ibqp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* ---- Endpoints' ---- */

static int not_ready(const struct vrb_qp *qp, int err)
{
	dapl_err("%s: QP 0x%x not made ready for datagrams: %s", qp->dev->name, qp->ibqp->qp_num,
		 dapl_strerror(abs(err)));
	return -abs(err);
}

/* Idle again, with its receives, which the device gives up: a later attempt begins anew. */
static int undo(struct vrb_qp *qp, int rc)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int err;

	vrb_qp_lock(qp);
	vrb_queue_set_mode(&qp->rq, VRB_QUEUE_IDLE);
	err = ibv_modify_qp(qp->ibqp, &attr, IBV_QP_STATE);
	vrb_qp_unlock(qp);
	atomic_store(&qp->live, false);
	vrb_qp_collect(qp);
	if (err)
		vrb_qp_to_error(qp);
	return rc;
}

/* Receives that are posted are the device's before it can get a datagram. */
static int begin(struct vrb_qp *qp)
{
	int rc = vrb_ucm_to_init(qp->dev, qp->ibqp, vrb_xchg(qp->dev)->pkey_index);

	if (rc)
		return not_ready(qp, rc);
	atomic_store(&qp->live, true);
	rc = vrb_qp_post_receives(qp);
	if (rc)
		return undo(qp, rc);
	rc = vrb_ucm_to_rts(qp->ibqp);
	if (rc)
		return undo(qp, not_ready(qp, rc));
	qp->qkey = UCM_QKEY;
	vrb_qp_open(qp);
	return 0;
}

int vrb_ucm_qp_ready(struct vrb_qp *qp)
{
	enum vrb_mode mode;

	vrb_qp_lock(qp);
	mode = qp->sq.mode;
	vrb_qp_unlock(qp);
	if (mode == VRB_QUEUE_IDLE)
		return begin(qp);
	return mode == VRB_QUEUE_ACTIVE ? 0 : -EIO;
}

/* ---- Address handles ---- */

struct ibv_ah *vrb_ucm_ah(const struct vrb_dev *dev, struct ibv_pd *pd, uint16_t lid,
			  const uint8_t gid[16])
{
	struct xchg_end peer = { .lid = lid };
	struct ibv_ah_attr attr;

	memcpy(peer.gid, gid, sizeof(peer.gid));
	vrb_xchg_path(dev, &peer, &attr);
	vrb_path_options(dev->config, &attr);
	return ibv_create_ah(pd, &attr);
}

void vrb_ucm_free_ah(struct tp_device *base, void *ah)
{
	const struct vrb_dev *dev = vrb_dev(base);
	int err = ibv_destroy_ah(ah);

	if (vrb_dev_kept(dev, err))
		dapl_err("%s: address handle not destroyed: %s", dev->name,
			 dapl_strerror(abs(err)));
}
