/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The last bytes of a connection: the rest of an FPDU that is partly out, and the Terminate. */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "providers/soft/engine/conn.h"
#include "providers/soft/memory/copy.h"
#include "providers/soft/wire/crc32c.h"
#include "providers/soft/wire/mpa.h"

/* The bytes of the FPDU that is partly out, and how many; -1 if some are not there any more. */
static ssize_t fpdu_rest(struct soft_conn *conn, uint8_t *out)
{
	struct soft_tx *tx = &conn->tx;
	uint32_t start = tx->mark_first ? tx->mark[tx->mark_first - 1].end : 0, left, n;
	ssize_t size = 0;

	if (soft_tx_idle(tx) || tx->sent == start)
		return 0;
	if (!soft_tx_valid(conn))
		return -1;
	left = tx->mark[tx->mark_first].end - tx->sent;
	for (uint32_t i = tx->seg_first; left; i++, left -= n) {
		n = tx->seg[i].len < left ? tx->seg[i].len : left;
		if (!soft_copy_out(out + size, tx->seg[i].base, n))
			return -1;
		size += n;
	}
	return size;
}

static size_t terminate_fpdu(struct soft_conn *conn, uint8_t *out)
{
	uint8_t plain[WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE + SOFT_TERMINATE_MAX + 3] = { 0 };
	struct soft_tx *tx = &conn->tx;
	uint32_t ulpdu, size, sum = 0;
	uint16_t length;

	ulpdu = (uint32_t)soft_ddp_put_untagged(plain + WIRE_MPA_LENGTH, WIRE_OP_TERMINATE, true,
						WIRE_QN_TERMINATE, tx->msn[WIRE_QN_TERMINATE], 0);
	ulpdu += (uint32_t)soft_rdmap_put_terminate(plain + WIRE_MPA_LENGTH + ulpdu,
						    &conn->fault.term);
	length = htobe16((uint16_t)ulpdu);
	memcpy(plain, &length, sizeof(length));
	size = soft_mpa_fpdu(ulpdu) - WIRE_MPA_CRC_SIZE;
	if (tx->markers)
		return soft_mpa_mark(out, plain, size, &tx->marker_stream, tx->crc);
	if (tx->crc)
		sum = htole32(soft_crc32c(0, plain, size));
	memcpy(out, plain, size);
	memcpy(out + size, &sum, sizeof(sum));
	return size + sizeof(sum);
}

void soft_tx_epilogue(struct soft_conn *conn, uint8_t **out, size_t *len)
{
	bool terminate = soft_conn_dead(conn) && conn->fault.terminate && !conn->tx.hold;
	struct soft_tx *tx = &conn->tx;
	size_t room;
	ssize_t rest;

	*out = NULL;
	*len = 0;
	if (soft_tx_idle(tx) && !terminate)
		return;
	room = (soft_tx_idle(tx) ? 0 : tx->mark[tx->mark_first].end - tx->sent) +
	       soft_mpa_marked_max(WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE + SOFT_TERMINATE_MAX +
				   3);
	*out = malloc(room);
	if (!*out)
		return;
	rest = fpdu_rest(conn, *out);
	if (rest < 0) {
		free(*out);
		*out = NULL;
		return;
	}
	if (!soft_tx_idle(tx) && !rest)
		tx->marker_stream = tx->marker_start;
	*len = (size_t)rest;
	if (terminate)
		*len += terminate_fpdu(conn, *out + *len);
}
