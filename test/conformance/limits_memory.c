/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Out of memory: the resource code, one message on standard error that names the limit and its
 * knob, and everything works again when there is room. Each case is a process of its own.
 */
#include "limits_util.h"
#include "harness.h"
#include "test/anew.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Leaves so many bytes of address space. */
static void limit_memory(size_t spare)
{
	unsigned long pages = 0;
	struct rlimit limit;
	FILE *file = fopen("/proc/self/statm", "re");

	MUST(file != NULL && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	MUST(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + spare;
	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void unlimit_memory(void)
{
	struct rlimit limit;

	MUST(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
}

static int no_memory_for_dispatchers(void)
{
	static DAT_EVD_HANDLE evds[4096];
	DAT_COUNT qlen;
	DAT_RETURN rc;
	struct limits_rig r;
	int n = 0;

	limits_open(&r);
	qlen = r.attr.max_evd_qlen < 65536 ? r.attr.max_evd_qlen : 65536;
	limit_memory(64 << 20);
	limits_mark("here");
	do {
		rc = dat_evd_create(r.ia, qlen, DAT_HANDLE_NULL,
				    DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &evds[n]);
		n += rc == DAT_SUCCESS;
	} while (rc == DAT_SUCCESS && n < 4096);
	MUST_LACK(rc);
	limits_mark("again");
	unlimit_memory();
	while (n > 0)
		MUST_OK(dat_evd_free(evds[--n]));
	limits_work_again(&r);
	return 0;
}

static int no_memory_for_endpoints(void)
{
	static DAT_EP_HANDLE eps[65536];
	DAT_EP_PARAM param;
	DAT_RETURN rc;
	struct limits_rig r;
	int n = 0;

	limits_open(&r);
	MUST_OK(dat_ep_query(r.a, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.max_recv_dtos = param.ep_attr.max_request_dtos =
		r.attr.max_dto_per_ep < 4096 ? r.attr.max_dto_per_ep : 4096;
	limit_memory(64 << 20);
	limits_mark("here");
	do {
		rc = dat_ep_create(r.ia, r.pz, r.dto, r.dto, r.connect, &param.ep_attr, &eps[n]);
		n += rc == DAT_SUCCESS;
	} while (rc == DAT_SUCCESS && n < 65536);
	MUST_LACK(rc);
	limits_mark("again");
	unlimit_memory();
	while (n > 0)
		MUST_OK(dat_ep_free(eps[--n]));
	limits_work_again(&r);
	return 0;
}

static int no_memory_for_a_resize(void)
{
	DAT_COUNT qlen;
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE evd;
	struct limits_rig r;

	limits_open(&r);
	MUST_OK(dat_evd_create(r.ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	MUST_OK(dat_evd_post_se(evd, &event));
	qlen = r.attr.max_evd_qlen;
	limit_memory((size_t)qlen * sizeof(DAT_EVENT) / 8);
	limits_mark("here");
	MUST_LACK(dat_evd_resize(evd, qlen));
	limits_mark("again");
	unlimit_memory();
	/* The queue is what it was. */
	MUST_OK(dat_evd_dequeue(evd, &event));
	MUST_OK(dat_evd_resize(evd, 100));
	limits_work_again(&r);
	return 0;
}

/* A process that starts with little address space opens the adapter, or is told what it lacks. */
static int little_memory(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	limits_mark("here");
	rc = dat_ia_open(harness_ia_name(), 8, &async, &ia);
	if (rc != DAT_SUCCESS) {
		MUST_LACK(rc);
		return 0;
	}
	dprintf(STDERR_FILENO, "(limit: enough; knob: none)\n");
	limits_mark("again");
	MUST_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}

static int start_with_little_memory(void)
{
	struct rlimit limit = { .rlim_cur = 512 << 20, .rlim_max = 512 << 20 };

	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	EXEC_ANEW("--child", "little_memory");
	return 1;
}

#define MEMORY(name)                                                           \
	static void memory_##name(void **state)                                \
	{                                                                      \
		(void)state;                                                   \
		if (harness_sanitized())                                       \
			harness_skip("sanitizers need all the address space"); \
		limits_run(#name);                                             \
	}

MEMORY(no_memory_for_dispatchers)
MEMORY(no_memory_for_endpoints)
MEMORY(no_memory_for_a_resize)
MEMORY(start_with_little_memory)

#define T(f) cmocka_unit_test(f)
#define C(f)          \
	{             \
#f, f \
	}

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		C(no_memory_for_dispatchers), C(no_memory_for_endpoints), C(no_memory_for_a_resize),
		C(start_with_little_memory),  C(little_memory),		  { NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(memory_no_memory_for_dispatchers),
		T(memory_no_memory_for_endpoints),
		T(memory_no_memory_for_a_resize),
		T(memory_start_with_little_memory),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
