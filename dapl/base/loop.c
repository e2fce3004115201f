/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "dapl/base/fd.h"
#include "dapl/base/lock.h"
#include "dapl/base/thread.h"
#include "dapl/base/timers.h"
#include "trace/log.h"
#include "util/thread.h"

#define EVENTS_PER_WAIT 64
#define WAKES		8
#define FAR_NS		50000000 /* of timers, in which a tick is nothing */
#define NEAR_NS		10000000
#define REST_NS		1000000000
#define LATE_NS		100000000 /* this thread, or the process, stood still */
#define LOOKS		64	  /* before timers go off that are so late */

/*
 * The id of a watch, which epoll returns, is its index in the table + 1 and the generation of that
 * entry, so that an event that is already on its way finds no watch when this one is deleted.
 */
struct entry {
	struct tp_watch *watch;
	uint32_t generation;
	uint32_t next_free; /* index + 1; 0: none */
};

/* The thread with what has happened, or a caller of dapl_loop_enter, while it waits. */
struct turn {
	struct turn *next;
	uint32_t given; /* futex */
};

struct dapl_loop {
	int epfd, wakefd;
	pthread_mutex_t lock;	   /* everything below; a leaf */
	pthread_cond_t idle;	   /* a callback has returned */
	pthread_mutex_t wake_lock; /* of who signals wakefd, taken with lock held */
	pthread_t thread;
	struct dapl_stack stack; /* of thread */
	atomic_bool started;	 /* written under lock; then thread is valid */
	bool stopping, sleeping;
	uint64_t sleeps_until; /* or less: UINT64_MAX: for ever */
	unsigned int looks;    /* the thread's: again, before timers that are late */
	bool more;	       /* ditto: the last look told of as much as one can */

	struct turn *waiting, **waiting_end; /* in the order in which they came */
	bool taken;			     /* it is somebody's turn */
	atomic_uintptr_t runner;	     /* the thread whose it is; 0: not there yet, or none */
	/* The runner's: words to wake behind its turn, and how it was to be cancelled before. */
	uint32_t *wakes[WAKES], num_wakes;
	int cancel_state;

	struct entry *entries;
	uint32_t num_entries, first_free;

	struct tp_task *tasks, **tasks_end;
	struct tp_timer *timers; /* the first (timers.h) */
	const void *current;	 /* the watch, task or timer whose callback runs */
	bool let_go;		 /* which has no more use for it */
};

bool dapl_loop_is_self(const struct dapl_loop *loop)
{
	return atomic_load_explicit(&loop->runner, memory_order_relaxed) ==
	       (uintptr_t)pthread_self();
}

/* ---- Turns ---- */

static void take_turn(struct dapl_loop *loop)
{
	struct turn turn = { 0 };

	dapl_assert_mutex_held(&loop->lock);
	if (loop->taken) {
		*loop->waiting_end = &turn;
		loop->waiting_end = &turn.next;
		pthread_mutex_unlock(&loop->lock);
		while (!__atomic_load_n(&turn.given, __ATOMIC_ACQUIRE))
			dapl_futex_wait(&turn.given, 0, dapl_deadline(UINT32_MAX));
		pthread_mutex_lock(&loop->lock);
	}
	loop->taken = true;
	atomic_store_explicit(&loop->runner, (uintptr_t)pthread_self(), memory_order_relaxed);
}

/*
 * Unlocks the loop, and gives the next one his turn; he may have gone on by the time of the wake-up,
 * which then wakes nobody.
 */
static void end_turn(struct dapl_loop *loop)
{
	uint32_t num = loop->num_wakes, *wakes[WAKES];
	struct turn *next = loop->waiting;

	dapl_assert_mutex_held(&loop->lock);
	memcpy(wakes, loop->wakes, num * sizeof(wakes[0]));
	loop->num_wakes = 0;
	atomic_store_explicit(&loop->runner, 0, memory_order_relaxed);
	loop->taken = next != NULL;
	if (next) {
		loop->waiting = next->next;
		if (!loop->waiting)
			loop->waiting_end = &loop->waiting;
	}
	pthread_mutex_unlock(&loop->lock);
	for (uint32_t i = 0; i < num; i++)
		dapl_futex_wake(wakes[i], 1);
	if (next) {
		__atomic_store_n(&next->given, 1, __ATOMIC_RELEASE);
		dapl_futex_wake(&next->given, 1);
	}
}

bool dapl_loop_wake_later(struct dapl_loop *loop, uint32_t *word)
{
	if (!dapl_loop_is_self(loop) || loop->num_wakes == WAKES)
		return false;
	loop->wakes[loop->num_wakes++] = word;
	return true;
}

/* ---- The thread ---- */

static void begin_callback(struct dapl_loop *loop, const void *what)
{
	dapl_assert_mutex_held(&loop->lock);
	loop->current = what;
	loop->let_go = false;
	pthread_mutex_unlock(&loop->lock);
}

static void end_callback(struct dapl_loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->current = NULL;
	pthread_cond_broadcast(&loop->idle);
	if (!loop->num_wakes && !loop->waiting)
		return;
	end_turn(loop);
	pthread_mutex_lock(&loop->lock);
	take_turn(loop);
}

/* In the caller's turn. */
static void run_tasks(struct dapl_loop *loop)
{
	struct tp_task *task;
	uint32_t num = 0;

	dapl_assert_mutex_held(&loop->lock);
	/* As many as are queued now: a task that posts itself again must not starve the rest. */
	for (task = loop->tasks; task; task = task->next)
		num++;
	while (num-- && (task = loop->tasks)) {
		loop->tasks = task->next;
		if (!loop->tasks)
			loop->tasks_end = &loop->tasks;
		task->queued = false;
		begin_callback(loop, task);
		task->run(task);
		end_callback(loop);
	}
}

/*
 * The time, where it matters to a timer; a tick or less before it, where the timer is far off: that
 * is read without a system call even where the clock itself is not, as in many virtual machines.
 */
static uint64_t now_for(const struct tp_timer *first)
{
	uint64_t lately = dats_clock(CLOCK_MONOTONIC_COARSE);

	return first->deadline > lately + FAR_NS ? lately : dapl_now();
}

/*
 * Whether the first timer is so late that what it waits for may have happened, also in time, while
 * nobody looked: all that comes first.
 */
static bool look_again(struct dapl_loop *loop, uint64_t now)
{
	const struct tp_timer *first = loop->timers;
	bool late = first && now > first->deadline && now - first->deadline > LATE_NS;

	if (late && (!loop->looks || loop->more) && loop->looks < LOOKS) {
		loop->looks++;
		return true;
	}
	loop->looks = 0;
	return false;
}

/* Whether there was any. */
static bool run_timers_until(struct dapl_loop *loop, uint64_t now)
{
	struct tp_timer *timer;
	bool any = false;

	while ((timer = loop->timers) && timer->deadline <= now) {
		dapl_timers_del(&loop->timers, timer);
		begin_callback(loop, timer);
		timer->expired(timer);
		end_callback(loop);
		any = true;
	}
	return any;
}

/*
 * Returns the nanoseconds to sleep; UINT64_MAX: for ever. Who was busy looks again before long: most
 * timers are set for later than that, and cancelled, and so need no wake-up.
 */
static uint64_t run_timers(struct dapl_loop *loop, bool busy)
{
	bool any = run_timers_until(loop, 0); /* they have no deadline, and so are not late */
	uint64_t now = loop->timers ? now_for(loop->timers) : 0;

	if (look_again(loop, now))
		return 0;
	any |= run_timers_until(loop, now);
	if (any || loop->tasks || loop->stopping)
		return 0;
	loop->sleeping = true;
	loop->sleeps_until =
		busy ? dats_clock(CLOCK_MONOTONIC_COARSE) + REST_NS + FAR_NS : UINT64_MAX;
	if (!loop->timers || loop->timers->deadline > loop->sleeps_until)
		return busy ? REST_NS : UINT64_MAX;
	loop->sleeps_until = loop->timers->deadline;
	return loop->sleeps_until - now;
}

/* No timer fires early. The milliseconds of epoll_wait are too much for those that are near. */
static int wait_events(struct dapl_loop *loop, struct epoll_event *events, uint64_t ns)
{
	const struct timespec near = { .tv_nsec = ns < NEAR_NS ? (long)ns : 0 };
	struct pollfd any = { .fd = loop->epfd, .events = POLLIN };
	uint64_t ms = ns / 1000000 + 1;
	int timeout = ns == UINT64_MAX ? -1 : ms > 3600000 ? 3600000 : (int)ms;

	if (ns < NEAR_NS) {
		if (ns)
			(void)ppoll(&any, 1, &near, NULL);
		timeout = 0;
	}
	return epoll_wait(loop->epfd, events, EVENTS_PER_WAIT, timeout);
}

static void run_event(struct dapl_loop *loop, const struct epoll_event *event)
{
	uint32_t i = (uint32_t)event->data.u64 - 1;
	struct tp_watch *watch;

	dapl_assert_mutex_held(&loop->lock);
	watch = i < loop->num_entries ? loop->entries[i].watch : NULL;
	if (!watch || watch->id != event->data.u64)
		return;
	begin_callback(loop, watch);
	watch->ready(watch, event->events);
	end_callback(loop);
}

static void *loop_main(void *arg)
{
	struct epoll_event events[EVENTS_PER_WAIT];
	struct dapl_loop *loop = arg;
	uint64_t ns;
	int i, n = 0;

	/* Programs that spin on the same processor wait for what this thread brings. */
	dapl_thread_raise_priority();
	pthread_mutex_lock(&loop->lock);
	take_turn(loop);
	while (!loop->stopping) {
		ns = run_timers(loop, n > 0);
		end_turn(loop);
		n = wait_events(loop, events, ns);
		loop->more = n == EVENTS_PER_WAIT;
		pthread_mutex_lock(&loop->lock);
		loop->sleeping = false;
		take_turn(loop);
		for (i = 0; i < n; i++)
			run_event(loop, &events[i]);
		run_tasks(loop);
	}
	end_turn(loop);
	return NULL;
}

/*
 * Tasks and timers that find no thread stay for the next one to start it, since their callers have
 * no answer to wait for.
 */
static int start(struct dapl_loop *loop)
{
	int rc;

	dapl_assert_mutex_held(&loop->lock);
	if (loop->started)
		return 0;
	rc = dapl_thread_start_on(&loop->stack, &loop->thread, "dapl-loop", loop_main, loop);
	if (rc) {
		dapl_err("service thread not started: %s", dapl_strerror(rc));
		return -rc;
	}
	loop->started = true;
	return 0;
}

/*
 * Unlocks the loop, and wakes its thread if that sleeps: not before, since the thread takes the
 * lock at once. Who has entered looks after it himself.
 */
static void unlock_wake(struct dapl_loop *loop)
{
	bool sleeping = loop->sleeping && !dapl_loop_is_self(loop);

	dapl_assert_mutex_held(&loop->lock);
	if (!sleeping) {
		pthread_mutex_unlock(&loop->lock);
		return;
	}
	loop->sleeping = false;
	pthread_mutex_lock(&loop->wake_lock);
	pthread_mutex_unlock(&loop->lock);
	dapl_eventfd_signal(loop->wakefd);
	pthread_mutex_unlock(&loop->wake_lock);
}

/* ---- Others in its place ---- */

/* Who was cancelled in its turn would keep it for ever. */
void dapl_loop_enter(struct dapl_loop *loop)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&loop->lock);
	take_turn(loop);
	run_tasks(loop); /* in which others may have had theirs */
	loop->cancel_state = state;
	pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_leave(struct dapl_loop *loop)
{
	int state = loop->cancel_state;
	bool due;

	pthread_mutex_lock(&loop->lock);
	run_tasks(loop);
	due = loop->tasks || (loop->timers && loop->timers->deadline < loop->sleeps_until);
	end_turn(loop);
	if (due) {
		pthread_mutex_lock(&loop->lock);
		unlock_wake(loop);
	}
	pthread_setcancelstate(state, NULL);
}

/*
 * Whether the loop was in what's callback, which has returned by now; the caller checks once more,
 * since it may have added itself again.
 */
static bool was_running(struct dapl_loop *loop, const void *what)
{
	dapl_assert_mutex_held(&loop->lock);
	if (loop->current != what || dapl_loop_is_self(loop))
		return false;
	dats_cond_wait(&loop->idle, &loop->lock);
	return true;
}

/* ---- Watches ---- */

static int add_entry(struct dapl_loop *loop, struct tp_watch *watch)
{
	uint32_t i, num;
	struct entry *entries;

	dapl_assert_mutex_held(&loop->lock);
	if (!loop->first_free) {
		num = loop->num_entries ? loop->num_entries * 2 : 16;
		entries = realloc(loop->entries, num * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		for (i = loop->num_entries; i < num; i++)
			entries[i] = (struct entry){ .next_free = i + 1 < num ? i + 2 : 0 };
		loop->first_free = loop->num_entries + 1;
		loop->entries = entries;
		loop->num_entries = num;
	}
	i = loop->first_free - 1;
	loop->first_free = loop->entries[i].next_free;
	loop->entries[i].watch = watch;
	watch->id = ((uint64_t)++loop->entries[i].generation << 32) | (i + 1);
	return 0;
}

static void remove_entry(struct dapl_loop *loop, struct tp_watch *watch)
{
	uint32_t i = (uint32_t)watch->id - 1;

	dapl_assert_mutex_held(&loop->lock);
	loop->entries[i].watch = NULL;
	loop->entries[i].next_free = loop->first_free;
	loop->first_free = i + 1;
	watch->id = 0;
}

int dapl_loop_add(struct dapl_loop *loop, struct tp_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events };
	int rc;

	pthread_mutex_lock(&loop->lock);
	rc = start(loop);
	if (rc)
		goto unlock;
	rc = add_entry(loop, watch);
	event.data.u64 = watch->id;
	if (!rc && epoll_ctl(loop->epfd, EPOLL_CTL_ADD, watch->fd, &event)) {
		rc = -errno;
		remove_entry(loop, watch);
	}
	if (rc)
		dapl_err_limited("descriptor %d not watched: %s", watch->fd, dapl_strerror(-rc));
unlock:
	pthread_mutex_unlock(&loop->lock);
	return rc;
}

int dapl_loop_mod(struct dapl_loop *loop, struct tp_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events };

	event.data.u64 = watch->id;
	return epoll_ctl(loop->epfd, EPOLL_CTL_MOD, watch->fd, &event) ? -errno : 0;
}

void dapl_loop_del(struct dapl_loop *loop, struct tp_watch *watch)
{
	pthread_mutex_lock(&loop->lock);
	do {
		if (watch->id) {
			epoll_ctl(loop->epfd, EPOLL_CTL_DEL, watch->fd, NULL);
			remove_entry(loop, watch);
		}
	} while (was_running(loop, watch));
	pthread_mutex_unlock(&loop->lock);
}

/* ---- Tasks ---- */

void dapl_loop_post(struct dapl_loop *loop, struct tp_task *task)
{
	pthread_mutex_lock(&loop->lock);
	if (!task->queued) {
		task->queued = true;
		task->next = NULL;
		*loop->tasks_end = task;
		loop->tasks_end = &task->next;
		start(loop);
	}
	unlock_wake(loop);
}

static void unlink_task(struct dapl_loop *loop, struct tp_task *task)
{
	struct tp_task **link;

	dapl_assert_mutex_held(&loop->lock);
	if (!task->queued)
		return;
	for (link = &loop->tasks; *link != task; link = &(*link)->next)
		;
	*link = task->next;
	if (!task->next)
		loop->tasks_end = link;
	task->queued = false;
}

void dapl_loop_cancel(struct dapl_loop *loop, struct tp_task *task)
{
	pthread_mutex_lock(&loop->lock);
	do
		unlink_task(loop, task);
	while (was_running(loop, task));
	pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_cancel_early(struct dapl_loop *loop, struct tp_task *task)
{
	pthread_mutex_lock(&loop->lock);
	do
		unlink_task(loop, task);
	while (!(loop->current == task && loop->let_go) && was_running(loop, task));
	pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_let_go(struct dapl_loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->let_go = true;
	pthread_cond_broadcast(&loop->idle);
	pthread_mutex_unlock(&loop->lock);
}

/* ---- Timers ---- */

void dapl_loop_timer(struct dapl_loop *loop, struct tp_timer *timer, uint64_t deadline)
{
	pthread_mutex_lock(&loop->lock);
	dapl_timers_del(&loop->timers, timer);
	timer->deadline = deadline;
	dapl_timers_add(&loop->timers, timer);
	start(loop);
	if (deadline < loop->sleeps_until)
		unlock_wake(loop);
	else
		pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_timer_cancel(struct dapl_loop *loop, struct tp_timer *timer)
{
	pthread_mutex_lock(&loop->lock);
	do
		dapl_timers_del(&loop->timers, timer);
	while (was_running(loop, timer));
	pthread_mutex_unlock(&loop->lock);
}

/* ---- Life ---- */

int dapl_loop_create(struct dapl_loop **out)
{
	/* Edge-triggered, so that nobody has to read it; no watch has the id 0. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct dapl_loop *loop = calloc(1, sizeof(*loop));
	int rc;

	if (!loop) {
		dapl_err("service loop not created: %s", dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	loop->waiting_end = &loop->waiting;
	loop->tasks_end = &loop->tasks;
	pthread_mutex_init(&loop->lock, NULL);
	pthread_mutex_init(&loop->wake_lock, NULL);
	pthread_cond_init(&loop->idle, NULL);
	loop->epfd = dapl_fd_own(epoll_create1(EPOLL_CLOEXEC));
	loop->wakefd = dapl_eventfd();
	if (loop->epfd < 0 || loop->wakefd < 0 ||
	    epoll_ctl(loop->epfd, EPOLL_CTL_ADD, loop->wakefd, &event) ||
	    (epoll_wait(loop->epfd, &event, 1, 0) < 0 && errno != EINTR)) {
		rc = -errno;
		dapl_err("service loop not created: %s", dapl_strerror(-rc));
		goto close_fds;
	}
	*out = loop;
	return 0;

close_fds:
	if (loop->wakefd >= 0)
		dapl_fd_close(loop->wakefd);
	if (loop->epfd >= 0)
		dapl_fd_close(loop->epfd);
	free(loop);
	return rc;
}

void dapl_loop_destroy(struct dapl_loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->stopping = true;
	unlock_wake(loop);
	if (loop->started)
		pthread_join(loop->thread, NULL);
	/* Who woke the thread last may not have returned yet. */
	pthread_mutex_lock(&loop->wake_lock);
	pthread_mutex_unlock(&loop->wake_lock);
	dapl_stack_free(&loop->stack);
	dapl_fd_close(loop->wakefd);
	dapl_fd_close(loop->epfd);
	pthread_cond_destroy(&loop->idle);
	pthread_mutex_destroy(&loop->wake_lock);
	pthread_mutex_destroy(&loop->lock);
	free(loop->entries);
	free(loop);
}
