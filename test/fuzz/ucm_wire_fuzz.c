/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for the messages of the datagram connection manager.
 *
 * An input is a datagram. What is taken from it lies within it and within its bounds, and comes out of
 * its own encoding as it was; the refusal of what is a request goes back to who sent it.
 */
#include "test/fuzz/insist.h"

#include <errno.h>

#include "providers/verbs/cm/ucm_wire.h"

static void same(const struct ucm_msg *a, const struct ucm_msg *b)
{
	insist(a->op == b->op && a->src_port == b->src_port && a->dst_port == b->dst_port);
	insist(a->src_qpn == b->src_qpn && a->dst_qpn == b->dst_qpn);
	insist(a->src_id == b->src_id && a->dst_id == b->dst_id && a->retrans == b->retrans);
	insist(a->end.reads_in == b->end.reads_in && a->end.mtu == b->end.mtu);
	insist(a->end.lid == b->end.lid && a->end.qpn == b->end.qpn);
	insist(a->end.qp_type == b->end.qp_type);
	insist(!memcmp(a->end.gid, b->end.gid, sizeof(a->end.gid)));
	insist(!memcmp(a->dst, b->dst, sizeof(a->dst)));
	insist(a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len)));
}

static void back(const struct ucm_msg *msg)
{
	uint8_t bytes[UCM_MOST];
	struct ucm_msg again;
	const char *why;
	size_t size = ucm_encode(bytes, msg);

	insist(size <= sizeof(bytes));
	insist(!size == (msg->len > XCHG_DATA));
	/* A port number of version 9 has more than those before, and an MTU that is checked. */
	if (!size || (msg->op != UCM_REQ && msg->op != UCM_REP && msg->end.mtu > XCHG_MTU_MAX))
		return;
	insist(!ucm_decode(bytes, size, &again, &why));
	same(msg, &again);
}

static void refused(const uint8_t *request, const struct ucm_msg *msg)
{
	uint8_t bytes[UCM_MOST];
	struct ucm_msg answer;
	const char *why;

	insist(ucm_refuse(bytes, request) == XCHG_HEADER);
	if (ucm_decode(bytes, XCHG_HEADER, &answer, &why))
		return; /* it asked for a LID that no adapter has */
	insist(answer.op == UCM_REJ_CM && !answer.len && answer.dst_id == msg->src_id);
	insist(answer.dst_qpn == msg->src_qpn && answer.src_qpn == msg->dst_qpn);
	if (msg->version < XCHG_VERSION_DATA)
		return; /* its ports have no high bytes */
	insist(answer.dst_port == msg->src_port && answer.src_port == msg->dst_port);
}

static void address(const uint8_t *at)
{
	uint8_t bytes[XCHG_ADDRESS];
	struct ucm_address addr, again;

	if (ucm_get_address(at, &addr))
		return;
	ucm_put_address(bytes, &addr);
	insist(!ucm_get_address(bytes, &again));
	insist(addr.lid == again.lid && addr.qpn == again.qpn && addr.type == again.type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ucm_msg msg;
	const char *why;
	uint8_t *exact;

	exact = malloc(size ? size : 1);
	insist(exact);
	if (size)
		memcpy(exact, data, size);
	if (!ucm_decode(exact, size, &msg, &why)) {
		insist(size >= XCHG_HEADER && size <= XCHG_MOST);
		insist(msg.version >= XCHG_VERSION_LEAST);
		insist(msg.op >= UCM_REQ && msg.op <= UCM_DREP);
		insist(msg.len <= XCHG_DATA_OLD && msg.data + msg.len <= exact + size);
		insist(msg.src_port <= UCM_PORT_MAX && msg.dst_port <= UCM_PORT_MAX);
		insist(msg.end.lid <= XCHG_LID_MAX);
		back(&msg);
		if (msg.op == UCM_REQ)
			refused(exact, &msg);
		address(exact + XCHG_AT_DST);
	} else {
		insist(why);
	}
	free(exact);
	return 0;
}
