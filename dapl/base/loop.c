/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "dapl/base/thread.h"
#include "dapl/base/timers.h"
#include "trace/log.h"

#define EVENTS_PER_WAIT 64
#define WAKE_ID		0 /* epoll data of the wake-up descriptor; ids of watches are never 0 */

/* The id of a watch is its place in the table and the place's generation: a stale event finds
 * nobody. */
struct place {
	struct tp_watch *watch;
	uint32_t generation;
	uint32_t next_free; /* place + 1; 0: none */
};

struct dapl_loop {
	int epfd, wakefd;
	pthread_mutex_t lock; /* everything below; a leaf */
	pthread_cond_t left;  /* the loop left a callback */
	pthread_t thread;
	struct dapl_stack stack; /* of thread */
	atomic_bool started;	 /* written under lock; then thread is valid */
	bool stopping, sleeping;

	struct place *places;
	uint32_t num_places, first_free;

	struct tp_task *tasks, **tasks_end;
	struct tp_timer *timers; /* the first (timers.h) */
	const void *current;	 /* the watch, task or timer whose callback runs */
};

uint64_t dapl_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool dapl_loop_is_self(const struct dapl_loop *loop)
{
	return loop->started && pthread_equal(loop->thread, pthread_self());
}

/* ---- The thread ---- */

static void enter(struct dapl_loop *loop, const void *what)
{
	loop->current = what;
	pthread_mutex_unlock(&loop->lock);
}

static void leave(struct dapl_loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->current = NULL;
	pthread_cond_broadcast(&loop->left);
}

static void run_tasks(struct dapl_loop *loop)
{
	struct tp_task *task;
	uint32_t num = 0;

	/* As many as are queued now: a task that posts itself again must not starve the rest. */
	for (task = loop->tasks; task; task = task->next)
		num++;
	while (num-- && (task = loop->tasks)) {
		loop->tasks = task->next;
		if (!loop->tasks)
			loop->tasks_end = &loop->tasks;
		task->queued = false;
		enter(loop, task);
		task->run(task);
		leave(loop);
	}
}

/*
 * Returns the milliseconds to sleep, rounded up so that no timer fires early. The clock is asked
 * once: it may be a system call.
 */
static int run_timers(struct dapl_loop *loop)
{
	struct tp_timer *timer;
	uint64_t now, ms;
	bool any = false;

	now = loop->timers ? dapl_now() : 0;
	while ((timer = loop->timers) && timer->deadline <= now) {
		dapl_timers_del(&loop->timers, timer);
		enter(loop, timer);
		timer->expired(timer);
		leave(loop);
		any = true;
	}
	if (any || loop->tasks || loop->stopping)
		return 0;
	if (!timer)
		return -1;
	ms = (timer->deadline - now + 999999) / 1000000;
	return ms > 3600000 ? 3600000 : (int)ms;
}

static void drain_wake(struct dapl_loop *loop)
{
	uint64_t count;

	while (read(loop->wakefd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static void run_event(struct dapl_loop *loop, const struct epoll_event *event)
{
	uint32_t place = (uint32_t)event->data.u64 - 1;
	struct tp_watch *watch;

	if (event->data.u64 == WAKE_ID) {
		drain_wake(loop);
		return;
	}
	if (place >= loop->num_places)
		return;
	watch = loop->places[place].watch;
	if (!watch || watch->id != event->data.u64)
		return;
	enter(loop, watch);
	watch->ready(watch, event->events);
	leave(loop);
}

static void *loop_main(void *arg)
{
	struct epoll_event events[EVENTS_PER_WAIT];
	struct dapl_loop *loop = arg;
	int i, n, timeout;

	pthread_mutex_lock(&loop->lock);
	while (!loop->stopping) {
		timeout = run_timers(loop);
		loop->sleeping = timeout != 0;
		pthread_mutex_unlock(&loop->lock);
		n = epoll_wait(loop->epfd, events, EVENTS_PER_WAIT, timeout);
		pthread_mutex_lock(&loop->lock);
		loop->sleeping = false;
		for (i = 0; i < n; i++)
			run_event(loop, &events[i]);
		run_tasks(loop);
	}
	pthread_mutex_unlock(&loop->lock);
	return NULL;
}

/*
 * Tasks and timers that find no thread stay for the next one to start it, since their callers have
 * no answer to wait for.
 */
static int start(struct dapl_loop *loop)
{
	int rc;

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

static void wake(struct dapl_loop *loop)
{
	uint64_t one = 1;

	if (!loop->sleeping)
		return;
	loop->sleeping = false;
	while (write(loop->wakefd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/*
 * Whether the caller has to look again: the loop was in what's callback, which may have had itself
 * called once more; lock held.
 */
static bool was_running(struct dapl_loop *loop, const void *what)
{
	if (loop->current != what || dapl_loop_is_self(loop))
		return false;
	pthread_cond_wait(&loop->left, &loop->lock);
	return true;
}

/* ---- Watches ---- */

static int take_place(struct dapl_loop *loop, struct tp_watch *watch)
{
	uint32_t i, num;
	struct place *places;

	if (!loop->first_free) {
		num = loop->num_places ? loop->num_places * 2 : 16;
		places = realloc(loop->places, num * sizeof(*places));
		if (!places)
			return -ENOMEM;
		for (i = loop->num_places; i < num; i++)
			places[i] = (struct place){ .next_free = i + 1 < num ? i + 2 : 0 };
		loop->first_free = loop->num_places + 1;
		loop->places = places;
		loop->num_places = num;
	}
	i = loop->first_free - 1;
	loop->first_free = loop->places[i].next_free;
	loop->places[i].watch = watch;
	watch->id = ((uint64_t)++loop->places[i].generation << 32) | (i + 1);
	return 0;
}

static void leave_place(struct dapl_loop *loop, struct tp_watch *watch)
{
	uint32_t i = (uint32_t)watch->id - 1;

	loop->places[i].watch = NULL;
	loop->places[i].next_free = loop->first_free;
	loop->first_free = i + 1;
	watch->id = 0;
}

int dapl_loop_add(struct dapl_loop *loop, struct tp_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events };
	int rc;

	pthread_mutex_lock(&loop->lock);
	rc = start(loop);
	if (!rc)
		rc = take_place(loop, watch);
	if (rc)
		goto unlock;
	event.data.u64 = watch->id;
	if (epoll_ctl(loop->epfd, EPOLL_CTL_ADD, watch->fd, &event)) {
		rc = -errno;
		leave_place(loop, watch);
		dapl_err_limited("descriptor %d not watched: %s", watch->fd, dapl_strerror(-rc));
	}
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
			leave_place(loop, watch);
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
		if (!start(loop))
			wake(loop);
	}
	pthread_mutex_unlock(&loop->lock);
}

static void unlink_task(struct dapl_loop *loop, struct tp_task *task)
{
	struct tp_task **link;

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

/* ---- Timers ---- */

void dapl_loop_timer(struct dapl_loop *loop, struct tp_timer *timer, uint64_t deadline)
{
	pthread_mutex_lock(&loop->lock);
	dapl_timers_del(&loop->timers, timer);
	timer->deadline = deadline;
	dapl_timers_add(&loop->timers, timer);
	if (!start(loop) && loop->timers == timer)
		wake(loop);
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
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = WAKE_ID };
	struct dapl_loop *loop = calloc(1, sizeof(*loop));
	int rc;

	if (!loop) {
		dapl_err("service loop not created: %s", dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	loop->tasks_end = &loop->tasks;
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->left, NULL);
	loop->epfd = dapl_fd_own(epoll_create1(EPOLL_CLOEXEC));
	loop->wakefd = dapl_fd_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (loop->epfd < 0 || loop->wakefd < 0 ||
	    epoll_ctl(loop->epfd, EPOLL_CTL_ADD, loop->wakefd, &event)) {
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
	loop->sleeping = true;
	wake(loop);
	pthread_mutex_unlock(&loop->lock);
	if (loop->started)
		pthread_join(loop->thread, NULL);
	dapl_stack_free(&loop->stack);
	dapl_fd_close(loop->wakefd);
	dapl_fd_close(loop->epfd);
	pthread_cond_destroy(&loop->left);
	pthread_mutex_destroy(&loop->lock);
	free(loop->places);
	free(loop);
}
