/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for the messages of the socket connection manager.
 *
 * An input: whether it answers a request, how much of it has come, and the bytes. What is taken from
 * them lies within them and within its bounds, and comes out of its own encoding as it was; the
 * rejection of what is a request repeats it.
 */
#include "test/fuzz/insist.h"

#include <errno.h>

#include "providers/verbs/cm/scm_wire.h"

enum {
	HEAD = 2,
};

static void same(const struct scm_msg *a, const struct scm_msg *b)
{
	insist(a->op == b->op && a->version == b->version && a->stray == b->stray);
	insist(a->end.reads_in == b->end.reads_in && a->end.mtu == b->end.mtu &&
	       a->end.lid == b->end.lid);
	insist(a->end.qpn == b->end.qpn && a->end.qp_type == b->end.qp_type);
	insist(!memcmp(a->end.gid, b->end.gid, sizeof(a->end.gid)));
	insist(a->addr.sin_port == b->addr.sin_port);
	insist(a->addr.sin_addr.s_addr == b->addr.sin_addr.s_addr);
	insist(a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len)));
}

static void back(const struct scm_msg *msg)
{
	uint8_t bytes[XCHG_MOST];
	struct scm_msg again;
	const char *why;
	size_t size = scm_encode(bytes, msg);

	insist(size <= sizeof(bytes));
	insist(!size == (msg->len > XCHG_DATA));
	if (!size)
		return;
	insist(scm_size(bytes, size) == (int)size);
	insist(!scm_decode(bytes, size, msg->op != SCM_REQ, &again, &why));
	same(msg, &again);
}

static void rejected(const uint8_t *request, const struct scm_msg *msg)
{
	uint8_t bytes[XCHG_MOST];
	struct scm_msg answer;
	const char *why;
	uint32_t len = msg->len < XCHG_DATA ? msg->len : XCHG_DATA;
	size_t size = scm_reject(bytes, request, SCM_REJ_USER, msg->data, len);

	insist(size && scm_size(bytes, size) == (int)size);
	insist(!scm_decode(bytes, size, true, &answer, &why));
	insist(answer.op == SCM_REJ_USER && answer.len == len);
	insist(!len || !memcmp(answer.data, msg->data, len));
	insist(!memcmp(bytes + 4, request + 4, 12) && !memcmp(bytes + 18, request + 18, 130));
}

/* More bytes never change what fewer have told. */
static void sizes(const uint8_t *buf, size_t len)
{
	int before = 0, size;

	for (size_t have = 0; have <= len; have++) {
		size = scm_size(buf, have);
		insist(!before || size == before);
		insist(size <= XCHG_MOST && (size <= 0 || size >= XCHG_HEADER));
		before = size;
	}
}

static void stray(const uint8_t *buf, size_t len)
{
	int size = scm_size(buf, len);
	uint8_t bytes[512];
	size_t left;

	if (size <= 0 || len < (size_t)size || len > sizeof(bytes))
		return;
	memcpy(bytes, buf, len);
	left = scm_drop_stray(bytes, (size_t)size, len);
	insist(left == len || left == (size_t)size);
	insist(scm_size(bytes, left) == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool answer;
	struct scm_msg msg;
	const char *why;
	uint8_t *exact;
	size_t len;

	if (size < HEAD)
		return 0;
	answer = data[0] & 1;
	len = size - HEAD;
	if (data[0] & 2)
		len = len * data[1] / UINT8_MAX;
	exact = malloc(len ? len : 1);
	insist(exact);
	memcpy(exact, data + HEAD, len);
	sizes(exact, len);
	stray(exact, len);
	if (!scm_decode(exact, len, answer, &msg, &why)) {
		insist(msg.len <= XCHG_DATA_OLD && msg.data + msg.len <= exact + len);
		insist(msg.version >= XCHG_VERSION_LEAST);
		insist(answer || msg.op == SCM_REQ);
		if (msg.op == SCM_REQ || msg.op == SCM_REP) {
			insist(msg.end.mtu <= 5 && msg.end.lid <= XCHG_LID_MAX);
			insist(msg.end.qpn && msg.end.qpn <= XCHG_QPN_MAX);
			back(&msg);
		}
		if (msg.op == SCM_REQ)
			rejected(exact, &msg);
	} else {
		insist(why);
	}
	if (len >= SCM_WORD)
		(void)scm_is_rtu(exact);
	free(exact);
	return 0;
}
