/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection of the process with itself, over the same adapter and service thread that the evil
 * peer attacks. A round is a Send one way, an RDMA Write and a Send the other way, and an RDMA
 * Read, all compared.
 */
#include "test/interop/victim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES	 4096
#define PAUSE_MS 5
#define TICK_MS	 5

enum {
	ACTIVE,
	PASSIVE,
	ENDS
};

static struct end {
	DAT_EVD_HANDLE evd; /* connection events and completions */
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	uint8_t memory[3 * BYTES]; /* to send from, to receive into, for RDMA */
} ends[ENDS];

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE requests;
static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual;

static pthread_t thread, ticker;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool running, stopping;
static struct healthy_report state;
static atomic_long ticks;
static atomic_bool tick_on;

static uint64_t address(const struct end *end, size_t offset)
{
	return (uintptr_t)end->memory + offset;
}

static const char *next_event(struct end *end, DAT_EVENT_NUMBER number, DAT_DTOS operation,
			      DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	DAT_COUNT more;

	if (dat_evd_wait(end->evd, 10 * SECOND, 1, event, &more) != DAT_SUCCESS)
		return "no_event_in_10_s";
	if (event->event_number != number)
		return victim_event_name(event->event_number);
	if (number != DAT_DTO_COMPLETION_EVENT)
		return NULL;
	if (dto->status != DAT_DTO_SUCCESS)
		return victim_status_name(dto->status);
	return dto->operation == operation ? NULL : "another_operation_completed";
}

static const char *completed(struct end *end, DAT_DTOS operation)
{
	DAT_EVENT event;

	return next_event(end, DAT_DTO_COMPLETION_EVENT, operation, &event);
}

static const char *post_receive(struct end *end)
{
	DAT_LMR_TRIPLET segment = { address(end, BYTES), BYTES, end->local };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	if (dat_ep_post_recv(end->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG))
		return "dat_ep_post_recv_failed";
	return NULL;
}

static const char *send_over(struct end *from, struct end *to)
{
	DAT_LMR_TRIPLET segment = { address(from, 0), BYTES, from->local };
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	const char *fault;

	if (dat_ep_post_send(from->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG))
		return "dat_ep_post_send_failed";
	fault = completed(from, DAT_DTO_SEND);
	if (!fault)
		fault = completed(to, DAT_DTO_RECEIVE);
	if (!fault && memcmp(from->memory, to->memory + BYTES, BYTES))
		fault = "a_message_arrived_changed";
	return fault;
}

static const char *write_over(struct end *from, struct end *to)
{
	DAT_LMR_TRIPLET segment = { address(from, 0), BYTES, from->local };
	DAT_RMR_TRIPLET target = { address(to, 2 * BYTES), BYTES, to->remote };
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };

	if (dat_ep_post_rdma_write(from->ep, 1, &segment, cookie, &target,
				   DAT_COMPLETION_DEFAULT_FLAG))
		return "dat_ep_post_rdma_write_failed";
	return completed(from, DAT_DTO_RDMA_WRITE);
}

static const char *read_over(struct end *to, struct end *from)
{
	DAT_LMR_TRIPLET segment = { address(to, 2 * BYTES), BYTES, to->local };
	DAT_RMR_TRIPLET source = { address(from, 0), BYTES, from->remote };
	DAT_DTO_COOKIE cookie = { .as_64 = 4 };
	const char *fault;

	if (dat_ep_post_rdma_read(to->ep, 1, &segment, cookie, &source,
				  DAT_COMPLETION_DEFAULT_FLAG))
		return "dat_ep_post_rdma_read_failed";
	fault = completed(to, DAT_DTO_RDMA_READ);
	if (!fault && memcmp(from->memory, to->memory + 2 * BYTES, BYTES))
		fault = "a_read_returned_other_bytes";
	return fault;
}

static void fill(struct end *end, uint64_t seed, unsigned step)
{
	uint8_t data[BYTES];

	for (size_t i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(seed + i * step + (i >> 8));
	store(end->memory, data, BYTES);
}

static const char *one_round(uint64_t number)
{
	struct end *one = &ends[ACTIVE], *two = &ends[PASSIVE];
	const char *fault;

	fill(one, number * 7, 13);
	fill(two, number * 11, 5);
	fault = post_receive(two);
	if (!fault)
		fault = send_over(one, two);
	if (!fault)
		fault = write_over(two, one);
	if (!fault)
		fault = read_over(two, one);
	if (!fault)
		fault = post_receive(one);
	if (!fault)
		fault = send_over(two, one);
	/* The Send has come, so the Write before it is visible (DTO-66). */
	if (!fault && memcmp(two->memory, one->memory + 2 * BYTES, BYTES))
		fault = "a_write_arrived_changed";
	return fault;
}

static void pause_until(int64_t when)
{
	struct timespec until = { .tv_sec = when / 1000, .tv_nsec = when % 1000 * 1000000 };

	while (!stopping && pthread_cond_timedwait(&changed, &lock, &until) == 0)
		;
}

/*
 * The clock of the rounds: a thread that has nothing to do with the library. Where the machine lets
 * the whole process wait it stands still as well, so that only the library's doing counts.
 */
static void *tick(void *unused)
{
	const struct timespec pause = { .tv_nsec = TICK_MS * 1000000 };

	while (atomic_load(&tick_on)) {
		nanosleep(&pause, NULL);
		atomic_fetch_add(&ticks, 1);
	}
	return unused;
}

/* Milliseconds since start, but no more than there were ticks since the first of them. */
static int64_t since(int64_t start, long first)
{
	int64_t took = now_ms() - start, ticked = (atomic_load(&ticks) - first + 1) * TICK_MS;

	return took < ticked ? took : ticked;
}

static void *run(void *unused)
{
	uint64_t number = 0;
	bool done = false;

	while (!done) {
		long first = atomic_load(&ticks);
		int64_t start = now_ms(), took;
		const char *fault = one_round(number++);

		took = since(start, first);
		pthread_mutex_lock(&lock);
		if (took > state.worst_ms)
			state.worst_ms = took;
		state.fault = fault;
		state.rounds += !fault;
		pthread_cond_broadcast(&changed);
		if (!fault)
			pause_until(now_ms() + PAUSE_MS);
		done = stopping || fault;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

/* The first wait that sleeps makes a descriptor, which must not seem to be of what comes later. */
static DAT_RETURN sleep_once(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(evd, 100000, 1, &event, &more);

	return ret == DAT_TIMEOUT_EXPIRED ? DAT_SUCCESS : DAT_INTERNAL_ERROR;
}

static DAT_RETURN open_end(struct end *end)
{
	DAT_REGION_DESCRIPTION region = { .for_va = end->memory };
	DAT_RETURN ret;

	ret = dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			     &end->evd);
	if (ret == DAT_SUCCESS)
		ret = dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(end->memory), pz,
				     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &end->lmr, &end->local,
				     &end->remote, NULL, NULL);
	if (ret == DAT_SUCCESS)
		ret = dat_ep_create(ia, pz, end->evd, end->evd, end->evd, NULL, &end->ep);
	if (ret == DAT_SUCCESS)
		ret = sleep_once(end->evd);
	return ret;
}

static const char *join_ends(void)
{
	DAT_IA_ATTR attr;
	DAT_EVENT event;
	DAT_COUNT more;
	const char *fault;

	if (dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL))
		return "dat_ia_query_failed";
	if (dat_ep_connect(ends[ACTIVE].ep, attr.ia_address_ptr, qual, 10 * SECOND, 0, NULL,
			   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG))
		return "dat_ep_connect_failed";
	if (dat_evd_wait(requests, 10 * SECOND, 1, &event, &more))
		return "no_connection_request";
	if (dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ends[PASSIVE].ep, 0,
			  NULL))
		return "dat_cr_accept_failed";
	fault = next_event(&ends[ACTIVE], DAT_CONNECTION_EVENT_ESTABLISHED, 0, &event);
	if (!fault)
		fault = next_event(&ends[PASSIVE], DAT_CONNECTION_EVENT_ESTABLISHED, 0, &event);
	return fault;
}

static void stop_ticker(void)
{
	atomic_store(&tick_on, false);
	pthread_join(ticker, NULL);
}

int healthy_start(DAT_IA_HANDLE handle)
{
	pthread_condattr_t monotonic;
	const char *fault = "setup";

	ia = handle;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &monotonic);
	if (dat_pz_create(ia, &pz) == DAT_SUCCESS &&
	    dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests) == DAT_SUCCESS &&
	    dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp) == DAT_SUCCESS &&
	    open_end(&ends[ACTIVE]) == DAT_SUCCESS && open_end(&ends[PASSIVE]) == DAT_SUCCESS)
		fault = join_ends();
	state.fault = fault;
	atomic_store(&tick_on, true);
	if (fault || pthread_create(&ticker, NULL, tick, NULL))
		return -1;
	if (pthread_create(&thread, NULL, run, NULL)) {
		stop_ticker();
		return -1;
	}
	running = true;
	return 0;
}

uint64_t healthy_rounds(void)
{
	uint64_t rounds;

	pthread_mutex_lock(&lock);
	rounds = state.rounds;
	pthread_mutex_unlock(&lock);
	return rounds;
}

void healthy_wait(unsigned rounds, struct healthy_report *report)
{
	int64_t end = now_ms() + 10000;
	struct timespec until = { .tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000 };
	uint64_t goal;
	int rc = 0;

	pthread_mutex_lock(&lock);
	goal = state.rounds + rounds;
	while (running && !state.fault && state.rounds < goal && rc == 0)
		rc = pthread_cond_timedwait(&changed, &lock, &until);
	*report = state;
	if (rc && !report->fault)
		report->fault = "stalled_for_10_s";
	state.worst_ms = 0;
	pthread_mutex_unlock(&lock);
}

static void close_end(struct end *end)
{
	if (end->ep)
		dat_ep_free(end->ep);
	if (end->lmr)
		dat_lmr_free(end->lmr);
	if (end->evd)
		dat_evd_free(end->evd);
}

void healthy_stop(void)
{
	if (running) {
		pthread_mutex_lock(&lock);
		stopping = true;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		pthread_join(thread, NULL);
		stop_ticker();
	}
	close_end(&ends[ACTIVE]);
	close_end(&ends[PASSIVE]);
	if (psp)
		dat_psp_free(psp);
	if (requests)
		dat_evd_free(requests);
	if (pz)
		dat_pz_free(pz);
}
