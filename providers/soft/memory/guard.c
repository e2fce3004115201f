/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Faults in memory that a program has registered and unmapped. Nothing but a handler of the signal
 * costs a copy of eight bytes no system call. It comes before the program's own, which is left all
 * other faults. One that the program installs later comes first, and has to pass on what is not its
 * own, as is usual; but where the program has put the former one back, this goes before it again.
 */
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "dapl/base/fork.h"
#include "providers/soft/memory/copy.h"

_Thread_local struct soft_guard *soft_guard_active;

static const int signals[] = { SIGSEGV, SIGBUS };

/* The program's, of each signal. */
static struct sigaction program[sizeof(signals) / sizeof(signals[0])];

/* Which page is what some processors (s390x) tell of the address alone; no page is smaller. */
static bool covers(const struct soft_guard *guard, const void *addr)
{
	const uintptr_t page = 4096;
	uintptr_t at = (uintptr_t)addr | (page - 1), from;

	for (int i = 0; i < guard->num; i++) {
		from = (uintptr_t)guard->iov[i].iov_base;
		if (guard->iov[i].iov_len && at - from < guard->iov[i].iov_len + page - 1)
			return true;
	}
	return false;
}

static void set_default(int signo)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	sigaction(signo, &action, NULL);
}

/* Does what would have been done without this handler. */
static void pass_on(int signo, siginfo_t *info, void *context)
{
	const struct sigaction *action = &program[signo == SIGBUS];
	bool sent = info->si_code <= 0;

	if (action->sa_flags & SA_RESETHAND)
		set_default(signo);
	if (action->sa_flags & SA_SIGINFO) {
		action->sa_sigaction(signo, info, context);
	} else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
		action->sa_handler(signo);
	} else if (action->sa_handler == SIG_DFL || !sent) {
		/* A fault happens again on return, and a signal that was sent is sent again. */
		set_default(signo);
		if (sent)
			raise(signo);
	}
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	struct soft_guard *guard = soft_guard_active;
	const ucontext_t *interrupted = context;

	if (!guard || info->si_code <= 0 || !covers(guard, info->si_addr)) {
		pass_on(signo, info, context);
		return;
	}
	soft_guard_active = NULL;
	pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
	siglongjmp(guard->env, 1);
}

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

/* Whether this handler may go before one: not if that was installed later, and calls it. */
static bool goes_before(const struct sigaction *action, const struct sigaction *former)
{
	if (action->sa_flags & SA_SIGINFO)
		return action->sa_sigaction == former->sa_sigaction;
	return action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN ||
	       action->sa_handler == former->sa_handler;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of program */

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct dats_fork_watcher watcher = { .in_child = in_child };

	dapl_fork_watch(&watcher);
}

void soft_guard_install(void)
{
	static bool installed;
	struct sigaction action;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], NULL, &action);
		if (is_ours(&action) || (installed && !goes_before(&action, &program[i])))
			continue;
		program[i] = action;
		action.sa_sigaction = on_fault;
		action.sa_flags &= ~SA_RESETHAND;
		action.sa_flags |= SA_SIGINFO;
		sigaction(signals[i], &action, NULL);
	}
	installed = true;
	pthread_mutex_unlock(&lock);
}
