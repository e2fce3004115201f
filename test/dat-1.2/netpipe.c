/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What NetPIPE's udapl module does (D12 section 11): cleared attributes with the name of old and 20000
 * DTOs, a fixed qualifier, a loop on the last byte without a call, Sends without completion, segments
 * of nothing, and the order in which it frees.
 */
#include "test/dat-1.2/client.h"

#include <poll.h>

#define SIZE	  (8 * 1024 * 1024)
#define QUALIFIER 1040
#define ROUNDS	  60

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE async, request, recv, conn, cr;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	struct sockaddr address;
	volatile char *in, *out;
	DAT_LMR_HANDLE in_lmr, out_lmr;
	DAT_LMR_CONTEXT in_context, out_context;
};

static DAT_LMR_CONTEXT reg(struct side *s, volatile char **at, DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr;

	*at = calloc(1, SIZE);
	need(*at != NULL);
	region.for_va = (void *)*at;
	need_ok(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, s->pz,
			       DAT_MEM_PRIV_ALL_FLAG, lmr, &context, &rmr, NULL, NULL));
	return context;
}

/* D12-5, D12-88, D12-89, D12-121 */
static void make_ep(struct side *s)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_mtu_size = SIZE;
	attr.max_rdma_size = SIZE;
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	attr.max_recv_dtos = 20000;
	attr.max_request_dtos = 20000;
	attr.max_recv_iov = 4;
	attr.max_request_iov = 4;
	attr.max_rdma_read_in = 4;
	attr.max_rdma_read_out = 4;
	need_ok(dat_ep_create(s->ia, s->pz, s->recv, s->request, s->conn, &attr, &s->ep));
}

static void start(struct side *s)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_IA_ATTR attr;

	s->async = DAT_HANDLE_NULL;
	need_ok(dat_ia_open(harness_ia_name(), 8, &s->async, &s->ia));
	need_ok(dat_ia_query(s->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	memcpy(&s->address, attr.ia_address_ptr, sizeof(s->address));
	need_ok(dat_pz_create(s->ia, &s->pz));
	need_ok(dat_cno_create(s->ia, agent, &s->cno)); /* D12-8 */
	need_ok(dat_evd_create(s->ia, 1024, s->cno, DAT_EVD_DTO_FLAG, &s->recv));
	need_ok(dat_evd_create(s->ia, 1024, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->request));
	need_ok(dat_evd_create(s->ia, 1024, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &s->conn));
	need_ok(dat_evd_create(s->ia, 1024, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &s->cr));
	make_ep(s);
	s->in_context = reg(s, &s->in, &s->in_lmr);
	s->out_context = reg(s, &s->out, &s->out_lmr);
}

static void post_recv(struct side *s, size_t len)
{
	DAT_DTO_COOKIE cookie = { .as_64 = len };
	DAT_LMR_TRIPLET t;

	t.lmr_context = s->in_context;
	t.virtual_address = (uintptr_t)s->in;
	t.segment_length = len;
	need_ok(dat_ep_post_recv(s->ep, len > 0, len > 0 ? &t : NULL, cookie,
				 DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(struct side *s, size_t len, DAT_COMPLETION_FLAGS flags)
{
	DAT_DTO_COOKIE cookie = { .as_64 = len };
	DAT_LMR_TRIPLET t;

	t.lmr_context = s->out_context;
	t.virtual_address = (uintptr_t)s->out;
	t.segment_length = len;
	need_ok(dat_ep_post_send(s->ep, len > 0, len > 0 ? &t : NULL, cookie, flags));
}

/* D12-86, D12-122: the byte first, then one event if there is one. */
static unsigned int receive(struct side *s, size_t len, char mark)
{
	DAT_EVENT event;

	while (s->in[len - 1] != mark)
		;
	if (dat_evd_dequeue(s->recv, &event) != DAT_SUCCESS)
		return 0;
	need(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
	return 1;
}

/* None of them was lost. */
static void take_the_rest(struct side *s, unsigned int taken)
{
	DAT_EVENT event;

	for (uint64_t end = ct_now_us() + CT_US; taken < ROUNDS && ct_now_us() < end;)
		taken += dat_evd_dequeue(s->recv, &event) == DAT_SUCCESS;
	need(taken == ROUNDS);
	need(dat_evd_dequeue(s->recv, &event) == DAT_QUEUE_EMPTY);
	need(dat_evd_dequeue(s->request, &event) == DAT_QUEUE_EMPTY);
}

static void ping_pong(struct side *s, struct client_pair *pair, bool first)
{
	unsigned int taken = 0;

	post_recv(s, 1);
	client_meet(pair);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		size_t len = i == 0 ? 1 : i * 331;
		char mark = (char)(1 + i % 100);

		s->out[len - 1] = mark;
		if (first)
			post_send(s, len, DAT_COMPLETION_SUPPRESS_FLAG);
		taken += receive(s, len, mark);
		s->in[len - 1] = 0;
		if (i + 1 < ROUNDS)
			post_recv(s, (i + 1) * 331);
		if (!first)
			post_send(s, len, DAT_COMPLETION_SUPPRESS_FLAG);
	}
	take_the_rest(s, taken);
}

/* D12-42, and a wait on the CNO. */
static void nothing(struct side *s, struct client_pair *pair)
{
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;
	DAT_COUNT more;

	while (dat_cno_wait(s->cno, 0, &hint) == DAT_SUCCESS)
		;
	post_recv(s, 0);
	client_meet(pair);
	post_send(s, 0, DAT_COMPLETION_DEFAULT_FLAG);
	need_ok(dat_cno_wait(s->cno, CT_US, &hint));
	need(hint == s->recv);
	need_ok(dat_evd_dequeue(s->recv, &event));
	need(event.event_data.dto_completion_event_data.transfered_length == 0);
	need_ok(dat_evd_wait(s->request, CT_US, 1, &event, &more)); /* D12-89 */
	need(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
}

static void established(struct side *s)
{
	DAT_EVENT event;
	DAT_COUNT more;

	event.event_number = (DAT_EVENT_NUMBER)0;
	need_ok(dat_evd_wait(s->conn, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	need(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* D12-123 */
static void leave(struct side *s)
{
	need_ok(dat_lmr_free(s->in_lmr));
	need_ok(dat_lmr_free(s->out_lmr));
	need_ok(dat_ep_free(s->ep));
	need_ok(dat_pz_free(s->pz));
	need_ok(dat_evd_free(s->conn));
	need_ok(dat_evd_free(s->request));
	need_ok(dat_evd_free(s->recv));
	if (s->psp != DAT_HANDLE_NULL)
		need(DAT_GET_TYPE(dat_evd_free(s->cr)) == DAT_INVALID_STATE);
	need(DAT_GET_TYPE(dat_evd_free(s->async)) == DAT_INVALID_STATE);
	need_ok(dat_cno_free(s->cno));
	if (s->psp != DAT_HANDLE_NULL)
		need_ok(dat_psp_free(s->psp));
	need_ok(dat_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	free((void *)s->in);
	free((void *)s->out);
}

static void *server(void *arg)
{
	struct client_pair *pair = arg;
	struct side s = { 0 };
	DAT_EVENT event;
	DAT_COUNT more;

	start(&s);
	need_ok(dat_psp_create(s.ia, QUALIFIER, s.cr, DAT_PSP_CONSUMER_FLAG, &s.psp));
	pair->server.address = s.address;
	client_meet(pair);
	need_ok(dat_evd_wait(s.cr, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	need_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s.ep, 0, NULL));
	established(&s);
	ping_pong(&s, pair, false);
	nothing(&s, pair);
	client_meet(pair);
	while (dat_evd_dequeue(s.conn, &event) != DAT_SUCCESS)
		;
	need(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	leave(&s);
	return NULL;
}

static void client(struct client_pair *pair)
{
	struct side s = { 0 };
	DAT_EVENT event;
	DAT_COUNT more;

	start(&s);
	client_meet(pair);
	need_ok(dat_ep_connect(s.ep, &pair->server.address, QUALIFIER, DAT_TIMEOUT_INFINITE, 0,
			       NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	established(&s);
	ping_pong(&s, pair, true);
	nothing(&s, pair);
	client_meet(pair);
	need_ok(dat_ep_disconnect(s.ep, DAT_CLOSE_ABRUPT_FLAG));
	need_ok(dat_evd_wait(s.conn, CT_US, 1, &event, &more));
	need(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	leave(&s);
}

/* D12-T10 */
static void d12_86_to_90_121_to_123_netpipe(void **state)
{
	(void)state;
	client_run(server, client);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(d12_86_to_90_121_to_123_netpipe),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
