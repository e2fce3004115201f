/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An RDMA write posted and its completion dequeued, over and over, for whoever counts instructions:
 * cost IA COUNT. A completion is given time to come, so that nearly every dequeue finds one; prints
 * how many did not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pair.h"

#define LEN 64

/* How many dequeues found nothing. */
static int run(const struct pair *pair, int count)
{
	const struct timespec while_it_comes = { .tv_nsec = 5000000 };
	DAT_LMR_TRIPLET from = pair_local(pair, 0, LEN);
	DAT_RMR_TRIPLET to = pair_remote(pair, 1, LEN);
	DAT_DTO_COOKIE cookie;
	DAT_EVENT event;
	int i, empty = 0;

	for (i = 0; i < count; i++) {
		cookie.as_64 = (DAT_UINT64)i;
		pair_ok("dat_ep_post_rdma_write",
			dat_ep_post_rdma_write(pair->side[0].ep, 1, &from, cookie, &to,
					       DAT_COMPLETION_DEFAULT_FLAG));
		nanosleep(&while_it_comes, NULL);
		while (dat_evd_dequeue(pair->side[0].request, &event) != DAT_SUCCESS) {
			empty++;
			nanosleep(&while_it_comes, NULL);
		}
		pair_ok("the completion", event.event_data.dto_completion_event_data.status);
	}
	return empty;
}

static const struct timespec settling = { .tv_sec = 2 };

int main(int argc, char **argv)
{
	struct pair pair;
	int empty;

	if (argc != 3) {
		fprintf(stderr, "usage: cost IA COUNT\n");
		return 2;
	}
	pair_open(&pair, argv[1]);
	/* What a provider does in the first moments of a connection is not what is counted. */
	nanosleep(&settling, NULL);
	empty = run(&pair, atoi(argv[2]));
	printf("%d writes, %d empty dequeues\n", atoi(argv[2]), empty);
	fflush(stdout);
	pair_close(&pair);
	return 0;
}
