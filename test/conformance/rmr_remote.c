/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remote memory regions as the peer sees them: whom a context lets in, to what, and how long. */
#include "bind_util.h"

#include <pthread.h>

#define WINDOW 4096 /* where the bound range lies in p's memory, and its length */
#define LENGTH 1024

/* ---- What a peer may do ------------------------------------------------ */

static DAT_RETURN post_write(struct ct_end *end, DAT_RMR_TRIPLET to, uint64_t cookie)
{
	DAT_LMR_TRIPLET from = ct_segment(&end->mem, 0, to.segment_length);

	return dat_ep_post_rdma_write(end->ep, 1, &from, cu_cookie(cookie), &to,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_read(struct ct_end *end, DAT_RMR_TRIPLET from, uint64_t cookie)
{
	DAT_LMR_TRIPLET to = ct_segment(&end->mem, 0, from.segment_length);

	return dat_ep_post_rdma_read(end->ep, 1, &to, cu_cookie(cookie), &from,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/* The read gets what lies at that place of the peer's memory. */
static void readable(struct ct_end *a, DAT_RMR_TRIPLET from, const struct ct_mem *mem,
		     size_t offset)
{
	cu_fill(mem->base + offset, from.segment_length, 5);
	cu_set(a->mem.base, 0, from.segment_length);
	expect_ok(post_read(a, from, 0x4ead));
	DONE(a->request, a->ep, 0x4ead, DAT_DTO_RDMA_READ, from.segment_length);
	FILLED(a->mem.base, from.segment_length, 5);
}

/* The write arrives there, and before an answer to a later read. */
static void writable(struct ct_end *a, DAT_RMR_TRIPLET to, const struct ct_mem *mem, size_t offset)
{
	DAT_RMR_TRIPLET probe = bu_target((DAT_VADDR)(uintptr_t)mem->base, 1, mem->rmr_context);

	cu_set(mem->base + offset, 0, to.segment_length);
	cu_fill(a->mem.base, to.segment_length, 6);
	expect_ok(post_write(a, to, 0x3417e));
	DONE(a->request, a->ep, 0x3417e, DAT_DTO_RDMA_WRITE, to.segment_length);
	expect_ok(post_read(a, probe, 0x940be)); /* DTO-68 */
	DONE(a->request, a->ep, 0x940be, DAT_DTO_RDMA_READ, 1);
	cu_fill(a->mem.base, to.segment_length, 6);
	FILLED(mem->base + offset, to.segment_length, 6);
}

/* DTO-84, DTO-85 */
static void both_end(struct ct_end *a, struct ct_end *p)
{
	cu_conn_ended(a->connect, a->ep);
	cu_conn_ended(p->connect, p->ep);
	STATE(a->ep, DISCONNECTED);
	STATE(p->ep, DISCONNECTED);
}

static void read_refused(struct ct_end *a, struct ct_end *p, DAT_RMR_TRIPLET from)
{
	expect_ok(post_read(a, from, 0xbad));
	assert_int_equal(cu_completion(a->request).status, DAT_DTO_ERR_REMOTE_ACCESS);
	both_end(a, p);
}

/* DTO-86: it may have completed before the peer found the fault. */
static void write_refused(struct ct_end *a, struct ct_end *p, DAT_RMR_TRIPLET to,
			  const struct ct_mem *mem)
{
	DAT_DTO_COMPLETION_STATUS status;

	cu_set(mem->base, 0, mem->len);
	cu_set(a->mem.base, 0xff, to.segment_length);
	expect_ok(post_write(a, to, 0xbad));
	status = cu_completion(a->request).status;
	assert_true(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_REMOTE_ACCESS);
	both_end(a, p);
	ALL(mem->base, 0, mem->len);
}

/* The bound range, or a part of it. */
static DAT_RMR_TRIPLET inside(const struct ct_end *p, size_t offset, size_t len,
			      DAT_RMR_CONTEXT context)
{
	return bu_target((DAT_VADDR)(uintptr_t)p->mem.base + WINDOW + offset, len, context);
}

/* ---- Access ------------------------------------------------------------ */

static void rmr_2_3_7_a_context_lets_the_peer_in(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_CONTEXT context;

	for (int scope = DAT_RMR_SCOPE_EP; scope <= (int)DAT_RMR_SCOPE_PZ; scope++) {
		if (!bu_has_scope(rig, (DAT_RMR_SCOPE)scope))
			continue;
		context = bu_bound(p, bu_rmr(rig, p->pz, (DAT_RMR_SCOPE)scope), &p->mem, WINDOW,
				   LENGTH);
		readable(a, inside(p, 0, LENGTH, context), &p->mem, WINDOW);
		writable(a, inside(p, 0, LENGTH, context), &p->mem, WINDOW);
		readable(a, inside(p, LENGTH - 1, 1, context), &p->mem, WINDOW + LENGTH - 1);
		writable(a, inside(p, 17, 100, context), &p->mem, WINDOW + 17);
	}
}

/* A region without remote rights of its own can be bound for them. */
static void rmr_17_the_lmr_needs_no_remote_rights(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	struct ct_mem *mem = cu_extra_mem(
		rig, p->pz, 4096,
		(DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG));
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_RMR_CONTEXT context = bu_bound(p, rmr, mem, 0, 64);
	DAT_RMR_TRIPLET target = bu_target((DAT_VADDR)(uintptr_t)mem->base, 64, context);

	readable(a, target, mem, 0);
	cu_fill(a->mem.base, 64, 9);
	cu_set(mem->base, 0, 64);
	expect_ok(post_write(a, target, 1));
	DONE(a->request, a->ep, 1, DAT_DTO_RDMA_WRITE, 64);
	expect_ok(post_read(a, target, 2));
	DONE(a->request, a->ep, 2, DAT_DTO_RDMA_READ, 64);
	FILLED(mem->base, 64, 9);
}

static void rmr_14_offsets_from_the_start_of_the_range(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	struct bu_bind bind = { .mem = &p->mem,
				.offset = WINDOW + 3,
				.len = LENGTH,
				.priv = BU_REMOTE,
				.va_type = DAT_VA_TYPE_ZB,
				.cookie = 1 };
	DAT_RMR_CONTEXT context = 0;

	if (!rig->attr.zb_supported)
		harness_skip("the adapter has no zero-based addresses");
	expect_ok(bu_post(p, rmr, bind, &context));
	BOUND(p->request, rmr, 1);
	readable(a, bu_target(0, LENGTH, context), &p->mem, WINDOW + 3);
	writable(a, bu_target(100, 50, context), &p->mem, WINDOW + 103);
	read_refused(a, p, inside(p, 3, 8, context));
}

static void rmr_14_a_zero_based_lmr_is_addressed_by_offset(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_REGION_DESCRIPTION region = { .for_va = p->mem.base + 100 };
	DAT_LMR_TRIPLET triplet = { .virtual_address = 50, .segment_length = 200 };
	DAT_RMR_COOKIE cookie = { .as_64 = 2 };
	DAT_RMR_CONTEXT context = 0;
	DAT_LMR_HANDLE lmr;

	if (!rig->attr.zb_supported)
		harness_skip("the adapter has no zero-based addresses");
	expect_ok(dat_lmr_create(rig->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, p->pz,
				 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &lmr, NULL, NULL, NULL,
				 NULL));
	expect_ok(dat_rmr_bind(rmr, lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	BOUND(p->request, rmr, 2);
	readable(a, bu_target(50, 200, context), &p->mem, 150);
	writable(a, bu_target(249, 1, context), &p->mem, 349);
	read_refused(a, p, bu_target(49, 2, context));
}

/* The context travels in a message behind the bind, whose completion nobody waits for. */
static void rmr_9_10_a_message_behind_the_bind_is_safe(void **state)
{
	/* DTO-71 */
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_RMR_CONTEXT context;
	struct bu_bind bind = { .mem = &p->mem,
				.offset = WINDOW,
				.len = LENGTH,
				.priv = BU_REMOTE,
				.flags = DAT_COMPLETION_SUPPRESS_FLAG };

	for (uint64_t i = 0; i < 50; i++) {
		expect_ok(cu_recv(a, 8192, sizeof(context), i));
		expect_ok(bu_post(p, rmr, bind, &context));
		memcpy(p->mem.base, &context, sizeof(context));
		expect_ok(ct_post_send(p, 0, sizeof(context), i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a->recv, a->ep, i, DAT_DTO_RECEIVE, sizeof(context));
		memcpy(&context, a->mem.base + 8192, sizeof(context));
		readable(a, inside(p, 0, LENGTH, context), &p->mem, WINDOW);
		DONE(p->request, p->ep, i, DAT_DTO_SEND, sizeof(context));
	}
}

static void rmr_2_20_any_connection_of_the_zone(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { .pz = rig->p.pz };
	DAT_RMR_HANDLE rmr = bu_rmr(rig, rig->p.pz, DAT_RMR_SCOPE_PZ);
	DAT_RMR_CONTEXT context = bu_bound(&rig->p, rmr, &rig->p.mem, WINDOW, LENGTH);

	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	readable(&a, inside(&rig->p, 0, 64, context), &rig->p.mem, WINDOW);
	/* RMR-37: the one it was bound through has gone. */
	cu_end_connection(&rig->a, &rig->p);
	readable(&a, inside(&rig->p, 0, 64, context), &rig->p.mem, WINDOW);
	context = bu_bound(&p, rmr, &p.mem, 0, 64);
	readable(&a, bu_target((DAT_VADDR)(uintptr_t)p.mem.base, 64, context), &p.mem, 0);
}

/* ---- Refusals (RMR-38) ------------------------------------------------- */

/* A test of one fault: the target that must be refused. */
static void refused(struct cu_rig *rig, bool write, DAT_RMR_TRIPLET target)
{
	if (write)
		write_refused(&rig->a, &rig->p, target, &rig->p.mem);
	else
		read_refused(&rig->a, &rig->p, target);
}

static DAT_RMR_CONTEXT window(struct cu_rig *rig, DAT_RMR_HANDLE *rmr)
{
	*rmr = bu_any_rmr(rig, rig->p.pz);
	return bu_bound(&rig->p, *rmr, &rig->p.mem, WINDOW, LENGTH);
}

#define REFUSED(name, offset, len)                                                      \
	static void rmr_38_read_##name(void **state)                                    \
	{                                                                               \
		struct cu_rig *rig = *state;                                            \
		DAT_RMR_HANDLE rmr;                                                     \
		DAT_RMR_CONTEXT context = window(rig, &rmr);                            \
                                                                                        \
		refused(rig, false, inside(&rig->p, (size_t)(offset), (len), context)); \
	}                                                                               \
	static void rmr_38_write_##name(void **state)                                   \
	{                                                                               \
		struct cu_rig *rig = *state;                                            \
		DAT_RMR_HANDLE rmr;                                                     \
		DAT_RMR_CONTEXT context = window(rig, &rmr);                            \
                                                                                        \
		refused(rig, true, inside(&rig->p, (size_t)(offset), (len), context));  \
	}

REFUSED(one_byte_below_the_range, -1, 64)
REFUSED(beyond_the_range, LENGTH, 64)

/* RMR-7 */
static void rmr_38_one_byte_more_than_the_range(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context = window(rig, &rmr);

	refused(rig, false, inside(&rig->p, 1, LENGTH, context));
}

static DAT_RMR_CONTEXT with_rights(struct cu_rig *rig, int priv)
{
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, rig->p.pz);
	struct bu_bind bind = { .mem = &rig->p.mem,
				.offset = WINDOW,
				.len = LENGTH,
				.priv = (DAT_MEM_PRIV_FLAGS)priv,
				.cookie = 3 };
	DAT_RMR_CONTEXT context = 0;

	expect_ok(bu_post(&rig->p, rmr, bind, &context));
	BOUND(rig->p.request, rmr, 3);
	return context;
}

/* RMR-16 */
static void rmr_38_no_write_with_the_right_to_read(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_CONTEXT context = with_rights(rig, DAT_MEM_PRIV_REMOTE_READ_FLAG);

	readable(&rig->a, inside(&rig->p, 0, 64, context), &rig->p.mem, WINDOW);
	refused(rig, true, inside(&rig->p, 0, 64, context));
}

static void rmr_38_no_read_with_the_right_to_write(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_CONTEXT context = with_rights(rig, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);

	writable(&rig->a, inside(&rig->p, 0, 64, context), &rig->p.mem, WINDOW);
	refused(rig, false, inside(&rig->p, 0, 64, context));
}

/* RMR-17 */
static void rmr_16_38_local_rights_let_nobody_in(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_CONTEXT context =
		with_rights(rig, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

	refused(rig, false, inside(&rig->p, 0, 64, context));
}

/* Another connection of the same zone, whose context this is not. */
static void rmr_3_38_of_another_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { .pz = rig->p.pz };
	DAT_RMR_HANDLE rmr = bu_rmr(rig, rig->p.pz, DAT_RMR_SCOPE_EP);
	DAT_RMR_CONTEXT context = bu_bound(&rig->p, rmr, &rig->p.mem, WINDOW, LENGTH);

	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	read_refused(&a, &p, inside(&rig->p, 0, 64, context));
	/* DTO-89: nobody else is concerned. */
	readable(&rig->a, inside(&rig->p, 0, 64, context), &rig->p.mem, WINDOW);
}

/* PZ-9 */
static void rmr_38_of_another_zone(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, rig->p.pz);
	DAT_RMR_CONTEXT context = bu_bound(&rig->p, rmr, &rig->p.mem, WINDOW, LENGTH);

	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	read_refused(&a, &p, inside(&rig->p, 0, 64, context));
	readable(&rig->a, inside(&rig->p, 0, 64, context), &rig->p.mem, WINDOW);
}

/* ---- The end of a context (RMR-34) ------------------------------------- */

static void rmr_11_34_bound_anew(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT old = window(rig, &rmr), context;

	context = bu_bound(&rig->p, rmr, &rig->p.mem, WINDOW, LENGTH);
	assert_int_not_equal(context, old);
	readable(&rig->a, inside(&rig->p, 0, 64, context), &rig->p.mem, WINDOW);
	refused(rig, false, inside(&rig->p, 0, 64, old));
}

static void rmr_18_34_unbound(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context = window(rig, &rmr);

	bu_unbound(&rig->p, rmr);
	refused(rig, true, inside(&rig->p, 0, 64, context));
}

static void rmr_32_34_freed(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context = window(rig, &rmr);

	readable(&rig->a, inside(&rig->p, 0, 64, context), &rig->p.mem, WINDOW);
	expect_ok(dat_rmr_free(rmr));
	refused(rig, false, inside(&rig->p, 0, 64, context));
}

/* Freed while the peer keeps reading: each read succeeds, or is refused; then the memory can go. */
static void rmr_32_freed_under_way(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	struct ct_mem *mem = cu_extra_mem(rig, p->pz, 1 << 20, DAT_MEM_PRIV_ALL_FLAG);
	struct ct_mem *sink = cu_extra_mem(rig, a->pz, 1 << 20, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_RMR_CONTEXT context = bu_bound(p, rmr, mem, 0, mem->len);
	DAT_RMR_TRIPLET from = bu_target((DAT_VADDR)(uintptr_t)mem->base, mem->len, context);
	DAT_LMR_TRIPLET to = ct_segment(sink, 0, sink->len);
	DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS, last;

	for (uint64_t i = 0; i < 8; i++)
		expect_ok(dat_ep_post_rdma_read(a->ep, 1, &to, cu_cookie(i), &from,
						DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_rmr_free(rmr));
	bu_free_lmr(mem);
	for (uint64_t i = 0; i < 8; i++) {
		last = status;
		status = cu_completion(a->request).status;
		if (last == DAT_DTO_SUCCESS)
			assert_true(status == DAT_DTO_SUCCESS ||
				    status == DAT_DTO_ERR_REMOTE_ACCESS);
		else
			assert_int_equal(status, DAT_DTO_ERR_FLUSHED);
	}
}

/* ---- Threads ----------------------------------------------------------- */

/* DTO-4, RMR-27: a provider that is thread safe lets threads bind on endpoints of their own. */
struct binder {
	struct ct_end a, p;
	struct ct_mem *shared;
	DAT_RMR_HANDLE rmr;
	unsigned failures;
};

static bool bind_once(struct binder *b, uint64_t i)
{
	DAT_LMR_TRIPLET triplet = ct_segment(b->shared, (i % 16) * 64, i % 8 ? 64 : 0);
	DAT_RMR_COOKIE cookie = { .as_64 = i };
	DAT_EVENT event;

	if (dat_rmr_bind(b->rmr, b->shared->lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, b->p.ep,
			 cookie, DAT_COMPLETION_DEFAULT_FLAG, NULL) != DAT_SUCCESS)
		return false;
	while (dat_evd_dequeue(b->p.request, &event) != DAT_SUCCESS)
		;
	return event.event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
	       event.event_data.rmr_completion_event_data.user_cookie.as_64 == i &&
	       event.event_data.rmr_completion_event_data.status == DAT_DTO_SUCCESS;
}

static void *binder(void *arg)
{
	struct binder *b = arg;

	for (uint64_t i = 0; i < 500; i++)
		b->failures += !bind_once(b, i);
	return NULL;
}

static void rmr_27_threads_with_endpoints_of_their_own(void **state)
{
	struct cu_rig *rig = *state;
	struct binder b[3] = { { .failures = 0 } };
	struct ct_mem *shared = cu_extra_mem(rig, rig->p.pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		b[i].p.pz = rig->p.pz;
		b[i].shared = shared;
		ct_end_open(&b[i].a, rig->ia, NULL);
		ct_end_open(&b[i].p, rig->ia, NULL);
		cu_establish(rig, &b[i].a, &b[i].p);
		b[i].rmr = bu_any_rmr(rig, rig->p.pz);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, binder, &b[i]), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(b[i].failures, 0);
		expect_ok(dat_rmr_free(b[i].rmr));
	}
	bu_free_lmr(shared);
}

/* ---- In the way --------------------------------------------------------- */

/* Binds through a second endpoint while the first still waits for its graceful end. */
static int bind_while_pending(void)
{
	struct ct_end a = { 0 }, p = { 0 };
	struct cu_rig *rig;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_TRIPLET seg;
	struct ct_mem *big;
	void *state;

	cu_setup_connected(&state);
	rig = state;
	rmr = bu_rmr(rig, rig->p.pz, DAT_RMR_SCOPE_EP);
	p.pz = rig->p.pz;
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	bu_bound(&rig->p, rmr, &rig->p.mem, 0, 64);
	big = cu_extra_mem(rig, rig->p.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	seg = ct_segment(big, 0, CU_BIG); /* which nobody receives */
	expect_ok(dat_ep_post_send(rig->p.ep, 1, &seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->p.ep, DISCONNECT_PENDING);
	expect_type(bu_bind(&p, rmr, &p.mem, 0, 64, 2, NULL), DAT_INVALID_STATE);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	bu_bound(&p, rmr, &p.mem, 0, 64);
	return cu_teardown(&state);
}

/* The peer of the former endpoint can still use its binding; and no diagnosis calls that a fault.
 */
static void rmr_21_a_pending_disconnect_is_in_the_way(void **state)
{
	struct harness_result result;

	bu_rmr(*state, ((struct cu_rig *)*state)->p.pz, DAT_RMR_SCOPE_EP);
	harness_spawn("bind-while-pending", NULL, &result);
	if (result.status != 0 || result.err[0] != '\0')
		fail_msg("status 0x%x: %s", (unsigned int)result.status, result.err);
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "bind-while-pending", bind_while_pending }, { NULL, NULL }
	};
	static const struct CMUnitTest tests[] = {
		C(rmr_2_3_7_a_context_lets_the_peer_in),
		C(rmr_17_the_lmr_needs_no_remote_rights),
		C(rmr_14_offsets_from_the_start_of_the_range),
		C(rmr_14_a_zero_based_lmr_is_addressed_by_offset),
		C(rmr_9_10_a_message_behind_the_bind_is_safe),
		C(rmr_2_20_any_connection_of_the_zone),
		C(rmr_38_read_one_byte_below_the_range),
		C(rmr_38_write_one_byte_below_the_range),
		C(rmr_38_read_beyond_the_range),
		C(rmr_38_write_beyond_the_range),
		C(rmr_38_one_byte_more_than_the_range),
		C(rmr_38_no_write_with_the_right_to_read),
		C(rmr_38_no_read_with_the_right_to_write),
		C(rmr_16_38_local_rights_let_nobody_in),
		C(rmr_3_38_of_another_endpoint),
		C(rmr_38_of_another_zone),
		C(rmr_11_34_bound_anew),
		C(rmr_18_34_unbound),
		C(rmr_32_34_freed),
		C(rmr_32_freed_under_way),
		C(rmr_27_threads_with_endpoints_of_their_own),
		C(rmr_21_a_pending_disconnect_is_in_the_way),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
