/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading and writing: of sockets, of descriptors that wake, and of what is outside the world. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "test/sim/libc.h"
#include "test/sim/net.h"

LIBC(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
LIBC(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
LIBC(int, close, (int fd), (fd))
LIBC(int, fcntl, (int fd, int command, void *more), (fd, command, more))

static int no(int error)
{
	errno = error;
	return -1;
}

/* ---- Descriptors that wake ---- */

struct event_file {
	struct sim_file file; /* first */
	uint64_t count;
};

static uint32_t event_ready(struct sim_file *file)
{
	return EPOLLOUT | (((struct event_file *)file)->count ? EPOLLIN : 0);
}

static void event_closed(struct sim_file *file)
{
	__libc_free(file);
}

SIM_CALL int eventfd(unsigned int value, int flags)
{
	struct event_file *event;
	int fd;

	fiber_point();
	if (FAILS("eventfd", EMFILE))
		return -1;
	event = __libc_calloc(1, sizeof(*event));
	sim_file_init(&event->file, SIM_FILE_EVENTFD, flags & EFD_NONBLOCK ? O_NONBLOCK : 0);
	event->file.ready = event_ready;
	event->file.closed = event_closed;
	event->count = value;
	fd = sim_fd_add(&event->file);
	if (fd < 0)
		__libc_free(event);
	return fd;
}

static ssize_t event_read(struct event_file *event, void *data)
{
	if (!event->count)
		return no(EAGAIN);
	memcpy(data, &event->count, sizeof(event->count));
	event->count = 0;
	return sizeof(event->count);
}

static ssize_t event_write(struct event_file *event, const void *data)
{
	uint64_t add;

	memcpy(&add, data, sizeof(add));
	event->count += add;
	sim_file_changed(&event->file);
	return sizeof(add);
}

/* ---- Sockets ---- */

static uint32_t total(const struct iovec *iov, size_t num)
{
	size_t size = 0;

	while (num--)
		size += iov[num].iov_len;
	return (uint32_t)(size < INT32_MAX ? size : INT32_MAX);
}

/* Inside a host a few bytes are never parted. */
static uint32_t shortened(const struct sock *sock, uint32_t size)
{
	if (!size || (sock->conn && sock->conn->inside) || !sim_once_in(sim_plan.short_one_in))
		return size;
	return 1 + sim_random(size);
}

static ssize_t sock_error(struct sock *sock)
{
	int error = sock->error;

	sock->error = 0;
	return no(error);
}

static ssize_t sock_send(struct sock *sock, const struct iovec *iov, size_t num)
{
	uint32_t size = total(iov, num), room, sent = 0, part;

	if (sock->error)
		return sock_error(sock);
	if (sock->state != SOCK_UP || sock->out_ended)
		return no(sock->state == SOCK_NEW ? ENOTCONN : EPIPE);
	room = sim_plan.buffer > sock->out.length ? sim_plan.buffer - sock->out.length : 0;
	if (!room)
		return no(EAGAIN);
	size = shortened(sock, size < room ? size : room);
	for (; sent < size; iov++) {
		part = iov->iov_len < size - sent ? (uint32_t)iov->iov_len : size - sent;
		sent += bytes_put(&sock->out, iov->iov_base, part);
	}
	net_move(sock);
	return (ssize_t)sent;
}

static ssize_t sock_recv(struct sock *sock, const struct iovec *iov, size_t num, bool peek)
{
	const struct bytes before = sock->in;
	uint32_t size = total(iov, num), got = 0, part;

	if (!sock->in.length) {
		/* As Linux has it: an end that came is told before what came after it. */
		if (sock->in_ended)
			return 0;
		if (sock->error)
			return sock_error(sock);
		if (sock->state == SOCK_NEW || sock->state == SOCK_CONNECTING)
			return no(ENOTCONN);
		return sock->state == SOCK_DEAD ? 0 : no(EAGAIN);
	}
	size = shortened(sock, size < sock->in.length ? size : sock->in.length);
	for (; got < size; iov++) {
		part = iov->iov_len < size - got ? (uint32_t)iov->iov_len : size - got;
		got += bytes_take(&sock->in, iov->iov_base, part);
	}
	if (peek) {
		sock->in = before;
		return (ssize_t)got;
	}
	sock->taken += got;
	net_room(sock);
	return (ssize_t)got;
}

/* Moves bytes, and waits for them where the socket does. */
static ssize_t transfer(int fd, const struct iovec *iov, size_t num, int flags, bool out)
{
	struct sock *sock = sock_of(fd);
	struct sim_file *file = &sock->file;
	ssize_t n;

	fiber_point();
	for (;;) {
		if (!sock)
			return -1;
		n = out ? sock_send(sock, iov, num) : sock_recv(sock, iov, num, flags & MSG_PEEK);
		if (n >= 0 || errno != EAGAIN || !file->blocks || flags & MSG_DONTWAIT)
			break;
		fiber_wait_files(&file, 1, SIM_NEVER);
	}
	sim_trace(out ? SIM_SEND : SIM_RECV, (uint64_t)fd, total(iov, num), (uint64_t)n, 0);
	return n;
}

SIM_CALL ssize_t send(int fd, const void *data, size_t size, int flags)
{
	struct iovec iov = { (void *)(uintptr_t)data, size };

	return transfer(fd, &iov, 1, flags, true);
}

SIM_CALL ssize_t recv(int fd, void *data, size_t size, int flags)
{
	struct iovec iov = { data, size };

	return transfer(fd, &iov, 1, flags, false);
}

static void pass(struct sock *sock, const struct msghdr *msg)
{
	struct cmsghdr *cmsg = msg->msg_controllen ? CMSG_FIRSTHDR(msg) : NULL;
	struct sim_file *file;
	int fd;

	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS || sock->num_passed == SOCK_PASSED)
		return;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	file = sim_fd(fd);
	sock->passed[sock->num_passed].at = sock->arrived + sock->out.length;
	sock->passed[sock->num_passed++].fd =
		file ? sim_fd_add(file) : libc_fcntl(fd, F_DUPFD_CLOEXEC, NULL);
}

SIM_CALL ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct sock *sock = sock_of(fd);

	if (sock && sock->state == SOCK_UP)
		pass(sock, msg);
	return transfer(fd, msg->msg_iov, msg->msg_iovlen, flags, true);
}

static void take_passed(struct sock *sock, struct msghdr *msg)
{
	struct cmsghdr *cmsg = msg->msg_controllen ? CMSG_FIRSTHDR(msg) : NULL;

	msg->msg_flags = 0;
	if (!sock->num_passed || sock->passed[0].at >= sock->taken) {
		msg->msg_controllen = 0;
		return;
	}
	if (cmsg) {
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &sock->passed[0].fd, sizeof(int));
	}
	memmove(sock->passed, sock->passed + 1, --sock->num_passed * sizeof(*sock->passed));
}

SIM_CALL ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t n = transfer(fd, msg->msg_iov, msg->msg_iovlen, flags, false);

	if (n >= 0)
		take_passed(sock_of(fd), msg);
	return n;
}

/* ---- Any descriptor ---- */

SIM_CALL ssize_t read(int fd, void *data, size_t size)
{
	struct sim_file *file = sim_fd(fd);

	if (!sim_fd_is_ours(fd))
		return libc_read(fd, data, size);
	if (!file)
		return no(EBADF);
	if (file->kind == SIM_FILE_SOCKET)
		return recv(fd, data, size, 0);
	fiber_point();
	return event_read((struct event_file *)file, data);
}

/* What the libraries say is not of interest while things go wrong on purpose. */
SIM_CALL ssize_t write(int fd, const void *data, size_t size)
{
	struct sim_file *file = sim_fd(fd);

	if (sim_on && fd <= STDERR_FILENO && !sim_verbose)
		return (ssize_t)size;
	if (!sim_fd_is_ours(fd))
		return libc_write(fd, data, size);
	if (!file)
		return no(EBADF);
	if (file->kind == SIM_FILE_SOCKET)
		return send(fd, data, size, 0);
	fiber_point();
	return event_write((struct event_file *)file, data);
}

SIM_CALL int close(int fd)
{
	if (!sim_fd_is_ours(fd))
		return libc_close(fd);
	fiber_point();
	return sim_fd_close(fd);
}

SIM_CALL int fcntl(int fd, int command, ...)
{
	va_list args;
	void *more;

	va_start(args, command);
	more = va_arg(args, void *);
	va_end(args);
	if (!sim_fd_is_ours(fd))
		return libc_fcntl(fd, command, more);
	if (!sim_fd(fd))
		return no(EBADF);
	if (command == F_SETFL)
		sim_fd(fd)->blocks = !((intptr_t)more & O_NONBLOCK);
	else if (command == F_GETFL)
		return sim_fd(fd)->blocks ? O_RDWR : O_RDWR | O_NONBLOCK;
	else if (command == F_DUPFD_CLOEXEC)
		return sim_fd_add(sim_fd(fd));
	return 0;
}
