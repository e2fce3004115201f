/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a connection, whichever side asked for it. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "trace/log.h"
#include "providers/verbs/cm/socket.h"
#include "providers/verbs/watchdog.h"

/* ---- Life ---- */

static void tell(struct tp_task *task)
{
	struct vrb_conn *conn = container_of(task, struct vrb_conn, task);

	vrb_scm_ended(conn, conn->pending_event, conn->pending_err, NULL, 0);
}

struct vrb_conn *vrb_scm_new(struct vrb_dev *dev, enum vrb_scm_state state)
{
	struct vrb_conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		dapl_err_limited("%s: connection not made: %s", dev->name, dapl_strerror(ENOMEM));
		return NULL;
	}
	conn->base.dev = &dev->base;
	conn->dev = dev;
	conn->state = state;
	conn->holds = 1;
	conn->watch.fd = -1;
	conn->task.run = tell;
	list_init(&conn->node);
	return conn;
}

void vrb_scm_hold(struct vrb_conn *conn)
{
	conn->holds++;
}

void vrb_scm_drop(struct vrb_conn *conn)
{
	if (--conn->holds)
		return;
	vrb_scm_close_fd(conn);
	dapl_loop_cancel(conn->dev->base.loop, &conn->task);
	free(conn);
}

void vrb_scm_join(struct vrb_conn *conn, struct vrb_qp *qp)
{
	conn->qp = qp;
	qp->conn = conn;
	/* What came before is looked at again. */
	if (atomic_load(&qp->fault))
		vrb_qp_notify(qp);
}

void vrb_scm_tell_later(struct vrb_conn *conn, enum tp_conn_event event, int err)
{
	conn->pending_event = event;
	conn->pending_err = err;
	dapl_loop_post(conn->dev->base.loop, &conn->task);
}

/* ---- The socket ---- */

static void set_options(const struct vrb_dev *dev, int fd)
{
	const int on = 1, tos = (int)dev->config->tos;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* A host that is gone is noticed in the end, in the kernel's time. */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (tos)
		(void)setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
}

int vrb_scm_take_fd(struct vrb_conn *conn, int fd, void (*ready)(struct tp_watch *, uint32_t),
		    uint32_t events)
{
	int rc;

	set_options(conn->dev, fd);
	conn->watch = (struct tp_watch){ .ready = ready, .fd = fd };
	rc = dapl_loop_add(conn->dev->base.loop, &conn->watch, events);
	if (rc)
		vrb_scm_close_fd(conn);
	return rc;
}

void vrb_scm_close_fd(struct vrb_conn *conn)
{
	if (conn->watch.fd < 0)
		return;
	dapl_loop_del(conn->dev->base.loop, &conn->watch);
	dapl_loop_timer_cancel(conn->dev->base.loop, &conn->timer);
	/* A child of the process may have it, too. */
	(void)shutdown(conn->watch.fd, SHUT_RDWR);
	dapl_fd_close(conn->watch.fd);
	conn->watch.fd = -1;
	conn->have = 0;
}

void vrb_scm_timeout(struct vrb_conn *conn, void (*expired)(struct tp_timer *))
{
	conn->timer.expired = expired;
	dapl_loop_timer(conn->dev->base.loop, &conn->timer,
			dapl_now() + (uint64_t)conn->dev->config->handshake_ms * 1000000);
}

/* All that is sent fits any socket's buffer, and goes in one segment (SCM-8). */
int vrb_scm_send(struct vrb_conn *conn, const void *data, size_t len)
{
	ssize_t sent = send(conn->watch.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0)
		return -errno;
	return (size_t)sent == len ? 0 : -ENOBUFS;
}

int vrb_scm_recv(struct vrb_conn *conn, size_t size)
{
	ssize_t len;

	while (conn->have < size) {
		len = recv(conn->watch.fd, conn->in + conn->have, size - conn->have, MSG_DONTWAIT);
		if (!len)
			return -ENODATA;
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return errno == EAGAIN ? 0 : -errno;
		conn->have += (size_t)len;
	}
	return 1;
}

int vrb_scm_recv_msg(struct vrb_conn *conn)
{
	int size = scm_size(conn->in, conn->have), rc;

	if (!size) {
		rc = vrb_scm_recv(conn, XCHG_HEADER);
		size = scm_size(conn->in, conn->have);
		if (rc <= 0 && size >= 0)
			return rc;
	}
	return size < 0 ? size : vrb_scm_recv(conn, (size_t)size);
}

/* ---- Established ---- */

void vrb_scm_established(struct vrb_conn *conn, const void *data, uint32_t len)
{
	struct vrb_dev *dev = conn->dev;

	dapl_loop_timer_cancel(dev->base.loop, &conn->timer);
	vrb_qp_open(conn->qp);
	conn->state = SCM_CONNECTED;
	conn->watched = true;
	conn->have = 0;
	vrb_watchdog_add(dev);
	dev->base.up->conn_event(conn->base.owner, TP_CONN_ESTABLISHED, 0, len ? data : NULL, len);
}

/* Whatever comes, and the end, is a disconnect (SCM-18). */
void vrb_scm_live(struct vrb_conn *conn)
{
	int rc = vrb_scm_recv(conn, SCM_WORD);

	if (!rc && !conn->have)
		return;
	if (vrb_qp_found_fault(conn->qp))
		vrb_scm_ended(conn, vrb_cm_fault_here(conn->qp), -EIO, NULL, 0);
	else if (rc >= 0 || rc == -ENODATA || rc == -ECONNRESET || rc == -EPIPE)
		vrb_scm_ended(conn, TP_CONN_DISCONNECTED, 0, NULL, 0);
	else
		vrb_scm_ended(conn, TP_CONN_BROKEN, rc, NULL, 0);
}

/* ---- The end ---- */

void vrb_scm_end(struct vrb_conn *conn)
{
	enum vrb_scm_state was = conn->state;

	conn->state = SCM_CLOSED;
	if (was == SCM_CLOSED)
		return;
	if (conn->watched)
		vrb_watchdog_remove(conn->dev);
	conn->watched = false;
	list_del(&conn->node);
	if (conn->watch.fd >= 0 && !conn->refused && (was == SCM_CONNECTED || was == SCM_WAIT_RTU))
		(void)vrb_scm_send(conn, scm_end_word, sizeof(scm_end_word));
	if (conn->qp)
		vrb_cm_end_qp(conn->qp);
	vrb_scm_close_fd(conn);
}

void vrb_scm_ended(struct vrb_conn *conn, enum tp_conn_event event, int err, const void *data,
		   uint32_t len)
{
	struct vrb_dev *dev = conn->dev;

	if (conn->state == SCM_CLOSED)
		return;
	vrb_scm_hold(conn);
	vrb_scm_end(conn);
	if (vrb_cm_was_fault(conn->qp, event)) {
		event = TP_CONN_BROKEN;
		err = -EIO;
	}
	if (!conn->quiet) {
		vrb_cm_explain(dev, &conn->addr, event, err);
		dev->base.up->conn_event(conn->base.owner, event, err, len ? data : NULL, len);
	}
	vrb_scm_drop(conn);
}
