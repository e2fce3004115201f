/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine used by many threads at once: posting, polling, registering, ending. */
#include "test/unit/soft_util.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct dapl_transport *const t = &dapl_module_transport;

enum {
	PAIRS = 6,
	MESSAGES = 400,
	SLOT = 3000,
	WINDOW = 16,
};

static struct node left, right;

static int set_up(void **state)
{
	(void)state;
	node_open(&left, "lo");
	node_open(&right, "lo");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	node_close(&left);
	node_close(&right);
	return 0;
}

/* ---- Every end has a thread that posts and one that takes completions ---- */

struct lane {
	struct end end;
	uint8_t *sends, *recvs, *reads;
	struct tp_mr *send_mr, *recv_mr, *read_mr;
	struct lane *peer;
	atomic_uint sent, received, read;
	atomic_bool failed;
	bool waits;
};

static void lane_init(struct lane *lane, struct node *node)
{
	static const struct end_options options = {
		.depth = 128, .sge = 4, .read_in = 8, .read_out = 8
	};

	memset(lane, 0, sizeof(*lane));
	lane->sends = calloc(WINDOW, SLOT);
	lane->recvs = calloc(WINDOW, SLOT);
	lane->reads = calloc(WINDOW, SLOT);
	lane->send_mr = reg(node, lane->sends, WINDOW * SLOT, FULL);
	lane->recv_mr = reg(node, lane->recvs, WINDOW * SLOT, FULL);
	lane->read_mr = reg(node, lane->reads, WINDOW * SLOT, FULL);
	end_create(&lane->end, node, &options);
}

static void lane_fini(struct lane *lane)
{
	end_destroy(&lane->end);
	dereg(lane->send_mr);
	dereg(lane->recv_mr);
	dereg(lane->read_mr);
	free(lane->sends);
	free(lane->recvs);
	free(lane->reads);
}

/* Sends and reads, at most WINDOW of each outstanding; takes their completions. */
static void *requester(void *arg)
{
	struct lane *lane = arg;
	struct end *end = &lane->end;
	unsigned posted = 0, done = 0;
	uint64_t limit = now_ms() + 60000;
	struct tp_wc wc;

	while (done < 2 * MESSAGES && !atomic_load(&lane->failed)) {
		/* A slot is free again when the peer has received what was in it. */
		if (posted < MESSAGES && posted - atomic_load(&lane->peer->received) < WINDOW &&
		    2 * posted - done < 2 * WINDOW) {
			uint8_t *slot = lane->sends + posted % WINDOW * SLOT;
			uint32_t len = 1 + posted * 37 % SLOT;

			memset(slot, (int)posted, len);
			post_rdma(end, TP_RDMA_READ, 2 * posted,
				  lane->reads + posted % WINDOW * SLOT, len, lane->read_mr,
				  lane->peer->reads, lane->peer->read_mr->rkey, TP_WR_SIGNALED);
			post_send(end, 2 * posted + 1, slot, len, lane->send_mr, TP_WR_SIGNALED);
			posted++;
			continue;
		}
		if (!try_wc(end->send_cq, &wc)) {
			if (now_ms() > limit)
				atomic_store(&lane->failed, true);
			continue;
		}
		if (wc.status != TP_WC_SUCCESS || wc.wr_id != done)
			atomic_store(&lane->failed, true);
		done++;
	}
	return NULL;
}

/* Receives what the peer sends. */
static void *receiver(void *arg)
{
	struct lane *lane = arg;
	struct end *end = &lane->end;
	struct tp_wc wc;

	for (unsigned i = 0; i < MESSAGES && !atomic_load(&lane->failed); i++) {
		uint8_t *slot = lane->recvs + i % WINDOW * SLOT;

		wc = lane->waits ? wait_wc(end, end->recv_cq) : take_wc(end->recv_cq);
		if (wc.status != TP_WC_SUCCESS || wc.wr_id != i || wc.byte_len != 1 + i * 37 % SLOT)
			atomic_store(&lane->failed, true);
		for (uint32_t n = 0; n < wc.byte_len; n++)
			if (slot[n] != (uint8_t)i)
				atomic_store(&lane->failed, true);
		atomic_store(&lane->received, i + 1);
		if (i + WINDOW < MESSAGES)
			post_recv(end, i + WINDOW, slot, SLOT, lane->recv_mr);
	}
	return NULL;
}

static void all_at_once(void **state)
{
	static struct lane lanes[2 * PAIRS];
	pthread_t threads[4 * PAIRS];

	(void)state;
	for (unsigned i = 0; i < 2 * PAIRS; i++)
		lane_init(&lanes[i], i & 1 ? &right : &left);
	for (unsigned i = 0; i < 2 * PAIRS; i++) {
		lanes[i].peer = &lanes[i ^ 1];
		lanes[i].waits = i & 2;
		for (unsigned n = 0; n < WINDOW; n++)
			post_recv(&lanes[i].end, n, lanes[i].recvs + n * SLOT, SLOT,
				  lanes[i].recv_mr);
	}
	for (unsigned i = 0; i < 2 * PAIRS; i += 2)
		ends_connect(&lanes[i].end, &lanes[i + 1].end);
	for (unsigned i = 0; i < 2 * PAIRS; i++) {
		pthread_create(&threads[2 * i], NULL, requester, &lanes[i]);
		pthread_create(&threads[2 * i + 1], NULL, receiver, &lanes[i]);
	}
	/* Registering and freeing meanwhile disturbs nobody. */
	for (unsigned i = 0; i < 200; i++)
		dereg(reg(i & 1 ? &left : &right, lanes[i % PAIRS].sends, SLOT, FULL));
	for (unsigned i = 0; i < 4 * PAIRS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 2 * PAIRS; i++)
		assert_false(atomic_load(&lanes[i].failed));
	for (unsigned i = 0; i < 2 * PAIRS; i++)
		lane_fini(&lanes[i]);
}

/* ---- One CQ for many connections ---- */

static void shared_queue(void **state)
{
	enum {
		ENDS = 20
	};
	static struct end ends[ENDS], peers[ENDS];
	struct tp_qp_attr attr = { .pd = right.pd,
				   .max_recv_wr = 8,
				   .max_recv_sge = 1,
				   .max_send_sge = 1,
				   .max_send_wr = 8 };
	struct end shared;
	uint8_t *buf = calloc(ENDS, 4096);
	struct tp_mr *left_mr = reg(&left, buf, ENDS * 4096, FULL);
	struct tp_mr *right_mr = reg(&right, buf, ENDS * 4096, FULL);
	unsigned seen[ENDS] = { 0 }, posted;
	struct tp_wc wc;

	(void)state;
	end_create(&shared, &right, NULL);
	attr.recv_cq = shared.recv_cq;
	attr.send_cq = shared.send_cq;
	for (unsigned i = 0; i < ENDS; i++) {
		end_create(&ends[i], &left, NULL);
		memset(&peers[i], 0, sizeof(peers[i]));
		peers[i].node = &right;
		assert_int_equal(t->qp->create(right.dev, &attr, &peers[i], &peers[i].qp), 0);
		ends_connect(&ends[i], &peers[i]);
	}
	for (unsigned round = 0; round < 60; round++) {
		posted = 0;
		for (unsigned i = 0; i < ENDS; i++)
			if ((i + round) % 3) {
				posted++;
				post_recv(&peers[i], i, buf + i * 4096 + 2048, 2048, right_mr);
				post_send(&ends[i], i, buf + i * 4096, 1000, left_mr, 0);
				seen[i]++;
			}
		for (; posted; posted--) {
			wc = round & 1 ? wait_wc(&shared, shared.recv_cq) : take_wc(shared.recv_cq);
			assert_int_equal(wc.status, TP_WC_SUCCESS);
			seen[wc.wr_id]--;
		}
		for (unsigned i = 0; i < ENDS; i++)
			assert_int_equal(seen[i], 0);
	}
	for (unsigned i = 0; i < ENDS; i++) {
		end_destroy(&ends[i]);
		t->cm->release(peers[i].conn);
		t->qp->destroy(peers[i].qp);
	}
	end_destroy(&shared);
	dereg(left_mr);
	dereg(right_mr);
	free(buf);
}

/* ---- Ends while others work ---- */

static void *poll_until(void *arg)
{
	struct end *end = arg;
	struct tp_wc wc;

	/* The marker is the last completion of all (EP-108). */
	do
		wc = take_wc(end->send_cq);
	while (wc.wr_id != 1000);
	return NULL;
}

static void ends_under_way(void **state)
{
	uint8_t *buf = calloc(1, 1 << 20);
	struct tp_mr *left_mr = reg(&left, buf, 1 << 20, FULL),
		     *right_mr = reg(&right, buf, 1 << 20, FULL);
	pthread_t pollers[2];
	struct end a, b;

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		end_create(&a, &left, NULL);
		end_create(&b, &right, NULL);
		ends_connect(&a, &b);
		pthread_create(&pollers[0], NULL, poll_until, &a);
		pthread_create(&pollers[1], NULL, poll_until, &b);
		for (unsigned i = 0; i < 10; i++) {
			post_rdma(&a, TP_RDMA_READ, i, buf, 60000, left_mr, buf + (1 << 19),
				  right_mr->rkey, 0);
			post_rdma(&b, TP_RDMA_READ, i, buf + 100000, 60000, right_mr,
				  buf + (1 << 19), left_mr->rkey, TP_WR_SIGNALED);
		}
		t->cm->disconnect(round & 1 ? a.conn : b.conn, round & 2);
		end_event2(round & 1 ? &b : &a, TP_CONN_DISCONNECTED, TP_CONN_BROKEN);
		if (round & 2)
			end_event2(round & 1 ? &a : &b, TP_CONN_DISCONNECTED, TP_CONN_BROKEN);
		post_send(&a, 1000, NULL, 0, NULL, 0);
		post_send(&b, 1000, NULL, 0, NULL, 0);
		pthread_join(pollers[0], NULL);
		pthread_join(pollers[1], NULL);
		end_destroy(&a);
		end_destroy(&b);
	}
	dereg(left_mr);
	dereg(right_mr);
	free(buf);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_at_once),
		cmocka_unit_test(shared_queue),
		cmocka_unit_test(ends_under_way),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
