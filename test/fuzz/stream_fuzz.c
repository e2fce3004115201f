/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for what a peer may send the software provider, before a connection is made and
 * after; test/fuzz/stream-seeds.py writes the seeds.
 *
 * An input's first byte says what the rest is: 0, the stream from its first byte on; else records
 * of two bytes of length and so many of an FPDU's payload, sent in FPDUs whose length and padding
 * are right, over a connection that was made as it should be. "STAG" there stands for the tag of
 * the memory that the peer may reach, "TOBASE" with two bytes more for an address that far inside.
 */
#include "test/unit/soft_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	REGION = 4096,
	GUARD = 4096,
	RECVS = 4,
	RECV_SIZE = 64,
	PATIENCE_MS = 20000,
};

static const struct dapl_transport *const t = &dapl_module_transport;

static struct node node;
static uint8_t memory[GUARD + REGION + GUARD]; /* of which the peer may reach the middle */
static uint8_t inbox[RECVS][RECV_SIZE + 1];
static struct tp_mr *mr, *inbox_mr;

#define insist(what)                                                                     \
	do {                                                                             \
		if (!(what)) {                                                           \
			fprintf(stderr, "%d: not so: %s (errno: %s)\n", __LINE__, #what, \
				strerror(errno));                                        \
			abort();                                                         \
		}                                                                        \
	} while (0)

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	sigset_t alarm;

	(void)argc;
	(void)argv;
	/* libFuzzer's clock interrupts calls; every wait here has a deadline of its own. */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	soft_config.crc = 0;
	node_open(&node, "lo");
	mr = reg(&node, memory + GUARD, REGION, FULL | TP_ACCESS_REMOTE_ATOMIC);
	inbox_mr = reg(&node, inbox, sizeof(inbox), TP_ACCESS_LOCAL_WRITE);
	return 0;
}

/* ---- The peer ---- */

static int dial(void)
{
	struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	struct tp_device_attr attr;
	struct sockaddr_in to;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	t->device->query(node.dev, &attr);
	memcpy(&to, &attr.addr, sizeof(to));
	to.sin_port = htons((uint16_t)node.listener->conn_qual);
	insist(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	insist(!connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

/* The other side may have ended the connection. */
static void say(int fd, const void *data, size_t len)
{
	const uint8_t *at = data;
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
	}
}

/* All that the other side says, up to its end, which it must come to. */
static void hang_up(int fd)
{
	const struct linger forget = { .l_onoff = 1 };
	uint8_t heard[4096];
	ssize_t n;

	shutdown(fd, SHUT_WR);
	do
		n = recv(fd, heard, sizeof(heard), 0);
	while (n > 0);
	insist(n == 0 || errno != EAGAIN);
	/* Or the ports are used up after some ten thousand. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &forget, sizeof(forget));
	close(fd);
}

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

static void say_fpdu(int fd, const uint8_t *data, size_t len)
{
	uint8_t fpdu[2 + 65535 + 3 + 4] = { (uint8_t)(len >> 8), (uint8_t)len };
	uint8_t *at = fpdu + 2, *end = at + len;
	size_t all = (2 + len + 3) / 4 * 4 + 4; /* a sum that nobody looks at */

	memcpy(at, data, len);
	for (; at + 4 <= end; at++)
		if (!memcmp(at, "STAG", 4))
			put_tag(at);
		else if (at + 8 <= end && !memcmp(at, "TOBASE", 6))
			put_address(at);
	say(fd, fpdu, all);
}

/* ---- This side ---- */

/* Receives, and an RDMA Read and an atomic for the peer to answer. */
static void post_all(struct end *end)
{
	struct tp_sge sge = { (uintptr_t)(memory + GUARD) + 512, 64, mr->lkey };
	struct tp_wr wr = { .wr_id = 100, .flags = TP_WR_SIGNALED, .sge = &sge, .num_sge = 1 };

	wr.remote_addr = 0x1000;
	wr.rkey = 0x1234;
	wr.length = 64;
	wr.opcode = TP_RDMA_READ;
	end->qp->ops->post_send(end->qp, &wr);
	sge.length = wr.length = 8;
	wr.wr_id = 101;
	wr.opcode = TP_FETCH_AND_ADD;
	wr.atomic.compare_add = 1;
	wr.atomic.rkey = 0x1234;
	end->qp->ops->post_send(end->qp, &wr);
}

/* Every request and receive completes, once. */
static void collect(struct end *end)
{
	bool seen[RECVS + 2] = { false };
	struct tp_wc wc;
	unsigned which;

	for (unsigned i = 0; i < RECVS + 2; i++) {
		wc = take_wc(end->send_cq);
		which = wc.wr_id < 100 ? (unsigned)wc.wr_id : RECVS + (unsigned)wc.wr_id - 100;
		insist(which < RECVS + 2 && !seen[which]);
		seen[which] = true;
		insist(wc.status != TP_WC_SUCCESS || which >= RECVS || wc.byte_len <= RECV_SIZE ||
		       wc.flags & TP_WC_WRITTEN);
	}
	insist(!try_wc(end->send_cq, &wc));
}

static void check_memory(void)
{
	for (unsigned i = 0; i < GUARD; i++)
		insist(memory[i] == 0x5a && memory[GUARD + REGION + i] == 0x5a);
	for (unsigned i = 0; i < RECVS; i++)
		insist(inbox[i][RECV_SIZE] == 0x5a);
}

static int open_end(struct end *end)
{
	static const struct end_options options = {
		.depth = 16, .sge = 4, .read_in = 4, .read_out = 4, .one_cq = true
	};
	/* RFC 5044 section 7.1.1: no markers, no CRC, revision 1, no private data. */
	static const uint8_t request[20] = "MPA ID Req Frame\0\1\0\0";
	uint8_t reply[20];
	int fd = dial();

	end_create(end, &node, &options);
	for (unsigned i = 0; i < RECVS; i++)
		post_recv(end, i, inbox[i], RECV_SIZE, inbox_mr);
	say(fd, request, sizeof(request));
	end->conn = node_request(&node);
	insist(!t->cm->accept(end->conn, end->qp, NULL, 0, end));
	insist(recv(fd, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply));
	insist(!memcmp(reply, "MPA ID Rep Frame", 16));
	end_event(end, TP_CONN_ESTABLISHED);
	return fd;
}

static void connected(const uint8_t *data, size_t size)
{
	struct end end;
	int fd = open_end(&end);
	size_t len;

	post_all(&end);
	for (; size >= 2; data += len, size -= len) {
		len = (size_t)data[0] << 8 | data[1];
		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		say_fpdu(fd, data, len);
	}
	hang_up(fd);
	end_event2(&end, TP_CONN_DISCONNECTED, TP_CONN_BROKEN);
	collect(&end);
	end_destroy(&end);
}

static void unconnected(const uint8_t *data, size_t size)
{
	int fd = dial();

	say(fd, data, size);
	hang_up(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(memory, 0x5a, sizeof(memory));
	memset(inbox, 0x5a, sizeof(inbox));
	if (!size)
		return 0;
	node_refuse(&node, data[0] ? 0 : -ECONNREFUSED);
	if (data[0])
		connected(data + 1, size - 1);
	else
		unconnected(data + 1, size - 1);
	check_memory();
	return 0;
}
