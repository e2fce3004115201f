/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A world in which everything follows from a seed: threads are fibers of which one runs at a time,
 * the clock moves when nobody can run and a little with every call, and what calls of the C library
 * do is simulated. One world is one process. What is decided at random is asked of sim_random
 * alone, so that the same seed makes the same calls in the same order.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What surrounds the program and what goes wrong, chosen by the seed. */
struct sim_plan {
	uint32_t switch_one_in; /* so many calls of one thread before another may go on */
	uint32_t call_ns;	/* a call takes up to this */
	uint32_t delay_us;	/* of the network, at most; of most connections much less */
	uint32_t buffer;	/* bytes of a socket, each way */
	uint32_t segment;
	uint32_t short_one_in;	/* calls that move less than they could; 0: none */
	uint32_t fault_percent; /* connections to which something happens */
	uint32_t fail_one_in;	/* calls that are refused memory, descriptors, threads; 0: none */
	uint32_t stop_ms;	/* between times that a host stands still; 0: it never does */
	uint32_t liars;		/* pairs whose active side is no library */
	bool crash;		/* a host does not live to the end */
	bool shm;		/* connections inside a host, over shared memory */
};

enum {
	SIM_LAST = 32,
};

/* What came of a world; lies in memory that its parent has as well. */
struct sim_report {
	uint64_t hash, steps, simulated_ns;
	uint64_t lives, established, completions, faults, refusals;
	bool ended;
	char error[1000]; /* empty: all was right */
	/* What happened last, in a ring. */
	struct sim_happened {
		uint64_t step, now, value[4];
		uint32_t event, fiber;
	} last[SIM_LAST];
	uint64_t happened;
};

extern struct sim_report *sim_report;
extern struct sim_plan sim_plan;
extern bool sim_on;	       /* the world has begun */
extern uint64_t sim_now;       /* nanoseconds */
extern uint32_t sim_faults;    /* that have happened so far */
extern uint64_t sim_no_memory; /* when malloc failed last; 0: never */

/* Begins the world of a seed. */
void sim_begin(uint64_t seed, struct sim_report *report);
/* Something is wrong: the world ends. */
__attribute__((noreturn, format(printf, 1, 2))) void sim_fail(const char *format, ...);

/* ---- Chance ---- */

/* Below a number, which is not 0. */
uint32_t sim_random(uint32_t below);
uint64_t sim_random64(void);
/* True once in so many times; 0: never. */
static inline bool sim_once_in(uint32_t times)
{
	return times && !sim_random(times);
}

/* ---- What happened ---- */

/* Each has a name, and what its numbers mean. Everything that happens is part of the hash. */
#define SIM_EVENTS(X)                                                 \
	X(SWITCH, "fiber %llu goes on")                               \
	X(START, "fiber %llu begins, of host %llu")                   \
	X(EXIT, "fiber %llu ends")                                    \
	X(TIME, "it is %llu ns")                                      \
	X(LOCK, "mutex taken after waiting")                          \
	X(FUTEX, "futex: sleeps until %llu ns, then %llu")            \
	X(SOCKET, "socket %llu of family %llu")                       \
	X(CLOSE, "descriptor %llu closed")                            \
	X(LISTEN, "socket %llu listens at %llu")                      \
	X(CONNECT, "socket %llu connects to %llu as connection %llu") \
	X(CONNECTED, "connection %llu is made")                       \
	X(REFUSED, "connection %llu is refused: errno %llu")          \
	X(ACCEPT, "socket %llu accepted, of connection %llu")         \
	X(SEND, "socket %llu: %llu bytes to send, %lld taken")        \
	X(RECV, "socket %llu: %llu bytes of room, %lld received")     \
	X(DELIVER, "connection %llu, end %llu: %llu bytes arrive")    \
	X(FIN, "connection %llu, end %llu: the end arrives")          \
	X(RESET, "connection %llu, end %llu: reset, errno %llu")      \
	X(FAULT, "connection %llu: fault %llu after %llu bytes")      \
	X(FROZEN, "host %llu stands still until %llu ns")             \
	X(EPOLL, "set %llu: %llu events, the first 0x%llx")           \
	X(POLL, "poll: %llu of %llu are ready")                       \
	X(FAIL, "call %llu fails with %llu")                          \
	X(CALL_DONE, "life %llu, end %llu: call %llu returns 0x%llx") \
	X(SEEN, "life %llu, end %llu: event 0x%llx, status %llu")

enum sim_event {
#define SIM_ENUM(name, text) SIM_##name,
	SIM_EVENTS(SIM_ENUM)
#undef SIM_ENUM
	SIM_EVENT_COUNT
};

void sim_trace(enum sim_event event, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
/* Writes all that happens to standard error. */
extern bool sim_verbose;
/* As a line of text. */
void sim_happened_text(const struct sim_happened *what, char *out, size_t size);

/* ---- Fibers ---- */

enum {
	SIM_MAX_FIBERS = 96,
	SIM_MAX_HOSTS = 4,
	SIM_MAX_KEYS = 64,
	SIM_WATCHED = 4, /* descriptors of a poll at most */
};

#define SIM_NEVER UINT64_MAX

struct sim_file;
struct fiber;
extern struct fiber *fiber_self;

/* Runs like a thread, for a host. NULL: there are too many. */
struct fiber *fiber_start(const char *name, int host, void *(*run)(void *), void *arg);
/* Runs the first fiber until it returns. */
void fiber_main(void *(*run)(void *), void *arg);
uint32_t fiber_id(const struct fiber *fiber);
int fiber_host(void);
/* To another host, with what it makes from now on. */
void fiber_move(int host);
void fiber_name(struct fiber *fiber, const char *name);
/* What it returned, once it has; ESRCH: there is none. */
int fiber_join(struct fiber *fiber, void **value);
bool fiber_ended(const struct fiber *fiber);
__attribute__((noreturn)) void fiber_exit(void *value);
void **fiber_values(void); /* of keys, SIM_MAX_KEYS */
uint32_t fiber_count(int host);
/* How many there have been at once. */
uint32_t fiber_most(void);

/* Somebody else may go on here. */
void fiber_point(void);
/* Until woken: 0, or ETIMEDOUT at the deadline. */
int fiber_wait(const void *on, uint64_t deadline);
/* Ditto, until one of the files changes. */
int fiber_wait_files(struct sim_file *const *files, uint32_t num, uint64_t deadline);
/* Wakes so many of who wait; returns how many did. */
uint32_t fiber_wake(const void *on, uint32_t num);
/* What a word in memory that others map, too, is known by to all of them (memory.c). */
const void *memory_shared(const void *word);
void fiber_wake_file(const struct sim_file *file);
/*
 * Since fiber_wakes the fiber has waited, its last wait came to its deadline, and nobody has done
 * anything since.
 */
bool fiber_expired(void);
void fiber_wakes(void);
/* None of the host's fibers runs until then. */
void fiber_freeze(int host, uint64_t until);
bool fiber_is_frozen(int host);
/* Of mutexes: the fiber has so many more, or fewer. */
void fiber_holds(int more);
/* Whether any fiber of the host holds one. */
bool fiber_holding(int host);

/* ---- Later ---- */

/* Calls at a time, when no fiber runs. */
void sim_later(uint64_t at, void (*call)(void *arg, uint64_t number), void *arg, uint64_t number);

#endif
