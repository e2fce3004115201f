/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors and threads of the victim, before and after. */
#include "test/interop/victim.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static unsigned start_threads; /* before the first call */

static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

void victim_await_threads(void)
{
	for (int i = 0; i < 10000 && count_entries("/proc/self/task") > start_threads; i++)
		usleep(1000);
}

void victim_print_counts(const char *prefix)
{
	printf("%sfds=%u %sthreads=%u", prefix, count_entries("/proc/self/fd") - 1, prefix,
	       count_entries("/proc/self/task"));
}

static void *tell_id(void *id)
{
	*(pid_t *)id = gettid();
	return NULL;
}

/*
 * A sanitizer makes its own thread with the first of the program; it is not the library's. Returns
 * once the kernel no longer lists the one made here, which would be counted as well.
 */
static void first_thread(void)
{
	pthread_t first;
	pid_t id;
	char path[48];

	if (pthread_create(&first, NULL, tell_id, &id))
		return;
	pthread_join(first, NULL);
	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)id);
	for (int i = 0; i < 10000 && access(path, F_OK) == 0; i++)
		usleep(1000);
}

void victim_start_counts(void)
{
	first_thread();
	start_threads = count_entries("/proc/self/task");
	victim_print_counts("start_");
}
