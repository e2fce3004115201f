/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What fails in an adapter while it is used, on those of the zoo: what the program hears of it, that
 * nothing hangs and that nothing is left. zoo.sh runs it on each kind.
 */
#include "test/conformance/conn_util.h"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "test/zoo/asks.h"

#define IN_TIME 2000000 /* microseconds */

static void async_event(struct cu_rig *rig, DAT_EVENT_NUMBER number, DAT_COUNT reason)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event;

	assert_true(cu_next(rig->async, 2000, &event));
	data = &event.event_data.asynch_error_event_data;
	assert_int_equal(event.event_number, number);
	if (reason >= 0)
		assert_int_equal(data->reason, reason);
}

static void send_one(struct cu_rig *rig, uint64_t cookie)
{
	expect_ok(cu_recv(&rig->p, 0, 64, cookie));
	expect_ok(ct_post_send(&rig->a, 0, 64, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void sent_one(struct cu_rig *rig, uint64_t cookie)
{
	DONE(rig->p.recv, rig->p.ep, cookie, DAT_DTO_RECEIVE, 64);
	DONE(rig->a.request, rig->a.ep, cookie, DAT_DTO_SEND, 64);
}

/* ---- The adapter ---- */

static void a_removed_adapter_ends_everything(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end more = { 0 };
	uint64_t begin;

	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(cu_recv(&rig->p, 0, 64, 2));
	ct_end_open(&more, rig->ia, NULL);
	cu_request(rig, &more);
	begin = ct_now_us();
	set("removed", 0);
	async_event(rig, DAT_ASYNC_ERROR_IA_CATASTROPHIC, DAT_IA_CATASTROPHIC_ERROR);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_BROKEN, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_BROKEN, NULL);
	cu_conn_event(more.connect, more.ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL);
	FLUSHED(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE);
	FLUSHED(rig->p.recv, rig->p.ep, 2, DAT_DTO_RECEIVE);
	ct_end_close(&more);
	cu_rig_close(rig);
	*state = NULL;
	print_message("# %llu us\n", (unsigned long long)(ct_now_us() - begin));
	assert_true(ct_now_us() - begin < IN_TIME);
	assert_int_equal(count("ids") + count("qps") + count("cqs") + count("mrs") + count("pds"),
			 0);
}

static int end_rig(void **state)
{
	return *state ? cu_teardown(state) : 0;
}

static unsigned int descriptors(void)
{
	unsigned int num = 0;

	for (int fd = 0; fd < 1024; fd++)
		num += fcntl(fd, F_GETFD) >= 0;
	return num;
}

/* One message says it, and none what cannot be destroyed any more. */
static int remove_it(void)
{
	unsigned int before;
	void *state;

	cu_setup_ends(&state);
	cu_teardown(&state);
	before = descriptors();
	cu_setup_ends(&state);
	a_removed_adapter_ends_everything(&state);
	return descriptors() > before;
}

static unsigned int occurrences(const char *text, const char *what)
{
	unsigned int num = 0;

	while ((text = strstr(text, what))) {
		num++;
		text += strlen(what);
	}
	return num;
}

static void a_removed_adapter_is_told_of_once(void **state)
{
	const char *const env[] = { "DAT_TRACE_DEST=none", NULL }; /* what it dumps says it again */
	struct harness_result result;

	(void)state;
	harness_spawn("remove", env, &result);
	assert_int_equal(result.status, 0);
	print_message("%s", result.err);
	assert_int_equal(occurrences(result.err, "is gone or failed"), 1);
	assert_null(strstr(result.err, "not destroyed"));
	assert_null(strstr(result.err, "not freed"));
}

/* ---- The port ---- */

static void a_port_that_flaps_keeps_its_connections(void **state)
{
	struct cu_rig *rig = *state;

	cu_establish(rig, &rig->a, &rig->p);
	for (int i = 0; i < 3; i++) {
		set("port_down", 0);
		async_event(rig, DAT_ASYNC_ERROR_IA_CATASTROPHIC, DAT_IA_OTHER_ERROR);
		send_one(rig, 1);
		usleep(20000);
		ct_empty(rig->p.recv);
		set("port_up", 0);
		sent_one(rig, 1);
	}
	cu_end_connection(&rig->a, &rig->p);
}

/* EVT-28: of the adapter's port alone. */
static void events_of_the_port_are_told(void **state)
{
	static const enum ibv_event_type told[] = { IBV_EVENT_LID_CHANGE, IBV_EVENT_PKEY_CHANGE,
						    IBV_EVENT_SM_CHANGE, IBV_EVENT_PORT_ERR };
	static const enum ibv_event_type others[] = { IBV_EVENT_PORT_ACTIVE, IBV_EVENT_GID_CHANGE,
						      IBV_EVENT_CLIENT_REREGISTER };
	const uint32_t second_port = 2 << 8;
	struct cu_rig *rig = *state;

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		set("event", told[i]);
		async_event(rig, DAT_ASYNC_ERROR_IA_CATASTROPHIC, DAT_IA_OTHER_ERROR);
		set("event", told[i] + second_port);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		set("event", others[i]);
	cu_quiet(rig->async, 100);
	set("moved", 0);
	set("event", IBV_EVENT_GID_CHANGE);
	async_event(rig, DAT_ASYNC_ERROR_IA_CATASTROPHIC, DAT_IA_OTHER_ERROR);
	set("stayed", 0);
}

static const char *named(const struct cu_rig *rig, const char *name)
{
	for (DAT_COUNT i = 0; i < rig->prov.num_provider_specific_attr; i++)
		if (!strcmp(rig->prov.provider_specific_attr[i].name, name))
			return rig->prov.provider_specific_attr[i].value;
	return "";
}

/* RoCE has two GIDs for each address, of which rdma_cm takes that of version 2. */
static void the_gid_in_use_is_told(void **state)
{
	struct cu_rig *rig = *state;
	bool roce = *named(rig, "DAT_IB_GID_TYPE");

	assert_string_equal(named(rig, "DAT_IB_GID_TYPE"), roce ? "RoCE v2" : "");
	if (roce) {
		assert_string_equal(named(rig, "DAT_IB_GID"),
				    "0000:0000:0000:0000:0000:ffff:7f00:0001");
		assert_string_equal(named(rig, "DAT_IB_GID_INDEX"), "3");
	}
	print_message("# %s\n", named(rig, "ADDRESS_CHOSEN_BY"));
	assert_non_null(strstr(named(rig, "ADDRESS_CHOSEN_BY"), "port 1"));
}

static void a_bond_that_fails_over_is_told(void **state)
{
	struct cu_rig *rig = *state;

	cu_establish(rig, &rig->a, &rig->p);
	set("addr_change", 0);
	cu_quiet(rig->a.connect, 50);
	send_one(rig, 1);
	sent_one(rig, 1);
}

/* ---- Queues ---- */

static void a_failed_qp_breaks_its_connection(void **state)
{
	struct cu_rig *rig = *state;
	int broken;

	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	set("qp_error", 0);
	/* With iWARP the connection ends with the first of them. */
	broken = (cu_conn_ended(rig->a.connect, rig->a.ep) == DAT_CONNECTION_EVENT_BROKEN) +
		 (cu_conn_ended(rig->p.connect, rig->p.ep) == DAT_CONNECTION_EVENT_BROKEN);
	assert_int_equal(broken, ct_receives_first(&rig->attr, &rig->prov) ? 1 : 2);
	FLUSHED(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE);
	async_event(rig, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_TRANSFER_TO_ERROR);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	ct_drain(rig->async);
	cu_establish(rig, &rig->a, &rig->p);
	send_one(rig, 3);
	sent_one(rig, 3);
}

/* EVD-94, EVD-95: at once, since the device gives nothing back any more. */
static void a_failed_cq_is_told_of(void **state)
{
	struct cu_rig *rig = *state;
	uint64_t begin;

	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(cu_recv(&rig->p, 0, 64, 2));
	begin = ct_now_us();
	set("cq_error", 0);
	async_event(rig, DAT_ASYNC_ERROR_EVD_OVERFLOW, -1);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_BROKEN, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_BROKEN, NULL);
	FLUSHED(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE);
	FLUSHED(rig->p.recv, rig->p.ep, 2, DAT_DTO_RECEIVE);
	print_message("# %llu us\n", (unsigned long long)(ct_now_us() - begin));
	assert_true(ct_now_us() - begin < IN_TIME);
}

/* ---- Slow commands ---- */

struct maker {
	struct cu_rig *rig;
	pthread_t thread;
	_Atomic bool stop;
	unsigned int made;
};

static void *make_endpoints(void *arg)
{
	struct maker *maker = arg;
	struct ct_end end = { 0 };

	while (!atomic_load(&maker->stop)) {
		ct_end_open(&end, maker->rig->ia, NULL);
		ct_end_close(&end);
		maker->made++;
	}
	return NULL;
}

/* Another thread makes and frees endpoints meanwhile. */
static void a_slow_command_holds_up_no_transfer(void **state)
{
	struct cu_rig *rig = *state;
	struct maker maker = { .rig = rig };
	uint64_t begin, longest = 0;

	cu_establish(rig, &rig->a, &rig->p);
	set("command_us", 200000);
	assert_int_equal(pthread_create(&maker.thread, NULL, make_endpoints, &maker), 0);
	for (int i = 0; i < 200; i++) {
		begin = ct_now_us();
		send_one(rig, 5);
		sent_one(rig, 5);
		if (ct_now_us() - begin > longest)
			longest = ct_now_us() - begin;
		usleep(5000);
	}
	atomic_store(&maker.stop, true);
	pthread_join(maker.thread, NULL);
	set("command_us", 0);
	print_message("# longest round %llu us beside %u endpoints\n", (unsigned long long)longest,
		      maker.made);
	assert_true(longest < 150000);
	assert_true(maker.made > 0);
}

static void slow_commands_end_in_time(void **state)
{
	struct cu_rig *rig = *state;
	uint64_t begin;

	set("command_us", 200000);
	begin = ct_now_us();
	cu_establish(rig, &rig->a, &rig->p);
	print_message("# connected in %llu us\n", (unsigned long long)(ct_now_us() - begin));
	assert_true(ct_now_us() - begin < 3 * IN_TIME);
	send_one(rig, 1);
	sent_one(rig, 1);
	begin = ct_now_us();
	cu_end_connection(&rig->a, &rig->p);
	print_message("# ended in %llu us\n", (unsigned long long)(ct_now_us() - begin));
	assert_true(ct_now_us() - begin < IN_TIME);
	set("command_us", 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, end_rig)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "remove", remove_it }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(a_port_that_flaps_keeps_its_connections),
		T(events_of_the_port_are_told),
		T(the_gid_in_use_is_told),
		T(a_bond_that_fails_over_is_told),
		T(a_failed_qp_breaks_its_connection),
		T(a_failed_cq_is_told_of),
		T(a_slow_command_holds_up_no_transfer),
		T(slow_commands_end_in_time),
		cmocka_unit_test(a_removed_adapter_is_told_of_once),
	};

	harness_child_main(argc, argv, children);

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
