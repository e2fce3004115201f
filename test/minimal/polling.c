/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that poll for connections: a poll takes what is there and does no other work (EVD-8). */
#include "test/minimal/rig.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#define CONNECTIONS 3000

/* The thread that told the core of a connection's event last. */
static _Atomic uintptr_t *told_by;

static void find_told_by(void)
{
	void *module = dlopen("libdaplminimal.so", RTLD_NOLOAD | RTLD_LAZY);

	assert_non_null(module);
	told_by = dlsym(module, "mini_told_by");
	assert_non_null(told_by);
	dlclose(module);
}

/* The next event of a dispatcher, by nothing but dat_evd_dequeue; another thread told of it. */
static void poll_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	uint64_t until = ct_now_us() + CT_US;

	while (dat_evd_dequeue(evd, event) != DAT_SUCCESS)
		assert_true(ct_now_us() < until);
	assert_int_equal(event->event_number, number);
	assert_true(atomic_load(told_by) != (uintptr_t)pthread_self());
}

static void a_poll_does_not_do_the_service_threads_work(void **state)
{
	struct rig *rig = *state;
	DAT_EP_HANDLE a, b;
	DAT_EVENT event;

	find_told_by();
	expect_ok(dat_ep_create(rig->ia.ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				NULL, &a));
	expect_ok(dat_ep_create(rig->ib.ia, rig->b.pz, rig->b.recv, rig->b.request, rig->b.connect,
				NULL, &b));
	for (int i = 0; i < CONNECTIONS; i++) {
		expect_ok(dat_ep_connect(a, rig->ib.attr.ia_address_ptr, rig->qual, CT_US, 0, NULL,
					 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		poll_event(rig->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
		expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b, 0,
					NULL));
		poll_event(rig->a.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		poll_event(rig->b.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		expect_ok(dat_ep_disconnect(b, DAT_CLOSE_ABRUPT_FLAG));
		poll_event(rig->a.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		poll_event(rig->b.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		expect_ok(dat_ep_reset(a));
		expect_ok(dat_ep_reset(b));
	}
	expect_ok(dat_ep_free(a));
	expect_ok(dat_ep_free(b));
}

/* ---- Interrupted polls ---- */

static sigjmp_buf jump;

static void jump_out(int signo)
{
	(void)signo;
	siglongjmp(jump, 1);
}

static void every_us(long us)
{
	const struct itimerval timer = { .it_interval.tv_usec = us, .it_value.tv_usec = us };

	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* Polls that find nothing are left by jumps, as programs leave them that give up after a while. */
static void a_jump_out_of_a_poll_leaves_nothing_held(void **state)
{
	struct sigaction old, action = { .sa_handler = jump_out };
	struct rig *rig = *state;
	volatile int jumps = 0;
	DAT_EVENT event;

	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	if (sigsetjmp(jump, 1))
		jumps++;
	else
		every_us(200);
	while (jumps < 1000)
		dat_evd_dequeue(rig->cr, &event);
	every_us(0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	rig_establish(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_poll_does_not_do_the_service_threads_work),
		RIG_TEST(a_jump_out_of_a_poll_leaves_nothing_held),
	};

	rig_main();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
