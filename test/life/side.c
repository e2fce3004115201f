/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "side.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>

#include "test/faults/interpose.h"

enum {
	MESSAGE = 4096,
	MESSAGES = 3, /* plain ones of a round */
	BLOCK = 32768,
	RECEIVES = 16,
	COOKIES = 4096,
	GRACE_MS = 400, /* in which what a peer did before it went must arrive */
};

enum kind {
	KIND_NONE,
	KIND_HELLO,
	KIND_WINDOW,
	KIND_LAST, /* invalidates */
	KIND_PLAIN,
};

/* The head of each message; the rest is filled with its serial number. */
struct head {
	uint32_t kind, serial;
	uint64_t target, counter;
	uint32_t key, window;
};

static struct {
	uint64_t counter;
	uint8_t target[BLOCK], source[BLOCK], back[BLOCK];
	uint64_t fetched[2];
	uint8_t out[MESSAGES + 3][MESSAGE];
	uint8_t in[RECEIVES][MESSAGE];
} __attribute__((aligned(4096))) memory;

static const struct side_plan *plan;
static struct side_report *report;
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, requests, first, events;
static DAT_CNO_HANDLE cno;
static DAT_PZ_HANDLE pz;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lkey;
static DAT_RMR_CONTEXT rkey;
static DAT_RMR_HANDLE rmr;
static DAT_SRQ_HANDLE srq;
static DAT_PSP_HANDLE first_psp, psp;
static DAT_EP_HANDLE ep;
static struct sockaddr_storage address;

/* Of this life. */
static bool connected, rejected, failed;
static DAT_EVENT_NUMBER ended;
static struct head peer;
static uint32_t heard[KIND_PLAIN + 1], immediates, plain, serial;
static uint32_t requests_out;
/* By cookie: what is outstanding. Receives keep the number of their buffer. */
static enum {
	FREE,
	REQUEST,
	RECEIVE
} outstanding[COOKIES];
static uint8_t buffer_of[COOKIES];
static uint32_t next_cookie, receives_out;

uint64_t side_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

__attribute__((format(printf, 1, 2))) static bool complain(const char *format, ...)
{
	va_list args;

	if (report->complaint[0])
		return false;
	va_start(args, format);
	vsnprintf(report->complaint, sizeof(report->complaint), format, args);
	va_end(args);
	return false;
}

static bool well(void)
{
	return !report->complaint[0];
}

/* ---- Calls ---- */

static bool check(const char *step, DAT_RETURN rc)
{
	const char *major = "?", *minor = "?";

	if (rc == DAT_SUCCESS)
		return true;
	dat_strerror(rc, &major, &minor);
	return complain("%s: %s %s", step, major, minor);
}

/* Each call is a step of its own, at which the process may be killed. */
#define CALL(call) (report->step = #call, interpose_step(), check(#call, call))

static DAT_LMR_TRIPLET local(const void *at, size_t size)
{
	return (DAT_LMR_TRIPLET){ (DAT_VADDR)(uintptr_t)at, size, lkey };
}

static DAT_DTO_COOKIE cookie_of(int what)
{
	while (outstanding[next_cookie % COOKIES] != FREE)
		next_cookie++;
	outstanding[next_cookie % COOKIES] = what;
	return (DAT_DTO_COOKIE){ .as_64 = next_cookie++ % COOKIES };
}

/* A request was posted, or refused because the connection is over. */
static bool posted(const char *step, DAT_DTO_COOKIE cookie, DAT_RETURN rc)
{
	if (rc == DAT_SUCCESS) {
		requests_out++;
		return true;
	}
	outstanding[cookie.as_64] = FREE;
	if (atomic_load(&report->may_end) && DAT_GET_TYPE(rc) == DAT_INVALID_STATE)
		return false;
	return check(step, rc);
}

#define POST(cookie, call)                   \
	do {                                 \
		report->step = #call;        \
		interpose_step();            \
		posted(#call, cookie, call); \
	} while (0)

static bool post_receive(unsigned int buffer)
{
	DAT_LMR_TRIPLET iov = local(memory.in[buffer], MESSAGE);
	DAT_DTO_COOKIE cookie = cookie_of(RECEIVE);

	buffer_of[cookie.as_64] = (uint8_t)buffer;
	memset(memory.in[buffer], 0, MESSAGE);
	receives_out++;
	return plan->server
		       ? CALL(dat_srq_post_recv(srq, 1, &iov, cookie))
		       : CALL(dat_ep_post_recv(ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* ---- Events ---- */

static void connection_event(DAT_EVENT_NUMBER number)
{
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED && !connected && !ended) {
		connected = true;
		return;
	}
	if (number == DAT_CONNECTION_EVENT_PEER_REJECTED && !connected && !ended) {
		rejected = true;
		ended = number;
		return;
	}
	if (ended || (connected && number != DAT_CONNECTION_EVENT_DISCONNECTED &&
		      number != DAT_CONNECTION_EVENT_BROKEN))
		complain("event 0x%x after 0x%x, connected %d", number, ended, connected);
	ended = number;
	atomic_store(&report->event, (uint32_t)number);
	if (!atomic_load(&report->heard_at))
		atomic_store(&report->heard_at, side_now());
}

static void message(const uint8_t *at, uint32_t length)
{
	struct head head;

	memcpy(&head, at, sizeof(head));
	if (length != MESSAGE || head.kind < KIND_HELLO || head.kind > KIND_PLAIN) {
		complain("a message of %u bytes and kind %u", length, head.kind);
		return;
	}
	for (size_t i = sizeof(head); i < MESSAGE; i++)
		if (at[i] != (uint8_t)(head.serial * 7 + i)) {
			complain("byte %zu of message %u is wrong", i, head.serial);
			return;
		}
	if (head.kind == KIND_HELLO || head.kind == KIND_WINDOW)
		peer = head;
	heard[head.kind]++;
	if (head.kind != KIND_PLAIN)
		return;
	if (head.serial != plain)
		complain("message %u came as number %u", head.serial, plain);
	plain++;
}

static void completion(uint64_t cookie, uint32_t status, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	int what = cookie < COOKIES ? (int)outstanding[cookie] : FREE;
	uint8_t buffer;

	if (what == FREE) {
		complain("completion %llu, status %u, of nothing that is outstanding",
			 (unsigned long long)cookie, status);
		return;
	}
	outstanding[cookie] = FREE;
	failed |= status != 0;
	/* Flushes come ahead of the event (FL-5). */
	if (status && status != DAT_DTO_ERR_FLUSHED && !atomic_load(&report->may_end))
		complain("status %u, and the peer is well", status);
	if (what == REQUEST) {
		requests_out--;
		return;
	}
	receives_out--;
	buffer = buffer_of[cookie];
	if (status)
		return;
	if (event->event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
		immediates++;
	else
		message(memory.in[buffer], (uint32_t)dto->transfered_length);
	/* The end of the connection flushes it, where it is known. */
	if (connected && !ended)
		post_receive(buffer);
}

static void dispatch(const DAT_EVENT *event)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bound =
		&event->event_data.rmr_completion_event_data;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	switch ((uint32_t)event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_IB_DTO_EVENT:
		completion(dto->user_cookie.as_64, dto->status, event);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		completion(bound->user_cookie.as_64, bound->status, event);
		break;
	default:
		connection_event(event->event_number);
	}
}

/* One event of evd, if there is one within so many ms. */
static bool take(DAT_EVD_HANDLE evd, uint32_t ms, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN rc;

	rc = dat_evd_wait(evd, ms * 1000, 1, event, &more);
	if (rc == DAT_SUCCESS) {
		interpose_step();
		return true;
	}
	if (DAT_GET_TYPE(rc) != DAT_TIMEOUT_EXPIRED && DAT_GET_TYPE(rc) != DAT_INTERRUPTED_CALL)
		check("dat_evd_wait", rc);
	return false;
}

/* Until the condition holds, or (where ends is) the connection is over. */
#define UNTIL(what, condition, ends)                                                    \
	do {                                                                            \
		uint64_t deadline_ = side_now() + plan->limit_ms;                       \
		DAT_EVENT event_;                                                       \
                                                                                        \
		report->step = what;                                                    \
		while (well() && !(condition) && !((ends) && (ended || failed))) {      \
			if (take(events, 50, &event_))                                  \
				dispatch(&event_);                                      \
			else if (side_now() > deadline_)                                \
				complain("%s: not within %u ms", what, plan->limit_ms); \
		}                                                                       \
	} while (0)

/* ---- What there is ---- */

static bool make_memory(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = &memory };
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECEIVES + 2, .max_recv_iov = 2 };
	const int all = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

	return CALL(dat_pz_create(ia, &pz)) &&
	       CALL(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
				   (DAT_MEM_PRIV_FLAGS)all, DAT_VA_TYPE_VA, &lmr, &lkey, &rkey,
				   NULL, NULL)) &&
	       CALL(dat_rmr_create_for_ep(pz, &rmr)) && CALL(dat_srq_create(ia, pz, &attr, &srq));
}

static bool make_all(void)
{
	DAT_EVD_FLAGS all = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CONNECTION_FLAG;
	struct addrinfo *info;
	DAT_IA_ATTR attr;

	async = DAT_HANDLE_NULL;
	if (!CALL(dat_ia_open((DAT_NAME_PTR)plan->adapter, 8, &async, &ia)) ||
	    !CALL(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL)))
		return false;
	memcpy(&address, attr.ia_address_ptr, sizeof(struct sockaddr_in6));
	if (plan->host) {
		if (getaddrinfo(plan->host, NULL, NULL, &info))
			return complain("%s: no such host", plan->host);
		memcpy(&address, info->ai_addr, info->ai_addrlen);
		freeaddrinfo(info);
	}
	return CALL(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno)) && make_memory() &&
	       CALL(dat_evd_create(ia, 128, cno, all, &events)) &&
	       CALL(dat_evd_resize(events, 200)) &&
	       CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &first)) &&
	       CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
}

static bool free_all(void)
{
	return CALL(dat_evd_free(events)) && CALL(dat_evd_free(first)) &&
	       CALL(dat_evd_free(requests)) && CALL(dat_srq_free(srq)) && CALL(dat_rmr_free(rmr)) &&
	       CALL(dat_lmr_free(lmr)) && CALL(dat_pz_free(pz)) && CALL(dat_cno_free(cno)) &&
	       CALL(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void begin_life(void)
{
	connected = rejected = failed = false;
	ended = 0;
	memset(&peer, 0, sizeof(peer));
	memset(heard, 0, sizeof(heard));
	immediates = plain = serial = 0;
	memory.counter = 0;
	atomic_store(&report->rounds, 0);
	atomic_store(&report->event, 0);
	atomic_store(&report->heard_at, 0);
}

static bool make_ep(void)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_mtu_size = 1 << 20,
		.max_rdma_size = 1 << 20,
		.max_recv_dtos = RECEIVES,
		.max_request_dtos = 32,
		.max_recv_iov = 2,
		.max_request_iov = 2,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	return plan->server ? CALL(dat_ep_create_with_srq(ia, pz, events, events, events, srq,
							  &attr, &ep))
			    : CALL(dat_ep_create(ia, pz, events, events, events, &attr, &ep));
}

static bool fill_receives(void)
{
	bool used[RECEIVES] = { false };

	for (unsigned int i = 0; i < COOKIES; i++)
		if (outstanding[i] == RECEIVE)
			used[buffer_of[i]] = true;
	for (unsigned int i = 0; i < RECEIVES; i++)
		if (!used[i] && !post_receive(i))
			return false;
	return true;
}

/* ---- Data ---- */

static void send_message(enum kind kind, unsigned int place, uint32_t number, uint32_t window,
			 uint32_t invalidate)
{
	struct head head = { .kind = kind,
			     .serial = number,
			     .target = (uintptr_t)memory.target,
			     .counter = (uintptr_t)&memory.counter,
			     .key = rkey,
			     .window = window };
	uint8_t *at = memory.out[place];
	DAT_LMR_TRIPLET iov = local(at, MESSAGE);
	DAT_DTO_COOKIE cookie = cookie_of(REQUEST);

	memcpy(at, &head, sizeof(head));
	for (size_t i = sizeof(head); i < MESSAGE; i++)
		at[i] = (uint8_t)(number * 7 + i);
	if (invalidate)
		POST(cookie, dat_ep_post_send_with_invalidate(ep, 1, &iov, cookie,
							      DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
							      invalidate));
	else
		POST(cookie, dat_ep_post_send(ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void write_and_read(void)
{
	DAT_RMR_TRIPLET target = { peer.target, BLOCK, peer.key };
	DAT_RMR_TRIPLET count = { peer.counter, 8, peer.key };
	DAT_LMR_TRIPLET out = local(memory.source, BLOCK), in = local(memory.back, BLOCK);
	DAT_LMR_TRIPLET fetched[2] = { local(&memory.fetched[0], 8), local(&memory.fetched[1], 8) };
	DAT_DTO_COOKIE cookie[4];

	for (int i = 0; i < 4; i++)
		cookie[i] = cookie_of(REQUEST);
	memset(memory.source, 0x40 + (int)(serial++ & 0x3f), BLOCK);
	memset(memory.back, 0, BLOCK);
	POST(cookie[0],
	     dat_ep_post_rdma_write(ep, 1, &out, cookie[0], &target, DAT_COMPLETION_DEFAULT_FLAG));
	POST(cookie[1],
	     dat_ep_post_rdma_read(ep, 1, &in, cookie[1], &target, DAT_COMPLETION_DEFAULT_FLAG));
	POST(cookie[2], dat_ib_post_fetch_and_add(ep, 1, &fetched[0], cookie[2], &count, 0));
	POST(cookie[3],
	     dat_ib_post_cmp_and_swap(ep, UINT64_MAX, 0, &fetched[1], cookie[3], &count, 0));
	UNTIL("write, read, atomics", !requests_out, true);
	if (ended || failed)
		return;
	if (memcmp(memory.source, memory.back, BLOCK))
		complain("other bytes were read than written");
	if (memory.fetched[1] != memory.fetched[0] + 1)
		complain("the counter went from %llu to %llu",
			 (unsigned long long)memory.fetched[0],
			 (unsigned long long)memory.fetched[1]);
}

static void use_window(uint32_t round)
{
	DAT_LMR_TRIPLET range = local(memory.target, BLOCK), out = local(memory.source, BLOCK);
	DAT_DTO_COOKIE cookie = cookie_of(REQUEST);
	DAT_RMR_COOKIE bind_cookie = { .as_64 = cookie.as_64 };
	DAT_RMR_CONTEXT window = 0;
	DAT_RMR_TRIPLET target = { .segment_length = BLOCK };

	POST(cookie, dat_rmr_bind(rmr, lmr, &range, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep,
				  bind_cookie, DAT_COMPLETION_DEFAULT_FLAG, &window));
	if (!window)
		return;
	send_message(KIND_WINDOW, 1, round, window, 0);
	UNTIL("the peer's window", heard[KIND_WINDOW] > round, true);
	if (ended || failed || !well())
		return;
	target.virtual_address = peer.target;
	target.rmr_context = peer.window;
	cookie = cookie_of(REQUEST);
	POST(cookie,
	     dat_ep_post_rdma_write(ep, 1, &out, cookie, &target, DAT_COMPLETION_DEFAULT_FLAG));
	cookie = cookie_of(REQUEST);
	target.rmr_context = peer.key;
	POST(cookie, dat_ib_post_rdma_write_immed(ep, 1, &out, cookie, &target, round, 0));
	send_message(KIND_LAST, 2, round, 0, peer.window);
	UNTIL("the last of a round", heard[KIND_LAST] > round && immediates > round, true);
}

static void talk_round(uint32_t round)
{
	write_and_read();
	if (ended || failed || !well())
		return;
	use_window(round);
	if (ended || failed || !well())
		return;
	for (uint32_t i = 0; i < MESSAGES; i++)
		send_message(KIND_PLAIN, 3 + i, round * MESSAGES + i, 0, 0);
	UNTIL("messages", plain >= (round + 1) * MESSAGES && !requests_out, true);
	if (!ended && !failed && well())
		atomic_fetch_add(&report->rounds, 1);
}

static void talk(void)
{
	uint64_t until;
	DAT_EVENT event;

	send_message(KIND_HELLO, 0, 0, 0, 0);
	UNTIL("hello", heard[KIND_HELLO] && !requests_out, true);
	report->step = "idle";
	for (until = side_now() + plan->idle_ms; side_now() < until && !ended && !failed && well();)
		if (take(events, 10, &event))
			dispatch(&event);
	for (uint32_t round = 0; round < plan->rounds && !ended && !failed && well(); round++)
		talk_round(round);
}

/* Everything that was posted to the endpoint completes. */
static bool wind_up(void)
{
	if (connected && !ended && !plan->server) {
		CALL(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
		UNTIL("disconnected", ended, false);
	} else if (connected) {
		UNTIL("the client's disconnect", ended, false);
	}
	UNTIL("flushes", !requests_out && (plan->server || !receives_out), false);
	if (connected && !atomic_load(&report->may_end) &&
	    (ended != DAT_CONNECTION_EVENT_DISCONNECTED ||
	     atomic_load(&report->rounds) < plan->rounds))
		complain("event 0x%x after round %u, and the peer is well", ended,
			 atomic_load(&report->rounds));
	return well();
}

/* ---- The client ---- */

static bool attempt(const char *wish)
{
	begin_life();
	if (!fill_receives() ||
	    !CALL(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&address, plan->port,
				 plan->limit_ms / 2 * 1000, (DAT_COUNT)strlen(wish), (void *)wish,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)))
		return false;
	UNTIL("connecting", connected || ended, false);
	return well();
}

static void client_life(void)
{
	if (!make_ep())
		return;
	atomic_store(&report->ready, true);
	if (!attempt("accept"))
		return;
	if (connected)
		talk();
	else if (!atomic_load(&report->may_end))
		complain("event 0x%x, and the server is well", ended);
	if (!wind_up() || !CALL(dat_ep_reset(ep)))
		return;
	if (!atomic_load(&report->may_end)) {
		if (!attempt("reject"))
			return;
		if (!rejected)
			complain("event 0x%x, not rejected", ended);
		UNTIL("flushes of a rejected one", !receives_out, false);
		if (!CALL(dat_ep_reset(ep)))
			return;
	}
	CALL(dat_ep_free(ep));
}

/* ---- The server ---- */

/* The next request at a service point; false: none comes any more. */
static bool next_request(const char *step, DAT_EVD_HANDLE evd, DAT_CR_HANDLE *cr)
{
	uint64_t deadline = side_now() + plan->limit_ms, grace = 0;
	DAT_EVENT event;

	report->step = step;
	while (well()) {
		if (take(evd, 50, &event)) {
			*cr = event.event_data.cr_arrival_event_data.cr_handle;
			return true;
		}
		if (atomic_load(&report->gone)) {
			grace = grace ? grace : side_now() + GRACE_MS;
			if (side_now() > grace)
				return false;
		}
		if (side_now() > deadline)
			return atomic_load(&report->may_end)
				       ? false
				       : complain("%s: none within %u ms", step, plan->limit_ms);
	}
	return false;
}

static void serve(DAT_CR_HANDLE cr)
{
	begin_life();
	if (!make_ep() || !fill_receives() || !CALL(dat_cr_accept(cr, ep, 2, (void *)"ok")))
		return;
	UNTIL("accepting", connected || ended, false);
	if (connected)
		talk();
	if (wind_up() && CALL(dat_ep_reset(ep)))
		CALL(dat_ep_free(ep));
}

static void server_life(void)
{
	bool over = false;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	while (!over && well() && next_request("a request", first, &cr)) {
		if (!CALL(dat_cr_handoff(cr, plan->port + 1)) ||
		    !next_request("a request handed on", requests, &cr) ||
		    !CALL(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
			break;
		over = param.private_data_size == 6 && !memcmp(param.private_data, "reject", 6);
		if (over)
			CALL(dat_cr_reject(cr, 2, (void *)"no"));
		else
			serve(cr);
		/* Whoever may be gone does not come back to be rejected. */
		over |= atomic_load(&report->may_end);
	}
	if (!over && !atomic_load(&report->may_end))
		complain("the client did not come back to be rejected");
}

static bool listen_at(void)
{
	return CALL(dat_psp_create(ia, plan->port, first, DAT_PSP_CONSUMER_FLAG, &first_psp)) &&
	       CALL(dat_psp_create(ia, plan->port + 1, requests, DAT_PSP_CONSUMER_FLAG, &psp));
}

/* ---- All of it ---- */

static int count_files(void)
{
	int num = 0;

	for (int fd = 0; fd < 256; fd++)
		num += lseek(fd, 0, SEEK_CUR) >= 0 || dup2(fd, fd) == fd;
	return num;
}

static void wait_for_go(void)
{
	report->step = "waiting for the next life";
	atomic_store(&report->lived, true);
	while (!atomic_exchange(&report->go, false))
		usleep(500);
}

void side_run(const struct side_plan *the_plan, struct side_report *the_report, uint32_t lives)
{
	plan = the_plan;
	report = the_report;
	if (!make_all() || (plan->server && !listen_at()))
		return;
	atomic_store(&report->ready, plan->server);
	for (uint32_t i = 0; i < lives && well(); i++) {
		if (i)
			wait_for_go();
		if (plan->server)
			server_life();
		else
			client_life();
	}
	if (well() && plan->server && CALL(dat_psp_free(first_psp)))
		CALL(dat_psp_free(psp));
	if (well())
		free_all();
	report->blocks = interpose_blocks();
	report->files = count_files();
	if (well())
		report->step = "closed";
}
