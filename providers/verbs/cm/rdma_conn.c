/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The steps of a connection. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/async.h"
#include "providers/verbs/cm/rdma.h"
#include "providers/verbs/watchdog.h"

static void free_conn(struct vrb_cm_object *object)
{
	free(container_of(object, struct vrb_conn, object));
}

struct vrb_conn *vrb_conn_new(struct vrb_dev *dev)
{
	struct vrb_conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		dapl_err_limited("%s: connection not made: %s", dev->name, dapl_strerror(ENOMEM));
		return NULL;
	}
	conn->base.dev = &dev->base;
	vrb_cm_init(&conn->object, dev, free_conn);
	return conn;
}

void vrb_conn_join(struct vrb_conn *conn, struct vrb_qp *qp)
{
	struct vrb_dev *dev = conn->object.dev;

	pthread_mutex_lock(&dev->cm_lock);
	conn->qp = qp;
	qp->conn = conn;
	pthread_mutex_unlock(&dev->cm_lock);
}

void vrb_conn_leave(struct vrb_conn *conn)
{
	struct vrb_dev *dev = conn->object.dev;

	pthread_mutex_lock(&dev->cm_lock);
	if (conn->qp && conn->qp->conn == conn)
		conn->qp->conn = NULL;
	conn->left = true;
	pthread_mutex_unlock(&dev->cm_lock);
}

void vrb_conn_tell_later(struct vrb_conn *conn, enum tp_conn_event event, int err)
{
	conn->has_pending = true;
	conn->pending_event = event;
	conn->pending_err = err;
	vrb_qp_notify(conn->qp);
}

/* The administrator's option, without which the connection works as well. */
static void set_tos(struct vrb_conn *conn)
{
	const struct vrb_dev *dev = conn->object.dev;
	uint8_t tos = (uint8_t)dev->config->tos;

	if (tos && !vrb_rdma(dev)->by_gid && /* there it is part of the address */
	    rdma_set_option(conn->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)))
		dapl_err("%s: traffic class %u not set (option tos): %s", dev->name, tos,
			 dapl_strerror(errno));
}

/* A bound id, so that this end's port is known from now on (EP-13). */
int vrb_conn_make_id(struct vrb_conn *conn)
{
	struct vrb_dev *dev = conn->object.dev;
	struct sockaddr_storage addr = dev->addr;
	int err;

	vrb_gid_wire(dev, &addr);
	if (VRB_GLOBAL(rdma_create_id(vrb_rdma(dev)->channel, &conn->id, &conn->object,
				      RDMA_PS_TCP))) {
		err = errno;
		goto fail;
	}
	if (VRB_GLOBAL(rdma_bind_addr(conn->id, (struct sockaddr *)&addr))) {
		err = errno == EADDRINUSE ? EADDRNOTAVAIL : errno;
		VRB_GLOBAL(rdma_destroy_id(conn->id));
		conn->id = NULL;
		goto fail;
	}
	set_tos(conn);
	pthread_mutex_lock(&dev->cm_lock);
	conn->addr.local_qual = ntohs(rdma_get_src_port(conn->id));
	pthread_mutex_unlock(&dev->cm_lock);
	return 0;

fail:
	dapl_err("%s: connection not started: %s", dev->name, dapl_port_strerror(err));
	return err == ENODEV || err == EADDRNOTAVAIL || err == EMFILE || err == ENFILE ? -err
										       : -ENOMEM;
}

void vrb_conn_drop_id(struct vrb_conn *conn)
{
	struct rdma_cm_id *id = conn->id;

	conn->id = NULL;
	if (id)
		VRB_GLOBAL(rdma_destroy_id(id));
}

/* ---- The id of a connection that ended here ---- */

void vrb_conn_leave_id(struct vrb_conn *conn)
{
	struct vrb_dev *dev = conn->object.dev;
	struct vrb_rdma *rdma = vrb_rdma(dev);
	bool waits;

	pthread_mutex_lock(&dev->cm_lock);
	waits = conn->id && conn->asked && !conn->answered && !atomic_load(&dev->gone);
	if (waits) {
		vrb_cm_get(&conn->object);
		conn->next = rdma->leaving;
		if (conn->next)
			conn->next->link = &conn->next;
		conn->link = &rdma->leaving;
		rdma->leaving = conn;
	}
	pthread_mutex_unlock(&dev->cm_lock);
	if (!waits)
		vrb_conn_drop_id(conn);
}

/* cm_lock held; false: it does not wait. */
static bool unlist(struct vrb_conn *conn)
{
	if (!conn->link)
		return false;
	*conn->link = conn->next;
	if (conn->next)
		conn->next->link = conn->link;
	conn->link = NULL;
	return true;
}

void vrb_conn_left(struct vrb_conn *conn, enum rdma_cm_event_type type)
{
	struct vrb_dev *dev = conn->object.dev;
	bool waited;

	if (type != RDMA_CM_EVENT_DISCONNECTED && type != RDMA_CM_EVENT_TIMEWAIT_EXIT &&
	    type != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return;
	pthread_mutex_lock(&dev->cm_lock);
	conn->answered = true;
	waited = unlist(conn);
	pthread_mutex_unlock(&dev->cm_lock);
	if (!waited)
		return;
	vrb_conn_drop_id(conn);
	vrb_cm_put(&conn->object);
}

void vrb_conn_all_left(struct vrb_rdma *rdma)
{
	struct vrb_conn *conn;

	while ((conn = rdma->leaving))
		vrb_conn_left(conn, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

/* ---- Steps ---- */

int vrb_conn_step_failed(const struct vrb_conn *conn, const char *what)
{
	int err = errno;

	switch (err) {
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ETIMEDOUT:
	case ECONNREFUSED:
	case ECONNRESET:
	case EINVAL: /* the peer was faster, which an event tells */
	case ENOTCONN:
	case EISCONN:
		break;
	default:
		dapl_err_limited("%s: connection %p: %s: %s", conn->object.dev->name,
				 (const void *)conn, what, dapl_strerror(err));
	}
	return -err;
}

int vrb_conn_resolve_addr(struct vrb_conn *conn)
{
	conn->state = VRB_CONN_ADDR;
	return rdma_resolve_addr(conn->id, NULL, (struct sockaddr *)&conn->to,
				 (int)conn->object.dev->config->arp_timeout_ms)
		       ? vrb_conn_step_failed(conn, "address not resolved")
		       : 0;
}

int vrb_conn_resolve_route(struct vrb_conn *conn)
{
	conn->state = VRB_CONN_ROUTE;
	return rdma_resolve_route(conn->id, (int)conn->object.dev->config->route_timeout_ms)
		       ? vrb_conn_step_failed(conn, "route not found")
		       : 0;
}

static uint8_t lesser(uint32_t a, uint32_t b)
{
	return (uint8_t)(a < b ? a : b);
}

void vrb_conn_fill_param(const struct vrb_conn *conn, struct rdma_conn_param *param)
{
	*param = (struct rdma_conn_param){
		.responder_resources = conn->reads_in,
		.initiator_depth = conn->reads_out,
		.retry_count = (uint8_t)conn->object.dev->config->ack_retry,
		.rnr_retry_count = (uint8_t)conn->object.dev->config->rnr_retry,
		.qp_num = conn->qp->ibqp->qp_num,
	};
}

int vrb_conn_init_qp(struct vrb_conn *conn)
{
	int rc = vrb_rdma_qp_to_init(conn->qp, conn->id);

	return rc ? rc : vrb_qp_post_receives(conn->qp);
}

int vrb_conn_connect(struct vrb_conn *conn)
{
	struct rdma_conn_param param;
	int rc = 0;

	conn->state = VRB_CONN_CONNECTING;
	conn->reads_in = lesser(conn->qp->max_read_in, UINT8_MAX);
	conn->reads_out = lesser(conn->qp->max_read_out, UINT8_MAX);
	if (!conn->ports)
		rc = vrb_conn_init_qp(conn);
	if (rc)
		return rc;
	vrb_conn_fill_param(conn, &param);
	return vrb_conn_ops(conn)->connect(conn, &param);
}

/* The kernel's choice is free among RDMA's ports; TCP sockets have theirs. */
int vrb_conn_other_port(struct vrb_conn *conn, int err)
{
	const char *name = conn->object.dev->name;
	int rc;

	if (err != EADDRINUSE && err != EADDRNOTAVAIL) {
		errno = err;
		return vrb_conn_step_failed(conn, "not requested");
	}
	if (++conn->ports == VRB_PORTS) {
		dapl_err("%s: connection not started: %d ports were tried, the last one was "
			 "%llu: %s",
			 name, VRB_PORTS, (unsigned long long)conn->addr.local_qual,
			 dapl_port_strerror(err));
		return -err;
	}
	dapl_trace(rdma_port_taken, DAPL_TRC_NORMAL, conn, "ia=%s port=%llu why=%s", name,
		   (unsigned long long)conn->addr.local_qual, dapl_strerror(err));
	vrb_conn_drop_id(conn);
	rc = vrb_conn_make_id(conn);
	if (rc)
		return rc;
	conn->object.dev->base.up->conn_addr(conn->base.owner);
	return vrb_conn_resolve_addr(conn);
}

void vrb_conn_open(struct vrb_conn *conn, const void *data, uint32_t len)
{
	struct vrb_dev *dev = conn->object.dev;

	vrb_qp_open(conn->qp);
	conn->state = VRB_CONN_OPEN;
	conn->watched = true;
	vrb_watchdog_add(dev);
	dev->base.up->conn_event(conn->base.owner, TP_CONN_ESTABLISHED, 0, len ? data : NULL, len);
}

/* False: the kernel does not tell the peer. Of iWARP EINVAL says that it is over already. */
static bool disconnect(struct vrb_conn *conn)
{
	bool answered = vrb_conn_ops(conn)->end_is_answered;

	if (rdma_disconnect(conn->id))
		return vrb_conn_step_failed(conn, "end not told") == -EINVAL && !answered;
	conn->asked = answered;
	return true;
}

void vrb_conn_end(struct vrb_conn *conn)
{
	const struct vrb_rdma_ops *ops = vrb_conn_ops(conn);
	bool error_first = conn->object.dev->quirks.error_before_disconnect;
	enum vrb_conn_state was = conn->state;
	struct vrb_qp *qp = conn->qp;
	bool established, told = false;

	conn->state = VRB_CONN_ENDED;
	if (was == VRB_CONN_ENDED)
		return;
	if (conn->watched)
		vrb_watchdog_remove(conn->object.dev);
	conn->watched = false;
	if (conn->calling) {
		vrb_connect_abandon(conn);
		return;
	}
	established = was == VRB_CONN_OPEN || (was == VRB_CONN_ACCEPTED && ops->ends_unconfirmed);
	if (established && conn->id && !error_first)
		told = disconnect(conn);
	if (qp)
		vrb_cm_end_qp(qp);
	if (established && conn->id && error_first)
		told = disconnect(conn);
	/*
	 * Withdraws an attempt, and tells the peer of an end that it would not hear of; with iWARP
	 * the kernel waits for the peer unless the QP failed.
	 */
	if (!told)
		vrb_conn_drop_id(conn);
}

void vrb_conn_ended(struct vrb_conn *conn, enum tp_conn_event event, int err, const void *data,
		    uint32_t len)
{
	struct vrb_dev *dev = conn->object.dev;

	if (conn->state == VRB_CONN_ENDED)
		return;
	vrb_async_poll(dev); /* faults until now; later ones may be of this end */
	vrb_conn_end(conn);
	if (vrb_cm_was_fault(conn->qp, event)) {
		event = TP_CONN_BROKEN;
		err = -EIO;
	}
	if (conn->quiet)
		return;
	vrb_cm_explain(dev, &conn->addr, event, err);
	dev->base.up->conn_event(conn->base.owner, event, err, len ? data : NULL, len);
}

void vrb_rdma_refuse(struct vrb_dev *dev, struct rdma_cm_id *id)
{
	if (vrb_rdma(dev)->ops->refuse)
		vrb_rdma(dev)->ops->refuse(id);
	VRB_GLOBAL(rdma_destroy_id(id));
}
