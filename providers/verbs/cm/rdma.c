/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's calls. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "dapl/unsupported.h"
#include "trace/log.h"
#include "util/signals.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/cm/rdma.h"
#include "providers/verbs/watchdog.h"

#define BACKLOG 1024 /* requests that the kernel keeps for the loop */

/* ---- Listening ---- */

static int listen_failed(struct vrb_dev *dev, uint64_t qual, int err)
{
	if (!qual && err == EADDRINUSE)
		err = EADDRNOTAVAIL;
	if (err == EADDRINUSE)
		dapl_trace(rdma_in_use, DAPL_TRC_ERROR, dev, "ia=%s qualifier=%llu", dev->name,
			   (unsigned long long)qual);
	else
		dapl_err("%s: not listening on qualifier %llu: %s", dev->name,
			 (unsigned long long)qual, dapl_port_strerror(err));
	switch (err) {
	case EADDRINUSE:
	case EADDRNOTAVAIL:
	case EMFILE:
	case ENFILE:
	case EACCES:
		return -err;
	default:
		return -ENOMEM;
	}
}

/* A port that the kernel chose may be taken below, by a TCP socket under an iWARP device. */
static int listen_on(struct vrb_dev *dev, uint64_t qual, struct vrb_listener *listener)
{
	struct sockaddr_storage addr = dev->addr;
	int tries = qual ? 1 : VRB_PORTS, err = 0;

	vrb_addr_set_port(&addr, (uint16_t)qual);
	vrb_gid_wire(dev, &addr);
	while (tries--) {
		if (VRB_GLOBAL(rdma_create_id(vrb_rdma(dev)->channel, &listener->id,
					      &listener->object, RDMA_PS_TCP)))
			return listen_failed(dev, qual, errno);
		if (!VRB_GLOBAL(rdma_bind_addr(listener->id, (struct sockaddr *)&addr))) {
			listener->base.conn_qual = ntohs(rdma_get_src_port(listener->id));
			if (!VRB_GLOBAL(rdma_listen(listener->id, BACKLOG)))
				return 0;
		}
		err = errno;
		VRB_GLOBAL(rdma_destroy_id(listener->id));
		if (err != EADDRINUSE)
			break;
	}
	return listen_failed(dev, qual, err);
}

static void free_listener(struct vrb_cm_object *object)
{
	free(container_of(object, struct vrb_listener, object));
}

static int cm_listen(struct tp_device *base, uint64_t qual, void *owner, struct tp_listener **out)
{
	struct vrb_dev *dev = vrb_dev(base);
	struct vrb_listener *listener;
	int rc;

	if (qual > UINT16_MAX)
		return -EINVAL;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return listen_failed(dev, qual, ENOMEM);
	listener->base = (struct tp_listener){ .dev = base, .owner = owner };
	vrb_cm_init(&listener->object, dev, free_listener);
	listener->object.listener = true;
	/* A request may arrive before listen has returned: the core asks for the qualifier then. */
	vrb_cm_lock(&listener->object);
	*out = &listener->base;
	rc = listen_on(dev, qual, listener);
	vrb_cm_unlock(&listener->object);
	if (rc) {
		*out = NULL;
		vrb_cm_close(&listener->object);
		vrb_cm_put(&listener->object);
	}
	return rc;
}

static void cm_unlisten(struct tp_listener *base)
{
	struct vrb_listener *listener = container_of(base, struct vrb_listener, base);

	vrb_cm_close(&listener->object);
	VRB_GLOBAL(rdma_destroy_id(listener->id));
	vrb_cm_put(&listener->object);
}

/* ---- connect ---- */

static void set_remote(struct vrb_conn *conn, const struct tp_connect *param)
{
	vrb_addr_copy(&conn->addr.remote, param->remote);
	conn->to = conn->addr.remote;
	vrb_addr_set_port(&conn->to, (uint16_t)param->conn_qual);
	vrb_gid_wire(conn->object.dev, &conn->to);
	conn->addr.remote_qual = param->conn_qual;
	conn->data_len = param->private_data_len;
	if (conn->data_len)
		memcpy(conn->data, param->private_data, conn->data_len);
}

static void start(struct vrb_conn *conn, uint64_t qual)
{
	int rc;

	if (!qual || qual > UINT16_MAX) {
		vrb_conn_tell_later(conn, TP_CONN_REFUSED, -ECONNREFUSED);
		return;
	}
	rc = vrb_conn_resolve_addr(conn);
	if (rc)
		vrb_conn_tell_later(conn, TP_CONN_UNREACHABLE, rc);
}

/* The loop, which may have found it, leaves it alone from here on. */
static void not_connected(struct vrb_conn *conn, struct tp_conn **out)
{
	*out = NULL;
	vrb_conn_leave(conn);
	vrb_cm_close(&conn->object);
}

static int cm_connect(struct tp_qp *base, const struct tp_connect *param, void *owner,
		      struct tp_conn **out)
{
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_conn *conn = vrb_conn_new(qp->dev);
	int rc;

	if (!conn)
		return -ENOMEM;
	if (param->private_data_len > sizeof(conn->data)) {
		rc = -EINVAL;
		goto put;
	}
	set_remote(conn, param);
	rc = vrb_qp_prepare(qp);
	if (rc)
		goto put;
	conn->base.owner = owner;
	/* Once there is an id the loop may read that its device is removed. */
	vrb_cm_lock(&conn->object);
	vrb_conn_join(conn, qp);
	*out = &conn->base;
	rc = vrb_conn_make_id(conn);
	if (rc)
		not_connected(conn, out);
	else
		start(conn, param->conn_qual);
	vrb_cm_unlock(&conn->object);
	if (!rc)
		return 0;
put:
	vrb_cm_put(&conn->object);
	return rc;
}

/* ---- accept and reject ---- */

static int answer(struct vrb_conn *conn, const void *data, uint32_t len)
{
	const struct vrb_rdma_ops *ops = vrb_conn_ops(conn);
	struct rdma_conn_param param;
	int rc;

	rc = vrb_conn_init_qp(conn);
	if (!rc)
		rc = ops->qp_accepts ? ops->qp_accepts(conn) : ops->qp_ready(conn);
	if (rc)
		return rc;
	vrb_conn_fill_param(conn, &param);
	return ops->accept(conn, &param, data, len);
}

/*
 * The peer hears of it now, not when the program is done with its endpoint: with iWARP the end of
 * what was not accepted tells it nothing.
 */
static void answer_failed(struct vrb_conn *conn, int rc)
{
	struct rdma_cm_id *id = conn->id;

	if (id && !conn->peer_gone) {
		conn->id = NULL;
		vrb_rdma_refuse(conn->object.dev, id);
	}
	vrb_conn_tell_later(conn, TP_CONN_BROKEN, rc);
}

static int cm_accept(struct tp_conn *base, struct tp_qp *qp_base, const void *data, uint32_t len,
		     void *owner)
{
	struct vrb_conn *conn = vrb_conn(base);
	struct vrb_qp *qp = vrb_qp(qp_base);
	int rc;

	rc = vrb_qp_prepare(qp);
	if (rc)
		return rc;
	vrb_cm_lock(&conn->object);
	conn->base.owner = owner;
	vrb_conn_join(conn, qp);
	conn->state = VRB_CONN_ACCEPTED;
	if (conn->reads_in > qp->max_read_in)
		conn->reads_in = (uint8_t)qp->max_read_in;
	if (conn->reads_out > qp->max_read_out)
		conn->reads_out = (uint8_t)qp->max_read_out;
	rc = conn->peer_gone ? -ECONNRESET : answer(conn, data, len);
	if (rc)
		answer_failed(conn, rc);
	vrb_cm_unlock(&conn->object);
	return 0;
}

static int cm_reject(struct tp_conn *base, const void *data, uint32_t len)
{
	struct vrb_conn *conn = vrb_conn(base);
	uint8_t bytes[VRB_PD_REJECT_MAX];
	struct dats_signals signals;
	int rc = 0;

	vrb_cm_lock(&conn->object);
	if (conn->id && !conn->peer_gone) {
		len = vrb_conn_ops(conn)->put_reject(bytes, data, len);
		dats_signals_block(&signals); /* as in iwarp_accept */
		rc = rdma_reject(conn->id, bytes, (uint8_t)len);
		dats_signals_restore(&signals);
	}
	if (rc)
		vrb_conn_step_failed(conn, "rejection without its private data");
	vrb_cm_unlock(&conn->object);
	vrb_cm_close(&conn->object);
	vrb_conn_drop_id(conn);
	vrb_cm_put(&conn->object);
	return 0;
}

/* ---- The end ---- */

static void cm_disconnect(struct tp_conn *base, bool graceful)
{
	struct vrb_conn *conn = vrb_conn(base);

	vrb_cm_lock(&conn->object);
	if (graceful) {
		if (conn->state == VRB_CONN_OPEN)
			vrb_cm_begin_drain(conn->qp);
	} else {
		conn->quiet = true;
		vrb_conn_end(conn);
	}
	vrb_cm_unlock(&conn->object);
}

static void cm_release(struct tp_conn *base)
{
	struct vrb_conn *conn = vrb_conn(base);
	struct rdma_cm_id *id;

	vrb_cm_close(&conn->object);
	vrb_conn_leave(conn);
	conn->quiet = true;
	if (conn->state == VRB_CONN_REQUEST && conn->id && !conn->peer_gone) {
		id = conn->id;
		conn->id = NULL;
		vrb_rdma_refuse(conn->object.dev, id);
	}
	vrb_conn_end(conn);
	vrb_conn_leave_id(conn);
	vrb_cm_put(&conn->object);
}

static void cm_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	struct vrb_conn *conn = vrb_conn(base);

	pthread_mutex_lock(&conn->object.dev->cm_lock);
	*addr = conn->addr;
	pthread_mutex_unlock(&conn->object.dev->cm_lock);
}

const struct dapl_cm_ops vrb_cm_ops = {
	.listen = cm_listen,
	.unlisten = cm_unlisten,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.handoff = dapl_unsupported_handoff,
	.free_ah = dapl_unsupported_free_ah,
	.disconnect = cm_disconnect,
	.release = cm_release,
	.addr = cm_addr,
};

static int start_events(struct vrb_dev *dev)
{
	struct vrb_rdma *rdma = vrb_rdma(dev);

	dev->attr.max_private_data = rdma->ops->max_private_data;
	dev->qp_event = vrb_rdma_qp_event;
	rdma->watch = (struct tp_watch){ .ready = vrb_rdma_ready, .fd = rdma->channel->fd };
	return dapl_loop_add(dev->base.loop, &rdma->watch, EPOLLIN);
}

static void stop_events(struct vrb_dev *dev)
{
	dapl_loop_del(dev->base.loop, &vrb_rdma(dev)->watch);
	vrb_conn_all_left(vrb_rdma(dev));
}

const char vrb_cm_name[] = "CMA";

const struct vrb_cm vrb_cm = {
	.open = vrb_rdma_open,
	.close = vrb_rdma_close,
	.start = start_events,
	.stop = stop_events,
};
