/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What ParaStation's pscom does (D12 section 11): it opens what is listed until one opens, listens on its
 * process id, connects with 32 bytes of private data, writes messages into a ring of the peer's whose
 * flag word the peer polls, reads large messages, posts no Receive, and waits for DISCONNECTED.
 */
#include "test/dat-1.2/client.h"

#include <unistd.h>

#define SLOTS	 16
#define SLOT	 4096
#define LARGE	 (3 * 1024 * 1024 + 17)
#define MESSAGES 60

struct message {
	char text[SLOT - 8];
	volatile uint32_t len, flag; /* the last word tells that all is there */
};

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr, dto, conn;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	struct sockaddr address;
	struct message *recv, *send; /* rings */
	DAT_LMR_HANDLE recv_lmr, send_lmr;
	DAT_LMR_CONTEXT send_context;
	unsigned int outstanding;
	/* of the peer's ring */
	DAT_VADDR remote;
	DAT_RMR_CONTEXT remote_context;
};

/* What goes as private data. */
struct info {
	uint64_t ring, large;
	uint32_t ring_context, large_context;
	uint64_t spare;
};

static void assert_text(DAT_RETURN rc)
{
	const char *major, *minor;

	/* D12-36: the result is asserted; also of a DTO status, which reads as a subtype. */
	need(dat_strerror(rc, &major, &minor) == DAT_SUCCESS);
	need(major != NULL && minor != NULL);
}

static DAT_LMR_HANDLE reg(struct side *s, void *at, size_t len, DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN size;
	DAT_VADDR start;

	region.for_va = at;
	need_ok(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, len, s->pz,
			       DAT_MEM_PRIV_ALL_FLAG, &lmr, lmr_context, rmr_context, &size,
			       &start));
	need(size >= len);
	return lmr;
}

static void *pages(size_t len)
{
	void *at = NULL;

	need(posix_memalign(&at, 4096, len) == 0);
	memset(at, 0, len);
	return at;
}

/* D12-107: every name that is listed is opened in turn; here, the one under test is looked for. */
static void start(struct side *s)
{
	static DAT_PROVIDER_INFO infos[64];
	DAT_PROVIDER_INFO *list[64];
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_COUNT n = 0;
	DAT_IA_ATTR attr;
	bool listed = false;

	for (int i = 0; i < 64; i++)
		list[i] = &infos[i];
	need_ok(dat_registry_list_providers(64, &n, list));
	for (DAT_COUNT i = 0; i < n; i++)
		listed |= strcmp(list[i]->ia_name, harness_ia_name()) == 0;
	need(listed);
	need_ok(dat_ia_open(harness_ia_name(), 0 + 8, &async, &s->ia));
	need_ok(dat_ia_query(s->ia, &async, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	memcpy(&s->address, attr.ia_address_ptr, sizeof(s->address));
	need_ok(dat_pz_create(s->ia, &s->pz));
}

/* D12-114 */
static void listen_on_pid(struct side *s, DAT_CONN_QUAL *qual)
{
	DAT_RETURN rc = DAT_SUCCESS;

	need_ok(dat_evd_create(s->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &s->cr));
	for (*qual = (DAT_CONN_QUAL)getpid(); *qual < (DAT_CONN_QUAL)getpid() + 100; (*qual)++) {
		rc = dat_psp_create(s->ia, *qual, s->cr, DAT_PSP_CONSUMER_FLAG, &s->psp);
		if (DAT_GET_TYPE(rc) != DAT_CONN_QUAL_IN_USE)
			break;
		assert_text(rc);
	}
	need_ok(rc);
}

static void make_connection(struct side *s, struct info *mine, char *large)
{
	DAT_RMR_CONTEXT context;
	DAT_LMR_CONTEXT ignored;

	need_ok(dat_evd_create(s->ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			       &s->dto));
	need_ok(dat_evd_create(s->ia, 16, DAT_HANDLE_NULL,
			       DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &s->conn));
	need_ok(dat_ep_create(s->ia, s->pz, s->dto, s->dto, s->conn, NULL, &s->ep));
	s->recv = pages(SLOTS * sizeof(*s->recv));
	s->send = pages(SLOTS * sizeof(*s->send));
	s->recv_lmr = reg(s, s->recv, SLOTS * sizeof(*s->recv), &ignored, &context);
	mine->ring = (uintptr_t)s->recv;
	mine->ring_context = context;
	s->send_lmr = reg(s, s->send, SLOTS * sizeof(*s->send), &s->send_context, &context);
	if (large != NULL) {
		(void)reg(s, large, LARGE, &ignored, &context);
		mine->large = (uintptr_t)large;
		mine->large_context = context;
	}
}

static void established(struct side *s, const struct info **answer)
{
	DAT_EVENT event;
	DAT_COUNT more;

	event.event_number = (DAT_EVENT_NUMBER)-1; /* D12-117 */
	need_ok(dat_evd_wait(s->conn, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	need(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED);
	if (answer != NULL)
		*answer = event.event_data.connect_event_data.private_data;
}

static void take_completion(struct side *s, bool must)
{
	DAT_EVENT event;
	DAT_RETURN rc;

	do
		rc = dat_evd_dequeue(s->dto, &event);
	while (must && rc == DAT_QUEUE_EMPTY);
	if (rc != DAT_SUCCESS)
		return;
	need(event.event_number == DAT_DTO_COMPLETION_EVENT);
	assert_text(event.event_data.dto_completion_event_data.status);
	need(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
	s->outstanding--;
}

static void send_message(struct side *s, unsigned int number, const char *text, size_t len)
{
	struct message *m = &s->send[number % SLOTS];
	DAT_LMR_TRIPLET local;
	DAT_RMR_TRIPLET remote;
	DAT_DTO_COOKIE cookie;

	while (s->outstanding >= SLOTS)
		take_completion(s, true);
	memcpy(m->text, text, len);
	m->len = (uint32_t)len;
	m->flag = number + 1;
	local.lmr_context = s->send_context;
	local.pad = 0;
	local.virtual_address = (uintptr_t)m;
	local.segment_length = sizeof(*m);
	remote.rmr_context = s->remote_context;
	remote.pad = 0;
	remote.target_address = s->remote + number % SLOTS * sizeof(*m);
	remote.segment_length = sizeof(*m);
	cookie.as_64 = number;
	need_ok(dat_ep_post_rdma_write(s->ep, 1, &local, cookie, &remote, (DAT_COMPLETION_FLAGS)0));
	s->outstanding++;
}

/* D12-86: the flag word comes last, and without a call. */
static void recv_message(struct side *s, unsigned int number, const char *text, size_t len)
{
	struct message *m = &s->recv[number % SLOTS];

	while (m->flag != number + 1)
		;
	__sync_synchronize();
	need(m->len == len && memcmp(m->text, text, len) == 0);
}

static void ping_pong(struct side *s, bool first)
{
	char text[2000];

	for (unsigned int i = 0; i < MESSAGES; i++) {
		size_t len = 1 + i * 37 % sizeof(text);

		memset(text, (int)(i % 251), len);
		if (first)
			send_message(s, i, text, len);
		recv_message(s, i, text, len);
		if (!first)
			send_message(s, i, text, len);
	}
	while (s->outstanding > 0)
		take_completion(s, true);
}

/* D12-96, D12-90: a large message is read, by pages around the buffer. */
static void read_large(struct side *s, const struct info *peer)
{
	char *buffer = pages(LARGE + 8192);
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT ignored;
	DAT_LMR_HANDLE lmr = reg(s, buffer, (LARGE + 8191) / 4096 * 4096, &context, &ignored);
	DAT_LMR_TRIPLET local = { .lmr_context = context,
				  .virtual_address = (uintptr_t)buffer + 9,
				  .segment_length = LARGE };
	DAT_RMR_TRIPLET remote = { .rmr_context = peer->large_context,
				   .target_address = peer->large,
				   .segment_length = LARGE };
	DAT_DTO_COOKIE cookie = { .as_ptr = buffer };

	need_ok(dat_ep_post_rdma_read(s->ep, 1, &local, cookie, &remote, (DAT_COMPLETION_FLAGS)0));
	s->outstanding++;
	take_completion(s, true);
	for (size_t i = 0; i < LARGE; i++)
		need(buffer[9 + i] == (char)(i % 113));
	need_ok(dat_lmr_free(lmr));
	free(buffer);
}

/* D12-83 */
static void disconnect(struct side *s)
{
	DAT_EVENT event;
	DAT_RETURN rc;

	need_ok(dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	do
		rc = dat_evd_dequeue(s->conn, &event);
	while (rc == DAT_QUEUE_EMPTY);
	need_ok(rc);
	need(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	need_ok(dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	need(dat_evd_dequeue(s->conn, &event) == DAT_QUEUE_EMPTY);
	need_ok(dat_ep_free(s->ep));
	need_ok(dat_lmr_free(s->recv_lmr));
	need_ok(dat_lmr_free(s->send_lmr));
	need_ok(dat_evd_free(s->conn));
	need_ok(dat_evd_free(s->dto));
	free(s->recv);
	free(s->send);
}

static void *server(void *arg)
{
	struct client_pair *pair = arg;
	struct side s = { 0 };
	struct info mine = { 0 }, peer;
	char *large = pages(LARGE);
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_COUNT more;

	start(&s);
	listen_on_pid(&s, &pair->server.qual);
	pair->server.address = s.address;
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (char)(i % 113);
	client_meet(pair);
	need_ok(dat_evd_wait(s.cr, DAT_TIMEOUT_INFINITE, 1, &event, &more)); /* D12-116 */
	need(event.event_number == DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	need_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	need(param.private_data_size >= (DAT_COUNT)sizeof(peer));
	memcpy(&peer, param.private_data, sizeof(peer)); /* D12-82 */
	s.remote = peer.ring;
	s.remote_context = peer.ring_context;
	make_connection(&s, &mine, large);
	need_ok(dat_cr_accept(cr, s.ep, sizeof(mine), &mine));
	established(&s, NULL);
	ping_pong(&s, false);
	client_meet(pair);
	disconnect(&s);
	need_ok(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
	free(large);
	return NULL;
}

static void client(struct client_pair *pair)
{
	struct side s = { 0 };
	struct info mine = { 0 };
	const struct info *peer = NULL;
	struct {
		struct sockaddr address;
		char other[48]; /* data of the program's own goes on behind it (D12-73) */
	} to;

	start(&s);
	make_connection(&s, &mine, NULL);
	client_meet(pair);
	memset(&to, 0xff, sizeof(to));
	to.address = pair->server.address;
	need_ok(dat_ep_connect(s.ep, &to.address, pair->server.qual, DAT_TIMEOUT_INFINITE,
			       sizeof(mine), &mine, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	established(&s, &peer);
	need(peer != NULL); /* D12-81 */
	s.remote = peer->ring;
	s.remote_context = peer->ring_context;
	ping_pong(&s, true);
	read_large(&s, peer);
	client_meet(pair);
	disconnect(&s);
	need_ok(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* D12-T10, D12-27 */
static void d12_81_to_86_114_to_117_pscom(void **state)
{
	(void)state;
	client_run(server, client);
}

/* The handle is kept in a static variable and goes into the next open. */
static void d12_109_111_a_stale_async_evd(void **state)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	(void)state;
	expect(dat_ia_open((char *)"nobody-has-this", 8, &async, &ia), DAT_PROVIDER_NOT_FOUND,
	       DAT_NAME_NOT_REGISTERED);
	assert_null(async);
	expect_ok(dat_ia_open(harness_ia_name(), 8, &async, &ia));
	expect_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	expect_handle(dat_ia_open(harness_ia_name(), 8, &async, &ia), EVD_ASYNC);
	async = DAT_HANDLE_NULL;
	expect_ok(dat_ia_open(harness_ia_name(), 8, &async, &ia));
	expect_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(d12_81_to_86_114_to_117_pscom),
		cmocka_unit_test(d12_109_111_a_stale_async_evd),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
