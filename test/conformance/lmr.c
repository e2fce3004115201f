/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Local memory regions as objects: LMR-1 to LMR-18, LMR-23 to LMR-34 and LMR-38 to LMR-41. */
#include "harness.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define LEN  (4 * PAGE)

/* What dat_lmr_create is given, and what it gave. */
struct region {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN length;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_length;
	DAT_VADDR registered_address;
};

static char *map(size_t len, int prot)
{
	void *base = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(base, MAP_FAILED);
	return base;
}

/* A good request: virtual memory with all rights. */
static struct region good(struct ct_ia *ia)
{
	struct region r = {
		.ia = ia->ia,
		.pz = ct_pz(ia->ia),
		.type = DAT_MEM_TYPE_VIRTUAL,
		.length = LEN,
		.priv = DAT_MEM_PRIV_ALL_FLAG,
		.va_type = DAT_VA_TYPE_VA,
	};

	r.desc.for_va = map(LEN, PROT_READ | PROT_WRITE);
	return r;
}

static DAT_RETURN create(struct region *r)
{
	return dat_lmr_create(r->ia, r->type, r->desc, r->length, r->pz, r->priv, r->va_type,
			      &r->lmr, &r->lmr_context, &r->rmr_context, &r->registered_length,
			      &r->registered_address);
}

static void query_agrees(const struct region *r)
{
	DAT_LMR_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_lmr_query(r->lmr, DAT_LMR_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, r->ia);
	assert_int_equal(param.mem_type, r->type);
	assert_ptr_equal(param.pz_handle, r->pz);
	assert_int_equal(param.mem_priv, r->priv);
	assert_int_equal(param.va_type, r->va_type);
	assert_int_equal(param.length, r->length);
	assert_int_equal(param.lmr_context, r->lmr_context);
	assert_int_equal(param.rmr_context, r->rmr_context);
	assert_int_equal(param.registered_size, r->registered_length);
	assert_int_equal(param.registered_address, r->registered_address);
	if (r->type == DAT_MEM_TYPE_VIRTUAL)
		assert_ptr_equal(param.region_desc.for_va, r->desc.for_va);
	else
		assert_ptr_equal(param.region_desc.for_lmr_handle, r->desc.for_lmr_handle);
}

/* ---- Creation ---- */

/* LMR-18 */
static void lmr_1_3_11_a_virtual_region(void **state)
{
	struct region r = good(*state);

	expect_ok(create(&r));
	assert_non_null(r.lmr);
	assert_int_equal(r.registered_length, LEN);
	assert_ptr_equal((void *)(uintptr_t)r.registered_address, r.desc.for_va);
	query_agrees(&r);
	expect_ok(dat_lmr_free(r.lmr));
}

static void lmr_2_all_but_the_handle_may_be_null(void **state)
{
	struct region r = good(*state);

	for (int leave = 0; leave < 16; leave++) {
		expect_ok(dat_lmr_create(r.ia, r.type, r.desc, r.length, r.pz, r.priv, r.va_type,
					 &r.lmr, leave & 1 ? NULL : &r.lmr_context,
					 leave & 2 ? NULL : &r.rmr_context,
					 leave & 4 ? NULL : &r.registered_length,
					 leave & 8 ? NULL : &r.registered_address));
		expect_ok(dat_lmr_free(r.lmr));
	}
	expect_arg(dat_lmr_create(r.ia, r.type, r.desc, r.length, r.pz, r.priv, r.va_type, NULL,
				  &r.lmr_context, &r.rmr_context, &r.registered_length,
				  &r.registered_address),
		   8);
}

static void lmr_4_no_length_is_a_length_error(void **state)
{
	struct region r = good(*state);

	r.length = 0;
	expect_type(create(&r), DAT_LENGTH_ERROR);
}

static void lmr_6_memory_that_is_not_there(void **state)
{
	struct region r = good(*state);
	char *hole = map(3 * PAGE, PROT_READ | PROT_WRITE);
	DAT_RETURN rc;

	r.desc.for_va = (void *)(UINTPTR_MAX - PAGE + 1);
	r.length = 2 * PAGE;
	expect_arg(create(&r), 3);
	r.desc.for_va = (void *)(uintptr_t)PAGE;
	r.length = (DAT_VLEN)0 - PAGE + 1;
	rc = create(&r);
	/* LMR-5 is as true of a length that exceeds the address space. */
	expect_type(rc, DAT_INVALID_PARAMETER);
	assert_true(DAT_GET_SUBTYPE(rc) == DAT_INVALID_ARG3 ||
		    DAT_GET_SUBTYPE(rc) == DAT_INVALID_ARG4);
	r.length = PAGE;
	r.desc.for_va = NULL;
	expect_arg(create(&r), 3);
	assert_int_equal(munmap(hole + PAGE, PAGE), 0);
	r.desc.for_va = hole;
	r.length = 3 * PAGE;
	expect_arg(create(&r), 3);
	r.desc.for_va = hole + PAGE;
	r.length = 1;
	expect_arg(create(&r), 3);
	r.desc.for_va = hole;
	r.length = PAGE;
	expect_ok(create(&r));
	r.desc.for_va = hole + 2 * PAGE;
	expect_ok(create(&r));
}

static void lmr_7_regions_overlap_freely(void **state)
{
	struct ct_ia *ia = *state;
	static const DAT_MEM_PRIV_FLAGS privs[] = { DAT_MEM_PRIV_NONE_FLAG,
						    DAT_MEM_PRIV_LOCAL_READ_FLAG,
						    DAT_MEM_PRIV_ALL_FLAG };
	struct region r = good(ia);
	DAT_LMR_CONTEXT contexts[9];
	DAT_LMR_HANDLE lmrs[9];

	for (int i = 0; i < 9; i++) {
		struct region other = r;

		other.pz = i % 2 ? ct_pz(ia->ia) : r.pz;
		other.priv = privs[i % 3];
		other.desc.for_va = (char *)r.desc.for_va + i * 100;
		other.length = LEN - 1000;
		expect_ok(create(&other));
		query_agrees(&other);
		lmrs[i] = other.lmr;
		contexts[i] = other.lmr_context;
		/* LMR-27 */
		assert_int_not_equal(contexts[i], 0);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(contexts[i], contexts[j]);
	}
	for (int i = 0; i < 9; i++)
		expect_ok(dat_lmr_free(lmrs[i]));
}

static void lmr_8_nothing_need_be_aligned(void **state)
{
	struct region r = good(*state);
	char *base = r.desc.for_va;

	for (size_t offset = 0; offset < 9; offset++) {
		for (size_t len = 1; len < 10; len++) {
			r.desc.for_va = base + PAGE - 5 + offset;
			r.length = len;
			expect_ok(create(&r));
			assert_int_equal(r.registered_length, len);
			assert_ptr_equal((void *)(uintptr_t)r.registered_address, r.desc.for_va);
			expect_ok(dat_lmr_free(r.lmr));
		}
	}
}

static void lmr_8_memory_of_other_origins(void **state)
{
	static char initialised[PAGE] = "initialised";
	static char zeroed[PAGE];
	struct region r = good(*state);
	char stack[PAGE];
	void *origins[] = { initialised, zeroed, stack };

	for (int i = 0; i < 3; i++) {
		r.desc.for_va = origins[i];
		r.length = PAGE;
		expect_ok(create(&r));
		expect_ok(dat_lmr_free(r.lmr));
	}
}

static void lmr_9_only_three_types_exist(void **state)
{
	static const int types[] = { 3, 4, 7, -1, 0x7fffffff };
	struct region r = good(*state);

	for (int i = 0; i < 5; i++) {
		r.type = (DAT_MEM_TYPE)types[i];
		expect_arg(create(&r), 2);
	}
}

/* ---- Regions of regions ---- */

static void lmr_12_a_region_of_a_region(void **state)
{
	struct ct_ia *ia = *state;
	struct region source = good(ia), copy;

	source.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	expect_ok(create(&source));
	copy = source;
	copy.type = DAT_MEM_TYPE_LMR;
	copy.desc.for_lmr_handle = source.lmr;
	copy.pz = ct_pz(ia->ia);
	copy.priv = DAT_MEM_PRIV_ALL_FLAG;
	/* The length is ignored. */
	copy.length = 12345;
	expect_ok(create(&copy));
	assert_ptr_not_equal(copy.lmr, source.lmr);
	assert_int_not_equal(copy.lmr_context, source.lmr_context);
	assert_int_equal(copy.registered_length, LEN);
	assert_int_equal(copy.registered_address, source.registered_address);
	/* LMR-31: the source's. */
	copy.length = LEN;
	query_agrees(&copy);
	query_agrees(&source);
	expect_ok(dat_lmr_free(copy.lmr));
	expect_ok(dat_lmr_free(source.lmr));
}

static void lmr_12_either_may_be_freed_first(void **state)
{
	struct region source = good(*state), copy;

	expect_ok(create(&source));
	copy = source;
	copy.type = DAT_MEM_TYPE_LMR;
	copy.desc.for_lmr_handle = source.lmr;
	expect_ok(create(&copy));
	expect_ok(dat_lmr_free(source.lmr));
	/* LMR-33: the old handle value is still told. */
	query_agrees(&copy);
	/* And a copy of the copy. */
	source.type = DAT_MEM_TYPE_LMR;
	source.desc.for_lmr_handle = copy.lmr;
	expect_ok(create(&source));
	assert_int_equal(source.registered_address, copy.registered_address);
	expect_ok(dat_lmr_free(copy.lmr));
	expect_ok(dat_lmr_free(source.lmr));
}

static void lmr_12_the_source_must_be_a_live_region_of_the_adapter(void **state)
{
	struct ct_ia *ia = *state;
	struct region source = good(ia), copy, foreign;
	struct ct_ia other;
	int local = 0;

	expect_ok(create(&source));
	copy = source;
	copy.type = DAT_MEM_TYPE_LMR;
	copy.desc.for_lmr_handle = DAT_HANDLE_NULL;
	expect_handle(create(&copy), LMR);
	copy.desc.for_lmr_handle = source.pz;
	expect_handle(create(&copy), LMR);
	copy.desc.for_lmr_handle = (DAT_LMR_HANDLE)&local;
	expect_handle(create(&copy), LMR);
	copy.desc.for_lmr_handle = source.lmr;
	expect_ok(dat_lmr_free(source.lmr));
	expect_handle(create(&copy), LMR);
	ct_open(&other);
	foreign = good(&other);
	expect_ok(create(&foreign));
	copy.desc.for_lmr_handle = foreign.lmr;
	expect_handle(create(&copy), LMR);
	ct_close(&other);
}

/* ---- Kinds of addresses, privileges ---- */

static void lmr_20_other_address_types_are_refused(void **state)
{
	static const int types[] = { 2, 3, -1, 0x100 };
	struct region r = good(*state);

	for (int i = 0; i < 4; i++) {
		r.va_type = (DAT_VA_TYPE)types[i];
		expect_arg(create(&r), 7);
	}
}

static void lmr_23_24_combinations_of_privileges(void **state)
{
	struct region r = good(*state);

	for (int set = 0; set < 16; set++) {
		int priv = ((set & 1) ? DAT_MEM_PRIV_LOCAL_READ_FLAG : 0) |
			   ((set & 2) ? DAT_MEM_PRIV_REMOTE_READ_FLAG : 0) |
			   ((set & 4) ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : 0) |
			   ((set & 8) ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : 0);

		r.priv = (DAT_MEM_PRIV_FLAGS)priv;
		if ((set & 12) == 8) {
			expect_arg(create(&r), 6);
			continue;
		}
		expect_ok(create(&r));
		/* LMR-26 */
		assert_int_equal(r.rmr_context != 0, (set & 10) != 0);
		assert_int_not_equal(r.lmr_context, 0);
		query_agrees(&r);
		expect_ok(dat_lmr_free(r.lmr));
	}
}

static void lmr_25_unknown_privileges_are_refused(void **state)
{
	struct ct_ia *ia = *state;
	struct region r = good(ia);

	for (int bit = 0; bit < 32; bit++) {
		unsigned int flag = 1u << bit;

		if ((flag & DAT_MEM_PRIV_ALL_FLAG) != 0)
			continue;
		if (flag == 0x40 && ia->attr.extension_supported == DAT_EXTENSION_IB)
			continue;
		r.priv = (DAT_MEM_PRIV_FLAGS)flag;
		expect_arg(create(&r), 6);
		r.priv = (DAT_MEM_PRIV_FLAGS)(flag | DAT_MEM_PRIV_ALL_FLAG);
		expect_arg(create(&r), 6);
	}
}

/* ---- Query ---- */

static void lmr_31_each_field_alone(void **state)
{
	struct region r = good(*state);
	DAT_LMR_PARAM all, one;

	expect_ok(create(&r));
	expect_ok(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &all));
#define SAME(mask, field)                                                       \
	do {                                                                    \
		memset(&one, 0xa5, sizeof(one));                                \
		expect_ok(dat_lmr_query(r.lmr, DAT_LMR_FIELD_##mask, &one));    \
		assert_memory_equal(&one.field, &all.field, sizeof(one.field)); \
	} while (0)
	SAME(IA_HANDLE, ia_handle);
	SAME(MEM_TYPE, mem_type);
	SAME(REGION_DESC, region_desc.for_va);
	SAME(LENGTH, length);
	SAME(PZ_HANDLE, pz_handle);
	SAME(MEM_PRIV, mem_priv);
	SAME(VA_TYPE, va_type);
	SAME(LMR_CONTEXT, lmr_context);
	SAME(RMR_CONTEXT, rmr_context);
	SAME(REGISTERED_SIZE, registered_size);
	SAME(REGISTERED_ADDRESS, registered_address);
#undef SAME
	assert_int_equal(DAT_LMR_FIELD_ALL, 0x7ff);
}

static void lmr_32_query_checks_mask_and_structure(void **state)
{
	struct region r = good(*state);
	DAT_LMR_PARAM param;

	expect_ok(create(&r));
	for (int bit = 11; bit < 32; bit++)
		expect_arg(dat_lmr_query(r.lmr, (DAT_LMR_PARAM_MASK)(1u << bit), &param), 2);
	expect_arg(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, NULL), 3);
	expect_ok(dat_lmr_query(r.lmr, (DAT_LMR_PARAM_MASK)0, &param));
	expect_ok(dat_lmr_query(r.lmr, (DAT_LMR_PARAM_MASK)0, NULL));
}

/* ---- Freeing ---- */

static void lmr_29_the_zone_is_in_use_until_the_region_is_freed(void **state)
{
	struct region r = good(*state);

	expect_ok(create(&r));
	expect_state(dat_pz_free(r.pz), PZ_IN_USE);
	expect_ok(dat_lmr_free(r.lmr));
	expect_ok(dat_pz_free(r.pz));
}

static void lmr_34_a_freed_region_is_no_handle_and_memory_stays(void **state)
{
	struct region r = good(*state);
	DAT_LMR_PARAM param;

	memset(r.desc.for_va, 0x77, LEN);
	expect_ok(create(&r));
	expect_ok(dat_lmr_free(r.lmr));
	expect_handle(dat_lmr_free(r.lmr), LMR);
	expect_handle(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param), LMR);
	assert_int_equal(((char *)r.desc.for_va)[LEN - 1], 0x77);
	assert_int_equal(munmap(r.desc.for_va, LEN), 0);
}

static void lmr_38_a_context_does_not_come_back_at_once(void **state)
{
	struct region r = good(*state);
	DAT_LMR_CONTEXT lmr_context = 0;
	DAT_RMR_CONTEXT rmr_context = 0;

	for (int i = 0; i < 200; i++) {
		expect_ok(create(&r));
		assert_int_not_equal(r.lmr_context, lmr_context);
		assert_int_not_equal(r.rmr_context, rmr_context);
		lmr_context = r.lmr_context;
		rmr_context = r.rmr_context;
		expect_ok(dat_lmr_free(r.lmr));
	}
}

/* LMR-15 */
static void lmr_27_contexts_of_many_live_regions_differ(void **state)
{
	enum {
		MANY = 300
	};
	struct region r = good(*state);
	DAT_LMR_CONTEXT contexts[MANY];
	DAT_LMR_HANDLE lmrs[MANY];

	for (int i = 0; i < MANY; i++) {
		expect_ok(create(&r));
		lmrs[i] = r.lmr;
		contexts[i] = r.lmr_context;
		for (int j = 0; j < i; j++)
			assert_int_not_equal(contexts[i], contexts[j]);
	}
	for (int i = 0; i < MANY; i++)
		expect_ok(dat_lmr_free(lmrs[i]));
}

static void lmr_5_a_region_of_more_than_four_gigabytes(void **state)
{
	const size_t huge = (size_t)5 << 30;
	struct region r = good(*state);
	DAT_RETURN rc;
	void *base = mmap(NULL, huge, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		harness_skip("the machine gives no such range");
	/* A device pins all of it. */
	if ((size_t)sysconf(_SC_PHYS_PAGES) < huge / (size_t)sysconf(_SC_PAGESIZE) * 3 / 2)
		harness_skip("the machine has not the memory");
	r.desc.for_va = base;
	r.length = huge;
	rc = create(&r);
	if (rc != DAT_SUCCESS) {
		/* The device may refuse the length, or pinning it. */
		assert_true(DAT_GET_TYPE(rc) == DAT_INVALID_PARAMETER ||
			    DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES);
		harness_skip("the adapter refuses the length");
	}
	assert_true(r.registered_length == huge);
	query_agrees(&r);
	expect_ok(dat_lmr_free(r.lmr));
	munmap(base, huge);
}

/* ---- Threads ---- */

enum {
	CREATORS = 4,
	ROUNDS = 200
};

struct creator {
	struct region region;
	DAT_RETURN worst;
};

static void *create_and_free(void *arg)
{
	struct creator *creator = arg;
	struct region *r = &creator->region;
	DAT_RETURN rc = DAT_SUCCESS;

	for (int i = 0; i < ROUNDS && rc == DAT_SUCCESS; i++) {
		rc = dat_pz_create(r->ia, &r->pz);
		if (rc == DAT_SUCCESS)
			rc = create(r);
		if (rc == DAT_SUCCESS)
			rc = dat_lmr_free(r->lmr);
		if (rc == DAT_SUCCESS)
			rc = dat_pz_free(r->pz);
	}
	creator->worst = rc;
	return NULL;
}

static void lmr_30_pz_3_threads_create_at_once(void **state)
{
	struct creator creators[CREATORS];
	pthread_t threads[CREATORS];

	for (int i = 0; i < CREATORS; i++) {
		creators[i].region = good(*state);
		assert_int_equal(pthread_create(&threads[i], NULL, create_and_free, &creators[i]),
				 0);
	}
	for (int i = 0; i < CREATORS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < CREATORS; i++)
		expect_ok(creators[i].worst);
}

/* ---- Synchronising ---- */

typedef DAT_RETURN (*sync_function)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
/* LMR-40 */
static void lmr_39_41_synchronising(void **state)
{
	static const sync_function syncs[] = { dat_lmr_sync_rdma_read, dat_lmr_sync_rdma_write };
	struct ct_ia *ia = *state;
	struct region r = good(ia);
	DAT_LMR_TRIPLET segments[2] = { 0 };

	expect_ok(create(&r));
	segments[0].virtual_address = r.registered_address;
	segments[0].segment_length = LEN;
	segments[0].lmr_context = r.lmr_context;
	for (int i = 0; i < 2; i++) {
		expect_ok(syncs[i](ia->ia, segments, 1));
		/* A segment of no length is skipped. */
		expect_ok(syncs[i](ia->ia, segments, 2));
		expect_ok(syncs[i](ia->ia, segments, 0));
		expect_ok(syncs[i](ia->ia, NULL, 0));
		expect_arg(syncs[i](ia->ia, NULL, 1), 2);
		expect_handle(syncs[i](DAT_HANDLE_NULL, segments, 1), IA);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(lmr_1_3_11_a_virtual_region),
		T(lmr_2_all_but_the_handle_may_be_null),
		T(lmr_4_no_length_is_a_length_error),
		T(lmr_6_memory_that_is_not_there),
		T(lmr_7_regions_overlap_freely),
		T(lmr_8_nothing_need_be_aligned),
		T(lmr_8_memory_of_other_origins),
		T(lmr_9_only_three_types_exist),
		T(lmr_12_a_region_of_a_region),
		T(lmr_12_either_may_be_freed_first),
		T(lmr_12_the_source_must_be_a_live_region_of_the_adapter),
		T(lmr_20_other_address_types_are_refused),
		T(lmr_23_24_combinations_of_privileges),
		T(lmr_25_unknown_privileges_are_refused),
		T(lmr_31_each_field_alone),
		T(lmr_32_query_checks_mask_and_structure),
		T(lmr_29_the_zone_is_in_use_until_the_region_is_freed),
		T(lmr_34_a_freed_region_is_no_handle_and_memory_stays),
		T(lmr_38_a_context_does_not_come_back_at_once),
		T(lmr_27_contexts_of_many_live_regions_differ),
		T(lmr_5_a_region_of_more_than_four_gigabytes),
		T(lmr_30_pz_3_threads_create_at_once),
		T(lmr_39_41_synchronising),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
