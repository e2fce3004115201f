/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process whose address space, locked memory or stacks are limited. */
#include "test/unit/dat_util.h"

#define DATS_WEAK
#include "dat/dats.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static rlim_t status_bytes(const char *key)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");
	rlim_t value = 0;

	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			value = strtoul(line + strlen(key), NULL, 10) * 1024;
	fclose(file);
	return value;
}

static int leave_address_space(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = status_bytes("VmSize:") + bytes;
	return setrlimit(RLIMIT_AS, &limit);
}

static int in_little_address_space(void *arg)
{
	const int fit = (128 << 20) / DATS_CHUNK_SIZE;
	int granted = 0;
	void *chunk;

	(void)arg;
	EXPECT(!leave_address_space((rlim_t)200 << 20));
	while (granted < 4096 && !dats_arena_grant(&chunk))
		granted++;
	/* 128 MiB fit below the limit; the end of them is an error. */
	EXPECT(granted == fit || granted == fit - 1); /* it need not begin at a chunk */
	dats_arena_return(chunk);
	EXPECT(!dats_arena_grant(&chunk));
	EXPECT(dats_arena_grant(&chunk) == -ENOMEM);
	return 0;
}

static int in_no_address_space(void *arg)
{
	void *chunk;

	(void)arg;
	EXPECT(!leave_address_space((rlim_t)32 << 20));
	EXPECT(dats_arena_grant(&chunk) == -ENOMEM);
	EXPECT(!dats_arena_holds(&chunk));
	return 0;
}

static void address_space(void **state)
{
	struct outcome o;

	(void)state;
	util_child(in_little_address_space, NULL, &o);
	util_child(in_no_address_space, NULL, &o);
}

/* A program that locks its memory does not thereby fill the whole range. */
static int with_locked_memory(void *arg)
{
	rlim_t before;
	char *bytes;
	void *chunk;

	(void)arg;
	EXPECT(!mlockall(MCL_CURRENT | MCL_FUTURE));
	before = status_bytes("VmRSS:") + status_bytes("VmPTE:");
	EXPECT(!dats_arena_grant(&chunk));
	bytes = memset(chunk, 1, DATS_CHUNK_SIZE);
	EXPECT(status_bytes("VmRSS:") + status_bytes("VmPTE:") - before < (2 << 20));
	dats_arena_return(chunk);
	EXPECT(!bytes[0] && !bytes[DATS_CHUNK_SIZE - 1]);
	return 0;
}

static void locked_memory(void **state)
{
	struct outcome o;

	(void)state;
	util_child(with_locked_memory, NULL, &o);
}

static void *ask_for_nobody(void *arg)
{
	DAT_IA_HANDLE ia;

	*(DAT_RETURN *)arg = util_open("nobody", 2, 0, DAT_FALSE, &ia);
	return NULL;
}

#ifdef __OPTIMIZE__
#define SMALL_STACK 20480ul
#else
#define SMALL_STACK 65536ul
#endif

/* What a user is told of a name that nothing serves fits on a small stack. */
static int on_a_small_stack(void *arg)
{
	/* No processor's threads have less than PTHREAD_STACK_MIN. */
	size_t size = PTHREAD_STACK_MIN;
	pthread_attr_t attr;
	pthread_t thread;
	DAT_RETURN rc = 0;

	(void)arg;
	setenv("DAT_OVERRIDE", util_conf("fab0 u2.0 nonthreadsafe default /lib.so p.1.0 x y\n"), 1);
	EXPECT(!pthread_attr_init(&attr));
	if (size < SMALL_STACK)
		size = SMALL_STACK;
	EXPECT(!pthread_attr_setstacksize(&attr, size));
	EXPECT(!pthread_create(&thread, &attr, ask_for_nobody, &rc));
	pthread_attr_destroy(&attr);
	EXPECT(!pthread_join(thread, NULL));
	EXPECT_RC(rc, RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	return 0;
}

static void small_stack(void **state)
{
	struct outcome o;

	(void)state;
	util_child(on_a_small_stack, NULL, &o);
	assert_non_null(strstr(o.err, "has no entry of that name, but: fab0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_space),
		cmocka_unit_test(locked_memory),
		cmocka_unit_test(small_stack),
	};
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

#ifdef SANITIZED
	puts("1..0 # SKIP sanitizers reserve more addresses than any limit leaves");
	return 0;
#endif
	setrlimit(RLIMIT_MEMLOCK, &all);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || munlockall()) {
		printf("1..0 # SKIP cannot lock memory: %s; see ulimit -l\n", strerror(errno));
		return 0;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
