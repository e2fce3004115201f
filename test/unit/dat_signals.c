/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program's signals stay the program's, whatever comes with a module. */
#include "test/unit/dat_util.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "util/signals.h"

static void on_signal(int signo)
{
	(void)signo;
}

static void set(int signo, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaddset(&action.sa_mask, SIGALRM);
	assert_int_equal(sigaction(signo, &action, NULL), 0);
}

static void check(int signo, void (*handler)(int), int flags, int masked)
{
	struct sigaction now;

	assert_int_equal(sigaction(signo, NULL, &now), 0);
	if (now.sa_handler != handler)
		fail_msg("signal %d has another disposition", signo);
	assert_int_equal(now.sa_flags & (SA_RESTART | SA_ONSTACK), flags);
	if (handler != SIG_DFL) /* ThreadSanitizer has its own mask there */
		assert_int_equal(sigismember(&now.sa_mask, SIGALRM), masked);
}

/* What a thread of the program does while the module is loaded. */
static void meanwhile(void)
{
	set(SIGUSR2, on_signal, 0);
	set(SIGHUP, on_signal, SA_RESTART);
}

static void dispositions_are_put_back(void **state)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	struct sigaction fault;
	char conf[512];
	DAT_IA_HANDLE ia;

	(void)state;
	/* Of SIGSEGV a sanitizer may have its own. */
	assert_int_equal(sigaction(SIGSEGV, NULL, &fault), 0);
	set(SIGTERM, on_signal, SA_RESTART);
	set(SIGPIPE, SIG_DFL, 0);
	snprintf(conf, sizeof(conf),
		 "meddling u2.0 nonthreadsafe default " MODULE_DIR
		 "/meddling.so p.1.0 \"%p\" \"\"\n",
		 (void *)(uintptr_t)meanwhile);
	util_conf(conf);
	assert_int_equal(DAT_GET_TYPE(dat_ia_open((DAT_NAME_PTR) "meddling", 8, &evd, &ia)),
			 DAT_PROVIDER_NOT_FOUND);
	check(SIGTERM, on_signal, SA_RESTART, 1);
	check(SIGPIPE, SIG_DFL, 0, 0);
	check(SIGUSR1, SIG_DFL, 0, 0);
	check(SIGUSR2, on_signal, 0, 1);
	check(SIGHUP, on_signal, SA_RESTART, 1);
	check(SIGSEGV, fault.sa_handler, fault.sa_flags & (SA_RESTART | SA_ONSTACK),
	      sigismember(&fault.sa_mask, SIGALRM));
}

/* ---- Calls that may raise SIGPIPE ---- */

static void set_blocked(bool blocked)
{
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &pipe, NULL);
}

static bool is_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGPIPE);
}

static void raise_quietly(void)
{
	struct dats_signals signals;

	dats_signals_block(&signals);
	raise(SIGPIPE);
	errno = EIO;
	dats_signals_restore(&signals);
	assert_int_equal(errno, EIO);
}

static void a_signal_of_ours_ends_no_program(void **state)
{
	(void)state;
	set(SIGPIPE, SIG_DFL, 0);
	raise_quietly();
	assert_false(is_pending());
}

static void nor_does_it_wait_where_the_program_has_it_blocked(void **state)
{
	(void)state;
	set_blocked(true);
	raise_quietly();
	assert_false(is_pending());
	set_blocked(false);
}

static void the_programs_own_stays(void **state)
{
	(void)state;
	set(SIGPIPE, on_signal, 0);
	set_blocked(true);
	raise(SIGPIPE);
	raise_quietly();
	assert_true(is_pending());
	set_blocked(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dispositions_are_put_back),
		cmocka_unit_test(a_signal_of_ours_ends_no_program),
		cmocka_unit_test(nor_does_it_wait_where_the_program_has_it_blocked),
		cmocka_unit_test(the_programs_own_stays),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
