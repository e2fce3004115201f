/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The messages between client and server: fixed-size fields in network byte order. */
#ifndef DAPLTEST_WIRE_H
#define DAPLTEST_WIRE_H

#include <dat/udat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "params.h"
#include "report.h"

/* Changed whenever a message changes; the two sides compare it first of all. */
#define DT_WIRE_VERSION 2
#define DT_MESSAGE_SIZE 4096
#define DT_HEADER_SIZE	12

/* Where reading or writing stands. Going beyond the end sets `overrun` and does nothing else. */
struct dt_cursor {
	unsigned char *at;
	unsigned char *end;
	bool overrun;
};

struct dt_cursor dt_cursor(void *bytes, size_t size);
void dt_put8(struct dt_cursor *cursor, uint8_t value);
void dt_put16(struct dt_cursor *cursor, uint16_t value);
void dt_put32(struct dt_cursor *cursor, uint32_t value);
void dt_put64(struct dt_cursor *cursor, uint64_t value);
uint8_t dt_get8(struct dt_cursor *cursor);
uint16_t dt_get16(struct dt_cursor *cursor);
uint32_t dt_get32(struct dt_cursor *cursor);
uint64_t dt_get64(struct dt_cursor *cursor);

enum dt_message {
	DT_MSG_COMMAND = 1, /* client: run this */
	DT_MSG_REPLY,	    /* server: connect there, or why not */
	DT_MSG_MEMORY,	    /* both, on each test connection: where your RDMA may go */
	DT_MSG_ALIVE,	    /* client: the test takes longer than the server would wait */
	DT_MSG_DONE,	    /* client: my side has ended, so or so */
	DT_MSG_RESULT,	    /* server: mine too */
};

struct dt_reply {
	bool ok;
	uint32_t session;
	DAT_CONN_QUAL port;
	bool port_per_ep; /* endpoint n listens on port + n */
	DAT_RMR_TRIPLET target;
	char text[DT_ERROR_TEXT];
};

/* How a side's part ended. */
struct dt_outcome {
	bool ok;
	char text[DT_ERROR_TEXT];
};

/* Each writes a whole message, header included, and returns its length. */
size_t dt_command_encode(const struct dt_params *params, uint32_t eps, void *message);
size_t dt_reply_encode(const struct dt_reply *reply, void *message);
size_t dt_outcome_encode(enum dt_message type, const struct dt_actor *actor, void *message);
size_t dt_alive_encode(void *message);
size_t dt_memory_encode(const DAT_RMR_TRIPLET *targets, uint32_t count, void *message);

/* Checks magic, version and length; returns the type, or -1 after reporting what is wrong. */
int dt_message_check(struct dt_actor *actor, const void *message, size_t size);

/* Each expects a message that dt_message_check() accepted; -1 when its body makes no sense. */
int dt_command_decode(struct dt_params *params, void *message);
int dt_reply_decode(struct dt_reply *reply, void *message);
int dt_outcome_decode(struct dt_outcome *outcome, void *message);
int dt_memory_decode(DAT_RMR_TRIPLET *targets, uint32_t count, void *message);

#endif
