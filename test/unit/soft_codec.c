/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MPA, DDP and RDMAP as bytes: the RFCs' examples, round trips, and input that is none of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dapl/transport.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/wire/crc32c.h"
#include "providers/soft/wire/ddp.h"
#include "providers/soft/wire/mpa.h"
#include "providers/soft/wire/rdmap.h"

/* ---- MPA start-up ---- */

static void assert_same(const struct soft_mpa_frame *a, const struct soft_mpa_frame *b)
{
	assert_true(a->reply == b->reply && a->revision == b->revision &&
		    a->markers == b->markers && a->crc == b->crc && a->reject == b->reject &&
		    a->enhanced == b->enhanced && a->p2p == b->p2p && a->rtr_send == b->rtr_send &&
		    a->rtr_write == b->rtr_write && a->rtr_read == b->rtr_read &&
		    a->ird == b->ird && a->ord == b->ord && a->len == b->len);
}

static void frames_round_trip(void **state)
{
	uint8_t buf[WIRE_MPA_FRAME_MAX], data[WIRE_MPA_PD_MAX];
	struct soft_mpa_frame in, out;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	for (unsigned bits = 0; bits < 512; bits++) {
		in = (struct soft_mpa_frame){
			.reply = bits & 1,
			.revision = bits & 2 ? 2 : 1,
			.markers = bits & 4,
			.crc = bits & 8,
			.reject = (bits & 17) == 17,
			.enhanced = (bits & 34) == 34,
			.p2p = (bits & 98) == 98,
			.data = data,
			.len = (uint16_t)(bits * 7 % 509),
		};
		if (in.enhanced) {
			in.ird = (uint16_t)(bits * 31 & WIRE_MPA_DEPTH);
			in.ord = (uint16_t)(bits * 57 & WIRE_MPA_DEPTH);
		}
		if (in.p2p) {
			in.rtr_send = bits & 4;
			in.rtr_write = bits & 128;
			in.rtr_read = bits & 256;
		}
		size = soft_mpa_encode(buf, &in);
		assert_int_equal(size, 20 + in.len + (in.enhanced ? 4 : 0));
		for (size_t have = 0; have < size; have++)
			assert_int_equal(soft_mpa_frame_size(buf, have, in.reply),
					 have < 20 ? 0 : size);
		assert_int_equal(soft_mpa_decode(buf, size, in.reply, &out), 0);
		assert_memory_equal(out.data, data, in.len);
		assert_same(&in, &out);
		assert_int_equal(soft_mpa_decode(buf, size, !in.reply, &out), -EPROTO);
	}
	in.len = 509;
	in.enhanced = true;
	assert_int_equal(soft_mpa_encode(buf, &in), 0);
}

/* RFC 5044 section 7.1.1: the key as the RFC spells it. */
static void frame_bytes(void **state)
{
	static const uint8_t request[] = { 0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65,
					   0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65, 0x50, 0x02,
					   0x00, 0x05, 0x80, 0x04, 0xc0, 0x07, 0x21 };
	uint8_t buf[WIRE_MPA_FRAME_MAX];
	const struct soft_mpa_frame frame = { .revision = 2,
					      .crc = true,
					      .enhanced = true,
					      .p2p = true,
					      .rtr_write = true,
					      .rtr_read = true,
					      .ird = 4,
					      .ord = 7,
					      .data = (const uint8_t *)"!",
					      .len = 1 };

	(void)state;
	assert_int_equal(soft_mpa_encode(buf, &frame), sizeof(request));
	assert_memory_equal(buf, request, sizeof(request));
}

static void malformed_frames(void **state)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	const struct soft_mpa_frame frame = { .revision = 2, .enhanced = true };
	uint8_t buf[WIRE_MPA_FRAME_MAX];
	struct soft_mpa_frame out;
	size_t size = soft_mpa_encode(buf, &frame);

	(void)state;
	/* Seen by the first byte. */
	assert_int_equal(soft_mpa_frame_size((const uint8_t *)http, 1, false), -EPROTO);
	buf[17] = 0;
	assert_int_equal(soft_mpa_frame_size(buf, size, false), -EPROTO);
	buf[17] = 3;
	assert_int_equal(soft_mpa_frame_size(buf, size, false), -EPROTO);
	buf[17] = 2;
	buf[18] = 2;
	buf[19] = 1; /* 513 */
	assert_int_equal(soft_mpa_frame_size(buf, size, false), -EPROTO);
	buf[19] = 0;
	assert_int_equal(soft_mpa_frame_size(buf, size, false), 532);
	assert_int_equal(soft_mpa_decode(buf, size, false, &out), -EPROTO);
	buf[18] = 0;
	buf[19] = 3; /* no room for the enhanced words */
	assert_int_equal(soft_mpa_decode(buf, 23, false, &out), -EPROTO);
	buf[17] = 1; /* of revision 1 the bit means nothing */
	assert_int_equal(soft_mpa_decode(buf, 23, false, &out), 0);
	assert_false(out.enhanced);
	assert_int_equal(out.len, 3);
	assert_int_equal(soft_mpa_decode(buf, 19, false, &out), -EPROTO);
	for (size_t i = 0; i < WIRE_MPA_KEY; i++) {
		buf[i] ^= 1;
		assert_int_equal(soft_mpa_frame_size(buf, size, false), -EPROTO);
		buf[i] ^= 1;
	}
}

/* ---- FPDUs ---- */

static void geometry(void **state)
{
	(void)state;
	for (uint32_t ulpdu = 0; ulpdu < 70; ulpdu++) {
		assert_int_equal(soft_mpa_fpdu(ulpdu) % 4, 0);
		assert_true(soft_mpa_pad(ulpdu) < 4);
	}
	/* RFC 5044 section 4.5. */
	assert_int_equal(soft_mpa_mulpdu(1460, false), 1460 - 6);
	assert_int_equal(soft_mpa_mulpdu(1461, false), 1461 - 7);
	assert_int_equal(soft_mpa_mulpdu(1460, true), 1460 - (6 + 4 * 3));
	assert_int_equal(soft_mpa_mulpdu(65483, false), 65483 - 9);
	assert_int_equal(soft_mpa_mulpdu(100, false), 128);
	assert_int_equal(soft_mpa_mulpdu(0, true), 128);
	assert_int_equal(soft_mpa_mulpdu(1 << 20, false), 65532);
}

/* RFC 5044 section 4.4, figures 5 and 6. */
static void marker_examples(void **state)
{
	static const uint8_t header[] = { 0x00, 0x2a, 0x41, 0x43 };
	static const uint8_t first_crc[] = { 0x52, 0x23, 0x99, 0x83 };
	static const uint8_t second_crc[] = { 0x84, 0x92, 0x58, 0x98 };
	static const uint8_t marker[] = { 0, 0, 0, 0x14 };
	uint8_t fpdu[44] = { 0 }, out[80];
	uint32_t stream = 0;

	(void)state;
	memcpy(fpdu, header, 4);
	fpdu[15] = 1; /* MSN */
	assert_int_equal(soft_mpa_mark(out, fpdu, 44, &stream, true), 52);
	assert_int_equal(stream, 52);
	assert_memory_equal(out, "\0\0\0\0", 4);
	assert_memory_equal(out + 4, fpdu, 44);
	assert_memory_equal(out + 48, first_crc, 4);
	fpdu[15] = 2;
	stream = 0x1ec;
	assert_int_equal(soft_mpa_mark(out, fpdu, 44, &stream, true), 52);
	assert_memory_equal(out, fpdu, 20);
	assert_memory_equal(out + 20, marker, 4);
	assert_memory_equal(out + 24, fpdu + 20, 24);
	assert_memory_equal(out + 48, second_crc, 4);
	assert_int_equal(stream, 0x220 - 0x200);
}

/* Without the markers every stream is the FPDUs again, and each marker points to its FPDU. */
static void marker_streams(void **state)
{
	uint8_t fpdu[3000], out[4000], plain[3000];
	uint32_t stream = 0, position = 0;
	size_t size, len, at, n, start;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		len = 20 + round * 52 % 2900;
		for (size_t i = 0; i < len; i++)
			fpdu[i] = (uint8_t)(i + round);
		size = soft_mpa_mark(out, fpdu, len, &stream, round & 1);
		assert_true(size <= soft_mpa_marked_max(len));
		start = position % 512 ? 0 : 4;
		for (at = n = 0; at < size - 4; at++) {
			if ((position + at) % 512 == 0) {
				uint32_t back = (uint32_t)out[at + 2] << 8 | out[at + 3];

				assert_int_equal(back, at ? at - start : 0);
				at += 3;
				continue;
			}
			plain[n++] = out[at];
		}
		assert_int_equal(n, len);
		assert_memory_equal(plain, fpdu, len);
		position += (uint32_t)size;
		assert_int_equal(stream, position % 512);
	}
}

/* ---- DDP ---- */

static void ddp_round_trip(void **state)
{
	struct soft_error error;
	struct soft_ddp ddp;
	uint8_t buf[32];

	(void)state;
	assert_int_equal(
		soft_ddp_put_tagged(buf, WIRE_OP_WRITE, false, 0x12345678, 0xfedcba9876543210u),
		14);
	assert_true(soft_ddp_decode(buf, 100, &ddp, &error));
	assert_true(ddp.tagged && !ddp.last && ddp.opcode == WIRE_OP_WRITE && ddp.header == 14);
	assert_int_equal(ddp.stag, 0x12345678);
	assert_true(ddp.to == 0xfedcba9876543210u);
	assert_int_equal(ddp.ulpdu, 100);
	assert_memory_equal(ddp.raw, buf, 14);
	assert_int_equal(soft_ddp_put_untagged(buf, WIRE_OP_SEND_SE, true, 0, 0xffffffff, 7), 18);
	assert_true(soft_ddp_decode(buf, 18, &ddp, &error));
	assert_true(!ddp.tagged && ddp.last && ddp.opcode == WIRE_OP_SEND_SE && ddp.header == 18);
	assert_true(ddp.qn == 0 && ddp.msn == 0xffffffff && ddp.mo == 7);
	/* The first octets of RFC 5044's example. */
	soft_ddp_put_untagged(buf, WIRE_OP_SEND, true, 0, 1, 0);
	assert_int_equal(buf[0], 0x41);
	assert_int_equal(buf[1], 0x43);
}

static void refused_as(const uint8_t *buf, uint8_t layer, uint8_t etype, uint8_t code)
{
	struct soft_error error = { 9, 9, 9 };
	struct soft_ddp ddp;

	assert_false(soft_ddp_decode(buf, 18, &ddp, &error));
	assert_int_equal(error.layer, layer);
	assert_int_equal(error.etype, etype);
	assert_int_equal(error.code, code);
}

static void malformed_ddp(void **state)
{
	uint8_t buf[32] = { 0 };

	(void)state;
	soft_ddp_put_tagged(buf, WIRE_OP_WRITE, true, 1, 1);
	buf[0] ^= 2; /* version 3 */
	refused_as(buf, WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_VERSION);
	soft_ddp_put_untagged(buf, WIRE_OP_SEND, true, 0, 1, 0);
	buf[0] &= (uint8_t)~3;
	refused_as(buf, WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, WIRE_UNTAGGED_VERSION);
	soft_ddp_put_untagged(buf, WIRE_OP_SEND, true, 0, 1, 0);
	buf[1] |= 0x80; /* RDMAP version 3 */
	refused_as(buf, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_VERSION);
	soft_ddp_put_untagged(buf, WIRE_OP_SEND, true, 4, 1, 0);
	refused_as(buf, WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, WIRE_UNTAGGED_QN);
	soft_ddp_put_untagged(buf, WIRE_OP_SEND, true, 3, 1, 0); /* on that of atomic responses */
	refused_as(buf, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_OPCODE);
	soft_ddp_put_untagged(buf, WIRE_OP_SEND, true, 1, 1, 0); /* on the read queue */
	refused_as(buf, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_OPCODE);
	soft_ddp_put_untagged(buf, WIRE_OP_WRITE, true, 0, 1, 0); /* untagged */
	refused_as(buf, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_OPCODE);
	for (uint8_t opcode = 12; opcode < 16; opcode++) {
		soft_ddp_put_untagged(buf, opcode, true, 0, 1, 0);
		refused_as(buf, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_OPCODE);
	}
	/* The messages of RFC 7306: each on its queue, untagged, and version 1 only. */
	for (uint8_t opcode = WIRE_OP_IMMEDIATE; opcode <= WIRE_OP_ATOMIC_RESPONSE; opcode++) {
		static const uint8_t queue[] = { 0, 0, 1, 3 };
		struct soft_error error;
		struct soft_ddp ddp;

		for (uint8_t qn = 0; qn < 4; qn++) {
			soft_ddp_put_untagged(buf, opcode, true, qn, 1, 0);
			if (qn == queue[opcode - 8])
				assert_true(soft_ddp_decode(buf, 18, &ddp, &error));
			else
				refused_as(buf, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION,
					   WIRE_OPER_OPCODE);
		}
		soft_ddp_put_untagged(buf, opcode, true, queue[opcode - 8], 1, 0);
		buf[1] &= 0x3f;
		refused_as(buf, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_VERSION);
		soft_ddp_put_tagged(buf, opcode, true, 1, 1);
		refused_as(buf, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_OPCODE);
	}
}

/* The tag of a Send with Invalidate: octets two to five (RFC 5040 section 4.1). */
static void invalidate_tag(void **state)
{
	struct soft_error error;
	struct soft_ddp ddp;
	uint8_t buf[18];

	(void)state;
	soft_ddp_put_untagged(buf, WIRE_OP_SEND_SE_INVALIDATE, true, 0, 9, 0);
	soft_ddp_put_invalidate(buf, 0x01020304);
	assert_int_equal(buf[1], 0x46);
	assert_memory_equal(buf + 2, "\1\2\3\4\0\0\0\0\0\0\0\11", 12);
	assert_true(soft_ddp_decode(buf, 18, &ddp, &error));
	assert_int_equal(ddp.stag, 0x01020304);
}

/* ---- RDMAP ---- */

static void terminate_round_trip(void **state)
{
	struct soft_terminate in = { .error = { 0, 1, 2 } }, out;
	uint8_t buf[SOFT_TERMINATE_MAX], header[18];
	struct soft_error ignored;
	size_t size;

	(void)state;
	assert_int_equal(soft_rdmap_put_terminate(buf, &in), 4);
	assert_true(soft_rdmap_get_terminate(buf, 4, &out));
	assert_true(out.error.etype == 1 && out.error.code == 2 && !out.has_ddp && !out.has_read);
	soft_ddp_put_untagged(header, WIRE_OP_READ_REQUEST, true, WIRE_QN_READ, 77, 0);
	soft_ddp_decode(header, 46, &in.ddp, &ignored);
	in.has_ddp = in.has_read = true;
	in.read = (struct soft_read_request){ 1, 2, 3, 4, 5 };
	size = soft_rdmap_put_terminate(buf, &in);
	assert_int_equal(size, 4 + 2 + 18 + 28);
	assert_int_equal(buf[0], 0x01);
	assert_int_equal(buf[2], 0xe0);
	/* However much of it arrives. */
	for (size_t len = 0; len <= size; len++) {
		assert_int_equal(soft_rdmap_get_terminate(buf, len, &out), len >= 4);
		assert_int_equal(out.has_ddp, len >= 24);
		assert_int_equal(out.has_read, len >= 52);
	}
	assert_int_equal(out.ddp.msn, 77);
	assert_int_equal(out.ddp.ulpdu, 46);
	assert_true(out.read.sink_stag == 1 && out.read.sink_to == 2 && out.read.size == 3 &&
		    out.read.source_stag == 4 && out.read.source_to == 5);
}

/* RFC 7306 section 5.1.1, bit by bit as its text has it. */
static uint64_t slow_fetch_add(uint64_t old, uint64_t add, uint64_t mask)
{
	uint64_t result = 0, carry = 0, sum;

	for (int bit = 0; bit < 64; bit++) {
		sum = carry + (old >> bit & 1) + (add >> bit & 1);
		carry = sum >> 1 & ~(mask >> bit) & 1;
		result |= (sum & 1) << bit;
	}
	return result;
}

static void atomics(void **state)
{
	struct soft_atomic in = { WIRE_ATOMIC_CMP_SWAP,
				  0x11121314,
				  0x21222324,
				  0x3132333435363738,
				  0x41,
				  0x51,
				  0x61,
				  0x71 },
			   out;
	uint64_t old, value, x = 88172645463325252u;
	uint8_t buf[52];
	uint32_t id;

	(void)state;
	soft_rdmap_put_atomic(buf, &in);
	assert_memory_equal(buf, "\0\0\0\2\x11\x12\x13\x14\x21\x22\x23\x24\x31\x32\x33", 15);
	for (int i = 0; i < 4; i++)
		assert_int_equal(buf[20 + 8 * i + 7], 0x41 + 0x10 * i);
	buf[0] = 0xff; /* reserved bits are ignored */
	buf[3] |= 0xf0;
	soft_rdmap_get_atomic(buf, &out);
	assert_true(out.code == in.code && out.id == in.id && out.stag == in.stag &&
		    out.to == in.to && out.data == in.data && out.mask == in.mask &&
		    out.compare == in.compare && out.compare_mask == in.compare_mask);
	assert_true(soft_atomic_known(&in));
	soft_rdmap_put_value(buf, 0x01020304, 0x1112131415161718);
	assert_memory_equal(buf, "\1\2\3\4\x11\x12\x13\x14\x15\x16\x17\x18", 12);
	soft_rdmap_get_value(buf, &id, &value);
	assert_true(id == 0x01020304 && value == 0x1112131415161718);
	for (int i = 0; i < 10000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		old = x * 0x9e3779b97f4a7c15u;
		in = (struct soft_atomic){ .code = WIRE_ATOMIC_FETCH_ADD,
					   .data = x,
					   .mask = i % 3 ? x * 31 : 0 };
		assert_int_equal(soft_atomic_result(&in, old),
				 slow_fetch_add(old, in.data, in.mask));
		in.code = WIRE_ATOMIC_CMP_SWAP;
		in.compare_mask = 0xff00;
		in.compare = (old & 0xff00) | 0x12;
		assert_int_equal(soft_atomic_result(&in, old),
				 (old & ~in.mask) | (in.data & in.mask));
		in.compare ^= 0x100;
		assert_int_equal(soft_atomic_result(&in, old), old);
	}
	in.code = 1;
	assert_false(soft_atomic_known(&in));
}

/* DTO-84. */
static void statuses(void **state)
{
	static const struct {
		struct soft_error error;
		uint32_t status;
	} rows[] = {
		{ { 0, 0, 0 }, TP_WC_REMOTE_RESPONDER }, { { 0, 1, 0 }, TP_WC_REMOTE_ACCESS },
		{ { 0, 1, 1 }, TP_WC_REMOTE_ACCESS },	 { { 0, 1, 2 }, TP_WC_REMOTE_ACCESS },
		{ { 0, 1, 0xff }, TP_WC_REMOTE_ACCESS }, { { 0, 2, 6 }, TP_WC_REMOTE_RESPONDER },
		{ { 0, 2, 9 }, TP_WC_REMOTE_ACCESS },	 { { 1, 0, 0 }, TP_WC_REMOTE_RESPONDER },
		{ { 1, 1, 0 }, TP_WC_REMOTE_ACCESS },	 { { 1, 1, 1 }, TP_WC_REMOTE_ACCESS },
		{ { 1, 2, 2 }, TP_WC_REMOTE_RESPONDER }, { { 1, 2, 5 }, TP_WC_REMOTE_RESPONDER },
		{ { 2, 0, 2 }, TP_WC_TRANSPORT },	 { { 15, 3, 1 }, TP_WC_TRANSPORT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(soft_error_status(&rows[i].error), rows[i].status);
		assert_non_null(soft_error_text(&rows[i].error));
	}
}

/* Random bytes are never more than refused. */
static void noise(void **state)
{
	struct soft_mpa_frame frame;
	struct soft_terminate term;
	struct soft_error error;
	struct soft_ddp ddp;
	uint64_t random = 88172645463325252u;
	uint8_t *buf;
	size_t len;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		len = round % 64;
		buf = malloc(len + 1);
		for (size_t i = 0; i < len; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			buf[i] = (uint8_t)random;
		}
		if (round & 1)
			memcpy(buf, WIRE_MPA_KEY_REQUEST, len < 16 ? len : 16);
		(void)soft_mpa_decode(buf, len, false, &frame);
		(void)soft_rdmap_get_terminate(buf, len, &term);
		if (len && len >= soft_ddp_header(buf[0]))
			(void)soft_ddp_decode(buf, (uint16_t)len, &ddp, &error);
		free(buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_round_trip),
		cmocka_unit_test(frame_bytes),
		cmocka_unit_test(malformed_frames),
		cmocka_unit_test(geometry),
		cmocka_unit_test(marker_examples),
		cmocka_unit_test(marker_streams),
		cmocka_unit_test(ddp_round_trip),
		cmocka_unit_test(malformed_ddp),
		cmocka_unit_test(invalidate_tag),
		cmocka_unit_test(atomics),
		cmocka_unit_test(terminate_round_trip),
		cmocka_unit_test(statuses),
		cmocka_unit_test(noise),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
