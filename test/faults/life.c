/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "life.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>

#include "interpose.h"
#include "refusal.h"
#include "tools/control.h"

#define SECONDS	   (5 * 1000000) /* in which everything happens */
#define CONNECTING 2000000
#define ATTEMPTS   3 /* at a connection, one of which a fault may end */
#define SIZE	   65536
#define MESSAGES   3

static struct report *report;
static bool may_fail;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list args;

	if (report->complaint[0])
		return;
	va_start(args, format);
	vsnprintf(report->complaint, sizeof(report->complaint), format, args);
	va_end(args);
}

/* ---- Calls ---- */

/* Notes what a call returned first: true where it is to be made once more. */
static bool again(const char *step, DAT_RETURN rc)
{
	report->step = step;
	if (rc == DAT_SUCCESS)
		return false;
	report->refused |= DAT_GET_TYPE(rc) != DAT_INTERRUPTED_CALL;
	if (!may_fail || !interpose_failed())
		complain("%s: %s, and nothing failed below it", step, refusal_name(rc));
	else if (!refusal_is(rc))
		complain("%s: %s, which is no refusal", step, refusal_name(rc));
	return true;
}

static bool done(const char *step, DAT_RETURN rc)
{
	if (rc != DAT_SUCCESS)
		complain("%s: %s, again", step, refusal_name(rc));
	return rc == DAT_SUCCESS;
}

/* A call, once more where it failed; false: it failed twice. */
#define CALL(call) (report->step = #call, !again(#call, call) || done(#call, call))

/* ---- What there is ---- */

struct end {
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE dto, conn;
	bool connected, over;
	int posted, completed;
};

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, first, requests;
static DAT_CNO_HANDLE cno, agent_cno;
static DAT_PZ_HANDLE pz;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static DAT_RMR_HANDLE rmr;
static DAT_SRQ_HANDLE srq;
static bool has_srq;
static DAT_PSP_HANDLE first_psp, psp; /* requests to the first are handed on */
static DAT_CONN_QUAL first_qual, qual;
static struct sockaddr_storage address;
static struct end active, passive;
static unsigned char memory[2 * SIZE];

static bool make_end(struct end *end)
{
	return CALL(dat_evd_create(ia, 32, cno, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				   &end->dto)) &&
	       CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &end->conn));
}

static bool make_srq(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16, .max_recv_iov = 2 };

	return !has_srq ||
	       (CALL(dat_srq_create(ia, pz, &attr, &srq)) && CALL(dat_srq_set_lw(srq, 1)));
}

static bool make_memory(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	return CALL(dat_pz_create(ia, &pz)) &&
	       CALL(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
				   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &lmr_context,
				   &rmr_context, NULL, NULL)) &&
	       CALL(dat_rmr_create(pz, &rmr)) && make_srq();
}

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
}

static bool make_all(const char *adapter)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = { .proxy_agent_func = agent };
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	async = DAT_HANDLE_NULL;
	if (!CALL(dat_ia_open((DAT_NAME_PTR)adapter, 8, &async, &ia)) ||
	    !CALL(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
			       &provider)))
		return false;
	has_srq = provider.srq_supported;
	memcpy(&address, attr.ia_address_ptr, sizeof(struct sockaddr_in6));
	return CALL(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno)) &&
	       CALL(dat_cno_create(ia, proxy, &agent_cno)) && make_memory() &&
	       CALL(dat_evd_create(ia, 8, agent_cno, DAT_EVD_CR_FLAG, &requests)) &&
	       CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &first)) &&
	       CALL(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp)) &&
	       CALL(dat_psp_create_any(ia, &first_qual, first, DAT_PSP_CONSUMER_FLAG,
				       &first_psp)) &&
	       make_end(&active) && make_end(&passive) && CALL(dat_evd_resize(active.dto, 64));
}

static bool free_end(struct end *end)
{
	return CALL(dat_evd_free(end->dto)) && CALL(dat_evd_free(end->conn));
}

static bool free_all(void)
{
	return CALL(dat_psp_free(psp)) && CALL(dat_psp_free(first_psp)) &&
	       CALL(dat_evd_free(first)) && free_end(&active) && free_end(&passive) &&
	       CALL(dat_evd_free(requests)) && (!has_srq || CALL(dat_srq_free(srq))) &&
	       CALL(dat_rmr_free(rmr)) && CALL(dat_lmr_free(lmr)) && CALL(dat_pz_free(pz)) &&
	       CALL(dat_cno_free(cno)) && CALL(dat_cno_free(agent_cno)) &&
	       CALL(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ---- Events ---- */

/* The next event of evd; false: none came in time, which is a complaint where one had to come. */
static bool wait_event(const char *step, DAT_EVD_HANDLE evd, DAT_EVENT *event, DAT_TIMEOUT timeout)
{
	DAT_COUNT more;
	DAT_RETURN rc;

	report->step = step;
	rc = dat_evd_wait(evd, timeout, 1, event, &more);
	if (rc != DAT_SUCCESS && rc != DAT_TIMEOUT_EXPIRED && again(step, rc))
		rc = dat_evd_wait(evd, timeout, 1, event, &more);
	if (rc == DAT_SUCCESS)
		return true;
	if (rc != DAT_TIMEOUT_EXPIRED)
		complain("%s: %s, again", step, refusal_name(rc));
	else if (timeout == SECONDS)
		complain("%s: no event in %d s", step, SECONDS / 1000000);
	return false;
}

/* A connection ended, or never was: legal where a call failed. */
static void ended(struct end *end, const char *step, DAT_EVENT_NUMBER number)
{
	end->connected = false;
	end->over = true;
	report->refused |= report->all_told;
	if (!may_fail || !interpose_failed())
		complain("%s: event 0x%x, and nothing failed below it", step, number);
}

static bool conn_event(struct end *end, const char *step, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event;

	if (!wait_event(step, end->conn, &event, SECONDS))
		return false;
	if (event.event_number == wanted) {
		end->connected = wanted == DAT_CONNECTION_EVENT_ESTABLISHED;
		end->over = !end->connected;
		return true;
	}
	ended(end, step, event.event_number);
	return false;
}

/*
 * The next completion. None comes where the connection has ended and nothing was posted but to the
 * SRQ, which keeps its receives.
 */
static bool wait_completion(struct end *end, const char *step, DAT_EVENT *event)
{
	int waits;

	for (waits = 0; waits < 50; waits++) {
		if (wait_event(step, end->dto, event, SECONDS / 50))
			return true;
		if (report->complaint[0])
			return false;
		if (end == &passive && wait_event(step, end->conn, event, 0)) {
			ended(end, step, event->event_number);
			return false;
		}
	}
	complain("%s: no completion in %d s", step, SECONDS / 1000000);
	return false;
}

/* All that was posted to an end completes: with success as long as it is connected. */
static bool complete(struct end *end, const char *step)
{
	DAT_DTO_COMPLETION_STATUS status;
	DAT_EVENT event;
	bool all_well = true;

	while (end->completed < end->posted) {
		if (!wait_completion(end, step, &event))
			return false;
		end->completed++;
		status = event.event_number == DAT_RMR_BIND_COMPLETION_EVENT
				 ? event.event_data.rmr_completion_event_data.status
				 : event.event_data.dto_completion_event_data.status;
		if (status == DAT_DTO_SUCCESS)
			continue;
		all_well = false;
		report->refused |= report->all_told;
		if (!may_fail || !interpose_failed())
			complain("%s: completion status %d, and nothing failed below it", step,
				 status);
	}
	return all_well;
}

/* ---- A connection ---- */

static bool make_eps(void)
{
	DAT_EP_ATTR attr;

	active = (struct end){ .dto = active.dto, .conn = active.conn };
	passive = (struct end){ .dto = passive.dto, .conn = passive.conn };
	if (!CALL(dat_ep_create(ia, pz, active.dto, active.dto, active.conn, NULL, &active.ep)))
		return false;
	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_mtu_size = SIZE;
	attr.max_rdma_size = SIZE;
	attr.max_recv_dtos = attr.max_request_dtos = 16;
	attr.max_recv_iov = attr.max_request_iov = 2;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = attr.max_rdma_write_iov = 1;
	if (!has_srq)
		return CALL(dat_ep_create(ia, pz, passive.dto, passive.dto, passive.conn, &attr,
					  &passive.ep));
	return CALL(dat_ep_create_with_srq(ia, pz, passive.dto, passive.dto, passive.conn, srq,
					   &attr, &passive.ep));
}

static DAT_LMR_TRIPLET segment(size_t offset, size_t size)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)(memory + offset),
				  .segment_length = size,
				  .lmr_context = lmr_context };
}

static bool post_receives(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET iov;
	int i;

	for (i = 0; i < MESSAGES; i++) {
		iov = segment(SIZE + (size_t)i * 4096, 4096);
		if (has_srq ? !CALL(dat_srq_post_recv(srq, 1, &iov, cookie))
			    : !CALL(dat_ep_post_recv(passive.ep, 1, &iov, cookie,
						     DAT_COMPLETION_DEFAULT_FLAG)))
			return false;
	}
	return true;
}

/* The passive side: a request comes, or the active side hears that there is none. */
static DAT_CR_HANDLE wait_request(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	int waits;

	for (waits = 0; waits < 50; waits++) {
		if (wait_event("request", evd, &event, SECONDS / 50))
			return event.event_data.cr_arrival_event_data.cr_handle;
		if (wait_event("no request", active.conn, &event, 0)) {
			ended(&active, "request", event.event_number);
			return DAT_HANDLE_NULL;
		}
	}
	complain("neither request nor answer in %d s", SECONDS / 1000000);
	return DAT_HANDLE_NULL;
}

/*
 * To the second service point. One that takes nothing in is as none (CR-21), until it is made anew
 * if the name for that was refused: then the request stays where it is.
 */
static bool hand_on(DAT_CR_HANDLE *cr)
{
	DAT_RETURN rc = dat_cr_handoff(*cr, qual);

	if (DAT_GET_TYPE(rc) == DAT_INVALID_PARAMETER && may_fail && interpose_failed()) {
		rc = dat_cr_handoff(*cr, qual);
		if (DAT_GET_TYPE(rc) == DAT_INVALID_PARAMETER)
			return true;
	} else if (again("dat_cr_handoff", rc)) {
		rc = dat_cr_handoff(*cr, qual);
	}
	if (!done("dat_cr_handoff", rc))
		return false;
	*cr = wait_request(requests);
	return *cr;
}

static bool accept_request(void)
{
	DAT_CR_HANDLE cr = wait_request(first);

	return cr && hand_on(&cr) && CALL(dat_cr_accept(cr, passive.ep, 4, "here"));
}

static bool ask(DAT_CONN_QUAL to)
{
	return CALL(dat_ep_connect(active.ep, (DAT_IA_ADDRESS_PTR)&address, to, CONNECTING, 5,
				   "hello", DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static bool be_rejected(void)
{
	DAT_CR_HANDLE cr = ask(qual) ? wait_request(requests) : DAT_HANDLE_NULL;

	return cr && CALL(dat_cr_reject(cr, 2, "no")) &&
	       conn_event(&active, "rejected", DAT_CONNECTION_EVENT_PEER_REJECTED) &&
	       CALL(dat_ep_reset(active.ep));
}

/* Whether the request is in evd, unless the active side hears that there is none. */
static bool await_arrival(DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE triggered = DAT_HANDLE_NULL;
	DAT_EVENT event;

	while (triggered != evd) {
		if (dat_cno_wait(cno, SECONDS / 50, &triggered) == DAT_SUCCESS ||
		    !wait_event("no request", active.conn, &event, 0))
			continue;
		ended(&active, "request", event.event_number);
		return false;
	}
	return true;
}

/* A service point goes with a request that nobody has taken. */
static bool be_forgotten(void)
{
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL to;
	DAT_PSP_HANDLE sp;
	bool asked;

	if (!CALL(dat_evd_create(ia, 8, cno, DAT_EVD_CR_FLAG, &evd)) ||
	    !CALL(dat_psp_create_any(ia, &to, evd, DAT_PSP_CONSUMER_FLAG, &sp)))
		return false;
	asked = ask(to) && await_arrival(evd);
	return CALL(dat_psp_free(sp)) && CALL(dat_evd_free(evd)) && asked &&
	       conn_event(&active, "forgotten", DAT_CONNECTION_EVENT_NON_PEER_REJECTED) &&
	       CALL(dat_ep_reset(active.ep));
}

static bool connect_eps(void)
{
	if (!ask(first_qual) || !accept_request())
		return false;
	/* Both are asked: one may hear of the end of what the other has made. */
	return (int)conn_event(&active, "established, active", DAT_CONNECTION_EVENT_ESTABLISHED) &
	       (int)conn_event(&passive, "established, passive", DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---- Transfers ---- */

static void count_post(struct end *end, DAT_RETURN rc)
{
	end->posted += rc == DAT_SUCCESS;
}

#define POST(end, call)                              \
	do {                                         \
		DAT_RETURN post_rc;                  \
		report->step = #call;                \
		post_rc = call;                      \
		if (again(#call, post_rc))           \
			done(#call, post_rc = call); \
		count_post(end, post_rc);            \
	} while (0)

static bool send_messages(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	DAT_LMR_TRIPLET iov = segment(0, 4096);
	int i;

	memset(memory, 0x5a, 4096);
	memset(memory + SIZE, 0, SIZE);
	for (i = 0; i < MESSAGES; i++)
		POST(&active,
		     dat_ep_post_send(active.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	if (!complete(&active, "sent"))
		return false;
	passive.posted += MESSAGES; /* by way of the SRQ */
	if (!complete(&passive, "received"))
		return false;
	for (i = 0; i < MESSAGES; i++)
		if (memcmp(memory, memory + SIZE + i * 4096, 4096))
			complain("message %d arrived with other bytes", i);
	return true;
}

static bool move_by_rdma(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };
	DAT_LMR_TRIPLET out = segment(0, SIZE / 2), in = segment(SIZE / 2, SIZE / 2);
	DAT_RMR_TRIPLET target = { .virtual_address = (DAT_VADDR)(uintptr_t)(memory + SIZE),
				   .segment_length = SIZE / 2,
				   .rmr_context = rmr_context };

	memset(memory, 0xa5, SIZE / 2);
	memset(memory + SIZE / 2, 0, SIZE);
	POST(&active, dat_ep_post_rdma_write(active.ep, 1, &out, cookie, &target,
					     DAT_COMPLETION_DEFAULT_FLAG));
	POST(&active, dat_ep_post_rdma_read(active.ep, 1, &in, cookie, &target,
					    DAT_COMPLETION_DEFAULT_FLAG));
	if (!complete(&active, "RDMA"))
		return false;
	if (memcmp(memory, memory + SIZE, SIZE / 2) || memcmp(memory, memory + SIZE / 2, SIZE / 2))
		complain("RDMA moved other bytes");
	return true;
}

/* Once the peer is through with what came by the link, shared memory lets one side do it alone. */
static bool move_by_rdma_again(void)
{
	usleep(10000);
	return move_by_rdma();
}

static bool bind_window(void)
{
	DAT_RMR_COOKIE cookie = { .as_64 = 4 };
	DAT_LMR_TRIPLET range = segment(SIZE, SIZE);
	DAT_RMR_CONTEXT context;

	POST(&active, dat_rmr_bind(rmr, lmr, &range, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				   active.ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &context));
	return complete(&active, "bound");
}

/* ---- The end of a connection ---- */

/* Hears of the end where it has not; flushes what was posted. */
static void wind_up(struct end *end)
{
	if (end->connected && !end->over)
		conn_event(end, "end of a connection", DAT_CONNECTION_EVENT_DISCONNECTED);
	if (end == &active)
		complete(end, "flushed");
}

/* Whatever is left of an attempt goes; what was posted to the SRQ goes with it. */
static bool free_eps(void)
{
	DAT_EVENT event;

	if (!CALL(dat_ep_free(active.ep)) || !CALL(dat_ep_free(passive.ep)))
		return false;
	report->step = "requests that are left";
	while (dat_evd_dequeue(first, &event) == DAT_SUCCESS ||
	       dat_evd_dequeue(requests, &event) == DAT_SUCCESS)
		CALL(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	while (dat_evd_dequeue(active.conn, &event) == DAT_SUCCESS ||
	       dat_evd_dequeue(passive.conn, &event) == DAT_SUCCESS ||
	       dat_evd_dequeue(active.dto, &event) == DAT_SUCCESS ||
	       dat_evd_dequeue(passive.dto, &event) == DAT_SUCCESS)
		;
	return (!has_srq || CALL(dat_srq_free(srq))) && make_srq();
}

/* What tools see of the program, and what it prints of itself. */
static void observe(void)
{
	char *text, why[200];
	int err;

	report->step = "control channel";
	err = control_ask(getpid(), "objects", &text, why, sizeof(why));
	if (err && interpose_failed())
		err = control_ask(getpid(), "objects", &text, why, sizeof(why));
	if (!err)
		free(text);
	else if (interpose_failed())
		report->refused = true; /* it could not be made, and there is no second time */
	else
		complain("control channel: %s", why);
	dat_ib_print_counters(active.ep, DCNT_EP_ALL_COUNTERS, 0);
}

/* One connection, from its endpoints to their end: whether all of it went well. */
static bool use_connection(void)
{
	bool well = be_rejected() && be_forgotten() && connect_eps() && send_messages() &&
		    move_by_rdma() && move_by_rdma_again() && bind_window();

	observe();
	if (active.connected && !active.over)
		CALL(dat_ep_disconnect(active.ep,
				       well ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG));
	else
		dat_ep_disconnect(passive.ep, DAT_CLOSE_ABRUPT_FLAG); /* if it knows of any */
	wind_up(&active);
	wind_up(&passive);
	return well;
}

static bool use_all(void)
{
	int attempt;
	bool well = false;

	for (attempt = 0; attempt < ATTEMPTS && !well && !report->complaint[0]; attempt++) {
		if (!make_eps() || !post_receives())
			return false;
		well = use_connection();
		if (!free_eps())
			return false;
	}
	if (!well)
		complain("no connection in %d attempts", attempt);
	return well;
}

static int count_files(void)
{
	int fd, num = 0;

	for (fd = 0; fd < 256; fd++)
		num += lseek(fd, 0, SEEK_CUR) >= 0 || dup2(fd, fd) == fd;
	return num;
}

void life(const char *adapter, struct report *out, bool fault)
{
	struct timespec pause = { .tv_nsec = 5000000 };
	int looks, blocks, files, objects;

	report = out;
	may_fail = fault;
	if (make_all(adapter) && use_all())
		free_all();
	if (report->complaint[0])
		return;
	/* What the peer must still be told is told in the background. */
	report->step = "what is left";
	blocks = report->blocks;
	files = report->files;
	objects = report->objects;
	for (looks = 0; looks < 400; looks++) {
		report->blocks = interpose_blocks();
		report->files = count_files();
		report->objects = interpose_objects();
		if (!blocks || (report->blocks <= blocks && report->files <= files &&
				report->objects <= objects))
			break;
		nanosleep(&pause, NULL);
	}
}
