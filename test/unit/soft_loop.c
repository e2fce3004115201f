/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The smallest loop that serves a transport as dapl/transport.h says: one thread, epoll, a list of
 * tasks and a list of timers. It shares no code with the core, so that the engine is seen to need
 * no more than the contract. Messages are counted and kept for the test to look at.
 */
#include "test/unit/soft_loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "trace/log.h"
#include "util/errno_text.h"

struct entry {
	struct tp_watch *watch;
	struct entry *next;
	uint64_t id;
};

struct dapl_loop {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	int epfd, wakefd;
	bool stop;
	uint64_t ids, wakeups;
	struct entry *entries;
	struct tp_task *tasks;
	struct tp_timer *timers;
	const void *running;
	atomic_uintptr_t runner; /* the thread with what has happened, or who has entered */
};

static void wake(struct dapl_loop *loop)
{
	uint64_t one = 1;
	ssize_t n = write(loop->wakefd, &one, sizeof(one));

	(void)n;
}

/* Runs a callback without the lock. */
#define RUN(loop, what, call)                          \
	do {                                           \
		(loop)->running = (what);              \
		pthread_mutex_unlock(&(loop)->lock);   \
		call;                                  \
		pthread_mutex_lock(&(loop)->lock);     \
		(loop)->running = NULL;                \
		pthread_cond_broadcast(&(loop)->idle); \
	} while (0)

static void wait_idle(struct dapl_loop *loop, const void *what)
{
	while (loop->running == what && !dapl_loop_is_self(loop))
		pthread_cond_wait(&loop->idle, &loop->lock);
}

static struct entry **find(struct dapl_loop *loop, uint64_t id)
{
	struct entry **at = &loop->entries;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

/* NULL: for ever. */
static const struct timespec *until_timer(struct dapl_loop *loop, struct timespec *left)
{
	uint64_t next = UINT64_MAX, now = dapl_now();

	*left = (struct timespec){ 0 };
	if (loop->tasks)
		return left;
	for (struct tp_timer *t = loop->timers; t; t = t->next)
		next = t->deadline < next ? t->deadline : next;
	if (next == UINT64_MAX)
		return NULL;
	if (next > now) {
		left->tv_sec = (time_t)((next - now) / 1000000000);
		left->tv_nsec = (long)((next - now) % 1000000000);
	}
	return left;
}

static void unlink_timer(struct tp_timer *timer)
{
	if (!timer->prev)
		return;
	*timer->prev = timer->next;
	if (timer->next)
		timer->next->prev = timer->prev;
	timer->prev = NULL;
}

static void run_timers(struct dapl_loop *loop)
{
	struct tp_timer *t;
	uint64_t now = dapl_now();

restart:
	for (t = loop->timers; t; t = t->next)
		if (t->deadline <= now) {
			unlink_timer(t);
			RUN(loop, t, t->expired(t));
			goto restart;
		}
}

static void run_tasks(struct dapl_loop *loop)
{
	struct tp_task *task, *end = NULL;

	for (task = loop->tasks; task; task = task->next)
		end = task;
	while ((task = loop->tasks)) {
		bool last = task == end;

		loop->tasks = task->next;
		task->queued = false;
		RUN(loop, task, task->run(task));
		if (last)
			break;
	}
}

static void begin(struct dapl_loop *loop)
{
	while (atomic_load(&loop->runner))
		pthread_cond_wait(&loop->idle, &loop->lock);
	atomic_store(&loop->runner, (uintptr_t)pthread_self());
}

static void end(struct dapl_loop *loop)
{
	atomic_store(&loop->runner, 0);
	pthread_cond_broadcast(&loop->idle);
}

void dapl_loop_enter(struct dapl_loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	begin(loop);
	run_tasks(loop);
	pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_leave(struct dapl_loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	end(loop);
	pthread_mutex_unlock(&loop->lock);
}

static void *loop_main(void *arg)
{
	struct epoll_event events[32];
	struct dapl_loop *loop = arg;
	struct tp_watch *watch;
	uint64_t count;

	pthread_mutex_lock(&loop->lock);
	while (!loop->stop) {
		struct pollfd any = { .fd = loop->epfd, .events = POLLIN };
		struct timespec left;
		const struct timespec *limit = until_timer(loop, &left);
		int n;

		pthread_mutex_unlock(&loop->lock);
		(void)ppoll(&any, 1, limit, NULL);
		n = epoll_wait(loop->epfd, events, 32, 0);
		pthread_mutex_lock(&loop->lock);
		loop->wakeups++;
		begin(loop);
		for (int i = 0; i < n; i++) {
			struct entry *entry;

			if (!events[i].data.u64) {
				ssize_t got = read(loop->wakefd, &count, sizeof(count));

				(void)got;
				continue;
			}
			entry = *find(loop, events[i].data.u64);
			if (!entry)
				continue;
			watch = entry->watch;
			RUN(loop, watch, watch->ready(watch, events[i].events));
		}
		run_tasks(loop);
		run_timers(loop);
		end(loop);
	}
	pthread_mutex_unlock(&loop->lock);
	return NULL;
}

int dapl_loop_add(struct dapl_loop *loop, struct tp_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events };
	struct entry *entry = calloc(1, sizeof(*entry));
	int rc = 0;

	if (!entry)
		return -ENOMEM;
	pthread_mutex_lock(&loop->lock);
	entry->watch = watch;
	entry->id = watch->id = event.data.u64 = ++loop->ids;
	entry->next = loop->entries;
	loop->entries = entry;
	if (epoll_ctl(loop->epfd, EPOLL_CTL_ADD, watch->fd, &event)) {
		rc = -errno;
		loop->entries = entry->next;
		watch->id = 0;
		free(entry);
	}
	pthread_mutex_unlock(&loop->lock);
	return rc;
}

int dapl_loop_mod(struct dapl_loop *loop, struct tp_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = watch->id };

	return epoll_ctl(loop->epfd, EPOLL_CTL_MOD, watch->fd, &event) ? -errno : 0;
}

void dapl_loop_del(struct dapl_loop *loop, struct tp_watch *watch)
{
	struct entry **at, *entry;

	pthread_mutex_lock(&loop->lock);
	at = find(loop, watch->id);
	entry = *at;
	if (watch->id && entry) {
		epoll_ctl(loop->epfd, EPOLL_CTL_DEL, watch->fd, NULL);
		*at = entry->next;
		free(entry);
	}
	watch->id = 0;
	wait_idle(loop, watch);
	pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_post(struct dapl_loop *loop, struct tp_task *task)
{
	struct tp_task **at = &loop->tasks;

	pthread_mutex_lock(&loop->lock);
	if (!task->queued) {
		while (*at)
			at = &(*at)->next;
		*at = task;
		task->next = NULL;
		task->queued = true;
		wake(loop);
	}
	pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_cancel(struct dapl_loop *loop, struct tp_task *task)
{
	struct tp_task **at = &loop->tasks;

	pthread_mutex_lock(&loop->lock);
	while (*at && *at != task)
		at = &(*at)->next;
	if (*at)
		*at = task->next;
	task->queued = false;
	wait_idle(loop, task);
	pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_timer(struct dapl_loop *loop, struct tp_timer *timer, uint64_t deadline)
{
	pthread_mutex_lock(&loop->lock);
	unlink_timer(timer);
	timer->deadline = deadline;
	timer->prev = &loop->timers;
	timer->next = loop->timers;
	if (timer->next)
		timer->next->prev = &timer->next;
	loop->timers = timer;
	wake(loop);
	pthread_mutex_unlock(&loop->lock);
}

void dapl_loop_timer_cancel(struct dapl_loop *loop, struct tp_timer *timer)
{
	pthread_mutex_lock(&loop->lock);
	unlink_timer(timer);
	wait_idle(loop, timer);
	pthread_mutex_unlock(&loop->lock);
}

bool dapl_loop_is_self(const struct dapl_loop *loop)
{
	return atomic_load(&loop->runner) == (uintptr_t)pthread_self();
}

struct dapl_loop *soft_loop_start(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct dapl_loop *loop = calloc(1, sizeof(*loop));

	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->idle, NULL);
	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	loop->wakefd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	epoll_ctl(loop->epfd, EPOLL_CTL_ADD, loop->wakefd, &event);
	pthread_mutex_lock(&loop->lock);
	if (pthread_create(&loop->thread, NULL, loop_main, loop))
		abort();
	pthread_mutex_unlock(&loop->lock);
	return loop;
}

bool soft_loop_stop(struct dapl_loop *loop)
{
	bool clean;

	pthread_mutex_lock(&loop->lock);
	loop->stop = true;
	wake(loop);
	pthread_mutex_unlock(&loop->lock);
	pthread_join(loop->thread, NULL);
	clean = !loop->entries && !loop->tasks && !loop->timers;
	close(loop->epfd);
	close(loop->wakefd);
	pthread_cond_destroy(&loop->idle);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
	return clean;
}

uint64_t soft_loop_wakeups(struct dapl_loop *loop)
{
	uint64_t n;

	pthread_mutex_lock(&loop->lock);
	n = loop->wakeups;
	pthread_mutex_unlock(&loop->lock);
	return n;
}

/* ---- Messages ---- */

static pthread_mutex_t diag_lock = PTHREAD_MUTEX_INITIALIZER;
static char diag_last[512];
static unsigned diag_count;

void dapl_diag(const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&diag_lock);
	va_start(ap, fmt);
	vsnprintf(diag_last, sizeof(diag_last), fmt, ap);
	va_end(ap);
	diag_count++;
	fprintf(stderr, "# %s\n", diag_last);
	pthread_mutex_unlock(&diag_lock);
}

static int trace_level(void)
{
	static _Atomic int level = -1;

	if (level < 0)
		level = getenv("SOFT_TEST_TRACE") ? atoi(getenv("SOFT_TEST_TRACE")) : 0;
	return level;
}

void dapl_trace_out(const struct dats_point *point, const void *object, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (point->level > trace_level())
		return;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "# %d: %s %p %s\n", point->level, point->name, object, text);
}

const char *dapl_strerror(int err)
{
	static __thread char text[128];

	return dats_strerror(err, text, sizeof(text));
}

const char *dapl_port_strerror(int err)
{
	return dapl_strerror(err);
}

unsigned soft_diags(char *last, size_t size)
{
	unsigned n;

	pthread_mutex_lock(&diag_lock);
	n = diag_count;
	if (last)
		snprintf(last, size, "%s", diag_last);
	pthread_mutex_unlock(&diag_lock);
	return n;
}
