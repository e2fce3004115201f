/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of iWARP, as Linux' iw_cm (drivers/infiniband/core/iwcm.c) and cma_iw_handler of
 * cma.c tell of them: MPA's request and reply in place of REQ, REP and REJ, TCP's end for DREQ.
 */
#include <errno.h>
#include <string.h>

#include "test/zoo/cm.h"

static struct zoo_qp *qp_of(const struct zoo_id *id)
{
	struct zoo_qp *qp = zoo_qp_find(id->qpn);

	return qp && qp->id == id ? qp : NULL;
}

int zoo_iwarp_take_qp(struct zoo_id *id)
{
	struct zoo_qp *qp = zoo_qp_find(id->qpn);

	if (!qp || qp->proc != id->proc || qp->id)
		return EINVAL;
	qp->id = id;
	return 0;
}

static void start(struct zoo_id *id)
{
	struct zoo_qp *qp = qp_of(id);

	id->state = ZOO_ESTABLISHED;
	if (!qp)
		return;
	qp->remote = id->remote_qpn;
	if (qp->state != IBV_QPS_ERR)
		qp->state = IBV_QPS_RTS;
	zoo_progress(qp);
}

void zoo_iwarp_accepted(struct zoo_id *id)
{
	start(id);
	zoo_id_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
}

/* The kernel moves the QP to error, and hears no more of it. */
static void let_go(struct zoo_id *id)
{
	struct zoo_qp *qp = qp_of(id);

	zoo_free(id->resend);
	id->resend = NULL;
	id->deadline = 0;
	if (!qp)
		return;
	qp->id = NULL;
	qp->closing = false;
	zoo_qp_to_error(qp);
}

void zoo_iwarp_begin_close(struct zoo_id *id)
{
	struct zoo_qp *qp = qp_of(id);

	if (!zoo_kind_of(id->card)->closing_refuses_error || id->card->removed) {
		zoo_iwarp_close(id, 0);
		return;
	}
	id->state = ZOO_DREQ_SENT;
	if (qp)
		qp->closing = true;
	zoo_send(id, ZOO_DREQ, 0, NULL, true);
}

void zoo_iwarp_close(struct zoo_id *id, int status)
{
	bool open = id->state == ZOO_ESTABLISHED || id->state == ZOO_DREQ_SENT;
	uint64_t number = id->number;

	if (open) {
		id->state = ZOO_CLOSED;
		zoo_send(id, ZOO_DREQ, status, NULL, false);
		zoo_id_event(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	}
	if (zoo_id_find(number) == id)
		let_go(id);
}

static void ended(struct zoo_id *id, enum rdma_cm_event_type type, int status,
		  const struct zoo_msg *msg)
{
	id->state = ZOO_CLOSED;
	let_go(id);
	zoo_id_event(id, type, status, msg);
}

static void taken_back(struct zoo_id *id)
{
	if (!zoo_kind_of(id->card)->keeps_requests)
		ended(id, RDMA_CM_EVENT_DISCONNECTED, -ECONNRESET, NULL);
	else
		id->state = ZOO_CLOSED;
}

static const struct zoo_msg *with_data(struct zoo_msg *to, const struct zoo_msg *msg)
{
	*to = *msg;
	to->param.private_data = to->data;
	return to;
}

void zoo_iwarp_receive(struct zoo_id *id, const struct zoo_msg *msg)
{
	struct zoo_msg full;

	switch (msg->kind) {
	case ZOO_REP:
		if (id->state != ZOO_REQ_SENT)
			break;
		zoo_free(id->resend);
		id->resend = NULL;
		id->deadline = 0;
		id->peer = msg->from;
		id->remote_qpn = msg->qpn;
		zoo_id_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, with_data(&full, msg));
		start(id);
		break;
	case ZOO_REJ:
		if (id->state == ZOO_REQ_SENT)
			ended(id, RDMA_CM_EVENT_REJECTED, msg->status, with_data(&full, msg));
		else if (id->state == ZOO_REQ_RCVD)
			taken_back(id);
		break;
	case ZOO_DREQ:
		zoo_send(id, ZOO_DREP, 0, NULL, false);
		if (id->state == ZOO_ESTABLISHED || id->state == ZOO_DREQ_SENT)
			ended(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
		break;
	case ZOO_DREP:
		if (id->state == ZOO_DREQ_SENT)
			ended(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
		break;
	default:
		break;
	}
}

void zoo_iwarp_gave_up(struct zoo_id *id)
{
	if (id->state == ZOO_REQ_SENT && zoo_kind_of(id->card)->connect_blocks) {
		id->state = ZOO_CLOSED; /* the call says so */
		let_go(id);
	} else if (id->state == ZOO_REQ_SENT) {
		ended(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
	} else if (id->state == ZOO_DREQ_SENT) {
		ended(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	}
}

/* The driver goes on closing without the id. */
static bool left_closing(struct zoo_id *id)
{
	struct zoo_qp *qp = qp_of(id);

	if (!qp || !qp->closing)
		return false;
	qp->id = NULL;
	qp->deadline = id->deadline + (uint64_t)id->tries * zoo->cm_timeout_ms * 1000000;
	zoo_at(qp->deadline);
	return true;
}

void zoo_iwarp_end(struct zoo_id *id)
{
	if (left_closing(id))
		return;
	switch (id->state) {
	case ZOO_REQ_SENT:
		zoo_reject_unanswered(id, -ECONNRESET);
		break;
	case ZOO_REQ_RCVD:
		zoo_send(id, ZOO_REJ, -ECONNRESET, NULL, false);
		break;
	case ZOO_ESTABLISHED:
	case ZOO_DREQ_SENT:
		id->quiet = true;
		zoo_iwarp_close(id, 0);
		break;
	default:
		break;
	}
	let_go(id);
}
