/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a region allows, tried with transfers: LMR-12, LMR-15, LMR-21 to LMR-28, LMR-36, LMR-37,
 * PZ-9. */
#include "harness.h"

#include <sys/mman.h>

struct pair {
	struct ct_ia *ia;
	struct ct_end a, p;
};

static int setup(void **state)
{
	static struct pair pair;

	memset(&pair, 0, sizeof(pair));
	ct_setup(state);
	pair.ia = *state;
	ct_end_open(&pair.a, pair.ia->ia, NULL);
	ct_end_open(&pair.p, pair.ia->ia, NULL);
	ct_end_connect(&pair.a, &pair.p);
	*state = &pair;
	return 0;
}

static int teardown(void **state)
{
	struct pair *pair = *state;
	void *ia = pair->ia;

	return ct_teardown(&ia);
}

static DAT_DTO_COOKIE cookie(uint64_t value)
{
	DAT_DTO_COOKIE c = { .as_64 = value };

	return c;
}

static DAT_RETURN post_write(struct ct_end *end, DAT_LMR_TRIPLET from, DAT_RMR_TRIPLET to,
			     uint64_t c)
{
	return dat_ep_post_rdma_write(end->ep, 1, &from, cookie(c), &to,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_read(struct ct_end *end, DAT_LMR_TRIPLET to, DAT_RMR_TRIPLET from,
			    uint64_t c)
{
	return dat_ep_post_rdma_read(end->ep, 1, &to, cookie(c), &from,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_DTO_COMPLETION_STATUS completed(DAT_EVD_HANDLE evd, uint64_t c)
{
	DAT_EVENT event;

	ct_next(evd, DAT_DTO_COMPLETION_EVENT, &event);
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, c);
	return event.event_data.dto_completion_event_data.status;
}

/* Both sides end, in one way or the other (DTO-85). */
static void ended(struct ct_end *end)
{
	DAT_EVENT event;
	DAT_COUNT more;

	expect_ok(dat_evd_wait(end->connect, CT_US, 1, &event, &more));
	assert_true(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		    event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_int_equal(ct_ep_state(end->ep), DAT_EP_STATE_DISCONNECTED);
}

/* A write that the peer must refuse: its fault may be found after it completed here (DTO-86). */
static void write_refused(struct pair *pair, DAT_RMR_TRIPLET to)
{
	DAT_DTO_COMPLETION_STATUS status;

	memset(pair->a.mem.base, 0x11, 64);
	expect_ok(post_write(&pair->a, ct_segment(&pair->a.mem, 0, 64), to, 5));
	status = completed(pair->a.request, 5);
	assert_true(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_REMOTE_ACCESS);
	ended(&pair->a);
	ended(&pair->p);
}

static void read_refused(struct pair *pair, DAT_RMR_TRIPLET from)
{
	expect_ok(post_read(&pair->a, ct_segment(&pair->a.mem, 0, 64), from, 6));
	assert_int_equal(completed(pair->a.request, 6), DAT_DTO_ERR_REMOTE_ACCESS);
	ended(&pair->a);
	ended(&pair->p);
}

/* A message behind a write: when it is received, the write's data are there (DTO-66). */
static void follow(struct pair *pair)
{
	expect_ok(ct_post_recv(&pair->p, 32768, 64, 90, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&pair->a, 32768, 64, 91, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(pair->p.recv, 90, DAT_DTO_SUCCESS);
	ct_completion(pair->a.request, 91, DAT_DTO_SUCCESS);
}

static void write_done(struct pair *pair, struct ct_mem *mem)
{
	memset(pair->a.mem.base, 0x42, 64);
	expect_ok(
		post_write(&pair->a, ct_segment(&pair->a.mem, 0, 64), ct_target(mem, 128, 64), 7));
	assert_int_equal(completed(pair->a.request, 7), DAT_DTO_SUCCESS);
	follow(pair);
	assert_int_equal(mem->base[191], 0x42);
	assert_int_equal(mem->base[128], 0x42);
	assert_int_equal(mem->base[127], 0);
	assert_int_equal(mem->base[192], 0);
}

static void read_done(struct pair *pair, struct ct_mem *mem)
{
	memset(mem->base + 128, 0x43, 64);
	expect_ok(post_read(&pair->a, ct_segment(&pair->a.mem, 1024, 64), ct_target(mem, 128, 64),
			    8));
	assert_int_equal(completed(pair->a.request, 8), DAT_DTO_SUCCESS);
	assert_int_equal(pair->a.mem.base[1024], 0x43);
	assert_int_equal(pair->a.mem.base[1087], 0x43);
}

/* A region of the passive end's zone with these rights. */
static struct ct_mem peer_mem(struct pair *pair, int priv)
{
	struct ct_mem mem;

	ct_mem_open(&mem, pair->ia->ia, pair->p.pz, 4096, (DAT_MEM_PRIV_FLAGS)priv);
	return mem;
}

/* ---- Remote rights ---- */

static void lmr_23_26_remote_rights_allow(void **state)
{
	struct pair *pair = *state;
	struct ct_mem readable = peer_mem(pair, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	struct ct_mem writable =
		peer_mem(pair, DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	struct ct_mem all = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG);

	write_done(pair, &writable);
	read_done(pair, &readable);
	write_done(pair, &all);
	read_done(pair, &all);
}

static void lmr_23_no_remote_write_without_its_flag(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem =
		peer_mem(pair, DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);

	write_refused(pair, ct_target(&mem, 0, 64));
	/* DTO-88 */
	for (int i = 0; i < 4096; i++)
		assert_int_equal(mem.base[i], 0);
}

static void lmr_23_no_remote_read_without_its_flag(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem =
		peer_mem(pair, DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);

	read_refused(pair, ct_target(&mem, 0, 64));
}

static void lmr_26_local_contexts_mean_nothing_to_peers(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem =
		peer_mem(pair, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	DAT_RMR_TRIPLET target = ct_target(&mem, 0, 64);

	assert_int_equal(mem.rmr_context, 0);
	target.rmr_context = mem.lmr_context;
	read_refused(pair, target);
}

static void lmr_26_no_context_is_zero(void **state)
{
	struct pair *pair = *state;
	DAT_RMR_TRIPLET target = ct_target(&pair->p.mem, 0, 64);

	target.rmr_context = 0;
	read_refused(pair, target);
}

static void out_of_range(struct pair *pair, int64_t offset, size_t len)
{
	struct ct_mem mem = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_TRIPLET target = ct_target(&mem, 0, len);

	target.virtual_address += (DAT_VADDR)offset;
	expect_ok(post_read(&pair->a, ct_segment(&pair->a.mem, 0, len), target, 6));
	assert_int_equal(completed(pair->a.request, 6), DAT_DTO_ERR_REMOTE_ACCESS);
	ended(&pair->a);
	ended(&pair->p);
}

static void lmr_11_bounds_one_byte_below(void **state)
{
	out_of_range(*state, -1, 64);
}

static void lmr_11_bounds_one_byte_above(void **state)
{
	out_of_range(*state, 4096 - 63, 64);
}

static void lmr_11_bounds_the_address_wraps(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_TRIPLET target = ct_target(&mem, 0, 64);

	target.virtual_address = (DAT_VADDR)0 - 32;
	read_refused(pair, target);
}

static void pz_9_a_region_of_another_zone_is_refused(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem;

	ct_mem_open(&mem, pair->ia->ia, ct_pz(pair->ia->ia), 4096, DAT_MEM_PRIV_ALL_FLAG);
	read_refused(pair, ct_target(&mem, 0, 64));
}

static void pz_9_local_memory_of_another_zone_is_refused(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem;

	ct_mem_open(&mem, pair->ia->ia, ct_pz(pair->ia->ia), 4096, DAT_MEM_PRIV_ALL_FLAG);
	expect_ok(post_write(&pair->a, ct_segment(&mem, 0, 64), ct_target(&pair->p.mem, 0, 64), 3));
	assert_int_equal(completed(pair->a.request, 3), DAT_DTO_ERR_LOCAL_PROTECTION);
	ended(&pair->a);
	ended(&pair->p);
}

/* ---- Local rights ---- */

static void lmr_21_local_read_is_implied(void **state)
{
	static const int privs[] = { DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				     DAT_MEM_PRIV_REMOTE_READ_FLAG };
	struct pair *pair = *state;

	for (int i = 0; i < 3; i++) {
		DAT_LMR_TRIPLET segment;
		struct ct_mem mem;

		ct_mem_open(&mem, pair->ia->ia, pair->a.pz, 4096, (DAT_MEM_PRIV_FLAGS)privs[i]);
		memset(mem.base, 0x20 + i, 64);
		segment = ct_segment(&mem, 0, 64);
		expect_ok(ct_post_recv(&pair->p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_ep_post_send(pair->a.ep, 1, &segment, cookie(2),
					   DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(pair->p.recv, 1, DAT_DTO_SUCCESS);
		ct_completion(pair->a.request, 2, DAT_DTO_SUCCESS);
		assert_int_equal(pair->p.mem.base[63], 0x20 + i);
		expect_ok(post_write(&pair->a, segment, ct_target(&pair->p.mem, 512, 64), 3));
		ct_completion(pair->a.request, 3, DAT_DTO_SUCCESS);
		follow(pair);
		assert_int_equal(pair->p.mem.base[575], 0x20 + i);
	}
}

static void lmr_22_a_receive_needs_local_write(void **state)
{
	struct pair *pair = *state;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_LMR_TRIPLET segment;
	struct ct_mem mem =
		peer_mem(pair, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);

	segment = ct_segment(&mem, 0, 64);
	expect_ok(
		dat_ep_post_recv(pair->p.ep, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	memset(pair->a.mem.base, 0x55, 64);
	expect_ok(ct_post_send(&pair->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	assert_int_equal(completed(pair->p.recv, 1), DAT_DTO_ERR_LOCAL_PROTECTION);
	status = completed(pair->a.request, 2);
	assert_true(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_REMOTE_RESPONDER);
	ended(&pair->a);
	ended(&pair->p);
	assert_int_equal(mem.base[0], 0);
}

static void lmr_22_a_read_needs_local_write(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem;

	ct_mem_open(&mem, pair->ia->ia, pair->a.pz, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	memset(pair->p.mem.base, 0x55, 64);
	expect_ok(post_read(&pair->a, ct_segment(&mem, 0, 64), ct_target(&pair->p.mem, 0, 64), 2));
	assert_int_equal(completed(pair->a.request, 2), DAT_DTO_ERR_LOCAL_PROTECTION);
	ended(&pair->a);
	ended(&pair->p);
	assert_int_equal(mem.base[0], 0);
}

/* A program's mistake costs it the connection, not its life. */
static void lmr_22_memory_that_the_program_may_not_write(void **state)
{
	struct pair *pair = *state;
	DAT_REGION_DESCRIPTION desc;
	DAT_LMR_TRIPLET segment;
	struct ct_mem mem = { .len = 4096 };
	DAT_RETURN rc;

	mem.base = mmap(NULL, mem.len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(mem.base, MAP_FAILED);
	desc.for_va = mem.base;
	rc = dat_lmr_create(pair->ia->ia, DAT_MEM_TYPE_VIRTUAL, desc, mem.len, pair->p.pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &mem.lmr, &mem.lmr_context,
			    &mem.rmr_context, NULL, NULL);
	if (rc != DAT_SUCCESS) {
		expect_arg(rc, 3);
		return;
	}
	segment = ct_segment(&mem, 0, 64);
	expect_ok(
		dat_ep_post_recv(pair->p.ep, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&pair->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	assert_int_equal(completed(pair->p.recv, 1), DAT_DTO_ERR_LOCAL_PROTECTION);
	ended(&pair->p);
	ended(&pair->a);
}

static void lmr_28_local_write_suffices_for_a_read_unless_said(void **state)
{
	struct pair *pair = *state;
	int priv = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	struct ct_mem mem;

	if (pair->ia->prov.rdma_write_for_rdma_read_req)
		priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	ct_mem_open(&mem, pair->ia->ia, pair->a.pz, 4096, (DAT_MEM_PRIV_FLAGS)priv);
	memset(pair->p.mem.base, 0x56, 64);
	expect_ok(post_read(&pair->a, ct_segment(&mem, 0, 64), ct_target(&pair->p.mem, 0, 64), 2));
	assert_int_equal(completed(pair->a.request, 2), DAT_DTO_SUCCESS);
	assert_int_equal(mem.base[63], 0x56);
}

/* ---- Regions of regions ---- */

static void lmr_12_the_copy_works_without_its_source(void **state)
{
	struct pair *pair = *state;
	struct ct_mem source = peer_mem(pair, DAT_MEM_PRIV_LOCAL_READ_FLAG), copy = source;
	DAT_REGION_DESCRIPTION desc = { .for_lmr_handle = source.lmr };

	expect_ok(dat_lmr_create(pair->ia->ia, DAT_MEM_TYPE_LMR, desc, 0, pair->p.pz,
				 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &copy.lmr,
				 &copy.lmr_context, &copy.rmr_context, NULL, NULL));
	expect_ok(dat_lmr_free(source.lmr));
	write_done(pair, &copy);
	read_done(pair, &copy);
}

static void lmr_12_the_copy_has_rights_of_its_own(void **state)
{
	struct pair *pair = *state;
	struct ct_mem source = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG), copy = source;
	DAT_REGION_DESCRIPTION desc = { .for_lmr_handle = source.lmr };

	expect_ok(dat_lmr_create(pair->ia->ia, DAT_MEM_TYPE_LMR, desc, 0, pair->p.pz,
				 DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, &copy.lmr,
				 &copy.lmr_context, &copy.rmr_context, NULL, NULL));
	read_done(pair, &copy);
	write_done(pair, &source);
	write_refused(pair, ct_target(&copy, 0, 64));
}

/* ---- Freeing under way ---- */

static void lmr_36_a_posted_send_needs_its_region(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem;
	DAT_LMR_TRIPLET segment;

	ct_mem_open(&mem, pair->ia->ia, pair->a.pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	segment = ct_segment(&mem, 0, 64);
	expect_ok(dat_lmr_free(mem.lmr));
	expect_ok(ct_post_recv(&pair->p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(
		dat_ep_post_send(pair->a.ep, 1, &segment, cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	assert_int_equal(completed(pair->a.request, 2), DAT_DTO_ERR_LOCAL_PROTECTION);
	ended(&pair->a);
	ended(&pair->p);
	assert_int_equal(completed(pair->p.recv, 1), DAT_DTO_ERR_FLUSHED);
}

static void lmr_36_a_posted_receive_does_not_keep_its_region(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET segment = ct_segment(&mem, 0, 64);

	expect_ok(
		dat_ep_post_recv(pair->p.ep, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_lmr_free(mem.lmr));
	expect_ok(ct_post_send(&pair->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	assert_int_equal(completed(pair->p.recv, 1), DAT_DTO_ERR_LOCAL_PROTECTION);
	ended(&pair->a);
	ended(&pair->p);
	assert_int_equal(mem.base[0], 0);
}

static void lmr_36_a_receive_of_a_freed_region_is_flushed(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET segment = ct_segment(&mem, 0, 64);

	expect_ok(
		dat_ep_post_recv(pair->p.ep, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_lmr_free(mem.lmr));
	expect_ok(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	assert_int_equal(completed(pair->p.recv, 1), DAT_DTO_ERR_FLUSHED);
}

static void lmr_37_a_freed_region_is_closed_to_peers(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG);

	read_done(pair, &mem);
	expect_ok(dat_lmr_free(mem.lmr));
	read_refused(pair, ct_target(&mem, 0, 64));
}

static void lmr_37_a_freed_region_is_closed_to_writers(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG);

	expect_ok(dat_lmr_free(mem.lmr));
	write_refused(pair, ct_target(&mem, 0, 64));
	assert_int_equal(mem.base[0], 0);
}

static void lmr_38_the_next_region_does_not_open_to_the_old_context(void **state)
{
	struct pair *pair = *state;
	struct ct_mem mem = peer_mem(pair, DAT_MEM_PRIV_ALL_FLAG), next = mem;
	DAT_REGION_DESCRIPTION desc = { .for_va = mem.base };

	expect_ok(dat_lmr_free(mem.lmr));
	expect_ok(dat_lmr_create(pair->ia->ia, DAT_MEM_TYPE_VIRTUAL, desc, 4096, pair->p.pz,
				 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &next.lmr,
				 &next.lmr_context, &next.rmr_context, NULL, NULL));
	read_done(pair, &next);
	read_refused(pair, ct_target(&mem, 0, 64));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(lmr_23_26_remote_rights_allow),
		T(lmr_23_no_remote_write_without_its_flag),
		T(lmr_23_no_remote_read_without_its_flag),
		T(lmr_26_local_contexts_mean_nothing_to_peers),
		T(lmr_26_no_context_is_zero),
		T(lmr_11_bounds_one_byte_below),
		T(lmr_11_bounds_one_byte_above),
		T(lmr_11_bounds_the_address_wraps),
		T(pz_9_a_region_of_another_zone_is_refused),
		T(pz_9_local_memory_of_another_zone_is_refused),
		T(lmr_21_local_read_is_implied),
		T(lmr_22_a_receive_needs_local_write),
		T(lmr_22_a_read_needs_local_write),
		T(lmr_22_memory_that_the_program_may_not_write),
		T(lmr_28_local_write_suffices_for_a_read_unless_said),
		T(lmr_12_the_copy_works_without_its_source),
		T(lmr_12_the_copy_has_rights_of_its_own),
		T(lmr_36_a_posted_send_needs_its_region),
		T(lmr_36_a_posted_receive_does_not_keep_its_region),
		T(lmr_36_a_receive_of_a_freed_region_is_flushed),
		T(lmr_37_a_freed_region_is_closed_to_peers),
		T(lmr_37_a_freed_region_is_closed_to_writers),
		T(lmr_38_the_next_region_does_not_open_to_the_old_context),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
