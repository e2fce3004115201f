/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links over TCP. The only place that knows of sockets. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

enum {
	BACKLOG = 4096, /* the kernel lowers it to its own limit */
	KEEPALIVE_PROBES = 3,
	PROBES_LOST = 3, /* of a closed window */
	FALLBACK_SEGMENT = 1400,
};

static void set_int(int fd, int level, int name, int value)
{
	/* None of these is needed for correctness; a kernel without one still works. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* A host that is silent without a word is noticed by the kernel when idle, by lost() when not. */
static void set_keepalive(const struct soft_dev *dev, int fd)
{
	int seconds = (int)(dev->config->peer_timeout_ms / 1000);

	if (seconds <= 0)
		return;
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds / 2 > 0 ? seconds / 2 : 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL,
		seconds / (2 * KEEPALIVE_PROBES) > 0 ? seconds / (2 * KEEPALIVE_PROBES) : 1);
}

static void set_options(const struct soft_dev *dev, int fd)
{
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (dev->config->tos && dev->addr.ss_family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, (int)dev->config->tos);
	else if (dev->config->tos)
		set_int(fd, IPPROTO_IP, IP_TOS, (int)dev->config->tos);
	set_keepalive(dev, fd);
}

static struct soft_link *link_alloc(struct soft_dev *dev, int fd)
{
	struct soft_link *link = malloc(sizeof(*link));

	if (link)
		soft_link_init(link, &soft_link_tcp, dev, fd);
	return link;
}

static struct soft_link *own_link(struct soft_dev *dev, int fd)
{
	struct soft_link *link = link_alloc(dev, fd);

	if (link)
		set_options(dev, fd);
	return link;
}

/* ---- Set-up ---- */

static int tcp_listen(const struct soft_dev *dev, uint64_t *qual)
{
	struct sockaddr_storage name = dev->addr;
	socklen_t len = sizeof(name);
	int fd, rc;

	fd = dapl_fd_own(socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	/* For all that it accepts: Linux passes them on. */
	set_options(dev, fd);
	soft_addr_set_port(&name, (uint16_t)*qual);
	if (bind(fd, (struct sockaddr *)&name, soft_addr_len(&name)) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&name, &len)) {
		rc = -errno;
		dapl_fd_close(fd);
		return rc;
	}
	*qual = soft_addr_port(&name);
	return fd;
}

static int tcp_give(struct soft_link *link, int fds[SOFT_LINK_FDS])
{
	fds[0] = link->fd;
	return 1;
}

static int tcp_adopt(struct soft_dev *dev, const int *fds, int num, uint32_t len,
		     struct soft_link **link)
{
	if (num != 1)
		return -EPROTO;
	*link = own_link(dev, fds[0]);
	if (!*link)
		return -ENOMEM;
	/* It may have been a socket of the program (IWX-5). */
	(*link)->shared = true;
	return 0;
}

static int tcp_accept(struct soft_dev *dev, int listen_fd, struct soft_link **link)
{
	int fd = dapl_fd_own(accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)), rc;

	if (fd < 0)
		return -errno;
	*link = link_alloc(dev, fd);
	rc = *link ? 0 : -ENOMEM;
	if (rc)
		dapl_fd_close(fd);
	return rc;
}

/* Why a connect did not start; 0 for what is rather its outcome, though it is known at once. */
static int not_started(int err)
{
	switch (err) {
	case EINVAL: /* from the loopback address to another host */
	case ENETUNREACH:
	case ENETDOWN:
		return -ENETUNREACH;
	case EADDRNOTAVAIL: /* no port left */
	case EAGAIN:
		return -EADDRNOTAVAIL;
	case EAFNOSUPPORT:
	case ENOMEM:
	case ENOBUFS:
		return -err;
	default:
		return 0;
	}
}

static int tcp_connect(struct soft_dev *dev, const struct sockaddr_storage *local,
		       const struct sockaddr *remote, uint64_t qual, struct soft_link **link)
{
	struct sockaddr_storage to;
	int fd, rc, outcome = 0;

	if (remote->sa_family != local->ss_family)
		return -EAFNOSUPPORT;
	soft_addr_copy(&to, remote);
	soft_addr_set_port(&to, (uint16_t)qual);
	fd = dapl_fd_own(socket(local->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	/* So long may nobody answer; see tcp_lost for what comes after that. */
	set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)dev->config->peer_timeout_ms);
	if (bind(fd, (const struct sockaddr *)local, soft_addr_len(local))) {
		rc = -errno;
		goto close_fd;
	}
	if (connect(fd, (struct sockaddr *)&to, soft_addr_len(&to)) && errno != EINPROGRESS) {
		outcome = -errno;
		rc = not_started(errno);
		if (rc)
			goto close_fd;
	}
	rc = -ENOMEM;
	*link = own_link(dev, fd);
	if (!*link)
		goto close_fd;
	(*link)->start_err = outcome;
	return 0;

close_fd:
	dapl_fd_close(fd);
	return rc;
}

static int tcp_started(struct soft_link *link)
{
	struct sockaddr_storage local = { 0 }, remote = { 0 };
	socklen_t len = sizeof(int), local_len = sizeof(local), remote_len = sizeof(remote);
	int err = 0, unnamed = 0;

	if (link->start_err)
		return link->start_err;
	/* A reset takes the name away: looked at first, so that its reason is seen after it. */
	if (getpeername(link->fd, (struct sockaddr *)&remote, &remote_len) ||
	    getsockname(link->fd, (struct sockaddr *)&local, &local_len))
		unnamed = errno;
	if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	if (err || unnamed)
		return err ? -err : -unnamed;
	/* TCP lets a socket connect to itself when nobody listens and its own port is the one
	 * wanted. */
	if (local_len == remote_len && !memcmp(&local, &remote, local_len))
		return -ECONNREFUSED;
	set_int(link->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
	return 0;
}

/* ---- Sockets of the program ---- */

/* Why a socket can carry no connection, or NULL; one that the peer has ended may have bytes. */
static const char *unfit(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(int), info_len = sizeof(info);
	int protocol = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		return dapl_strerror(errno);
	if (protocol != IPPROTO_TCP)
		return "it is not one of TCP";
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_len))
		return dapl_strerror(errno);
	if (info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_CLOSE_WAIT)
		return "it is not connected";
	return NULL;
}

int soft_link_of_socket(struct soft_dev *dev, int socket, struct soft_link **link)
{
	const char *why = unfit(socket);
	int fd;

	if (why) {
		dapl_err_limited("%s: no connection over socket %d: %s", dev->name, socket, why);
		return -EINVAL;
	}
	fd = dapl_fd_own(fcntl(socket, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
	if (fd < 0)
		return -errno;
	*link = link_alloc(dev, fd);
	if (*link)
		return 0;
	dapl_fd_close(fd);
	return -ENOMEM;
}

/*
 * What the program has set stays, but what would keep bytes back, or hold up who closes the socket;
 * and of a peer that is silent it need not have thought.
 */
void soft_link_take(struct soft_link *link)
{
	const struct linger none = { .l_onoff = 0 };
	socklen_t len = sizeof(int);
	int alive = 0;

	link->shared = true;
	set_int(link->fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(link->fd, IPPROTO_TCP, TCP_CORK, 0);
	set_int(link->fd, SOL_SOCKET, SO_RCVLOWAT, 1);
	(void)setsockopt(link->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	(void)getsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &alive, &len);
	if (!alive)
		set_keepalive(link->dev, link->fd);
}

/* ---- Data ---- */

/* What a call returned, or why it failed; again: one more reason to try later. */
static ssize_t outcome(ssize_t n, int again)
{
	if (n >= 0)
		return n;
	return errno == EWOULDBLOCK || errno == ENOMEM || errno == again ? -EAGAIN : -errno;
}

static ssize_t tcp_send(struct soft_link *link, const struct iovec *iov, int num)
{
	const struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
				    .msg_iovlen = (size_t)num };
	const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
	ssize_t n;

	do
		n = num == 1 ? send(link->fd, iov->iov_base, iov->iov_len, flags)
			     : sendmsg(link->fd, &msg, flags);
	while (n < 0 && errno == EINTR);
	return outcome(n, ENOBUFS);
}

static ssize_t tcp_recv(struct soft_link *link, const struct iovec *iov, int num)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = (size_t)num };
	ssize_t n;

	do
		n = num == 1 ? recv(link->fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT)
			     : recvmsg(link->fd, &msg, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return outcome(n, 0);
}

static void tcp_finish(struct soft_link *link)
{
	(void)shutdown(link->fd, SHUT_WR);
}

/* Ends the connection of a socket that others have open; without an address it is reset. */
static void end_shared(int fd, bool abort)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	if (!abort || connect(fd, &none, sizeof(none)))
		(void)shutdown(fd, SHUT_RDWR);
}

static void tcp_close(struct soft_link *link, bool abort)
{
	struct linger reset = { .l_onoff = 1 };

	if (link->shared && !link->moved)
		end_shared(link->fd, abort);
	else if (abort)
		(void)setsockopt(link->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	dapl_fd_close(link->fd);
	free(link);
}

/* ---- State ---- */

static uint32_t tcp_segment(struct soft_link *link)
{
	socklen_t len = sizeof(int);
	int mss = 0;

	if (getsockopt(link->fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len) || mss <= 0)
		return FALLBACK_SEGMENT;
	return (uint32_t)mss;
}

/*
 * TCP_USER_TIMEOUT would do this in the kernel, but it also ends a connection whose peer answers
 * every probe and only has no room, which is how long a Send without a Receive must be able to wait
 * (DTO-90).
 */
static bool tcp_lost(struct soft_link *link, uint32_t ms)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	return info.tcpi_last_ack_recv >= ms &&
	       ((info.tcpi_unacked && info.tcpi_retransmits) || info.tcpi_probes >= PROBES_LOST);
}

static uint32_t tcp_unsent(struct soft_link *link)
{
	int bytes = 0;

	return ioctl(link->fd, SIOCOUTQ, &bytes) || bytes < 0 ? 0 : (uint32_t)bytes;
}

static void tcp_names(struct soft_link *link, struct sockaddr_storage *local, uint64_t *local_qual,
		      struct sockaddr_storage *remote, uint64_t *remote_qual)
{
	socklen_t len = sizeof(*local);

	if (!getsockname(link->fd, (struct sockaddr *)local, &len))
		*local_qual = soft_addr_port(local);
	len = sizeof(*remote);
	if (!getpeername(link->fd, (struct sockaddr *)remote, &len))
		*remote_qual = soft_addr_port(remote);
}

const struct soft_link_class soft_link_tcp = {
	.name = "tcp",
	.cost = 8,
	.vain_polls = 32,
	.listen = tcp_listen,
	.accept = tcp_accept,
	.give = tcp_give,
	.adopt = tcp_adopt,
	.connect = tcp_connect,
	.started = tcp_started,
	.send = tcp_send,
	.recv = tcp_recv,
	.finish = tcp_finish,
	.close = tcp_close,
	.watch = soft_link_register,
	.segment = tcp_segment,
	.lost = tcp_lost,
	.unsent = tcp_unsent,
	.names = tcp_names,
};
