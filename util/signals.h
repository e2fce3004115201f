/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes that fail with an errno and do not end the program by a signal. */
#ifndef UTIL_SIGNALS_H
#define UTIL_SIGNALS_H

#include <errno.h>
#include <signal.h>
#include <time.h>

struct dats_signals {
	sigset_t set, before, pending;
};

/* Until dats_signals_restore neither a reader that has gone nor the limit of file sizes does. */
static inline void dats_signals_block(struct dats_signals *signals)
{
	sigemptyset(&signals->set);
	sigaddset(&signals->set, SIGPIPE);
	sigaddset(&signals->set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &signals->set, &signals->before);
	sigpending(&signals->pending);
}

/*
 * failed: what was done in between; then the signal is ours unless it was there before. Keeps
 * errno.
 */
static inline void dats_signals_restore(struct dats_signals *signals, int failed)
{
	struct timespec now = { 0 };
	int err = errno, signo = err == EPIPE ? SIGPIPE : err == EFBIG ? SIGXFSZ : 0;
	sigset_t ours;

	if (failed && signo && !sigismember(&signals->pending, signo)) {
		sigemptyset(&ours);
		sigaddset(&ours, signo);
		while (sigtimedwait(&ours, NULL, &now) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
	errno = err;
}

static inline void dats_sigpipe_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGPIPE);
}

/* For what may raise SIGPIPE in this thread and not say so. */
static inline void dats_sigpipe_block(sigset_t *before)
{
	sigset_t ours;

	dats_sigpipe_set(&ours);
	pthread_sigmask(SIG_BLOCK, &ours, before);
}

/* Keeps errno. Where the program had it blocked it is the program's. */
static inline void dats_sigpipe_restore(const sigset_t *before)
{
	struct timespec now = { 0 };
	int err = errno;
	sigset_t ours;

	if (sigismember(before, SIGPIPE))
		return;
	dats_sigpipe_set(&ours);
	while (sigtimedwait(&ours, NULL, &now) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, before, NULL);
	errno = err;
}

#endif
