/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who runs, and what time it is. */
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "test/sim/libc.h"
#include "test/sim/sim.h"

enum {
	STACK_BYTES = 256 << 10,
	MAIN_STACK_BYTES = 1 << 20,
	MAX_LIBRARIES = 4,
	TLS_BYTES = 2048, /* thread-local variables of the libraries */
	MAX_LATER = 4096,
	MAX_STEPS = 200000000,
};

enum state {
	FREE,
	READY,
	BLOCKED,
	ENDED,
};

struct fiber {
	enum state state;
	bool begun, woken;
	int held;	 /* mutexes */
	uint64_t expiry; /* happened, where it goes on at once as its wait expired; 0: woken */
	int host;
	uint32_t id, weight;
	char name[24];
	const void *on; /* what it waits for, or NULL */
	struct sim_file *file[SIM_WATCHED];
	uint64_t deadline;
	void *(*run)(void *);
	void *arg, *value;
	void *key_value[SIM_MAX_KEYS];
	uint8_t *stack;
	jmp_buf env;
	int err; /* errno while it does not run */
	uint8_t tls[TLS_BYTES];
};

static struct fiber fibers[SIM_MAX_FIBERS] = { { .state = READY, .begun = true, .weight = 1 } };
struct fiber *fiber_self = fibers;
uint64_t sim_now = 1000000000;
static uint64_t frozen[SIM_MAX_HOSTS];
static int thawed = -1; /* host that lets go of what others wait for */
static uint32_t next_id, most;
static uint64_t happened = 1; /* how often somebody else went on, or something arrived */

/* ---- Thread-local variables of the libraries ---- */

static struct library {
	uint8_t *at;
	const uint8_t *image;
	size_t image_size, size;
} libraries[MAX_LIBRARIES];
static uint32_t num_libraries;

struct tls_index {
	unsigned long module, offset;
};
void *__tls_get_addr(struct tls_index *index);

static int find_tls(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct library *library = &libraries[num_libraries];
	struct tls_index index = { object->dlpi_tls_modid, 0 };

	(void)size;
	(void)arg;
	if (!libc_is_library(object->dlpi_name) || !object->dlpi_tls_modid)
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		if (object->dlpi_phdr[i].p_type != PT_TLS)
			continue;
		library->image = (const uint8_t *)object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
		library->image_size = object->dlpi_phdr[i].p_filesz;
		library->size = object->dlpi_phdr[i].p_memsz;
		library->at = __tls_get_addr(&index);
		num_libraries++;
	}
	return 0;
}

static void init_tls(struct fiber *fiber)
{
	uint8_t *to = fiber->tls;

	for (uint32_t i = 0; i < num_libraries; i++) {
		if (to + libraries[i].size > fiber->tls + TLS_BYTES)
			sim_fail("the libraries' thread-local variables need more room");
		memcpy(to, libraries[i].image, libraries[i].image_size);
		memset(to + libraries[i].image_size, 0,
		       libraries[i].size - libraries[i].image_size);
		to += libraries[i].size;
	}
}

static void swap_tls(struct fiber *from, const struct fiber *to)
{
	size_t at = 0;

	for (uint32_t i = 0; i < num_libraries; i++) {
		memcpy(from->tls + at, libraries[i].at, libraries[i].size);
		memcpy(libraries[i].at, to->tls + at, libraries[i].size);
		at += libraries[i].size;
	}
}

/* ---- Later ---- */

struct later {
	uint64_t at, order, number;
	void (*call)(void *arg, uint64_t number);
	void *arg;
};

static struct later later[MAX_LATER];
static uint32_t num_later;
static uint64_t later_order;

static bool before(const struct later *a, const struct later *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void swap(struct later *a, struct later *b)
{
	struct later c = *a;

	*a = *b;
	*b = c;
}

void sim_later(uint64_t at, void (*call)(void *arg, uint64_t number), void *arg, uint64_t number)
{
	uint32_t i = num_later++;

	if (i == MAX_LATER)
		sim_fail("more than %u things are to happen", MAX_LATER);
	later[i] = (struct later){ at, later_order++, number, call, arg };
	for (; i && before(&later[i], &later[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&later[i], &later[(i - 1) / 2]);
}

static struct later take_later(void)
{
	struct later first = later[0];
	uint32_t i = 0, child;

	later[0] = later[--num_later];
	while ((child = 2 * i + 1) < num_later) {
		if (child + 1 < num_later && before(&later[child + 1], &later[child]))
			child++;
		if (!before(&later[child], &later[i]))
			break;
		swap(&later[child], &later[i]);
		i = child;
	}
	return first;
}

static void run_later(void)
{
	struct later next;

	while (num_later && later[0].at <= sim_now) {
		next = take_later();
		happened++;
		next.call(next.arg, next.number);
	}
}

/* ---- Who is next ---- */

static void wake(struct fiber *fiber, bool woken)
{
	if (thawed >= 0 && fiber->host != thawed) {
		frozen[thawed] = SIM_NEVER;
		thawed = -1;
	}
	fiber->state = READY;
	fiber->woken = woken;
	fiber->expiry = woken ? 0 : happened + 1;
	fiber->on = NULL;
	memset(fiber->file, 0, sizeof(fiber->file));
}

static bool can_run(const struct fiber *fiber)
{
	return fiber->state == READY && frozen[fiber->host] <= sim_now;
}

/* When something happens next, while nobody can run. */
static uint64_t next_time(void)
{
	uint64_t next = num_later ? later[0].at : SIM_NEVER, at;
	const struct fiber *fiber;

	for (fiber = fibers; fiber < fibers + SIM_MAX_FIBERS; fiber++) {
		if (fiber->state != READY && fiber->state != BLOCKED)
			continue;
		at = fiber->state == BLOCKED ? fiber->deadline : frozen[fiber->host];
		if (at < next)
			next = at;
	}
	return next;
}

static void report_deadlock(void)
{
	char text[800] = "";
	size_t len = 0;

	for (struct fiber *fiber = fibers; fiber < fibers + SIM_MAX_FIBERS; fiber++)
		if (fiber->state == BLOCKED && len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, " %s(%u, host %d)",
						fiber->name, fiber->id, fiber->host);
	sim_fail("everybody waits for ever:%s", text);
}

/*
 * All hosts are one process, and the library walks all adapters of it: a lock that who crashed has
 * is then in the way of others, as it is in no process of its own. It goes on until it has let go.
 */
static bool thaw(void)
{
	if (thawed >= 0)
		return false;
	for (int host = 0; host < SIM_MAX_HOSTS; host++)
		if (frozen[host] == SIM_NEVER)
			thawed = host;
	if (thawed < 0)
		return false;
	fiber_freeze(thawed, sim_now);
	return true;
}

static void pass_time(void)
{
	uint64_t next = next_time();

	if (next == SIM_NEVER && thaw())
		return;
	if (next == SIM_NEVER)
		report_deadlock();
	if (next > sim_now)
		sim_now = next;
	sim_trace(SIM_TIME, sim_now, 0, 0, 0);
	run_later();
}

static void expire(void)
{
	for (struct fiber *fiber = fibers; fiber < fibers + SIM_MAX_FIBERS; fiber++)
		if (fiber->state == BLOCKED && fiber->deadline <= sim_now)
			wake(fiber, false);
}

static struct fiber *choose(void)
{
	uint32_t total = 0, at;
	struct fiber *fiber;

	for (;;) {
		run_later();
		expire();
		for (fiber = fibers; fiber < fibers + SIM_MAX_FIBERS; fiber++)
			if (can_run(fiber))
				total += fiber->weight;
		if (total)
			break;
		pass_time();
	}
	at = sim_random(total);
	for (fiber = fibers;; fiber++) {
		if (!can_run(fiber))
			continue;
		if (at < fiber->weight)
			return fiber;
		at -= fiber->weight;
	}
}

/* ---- Switching ---- */

static void begin(void)
{
	fiber_exit(fiber_self->run(fiber_self->arg));
}

static void enter(struct fiber *fiber)
{
	ucontext_t context;

	if (fiber->begun)
		_longjmp(fiber->env, 1);
	fiber->begun = true;
	getcontext(&context);
	context.uc_stack.ss_sp = fiber->stack;
	context.uc_stack.ss_size = STACK_BYTES;
	context.uc_link = NULL;
	makecontext(&context, begin, 0);
	setcontext(&context);
	abort();
}

static void switch_to(struct fiber *next)
{
	struct fiber *from = fiber_self;

	if (next == from)
		return;
	sim_trace(SIM_SWITCH, next->id, 0, 0, 0);
	happened++;
	from->err = errno;
	swap_tls(from, next);
	fiber_self = next;
	if (!_setjmp(from->env))
		enter(next);
	errno = fiber_self->err;
}

static void step(void)
{
	if (++sim_report->steps > MAX_STEPS)
		sim_fail("no end after %u calls", MAX_STEPS);
	sim_now += sim_random(sim_plan.call_ns);
}

void fiber_point(void)
{
	if (!sim_on)
		return;
	step();
	run_later();
	if (sim_once_in(sim_plan.switch_one_in))
		switch_to(choose());
}

static int block(struct fiber *self, uint64_t deadline)
{
	step();
	self->state = BLOCKED;
	self->woken = false;
	self->deadline = deadline;
	switch_to(choose());
	return self->woken ? 0 : ETIMEDOUT;
}

int fiber_wait(const void *on, uint64_t deadline)
{
	if (!sim_on)
		sim_fail("somebody waits before the world begins");
	fiber_self->on = on;
	return block(fiber_self, deadline);
}

int fiber_wait_files(struct sim_file *const *files, uint32_t num, uint64_t deadline)
{
	for (uint32_t i = 0; i < num; i++)
		fiber_self->file[i] = files[i];
	return block(fiber_self, deadline);
}

/* From any of them on: the order is nobody's right. */
uint32_t fiber_wake(const void *on, uint32_t num)
{
	uint32_t first, woken = 0;

	if (!sim_on || !num)
		return 0;
	first = sim_random(SIM_MAX_FIBERS);
	for (uint32_t i = 0; i < SIM_MAX_FIBERS && woken < num; i++) {
		struct fiber *fiber = &fibers[(first + i) % SIM_MAX_FIBERS];

		if (fiber->state != BLOCKED || fiber->on != on)
			continue;
		wake(fiber, true);
		woken++;
	}
	return woken;
}

void fiber_wake_file(const struct sim_file *file)
{
	for (struct fiber *fiber = fibers; fiber < fibers + SIM_MAX_FIBERS; fiber++)
		for (int i = 0; fiber->state == BLOCKED && i < SIM_WATCHED; i++)
			if (fiber->file[i] == file)
				wake(fiber, true);
}

void fiber_freeze(int host, uint64_t until)
{
	sim_trace(SIM_FROZEN, (uint64_t)host, until, 0, 0);
	frozen[host] = until;
}

bool fiber_expired(void)
{
	return fiber_self->expiry >= happened;
}

void fiber_wakes(void)
{
	fiber_self->expiry = 0;
}

bool fiber_is_frozen(int host)
{
	return frozen[host] > sim_now;
}

void fiber_holds(int more)
{
	fiber_self->held += more;
}

bool fiber_holding(int host)
{
	for (struct fiber *fiber = fibers; fiber < fibers + SIM_MAX_FIBERS; fiber++)
		if (fiber->host == host && fiber->held &&
		    (fiber->state == READY || fiber->state == BLOCKED))
			return true;
	return false;
}

/* ---- Life ---- */

static uint8_t *new_stack(size_t size)
{
	uint8_t *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stack == MAP_FAILED)
		sim_fail("no memory for stacks");
	mprotect(stack, 4096, PROT_NONE);
	return stack;
}

struct fiber *fiber_start(const char *name, int host, void *(*run)(void *), void *arg)
{
	struct fiber *fiber = fibers;

	while (fiber < fibers + SIM_MAX_FIBERS && fiber->state != FREE)
		fiber++;
	if (fiber == fibers + SIM_MAX_FIBERS)
		return NULL;
	if (fiber - fibers >= most)
		most = (uint32_t)(fiber - fibers) + 1;
	if (!fiber->stack)
		fiber->stack = new_stack(STACK_BYTES);
	fiber->state = READY;
	fiber->begun = false;
	fiber->host = host;
	fiber->id = ++next_id;
	fiber->weight = 1 + sim_random(4) * sim_random(4);
	fiber_name(fiber, name);
	fiber->run = run;
	fiber->arg = arg;
	fiber->err = 0;
	fiber->held = 0;
	memset(fiber->key_value, 0, sizeof(fiber->key_value));
	init_tls(fiber);
	sim_trace(SIM_START, fiber->id, (uint64_t)host, 0, 0);
	return fiber;
}

void fiber_exit(void *value)
{
	libc_keys_end();
	sim_trace(SIM_EXIT, fiber_self->id, 0, 0, 0);
	fiber_self->value = value;
	fiber_self->state = ENDED;
	fiber_wake(fiber_self, UINT32_MAX);
	switch_to(choose());
	abort();
}

int fiber_join(struct fiber *fiber, void **value)
{
	if (fiber < fibers || fiber >= fibers + SIM_MAX_FIBERS || fiber->state == FREE)
		return ESRCH;
	while (fiber->state != ENDED)
		fiber_wait(fiber, SIM_NEVER);
	if (value)
		*value = fiber->value;
	fiber->state = FREE;
	return 0;
}

bool fiber_ended(const struct fiber *fiber)
{
	return fiber->state == ENDED;
}

void fiber_main(void *(*run)(void *), void *arg)
{
	dl_iterate_phdr(find_tls, NULL);
	fiber_name(fibers, "main");
	run(arg);
}

uint32_t fiber_id(const struct fiber *fiber)
{
	return fiber->id;
}

int fiber_host(void)
{
	return fiber_self->host;
}

void fiber_move(int host)
{
	fiber_self->host = host;
}

uint32_t fiber_most(void)
{
	return most;
}

void fiber_name(struct fiber *fiber, const char *name)
{
	snprintf(fiber->name, sizeof(fiber->name), "%s", name);
}

void **fiber_values(void)
{
	return fiber_self->key_value;
}

uint32_t fiber_count(int host)
{
	uint32_t count = 0;

	for (struct fiber *fiber = fibers; fiber < fibers + SIM_MAX_FIBERS; fiber++)
		count += fiber->host == host && (fiber->state == READY || fiber->state == BLOCKED);
	return count;
}
