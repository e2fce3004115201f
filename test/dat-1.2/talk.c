/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One side of a conversation: private data, Sends and RDMA both ways. It is compiled as a program of
 * DAT 2.0 and as one of 1.2; talk.sh has each speak with each.
 *
 *   talk             waits for a peer and prints the qualifier on standard output
 *   talk QUALIFIER   speaks with it
 */
#include "test/conformance/harness.h"

#include <stdio.h>
#include <stdlib.h>

#define LEN 3000

/* What each tells the other as private data (D12-84). */
struct card {
	uint64_t address;
	uint32_t rmr_context, magic;
};

enum {
	SENT = 0,	 /* what is sent */
	ARRIVES = 4096,	 /* where a Send arrives */
	WRITTEN = 8192,	 /* where the peer writes */
	OFFERED = 12288, /* what the peer reads */
	READ = 16384,	 /* where what was read goes */
};

static void fill(struct ct_end *end, size_t at, uint8_t seed)
{
	for (size_t i = 0; i < LEN; i++)
		end->mem.base[at + i] = (uint8_t)(seed + i * 7);
}

static void filled(struct ct_end *end, size_t at, uint8_t seed)
{
	for (size_t i = 0; i < LEN; i++)
		assert_int_equal(end->mem.base[at + i], (uint8_t)(seed + i * 7));
}

static struct card mine(struct ct_end *end)
{
	struct card card = { (uintptr_t)end->mem.base, end->mem.rmr_context, 0xda7 };

	return card;
}

static struct card other(const void *data, DAT_COUNT size)
{
	struct card card;

	assert_non_null(data);
	assert_true(size >= (DAT_COUNT)sizeof(card));
	memcpy(&card, data, sizeof(card));
	assert_int_equal(card.magic, 0xda7);
	return card;
}

static DAT_RMR_TRIPLET at(const struct card *peer, size_t offset)
{
	DAT_RMR_TRIPLET target;

	memset(&target, 0, sizeof(target));
	target.virtual_address = peer->address + offset;
	target.segment_length = LEN;
	target.rmr_context = peer->rmr_context;
	return target;
}

/* Seeds of both sides; the one who waits has the first. */
static void talk(struct ct_end *end, const struct card *peer, bool waits)
{
	const uint8_t its = waits ? 5 : 3;
	DAT_LMR_TRIPLET local = ct_segment(&end->mem, SENT, LEN);
	DAT_LMR_TRIPLET sink = ct_segment(&end->mem, READ, LEN);
	DAT_RMR_TRIPLET written = at(peer, WRITTEN), offered = at(peer, OFFERED);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	expect_ok(dat_ep_post_rdma_write(end->ep, 1, &local, cookie, &written,
					 DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(end->request, 2, DAT_DTO_SUCCESS);
	expect_ok(dat_ep_post_rdma_read(end->ep, 1, &sink, cookie, &offered,
					DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(end->request, 2, DAT_DTO_SUCCESS);
	filled(end, READ, (uint8_t)(its + 100));
	/* A Send comes behind what was written. */
	expect_ok(ct_post_send(end, SENT, LEN, 3, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(end->request, 3, DAT_DTO_SUCCESS);
	ct_completion(end->recv, 1, DAT_DTO_SUCCESS);
	filled(end, ARRIVES, its);
	filled(end, WRITTEN, its);
}

static void prepare(struct ct_end *end, struct ct_ia *ia, bool waits)
{
	const uint8_t own = waits ? 3 : 5;

	ct_open(ia);
	ct_end_open(end, ia->ia, NULL);
	fill(end, SENT, own);
	fill(end, OFFERED, (uint8_t)(own + 100));
	expect_ok(ct_post_recv(end, ARRIVES, LEN, 1, DAT_COMPLETION_DEFAULT_FLAG));
}

static struct card wait_for_peer(struct ct_end *end)
{
	DAT_EVD_HANDLE evd = ct_evd(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;
	struct card card = mine(end), peer;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	expect_ok(dat_psp_create_any(end->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	printf("qualifier %llu\n", (unsigned long long)qual);
	fflush(stdout);
	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	peer = other(param.private_data, param.private_data_size);
	expect_ok(dat_cr_accept(cr, end->ep, sizeof(card), &card));
	ct_next(end->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	expect_ok(dat_psp_free(psp));
	return peer;
}

static struct card go_to_peer(struct ct_end *end, struct ct_ia *ia, DAT_CONN_QUAL qual)
{
	struct card card = mine(end);
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	expect_ok(dat_ep_connect(end->ep, ia->attr.ia_address_ptr, qual, CT_US, sizeof(card), &card,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ct_next(end->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	data = &event.event_data.connect_event_data;
	return other(data->private_data, data->private_data_size);
}

static DAT_CONN_QUAL peer_qual;

/* The one who came ends it, and both hear of it. */
static void conversation(void **state)
{
	bool waits = peer_qual == 0;
	struct ct_end end = { 0 };
	struct card peer;
	struct ct_ia ia;
	DAT_EVENT event;

	(void)state;
	prepare(&end, &ia, waits);
	peer = waits ? wait_for_peer(&end) : go_to_peer(&end, &ia, peer_qual);
	talk(&end, &peer, waits);
	if (!waits)
		expect_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	ct_next(end.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	ct_close(&ia);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(conversation) };

	peer_qual = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	return harness_run(tests, 1);
}
