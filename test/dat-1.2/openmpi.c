/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What Open MPI 1.6's udapl transport does (D12 section 11): attributes by a throw-away endpoint, two
 * connections for each peer in this order to one service point, the first Receive after ESTABLISHED, the
 * endpoint of a completion read by the connection's member, EVDs resized, and an end that leaves
 * everything behind.
 */
#include "test/dat-1.2/client.h"

enum {
	EAGER,
	MAX,
	ENDS
};

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE eps[ENDS];
	DAT_EP_PARAM param;
	struct sockaddr_in address;
	char *buffer;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
};

#define BUFFER 65536
#define HALF   (BUFFER / 2)

static DAT_EVD_HANDLE evd(struct side *s, DAT_COUNT len, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd_handle;

	need_ok(dat_evd_create(s->ia, len, DAT_HANDLE_NULL, flags, &evd_handle));
	return evd_handle;
}

static void start(struct side *s)
{
	static DAT_PROVIDER_INFO infos[8];
	DAT_PROVIDER_INFO *list[8];
	DAT_IA_ATTR attr;
	DAT_COUNT n;
	DAT_EP_HANDLE dummy;
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr;

	for (int i = 0; i < 8; i++)
		list[i] = &infos[i];
	need_ok(dat_registry_list_providers(8, &n, list)); /* D12-108 */
	need(n > 0);
	s->async = DAT_HANDLE_NULL;
	need_ok(dat_ia_open(harness_ia_name(), 256, &s->async, &s->ia));
	need_ok(dat_ia_query(s->ia, &s->async, DAT_IA_ALL, &attr, 0, NULL));
	need(attr.max_evd_qlen > 0 && attr.max_dto_per_ep >= 76); /* D12-80 */
	/* D12-113 */
	need(attr.ia_address_ptr->sa_family == AF_INET);
	memcpy(&s->address, attr.ia_address_ptr, sizeof(s->address));
	for (size_t i = 0; i < sizeof(s->address.sin_zero); i++)
		need(s->address.sin_zero[i] == 0);
	need_ok(dat_pz_create(s->ia, &s->pz));
	s->dto = evd(s, 256, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	s->conn = evd(s, 256, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG);
	/* D12-52 */
	need_ok(dat_ep_create(s->ia, s->pz, s->dto, s->dto, s->conn, NULL, &dummy));
	need_ok(dat_ep_query(dummy, DAT_EP_FIELD_ALL, &s->param));
	need_ok(dat_ep_free(dummy));
	s->param.ep_attr.max_recv_dtos = 8;
	s->param.ep_attr.max_request_dtos = 76;
	need(posix_memalign((void **)&s->buffer, DAT_OPTIMAL_ALIGNMENT, BUFFER) == 0);
	memset(s->buffer, 0, BUFFER);
	region.for_va = s->buffer;
	need_ok(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, BUFFER, s->pz,
			       DAT_MEM_PRIV_ALL_FLAG, &s->lmr, &s->context, &rmr, NULL, NULL));
}

static void make_ep(struct side *s, int end)
{
	need_ok(dat_ep_create(s->ia, s->pz, s->dto, s->dto, s->conn, &s->param.ep_attr,
			      &s->eps[end]));
}

/* D12-79 */
static void resize(struct side *s)
{
	DAT_EVD_PARAM param;

	need_ok(dat_evd_query(s->dto, DAT_EVD_FIELD_EVD_QLEN, &param));
	need(param.evd_qlen >= 256);
	need_ok(dat_evd_resize(s->dto, param.evd_qlen));
	need_ok(dat_evd_resize(s->dto, param.evd_qlen * 2));
	need_ok(dat_evd_query(s->dto, DAT_EVD_FIELD_EVD_QLEN, &param));
	need(param.evd_qlen >= 512);
}

/* The next event by polling, and which connection it is of. */
static int next(struct side *s, DAT_EVD_HANDLE from, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_RETURN rc;

	do
		rc = dat_evd_dequeue(from, event);
	while (rc == DAT_QUEUE_EMPTY);
	need_ok(rc);
	need(event->event_number == number);
	/* D12-46: of a DTO completion too. */
	for (int i = 0; i < ENDS; i++)
		if (event->event_data.connect_event_data.ep_handle == s->eps[i])
			return i;
	need(number == DAT_CONNECTION_REQUEST_EVENT);
	return -1;
}

static DAT_LMR_TRIPLET segment(struct side *s, size_t offset, size_t len)
{
	DAT_LMR_TRIPLET t;

	memset(&t, 0xa5, sizeof(t)); /* the padding stays so (D12-40) */
	t.lmr_context = s->context;
	t.virtual_address = (uintptr_t)(s->buffer + offset);
	t.segment_length = len;
	return t;
}

static void post_recv(struct side *s, int end)
{
	DAT_LMR_TRIPLET t = segment(s, HALF + (size_t)end * 4096, 4096);
	DAT_DTO_COOKIE cookie = { .as_ptr = s->buffer + HALF + end * 4096 };

	need_ok(dat_ep_post_recv(s->eps[end], 1, &t, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* D12-87, but iWARP devices break on a message that finds no Receive, as DTO-90 allows. */
static void post_recv_when(struct side *s, int end, bool established)
{
	bool iwarp = strstr(harness_ia_name(), "iw"); /* ofa-siw, and the zoo's */

	if (established != iwarp)
		post_recv(s, end);
}

static void post_send(struct side *s, int end, size_t len)
{
	DAT_LMR_TRIPLET t = segment(s, (size_t)end * 4096, len);
	DAT_DTO_COOKIE cookie = { .as_ptr = s->buffer + end * 4096 };

	need_ok(dat_ep_post_send(s->eps[end], 1, &t, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Both sides tell each other on each connection who they are: one completion of a Send, one of a Receive. */
static void talk(struct side *s, int end, size_t len)
{
	DAT_DTO_COMPLETION_EVENT_DATA *done;
	DAT_EVENT event;

	memset(s->buffer + end * 4096, 'a' + end, len);
	post_send(s, end, len);
	for (int i = 0; i < 2; i++) {
		need(next(s, s->dto, DAT_DTO_COMPLETION_EVENT, &event) == end);
		done = &event.event_data.dto_completion_event_data;
		need(done->status == DAT_DTO_SUCCESS && done->transfered_length == len);
	}
	for (size_t i = 0; i < len; i++)
		need(s->buffer[HALF + end * 4096 + (int)i] == 'a' + end);
}

/* D12-120 */
static void leave(struct side *s)
{
	need(DAT_GET_TYPE(dat_evd_free(s->dto)) == DAT_INVALID_STATE);
	need(DAT_GET_TYPE(dat_evd_free(s->conn)) == DAT_INVALID_STATE);
	need(DAT_GET_TYPE(dat_pz_free(s->pz)) == DAT_INVALID_STATE);
	need(dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG) ==
	     (DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE));
	/* There the process ends; here memory is looked after. */
	need_ok(dat_ia_close(s->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(s->buffer);
}

static void *server(void *arg)
{
	struct client_pair *pair = arg;
	struct side s = { 0 };
	DAT_CR_PARAM param;
	DAT_EVENT event;

	start(&s);
	need_ok(dat_psp_create_any(s.ia, &pair->server.qual, s.conn, DAT_PSP_CONSUMER_FLAG,
				   &s.psp));
	memcpy(&pair->server.address, &s.address, sizeof(pair->server.address));
	client_meet(pair);
	for (int end = 0; end < ENDS; end++) {
		DAT_CR_HANDLE cr;

		make_ep(&s, end);
		(void)next(&s, s.conn, DAT_CONNECTION_REQUEST_EVENT, &event);
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		need_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		need(param.private_data_size >= 20); /* D12-82 */
		need(((const char *)param.private_data)[16] == (char)end);
		post_recv_when(&s, end, false);
		need_ok(dat_cr_accept(cr, s.eps[end], 0, NULL));
		need(next(&s, s.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event) == end);
		post_recv_when(&s, end, true);
		talk(&s, end, 1000);
	}
	resize(&s);
	client_meet(pair);
	leave(&s);
	return NULL;
}

static void client(struct client_pair *pair)
{
	struct side s = { 0 };
	DAT_EVENT event;

	start(&s);
	client_meet(pair);
	for (int end = 0; end < ENDS; end++) {
		struct {
			struct sockaddr_in address;
			int32_t end;
		} record = { s.address, end };
		struct sockaddr to = pair->server.address;

		((struct sockaddr_in *)(void *)&to)->sin_port = 0x1234;
		make_ep(&s, end);
		post_recv_when(&s, end, false);
		need_ok(dat_ep_connect(s.eps[end], &to, pair->server.qual, 10 * 1000 * 1000,
				       sizeof(record), &record, DAT_QOS_BEST_EFFORT,
				       DAT_CONNECT_DEFAULT_FLAG));
		need(next(&s, s.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event) ==
		     end); /* D12-118 */
		post_recv_when(&s, end, true);
		talk(&s, end, 1000);
		need(dat_evd_dequeue(s.async, &event) == DAT_QUEUE_EMPTY); /* D12-119 */
	}
	client_meet(pair);
	leave(&s);
}

/* D12-T10 */
static void d12_52_79_80_113_118_to_120_openmpi(void **state)
{
	(void)state;
	client_run(server, client);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(d12_52_79_80_113_118_to_120_openmpi),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
