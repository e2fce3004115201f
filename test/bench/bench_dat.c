/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <dat/udat.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define DEPTH	64 /* receives and requests that may be outstanding */
#define WINDOW	16 /* messages of a stream in flight */
#define SIGNAL	16 /* every so many requests of a ping-pong are signalled */
#define SECONDS 20000000u

struct remote {
	DAT_VADDR addr;
	DAT_RMR_CONTEXT context;
	DAT_CONN_QUAL qual;
};

struct bench_dat {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, recv, request, conn;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep; /* the first one */
	DAT_EP_HANDLE *eps;
	int endpoints;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	char *buffer; /* what is sent, then where the peer writes */
	struct remote peer;
	unsigned int posted; /* requests since the last signalled one */
};

static void must(DAT_RETURN rc, const char *what)
{
	const char *major = "?", *minor = "";

	if (rc == DAT_SUCCESS)
		return;
	dat_strerror(rc, &major, &minor);
	bench_die("%s: %s %s", what, major, minor);
}

static DAT_LMR_TRIPLET segment(const struct bench_dat *dat, size_t offset, size_t size)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)(dat->buffer + offset),
				  .segment_length = (DAT_SEG_LENGTH)size,
				  .lmr_context = dat->context };
}

static void event_of(DAT_EVD_HANDLE evd, bool waiting, DAT_EVENT *event)
{
	DAT_COUNT more;

	if (waiting)
		must(dat_evd_wait(evd, SECONDS, 1, event, &more), "dat_evd_wait");
	else
		while (dat_evd_dequeue(evd, event) == DAT_QUEUE_EMPTY)
			;
}

static void completion(DAT_EVD_HANDLE evd, bool waiting)
{
	DAT_EVENT event;

	event_of(evd, waiting, &event);
	if (event.event_number != DAT_DTO_COMPLETION_EVENT ||
	    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		bench_die("event 0x%x status %d", event.event_number,
			  (int)event.event_data.dto_completion_event_data.status);
}

static void post_recv(struct bench_dat *dat, size_t size)
{
	DAT_LMR_TRIPLET iov = segment(dat, BENCH_MAX_SIZE, size);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	must(dat_ep_post_recv(dat->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG), "post_recv");
}

static void post_send(struct bench_dat *dat, size_t size, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = segment(dat, 0, size);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	must(dat_ep_post_send(dat->ep, 1, &iov, cookie, flags), "post_send");
}

static void post_read(struct bench_dat *dat, size_t size)
{
	DAT_LMR_TRIPLET iov = segment(dat, 0, size);
	DAT_RMR_TRIPLET from = { .virtual_address = dat->peer.addr,
				 .segment_length = (DAT_SEG_LENGTH)size,
				 .rmr_context = dat->peer.context };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	must(dat_ep_post_rdma_read(dat->ep, 1, &iov, cookie, &from, DAT_COMPLETION_DEFAULT_FLAG),
	     "post_rdma_read");
}

static void post_write_on(struct bench_dat *dat, DAT_EP_HANDLE ep, size_t size,
			  DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = segment(dat, 0, size);
	DAT_RMR_TRIPLET to = { .virtual_address = dat->peer.addr,
			       .segment_length = (DAT_SEG_LENGTH)size,
			       .rmr_context = dat->peer.context };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	must(dat_ep_post_rdma_write(ep, 1, &iov, cookie, &to, flags), "post_rdma_write");
}

static void post_write(struct bench_dat *dat, size_t size, DAT_COMPLETION_FLAGS flags)
{
	post_write_on(dat, dat->ep, size, flags);
}

/* ---- Set-up ---- */

static void make_memory(struct bench_dat *dat)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr;

	dat->buffer = aligned_alloc(4096, 2 * BENCH_MAX_SIZE);
	memset(dat->buffer, 0, 2 * BENCH_MAX_SIZE);
	region.for_va = dat->buffer;
	must(dat_lmr_create(dat->ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * BENCH_MAX_SIZE, dat->pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &dat->lmr, &dat->context, &rmr,
			    NULL, NULL),
	     "dat_lmr_create");
	dat->peer.context = rmr;
	dat->peer.addr = (DAT_VADDR)(uintptr_t)(dat->buffer + BENCH_MAX_SIZE);
}

static DAT_EP_HANDLE make_ep(struct bench_dat *dat)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = DEPTH,
		.max_request_dtos = DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = WINDOW,
		.max_rdma_read_out = WINDOW,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EP_HANDLE ep;

	must(dat_ep_create(dat->ia, dat->pz, dat->recv, dat->request, dat->conn, &attr, &ep),
	     "dat_ep_create");
	return ep;
}

static void connect_passive(struct bench_dat *dat, int control, const struct remote *mine)
{
	struct remote told = *mine;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	must(dat_evd_create(dat->ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd), "cr evd");
	must(dat_psp_create_any(dat->ia, &told.qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), "psp");
	if (write(control, &told, sizeof(told)) != (ssize_t)sizeof(told))
		bench_die("control: %s", strerror(errno));
	for (int i = 0; i < dat->endpoints; i++) {
		event_of(cr_evd, true, &event);
		must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, dat->eps[i], 0,
				   NULL),
		     "accept");
		event_of(dat->conn, true, &event);
		if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			bench_die("passive: event 0x%x", event.event_number);
	}
	must(dat_psp_free(psp), "dat_psp_free");
	must(dat_evd_free(cr_evd), "dat_evd_free");
}

static void connect_active(struct bench_dat *dat, DAT_CONN_QUAL qual)
{
	DAT_EVENT event;

	for (int i = 0; i < dat->endpoints; i++) {
		must(dat_ep_connect(dat->eps[i], (DAT_IA_ADDRESS_PTR)&bench_server, qual, SECONDS,
				    0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		     "dat_ep_connect");
		event_of(dat->conn, true, &event);
		if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			bench_die("active: event 0x%x", event.event_number);
	}
}

struct bench_dat *bench_dat_open(const char *ia_name, bool active, int control, int endpoints)
{
	struct bench_dat *dat = calloc(1, sizeof(*dat));
	struct remote mine;

	must(dat_ia_open((char *)ia_name, 8, &dat->async, &dat->ia), "dat_ia_open");
	must(dat_pz_create(dat->ia, &dat->pz), "dat_pz_create");
	must(dat_evd_create(dat->ia, DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dat->recv), "evd");
	must(dat_evd_create(dat->ia, DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dat->request),
	     "evd");
	must(dat_evd_create(dat->ia, 4 + 2 * endpoints, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &dat->conn),
	     "evd");
	make_memory(dat);
	dat->endpoints = endpoints;
	dat->eps = calloc((size_t)endpoints, sizeof(dat->eps[0]));
	for (int i = 0; i < endpoints; i++)
		dat->eps[i] = make_ep(dat);
	dat->ep = dat->eps[0];
	mine = dat->peer;
	if (active) {
		if (read(control, &dat->peer, sizeof(mine)) != (ssize_t)sizeof(mine) ||
		    write(control, &mine, sizeof(mine)) != (ssize_t)sizeof(mine))
			bench_die("control: %s", strerror(errno));
		connect_active(dat, dat->peer.qual);
	} else {
		connect_passive(dat, control, &mine);
		if (read(control, &dat->peer, sizeof(mine)) != (ssize_t)sizeof(mine))
			bench_die("control: %s", strerror(errno));
	}
	return dat;
}

void bench_dat_close(struct bench_dat *dat)
{
	dat_ia_close(dat->ia, DAT_CLOSE_ABRUPT_FLAG);
	free(dat->buffer);
	free(dat->eps);
	free(dat);
}

/* ---- Ping-pong ---- */

/* Sends one message; most requests are suppressed, and the signalled ones reaped at once. */
static void ping(struct bench_dat *dat, const struct bench_case *bc, unsigned char value)
{
	bool signal = ++dat->posted == SIGNAL;
	DAT_COMPLETION_FLAGS flags =
		signal ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG;

	if (bc->op == BENCH_REAP) {
		dat->buffer[bc->size - 1] = (char)value;
		post_write(dat, bc->size, DAT_COMPLETION_DEFAULT_FLAG);
		completion(dat->request, false);
		dat->posted = 0;
		return;
	}
	if (bc->op == BENCH_WRITE || bc->op == BENCH_MEMORY) {
		dat->buffer[bc->size - 1] = (char)value;
		/* Sleeping for a write needs a message behind it: a write makes no event at its
		 * target. */
		post_write(dat, bc->size, bc->waiting ? DAT_COMPLETION_SUPPRESS_FLAG : flags);
		if (bc->waiting)
			post_send(dat, 0, flags);
	} else {
		post_send(dat, bc->size, flags);
	}
	if (signal) {
		completion(dat->request, false);
		dat->posted = 0;
	}
}

static void pong(struct bench_dat *dat, const struct bench_case *bc, unsigned char value)
{
	volatile unsigned char *last = (unsigned char *)dat->buffer + BENCH_MAX_SIZE + bc->size - 1;
	DAT_EVENT event;

	if (bc->op == BENCH_MEMORY || bc->op == BENCH_REAP) {
		while (*last != value)
			;
		return;
	}
	if (bc->op == BENCH_WRITE && !bc->waiting) {
		while (*last != value)
			dat_evd_dequeue(dat->recv, &event);
		return;
	}
	completion(dat->recv, bc->waiting);
	post_recv(dat, bc->op == BENCH_WRITE ? 0 : bc->size);
}

/* Reads, one by one, from one who looks at his memory alone, until he is told there. */
static double read_busy(struct bench_dat *dat, const struct bench_case *bc, bool active)
{
	volatile unsigned char *last = (unsigned char *)dat->buffer + BENCH_MAX_SIZE + bc->size - 1;
	double start = bench_now(), before = start, now;

	for (unsigned int i = 0; active && i < bc->count; i++) {
		post_read(dat, bc->size);
		completion(dat->request, false);
		if (bc->trips) {
			now = bench_now();
			bc->trips[i] = (float)(now - before);
			before = now;
		}
	}
	start = bench_now() - start;
	if (active) {
		dat->buffer[bc->size - 1] = 1;
		post_write(dat, bc->size, DAT_COMPLETION_DEFAULT_FLAG);
		completion(dat->request, false);
	}
	while (!active && !*last)
		;
	return start;
}

static double ping_pong(struct bench_dat *dat, const struct bench_case *bc, bool active)
{
	double start = bench_now(), before = start, now;
	unsigned int i;

	for (i = 0; i < bc->count; i++) {
		unsigned char value = (unsigned char)(i % 255 + 1);

		if (active)
			ping(dat, bc, value);
		pong(dat, bc, value);
		if (!active)
			ping(dat, bc, value);
		if (bc->trips) {
			now = bench_now();
			bc->trips[i] = (float)(now - before);
			before = now;
		}
	}
	return bench_now() - start;
}

/* ---- Turns ---- */

/* Before each round, in seconds: of each endpoint nothing is heard for that, times their number. */
#define SILENCE 20e-6

static void be_silent(void)
{
	double end = bench_now() + SILENCE;

	while (bench_now() < end)
		;
}

static void say(struct bench_dat *dat, size_t size)
{
	post_send(dat, size, DAT_COMPLETION_DEFAULT_FLAG);
	completion(dat->request, false);
}

static void hear(struct bench_dat *dat, size_t size)
{
	completion(dat->recv, false);
	if (size)
		post_recv(dat, size);
}

/* The time that was not silence. */
static double take_turns(struct bench_dat *dat, const struct bench_case *bc, bool active)
{
	double spent = 0, before, trip;

	for (int e = 0; e < dat->endpoints; e++) {
		dat->ep = dat->eps[e];
		post_recv(dat, bc->size);
	}
	for (unsigned int i = 0; i < bc->count; i++) {
		dat->ep = dat->eps[i % (unsigned int)dat->endpoints];
		if (active)
			be_silent();
		before = bench_now();
		if (active)
			say(dat, bc->size);
		hear(dat, bc->size);
		if (!active)
			say(dat, bc->size);
		trip = bench_now() - before;
		spent += trip;
		if (bc->trips)
			bc->trips[i] = (float)trip;
	}
	for (int e = 0; e < dat->endpoints; e++) { /* the last receives */
		dat->ep = dat->eps[e];
		say(dat, 0);
		hear(dat, 0);
	}
	dat->ep = dat->eps[0];
	return spent;
}

/* ---- Stream ---- */

static void stream_out(struct bench_dat *dat, const struct bench_case *bc)
{
	unsigned int posted = 0, done = 0;

	while (done < bc->count) {
		if (posted < bc->count && posted - done < WINDOW) {
			if (bc->op == BENCH_READ)
				post_read(dat, bc->size);
			else if (bc->op == BENCH_WRITE)
				post_write_on(dat, dat->eps[posted % (unsigned int)dat->endpoints],
					      bc->size, DAT_COMPLETION_DEFAULT_FLAG);
			else
				post_send(dat, bc->size, DAT_COMPLETION_DEFAULT_FLAG);
			posted++;
			continue;
		}
		completion(dat->request, bc->waiting);
		done++;
	}
}

static void stream_in(struct bench_dat *dat, const struct bench_case *bc)
{
	unsigned int i;

	for (i = 0; bc->op == BENCH_SEND && i < bc->count; i++) {
		completion(dat->recv, bc->waiting);
		post_recv(dat, bc->size);
	}
}

static double stream(struct bench_dat *dat, const struct bench_case *bc, bool active)
{
	double start = bench_now();

	if (active || bc->both)
		stream_out(dat, bc);
	else
		stream_in(dat, bc);
	/* The end of the stream one way, then its acknowledgement. */
	if (active)
		post_send(dat, 0, DAT_COMPLETION_DEFAULT_FLAG);
	completion(dat->recv, bc->waiting);
	if (!active)
		post_send(dat, 0, DAT_COMPLETION_DEFAULT_FLAG);
	start = bench_now() - start;
	completion(dat->request, bc->waiting);
	return start;
}

/* Receives left over are consumed by empty messages, so that each round starts from nothing. */
static void drain(struct bench_dat *dat, unsigned int left)
{
	unsigned int i;

	for (i = 0; i < left; i++)
		post_send(dat, 0, DAT_COMPLETION_DEFAULT_FLAG);
	for (i = 0; i < left; i++) {
		completion(dat->request, true);
		completion(dat->recv, true);
	}
}

void bench_dat_clear(struct bench_dat *dat, const struct bench_case *bc)
{
	dat->buffer[BENCH_MAX_SIZE + bc->size - 1] = 0;
}

double bench_dat_run(struct bench_dat *dat, const struct bench_case *bc, bool active)
{
	bool receives = bc->stream || bc->op == BENCH_SEND || bc->waiting;
	unsigned int ahead = receives ? DEPTH - WINDOW : 0, i;
	double seconds;

	dat->posted = 0;
	if (bc->turns)
		return take_turns(dat, bc, active);
	for (i = 0; i < ahead; i++)
		post_recv(dat, bc->size);
	if (!bc->stream) {
		seconds = bc->op == BENCH_READ ? read_busy(dat, bc, active)
					       : ping_pong(dat, bc, active);
		if (dat->posted) { /* reclaims what was suppressed */
			post_write(dat, 0, DAT_COMPLETION_DEFAULT_FLAG);
			completion(dat->request, false);
		}
		drain(dat, ahead);
		return seconds;
	}
	seconds = stream(dat, bc, active);
	drain(dat, ahead - 1);
	return seconds;
}
