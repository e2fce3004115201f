/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: how many descriptors peers can take that say nothing, or do not end. */
#include "test/unit/soft_util.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/soft/wire/crc32c.h"
#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;

enum {
	BUDGET = 8,
	MANY = 40,
	FILES = 256,
};

static struct node node;
static unsigned fds_before;
static uint8_t memory[4096];

/* With these options, and peers that have all the time. */
static void open_node(int64_t half_open, int64_t lingering)
{
	fds_before = count_fds();
	soft_config.half_open = half_open;
	soft_config.lingering = lingering;
	soft_config.handshake_ms = soft_config.linger_ms = 10 * DEADLINE_MS;
	node_open(&node, "lo");
}

static int tear_down(void **state)
{
	(void)state;
	node_close(&node);
	assert_int_equal(count_fds(), fds_before);
	return 0;
}

/* ---- Peers that are sockets ---- */

static int raw_connect(uint32_t from)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(from) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)))
		return -1;
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	name.sin_port = htons((uint16_t)node.listener->conn_qual);
	if (!connect(fd, (struct sockaddr *)&name, sizeof(name)))
		return fd;
	close(fd);
	return -1;
}

static void connect_all(int *fds, int num, uint32_t from)
{
	for (int i = 0; i < num; i++) {
		fds[i] = raw_connect(from);
		assert_true(fds[i] >= 0);
	}
}

/* Whether the engine has ended it, or does within ms. */
static bool is_gone(int fd, int ms)
{
	struct pollfd watch = { .fd = fd, .events = POLLIN };

	return poll(&watch, 1, ms) == 1;
}

static void close_all(int *fds, int num)
{
	while (num)
		close(fds[--num]);
}

/* How many of them are left once so many are gone. */
static int await_left(const int *fds, int num, int left)
{
	uint64_t limit = now_ms() + DEADLINE_MS;
	int now;

	do {
		now = 0;
		for (int i = 0; i < num; i++)
			now += !is_gone(fds[i], 0);
		pause_ms(5);
	} while (now > left && now_ms() < limit);
	return now;
}

/* A program's own connection comes about. */
static void still_serves(void)
{
	struct end a, b;

	end_create(&a, &node, NULL);
	end_create(&b, &node, NULL);
	ends_connect(&a, &b);
	end_destroy(&a);
	end_destroy(&b);
}

/* ---- Requests that do not come ---- */

static void silent(void **state)
{
	int fds[MANY];

	(void)state;
	open_node(BUDGET, 0);
	connect_all(fds, MANY, INADDR_LOOPBACK);
	assert_int_equal(await_left(fds, MANY, BUDGET), BUDGET);
	/* The oldest went. */
	for (int i = 0; i < MANY - BUDGET; i++)
		assert_true(is_gone(fds[i], 0));
	still_serves();
	close_all(fds, MANY);
}

/* Who has few keeps them. */
static void silent_by_address(void **state)
{
	int first[2], fds[MANY];

	(void)state;
	open_node(BUDGET, 0);
	connect_all(first, 2, INADDR_LOOPBACK + 2);
	connect_all(fds, MANY, INADDR_LOOPBACK + 1);
	assert_int_equal(await_left(fds, MANY, BUDGET - 2), BUDGET - 2);
	assert_int_equal(await_left(first, 2, 2), 2);
	still_serves();
	assert_false(is_gone(first[0], 0));
	close_all(first, 2);
	close_all(fds, MANY);
}

/* A burst of proper ones, more than the budget, is only served one after the other. */
static void burst(void **state)
{
	struct end a[MANY];
	struct tp_conn *conn;

	(void)state;
	open_node(2, 0);
	for (int i = 0; i < MANY; i++) {
		end_create(&a[i], &node, NULL);
		end_connect(&a[i], &node, NULL, 0);
	}
	for (int i = 0; i < MANY; i++) {
		conn = node_request(&node);
		assert_int_equal(t->cm->reject(conn, NULL, 0), 0);
	}
	for (int i = 0; i < MANY; i++) {
		end_event(&a[i], TP_CONN_REJECTED);
		end_destroy(&a[i]);
	}
}

/* The program's own descriptors are left to it, with no option set. */
static void silent_process(void **state)
{
	struct rlimit limit, few;
	int pair[2], own;
	uint8_t byte;
	pid_t pid;

	(void)state;
	open_node(0, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = FILES;
	/* Before anything comes: what is there already would only go with what comes next. */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		if (setrlimit(RLIMIT_NOFILE, &limit))
			_exit(3);
		for (int i = 0; i < 2 * FILES; i++)
			if (raw_connect(INADDR_LOOPBACK) < 0)
				_exit(1);
		_exit(write(pair[1], "", 1) == 1 && read(pair[1], &byte, 1) >= 0 ? 0 : 2);
	}
	close(pair[1]);
	for (uint64_t until = now_ms() + DEADLINE_MS; !is_gone(pair[0], 0) && now_ms() < until;)
		pause_ms(1);
	for (int i = 0; i < 100; i++) {
		own = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(own >= 0);
		close(own);
		pause_ms(5);
	}
	assert_true(count_fds() < FILES / 2);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	close(pair[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Somebody who has the socket too, after a fork, has shut it: nobody looks at it for ever. */
static void listener_shut(void **state)
{
	struct soft_listener *listener;
	unsigned said = soft_diags(NULL, 0);
	uint64_t wakeups;
	char text[512];

	(void)state;
	open_node(0, 0);
	listener = container_of(node.listener, struct soft_listener, base);
	wakeups = soft_loop_wakeups(node.loop);
	assert_int_equal(shutdown(listener->socket[0].watch.fd, SHUT_RDWR), 0);
	pause_ms(500);
	assert_true(soft_loop_wakeups(node.loop) - wakeups < 40);
	assert_int_equal(soft_diags(text, sizeof(text)), said + 1);
	assert_non_null(strstr(text, "cannot accept connections"));
}

/* ---- Peers that do not end ---- */

static void send_request(int fd)
{
	static const uint8_t request[20] = "MPA ID Req Frame\x40\x01\0";

	assert_int_equal(send(fd, request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
}

/* So many requests, which are rejected, and whose peers keep their ends. */
static void reject_all(int *fds, int num)
{
	connect_all(fds, num, INADDR_LOOPBACK);
	for (int i = 0; i < num; i++) {
		send_request(fds[i]);
		assert_int_equal(t->cm->reject(node_request(&node), NULL, 0), 0);
	}
}

static void rejected(void **state)
{
	int fds[MANY];
	unsigned idle;

	(void)state;
	open_node(0, BUDGET);
	idle = count_fds();
	reject_all(fds, MANY);
	assert_int_equal(count_fds(), idle + MANY + BUDGET);
	close_all(fds, MANY);
}

/* An end with a peer whose window is full of Sends that were completed. */
static int stuffed(struct end *end, struct tp_mr *mr)
{
	struct end_options options = { .depth = 64, .sge = 1 };
	int fd = raw_connect(INADDR_LOOPBACK), small = 4096, zero;
	uint8_t reply[20];

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	end_create(end, &node, &options);
	send_request(fd);
	end->conn = node_request(&node);
	assert_int_equal(t->cm->accept(end->conn, end->qp, NULL, 0, end), 0);
	end_event(end, TP_CONN_ESTABLISHED);
	assert_int_equal(recv(fd, reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
	/* An RDMA Write of nothing: now it may send. */
	{
		uint8_t fpdu[20] = { 0, 14, 0xc1, 0x40 };
		uint32_t sum = htole32(soft_crc32c(0, fpdu, 16));

		memcpy(fpdu + 16, &sum, sizeof(sum));
		assert_int_equal(send(fd, fpdu, sizeof(fpdu), MSG_NOSIGNAL), sizeof(fpdu));
	}
	for (zero = 0; zero < 64; zero++)
		post_send(end, 1, memory, sizeof(memory), mr, TP_WR_SIGNALED);
	for (zero = 0; zero < 64; zero++)
		assert_wc(take_wc(end->send_cq), 1, SUCCESS);
	t->cm->disconnect(end->conn, true);
	end_event(end, TP_CONN_DISCONNECTED);
	end_destroy(end);
	return fd;
}

/* Bytes up to the end of the stream; -1: reset. */
static ssize_t drain(int fd)
{
	ssize_t n, all = 0;

	do {
		assert_true(is_gone(fd, DEADLINE_MS));
		n = recv(fd, memory, sizeof(memory), 0);
		if (n < 0)
			return -1;
		all += n;
	} while (n);
	return all;
}

/* What is to be delivered goes last, and not without a word. */
static void undelivered(void **state)
{
	unsigned said = soft_diags(NULL, 0), idle;
	int full[BUDGET + 1], fds[MANY];
	struct tp_mr *mr;
	char text[512];
	struct end end;

	(void)state;
	open_node(0, BUDGET);
	mr = reg(&node, memory, sizeof(memory), FULL);
	idle = count_fds();
	full[0] = stuffed(&end, mr);
	reject_all(fds, MANY);
	assert_int_equal(count_fds(), idle + 1 + MANY + BUDGET);
	assert_int_equal(soft_diags(NULL, 0), said);
	assert_true(drain(full[0]) > 64 * (ssize_t)sizeof(memory));
	close(full[0]);
	for (int i = 0; i <= BUDGET; i++)
		full[i] = stuffed(&end, mr);
	assert_int_equal(soft_diags(text, sizeof(text)), said + 1);
	assert_non_null(strstr(text, "option lingering"));
	assert_true(drain(full[BUDGET]) > 64 * (ssize_t)sizeof(memory));
	close_all(full, BUDGET + 1);
	close_all(fds, MANY);
	dereg(mr);
}

/* Peers of one adapter that say nothing do not keep another one's out. */
static void silent_elsewhere(void **state)
{
	int fds[BUDGET + 1];
	struct node other;
	unsigned idle;
	struct end end;

	(void)state;
	open_node(BUDGET, BUDGET);
	node_open(&other, "lo");
	end_create(&end, &other, NULL);
	idle = count_fds();
	connect_all(fds, BUDGET + 1, INADDR_LOOPBACK);
	while (count_fds() < idle + 2 * (BUDGET + 1))
		pause_ms(1);
	end_connect(&end, &other, NULL, 0);
	t->cm->release(node_request(&other));
	end_event(&end, TP_CONN_REFUSED);
	end_destroy(&end);
	close_all(fds, BUDGET + 1);
	node_close(&other);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, NULL, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(silent),	      CASE(silent_by_address), CASE(burst),
		CASE(silent_process), CASE(listener_shut),     CASE(rejected),
		CASE(undelivered),    CASE(silent_elsewhere),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* Sockets. */
	unsetenv("DAPL_SOFT_LINK");
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
