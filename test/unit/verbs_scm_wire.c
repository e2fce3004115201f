/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of the socket connection manager as bytes, by the clauses of doc/spec/08-cm-wire.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "providers/verbs/cm/scm_wire.h"

enum {
	AT_VERSION = 0,
	AT_OP = 2,
	AT_LEN = 16,
	AT_READS = 28,
	AT_MTU = 32,
	AT_LID = 38,
	AT_QPN = 40,
	AT_TYPE = 63,
};

static const uint8_t gid[16] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0x11, 0, 0x22 };
static const uint8_t data[XCHG_DATA + 1] = { 0xa0, 0xa1, 0xa2 };

/* The example of SCM-6. */
static struct scm_msg example(void)
{
	struct scm_msg msg = { .op = SCM_REQ,
			       .version = XCHG_VERSION,
			       .end.reads_in = 4,
			       .end.mtu = 5,
			       .end.lid = 0x22,
			       .end.qpn = 0x4ca202,
			       .end.qp_type = XCHG_QPT_RC,
			       .addr = { .sin_family = AF_INET, .sin_port = htons(43210) },
			       .data = data,
			       .len = 3 };

	msg.addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memcpy(msg.end.gid, gid, sizeof(gid));
	return msg;
}

static void put16(uint8_t *at, unsigned int value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void scm_6_a_request_is_these_bytes(void **state)
{
	/* The words of four bytes that are not 0; those of host order are little endian. */
	static const struct {
		uint8_t at, bytes[4];
	} words[] = {
		{ 0, { 0x00, 0x09, 0x00, 0x01 } },   { 16, { 0x00, 0x03, 0x00, 0x00 } },
		{ 28, { 0x04, 0x00, 0x00, 0x00 } },  { 32, { 0x05, 0x00, 0x00, 0x00 } },
		{ 36, { 0x00, 0x00, 0x00, 0x22 } },  { 40, { 0x00, 0x4c, 0xa2, 0x02 } },
		{ 44, { 0xfe, 0x80, 0x00, 0x00 } },  { 52, { 0x00, 0x02, 0xc9, 0x03 } },
		{ 56, { 0x00, 0x11, 0x00, 0x22 } },  { 60, { 0x00, 0x00, 0x00, 0x02 } },
		{ 64, { 0x02, 0x00, 0xa8, 0xca } },  { 68, { 0x7f, 0x00, 0x00, 0x01 } },
		{ 148, { 0xa0, 0xa1, 0xa2, 0x00 } },
	};
	uint8_t wanted[XCHG_MOST + 2] = { 0 }, bytes[XCHG_MOST] = { 0 };
	struct scm_msg msg = example();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		memcpy(wanted + words[i].at, words[i].bytes, 4);
	if (htons(1) == 1) { /* CM-2 */
		wanted[64] = 0;
		wanted[65] = 2;
	}
	memset(bytes, 0xee, sizeof(bytes));
	assert_int_equal(scm_encode(bytes, &msg), 151);
	assert_memory_equal(bytes, wanted, 151);
}

static void assert_same(const struct scm_msg *a, const struct scm_msg *b)
{
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->version, b->version);
	assert_int_equal(a->end.reads_in, b->end.reads_in);
	assert_int_equal(a->end.mtu, b->end.mtu);
	assert_int_equal(a->end.lid, b->end.lid);
	assert_int_equal(a->end.qpn, b->end.qpn);
	assert_memory_equal(a->end.gid, b->end.gid, sizeof(a->end.gid));
	assert_int_equal(a->end.qp_type, b->end.qp_type);
	assert_memory_equal(&a->addr, &b->addr, sizeof(a->addr));
	assert_int_equal(a->len, b->len);
	if (a->len)
		assert_memory_equal(a->data, b->data, a->len);
}

static void scm_6_what_is_written_is_read(void **state)
{
	struct scm_msg msg = example(), got;
	uint8_t bytes[XCHG_MOST];
	const char *why;
	size_t size, have;

	(void)state;
	for (msg.len = 0; msg.len <= XCHG_DATA; msg.len++) {
		msg.op = msg.len % 2 ? SCM_REQ : SCM_REP;
		size = scm_encode(bytes, &msg);
		assert_int_equal(size, XCHG_HEADER + msg.len);
		for (have = 0; have <= size; have++)
			assert_int_equal(scm_size(bytes, have), have < 18 ? 0 : size);
		assert_int_equal(scm_decode(bytes, size, msg.op == SCM_REP, &got, &why), 0);
		assert_same(&msg, &got);
		assert_ptr_equal(got.data, bytes + XCHG_HEADER);
		assert_int_equal(scm_decode(bytes, size - 1, msg.op == SCM_REP, &got, &why),
				 -EPROTO);
	}
	/* CM-13 */
	assert_int_equal(scm_encode(bytes, &msg), 0);
	assert_int_equal(scm_reject(bytes, bytes, SCM_REJ_USER, data, XCHG_DATA + 1), 0);
}

static void scm_6_a_rejection_repeats_the_request(void **state)
{
	struct scm_msg msg = example(), got;
	uint8_t request[XCHG_MOST], bytes[XCHG_MOST];
	const char *why;

	(void)state;
	scm_encode(request, &msg);
	assert_int_equal(scm_reject(bytes, request, SCM_REJ_USER, data, 1), XCHG_HEADER + 1);
	assert_int_equal(bytes[AT_OP + 1], SCM_REJ_USER);
	assert_int_equal(bytes[AT_LEN + 1], 1);
	bytes[AT_OP + 1] = SCM_REQ;
	bytes[AT_LEN + 1] = 3;
	assert_memory_equal(bytes, request, XCHG_HEADER);
	assert_int_equal(scm_reject(bytes, request, SCM_REJ_CM, NULL, 0), XCHG_HEADER);
	assert_int_equal(scm_decode(bytes, XCHG_HEADER, true, &got, &why), 0);
	assert_int_equal(got.op, SCM_REJ_CM);
	assert_int_equal(got.len, 0);
}

/* SCM-7, SCM-47: what else comes instead of a consent is a rejection below the program. */
static void scm_7_other_answers_are_refusals(void **state)
{
	struct scm_msg msg = example(), got;
	uint8_t bytes[XCHG_MOST];
	const char *why;
	unsigned int op;

	(void)state;
	scm_encode(bytes, &msg);
	for (op = 0; op < 65536; op += op < 16 ? 1 : 997) {
		put16(bytes + AT_OP, op);
		assert_int_equal(scm_decode(bytes, 151, true, &got, &why), 0);
		assert_int_equal(got.op, op == SCM_REP	      ? SCM_REP
					 : op == SCM_REJ_USER ? SCM_REJ_USER
							      : SCM_REJ_CM);
		assert_int_equal(scm_decode(bytes, 151, false, &got, &why),
				 op == SCM_REQ ? 0 : -EPROTO);
	}
}

/* CM-4, VER-5; SCM-42 says which have two bytes more, SCM-49 whose MTU counts. */
static void ver_5_versions(void **state)
{
	struct scm_msg msg = example(), got;
	uint8_t bytes[XCHG_MOST] = { 0 };
	const char *why;
	unsigned int version;
	size_t size;

	(void)state;
	for (version = 0; version < 65536; version += version < 16 ? 1 : 991) {
		msg.version = (uint16_t)version;
		msg.stray = version < 8;
		size = scm_encode(bytes, &msg);
		assert_int_equal(size, 148 + 3 + (version < 8 ? 2 : 0));
		if (version < 7) {
			assert_int_equal(scm_size(bytes, 2), -EPROTONOSUPPORT);
			assert_int_equal(scm_decode(bytes, size, false, &got, &why), -EPROTO);
			continue;
		}
		assert_int_equal(scm_size(bytes, size), size);
		assert_int_equal(scm_decode(bytes, size, false, &got, &why), 0);
		assert_int_equal(got.end.mtu, version < 9 ? 0 : 5);
		assert_int_equal(got.end.reads_in, 4);
		assert_memory_equal(got.data, data, 3);
	}
}

/* SCM-9, SCM-44, and SCM-41 for the old form. */
static void scm_9_too_much_data_is_refused(void **state)
{
	struct scm_msg msg = example();
	uint8_t bytes[XCHG_MOST];

	(void)state;
	scm_encode(bytes, &msg);
	put16(bytes + AT_LEN, 68);
	assert_int_equal(scm_size(bytes, XCHG_HEADER), 148 + 68);
	put16(bytes + AT_LEN, 69);
	assert_int_equal(scm_size(bytes, XCHG_HEADER), -EMSGSIZE);
	put16(bytes + AT_LEN, 65535);
	assert_int_equal(scm_size(bytes, 18), -EMSGSIZE);
	put16(bytes + AT_VERSION, 7);
	assert_int_equal(scm_size(bytes, 18), -EMSGSIZE);
	put16(bytes + AT_LEN, 118);
	assert_int_equal(scm_size(bytes, 18), 150 + 118);
	put16(bytes + AT_LEN, 119);
	assert_int_equal(scm_size(bytes, 18), -EMSGSIZE);
}

static void scm_15_a_second_attempt_has_two_bytes_more(void **state)
{
	struct scm_msg msg = example(), got;
	uint8_t bytes[XCHG_MOST + 4], plain[XCHG_MOST];
	const char *why;
	size_t size;

	(void)state;
	size = scm_encode(plain, &msg);
	msg.stray = true;
	assert_int_equal(scm_encode(bytes, &msg), size + 2);
	assert_memory_equal(bytes + XCHG_HEADER, data, 2);
	assert_int_equal(scm_drop_stray(bytes, size, size + 2), size);
	assert_memory_equal(bytes, plain, size);
	/* Not those, one more, one less, or none. */
	assert_int_equal(scm_drop_stray(bytes, size, size), size);
	assert_int_equal(scm_drop_stray(bytes, size, size + 1), size + 1);
	assert_int_equal(scm_drop_stray(bytes, size, size + 3), size + 3);
	assert_memory_equal(bytes, plain, size);
	/* Without data they are 0. */
	msg.len = 0;
	assert_int_equal(scm_encode(bytes, &msg), XCHG_HEADER + 2);
	assert_true(!bytes[XCHG_HEADER] && !bytes[XCHG_HEADER + 1]);
	/* A peer whose version has them anyway. */
	put16(bytes + AT_VERSION, 7);
	assert_int_equal(scm_drop_stray(bytes, XCHG_HEADER + 2, XCHG_HEADER + 4), XCHG_HEADER + 4);
	assert_int_equal(scm_decode(bytes, XCHG_HEADER + 2, false, &got, &why), 0);
}

static void fields_without_sense_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		size_t size;
		int rc;
	} rows[] = {
		{ AT_MTU, 0, 1, 0 },
		{ AT_MTU, 1, 1, 0 },
		{ AT_MTU, 5, 1, 0 },
		{ AT_MTU, 6, 1, -EPROTO },
		{ AT_MTU, 255, 1, -EPROTO },
		{ AT_LID, 0, 2, 0 }, /* RoCE */
		{ AT_LID, 0xbfff, 2, 0 },
		{ AT_LID, 0xc000, 2, -EPROTO },
		{ AT_LID, 0xffff, 2, -EPROTO },
		{ AT_QPN, 0, 4, -EPROTO },
		{ AT_QPN, 2, 4, 0 },
		{ AT_QPN, 0xffffff, 4, 0 },
		{ AT_QPN, 0x1000000, 4, -EPROTO },
		{ AT_TYPE, 2, 1, 0 },
		{ AT_TYPE, 4, 1, 0 },
		{ AT_TYPE, 0, 1, -EPROTO },
		{ AT_TYPE, 3, 1, -EPROTO },
		{ AT_READS, 255, 1, 0 },
	};
	struct scm_msg msg = example(), got;
	uint8_t bytes[XCHG_MOST];
	const char *why;
	size_t i, b;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		scm_encode(bytes, &msg);
		for (b = 0; b < rows[i].size; b++)
			bytes[rows[i].at + b] =
				(uint8_t)(rows[i].value >> 8 * (rows[i].size - 1 - b));
		assert_int_equal(scm_decode(bytes, 151, false, &got, &why), rows[i].rc);
		assert_true(!rows[i].rc == !why);
		/* A rejection repeats what we sent: none of it is looked at. */
		bytes[AT_OP + 1] = SCM_REJ_USER;
		assert_int_equal(scm_decode(bytes, 151, true, &got, &why), 0);
	}
}

/* SCM-6, SCM-17, SCM-18 */
static void scm_17_words(void **state)
{
	static const uint8_t rtu[] = { 0, 9, 0, 5 }, newer[] = { 0, 11, 0, 5 },
			     old[] = { 0, 5, 0, 5 }, other[] = { 0, 9, 0, 6 };
	uint8_t bytes[SCM_WORD];

	(void)state;
	scm_put_rtu(bytes, 9);
	assert_memory_equal(bytes, rtu, sizeof(rtu));
	scm_put_rtu(bytes, 7);
	assert_int_equal(bytes[1], 7);
	assert_true(scm_is_rtu(rtu) && scm_is_rtu(newer) && scm_is_rtu(bytes));
	assert_false(scm_is_rtu(old));
	assert_false(scm_is_rtu(other));
	assert_false(scm_is_rtu(scm_end_word));
	assert_memory_equal(scm_end_word, ((uint8_t[]){ 0, 0, 0xde, 0xad }), SCM_WORD);
}

/* SCM-1, SCM-3 */
static void scm_1_ports_of_qualifiers(void **state)
{
	(void)state;
	assert_int_equal(scm_port(1), 1001);
	assert_int_equal(scm_port(64535), 65535);
	assert_int_equal(scm_port(64536), 0);
	assert_int_equal(scm_port(65535), 999);
	assert_int_equal(scm_port(65536 + 45), 1045);
	assert_int_equal(scm_qual(1045), 45);
	assert_int_equal(scm_qual(999), 65535);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scm_6_a_request_is_these_bytes),
		cmocka_unit_test(scm_6_what_is_written_is_read),
		cmocka_unit_test(scm_6_a_rejection_repeats_the_request),
		cmocka_unit_test(scm_7_other_answers_are_refusals),
		cmocka_unit_test(ver_5_versions),
		cmocka_unit_test(scm_9_too_much_data_is_refused),
		cmocka_unit_test(scm_15_a_second_attempt_has_two_bytes_more),
		cmocka_unit_test(fields_without_sense_are_refused),
		cmocka_unit_test(scm_17_words),
		cmocka_unit_test(scm_1_ports_of_qualifiers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
