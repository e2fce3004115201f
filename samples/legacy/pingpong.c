/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program of DAT 1.2: `pingpong` waits for a player, `pingpong ADDRESS [ROUNDS]` plays with the one
 * there, by RDMA Writes whose last word says that they have arrived, and prints half of what a round
 * takes. UDAPL_IA names the adapter (soft-lo).
 *
 *     cc -o pingpong pingpong.c $(pkg-config --cflags --libs dat-1.2)
 */
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dat/udat.h>

#define PORT	45250
#define QLEN	16
#define SECONDS (10 * 1000000) /* timeouts are in microseconds */
#define ROUNDS	1000

/* What is written to each other; serial is looked at by the side that waits. */
struct ball {
	char text[56];
	volatile DAT_UINT64 serial;
};

/* What a peer must know to write; it travels as private data. */
struct place {
	DAT_UINT64 address;
	DAT_UINT32 context, rounds;
};

struct player {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd, cr_evd, connect_evd, dto_evd;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	struct place mine, theirs;
};

static struct {
	struct ball out, in;
} balls;

static void must(DAT_RETURN rc, const char *what)
{
	const char *major, *minor;

	if (rc == DAT_SUCCESS)
		return;
	dat_strerror(rc, &major, &minor);
	fprintf(stderr, "%s: %s %s\n", what, major, minor);
	exit(EXIT_FAILURE);
}

static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, SECONDS, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != wanted) {
		fprintf(stderr, "event 0x%x instead of 0x%x\n", event.event_number, wanted);
		exit(EXIT_FAILURE);
	}
	return event;
}

/* ---- Objects ---- */

static void open_all(struct player *p, const char *adapter)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT remote;

	region.for_va = &balls;
	p->async_evd = DAT_HANDLE_NULL;
	must(dat_ia_open((DAT_NAME_PTR)adapter, QLEN, &p->async_evd, &p->ia), "dat_ia_open");
	must(dat_pz_create(p->ia, &p->pz), "dat_pz_create");
	must(dat_evd_create(p->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &p->cr_evd),
	     "dat_evd_create");
	must(dat_evd_create(p->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &p->connect_evd),
	     "dat_evd_create");
	must(dat_evd_create(p->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &p->dto_evd),
	     "dat_evd_create");
	must(dat_ep_create(p->ia, p->pz, p->dto_evd, p->dto_evd, p->connect_evd, NULL, &p->ep),
	     "dat_ep_create");
	/* Eleven arguments: DAT 2.0 has one more. */
	must(dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(balls), p->pz,
			    DAT_MEM_PRIV_ALL_FLAG, &p->lmr, &p->context, &remote, NULL, NULL),
	     "dat_lmr_create");
	p->mine.address = (DAT_UINT64)(uintptr_t)&balls.in;
	p->mine.context = remote;
}

static void close_all(struct player *p)
{
	must(dat_ep_free(p->ep), "dat_ep_free");
	must(dat_lmr_free(p->lmr), "dat_lmr_free");
	must(dat_evd_free(p->dto_evd), "dat_evd_free");
	must(dat_evd_free(p->connect_evd), "dat_evd_free");
	must(dat_evd_free(p->cr_evd), "dat_evd_free");
	must(dat_pz_free(p->pz), "dat_pz_free");
	must(dat_ia_close(p->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
}

/* ---- The game ---- */

static void hit(struct player *p, DAT_UINT64 serial)
{
	DAT_LMR_TRIPLET from;
	DAT_RMR_TRIPLET to;
	DAT_DTO_COOKIE cookie;
	DAT_EVENT event;

	snprintf(balls.out.text, sizeof(balls.out.text), "ball %llu", (unsigned long long)serial);
	balls.out.serial = serial;
	from.lmr_context = p->context;
	from.pad = 0;
	from.virtual_address = (DAT_VADDR)(uintptr_t)&balls.out;
	from.segment_length = sizeof(balls.out);
	to.rmr_context = p->theirs.context;
	to.pad = 0;
	to.target_address = p->theirs.address;
	to.segment_length = sizeof(balls.out);
	cookie.as_64 = serial;
	must(dat_ep_post_rdma_write(p->ep, 1, &from, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_rdma_write");
	while (dat_evd_dequeue(p->dto_evd, &event) == DAT_QUEUE_EMPTY)
		;
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS ||
	    event.event_data.dto_completion_event_data.user_cookie.as_64 != serial) {
		fprintf(stderr, "write %llu failed with status %d\n", (unsigned long long)serial,
			(int)event.event_data.dto_completion_event_data.status);
		exit(EXIT_FAILURE);
	}
}

/*
 * The peer's write has arrived when its last word is there. A program need not call anything for
 * that, but while it polls a provider in software works on its thread.
 */
static void await(const struct player *p, DAT_UINT64 serial)
{
	time_t end = time(NULL) + 20;
	DAT_EVENT event;

	while (balls.in.serial != serial) {
		if (dat_evd_dequeue(p->dto_evd, &event) == DAT_QUEUE_EMPTY && time(NULL) < end)
			continue;
		fprintf(stderr, "ball %llu did not come\n", (unsigned long long)serial);
		exit(EXIT_FAILURE);
	}
}

static void serve(struct player *p)
{
	DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_CR_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	DAT_UINT64 i;

	must(dat_psp_create(p->ia, PORT, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	printf("listening on port %d\n", PORT);
	fflush(stdout);
	event = next(p->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	arrival = &event.event_data.cr_arrival_event_data;
	must(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	if (param.private_data_size < (DAT_COUNT)sizeof(p->theirs)) {
		fprintf(stderr, "a player that does not say where it is\n");
		exit(EXIT_FAILURE);
	}
	memcpy(&p->theirs, param.private_data, sizeof(p->theirs));
	must(dat_cr_accept(arrival->cr_handle, p->ep, sizeof(p->mine), &p->mine), "dat_cr_accept");
	next(p->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 1; i <= p->theirs.rounds; i++) {
		await(p, i);
		hit(p, i);
	}
	printf("%s\n", balls.in.text);
	next(p->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_psp_free(psp), "dat_psp_free");
}

static void play(struct player *p, const char *host)
{
	struct addrinfo *address, hints = { .ai_socktype = SOCK_STREAM };
	struct timespec start, end;
	DAT_IA_ATTR attr;
	DAT_EVENT event;
	DAT_UINT64 i;
	double us;
	int err;

	/* "localhost" may be ::1 first, which an adapter of 127.0.0.1 does not reach. */
	must(dat_ia_query(p->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL),
	     "dat_ia_query");
	hints.ai_family = attr.ia_address_ptr->sa_family;
	err = getaddrinfo(host, NULL, &hints, &address);
	if (err) {
		fprintf(stderr, "%s: %s\n", host, gai_strerror(err));
		exit(EXIT_FAILURE);
	}
	must(dat_ep_connect(p->ep, (DAT_IA_ADDRESS_PTR)address->ai_addr, PORT, SECONDS,
			    sizeof(p->mine), &p->mine, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG),
	     "dat_ep_connect");
	freeaddrinfo(address);
	event = next(p->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	memcpy(&p->theirs, event.event_data.connect_event_data.private_data, sizeof(p->theirs));
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 1; i <= p->mine.rounds; i++) {
		hit(p, i);
		await(p, i);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	us = (double)(end.tv_sec - start.tv_sec) * 1e6 +
	     (double)(end.tv_nsec - start.tv_nsec) / 1e3;
	printf("%u rounds, %.2f us one way\n", p->mine.rounds, us / p->mine.rounds / 2);
	must(dat_ep_disconnect(p->ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	next(p->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

int main(int argc, char **argv)
{
	const char *adapter = getenv("UDAPL_IA");
	struct player p;

	memset(&p, 0, sizeof(p));
	p.mine.rounds = argc > 2 ? (DAT_UINT32)strtoul(argv[2], NULL, 0) : ROUNDS;
	open_all(&p, adapter ? adapter : "soft-lo");
	if (argc > 1)
		play(&p, argv[1]);
	else
		serve(&p);
	close_all(&p);
	return 0;
}
