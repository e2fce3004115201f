/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fork, and the locks that libibverbs and librdmacm have for the whole process: lists of devices,
 * ids, memory that children do not get. Neither looks after them when somebody forks, so that one
 * that another thread holds then is held in the child for ever. Therefore nobody is within a call
 * that takes one when this process forks, and who wants to make one waits as long as that takes.
 * Where such a call does not come back within a second the fork goes on without.
 */
#ifndef VERBS_FORK_H
#define VERBS_FORK_H

void vrb_fork_enter(void);
void vrb_fork_leave(void);

/* The value of a call that may take such a lock; not within another one. */
#define VRB_GLOBAL(call)                     \
	({                                   \
		vrb_fork_enter();            \
		__auto_type value_ = (call); \
		vrb_fork_leave();            \
		value_;                      \
	})

#endif
