/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MPA: start-up frames and the geometry of FPDUs. Pure: bytes in, bytes out. */
#ifndef SOFT_MPA_H
#define SOFT_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/soft/wire/wire.h"

enum {
	SOFT_MPA_REV_MAX = 2,
	SOFT_MPA_NO_DEPTH =
		WIRE_MPA_DEPTH, /* of ird and ord: not negotiated (RFC 6581 section 9.1) */
};

/* A start-up frame. */
struct soft_mpa_frame {
	bool reply;
	uint8_t revision;
	bool markers, crc, reject, large;
	bool enhanced; /* the members up to ord are valid */
	bool p2p, rtr_send, rtr_write, rtr_read;
	uint16_t ird, ord;
	const uint8_t *data; /* the consumer's private data */
	uint16_t len;
};

/*
 * How many bytes the frame has that starts with these: 0 if more than have bytes must be seen to
 * tell, -EPROTO if it is no frame of the wanted kind.
 */
int soft_mpa_frame_size(const uint8_t *buf, size_t have, bool reply);

/* Takes a whole frame apart; data points into buf. -EPROTO if it is malformed. */
int soft_mpa_decode(const uint8_t *buf, size_t len, bool reply, struct soft_mpa_frame *frame);

/* Writes a frame of at most WIRE_MPA_FRAME_MAX bytes; returns its size, or 0 if the data is too
 * long. */
size_t soft_mpa_encode(uint8_t *buf, const struct soft_mpa_frame *frame);

/* The largest ULPDU for a TCP segment size (RFC 5044 section 4.5). */
uint32_t soft_mpa_mulpdu(uint32_t emss, bool markers);

/* Pad bytes behind a ULPDU of this size. */
static inline uint32_t soft_mpa_pad(uint32_t ulpdu)
{
	return -(WIRE_MPA_LENGTH + ulpdu) & 3;
}

/* All bytes of the FPDU of a ULPDU, markers not counted. */
static inline uint32_t soft_mpa_fpdu(uint32_t ulpdu)
{
	return WIRE_MPA_LENGTH + ulpdu + soft_mpa_pad(ulpdu) + WIRE_MPA_CRC_SIZE;
}

/* Room that soft_mpa_mark needs for an FPDU of len bytes without its CRC. */
static inline size_t soft_mpa_marked_max(size_t len)
{
	return len + WIRE_MPA_CRC_SIZE +
	       WIRE_MPA_MARKER * ((len + WIRE_MPA_CRC_SIZE) / (WIRE_MPA_MARKER_INTERVAL - 4) + 2);
}

/*
 * Copies an FPDU that lacks its CRC (len bytes, pad included) to out with markers and CRC. *stream
 * is the position in the stream since full operation began, modulo the interval, and moves on.
 * Returns the size.
 */
size_t soft_mpa_mark(uint8_t *out, const uint8_t *fpdu, size_t len, uint32_t *stream, bool crc);

#endif
