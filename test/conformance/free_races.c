/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects that are freed while other threads are about to call, or in the middle of a call: each
 * call is carried out or finds the handle invalid, and nothing that is left is touched (EVD-87,
 * EVD-88, EVD-90, IA-10, CNO-32, SRQ-7).
 */
#include "srq_util.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "trace/exports.h"

enum {
	CALLERS = 3
};

static unsigned int rounds; /* objects of each test */

struct race {
	struct cu_rig *rig;
	DAT_CNO_HANDLE cno;
	DAT_PZ_HANDLE pz;
	void (*call)(struct race *race, DAT_HANDLE handle, unsigned int i);
	_Atomic(DAT_HANDLE) handle; /* of the object that lives now */
	atomic_uint calls, wrong;
	_Atomic(DAT_RETURN) wrong_rc;
	atomic_int stop;
	pthread_t thread[CALLERS];
	unsigned int running;
};

static struct race race;

static void *call_often(void *arg)
{
	struct race *r = arg;

	for (unsigned int i = 0; !atomic_load(&r->stop); i++) {
		DAT_HANDLE handle = atomic_load(&r->handle);

		if (handle != DAT_HANDLE_NULL)
			r->call(r, handle, i);
		atomic_fetch_add(&r->calls, 1);
	}
	return NULL;
}

static struct race *begin(struct cu_rig *rig,
			  void (*call)(struct race *race, DAT_HANDLE handle, unsigned int i))
{
	struct race *r = &race;

	memset(r, 0, sizeof(*r));
	r->rig = rig;
	r->call = call;
	r->cno = ct_cno(rig->ia);
	r->pz = ct_pz(rig->ia);
	while (r->running < CALLERS) {
		assert_int_equal(pthread_create(&r->thread[r->running], NULL, call_often, r), 0);
		r->running++;
	}
	return r;
}

/* The callers know this one, and call about it for a while. */
static void let_call(struct race *r, DAT_HANDLE handle)
{
	unsigned int enough = atomic_load(&r->calls) + 4 * CALLERS;
	uint64_t deadline = ct_now_us() + CT_US;

	atomic_store(&r->handle, handle);
	while (atomic_load(&r->calls) - enough > UINT32_MAX / 2) {
		assert_true(ct_now_us() < deadline);
		sched_yield();
	}
}

static void stop(struct race *r)
{
	atomic_store(&r->stop, 1);
	while (r->running)
		pthread_join(r->thread[--r->running], NULL);
}

static void finish(struct race *r)
{
	stop(r);
	if (atomic_load(&r->wrong))
		fail_msg("%u wrong returns, the last %s", atomic_load(&r->wrong),
			 ct_rc_name(atomic_load(&r->wrong_rc)));
}

/* What a call may say that comes before, during or after the end of its object. */
static void seen(struct race *r, DAT_RETURN rc)
{
	switch (DAT_GET_TYPE(rc)) {
	case DAT_SUCCESS:
	case DAT_INVALID_HANDLE:
	case DAT_INVALID_STATE:
	case DAT_QUEUE_EMPTY:
	case DAT_QUEUE_FULL:
	case DAT_TIMEOUT_EXPIRED:
	case DAT_ABORT:
	case DAT_INSUFFICIENT_RESOURCES:
	case DAT_MODEL_NOT_SUPPORTED: /* to extend a queue (GEN-10) */
		return;
	default:
		atomic_store(&r->wrong_rc, rc);
		atomic_fetch_add(&r->wrong, 1);
	}
}

/* ---- Dispatchers ---- */

static void call_evd(struct race *r, DAT_HANDLE evd, unsigned int i)
{
	DAT_EVD_PARAM param;
	DAT_COUNT more;
	DAT_EVENT event;

	switch (i % 10) {
	case 0:
		seen(r, dat_evd_resize(evd, (DAT_COUNT)(8 + i % 64)));
		break;
	case 1:
		seen(r, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		break;
	case 2:
		seen(r, dat_evd_modify_cno(evd, i % 20 < 10 ? r->cno : DAT_HANDLE_NULL));
		break;
	case 3:
		seen(r, dat_evd_disable(evd));
		break;
	case 4:
		seen(r, dat_evd_enable(evd));
		break;
	case 5:
		seen(r, dat_evd_set_unwaitable(evd));
		break;
	case 6:
		seen(r, dat_evd_clear_unwaitable(evd));
		break;
	case 7:
		seen(r, dat_evd_wait(evd, i % 3 ? 0 : 50, 1, &event, &more));
		break;
	case 8:
		seen(r, dat_evd_dequeue(evd, &event));
		break;
	default:
		seen(r, ct_post_se(evd, i));
	}
}

static void post_and_take(struct race *r, DAT_HANDLE evd, unsigned int i)
{
	DAT_EVENT event;

	seen(r, i % 4 ? ct_post_se(evd, i) : dat_evd_dequeue(evd, &event));
}

static void free_dispatchers(struct cu_rig *rig, DAT_EVD_FLAGS flags,
			     void (*call)(struct race *race, DAT_HANDLE handle, unsigned int i))
{
	struct race *r = begin(rig, call);

	for (unsigned int i = 0; i < rounds; i++) {
		DAT_EVD_HANDLE evd = ct_evd(rig->ia, 16, DAT_HANDLE_NULL, flags);

		let_call(r, evd);
		expect_ok(dat_evd_free(evd));
	}
	finish(r);
	expect_ok(dat_cno_free(r->cno));
}

static void evd_87_posting_to_a_dispatcher_that_is_freed(void **state)
{
	free_dispatchers(*state, DAT_EVD_SOFTWARE_FLAG, post_and_take);
}

static void evd_87_any_call_on_a_dispatcher_that_is_freed(void **state)
{
	free_dispatchers(*state, DAT_EVD_SOFTWARE_FLAG, call_evd);
}

static void evd_87_any_call_on_a_dispatcher_of_completions(void **state)
{
	free_dispatchers(*state, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, call_evd);
}

/* What refers to a dispatcher keeps it: a free that comes now is refused. */
static void seen_in_use(struct race *r, DAT_HANDLE evd)
{
	DAT_RETURN rc = dat_evd_free(evd);

	if (DAT_GET_TYPE(rc) == DAT_INVALID_STATE)
		return;
	atomic_store(&r->wrong_rc, rc);
	atomic_fetch_add(&r->wrong, 1);
}

static void refer_to(struct race *r, DAT_HANDLE evd, unsigned int i)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_RETURN rc;

	if (i % 2) {
		rc = dat_ep_create(r->rig->ia, r->pz, evd, evd, evd, NULL, &ep);
		if (!rc) {
			seen_in_use(r, evd);
			rc = dat_ep_free(ep);
		}
	} else {
		rc = dat_psp_create_any(r->rig->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp);
		if (!rc) {
			seen_in_use(r, evd);
			rc = dat_psp_free(psp);
		}
	}
	seen(r, rc);
}

static void evd_88_a_dispatcher_is_freed_or_in_use(void **state)
{
	struct race *r = begin(*state, refer_to);
	DAT_RETURN rc = DAT_SUCCESS;

	for (unsigned int i = 0; i < rounds; i++) {
		DAT_EVD_HANDLE evd =
			ct_evd(r->rig->ia, 64, DAT_HANDLE_NULL,
			       DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG);

		let_call(r, evd);
		atomic_store(&r->handle, DAT_HANDLE_NULL);
		ct_await(DAT_GET_TYPE(rc = dat_evd_free(evd)) != DAT_INVALID_STATE);
		expect_ok(rc);
	}
	finish(r);
}

/* ---- Dispatchers that go with their adapter ---- */

struct borrower {
	struct ct_ia lender, own;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_IA_HANDLE ia;
	atomic_bool ready, go;
	unsigned int delay; /* microseconds */
	DAT_RETURN rc;
};

static void delay(struct borrower *b)
{
	uint64_t until = ct_now_us() + CT_US;

	atomic_store(&b->ready, true);
	while (!atomic_load(&b->go) && ct_now_us() < until)
		;
	until = ct_now_us() + b->delay;
	while (ct_now_us() < until)
		;
}

static void *open_with_it(void *arg)
{
	struct borrower *b = arg;
	DAT_EVD_HANDLE evd = b->evd;

	delay(b);
	b->rc = dat_ia_open(harness_ia_name(), 8, &evd, &b->ia);
	return NULL;
}

static void *connect_to_it(void *arg)
{
	struct borrower *b = arg;

	delay(b);
	b->rc = dat_ep_create(b->own.ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, b->evd,
			      NULL, &b->ep);
	return NULL;
}

/* Closes the adapter of evd while borrow takes it; true: borrow did. */
static bool close_lender(struct borrower *b, void *(*borrow)(void *), unsigned int i)
{
	pthread_t thread;

	atomic_store(&b->ready, false);
	atomic_store(&b->go, false);
	b->delay = i % 50 * 4;
	assert_int_equal(pthread_create(&thread, NULL, borrow, b), 0);
	ct_await(atomic_load(&b->ready));
	atomic_store(&b->go, true);
	ct_close(&b->lender);
	pthread_join(thread, NULL);
	if (b->rc)
		expect_type(b->rc, DAT_INVALID_HANDLE);
	return !b->rc;
}

static void ia_10_an_async_dispatcher_goes_while_it_is_passed(void **state)
{
	static struct borrower b;
	DAT_EVD_HANDLE evd;
	DAT_IA_ATTR attr;

	(void)state;
	for (unsigned int i = 0; i < rounds; i++) {
		ct_open(&b.lender);
		b.evd = ct_evd(b.lender.ia, 8, DAT_HANDLE_NULL, DAT_EVD_ASYNC_FLAG);
		if (!close_lender(&b, open_with_it, i))
			continue;
		expect_ok(dat_ia_query(b.ia, &evd, DAT_IA_FIELD_ALL, &attr, 0, NULL));
		assert_ptr_not_equal(evd, b.evd);
		expect_ok(dat_ia_close(b.ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
}

static void ia_10_a_connect_dispatcher_goes_while_it_is_passed(void **state)
{
	static struct borrower b;
	DAT_EP_PARAM param;

	(void)state;
	if (harness_strict())
		harness_skip("strict mode refuses it");
	ct_open(&b.own);
	for (unsigned int i = 0; i < rounds; i++) {
		ct_open(&b.lender);
		b.evd = ct_evd(b.lender.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG);
		if (!close_lender(&b, connect_to_it, i))
			continue;
		expect_ok(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &param));
		assert_null(param.connect_evd_handle);
		expect_ok(dat_ep_free(b.ep));
	}
	ct_close(&b.own);
}

/* ---- Notification objects ---- */

static void call_cno(struct race *r, DAT_HANDLE cno, unsigned int i)
{
	DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_CNO_PARAM param;
	DAT_EVD_HANDLE evd;

	switch (i % 6) {
	case 0:
		seen(r, dat_cno_trigger(cno, &evd));
		break;
	case 1:
		seen(r, dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
		break;
	case 2:
		seen(r, dat_cno_modify_agent(cno, none));
		break;
	case 3:
		seen(r, dat_cno_wait(cno, i % 3 ? 0 : 50, &evd));
		break;
	case 4:
		if (dat_evd_create(r->rig->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd))
			break;
		seen(r, ct_post_se(evd, i));
		seen(r, dat_evd_free(evd));
		break;
	default:
		if (dat_evd_create(r->rig->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd))
			break;
		seen(r, dat_evd_modify_cno(evd, cno));
		seen(r, dat_evd_free(evd));
	}
}

static void cno_32_any_call_on_a_cno_that_is_freed(void **state)
{
	struct race *r = begin(*state, call_cno);
	DAT_RETURN rc = DAT_SUCCESS;

	for (unsigned int i = 0; i < rounds; i++) {
		DAT_CNO_HANDLE cno = ct_cno(r->rig->ia);

		let_call(r, cno);
		/* In use while somebody waits or a dispatcher triggers it. */
		atomic_store(&r->handle, DAT_HANDLE_NULL);
		ct_await(DAT_GET_TYPE(rc = dat_cno_free(cno)) != DAT_INVALID_STATE);
		expect_ok(rc);
	}
	finish(r);
}

/* ---- Shared receive queues ---- */

static void call_srq(struct race *r, DAT_HANDLE srq, unsigned int i)
{
	DAT_SRQ_PARAM param;

	switch (i % 4) {
	case 0:
		seen(r, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
		break;
	case 1:
		seen(r, dat_srq_resize(srq, (DAT_COUNT)(16 + i % 64)));
		break;
	default:
		seen(r, dat_srq_post_recv(srq, 0, NULL, cu_cookie(i)));
	}
}

static void srq_7_any_call_on_a_queue_that_is_freed(void **state)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16,
			      .max_recv_iov = 2,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	struct cu_rig *rig = *state;
	struct race *r;

	su_need(rig);
	r = begin(rig, call_srq);
	for (unsigned int i = 0; i < rounds; i++) {
		DAT_SRQ_HANDLE srq;

		expect_ok(dat_srq_create(rig->ia, r->pz, &attr, &srq));
		let_call(r, srq);
		expect_ok(dat_srq_free(srq));
	}
	finish(r);
}

static void list_objects(struct race *r, DAT_HANDLE handle, unsigned int i)
{
	FILE *out = fopen("/dev/null", "w");

	assert_non_null(out);
	dats_control_run("objects", out);
	fclose(out);
}

/* What is asked from outside (dat-info --pid) is no danger to a program. */
static void ia_89_endpoints_are_listed_while_they_are_freed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end end = { 0 };
	struct race *r = begin(rig, list_objects);

	ct_end_open(&end, rig->ia, NULL);
	for (unsigned int i = 0; i < rounds; i++) {
		DAT_EP_HANDLE ep;

		expect_ok(dat_ep_create(rig->ia, end.pz, end.recv, end.request, end.connect, NULL,
					&ep));
		let_call(r, ep);
		expect_ok(dat_ep_free(ep));
	}
	finish(r);
	ct_end_close(&end);
}

struct vain {
	DAT_IA_HANDLE ia;
	DAT_CNO_HANDLE cno;
	pthread_t thread;
	atomic_bool begun, over;
};

/* CNO-31: also while a create that fails has the object in hand. */
static void *create_in_vain(void *arg)
{
	struct vain *vain = arg;
	DAT_EVD_HANDLE evd;

	while (!atomic_load(&vain->over)) {
		dat_evd_create(vain->ia, 0, vain->cno, DAT_EVD_SOFTWARE_FLAG, &evd);
		atomic_store(&vain->begun, true);
	}
	return NULL;
}

static void begin_in_vain(struct vain *vain)
{
	atomic_store(&vain->begun, false);
	atomic_store(&vain->over, false);
	assert_int_equal(pthread_create(&vain->thread, NULL, create_in_vain, vain), 0);
	ct_await(atomic_load(&vain->begun));
}

static void end_in_vain(struct vain *vain)
{
	atomic_store(&vain->over, true);
	pthread_join(vain->thread, NULL);
}

static void cno_31_the_last_is_freed_beside_a_create_that_fails(void **state)
{
	struct cu_rig *rig = *state;
	struct vain vain = { .ia = rig->ia, .cno = ct_cno(rig->ia) };
	struct ct_waiter *waiter;
	DAT_EVD_HANDLE evd;

	for (unsigned int i = 0; i < rounds / 4; i++) {
		expect_ok(dat_evd_create(rig->ia, 1, vain.cno, DAT_EVD_SOFTWARE_FLAG, &evd));
		/* It sleeps until it is woken, and not until a create lets it in. */
		waiter = ct_cno_waiter(vain.cno, DAT_TIMEOUT_INFINITE);
		begin_in_vain(&vain);
		expect_ok(dat_evd_free(evd));
		end_in_vain(&vain);
		ct_waiter_join(waiter);
		expect_ok(waiter->rc);
		assert_null(waiter->hint);
	}
	expect_ok(dat_cno_free(vain.cno));
}

/* A test that failed midway has left its threads behind. */
static int teardown(void **state)
{
	stop(&race);
	return cu_teardown(state);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(evd_87_posting_to_a_dispatcher_that_is_freed),
		T(evd_87_any_call_on_a_dispatcher_that_is_freed),
		T(evd_87_any_call_on_a_dispatcher_of_completions),
		T(evd_88_a_dispatcher_is_freed_or_in_use),
		cmocka_unit_test(ia_10_an_async_dispatcher_goes_while_it_is_passed),
		cmocka_unit_test(ia_10_a_connect_dispatcher_goes_while_it_is_passed),
		T(cno_32_any_call_on_a_cno_that_is_freed),
		T(cno_31_the_last_is_freed_beside_a_create_that_fails),
		T(srq_7_any_call_on_a_queue_that_is_freed),
		T(ia_89_endpoints_are_listed_while_they_are_freed),
	};

	rounds = harness_rounds(200);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
