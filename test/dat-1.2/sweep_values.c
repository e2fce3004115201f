/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What goes to libdat2 by value, in segments and by contexts of regions, and what a program reads about
 * any answer. See sweep.c.
 */
#include "test/dat-1.2/native.h"
#include "test/dat-1.2/fake.h"
#include "test/dat-1.2/sweep.h"

#include <dlfcn.h>

#define HANDLE(n)  ((DAT_HANDLE)(uintptr_t)(0x10000 * (n)))
#define ANY	   HANDLE(1)
#define ALL_RIGHTS DAT_MEM_PRIV_ALL_FLAG
#define DEFAULT	   DAT_COMPLETION_DEFAULT_FLAG

/* ---- Headers ---- */

static DAT_UINT32 asked[3];

static DAT_RETURN ask_version(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			      DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			      DAT_BOOLEAN thread_safety)
{
	(void)name;
	(void)qlen;
	(void)async;
	(void)ia;
	asked[0] = major;
	asked[1] = minor;
	asked[2] = (DAT_UINT32)thread_safety;
	return DAT_SUCCESS;
}

#ifndef dat_ia_open
#error "dat_ia_open is no macro"
#endif

static void d12_10_open_is_a_macro(void **state)
{
	(void)state;
#define dat_ia_openv ask_version
	assert_int_equal(dat_ia_open((DAT_NAME_PTR) "any", 8, NULL, NULL), DAT_SUCCESS);
#undef dat_ia_openv
	assert_int_equal(asked[0], 1);
	assert_int_equal(asked[1], 2);
	assert_int_equal(asked[2], DAT_FALSE);
	assert_null(dlsym(RTLD_DEFAULT, "dat_ia_open"));
}

#define IS(type, other)                                                               \
	_Static_assert(__builtin_types_compatible_p(type, other) && sizeof(type) > 0, \
		       #type " is no " #other)

static void d12_7_types(void **state)
{
	(void)state;
	IS(DAT_UINT32, uint32_t);
	_Static_assert(sizeof(DAT_UINT64) == 8 && (DAT_UINT64)-1 > 0, "DAT_UINT64");
	IS(DAT_UVERYLONG, unsigned long long);
	IS(DAT_COUNT, int);
	IS(DAT_PVOID, void *);
	IS(DAT_SOCK_ADDR, struct sockaddr);
	IS(DAT_SOCK_ADDR6, struct sockaddr_in6);
	IS(DAT_IA_ADDRESS_PTR, struct sockaddr *);
	assert_int_equal(sizeof(DAT_SOCK_ADDR), 16);
	assert_int_equal(sizeof(DAT_SOCK_ADDR6), 28);
}

/* ---- Texts ---- */

static void has_text(DAT_RETURN rc)
{
	const char *major = NULL, *minor = NULL;

	if (dat_strerror(rc, &major, &minor) != DAT_SUCCESS || major == NULL || minor == NULL)
		fail_msg("0x%08x has no text", rc);
}

/* Every type with every subtype, and whatever becomes of any word of libdat2. */
static void d12_36_every_word_has_a_text(void **state)
{
	unsigned int words = 0;

	(void)state;
	for (const struct pair *type = sweep_types; type->name != NULL; type++) {
		for (uint32_t sub = 0; sub <= 103; sub++) {
			for (uint32_t class = 0; class < 4; class ++, words++) {
				uint32_t got;

				if (type->old != ABSENT && sub <= 101)
					has_text(class << 30 | (uint32_t)type->old | sub);
				fake_answer(class << 30 | (uint32_t)type->new | sub);
				got = dat_pz_free(ANY);
				fake_off();
				has_text(got);
			}
		}
	}
	assert_true(words > 20 * 100 * 4);
}

/* ---- By value ---- */

#define FIRST  UINT64_C(0x1122334455667788)
#define SECOND UINT64_C(0x99aabbccddeeff00)

static void two_words(unsigned int at)
{
	fake_off();
	assert_true(fake_last.words[at] == FIRST);
	assert_true(fake_last.words[at + 1] == SECOND);
}

static void d12_69_what_goes_by_value(void **state)
{
	const DAT_CONTEXT context = { .as_64 = FIRST };
	const uint64_t words[2] = { FIRST, SECOND };
	DAT_REGION_DESCRIPTION region;
	DAT_OS_WAIT_PROXY_AGENT agent;
	DAT_LMR_HANDLE lmr;

	(void)state;
	assert_int_equal(sizeof(region), sizeof(words));
	assert_int_equal(sizeof(agent), sizeof(words));
	memcpy(&region, words, sizeof(words));
	memcpy(&agent, words, sizeof(words));
	fake_answer(DAT_CLASS_ERROR | DAT_INVALID_STATE);
	(void)dat_lmr_create(ANY, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 1, ANY, ALL_RIGHTS, &lmr,
			     NULL, NULL, NULL, NULL);
	two_words(2);
	fake_answer(DAT_SUCCESS);
	assert_int_equal(dat_cno_create(ANY, agent, NULL), DAT_SUCCESS);
	two_words(1);
	fake_answer(DAT_SUCCESS);
	assert_int_equal(dat_cno_modify_agent(ANY, agent), DAT_SUCCESS);
	two_words(1);
	fake_answer(DAT_SUCCESS);
	assert_int_equal(dat_set_consumer_context(ANY, context), DAT_SUCCESS);
	assert_true(fake_last.words[1] == FIRST);
	assert_int_equal(dat_ep_post_send(ANY, 0, NULL, context, DEFAULT), DAT_SUCCESS);
	assert_true(fake_last.words[3] == FIRST);
	assert_int_equal(dat_ep_post_recv(ANY, 0, NULL, context, DEFAULT), DAT_SUCCESS);
	assert_true(fake_last.words[3] == FIRST);
	assert_int_equal(dat_srq_post_recv(ANY, 0, NULL, context), DAT_SUCCESS);
	assert_true(fake_last.words[3] == FIRST);
	fake_off();
}

/* The target of a transfer; what stands in pad is nobody's business (D12-40). */
static void d12_38_to_40_triplets(void **state)
{
	static const uint32_t pads[] = { 0, 0xdeadbeef };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	(void)state;
	assert_int_equal(sizeof(DAT_RMR_TRIPLET), 24);
	for (int i = 0; i < 4; i++) {
		DAT_RMR_TRIPLET to = { .rmr_context = 0x77,
				       .pad = pads[i % 2],
				       .target_address = FIRST,
				       .segment_length = 0xfffffff0 };
		unsigned char new[16];
		uint32_t length, context;
		uint64_t address;

		fake_answer(DAT_SUCCESS);
		fake_look(4, sizeof(new));
		assert_int_equal((i < 2 ? dat_ep_post_rdma_write : dat_ep_post_rdma_read)(
					 ANY, 0, NULL, cookie, &to, DEFAULT),
				 DAT_SUCCESS);
		fake_off();
		memcpy(new, fake_last.seen, sizeof(new));
		memcpy(&address, new, sizeof(address)); /* 2.0: address, length, context */
		memcpy(&length, new + 8, sizeof(length));
		memcpy(&context, new + 12, sizeof(context));
		assert_true(address == FIRST && length == 0xfffffff0 && context == 0x77);
	}
}

/* ---- Regions and windows ---- */

static void d12_94_only_windows_of_endpoints(void **state)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL, made = HANDLE(3);
	uint32_t none = DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;

	(void)state;
	fake_answer(none);
	fake_then(1, DAT_SUCCESS);
	assert_int_equal(dat_rmr_create(ANY, &rmr), DAT_SUCCESS);
	assert_int_equal(fake_calls, 2);
	assert_string_equal(fake_last.name, "dat_rmr_create_for_ep");
	assert_ptr_equal((void *)(uintptr_t)fake_last.words[0], ANY);
	assert_ptr_equal((void *)(uintptr_t)fake_last.words[1], &rmr);
	fake_answer(none);
	assert_int_equal(dat_rmr_create(ANY, &rmr), none);
	fake_answer(DAT_SUCCESS); /* one of a zone is preferred */
	fake_put(1, &made, sizeof(made));
	assert_int_equal(dat_rmr_create(ANY, &rmr), DAT_SUCCESS);
	assert_int_equal(fake_calls, 1);
	assert_string_equal(fake_last.name, "dat_rmr_create");
	assert_ptr_equal(rmr, made);
	fake_off();
}

static void d12_95_types_of_memory(void **state)
{
	static const DAT_MEM_TYPE types[] = { DAT_MEM_TYPE_VIRTUAL, DAT_MEM_TYPE_LMR,
					      DAT_MEM_TYPE_SHARED_VIRTUAL };
	DAT_REGION_DESCRIPTION region = { .for_va = NULL };
	struct member members[64];
	unsigned int n = sweep_structure("dat_provider_attr", members), seen = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		DAT_LMR_HANDLE lmr;

		fake_answer(DAT_CLASS_ERROR | DAT_INVALID_STATE);
		(void)dat_lmr_create(ANY, types[i], region, 1, ANY, ALL_RIGHTS, &lmr, NULL, NULL,
				     NULL, NULL);
		fake_off();
		assert_string_equal(fake_last.name, "dat_lmr_create");
		assert_int_equal((uint32_t)fake_last.words[1], types[i]);
	}
	for (unsigned int i = 0; i < n; i++) {
		if (strstr(members[i].name, "lmr_mem_types_supported") == NULL)
			continue;
		for (int bit = 0; bit < 3; bit++, seen++) {
			unsigned char new[520] = { 0 };
			DAT_PROVIDER_ATTR attr;

			new[members[i].new] = (unsigned char)(1 << bit);
			fake_answer(DAT_SUCCESS);
			fake_put(5, new, sizeof(new));
			assert_int_equal(dat_ia_query(ANY, NULL, 0, NULL,
						      DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED,
						      &attr),
					 DAT_SUCCESS);
			fake_off();
			assert_int_equal(attr.lmr_mem_types_supported, 1 << bit);
		}
	}
	assert_int_equal(seen, 3);
}

/* A region of an IA, which libdat2 is said to have made with this handle and context. */
static void make(DAT_IA_HANDLE ia, DAT_LMR_HANDLE made, uint32_t context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = NULL };
	DAT_LMR_HANDLE lmr;

	fake_answer(DAT_SUCCESS);
	fake_put(8, &made, sizeof(made));
	fake_put(9, &context, sizeof(context));
	assert_int_equal(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 1, ANY, ALL_RIGHTS, &lmr,
					NULL, NULL, NULL, NULL),
			 DAT_SUCCESS);
	fake_off();
	assert_ptr_equal(lmr, made);
}

static uint32_t free_it(DAT_LMR_HANDLE lmr, uint32_t context, uint32_t answer)
{
	struct member members[64];
	unsigned int n = sweep_structure("dat_lmr_param", members);
	unsigned char new[128] = { 0 };
	DAT_RETURN rc;

	for (unsigned int i = 0; i < n; i++)
		if (strstr(members[i].name, ".lmr_context") != NULL)
			memcpy(new + members[i].new, &context, sizeof(context));
	fake_answer(DAT_SUCCESS); /* of the query before it */
	fake_put(2, new, 80);
	fake_then(1, answer);
	rc = dat_lmr_free(lmr);
	fake_off();
	assert_int_equal(fake_calls, 2);
	return rc;
}

/* The region that a bind names is this one, or none. */
static void names(uint32_t context, DAT_LMR_HANDLE lmr)
{
	DAT_LMR_TRIPLET what = { .lmr_context = context, .segment_length = 1 };
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT got;

	fake_answer(DAT_SUCCESS);
	assert_int_equal(dat_rmr_bind(ANY, &what, ALL_RIGHTS, ANY, cookie, DEFAULT, &got),
			 DAT_SUCCESS);
	fake_off();
	assert_ptr_equal((void *)(uintptr_t)fake_last.words[1], lmr);
}

static DAT_RETURN close_ia(DAT_IA_HANDLE ia, uint32_t answer)
{
	DAT_RETURN rc;

	fake_answer(answer);
	rc = dat_ia_close(ia, DAT_CLOSE_DEFAULT);
	fake_off();
	return rc;
}

#define IN_USE (DAT_CLASS_ERROR | DAT_INVALID_STATE)

static void d12_91_the_newest_of_equal_contexts(void **state)
{
	const uint32_t context = 0x4711;

	(void)state;
	names(context, DAT_HANDLE_NULL);
	make(HANDLE(1), HANDLE(5), context);
	names(context, HANDLE(5));
	make(HANDLE(1), HANDLE(6), context);
	names(context, HANDLE(6));
	names(context + 1, DAT_HANDLE_NULL);
	names(context + 1024, DAT_HANDLE_NULL);
	assert_int_equal(free_it(HANDLE(6), context, IN_USE), IN_USE);
	names(context, HANDLE(6)); /* it is there still */
	assert_int_equal(free_it(HANDLE(6), context, DAT_SUCCESS), DAT_SUCCESS);
	names(context, HANDLE(5));
	make(HANDLE(1), HANDLE(7), context);
	assert_int_equal(free_it(HANDLE(5), context, DAT_SUCCESS), DAT_SUCCESS);
	names(context, HANDLE(7));
	assert_int_equal(close_ia(HANDLE(1), IN_USE), IN_USE);
	names(context, HANDLE(7));
	assert_int_equal(close_ia(HANDLE(2), DAT_SUCCESS), DAT_SUCCESS);
	names(context, HANDLE(7));
	assert_int_equal(close_ia(HANDLE(1), DAT_SUCCESS), DAT_SUCCESS);
	names(context, DAT_HANDLE_NULL);
}

/* Of two IAs, libdat2 refuses the region of the one that the window is not of. */
static void d12_91_93_contexts_are_of_an_ia(void **state)
{
	const uint32_t context = 0x4712, foreign = DAT_CLASS_ERROR | DAT_INVALID_HANDLE | 13;
	DAT_LMR_TRIPLET what = { .lmr_context = context, .segment_length = 1 };
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT got;

	(void)state;
	assert_int_equal(DAT_INVALID_HANDLE_LMR, foreign & 0xffff);
	make(HANDLE(1), HANDLE(5), context);
	make(HANDLE(2), HANDLE(6), context);
	fake_answer(foreign);
	fake_then(1, DAT_SUCCESS);
	expect_ok(dat_rmr_bind(ANY, &what, ALL_RIGHTS, ANY, cookie, DEFAULT, &got));
	fake_off();
	assert_ptr_equal((void *)(uintptr_t)fake_last.words[1], HANDLE(5));
	fake_answer(foreign);
	expect_arg(dat_rmr_bind(ANY, &what, ALL_RIGHTS, ANY, cookie, DEFAULT, &got), 2);
	fake_off();
	assert_int_equal(close_ia(HANDLE(1), DAT_SUCCESS), DAT_SUCCESS);
	names(context, HANDLE(6));
	assert_int_equal(close_ia(HANDLE(2), DAT_SUCCESS), DAT_SUCCESS);
	names(context, DAT_HANDLE_NULL);
}

/* ---- Masks that go as they are, or not at all ---- */

#define ALL_OF_CNO 4 /* DAT_CNO_FIELD_ALL of DAT 2.0, whose values are not bits */

static void d12_60_masks_of_cnos_and_srqs(void **state)
{
	void *const before = (void *)(uintptr_t)FIRST;
	DAT_CNO_PARAM cno;
	DAT_SRQ_PARAM srq;

	(void)state;
	for (unsigned int bit = 0; bit < 31; bit++) {
		uint32_t mask = UINT32_C(1) << bit;

		cno.agent.instance_data = cno.ia_handle = before;
		fake_answer(DAT_SUCCESS);
		if (mask & DAT_CNO_FIELD_ALL) {
			expect_ok(dat_cno_query(ANY, (DAT_CNO_PARAM_MASK)mask, &cno));
			assert_int_equal((uint32_t)fake_last.words[1], ALL_OF_CNO);
			assert_int_equal(cno.ia_handle == before, mask != DAT_CNO_FIELD_IA_HANDLE);
			assert_int_equal(cno.agent.instance_data == before,
					 mask != DAT_CNO_FIELD_AGENT);
		} else {
			expect_arg(dat_cno_query(ANY, (DAT_CNO_PARAM_MASK)mask, &cno), 2);
			assert_int_equal(fake_calls, 0);
		}
		fake_off();
		fake_answer(DAT_SUCCESS);
		expect_ok(dat_srq_query(ANY, (DAT_SRQ_PARAM_MASK)mask, &srq));
		fake_off();
		assert_true((uint32_t)fake_last.words[1] == (mask | DAT_SRQ_FIELD_SRQ_STATE));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(d12_7_types),
		cmocka_unit_test(d12_10_open_is_a_macro),
		cmocka_unit_test(d12_36_every_word_has_a_text),
		cmocka_unit_test(d12_38_to_40_triplets),
		cmocka_unit_test(d12_60_masks_of_cnos_and_srqs),
		cmocka_unit_test(d12_69_what_goes_by_value),
		cmocka_unit_test(d12_91_the_newest_of_equal_contexts),
		cmocka_unit_test(d12_91_93_contexts_are_of_an_ia),
		cmocka_unit_test(d12_94_only_windows_of_endpoints),
		cmocka_unit_test(d12_95_types_of_memory),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
