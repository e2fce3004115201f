/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/wire/mpa.h"

#include <errno.h>
#include <string.h>

#include "providers/soft/wire/crc32c.h"

int soft_mpa_frame_size(const uint8_t *buf, size_t have, bool reply)
{
	const char *key = reply ? WIRE_MPA_KEY_REPLY : WIRE_MPA_KEY_REQUEST;
	struct wire_mpa_frame head;
	uint16_t length;

	/* Other people's protocols are recognised by their first bytes, not after a timeout. */
	if (memcmp(buf, key, have < WIRE_MPA_KEY ? have : WIRE_MPA_KEY))
		return -EPROTO;
	if (have < sizeof(head))
		return 0;
	memcpy(&head, buf, sizeof(head));
	length = be16toh(head.pd_length);
	if (length > WIRE_MPA_PD_MAX || head.revision < 1 || head.revision > SOFT_MPA_REV_MAX)
		return -EPROTO;
	return (int)sizeof(head) + length;
}

static void decode_enhanced(const uint8_t *data, struct soft_mpa_frame *frame)
{
	struct wire_mpa_enhanced words;
	uint16_t ird, ord;

	memcpy(&words, data, sizeof(words));
	ird = be16toh(words.ird);
	ord = be16toh(words.ord);
	frame->p2p = ird & WIRE_MPA_P2P;
	/* Without A the other flags mean nothing (RFC 6581 section 9.2). */
	frame->rtr_send = frame->p2p && (ird & WIRE_MPA_RTR_SEND);
	frame->rtr_write = frame->p2p && (ord & WIRE_MPA_RTR_WRITE);
	frame->rtr_read = frame->p2p && (ord & WIRE_MPA_RTR_READ);
	frame->ird = ird & WIRE_MPA_DEPTH;
	frame->ord = ord & WIRE_MPA_DEPTH;
}

int soft_mpa_decode(const uint8_t *buf, size_t len, bool reply, struct soft_mpa_frame *frame)
{
	struct wire_mpa_frame head;

	memset(frame, 0, sizeof(*frame));
	if (len < sizeof(head) || soft_mpa_frame_size(buf, len, reply) != (int)len)
		return -EPROTO;
	memcpy(&head, buf, sizeof(head));
	frame->reply = reply;
	frame->revision = head.revision;
	frame->markers = head.flags & WIRE_MPA_MARKERS;
	frame->crc = head.flags & WIRE_MPA_CRC;
	frame->large = head.flags & WIRE_MPA_LARGE;
	frame->reject = reply && (head.flags & WIRE_MPA_REJECT);
	frame->enhanced = head.revision >= 2 && (head.flags & WIRE_MPA_ENHANCED);
	frame->data = buf + sizeof(head);
	frame->len = (uint16_t)(len - sizeof(head));
	if (frame->enhanced) {
		if (frame->len < sizeof(struct wire_mpa_enhanced))
			return -EPROTO;
		decode_enhanced(frame->data, frame);
		frame->data += sizeof(struct wire_mpa_enhanced);
		frame->len -= (uint16_t)sizeof(struct wire_mpa_enhanced);
	}
	return 0;
}

static void encode_enhanced(uint8_t *data, const struct soft_mpa_frame *frame)
{
	uint16_t ird = frame->ird & WIRE_MPA_DEPTH, ord = frame->ord & WIRE_MPA_DEPTH;
	struct wire_mpa_enhanced words;

	if (frame->p2p) {
		ird |= WIRE_MPA_P2P | (frame->rtr_send ? WIRE_MPA_RTR_SEND : 0);
		ord |= (frame->rtr_write ? WIRE_MPA_RTR_WRITE : 0) |
		       (frame->rtr_read ? WIRE_MPA_RTR_READ : 0);
	}
	words.ird = htobe16(ird);
	words.ord = htobe16(ord);
	memcpy(data, &words, sizeof(words));
}

size_t soft_mpa_encode(uint8_t *buf, const struct soft_mpa_frame *frame)
{
	size_t extra = frame->enhanced ? sizeof(struct wire_mpa_enhanced) : 0;
	struct wire_mpa_frame head = { .revision = frame->revision };

	if (frame->len + extra > WIRE_MPA_PD_MAX)
		return 0;
	memcpy(head.key, frame->reply ? WIRE_MPA_KEY_REPLY : WIRE_MPA_KEY_REQUEST, WIRE_MPA_KEY);
	head.flags = (frame->markers ? WIRE_MPA_MARKERS : 0) | (frame->crc ? WIRE_MPA_CRC : 0) |
		     (frame->large ? WIRE_MPA_LARGE : 0) | (frame->reject ? WIRE_MPA_REJECT : 0) |
		     (frame->enhanced ? WIRE_MPA_ENHANCED : 0);
	head.pd_length = htobe16((uint16_t)(frame->len + extra));
	memcpy(buf, &head, sizeof(head));
	if (extra)
		encode_enhanced(buf + sizeof(head), frame);
	if (frame->len)
		memcpy(buf + sizeof(head) + extra, frame->data, frame->len);
	return sizeof(head) + extra + frame->len;
}

uint32_t soft_mpa_mulpdu(uint32_t emss, bool markers)
{
	uint32_t overhead = WIRE_MPA_LENGTH + WIRE_MPA_CRC_SIZE + emss % 4;

	if (markers)
		overhead += WIRE_MPA_MARKER *
			    ((emss + WIRE_MPA_MARKER_INTERVAL - 1) / WIRE_MPA_MARKER_INTERVAL);
	if (emss < overhead + WIRE_MPA_MIN_MULPDU)
		return WIRE_MPA_MIN_MULPDU;
	emss -= overhead;
	return emss < WIRE_MPA_MAX_MULPDU ? emss : WIRE_MPA_MAX_MULPDU;
}

/* ---- Markers ---- */

struct marking {
	uint8_t *out;
	size_t size;
	size_t start; /* of the ULPDU_Length field in out */
	uint32_t stream;
};

static void put_marker(struct marking *m, bool between)
{
	uint16_t back = between ? 0 : (uint16_t)(m->size - m->start);
	uint8_t marker[WIRE_MPA_MARKER] = { 0, 0, (uint8_t)(back >> 8), (uint8_t)back };

	memcpy(m->out + m->size, marker, sizeof(marker));
	m->size += sizeof(marker);
	m->stream += sizeof(marker);
}

size_t soft_mpa_mark(uint8_t *out, const uint8_t *fpdu, size_t len, uint32_t *stream, bool crc)
{
	struct marking m = { .out = out, .stream = *stream };
	uint32_t sum = 0;
	size_t n;

	/* A marker between two FPDUs belongs to the second and points nowhere (section 4.3). */
	if (m.stream % WIRE_MPA_MARKER_INTERVAL == 0) {
		put_marker(&m, true);
		m.start = m.size;
	}
	while (len) {
		n = WIRE_MPA_MARKER_INTERVAL - m.stream % WIRE_MPA_MARKER_INTERVAL;
		if (n > len)
			n = len;
		memcpy(m.out + m.size, fpdu, n);
		m.size += n;
		m.stream += (uint32_t)n;
		fpdu += n;
		len -= n;
		/* One that falls between pad and CRC is in this FPDU's sum as well (section 4.4).
		 */
		if (m.stream % WIRE_MPA_MARKER_INTERVAL == 0)
			put_marker(&m, false);
	}
	if (crc)
		sum = htole32(soft_crc32c(0, out, m.size));
	memcpy(m.out + m.size, &sum, sizeof(sum));
	*stream = (m.stream + (uint32_t)sizeof(sum)) % WIRE_MPA_MARKER_INTERVAL;
	return m.size + sizeof(sum);
}
