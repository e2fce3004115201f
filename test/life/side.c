/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "talk.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>

enum {
	COOKIES = 4096,
	HANDOFF_MS = 900, /* a little less than the option handoff is without a setting */
	GRACE_MS = 400,	  /* in which what a peer did before it went must arrive */
};

struct side self;
struct side_memory side_memory __attribute__((aligned(4096)));
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, requests, first;
static DAT_CNO_HANDLE cno;
static DAT_PZ_HANDLE pz;
static DAT_SRQ_HANDLE srq;
static DAT_PSP_HANDLE first_psp, psp;
static struct sockaddr_storage address;

/* By cookie: what is outstanding. Receives keep the number of their buffer. */
static uint8_t outstanding[COOKIES];
static uint8_t buffer_of[COOKIES];
static uint32_t next_cookie, receives_out;

uint64_t side_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool side_complain(const char *format, ...)
{
	va_list args;

	if (self.report->complaint[0])
		return false;
	va_start(args, format);
	vsnprintf(self.report->complaint, sizeof(self.report->complaint), format, args);
	va_end(args);
	return false;
}

bool side_well(void)
{
	return !self.report->complaint[0];
}

/* ---- Calls ---- */

bool side_check(const char *step, DAT_RETURN rc)
{
	const char *major = "?", *minor = "?";

	if (rc == DAT_SUCCESS)
		return true;
	dat_strerror(rc, &major, &minor);
	return side_complain("%s: %s %s", step, major, minor);
}

DAT_LMR_TRIPLET side_local(const void *at, size_t size)
{
	return (DAT_LMR_TRIPLET){ (DAT_VADDR)(uintptr_t)at, (DAT_SEG_LENGTH)size, self.lkey };
}

DAT_DTO_COOKIE side_cookie(int what)
{
	while (outstanding[next_cookie % COOKIES] != FREE)
		next_cookie++;
	outstanding[next_cookie % COOKIES] = (uint8_t)what;
	return (DAT_DTO_COOKIE){ .as_64 = next_cookie++ % COOKIES };
}

/* A request was posted, or refused because the connection is over. */
bool side_posted(const char *step, DAT_DTO_COOKIE cookie, DAT_RETURN rc)
{
	if (rc == DAT_SUCCESS) {
		self.requests_out++;
		return true;
	}
	outstanding[cookie.as_64] = FREE;
	if (atomic_load(&self.report->may_end) && DAT_GET_TYPE(rc) == DAT_INVALID_STATE)
		return false;
	return side_check(step, rc);
}

static bool post_receive(unsigned int buffer)
{
	DAT_LMR_TRIPLET iov = side_local(side_memory.in[buffer], MESSAGE);
	DAT_DTO_COOKIE cookie = side_cookie(RECEIVE);

	buffer_of[cookie.as_64] = (uint8_t)buffer;
	memset(side_memory.in[buffer], 0, MESSAGE);
	receives_out++;
	return self.plan->server ? CALL(dat_srq_post_recv(srq, 1, &iov, cookie))
				 : CALL(dat_ep_post_recv(self.ep, 1, &iov, cookie,
							 DAT_COMPLETION_DEFAULT_FLAG));
}

/* ---- Events ---- */

static void connection_event(DAT_EVENT_NUMBER number)
{
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED && !self.connected && !self.ended) {
		self.connected = true;
		return;
	}
	if (number == DAT_CONNECTION_EVENT_PEER_REJECTED && !self.connected && !self.ended) {
		self.rejected = true;
		self.ended = number;
		return;
	}
	if (self.ended || (self.connected && number != DAT_CONNECTION_EVENT_DISCONNECTED &&
			   number != DAT_CONNECTION_EVENT_BROKEN))
		side_complain("event 0x%x after 0x%x, connected %d", number, self.ended,
			      self.connected);
	self.ended = number;
	atomic_store(&self.report->event, (uint32_t)number);
	if (!atomic_load(&self.report->heard_at))
		atomic_store(&self.report->heard_at, side_now());
}

static void message(const uint8_t *at, uint32_t length)
{
	struct head head;

	memcpy(&head, at, sizeof(head));
	if (length != MESSAGE || head.kind < KIND_HELLO || head.kind > KIND_PLAIN) {
		side_complain("a message of %u bytes and kind %u", length, head.kind);
		return;
	}
	for (size_t i = sizeof(head); i < MESSAGE; i++)
		if (at[i] != (uint8_t)(head.serial * 7 + i)) {
			side_complain("byte %zu of message %u is wrong", i, head.serial);
			return;
		}
	if (head.kind == KIND_HELLO || head.kind == KIND_WINDOW)
		self.peer = head;
	self.heard[head.kind]++;
	if (head.kind != KIND_PLAIN)
		return;
	if (head.serial != self.plain)
		side_complain("message %u came as number %u", head.serial, self.plain);
	self.plain++;
}

static void completion(uint64_t cookie, uint32_t status, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	int what = cookie < COOKIES ? (int)outstanding[cookie] : FREE;
	uint8_t buffer;

	if (what == FREE) {
		side_complain("completion %llu, status %u, of nothing that is outstanding",
			      (unsigned long long)cookie, status);
		return;
	}
	outstanding[cookie] = FREE;
	self.failed |= status != 0;
	/* Flushes come ahead of the event (FL-5). */
	if (status && status != DAT_DTO_ERR_FLUSHED && !atomic_load(&self.report->may_end))
		side_complain("status %u, and the peer is well", status);
	if (what == REQUEST) {
		self.requests_out--;
		return;
	}
	receives_out--;
	buffer = buffer_of[cookie];
	if (status)
		return;
	if (event->event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
		self.immediates++;
	else
		message(side_memory.in[buffer], (uint32_t)dto->transfered_length);
	/* The end of the connection flushes it, where it is known. */
	if (self.connected && !self.ended)
		post_receive(buffer);
}

void side_dispatch(const DAT_EVENT *event)
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
bool side_take(DAT_EVD_HANDLE evd, uint32_t ms, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN rc;

	rc = dat_evd_wait(evd, ms * 1000, 1, event, &more);
	if (rc == DAT_SUCCESS) {
		interpose_step();
		return true;
	}
	if (DAT_GET_TYPE(rc) != DAT_TIMEOUT_EXPIRED && DAT_GET_TYPE(rc) != DAT_INTERRUPTED_CALL)
		side_check("dat_evd_wait", rc);
	return false;
}

/* ---- What there is ---- */

static bool make_memory(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = &side_memory };
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECEIVES + 2, .max_recv_iov = 2 };
	const int all = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

	return CALL(dat_pz_create(ia, &pz)) &&
	       CALL(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(side_memory), pz,
				   (DAT_MEM_PRIV_FLAGS)all, DAT_VA_TYPE_VA, &self.lmr, &self.lkey,
				   &self.rkey, NULL, NULL)) &&
	       CALL(dat_rmr_create_for_ep(pz, &self.rmr)) &&
	       CALL(dat_srq_create(ia, pz, &attr, &srq));
}

static bool make_all(void)
{
	DAT_EVD_FLAGS all = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CONNECTION_FLAG;
	struct addrinfo *info;
	DAT_IA_ATTR attr;

	async = DAT_HANDLE_NULL;
	if (!CALL(dat_ia_open((DAT_NAME_PTR)self.plan->adapter, 8, &async, &ia)) ||
	    !CALL(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL)))
		return false;
	memcpy(&address, attr.ia_address_ptr, sizeof(struct sockaddr_in6));
	if (self.plan->host) {
		if (getaddrinfo(self.plan->host, NULL, NULL, &info))
			return side_complain("%s: no such host", self.plan->host);
		memcpy(&address, info->ai_addr, info->ai_addrlen);
		freeaddrinfo(info);
	}
	return CALL(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno)) && make_memory() &&
	       CALL(dat_evd_create(ia, 128, cno, all, &self.events)) &&
	       CALL(dat_evd_resize(self.events, 200)) &&
	       CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &first)) &&
	       CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
}

static bool free_all(void)
{
	return CALL(dat_evd_free(self.events)) && CALL(dat_evd_free(first)) &&
	       CALL(dat_evd_free(requests)) && CALL(dat_srq_free(srq)) &&
	       CALL(dat_rmr_free(self.rmr)) && CALL(dat_lmr_free(self.lmr)) &&
	       CALL(dat_pz_free(pz)) && CALL(dat_cno_free(cno)) &&
	       CALL(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void begin_life(void)
{
	self.connected = self.rejected = self.failed = false;
	self.ended = 0;
	memset(&self.peer, 0, sizeof(self.peer));
	memset(self.heard, 0, sizeof(self.heard));
	self.immediates = self.plain = self.serial = 0;
	side_memory.counter = 0;
	atomic_store(&self.report->rounds, 0);
	atomic_store(&self.report->event, 0);
	atomic_store(&self.report->heard_at, 0);
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

	return self.plan->server ? CALL(dat_ep_create_with_srq(ia, pz, self.events, self.events,
							       self.events, srq, &attr, &self.ep))
				 : CALL(dat_ep_create(ia, pz, self.events, self.events, self.events,
						      &attr, &self.ep));
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

/* Everything that was posted to the endpoint completes. */
static bool wind_up(void)
{
	if (self.connected && !self.ended && !self.plan->server) {
		CALL(dat_ep_disconnect(self.ep, DAT_CLOSE_GRACEFUL_FLAG));
		UNTIL("disconnected", self.ended, false);
	} else if (self.connected) {
		UNTIL("the client's disconnect", self.ended, false);
	}
	UNTIL("flushes", !self.requests_out && (self.plan->server || !receives_out), false);
	if (self.connected && !atomic_load(&self.report->may_end) &&
	    (self.ended != DAT_CONNECTION_EVENT_DISCONNECTED ||
	     atomic_load(&self.report->rounds) < self.plan->rounds))
		side_complain("event 0x%x after round %u, and the peer is well", self.ended,
			      atomic_load(&self.report->rounds));
	return side_well();
}

/* ---- The client ---- */

static bool attempt(const char *wish)
{
	DAT_RETURN rc;

	begin_life();
	if (!fill_receives())
		return false;
	rc = dat_ep_connect(self.ep, (DAT_IA_ADDRESS_PTR)&address, self.plan->port,
			    self.plan->limit_ms / 2 * 1000, (DAT_COUNT)strlen(wish), (void *)wish,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	/* The way was cut before it was asked for: there is none to that host. */
	if (atomic_load(&self.report->may_end) && DAT_GET_TYPE(rc) == DAT_INVALID_ADDRESS)
		return false;
	if (!side_check("dat_ep_connect", rc))
		return false;
	UNTIL("connecting", self.connected || self.ended, false);
	return side_well();
}

static void client_life(void)
{
	if (!make_ep())
		return;
	atomic_store(&self.report->ready, true);
	if (!attempt("accept")) {
		if (side_well())
			CALL(dat_ep_free(self.ep));
		return;
	}
	if (self.connected)
		side_talk();
	else if (!atomic_load(&self.report->may_end))
		side_complain("event 0x%x, and the server is well", self.ended);
	if (!wind_up() || !CALL(dat_ep_reset(self.ep)))
		return;
	if (!atomic_load(&self.report->may_end)) {
		if (!attempt("reject"))
			return;
		if (!self.rejected)
			side_complain("event 0x%x, not rejected", self.ended);
		UNTIL("flushes of a rejected one", !receives_out, false);
		if (!CALL(dat_ep_reset(self.ep)))
			return;
	}
	CALL(dat_ep_free(self.ep));
}

/* ---- The server ---- */

/* The next request at a service point; false: none comes any more. */
static bool next_request(const char *step, DAT_EVD_HANDLE evd, DAT_CR_HANDLE *cr)
{
	uint64_t deadline = side_now() + self.plan->limit_ms, grace = 0;
	DAT_EVENT event;

	self.report->step = step;
	while (side_well()) {
		if (side_take(evd, 50, &event)) {
			*cr = event.event_data.cr_arrival_event_data.cr_handle;
			return true;
		}
		if (atomic_load(&self.report->gone)) {
			grace = grace ? grace : side_now() + GRACE_MS;
			if (side_now() > grace)
				return false;
		}
		if (side_now() > deadline)
			return atomic_load(&self.report->may_end)
				       ? false
				       : side_complain("%s: none within %u ms", step,
						       self.plan->limit_ms);
	}
	return false;
}

static void serve(DAT_CR_HANDLE cr)
{
	begin_life();
	if (!make_ep() || !fill_receives() || !CALL(dat_cr_accept(cr, self.ep, 2, (void *)"ok")))
		return;
	UNTIL("accepting", self.connected || self.ended, false);
	if (self.connected)
		side_talk();
	if (wind_up() && CALL(dat_ep_reset(self.ep)))
		CALL(dat_ep_free(self.ep));
}

/* The program may stand still just here, longer than whoever takes it waits: then it asks again. */
static bool hand_on(DAT_CR_HANDLE cr)
{
	const DAT_CONN_QUAL to = self.plan->port + 1;
	uint64_t began = side_now();
	DAT_RETURN rc;

	self.report->step = "dat_cr_handoff";
	interpose_step();
	rc = dat_cr_handoff(cr, to);
	if (DAT_GET_TYPE(rc) == DAT_INVALID_PARAMETER && side_now() - began >= HANDOFF_MS)
		return CALL(dat_cr_handoff(cr, to));
	return side_check("dat_cr_handoff", rc);
}

static void server_life(void)
{
	bool over = false;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	while (!over && side_well() && next_request("a request", first, &cr)) {
		if (!hand_on(cr) || !next_request("a request handed on", requests, &cr) ||
		    !CALL(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
			break;
		over = param.private_data_size == 6 && !memcmp(param.private_data, "reject", 6);
		if (over)
			CALL(dat_cr_reject(cr, 2, (void *)"no"));
		else
			serve(cr);
		/* Whoever may be gone does not come back to be rejected. */
		over |= atomic_load(&self.report->may_end);
	}
	if (!over && !atomic_load(&self.report->may_end))
		side_complain("the client did not come back to be rejected");
}

static bool listen_at(void)
{
	return CALL(dat_psp_create(ia, self.plan->port, first, DAT_PSP_CONSUMER_FLAG,
				   &first_psp)) &&
	       CALL(dat_psp_create(ia, self.plan->port + 1, requests, DAT_PSP_CONSUMER_FLAG, &psp));
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
	self.report->step = "waiting for the next life";
	atomic_store(&self.report->lived, true);
	while (!atomic_exchange(&self.report->go, false))
		usleep(500);
}

void side_run(const struct side_plan *the_plan, struct side_report *the_report, uint32_t lives)
{
	self.plan = the_plan;
	self.report = the_report;
	if (!make_all() || (self.plan->server && !listen_at()))
		return;
	atomic_store(&self.report->ready, self.plan->server);
	for (uint32_t i = 0; i < lives && side_well(); i++) {
		if (i)
			wait_for_go();
		if (self.plan->server)
			server_life();
		else
			client_life();
	}
	if (side_well() && self.plan->server && CALL(dat_psp_free(first_psp)))
		CALL(dat_psp_free(psp));
	if (side_well())
		free_all();
	self.report->blocks = interpose_blocks();
	self.report->files = count_files();
	if (side_well())
		self.report->step = "closed";
}
