/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program without standard input, output and error (GEN-35): their numbers stay free for it,
 * and no connection takes what it writes to standard error.
 */
#include "conn_util.h"
#include "peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASIDE 200 /* where standard error is for a report */

static void close_standard(void)
{
	assert_int_equal(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, ASIDE), ASIDE);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
}

static void report(int fd, int line)
{
	char path[64], what[256];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, what, sizeof(what) - 1);
	what[len > 0 ? len : 0] = '\0';
	dup2(ASIDE, STDERR_FILENO);
	fprintf(stderr, "line %d: descriptor %d is %s\n", line, fd, what);
	_exit(1);
}

static void check(int line)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			report(fd, line);
}

#define STANDARD_ARE_FREE() check(__LINE__)

/* ---- One process ---- */

static void transfer(struct cu_rig *rig)
{
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 64);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
}

static void wait_in_vain(struct cu_rig *rig)
{
	struct ct_waiter *waiter = ct_evd_waiter(rig->p.recv, DAT_TIMEOUT_INFINITE, 1);

	STANDARD_ARE_FREE();
	expect_ok(cu_recv(&rig->p, 0, 64, 3));
	expect_ok(ct_post_send(&rig->a, 0, 64, 4, DAT_COMPLETION_DEFAULT_FLAG));
	ct_waiter_join(waiter);
	assert_int_equal(waiter->rc, DAT_SUCCESS);
	STANDARD_ARE_FREE();
}

static void make_cno(struct cu_rig *rig)
{
	DAT_CNO_HANDLE cno;
	DAT_FD fd;
	DAT_RETURN rc = dat_cno_fd_create(rig->ia, &fd, &cno);

	if (cu_unsupported(rc))
		return;
	expect_ok(rc);
	assert_true(fd > STDERR_FILENO);
	STANDARD_ARE_FREE();
	expect_ok(dat_cno_free(cno));
}

static int one_process(void)
{
	struct cu_rig *rig;
	void *state;

	close_standard();
	cu_setup_ia(&state);
	STANDARD_ARE_FREE();
	rig = state;
	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	STANDARD_ARE_FREE();
	cu_establish(rig, &rig->a, &rig->p);
	STANDARD_ARE_FREE();
	transfer(rig);
	wait_in_vain(rig);
	make_cno(rig);
	cu_end_connection(&rig->a, &rig->p);
	STANDARD_ARE_FREE();
	cu_teardown(&state);
	STANDARD_ARE_FREE();
	return 0;
}

static void gen_35_one_process(void **state)
{
	(void)state;
	harness_spawn_ok("one_process", NULL);
}

static void gen_35_one_process_that_traces(void **state)
{
	char path[] = "/tmp/udapl-descriptors-XXXXXX", file[64], level[] = "DAPL_TRACE_LEVEL=10";
	const char *env[] = { file, level, NULL };
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "DAT_TRACE_FILE=%s/trace", path);
	harness_spawn_ok("one_process", env);
	assert_int_equal(stat(strchr(file, '/'), &st), 0);
	assert_true(st.st_size > 0);
	unlink(strchr(file, '/'));
	rmdir(path);
}

/* ---- Two processes ---- */

/* Accepts the requests that come, at first hand or handed on. */
static void acceptor(int fd)
{
	struct cu_rig *rig;
	DAT_EVENT event;

	close_standard();
	rig = cu_rig_open();
	ct_end_open(&rig->p, rig->ia, NULL);
	STANDARD_ARE_FREE();
	peer_put_service(fd, rig);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	STANDARD_ARE_FREE();
	peer_put_word(fd, 1);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	STANDARD_ARE_FREE();
	cu_rig_close(rig);
}

static void finish(struct cu_rig *rig, struct peer *peer)
{
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	assert_int_equal(peer_get_word(peer->fd), 1);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	peer_finish(peer);
}

static void gen_35_two_processes(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = peer_start("acceptor");
	struct peer_service there = peer_get_service(peer->fd);

	expect_ok(peer_connect(&rig->a, &there, DAT_TIMEOUT_INFINITE));
	finish(rig, peer);
}

static void gen_35_cr_20_a_request_handed_on(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = peer_start("acceptor");
	DAT_CONN_QUAL qual = peer_get_service(peer->fd).qual;
	DAT_RETURN rc = dat_cr_handoff(cu_request(rig, &rig->a), qual);

	if (cu_unsupported(rc)) {
		peer_kill(peer);
		harness_skip("requests cannot be handed on");
	}
	expect_ok(rc);
	finish(rig, peer);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "one_process", one_process },
		{ NULL, NULL },
	};
	static const struct peer_role roles[] = {
		{ "acceptor", acceptor },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(gen_35_one_process),
		cmocka_unit_test(gen_35_one_process_that_traces),
		T(gen_35_two_processes),
		T(gen_35_cr_20_a_request_handed_on),
	};

	peer_main(argc, argv, roles);
	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
