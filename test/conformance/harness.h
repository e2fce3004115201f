/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the conformance programs share. A program is one file of cmocka tests that are named after
 * the clauses they prove, ends with harness_run() and uses the public interface only, so that it
 * runs against every provider: the adapter's name comes from the environment variable UDAPL_IA.
 * Many are compiled as programs of DAT 1.2 as well, see test/dat-1.2; what differs there stands
 * under DAT_VERSION_MAJOR.
 *
 * A check that fails ends the test, so it belongs into the main thread; other threads record what
 * they saw.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>
#include <dat2/udat.h>

#define CT_MS 10000 /* within this many milliseconds anything that must happen happens */
#define CT_US ((DAT_TIMEOUT)(CT_MS * 1000)) /* the same as a timeout of a call */

/* What a measured wait may take longer than its timeout: scheduling on a loaded machine. */
#define CT_SLACK_US 2000000

/* ---- The program ---- */

/*
 * Runs the tests and prints TAP. Tests that the file of exclusions names for this adapter are
 * reported as skipped, with the reason. The result is main's.
 */
int harness_run(const struct CMUnitTest *tests, size_t count);

/* The adapter under test: UDAPL_IA, or soft-lo. */
char *harness_ia_name(void);

/* Ends a test that this provider cannot show, and says why. */
#define harness_skip(...)                   \
	do {                                \
		print_message(__VA_ARGS__); \
		print_message("\n");        \
		skip();                     \
	} while (0)

/* Whether this is a build with a sanitizer, where memory and time mean little. */
bool harness_sanitized(void);

/* Whether this is the emulated machine of test/vm, where processor time means little. */
bool harness_emulated(void);

/* How often to repeat what is done n times: a tenth of it where UDAPL_BRIEF=1 says so. */
unsigned int harness_rounds(unsigned int n);

/* ---- Children ---- */

/* A part of a program that runs in a process of its own; its result is the exit status. */
struct harness_child {
	const char *name;
	int (*run)(void);
};

/* What a child left behind. */
struct harness_result {
	int status;	/* as from waitpid */
	char err[8192]; /* what it wrote to standard error, terminated */
	char out[2048]; /* what it wrote to standard output, terminated */
};

/* To be called first in main: does not return in a child. children ends with a null name. */
void harness_child_main(int argc, char **argv, const struct harness_child *children);

/*
 * Starts this program anew as the named child and waits for its end. env: "NAME=value" strings that
 * ends with a null pointer, set in the child; may be null. A child that runs longer than a minute
 * is killed.
 */
void harness_spawn(const char *name, const char *const *env, struct harness_result *result);

/* The same; a child that does not end with status 0 fails the test and its messages are shown. */
void harness_spawn_ok(const char *name, const char *const *env);

/* Runs a child twice, with and without DAPL_STRICT=1 (GEN-31); harness_strict() tells it which. */
void harness_both_strict(const char *name);
bool harness_strict(void);

/* ---- Return codes ---- */

#define CT_ANY_SUBTYPE (-1)

/* "DAT_INVALID_STATE DAT_INVALID_STATE_EVD_IN_USE (0x8007004a)"; valid until the same thread's
 * fourth call. */
const char *ct_rc_name(DAT_RETURN rc);

/*
 * Compares the type and, unless it is CT_ANY_SUBTYPE, the subtype (GEN-3). A wrong subtype fails
 * unless the environment says UDAPL_SUBTYPES=advisory (EVD-2): then it is only reported.
 */
void ct_expect(DAT_RETURN rc, DAT_RETURN type, int subtype, const char *what, const char *file,
	       int line);
void ct_expect_exact(DAT_RETURN rc, DAT_RETURN word, const char *what, const char *file, int line);
/* NOT_IMPLEMENTED or MODEL_NOT_SUPPORTED, which programs take for the same (GEN-10). */
void ct_expect_unsupported(DAT_RETURN rc, const char *what, const char *file, int line);

#define expect(call, type, subtype) \
	ct_expect((call), (type), (int)(subtype), #call, __FILE__, __LINE__)
#define expect_type(call, type)	  ct_expect((call), (type), CT_ANY_SUBTYPE, #call, __FILE__, __LINE__)
#define expect_ok(call)		  ct_expect_exact((call), DAT_SUCCESS, #call, __FILE__, __LINE__)
#define expect_exact(call, word)  ct_expect_exact((call), (word), #call, __FILE__, __LINE__)
#define expect_handle(call, kind) expect(call, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##kind)
#define expect_arg(call, n)	  expect(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define expect_state(call, sub)	  expect(call, DAT_INVALID_STATE, DAT_INVALID_STATE_##sub)
#define expect_unsupported(call)  ct_expect_unsupported((call), #call, __FILE__, __LINE__)

/* ---- Addresses ---- */

/*
 * Whether an adapter's address leaves room for a port: not where it names a queue pair (UCM-2), in
 * the field that is a flow of IPv6. Such an adapter refuses common service points.
 */
bool ct_has_ports(const DAT_SOCK_ADDR *addr);

/* ---- Objects ---- */

/* An open adapter with its attributes. */
struct ct_ia {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR prov;
};

/* cmocka set-up and tear-down: *state is a struct ct_ia. Closing is abrupt and must succeed. */
int ct_setup(void **state);
int ct_teardown(void **state);

void ct_open(struct ct_ia *ia);
void ct_close(struct ct_ia *ia);

DAT_EVD_HANDLE ct_evd(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags);
DAT_EVD_PARAM ct_evd_param(DAT_EVD_HANDLE evd);
DAT_CNO_HANDLE ct_cno(DAT_IA_HANDLE ia);
DAT_PZ_HANDLE ct_pz(DAT_IA_HANDLE ia);
DAT_EP_STATE ct_ep_state(DAT_EP_HANDLE ep);

/* Registered memory; base is page aligned. */
struct ct_mem {
	uint8_t *base;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

void ct_mem_open(struct ct_mem *mem, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, size_t len,
		 DAT_MEM_PRIV_FLAGS priv);
/* Frees the region, if its handle was not made null before, and the memory. */
void ct_mem_close(struct ct_mem *mem);
DAT_LMR_TRIPLET ct_segment(const struct ct_mem *mem, size_t offset, size_t len);
DAT_RMR_TRIPLET ct_target(const struct ct_mem *mem, size_t offset, size_t len);

/* One end of a connection. The dispatchers may be one and the same, or null. */
struct ct_end {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv, request, connect;
	DAT_EP_HANDLE ep;
	struct ct_mem mem;
};

/* What an endpoint has that was made with null attributes, to be changed and used. */
void ct_default_attr(DAT_IA_HANDLE ia, DAT_EP_ATTR *attr);

/*
 * Makes what is still null of an end: zone, three dispatchers of 64 events, 64 KiB of memory with
 * all rights, the endpoint. attr may be null.
 */
void ct_end_open(struct ct_end *end, DAT_IA_HANDLE ia, const DAT_EP_ATTR *attr);
/* Frees all of it. */
void ct_end_close(struct ct_end *end);
/* Connects two ends over a service point of its own; both are connected on return. */
void ct_end_connect(struct ct_end *active, struct ct_end *passive);

DAT_RETURN ct_post_recv(struct ct_end *end, size_t offset, size_t len, uint64_t cookie,
			DAT_COMPLETION_FLAGS flags);
DAT_RETURN ct_post_send(struct ct_end *end, size_t offset, size_t len, uint64_t cookie,
			DAT_COMPLETION_FLAGS flags);

/*
 * Whether a message needs a Receive that was posted before it, or the connection breaks, as DTO-90
 * allows iWARP devices: those have no extension and expose the sinks of reads (IBX-2, LMR-28).
 */
bool ct_receives_first(const DAT_IA_ATTR *attr, const DAT_PROVIDER_ATTR *prov);

/* ---- Events ---- */

/* Posts a software event with the given value. */
DAT_RETURN ct_post_se(DAT_EVD_HANDLE evd, uintptr_t value);
/* Takes the next event, which must come within CT_MS and have this number. */
void ct_next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event);
/* Takes the next event by dequeueing, which must be there and be this software event. */
void ct_take_se(DAT_EVD_HANDLE evd, uintptr_t value);
/* Takes a completion within CT_MS and checks cookie and status. */
void ct_completion(DAT_EVD_HANDLE evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status);
/* What completed; events of DAT 1.2 do not say it, and are believed. */
static inline DAT_DTOS ct_operation(const DAT_DTO_COMPLETION_EVENT_DATA *done, DAT_DTOS expected)
{
#if DAT_VERSION_MAJOR > 1
	(void)expected;
	return done->operation;
#else
	(void)done;
	return expected;
#endif
}
/* Dequeueing finds nothing. */
void ct_empty(DAT_EVD_HANDLE evd);
/* Takes whatever is there; how many. */
unsigned int ct_drain(DAT_EVD_HANDLE evd);

/* ---- Threads ---- */

/* A thread in dat_evd_wait or dat_cno_wait, and what became of it once it was joined. */
struct ct_waiter {
	DAT_RETURN rc;
	DAT_EVENT event;     /* dat_evd_wait */
	DAT_COUNT more;	     /* dat_evd_wait */
	DAT_EVD_HANDLE hint; /* dat_cno_wait; starts as a value that no object has */
	uint64_t elapsed_us; /* how long the call took */
	uint64_t cpu_us;     /* processor time of the thread during the call */
	struct ct_waiter_thread *thread;
};

/*
 * Starts the thread and returns when it sleeps in the call, or has already left it. The waiter
 * lives until the test's tear-down, or ct_waiters_free().
 */
struct ct_waiter *ct_evd_waiter(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold);
struct ct_waiter *ct_cno_waiter(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout);
/* Whether the call has returned. */
bool ct_waiter_done(const struct ct_waiter *waiter);
/* Waits for its return, which must come within CT_MS. */
void ct_waiter_join(struct ct_waiter *waiter);
/* Sends a signal to the thread. */
void ct_waiter_signal(struct ct_waiter *waiter, int signo);
void ct_waiters_free(void);

/* Waits until the thread sleeps. */
void ct_await_asleep(int tid);

/* ---- Time ---- */

uint64_t ct_now_us(void);
uint64_t ct_thread_cpu_us(void);
uint64_t ct_process_cpu_us(void);
/* Gives up the processor for about a millisecond, for loops that poll for a condition until a
 * deadline. */
void ct_pause(void);

/* Polls a condition for up to CT_MS. */
#define ct_await(condition)                                                  \
	do {                                                                 \
		uint64_t ct_deadline_ = ct_now_us() + CT_US;                 \
		while (!(condition)) {                                       \
			if (ct_now_us() > ct_deadline_)                      \
				fail_msg("never came true: %s", #condition); \
			ct_pause();                                          \
		}                                                            \
	} while (0)

/* A wait of timeout_us took at least that long, and not much longer (EVD-51). */
#define ct_took(elapsed_us, timeout_us)                                                     \
	do {                                                                                \
		assert_true((uint64_t)(elapsed_us) >= (uint64_t)(timeout_us));              \
		assert_true((uint64_t)(elapsed_us) < (uint64_t)(timeout_us) + CT_SLACK_US); \
	} while (0)

#endif
