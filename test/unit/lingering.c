/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A provider module that takes its time while it is loaded and unloaded. It says so by a byte on
 * the descriptor LINGERING_FD, or forks if there is none. Field 7 of its entry is the address of an
 * int that becomes 1 if init finds the module whole, 2 if in a child also told of the fork. It
 * registers no provider.
 */
#include <dat2/dat_registry.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dat/dats.h"

static int whole, told;

static void in_child(void)
{
	told = 1;
}

static struct dats_fork_watcher watcher = { .in_child = in_child };

static void linger(char what)
{
	const char *fd = getenv("LINGERING_FD");
	pid_t child;

	if (fd) {
		if (write(atoi(fd), &what, 1) == 1)
			usleep(300000);
		return;
	}
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

__attribute__((constructor)) static void begin(void)
{
	linger('+');
	dats_fork_watch(&watcher);
	whole = 1;
}

__attribute__((destructor)) static void end(void)
{
	whole = 0;
	dats_fork_unwatch(&watcher);
	linger('-');
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	void *found;

	(void)info;
	if (sscanf(params, "%p", &found) == 1)
		*(int *)found = whole ? 1 + told : -1;
	/* It is unloaded next; who waited for the load goes on before. */
	if (getenv("LINGERING_FD"))
		usleep(500000);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	(void)info;
}
