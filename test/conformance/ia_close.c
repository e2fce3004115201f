/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Closing adapters: IA-82 to IA-92. */
#include "objects.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static void gone(struct ct_ia *ia)
{
	expect_handle(dat_ia_close(ia->ia, DAT_CLOSE_ABRUPT_FLAG), IA);
	expect_handle(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG), IA);
	expect_handle(dat_ia_query(ia->ia, NULL, 0, NULL, 0, NULL), IA);
	ia->ia = DAT_HANDLE_NULL;
}

static void close_with(struct ct_ia *ia, DAT_CLOSE_FLAGS flags)
{
	expect_ok(dat_ia_close(ia->ia, flags));
	gone(ia);
}

static void ia_82_other_flags_are_refused(void **state)
{
	static const int flags[] = { 2, 3, 4, 0x10, -1, 0x7fffffff };
	struct ct_ia *ia = *state;

	for (int i = 0; i < 6; i++)
		expect_arg(dat_ia_close(ia->ia, (DAT_CLOSE_FLAGS)flags[i]), 2);
	expect_ok(dat_ia_query(ia->ia, NULL, 0, NULL, 0, NULL));
	assert_int_equal(DAT_CLOSE_DEFAULT, DAT_CLOSE_ABRUPT_FLAG);
}

static void ia_90_a_closed_handle_is_invalid(void **state)
{
	close_with(*state, DAT_CLOSE_GRACEFUL_FLAG);
}

static void ia_90_a_closed_handle_is_invalid_after_an_abrupt_close(void **state)
{
	close_with(*state, DAT_CLOSE_ABRUPT_FLAG);
}

static void still_usable(const struct ct_object *object)
{
	DAT_HANDLE_TYPE type;

	expect_ok(dat_get_handle_type(object->handle, &type));
	assert_int_equal(type, object->kind->type);
}

static void ia_t2_any_object_left_refuses_a_graceful_close(void **state)
{
	struct ct_object object;
	struct ct_ia ia;

	(void)state;
	for (const struct ct_kind *kind = ct_kinds; kind->name != NULL; kind++) {
		ct_open(&ia);
		if (ct_object_make(&object, kind, &ia)) {
			expect_state(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
			still_usable(&object);
			expect_state(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
			ct_object_cleanup(&object);
		}
		close_with(&ia, DAT_CLOSE_GRACEFUL_FLAG);
	}
}

static void ia_83_a_request_alone_counts(void **state)
{
	struct ct_object object;
	struct ct_ia ia;

	(void)state;
	for (const struct ct_kind *kind = ct_kinds; kind->name != NULL; kind++) {
		if (kind->type != DAT_HANDLE_TYPE_CR)
			continue;
		/* Service point and dispatcher of this kind are gone already. */
		ct_open(&ia);
		assert_true(ct_object_make(&object, kind, &ia));
		expect_state(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
		ct_object_destroy(&object);
		close_with(&ia, DAT_CLOSE_GRACEFUL_FLAG);
		ct_object_cleanup(&object);
	}
}

static void ia_84_an_abrupt_close_takes_everything(void **state)
{
	struct ct_object objects[16];
	struct ct_end a = { 0 }, p = { 0 };
	struct ct_ia *ia = *state;
	DAT_HANDLE_TYPE type;
	int n = 0;

	for (const struct ct_kind *kind = ct_kinds; kind->name != NULL; kind++) {
		if (ct_object_make(&objects[n], kind, ia))
			n++;
	}
	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	expect_ok(ct_post_recv(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	close_with(ia, DAT_CLOSE_ABRUPT_FLAG);
	for (int i = 0; i < n; i++) {
		expect(dat_get_handle_type(objects[i].handle, &type), DAT_INVALID_HANDLE,
		       DAT_INVALID_HANDLE1);
		/* The one who made the connection request has an adapter of its own. */
		if (objects[i].peer_ia.ia != DAT_HANDLE_NULL)
			ct_close(&objects[i].peer_ia);
	}
	expect_handle(dat_ep_free(a.ep), EP);
	expect_handle(dat_evd_free(a.recv), EVD_REQUEST);
	expect_handle(dat_pz_free(a.pz), PZ);
}

/* EVD-89 */
static void ia_85_a_dispatcher_passed_in_survives(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE own = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_ASYNC_FLAG);
	DAT_EVD_HANDLE async = own;
	DAT_IA_HANDLE other;

	expect_ok(dat_ia_open(harness_ia_name(), 8, &async, &other));
	expect_state(dat_evd_free(own), EVD_IN_USE);
	expect_ok(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG));
	ct_empty(own);
	/* IA-86: it is an object of the instance that made it. */
	expect_state(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	expect_ok(dat_evd_free(own));
	close_with(ia, DAT_CLOSE_GRACEFUL_FLAG);
}

static void ia_86_an_async_dispatcher_of_the_instance_goes_with_it(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE own = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_ASYNC_FLAG);

	close_with(ia, DAT_CLOSE_ABRUPT_FLAG);
	expect_handle(dat_evd_free(own), EVD_REQUEST);
}

/* ---- IA-87: who waits is released ---- */

static void ia_87_waiters_on_dispatchers_return_abort(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_waiter *waiters[3];

	waiters[0] = ct_evd_waiter(ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG),
				   DAT_TIMEOUT_INFINITE, 1);
	waiters[1] =
		ct_evd_waiter(ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG), CT_US * 6, 4);
	waiters[2] = ct_evd_waiter(ia->async, DAT_TIMEOUT_INFINITE, 1);
	close_with(ia, DAT_CLOSE_ABRUPT_FLAG);
	for (int i = 0; i < 3; i++) {
		ct_waiter_join(waiters[i]);
		expect_type(waiters[i]->rc, DAT_ABORT);
	}
}

/* CNO-32 */
static void ia_87_waiters_on_notification_objects_get_no_dispatcher(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE with = ct_cno(ia->ia), without = ct_cno(ia->ia);
	struct ct_waiter *waiters[3];

	ct_evd(ia->ia, 8, with, DAT_EVD_SOFTWARE_FLAG);
	waiters[0] = ct_cno_waiter(with, DAT_TIMEOUT_INFINITE);
	waiters[1] = ct_cno_waiter(with, DAT_TIMEOUT_INFINITE);
	waiters[2] = ct_cno_waiter(without, DAT_TIMEOUT_INFINITE);
	close_with(ia, DAT_CLOSE_ABRUPT_FLAG);
	for (int i = 0; i < 3; i++) {
		ct_waiter_join(waiters[i]);
		expect_ok(waiters[i]->rc);
		assert_null(waiters[i]->hint);
	}
}

static atomic_int agent_calls;
static _Atomic(DAT_EVD_HANDLE) agent_evd;

static void note_call(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	atomic_store(&agent_evd, evd);
	atomic_fetch_add((atomic_int *)data, 1);
}

/* CNO-32 */
static void ia_87_each_agent_runs_once_without_a_dispatcher(void **state)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = &agent_calls,
					  .proxy_agent_func = note_call };
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno;

	atomic_store(&agent_calls, 0);
	for (int i = 0; i < 3; i++)
		expect_ok(dat_cno_create(ia->ia, agent, &cno));
	ct_evd(ia->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG);
	atomic_store(&agent_evd, (DAT_EVD_HANDLE)&agent_calls);
	close_with(ia, DAT_CLOSE_ABRUPT_FLAG);
	assert_int_equal(atomic_load(&agent_calls), 3);
	assert_null(atomic_load(&agent_evd));
}

/* ---- IA-88: what the peer sees ---- */

static void ia_88_connected_peers_see_a_disconnect(void **state)
{
	struct ct_end a = { 0 }, p = { 0 };
	struct ct_ia *ia = *state;
	struct ct_ia other;
	DAT_EVENT event;

	ct_open(&other);
	ct_end_open(&a, other.ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	close_with(ia, DAT_CLOSE_ABRUPT_FLAG);
	ct_next(a.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, a.ep);
	ct_end_close(&a);
	ct_close(&other);
}

static void ia_88_pending_requests_are_refused_as_by_nobody(void **state)
{
	DAT_EVD_HANDLE evd;
	struct ct_end a = { 0 };
	struct ct_ia *ia = *state;
	struct ct_ia other;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	ct_open(&other);
	ct_end_open(&a, other.ia, NULL);
	evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	expect_ok(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(dat_ep_connect(a.ep, ia->attr.ia_address_ptr, qual, DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	close_with(ia, DAT_CLOSE_ABRUPT_FLAG);
	ct_next(a.connect, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, &event);
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, a.ep);
	ct_end_close(&a);
	ct_close(&other);
}

/* ---- IA-89: nothing is left behind ---- */

static unsigned int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void use_and_close(void)
{
	struct ct_end a = { 0 }, p = { 0 };
	struct ct_object cr;
	struct ct_ia ia;

	ct_open(&ia);
	ct_end_open(&a, ia.ia, NULL);
	ct_end_open(&p, ia.ia, NULL);
	ct_end_connect(&a, &p);
	ct_evd(ia.ia, 16, ct_cno(ia.ia), DAT_EVD_SOFTWARE_FLAG);
	expect_ok(ct_post_se(ct_evd(ia.ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG), 1));
	for (const struct ct_kind *kind = ct_kinds; kind->name != NULL; kind++) {
		if (kind->type == DAT_HANDLE_TYPE_CR)
			assert_true(ct_object_make(&cr, kind, &ia));
	}
	ct_close(&ia);
	ct_close(&cr.peer_ia);
	/* What the provider does not own. */
	a.mem.lmr = p.mem.lmr = cr.peer.mem.lmr = DAT_HANDLE_NULL;
	ct_mem_close(&a.mem);
	ct_mem_close(&p.mem);
	ct_mem_close(&cr.peer.mem);
}

static void ia_89_no_descriptor_and_no_thread_is_left(void **state)
{
	unsigned int fds, threads;

	(void)state;
	use_and_close();
	fds = count_entries("/proc/self/fd");
	threads = count_entries("/proc/self/task");
	for (int i = 0; i < 20; i++)
		use_and_close();
	ct_await(count_entries("/proc/self/fd") <= fds);
	ct_await(count_entries("/proc/self/task") <= threads);
}

/* Private memory in KiB, but for clean pages: others may have had them, too, and be gone. */
static size_t private_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	size_t sum = 0, kib;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "Private_Dirty: %zu", &kib) == 1)
			sum += kib;
	}
	fclose(file);
	return sum;
}

static void ia_89_memory_does_not_grow(void **state)
{
	size_t before, after;

	(void)state;
	if (harness_sanitized())
		harness_skip("sanitizers keep freed memory");
	for (int i = 0; i < 20; i++)
		use_and_close();
	before = private_kib();
	for (int i = 0; i < 100; i++)
		use_and_close();
	after = private_kib();
	/* 10 KiB a round would be a leak; the allocator keeps some. */
	if (after > before + 1000)
		fail_msg("%zu KiB before, %zu KiB after 100 rounds", before, after);
}

/* EVD-89 */
static void ia_92_the_dispatcher_of_the_open_cannot_be_freed(void **state)
{
	struct ct_ia *ia = *state;

	expect_state(dat_evd_free(ia->async), EVD_IN_USE);
	ct_empty(ia->async);
}

/* ---- Beside others that free ---- */

enum {
	OWNED = 24
};

struct owner {
	struct ct_ia ia;
	DAT_EP_HANDLE ep[OWNED];
	DAT_EVD_HANDLE evd[OWNED];
	DAT_CNO_HANDLE cno[OWNED];
	atomic_uint ready, wrong;
	atomic_bool go;
};

struct freer {
	struct owner *owner;
	bool backwards;
};

/* Who frees an object, or finds that it is gone, or still in use. */
static void freed(struct owner *o, DAT_RETURN rc)
{
	DAT_RETURN type = DAT_GET_TYPE(rc);

	if (type != DAT_SUCCESS && type != DAT_INVALID_HANDLE && type != DAT_INVALID_STATE)
		atomic_store(&o->wrong, rc);
}

static void *free_all(void *arg)
{
	const struct freer *f = arg;
	struct owner *o = f->owner;

	atomic_fetch_add(&o->ready, 1);
	while (!atomic_load(&o->go))
		sched_yield();
	for (unsigned int i = 0; i < OWNED; i++) {
		unsigned int k = f->backwards ? OWNED - 1 - i : i;

		freed(o, dat_ep_free(o->ep[k]));
		freed(o, dat_evd_free(o->evd[k]));
	}
	for (unsigned int i = 0; i < OWNED; i++)
		freed(o, dat_cno_free(o->cno[i]));
	return NULL;
}

static void ia_84_an_adapter_is_closed_while_its_objects_are_freed(void **state)
{
	static struct owner o;
	struct freer freers[] = { { &o, false }, { &o, true } };
	pthread_t thread[2];

	(void)state;
	for (unsigned int i = 0; i < harness_rounds(100); i++) {
		ct_open(&o.ia);
		for (unsigned int k = 0; k < OWNED; k++) {
			o.cno[k] = ct_cno(o.ia.ia);
			o.evd[k] = ct_evd(o.ia.ia, 8, DAT_HANDLE_NULL,
					  DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
			expect_ok(dat_ep_create(o.ia.ia, DAT_HANDLE_NULL, o.evd[k], o.evd[k],
						o.evd[k], NULL, &o.ep[k]));
		}
		atomic_store(&o.ready, 0);
		atomic_store(&o.go, false);
		for (unsigned int k = 0; k < 2; k++)
			assert_int_equal(pthread_create(&thread[k], NULL, free_all, &freers[k]), 0);
		ct_await(atomic_load(&o.ready) == 2);
		atomic_store(&o.go, true);
		ct_close(&o.ia);
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
	}
	assert_int_equal(atomic_load(&o.wrong), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ia_82_other_flags_are_refused),
		T(ia_90_a_closed_handle_is_invalid),
		T(ia_90_a_closed_handle_is_invalid_after_an_abrupt_close),
		T(ia_t2_any_object_left_refuses_a_graceful_close),
		T(ia_83_a_request_alone_counts),
		T(ia_84_an_abrupt_close_takes_everything),
		cmocka_unit_test(ia_84_an_adapter_is_closed_while_its_objects_are_freed),
		T(ia_85_a_dispatcher_passed_in_survives),
		T(ia_86_an_async_dispatcher_of_the_instance_goes_with_it),
		T(ia_87_waiters_on_dispatchers_return_abort),
		T(ia_87_waiters_on_notification_objects_get_no_dispatcher),
		T(ia_87_each_agent_runs_once_without_a_dispatcher),
		T(ia_88_connected_peers_see_a_disconnect),
		T(ia_88_pending_requests_are_refused_as_by_nobody),
		T(ia_89_no_descriptor_and_no_thread_is_left),
		T(ia_89_memory_does_not_grow),
		T(ia_92_the_dispatcher_of_the_open_cannot_be_freed),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
