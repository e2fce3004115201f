/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who waits polls first, as long as that helps (EVD-46, option busy_poll): told by the processor
 * time that a wait takes.
 */
#include "conn_util.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	POLL_US = 200000,
	SOON_US = 40000,
	ASLEEP_US = 10000, /* what no wait of SOON_US takes that sleeps, and each that polls */
	IN_VAIN = 8,	   /* waits, after which it does not poll any more */
};

static void *send_soon(void *arg)
{
	usleep(SOON_US);
	expect_ok(ct_post_send(arg, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	return NULL;
}

/* What waiting for something that comes soon takes. */
static uint64_t cost_of_arrival(struct cu_rig *rig)
{
	pthread_t thread;
	uint64_t before;
	DAT_EVENT event;
	DAT_COUNT more;

	expect_ok(cu_recv(&rig->p, 0, 64, 2));
	assert_int_equal(pthread_create(&thread, NULL, send_soon, &rig->a), 0);
	before = ct_thread_cpu_us();
	expect_ok(dat_evd_wait(rig->p.recv, CT_US, 1, &event, &more));
	before = ct_thread_cpu_us() - before;
	pthread_join(thread, NULL);
	assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
	ct_completion(rig->a.request, 1, DAT_DTO_SUCCESS);
	return before;
}

static uint64_t cost_in_vain(DAT_EVD_HANDLE evd, DAT_TIMEOUT us)
{
	uint64_t before = ct_thread_cpu_us(), began = ct_now_us();
	DAT_EVENT event;
	DAT_COUNT more;

	expect_type(dat_evd_wait(evd, us, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	assert_true(ct_now_us() - began >= us); /* EVD-51 */
	return ct_thread_cpu_us() - before;
}

static void evd_46_polls_before_it_sleeps(void **state)
{
	struct cu_rig *rig = *state;

	assert_true(cost_of_arrival(rig) >= ASLEEP_US);
	assert_true(cost_of_arrival(rig) >= ASLEEP_US);
}

static void evd_46_sleeps_at_once_where_polling_was_in_vain(void **state)
{
	struct cu_rig *rig = *state;

	assert_true(cost_in_vain(rig->p.recv, SOON_US) >= ASLEEP_US);
	for (int i = 1; i < IN_VAIN; i++)
		cost_in_vain(rig->p.recv, 1);
	assert_true(cost_in_vain(rig->p.recv, SOON_US) < ASLEEP_US);
	assert_true(cost_of_arrival(rig) < ASLEEP_US);
	/* Now and then it tries again. */
	for (int i = 0; i < 100; i++)
		if (cost_in_vain(rig->p.recv, SOON_US / 4) >= ASLEEP_US / 4)
			return;
	fail_msg("it never polled again");
}

/* Of an end it is told, too. */
static void *disable(void *arg)
{
	usleep(SOON_US);
	expect_ok(dat_evd_set_unwaitable(arg));
	return NULL;
}

static void evd_58_a_poller_is_released(void **state)
{
	struct cu_rig *rig = *state;
	uint64_t before = ct_now_us();
	pthread_t thread;
	DAT_EVENT event;
	DAT_COUNT more;

	assert_int_equal(pthread_create(&thread, NULL, disable, rig->p.recv), 0);
	expect_state(dat_evd_wait(rig->p.recv, CT_US, 1, &event, &more), EVD_UNWAITABLE);
	assert_true(ct_now_us() - before < POLL_US);
	pthread_join(thread, NULL);
	expect_ok(dat_evd_clear_unwaitable(rig->p.recv));
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(evd_46_polls_before_it_sleeps),
		C(evd_46_sleeps_at_once_where_polling_was_in_vain),
		C(evd_58_a_poller_is_released),
	};
	char us[16];

	snprintf(us, sizeof(us), "%d", POLL_US);
	setenv("DAPL_BUSY_POLL", us, 1);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
