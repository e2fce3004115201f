/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers of connections over TCP: they are there while they are of use, and do without memory. */
#include "test/unit/soft_two.h"

#include <stdlib.h>
#include <string.h>

static atomic_uint refusing;
static atomic_uint refused, made;

/* Of refusing. */
enum {
	STAGES = 1,
	SCRATCHES = 2,
};

/* The linker sends the engine's calls of malloc here: of those, buffers of a connection. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	unsigned what = 0;

	if (size == SOFT_RX_SMALL || size == SOFT_RX_LARGE)
		what = STAGES;
	else if (size == SOFT_TX_SCRATCH || size == SOFT_TX_STAGE)
		what = SCRATCHES;
	if (!(what & atomic_load(&refusing))) {
		atomic_fetch_add(&made, what != 0);
		return __real_malloc(size);
	}
	atomic_fetch_add(&refused, 1);
	return NULL;
}

static void refuse(unsigned what)
{
	atomic_store(&refused, 0);
	atomic_store(&refusing, what);
}

/* Waits until the engine has asked for a buffer in vain. */
static void wait_refused(void)
{
	uint64_t limit = now_ms() + DEADLINE_MS;

	while (!atomic_load(&refused) && now_ms() < limit)
		pause_ms(5);
	assert_true(atomic_load(&refused));
}

static void send_both(struct end *a, struct end *b, uint32_t len, unsigned seed)
{
	fill(out, len, seed);
	memset(in, 0, len);
	post_recv(b, 1, in, len, in_mr);
	post_send(a, 2, out, len, out_mr, TP_WR_SIGNALED);
	assert_wc(wait_wc(b, b->recv_cq), 1, SUCCESS);
	assert_wc(wait_wc(a, a->send_cq), 2, SUCCESS);
	assert_true(filled(in, len, seed));
}

static void short_messages_need_no_buffer(void **state)
{
	unsigned with = 0;
	struct end a, b;

	(void)state;
	soft_config.crc = SOFT_CRC_NO;
	pair(&a, &b, NULL);
	assert_false(end_has_buffers(&a) || end_has_buffers(&b));
	for (unsigned i = 0; i < 50; i++) {
		send_both(&a, &b, 256, i);
		/* What is posted while the service thread drives is another batch. */
		with += end_has_buffers(&a) || end_has_buffers(&b);
		ends_lose_buffers(&a, &b);
	}
	assert_true(with < 10);
	unpair(&a, &b);
}

static void come_and_go(void **state)
{
	struct end a, b;

	(void)state;
	for (int crc = 0; crc < 2; crc++) {
		soft_config.crc = crc ? SOFT_CRC_YES : SOFT_CRC_NO;
		pair(&a, &b, NULL);
		for (unsigned i = 0; i < 3; i++) {
			atomic_store(&made, 0);
			send_both(&a, &b, TWO_BIG, i);
			assert_true(atomic_load(&made));
			ends_lose_buffers(&a, &b);
		}
		unpair(&a, &b);
	}
}

static void all_goes_through_what_is_there(unsigned what)
{
	static const uint32_t sizes[] = { 1, 256, 285, 286, 300, 1000, 5000, 70000, TWO_BIG };
	struct end a, b;

	pair(&a, &b, NULL);
	refuse(what);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		send_both(&a, &b, sizes[i], i);
		post_rdma(&a, TP_RDMA_WRITE, 3, out, sizes[i], out_mr, in, in_mr->rkey,
			  TP_WR_SIGNALED);
		assert_wc(wait_wc(&a, a.send_cq), 3, SUCCESS);
		post_rdma(&a, TP_RDMA_READ, 4, out, sizes[i], out_mr, in, in_mr->rkey,
			  TP_WR_SIGNALED);
		assert_wc(wait_wc(&a, a.send_cq), 4, SUCCESS);
		assert_true(filled(out, sizes[i], i));
	}
	wait_refused();
	refuse(0);
	unpair(&a, &b);
}

static void without_memory_all_goes_through_what_is_there(void **state)
{
	(void)state;
	soft_config.crc = SOFT_CRC_NO;
	all_goes_through_what_is_there(STAGES | SCRATCHES);
}

/* A CRC is of a copy: what is sent is cut to what there is room for. */
static void with_a_crc_all_that_is_sent_does(void **state)
{
	(void)state;
	soft_config.crc = SOFT_CRC_YES;
	all_goes_through_what_is_there(SCRATCHES);
}

static bool lacks_receive(struct end *end)
{
	struct soft_conn *conn = soft_conn(end->conn);
	bool lacks;

	dapl_lock(&conn->qp->lock);
	lacks = soft_conn_starved(conn);
	dapl_unlock(&conn->qp->lock);
	return lacks;
}

/* A CRC is of all of an FPDU: it stays where it is until there is memory for it. */
static void what_comes_is_not_lost_without_memory(void **state)
{
	static const uint32_t sizes[] = { 1000, 10000 };
	struct tp_wc wc;
	struct end a, b;

	(void)state;
	soft_config.crc = SOFT_CRC_YES;
	pair(&a, &b, NULL);
	send_both(&a, &b, 8, 1);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ends_lose_buffers(&a, &b);
		post_recv(&b, 1, in, sizes[i], in_mr);
		fill(out, sizes[i], i);
		refuse(STAGES);
		post_send(&a, 2, out, sizes[i], out_mr, TP_WR_SIGNALED);
		wait_refused();
		assert_false(try_wc(b.recv_cq, &wc));
		assert_false(lacks_receive(&b));
		refuse(0);
		assert_wc(wait_wc(&b, b.recv_cq), 1, SUCCESS);
		assert_wc(wait_wc(&a, a.send_cq), 2, SUCCESS);
		assert_true(filled(in, sizes[i], i));
	}
	unpair(&a, &b);
}

/* Adapters that look at their connections each 100 ms. */
static int set_up(void **state)
{
	soft_config.peer_timeout_ms = 300;
	return two_set_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_messages_need_no_buffer),
		cmocka_unit_test(come_and_go),
		cmocka_unit_test(without_memory_all_goes_through_what_is_there),
		cmocka_unit_test(with_a_crc_all_that_is_sent_does),
		cmocka_unit_test(what_comes_is_not_lost_without_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, two_tear_down);
}
