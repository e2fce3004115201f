/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The outgoing side: requests and read responses are cut into FPDUs, several FPDUs make a batch,
 * and the batch goes to the link in one call. A batch refers to the program's memory, so before
 * what is left of one is tried again its keys are looked up again.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/fpdu.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/tx.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/link/link.h"
#include "providers/soft/wire/mpa.h"

enum {
	RUN_BYTES = 2 << 20,		     /* so much goes out before others get their turn */
	LARGE_FPDU = SOFT_TX_STAGE / 2 - 64, /* two of them are a batch, with their headers */
	MARKED_MULPDU = 8192,		     /* with markers every byte is copied: keep it small */
	FIRST_ADJUST = 128 << 10, /* so much is sent before the segment size is looked at again */
	ADJUST_BYTES = 64 << 20,
};

/* ---- Building ---- */

/* Picks the message to go on with; false if there is none or it is at fault. */
static bool choose(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	bool response = tx->response_next != tx->response_tail && !tx->hold;
	bool request, refusing = atomic_load(&conn->refusing);

	if (tx->rtr) {
		tx->source = SOFT_TX_RTR;
		return true;
	}
	if (!refusing && soft_request_proof_ready(tx)) {
		tx->source = SOFT_TX_PROOF;
		return true;
	}
	request = !refusing && soft_request_ready(conn);
	if (response && (!request || tx->response_turn)) {
		tx->response_turn = false;
		tx->source = SOFT_TX_RESPONSE;
		return true;
	}
	tx->response_turn = true;
	return request && soft_request_start(conn);
}

/* What is built with markers is one FPDU, copied. */
static void mark_batch(struct soft_tx *tx)
{
	uint8_t *plain = tx->marked + soft_mpa_marked_max(WIRE_MPA_LENGTH + tx->mulpdu + 3);
	uint8_t *p = plain;
	size_t size;

	for (uint32_t i = 0; i < tx->seg_num; i++) {
		memcpy(p, tx->seg[i].base, tx->seg[i].len);
		p += tx->seg[i].len;
	}
	size = soft_mpa_mark(tx->marked, plain, (size_t)(p - plain), &tx->marker_stream, tx->crc);
	tx->seg[0] = (struct soft_tx_seg){ .base = tx->marked, .len = (uint32_t)size };
	tx->seg_num = 1;
	tx->built = (uint32_t)size;
	tx->mark[0].end = (uint32_t)size;
}

static bool add_fpdu(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;

	if (tx->source == SOFT_TX_NONE && !choose(conn))
		return false;
	switch (tx->source) {
	case SOFT_TX_RTR:
		soft_request_add_rtr(conn);
		return true;
	case SOFT_TX_PROOF:
		soft_request_add_proof(conn);
		return true;
	case SOFT_TX_RESPONSE:
		return soft_response_add(conn);
	default:
		return soft_request_add(conn);
	}
}

/* The batch is empty. Without memory its headers and short payload go on to lie where they do. */
static void enlarge_scratch(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	uint32_t size = tx->crc || tx->markers ? SOFT_TX_STAGE : SOFT_TX_SCRATCH;
	uint8_t *scratch;

	tx->large_used = true;
	if (tx->scratch != tx->tiny)
		return;
	scratch = malloc(size);
	if (!scratch) {
		soft_link_say_no_buffer(conn->link, size);
		return;
	}
	tx->scratch = scratch;
	tx->scratch_size = size;
}

static void free_scratch(struct soft_tx *tx)
{
	if (tx->scratch != tx->tiny)
		free(tx->scratch);
	tx->scratch = tx->tiny;
	tx->scratch_size = SOFT_TX_TINY;
}

void soft_tx_shrink(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;

	if (!tx->large_used && soft_tx_idle(tx))
		free_scratch(tx);
	tx->large_used = false;
}

static_assert(SOFT_TX_TINY >= FRAME_SIZE + COPY_MAX, "an FPDU whose payload is copied");

/* Fills an empty batch; again: not the first in a row. false if there is nothing to send. */
static bool build(struct soft_conn *conn, bool again)
{
	struct soft_tx *tx = &conn->tx;

	batch_reset(tx);
	if (tx->source == SOFT_TX_NONE && !choose(conn))
		return false;
	if (again || tx->crc || tx->markers)
		enlarge_scratch(conn);
	while (!batch_full(tx) && add_fpdu(conn))
		;
	tx->large_used |= tx->mark_num > 1;
	if (tx->markers && tx->mark_num)
		mark_batch(tx);
	return !soft_tx_idle(tx);
}

/* ---- Sending ---- */

static void stall(struct soft_conn *conn)
{
	if (atomic_exchange(&conn->link->stalled, true))
		return;
	soft_count(conn->dev, SOFT_COUNT_XMT_WAIT);
	soft_watch_update(conn);
}

static void unstall(struct soft_conn *conn)
{
	if (atomic_load(&conn->link->stalled)) {
		atomic_store(&conn->link->stalled, false);
		soft_watch_update(conn);
	}
}

/* The link is dead; what it still has to say on the incoming side comes first. */
static void send_failed(struct soft_conn *conn, int err)
{
	conn->tx_err = err;
	unstall(conn);
	soft_conn_serve_later(conn);
}

static uint32_t choose_mulpdu(struct soft_conn *conn)
{
	uint32_t size = (uint32_t)conn->dev->config->fpdu, mulpdu;

	if (!size)
		size = conn->large ? LARGE_FPDU : conn->link->class->segment(conn->link);
	mulpdu = soft_mpa_mulpdu(size, conn->tx.markers);

	return conn->tx.markers && mulpdu > MARKED_MULPDU ? MARKED_MULPDU : mulpdu;
}

/* Segments grow with the peer's window, and shrink with the path (RFC 5044 section 4.5). */
static void adjust_mulpdu(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;

	if (tx->sent < tx->adjust_in) {
		tx->adjust_in -= tx->sent;
		return;
	}
	tx->adjust_in = ADJUST_BYTES;
	if (!tx->markers)
		tx->mulpdu = choose_mulpdu(conn);
}

static void advance(struct soft_conn *conn, uint32_t n)
{
	struct soft_tx *tx = &conn->tx;
	struct soft_tx_mark *mark;
	uint32_t part;

	tx->sent += n;
	tx->tail += n;
	if (soft_tx_idle(tx))
		adjust_mulpdu(conn);
	while (n) {
		part = tx->seg[tx->seg_first].len < n ? tx->seg[tx->seg_first].len : n;
		tx->seg[tx->seg_first].base += part;
		tx->seg[tx->seg_first].len -= part;
		n -= part;
		if (!tx->seg[tx->seg_first].len)
			tx->seg_first++;
	}
	for (; tx->mark_first < tx->mark_num; tx->mark_first++) {
		mark = &tx->mark[tx->mark_first];
		if (mark->end > tx->sent)
			break;
		tx->asked += mark->asks;
		if (!mark->last)
			continue;
		if (mark->source == SOFT_TX_REQUEST) {
			tx->tail = tx->sent - mark->end;
			soft_request_sent(conn);
		} else if (mark->source == SOFT_TX_RESPONSE) {
			tx->response_head++;
		}
	}
	soft_complete_sends(conn->qp);
}

/* Bytes of the rest of the batch, to the end of an FPDU, that lie in memory that is still
 * registered. */
static uint32_t valid_bytes(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	uint32_t end = tx->sent, good = tx->sent;
	const struct soft_tx_seg *seg;

	for (uint32_t i = tx->seg_first; i < tx->seg_num; i++) {
		seg = &tx->seg[i];
		if (seg->key && !soft_stag_holds(&conn->qp->prot, seg->key, seg->base, seg->len, 0))
			break;
		end += seg->len;
	}
	for (uint32_t i = tx->mark_first; i < tx->mark_num && tx->mark[i].end <= end; i++)
		good = tx->mark[i].end;
	return good - tx->sent;
}

/* Memory went away under an FPDU that is half out. */
static void batch_fault(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	uint8_t source = tx->mark[tx->mark_first].source;

	if (source == SOFT_TX_REQUEST)
		soft_request_fail(conn, soft_sqe(conn->qp, tx->sq_sent), TP_WC_LOCAL_PROTECTION);
	else
		soft_response_gone(conn);
}

/* At most len bytes of it. */
static ssize_t send_bytes(struct soft_conn *conn, uint32_t len)
{
	struct soft_tx *tx = &conn->tx;
	struct iovec iov[SOFT_TX_SEGS];
	int num = 0;

	for (uint32_t i = tx->seg_first, n; i < tx->seg_num && len; i++, len -= n) {
		n = tx->seg[i].len < len ? tx->seg[i].len : len;
		if (n)
			iov[num++] = (struct iovec){ .iov_base = (void *)(uintptr_t)tx->seg[i].base,
						     .iov_len = n };
	}
	return conn->link->class->send(conn->link, iov, num);
}

/*
 * Ditto. Of memory that is gone the link tells nothing but that it is: then one FPDU goes at a time,
 * until it is the first one that has none.
 */
static ssize_t send_batch(struct soft_conn *conn, uint32_t len)
{
	const struct soft_tx *tx = &conn->tx;
	ssize_t n = send_bytes(conn, len);
	uint32_t first;

	if (n != -EFAULT)
		return n;
	first = tx->mark[tx->mark_first].end - tx->sent;
	return first < len ? send_bytes(conn, first) : n;
}

void soft_tx_run(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	uint32_t done = 0, valid = soft_tx_idle(tx) ? UINT32_MAX : valid_bytes(conn);
	ssize_t n;

	if (conn->tx_err)
		return;
	tx->fresh = false;
	tx->direct_run = 0;
	tx->direct_later = false;
	while (!soft_tx_idle(tx) || build(conn, done)) {
		n = valid ? send_batch(conn, valid) : -EFAULT;
		if (n == -EFAULT) {
			batch_fault(conn);
			return;
		}
		if (n < 0 && n != -EAGAIN) {
			send_failed(conn, (int)n);
			return;
		}
		if (n > 0) {
			conn->qp->moved++;
			advance(conn, (uint32_t)n);
			done += (uint32_t)n;
		}
		if (soft_tx_idle(tx))
			valid = UINT32_MAX;
		else if (n > 0 && valid != UINT32_MAX)
			valid -= (uint32_t)n;
		if ((!soft_tx_idle(tx) && valid) || done >= RUN_BYTES) {
			stall(conn);
			return;
		}
	}
	if (tx->direct_later)
		stall(conn);
	else
		unstall(conn);
	if (atomic_load(&conn->refusing) && !soft_response_owed(tx))
		soft_conn_fail(conn, &conn->fault);
}

/* ---- Life ---- */

int soft_tx_init(struct soft_conn *conn, uint32_t ird, uint32_t ord, uint32_t prove_depth)
{
	struct soft_tx *tx = &conn->tx;
	uint32_t size = soft_ring_size(ird), flights = soft_ring_size(ord + 2);
	uint32_t head = atomic_load(&conn->qp->sq.head);
	size_t plain;

	tx->crc = conn->crc;
	tx->markers = conn->markers;
	tx->summed = tx->crc && !tx->markers;
	tx->plain = !tx->crc && !tx->markers && !prove_depth;
	tx->mulpdu = choose_mulpdu(conn);
	tx->adjust_in = FIRST_ADJUST;
	tx->response = malloc(size * sizeof(*tx->response));
	tx->flight = malloc(flights * sizeof(*tx->flight));
	tx->scratch = tx->tiny;
	tx->scratch_size = SOFT_TX_TINY;
	if (!tx->response || !tx->flight)
		return -ENOMEM;
	tx->flight_mask = flights - 1;
	plain = WIRE_MPA_LENGTH + tx->mulpdu + 3;
	if (tx->markers && !(tx->marked = malloc(soft_mpa_marked_max(plain) + plain)))
		return -ENOMEM;
	tx->response_mask = size - 1;
	tx->ird = ird;
	tx->ord = ord;
	tx->sq_sent = tx->prove_next = head;
	tx->prove = prove_depth;
	tx->prove_depth = prove_depth;
	for (int qn = 0; qn < WIRE_QN_COUNT; qn++)
		tx->msn[qn] = 1;
	if (getrandom(&tx->read_tag, sizeof(tx->read_tag), 0) != sizeof(tx->read_tag))
		return -errno;
	return 0;
}

void soft_tx_fini(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;

	free(tx->response);
	tx->response = NULL;
	free(tx->flight);
	tx->flight = NULL;
	free_scratch(tx);
	free(tx->marked);
	tx->marked = NULL;
}
