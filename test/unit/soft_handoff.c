/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: connection requests handed on, inside the process and to others (CR-20). */
#include "test/unit/soft_handoff_roles.h"
#include "test/unit/soft_util.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/soft/cm/handoff.h"
#include "test/unit/soft_loop.h"
#include "test/anew.h"

static const struct dapl_transport *const t = &dapl_module_transport;

static struct node left, right, third;
static uint8_t out[64], in[64];
static struct tp_mr *out_mr;
static unsigned fds_before, fds_idle; /* without the nodes, and with nothing but them */

enum {
	HANDOFF_MS = 1000, /* as usual: for those who do not answer */
};

static int set_up(void **state)
{
	(void)state;
	fds_before = count_fds();
	/* Who answers may be late. */
	soft_config.handoff_ms = DEADLINE_MS;
	node_open(&left, "lo");
	node_open(&right, "127.0.0.1");
	node_open(&third, "127.0.0.1");
	fill(out, sizeof(out), 3);
	out_mr = reg(&left, out, sizeof(out), FULL);
	fds_idle = count_fds();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dereg(out_mr);
	node_close(&left);
	node_close(&right);
	node_close(&third);
	assert_int_equal(count_fds(), fds_before);
	return 0;
}

/* How long to wait for another process; each loop learns of it by its lock. */
static void set_handoff(int64_t ms)
{
	struct node *const nodes[] = { &left, &right, &third };

	for (int i = 0; i < 3; i++)
		soft_loop_wakeups(nodes[i]->loop);
	soft_config.handoff_ms = ms;
	for (int i = 0; i < 3; i++)
		soft_loop_wakeups(nodes[i]->loop);
}

/* Links that linger, and sessions of our own, are closed in the background. */
static void await_fds(unsigned num)
{
	uint64_t limit = now_ms() + DEADLINE_MS;
	unsigned now;

	while ((now = count_fds()) != num && now_ms() < limit)
		pause_ms(5);
	assert_int_equal(now, num);
}

/* Accepts at the node, and sends one message there. */
static void works_at(struct end *a, struct node *node, struct tp_conn *conn)
{
	struct tp_mr *mr = reg(node, in, sizeof(in), FULL);
	struct end b;

	end_create(&b, node, NULL);
	b.conn = conn;
	assert_int_equal(t->cm->accept(conn, b.qp, "yes", 3, &b), 0);
	assert_int_equal(end_event(a, TP_CONN_ESTABLISHED)->len, 3);
	end_event(&b, TP_CONN_ESTABLISHED);
	memset(in, 0, sizeof(in));
	post_recv(&b, 1, in, sizeof(in), mr);
	post_send(a, 2, out, sizeof(out), out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(b.recv_cq), 1, SUCCESS);
	assert_wc(take_wc(a->send_cq), 2, SUCCESS);
	assert_true(filled(in, sizeof(in), 3));
	t->cm->disconnect(b.conn, false);
	end_event(a, TP_CONN_DISCONNECTED);
	end_destroy(&b);
	dereg(mr);
}

/* ---- Inside the process ---- */

static void cr_20_another_device(void **state)
{
	struct tp_conn_addr before, after;
	struct tp_listener *other;
	struct tp_conn *conn;
	struct end a;

	(void)state;
	end_create(&a, &left, NULL);
	/* To another listener of the device, and to one of another device, and on. */
	assert_int_equal(t->cm->listen(right.dev, 0, &right, &other), 0);
	for (int i = 0; i < 4; i++) {
		end_connect(&a, &right, "original", 8);
		conn = node_request(&right);
		t->cm->addr(conn, &before);
		if (i) {
			assert_int_equal(t->cm->handoff(conn, other->conn_qual), 0);
			conn = node_request(&right);
			t->cm->addr(conn, &after);
			assert_int_equal(after.local_qual, other->conn_qual);
		}
		if (i > 1) {
			assert_int_equal(t->cm->handoff(conn, third.listener->conn_qual), 0);
			conn = node_request(&third);
			assert_int_equal(third.data_len, 8);
			assert_memory_equal(third.data, "original", 8);
			t->cm->addr(conn, &after);
			assert_int_equal(after.local_qual, third.listener->conn_qual);
			assert_int_equal(after.remote_qual, before.remote_qual);
			assert_memory_equal(&after.remote, &before.remote, sizeof(after.remote));
		}
		if (i < 3) {
			works_at(&a, i < 2 ? &right : &third, conn);
		} else {
			assert_int_equal(t->cm->reject(conn, "no", 2), 0);
			assert_int_equal(end_event(&a, TP_CONN_REJECTED)->len, 2);
		}
		end_reset(&a);
	}
	/* There nobody takes it: as for any request (NON_PEER_REJECTED). */
	node_refuse(&third, -ENOSPC);
	end_connect(&a, &right, NULL, 0);
	assert_int_equal(t->cm->handoff(node_request(&right), third.listener->conn_qual), 0);
	end_event(&a, TP_CONN_REFUSED);
	node_refuse(&third, 0);
	t->cm->unlisten(other);
	end_destroy(&a);
}

/* CR-21: and the request is as it was. */
static void cr_21_nobody(void **state)
{
	struct tp_listener *gone;
	struct rlimit limit, few;
	struct tp_conn *conn;
	uint64_t qual;
	struct end a;

	(void)state;
	end_create(&a, &left, NULL);
	assert_int_equal(t->cm->listen(third.dev, 0, &third, &gone), 0);
	qual = gone->conn_qual;
	t->cm->unlisten(gone);
	end_connect(&a, &right, NULL, 0);
	conn = node_request(&right);
	assert_int_equal(t->cm->handoff(conn, qual), -ECONNREFUSED);
	assert_int_equal(t->cm->handoff(conn, 0), -EINVAL);
	assert_int_equal(t->cm->handoff(conn, 1ull << 40), -EINVAL);
	/* Out of descriptors. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(t->cm->handoff(conn, third.listener->conn_qual), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	works_at(&a, &right, conn);
	end_destroy(&a);
}

static struct node *closes; /* as soon as a call that waited for its loop has its answer */

/* The linker sends the engine's calls of soft_dev_call here. */
int __real_soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg);
int __wrap_soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg);

int __wrap_soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg)
{
	int rc = __real_soft_dev_call(dev, fn, arg);
	struct node *node = closes;

	if (node) {
		closes = NULL;
		node_close(node);
	}
	return rc;
}

/* So that it does not look as before. */
static void fill_what_is_freed(int value)
{
#ifdef M_PERTURB
	mallopt(M_PERTURB, value);
#else
	(void)value;
#endif
}

/* The adapter that took the request is gone before the one that gave it has noticed. */
static void the_other_closes(void **state)
{
	struct tp_conn *conn;
	struct node other;
	struct end a;

	(void)state;
	fill_what_is_freed(0xa5);
	end_create(&a, &left, NULL);
	node_open(&other, "lo");
	node_refuse(&other, -ENOSPC);
	end_connect(&a, &right, NULL, 0);
	conn = node_request(&right);
	closes = &other;
	assert_int_equal(t->cm->handoff(conn, other.listener->conn_qual), 0);
	assert_null(closes);
	end_event(&a, TP_CONN_REFUSED);
	end_destroy(&a);
	fill_what_is_freed(0);
}

/* ---- To another process ---- */

/* Starts this program anew. */
static pid_t start(const char *role, int *fd)
{
	int pair[2];
	char text[16];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	snprintf(text, sizeof(text), "%d", pair[1]);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		EXEC_ANEW(role, text);
		_exit(8);
	}
	close(pair[1]);
	*fd = pair[0];
	return pid;
}

static void finish(pid_t pid, int fd, bool killed)
{
	int status;

	if (killed)
		kill(pid, SIGKILL);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!killed)
		assert_int_equal(status, 0);
}

/* All its threads stand when this returns. */
static void stop(pid_t pid)
{
	int status;

	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
}

/* The server takes a request with 7 bytes of private data, and one message. */
static void works_there(struct end *a, struct tp_conn *conn, int fd, uint64_t qual)
{
	struct event *event;

	say(fd, 1);
	assert_int_equal(t->cm->handoff(conn, qual), 0);
	event = end_event(a, TP_CONN_ESTABLISHED);
	assert_int_equal(event->len, 5);
	assert_memory_equal(event->data, "there", 5);
	post_send(a, 2, out, sizeof(out), out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(a->send_cq), 2, SUCCESS);
	assert_int_equal(word(fd), TP_WC_SUCCESS);
	assert_int_equal(word(fd), 7);
	t->cm->disconnect(a->conn, false);
}

static void cr_20_another_process(void **state)
{
	struct end a;
	uint64_t qual;
	unsigned fds;
	pid_t pid;
	int fd;

	(void)state;
	await_fds(fds_idle);
	end_create(&a, &left, NULL);
	pid = start("server", &fd);
	qual = word(fd);
	fds = count_fds();
	for (int i = 0; i < 20; i++) {
		end_connect(&a, &right, "private", 7);
		works_there(&a, node_request(&right), fd, qual);
		end_reset(&a);
	}
	await_fds(fds);
	/* Stopped it does not answer, and does not hang who asks; the request stays here. */
	end_connect(&a, &right, NULL, 0);
	stop(pid);
	{
		struct tp_conn *conn = node_request(&right);
		uint64_t before = now_ms();

		set_handoff(HANDOFF_MS);
		assert_int_equal(t->cm->handoff(conn, qual), -ECONNREFUSED);
		set_handoff(DEADLINE_MS);
		assert_true(now_ms() - before < 2000);
		works_at(&a, &right, conn);
	}
	kill(pid, SIGCONT);
	/* What it was asked while it was stopped it forgets. */
	end_reset(&a);
	end_connect(&a, &right, NULL, 0);
	say(fd, 1);
	assert_int_equal(t->cm->handoff(node_request(&right), qual), 0);
	end_event(&a, TP_CONN_ESTABLISHED);
	post_send(&a, 2, out, sizeof(out), out_mr, TP_WR_SIGNALED);
	assert_int_equal(word(fd), TP_WC_SUCCESS);
	assert_int_equal(word(fd), 0);
	t->cm->disconnect(a.conn, false);
	finish(pid, fd, false);
	end_reset(&a);
	/* Gone. */
	end_connect(&a, &right, NULL, 0);
	{
		struct tp_conn *conn = node_request(&right);

		assert_int_equal(t->cm->handoff(conn, qual), -ECONNREFUSED);
		works_at(&a, &right, conn);
	}
	end_destroy(&a);
}

/* Nobody can hand on to it, and who tries is told why. */
static void a_name_taken_by_another_user(void **state)
{
	unsigned said = soft_diags(NULL, 0);
	struct tp_listener *held;
	struct tp_conn *conn;
	char text[512];
	struct end a;
	pid_t pid;
	int fd;

	(void)state;
	if (geteuid()) {
		print_message("# only root can be two users\n");
		skip();
	}
	pid = start("squatter", &fd);
	word(fd);
	assert_int_equal(t->cm->listen(third.dev, HELD, &third, &held), 0);
	assert_true(soft_diags(text, sizeof(text)) > said);
	assert_non_null(strstr(text, "no handing on of requests on qualifier 9"));
	end_create(&a, &left, NULL);
	end_connect(&a, &right, NULL, 0);
	conn = node_request(&right);
	said = soft_diags(NULL, 0);
	assert_int_equal(t->cm->handoff(conn, HELD), -ECONNREFUSED);
	assert_true(soft_diags(text, sizeof(text)) > said);
	assert_non_null(strstr(text, "request not handed on"));
	assert_non_null(strstr(text, "user 65534"));
	works_at(&a, &right, conn);
	end_destroy(&a);
	t->cm->unlisten(held);
	finish(pid, fd, false);
}

/* Whoever stands still in front of it. */
static void cr_20_others_stand_still(void **state)
{
	pid_t still[3], pid;
	int still_fd[3], fd;
	struct end a;
	uint64_t qual, before;

	(void)state;
	await_fds(fds_idle);
	end_create(&a, &left, NULL);
	for (int i = 0; i < 3; i++) {
		still[i] = start("server", &still_fd[i]);
		word(still_fd[i]);
		stop(still[i]);
	}
	pid = start("server", &fd);
	qual = word(fd);
	end_connect(&a, &right, "private", 7);
	before = now_ms();
	works_there(&a, node_request(&right), fd, qual);
	assert_true(now_ms() - before < DEADLINE_MS / 2);
	end_destroy(&a);
	finish(pid, fd, false);
	for (int i = 0; i < 3; i++)
		finish(still[i], still_fd[i], true);
}

/* ---- Servers and sessions that do not keep to the rules ---- */

/* Out of descriptors a process takes in none, and goes on when there are some again. */
static void cr_20_a_process_without_descriptors(void **state)
{
	struct rlimit few = { 0 }, limit;
	struct tp_conn *conn;
	struct end a;
	uint64_t qual;
	pid_t pid;
	int fd;

	(void)state;
	await_fds(fds_idle);
	end_create(&a, &left, NULL);
	pid = start("server", &fd);
	qual = word(fd);
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &limit), 0);
	few.rlim_max = limit.rlim_max;
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &few, NULL), 0);
	end_connect(&a, &right, "private", 7);
	conn = node_request(&right);
	set_handoff(HANDOFF_MS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(t->cm->handoff(conn, qual), -ECONNREFUSED);
	set_handoff(DEADLINE_MS);
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &limit, NULL), 0);
	works_there(&a, conn, fd, qual);
	end_destroy(&a);
	finish(pid, fd, false);
}

static void servers_that_cheat(void **state)
{
	static const char *const roles[] = { "silent", "no", "closes", "rubbish" };
	struct end a;
	pid_t pid;
	int fd;

	(void)state;
	await_fds(fds_idle);
	end_create(&a, &left, NULL);
	for (unsigned i = 0; i < 4; i++) {
		unsigned fds = count_fds();
		struct tp_conn *conn;
		uint64_t before;
		int rc;

		pid = start(roles[i], &fd);
		word(fd);
		end_connect(&a, &right, NULL, 0);
		conn = node_request(&right);
		before = now_ms();
		set_handoff(HANDOFF_MS);
		rc = t->cm->handoff(conn, HELD);
		set_handoff(DEADLINE_MS);
		assert_true(rc == -ECONNREFUSED || (i == NO && rc == -EINVAL));
		assert_true(now_ms() - before < 3000);
		works_at(&a, &right, conn);
		finish(pid, fd, true);
		end_reset(&a);
		await_fds(fds);
	}
	end_destroy(&a);
}

static void sessions_that_cheat(void **state)
{
	unsigned fds;
	struct end a;
	pid_t pid;
	int fd;

	(void)state;
	await_fds(fds_idle);
	pid = start("session", &fd);
	fds = count_fds();
	say(fd, right.listener->conn_qual);
	for (int i = 0; i < 20; i++) {
		assert_true(count_fds() <= fds + 2 * SOFT_HANDOFF_SESSIONS + 1);
		pause_ms(2);
	}
	word(fd);
	finish(pid, fd, false);
	await_fds(fds - 1);
	/* All goes on. */
	end_create(&a, &left, NULL);
	end_connect(&a, &right, NULL, 0);
	works_at(&a, &right, node_request(&right));
	end_destroy(&a);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cr_20_another_device),
		cmocka_unit_test(cr_21_nobody),
		cmocka_unit_test(the_other_closes),
		cmocka_unit_test(a_name_taken_by_another_user),
		cmocka_unit_test(cr_20_another_process),
		cmocka_unit_test(cr_20_others_stand_still),
		cmocka_unit_test(cr_20_a_process_without_descriptors),
		cmocka_unit_test(servers_that_cheat),
		cmocka_unit_test(sessions_that_cheat),
	};

	if (argc == 3) {
		role(argv[1], atoi(argv[2]));
		return 0;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
