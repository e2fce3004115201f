/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rdma_cm connection manager: what the kernel says, on the loop. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "trace/log.h"
#include "providers/verbs/cm/cm.h"

/* Then whoever else is to have the loop's turn gets it. */
#define EVENTS_AT_ONCE 16

/* An event, acknowledged. */
struct news {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id; /* of a request */
	struct rdma_conn_param param;
	uint8_t data[UINT8_MAX];
	uint32_t len;
};

/* ---- The active side ---- */

static uint32_t answer_len(const struct vrb_dev *dev, const uint8_t *data, uint32_t len)
{
	if (!dev->iwarp)
		len = vrb_pd_reply_len(data, len);
	return len < dev->attr.max_private_data ? len : dev->attr.max_private_data;
}

static void attempt_failed(struct vrb_conn *conn, int rc)
{
	enum tp_conn_event event;

	switch (-rc) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENODEV:
	case EADDRINUSE:
	case EADDRNOTAVAIL:
		event = TP_CONN_UNREACHABLE;
		break;
	default:
		event = TP_CONN_REFUSED;
	}
	vrb_conn_over(conn, event, rc, NULL, 0);
}

/* The kernel has an answer of an iWARP peer. */
static void asked(struct vrb_conn *conn)
{
	if (!conn->asking)
		return;
	conn->asking = false;
	vrb_ask_end(&conn->ask);
}

/* Once the core has heard of it, it gets what came in before. */
static void open_active(struct vrb_conn *conn, const struct news *news)
{
	vrb_conn_open(conn, news->data, answer_len(conn->subject.dev, news->data, news->len));
	if (conn->qp->rq.cq)
		vrb_cq_deliver(conn->qp->rq.cq, conn->qp);
}

/*
 * The peer has our confirmation before the core hears of the connection: what a program ends when
 * it has seen all its connections come about must not reach the peer before the last of them has.
 */
static void answered(struct vrb_conn *conn, const struct news *news)
{
	const struct rdma_conn_param *param = &news->param;
	int rc;

	if (param->initiator_depth < conn->depth.out)
		conn->depth.out = param->initiator_depth;
	rc = vrb_qp_to_rts(conn->qp, conn->id, &conn->depth);
	if (rc) {
		attempt_failed(conn, rc);
		return;
	}
	if (conn->qp->rq.cq)
		vrb_cq_defer(conn->qp->rq.cq, conn->qp);
	rc = rdma_establish(conn->id) ? -errno : 0;
	open_active(conn, news);
	/* EINVAL: the peer has taken its consent back, of which an event is on its way (SIM-5). */
	if (rc)
		vrb_conn_over(conn, rc == -EINVAL ? TP_CONN_DISCONNECTED : TP_CONN_BROKEN, rc, NULL,
			      0);
}

static void established(struct vrb_conn *conn, const struct news *news)
{
	if (conn->state == VRB_CONN_ASKED)
		open_active(conn, news);
	else if (conn->state == VRB_CONN_ACCEPTED)
		vrb_conn_open(conn, news->data, 0);
}

/* Resolving failed; it is tried again where time was the reason. */
static bool again(struct vrb_conn *conn, const struct news *news)
{
	const struct vrb_config *config = conn->subject.dev->config;
	bool addr = news->type == RDMA_CM_EVENT_ADDR_ERROR;

	if (news->status != -ETIMEDOUT ||
	    conn->tries++ >= (addr ? config->arp_retry : config->route_retry))
		return false;
	return !(addr ? vrb_conn_resolve_addr(conn) : vrb_conn_resolve_route(conn));
}

static void step(struct vrb_conn *conn, const struct news *news)
{
	int rc = 0;

	conn->tries = 0;
	if (news->type == RDMA_CM_EVENT_ADDR_RESOLVED && conn->state == VRB_CONN_ADDR)
		rc = vrb_conn_resolve_route(conn);
	else if (news->type == RDMA_CM_EVENT_ROUTE_RESOLVED && conn->state == VRB_CONN_ROUTE)
		rc = vrb_conn_ask(conn);
	if (rc)
		attempt_failed(conn, rc);
}

/* ---- The end ---- */

/*
 * InfiniBand's disconnect request comes from an established connection: who sends it has confirmed
 * before. The kernel reads the two messages on whichever processors are free, and does not tell of
 * the confirmation if it comes to it last.
 */
static void confirm_by_end(struct vrb_conn *conn, const struct news *news)
{
	if (conn->state == VRB_CONN_ACCEPTED && news->type == RDMA_CM_EVENT_DISCONNECTED &&
	    !conn->subject.dev->iwarp)
		vrb_conn_open(conn, NULL, 0);
}

/*
 * The device found a fault of the peer's access, or of a request here, and the peer was faster to
 * end the connection. Not every device has an event for the first.
 */
static enum tp_conn_event fault_here(struct vrb_conn *conn)
{
	struct vrb_dev *dev = conn->subject.dev;
	uint32_t none = 0;

	vrb_qp_collect(conn->qp);
	if (atomic_compare_exchange_strong(&conn->qp->fault, &none, TP_WC_TRANSPORT))
		dev->base.up->async(dev->base.owner, TP_ASYNC_QP_ERROR, conn->qp->base.owner);
	return TP_CONN_BROKEN;
}

static void ended(struct vrb_conn *conn, const struct news *news)
{
	struct vrb_dev *dev = conn->subject.dev;
	enum vrb_phase phase = VRB_ACTIVE;
	enum tp_conn_event event;
	uint32_t mark = 0;

	confirm_by_end(conn, news);
	switch (conn->state) {
	case VRB_CONN_REQUEST:
		conn->gone = true; /* EP-141 */
		return;
	case VRB_CONN_ACCEPTED:
		phase = VRB_ACCEPTED;
		break;
	case VRB_CONN_OPEN:
		phase = VRB_OPEN;
		break;
	case VRB_CONN_ENDED:
		return;
	default:
		break;
	}
	event = vrb_map_end(phase, news->type, news->status, dev->iwarp);
	if (event == TP_CONN_REJECTED && !vrb_pd_rejected(news->data, news->len, dev->iwarp, &mark))
		event = TP_CONN_REFUSED;
	if (phase == VRB_OPEN && vrb_qp_found_fault(conn->qp))
		event = fault_here(conn);
	vrb_conn_over(conn, event, vrb_map_end_errno(news->type, news->status), news->data + mark,
		      event == TP_CONN_REJECTED
			      ? answer_len(dev, news->data + mark, news->len - mark)
			      : 0);
}

static void removed(struct vrb_conn *conn, const struct news *news)
{
	vrb_dev_removed(conn->subject.dev);
	ended(conn, news);
	vrb_conn_drop_id(conn); /* the kernel waits for that */
}

static void conn_news(struct vrb_conn *conn, const struct news *news)
{
	switch (news->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		step(conn, news);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		if (!again(conn, news))
			ended(conn, news);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		if (conn->state == VRB_CONN_ASKED)
			answered(conn, news);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		asked(conn);
		established(conn, news);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		asked(conn);
		ended(conn, news);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		removed(conn, news);
		break;
	default:
		break;
	}
}

/* ---- The passive side ---- */

static struct vrb_conn *request_new(struct vrb_dev *dev, const struct news *news)
{
	struct vrb_conn *conn = vrb_conn_new(dev);
	struct sockaddr *peer = rdma_get_peer_addr(news->id);

	if (!conn)
		return NULL;
	conn->id = news->id;
	conn->state = VRB_CONN_REQUEST;
	/* What the peer asks of this side and what it has for it. */
	conn->depth =
		(struct vrb_depth){ news->param.responder_resources, news->param.initiator_depth };
	if (peer)
		memcpy(&conn->addr.remote, peer,
		       peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						   : sizeof(struct sockaddr_in));
	vrb_addr_set_port(&conn->addr.remote, 0);
	conn->addr.local_qual = ntohs(rdma_get_src_port(news->id));
	conn->addr.remote_qual = ntohs(rdma_get_dst_port(news->id));
	return conn;
}

static void request(struct vrb_listener *listener, const struct news *news)
{
	struct vrb_dev *dev = listener->subject.dev;
	uint32_t len = news->len;
	struct tp_conn_request req;
	struct vrb_conn *conn = request_new(dev, news);
	int rc = -ENOMEM;

	if (!conn) {
		vrb_refuse(dev, news->id);
		return;
	}
	if (!dev->iwarp)
		len = vrb_pd_request_len(news->data, len, news->param.flow_control);
	req = (struct tp_conn_request){ .private_data = news->data, .private_data_len = len };
	if (len > dev->attr.max_private_data) {
		req.private_data_len = dev->attr.max_private_data;
		req.truncated = true;
	}
	/* Its events are read on this thread: none is missed before the context is its own. */
	news->id->context = &conn->subject;
	rc = dev->base.up->conn_request(listener->base.owner, &conn->base, &req);
	if (!rc)
		return;
	vrb_retire(&conn->subject);
	conn->id = NULL;
	vrb_refuse(dev, news->id);
	vrb_unpin(&conn->subject);
}

static void listener_news(struct vrb_listener *listener, const struct news *news)
{
	if (news->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		request(listener, news);
	else if (news->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		vrb_dev_removed(listener->subject.dev);
}

/* ---- Reading ---- */

static void note(const struct rdma_cm_event *event, struct news *news)
{
	const struct rdma_conn_param *param = &event->param.conn;

	news->type = event->event;
	news->status = event->status;
	news->id = event->id;
	news->param = *param;
	news->len = param->private_data ? param->private_data_len : 0;
	if (news->len)
		memcpy(news->data, param->private_data, news->len);
}

/* Whose event it is; pinned. An id with an event that is not acknowledged is still there. */
static struct vrb_subject *subject_of(const struct rdma_cm_event *event)
{
	const struct rdma_cm_id *id =
		event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->listen_id : event->id;
	struct vrb_subject *subject = id->context;

	if (subject)
		vrb_pin(subject);
	return subject;
}

static void dispatch(struct vrb_dev *dev, struct vrb_subject *subject, const struct news *news)
{
	if (!subject || !vrb_enter(subject)) {
		if (news->type == RDMA_CM_EVENT_CONNECT_REQUEST)
			vrb_refuse(dev, news->id);
		return;
	}
	if (subject->listener)
		listener_news(vrb_container(subject, struct vrb_listener, subject), news);
	else
		conn_news(vrb_container(subject, struct vrb_conn, subject), news);
	vrb_leave(subject);
}

static void cm_ready(struct tp_watch *watch, uint32_t events)
{
	struct vrb_dev *dev = vrb_container(watch, struct vrb_dev, cm);
	struct vrb_subject *subject;
	struct rdma_cm_event *event;
	int left = EVENTS_AT_ONCE;
	struct news news;

	(void)events;
	while (left-- && !rdma_get_cm_event(dev->channel, &event)) {
		dapl_trace(rdma_event, DAPL_TRC_DETAIL, dev, "ia=%s event=%s status=%d", dev->name,
			   rdma_event_str(event->event), event->status);
		subject = subject_of(event);
		note(event, &news);
		rdma_ack_cm_event(event);
		dispatch(dev, subject, &news);
		if (subject)
			vrb_unpin(subject);
	}
}

/* ---- Other occasions ---- */

static void look_at(struct vrb_conn *conn)
{
	struct vrb_qp *qp = conn->qp;
	int err = atomic_load(&conn->ask.err), rc;

	if (conn->asking && err) {
		asked(conn);
		rc = vrb_conn_other_port(conn, err);
		if (rc)
			attempt_failed(conn, rc);
	} else if (conn->late) {
		conn->late = false;
		vrb_conn_over(conn, conn->late_event, conn->late_err, NULL, 0);
	} else if (conn->state == VRB_CONN_OPEN || conn->state == VRB_CONN_ACCEPTED) {
		if (atomic_load(&qp->fault))
			vrb_conn_over(conn, TP_CONN_BROKEN, -EIO, NULL, 0);
		else if (atomic_load(&qp->draining) && !vrb_queue_used(&qp->sq))
			vrb_conn_over(conn, TP_CONN_DISCONNECTED, 0, NULL, 0);
	}
}

void vrb_cm_look(struct vrb_qp *qp)
{
	struct vrb_dev *dev = qp->dev;
	struct vrb_conn *conn;

	pthread_mutex_lock(&dev->cm_lock);
	conn = qp->conn;
	if (conn)
		conn->subject.pins++;
	pthread_mutex_unlock(&dev->cm_lock);
	if (!conn)
		return;
	if (vrb_enter(&conn->subject)) {
		look_at(conn);
		vrb_leave(&conn->subject);
	}
	vrb_unpin(&conn->subject);
}

/* Whether nothing that is outstanding was taken off a queue since the last time. */
static bool stands_still(struct vrb_queue *queue, const struct vrb_srq *srq)
{
	uint64_t place = (uintptr_t)vrb_queue_head(queue), seen = queue->seen;

	if (srq)
		place = atomic_load(&srq->completed);
	else if (!vrb_queue_used(queue))
		return false;
	queue->seen = place;
	return place == seen;
}

/*
 * Requests that fail while nobody asks for completions would fail unheard (EP-144), and so would
 * more completions than there is room for (EVD-95).
 */
static void pulse(struct tp_timer *timer)
{
	struct vrb_dev *dev = vrb_container(timer, struct vrb_dev, pulse);
	struct vrb_qp *qp;

	pthread_mutex_lock(&dev->lock);
	for (qp = dev->qps; qp; qp = qp->next) {
		if (!atomic_load(&qp->live))
			continue;
		if (dev->siw)
			vrb_qp_wake_peer(qp);
		if (qp->sq.cq && stands_still(&qp->sq, NULL))
			vrb_cq_collect(qp->sq.cq);
		if (qp->rq.cq && stands_still(&qp->rq, qp->srq))
			vrb_cq_collect(qp->rq.cq);
	}
	dev->pulsing = dev->num_open;
	if (dev->pulsing)
		dapl_loop_timer(dev->base.loop, timer,
				dapl_now() + (uint64_t)dev->config->pulse_ms * 1000000);
	pthread_mutex_unlock(&dev->lock);
}

/* ---- Life ---- */

int vrb_cm_start(struct vrb_dev *dev)
{
	dev->pulse.expired = pulse;
	dev->cm = (struct tp_watch){ .ready = cm_ready, .fd = dev->channel->fd };
	return dapl_loop_add(dev->base.loop, &dev->cm, EPOLLIN);
}

void vrb_cm_stop(struct vrb_dev *dev)
{
	dapl_loop_del(dev->base.loop, &dev->cm);
	dapl_loop_timer_cancel(dev->base.loop, &dev->pulse);
}
