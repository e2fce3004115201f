/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two hosts under traffic, a waiter on everything, while a device is taken away from one of them.
 *
 *   away server IA                   prints "ready" when it listens
 *   away client IA SERVER-ADDRESS removed|down
 *
 * Both print "running" when data has gone both ways, then what each waiter woke up with, then
 * whether closing worked. The exit status is 0 if every waiter came back within its time.
 *
 * There are two connections: one with traffic, and an idle one whose receives trigger a CNO. That
 * one ends with the device; of a wire that is cut it need not hear.
 */
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <stdbool.h>
#include <unistd.h>

#include <dat2/udat.h>

#define QUAL	45302
#define LEN	4096
#define SECONDS 60

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, cr_evd, conn_evd, recv_evd, req_evd, cno_evd;
static DAT_CNO_HANDLE cno;
static DAT_EP_HANDLE ep;
static char *mem;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static struct {
	DAT_UINT64 address;
	DAT_UINT32 context;
} peer, own;

static void ok(const char *what, DAT_RETURN rc)
{
	if (rc == DAT_SUCCESS)
		return;
	printf("%s failed: 0x%x\n", what, rc);
	exit(1);
}

static const char *name(DAT_EVENT_NUMBER number)
{
	switch ((int)number) {
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
		return "IA_CATASTROPHIC";
	case DAT_ASYNC_ERROR_EP_BROKEN:
		return "EP_BROKEN";
	case DAT_DTO_COMPLETION_EVENT:
		return "completion";
	default:
		return "other event";
	}
}

/* ---- Waiters ---- */

struct waiter {
	const char *on;
	DAT_EVD_HANDLE *evd; /* null: the CNO */
	DAT_RETURN rc;
	DAT_EVENT event;
	pthread_t thread;
	atomic_bool back;
};

static struct waiter waiters[] = {
	{ .on = "async", .evd = &async_evd },  { .on = "connection", .evd = &conn_evd },
	{ .on = "receive", .evd = &recv_evd }, { .on = "cno" },
	{ .on = "request", .evd = &cr_evd },
};

enum {
	ASYNC,
	CONNECTION,
	RECEIVE,
	CNO,
	REQUEST,
	NUM
};

static void *wait_for_it(void *arg)
{
	struct waiter *w = arg;
	DAT_COUNT more;

	do {
		if (w->evd == NULL)
			w->rc = dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &w->event.evd_handle);
		else
			w->rc = dat_evd_wait(*w->evd, DAT_TIMEOUT_INFINITE, 1, &w->event, &more);
		/* Each endpoint may be reported before the device is. */
	} while (w->evd == &async_evd && w->rc == DAT_SUCCESS &&
		 w->event.event_number == DAT_ASYNC_ERROR_EP_BROKEN);
	atomic_store(&w->back, true);
	return NULL;
}

static bool within(atomic_bool *what, int seconds)
{
	const struct timespec tick = { .tv_nsec = 20000000 };

	for (int i = 0; i < seconds * 50 && !atomic_load(what); i++)
		nanosleep(&tick, NULL);
	return atomic_load(what);
}

static bool tell(struct waiter *w, int seconds)
{
	bool back = within(&w->back, seconds);

	if (!back)
		printf("%s: still waiting\n", w->on);
	else if (w->rc != DAT_SUCCESS)
		printf("%s: returned 0x%x\n", w->on, w->rc);
	else if (w->evd == NULL)
		printf("%s: notified\n", w->on);
	else
		printf("%s: %s\n", w->on, name(w->event.event_number));
	return back;
}

/* ---- Traffic ---- */

static atomic_bool traffic_over;
static atomic_uint written;

static bool completed(DAT_DTO_COMPLETION_STATUS *status)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (dat_evd_wait(req_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more) != DAT_SUCCESS)
		return false;
	*status = event.event_data.dto_completion_event_data.status;
	return true;
}

/* Writes without a pause until it fails. */
static void *write_on(void *arg)
{
	DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
	DAT_LMR_TRIPLET from = { .virtual_address = (DAT_VADDR)(DAT_UVERYLONG)mem,
				 .segment_length = LEN,
				 .lmr_context = lmr_context };
	DAT_RMR_TRIPLET to = { .virtual_address = peer.address + LEN,
			       .segment_length = LEN,
			       .rmr_context = peer.context };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RETURN rc = DAT_SUCCESS;

	(void)arg;
	while (status == DAT_DTO_SUCCESS) {
		rc = dat_ep_post_rdma_write(ep, 1, &from, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG);
		if (rc != DAT_SUCCESS || !completed(&status))
			break;
		atomic_fetch_add(&written, 1);
	}
	printf("traffic: post 0x%x, status %d after %u writes\n", rc, status,
	       atomic_load(&written));
	atomic_store(&traffic_over, true);
	return NULL;
}

/* ---- Start ---- */

static void start(char *adapter)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN size;
	DAT_VADDR address;

	ok("dat_ia_open", dat_ia_open(adapter, 8, &async_evd, &ia));
	ok("dat_pz_create", dat_pz_create(ia, &pz));
	ok("dat_cno_create", dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	ok("dat_evd_create", dat_evd_create(ia, 8, NULL, DAT_EVD_CR_FLAG, &cr_evd));
	ok("dat_evd_create", dat_evd_create(ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd));
	ok("dat_evd_create", dat_evd_create(ia, 16, NULL, DAT_EVD_DTO_FLAG, &recv_evd));
	ok("dat_evd_create", dat_evd_create(ia, 16, NULL, DAT_EVD_DTO_FLAG, &req_evd));
	/* A second endpoint's receives go to the CNO. */
	ok("dat_evd_create", dat_evd_create(ia, 16, cno, DAT_EVD_DTO_FLAG, &cno_evd));
	if (posix_memalign((void **)&mem, 4096, 2 * LEN))
		exit(1);
	memset(mem, 1, 2 * LEN);
	region.for_va = mem;
	ok("dat_lmr_create",
	   dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * LEN, pz, DAT_MEM_PRIV_ALL_FLAG,
			  DAT_VA_TYPE_VA, &lmr, &lmr_context, &rmr_context, &size, &address));
	own.address = (DAT_UINT64)(DAT_UVERYLONG)mem;
	own.context = rmr_context;
}

static DAT_EP_HANDLE make_ep(DAT_EVD_HANDLE receives)
{
	DAT_LMR_TRIPLET to = { .virtual_address = (DAT_VADDR)(DAT_UVERYLONG)mem,
			       .segment_length = LEN,
			       .lmr_context = lmr_context };
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	DAT_EP_HANDLE made;

	ok("dat_ep_create", dat_ep_create(ia, pz, receives, req_evd, conn_evd, NULL, &made));
	for (int i = 0; i < 4; i++)
		ok("dat_ep_post_recv",
		   dat_ep_post_recv(made, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	return made;
}

static void next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT more;

	ok("dat_evd_wait", dat_evd_wait(evd, SECONDS * 1000000, 1, event, &more));
	if (event->event_number == number)
		return;
	printf("event 0x%x instead of 0x%x\n", event->event_number, number);
	exit(1);
}

static void serve(DAT_EP_HANDLE with)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	next(cr_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ok("dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	memcpy(&peer, param.private_data, sizeof(peer));
	ok("dat_cr_accept", dat_cr_accept(cr, with, sizeof(own), &own));
	next(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static void ask(DAT_EP_HANDLE with, struct sockaddr *address)
{
	DAT_EVENT event;

	ok("dat_ep_connect", dat_ep_connect(with, address, QUAL, SECONDS * 1000000, sizeof(own),
					    &own, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	next(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	memcpy(&peer, event.event_data.connect_event_data.private_data, sizeof(peer));
}

static void connect_all(const char *address)
{
	DAT_EP_HANDLE idle = make_ep(cno_evd);
	struct addrinfo *found = NULL;
	DAT_PSP_HANDLE psp;

	ep = make_ep(recv_evd);
	if (address == NULL) {
		ok("dat_psp_create", dat_psp_create(ia, QUAL, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
		printf("ready\n");
		serve(idle);
		serve(ep);
		return;
	}
	if (getaddrinfo(address, NULL, NULL, &found))
		exit(2);
	ask(idle, found->ai_addr);
	ask(ep, found->ai_addr);
	freeaddrinfo(found);
}

int main(int argc, char **argv)
{
	const struct timespec tick = { .tv_nsec = 20000000 };
	bool good = true, client = argc == 5, removed = client && !strcmp(argv[4], "removed");
	pthread_t traffic;
	DAT_RETURN rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3)
		return 2;
	start(argv[2]);
	connect_all(client ? argv[3] : NULL);
	for (int i = 0; i < NUM; i++)
		pthread_create(&waiters[i].thread, NULL, wait_for_it, &waiters[i]);
	pthread_create(&traffic, NULL, write_on, NULL);
	while (atomic_load(&written) < 20 && !atomic_load(&traffic_over))
		nanosleep(&tick, NULL);
	printf("running\n");
	good = within(&traffic_over, SECONDS) && good;
	good = tell(&waiters[CONNECTION], SECONDS) && good;
	good = tell(&waiters[RECEIVE], SECONDS) && good;
	if (removed)
		good = tell(&waiters[CNO], SECONDS) && good;
	if (client)
		good = tell(&waiters[ASYNC], SECONDS) && good;
	rc = dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	printf("close: 0x%x\n", rc);
	/* Nothing can come for the request queue: closing ends its wait. */
	for (int i = 0; i < NUM; i++)
		good = (i == REQUEST ? tell(&waiters[i], 10) : within(&waiters[i].back, 10)) &&
		       good;
	printf("%s\n", good && rc == DAT_SUCCESS ? "passed" : "failed");
	fflush(stdout);
	/* A thread that still waits keeps nothing from ending. */
	_exit(good && rc == DAT_SUCCESS ? 0 : 1);
}
