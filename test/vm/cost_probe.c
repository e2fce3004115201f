/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests posted and their completions dequeued, over and over, for whoever counts instructions:
 * cost IA COUNT [KIND]. Completions are given time to come, so that nearly every dequeue finds one;
 * prints how many did not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pair.h"

#define LEN	 64
#define SEGMENTS 3
#define BATCH	 16

static const struct timespec while_they_come = { .tv_nsec = 5000000 };

/* How many dequeues found nothing. */
static int empty;

static void dequeue(DAT_EVD_HANDLE evd, int num)
{
	DAT_EVENT event;

	nanosleep(&while_they_come, NULL);
	while (num) {
		if (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
			pair_ok("the completion",
				event.event_data.dto_completion_event_data.status);
			num--;
		} else {
			empty++;
			nanosleep(&while_they_come, NULL);
		}
	}
}

static void post_write(const struct pair *pair, int segments, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET from[SEGMENTS] = { pair_local(pair, 0, LEN), pair_local(pair, 0, LEN),
					   pair_local(pair, 0, LEN) };
	DAT_RMR_TRIPLET to = pair_remote(pair, 1, (size_t)segments * LEN);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	pair_ok("dat_ep_post_rdma_write",
		dat_ep_post_rdma_write(pair->side[0].ep, segments, from, cookie, &to, flags));
}

static void one_write(const struct pair *pair)
{
	post_write(pair, 1, DAT_COMPLETION_DEFAULT_FLAG);
	dequeue(pair->side[0].request, 1);
}

static void segments(const struct pair *pair)
{
	post_write(pair, SEGMENTS, DAT_COMPLETION_DEFAULT_FLAG);
	dequeue(pair->side[0].request, 1);
}

static void suppressed(const struct pair *pair)
{
	int i;

	for (i = 1; i < BATCH; i++)
		post_write(pair, 1, DAT_COMPLETION_SUPPRESS_FLAG);
	one_write(pair);
}

static void batch(const struct pair *pair)
{
	int i;

	for (i = 0; i < BATCH; i++)
		post_write(pair, 1, DAT_COMPLETION_DEFAULT_FLAG);
	dequeue(pair->side[0].request, BATCH);
}

static void one_read(const struct pair *pair)
{
	DAT_LMR_TRIPLET to = pair_local(pair, 0, LEN);
	DAT_RMR_TRIPLET from = pair_remote(pair, 1, LEN);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	pair_ok("dat_ep_post_rdma_read", dat_ep_post_rdma_read(pair->side[0].ep, 1, &to, cookie,
							       &from, DAT_COMPLETION_DEFAULT_FLAG));
	dequeue(pair->side[0].request, 1);
}

/* Only receives are dequeued: what a Send's completion costs is that of a write's. */
static void one_send(const struct pair *pair)
{
	DAT_LMR_TRIPLET from = pair_local(pair, 0, LEN), to = pair_local(pair, 1, LEN);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT event;
	DAT_COUNT more;

	pair_ok("dat_ep_post_recv",
		dat_ep_post_recv(pair->side[1].ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	pair_ok("dat_ep_post_send",
		dat_ep_post_send(pair->side[0].ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	dequeue(pair->side[1].recv, 1);
	pair_ok("dat_evd_wait", dat_evd_wait(pair->side[0].request, 10000000, 1, &event, &more));
}

static const struct {
	const char *name;
	int requests;
	void (*run)(const struct pair *pair);
} kinds[] = {
	{ "write", 1, one_write },
	{ "send", 1, one_send },
	{ "read", 1, one_read },
	{ "segments", 1, segments },
	{ "suppressed", BATCH, suppressed },
	{ "batch", BATCH, batch },
};
#define NUM_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct timespec settling = { .tv_sec = 2 };

int main(int argc, char **argv)
{
	const char *name = argc == 4 ? argv[3] : kinds[0].name;
	int count = argc >= 3 ? atoi(argv[2]) : 0, i;
	struct pair pair;
	size_t kind = 0;

	while (kind < NUM_KINDS && strcmp(kinds[kind].name, name) != 0)
		kind++;
	if (argc < 3 || argc > 4 || count < 1 || kind == NUM_KINDS) {
		fprintf(stderr,
			"usage: cost IA COUNT [write|send|read|segments|suppressed|batch]\n");
		return 2;
	}
	pair_open(&pair, argv[1]);
	/* What a provider does in the first moments of a connection is not what is counted. */
	nanosleep(&settling, NULL);
	for (i = 0; i < count; i += kinds[kind].requests)
		kinds[kind].run(&pair);
	printf("%d of %s, %d empty dequeues\n", i, name, empty);
	fflush(stdout);
	pair_close(&pair);
	return 0;
}
