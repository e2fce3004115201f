/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A provider module that takes its time while it is loaded and unloaded. It says so by a byte on
 * the descriptor LINGERING_FD, or forks if there is none. Field 7 of its entry is the address of an
 * int that becomes 1 if init finds the module whole. It registers nothing.
 */
#include <dat2/dat_registry.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int whole;

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
	whole = 1;
}

__attribute__((destructor)) static void end(void)
{
	whole = 0;
	linger('-');
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	void *found;

	(void)info;
	if (sscanf(params, "%p", &found) == 1)
		*(int *)found = whole ? 1 : -1;
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	(void)info;
}
