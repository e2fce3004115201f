/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software engine: RDMA Writes and Reads that one side does alone in the other's memory. Both
 * ends are of this process, which the kernel treats as it does two.
 */
#include "test/unit/soft_two.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "providers/soft/link/shm.h"
#include "test/unit/soft_loop.h"

enum {
	HALF = TWO_BIG / 2,
};

static const struct dapl_transport *const t = &dapl_module_transport;
static const struct end_options options = { .depth = 16, .sge = 4, .read_in = 4, .read_out = 4 };
static struct end a, b;

static struct soft_shm *shm_of(const struct end *end)
{
	return soft_shm(soft_conn(end->conn)->link);
}

/* How often one has been in the other's memory. */
static uint32_t accesses(const struct end *end)
{
	return atomic_load(&shm_of(end)->own_direct->access) / 2;
}

static void rdma(struct end *end, enum tp_opcode opcode, void *local, uint32_t len,
		 const void *remote)
{
	post_rdma(end, opcode, 1, local, len, out_mr, remote, in_mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(end->send_cq), 1, SUCCESS);
}

/* Waits until b's end has nothing to do and waits for its peer. */
static void settle(void)
{
	uint64_t deadline = now_ms() + DEADLINE_MS;

	while (atomic_load(&shm_of(&b)->own->settled) != atomic_load(&shm_of(&a)->own->sent) ||
	       !(atomic_load(&shm_of(&b)->own->wake_on) & SHM_WAKE_DATA)) {
		assert_true(now_ms() < deadline);
		pause_ms(1);
	}
}

/* Asks for all of the memory once, by the link. */
static void expose(void)
{
	rdma(&a, TP_RDMA_WRITE, out, 1, in + TWO_BIG - 1);
	settle();
	in[TWO_BIG - 1] = 0;
}

static int set_up(void **state)
{
	soft_config.link = SOFT_LINK_SHM;
	soft_config.direct = 1;
	soft_config.direct_large = 32768;
	two_set_up(state);
	pair(&a, &b, &options);
	return 0;
}

static int tear_down(void **state)
{
	unpair(&a, &b);
	two_tear_down(state);
	return 0;
}

/* ---- What goes that way ---- */

/* DTO-45, DTO-48: all sizes and alignments, and the bytes beside them stay. */
static void written_and_read(void **state)
{
	static const uint32_t sizes[] = { 1,	    2,	   3,	    4,
					  5,	    7,	   8,	    9,
					  15,	    64,	   65,	    4095,
					  4097,	    40001, 1 << 20, (1 << 20) + 1,
					  HALF - 64 };
	uint32_t done = 0;

	(void)state;
	expose();
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (unsigned shift = 1; shift <= 8; shift += i % 2 + 1) {
			uint32_t len = sizes[i];

			fill(out + 3, len, i + shift);
			memset(in, 0xee, len + 16);
			rdma(&a, TP_RDMA_WRITE, out + 3, len, in + shift);
			assert_true(filled(in + shift, len, i + shift));
			assert_int_equal(in[shift - 1], 0xee);
			assert_int_equal(in[shift + len], 0xee);
			memset(out + HALF, 0xdd, len + 16);
			rdma(&a, TP_RDMA_READ, out + HALF + shift, len, in + shift);
			assert_true(filled(out + HALF + shift, len, i + shift));
			assert_int_equal(out[HALF + shift - 1], 0xdd);
			assert_int_equal(out[HALF + shift + len], 0xdd);
			done += 2 * ((len + (1 << 20) - 1) >> 20);
		}
	}
	assert_int_equal(accesses(&a), done);
}

/* Several segments, of which the last one is shorter than a word. */
static void in_segments(void **state)
{
	struct tp_sge sge[4];
	struct tp_wr wr = { .wr_id = 1,
			    .flags = TP_WR_SIGNALED,
			    .remote_addr = (uintptr_t)in + 5,
			    .rkey = in_mr->rkey,
			    .sge = sge,
			    .num_sge = 4,
			    .length = 100 + 70000 + 3 };

	(void)state;
	expose();
	sge[0] = (struct tp_sge){ (uintptr_t)out, 100, out_mr->lkey };
	sge[1] = (struct tp_sge){ (uintptr_t)out + 7, 0, out_mr->lkey };
	sge[2] = (struct tp_sge){ (uintptr_t)out + 100, 70000, out_mr->lkey };
	sge[3] = (struct tp_sge){ (uintptr_t)out + 70100, 3, out_mr->lkey };
	fill(out, 70103, 4);
	wr.opcode = TP_RDMA_WRITE;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	assert_true(filled(in + 5, 70103, 4));
	memset(out, 0, 70103);
	wr.opcode = TP_RDMA_READ;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	assert_true(filled(out, 70103, 4));
	assert_int_equal(accesses(&a), 2);
}

/* Nobody of the other side is woken. */
static void without_its_help(void **state)
{
	uint64_t wakeups;

	(void)state;
	expose();
	pause_ms(20);
	wakeups = soft_loop_wakeups(right.loop);
	for (unsigned i = 0; i < 1000; i++)
		rdma(&a, i & 1 ? TP_RDMA_READ : TP_RDMA_WRITE, out + HALF, 64, in);
	assert_int_equal(accesses(&a), 1000);
	assert_int_equal(soft_loop_wakeups(right.loop), wakeups);
}

/* ---- Order ---- */

/* Behind a Send that waits for its Receive nothing is done; both are, once it is there. */
static void behind_what_waits(void **state)
{
	(void)state;
	expose();
	fill(out, 100, 5);
	post_send(&a, 2, out, 100, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 2, SUCCESS);
	post_rdma(&a, TP_RDMA_READ, 3, out + HALF, 100, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
	assert_int_equal(accesses(&a), 0);
	post_recv(&b, 9, in, 100, in_mr);
	assert_wc(take_wc(b.recv_cq), 9, SUCCESS);
	assert_wc(take_wc(a.send_cq), 3, SUCCESS);
	assert_true(filled(out + HALF, 100, 5) || accesses(&a) == 0);
}

/* What came by the link before is there before. */
static void writes_in_order(void **state)
{
	uint32_t before;

	(void)state;
	expose();
	for (unsigned i = 1; i < 500; i++) {
		memset(out, (int)(i % 255), 8);
		memset(out + HALF, (int)((i + 1) % 255), 40000);
		/* He looks as if he polled: it goes by the link, and the next one is too long for
		 * that. */
		atomic_fetch_add(&shm_of(&b)->own_direct->polled, 1);
		before = accesses(&a);
		post_rdma(&a, TP_RDMA_WRITE, 1, out, 8, out_mr, in, in_mr->rkey, 0);
		assert_int_equal(accesses(&a), before);
		rdma(&a, TP_RDMA_WRITE, out + HALF, 40000, in);
		settle();
		assert_int_equal(in[0], (i + 1) % 255);
		assert_int_equal(in[39999], (i + 1) % 255);
	}
}

/* One who polls gets small writes by the link, for a while. */
static void to_who_polls(void **state)
{
	uint32_t before;
	unsigned i;

	(void)state;
	expose();
	atomic_fetch_add(&shm_of(&b)->own_direct->polled, 1);
	before = accesses(&a);
	for (i = 0; i < 8; i++) {
		rdma(&a, TP_RDMA_WRITE, out, 8, in);
		settle();
	}
	assert_int_equal(accesses(&a), before);
	for (i = 0; i < 1000 && accesses(&a) == before; i++) {
		rdma(&a, TP_RDMA_WRITE, out, 8, in);
		settle();
	}
	assert_int_not_equal(accesses(&a), before);
}

static void settle_reads(unsigned *posted)
{
	for (; *posted; --*posted)
		assert_wc(take_wc(b.send_cq), 7, SUCCESS);
	settle();
}

/* A long one is done in pieces, and what the peer asks for meanwhile is answered in between. */
static void in_pieces(void **state)
{
	static uint8_t from[6 << 20], to[6 << 20];
	struct tp_mr *from_mr = reg(&left, from, sizeof(from), FULL);
	struct tp_mr *to_mr = reg(&right, to, sizeof(to), FULL);
	struct tp_wc wc;
	unsigned posted = 0;

	(void)state;
	post_rdma(&a, TP_RDMA_WRITE, 1, from, 1, from_mr, to, to_mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	settle();
	for (unsigned i = 1; i < 30; i++) {
		memset(from, (int)i, sizeof(from));
		post_rdma(&a, TP_RDMA_WRITE, i, from, sizeof(from), from_mr, to, to_mr->rkey,
			  TP_WR_SIGNALED);
		do {
			for (; posted < 4; posted++)
				post_rdma(&b, TP_RDMA_READ, 7, in, 0, in_mr, NULL, 0,
					  TP_WR_SIGNALED);
			posted -= try_wc(b.send_cq, &wc);
		} while (!try_wc(a.send_cq, &wc));
		assert_wc(wc, i, SUCCESS);
		settle_reads(&posted);
		for (size_t at = 0; at < sizeof(to); at += 4093)
			assert_int_equal(to[at], i);
	}
	assert_true(accesses(&a) > 30);
	dereg(from_mr);
	dereg(to_mr);
}

/* Who polls is written to by the link, which is faster, if not too much at once. */
static void to_one_who_polls(void **state)
{
	(void)state;
	expose();
	rdma(&a, TP_RDMA_WRITE, out, 8, in);
	poll_in_vain(b.recv_cq, 1000);
	assert_int_equal(accesses(&a), 1);
	rdma(&a, TP_RDMA_WRITE, out, 8, in);
	assert_int_equal(accesses(&a), 1);
}

/* Ditto if his dispatcher has too many connections to look at each. */
static void to_one_who_polls_many(void **state)
{
	atomic_uint *cost = &container_of(b.recv_cq, struct soft_cq, base)->cost;

	atomic_fetch_add(cost, SOFT_CQ_FEW);
	to_one_who_polls(state);
	atomic_fetch_sub(cost, SOFT_CQ_FEW);
}

/* Ditto, after more accesses than polls since the others were told of those. */
static void to_one_who_polls_for_others(void **state)
{
	struct soft_cq *cq = container_of(b.recv_cq, struct soft_cq, base);

	(void)state;
	expose();
	dapl_lock(cq->base.lock);
	cq->vain_told += 1000;
	dapl_unlock(cq->base.lock);
	for (unsigned i = 0; i < 40; i++)
		rdma(&a, TP_RDMA_WRITE, out, 8, in);
	poll_in_vain(b.recv_cq, 100);
	rdma(&a, TP_RDMA_WRITE, out, 8, in);
	assert_int_equal(accesses(&a), 40);
}

/* Ditto of much at once, where the kernel's copy is not the faster one. */
static void much_to_one_who_polls(void **state)
{
	soft_config.direct_large = 1 << 20;
	to_one_who_polls(state);
	for (uint32_t i = 0; i < 2; i++) {
		settle();
		rdma(&a, TP_RDMA_WRITE, out, (1 << 20) - 1 + i, in);
		assert_int_equal(accesses(&a), 1 + i);
	}
}

/* ---- What does not ---- */

static void nothing_of_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		uint32_t len = i % 2 ? 100 : 100000;

		fill(out, len, i);
		rdma(&a, TP_RDMA_WRITE, out, len, in);
		rdma(&a, TP_RDMA_READ, out + HALF, len, in);
		assert_true(filled(out + HALF, len, i));
	}
	assert_int_equal(accesses(&a), 0);
}

/* The connection is with another process than the memory. */
static void another_process(void **state)
{
	expose();
	shm_of(&b)->own_direct->proof ^= 1;
	nothing_of_it(state);
}

static int set_up_without(void **state)
{
	set_up(state);
	unpair(&a, &b);
	soft_config.direct = 0;
	pair(&a, &b, &options);
	return 0;
}

/* The peer's rights, and the bounds of his memory, hold as by the link. */
static void not_allowed(void **state)
{
	static const struct {
		uint32_t access;
		enum tp_opcode opcode;
		ptrdiff_t from;
	} cases[] = {
		{ TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_READ, TP_RDMA_WRITE, 0 },
		{ TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE, TP_RDMA_READ, 0 },
		{ FULL, TP_RDMA_WRITE, HALF - 7 },
		{ FULL, TP_RDMA_READ, HALF - 7 },
		{ FULL, TP_RDMA_WRITE, -1 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_mr *mr = reg(&right, in, HALF, cases[i].access);

		post_rdma(&a,
			  cases[i].access & TP_ACCESS_REMOTE_WRITE ? TP_RDMA_WRITE : TP_RDMA_READ,
			  1, out, 8, out_mr, in, mr->rkey, TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), 1, SUCCESS);
		settle();
		memset(in, 0xee, TWO_BIG);
		post_rdma(&a, cases[i].opcode, 2, out, 8, out_mr, in + cases[i].from, mr->rkey,
			  TP_WR_SIGNALED);
		end_event(&a, TP_CONN_BROKEN);
		end_event(&b, TP_CONN_BROKEN);
		assert_int_equal(in[0], 0xee);
		assert_memory_equal(in, in + 1, TWO_BIG - 1);
		dereg(mr);
		unpair(&a, &b);
		pair(&a, &b, &options);
	}
}

/* A program may unmap what it has registered: it hears of it as by the link. */
static void unmapped(void **state)
{
	uint8_t *mem =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tp_mr *mr = reg(&right, mem, 1 << 20, FULL);

	(void)state;
	post_rdma(&a, TP_RDMA_WRITE, 1, out, 8, out_mr, mem, mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	settle();
	munmap(mem + (1 << 19), 1 << 19);
	post_rdma(&a, TP_RDMA_READ, 2, out, 1 << 20, out_mr, mem, mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 2, REMOTE_ACCESS);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	dereg(mr);
	munmap(mem, 1 << 19);
}

/* Context 0 is nobody's, also where a region was. */
static void no_context(void **state)
{
	struct tp_mr *mr;

	(void)state;
	/* Keys are random: by then all places have had one. */
	for (unsigned i = 0; i < 6 * SHM_REGIONS; i++) {
		mr = reg(&right, in, HALF, FULL);
		post_rdma(&a, TP_RDMA_WRITE, 1, out, 8, out_mr, in, mr->rkey, TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), 1, SUCCESS);
		settle();
		dereg(mr);
	}
	memset(in, 0xee, 8);
	post_rdma(&a, TP_RDMA_WRITE, 2, out, 8, out_mr, in, 0, TP_WR_SIGNALED);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	assert_memory_equal(in, "\xee\xee\xee\xee\xee\xee\xee\xee", 8);
}

/* Who takes in what he has read himself does not poll for what peers send. */
static void reading_is_not_polling(void **state)
{
	uint64_t start;
	bool seen = false;

	(void)state;
	expose();
	start = now_ms();
	out[HALF + 3] = 0;
	in[0] = 1;
	for (unsigned i = 0; !seen && now_ms() - start < 3000; i++) {
		rdma(&a, TP_RDMA_READ, out, 8, in);
		if (i == 100)
			post_rdma(&b, TP_RDMA_WRITE, 9, in, 1, in_mr, out + HALF + 3, out_mr->rkey,
				  0);
		seen = __atomic_load_n(out + HALF + 3, __ATOMIC_ACQUIRE);
	}
	assert_true(seen);
}

/* ---- LMR-37: who has freed memory has it alone ---- */

static void freed(void **state)
{
	struct tp_mr *mr = reg(&right, in, HALF, FULL);
	uint32_t rkey = mr->rkey;

	(void)state;
	post_rdma(&a, TP_RDMA_WRITE, 1, out, 8, out_mr, in, rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	settle();
	dereg(mr);
	memset(in, 0, 8);
	post_rdma(&a, TP_RDMA_WRITE, 2, out, 8, out_mr, in, rkey, TP_WR_SIGNALED);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	assert_memory_equal(in, "\0\0\0\0\0\0\0", 8);
}

struct freeing {
	struct tp_mr *mr;
	atomic_bool done;
};

static void *free_it(void *arg)
{
	struct freeing *freeing = arg;

	dereg(freeing->mr);
	atomic_store(&freeing->done, true);
	return NULL;
}

/* The peer says that he is at it: who frees waits for him. */
static void start_freeing(struct freeing *freeing, pthread_t *thread)
{
	freeing->mr = reg(&right, in, HALF, FULL);
	post_rdma(&a, TP_RDMA_WRITE, 1, out, 8, out_mr, in, freeing->mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	settle();
	shm_of(&a)->own_direct->bytes[0] = (struct iovec){ in, 8 };
	atomic_store(&shm_of(&a)->own_direct->access, 1);
	assert_int_equal(pthread_create(thread, NULL, free_it, freeing), 0);
}

static void freed_meanwhile(void **state)
{
	struct freeing freeing = { 0 };
	pthread_t thread;

	(void)state;
	start_freeing(&freeing, &thread);
	pause_ms(100);
	assert_false(atomic_load(&freeing.done));
	assert_non_null(shm_of(&a)->own_direct->bytes[0].iov_base);
	atomic_store(&shm_of(&a)->own_direct->access, 2);
	pthread_join(thread, NULL);
}

/* He does not go on: that is said, and from then on he goes by the link, to all of the memory. */
static void freed_while_he_stands_still(void **state)
{
	unsigned before = soft_diags(NULL, 0);
	struct freeing freeing = { 0 };
	uint64_t start = now_ms();
	pthread_t thread;
	char text[256];

	(void)state;
	expose();
	start_freeing(&freeing, &thread);
	pthread_join(thread, NULL);
	assert_in_range(now_ms() - start, 1000, 5000);
	assert_int_equal(soft_diags(text, sizeof(text)), before + 1);
	assert_non_null(strstr(text, "stands still"));
	/* What he has not asked the kernel for yet is gone. */
	assert_null(shm_of(&a)->own_direct->bytes[0].iov_base);
	atomic_store(&shm_of(&a)->own_direct->access, 0);
	nothing_of_it(state);
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* He ends: there is nothing to wait for. */
static void freed_after_his_end(void **state)
{
	int fd = shm_of(&a)->link.fd;
	struct freeing freeing = { 0 };
	uint64_t start;
	pthread_t thread;

	(void)state;
	start_freeing(&freeing, &thread);
	pause_ms(20);
	start = now_ms();
	/* What was looked at here is his service thread's from now on. */
	soft_dev_call(soft_dev(left.dev), nothing, NULL);
	shutdown(fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	assert_true(now_ms() - start < SOFT_DIRECT_PATIENCE_NS / 1000000 - 100);
	end_any_event(&a);
	end_any_event(&b);
}

/* After a disconnect the peer has no access, though he does not know of it yet. */
static void after_the_end(void **state)
{
	(void)state;
	expose();
	t->cm->disconnect(b.conn, false);
	memset(in, 0, 64);
	post_rdma(&a, TP_RDMA_WRITE, 2, out, 64, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
	end_event(&a, TP_CONN_DISCONNECTED);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(in[i], 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(written_and_read),
		T(in_segments),
		T(without_its_help),
		T(behind_what_waits),
		T(writes_in_order),
		T(to_who_polls),
		T(in_pieces),
		T(to_one_who_polls),
		T(to_one_who_polls_many),
		T(much_to_one_who_polls),
		T(to_one_who_polls_for_others),
		T(another_process),
		cmocka_unit_test_setup_teardown(nothing_of_it, set_up_without, tear_down),
		T(not_allowed),
		T(unmapped),
		T(no_context),
		T(reading_is_not_polling),
		T(freed),
		T(freed_meanwhile),
		T(freed_while_he_stands_still),
		T(freed_after_his_end),
		T(after_the_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
