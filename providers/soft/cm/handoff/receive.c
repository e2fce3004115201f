/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Takes in connection requests that other processes hand on. All but open on the loop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/cm/accept.h"
#include "providers/soft/cm/handoff/handoff.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

/* One who hands on. */
struct session {
	struct list node;
	struct soft_dev *dev;
	struct tp_watch watch;
	struct tp_timer timer;
	uint64_t qual; /* asked for; 0: has not asked yet */
};

struct soft_handoff {
	struct soft_dev *dev;
	struct tp_watch watch;
	struct list sessions;
	uint32_t num;
	struct tp_timer pause;
	bool failed, paused;
};

enum {
	PAUSE_MS = 100,
};

/* ---- What is handed to a listener here ---- */

void soft_handoff_close_fds(const int *fds, int num)
{
	while (num)
		dapl_fd_close(fds[--num]);
}

static struct soft_listener *find(struct soft_dev *dev, uint64_t qual)
{
	struct soft_listener *listener;

	pthread_mutex_lock(&soft_listeners_lock);
	listener = soft_listener_find(&dev->addr, dev, qual);
	pthread_mutex_unlock(&soft_listeners_lock);
	return listener;
}

int soft_handoff_take(struct soft_dev *dev, uint64_t qual, const int *fds, int num,
		      const uint8_t *frame, size_t len)
{
	struct soft_listener *listener = find(dev, qual);

	return listener ? soft_accept_adopt(listener, fds, num, frame, len) : -ECONNREFUSED;
}

/* ---- Names ---- */

socklen_t soft_handoff_name(const struct soft_dev *dev, uint32_t place, struct sockaddr_un *name)
{
	char text[SOFT_ADDR_TEXT];
	int len;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "udapl-soft-%u-%s-%u",
		       (unsigned)geteuid(), soft_addr_text(&dev->addr, 0, text), place);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

bool soft_handoff_own_user(int fd, struct soft_handoff_others *others)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	if (peer.uid != geteuid()) {
		others->num++;
		others->user = peer.uid;
		return false;
	}
	return peer.pid != getpid();
}

void soft_handoff_explain(const struct soft_dev *dev, const char *what,
			  const struct soft_handoff_others *others)
{
	struct sockaddr_un name;

	if (!others->num)
		return;
	soft_handoff_name(dev, 0, &name);
	dapl_err_limited("%s: %s: processes of other users, among them user %u, have %u of the %d "
			 "names for that (@%s and on)",
			 dev->name, what, (unsigned)others->user, others->num, SOFT_HANDOFF_NAMES,
			 name.sun_path + 1);
}

/* ---- Sessions ---- */

static void session_free(struct session *session)
{
	struct soft_dev *dev = session->dev;

	dapl_loop_del(dev->base.loop, &session->watch);
	dapl_loop_timer_cancel(dev->base.loop, &session->timer);
	dapl_fd_close(session->watch.fd);
	list_del(&session->node);
	dev->handoff->num--;
	free(session);
}

static void session_expired(struct tp_timer *timer)
{
	session_free(container_of(timer, struct session, timer));
}

static bool answer(struct session *session, int32_t rc)
{
	return send(session->watch.fd, &rc, sizeof(rc), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(rc);
}

/* One packet with at most a link's descriptors; -1 if it is nothing that can be used. */
static ssize_t receive(int fd, struct soft_handoff_give *packet, int fds[SOFT_LINK_FDS], int *num)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(SOFT_LINK_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = packet, .iov_len = sizeof(*packet) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.room,
			      /* Not CMSG_SPACE: there could be room for one more. */
			      .msg_controllen = CMSG_LEN(SOFT_LINK_FDS * sizeof(int)) };
	struct cmsghdr *cmsg;
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*num = 0;
	if (n < 0)
		return -1;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS) {
		*num = (int)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(cmsg), (size_t)*num * sizeof(int));
		for (int i = 0; i < *num; i++)
			fds[i] = dapl_fd_own(fds[i]);
	}
	return msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -1 : n;
}

/* Whether a descriptor is a TCP connection of the kind that arrives here. */
static bool fit(const struct soft_dev *dev, int fd)
{
	struct sockaddr_storage local, peer;
	socklen_t len = sizeof(int), local_len = sizeof(local), peer_len = sizeof(peer);
	char text[2][SOFT_ADDR_TEXT];
	int type;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_STREAM ||
	    getsockname(fd, (struct sockaddr *)&local, &local_len) ||
	    local.ss_family != dev->addr.ss_family ||
	    (getpeername(fd, (struct sockaddr *)&peer, &peer_len) && errno != ENOTCONN))
		return false;
	return !strcmp(soft_addr_text(&local, 0, text[0]), soft_addr_text(&dev->addr, 0, text[1]));
}

/* true: the session goes on. */
static bool asked(struct session *session, const struct soft_handoff_give *packet, ssize_t len)
{
	struct soft_handoff_ask ask;
	bool here;

	if (len != sizeof(ask))
		return false;
	memcpy(&ask, packet, sizeof(ask));
	if (ask.kind != SOFT_HANDOFF_ASK)
		return false;
	here = find(session->dev, ask.qual);
	session->qual = ask.qual;
	return answer(session, here ? 0 : -ECONNREFUSED) && here;
}

static void given(struct session *session, const struct soft_handoff_give *packet, ssize_t len,
		  const int *fds, int num)
{
	size_t head = offsetof(struct soft_handoff_give, frame);
	struct soft_dev *dev = session->dev;
	uint64_t qual = session->qual;

	if ((size_t)len < head || packet->kind != SOFT_HANDOFF_GIVE || !num ||
	    (num == 1 && !fit(dev, fds[0]))) {
		answer(session, -EINVAL);
	} else if (!find(dev, qual)) {
		answer(session, -ECONNREFUSED);
	} else if (answer(session, 0)) {
		session_free(session);
		/* If that fails it is as when a listener has no room. */
		if (soft_handoff_take(dev, qual, fds, num, packet->frame, (size_t)len - head))
			soft_handoff_close_fds(fds, num);
		return;
	}
	soft_handoff_close_fds(fds, num);
	session_free(session);
}

static void session_ready(struct tp_watch *watch, uint32_t events)
{
	struct session *session = container_of(watch, struct session, watch);
	struct soft_handoff_give packet;
	int fds[SOFT_LINK_FDS], num;
	ssize_t len;

	len = receive(watch->fd, &packet, fds, &num);
	if (len > 0 && session->qual) {
		given(session, &packet, len, fds, num);
		return;
	}
	soft_handoff_close_fds(fds, num);
	if (len <= 0 || !asked(session, &packet, len))
		session_free(session);
}

/* ---- The server ---- */

static void start_session(struct soft_handoff *server, int fd)
{
	struct soft_handoff_others others = { 0 };
	struct soft_dev *dev = server->dev;
	struct session *session;

	if (!soft_handoff_own_user(fd, &others)) {
		if (others.num)
			dapl_err_limited("%s: a request from user %u refused: only processes of "
					 "one user hand on to each other",
					 dev->name, (unsigned)others.user);
		goto close_fd;
	}
	if (server->num >= SOFT_HANDOFF_SESSIONS)
		goto close_fd;
	session = calloc(1, sizeof(*session));
	if (!session)
		goto close_fd;
	session->dev = dev;
	session->watch.fd = fd;
	session->watch.ready = session_ready;
	session->timer.expired = session_expired;
	if (dapl_loop_add(dev->base.loop, &session->watch, EPOLLIN)) {
		free(session);
		goto close_fd;
	}
	list_add(&server->sessions, &session->node);
	server->num++;
	dapl_loop_timer(dev->base.loop, &session->timer,
			dapl_now() + (uint64_t)dev->config->handoff_ms * 1000000);
	return;

close_fd:
	dapl_fd_close(fd);
}

/* Out of descriptors or memory, or broken: sessions wait, and so does the server, instead of being
 * told of it for ever. Who hands on gives up in time. */
static void server_pause(struct soft_handoff *server, int err)
{
	struct dapl_loop *loop = server->dev->base.loop;

	if (!server->failed)
		dapl_err_limited("%s: other processes cannot hand requests on to it now: %s",
				 server->dev->name, dapl_strerror(err));
	server->failed = server->paused = true;
	dapl_loop_mod(loop, &server->watch, EPOLLONESHOT);
	dapl_loop_timer(loop, &server->pause, dapl_now() + PAUSE_MS * 1000000ull);
}

static void server_resume(struct tp_timer *timer)
{
	struct soft_handoff *server = container_of(timer, struct soft_handoff, pause);

	server->paused = false;
	dapl_loop_mod(server->dev->base.loop, &server->watch, EPOLLIN);
}

static void server_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_handoff *server = container_of(watch, struct soft_handoff, watch);
	int fd;

	if (server->paused)
		return;
	fd = dapl_fd_own(accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	if (fd >= 0) {
		server->failed = false;
		start_session(server, fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		server_pause(server, errno);
	}
}

/* All names are taken: by whom. */
static int none_left(const struct soft_dev *dev)
{
	struct soft_handoff_others others = { 0 };
	struct sockaddr_un name;
	socklen_t len;
	int fd;

	for (uint32_t place = 0; place < SOFT_HANDOFF_NAMES; place++) {
		len = soft_handoff_name(dev, place, &name);
		fd = dapl_fd_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
		if (fd < 0)
			return -errno;
		if (!connect(fd, (struct sockaddr *)&name, len))
			soft_handoff_own_user(fd, &others);
		dapl_fd_close(fd);
	}
	soft_handoff_explain(dev, "other processes cannot hand requests on to it", &others);
	return -EADDRINUSE;
}

static int server_socket(const struct soft_dev *dev)
{
	struct sockaddr_un name;
	int fd = dapl_fd_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), rc;

	if (fd < 0)
		return -errno;
	for (uint32_t place = 0; place < SOFT_HANDOFF_NAMES; place++) {
		socklen_t len = soft_handoff_name(dev, place, &name);

		if (!bind(fd, (struct sockaddr *)&name, len) && !listen(fd, SOFT_HANDOFF_SESSIONS))
			return fd;
		rc = -errno;
		if (rc != -EADDRINUSE)
			break;
	}
	dapl_fd_close(fd);
	return rc == -EADDRINUSE ? none_left(dev) : rc;
}

static void server_open(struct soft_dev *dev)
{
	struct soft_handoff *server = calloc(1, sizeof(*server));
	int fd = server ? server_socket(dev) : -ENOMEM;

	if (fd >= 0) {
		server->dev = dev;
		server->watch.fd = fd;
		server->watch.ready = server_ready;
		server->pause.expired = server_resume;
		list_init(&server->sessions);
		dev->handoff = server;
		if (!dapl_loop_add(dev->base.loop, &server->watch, EPOLLIN))
			return;
		dev->handoff = NULL;
		dapl_fd_close(fd);
		fd = -ENOSPC;
	}
	dapl_trace(soft_no_handoff, DAPL_TRC_NORMAL, dev,
		   "ia=%s other processes cannot hand requests on to it: why=%s", dev->name,
		   dapl_strerror(-fd));
	free(server);
}

int soft_handoff_listen(struct tp_device *base, uint64_t conn_qual, void *owner,
			struct tp_listener **out)
{
	struct soft_dev *dev = soft_dev(base);
	int rc = soft_listen(base, conn_qual, owner, out);
	bool tried;

	if (rc)
		return rc;
	pthread_mutex_lock(&dev->lock);
	tried = dev->handoff_tried;
	dev->handoff_tried = true;
	pthread_mutex_unlock(&dev->lock);
	if (!tried)
		server_open(dev);
	return 0;
}

void soft_handoff_close(struct soft_dev *dev)
{
	struct soft_handoff *server = dev->handoff;

	if (!server)
		return;
	while (!list_empty(&server->sessions))
		session_free(container_of(server->sessions.next, struct session, node));
	dapl_loop_timer_cancel(dev->base.loop, &server->pause);
	dapl_loop_del(dev->base.loop, &server->watch);
	(void)shutdown(server->watch.fd, SHUT_RDWR); /* a child may have it, too */
	dapl_fd_close(server->watch.fd);
	dev->handoff = NULL;
	free(server);
}
