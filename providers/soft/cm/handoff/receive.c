/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Takes in connection requests that other processes hand on; see handoff.h. All but open on the
 * loop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/soft/addr.h"
#include "providers/soft/cm/handoff/handoff.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/config.h"
#include "providers/soft/device.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

/* One who hands on. */
struct visitor {
	struct soft_list node;
	struct soft_dev *dev;
	struct tp_watch watch;
	struct tp_timer timer;
	uint64_t qual; /* asked for; 0: has not asked yet */
};

struct soft_door {
	struct soft_dev *dev;
	struct tp_watch watch;
	struct soft_list visitors;
	uint32_t num;
	struct tp_timer pause;
	bool starved, paused;
};

enum {
	PAUSE_MS = 100,
};

socklen_t soft_door_name(const struct soft_dev *dev, uint32_t place, struct sockaddr_un *name)
{
	char text[SOFT_ADDR_TEXT];
	int len;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "udapl-soft-%u-%s-%u",
		       (unsigned)geteuid(), soft_addr_text(&dev->addr, 0, text), place);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

bool soft_door_ours(int fd, struct soft_door_others *others)
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

void soft_door_taken(const struct soft_dev *dev, const char *what,
		     const struct soft_door_others *others)
{
	struct sockaddr_un name;

	if (!others->num)
		return;
	soft_door_name(dev, 0, &name);
	dapl_err_limited("%s: %s: processes of other users, among them user %u, have %u of the %d "
			 "names for that (@%s and on)",
			 dev->name, what, (unsigned)others->user, others->num, SOFT_DOORS,
			 name.sun_path + 1);
}

/* ---- Conversations ---- */

static void visitor_free(struct visitor *visitor)
{
	struct soft_dev *dev = visitor->dev;

	dapl_loop_del(dev->base.loop, &visitor->watch);
	dapl_loop_timer_cancel(dev->base.loop, &visitor->timer);
	dapl_fd_close(visitor->watch.fd);
	soft_list_del(&visitor->node);
	dev->door->num--;
	free(visitor);
}

static void visitor_expired(struct tp_timer *timer)
{
	visitor_free(soft_container(timer, struct visitor, timer));
}

static bool answer(struct visitor *visitor, int32_t rc)
{
	return send(visitor->watch.fd, &rc, sizeof(rc), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(rc);
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

/* true: the conversation goes on. */
static bool asked(struct visitor *visitor, const struct soft_handoff_give *packet, ssize_t len)
{
	struct soft_handoff_ask ask;
	bool here;

	if (len != sizeof(ask))
		return false;
	memcpy(&ask, packet, sizeof(ask));
	if (ask.kind != SOFT_HANDOFF_ASK)
		return false;
	here = soft_handoff_listens(visitor->dev, ask.qual);
	visitor->qual = ask.qual;
	return answer(visitor, here ? 0 : -ECONNREFUSED) && here;
}

static void given(struct visitor *visitor, const struct soft_handoff_give *packet, ssize_t len,
		  const int *fds, int num)
{
	size_t head = offsetof(struct soft_handoff_give, frame);
	struct soft_dev *dev = visitor->dev;
	uint64_t qual = visitor->qual;

	if ((size_t)len < head || packet->kind != SOFT_HANDOFF_GIVE || !num ||
	    (num == 1 && !fit(dev, fds[0]))) {
		answer(visitor, -EINVAL);
	} else if (!soft_handoff_listens(dev, qual)) {
		answer(visitor, -ECONNREFUSED);
	} else if (answer(visitor, 0)) {
		visitor_free(visitor);
		/* If that fails it is as when a listener has no room. */
		if (soft_handoff_take(dev, qual, fds, num, packet->frame, (size_t)len - head))
			soft_handoff_close(fds, num);
		return;
	}
	soft_handoff_close(fds, num);
	visitor_free(visitor);
}

static void visitor_ready(struct tp_watch *watch, uint32_t events)
{
	struct visitor *visitor = soft_container(watch, struct visitor, watch);
	struct soft_handoff_give packet;
	int fds[SOFT_LINK_FDS], num;
	ssize_t len;

	(void)events;
	len = receive(watch->fd, &packet, fds, &num);
	if (len > 0 && visitor->qual) {
		given(visitor, &packet, len, fds, num);
		return;
	}
	soft_handoff_close(fds, num);
	if (len <= 0 || !asked(visitor, &packet, len))
		visitor_free(visitor);
}

/* ---- The door ---- */

static void let_in(struct soft_door *door, int fd)
{
	struct soft_door_others others = { 0 };
	struct soft_dev *dev = door->dev;
	struct visitor *visitor;

	if (!soft_door_ours(fd, &others)) {
		if (others.num)
			dapl_err_limited("%s: a request from user %u refused: only processes of "
					 "one user hand on to each other",
					 dev->name, (unsigned)others.user);
		goto close_fd;
	}
	if (door->num >= SOFT_VISITORS)
		goto close_fd;
	visitor = calloc(1, sizeof(*visitor));
	if (!visitor)
		goto close_fd;
	visitor->dev = dev;
	visitor->watch.fd = fd;
	visitor->watch.ready = visitor_ready;
	visitor->timer.expired = visitor_expired;
	if (dapl_loop_add(dev->base.loop, &visitor->watch, EPOLLIN)) {
		free(visitor);
		goto close_fd;
	}
	soft_list_add(&door->visitors, &visitor->node);
	door->num++;
	dapl_loop_timer(dev->base.loop, &visitor->timer,
			dapl_now() + (uint64_t)dev->config->handoff_ms * 1000000);
	return;

close_fd:
	dapl_fd_close(fd);
}

/* Out of descriptors or memory, or broken: visitors wait, and so does the door, instead of being
 * told of it for ever. Who hands on gives up in time. */
static void door_pause(struct soft_door *door, int err)
{
	struct dapl_loop *loop = door->dev->base.loop;

	if (!door->starved)
		dapl_err_limited("%s: other processes cannot hand requests on to it now: %s",
				 door->dev->name, dapl_strerror(err));
	door->starved = door->paused = true;
	dapl_loop_mod(loop, &door->watch, EPOLLONESHOT);
	dapl_loop_timer(loop, &door->pause, dapl_now() + PAUSE_MS * 1000000ull);
}

static void door_resume(struct tp_timer *timer)
{
	struct soft_door *door = soft_container(timer, struct soft_door, pause);

	door->paused = false;
	dapl_loop_mod(door->dev->base.loop, &door->watch, EPOLLIN);
}

static void door_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_door *door = soft_container(watch, struct soft_door, watch);
	int fd;

	(void)events;
	if (door->paused)
		return;
	fd = dapl_fd_own(accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	if (fd >= 0) {
		door->starved = false;
		let_in(door, fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		door_pause(door, errno);
	}
}

/* All names are taken: by whom. */
static int none_left(const struct soft_dev *dev)
{
	struct soft_door_others others = { 0 };
	struct sockaddr_un name;
	socklen_t len;
	int fd;

	for (uint32_t place = 0; place < SOFT_DOORS; place++) {
		len = soft_door_name(dev, place, &name);
		fd = dapl_fd_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
		if (fd < 0)
			return -errno;
		if (!connect(fd, (struct sockaddr *)&name, len))
			soft_door_ours(fd, &others);
		dapl_fd_close(fd);
	}
	soft_door_taken(dev, "other processes cannot hand requests on to it", &others);
	return -EADDRINUSE;
}

static int door_socket(const struct soft_dev *dev)
{
	struct sockaddr_un name;
	int fd = dapl_fd_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), rc;

	if (fd < 0)
		return -errno;
	for (uint32_t place = 0; place < SOFT_DOORS; place++) {
		socklen_t len = soft_door_name(dev, place, &name);

		if (!bind(fd, (struct sockaddr *)&name, len) && !listen(fd, SOFT_VISITORS))
			return fd;
		rc = -errno;
		if (rc != -EADDRINUSE)
			break;
	}
	dapl_fd_close(fd);
	return rc == -EADDRINUSE ? none_left(dev) : rc;
}

void soft_door_open(struct soft_dev *dev)
{
	struct soft_door *door = calloc(1, sizeof(*door));
	int fd = door ? door_socket(dev) : -ENOMEM;

	if (fd >= 0) {
		door->dev = dev;
		door->watch.fd = fd;
		door->watch.ready = door_ready;
		door->pause.expired = door_resume;
		soft_list_init(&door->visitors);
		dev->door = door;
		if (!dapl_loop_add(dev->base.loop, &door->watch, EPOLLIN))
			return;
		dev->door = NULL;
		dapl_fd_close(fd);
		fd = -ENOSPC;
	}
	dapl_trace(soft_no_door, DAPL_TRC_NORMAL, dev,
		   "ia=%s other processes cannot hand requests on to it: why=%s", dev->name,
		   dapl_strerror(-fd));
	free(door);
}

void soft_door_close(struct soft_dev *dev)
{
	struct soft_door *door = dev->door;

	if (!door)
		return;
	while (!soft_list_empty(&door->visitors))
		visitor_free(soft_container(door->visitors.next, struct visitor, node));
	dapl_loop_timer_cancel(dev->base.loop, &door->pause);
	dapl_loop_del(dev->base.loop, &door->watch);
	(void)shutdown(door->watch.fd, SHUT_RDWR); /* a child may have it, too */
	dapl_fd_close(door->watch.fd);
	dev->door = NULL;
	free(door);
}
