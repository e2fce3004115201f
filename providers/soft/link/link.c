/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the links of all classes share: watch, timer, and how they are given to others. */
#include "providers/soft/link/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/base/device.h"
#include "trace/log.h"
#include "util/list.h"

static void watch_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_link *link = container_of(watch, struct soft_link, watch);

	link->ready(link, events);
}

static void timer_expired(struct tp_timer *timer)
{
	struct soft_link *link = container_of(timer, struct soft_link, timer);

	link->expired(link);
}

void soft_link_init(struct soft_link *link, const struct soft_link_class *class,
		    struct soft_dev *dev, int fd)
{
	memset(link, 0, sizeof(*link));
	link->class = class;
	link->dev = dev;
	link->fd = fd;
	link->watch.fd = fd;
	link->watch.ready = watch_ready;
	link->timer.expired = timer_expired;
}

int soft_link_watch(struct soft_link *link, uint32_t events)
{
	return link->class->watch(link, events);
}

int soft_link_register(struct soft_link *link, uint32_t events)
{
	int rc;

	if (link->watched)
		return dapl_loop_mod(link->dev->base.loop, &link->watch, events);
	link->watched = true;
	atomic_store(&link->dev->looped, true);
	rc = dapl_loop_add(link->dev->base.loop, &link->watch, events);
	if (rc)
		link->watched = false;
	return rc;
}

void soft_link_timeout(struct soft_link *link, uint32_t ms)
{
	if (ms)
		dapl_loop_timer(link->dev->base.loop, &link->timer, dapl_now() + ms * 1000000ull);
	else
		dapl_loop_timer_cancel(link->dev->base.loop, &link->timer);
}

int soft_link_send_all(struct soft_link *link, uint8_t *buf, size_t len, size_t *sent)
{
	struct iovec iov;
	ssize_t n;

	while (*sent < len) {
		iov = (struct iovec){ .iov_base = buf + *sent, .iov_len = len - *sent };
		n = link->class->send(link, &iov, 1);
		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		*sent += (size_t)n;
	}
	return 1;
}

void soft_link_destroy(struct soft_link *link, bool abort)
{
	dapl_loop_timer_cancel(link->dev->base.loop, &link->timer);
	if (link->watched)
		dapl_loop_del(link->dev->base.loop, &link->watch);
	if (link->destroyed)
		link->destroyed(link);
	link->class->close(link, abort);
}

const char *soft_link_text(struct soft_link *link, char *buf)
{
	struct sockaddr_storage local = { 0 }, remote = { 0 };
	char texts[2][SOFT_ADDR_TEXT];
	uint64_t quals[2] = { 0 };

	link->class->names(link, &local, &quals[0], &remote, &quals[1]);
	snprintf(buf, 2 * SOFT_ADDR_TEXT + 8, "%s - %s", soft_addr_text(&local, quals[0], texts[0]),
		 soft_addr_text(&remote, quals[1], texts[1]));
	return buf;
}

void soft_link_say_no_buffer(const struct soft_link *link, uint32_t size)
{
	dapl_err_limited("%s: no buffer of %u bytes for a connection: %s", link->dev->name, size,
			 dapl_strerror(ENOMEM));
}

/* ---- Unix sockets ---- */

socklen_t soft_link_name(const char *what, const void *addr, uint64_t qual,
			 struct sockaddr_un *name)
{
	char text[SOFT_ADDR_TEXT];
	int len;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "%s-%s", what,
		       soft_addr_text(addr, qual, text));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

int soft_link_listen_local(int type, const char *what, const struct sockaddr_storage *addr,
			   uint64_t qual, int backlog)
{
	int fd = dapl_fd_own(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), rc;
	struct sockaddr_un name;
	socklen_t len = soft_link_name(what, addr, qual, &name);

	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&name, len) && !listen(fd, backlog))
		return fd;
	rc = -errno;
	dapl_fd_close(fd);
	return rc;
}

bool soft_link_same_user(int fd, uid_t *user)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);
	bool known = !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);

	*user = peer.uid;
	return known && peer.uid == geteuid();
}

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(SOFT_LINK_FDS * sizeof(int))];
};

ssize_t soft_link_send_fds(int fd, const void *packet, size_t len, const int *fds, int num)
{
	const size_t size = (size_t)num * sizeof(*fds);
	union control control = { .room = { 0 } };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)packet, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.room,
			      .msg_controllen = CMSG_SPACE(size) };

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.align), fds, size);
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t soft_link_recv_fds(int fd, void *packet, size_t len, int *fds, int *num)
{
	union control control;
	struct iovec iov = { .iov_base = packet, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.room,
			      /* Not CMSG_SPACE: there could be room for one more. */
			      .msg_controllen = CMSG_LEN((size_t)*num * sizeof(int)) };
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg;

	*num = 0;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS) {
		*num = (int)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(cmsg), (size_t)*num * sizeof(int));
		for (int i = 0; i < *num; i++)
			fds[i] = dapl_fd_own(fds[i]);
	}
	if (!n || !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return n;
	soft_link_close_fds(fds, *num);
	*num = 0;
	return -EMFILE;
}

void soft_link_close_fds(const int *fds, int num)
{
	while (num)
		dapl_fd_close(fds[--num]);
}
