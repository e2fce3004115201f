/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of InfiniBand and RoCE, by the states of Linux' ib_cm (drivers/infiniband/core/cm.c)
 * and what rdma_cm makes of them (cma.c, cma_ib_handler).
 */
#include <errno.h>
#include <string.h>

#include "test/zoo/cm.h"

/* The messages carry a fixed number of bytes (include/rdma/ib_cm.h). */
static const struct zoo_msg *sized(struct zoo_msg *to, const struct zoo_msg *msg, uint8_t len)
{
	*to = *msg;
	to->param.private_data = to->data;
	to->param.private_data_len = len;
	return to;
}

static void stop_repeating(struct zoo_id *id)
{
	zoo_free(id->resend);
	id->resend = NULL;
	id->deadline = 0;
}

static void closed(struct zoo_id *id, enum rdma_cm_event_type type, int status,
		   const struct zoo_msg *msg)
{
	stop_repeating(id);
	id->state = ZOO_CLOSED;
	zoo_id_event(id, type, status, msg);
}

/* Of RoCE; with the life time that cma.c takes for a packet (CMA_IBOE_PACKET_LIFETIME). */
#define TIME_WAIT_NS 540000000

void zoo_ib_closed(struct zoo_id *id)
{
	stop_repeating(id);
	id->state = ZOO_CLOSED;
	id->deadline = zoo_now() + TIME_WAIT_NS;
	zoo_at(id->deadline);
}

static void replied(struct zoo_id *id, const struct zoo_msg *msg)
{
	struct zoo_msg reply;

	if (id->state == ZOO_ESTABLISHED) {
		zoo_send(id, ZOO_RTU, 0, NULL, false); /* it was lost */
		return;
	}
	if (id->state != ZOO_REQ_SENT)
		return;
	stop_repeating(id);
	id->state = ZOO_REP_RCVD;
	id->peer = msg->from;
	id->remote_qpn = msg->qpn;
	id->param = msg->param;
	zoo_id_event(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, sized(&reply, msg, ZOO_IB_REP_DATA));
}

static void disconnected(struct zoo_id *id)
{
	enum zoo_id_state was = id->state;
	uint64_t until;

	switch (was) {
	case ZOO_REP_SENT:
	case ZOO_REP_RCVD:
	case ZOO_ESTABLISHED:
		stop_repeating(id);
		id->state = ZOO_DREQ_RCVD;
		zoo_id_event(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
		break;
	case ZOO_DREQ_SENT:
		/* Both ask: each is answered. */
		zoo_send(id, ZOO_DREP, 0, NULL, false);
		zoo_ib_closed(id);
		zoo_id_event(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
		break;
	case ZOO_CLOSED:
		until = id->deadline;
		zoo_send(id, ZOO_DREP, 0, NULL, false);
		id->deadline = until;
		break;
	default:
		break;
	}
}

void zoo_ib_receive(struct zoo_id *id, const struct zoo_msg *msg)
{
	struct zoo_msg full;

	switch (msg->kind) {
	case ZOO_REP:
		replied(id, msg);
		break;
	case ZOO_RTU:
		if (id->state != ZOO_REP_SENT)
			break;
		stop_repeating(id);
		id->state = ZOO_ESTABLISHED;
		zoo_id_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
		break;
	case ZOO_REJ:
		if (id->state == ZOO_REQ_SENT || id->state == ZOO_REQ_RCVD ||
		    id->state == ZOO_REP_SENT || id->state == ZOO_REP_RCVD ||
		    id->state == ZOO_ESTABLISHED)
			closed(id, RDMA_CM_EVENT_REJECTED, msg->status,
			       sized(&full, msg, ZOO_IB_REJ_DATA));
		break;
	case ZOO_DREQ:
		disconnected(id);
		break;
	case ZOO_DREP:
		if (id->state != ZOO_DREQ_SENT)
			break;
		zoo_ib_closed(id);
		zoo_id_event(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
		break;
	default:
		break;
	}
}

void zoo_ib_gave_up(struct zoo_id *id)
{
	switch (id->state) {
	case ZOO_REQ_SENT:
	case ZOO_REP_SENT:
		closed(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
		break;
	case ZOO_DREQ_SENT:
		closed(id, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT, NULL);
		break;
	case ZOO_CLOSED:
		zoo_id_event(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL);
		break;
	default:
		break;
	}
}

/* cm_destroy_id: what is repeated is not, from here on. */
void zoo_ib_end(struct zoo_id *id)
{
	switch (id->state) {
	case ZOO_REQ_SENT:
		/* The peer's id is not known; it is the one that knows this. */
		if (!zoo_kind_of(id->card)->keeps_requests)
			zoo_reject_unanswered(id, ZOO_REJ_TIMEOUT);
		break;
	case ZOO_REQ_RCVD:
	case ZOO_REP_SENT:
	case ZOO_REP_RCVD:
		zoo_send(id, ZOO_REJ, ZOO_REJ_CONSUMER, NULL, false);
		break;
	case ZOO_ESTABLISHED:
		zoo_send(id, ZOO_DREQ, 0, NULL, false);
		break;
	case ZOO_DREQ_RCVD:
		zoo_send(id, ZOO_DREP, 0, NULL, false);
		break;
	default:
		break;
	}
}
