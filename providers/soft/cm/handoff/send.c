/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hands connection requests on to other listeners. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/cm/end.h"
#include "providers/soft/cm/handoff/handoff.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/cm/setup.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

/* ---- Inside the process ---- */

/* With soft_listeners_lock: a listener has taken a request in, or refused it. */
static pthread_cond_t delivered = PTHREAD_COND_INITIALIZER;

static void in_child(void)
{
	pthread_cond_init(&delivered, NULL);
}

__attribute__((constructor)) static void at_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

struct delivery {
	struct tp_task task;
	struct soft_dev *dev;
	uint64_t qual;
	const struct soft_conn *conn;
	int fds[SOFT_LINK_FDS], num, rc;
	bool done; /* under lock */
};

static void deliver(struct tp_task *task)
{
	struct delivery *delivery = container_of(task, struct delivery, task);
	const struct soft_setup *setup = delivery->conn->setup;

	delivery->rc = soft_handoff_take(delivery->dev, delivery->qual, delivery->fds,
					 delivery->num, setup->in, setup->in_have);
	/* It is gone as soon as the lock is. */
	pthread_mutex_lock(&soft_listeners_lock);
	delivery->done = true;
	pthread_cond_broadcast(&delivered);
	pthread_mutex_unlock(&soft_listeners_lock);
}

/* Second ones of a link's descriptors; their number or -errno. */
static int duplicate(struct soft_link *link, int fds[SOFT_LINK_FDS])
{
	int own[SOFT_LINK_FDS], num = link->class->give(link, own), rc;

	for (int i = 0; i < num; i++) {
		fds[i] = dapl_fd_own(fcntl(own[i], F_DUPFD_CLOEXEC, 0));
		if (fds[i] >= 0)
			continue;
		rc = -errno;
		dapl_err("connection request not handed on: %s", dapl_strerror(-rc));
		soft_handoff_close_fds(fds, i);
		return rc;
	}
	return num;
}

static int hand_inside(struct soft_conn *conn, uint64_t qual)
{
	struct delivery delivery = { .task.run = deliver, .qual = qual, .conn = conn };
	struct soft_listener *listener;
	bool self = false;

	delivery.num = duplicate(conn->link, delivery.fds);
	if (delivery.num < 0)
		return delivery.num;
	/* The device stays until the task has run: its listener leaves on the same loop. */
	pthread_mutex_lock(&soft_listeners_lock);
	listener = soft_listener_find(&conn->dev->addr, NULL, qual);
	if (listener) {
		delivery.dev = listener->dev;
		self = dapl_loop_is_self(delivery.dev->base.loop);
		if (!self)
			dapl_loop_post(delivery.dev->base.loop, &delivery.task);
	}
	/* After this the other device may be gone, with its loop. */
	while (listener && !self && !delivery.done)
		pthread_cond_wait(&delivered, &soft_listeners_lock);
	pthread_mutex_unlock(&soft_listeners_lock);
	if (!listener)
		delivery.rc = -ECONNREFUSED;
	else if (self)
		deliver(&delivery.task);
	if (delivery.rc)
		soft_handoff_close_fds(delivery.fds, delivery.num);
	return delivery.rc;
}

/* ---- To another process ---- */

/* Waits until something can be read; false once the time is over. */
static bool await(struct pollfd *watches, nfds_t num, uint64_t deadline)
{
	uint64_t now;
	int rc;

	do {
		now = dapl_now();
		if (now >= deadline)
			return false;
		rc = poll(watches, num, (int)((deadline - now) / 1000000) + 1);
	} while (rc < 0 && errno == EINTR);
	return rc > 0;
}

static ssize_t send_packet(int fd, const void *packet, size_t len, const int *fds, int num)
{
	size_t size = (size_t)num * sizeof(*fds);
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(SOFT_LINK_FDS * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)packet, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg = &control.align;

	if (num) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(size);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(cmsg), fds, size);
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The other side's answer, -ECONNREFUSED if there is none. */
static int answer(int fd)
{
	int32_t rc;

	return recv(fd, &rc, sizeof(rc), MSG_DONTWAIT) == sizeof(rc) && rc <= 0 ? (int)rc
										: -ECONNREFUSED;
}

/* To who said yes; 0 once the request is the other side's. */
static int give(int fd, const struct soft_conn *conn, uint64_t deadline)
{
	struct soft_handoff_give packet = { .kind = SOFT_HANDOFF_GIVE };
	struct pollfd watch = { .fd = fd, .events = POLLIN };
	size_t len = conn->setup->in_have;
	int fds[SOFT_LINK_FDS], num = conn->link->class->give(conn->link, fds);

	memcpy(packet.frame, conn->setup->in, len);
	if (send_packet(fd, &packet, offsetof(struct soft_handoff_give, frame) + len, fds, num) < 0)
		return errno == EMFILE || errno == ETOOMANYREFS ? -EMFILE : -ECONNREFUSED;
	if (!await(&watch, 1, deadline))
		shutdown(fd, SHUT_RDWR);
	return answer(fd);
}

/* Who listens, asked of all other processes. */
struct search {
	const struct soft_conn *conn;
	uint64_t qual, all, end; /* the time for it, and when it is over */
	struct pollfd sessions[SOFT_HANDOFF_NAMES];
	nfds_t num;
	uint32_t place; /* of the next name */
	struct soft_handoff_others others;
};

/* Asks at the next name: the session, or -errno. */
static int ask_one(struct search *search)
{
	struct soft_handoff_ask ask = { SOFT_HANDOFF_ASK, search->qual };
	struct sockaddr_un name;
	socklen_t len = soft_handoff_name(search->conn->dev, search->place, &name);
	int fd = dapl_fd_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&name, len) &&
	    soft_handoff_own_user(fd, &search->others) &&
	    send_packet(fd, &ask, sizeof(ask), NULL, 0) >= 0)
		return fd;
	dapl_fd_close(fd);
	return -ECONNREFUSED;
}

/* Asks at all names for which there are descriptors, at the others once those have answered. */
static int ask_all(struct search *search)
{
	int fd;

	for (; search->place < SOFT_HANDOFF_NAMES; search->place++) {
		fd = ask_one(search);
		if (fd >= 0)
			search->sessions[search->num++] =
				(struct pollfd){ .fd = fd, .events = POLLIN };
		else if (fd != -ECONNREFUSED && search->num)
			break;
		else if (fd != -ECONNREFUSED)
			return fd;
	}
	return search->num ? 0 : -ECONNREFUSED;
}

/*
 * Gives to the first one who says yes; -EAGAIN: nobody has yet. One that says nothing after that
 * does not have all the time either.
 */
static int take_answer(struct search *search)
{
	nfds_t i = search->num;
	uint64_t until;
	int rc, fd;

	while (i--) {
		fd = search->sessions[i].fd;
		if (!search->sessions[i].revents)
			continue;
		rc = answer(fd);
		until = dapl_now() + search->all / 2;
		if (!rc)
			rc = give(fd, search->conn, until < search->end ? until : search->end);
		dapl_fd_close(fd);
		search->sessions[i] = search->sessions[--search->num];
		if (rc != -ECONNREFUSED)
			return rc;
	}
	return -EAGAIN;
}

/* All are asked at once, so that one that does not answer costs the others nothing. */
static int hand_outside(const struct soft_conn *conn, uint64_t qual)
{
	uint64_t all = (uint64_t)conn->dev->config->handoff_ms * 1000000;
	struct search search = { .conn = conn, .qual = qual, .all = all, .end = dapl_now() + all };
	int rc;

	do {
		rc = ask_all(&search);
		if (!rc)
			rc = await(search.sessions, search.num, search.end) ? take_answer(&search)
									    : -ECONNREFUSED;
	} while (rc == -EAGAIN);
	while (search.num)
		dapl_fd_close(search.sessions[--search.num].fd);
	if (rc == -ECONNREFUSED)
		soft_handoff_explain(conn->dev, "request not handed on", &search.others);
	return rc;
}

/* ---- The call ---- */

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
	int rc;

	if (!conn_qual || conn_qual > UINT16_MAX)
		return -EINVAL;
	rc = hand_inside(conn, conn_qual);
	if (rc == -ECONNREFUSED)
		rc = hand_outside(conn, conn_qual);
	if (!rc)
		return soft_dev_call(dev, handed_over, conn);
	dapl_trace(soft_not_handed, DAPL_TRC_ERROR, conn, "ia=%s to=%s why=%s", dev->name,
		   soft_addr_text(&dev->addr, conn_qual, text), dapl_strerror(-rc));
	return rc;
}
