/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The descriptors of a module: never one of the standard three, and closed in a forked child. */
#ifndef DAPL_FD_H
#define DAPL_FD_H

#include <stdint.h>

/*
 * For the result of every call that makes a descriptor, or takes one in: what it is from now on, -1
 * and errno if the call failed or there is no other number for it. Closes on exec if it did before.
 */
int dapl_fd_own(int fd);
/* It is about to be closed by others, or given to the program. */
void dapl_fd_disown(int fd);
/* Both: of one that dapl_fd_own returned. Keeps errno. */
void dapl_fd_close(int fd);

/*
 * How many descriptors peers may take up at a time: as an option says or, where that is 0, 1024 and
 * no more than a quarter of those that the process may have.
 */
uint32_t dapl_fd_share(int64_t option);

/* An eventfd of ours, which does not block; -1 and errno. */
int dapl_eventfd(void);
/* Makes an eventfd readable, and the opposite. */
void dapl_eventfd_signal(int fd);
void dapl_eventfd_clear(int fd);

#endif
