/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the kernel says, on the loop. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/async.h"
#include "providers/verbs/cm/rdma.h"
#include "providers/verbs/map.h"

/* So long all ids tell of the same one. */
#define ONE_FAILOVER_NS 1000000000

/* An event, acknowledged. */
struct event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id; /* of a request */
	struct rdma_conn_param param;
	uint8_t data[UINT8_MAX];
	uint32_t len;
};

/* ---- The active side ---- */

static uint32_t at_most(uint32_t len, uint32_t max)
{
	return len < max ? len : max;
}

/* Of an answer's private data, how much is the program's. */
static uint32_t reply_len(struct vrb_conn *conn, const uint8_t *data, uint32_t len)
{
	if (vrb_conn_ops(conn)->reply_len)
		len = vrb_conn_ops(conn)->reply_len(data, len);
	return at_most(len, conn->object.dev->attr.max_private_data);
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
	vrb_conn_ended(conn, event, rc, NULL, 0);
}

/* The kernel has an answer of the peer. */
static void call_done(struct vrb_conn *conn)
{
	if (conn->calling)
		vrb_connect_end(&conn->call);
	conn->calling = false;
}

/* Once the core was told of it, it gets what came in before. */
static void open_active(struct vrb_conn *conn, const struct event *event)
{
	vrb_conn_open(conn, event->data, reply_len(conn, event->data, event->len));
	if (conn->qp->rq.cq)
		vrb_cq_deliver(conn->qp->rq.cq, conn->qp);
}

/*
 * The peer has our confirmation before the core hears of the connection: what a program ends when
 * it has seen all its connections come about must not reach the peer before the last of them has.
 */
static void answered(struct vrb_conn *conn, const struct event *event)
{
	const struct rdma_conn_param *param = &event->param;
	int rc;

	if (param->initiator_depth < conn->reads_out)
		conn->reads_out = param->initiator_depth;
	rc = vrb_conn_ops(conn)->qp_ready(conn);
	if (rc) {
		attempt_failed(conn, rc);
		return;
	}
	if (conn->qp->rq.cq)
		vrb_cq_defer(conn->qp->rq.cq, conn->qp);
	rc = rdma_establish(conn->id) ? vrb_conn_step_failed(conn, "not confirmed") : 0;
	open_active(conn, event);
	/* rdma_disconnect succeeds and tells the peer of nothing that was not confirmed. */
	if (rc && rc != -EINVAL)
		vrb_conn_drop_id(conn);
	/* EINVAL: the peer has taken its consent back, of which an event is on its way (SIM-5). */
	if (rc)
		vrb_conn_ended(conn, rc == -EINVAL ? TP_CONN_DISCONNECTED : TP_CONN_BROKEN, rc,
			       NULL, 0);
}

static void open_accepted(struct vrb_conn *conn)
{
	int rc = vrb_conn_ops(conn)->qp_confirmed ? vrb_conn_ops(conn)->qp_confirmed(conn) : 0;

	if (rc)
		vrb_conn_ended(conn, TP_CONN_BROKEN, rc, NULL, 0);
	else
		vrb_conn_open(conn, NULL, 0);
}

static void established(struct vrb_conn *conn, const struct event *event)
{
	if (conn->state == VRB_CONN_CONNECTING)
		open_active(conn, event);
	else if (conn->state == VRB_CONN_ACCEPTED)
		open_accepted(conn);
}

/* Resolving failed; it is tried again where time was the reason. */
static bool retry(struct vrb_conn *conn, const struct event *event)
{
	const struct vrb_config *config = conn->object.dev->config;
	bool addr = event->type == RDMA_CM_EVENT_ADDR_ERROR;

	if (event->status != -ETIMEDOUT ||
	    conn->tries++ >= (addr ? config->arp_retry : config->route_retry))
		return false;
	return !(addr ? vrb_conn_resolve_addr(conn) : vrb_conn_resolve_route(conn));
}

/*
 * The address may have moved since the adapter was opened, to another port of a bond or to
 * soft-RoCE above the same interface: a QP of this device is of no use there.
 */
static bool is_of_device(const struct vrb_dev *dev, const struct rdma_cm_id *id)
{
	if (id->verbs && !strcmp(ibv_get_device_name(id->verbs->device), dev->ibdev))
		return true;
	dapl_err_limited("%s: the address is no longer %s's but %s's: open the adapter anew",
			 dev->name, dev->ibdev,
			 id->verbs ? ibv_get_device_name(id->verbs->device) : "nobody");
	return false;
}

static void step(struct vrb_conn *conn, const struct event *event)
{
	int rc = -ENODEV;

	conn->tries = 0;
	if (is_of_device(conn->object.dev, conn->id))
		rc = event->type == RDMA_CM_EVENT_ADDR_RESOLVED ? vrb_conn_resolve_route(conn)
								: vrb_conn_connect(conn);
	if (rc)
		attempt_failed(conn, rc);
}

/* ---- The end ---- */

/*
 * InfiniBand's disconnect request comes from an established connection: who sends it has confirmed
 * before. The kernel reads the two messages on whichever processors are free, and does not tell of
 * the confirmation if it comes to it last.
 */
static void confirm_by_end(struct vrb_conn *conn, const struct event *event)
{
	if (conn->state == VRB_CONN_ACCEPTED && event->type == RDMA_CM_EVENT_DISCONNECTED &&
	    vrb_conn_ops(conn)->end_may_overtake)
		open_accepted(conn);
}

static void ended(struct vrb_conn *conn, const struct event *event)
{
	const struct vrb_rdma_ops *ops = vrb_conn_ops(conn);
	enum vrb_phase phase = VRB_ACTIVE;
	enum tp_conn_event end;
	uint32_t mark = 0;

	confirm_by_end(conn, event);
	switch (conn->state) {
	case VRB_CONN_REQUEST:
		conn->peer_gone = true; /* EP-141 */
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
	end = vrb_map_end(phase, event->type, event->status, ops->by_program(event->status));
	if (end == TP_CONN_REJECTED && !ops->get_reject(event->data, event->len, &mark))
		end = TP_CONN_REFUSED;
	if (phase == VRB_OPEN && vrb_qp_found_fault(conn->qp))
		end = vrb_cm_fault_here(conn->qp);
	vrb_conn_ended(conn, end, vrb_map_end_errno(event->type, event->status), event->data + mark,
		       end == TP_CONN_REJECTED
			       ? reply_len(conn, event->data + mark, event->len - mark)
			       : 0);
}

static void removed(struct vrb_conn *conn, const struct event *event)
{
	vrb_async_removed(conn->object.dev);
	ended(conn, event);
	vrb_conn_drop_id(conn); /* the kernel waits for that */
}

/* Of an attempt that was given up while this event was on its way there is no id any more. */
static void resolved(struct vrb_conn *conn, const struct event *event)
{
	bool addr = event->type == RDMA_CM_EVENT_ADDR_RESOLVED ||
		    event->type == RDMA_CM_EVENT_ADDR_ERROR;

	if (conn->state != (addr ? VRB_CONN_ADDR : VRB_CONN_ROUTE))
		return;
	if (event->type == RDMA_CM_EVENT_ADDR_RESOLVED ||
	    event->type == RDMA_CM_EVENT_ROUTE_RESOLVED)
		step(conn, event);
	else if (!retry(conn, event))
		ended(conn, event);
}

/*
 * The interface has another hardware address, as a bond has after a failover: RoCE's connections
 * that go by the old one may break, and new ones are made by the new one.
 */
static void bond_moved(const struct vrb_dev *dev)
{
	uint64_t before = vrb_rdma(dev)->moved;

	vrb_rdma(dev)->moved = dapl_now();
	if (before && vrb_rdma(dev)->moved - before < ONE_FAILOVER_NS)
		return;
	dapl_err_limited(
		"%s: the interface of %s has changed its hardware address (did a bond fail "
		"over?): connections made before may break",
		dev->name, dev->ibdev);
}

static void conn_event(struct vrb_conn *conn, const struct event *event)
{
	switch (event->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		resolved(conn, event);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		if (conn->state == VRB_CONN_CONNECTING)
			answered(conn, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		call_done(conn);
		established(conn, event);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		conn->answered = true;
		call_done(conn);
		ended(conn, event);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		removed(conn, event);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		bond_moved(conn->object.dev);
		break;
	default:
		break;
	}
}

/* ---- The passive side ---- */

static struct vrb_conn *request_new(struct vrb_dev *dev, const struct event *event,
				    uint16_t remote_port)
{
	struct vrb_conn *conn = vrb_conn_new(dev);
	struct sockaddr *peer = rdma_get_peer_addr(event->id);

	if (!conn)
		return NULL;
	conn->id = event->id;
	conn->state = VRB_CONN_REQUEST;
	/* What the peer asks of this side and what it has for it. */
	conn->reads_in = event->param.responder_resources;
	conn->reads_out = event->param.initiator_depth;
	if (peer)
		vrb_addr_copy(&conn->addr.remote, peer);
	conn->addr.local_qual = ntohs(rdma_get_src_port(event->id));
	conn->addr.remote_qual = remote_port;
	return conn;
}

static void request(struct vrb_listener *listener, const struct event *event)
{
	struct vrb_dev *dev = listener->object.dev;
	uint16_t port = ntohs(rdma_get_dst_port(event->id));
	struct tp_conn_request req = { 0 };
	const uint8_t *data = event->data;
	uint32_t len = event->len;
	struct vrb_conn *conn;

	if (vrb_rdma(dev)->by_gid)
		data = vrb_gid_take_header(data, &len, &port);
	conn = is_of_device(dev, event->id) ? request_new(dev, event, port) : NULL;
	if (!conn) {
		vrb_rdma_refuse(dev, event->id);
		return;
	}
	if (vrb_conn_ops(conn)->request_len)
		len = vrb_conn_ops(conn)->request_len(data, len, event->param.flow_control);
	req.private_data = data;
	req.private_data_len = at_most(len, dev->attr.max_private_data);
	req.truncated = len > req.private_data_len;
	/* Its events are read on this thread: none is missed before the context is its own. */
	event->id->context = &conn->object;
	if (!dev->base.up->conn_request(listener->base.owner, &conn->base, &req))
		return;
	vrb_cm_close(&conn->object);
	conn->id = NULL;
	vrb_rdma_refuse(dev, event->id);
	vrb_cm_put(&conn->object);
}

static void listener_event(struct vrb_listener *listener, const struct event *event)
{
	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		request(listener, event);
	else if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		vrb_async_removed(listener->object.dev);
	else if (event->type == RDMA_CM_EVENT_ADDR_CHANGE)
		bond_moved(listener->object.dev);
}

/* ---- Reading ---- */

static void copy_event(const struct rdma_cm_event *from, struct event *event)
{
	const struct rdma_conn_param *param = &from->param.conn;

	event->type = from->event;
	event->status = from->status;
	event->id = from->id;
	event->param = *param;
	event->len = param->private_data ? param->private_data_len : 0;
	if (event->len)
		memcpy(event->data, param->private_data, event->len);
}

/* Whose event it is, with a reference. An id with an event that is not acknowledged is still there.
 */
static struct vrb_cm_object *object_of(const struct rdma_cm_event *event)
{
	const struct rdma_cm_id *id =
		event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->listen_id : event->id;
	struct vrb_cm_object *object = id->context;

	if (object)
		vrb_cm_get(object);
	return object;
}

static void dispatch(struct vrb_dev *dev, struct vrb_cm_object *object, const struct event *event)
{
	if (!object || !vrb_cm_lock(object)) {
		if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
			vrb_rdma_refuse(dev, event->id);
		else if (object && !object->listener)
			vrb_conn_left(container_of(object, struct vrb_conn, object), event->type);
		return;
	}
	if (object->listener)
		listener_event(container_of(object, struct vrb_listener, object), event);
	else
		conn_event(container_of(object, struct vrb_conn, object), event);
	vrb_cm_unlock(object);
}

/* One: who waits for it is woken behind the callback, and the next one may take its time. */
void vrb_rdma_ready(struct tp_watch *watch, uint32_t events)
{
	struct vrb_rdma *rdma = container_of(watch, struct vrb_rdma, watch);
	struct vrb_dev *dev = rdma->dev;
	struct vrb_cm_object *object;
	struct rdma_cm_event *event;
	struct event copy;

	if (VRB_GLOBAL(rdma_get_cm_event(rdma->channel, &event)))
		return;
	dapl_trace(rdma_event, DAPL_TRC_DETAIL, dev, "ia=%s event=%s status=%d", dev->name,
		   rdma_event_str(event->event), event->status);
	object = object_of(event);
	copy_event(event, &copy);
	rdma_ack_cm_event(event);
	dispatch(dev, object, &copy);
	if (object)
		vrb_cm_put(object);
}

/* ---- Events of the QP ---- */

/* Established by what it sends; EISCONN: its confirmation came meanwhile. */
static void peer_sent(struct vrb_conn *conn)
{
	if (conn->state == VRB_CONN_ACCEPTED && conn->id)
		rdma_notify(conn->id, IBV_EVENT_COMM_EST);
}

static void check(struct vrb_conn *conn)
{
	int err = conn->calling ? atomic_load(&conn->call.err) : 0, rc;
	struct vrb_qp *qp = conn->qp;

	if (atomic_exchange(&qp->peer_sent, false))
		peer_sent(conn);
	if (err) {
		call_done(conn);
		rc = vrb_conn_other_port(conn, err);
		if (rc)
			attempt_failed(conn, rc);
	} else if (conn->has_pending) {
		conn->has_pending = false;
		vrb_conn_ended(conn, conn->pending_event, conn->pending_err, NULL, 0);
	} else if (conn->state == VRB_CONN_OPEN || conn->state == VRB_CONN_ACCEPTED) {
		if (atomic_load(&qp->fault))
			vrb_conn_ended(conn, TP_CONN_BROKEN, -EIO, NULL, 0);
		else if (atomic_load(&qp->draining) && !vrb_queue_used(&qp->sq))
			vrb_conn_ended(conn, TP_CONN_DISCONNECTED, 0, NULL, 0);
	} else if (atomic_load(&qp->dev->gone)) { /* the kernel may have no answer any more */
		vrb_conn_ended(conn, TP_CONN_UNREACHABLE, -ENODEV, NULL, 0);
	}
}

void vrb_rdma_qp_event(struct vrb_qp *qp)
{
	struct vrb_dev *dev = qp->dev;
	struct vrb_conn *conn;

	pthread_mutex_lock(&dev->cm_lock);
	conn = qp->conn;
	if (conn)
		vrb_cm_get(&conn->object);
	pthread_mutex_unlock(&dev->cm_lock);
	if (!conn)
		return;
	if (vrb_cm_lock(&conn->object)) {
		check(conn);
		vrb_cm_unlock(&conn->object);
	}
	vrb_cm_put(&conn->object);
}
