/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: links and connections over shared memory, how they begin and who may. */
#include "dapl/base/fd.h"
#include "test/unit/soft_shm_util.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;
static const struct soft_link_class *const shm = &soft_link_shm;

static uint8_t source[100], target[100];

/* ---- The start ---- */

static void hand_shake(void **state)
{
	struct sockaddr_storage local, remote;
	unsigned before = count_fds();
	uint64_t at = 0, from = 0, own = 0, to = 0;
	uint8_t byte = 7;
	int fds[SOFT_LINK_FDS];

	(void)state;
	pair();
	shm->names(act, &local, &own, &remote, &to);
	assert_int_equal(to, qual);
	shm->names(pas, &local, &at, &remote, &from);
	assert_true(own >= 49152 && own <= UINT16_MAX);
	assert_int_equal(from, own);
	assert_int_equal(remote.ss_family, AF_INET);
	/* What the peer has is of a size that nobody changes. */
	assert_int_equal(pas->class->give(pas, fds), 2);
	assert_int_equal(fcntl(fds[1], F_GET_SEALS) & SEALS, SEALS);
	assert_int_equal(ftruncate(fds[1], 0), -1);
	assert_int_equal(ftruncate(fds[1], 2 * SHM_SIZE), -1);
	/* The answer makes it two descriptors, and the one that listens. */
	assert_int_equal(put(pas, &byte, 1), 1);
	assert_int_equal(count_fds(), before + 3);
	assert_ptr_equal(pas->class, shm);
	assert_int_equal(get(act, &byte, 1), 1);
	assert_int_equal(byte, 7);
}

static void nobody_there(void **state)
{
	(void)state;
	connect_here();
	assert_int_equal(shm->started(act), -ECONNREFUSED);
	assert_non_null(act->why);
}

/* Until its end has come, the link is there. */
static void see_the_end(void)
{
	end_link(&pas, true);
	assert_int_equal(shm->started(act), 0);
	assert_int_equal(soft_link_watch(act, EPOLLIN), 0);
	for (int i = 0; i < DEADLINE_MS && !atomic_load(&soft_shm(act)->hung_up); i++)
		pause_ms(1);
}

static void who_ends_without_taking_the_memory(void **state)
{
	(void)state;
	listen_here();
	connect_here();
	accept_here();
	assert_int_equal(put(act, "request", 7), 7);
	see_the_end();
	assert_int_equal(shm->started(act), -ECONNREFUSED);
	assert_non_null(strstr(act->why, "did not take the memory"));
}

static void who_takes_the_memory_and_ends(void **state)
{
	uint8_t request[7];

	(void)state;
	listen_here();
	connect_here();
	accept_here();
	assert_int_equal(put(act, "request", 7), 7);
	assert_int_equal(get(pas, request, 7), 7);
	assert_memory_equal(request, "request", 7);
	assert_int_equal(woken(act), 0); /* to take it wakes nobody */
	see_the_end();
	assert_int_equal(shm->started(act), 0);
}

static void who_withdraws_is_not_heard(void **state)
{
	uint8_t byte;

	(void)state;
	listen_here();
	connect_here();
	assert_int_equal(put(act, "request", 7), 7);
	end_link(&act, true);
	accept_here();
	assert_int_equal(get(pas, &byte, 1), -ECONNRESET);
}

/* Memory counts as a file: the limit of their size fails the attempt and ends no program. */
static void larger_than_files_may_be(void **state)
{
	struct rlimit before, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	connect_here();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(shm->started(act), -ECONNREFUSED);
	end_link(&act, true);
	listen_here();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	connect_here();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(shm->started(act), -EFBIG);
}

/* What such a hello gets. */
static int outcome(const struct shm_hello *hello, size_t len, const int *fds, int num)
{
	int fd = raw_connect(), rc;
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(raw_hello(fd, hello, len, fds, num), 0);
	accept_here();
	rc = (int)get(pas, &byte, 1);
	end_link(&pas, true);
	close(fd);
	return rc;
}

static void memory_that_is_none(void **state)
{
	struct shm_hello hello = right_hello;
	FILE *file = tmpfile();
	unsigned before;
	int fds[2];

	(void)state;
	listen_here();
	fds[0] = memory(SHM_SIZE, SEALS);
	fds[1] = memory(SHM_SIZE, SEALS);
	before = count_fds();
	/* Good, but for the name of who sent it. */
	assert_int_equal(outcome(&hello, sizeof(hello), fds, 1), -EPROTO);
	assert_int_equal(outcome(&hello, sizeof(hello), NULL, 0), -EPROTO);
	assert_int_equal(outcome(&hello, sizeof(hello) - 1, fds, 1), -EPROTO);
	assert_true(outcome(&hello, sizeof(hello), fds, 2) < 0);
	hello.magic++;
	assert_int_equal(outcome(&hello, sizeof(hello), fds, 1), -EPROTO);
	hello = right_hello;
	hello.version++;
	assert_int_equal(outcome(&hello, sizeof(hello), fds, 1), -EPROTO);
	hello = right_hello;
	hello.size *= 2;
	assert_int_equal(outcome(&hello, sizeof(hello), fds, 1), -EPROTO);
	/* Of another size; that could be shrunk; that cannot be written; a file; a socket. */
	static const struct {
		off_t size;
		int seals;
	} bad[] = {
		{ SHM_SIZE - 4096, SEALS },
		{ SHM_SIZE + 4096, SEALS },
		{ 0, SEALS },
		{ SHM_SIZE, F_SEAL_GROW | F_SEAL_SEAL },
		{ SHM_SIZE, F_SEAL_SHRINK | F_SEAL_GROW },
		{ SHM_SIZE, SEALS | F_SEAL_WRITE },
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = memory(bad[i].size, bad[i].seals);

		assert_int_equal(outcome(&right_hello, sizeof(hello), &fd, 1), -EPROTO);
		close(fd);
	}
	assert_int_equal(ftruncate(fileno(file), SHM_SIZE), 0);
	assert_int_equal(outcome(&right_hello, sizeof(hello), &(int){ fileno(file) }, 1), -EPROTO);
	assert_int_equal(outcome(&right_hello, sizeof(hello), &listen_fd, 1), -EPROTO);
	assert_int_equal(count_fds(), before);
	fclose(file);
	close(fds[0]);
	close(fds[1]);
}

/* ---- Other users ---- */

/* Runs act in a child of another user; its exit status. */
static pid_t as_nobody(int (*act_there)(int fd), int *fd)
{
	int pair_[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair_), 0);
	pid = fork();
	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(9);
		_exit(act_there(pair_[1]));
	}
	close(pair_[1]);
	*fd = pair_[0];
	return pid;
}

static int status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/* Connects, and is hung up on. */
static int calls(int fd)
{
	int sock = raw_connect();
	uint8_t byte;

	if (sock < 0 || write(fd, "", 1) != 1)
		return 1;
	return recv(sock, &byte, 1, 0) == 1 ? 2 : 0;
}

/* Listens at the name, and is not told anything. */
static int listens(int fd)
{
	int sock = shm->listen(dev, &qual), conn;
	uint8_t byte;

	if (sock < 0 || write(fd, "", 1) != 1 || read(fd, &byte, 1) != 1)
		return 1;
	fcntl(sock, F_SETFL, 0);
	conn = accept(sock, NULL, NULL);
	return conn < 0 || recv(conn, &byte, 1, 0) > 0 ? 2 : 0;
}

static void other_user(void **state)
{
	uint8_t byte;
	pid_t pid;
	int fd;

	(void)state;
	if (geteuid()) {
		print_message("# only root can be two users\n");
		skip();
	}
	listen_here();
	pid = as_nobody(calls, &fd);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(shm->accept(dev, listen_fd, &pas), -ECONNABORTED);
	pas = NULL;
	assert_int_equal(status_of(pid), 0);
	close(fd);
	dapl_fd_close(listen_fd);
	listen_fd = -1;
	pid = as_nobody(listens, &fd);
	assert_int_equal(read(fd, &byte, 1), 1);
	connect_here();
	assert_int_equal(shm->started(act), -ECONNREFUSED);
	assert_non_null(strstr(act->why, "user"));
	end_link(&act, true);
	assert_int_equal(write(fd, "", 1), 1);
	assert_int_equal(status_of(pid), 0);
	close(fd);
}

/* ---- Connections ---- */

static const char *link_of(struct end *end)
{
	return soft_conn(end->conn)->link->class->name;
}

static void close_both(struct end *a, struct end *b)
{
	t->cm->disconnect(a->conn, false);
	end_event(b, TP_CONN_DISCONNECTED);
	end_destroy(a);
	end_destroy(b);
}

/* The program is told what carries its connection, and why. */
static void told(struct end *end, const char *link, const char *why, const char *crc,
		 const char *crc_why)
{
	struct tp_conn_addr addr = { .local_qual = 0 };

	t->cm->addr(end->conn, &addr);
	assert_string_equal(addr.link, link);
	assert_string_equal(addr.link_why, why);
	assert_string_equal(addr.crc, crc);
	assert_string_equal(addr.crc_why, crc_why);
}

static void chosen_where_it_is(void **state)
{
	struct end a, b;

	(void)state;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	ends_connect(&a, &b);
	assert_string_equal(link_of(&a), "shm");
	assert_string_equal(link_of(&b), "shm");
	assert_false(soft_conn(a.conn)->crc);
	assert_false(soft_conn(b.conn)->crc);
	told(&a, "shm", "both ends are on this host", "no", "shared memory needs none");
	told(&b, "shm", "both ends are on this host", "no", "shared memory needs none");
	close_both(&a, &b);
}

/* A service point without it. */
static void falls_back(void **state)
{
	const char *nobody = "nobody takes connections over shared memory there";
	struct tp_listener *plain;
	struct end a, b;

	(void)state;
	soft_config.link = SOFT_LINK_TCP;
	t->cm->unlisten(right.listener);
	assert_int_equal(t->cm->listen(right.dev, 0, &right, &plain), 0);
	right.listener = plain;
	soft_config.link = SOFT_LINK_AUTO;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	ends_connect(&a, &b);
	assert_string_equal(link_of(&a), "tcp");
	assert_true(soft_conn(a.conn)->crc);
	told(&a, "tcp", nobody, "yes", "option crc");
	told(&b, "tcp", "the peer came so", "yes", "option crc");
	close_both(&a, &b);
	/* What does not leave the host needs no CRC. */
	soft_config.crc = SOFT_CRC_AUTO;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	ends_connect(&a, &b);
	soft_config.crc = SOFT_CRC_YES;
	assert_false(soft_conn(a.conn)->crc);
	told(&a, "tcp", nobody, "no", "both ends are on this host");
	told(&b, "tcp", "the peer came so", "no", "both ends are on this host");
	close_both(&a, &b);
	soft_config.link = SOFT_LINK_SHM;
	end_create(&a, &left, NULL);
	end_connect(&a, &right, NULL, 0);
	end_event(&a, TP_CONN_REFUSED);
	end_destroy(&a);
}

/* One that takes the call, and then does not take the memory. */
static void falls_back_late(void **state)
{
	struct soft_listener *listener;
	struct end a, b;
	int fd;

	(void)state;
	listener = container_of(right.listener, struct soft_listener, base);
	assert_int_equal(listener->num_sockets, 3);
	/* In place of its listener stands one that hangs up. */
	soft_config.link = SOFT_LINK_TCP;
	qual = right.listener->conn_qual;
	t->cm->unlisten(right.listener);
	assert_int_equal(t->cm->listen(right.dev, qual, &right, &right.listener), 0);
	listen_here();
	soft_config.link = SOFT_LINK_AUTO;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	end_connect(&a, &right, "again", 5);
	fd = accept(listen_fd, NULL, NULL);
	assert_true(fd >= 0);
	close(fd);
	b.conn = node_request(&right);
	assert_int_equal(right.data_len, 5);
	assert_memory_equal(right.data, "again", 5);
	assert_int_equal(t->cm->accept(b.conn, b.qp, NULL, 0, &b), 0);
	end_event(&a, TP_CONN_ESTABLISHED);
	end_event(&b, TP_CONN_ESTABLISHED);
	assert_string_equal(link_of(&a), "tcp");
	close_both(&a, &b);
}

/* Nonsense ends its own connection, and says why. */
static void nonsense_ends_one(void **state)
{
	struct tp_mr *in_mr, *out_mr;
	struct end a, b, c, d;
	struct shm_side *side;

	(void)state;
	in_mr = reg(&right, target, sizeof(target), FULL);
	out_mr = reg(&left, source, sizeof(source), FULL);
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	end_create(&c, &left, NULL);
	end_create(&d, &right, NULL);
	ends_connect(&a, &b);
	ends_connect(&c, &d);
	side = soft_shm(soft_conn(a.conn)->link)->own;
	atomic_fetch_add(&side->sent, 3 * SHM_RING);
	post_recv(&b, 1, target, 100, in_mr);
	assert_wc(take_wc(b.recv_cq), 1, FLUSHED);
	end_event(&b, TP_CONN_BROKEN);
	end_event(&a, TP_CONN_BROKEN);
	post_recv(&d, 2, target, 100, in_mr);
	post_send(&c, 3, source, 100, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(d.recv_cq), 2, SUCCESS);
	assert_wc(wait_wc(&c, c.send_cq), 3, SUCCESS);
	end_destroy(&a);
	end_destroy(&b);
	close_both(&c, &d);
	dereg(in_mr);
	dereg(out_mr);
}

/* A message completes before its room is free again, which the next one would else miss. */
static void wait_for_room(struct end *from)
{
	struct soft_shm *link = soft_shm(soft_conn(from->conn)->link);
	uint64_t limit = now_ms() + DEADLINE_MS;

	while (atomic_load(&link->peer->taken) != atomic_load(&link->sent) && now_ms() < limit)
		sched_yield();
}

/* What is short needs no buffer on either side; one that something else needed goes again. */
static void buffers_come_and_go(void **state)
{
	static uint8_t large[2 * SHM_SMALL], there[2 * SHM_SMALL];
	int64_t timeout = soft_config.peer_timeout_ms;
	struct tp_mr *in_mr, *out_mr;
	unsigned with = 0, made = 0;
	struct end a, b;

	(void)state;
	/* Anew: the timer of adapters that are open has the old interval. */
	soft_config.peer_timeout_ms = 300;
	node_close(&left);
	node_close(&right);
	node_open(&left, "lo");
	node_open(&right, "127.0.0.1");
	in_mr = reg(&right, there, sizeof(there), FULL);
	out_mr = reg(&left, large, sizeof(large), FULL);
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	ends_connect(&a, &b);
	for (int i = 0; i < 50; i++) {
		post_recv(&b, 1, there, 1000, in_mr);
		post_send(&a, 2, large, 1000, out_mr, TP_WR_SIGNALED);
		assert_wc(take_wc(b.recv_cq), 1, SUCCESS);
		assert_wc(take_wc(a.send_cq), 2, SUCCESS);
		wait_for_room(&a);
		/* What is posted while the service thread drives goes in a batch. */
		with += end_has_buffers(&a) || end_has_buffers(&b);
		ends_lose_buffers(&a, &b);
		assert_true(with < 25);
	}
	for (int i = 0; i < 3; i++) {
		fill(large, sizeof(large), (unsigned)i);
		post_recv(&b, 1, there, sizeof(there), in_mr);
		post_send(&a, 2, large, sizeof(large), out_mr, TP_WR_SIGNALED);
		assert_wc(take_wc(b.recv_cq), 1, SUCCESS);
		assert_wc(take_wc(a.send_cq), 2, SUCCESS);
		assert_true(filled(there, sizeof(there), (unsigned)i));
		made += end_has_buffers(&a);
		ends_lose_buffers(&a, &b);
	}
	assert_true(made);
	close_both(&a, &b);
	dereg(in_mr);
	dereg(out_mr);
	soft_config.peer_timeout_ms = timeout;
}

/* System calls that wake peers, or say something over a socket. */
static atomic_uint sends;

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	atomic_fetch_add(&sends, 1);
	return syscall(SYS_sendto, fd, data, size, flags, NULL, 0);
}

enum {
	MANY = 40,
	HOT_MESSAGES = 200,
};

static struct end senders[MANY], receivers[MANY]; /* of one CQ */
static struct tp_mr *in_mr, *out_mr;

static void message(int which, struct tp_cq *cq)
{
	post_recv(&receivers[which], 3, target, 100, in_mr);
	post_send(&senders[which], 1, source, 100, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(cq), 3, SUCCESS);
	assert_wc(take_wc(senders[which].send_cq), 1, SUCCESS);
}

/* The service thread may look in between, more often the busier the processors are. */
static void expect_few_wakes(int of, unsigned polls_between, struct tp_cq *cq)
{
	uint64_t limit = now_ms() + DEADLINE_MS;

	do {
		atomic_store(&sends, 0);
		for (int n = 0; n < HOT_MESSAGES; n++) {
			message(n % of, cq);
			poll_in_vain(cq, polls_between);
		}
	} while (atomic_load(&sends) >= HOT_MESSAGES / 4 && now_ms() < limit);
	assert_true(atomic_load(&sends) < HOT_MESSAGES / 4);
}

/* So many that their CQ watches them by wake-ups, but for those where something came lately. */
static void many_on_one_queue(void **state)
{
	struct end_options o = { .depth = 256, .sge = 1, .one_cq = true };
	struct end shared;
	struct tp_cq *own;

	(void)state;
	in_mr = reg(&right, target, sizeof(target), FULL);
	out_mr = reg(&left, source, sizeof(source), FULL);
	end_create(&shared, &right, &o);
	own = shared.recv_cq;
	for (int i = 0; i < MANY; i++) {
		end_create(&senders[i], &left, NULL);
		end_create(&receivers[i], &right, NULL);
		receivers[i].attr.send_cq = own;
		receivers[i].attr.recv_cq = own;
		assert_int_equal(receivers[i].qp->ops->modify(receivers[i].qp, &receivers[i].attr),
				 0);
		ends_connect(&senders[i], &receivers[i]);
	}
	for (int i = 0; i < MANY; i++)
		message(i, own);
	for (int i = 0; i < 2 * MANY; i++) { /* asleep */
		post_recv(&receivers[i % MANY], 3, target, 100, in_mr);
		post_send(&senders[i % MANY], 1, source, 100, out_mr, TP_WR_SIGNALED);
		assert_wc(wait_wc(&shared, own), 3, SUCCESS);
		assert_wc(take_wc(senders[i % MANY].send_cq), 1, SUCCESS);
	}
	expect_few_wakes(2, 0, own);
	/* What each costs between two messages of its own is less than to wake for them. */
	expect_few_wakes(MANY, 16, own);
	for (int i = 0; i < MANY; i++) {
		end_destroy(&senders[i]);
		end_destroy(&receivers[i]);
	}
	end_destroy(&shared);
	dereg(in_mr);
	dereg(out_mr);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(hand_shake),
		T(nobody_there),
		T(who_ends_without_taking_the_memory),
		T(who_takes_the_memory_and_ends),
		T(who_withdraws_is_not_heard),
		T(memory_that_is_none),
		T(other_user),
		T(chosen_where_it_is),
		T(falls_back),
		T(falls_back_late),
		T(nonsense_ends_one),
		T(buffers_come_and_go),
		T(many_on_one_queue),
		T(larger_than_files_may_be),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
