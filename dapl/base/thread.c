/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/thread.h"

#include <link.h>
#include <sched.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/thread.h"

enum {
	SHORT_SLICE_NS = 100000, /* the shortest there is */
	NICER = 10,		 /* nine times the share of a thread of the program's */
};

/* ---- Stacks ---- */

/* An object without the header was built before there was one, unless it is the kernel's. */
static int wants_code_on_stacks(struct dl_phdr_info *object, size_t size, void *arg)
{
	int i;

	if (object->dlpi_addr && object->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		return 0;
	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_GNU_STACK)
			return (object->dlpi_phdr[i].p_flags & PF_X) != 0;
	return 1;
}

/*
 * Linux before 6.7 may put a huge page where the stack ends, and then the first call takes two MiB
 * of memory. To be told otherwise it has to be told before the first touch, which is the C
 * library's when it makes the thread. What runs code on its stacks gets the C library's.
 */
static void make_stack(struct dapl_stack *stack, pthread_attr_t *attr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
	char *memory;

	if (dl_iterate_phdr(wants_code_on_stacks, NULL) || pthread_attr_getstacksize(attr, &size))
		return;
	size = (size + page - 1) / page * page;
	memory = mmap(NULL, page + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (memory == MAP_FAILED)
		return;
	madvise(memory, page + size, MADV_NOHUGEPAGE); /* fails where there are none */
	if (mprotect(memory + page, size, PROT_READ | PROT_WRITE) ||
	    pthread_attr_setstack(attr, memory + page, size)) {
		munmap(memory, page + size);
		return;
	}
	*stack = (struct dapl_stack){ .memory = memory, .size = page + size };
}

void dapl_stack_free(struct dapl_stack *stack)
{
	if (stack->memory)
		munmap(stack->memory, stack->size);
	*stack = (struct dapl_stack){ 0 };
}

/* ---- Threads ---- */

/* struct sched_attr of the kernel, whose header the C library's contradicts. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static long set_attr(struct attr attr, int nicer)
{
	if (attr.runtime > SHORT_SLICE_NS)
		attr.runtime = SHORT_SLICE_NS;
	attr.nice = attr.nice - nicer < PRIO_MIN ? PRIO_MIN : attr.nice - nicer;
	return syscall(SYS_sched_setattr, 0, &attr, 0);
}

/*
 * Linux has told the slice of a thread since 6.12 (before that it is 0), and lets one with a shorter
 * slice in before that of the one that runs is over, as long as it has not run more than its share.
 * That share is larger for a lower nice value, which needs CAP_SYS_NICE or RLIMIT_NICE. Threads of
 * other policies keep what they have.
 */
void dapl_thread_raise_priority(void)
{
	struct attr attr = { .size = sizeof(attr) };

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) || attr.policy != SCHED_OTHER)
		return;
	if (set_attr(attr, NICER))
		set_attr(attr, 0);
}

void dapl_thread_drop_priority(void)
{
	struct attr attr = { .size = sizeof(attr) };

	if (!syscall(SYS_sched_getattr, getpid(), &attr, sizeof(attr), 0) &&
	    attr.policy == SCHED_OTHER)
		syscall(SYS_sched_setattr, 0, &attr, 0);
}

int dapl_thread_start(pthread_t *thread, const char *name, size_t stack, void *(*run)(void *),
		      void *arg)
{
	return dats_thread_start(thread, name, stack, run, arg);
}

int dapl_thread_start_on(struct dapl_stack *stack, pthread_t *thread, const char *name,
			 void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc)
		return rc;
	make_stack(stack, &attr);
	rc = dats_thread_create(thread, &attr, name, run, arg);
	if (rc)
		dapl_stack_free(stack);
	pthread_attr_destroy(&attr);
	return rc;
}
