/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/fork.h"
#include "dat/dats.h"
#include "dat/object.h"
#include "trace/control.h"
#include "trace/dat_log.h"
#include "trace/recorder.h"
#include "trace/sink.h"

/* In the order in which they nest. */
static pthread_mutex_t *const locks[] = {
	&dat_static_lock, &dat_registry_lock, &dat_handle_lock,	 &dat_ext_lock,	   &dat_arena_lock,
	&dat_trace_lock,  &dat_sink_lock,     &dat_control_lock, &dat_object_lock,
};

#define NUM_LOCKS (sizeof(locks) / sizeof(locks[0]))

/* ---- Modules ---- */

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dats_fork_watcher *watchers;

void dats_fork_watch(struct dats_fork_watcher *watcher)
{
	pthread_mutex_lock(&watch_lock);
	watcher->next = watchers;
	watchers = watcher;
	pthread_mutex_unlock(&watch_lock);
}

void dats_fork_unwatch(struct dats_fork_watcher *watcher)
{
	struct dats_fork_watcher **at;

	pthread_mutex_lock(&watch_lock);
	for (at = &watchers; *at; at = &(*at)->next)
		if (*at == watcher) {
			*at = watcher->next;
			break;
		}
	pthread_mutex_unlock(&watch_lock);
}

/* ---- Around a fork ---- */

static void before(void)
{
	struct dats_fork_watcher *watcher;
	size_t i;

	dat_loader_hold();
	pthread_mutex_lock(&watch_lock);
	for (watcher = watchers; watcher; watcher = watcher->next)
		if (watcher->before)
			watcher->before();
	for (i = 0; i < NUM_LOCKS; i++)
		pthread_mutex_lock(locks[i]);
}

static void unlock_all(void)
{
	size_t i;

	for (i = NUM_LOCKS; i > 0; i--)
		pthread_mutex_unlock(locks[i - 1]);
}

static void in_parent(void)
{
	struct dats_fork_watcher *watcher;

	unlock_all();
	for (watcher = watchers; watcher; watcher = watcher->next)
		if (watcher->in_parent)
			watcher->in_parent();
	pthread_mutex_unlock(&watch_lock);
	dat_loader_release();
}

static void in_child(void)
{
	struct dats_fork_watcher *watcher;

	unlock_all();
	dat_recorder_abandon(); /* first, for all else may make records */
	dat_loader_abandon();
	dat_registry_abandon();
	dat_handle_abandon();
	dat_ext_abandon();
	dat_sink_abandon();
	dat_control_abandon();
	for (watcher = watchers; watcher; watcher = watcher->next)
		if (watcher->in_child)
			watcher->in_child();
	pthread_mutex_unlock(&watch_lock);
}

void dat_fork_watch(void)
{
	pthread_atfork(before, in_parent, in_child);
}
