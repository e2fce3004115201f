/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Regions that libdat does not know, and regions whose memory is no more, on a real adapter. */
#include "test/dat-1.2/native.h"

#include <dlfcn.h>
#include <sys/mman.h>

/* dat_lmr_create of DAT 2.0, as code of the process that uses libdat2 itself calls it. */
typedef DAT_RETURN (*create_2_0)(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
				 DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, int va_type, DAT_LMR_HANDLE *,
				 DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);

static void d12_92_93_regions_of_others(void **state)
{
	create_2_0 create =
		(create_2_0)(uintptr_t)dlvsym(RTLD_DEFAULT, "dat_lmr_create", "DAT_2.0");
	struct ct_ia *ia = *state;
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_REGION_DESCRIPTION region;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_LMR_TRIPLET what = { .segment_length = 64 };
	DAT_LMR_HANDLE theirs = DAT_HANDLE_NULL;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	if (ia->attr.max_rmrs == 0)
		harness_skip("the adapter has no windows");
	assert_non_null(create);
	a.request = ct_evd(ia->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	region.for_va = a.mem.base;
	expect_ok(create(ia->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, a.pz, DAT_MEM_PRIV_ALL_FLAG, 0,
			 &theirs, &what.lmr_context, NULL, NULL, NULL));
	what.virtual_address = (uintptr_t)a.mem.base;
	expect_ok(dat_rmr_create(a.pz, &rmr));
	expect_arg(dat_rmr_bind(rmr, &what, DAT_MEM_PRIV_ALL_FLAG, a.ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, &context),
		   2);
	ct_empty(a.request);
	what.lmr_context = a.mem.lmr_context; /* one of its own, of the same memory */
	expect_ok(dat_rmr_bind(rmr, &what, DAT_MEM_PRIV_ALL_FLAG, a.ep, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	expect_ok(dat_rmr_free(rmr));
	expect_ok(dat_lmr_free(theirs)); /* each may free what the other made */
	ct_end_close(&a);
	ct_end_close(&p);
}

/* Six regions, as pscom keeps them, by whole pages around an odd buffer. */
static void d12_96_pages_around_a_buffer(void **state)
{
	enum {
		PAGE = 4096,
		CACHED = 6
	};
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { 0 };
	struct ct_mem kept[CACHED];

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	for (int i = 0; i < CACHED; i++) {
		DAT_LMR_TRIPLET from = ct_segment(&a.mem, 0, PAGE + 1);
		DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i };
		DAT_RMR_TRIPLET to;

		ct_mem_open(&kept[i], ia->ia, p.pz, 3 * PAGE, DAT_MEM_PRIV_ALL_FLAG);
		memset(kept[i].base, 0, 3 * PAGE);
		memset(a.mem.base, i + 1, PAGE + 1);
		to = ct_target(&kept[i], 1999, PAGE + 1);
		expect_ok(dat_ep_post_rdma_write(a.ep, 1, &from, cookie, &to,
						 DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(a.request, (uint64_t)i, DAT_DTO_SUCCESS);
		from.segment_length = 1;
		to = ct_target(&kept[i], 0, 1);
		expect_ok(dat_ep_post_rdma_read(a.ep, 1, &from, cookie, &to,
						DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(a.request, (uint64_t)i, DAT_DTO_SUCCESS);
		assert_int_equal(a.mem.base[0], 0); /* of the first page, which was not written */
		assert_int_equal(kept[i].base[1999], i + 1);
		assert_int_equal(kept[i].base[1999 + PAGE], i + 1);
		assert_int_equal(kept[i].base[2000 + PAGE], 0);
	}
	for (int i = 0; i < CACHED; i++)
		ct_mem_close(&kept[i]);
	ct_end_close(&a);
	ct_end_close(&p);
}

/* The region is kept while its memory goes: the request fails, and nothing else does. */
static void without_memory(struct ct_ia *ia, bool read)
{
	enum {
		LEN = 1 << 16
	};
	struct ct_end a = { 0 }, p = { 0 };
	DAT_DTO_COOKIE cookie = { .as_64 = 7 };
	DAT_LMR_TRIPLET here;
	DAT_RMR_TRIPLET there;
	struct ct_mem gone;
	DAT_EVENT event;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	ct_mem_open(&gone, ia->ia, p.pz, LEN, DAT_MEM_PRIV_ALL_FLAG);
	assert_ptr_equal(
		mmap(gone.base, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		gone.base);
	here = ct_segment(&a.mem, 0, 4096);
	there = ct_target(&gone, 4096, 4096);
	expect_ok((read ? dat_ep_post_rdma_read : dat_ep_post_rdma_write)(
		a.ep, 1, &here, cookie, &there, DAT_COMPLETION_DEFAULT_FLAG));
	ct_next(a.request, DAT_DTO_COMPLETION_EVENT, &event);
	/* Of a Write, iWARP knows no answer. */
	if (read)
		assert_int_not_equal(event.event_data.dto_completion_event_data.status,
				     DAT_DTO_SUCCESS);
	assert_true(event.event_data.dto_completion_event_data.user_cookie.as_64 == 7);
	expect_ok(dat_lmr_free(gone.lmr));
	gone.lmr = DAT_HANDLE_NULL;
	ct_mem_close(&gone);
	ct_end_close(&a);
	ct_end_close(&p);
}

static void d12_96_memory_that_is_gone(void **state)
{
	struct ct_ia *ia = *state;

	if (strstr(ia->attr.adapter_name, "soft") == NULL)
		harness_skip("a device keeps the pages of a region");
	without_memory(ia, true);
	without_memory(ia, false);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(d12_92_93_regions_of_others),
		T(d12_96_pages_around_a_buffer),
		T(d12_96_memory_that_is_gone),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
