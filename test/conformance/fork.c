/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fork (GEN-32 to GEN-34): what the parent had open is not the child's, which opens adapters of its
 * own, and the parent goes on as if there were no child.
 *
 * Each test runs in a process of its own, in whose children a failed check is an exit.
 */
#include "conn_util.h"
#include "peer.h"
#include "world.h"
#include "util/compiler.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child may use all of the time that a test has for it and not a second more. */
#define CHILD_SECONDS 30

/* ---- Children of a process that has adapters open ---- */

/* Runs body in a child; its process id. */
static pid_t start(void (*body)(void *arg), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	alarm(CHILD_SECONDS);
	body(arg);
	fflush(NULL);
	_exit(0);
}

static void finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("the forked child was ended by signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void in_child(void (*body)(void *arg), void *arg)
{
	finish(start(body, arg));
}

/* Stays until the parent closes the other end. */
static void stay(void *arg)
{
	int *fds = arg;
	char byte;

	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 0);
}

/* A connection of the child's own, and everything freed. */
static void use_own_adapter(void *arg)
{
	struct cu_rig *rig;
	void *state;

	(void)arg;
	cu_setup_connected(&state);
	rig = state;
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 64);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
	cu_teardown(&state);
}

/* ---- GEN-32: handles ---- */

#define GONE(call) TALLY(call, DAT_INVALID_HANDLE, CT_ANY_SUBTYPE)

static void ask_objects(struct world *w)
{
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
	DAT_EVENT event;
	DAT_COUNT more;
	union {
		DAT_PZ_PARAM pz;
		DAT_LMR_PARAM lmr;
		DAT_EVD_PARAM evd;
		DAT_CNO_PARAM cno;
		DAT_PSP_PARAM psp;
		DAT_RSP_PARAM rsp;
		DAT_CR_PARAM cr;
	} param;

	GONE(dat_ia_query(w->ia.ia, NULL, 0, NULL, 0, NULL));
	GONE(dat_get_handle_type(w->ia.ia, &type));
	GONE(dat_get_handle_type(w->ep, &type));
	GONE(dat_get_consumer_context(w->a.ep, &context));
	GONE(dat_pz_query(w->pz, DAT_PZ_FIELD_ALL, &param.pz));
	GONE(dat_lmr_query(w->mem.lmr, DAT_LMR_FIELD_ALL, &param.lmr));
	GONE(dat_evd_query(w->dto, DAT_EVD_FIELD_ALL, &param.evd));
	GONE(dat_cno_query(w->cno, DAT_CNO_FIELD_ALL, &param.cno));
	GONE(dat_psp_query(w->psp, DAT_PSP_FIELD_ALL, &param.psp));
	GONE(dat_rsp_query(w->rsp, DAT_RSP_FIELD_ALL, &param.rsp));
	GONE(dat_cr_query(w->cr, DAT_CR_FIELD_ALL, &param.cr));
	GONE(dat_evd_dequeue(w->dto, &event));
	GONE(dat_evd_wait(w->a.connect, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	GONE(dat_evd_resize(w->dto, 256));
	GONE(ct_post_se(w->soft, 1));
}

static void use_connections(struct world *w)
{
	DAT_EP_STATE state;
	DAT_BOOLEAN recv, request;

	GONE(ct_post_send(&w->a, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	GONE(ct_post_recv(&w->a, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	GONE(cu_write(&w->a, 0, 64, 1, &w->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	GONE(cu_read(&w->a, 0, 64, 1, &w->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	GONE(dat_ep_get_status(w->a.ep, &state, &recv, &request));
	GONE(dat_ep_connect(w->ep, w->ia.attr.ia_address_ptr, w->qual, DAT_TIMEOUT_INFINITE, 0,
			    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	GONE(dat_cr_handoff(w->cr, w->qual));
	GONE(dat_cr_accept(w->cr, w->ep, 0, NULL));
	GONE(dat_cr_reject(w->cr, 0, NULL));
	GONE(dat_ep_disconnect(w->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	GONE(dat_ep_disconnect(w->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	GONE(dat_ep_reset(w->a.ep));
}

static void free_all(struct world *w)
{
	GONE(dat_ep_free(w->a.ep));
	GONE(dat_psp_free(w->psp));
	GONE(dat_rsp_free(w->rsp));
	GONE(dat_evd_free(w->soft));
	GONE(dat_cno_free(w->cno));
	GONE(dat_lmr_free(w->mem.lmr));
	GONE(dat_pz_free(w->pz));
	GONE(dat_ia_close(w->ia.ia, DAT_CLOSE_GRACEFUL_FLAG));
	GONE(dat_ia_close(w->ia.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void use_handles(void *arg)
{
	world_tally_begin();
	ask_objects(arg);
	use_connections(arg);
	free_all(arg);
	world_tally_end(36);
}

/* Objects of its own beside: none is where one of the parent's was. */
static void use_handles_beside_own(void *arg)
{
	struct ct_ia own;

	ct_open(&own);
	for (int i = 0; i < 600; i++)
		ct_pz(own.ia);
	use_handles(arg);
	ct_close(&own);
}

static int handles(void)
{
	struct world *w;
	void *state;

	world_setup(&state);
	w = state;
	in_child(use_handles, w);
	in_child(use_handles_beside_own, w);
	world_is_well(w);
	world_teardown(&state);
	return 0;
}

static int no_new_object_of_an_old_adapter(void)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_PZ_HANDLE pz;
	pid_t pid;

	pid = fork();
	if (!pid) {
		alarm(CHILD_SECONDS);
		expect_type(dat_pz_create(rig->ia, &pz), DAT_INVALID_HANDLE);
		/* The end of the process does nothing to the parent's. */
		exit(0);
	}
	finish(pid);
	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	cu_rig_close(rig);
	return 0;
}

static void gen_32_handles_of_the_parent(void **state)
{
	/* What was the parent's is out of a child's reach for good. */
	static const char *const no_leaks[] = { "ASAN_OPTIONS=detect_leaks=0", NULL };

	(void)state;
#ifdef WITH_TSAN
	harness_skip("ThreadSanitizer ends a forked child that starts a thread");
#endif
	harness_spawn_ok("handles", NULL);
	harness_spawn_ok("no_new_object", no_leaks);
}

/* ---- GEN-33: adapters of the child's own ---- */

static void fork_again(void *arg)
{
	use_own_adapter(arg);
	in_child(use_own_adapter, arg);
}

static int own_adapters(void)
{
	void *state;

	cu_setup_connected(&state);
	in_child(use_own_adapter, NULL);
	in_child(fork_again, NULL);
	cu_teardown(&state);
	in_child(use_own_adapter, NULL);
	use_own_adapter(NULL);
	return 0;
}

static atomic_bool over;

/* Opens, makes, frees and closes without a pause, so that locks are held at any time. */
static void *churn(void *arg)
{
	struct ct_ia ia;

	(void)arg;
	while (!atomic_load(&over)) {
		ct_open(&ia);
		for (int i = 0; i < 200; i++)
			expect_ok(dat_pz_free(ct_pz(ia.ia)));
		ct_close(&ia);
	}
	return NULL;
}

static void open_and_close(void *arg)
{
	struct ct_ia ia;

	(void)arg;
	ct_open(&ia);
	ct_pz(ia.ia);
	ct_close(&ia);
}

#define THREADS_US 20000000 /* of a machine that has no time for all rounds */

static int threads(void)
{
	uint64_t end = ct_now_us() + THREADS_US;
	unsigned int rounds = harness_rounds(300);
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, churn, NULL), 0);
	for (unsigned int i = 0; i < rounds && ct_now_us() < end; i++)
		in_child(open_and_close, NULL);
	atomic_store(&over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static void gen_33_adapters_of_its_own(void **state)
{
	(void)state;
#ifdef WITH_TSAN
	harness_skip("ThreadSanitizer ends a forked child that starts a thread");
#endif
	harness_spawn_ok("own_adapters", NULL);
}

static void gen_33_other_threads_are_at_work(void **state)
{
	(void)state;
	if (harness_sanitized())
		harness_skip("a sanitizer's allocator keeps the locks of its other threads");
	harness_spawn_ok("threads", NULL);
}

/* Hands a request on to where only the parent listens: the parent takes it. */
static void hand_to_parent(void *arg)
{
	const DAT_CONN_QUAL *qual = arg;
	struct cu_rig *rig = cu_rig_open();
	DAT_CR_HANDLE cr;
	DAT_RETURN rc;

	ct_end_open(&rig->a, rig->ia, NULL);
	cr = cu_request(rig, &rig->a);
	rc = dat_cr_handoff(cr, *qual);
	if (!cu_unsupported(rc)) {
		expect_ok(rc);
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
	}
	cu_rig_close(rig);
}

static int handed_on(void)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_EVENT event;
	pid_t pid;

	pid = start(hand_to_parent, &rig->qual);
	if (cu_next(rig->cr, CT_MS, &event)) {
		assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
		expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	}
	finish(pid);
	cu_rig_close(rig);
	return 0;
}

static void gen_33_cr_20_a_request_handed_to_the_parent(void **state)
{
	(void)state;
	if (harness_sanitized())
		harness_skip("a sanitizer's allocator keeps the locks of its other threads");
	harness_spawn_ok("handed_on", NULL);
}

/* ---- GEN-34: the parent ---- */

static int stops_listening(void)
{
	struct cu_rig *rig = cu_rig_open();
	int fds[2];
	pid_t pid;

	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	assert_int_equal(pipe(fds), 0);
	pid = start(stay, fds);
	expect_ok(dat_psp_free(rig->psp));
	expect_ok(cu_connect(&rig->a, rig->qual, DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_psp_create(rig->ia, rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &rig->psp));
	cu_establish(rig, &rig->a, &rig->p);
	close(fds[0]);
	close(fds[1]);
	finish(pid);
	cu_rig_close(rig);
	return 0;
}

static void gen_34_psp_11_stops_listening(void **state)
{
	(void)state;
	harness_spawn_ok("stops_listening", NULL);
}

/* Connects, and leaves a child behind that ends with the test. */
static void forking_peer(int fd)
{
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);

	ct_end_open(&rig->a, rig->ia, NULL);
	expect_ok(peer_connect(&rig->a, &there, DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	if (fork()) {
		peer_get_word(fd);
		return;
	}
	alarm(CHILD_SECONDS);
	peer_put_word(fd, (uint64_t)getpid());
	pause();
}

static void gen_34_ev_17_the_death_of_a_process_with_a_child(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = peer_start("forking_peer");
	pid_t child;

	peer_put_service(peer->fd, rig);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	child = (pid_t)peer_get_word(peer->fd);
	peer_kill(peer);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	assert_int_equal(kill(child, SIGKILL), 0);
}

#define T(f) cmocka_unit_test(f)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "handles", handles },
		{ "no_new_object", no_new_object_of_an_old_adapter },
		{ "own_adapters", own_adapters },
		{ "threads", threads },
		{ "handed_on", handed_on },
		{ "stops_listening", stops_listening },
		{ NULL, NULL },
	};
	static const struct peer_role roles[] = {
		{ "forking_peer", forking_peer },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(gen_32_handles_of_the_parent),
		T(gen_33_adapters_of_its_own),
		T(gen_33_other_threads_are_at_work),
		T(gen_33_cr_20_a_request_handed_to_the_parent),
		T(gen_34_psp_11_stops_listening),
		cmocka_unit_test_setup_teardown(gen_34_ev_17_the_death_of_a_process_with_a_child,
						cu_setup_ends, cu_teardown),
	};

	peer_main(argc, argv, roles);
	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
