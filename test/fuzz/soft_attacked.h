/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software provider under a peer that sends what it likes: a node with memory of which the peer
 * may reach a part, endpoints with requests outstanding, and what must be so afterwards.
 */
#ifndef TEST_FUZZ_SOFT_ATTACKED_H
#define TEST_FUZZ_SOFT_ATTACKED_H

#include "test/fuzz/insist.h"
#include "test/unit/soft_util.h"

enum {
	RECVS = 4,
	SENDS = 8,	     /* of attacked_send */
	PATIENCE_MS = 20000, /* every wait's; the node's own are longer, or none */
	MAX_FPDU = 2 + 65535 + 3 + 4,
};

/* RFC 5044 section 7.1.1: no markers, no CRC, revision 1, no private data. */
extern const uint8_t mpa_request[20];

/* An endpoint with what was posted to it. */
struct attacked {
	struct end end;
	unsigned sends;
	uint32_t posted, seen; /* a bit of each request; its completion */
};

extern struct node attacked_node;

/* Once in a process; the node uses these links. */
void attacked_init(int64_t link);
/* An input begins: all memory is as if new. */
void attacked_begin(void);
/* An endpoint with its Receives. */
void attacked_open(struct attacked *at);
/* The peer's request of a connection, by its qualifier, 0: the next. One that has gone meanwhile may
 * have left its own. */
void attacked_accept(struct attacked *at, uint64_t qual);
/* An RDMA Read and an atomic for the peer to answer. */
void attacked_post(struct attacked *at);
/* One of a page, or one of all the memory that the peer may reach. */
void attacked_send(struct attacked *at, bool all);
/* Takes what has completed. */
void attacked_poll(struct attacked *at);
/* The connection is over: everything completes, once. */
void attacked_collect(struct attacked *at);
/* It ends: the peer wrote where it may only. */
void attacked_end(void);

/*
 * The FPDU of a payload, with the right length and padding; its length. "STAG" in the payload
 * stands for the tag of the memory that the peer may reach, "TOBASE" with two bytes more for an
 * address that far inside.
 */
size_t attacked_fpdu(uint8_t fpdu[MAX_FPDU], const uint8_t *data, size_t len);

/* Ends the peer's direction of a socket and awaits the other side's end. Closes. */
void attacked_hang_up(int fd);

#endif
