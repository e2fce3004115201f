/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/fuzz/soft_attacked.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "test/fuzz/watch.h"

enum {
	REGION = 20480,
	SHORT_SEND = 4096,
	GUARD = 4096,
	RECV_SIZE = 64,
	READ = 100, /* ids of requests; those of Receives are below */
	ATOMIC,
	SEND,
	LATE_MS = 600000,
};

static const struct dapl_transport *const t = &dapl_module_transport;

const uint8_t mpa_request[20] = "MPA ID Req Frame\0\1\0\0";

struct node attacked_node;
static uint8_t memory[GUARD + REGION + GUARD]; /* of which the peer may reach the middle */
static uint8_t inbox[RECVS][RECV_SIZE + 1];
static struct tp_mr *mr, *inbox_mr;

void attacked_init(int64_t link)
{
	watch_start();
	soft_config.crc = 0;
	soft_config.link = link;
	/* No time limit hides what is forgotten. */
	soft_config.handshake_ms = soft_config.linger_ms = LATE_MS;
	soft_config.unreceived_ms = 1;
	node_open(&attacked_node, "lo");
	mr = reg(&attacked_node, memory + GUARD, REGION, FULL | TP_ACCESS_REMOTE_ATOMIC);
	inbox_mr = reg(&attacked_node, inbox, sizeof(inbox), TP_ACCESS_LOCAL_WRITE);
}

void attacked_begin(void)
{
	watch_begin();
	memset(memory, 0x5a, sizeof(memory));
	memset(inbox, 0x5a, sizeof(inbox));
}

/* ---- The endpoint ---- */

static uint32_t bit_of(uint64_t id)
{
	return 1u << (id < READ ? id : RECVS + id - READ);
}

void attacked_open(struct attacked *at)
{
	static const struct end_options options = {
		.depth = 16, .sge = 4, .read_in = 4, .read_out = 4, .one_cq = true
	};

	at->sends = 0;
	at->posted = (1u << RECVS) - 1;
	at->seen = 0;
	end_create(&at->end, &attacked_node, &options);
	for (unsigned i = 0; i < RECVS; i++)
		post_recv(&at->end, i, inbox[i], RECV_SIZE, inbox_mr);
}

void attacked_accept(struct attacked *at, uint64_t qual)
{
	at->end.conn = node_request(&attacked_node);
	while (qual && soft_conn(at->end.conn)->remote_qual != qual) {
		t->cm->release(at->end.conn);
		at->end.conn = node_request(&attacked_node);
	}
	insist(!t->cm->accept(at->end.conn, at->end.qp, NULL, 0, &at->end));
}

void attacked_post(struct attacked *at)
{
	struct tp_sge sge = { (uintptr_t)(memory + GUARD) + 512, 64, mr->lkey };
	struct tp_wr wr = { .wr_id = READ, .flags = TP_WR_SIGNALED, .sge = &sge, .num_sge = 1 };

	wr.remote_addr = 0x1000;
	wr.rkey = 0x1234;
	wr.length = 64;
	wr.opcode = TP_RDMA_READ;
	insist(!at->end.qp->ops->post_send(at->end.qp, &wr));
	sge.length = wr.length = 8;
	wr.wr_id = ATOMIC;
	wr.opcode = TP_FETCH_AND_ADD;
	wr.atomic.compare_add = 1;
	wr.atomic.rkey = 0x1234;
	insist(!at->end.qp->ops->post_send(at->end.qp, &wr));
	at->posted |= bit_of(READ) | bit_of(ATOMIC);
}

void attacked_send(struct attacked *at, bool all)
{
	uint32_t length = all ? REGION : SHORT_SEND;
	struct tp_sge sge = { (uintptr_t)(memory + GUARD), length, mr->lkey };
	struct tp_wr wr = { .wr_id = SEND + at->sends,
			    .opcode = TP_SEND,
			    .flags = TP_WR_SIGNALED,
			    .sge = &sge,
			    .num_sge = 1,
			    .length = length };

	/* Unless there is no connection, yet or any more. */
	if (at->sends == SENDS || at->end.qp->ops->post_send(at->end.qp, &wr))
		return;
	at->sends++;
	at->posted |= bit_of(wr.wr_id);
}

static void completed(struct attacked *at, const struct tp_wc *wc)
{
	uint32_t bit = bit_of(wc->wr_id);

	insist(at->posted & bit && !(at->seen & bit));
	at->seen |= bit;
	insist(wc->status != TP_WC_SUCCESS || wc->wr_id >= RECVS || wc->byte_len <= RECV_SIZE ||
	       wc->flags & TP_WC_WRITTEN);
}

void attacked_poll(struct attacked *at)
{
	struct tp_wc wc;

	while (try_wc(at->end.send_cq, &wc))
		completed(at, &wc);
}

void attacked_collect(struct attacked *at)
{
	struct tp_wc wc;

	while (at->seen != at->posted) {
		wc = take_wc(at->end.send_cq);
		completed(at, &wc);
	}
	insist(!try_wc(at->end.send_cq, &wc));
}

void attacked_end(void)
{
	watch_end();
	for (unsigned i = 0; i < GUARD; i++)
		insist(memory[i] == 0x5a && memory[GUARD + REGION + i] == 0x5a);
	for (unsigned i = 0; i < RECVS; i++)
		insist(inbox[i][RECV_SIZE] == 0x5a);
}

/* ---- The peer ---- */

static void put_tag(uint8_t *at)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(mr->rkey >> (24 - 8 * i));
}

static void put_address(uint8_t *at)
{
	uint64_t address = (uintptr_t)(memory + GUARD) + ((uint32_t)at[6] << 8 | at[7]);

	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t)(address >> (56 - 8 * i));
}

size_t attacked_fpdu(uint8_t fpdu[MAX_FPDU], const uint8_t *data, size_t len)
{
	uint8_t *at = fpdu + 2, *end = at + len;
	size_t all = (2 + len + 3) / 4 * 4 + 4; /* a sum that nobody looks at */

	fpdu[0] = (uint8_t)(len >> 8);
	fpdu[1] = (uint8_t)len;
	memcpy(at, data, len);
	memset(end, 0, all - 2 - len);
	for (; at + 4 <= end; at++)
		if (!memcmp(at, "STAG", 4))
			put_tag(at);
		else if (at + 8 <= end && !memcmp(at, "TOBASE", 6))
			put_address(at);
	return all;
}

void attacked_hang_up(int fd)
{
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	uint8_t heard[4096];
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	shutdown(fd, SHUT_WR);
	do
		n = recv(fd, heard, sizeof(heard), 0);
	while (n > 0);
	insist(n == 0 || errno != EAGAIN);
	close(fd);
}
