/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every call with every kind of handle that is none: the subtype of GEN-20 and no crash; and every
 * call with a good handle: the provider's function of that name.
 */
#include "test/unit/dat_util.h"
#include "test/unit/dat_calls.h"

#define DATS_WEAK
#include "dat/dats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static DAT_CONTEXT no_context;
static DAT_DTO_COOKIE no_cookie;
static DAT_REGION_DESCRIPTION no_region;
static DAT_OS_WAIT_PROXY_AGENT no_agent;

enum slot {
#define SLOT(name, kind, args) SLOT_##name,
	DAT_CALLS(SLOT)
#undef SLOT
	NUM_SLOTS,
};

#define MARK(slot) ((DAT_RETURN)(DAT_EXTENSION_BASE + (slot)))

/* One function for each slot, whatever its arguments: it says which it is. */
#define STUB(name, kind, args)              \
	static DAT_RETURN stub_##name(void) \
	{                                   \
		return MARK(SLOT_##name);   \
	}
DAT_CALLS(STUB)
#undef STUB

static DAT_RETURN open_stub(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia);

static DAT_RETURN close_stub(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)flags;
	*(void **)ia = NULL;
	return DAT_SUCCESS;
}

static DAT_RETURN ext_stub(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	(void)handle;
	(void)op;
	(void)args;
	return MARK(NUM_SLOTS);
}

static DAT_RETURN related_stub(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *answer)
{
	(void)ia;
	(void)name;
	(void)answer;
	return DAT_NOT_IMPLEMENTED;
}

#define SLOT(name, kind, args) .name##_func = (void *)stub_##name,
static DAT_PROVIDER full_table = {
	DAT_CALLS(SLOT).ia_open_func = open_stub,
	.ia_close_func = close_stub,
	.ia_ha_related_func = related_stub,
	.handle_extendedop_func = ext_stub,
};
#undef SLOT

/* A foreign provider's tables: one full, one with nothing but what it takes to open and close. */
static struct fake foreign;
static DAT_PROVIDER foreign_full, foreign_empty;

static char *chunk;
static DAT_IA_HANDLE arena_ia, foreign_ia;

static void *slot(int n)
{
	return chunk + n * DATS_SLOT_SIZE;
}

static DAT_RETURN open_stub(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)evd;
	*(DAT_PROVIDER **)slot(0) = &full_table;
	*ia = slot(0);
	return DAT_SUCCESS;
}

static DAT_RETURN call(enum slot which, void *h)
{
	switch (which) {
#define CALL(name, kind, args) \
	case SLOT_##name:      \
		return dat_##name args;
		DAT_CALLS(CALL)
#undef CALL
	default:
		return 0;
	}
}

static const char *const call_names[] = {
#define NAME(name, kind, args) [SLOT_##name] = #name,
	DAT_CALLS(NAME)
#undef NAME
};

enum kind {
	IA,
	EP,
	EVD,
	CR,
	CNO,
	LMR,
	RMR,
	PSP,
	RSP,
	CSP,
	PZ,
	SRQ,
	ANY
};

static const enum kind call_kinds[] = {
#define KIND(name, kind, args) [SLOT_##name] = kind,
	DAT_CALLS(KIND)
#undef KIND
};

/* GEN-20 */
static const DAT_RETURN invalid[] = {
	[IA] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
	[EP] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
	[EVD] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
	[CR] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
	[CNO] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO),
	[LMR] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR),
	[RMR] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
	[PSP] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP),
	[RSP] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP),
	[CSP] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP),
	[PZ] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
	[SRQ] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ),
	[ANY] = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
};

static void expect(enum slot which, void *handle, const char *what, DAT_RETURN expected)
{
	DAT_RETURN rc = call(which, handle);

	if (rc != expected)
		fail_msg("dat_%s with %s (%p): 0x%x, not 0x%x", call_names[which], what, handle, rc,
			 expected);
}

/* The rest of the calls that take a handle. */
static void refused_elsewhere(void *handle, const char *what)
{
	DAT_EVD_HANDLE evd = handle;
	DAT_IA_HANDLE ia, out;

	assert_int_equal(dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG), invalid[IA]);
	assert_int_equal(DAT_GET_TYPE(dats_get_ia_handle(handle, &out)), DAT_INVALID_HANDLE);
	/* NULL and 1 say something else to an open (IA-3). */
	if ((uintptr_t)handle > 1 &&
	    dat_ia_openv((DAT_NAME_PTR) "arena", 8, &evd, &ia, 2, 0, DAT_FALSE) !=
		    RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC))
		fail_msg("dat_ia_openv took %s (%p) for an EVD", what, handle);
	if (handle && dat_extension_op(handle, 0) != RC(DAT_NOT_IMPLEMENTED, 0) &&
	    dat_extension_op(handle, 0) != RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1))
		fail_msg("dat_extension_op took %s (%p)", what, handle);
}

static void refused(void *handle, const char *what)
{
	enum slot which;

	for (which = 0; which < NUM_SLOTS; which++)
		expect(which, handle, what, invalid[call_kinds[which]]);
	refused_elsewhere(handle, what);
}

static void null_handles(void **state)
{
	(void)state;
	refused(NULL, "NULL");
	assert_int_equal(dat_extension_op(NULL, 0), RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
}

static void small_integers(void **state)
{
	static const uintptr_t values[] = { 3,	  8,	63,   64,    65,    512,      1024,
					    4088, 4095, 4096, 65535, 65536, 0xffff000 };
	size_t i;

	(void)state;
	for (i = 0; i < NUM_OF(values); i++)
		refused((void *)values[i], "a small integer");
}

static void misaligned(void **state)
{
	static const int offsets[] = { 1, 2, 4, 7, 8, 16, 64, 256, 511 };
	size_t i;

	(void)state;
	for (i = 0; i < NUM_OF(offsets); i++) {
		refused((char *)slot(1) + offsets[i], "a misaligned handle");
		refused((char *)slot(1) - offsets[i], "a misaligned handle");
	}
}

static void ordinary_memory(void **state)
{
	static DAT_PROVIDER *in_data = &full_table;
	DAT_PROVIDER *on_stack = &full_table;
	DAT_PROVIDER **on_heap = aligned_alloc(DATS_SLOT_SIZE, DATS_SLOT_SIZE);
	DAT_PROVIDER **mapped =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	*on_heap = *mapped = &full_table;
	refused(&in_data, "memory of the program");
	refused(&on_stack, "memory of the stack");
	refused(on_heap, "memory of the heap");
	refused(mapped, "a mapped page");
	free(on_heap);
	munmap(mapped, 4096);
}

static void unmapped(void **state)
{
	static const uintptr_t values[] = {
		(uintptr_t)0xdeadbeef000ull,	  (uintptr_t)0x7ffffffff000ull,
		(uintptr_t)0x800000000000ull,	  (uintptr_t)0xffff800000000000ull,
		(uintptr_t)0xfffffffffffffe00ull, UINTPTR_MAX
	};
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	(void)state;
	refused(page, "a page without access");
	munmap(page, 4096);
	refused(page, "a page that is gone");
	for (i = 0; i < NUM_OF(values); i++)
		refused((void *)values[i], "an unmapped address");
}

/* Slots of the arena that are no objects. */
static void freed_slots(void **state)
{
	void *gone;

	(void)state;
	refused(slot(2), "a slot never used");
	*(DAT_PROVIDER **)slot(2) = &full_table;
	expect(SLOT_ep_free, slot(2), "an object", MARK(SLOT_ep_free));
	*(DAT_PROVIDER **)slot(2) = NULL;
	refused(slot(2), "a freed object");
	assert_int_equal(dats_arena_grant(&gone), 0);
	*(DAT_PROVIDER **)gone = &full_table;
	dats_arena_return(gone);
	refused(gone, "an object of a chunk that went back");
	refused((char *)gone + DATS_CHUNK_SIZE, "a chunk never granted");
	refused(chunk + ((size_t)32 << 20), "a chunk never granted");
}

static void outside_the_arena(void **state)
{
	const size_t beyond = SIZE_MAX > UINT32_MAX ? (size_t)((uint64_t)64 << 30) : 512u << 20;

	(void)state;
	refused(chunk - DATS_SLOT_SIZE, "what lies below the arena");
	refused(chunk + beyond, "what lies above the arena");
}

/* Every call reaches its own slot. */
static void gen_16_dispatch(void **state)
{
	enum slot which;

	(void)state;
	for (which = 0; which < NUM_SLOTS; which++) {
		if (call_kinds[which] != IA)
			expect(which, slot(1), "an object", MARK(which));
		if (call_kinds[which] == IA || call_kinds[which] == ANY)
			expect(which, arena_ia, "an IA", MARK(which));
		if (call_kinds[which] == IA)
			expect(which, slot(0), "a provider's own IA pointer", invalid[IA]);
	}
}

/* With a foreign module its handles work too, and what can be told from an object is still refused.
 */
static void foreign_objects(void **state)
{
	DAT_PROVIDER *object = &foreign_full;
	enum slot which;

	(void)state;
	assert_int_equal(dat_registry_add_provider(&foreign.table, &foreign.info), DAT_SUCCESS);
	for (which = 0; which < NUM_SLOTS; which++)
		if (call_kinds[which] != IA)
			expect(which, &object, "a foreign object", MARK(which));
	object = NULL;
	refused(&object, "a freed foreign object");
	null_handles(state);
	misaligned(state);
	freed_slots(state);
	refused((void *)3, "a small integer");
	refused((void *)4088, "the low page");
	refused((char *)&object + 1, "a misaligned foreign object");
	gen_16_dispatch(state);
	assert_int_equal(dat_registry_remove_provider(&foreign.table, &foreign.info), DAT_SUCCESS);
	object = &foreign_full;
	refused(&object, "a foreign object after its provider left");
}

static void gen_10_null_slots(void **state)
{
	DAT_PROVIDER *object = &foreign_empty;
	enum slot which;

	(void)state;
	assert_int_equal(dat_registry_add_provider(&foreign.table, &foreign.info), DAT_SUCCESS);
	assert_int_equal(util_open("foreign", 2, 0, DAT_FALSE, &foreign_ia), DAT_SUCCESS);
	for (which = 0; which < NUM_SLOTS; which++) {
		if (call_kinds[which] != IA)
			expect(which, &object, "a table without slots", RC(DAT_NOT_IMPLEMENTED, 0));
		if ((call_kinds[which] == IA && which != SLOT_ia_query) || call_kinds[which] == ANY)
			expect(which, foreign_ia, "a table without slots",
			       RC(DAT_NOT_IMPLEMENTED, 0));
	}
	assert_int_equal(dat_ia_close(foreign_ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&foreign.table, &foreign.info), DAT_SUCCESS);
}

/* Whoever claims to use the arena must have a full table. */
static void arena_users_have_full_tables(void **state)
{
	DAT_PROVIDER table = full_table;

	(void)state;
	table.srq_set_lw_func = NULL;
	assert_int_equal(dats_provider_uses_arena(&table), -22);
	table = full_table;
	table.handle_extendedop_func = NULL;
	assert_int_equal(dats_provider_uses_arena(&table), -22);
	assert_int_equal(dats_provider_uses_arena(NULL), -22);
	/* Saying it twice is saying it once. */
	assert_int_equal(dats_provider_uses_arena(&full_table), 0);
}

/* The next table of that address may be that of a foreign provider. */
static void a_declaration_ends_where_adding_fails(void **state)
{
	DAT_PROVIDER_INFO nameless = { .dapl_version_major = 2 };
	DAT_PROVIDER table = full_table, *object = &foreign_full;

	(void)state;
	assert_int_equal(dats_provider_uses_arena(&table), 0);
	assert_int_equal(dat_registry_add_provider(&table, &nameless),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(dat_registry_add_provider(&table, &foreign.info), DAT_SUCCESS);
	expect(SLOT_ep_free, &object, "a foreign object", MARK(SLOT_ep_free));
	assert_int_equal(dat_registry_remove_provider(&table, &foreign.info), DAT_SUCCESS);
}

static void stale_ia_numbers(void **state)
{
	DAT_IA_HANDLE second;
	enum slot which;

	(void)state;
	assert_int_equal(dat_registry_add_provider(&foreign.table, &foreign.info), DAT_SUCCESS);
	assert_int_equal(util_open("foreign", 2, 0, DAT_FALSE, &second), DAT_SUCCESS);
	assert_int_equal(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	for (which = 0; which < NUM_SLOTS; which++)
		expect(which, second, "a closed IA", invalid[call_kinds[which]]);
	assert_int_equal(dat_registry_remove_provider(&foreign.table, &foreign.info), DAT_SUCCESS);
}

static int setup(void **state)
{
	static DAT_PROVIDER_INFO info;
	void *granted;

	(void)state;
	if (dats_arena_grant(&granted) || dats_provider_uses_arena(&full_table))
		return -1;
	chunk = granted;
	*(DAT_PROVIDER **)slot(1) = &full_table;
	fake_init(&foreign, "foreign", 2, 0, DAT_FALSE);
	foreign_full = full_table;
	info = util_info("arena", 2, 0, DAT_FALSE);
	return dat_registry_add_provider(&full_table, &info) != DAT_SUCCESS ||
	       util_open("arena", 2, 0, DAT_FALSE, &arena_ia) != DAT_SUCCESS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_handles),
		cmocka_unit_test(small_integers),
		cmocka_unit_test(misaligned),
		cmocka_unit_test(ordinary_memory),
		cmocka_unit_test(unmapped),
		cmocka_unit_test(freed_slots),
		cmocka_unit_test(outside_the_arena),
		cmocka_unit_test(gen_16_dispatch),
		cmocka_unit_test(foreign_objects),
		cmocka_unit_test(gen_10_null_slots),
		cmocka_unit_test(arena_users_have_full_tables),
		cmocka_unit_test(a_declaration_ends_where_adding_fails),
		cmocka_unit_test(stale_ia_numbers),
	};

	_Static_assert(NUM_SLOTS + 8 == 83,
		       "every call of the headers is in the list or tested by name");
	util_conf("");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, util_cleanup);
}
