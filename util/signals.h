/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that fail with an errno and do not end the program by a signal. */
#ifndef UTIL_SIGNALS_H
#define UTIL_SIGNALS_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct dats_signals {
	sigset_t ours, before;
};

/* Until dats_signals_restore neither a reader that has gone nor the limit of file sizes does. */
static inline void dats_signals_block(struct dats_signals *signals)
{
	const int all[] = { SIGPIPE, SIGXFSZ };
	bool was_blocked = false;
	sigset_t pending;
	int i;

	sigemptyset(&signals->ours);
	for (i = 0; i < 2; i++)
		sigaddset(&signals->ours, all[i]);
	pthread_sigmask(SIG_BLOCK, &signals->ours, &signals->before);
	for (i = 0; i < 2; i++)
		was_blocked |= sigismember(&signals->before, all[i]);
	if (!was_blocked) /* then none is there yet */
		return;
	sigpending(&pending);
	for (i = 0; i < 2; i++)
		if (sigismember(&pending, all[i]))
			sigdelset(&signals->ours, all[i]);
}

/* Takes those that came meanwhile, also where the program had them blocked. Keeps errno. */
static inline void dats_signals_restore(const struct dats_signals *signals)
{
	struct timespec now = { 0 };
	int err = errno;

	while (sigtimedwait(&signals->ours, NULL, &now) >= 0 || errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
	errno = err;
}

#endif
