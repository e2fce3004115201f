/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls that make sockets and name them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "test/sim/libc.h"
#include "test/sim/net.h"

enum {
	FIRST_PORT = 32768,
};

static struct sock *listeners;
static uint16_t next_port = FIRST_PORT;

static int no(int error)
{
	errno = error;
	return -1;
}

struct sock *sock_of(int fd)
{
	struct sim_file *file = sim_fd(fd);

	if (!file || file->kind != SIM_FILE_SOCKET)
		errno = file ? ENOTSOCK : EBADF;
	return file && file->kind == SIM_FILE_SOCKET ? (struct sock *)file : NULL;
}

/* ---- Life ---- */

static uint32_t sock_ready(struct sim_file *file)
{
	const struct sock *sock = (struct sock *)file;
	uint32_t room = sim_plan.buffer - sock->out.length, ready = 0;
	bool dead = sock->state == SOCK_DEAD, up = sock->state == SOCK_UP;

	if (sock->datagram)
		return 0;
	if (sock->state == SOCK_LISTENING)
		return sock->num_waiting ? EPOLLIN : 0;
	if (sock->state == SOCK_CONNECTING)
		return 0;
	if (sock->error)
		ready |= EPOLLERR;
	if (dead || sock->state == SOCK_NEW || (sock->in_ended && sock->out_ended))
		ready |= EPOLLHUP;
	if (dead || sock->in_ended)
		ready |= EPOLLIN | EPOLLRDHUP;
	if (sock->in.length)
		ready |= EPOLLIN;
	if (dead || sock->out_ended || (up && room >= sim_plan.buffer / 3))
		ready |= EPOLLOUT;
	return ready;
}

static void stop_listening(struct sock *sock)
{
	struct sock **link = &listeners;

	while (*link && *link != sock)
		link = &(*link)->next;
	if (*link)
		*link = sock->next;
	net_refuse_waiting(sock);
}

void sock_free(struct sock *sock)
{
	for (uint32_t i = 0; i < sock->num_passed; i++)
		close(sock->passed[i].fd);
	__libc_free(sock->in.at);
	__libc_free(sock->out.at);
	__libc_free(sock);
}

static void sock_closed(struct sim_file *file)
{
	struct sock *sock = (struct sock *)file;

	if (sock->state == SOCK_LISTENING)
		stop_listening(sock);
	if (sock->conn)
		net_close(sock);
	else
		sock_free(sock);
}

struct sock *sock_make(int family, int flags)
{
	struct sock *sock = __libc_calloc(1, sizeof(*sock));

	sim_file_init(&sock->file, SIM_FILE_SOCKET, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0);
	sock->file.ready = sock_ready;
	sock->file.closed = sock_closed;
	sock->family = family;
	return sock;
}

SIM_CALL int socket(int family, int type, int protocol)
{
	struct sock *sock;
	int fd;

	(void)protocol;
	fiber_point();
	if (FAILS("socket", EMFILE))
		return -1;
	sock = sock_make(family, type);
	sock->datagram = (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_DGRAM;
	fd = sock->fd = sim_fd_add(&sock->file);
	sim_trace(SIM_SOCKET, (uint64_t)fd, (uint64_t)family, 0, 0);
	if (fd < 0)
		sock_free(sock);
	return fd;
}

/* ---- Names ---- */

static uint16_t *port_of(struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)addr)->sin6_port
					   : &((struct sockaddr_in *)addr)->sin_port;
}

static bool same_name(const struct sock *sock, const struct sockaddr_storage *addr, socklen_t size)
{
	return sock->local_size == size && !memcmp(&sock->local, addr, size);
}

struct sock *sock_listener(const struct sockaddr_storage *addr, socklen_t size)
{
	struct sock *sock = listeners;

	while (sock && !same_name(sock, addr, size))
		sock = sock->next;
	return sock;
}

static uint16_t free_port(void)
{
	if (++next_port < FIRST_PORT)
		next_port = FIRST_PORT;
	return next_port;
}

static void give_port(struct sock *sock)
{
	if (sock->family != AF_UNIX && !*port_of(&sock->local))
		*port_of(&sock->local) = htons(free_port());
}

SIM_CALL int bind(int fd, const struct sockaddr *addr, socklen_t size)
{
	struct sock *sock = sock_of(fd);
	struct sockaddr_storage name = { 0 };

	fiber_point();
	if (!sock)
		return -1;
	memcpy(&name, addr, size);
	if (!sock->datagram && sock_listener(&name, size))
		return no(EADDRINUSE);
	if (!sock->datagram && FAILS("bind", EADDRNOTAVAIL))
		return -1;
	sock->local = name;
	sock->local_size = size;
	return 0;
}

SIM_CALL int listen(int fd, int backlog)
{
	struct sock *sock = sock_of(fd);

	(void)backlog;
	fiber_point();
	if (!sock)
		return -1;
	if (FAILS("listen", EADDRINUSE))
		return -1;
	give_port(sock);
	if (sock_listener(&sock->local, sock->local_size))
		return no(EADDRINUSE);
	sock->state = SOCK_LISTENING;
	sock->next = listeners;
	listeners = sock;
	sim_trace(SIM_LISTEN, (uint64_t)fd, ntohs(*port_of(&sock->local)), 0, 0);
	return 0;
}

SIM_CALL int connect(int fd, const struct sockaddr *addr, socklen_t size)
{
	struct sock *sock = sock_of(fd), *listener;

	fiber_point();
	if (!sock)
		return -1;
	if (FAILS("connect", ENETUNREACH))
		return -1;
	memcpy(&sock->remote, addr, size);
	sock->remote_size = size;
	if (sock->family != AF_UNIX) {
		give_port(sock);
		net_connect(sock);
		return no(EINPROGRESS);
	}
	listener = sock_listener(&sock->remote, size);
	if (!listener)
		return no(ECONNREFUSED);
	if (listener->num_waiting == SOCK_BACKLOG)
		return no(EAGAIN);
	net_pair(sock, listener);
	return 0;
}

SIM_CALL int accept4(int fd, struct sockaddr *addr, socklen_t *size, int flags)
{
	struct sock *sock = sock_of(fd), *accepted;
	struct sim_file *file = &sock->file;
	int new_fd;

	(void)addr;
	(void)size;
	fiber_point();
	if (!sock)
		return -1;
	while (!sock->num_waiting && sock->state == SOCK_LISTENING && sock->file.blocks)
		fiber_wait_files(&file, 1, SIM_NEVER);
	if (sock->state != SOCK_LISTENING)
		return no(EINVAL);
	if (!sock->num_waiting)
		return no(EAGAIN);
	if (FAILS("accept4", EMFILE))
		return -1;
	accepted = sock->waiting[0];
	new_fd = sim_fd_add(&accepted->file);
	if (new_fd < 0)
		return -1;
	memmove(sock->waiting, sock->waiting + 1, --sock->num_waiting * sizeof(*sock->waiting));
	accepted->fd = new_fd;
	accepted->file.blocks = !(flags & SOCK_NONBLOCK);
	accepted->file.host = fiber_host();
	sim_trace(SIM_ACCEPT, (uint64_t)new_fd, accepted->conn->id, 0, 0);
	return new_fd;
}

static int copy_name(const struct sockaddr_storage *name, socklen_t have, struct sockaddr *addr,
		     socklen_t *size)
{
	memcpy(addr, name, have < *size ? have : *size);
	*size = have;
	return 0;
}

SIM_CALL int getsockname(int fd, struct sockaddr *addr, socklen_t *size)
{
	struct sock *sock = sock_of(fd);

	if (!sock || FAILS("getsockname", ENOBUFS))
		return -1;
	return copy_name(&sock->local, sock->local_size, addr, size);
}

SIM_CALL int getpeername(int fd, struct sockaddr *addr, socklen_t *size)
{
	struct sock *sock = sock_of(fd);

	if (!sock)
		return -1;
	if (sock->state != SOCK_UP)
		return no(ENOTCONN);
	if (FAILS("getpeername", ENOBUFS))
		return -1;
	return copy_name(&sock->remote, sock->remote_size, addr, size);
}

/* ---- Options ---- */

static void tcp_info(const struct sock *sock, struct tcp_info *info)
{
	uint32_t silence = net_silence_ms(sock);

	memset(info, 0, sizeof(*info));
	info->tcpi_last_ack_recv = silence;
	info->tcpi_unacked = sock->out.length != 0;
	info->tcpi_retransmits = sock->out.length && silence > 200;
	info->tcpi_probes = (uint8_t)(sock->out.length && silence > 3000 ? 3 : 0);
}

static int socket_option(struct sock *sock, int name, void *value, socklen_t *size)
{
	struct ucred peer = { getpid(), geteuid(), 0 };
	int number = 0;

	switch (name) {
	case SO_ERROR:
		number = sock->error;
		sock->error = 0;
		break;
	case SO_TYPE:
		number = SOCK_STREAM;
		break;
	case SO_DOMAIN:
		number = sock->family;
		break;
	case SO_PEERCRED:
		memcpy(value, &peer, sizeof(peer));
		return 0;
	default:
		break;
	}
	memcpy(value, &number, sizeof(number));
	*size = sizeof(number);
	return 0;
}

SIM_CALL int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	struct sock *sock = sock_of(fd);
	struct tcp_info info;
	int segment;

	fiber_point();
	if (!sock || FAILS("getsockopt", ENOBUFS))
		return -1;
	if (level == SOL_SOCKET)
		return socket_option(sock, name, value, size);
	if (name == TCP_INFO) {
		tcp_info(sock, &info);
		memcpy(value, &info, *size < sizeof(info) ? *size : sizeof(info));
		return 0;
	}
	segment = sock->conn ? (int)sock->conn->segment + 535 : 536;
	memcpy(value, &segment, sizeof(segment));
	return 0;
}

SIM_CALL int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	struct sock *sock = sock_of(fd);
	int number = 0;

	(void)size;
	if (!sock || FAILS("setsockopt", ENOMEM))
		return -1;
	memcpy(&number, value, sizeof(number));
	if (level == SOL_SOCKET && name == SO_LINGER)
		sock->resets = ((const struct linger *)value)->l_onoff &&
			       !((const struct linger *)value)->l_linger;
	else if (level == IPPROTO_TCP && name == TCP_KEEPIDLE)
		sock->keepalive_s = (uint32_t)number * 2;
	return 0;
}

SIM_CALL int ioctl(int fd, unsigned long request, ...)
{
	struct sock *sock = sock_of(fd);
	va_list args;
	int *value;

	va_start(args, request);
	value = va_arg(args, int *);
	va_end(args);
	fiber_point();
	if (!sock)
		return -1;
	if (request != SIOCOUTQ)
		return no(EINVAL);
	*value = sock->conn ? (int)sock->out.length + (sock->out_ended && !sock->end_arrived) : 0;
	return 0;
}

SIM_CALL int shutdown(int fd, int how)
{
	struct sock *sock = sock_of(fd);

	fiber_point();
	if (!sock)
		return -1;
	if (sock->state == SOCK_LISTENING) {
		stop_listening(sock);
		sock->state = SOCK_DEAD;
		sim_file_changed(&sock->file);
		return 0;
	}
	if (sock->state != SOCK_UP)
		return no(ENOTCONN);
	if (how != SHUT_RD) {
		sock->out_ended = true;
		net_move(sock);
	}
	if (how != SHUT_WR)
		sock->in_ended = true;
	sim_file_changed(&sock->file);
	return 0;
}
