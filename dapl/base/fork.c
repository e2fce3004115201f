/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/fork.h"

#include <pthread.h>

static struct dats_fork_watcher *watchers;

static void before(void)
{
	for (struct dats_fork_watcher *watcher = watchers; watcher; watcher = watcher->next)
		if (watcher->before)
			watcher->before();
}

static void in_parent(void)
{
	for (struct dats_fork_watcher *watcher = watchers; watcher; watcher = watcher->next)
		if (watcher->in_parent)
			watcher->in_parent();
}

static void in_child(void)
{
	for (struct dats_fork_watcher *watcher = watchers; watcher; watcher = watcher->next)
		if (watcher->in_child)
			watcher->in_child();
}

static struct dats_fork_watcher module = { before, in_parent, in_child, NULL };

void dapl_fork_watch(struct dats_fork_watcher *watcher)
{
	if (!watchers && dats_fork_watch)
		dats_fork_watch(&module);
	else if (!watchers)
		pthread_atfork(before, in_parent, in_child); /* the registry is another's */
	watcher->next = watchers;
	watchers = watcher;
}

__attribute__((destructor)) static void unwatch(void)
{
	if (dats_fork_unwatch)
		dats_fork_unwatch(&module);
}
