/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs that librdmacm makes and takes through their states (rdma_create_qp), as programs of
 * release 2.1.10 have them: librdmacm/cma.c, ucma_init_conn_qp, ucma_process_conn_resp.
 */
#include <errno.h>

#include "test/zoo/rdma.h"

static int modify(struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask, err;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return -1;
	if (state == IBV_QPS_INIT)
		attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	err = ibv_modify_qp(id->qp, &attr, mask);
	return err ? zoo_failed(err) : 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	if (id->qp || !pd || !id->verbs || pd->context->device != id->verbs->device)
		return zoo_failed(EINVAL);
	id->qp = ibv_create_qp(pd, init);
	if (!id->qp)
		return -1;
	id->pd = pd;
	id->send_cq = init->send_cq;
	id->recv_cq = init->recv_cq;
	if (!modify(id, IBV_QPS_INIT))
		return 0;
	rdma_destroy_qp(id);
	return -1;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
}

static bool moves(const struct rdma_cm_id *id)
{
	return id->qp && id->verbs->device->transport_type != IBV_TRANSPORT_IWARP;
}

int zoo_qp_accepts(struct rdma_cm_id *id)
{
	return moves(id) && (modify(id, IBV_QPS_RTR) || modify(id, IBV_QPS_RTS)) ? -1 : 0;
}

void zoo_qp_ends(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (moves(id))
		ibv_modify_qp(id->qp, &attr, IBV_QP_STATE);
}

/* The program hears of an established connection where the peer has answered. */
void zoo_qp_event(struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;

	if (event->event == RDMA_CM_EVENT_REJECTED)
		zoo_qp_ends(id);
	if (event->event != RDMA_CM_EVENT_CONNECT_RESPONSE || !moves(id))
		return;
	event->event = RDMA_CM_EVENT_ESTABLISHED;
	event->status = zoo_qp_accepts(id) || rdma_establish(id) ? errno : 0;
	if (event->status)
		event->event = RDMA_CM_EVENT_CONNECT_ERROR;
}
