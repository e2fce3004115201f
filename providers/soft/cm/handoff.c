/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/handoff.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "dapl/base/fd.h"
#include "providers/soft/cm/ud.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/cm/accept.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/cm/setup.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

/* ---- Taking in ---- */

/* One who has connected. */
struct session {
	struct list node;
	struct soft_listener *listener;
	struct tp_watch watch;
	struct tp_timer timer;
};

static void session_free(struct session *session)
{
	struct soft_listener *listener = session->listener;

	dapl_loop_del(listener->dev->base.loop, &session->watch);
	dapl_loop_timer_cancel(listener->dev->base.loop, &session->timer);
	dapl_fd_close(session->watch.fd);
	list_del(&session->node);
	listener->num_sessions--;
	free(session);
}

static void session_expired(struct tp_timer *timer)
{
	session_free(container_of(timer, struct session, timer));
}

/* Of any address: it may have been a socket of the program (IWX-4). */
static bool is_tcp_connection(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(int), peer_len = sizeof(peer);
	int protocol;

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) &&
	       protocol == IPPROTO_TCP &&
	       (!getpeername(fd, (struct sockaddr *)&peer, &peer_len) || errno == ENOTCONN);
}

/* Who has another revision of what carries the connection cannot take it. */
static uint64_t magic(const struct soft_link_class *class)
{
	return SOFT_HANDOFF_MAGIC + class->revision;
}

static void session_ready(struct tp_watch *watch, uint32_t events)
{
	struct session *session = container_of(watch, struct session, watch);
	const size_t head = offsetof(struct soft_handoff_packet, frame);
	struct soft_listener *listener = session->listener;
	struct soft_handoff_packet packet;
	int fds[SOFT_LINK_FDS], num = SOFT_LINK_FDS;
	int32_t answer = -EINVAL;
	bool answered;
	ssize_t len;

	len = soft_link_recv_fds(watch->fd, &packet, sizeof(packet), fds, &num);
	if (len >= (ssize_t)head && num &&
	    packet.magic == magic(num > 1 ? &soft_link_shm : &soft_link_tcp) &&
	    (num > 1 || is_tcp_connection(fds[0])))
		answer = 0;
	answered = send(watch->fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT) ==
		   sizeof(answer);
	session_free(session);
	/* If taking in fails it is as when a listener has no room. */
	if (!answered || answer ||
	    soft_accept_adopt(listener, fds, num, packet.frame, (size_t)len - head))
		soft_link_close_fds(fds, num);
}

static int session_start(struct soft_listener *listener, int fd)
{
	struct soft_dev *dev = listener->dev;
	struct session *session = calloc(1, sizeof(*session));
	int rc;

	if (!session)
		return -ENOMEM;
	session->listener = listener;
	session->watch.fd = fd;
	session->watch.ready = session_ready;
	session->timer.expired = session_expired;
	rc = dapl_loop_add(dev->base.loop, &session->watch, EPOLLIN);
	if (rc) {
		free(session);
		return rc;
	}
	list_add(&listener->sessions, &session->node);
	listener->num_sessions++;
	dapl_loop_timer(dev->base.loop, &session->timer,
			dapl_now() + (uint64_t)dev->config->handoff_ms * 1000000);
	return 0;
}

int soft_handoff_accept(struct soft_listener *listener, int listen_fd)
{
	int fd = dapl_fd_own(accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	uid_t user;

	if (fd < 0)
		return -errno;
	if (!soft_link_same_user(fd, &user))
		dapl_err_limited("%s: a request from user %u refused: only processes of one user "
				 "hand on to each other",
				 listener->dev->name, (unsigned)user);
	else if (listener->num_sessions < SOFT_HANDOFF_SESSIONS && !session_start(listener, fd))
		return 0;
	dapl_fd_close(fd);
	return 0;
}

int soft_handoff_listen(const struct soft_listener *listener)
{
	return soft_link_listen_local(SOCK_SEQPACKET, SOFT_HANDOFF_NAME, &listener->dev->addr,
				      listener->base.conn_qual, SOFT_HANDOFF_SESSIONS);
}

void soft_handoff_stop(struct soft_listener *listener)
{
	while (!list_empty(&listener->sessions))
		session_free(container_of(listener->sessions.next, struct session, node));
}

/* ---- Handing on ---- */

/* The other side's answer, -ECONNREFUSED if there is none in time. */
static int await_answer(int fd, uint64_t deadline)
{
	struct pollfd watch = { .fd = fd, .events = POLLIN };
	uint64_t now = dapl_now();
	int32_t rc;

	while (now < deadline && poll(&watch, 1, (int)((deadline - now) / 1000000) + 1) <= 0)
		now = dapl_now();
	if (now >= deadline)
		shutdown(fd, SHUT_RDWR);
	return recv(fd, &rc, sizeof(rc), MSG_DONTWAIT) == sizeof(rc) && rc <= 0 ? (int)rc
										: -ECONNREFUSED;
}

/* Something of our own failed, and not the other side. */
static int failed(const struct soft_dev *dev, const char *call, int err)
{
	dapl_err("%s: request not handed on: %s: %s", dev->name, call, dapl_strerror(err));
	return -err;
}

/*
 * Over a socket that is not connected yet; 0 once the request is the other side's, -ECONNREFUSED if
 * nobody takes it.
 */
static int hand_on(const struct soft_conn *conn, uint64_t qual, int fd)
{
	struct soft_handoff_packet packet = { .magic = magic(conn->link->class) };
	const struct soft_dev *dev = conn->dev;
	size_t len = conn->setup->in_have;
	int fds[SOFT_LINK_FDS], num = conn->link->class->give(conn->link, fds);
	struct sockaddr_un name;
	uid_t user;

	if (connect(fd, (struct sockaddr *)&name,
		    soft_link_name(SOFT_HANDOFF_NAME, &dev->addr, qual, &name)))
		return errno == ECONNREFUSED || errno == EAGAIN ? -ECONNREFUSED
								: failed(dev, "connect", errno);
	if (!soft_link_same_user(fd, &user)) {
		dapl_err_limited("%s: request not handed on: a process of user %u has the name for "
				 "that (@%s)",
				 dev->name, (unsigned)user, name.sun_path + 1);
		return -ECONNREFUSED;
	}
	memcpy(packet.frame, conn->setup->in, len);
	if (soft_link_send_fds(fd, &packet, offsetof(struct soft_handoff_packet, frame) + len, fds,
			       num) < 0)
		return errno == EPIPE || errno == ECONNRESET ? -ECONNREFUSED
							     : failed(dev, "sendmsg", errno);
	return await_answer(fd, dapl_now() + (uint64_t)dev->config->handoff_ms * 1000000);
}

static int handed_over(void *arg)
{
	struct soft_conn *conn = arg;

	conn->link->moved = true;
	soft_conn_discard(conn, SOFT_CAUSE_HANDOFF);
	return 0;
}

int soft_handoff(struct tp_conn *base, uint64_t conn_qual)
{
	struct soft_conn *conn = soft_conn(base);
	struct soft_dev *dev = conn->dev;
	char text[SOFT_ADDR_TEXT];
	int fd, rc;

	if (!conn_qual || conn_qual > UINT16_MAX)
		return -EINVAL;
	if (soft_is_ud(base))
		return -EOPNOTSUPP;
	fd = dapl_fd_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	rc = fd < 0 ? failed(dev, "socket", errno) : hand_on(conn, conn_qual, fd);
	if (fd >= 0)
		dapl_fd_close(fd);
	if (!rc)
		return soft_dev_call(dev, handed_over, conn);
	dapl_trace(soft_not_handed, DAPL_TRC_ERROR, conn, "ia=%s to=%s why=%s", dev->name,
		   soft_addr_text(&dev->addr, conn_qual, text), dapl_strerror(-rc));
	return rc;
}
