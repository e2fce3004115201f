/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How FPDUs are put into the batch of a connection, header, payload, trailer; for tx.c. */
#ifndef SOFT_FPDU_H
#define SOFT_FPDU_H

#include <string.h>

#include "providers/soft/base/config.h"
#include "providers/soft/engine/tx.h"
#include "providers/soft/memory/copy.h"
#include "providers/soft/wire/crc32c.h"
#include "providers/soft/wire/mpa.h"

enum {
	COPY_MAX = 256,		 /* payload up to this is copied next to its header */
	BATCH_BYTES = 256 << 10, /* a batch that large gets no further FPDU */
	ALIGNMENT = 8,
	/* Those with an RDMAP header have no payload, and that is shorter. */
	FRAME_SIZE = ALIGNMENT + WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE + WIRE_MPA_TRAILER_MAX,
};

/*
 * The program may change its memory while it is sent, also between two parts of an FPDU: a sum has
 * to be of a copy. Without memory for a larger scratch FPDUs are as short as this one asks for.
 */
static inline uint32_t copy_max(const struct soft_tx *tx)
{
	uint32_t room = tx->scratch_size - FRAME_SIZE;

	if (!tx->summed && !tx->markers)
		return COPY_MAX;
	return tx->mulpdu < room ? tx->mulpdu : room;
}

/* The longest payload behind a header of that size. */
static inline uint32_t payload_max(const struct soft_tx *tx, uint32_t header)
{
	uint32_t max = tx->mulpdu - header;

	return (tx->summed || tx->markers) && copy_max(tx) < max ? copy_max(tx) : max;
}

/* ---- The batch ---- */

static inline void batch_reset(struct soft_tx *tx)
{
	tx->seg_first = tx->seg_num = tx->mark_first = tx->mark_num = 0;
	tx->built = tx->sent = 0;
	tx->scratch_used = 0;
	tx->marker_start = tx->marker_stream;
}

static inline bool scratch_full(const struct soft_tx *tx)
{
	return tx->scratch_used + FRAME_SIZE + copy_max(tx) > tx->scratch_size;
}

static inline bool batch_full(const struct soft_tx *tx)
{
	return tx->mark_num == SOFT_TX_MARKS || tx->seg_num + SOFT_MAX_SGE + 3 > SOFT_TX_SEGS ||
	       scratch_full(tx) || tx->built >= BATCH_BYTES || (tx->markers && tx->mark_num);
}

static inline void add_seg(struct soft_tx *tx, const uint8_t *base, uint32_t len, uint32_t key)
{
	struct soft_tx_seg *last = tx->seg_num ? &tx->seg[tx->seg_num - 1] : NULL;

	tx->built += len;
	if (last && !key && !last->key && last->base + last->len == base)
		last->len += len;
	else
		tx->seg[tx->seg_num++] =
			(struct soft_tx_seg){ .base = base, .len = len, .key = key };
}

/* Room for len bytes of our own at the end of the batch. */
static inline uint8_t *add_own(struct soft_tx *tx, uint32_t len)
{
	uint8_t *place = tx->scratch + tx->scratch_used;

	tx->scratch_used += len;
	add_seg(tx, place, len, 0);
	return place;
}

/* ---- One FPDU ---- */

struct fpdu {
	uint32_t ulpdu;
	uint32_t sum;
	uint8_t *header; /* the DDP header's place */
};

static inline struct fpdu fpdu_begin(struct soft_tx *tx, uint32_t header, uint32_t payload)
{
	struct fpdu fpdu = { .ulpdu = header + payload };
	uint16_t length = htobe16((uint16_t)fpdu.ulpdu);
	uint8_t *place;

	/* Long payload is copied faster to aligned words. */
	if (tx->summed && payload > COPY_MAX)
		tx->scratch_used += -(tx->scratch_used + WIRE_MPA_LENGTH + header) % ALIGNMENT;
	place = add_own(tx, WIRE_MPA_LENGTH + header);

	memcpy(place, &length, sizeof(length));
	fpdu.header = place + WIRE_MPA_LENGTH;
	return fpdu;
}

/* The header has been written: it enters the sum. */
static inline void fpdu_header_done(const struct soft_tx *tx, struct fpdu *fpdu, uint32_t header)
{
	if (tx->summed)
		fpdu->sum =
			soft_crc32c(0, fpdu->header - WIRE_MPA_LENGTH, WIRE_MPA_LENGTH + header);
}

/* false: the memory is gone. */
static inline bool fpdu_payload(struct soft_tx *tx, struct fpdu *fpdu, const uint8_t *base,
				uint32_t len, uint32_t key, bool copy)
{
	if (!copy) {
		add_seg(tx, base, len, key);
		return soft_copy_probe(base, len);
	}
	if (tx->summed)
		return soft_copy_sum(&fpdu->sum, add_own(tx, len), base, len);
	return soft_copy_out(add_own(tx, len), base, len);
}

/* Takes what there is of the last FPDU, which has not come to its end, out of the batch again. */
static inline void fpdu_drop(struct soft_tx *tx)
{
	uint32_t end = tx->mark_num ? tx->mark[tx->mark_num - 1].end : 0, n;
	struct soft_tx_seg *seg;

	for (; tx->built > end; tx->built -= n) {
		seg = &tx->seg[tx->seg_num - 1];
		n = seg->len < tx->built - end ? seg->len : tx->built - end;
		seg->len -= n;
		if (!seg->key)
			tx->scratch_used -= n;
		if (!seg->len)
			tx->seg_num--;
	}
}

static inline void fpdu_end(struct soft_tx *tx, struct fpdu *fpdu, enum soft_tx_source source,
			    bool last)
{
	uint32_t pad = soft_mpa_pad(fpdu->ulpdu), sum = 0;
	uint8_t *place = add_own(tx, pad + (tx->markers ? 0 : WIRE_MPA_CRC_SIZE));

	memset(place, 0, pad);
	if (!tx->markers) {
		if (tx->summed)
			sum = htole32(soft_crc32c(fpdu->sum, place, pad));
		memcpy(place + pad, &sum, sizeof(sum));
	}
	tx->mark[tx->mark_num++] = (struct soft_tx_mark){
		.end = tx->built,
		.source = (uint8_t)source,
		.last = last,
	};
}

/* An untagged message whose size bytes behind the header are the caller's to write. */
static inline struct fpdu fpdu_begin_untagged(struct soft_tx *tx, uint8_t opcode, uint32_t qn,
					      uint32_t msn, uint32_t size)
{
	struct fpdu fpdu = fpdu_begin(tx, WIRE_DDP_UNTAGGED_SIZE + size, 0);

	soft_ddp_put_untagged(fpdu.header, opcode, true, qn, msn, 0);
	return fpdu;
}

/* Ends a message that is all header. */
static inline void fpdu_end_control(struct soft_tx *tx, struct fpdu *fpdu,
				    enum soft_tx_source source)
{
	fpdu_header_done(tx, fpdu, fpdu->ulpdu);
	fpdu_end(tx, fpdu, source, true);
}

#endif
