/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Latency of messages and bandwidth of RDMA writes against size, with the same loops over DAT and
 * over plain verbs, polling, what memory an end takes, and connections made and ended one after the
 * other: sizes dat IA COUNT [PART], sizes verbs ADDRESS COUNT [PART]. One line for each: what,
 * bytes, figure, unit, with tabs between. One thread drives both ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sizes.h"

#define WINDOW	    8 /* writes under way at once */
#define WARM	    20
#define CROWD	    64
#define CONNECTIONS (messages / 4)

static const size_t sizes[] = { 8, 512, 4096, 32768 };
#define NUM_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static int messages; /* of each size */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Messages there and back. */
static void ping_pong(const struct sizes_ops *ops, size_t size, int count)
{
	int i, side;

	for (i = 0; i < count; i++)
		for (side = 0; side < 2; side++) {
			ops->post_recv(!side, size);
			ops->post_send(side, size);
			ops->reap_recv(!side);
			ops->reap_request(side);
		}
}

static void stream(const struct sizes_ops *ops, size_t size, int count)
{
	int i;

	for (i = 0; i < count + WINDOW; i++) {
		if (i >= WINDOW)
			ops->reap_request(0);
		if (i < count)
			ops->post_write(0, size);
	}
}

static double timed(void (*run)(const struct sizes_ops *, size_t, int), const struct sizes_ops *ops,
		    size_t size)
{
	double begun;

	run(ops, size, WARM);
	begun = now();
	run(ops, size, messages);
	return now() - begun;
}

/* KiB of memory that the process has, its queues that the device maps among them. */
static long resident(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[200];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Rss: %ld kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

static void print_memory(const struct sizes_ops *ops)
{
	long before;

	ops->crowd(1); /* what only the first takes */
	before = resident();
	ops->crowd(CROWD);
	if (before >= 0)
		printf("memory, an endpoint\t0\t%.1f\tKiB\n",
		       (double)(resident() - before) / CROWD);
}

static void print_connections(const struct sizes_ops *ops)
{
	double begun;

	ops->connect(1);
	begun = now();
	ops->connect(CONNECTIONS);
	printf("connections, one by one\t0\t%.1f\t/s\n", CONNECTIONS / (now() - begun));
}

static void print_latency(const struct sizes_ops *ops)
{
	size_t i;

	for (i = 0; i < NUM_SIZES; i++)
		printf("latency, send\t%zu\t%.1f\tus\n", sizes[i],
		       timed(ping_pong, ops, sizes[i]) / messages / 2 * 1e6);
}

static void print_stream(const struct sizes_ops *ops)
{
	size_t i;

	for (i = 0; i < NUM_SIZES; i++)
		printf("stream, RDMA write\t%zu\t%.2f\tMB/s\n", sizes[i],
		       (double)sizes[i] * messages / timed(stream, ops, sizes[i]) / 1e6);
}

static const struct {
	const char *name;
	void (*print)(const struct sizes_ops *ops);
} parts[] = {
	{ "latency", print_latency },
	{ "stream", print_stream },
	{ "memory", print_memory },
	{ "connections", print_connections },
};

int main(int argc, char **argv)
{
	const struct sizes_ops *ops = NULL;
	size_t i;

	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "dat"))
		ops = &sizes_dat;
	else if ((argc == 4 || argc == 5) && !strcmp(argv[1], "verbs"))
		ops = &sizes_verbs;
	messages = ops ? atoi(argv[3]) : 0;
	if (messages < 1) {
		fprintf(stderr, "usage: sizes dat IA COUNT [PART] | verbs ADDRESS COUNT [PART]\n");
		return 2;
	}
	ops->open(argv[2]);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (argc == 4 || !strcmp(argv[4], parts[i].name)) {
			parts[i].print(ops);
			fflush(stdout); /* what was found is told if the next one fails */
		}
	ops->close();
	return 0;
}
