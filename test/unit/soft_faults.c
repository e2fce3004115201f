/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: what goes wrong, and who sees what (DTO-84 to DTO-89). */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

static const struct dapl_transport *const t = &dapl_module_transport;

#define SIZE (1u << 20)

static struct end a, b, c, d; /* a - b have the faults; c - d must not notice */

static int group_set_up(void **state)
{
	(void)state;
	two_open(SIZE, FULL, FULL);
	pair(&c, &d, NULL);
	return 0;
}

static int group_tear_down(void **state)
{
	(void)state;
	unpair(&c, &d);
	two_close();
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	pair(&a, &b, NULL);
	return 0;
}

/* The other connection works as before. */
static int tear_down(void **state)
{
	(void)state;
	end_destroy(&a);
	end_destroy(&b);
	post_recv(&d, 1, in, 100, in_mr);
	post_send(&c, 2, out, 100, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(d.recv_cq), 1, SUCCESS);
	assert_wc(take_wc(c.send_cq), 2, SUCCESS);
	return 0;
}

/* Both ends are over, and whatever is posted now is flushed. */
static void both_broken(void)
{
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	post_send(&a, 91, out, 8, out_mr, 0);
	assert_wc(take_wc(a.send_cq), 91, FLUSHED);
	post_recv(&b, 92, in, 8, in_mr);
	assert_wc(take_wc(b.recv_cq), 92, FLUSHED);
	end_quiet(&a, 1);
	end_quiet(&b, 1);
}

/* An access of the initiator that the target refuses. */
static void refused(enum tp_opcode opcode, const void *remote, uint32_t rkey, uint32_t len)
{
	unsigned asyncs = node_asyncs(&right);
	struct tp_wc wc;

	post_recv(&a, 5, out, 8, out_mr);
	post_rdma(&a, opcode, 7, out, len, out_mr, remote, rkey, TP_WR_SIGNALED);
	wc = take_wc(a.send_cq);
	assert_int_equal(wc.wr_id, 7);
	/* DTO-86: a write may have been done with before the target refused it. */
	if (opcode == TP_RDMA_READ || wc.status != TP_WC_SUCCESS)
		assert_int_equal(wc.status, TP_WC_REMOTE_ACCESS);
	assert_wc(take_wc(a.recv_cq), 5, FLUSHED);
	node_await_asyncs(&right, asyncs + 1);
	assert_int_equal(right.async, TP_ASYNC_QP_ERROR);
	assert_ptr_equal(right.async_object, &b);
	both_broken();
}

static void write_unknown_key(void **state)
{
	(void)state;
	refused(TP_RDMA_WRITE, in, in_mr->rkey ^ 0x5a5a, 8);
}

static void read_unknown_key(void **state)
{
	(void)state;
	refused(TP_RDMA_READ, in, in_mr->rkey ^ 0x5a5a, 8);
}

static void write_key_zero(void **state)
{
	(void)state;
	refused(TP_RDMA_WRITE, in, 0, 100000);
}

static void write_beyond(void **state)
{
	(void)state;
	memset(in, 0, SIZE);
	refused(TP_RDMA_WRITE, in + SIZE - 4, in_mr->rkey, 8);
	assert_memory_equal(in + SIZE - 4, "\0\0\0", 4);
}

static void write_before(void **state)
{
	(void)state;
	refused(TP_RDMA_WRITE, in - 1, in_mr->rkey, 8);
}

static void write_wrap(void **state)
{
	(void)state;
	refused(TP_RDMA_WRITE, (void *)(uintptr_t)-4, in_mr->rkey, 8);
}

static void read_beyond(void **state)
{
	(void)state;
	refused(TP_RDMA_READ, in + SIZE / 2, in_mr->rkey, SIZE / 2 + 1);
}

static void read_wrap(void **state)
{
	(void)state;
	refused(TP_RDMA_READ, (void *)(uintptr_t)-4, in_mr->rkey, 8);
}

static void without_right(enum tp_opcode opcode, uint32_t access)
{
	struct tp_mr *mr = reg(&right, in, SIZE, access);

	refused(opcode, in, mr->rkey, 8);
	dereg(mr);
}

static void write_without_right(void **state)
{
	(void)state;
	without_right(TP_RDMA_WRITE, TP_ACCESS_REMOTE_READ);
}

static void read_without_right(void **state)
{
	(void)state;
	without_right(TP_RDMA_READ, TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE);
}

static void freed(enum tp_opcode opcode)
{
	struct tp_mr *mr = reg(&right, in, SIZE, FULL);
	uint32_t rkey = mr->rkey;

	dereg(mr);
	refused(opcode, in, rkey, 8);
}

static void write_freed(void **state)
{
	(void)state;
	freed(TP_RDMA_WRITE);
}

static void read_freed(void **state)
{
	(void)state;
	freed(TP_RDMA_READ);
}

static void other_zone(void **state)
{
	struct tp_mr_attr attr = { .addr = in, .length = SIZE, .access = FULL };
	struct tp_mr *mr;
	struct tp_pd *pd;

	(void)state;
	assert_int_equal(t->pd->alloc(right.dev, &pd), 0);
	assert_int_equal(t->mr->reg(pd, &attr, &mr), 0);
	refused(TP_RDMA_READ, in, mr->rkey, 8);
	dereg(mr);
	t->pd->free(pd);
}

/* ---- Local faults ---- */

static void local(enum tp_opcode opcode, const void *addr, uint32_t len, struct tp_mr *mr)
{
	post_recv(&b, 9, in, SIZE, in_mr);
	post_send(&a, 6, out, 8, out_mr, 0);
	post_rdma(&a, opcode, 7, addr, len, mr, in, in_mr->rkey, 0);
	post_send(&a, 8, out, 8, out_mr, 0);
	/* What was posted before is sent, what was posted after is flushed, both without a flag. */
	assert_wc(take_wc(b.recv_cq), 9, SUCCESS);
	assert_wc(take_wc(a.send_cq), 7, LOCAL_PROTECTION);
	assert_wc(take_wc(a.send_cq), 8, FLUSHED);
	both_broken();
}

static void local_unknown_key(void **state)
{
	struct tp_mr wrong = { .lkey = out_mr->lkey + 1 };

	(void)state;
	local(TP_SEND, out, 8, &wrong);
}

static void local_beyond(void **state)
{
	(void)state;
	local(TP_RDMA_WRITE, out + 1, SIZE, out_mr);
}

static void read_sink_not_writable(void **state)
{
	struct tp_mr *mr = reg(&left, out, SIZE, TP_ACCESS_REMOTE_READ);

	(void)state;
	local(TP_RDMA_READ, out, 8, mr);
	dereg(mr);
}

/* Requests whose memory goes away while they are under way. */
static void freed_under_way(void **state)
{
	struct tp_mr *mr = reg(&left, out, SIZE, FULL);
	uint32_t status = TP_WC_SUCCESS;
	struct tp_wc wc;

	(void)state;
	/* The peer does not read as long as it has no Receive for the first message. */
	soft_config.held_bytes = 0;
	post_send(&a, 100, out, 8, out_mr, 0);
	for (unsigned i = 0; i < 14; i++)
		post_rdma(&a, TP_RDMA_WRITE, i, out, SIZE, mr, in, in_mr->rkey, TP_WR_SIGNALED);
	dereg(mr);
	post_recv(&b, 1, in, 8, in_mr);
	assert_wc(take_wc(b.recv_cq), 1, SUCCESS);
	for (unsigned i = 0; i < 14; i++) {
		wc = take_wc(a.send_cq);
		assert_int_equal(wc.wr_id, i);
		if (status != TP_WC_SUCCESS)
			assert_int_equal(wc.status, TP_WC_FLUSHED);
		else if (wc.status != TP_WC_SUCCESS)
			assert_int_equal(wc.status, TP_WC_LOCAL_PROTECTION);
		status = wc.status;
	}
	assert_int_equal(status, TP_WC_FLUSHED);
	end_event(&a, TP_CONN_BROKEN);
	end_event2(&b, TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
	soft_config.held_bytes = 256 << 10;
}

/* The class of the link of a, behind one that takes bytes so many times. */
static const struct soft_link_class *behind;
static struct soft_link_class gate;
static atomic_uint may_send;

static ssize_t gate_send(struct soft_link *link, const struct iovec *iov, int num)
{
	unsigned more = atomic_load(&may_send);

	while (more && !atomic_compare_exchange_weak(&may_send, &more, more - 1))
		;
	return more ? behind->send(link, iov, num) : -EAGAIN;
}

static int set_class(void *class)
{
	struct soft_conn *conn = soft_conn(a.conn);

	dapl_lock(&conn->qp->lock);
	conn->link->class = class;
	dapl_unlock(&conn->qp->lock);
	return 0;
}

static void close_gate(void)
{
	behind = soft_conn(a.conn)->link->class;
	gate = *behind;
	gate.send = gate_send;
	gate.reserve = NULL;
	atomic_store(&may_send, 0);
	soft_dev_call(soft_dev(left.dev), set_class, &gate);
}

static void open_gate(void)
{
	soft_dev_call(soft_dev(left.dev), set_class, (void *)(uintptr_t)behind);
}

static unsigned fpdus_built(void)
{
	struct soft_conn *conn = soft_conn(a.conn);
	unsigned num;

	dapl_lock(&conn->qp->lock);
	num = conn->tx.mark_num - conn->tx.mark_first;
	dapl_unlock(&conn->qp->lock);
	return num;
}

enum {
	PAGES = 8,
	PAGE = 4096,
	GONE = 4, /* the page that is unmapped meanwhile */
	LENGTH = 1000,
};

/* A Send of each page, all but the first in one batch, which waits. */
static void send_pages(const uint8_t *map, struct tp_mr *mr)
{
	uint64_t limit = now_ms() + DEADLINE_MS;

	close_gate();
	for (unsigned i = 0; i < PAGES; i++) {
		post_recv(&b, i, in + i * LENGTH, LENGTH, in_mr);
		post_send(&a, i, map + i * PAGE, LENGTH, mr, TP_WR_SIGNALED);
	}
	atomic_store(&may_send, 1);
	while (fpdus_built() != PAGES - 1 && now_ms() < limit)
		pause_ms(1);
	assert_int_equal(fpdus_built(), PAGES - 1);
}

/* DTO-84: of requests that are sent together the one whose memory is gone is at fault. */
static void unmapped_in_a_batch(void)
{
	uint8_t *map = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	struct tp_mr *mr = reg(&left, map, PAGES * PAGE, FULL);

	send_pages(map, mr);
	assert_int_equal(munmap(map + GONE * PAGE, PAGE), 0);
	open_gate();
	for (unsigned i = 0; i < GONE; i++) {
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
		assert_wc(take_wc(b.recv_cq), i, SUCCESS);
	}
	assert_wc(take_wc(a.send_cq), GONE, LOCAL_PROTECTION);
	for (unsigned i = GONE + 1; i < PAGES; i++)
		assert_wc(take_wc(a.send_cq), i, FLUSHED);
	end_event(&a, TP_CONN_BROKEN);
	end_event2(&b, TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
	dereg(mr);
	munmap(map, GONE * PAGE);
	munmap(map + (GONE + 1) * PAGE, (PAGES - GONE - 1) * PAGE);
}

static void all_anew(int64_t link, int64_t crc)
{
	end_destroy(&a);
	end_destroy(&b);
	group_tear_down(NULL);
	soft_config.link = link;
	soft_config.crc = crc;
	group_set_up(NULL);
	pair(&a, &b, NULL);
}

static void dto_84_unmapped_in_a_batch(void **state)
{
	int64_t link = soft_config.link, crc = soft_config.crc;

	(void)state;
	all_anew(SOFT_LINK_TCP, SOFT_CRC_NO);
	unmapped_in_a_batch();
	all_anew(SOFT_LINK_SHM, SOFT_CRC_NO);
	unmapped_in_a_batch();
	all_anew(link, crc);
}

/* ---- Receives that do not fit ---- */

static void unfit(uint32_t len, const void *addr, uint32_t room, struct tp_mr *mr, uint32_t status,
		  bool late)
{
	struct tp_wc wc;

	post_recv(&a, 5, out, 8, out_mr);
	if (!late) {
		post_recv(&b, 1, (void *)(uintptr_t)addr, room, mr);
		post_recv(&b, 2, in, SIZE, in_mr);
	}
	post_send(&a, 7, out, len, out_mr, TP_WR_SIGNALED);
	if (late) {
		pause_ms(20);
		post_recv(&b, 1, (void *)(uintptr_t)addr, room, mr);
		post_recv(&b, 2, in, SIZE, in_mr);
	}
	wc = take_wc(b.recv_cq);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, status);
	assert_wc(take_wc(b.recv_cq), 2, FLUSHED);
	wc = take_wc(a.send_cq);
	assert_int_equal(wc.wr_id, 7);
	assert_true(wc.status == TP_WC_SUCCESS || wc.status == TP_WC_REMOTE_RESPONDER);
	assert_wc(take_wc(a.recv_cq), 5, FLUSHED);
	both_broken();
}

static void receive_too_short(void **state)
{
	(void)state;
	memset(in, 0, SIZE);
	fill(out, SIZE, 1);
	unfit(101, in, 100, in_mr, TP_WC_LOCAL_LENGTH, false);
	assert_int_equal(in[100], 0);
}

static void receive_much_too_short(void **state)
{
	(void)state;
	memset(in, 0, SIZE);
	unfit(SIZE, in, SIZE / 2, in_mr, TP_WC_LOCAL_LENGTH, false);
	assert_int_equal(in[SIZE / 2], 0);
}

static void receive_too_short_late(void **state)
{
	(void)state;
	unfit(101, in, 100, in_mr, TP_WC_LOCAL_LENGTH, true);
}

static void receive_empty(void **state)
{
	(void)state;
	unfit(1, in, 0, in_mr, TP_WC_LOCAL_LENGTH, false);
}

static void receive_not_writable(void **state)
{
	struct tp_mr *mr = reg(&right, in, SIZE, TP_ACCESS_REMOTE_READ);

	(void)state;
	unfit(100, in, 100, mr, TP_WC_LOCAL_PROTECTION, false);
	dereg(mr);
}

static void receive_freed(void **state)
{
	struct tp_mr *mr = reg(&right, in, SIZE, FULL), gone = *mr;

	(void)state;
	dereg(mr);
	unfit(100000, in, 100000, &gone, TP_WC_LOCAL_PROTECTION, false);
}

/* ---- Registration ---- */

static void registration(void **state)
{
	uint8_t *map =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tp_mr_attr attr = { .addr = map, .length = 3 * 4096, .access = FULL };
	struct tp_mr *mr[300], *other;

	(void)state;
	memset(map, 7, 3 * 4096);
	mprotect(map + 4096, 4096, PROT_READ);
	assert_int_equal(t->mr->reg(left.pd, &attr, &other), -EFAULT);
	attr.access = TP_ACCESS_REMOTE_READ;
	assert_int_equal(t->mr->reg(left.pd, &attr, &other), 0);
	dereg(other);
	munmap(map + 4096, 4096);
	assert_int_equal(t->mr->reg(left.pd, &attr, &other), -EFAULT);
	attr.addr = map + 100;
	attr.length = 3996;
	attr.access = FULL;
	assert_int_equal(t->mr->reg(left.pd, &attr, &other), 0);
	assert_int_equal(map[200], 7);
	dereg(other);
	attr.length = UINT64_MAX - 10;
	assert_int_equal(t->mr->reg(left.pd, &attr, &other), -EFAULT);
	attr.addr = NULL;
	attr.length = 8;
	assert_int_equal(t->mr->reg(left.pd, &attr, &other), -EFAULT);
	munmap(map, 4096);
	munmap(map + 8192, 4096);
	/* Keys: unique, never 0, none of the remote kind without a remote right. */
	for (int i = 0; i < 300; i++) {
		mr[i] = reg(&left, out + i, 10, i & 1 ? FULL : TP_ACCESS_LOCAL_WRITE);
		assert_int_not_equal(mr[i]->lkey, 0);
		assert_int_equal(mr[i]->rkey != 0, i & 1);
		for (int n = 0; n < i; n++)
			assert_int_not_equal(mr[n]->lkey, mr[i]->lkey);
	}
	for (int i = 0; i < 300; i++)
		dereg(mr[(i * 7) % 300]);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(write_unknown_key),
		CASE(read_unknown_key),
		CASE(write_key_zero),
		CASE(write_beyond),
		CASE(write_before),
		CASE(write_wrap),
		CASE(read_beyond),
		CASE(read_wrap),
		CASE(write_without_right),
		CASE(read_without_right),
		CASE(write_freed),
		CASE(read_freed),
		CASE(other_zone),
		CASE(local_unknown_key),
		CASE(local_beyond),
		CASE(read_sink_not_writable),
		CASE(freed_under_way),
		CASE(dto_84_unmapped_in_a_batch),
		CASE(receive_too_short),
		CASE(receive_much_too_short),
		CASE(receive_too_short_late),
		CASE(receive_empty),
		CASE(receive_not_writable),
		CASE(receive_freed),
		cmocka_unit_test(registration),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}
