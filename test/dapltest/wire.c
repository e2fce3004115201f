/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire.h"

#include <stdio.h>
#include <string.h>

#define WIRE_MAGIC 0x64617074u /* "dapt" */

enum {
	FLAG_VALIDATE = 1,
	FLAG_POLL = 2,
	FLAG_CNO = 4,
	FLAG_RSP = 8,
};

struct dt_cursor dt_cursor(void *bytes, size_t size)
{
	unsigned char *at = bytes;

	return (struct dt_cursor){ at, at + size, false };
}

static void put(struct dt_cursor *cursor, uint64_t value, int size)
{
	if (cursor->overrun || cursor->end - cursor->at < size) {
		cursor->overrun = true;
		return;
	}
	for (int i = 0; i < size; i++)
		cursor->at[i] = (unsigned char)(value >> 8 * (size - 1 - i));
	cursor->at += size;
}

static uint64_t get(struct dt_cursor *cursor, int size)
{
	uint64_t value = 0;

	if (cursor->overrun || cursor->end - cursor->at < size) {
		cursor->overrun = true;
		return 0;
	}
	for (int i = 0; i < size; i++)
		value = value << 8 | cursor->at[i];
	cursor->at += size;
	return value;
}

void dt_put8(struct dt_cursor *cursor, uint8_t value)
{
	put(cursor, value, 1);
}

void dt_put16(struct dt_cursor *cursor, uint16_t value)
{
	put(cursor, value, 2);
}

void dt_put32(struct dt_cursor *cursor, uint32_t value)
{
	put(cursor, value, 4);
}

void dt_put64(struct dt_cursor *cursor, uint64_t value)
{
	put(cursor, value, 8);
}

uint8_t dt_get8(struct dt_cursor *cursor)
{
	return (uint8_t)get(cursor, 1);
}

uint16_t dt_get16(struct dt_cursor *cursor)
{
	return (uint16_t)get(cursor, 2);
}

uint32_t dt_get32(struct dt_cursor *cursor)
{
	return (uint32_t)get(cursor, 4);
}

uint64_t dt_get64(struct dt_cursor *cursor)
{
	return get(cursor, 8);
}

static void put_text(struct dt_cursor *cursor, const char *text)
{
	size_t length = strlen(text);

	dt_put16(cursor, (uint16_t)length);
	for (size_t i = 0; i < length; i++)
		dt_put8(cursor, (uint8_t)text[i]);
}

/* The text comes from another program and goes to a terminal: only printable ASCII passes. */
static void get_text(struct dt_cursor *cursor, char *text, size_t size)
{
	size_t length = dt_get16(cursor), kept = 0;

	for (size_t i = 0; i < length && !cursor->overrun; i++) {
		char c = (char)dt_get8(cursor);

		if (kept + 1 < size)
			text[kept++] = c >= ' ' && c <= '~' ? c : '?';
	}
	text[kept] = '\0';
}

static void put_triplet(struct dt_cursor *cursor, const DAT_RMR_TRIPLET *triplet)
{
	dt_put64(cursor, triplet->virtual_address);
	dt_put32(cursor, triplet->segment_length);
	dt_put32(cursor, triplet->rmr_context);
}

static void get_triplet(struct dt_cursor *cursor, DAT_RMR_TRIPLET *triplet)
{
	triplet->virtual_address = dt_get64(cursor);
	triplet->segment_length = dt_get32(cursor);
	triplet->rmr_context = dt_get32(cursor);
}

/* The body is written first; its length is known then. */
static struct dt_cursor body(void *message)
{
	return dt_cursor((unsigned char *)message + DT_HEADER_SIZE,
			 DT_MESSAGE_SIZE - DT_HEADER_SIZE);
}

/* As long as the header says, which dt_message_check() compared with what was received. */
static struct dt_cursor received_body(void *message)
{
	struct dt_cursor cursor = dt_cursor(message, DT_HEADER_SIZE);

	dt_get64(&cursor);
	return dt_cursor((unsigned char *)message + DT_HEADER_SIZE,
			 dt_get32(&cursor) - DT_HEADER_SIZE);
}

static size_t finish(const struct dt_cursor *cursor, enum dt_message type, void *message)
{
	struct dt_cursor header = dt_cursor(message, DT_HEADER_SIZE);
	size_t length = (size_t)(cursor->at - (unsigned char *)message);

	dt_put32(&header, WIRE_MAGIC);
	dt_put16(&header, DT_WIRE_VERSION);
	dt_put16(&header, (uint16_t)type);
	dt_put32(&header, (uint32_t)length);
	return length;
}

int dt_message_check(struct dt_actor *actor, const void *message, size_t size)
{
	struct dt_cursor cursor = dt_cursor((void *)message, size);
	uint32_t magic = dt_get32(&cursor);
	uint16_t version = dt_get16(&cursor);
	uint16_t type = dt_get16(&cursor);
	uint32_t length = dt_get32(&cursor);

	if (cursor.overrun || magic != WIRE_MAGIC)
		return dt_fail(actor, "the other side does not speak this dapltest's protocol");
	if (version != DT_WIRE_VERSION)
		return dt_fail(actor, "DAPLTEST VERSION MISMATCH: theirs %u, ours %u", version,
			       DT_WIRE_VERSION);
	if (length != size || type < DT_MSG_COMMAND || type > DT_MSG_RESULT)
		return dt_fail(actor, "a damaged message: type %u, length %u of %zu", type, length,
			       size);
	return type;
}

static void put_op(struct dt_cursor *cursor, const struct dt_op *op)
{
	dt_put8(cursor, op->by_server);
	dt_put8(cursor, (uint8_t)op->xfer);
	dt_put8(cursor, op->reap_on_recv);
	dt_put8(cursor, 0);
	dt_put32(cursor, op->seg_size);
	dt_put32(cursor, op->num_segs);
}

static void get_op(struct dt_cursor *cursor, struct dt_op *op)
{
	op->by_server = dt_get8(cursor) != 0;
	op->xfer = (enum dt_xfer)dt_get8(cursor);
	op->reap_on_recv = dt_get8(cursor) != 0;
	dt_get8(cursor);
	op->seg_size = dt_get32(cursor);
	op->num_segs = dt_get32(cursor);
}

size_t dt_command_encode(const struct dt_params *params, uint32_t eps, void *message)
{
	struct dt_cursor cursor = body(message);

	dt_put32(&cursor, (uint32_t)params->test);
	dt_put32(&cursor, (uint32_t)params->qos);
	dt_put32(&cursor, params->timeout_s);
	dt_put32(&cursor, params->iterations);
	dt_put32(&cursor, params->threads);
	dt_put32(&cursor, eps);
	dt_put32(&cursor, (params->validate ? FLAG_VALIDATE : 0) | (params->poll ? FLAG_POLL : 0) |
				  (params->cno ? FLAG_CNO : 0) | (params->rsp ? FLAG_RSP : 0));
	dt_put32(&cursor, params->pipeline);
	dt_put32(&cursor, params->num_ops);
	for (uint32_t i = 0; i < params->num_ops; i++)
		put_op(&cursor, &params->ops[i]);
	return finish(&cursor, DT_MSG_COMMAND, message);
}

static bool in_range(uint32_t value, uint32_t min, uint32_t max)
{
	return value >= min && value <= max;
}

static bool op_valid(const struct dt_op *op)
{
	return (op->xfer == DT_XFER_SR || op->xfer == DT_XFER_RR || op->xfer == DT_XFER_RW) &&
	       in_range(op->seg_size, 1, DT_MAX_SEG_SIZE) &&
	       in_range(op->num_segs, 1, DT_MAX_SEGS) &&
	       (uint64_t)op->seg_size * op->num_segs <= UINT32_MAX;
}

/* What a client asks for is bounded before anything is made of it. */
static bool command_valid(const struct dt_params *params)
{
	if (params->test == DT_TEST_QUIT)
		return true;
	if (params->test != DT_TEST_TRANS && params->test != DT_TEST_PERF)
		return false;
	for (uint32_t i = 0; i < params->num_ops; i++)
		if (!op_valid(&params->ops[i]))
			return false;
	return params->num_ops && in_range(params->timeout_s, 1, DT_MAX_TIMEOUT) &&
	       in_range(params->iterations, 1, INT32_MAX) &&
	       in_range(params->threads, 1, DT_MAX_THREADS) &&
	       in_range(params->eps.first, 1, DT_MAX_EPS) &&
	       (uint64_t)params->threads * params->eps.first <= DT_MAX_EPS &&
	       params->pipeline <= DT_MAX_PIPELINE;
}

int dt_command_decode(struct dt_params *params, void *message)
{
	struct dt_cursor cursor = received_body(message);
	uint32_t flags;

	memset(params, 0, sizeof(*params));
	params->test = (enum dt_test)dt_get32(&cursor);
	params->qos = (DAT_QOS)dt_get32(&cursor);
	params->timeout_s = dt_get32(&cursor);
	params->iterations = dt_get32(&cursor);
	params->threads = dt_get32(&cursor);
	params->eps.first = params->eps.last = dt_get32(&cursor);
	flags = dt_get32(&cursor);
	params->validate = flags & FLAG_VALIDATE;
	params->poll = flags & FLAG_POLL;
	params->cno = flags & FLAG_CNO;
	params->rsp = flags & FLAG_RSP;
	params->pipeline = dt_get32(&cursor);
	params->num_ops = dt_get32(&cursor);
	if (params->num_ops > DT_ALL_OPS)
		return -1;
	for (uint32_t i = 0; i < params->num_ops; i++)
		get_op(&cursor, &params->ops[i]);
	return cursor.overrun || !command_valid(params) ? -1 : 0;
}

size_t dt_reply_encode(const struct dt_reply *reply, void *message)
{
	struct dt_cursor cursor = body(message);

	dt_put8(&cursor, reply->ok);
	dt_put8(&cursor, reply->port_per_ep);
	dt_put32(&cursor, reply->session);
	dt_put64(&cursor, reply->port);
	put_triplet(&cursor, &reply->target);
	put_text(&cursor, reply->text);
	return finish(&cursor, DT_MSG_REPLY, message);
}

int dt_reply_decode(struct dt_reply *reply, void *message)
{
	struct dt_cursor cursor = received_body(message);

	reply->ok = dt_get8(&cursor) != 0;
	reply->port_per_ep = dt_get8(&cursor) != 0;
	reply->session = dt_get32(&cursor);
	reply->port = dt_get64(&cursor);
	get_triplet(&cursor, &reply->target);
	get_text(&cursor, reply->text, sizeof(reply->text));
	return cursor.overrun ? -1 : 0;
}

size_t dt_outcome_encode(enum dt_message type, const struct dt_actor *actor, void *message)
{
	struct dt_cursor cursor = body(message);

	dt_put8(&cursor, !actor->failed);
	put_text(&cursor, actor->text);
	return finish(&cursor, type, message);
}

int dt_outcome_decode(struct dt_outcome *outcome, void *message)
{
	struct dt_cursor cursor = received_body(message);

	outcome->ok = dt_get8(&cursor) != 0;
	get_text(&cursor, outcome->text, sizeof(outcome->text));
	return cursor.overrun ? -1 : 0;
}

size_t dt_alive_encode(void *message)
{
	struct dt_cursor cursor = body(message);

	return finish(&cursor, DT_MSG_ALIVE, message);
}

size_t dt_memory_encode(const DAT_RMR_TRIPLET *targets, uint32_t count, void *message)
{
	struct dt_cursor cursor = body(message);

	dt_put32(&cursor, count);
	for (uint32_t i = 0; i < count; i++)
		put_triplet(&cursor, &targets[i]);
	return finish(&cursor, DT_MSG_MEMORY, message);
}

int dt_memory_decode(DAT_RMR_TRIPLET *targets, uint32_t count, void *message)
{
	struct dt_cursor cursor = received_body(message);

	if (dt_get32(&cursor) != count)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		get_triplet(&cursor, &targets[i]);
	return cursor.overrun ? -1 : 0;
}
