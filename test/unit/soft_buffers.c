/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers of connections over TCP: they are there while they are of use, and do without memory. */
#include "test/unit/soft_two.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "providers/soft/wire/crc32c.h"
#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;

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

/* ---- Before the first message ---- */

static void put(int fd, const void *buf, size_t len)
{
	assert_int_equal(send(fd, buf, len, MSG_NOSIGNAL), len);
}

/* A peer that is a socket: its request asks for a CRC, and to say when it is ready to receive. */
static int raw_request(void)
{
	static const struct soft_mpa_frame request = {
		.revision = 2, .crc = true, .enhanced = true, .p2p = true, .rtr_write = true
	};
	const struct sockaddr_in name = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					  .sin_port = htons((uint16_t)right.listener->conn_qual) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint8_t frame[WIRE_MPA_FRAME_MAX];

	assert_int_equal(connect(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
	put(fd, frame, soft_mpa_encode(frame, &request));
	return fd;
}

static void raw_send(int fd, uint32_t len)
{
	uint32_t ulpdu = WIRE_DDP_UNTAGGED_SIZE + len, size = soft_mpa_fpdu(ulpdu), crc;
	uint8_t *fpdu = calloc(1, size);

	fpdu[0] = (uint8_t)(ulpdu >> 8);
	fpdu[1] = (uint8_t)ulpdu;
	soft_ddp_put_untagged(fpdu + WIRE_MPA_LENGTH, WIRE_OP_SEND, true, WIRE_QN_SEND, 1, 0);
	fill(fpdu + WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE, len, 5);
	crc = htole32(soft_crc32c(0, fpdu, size - WIRE_MPA_CRC_SIZE));
	memcpy(fpdu + size - WIRE_MPA_CRC_SIZE, &crc, sizeof(crc));
	put(fd, fpdu, size);
	free(fpdu);
}

/* Nothing waits for it but the keepalive: it is told of no more until there is memory. */
static void the_first_message_waits_for_memory_without_a_spin(void **state)
{
	uint64_t before;
	struct end b;
	int fd;

	(void)state;
	end_create(&b, &right, NULL);
	post_recv(&b, 1, in, 1000, in_mr);
	fd = raw_request();
	b.conn = node_request(&right);
	assert_int_equal(t->cm->accept(b.conn, b.qp, NULL, 0, &b), 0);
	refuse(STAGES);
	raw_send(fd, 1000);
	wait_refused();
	before = soft_loop_wakeups(right.loop);
	pause_ms(200);
	assert_in_range(soft_loop_wakeups(right.loop) - before, 0, 50);
	refuse(0);
	end_event(&b, TP_CONN_ESTABLISHED);
	assert_wc(wait_wc(&b, b.recv_cq), 1, SUCCESS);
	assert_true(filled(in, 1000, 5));
	close(fd);
	end_event2(&b, TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
	end_destroy(&b);
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
		cmocka_unit_test(the_first_message_waits_for_memory_without_a_spin),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, two_tear_down);
}
