/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An RDMA write posted and its completion dequeued, over and over, for whoever counts instructions:
 * cost IA COUNT. Both endpoints are in this process. A completion is given time to come, so that
 * nearly every dequeue finds one; prints how many did not. Uses what release 2.1.10 exports only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dat2/udat.h>

#define QUAL 45390
#define LEN  64
#define US   20000000

struct side {
	DAT_EVD_HANDLE conn, dto;
	DAT_EP_HANDLE ep;
};

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static unsigned char memory[2][LEN];

static void ok(const char *what, DAT_RETURN rc)
{
	if (rc != DAT_SUCCESS) {
		fprintf(stderr, "%s: 0x%x\n", what, rc);
		exit(1);
	}
}

static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	ok("dat_evd_wait", dat_evd_wait(evd, US, 1, &event, &more));
	if (event.event_number != number) {
		fprintf(stderr, "event 0x%x instead of 0x%x\n", event.event_number, number);
		exit(1);
	}
	return event;
}

static void open_side(struct side *side)
{
	ok("dat_evd_create",
	   dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &side->conn));
	ok("dat_evd_create", dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &side->dto));
	ok("dat_ep_create",
	   dat_ep_create(ia, pz, side->dto, side->dto, side->conn, NULL, &side->ep));
}

static void close_side(struct side *side)
{
	dat_ep_free(side->ep);
	dat_evd_free(side->dto);
	dat_evd_free(side->conn);
}

static void connect_sides(struct side *active, struct side *passive)
{
	DAT_EVD_HANDLE requests;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;
	DAT_EVENT event;

	ok("dat_evd_create", dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	ok("dat_psp_create", dat_psp_create(ia, QUAL, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	ok("dat_ia_query", dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	ok("dat_ep_connect", dat_ep_connect(active->ep, attr.ia_address_ptr, QUAL, US, 0, NULL,
					    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = next(requests, DAT_CONNECTION_REQUEST_EVENT);
	ok("dat_cr_accept",
	   dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive->ep, 0, NULL));
	next(active->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	next(passive->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	dat_psp_free(psp);
	dat_evd_free(requests);
}

/* How many dequeues found nothing. */
static int run(const struct side *side, int count)
{
	const struct timespec while_it_comes = { .tv_nsec = 5000000 };
	DAT_LMR_TRIPLET from;
	DAT_RMR_TRIPLET to;
	DAT_DTO_COOKIE cookie;
	DAT_EVENT event;
	int i, empty = 0;

	memset(&from, 0, sizeof(from));
	from.virtual_address = (DAT_VADDR)(DAT_UVERYLONG)memory[0];
	from.segment_length = LEN;
	from.lmr_context = lmr_context;
	memset(&to, 0, sizeof(to));
	to.virtual_address = (DAT_VADDR)(DAT_UVERYLONG)memory[1];
	to.segment_length = LEN;
	to.rmr_context = rmr_context;
	for (i = 0; i < count; i++) {
		cookie.as_64 = (DAT_UINT64)i;
		ok("dat_ep_post_rdma_write", dat_ep_post_rdma_write(side->ep, 1, &from, cookie, &to,
								    DAT_COMPLETION_DEFAULT_FLAG));
		nanosleep(&while_it_comes, NULL);
		while (dat_evd_dequeue(side->dto, &event) != DAT_SUCCESS) {
			empty++;
			nanosleep(&while_it_comes, NULL);
		}
		ok("the completion", event.event_data.dto_completion_event_data.status);
	}
	return empty;
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	struct side active, passive;
	DAT_VLEN registered;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;
	int empty;

	if (argc != 3) {
		fprintf(stderr, "usage: cost IA COUNT\n");
		return 2;
	}
	ok("dat_ia_open", dat_ia_open(argv[1], 8, &async, &ia));
	ok("dat_pz_create", dat_pz_create(ia, &pz));
	region.for_va = memory;
	ok("dat_lmr_create", dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
					    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
					    &lmr_context, &rmr_context, &registered, &address));
	open_side(&active);
	open_side(&passive);
	connect_sides(&active, &passive);
	empty = run(&active, atoi(argv[2]));
	printf("%d writes, %d empty dequeues\n", atoi(argv[2]), empty);
	fflush(stdout);
	dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG);
	close_side(&active);
	close_side(&passive);
	dat_lmr_free(lmr);
	dat_pz_free(pz);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return 0;
}
