/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Faults in memory that a program has unmapped, as processors tell of them (DTO-84). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "providers/soft/memory/copy.h"
#include "util/compiler.h"

enum {
	PAGE = 4096,
};

/* What the program's own handler was told. */
static volatile int passed_on;
static void *volatile passed_addr;

static void own_handler(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	passed_on++;
	passed_addr = info->si_addr;
}

/* A fault of this thread, as the kernel would tell of one at that address. */
static void fault_at(void *addr)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGSEGV;
	info.si_code = SEGV_MAPERR;
	info.si_addr = addr;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGSEGV, &info);
}

/* Whether an access to the memory goes on after that. */
static bool access_with(void *mem, size_t len, void *told)
{
	const struct iovec iov = { .iov_base = mem, .iov_len = len };
	struct soft_guard guard;

	passed_on = 0;
	if (sigsetjmp(guard.env, 0))
		return false;
	soft_guard_enter(&guard, &iov, 1);
	fault_at(told);
	soft_guard_leave();
	return true;
}

static void assert_caught(void *mem, size_t len, void *told)
{
	assert_false(access_with(mem, len, told));
	assert_int_equal(passed_on, 0);
}

static void assert_passed_on(void *mem, size_t len, void *told)
{
	assert_true(access_with(mem, len, told));
	assert_int_equal(passed_on, 1);
	assert_ptr_equal(passed_addr, told);
}

/* An emulator may not pass on the address of a signal that one sends oneself. */
static bool addresses_come_along(void)
{
	passed_on = 0;
	passed_addr = NULL;
	fault_at((void *)(5 * PAGE));
	return passed_on == 1 && passed_addr == (void *)(5 * PAGE);
}

/* s390x tells which page it was, and no more. */
static void an_address_may_be_the_pages(void)
{
	uint8_t *page = (uint8_t *)(uintptr_t)(8 * PAGE);

	assert_caught(page + 100, 8, page + 100);
	assert_caught(page + 100, 8, page);
	assert_passed_on(page + 100, 8, page - PAGE);
	assert_passed_on(page + 100, 8, page + PAGE);
	assert_passed_on(page + 100, 0, page);
	/* Across the end of a page. */
	assert_caught(page + PAGE - 6, 20, page);
	assert_caught(page + PAGE - 6, 20, page + PAGE);
	assert_passed_on(page + PAGE - 6, 20, page + 2 * PAGE);
	/* Up to the end of a page, and from its start. */
	assert_passed_on(page, PAGE, page + PAGE);
	assert_passed_on(page, PAGE, page - 1);
	assert_caught(page, PAGE, page + PAGE - 1);
}

/* Whatever the processor tells: every place of memory that is gone, by all accesses. */
static void memory_that_is_gone_is_told(void)
{
	static const size_t at[] = { 0, 1, 100, PAGE - 9, PAGE - 4, PAGE - 1, PAGE };
	uint8_t own[16] = { 0 }, *gone;
	uint32_t sum;

	gone = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(gone != MAP_FAILED);
	assert_true(soft_copy_in(gone, own, sizeof(own)));
	assert_int_equal(munmap(gone, 3 * PAGE), 0);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		for (size_t len = 1; len <= sizeof(own); len++) {
			sum = 0;
#ifndef WITH_TSAN /* It holds a lock of its own over a release store, also after the fault. */
			assert_false(soft_copy_in(gone + at[i], own, len));
#endif
			assert_false(soft_copy_out(own, gone + at[i], len));
			assert_false(soft_copy_sum(&sum, own, gone + at[i], len));
			assert_false(soft_copy_probe(gone + at[i], len));
		}
}

/* In one test: a handler that is installed later, as cmocka's of the next one, comes first. */
static void faults_in_memory_of_the_program(void **state)
{
	struct sigaction action = { .sa_sigaction = own_handler, .sa_flags = SA_SIGINFO };

	(void)state;
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	if (addresses_come_along()) {
		soft_guard_install();
		an_address_may_be_the_pages();
	} else {
		print_message("# without what a fault's address is: it does not come along\n");
		soft_guard_install();
	}
	memory_that_is_gone_is_told();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_in_memory_of_the_program),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("soft_guard", tests, NULL, NULL);
}
