/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What threads of ours stand on. Linked a second time as a program with code on its stacks. */
#include "dapl/base/thread.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include <inttypes.h>

#include "dapl/transport.h"

/* What the kernel knows of the memory around an address. */
struct mapping {
	uintptr_t start, end;
	char access[5], below[5]; /* of the mapping that ends where it starts: nothing: "" */
	char flags[256];
};

static struct mapping mapping_at(uintptr_t address)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	uintptr_t start, end, before = 0;
	char line[512], access[5], last[5] = "";
	struct mapping found = { 0 };

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &start, &end, access) == 3) {
			if (start <= address && address < end) {
				found.start = start;
				found.end = end;
				strcpy(found.access, access);
				strcpy(found.below, before == start ? last : "");
			}
			before = end;
			strcpy(last, access);
		} else if (found.end && !*found.flags) {
			sscanf(line, "VmFlags: %255[^\n]", found.flags);
		}
	}
	fclose(file);
	return found;
}

/* A thread's view. */
struct view {
	struct mapping stack;
	uintptr_t frame;
	sigset_t signals;
	char name[16];
};

static void *look(void *arg)
{
	struct view *view = arg;

	view->frame = (uintptr_t)__builtin_frame_address(0);
	view->stack = mapping_at(view->frame);
	pthread_sigmask(SIG_SETMASK, NULL, &view->signals);
	/* Set by who starts it, and maybe later than this. */
	while (strcmp(view->name, "dapl-test"))
		pthread_getname_np(pthread_self(), view->name, sizeof(view->name));
	return NULL;
}

static size_t usual_size(void)
{
	pthread_attr_t attr;
	size_t size;

	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_getstacksize(&attr, &size), 0);
	pthread_attr_destroy(&attr);
	return size;
}

static struct view started_on(struct dapl_stack *stack)
{
	struct view view = { 0 };
	pthread_t thread;

	assert_int_equal(dapl_thread_start_on(stack, &thread, "dapl-test", look, &view), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return view;
}

#ifndef CODE_ON_STACKS
static bool has_flag(const struct mapping *mapping, const char *flag)
{
	char padded[sizeof(mapping->flags) + 2];

	snprintf(padded, sizeof(padded), " %s ", mapping->flags);
	return strstr(padded, flag);
}

/*
 * From 6.7 on Linux keeps huge pages away from every thread's stack: there this holds without us.
 * On a kernel before it does not.
 */
static void a_stack_has_the_usual_size_a_guard_and_no_huge_page(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = usual_size();
	struct dapl_stack stack = { 0 };
	struct view view = started_on(&stack);

	(void)state;
	assert_non_null(stack.memory);
	assert_true(stack.size == size + page);
	assert_true(view.stack.start == (uintptr_t)stack.memory + page);
	assert_true(view.stack.end >= view.stack.start + size);
	assert_true(view.frame < view.stack.start + size);
	assert_string_equal(view.stack.access, "rw-p");
	assert_string_equal(view.stack.below, "---p");
	if (!access("/sys/kernel/mm/transparent_hugepage", F_OK))
		assert_true(has_flag(&view.stack, " nh "));
	dapl_stack_free(&stack);
}

/* Without memory of its own, which might be given the place. */
static bool is_mapped(uintptr_t at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char resident;

	return !mincore((void *)(at / page * page), 1, &resident);
}

static void a_freed_stack_is_the_kernels_again(void **state)
{
	struct dapl_stack stack = { 0 };
	struct view view = started_on(&stack);

	(void)state;
	assert_true(is_mapped(view.frame));
	dapl_stack_free(&stack);
	assert_false(is_mapped(view.frame));
	assert_null(stack.memory);
	dapl_stack_free(&stack);
}

/* All of it can be used. */
static void *fill(void *arg)
{
	volatile char room[1 << 16]; /* musl's threads have 128 KiB */
	size_t i;

	for (i = 0; i < sizeof(room); i += 512)
		room[i] = (char)i;
	*(bool *)arg = room[512] == 0;
	return NULL;
}

static void a_stack_is_as_deep_as_it_says(void **state)
{
	struct dapl_stack stack = { 0 };
	bool filled = false;
	pthread_t thread;

	(void)state;
	assert_int_equal(dapl_thread_start_on(&stack, &thread, "dapl-test", fill, &filled), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(filled);
	dapl_stack_free(&stack);
}
#else
/* The C library sees to it, also for what is loaded later. */
static void a_program_with_code_on_stacks_gets_such_a_stack(void **state)
{
	struct dapl_stack stack = { 0 };
	struct view view = started_on(&stack);

	(void)state;
	assert_null(stack.memory);
	assert_string_equal(view.stack.access, "rwxp");
	assert_true(view.stack.end - view.stack.start >= usual_size());
	dapl_stack_free(&stack);
}
#endif

static void set_usual_size(size_t size)
{
	pthread_attr_t attr;

	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, size), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

/* Nothing is left of the attempt. */
static void a_stack_larger_than_the_address_space_is_an_error(void **state)
{
	struct dapl_stack stack = { 0 };
	size_t size = usual_size();
	pthread_t thread;
	int rc;

	(void)state;
	set_usual_size(SIZE_MAX / 4 * 3);
	rc = dapl_thread_start_on(&stack, &thread, "dapl-test", look, NULL);
	set_usual_size(size);
	assert_int_not_equal(rc, 0);
	assert_null(stack.memory);
}

static void a_size_of_the_programs_holds(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = usual_size();
	struct dapl_stack stack = { 0 };
	struct view view;

	(void)state;
	set_usual_size(1234567);
	view = started_on(&stack);
	set_usual_size(size);
	assert_true(view.stack.end > view.stack.start);
#ifndef CODE_ON_STACKS
	assert_true(stack.size == page + (1234567 + page - 1) / page * page);
#else
	(void)page;
#endif
	dapl_stack_free(&stack);
}

/* But for what can be a fault of the thread itself. */
static bool all_blocked(const sigset_t *signals)
{
	int i;

	for (i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP && i != SIGSEGV && i != SIGBUS &&
		    !sigismember(signals, i))
			return false;
	return true;
}

static void the_programs_signals_are_not_for_it(void **state)
{
	struct dapl_stack stack = { 0 };
	struct view view = started_on(&stack), small = { 0 };
	pthread_t thread;
	sigset_t mine;

	(void)state;
	assert_true(all_blocked(&view.signals));
	assert_int_equal(dapl_thread_start(&thread, "dapl-test", DAPL_SMALL_STACK, look, &small),
			 0);
	pthread_join(thread, NULL);
	assert_true(all_blocked(&small.signals));
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	assert_false(all_blocked(&mine));
	dapl_stack_free(&stack);
}

/*
 * The program's thread-local variables stand on each stack. They leave so much of a small one that
 * the C library starts a thread there, which would not get far.
 */
static __thread volatile char large[DAPL_SMALL_STACK - 10 * 1024];

static void a_small_stack_makes_room_for_them(void **state)
{
	struct view view = { 0 };
	pthread_t thread;

	(void)state;
	large[0] = 1;
	assert_int_equal(dapl_thread_start(&thread, "dapl-test", DAPL_SMALL_STACK, look, &view), 0);
	pthread_join(thread, NULL);
	assert_true(view.frame - view.stack.start > DAPL_SMALL_STACK / 4 * 3);
}

/* struct sched_attr of the kernel. */
struct sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice, deadline, period;
};

struct raised {
	int drop; /* the right to a lower nice value */
	struct sched before, after;
};

static void *raise_priority(void *arg)
{
	struct raised *raised = arg;

	if (raised->drop && syscall(SYS_setresuid, 65534, 65534, 65534)) /* of this thread alone */
		return "setresuid";
	if (syscall(SYS_sched_getattr, 0, &raised->before, sizeof(raised->before), 0))
		return "sched_getattr";
	dapl_thread_raise_priority();
	if (syscall(SYS_sched_getattr, 0, &raised->after, sizeof(raised->after), 0))
		return "sched_getattr";
	return NULL;
}

static struct raised raise_in_a_thread(int drop)
{
	struct raised raised = { .drop = drop };
	pthread_t thread;
	void *wrong;

	assert_int_equal(pthread_create(&thread, NULL, raise_priority, &raised), 0);
	pthread_join(thread, &wrong);
	if (wrong)
		fail_msg("%s", (const char *)wrong);
	assert_int_equal(raised.after.policy, raised.before.policy);
	assert_int_equal(raised.after.priority, raised.before.priority);
	return raised;
}

static void its_slice_is_shorter(void **state)
{
	struct raised raised = raise_in_a_thread(0);

	(void)state;
	if (!raised.before.slice) {
		print_message("this kernel has no slices of threads\n");
		skip();
	}
	assert_in_range(raised.after.slice, 1, 100000);
}

/* Of a thread alone; NULL: it may have a lower nice value, and drop the right to. */
static void *try_nice(void *arg)
{
	(void)arg;
	if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1) ||
	    syscall(SYS_setresuid, 65534, 65534, 65534) ||
	    !setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1))
		return "no";
	return NULL;
}

static void its_nice_value_is_lower_where_that_is_allowed(void **state)
{
	struct raised raised;
	pthread_t thread;
	void *cannot;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, try_nice, NULL), 0);
	pthread_join(thread, &cannot);
	if (cannot) {
		print_message("needs root with CAP_SYS_NICE, and RLIMIT_NICE 0\n");
		skip();
	}
	raised = raise_in_a_thread(0);
	if (raised.before.nice >= -10)
		assert_int_equal(raised.after.nice, raised.before.nice - 10);
	raised = raise_in_a_thread(1);
	assert_int_equal(raised.after.nice, raised.before.nice);
	assert_int_equal(raised.after.flags, raised.before.flags);
	if (raised.before.slice)
		assert_in_range(raised.after.slice, 1, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef CODE_ON_STACKS
		cmocka_unit_test(a_stack_has_the_usual_size_a_guard_and_no_huge_page),
		cmocka_unit_test(a_freed_stack_is_the_kernels_again),
		cmocka_unit_test(a_stack_is_as_deep_as_it_says),
#else
		cmocka_unit_test(a_program_with_code_on_stacks_gets_such_a_stack),
#endif
		cmocka_unit_test(a_stack_larger_than_the_address_space_is_an_error),
		cmocka_unit_test(a_size_of_the_programs_holds),
		cmocka_unit_test(the_programs_signals_are_not_for_it),
		cmocka_unit_test(its_slice_is_shorter),
		cmocka_unit_test(its_nice_value_is_lower_where_that_is_allowed),
		cmocka_unit_test(a_small_stack_makes_room_for_them),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
