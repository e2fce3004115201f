/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The yardstick: the same pattern over a plain TCP socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

static char buffer[BENCH_MAX_SIZE];

int bench_tcp_open(bool active, int control)
{
	struct sockaddr_in addr = bench_server;
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), conn = fd, one = 1;

	if (fd < 0)
		bench_die("socket: %s", strerror(errno));
	if (active) {
		if (read(control, &addr, sizeof(addr)) != (ssize_t)sizeof(addr) ||
		    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			bench_die("tcp connect: %s", strerror(errno));
	} else {
		if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1) ||
		    getsockname(fd, (struct sockaddr *)&addr, &len) ||
		    write(control, &addr, sizeof(addr)) != (ssize_t)sizeof(addr))
			bench_die("tcp listen: %s", strerror(errno));
		conn = accept(fd, NULL, NULL);
		close(fd);
	}
	if (conn < 0 || setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		bench_die("tcp: %s", strerror(errno));
	return conn;
}

static void put(int fd, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = send(fd, buffer + done, size - done, MSG_NOSIGNAL);
		if (n < 0)
			bench_die("tcp send: %s", strerror(errno));
		done += (size_t)n;
	}
}

static void get(int fd, size_t size, bool waiting)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = recv(fd, buffer + done, size - done, waiting ? 0 : MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			bench_die("tcp recv: %s", n ? strerror(errno) : "closed");
		done += (size_t)n;
	}
}

/* A stream each way at a time. */
static double both_ways(int fd, const struct bench_case *bc)
{
	size_t total = bc->size * bc->count, out = 0, in = 0, part;
	double start = bench_now();
	ssize_t n;

	while (out < total || in < total) {
		part = total - out < bc->size ? total - out : bc->size;
		n = part ? send(fd, buffer, part, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
		if (n < 0 && errno != EAGAIN)
			bench_die("tcp send: %s", strerror(errno));
		out += n > 0 ? (size_t)n : 0;
		part = total - in < bc->size ? total - in : bc->size;
		n = part ? recv(fd, buffer, part, MSG_DONTWAIT) : 1;
		if (!n || (n < 0 && errno != EAGAIN))
			bench_die("tcp recv: %s", n ? strerror(errno) : "closed");
		in += part && n > 0 ? (size_t)n : 0;
	}
	return bench_now() - start;
}

double bench_tcp_run(int fd, const struct bench_case *bc, bool active)
{
	double start = bench_now();
	unsigned int i;

	if (bc->both)
		return both_ways(fd, bc);
	for (i = 0; i < bc->count; i++) {
		if (active)
			put(fd, bc->size);
		if (!active || !bc->stream)
			get(fd, bc->size, bc->waiting);
		if (!active && !bc->stream)
			put(fd, bc->size);
	}
	if (bc->stream && active)
		get(fd, 1, bc->waiting);
	else if (bc->stream)
		put(fd, 1);
	return bench_now() - start;
}
