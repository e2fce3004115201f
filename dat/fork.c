/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/fork.h"
#include "trace/control.h"
#include "trace/dat_log.h"
#include "trace/sink.h"

/* In the order in which they nest. */
static pthread_mutex_t *const locks[] = {
	&dat_static_lock, &dat_registry_lock, &dat_handle_lock, &dat_ext_lock,
	&dat_arena_lock,  &dat_trace_lock,    &dat_sink_lock,
};

#define NUM_LOCKS (sizeof(locks) / sizeof(locks[0]))

static void before(void)
{
	size_t i;

	dat_loader_hold();
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
	unlock_all();
	dat_loader_release();
}

static void in_child(void)
{
	unlock_all();
	dat_loader_abandon();
	dat_registry_abandon();
	dat_handle_abandon();
	dat_ext_abandon();
	dat_sink_abandon();
	dat_control_abandon();
}

void dat_fork_watch(void)
{
	pthread_atfork(before, in_parent, in_child);
}
