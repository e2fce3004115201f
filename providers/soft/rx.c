/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The incoming side: FPDUs out of the byte stream. Short ones are whole in the stage before
 * anything is done with them. A long one is received straight into its place, once its header has
 * been checked; the sum over it is formed while it is in the cache and compared before it is
 * delivered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "dapl/trace.h"
#include "providers/soft/crc32c.h"
#include "providers/soft/soft.h"

enum {
	RUN_BYTES = 1 << 20, /* so much comes in before others get their turn */
	MIN_ULPDU = WIRE_DDP_TAGGED_SIZE,
};

/* ---- The stage ---- */

static uint32_t staged(const struct soft_rx *rx)
{
	return rx->end - rx->begin;
}

static uint8_t *stage(struct soft_rx *rx)
{
	return rx->stage + rx->begin;
}

static void consume(struct soft_rx *rx, uint32_t len)
{
	rx->begin += len;
	if (rx->begin == rx->end)
		rx->begin = rx->end = 0;
}

static void compact(struct soft_rx *rx)
{
	if (!rx->begin)
		return;
	memmove(rx->stage, rx->stage + rx->begin, staged(rx));
	rx->end -= rx->begin;
	rx->begin = 0;
}

/* ---- FPDUs ---- */

enum step {
	STEP_ON,   /* something was done, go on */
	STEP_READ, /* more bytes are needed */
	STEP_STOP, /* nothing goes on for now, or ever */
};

static enum step crc_wrong(struct soft_conn *conn)
{
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_MPA, 0, WIRE_MPA_ERR_CRC }, NULL,
			 NULL);
	return STEP_STOP;
}

static bool crc_right(uint32_t sum, const uint8_t *field)
{
	uint32_t wire;

	memcpy(&wire, field, sizeof(wire));
	return le32toh(wire) == sum;
}

/* Pad and CRC behind the payload. */
static uint32_t trailer(const struct soft_rx *rx)
{
	return soft_mpa_pad(rx->ddp.ulpdu) + WIRE_MPA_CRC_SIZE;
}

/* The first FPDU is in: the responder may send (RFC 5044 section 7.1.2 rule 4). */
static enum step first_fpdu(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	conn->rx.waiting_first = false;
	pthread_mutex_lock(&qp->tx_lock);
	conn->tx.hold = false;
	soft_qp_tx_unlock(qp);
	soft_qp_tx_kick(qp);
	if (!conn->rx.pause_first)
		return STEP_ON;
	conn->rx.open = false;
	atomic_store(&conn->first_seen, true);
	dapl_loop_post(conn->base.dev->loop, &conn->task);
	return STEP_STOP;
}

/* Finishes the FPDU under way if all of it is in the stage. */
static enum step finish(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	uint32_t left = rx->left, rest = left + trailer(rx);

	if (staged(rx) < rest)
		return STEP_READ;
	if (!rx->checked) {
		rx->sum = soft_crc32c(rx->sum, stage(rx), rest - WIRE_MPA_CRC_SIZE);
		if (!crc_right(rx->sum, stage(rx) + rest - WIRE_MPA_CRC_SIZE))
			return crc_wrong(conn);
	}
	if (!soft_place_tail(conn, stage(rx), left))
		return STEP_STOP;
	consume(rx, rest);
	rx->busy = false;
	if (!soft_place_done(conn))
		return STEP_STOP;
	return rx->waiting_first ? first_fpdu(conn) : STEP_ON;
}

/* Goes on with the FPDU under way. */
static enum step proceed(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	uint32_t n = rx->left - rx->tail;

	if (n > staged(rx))
		n = staged(rx);
	if (n) {
		if (!rx->checked)
			rx->sum = soft_crc32c(rx->sum, stage(rx), n);
		if (!soft_place_copy(conn, stage(rx), n))
			return STEP_STOP;
		consume(rx, n);
	}
	return rx->left > rx->tail ? STEP_READ : finish(conn);
}

/* The header is checked; starts to place what it announces. */
static enum step begin(struct soft_conn *conn, uint32_t size)
{
	struct soft_rx *rx = &conn->rx;
	uint32_t header = WIRE_MPA_LENGTH + rx->ddp.header;
	int rc;

	rx->left = rx->ddp.ulpdu - rx->ddp.header;
	rx->checked = !rx->crc;
	if (rx->crc && size <= staged(rx)) {
		if (!crc_right(soft_crc32c(0, stage(rx), size - WIRE_MPA_CRC_SIZE),
			       stage(rx) + size - WIRE_MPA_CRC_SIZE))
			return crc_wrong(conn);
		rx->checked = true;
	}
	rc = soft_place_begin(conn);
	if (rc < 0)
		return STEP_STOP;
	if (!rc) {
		rx->stalled = true;
		return STEP_STOP;
	}
	if (!rx->checked)
		rx->sum = soft_crc32c(0, stage(rx), header);
	rx->busy = true;
	consume(rx, header);
	return proceed(conn);
}

/* Looks at the next FPDU in the stage. */
static enum step next_fpdu(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	struct soft_error error;
	uint32_t ulpdu, size;

	if (rx->held && !soft_place_held(conn))
		return STEP_STOP;
	if (staged(rx) < WIRE_MPA_LENGTH + 1)
		return STEP_READ;
	ulpdu = (uint32_t)stage(rx)[0] << 8 | stage(rx)[1];
	if (ulpdu < MIN_ULPDU || ulpdu < soft_ddp_header(stage(rx)[WIRE_MPA_LENGTH])) {
		soft_conn_refuse(conn,
				 (struct soft_error){ WIRE_LAYER_MPA, 0, WIRE_MPA_ERR_MARKER },
				 NULL, "an FPDU shorter than its header");
		return STEP_STOP;
	}
	size = soft_mpa_fpdu(ulpdu);
	if (size > staged(rx) && (size <= SOFT_RX_STAGE || staged(rx) < SOFT_RX_TAIL))
		return STEP_READ;
	if (!soft_ddp_decode(stage(rx) + WIRE_MPA_LENGTH, (uint16_t)ulpdu, &rx->ddp, &error)) {
		if (rx->crc && size <= staged(rx) &&
		    !crc_right(soft_crc32c(0, stage(rx), size - WIRE_MPA_CRC_SIZE),
			       stage(rx) + size - WIRE_MPA_CRC_SIZE))
			return crc_wrong(conn);
		soft_conn_refuse(conn, error, &rx->ddp, NULL);
		return STEP_STOP;
	}
	return begin(conn, size);
}

/* ---- Reading ---- */

/* Whether the bytes in hand are part of a Send that a Receive is there for. */
static bool cut_receive(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	const uint8_t *ddp = stage(rx) + WIRE_MPA_LENGTH;

	if (rx->held || !soft_qp_recv_ready(conn->qp))
		return false;
	if (rx->busy)
		return rx->sink == SOFT_SINK_RECV;
	if (staged(rx) < WIRE_MPA_LENGTH + 2 || (ddp[0] & WIRE_DDP_TAGGED))
		return false;
	return (ddp[1] & WIRE_RDMAP_OPCODE) == WIRE_OP_SEND ||
	       (ddp[1] & WIRE_RDMAP_OPCODE) == WIRE_OP_SEND_SE;
}

/*
 * The stream ended. Between FPDUs that is an orderly end, even inside a message: a peer that
 * disconnects while a long message is under way finishes the FPDU. Inside one the peer was cut off.
 */
static void ended(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	if (rx->busy || staged(rx)) {
		soft_conn_lost(conn, -ECONNRESET,
			       cut_receive(conn) ? TP_WC_PARTIAL_PACKET : TP_WC_FLUSHED);
		return;
	}
	soft_conn_lost(conn, soft_conn_stream_error(conn), TP_WC_FLUSHED);
}

/* Adds what was received straight into its place to the sum. */
static void sum_placed(struct soft_rx *rx, const struct iovec *iov, uint32_t n)
{
	uint32_t part;

	for (; n; iov++, n -= part) {
		part = iov->iov_len < n ? (uint32_t)iov->iov_len : n;
		rx->sum = soft_crc32c(rx->sum, iov->iov_base, part);
	}
}

/* One read: 1 if more may be there, 0 if not, -1 if there will be no more. */
static int fill(struct soft_conn *conn, uint32_t *done)
{
	struct iovec iov[SOFT_MAX_SGE + 1];
	struct soft_rx *rx = &conn->rx;
	uint32_t direct = 0, placed;
	ssize_t n;
	int num = 0;

	compact(rx);
	if (rx->busy && rx->left > rx->tail) {
		num = soft_place_iov(conn, rx->pos, rx->left - rx->tail, iov, SOFT_MAX_SGE);
		if (num < 0)
			return -1;
		direct = rx->left - rx->tail;
	}
	iov[num++] = (struct iovec){ .iov_base = rx->stage + rx->end,
				     .iov_len = SOFT_RX_STAGE - rx->end };
	n = conn->link->class->recv(conn->link, iov, num);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0) {
		if (n)
			soft_conn_lost(conn, (int)n, TP_WC_FLUSHED);
		else
			ended(conn);
		return -1;
	}
	*done += (uint32_t)n;
	placed = (uint32_t)n < direct ? (uint32_t)n : direct;
	if (placed && !rx->checked)
		sum_placed(rx, iov, placed);
	rx->pos += placed;
	rx->left -= placed;
	rx->end += (uint32_t)n - placed;
	return (uint32_t)n == direct + (uint32_t)iov[num - 1].iov_len;
}

void soft_rx_run(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	enum step step = STEP_ON;
	uint32_t done = 0;
	int more = 1;

	if (!rx->open)
		return;
	rx->stalled = false;
	while (!soft_conn_dead(conn)) {
		step = rx->busy ? proceed(conn) : next_fpdu(conn);
		if (step == STEP_STOP)
			break;
		if (step == STEP_ON)
			continue;
		if (!more || done >= RUN_BYTES)
			break;
		more = fill(conn, &done);
		if (more < 0)
			break;
	}
	if (rx->stalled != atomic_load(&conn->rx_stalled) && !soft_conn_dead(conn)) {
		atomic_store(&conn->rx_stalled, rx->stalled);
		soft_progress_watch(conn);
	}
}

/* ---- Life ---- */

void soft_rx_init(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	rx->crc = conn->crc;
	rx->held = NULL;
	rx->held_end = &rx->held;
	for (int qn = 0; qn < WIRE_QN_COUNT; qn++)
		rx->msn[qn] = 1;
}

void soft_rx_fini(struct soft_conn *conn)
{
	struct soft_held *held;

	while ((held = conn->rx.held)) {
		conn->rx.held = held->next;
		free(held);
	}
	free(conn->rx.filling);
}
