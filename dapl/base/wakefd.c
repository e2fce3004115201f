/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/wakefd.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/base/fd.h"
#include "dapl/base/fork.h"
#include "trace/log.h"

/* Of a thread: its descriptor + 1. */
static pthread_key_t key;
static bool has_key;
static atomic_bool told;

static void close_at_exit(void *value)
{
	dapl_fd_close((int)(intptr_t)value - 1);
}

/* The parent's is closed there by dapl/base/fd.c. */
static void in_child(void)
{
	pthread_setspecific(key, NULL);
}

__attribute__((constructor)) static void make_key(void)
{
	static struct dats_fork_watcher watcher = { .in_child = in_child };

	has_key = !pthread_key_create(&key, close_at_exit);
	if (has_key)
		dapl_fork_watch(&watcher);
}

static int own(void)
{
	return has_key ? (int)(intptr_t)pthread_getspecific(key) - 1 : -1;
}

static int make(void)
{
	int fd = dapl_eventfd(), err = errno;

	if (fd >= 0) {
		err = has_key ? pthread_setspecific(key, (void *)(intptr_t)(fd + 1)) : EAGAIN;
		if (!err)
			return fd;
		dapl_fd_close(fd);
	}
	if (!atomic_exchange(&told, true))
		dapl_err("a thread waits without a descriptor of its own, woken by the service "
			 "thread instead, which takes longer: %s",
			 dapl_strerror(err));
	return -1;
}

int dapl_wakefd(void)
{
	int fd = own();

	return fd >= 0 ? fd : make();
}

void dapl_wakefd_close(void)
{
	int fd = own();

	if (fd < 0)
		return;
	pthread_setspecific(key, NULL);
	dapl_fd_close(fd);
}
