/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A QP's states by what rdma_cm knows of its connection. */
#include <errno.h>

#include "trace/log.h"
#include "providers/verbs/cm/rdma.h"

static int attr_for(struct vrb_qp *qp, struct rdma_cm_id *id, enum ibv_qp_state state,
		    struct ibv_qp_attr *attr, int *mask)
{
	int err;

	*attr = (struct ibv_qp_attr){ .qp_state = state };
	*mask = 0;
	if (!rdma_init_qp_attr(id, attr, mask))
		return 0;
	err = errno;
	dapl_err_limited("%s: QP 0x%x: its next state's attributes not told: %s", qp->dev->name,
			 qp->ibqp->qp_num, dapl_strerror(err));
	return -err;
}

int vrb_rdma_qp_to_init(struct vrb_qp *qp, struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr;
	int mask, rc;

	if (qp->init)
		return 0;
	rc = attr_for(qp, id, IBV_QPS_INIT, &attr, &mask);
	return rc ? rc : vrb_qp_to_init(qp, &attr, mask);
}

int vrb_rdma_qp_to_rtr(struct vrb_conn *conn)
{
	struct vrb_qp *qp = conn->qp;
	struct ibv_qp_attr attr;
	int mask, rc;

	atomic_store(&qp->live, true);
	rc = attr_for(qp, conn->id, IBV_QPS_RTR, &attr, &mask);
	if (!rc)
		rc = vrb_qp_to_rtr(qp, &attr, mask, conn->reads_in);
	return rc ? rc : attr_for(qp, conn->id, IBV_QPS_RTS, &conn->rts, &conn->rts_mask);
}

int vrb_rdma_qp_confirmed(struct vrb_conn *conn)
{
	return vrb_qp_to_rts(conn->qp, &conn->rts, conn->rts_mask, conn->reads_out);
}

int vrb_rdma_qp_to_rts(struct vrb_conn *conn)
{
	int rc = vrb_rdma_qp_to_rtr(conn);

	return rc ? rc : vrb_rdma_qp_confirmed(conn);
}
