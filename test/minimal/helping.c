/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that poll for connections: they do the service thread's work, but call no agents. */
#include "test/minimal/rig.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#define ENDS 8

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

struct group {
	struct rig *rig;
	DAT_EP_HANDLE a[ENDS], b[ENDS];
	DAT_CR_HANDLE requests[ENDS];
};

static void group_open(struct group *group, struct rig *rig)
{
	int i;

	group->rig = rig;
	for (i = 0; i < ENDS; i++) {
		expect_ok(dat_ep_create(rig->ia.ia, rig->a.pz, rig->a.recv, rig->a.request,
					rig->a.connect, NULL, &group->a[i]));
		expect_ok(dat_ep_create(rig->ib.ia, rig->b.pz, rig->b.recv, rig->b.request,
					rig->b.connect, NULL, &group->b[i]));
	}
}

static void group_close(struct group *group)
{
	int i;

	for (i = 0; i < ENDS; i++) {
		expect_ok(dat_ep_free(group->a[i]));
		expect_ok(dat_ep_free(group->b[i]));
	}
}

/* The next event of a dispatcher, by nothing but dat_evd_dequeue. */
static void poll_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	uint64_t until = ct_now_us() + CT_US;

	while (dat_evd_dequeue(evd, event) != DAT_SUCCESS)
		assert_true(ct_now_us() < until);
	assert_int_equal(event->event_number, number);
}

/* Connects all of one side, then has the other accept one after the other; true if this thread
 * told of one. */
static bool connect_all(struct group *group)
{
	struct rig *rig = group->rig;
	bool mine = false;
	DAT_EVENT event;
	int i;

	for (i = 0; i < ENDS; i++) {
		expect_ok(dat_ep_connect(group->a[i], rig->ib.attr.ia_address_ptr, rig->qual, CT_US,
					 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		poll_event(rig->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
		group->requests[i] = event.event_data.cr_arrival_event_data.cr_handle;
	}
	for (i = 0; i < ENDS; i++) {
		expect_ok(dat_cr_accept(group->requests[i], group->b[i], 0, NULL));
		poll_event(rig->a.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		assert_ptr_equal(event.event_data.connect_event_data.ep_handle, group->a[i]);
		mine |= atomic_load(told_by) == (uintptr_t)pthread_self();
		poll_event(rig->b.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		assert_ptr_equal(event.event_data.connect_event_data.ep_handle, group->b[i]);
		mine |= atomic_load(told_by) == (uintptr_t)pthread_self();
	}
	return mine;
}

static void part_all(struct group *group)
{
	struct rig *rig = group->rig;
	DAT_EVENT event;
	int i;

	for (i = 0; i < ENDS; i++)
		expect_ok(dat_ep_disconnect(group->a[i], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < ENDS; i++) {
		poll_event(rig->a.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		poll_event(rig->b.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	}
	for (i = 0; i < ENDS; i++) {
		expect_ok(dat_ep_reset(group->a[i]));
		expect_ok(dat_ep_reset(group->b[i]));
	}
}

static void who_polls_makes_its_connections(void **state)
{
	uint64_t until = ct_now_us() + CT_US;
	struct rig *rig = *state;
	struct group group;
	bool mine = false;

	find_told_by();
	group_open(&group, rig);
	while (!mine) {
		assert_true(ct_now_us() < until);
		mine = connect_all(&group);
		part_all(&group);
	}
	group_close(&group);
}

/* A wait after polls finds the service thread at its work. */
static void who_stops_polling_is_served(void **state)
{
	struct rig *rig = *state;
	struct group group;
	DAT_EVENT event;
	int i, round;

	group_open(&group, rig);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < ENDS; i++)
			expect_ok(dat_ep_connect(group.a[i], rig->ib.attr.ia_address_ptr, rig->qual,
						 CT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
						 DAT_CONNECT_DEFAULT_FLAG));
		for (i = 0; i < ENDS; i++) {
			expect_ok(dat_cr_accept(rig_take_cr(rig), group.b[i], 0, NULL));
			if (i % 2)
				poll_event(rig->a.connect, DAT_CONNECTION_EVENT_ESTABLISHED,
					   &event);
			else
				ct_next(rig->a.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
			ct_next(rig->b.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		}
		part_all(&group);
	}
	group_close(&group);
}

static atomic_uint called, called_here;
static pthread_t poller;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	if (pthread_equal(pthread_self(), poller))
		atomic_fetch_add(&called_here, 1);
	atomic_fetch_add(&called, 1);
}

/* CNO-19: an agent may take a lock that the polling thread holds. */
static void no_agent_is_called_by_who_polls(void **state)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = { .proxy_agent_func = (DAT_AGENT_FUNC)agent };
	struct rig *rig = *state;
	struct group group;
	DAT_CNO_HANDLE cno;
	unsigned int round;

	poller = pthread_self();
	expect_ok(dat_cno_create(rig->ia.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	expect_ok(dat_evd_modify_cno(rig->a.connect, cno));
	group_open(&group, rig);
	for (round = 1; round <= 50; round++) {
		expect_ok(dat_cno_modify_agent(cno, proxy));
		connect_all(&group);
		part_all(&group);
		ct_await(atomic_load(&called) == round);
	}
	assert_int_equal(atomic_load(&called_here), 0);
	group_close(&group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(who_polls_makes_its_connections),
		RIG_TEST(who_stops_polling_is_served),
		RIG_TEST(no_agent_is_called_by_who_polls),
	};

	rig_main();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
