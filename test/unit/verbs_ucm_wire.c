/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of the datagram connection manager as bytes, by the clauses of doc/spec/08-cm-wire.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "providers/verbs/cm/ucm_wire.h"

enum {
	AT_VERSION = 0,
	AT_OP = 2,
	AT_LEN = 16,
	AT_MTU = 32,
	AT_SRC_LID = 38,
	AT_SRC_QPN = 40,
	AT_SRC_TYPE = 63,
};

static const uint8_t data[XCHG_DATA + 1] = { 0xa0, 0xa1, 0xa2 };
static const uint8_t gid[16] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0x11, 0, 0x11 };

/* The example of UCM-9: LID 0x11 asks LID 0x22. */
static struct ucm_msg example(void)
{
	struct ucm_address to = { .lid = 0x22, .type = XCHG_QPT_UD };
	struct ucm_msg msg = { .op = UCM_REQ,
			       .version = XCHG_VERSION,
			       .src_port = 1,
			       .dst_port = 0x4d2,
			       .src_qpn = 0x8632,
			       .dst_qpn = 0x921b,
			       .src_id = 1,
			       .end = { .reads_in = 4,
					.mtu = 5,
					.lid = 0x11,
					.qpn = 0x403a02,
					.qp_type = XCHG_QPT_RC },
			       .data = data,
			       .len = 3 };

	memcpy(msg.end.gid, gid, sizeof(gid));
	memcpy(to.gid, gid, sizeof(gid));
	to.gid[15] = 0x22;
	ucm_put_address(msg.dst, &to);
	return msg;
}

static void ucm_9_a_request_is_these_bytes(void **state)
{
	/* The words of four bytes that are not 0; those of host order are little endian. */
	static const struct {
		uint8_t at, bytes[4];
	} words[] = {
		{ 0, { 0x00, 0x09, 0x00, 0x01 } },  { 4, { 0x00, 0x01, 0x04, 0xd2 } },
		{ 8, { 0x00, 0x00, 0x86, 0x32 } },  { 12, { 0x00, 0x00, 0x92, 0x1b } },
		{ 16, { 0x00, 0x03, 0x00, 0x00 } }, { 20, { 0x00, 0x00, 0x00, 0x01 } },
		{ 28, { 0x04, 0x00, 0x00, 0x00 } }, { 32, { 0x05, 0x00, 0x00, 0x00 } },
		{ 36, { 0x00, 0x00, 0x00, 0x11 } }, { 40, { 0x00, 0x40, 0x3a, 0x02 } },
		{ 44, { 0xfe, 0x80, 0x00, 0x00 } }, { 52, { 0x00, 0x02, 0xc9, 0x03 } },
		{ 56, { 0x00, 0x11, 0x00, 0x11 } }, { 60, { 0x00, 0x00, 0x00, 0x02 } },
		{ 64, { 0x0a, 0x00, 0x00, 0x22 } }, { 72, { 0xfe, 0x80, 0x00, 0x00 } },
		{ 80, { 0x00, 0x02, 0xc9, 0x03 } }, { 84, { 0x00, 0x11, 0x00, 0x22 } },
		{ 88, { 0x00, 0x00, 0x00, 0x04 } }, { 148, { 0xa0, 0xa1, 0xa2, 0x00 } },
	};
	uint8_t wanted[UCM_MOST] = { 0 }, bytes[UCM_MOST];
	struct ucm_msg msg = example();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		memcpy(wanted + words[i].at, words[i].bytes, 4);
	if (htons(1) == 1) { /* CM-2 */
		wanted[64] = 0;
		wanted[65] = 10;
	}
	memset(bytes, 0xee, sizeof(bytes));
	assert_int_equal(ucm_encode(bytes, &msg), 151);
	assert_memory_equal(bytes, wanted, 151);
}

static void assert_same(const struct ucm_msg *a, const struct ucm_msg *b)
{
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->src_port, b->src_port);
	assert_int_equal(a->dst_port, b->dst_port);
	assert_int_equal(a->src_qpn, b->src_qpn);
	assert_int_equal(a->dst_qpn, b->dst_qpn);
	assert_int_equal(a->src_id, b->src_id);
	assert_int_equal(a->dst_id, b->dst_id);
	assert_int_equal(a->retrans, b->retrans);
	assert_int_equal(a->end.mtu, b->end.mtu);
	assert_int_equal(a->end.reads_in, b->end.reads_in);
	assert_int_equal(a->end.lid, b->end.lid);
	assert_int_equal(a->end.qpn, b->end.qpn);
	assert_int_equal(a->end.qp_type, b->end.qp_type);
	assert_memory_equal(a->end.gid, b->end.gid, sizeof(a->end.gid));
	assert_memory_equal(a->dst, b->dst, sizeof(a->dst));
	assert_int_equal(a->len, b->len);
	if (a->len)
		assert_memory_equal(a->data, b->data, a->len);
}

static void ucm_9_what_is_written_is_read(void **state)
{
	struct ucm_msg msg = example(), got;
	uint8_t bytes[UCM_MOST];
	const char *why;
	size_t size;

	(void)state;
	msg.src_port = 0x123456;
	msg.dst_port = 0xfedcba;
	msg.dst_id = 0x3ffff;
	msg.retrans = 9;
	for (msg.len = 0; msg.len <= XCHG_DATA; msg.len++) {
		msg.op = msg.len % 3 == 0 ? UCM_REQ : msg.len % 3 == 1 ? UCM_REP : UCM_REJ_USER;
		size = ucm_encode(bytes, &msg);
		assert_int_equal(size, XCHG_HEADER + msg.len);
		assert_int_equal(ucm_decode(bytes, size, &got, &why), 0);
		assert_same(&msg, &got);
	}
	assert_int_equal(ucm_encode(bytes, &msg), 0); /* CM-13 */
	ucm_set_retrans(bytes, 10);
	assert_int_equal(ucm_decode(bytes, size, &got, &why), 0);
	assert_int_equal(got.retrans, 10);
}

/* UCM-62: lengths. CM-3: opcodes. */
static void ucm_62_lengths_and_opcodes(void **state)
{
	uint8_t bytes[XCHG_MOST + 1] = { 0 };
	struct ucm_msg msg = example(), got;
	const char *why;
	size_t len;
	unsigned int op;

	(void)state;
	ucm_encode(bytes, &msg);
	for (len = 0; len <= sizeof(bytes); len++) {
		assert_int_equal(ucm_decode(bytes, len, &got, &why),
				 len < XCHG_HEADER || len > XCHG_MOST ? -EPROTO : 0);
		if (len >= XCHG_HEADER && len <= XCHG_MOST)
			assert_int_equal(got.len, len < 151 ? len - 148 : 3);
		else
			assert_non_null(why);
	}
	for (op = 0; op < 300; op++) {
		bytes[AT_OP] = (uint8_t)(op >> 8);
		bytes[AT_OP + 1] = (uint8_t)op;
		assert_int_equal(ucm_decode(bytes, 151, &got, &why),
				 op >= UCM_REQ && op <= UCM_DREP ? 0 : -EPROTO);
	}
}

/* UCM-63: what does not carry private data has a length from another message. */
static void ucm_63_stale_lengths(void **state)
{
	static const enum ucm_op without[] = { UCM_REJ_CM, UCM_RTU, UCM_DREQ, UCM_DREP };
	struct ucm_msg msg = example(), got;
	uint8_t bytes[UCM_MOST];
	const char *why;
	size_t i;

	(void)state;
	msg.op = UCM_REP;
	ucm_encode(bytes, &msg);
	assert_int_equal(ucm_decode(bytes, XCHG_HEADER, &got, &why), 0);
	assert_int_equal(got.len, 0);
	bytes[AT_LEN] = 0xff;
	assert_int_equal(ucm_decode(bytes, 151, &got, &why), -EPROTO);
	for (i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		bytes[AT_OP + 1] = (uint8_t)without[i];
		assert_int_equal(ucm_decode(bytes, 151, &got, &why), 0);
		assert_int_equal(got.len, 0);
	}
}

/* VER-4, VER-5 */
static void ver_5_versions(void **state)
{
	uint8_t bytes[XCHG_MOST] = { 0 };
	struct ucm_msg msg = example(), got;
	unsigned int version;
	const char *why;

	(void)state;
	msg.src_port = 0x20001;
	msg.retrans = 3;
	ucm_encode(bytes, &msg);
	for (version = 0; version < 65536; version += version < 16 ? 1 : 991) {
		bytes[AT_VERSION] = (uint8_t)(version >> 8);
		bytes[AT_VERSION + 1] = (uint8_t)version;
		if (version < 7) {
			assert_int_equal(ucm_decode(bytes, 151, &got, &why), -EPROTONOSUPPORT);
			continue;
		}
		assert_int_equal(ucm_decode(bytes, 153, &got, &why), 0);
		assert_int_equal(got.src_port, version < 8 ? 1 : 0x20001);
		assert_int_equal(got.retrans, version < 8 ? 0 : 3);
		assert_int_equal(got.len, 3);
		assert_int_equal(got.end.mtu, 5);
		assert_int_equal(got.end.reads_in, 4);
	}
	bytes[AT_VERSION] = 0;
	bytes[AT_VERSION + 1] = 7;
	bytes[AT_LEN + 1] = 118;
	assert_int_equal(ucm_decode(bytes, XCHG_MOST, &got, &why), 0);
	assert_int_equal(got.len, 118);
	bytes[AT_LEN + 1] = 119;
	assert_int_equal(ucm_decode(bytes, XCHG_MOST, &got, &why), -EPROTO);
}

/* CM-5, and UCM's own: 0 means 2048 in every version. */
static void cm_5_an_unsaid_mtu(void **state)
{
	static const struct {
		uint8_t version, mtu;
		int rc;
		uint8_t got;
	} rows[] = { { 9, 0, 0, 0 }, { 9, 5, 0, 5 }, { 9, 6, -EPROTO, 0 },
		     { 8, 4, 0, 4 }, { 8, 6, 0, 0 }, { 8, 0, 0, 0 } };
	struct ucm_msg msg = example(), got;
	uint8_t bytes[UCM_MOST];
	const char *why;
	size_t i;

	(void)state;
	ucm_encode(bytes, &msg);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bytes[AT_VERSION + 1] = rows[i].version;
		bytes[AT_MTU] = rows[i].mtu;
		assert_int_equal(ucm_decode(bytes, 151, &got, &why), rows[i].rc);
		if (rows[i].rc)
			continue;
		assert_int_equal(got.end.mtu, rows[i].got);
		assert_int_equal(got.end.mtu_old, !rows[i].got);
	}
}

/* UCM-74, TU-12 */
static void ucm_74_fields_without_sense(void **state)
{
	struct ucm_msg msg = example(), got;
	uint8_t bytes[UCM_MOST];
	const char *why;

	(void)state;
	ucm_encode(bytes, &msg);
	bytes[AT_SRC_LID] = 0xbf;
	bytes[AT_SRC_LID + 1] = 0xff;
	assert_int_equal(ucm_decode(bytes, 151, &got, &why), 0);
	bytes[AT_SRC_LID] = 0xc0;
	assert_int_equal(ucm_decode(bytes, 151, &got, &why), -EPROTO);
	bytes[AT_OP + 1] = UCM_DREQ;
	assert_int_equal(ucm_decode(bytes, 151, &got, &why), -EPROTO);
	bytes[AT_SRC_LID] = 0;
	/* An end names its QP, and nobody looks at that. */
	bytes[AT_SRC_QPN] = 1;
	assert_int_equal(ucm_decode(bytes, 151, &got, &why), 0);
	bytes[AT_OP + 1] = UCM_REP;
	assert_int_equal(ucm_decode(bytes, 151, &got, &why), -EPROTO);
	bytes[AT_SRC_QPN] = 0;
	bytes[AT_SRC_TYPE] = 3;
	assert_int_equal(ucm_decode(bytes, 151, &got, &why), -EPROTO);
	assert_non_null(why);
}

/* UCM-9's column, with the number and the type that UCM-61 and UCM-66 advise. */
static void ucm_66_nobody_listens(void **state)
{
	struct ucm_msg msg = example(), got;
	uint8_t request[UCM_MOST], bytes[UCM_MOST];
	const char *why;

	(void)state;
	msg.src_port = 0x20001;
	ucm_encode(request, &msg);
	assert_int_equal(ucm_refuse(bytes, request), XCHG_HEADER);
	assert_int_equal(ucm_decode(bytes, XCHG_HEADER, &got, &why), 0);
	assert_int_equal(got.op, UCM_REJ_CM);
	assert_int_equal(got.src_port, 0x4d2);
	assert_int_equal(got.dst_port, 0x20001);
	assert_int_equal(got.src_qpn, 0x921b);
	assert_int_equal(got.dst_qpn, 0x8632);
	assert_int_equal(got.src_id, 0);
	assert_int_equal(got.dst_id, 1);
	assert_int_equal(got.end.lid, 0x22);
	assert_int_equal(got.end.qp_type, XCHG_QPT_RC);
	assert_memory_equal(got.dst, request + XCHG_AT_SRC, XCHG_ADDRESS);
}

static void ucm_2_an_address_is_these_bytes(void **state)
{
	struct ucm_address addr = { .lid = 0x1234, .qpn = 0xabcdef, .type = XCHG_QPT_UD }, got;
	uint8_t bytes[XCHG_ADDRESS];
	uint16_t family;

	(void)state;
	memcpy(addr.gid, gid, sizeof(gid));
	ucm_put_address(bytes, &addr);
	memcpy(&family, bytes, sizeof(family));
	assert_int_equal(family, AF_INET6);
	assert_memory_equal(bytes + 2, ((uint8_t[]){ 0x12, 0x34, 0, 0xab, 0xcd, 0xef }), 6);
	assert_memory_equal(bytes + 8, gid, sizeof(gid));
	assert_memory_equal(bytes + 24, ((uint8_t[]){ 0, 0, 0, 4 }), 4);
	assert_int_equal(ucm_get_address(bytes, &got), 0);
	assert_int_equal(got.lid, addr.lid);
	assert_int_equal(got.qpn, addr.qpn);
	assert_memory_equal(got.gid, gid, sizeof(gid));
	assert_int_equal(got.type, XCHG_QPT_UD);
	addr.qpn = 0;
	ucm_put_address(bytes, &addr);
	assert_int_equal(ucm_get_address(bytes, &got), -EPROTO);
	addr.qpn = XCHG_QPN_MAX + 1;
	ucm_put_address(bytes, &addr);
	assert_int_equal(ucm_get_address(bytes, &got), -EPROTO);
	addr.qpn = 1;
	addr.lid = 0xc000;
	ucm_put_address(bytes, &addr);
	assert_int_equal(ucm_get_address(bytes, &got), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ucm_9_a_request_is_these_bytes),
		cmocka_unit_test(ucm_9_what_is_written_is_read),
		cmocka_unit_test(ucm_62_lengths_and_opcodes),
		cmocka_unit_test(ucm_63_stale_lengths),
		cmocka_unit_test(ver_5_versions),
		cmocka_unit_test(cm_5_an_unsaid_mtu),
		cmocka_unit_test(ucm_74_fields_without_sense),
		cmocka_unit_test(ucm_66_nobody_listens),
		cmocka_unit_test(ucm_2_an_address_is_these_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
