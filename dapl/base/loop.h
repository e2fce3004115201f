/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The service thread of an open IA, and what it does for the core and for transports. */
#ifndef DAPL_LOOP_H
#define DAPL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl/base/clock.h"
#include "dapl/base/thread.h"

struct dapl_loop;

/* 0 or a negative errno. The thread itself starts at the first need. */
int dapl_loop_create(struct dapl_loop **loop);
/* Ends the thread. Nothing is watched, posted or timed any more. */
void dapl_loop_destroy(struct dapl_loop *loop);

/*
 * A watched descriptor. ready runs on the loop with no lock held; events are EPOLL*, and may be of
 * before the last dapl_loop_mod. Level triggered unless EPOLLONESHOT or EPOLLET is among the
 * events. The memory is the transport's, zeroed before first use.
 */
struct tp_watch {
	void (*ready)(struct tp_watch *watch, uint32_t events);
	int fd;
	uint64_t id; /* loop's own; 0 while not watched */
};

/* 0, -ENOMEM, -ENOSPC (the limit of watches of the user). Any thread, any lock. */
int dapl_loop_add(struct dapl_loop *loop, struct tp_watch *watch, uint32_t events);
/* Changes or re-arms. Any thread, any lock. */
int dapl_loop_mod(struct dapl_loop *loop, struct tp_watch *watch, uint32_t events);
/*
 * Ends the watch; ready is not running on another thread after return. Does not close fd. Called on
 * the loop or while holding no lock that ready may take.
 */
void dapl_loop_del(struct dapl_loop *loop, struct tp_watch *watch);

/* Work for the loop. Posting a task that is queued already does nothing; run may free it. */
struct tp_task {
	void (*run)(struct tp_task *task);
	struct tp_task *next; /* loop's own */
	bool queued;	      /* loop's own */
};

/*
 * Any thread, any lock; no allocation; one write to an eventfd if the loop sleeps. The first need
 * starts the loop's thread; where that fails the task waits until the next need starts it.
 */
void dapl_loop_post(struct dapl_loop *loop, struct tp_task *task);
/* Unqueues; not running on another thread after return. Locks as dapl_loop_del. */
void dapl_loop_cancel(struct dapl_loop *loop, struct tp_task *task);
/* The same, but run may still be in what it does after dapl_loop_let_go. */
void dapl_loop_cancel_early(struct dapl_loop *loop, struct tp_task *task);
/* From run: its task may be freed from here on. */
void dapl_loop_let_go(struct dapl_loop *loop);

/* A one-shot timer; never fires early (TMO-4). Zeroed before first use. */
struct tp_timer {
	void (*expired)(struct tp_timer *timer);
	uint64_t deadline;		       /* loop's own */
	struct tp_timer **prev, *next, *child; /* loop's own */
};

/* Sets or moves. deadline by dapl_now(). Any thread, any lock. */
void dapl_loop_timer(struct dapl_loop *loop, struct tp_timer *timer, uint64_t deadline);
/* Not running on another thread after return. Locks as dapl_loop_del. */
void dapl_loop_timer_cancel(struct dapl_loop *loop, struct tp_timer *timer);

/*
 * The caller does the loop's work until it leaves: no callback runs on another thread. What was
 * posted before runs first, here. Waits for what the loop is at: no lock that work on the loop may
 * take, and not on the loop.
 */
void dapl_loop_enter(struct dapl_loop *loop);
void dapl_loop_leave(struct dapl_loop *loop);

/*
 * Where the loop's work is done: wakes word as dapl_futex_wake(word, 1) does, but behind the
 * callback or with dapl_loop_leave, so that who wakes up finds no lock of it taken and may enter.
 * False: the caller is elsewhere, or there are too many, and wakes it himself.
 */
bool dapl_loop_wake_later(struct dapl_loop *loop, uint32_t *word);

/* Whether the caller is the loop's thread, or has entered. */
bool dapl_loop_is_self(const struct dapl_loop *loop);

#endif
