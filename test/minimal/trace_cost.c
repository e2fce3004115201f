/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posts and dequeues to be counted by callgrind: trace-cost.py runs it. */
#include "test/minimal/rig.h"

enum {
	ROUNDS = 20,
	BATCH = 8,
};

static __attribute__((noinline)) void counted_posts(struct rig *rig)
{
	DAT_LMR_TRIPLET local = { .lmr_context = rig->a.mem.lmr_context,
				  .virtual_address = (uintptr_t)rig->a.mem.base,
				  .segment_length = 64 };
	DAT_RMR_TRIPLET remote = { .rmr_context = rig->b.mem.rmr_context,
				   .virtual_address = (uintptr_t)rig->b.mem.base,
				   .segment_length = 64 };
	DAT_DTO_COOKIE cookie = { .as_64 = 7 };

	for (int i = 0; i < BATCH; i++)
		expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &local, cookie, &remote,
						 DAT_COMPLETION_DEFAULT_FLAG));
}

static __attribute__((noinline)) void counted_dequeues(struct rig *rig)
{
	DAT_EVENT event;

	for (int i = 0; i < BATCH; i++) {
		expect_ok(dat_evd_dequeue(rig->a.request, &event));
		assert_int_equal(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
	}
}

static bool all_done(struct rig *rig)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	expect_ok(dat_ep_get_status(rig->a.ep, &state, &recv_idle, &request_idle));
	return request_idle;
}

static void posts_and_dequeues(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		counted_posts(*state);
		ct_await(all_done(*state));
		counted_dequeues(*state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { RIG_CONNECTED(posts_and_dequeues) };

	rig_main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
