/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The side that is asked: listeners, requests, and their answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "dapl/base/loop_call.h"
#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/cm/socket.h"

enum {
	BACKLOG = 1024,
	PORTS = 16, /* of the system's choice, until one is a qualifier */
	ACCEPTS_PER_EVENT = 64,
	PAUSE_MS = 100,
	GRACE_MS = 250, /* that a peer has to send its request before it is one of too many */
};

static void ready(struct tp_watch *watch, uint32_t events);

/* ---- Requests ---- */

static void say_refused(struct vrb_conn *conn, const char *why)
{
	char text[VRB_ADDR_TEXT];

	dapl_trace_limited(scm_refused, DAPL_TRC_ERROR, conn, "ia=%s peer=%s why=%s",
			   conn->dev->name, vrb_addr_text(&conn->addr.remote, text), why);
}

static void leave_half_open(struct vrb_conn *conn)
{
	list_del(&conn->node);
	vrb_scm(conn->dev)->num_half_open--;
	conn->listener = NULL;
	dapl_loop_timer_cancel(conn->dev->base.loop, &conn->timer);
}

static void discard(struct vrb_conn *conn)
{
	leave_half_open(conn);
	vrb_scm_end(conn);
	vrb_scm_drop(conn);
}

void vrb_scm_drop_half_open(struct vrb_dev *dev, const struct vrb_scm_listener *listener)
{
	struct list *head = &vrb_scm(dev)->half_open, *at = head->next;
	struct vrb_conn *conn;

	while (at != head) {
		conn = container_of(at, struct vrb_conn, node);
		at = at->next;
		if (!listener || conn->listener == listener)
			discard(conn);
	}
}

static void tell_refused(struct vrb_conn *conn)
{
	uint8_t bytes[XCHG_MOST];

	conn->refused = true;
	if (conn->watch.fd >= 0 && !conn->peer_gone)
		(void)vrb_scm_send(conn, bytes, scm_reject(bytes, conn->in, SCM_REJ_CM, NULL, 0));
}

void vrb_scm_refuse(struct vrb_conn *conn)
{
	tell_refused(conn);
	vrb_scm_end(conn);
}

/* Who asks for the second time has two bytes more, all in one segment (SCM-15). */
static void take_stray(struct vrb_conn *conn)
{
	size_t size = conn->have;
	uint8_t more[XCHG_STRAY + 1];

	if (recv(conn->watch.fd, more, sizeof(more), MSG_DONTWAIT | MSG_PEEK) != XCHG_STRAY ||
	    size + XCHG_STRAY > sizeof(conn->in) || vrb_scm_recv(conn, size + XCHG_STRAY) != 1)
		return;
	conn->have = scm_drop_stray(conn->in, size, conn->have);
}

static int requested(struct vrb_conn *conn)
{
	struct tp_conn_request req = { 0 };
	void *owner = conn->listener->base.owner;
	const char *why;

	take_stray(conn);
	if (scm_decode(conn->in, conn->have, false, &conn->peer, &why)) {
		say_refused(conn, why);
		return -EPROTO;
	}
	leave_half_open(conn);
	/* Until the program answers, nothing but the end is awaited. */
	dapl_loop_mod(conn->dev->base.loop, &conn->watch, EPOLLRDHUP);
	conn->state = SCM_CONSUMER;
	req.private_data = conn->peer.data;
	req.private_data_len = xchg_data_len(conn->peer.len);
	req.truncated = conn->peer.len > XCHG_DATA;
	if (conn->peer.end.qp_type != XCHG_QPT_RC)
		say_refused(conn, "its endpoint is of service type UD");
	else if (!conn->dev->base.up->conn_request(owner, &conn->base, &req))
		return 0;
	vrb_scm_refuse(conn);
	vrb_scm_drop(conn);
	return 0;
}

static void await_request(struct vrb_conn *conn)
{
	int rc = vrb_scm_recv_msg(conn);

	if (rc > 0)
		rc = requested(conn);
	else if (rc < 0)
		say_refused(conn, rc == -ENODATA	   ? "the peer ended before its request"
				  : rc == -EMSGSIZE	   ? "too much private data"
				  : rc == -EPROTONOSUPPORT ? "a version before 7"
							   : dapl_strerror(-rc));
	if (rc < 0)
		discard(conn);
}

static void request_expired(struct tp_timer *timer)
{
	struct vrb_conn *conn = container_of(timer, struct vrb_conn, timer);

	say_refused(conn, "no request came in the time of option handshake");
	discard(conn);
}

/* ---- Listening ---- */

/* For one more; the oldest goes for it, unless it has had no time yet. */
static bool room(struct vrb_dev *dev)
{
	struct vrb_scm *scm = vrb_scm(dev);
	struct vrb_conn *conn;

	while (scm->num_half_open >= dapl_fd_share(dev->config->half_open)) {
		conn = container_of(scm->half_open.next, struct vrb_conn, node);
		if (dapl_now() - conn->since < GRACE_MS * UINT64_C(1000000))
			return false;
		say_refused(conn, "it sent no request, and option half_open is reached");
		discard(conn);
	}
	return true;
}

static void pause_listener(struct vrb_scm_listener *listener)
{
	listener->paused = true;
	dapl_loop_mod(listener->dev->base.loop, &listener->watch, EPOLLONESHOT);
	dapl_loop_timer(listener->dev->base.loop, &listener->pause,
			dapl_now() + PAUSE_MS * UINT64_C(1000000));
}

static void resume(struct tp_timer *timer)
{
	struct vrb_scm_listener *listener = container_of(timer, struct vrb_scm_listener, pause);

	listener->paused = false;
	dapl_loop_mod(listener->dev->base.loop, &listener->watch, EPOLLIN);
}

static void took(struct vrb_scm_listener *listener, int fd, const struct sockaddr_in *from)
{
	struct vrb_dev *dev = listener->dev;
	struct vrb_conn *conn = vrb_scm_new(dev, SCM_WAIT_REQ);

	if (!conn) {
		dapl_fd_close(fd);
		return;
	}
	vrb_addr_copy(&conn->addr.remote, (const struct sockaddr *)from);
	conn->addr.local_qual = listener->base.conn_qual;
	conn->addr.remote_qual = ntohs(from->sin_port);
	conn->listener = listener;
	conn->since = dapl_now();
	list_add(&vrb_scm(dev)->half_open, &conn->node);
	vrb_scm(dev)->num_half_open++;
	if (vrb_scm_take_fd(conn, fd, ready, EPOLLIN))
		discard(conn);
	else
		vrb_scm_timeout(conn, request_expired);
}

static int accept_one(struct vrb_scm_listener *listener)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	socklen_t len = sizeof(from);
	int fd = dapl_fd_own(accept4(listener->watch.fd, (struct sockaddr *)&from, &len,
				     SOCK_CLOEXEC | SOCK_NONBLOCK));

	if (fd < 0)
		return -errno;
	took(listener, fd, &from);
	return 0;
}

/* Out of descriptors or memory: the backlog waits, and so do we. */
static void cannot_accept(struct vrb_scm_listener *listener, int rc)
{
	if (!listener->failed)
		dapl_err_limited("%s: cannot accept connections on qualifier %llu: %s",
				 listener->dev->name, (unsigned long long)listener->base.conn_qual,
				 dapl_strerror(-rc));
	listener->failed = true;
	pause_listener(listener);
}

static void listener_ready(struct tp_watch *watch, uint32_t events)
{
	struct vrb_scm_listener *listener = container_of(watch, struct vrb_scm_listener, watch);
	int i, rc;

	(void)events;
	for (i = 0; i < ACCEPTS_PER_EVENT && !listener->paused; i++) {
		if (!room(listener->dev)) {
			pause_listener(listener);
			return;
		}
		rc = accept_one(listener);
		if (rc == -EAGAIN)
			return;
		if (!rc)
			listener->failed = false;
		else if (rc != -EINTR && rc != -ECONNABORTED && rc != -EPROTO)
			cannot_accept(listener, rc);
	}
}

/* ---- dat_psp_create and its like ---- */

static int bind_port(const struct vrb_dev *dev, uint16_t port)
{
	struct sockaddr_in addr = *(const struct sockaddr_in *)&dev->addr;
	int fd = dapl_fd_own(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	const int on = 1;
	int err;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	addr.sin_port = htons(port);
	if (!bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, BACKLOG))
		return fd;
	err = errno;
	dapl_fd_close(fd);
	return -err;
}

/* On a port of the system's choice; its qualifier is there then. */
static int bind_any(const struct vrb_dev *dev, uint64_t *qual)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t len = sizeof(name);
	int tries, fd;

	for (tries = 0; tries < PORTS; tries++) {
		fd = bind_port(dev, 0);
		if (fd < 0)
			return fd == -EADDRINUSE ? -EADDRNOTAVAIL : fd;
		if (!getsockname(fd, (struct sockaddr *)&name, &len))
			*qual = scm_qual(ntohs(name.sin_port));
		if (*qual)
			return fd;
		dapl_fd_close(fd);
	}
	return -EADDRNOTAVAIL;
}

static int not_listening(const struct vrb_dev *dev, uint64_t qual, int rc)
{
	if (rc == -EADDRINUSE)
		dapl_trace(scm_in_use, DAPL_TRC_ERROR, dev, "ia=%s qualifier=%llu port=%u",
			   dev->name, (unsigned long long)qual, scm_port(qual));
	else
		dapl_err("%s: not listening on qualifier %llu (port %u): %s", dev->name,
			 (unsigned long long)qual, scm_port(qual), dapl_port_strerror(-rc));
	switch (-rc) {
	case EADDRINUSE:
	case EADDRNOTAVAIL:
	case EMFILE:
	case ENFILE:
	case EACCES:
	case EINVAL:
		return rc;
	default:
		return -ENOMEM;
	}
}

int vrb_scm_listen(struct tp_device *base, uint64_t qual, void *owner, struct tp_listener **out)
{
	struct vrb_dev *dev = vrb_dev(base);
	struct vrb_scm_listener *listener;
	int rc;

	if (qual > dev->attr.max_conn_qual || (qual && !scm_port(qual)))
		return -EINVAL; /* SCM-1: it would be a random port */
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return not_listening(dev, qual, -ENOMEM);
	listener->base = (struct tp_listener){ .dev = base, .owner = owner, .conn_qual = qual };
	listener->dev = dev;
	listener->pause.expired = resume;
	rc = qual ? bind_port(dev, scm_port(qual)) : bind_any(dev, &listener->base.conn_qual);
	if (rc >= 0) {
		listener->watch = (struct tp_watch){ .ready = listener_ready, .fd = rc };
		*out = &listener->base;
		rc = dapl_loop_add(dev->base.loop, &listener->watch, EPOLLIN);
		if (!rc)
			return 0;
		*out = NULL;
		dapl_fd_close(listener->watch.fd);
	}
	free(listener);
	return not_listening(dev, qual, rc);
}

static int unlisten(void *arg)
{
	struct vrb_scm_listener *listener = arg;
	struct dapl_loop *loop = listener->dev->base.loop;

	dapl_loop_del(loop, &listener->watch);
	dapl_loop_timer_cancel(loop, &listener->pause);
	/* A child of the process may have the socket, too. */
	(void)shutdown(listener->watch.fd, SHUT_RDWR);
	dapl_fd_close(listener->watch.fd);
	vrb_scm_drop_half_open(listener->dev, listener);
	free(listener);
	return 0;
}

void vrb_scm_unlisten(struct tp_listener *base)
{
	struct vrb_scm_listener *listener = container_of(base, struct vrb_scm_listener, base);

	dapl_loop_call(listener->dev->base.loop, unlisten, listener);
}

/* ---- Answers ---- */

struct answer {
	struct vrb_conn *conn;
	struct vrb_qp *qp;
	void *owner;
	const void *data;
	uint32_t len;
	int rc; /* of the QP */
};

static int send_reply(struct vrb_conn *conn, const struct answer *answer)
{
	struct scm_msg own = { .op = SCM_REP,
			       .version = XCHG_VERSION,
			       .data = answer->data,
			       .len = (uint16_t)answer->len,
			       .stray = conn->peer.stray };
	socklen_t len = sizeof(own.addr);
	uint8_t bytes[XCHG_MOST];
	int rc = vrb_xchg_own(conn->qp, conn->peer.end.mtu, &own.end);

	if (rc)
		return rc;
	if (getsockname(conn->watch.fd, (struct sockaddr *)&own.addr, &len))
		return -errno;
	return vrb_scm_send(conn, bytes, scm_encode(bytes, &own));
}

static void confirm_expired(struct tp_timer *timer)
{
	vrb_scm_ended(container_of(timer, struct vrb_conn, timer), TP_CONN_BROKEN, -ETIMEDOUT, NULL,
		      0);
}

/* A peer that gets no answer of any kind asks again (SCM-14). */
static int reply(void *arg)
{
	const struct answer *answer = arg;
	struct vrb_conn *conn = answer->conn;
	int rc = conn->peer_gone ? -ECONNRESET : answer->rc;

	conn->base.owner = answer->owner;
	vrb_scm_join(conn, answer->qp);
	if (!rc)
		rc = send_reply(conn, answer);
	if (rc)
		tell_refused(conn);
	conn->state = SCM_WAIT_RTU;
	conn->have = 0;
	if (!rc)
		rc = dapl_loop_mod(conn->dev->base.loop, &conn->watch, EPOLLIN);
	if (rc) {
		/* What has come is no confirmation. */
		dapl_loop_del(conn->dev->base.loop, &conn->watch);
		vrb_scm_tell_later(conn, TP_CONN_BROKEN, rc);
	} else {
		vrb_scm_timeout(conn, confirm_expired);
	}
	return 0;
}

/* The QP is ready before the peer hears of it (CM-8). */
int vrb_scm_accept(struct tp_conn *base, struct tp_qp *qp_base, const void *data, uint32_t len,
		   void *owner)
{
	struct vrb_conn *conn = vrb_conn(base);
	struct vrb_qp *qp = vrb_qp(qp_base);
	struct answer answer = { .conn = conn, .qp = qp, .owner = owner, .data = data, .len = len };
	int rc = vrb_qp_prepare(qp);

	if (rc)
		return rc;
	answer.rc = vrb_xchg_qp_init(qp);
	if (!answer.rc)
		answer.rc = vrb_xchg_qp_ready(qp, &conn->peer.end, 0);
	return dapl_loop_call(conn->dev->base.loop, reply, &answer);
}

static int refuse(void *arg)
{
	const struct answer *answer = arg;
	struct vrb_conn *conn = answer->conn;
	uint8_t bytes[XCHG_MOST];

	if (!conn->peer_gone)
		(void)vrb_scm_send(
			conn, bytes,
			scm_reject(bytes, conn->in, SCM_REJ_USER, answer->data, answer->len));
	vrb_scm_end(conn);
	vrb_scm_drop(conn);
	return 0;
}

int vrb_scm_reject(struct tp_conn *base, const void *data, uint32_t len)
{
	struct answer answer = { .conn = vrb_conn(base), .data = data, .len = len };

	return dapl_loop_call(base->dev->loop, refuse, &answer);
}

/* ---- What comes ---- */

static void await_confirmation(struct vrb_conn *conn)
{
	int rc = vrb_scm_recv(conn, SCM_WORD);

	if (rc > 0 && !scm_is_rtu(conn->in)) {
		say_refused(conn, "what came is no confirmation");
		rc = -EPROTO;
	}
	if (rc > 0)
		vrb_scm_established(conn, NULL, 0);
	else if (rc < 0)
		vrb_scm_ended(conn, TP_CONN_BROKEN, rc == -ENODATA ? -ECONNRESET : rc, NULL, 0);
}

static void gone(struct vrb_conn *conn)
{
	conn->peer_gone = true; /* EP-141 */
	dapl_loop_del(conn->dev->base.loop, &conn->watch);
}

static void ready(struct tp_watch *watch, uint32_t events)
{
	struct vrb_conn *conn = container_of(watch, struct vrb_conn, watch);

	vrb_scm_hold(conn);
	if (conn->state == SCM_WAIT_REQ)
		await_request(conn);
	else if (conn->state == SCM_CONSUMER && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		gone(conn);
	else if (conn->state == SCM_WAIT_RTU)
		await_confirmation(conn);
	if (conn->state == SCM_CONNECTED)
		vrb_scm_live(conn);
	vrb_scm_drop(conn);
}
