/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/conformance/harness.h"
#include "test/dat-1.2/sweep.h"
#include "test/dat-1.2/compare.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

struct pair sweep_types[64], sweep_subtypes[128], sweep_events[64];

const char *const sweep_calls[] = {
#define CALL(name) "dat_" #name,
#include "dat-1.2/calls.def"
	NULL
};

static bool any_of(const char *name, const char *const *prefixes)
{
	for (; *prefixes != NULL; prefixes++)
		if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
			return true;
	return false;
}

/* The enumerations are told apart by the ranges of their numbers and by their names. */
static __attribute__((constructor)) void sort(void)
{
	static const char *const subtypes[] = { "DAT_SUB_INTERRUPTED",
						"DAT_RESOURCE_",
						"DAT_INVALID_HANDLE",
						"DAT_INVALID_ARG",
						"DAT_INVALID_STATE_",
						"DAT_PRIVILEGES_",
						"DAT_PROTECTION_",
						"DAT_INVALID_ADDRESS_",
						"DAT_NAME_NOT_REG",
						"DAT_MAJOR_NOT",
						"DAT_MINOR_NOT",
						"DAT_THREAD_SAFETY_",
						NULL };
	static const char *const events[] = {
		"DAT_DTO_COMPLETION_EVENT", "DAT_RMR_BIND_COMPLETION_EVENT",
		"DAT_CONNECTION_",	    "DAT_ASYNC_ERROR_",
		"DAT_SOFTWARE_EVENT",	    "DAT_HA_DOWN_TO_1",
		"DAT_HA_UP_TO_MULTI_PATH",  NULL
	};
	size_t types = 0, subs = 0, evs = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct pair *p = &numbers[i];

		if (p->new != ABSENT && p->new >= 0x10000 && (p->new & 0xffff) == 0 &&
		    (p->new < 0x180000 || p->new == 0x3fff0000 || p->new == 0x10000000) &&
		    strstr(p->name, "EVENT") == NULL &&strstr(p->name, "FIELD") ==
			    NULL &&strncmp(p->name, "DAT_", 4) == 0 &&
		    strstr(p->name, "RANGE") == NULL &&strstr(p->name, "MASK") == NULL)
			sweep_types[types++] = *p;
		if (any_of(p->name, subtypes) && p->new != ABSENT && p->new < 104 && p->new > 0)
			sweep_subtypes[subs++] = *p;
		if (any_of(p->name, events) && p->new != ABSENT && p->new >= 0x1000)
			sweep_events[evs++] = *p;
	}
	sweep_events[evs++] = (struct pair){ "an extension's event", ABSENT, 0x20000 };
	sweep_events[evs] = (struct pair){ "another extension's event", ABSENT, 0x20007 };
}

unsigned int sweep_mask(const char *prefix, struct pair bits[64])
{
	unsigned int n = 0;

	for (int bit = 0; bit < 63; bit++) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			const struct pair *p = &numbers[i];

			if (strncmp(p->name, prefix, strlen(prefix)) == 0 &&
			    p->old == INT64_C(1) << bit) {
				bits[n++] = *p;
				break;
			}
		}
	}
	return n;
}

static int by_place(const void *a, const void *b)
{
	return ((const struct member *)a)->old - ((const struct member *)b)->old;
}

unsigned int sweep_structure(const char *name, struct member found[64])
{
	size_t len = strlen(name);
	unsigned int n = 0;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (strncmp(members[i].name, name, len) == 0 && members[i].name[len] == '.')
			found[n++] = members[i];
	qsort(found, n, sizeof(*found), by_place);
	return n;
}

void sweep_member(const struct member *m, const unsigned char *old, const unsigned char *new)
{
	int same = m->old_size < m->new_size ? m->old_size : m->new_size;

	if (memcmp(old + m->old, new + m->new, (size_t)same) != 0)
		fail_msg("%s has another value", m->name);
	for (int i = same; i < m->old_size; i++) /* widened with zeroes */
		assert_int_equal(old[m->old + i], 0);
}

void sweep_members(const char *structure, const unsigned char *old, const unsigned char *new)
{
	struct member found[64];
	unsigned int n = sweep_structure(structure, found);

	assert_true(n > 0);
	for (unsigned int i = 0; i < n; i++)
		sweep_member(&found[i], old, new);
}

uint32_t sweep_call(const char *name)
{
	typedef uint32_t (*func)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
				 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
	func call = (func)(uintptr_t)dlvsym(RTLD_DEFAULT, name, "DAT_1.2");

	assert_non_null(call);
	return call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

void *sweep_edge(size_t len)
{
	unsigned char *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	return pages + 4096 - len;
}
