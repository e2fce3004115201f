/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The descriptor by which a thread that sleeps in poll is woken: each thread has one of its own. */
#ifndef DAPL_WAKEFD_H
#define DAPL_WAKEFD_H

/*
 * The caller's eventfd: made at its first wait, closed when the thread ends. -1: none is to be had,
 * which is told once. Whoever may write to it must be kept from doing so before the wait returns.
 */
int dapl_wakefd(void);
/* Gives it up until the next wait. */
void dapl_wakefd_close(void);

#endif
