/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pages of registered memory: huge ones, those that the device pages in, and forks. zoo.sh says for
 * which adapter and with which options each test is.
 */
#include "test/conformance/conn_util.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/zoo/asks.h"

#define HUGE_PAGE ((size_t)2 << 20)

static DAT_RETURN reg(struct cu_rig *rig, void *at, size_t len, struct ct_mem *mem)
{
	DAT_REGION_DESCRIPTION region = { .for_va = at };
	DAT_VLEN size;
	DAT_VADDR start;

	*mem = (struct ct_mem){ .base = at, .len = len };
	return dat_lmr_create(rig->ia, DAT_MEM_TYPE_VIRTUAL, region, len, rig->a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &mem->lmr, &mem->lmr_context,
			      &mem->rmr_context, &size, &start);
}

/* ---- Huge pages ---- */

static void huge_pages_are_memory_like_other(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET iov;
	struct ct_mem mem;
	void *at = mmap(NULL, HUGE_PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (at == MAP_FAILED)
		harness_skip("the machine has no huge pages to give (vm.nr_hugepages)");
	expect_ok(reg(rig, at, HUGE_PAGE, &mem));
	cu_establish(rig, &rig->a, &rig->p);
	cu_fill(mem.base, 65536, 7);
	iov = ct_segment(&mem, 4096, 32768);
	expect_ok(cu_recv(&rig->p, 0, 65536, 1));
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &iov, cu_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 32768);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 32768);
	assert_memory_equal(rig->p.mem.base, mem.base + 4096, 32768);
	expect_ok(dat_lmr_free(mem.lmr));
	munmap(at, HUGE_PAGE);
}

/* ---- Paging by the device ---- */

/* ZOO_ON_DEMAND: whether the device has it. */
static void memory_is_paged_in_where_the_device_can(void **state)
{
	struct cu_rig *rig = *state;

	assert_true(count("mrs") > 0);
	assert_int_equal(count("on_demand"), number("ZOO_ON_DEMAND", 0) ? count("mrs") : 0);
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(cu_recv(&rig->p, 0, 65536, 1));
	expect_ok(ct_post_send(&rig->a, 0, 65536, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 65536);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 65536);
}

static int open_it(void)
{
	void *state;

	cu_setup_ends(&state);
	return cu_teardown(&state);
}

static void that_the_device_cannot_is_told_once(void **state)
{
	const char *const env[] = { "DAPL_VERBS_ON_DEMAND=1", NULL };
	struct harness_result result;
	const char *said;

	(void)state;
	harness_spawn("open", env, &result);
	assert_int_equal(result.status, 0);
	said = strstr(result.err, "registered memory stays pinned");
	assert_non_null(said);
	assert_null(strstr(said + 1, "registered memory stays pinned"));
}

/* ---- Forks ---- */

static int fork_it(void)
{
	void *state;
	pid_t pid;

	cu_setup_ends(&state);
	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return cu_teardown(&state);
}

/* Of a kernel that copies no pages at a fork (no_copy_on_fork). */
static void a_fork_that_may_lose_data_is_told_once(void **state)
{
	const char *const safe[] = { "DAPL_VERBS_FORK_SAFE=1", NULL };
	struct harness_result result;
	const char *said;

	(void)state;
	harness_spawn("fork", NULL, &result);
	assert_int_equal(result.status, 0);
	said = strstr(result.err, "fork_safe");
	assert_non_null(said);
	assert_null(strstr(said + 1, "fork_safe"));
	harness_spawn("fork", safe, &result);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.err, "");
}

static void a_fork_that_copies_is_not_told(void **state)
{
	struct harness_result result;

	(void)state;
	harness_spawn("fork", NULL, &result);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.err, "");
}

/* All memory is in huge pages (huge=1), which only libibverbs sees. */
static int register_huge(void)
{
	struct cu_rig *rig = cu_rig_open();
	char *at = aligned_alloc(4096, 8192);
	struct ct_mem mem;
	bool failed;

	rig->a.pz = ct_pz(rig->ia);
	failed = reg(rig, at, 8192, &mem) != DAT_SUCCESS;
	cu_rig_close(rig);
	free(at);
	return failed;
}

static void huge_pages_that_a_fork_parts_are_told(void **state)
{
	const char *const env[] = { "DAPL_VERBS_FORK_SAFE=1", NULL };
	const char *const both[] = { "DAPL_VERBS_FORK_SAFE=1", "RDMAV_HUGEPAGES_SAFE=1", NULL };
	struct harness_result result;

	(void)state;
	harness_spawn("huge", env, &result);
	assert_int_not_equal(result.status, 0);
	assert_non_null(strstr(result.err, "RDMAV_HUGEPAGES_SAFE=1"));
	harness_spawn_ok("huge", both);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "open", open_it }, { "fork", fork_it }, { "huge", register_huge }, { NULL, NULL }
	};
	static const struct CMUnitTest tests[] = {
		T(huge_pages_are_memory_like_other),
		T(memory_is_paged_in_where_the_device_can),
		cmocka_unit_test(that_the_device_cannot_is_told_once),
		cmocka_unit_test(a_fork_that_may_lose_data_is_told_once),
		cmocka_unit_test(a_fork_that_copies_is_not_told),
		cmocka_unit_test(huge_pages_that_a_fork_parts_are_told),
	};

	harness_child_main(argc, argv, children);

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
