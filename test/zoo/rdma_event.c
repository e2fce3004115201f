/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of librdmacm, and what it says of QPs. */
#include <stdlib.h>
#include <string.h>

#include "test/zoo/rdma.h"

struct my_event {
	struct rdma_cm_event ib;
	uint8_t data[ZOO_MAX_PRIVATE];
};

/* ---- Attributes of QPs ---- */

static bool is_ethernet(const struct zoo_id *id)
{
	return zoo_kind_of(id->card)->link_layer == IBV_LINK_LAYER_ETHERNET;
}

static void for_route(const struct zoo_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->path_mtu = IBV_MTU_1024;
	attr->dest_qp_num = id->remote_qpn;
	attr->ah_attr.is_global = is_ethernet(id);
	attr->ah_attr.port_num = zoo_port_of(id);
	attr->ah_attr.grh.traffic_class = id->tos;
	if (attr->ah_attr.is_global)
		attr->ah_attr.grh.sgid_index = zoo->roce_v1 ? ZOO_GID_V1 : ZOO_GID_V2;
	/* Assumed: the subnet manager has a service level for each precedence (cma_query_ib_route
	 * asks it with tos as the class). */
	if (!attr->ah_attr.is_global)
		attr->ah_attr.sl = id->tos >> 5;
	attr->max_dest_rd_atomic = id->param.initiator_depth;
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

int rdma_init_qp_attr(struct rdma_cm_id *ib, struct ibv_qp_attr *attr, int *mask)
{
	struct zoo_id *id = my(id, ib)->id;
	int index = 0;

	*mask = IBV_QP_STATE;
	if (!id->card)
		return zoo_failed(EINVAL);
	if (zoo_iwarp(zoo_kind_of(id->card))) {
		*mask |= attr->qp_state == IBV_QPS_INIT ? IBV_QP_ACCESS_FLAGS : 0;
		return 0;
	}
	zoo_lock();
	if (attr->qp_state == IBV_QPS_INIT) {
		attr->port_num = zoo_port_of(id);
		index = zoo_pkey_index(id->card, is_ethernet(id) ? 0xffff : id->pkey);
		attr->pkey_index = (uint16_t)index;
		*mask |= IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	} else if (attr->qp_state == IBV_QPS_RTR) {
		for_route(id, attr, mask);
	} else {
		attr->timeout =
			17; /* packet life time of RoCE, CMA_IBOE_PACKET_LIFETIME, and one */
		attr->retry_cnt = id->param.retry_count ? id->param.retry_count : 7;
		attr->rnr_retry = id->param.rnr_retry_count;
		attr->max_rd_atomic = id->param.responder_resources;
		*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			 IBV_QP_MAX_QP_RD_ATOMIC;
	}
	zoo_unlock();
	return index < 0 ? zoo_failed(ENOENT) : 0; /* cma_ib_init_qp_attr */
}

/* ---- Events ---- */

/* A request's id becomes the program's. */
static struct my_id *take_request(struct rdma_event_channel *channel, struct my_id *listener,
				  struct zoo_id *id)
{
	struct my_id *my = zoo_my_id(channel, listener->ib.context, listener->ib.ps);

	if (!my)
		return NULL;
	my->id = id;
	zoo_lock();
	id->user = my;
	zoo_leave_listener(id);
	zoo_unlock();
	my->ib.verbs = zoo_context_of(id->card);
	my->ib.port_num = zoo_port_of(id);
	zoo_tell_addrs(&my->ib, id);
	return my;
}

static struct my_event *my_event_of(struct zoo_event *from, struct rdma_event_channel *channel)
{
	struct my_event *to = calloc(1, sizeof(*to));
	struct my_id *owner = from->user;

	if (!to)
		return NULL;
	to->ib.event = from->type;
	to->ib.status = from->status;
	to->ib.id = &owner->ib;
	to->ib.param.conn = from->param;
	memcpy(to->data, from->data, sizeof(to->data));
	to->ib.param.conn.private_data = from->param.private_data_len ? to->data : NULL;
	if (from->id) {
		struct my_id *fresh = take_request(channel, owner, from->id);

		if (!zoo_iwarp(zoo_kind_of(from->id->card))) {
			to->ib.param.conn.private_data_len = zoo_req_data(from->id);
			to->ib.param.conn.private_data = to->data;
		}
		to->ib.listen_id = &owner->ib;
		to->ib.id = fresh ? &fresh->ib : NULL;
	}
	return to;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **out)
{
	struct zoo_event *event = zoo_chan_pop(my(event_channel, channel)->chan, channel->fd);
	struct my_event *to;

	if (!event)
		return -1;
	to = my_event_of(event, channel);
	zoo_lock();
	zoo_free(event);
	zoo_unlock();
	if (to && to->ib.id)
		zoo_qp_event(&to->ib);
	*out = to ? &to->ib : NULL;
	return to ? 0 : zoo_failed(ENOMEM);
}

int rdma_ack_cm_event(struct rdma_cm_event *ib)
{
	struct my_id *my = my(id, ib->listen_id ? ib->listen_id : ib->id);

	pthread_mutex_lock(&my->mutex);
	my->completed++;
	pthread_cond_broadcast(&my->cond);
	pthread_mutex_unlock(&my->mutex);
	free(zoo_entry(ib, struct my_event, ib));
	return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
#define NAME(event) [event] = #event
		NAME(RDMA_CM_EVENT_ADDR_RESOLVED),   NAME(RDMA_CM_EVENT_ADDR_ERROR),
		NAME(RDMA_CM_EVENT_ROUTE_RESOLVED),  NAME(RDMA_CM_EVENT_ROUTE_ERROR),
		NAME(RDMA_CM_EVENT_CONNECT_REQUEST), NAME(RDMA_CM_EVENT_CONNECT_RESPONSE),
		NAME(RDMA_CM_EVENT_CONNECT_ERROR),   NAME(RDMA_CM_EVENT_UNREACHABLE),
		NAME(RDMA_CM_EVENT_REJECTED),	     NAME(RDMA_CM_EVENT_ESTABLISHED),
		NAME(RDMA_CM_EVENT_DISCONNECTED),    NAME(RDMA_CM_EVENT_DEVICE_REMOVAL),
		NAME(RDMA_CM_EVENT_MULTICAST_JOIN),  NAME(RDMA_CM_EVENT_MULTICAST_ERROR),
		NAME(RDMA_CM_EVENT_ADDR_CHANGE),     NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT),
	};

	return (unsigned int)event < sizeof(names) / sizeof(names[0]) ? names[event] : "?";
}
