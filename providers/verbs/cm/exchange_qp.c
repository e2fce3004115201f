/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A QP's states by what the peers told each other. */
#include <errno.h>
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/cm/exchange.h"
#include "providers/verbs/map.h"

enum {
	PSN = 1,	/* of both sides: PSNs are not exchanged (CM-7) */
	ACK_TIMER = 20, /* 4 s (CM-10) */
	HOP_LIMIT = 255,
	MTU_UNSAID = IBV_MTU_2048, /* of peers that state none (CM-5) */
};

int vrb_xchg_qp_init(struct vrb_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .pkey_index = vrb_xchg(qp->dev)->pkey_index,
				    .port_num = qp->dev->port };
	int rc = 0;

	if (!qp->init)
		rc = vrb_qp_to_init(qp, &attr,
				    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					    IBV_QP_ACCESS_FLAGS);
	return rc ? rc : vrb_qp_post_receives(qp);
}

static int query_port(const struct vrb_dev *dev, struct ibv_port_attr *port)
{
	int err = ibv_query_port(dev->ctx, dev->port, port);

	if (err)
		dapl_err_limited("%s: port %u of %s does not tell its address: %s", dev->name,
				 dev->port, dev->ibdev, dapl_strerror(err));
	return -err;
}

static uint8_t lesser(uint32_t a, uint32_t b)
{
	return (uint8_t)(a < b ? a : b);
}

static uint8_t own_mtu(const struct vrb_dev *dev, const struct ibv_port_attr *port)
{
	return (uint8_t)(dev->config->mtu ? vrb_map_mtu(dev->config->mtu, port->active_mtu)
					  : port->active_mtu);
}

/* The port's own may change while the adapter is open. */
int vrb_xchg_own(struct vrb_qp *qp, uint8_t mtu, struct xchg_end *own)
{
	const struct vrb_dev *dev = qp->dev;
	struct ibv_port_attr port;
	int rc = query_port(dev, &port);

	if (rc)
		return rc;
	own->reads_in = lesser(qp->max_read_in, UINT8_MAX);
	own->mtu = mtu ? mtu : own_mtu(dev, &port);
	own->lid = port.lid;
	own->qpn = qp->ibqp->qp_num;
	memcpy(own->gid, dev->gid.raw, sizeof(own->gid));
	own->qp_type = qp->ud ? XCHG_QPT_UD : XCHG_QPT_RC;
	return 0;
}

/* Who does not state it has 2048 (CM-5), unless the administrator knows better. */
static uint8_t agreed_mtu(const struct vrb_dev *dev, const struct xchg_end *peer, uint8_t own)
{
	if (peer->mtu)
		return lesser(peer->mtu, own);
	return peer->mtu_old && !dev->config->mtu ? lesser(MTU_UNSAID, own) : own;
}

int vrb_xchg_agree(const struct vrb_dev *dev, struct xchg_end *peer)
{
	struct ibv_port_attr port;
	int rc = query_port(dev, &port);

	if (!rc)
		peer->mtu = agreed_mtu(dev, peer, own_mtu(dev, &port));
	return rc;
}

void vrb_xchg_path(const struct vrb_dev *dev, const struct xchg_end *peer, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){ .dlid = peer->lid, .port_num = dev->port };
	if (!vrb_xchg(dev)->ethernet && !dev->config->global_routing)
		return;
	attr->is_global = 1;
	memcpy(attr->grh.dgid.raw, peer->gid, sizeof(peer->gid));
	attr->grh.sgid_index = (uint8_t)dev->config->gid_index;
	attr->grh.hop_limit = HOP_LIMIT;
}

static int ready_to_receive(struct vrb_qp *qp, const struct xchg_end *peer, uint32_t reads_in)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = peer->mtu,
				    .dest_qp_num = peer->qpn,
				    .rq_psn = PSN };

	if (reads_in > qp->dev->attr.max_read_in)
		reads_in = qp->dev->attr.max_read_in;
	vrb_xchg_path(qp->dev, peer, &attr.ah_attr);
	return vrb_qp_to_rtr(
		qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		lesser(reads_in > qp->max_read_in ? reads_in : qp->max_read_in, UINT8_MAX));
}

static int ready_to_send(struct vrb_qp *qp, const struct xchg_end *peer)
{
	const struct vrb_config *config = qp->dev->config;
	uint8_t delay = vrb_xchg(qp->dev)->ack_delay;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = delay > ACK_TIMER ? delay : ACK_TIMER,
				    .retry_cnt = (uint8_t)config->ack_retry,
				    .rnr_retry = (uint8_t)config->rnr_retry,
				    .sq_psn = PSN };

	return vrb_qp_to_rts(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN,
			     lesser(qp->max_read_out, peer->reads_in));
}

int vrb_xchg_qp_ready(struct vrb_qp *qp, struct xchg_end *peer, uint32_t reads_in)
{
	int rc = vrb_xchg_agree(qp->dev, peer);

	if (rc)
		return rc;
	atomic_store(&qp->live, true);
	rc = ready_to_receive(qp, peer, reads_in);
	return rc ? rc : ready_to_send(qp, peer);
}
