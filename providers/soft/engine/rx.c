/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The incoming side: FPDUs out of the byte stream. Those that fit are whole in the stage before
 * anything is done with them. A longer one is received straight into its place, once its header has
 * been checked; the sum over it is formed while it is in the cache and compared before it is
 * delivered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/rx.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "providers/soft/wire/crc32c.h"
#include "providers/soft/wire/mpa.h"

enum {
	RUN_BYTES = 1 << 20, /* so much comes in before others get their turn */
	FULL_READS = 3,
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

/* One of another size, with what is in the one before; false: there is no memory. */
static bool change_stage(struct soft_conn *conn, uint32_t size)
{
	struct soft_rx *rx = &conn->rx;
	uint8_t *other = size == SOFT_RX_TINY ? rx->tiny : malloc(size);

	if (!other) {
		if (size > rx->size)
			soft_link_say_no_buffer(conn->link, size);
		return false;
	}
	memcpy(other, stage(rx), staged(rx));
	rx->end = staged(rx);
	rx->begin = 0;
	if (rx->stage != rx->tiny)
		free(rx->stage);
	rx->stage = other;
	rx->size = size;
	return true;
}

/* A read filled it: the next ones get a larger one, if there is memory. */
static void grow(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	if (rx->size == SOFT_RX_TINY)
		change_stage(conn, SOFT_RX_SMALL);
	else if (rx->size == SOFT_RX_SMALL && rx->full >= FULL_READS)
		change_stage(conn, SOFT_RX_LARGE);
}

static uint32_t size_for(uint32_t len)
{
	if (len <= SOFT_RX_TINY)
		return SOFT_RX_TINY;
	return len <= SOFT_RX_SMALL ? SOFT_RX_SMALL : SOFT_RX_LARGE;
}

void soft_rx_shrink(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	uint32_t size = size_for(rx->most);

	if (size < rx->size && change_stage(conn, size))
		rx->full = 0;
	rx->most = staged(rx);
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

/* The sum of the FPDU of that size at the head of the stage. */
static bool crc_right(struct soft_rx *rx, uint32_t size)
{
	uint32_t wire;

	memcpy(&wire, stage(rx) + size - WIRE_MPA_CRC_SIZE, sizeof(wire));
	return le32toh(wire) == soft_crc32c(0, stage(rx), size - WIRE_MPA_CRC_SIZE);
}

/* Pad and CRC behind the payload. */
static uint32_t trailer(const struct soft_rx *rx)
{
	return soft_mpa_pad(rx->ddp.ulpdu) + WIRE_MPA_CRC_SIZE;
}

/* The first FPDU is in: the responder may send (RFC 5044 section 7.1.2 rule 4). */
static enum step first_fpdu(struct soft_conn *conn)
{
	conn->rx.waiting_first = false;
	conn->tx.hold = false;
	conn->qp->due |= SOFT_DRIVE_TX;
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
	if (!soft_place_copy(conn, stage(rx), left))
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

	if (staged(rx) >= rx->left + trailer(rx))
		return finish(conn);
	if (n > staged(rx))
		n = staged(rx);
	if (n) {
		if (!soft_place_copy(conn, stage(rx), n))
			return STEP_STOP;
		consume(rx, n);
	}
	return rx->left > rx->tail ? STEP_READ : finish(conn);
}

/* Starts to place what the header announces. */
static enum step begin(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	int rc;

	rx->left = rx->ddp.ulpdu - rx->ddp.header;
	rc = soft_place_begin(conn);
	if (rc < 0)
		return STEP_STOP;
	if (!rc) {
		rx->stalled = true;
		return STEP_STOP;
	}
	rx->busy = true;
	rx->checked = false;
	consume(rx, WIRE_MPA_LENGTH + rx->ddp.header);
	return proceed(conn);
}

/* Whether enough of an FPDU of that size is in the stage to begin with it. */
static enum step enough(struct soft_conn *conn, uint32_t size)
{
	struct soft_rx *rx = &conn->rx;

	if (size <= staged(rx))
		return STEP_ON;
	if (size <= rx->size && (rx->crc || size <= SOFT_RX_SMALL))
		return STEP_READ;
	if (rx->crc) {
		/* Without memory the link keeps the bytes, and the keepalive tries again. */
		rx->stalled = rx->no_memory = !change_stage(conn, size_for(size));
		return rx->stalled ? STEP_STOP : STEP_READ;
	}
	return staged(rx) < WIRE_MPA_LENGTH + soft_ddp_header(stage(rx)[WIRE_MPA_LENGTH])
		       ? STEP_READ
		       : STEP_ON;
}

/* Looks at the next FPDU in the stage. */
static enum step next_fpdu(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	struct soft_error error;
	uint32_t ulpdu, size;
	enum step step;

	if (rx->held && !soft_untagged_replay(conn))
		return STEP_STOP;
	if (staged(rx) < WIRE_MPA_LENGTH + 1)
		return STEP_READ;
	ulpdu = (uint32_t)stage(rx)[0] << 8 | stage(rx)[1];
	if (ulpdu < soft_ddp_header(stage(rx)[WIRE_MPA_LENGTH])) {
		soft_conn_refuse(conn,
				 (struct soft_error){ WIRE_LAYER_MPA, 0, WIRE_MPA_ERR_MARKER },
				 NULL, "an FPDU shorter than its header");
		return STEP_STOP;
	}
	size = soft_mpa_fpdu(ulpdu);
	step = enough(conn, size);
	if (step != STEP_ON)
		return step;
	if (rx->crc && !rx->checked && !crc_right(rx, size))
		return crc_wrong(conn);
	rx->checked = true;
	if (!soft_ddp_decode(stage(rx) + WIRE_MPA_LENGTH, (uint16_t)ulpdu, &rx->ddp, &error)) {
		soft_conn_refuse(conn, error, &rx->ddp, NULL);
		return STEP_STOP;
	}
	return begin(conn);
}

/* ---- FPDUs that lie whole in the link's memory ---- */

/* Whether they are taken from there. */
static bool in_place(const struct soft_conn *conn)
{
	return conn->link->class->peek && !conn->rx.crc;
}

static bool plain(struct soft_conn *conn, const uint8_t *ddp, const uint8_t *payload, uint32_t len)
{
	return soft_untagged_plain_send(conn, ddp, payload, len) ||
	       soft_place_plain_write(conn, ddp, payload, len);
}

static enum step direct_any(struct soft_conn *conn, const uint8_t *ddp, const uint8_t *payload,
			    uint32_t ulpdu)
{
	struct soft_rx *rx = &conn->rx;
	struct soft_error error;
	int rc;

	if (!soft_ddp_decode(ddp, (uint16_t)ulpdu, &rx->ddp, &error))
		return STEP_READ;
	rx->left = rx->ddp.ulpdu - rx->ddp.header;
	rc = soft_place_begin(conn);
	if (!rc)
		return STEP_READ;
	return rc > 0 && soft_place_copy(conn, payload, rx->left) && soft_place_done(conn)
		       ? STEP_ON
		       : STEP_STOP;
}

/*
 * The next of len bytes from p, of which *used are done with. Its header is copied before it is
 * believed: it is the peer's to change. STEP_READ: it is for the stage, as nothing of it was done.
 */
static enum step direct_fpdu(struct soft_conn *conn, const uint8_t *p, uint32_t len, uint32_t *used)
{
	uint8_t head[WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE];
	struct soft_rx *rx = &conn->rx;
	uint32_t ulpdu, header, size;
	enum step step = STEP_ON;

	p += *used;
	len -= *used;
	if (len < sizeof(head))
		return STEP_READ;
	memcpy(head, p, sizeof(head));
	atomic_signal_fence(memory_order_seq_cst);
	ulpdu = (uint32_t)head[0] << 8 | head[1];
	header = soft_ddp_header(head[WIRE_MPA_LENGTH]);
	size = soft_mpa_fpdu(ulpdu);
	if (ulpdu < header || size > len)
		return STEP_READ;
	if (!plain(conn, head + WIRE_MPA_LENGTH, p + WIRE_MPA_LENGTH + header, ulpdu - header)) {
		if (soft_untagged_may_lie(conn, head + WIRE_MPA_LENGTH))
			return STEP_STOP;
		step = direct_any(conn, head + WIRE_MPA_LENGTH, p + WIRE_MPA_LENGTH + header,
				  ulpdu);
	}
	if (step == STEP_READ)
		return step;
	*used += size;
	return step == STEP_ON && rx->waiting_first ? first_fpdu(conn) : step;
}

static bool nothing_there(const struct soft_conn *conn)
{
	const struct soft_link_class *class = conn->link->class;

	return class->quiet && class->quiet(conn->link);
}

/* As many as there are. STEP_READ: what follows, if anything, is for the stage. */
static enum step take_in_direct(struct soft_conn *conn, uint32_t *done)
{
	const struct soft_link_class *class = conn->link->class;
	uint32_t there, used = 0;
	enum step step = STEP_ON;
	const uint8_t *p;

	if (conn->rx.held && !soft_untagged_replay(conn))
		return STEP_STOP;
	/* Before the look at it: what comes behind that look is for the next one, not for the stage. */
	if (nothing_there(conn))
		return STEP_STOP;
	p = class->peek(conn->link, &there);
	if (!p)
		return STEP_READ;
	while (step == STEP_ON && used < there && !soft_conn_over(conn))
		step = direct_fpdu(conn, p, there, &used);
	if (!used)
		return step;
	class->consume(conn->link, used);
	conn->qp->moved++;
	*done += used;
	return step;
}

/* ---- Reading ---- */

/* Whether the bytes in hand are part of a Send that a Receive is there for. */
static bool cut_receive(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	const uint8_t *ddp;
	uint8_t opcode;

	if (rx->held || !soft_ring_used(&conn->qp->rq))
		return false;
	if (rx->busy)
		return rx->sink == SOFT_SINK_RECV;
	if (staged(rx) < WIRE_MPA_LENGTH + 2)
		return false;
	ddp = stage(rx) + WIRE_MPA_LENGTH;
	if (ddp[0] & WIRE_DDP_TAGGED)
		return false;
	opcode = ddp[1] & WIRE_RDMAP_OPCODE;
	return opcode >= WIRE_OP_SEND && opcode <= WIRE_OP_SEND_SE_INVALIDATE;
}

/* Whether a whole message waits for its Receive. */
static bool unreceived(const struct soft_rx *rx)
{
	const struct soft_held *held = rx->held;

	while (held && !(held->ddp.qn == WIRE_QN_SEND && held->ddp.last))
		held = held->next;
	return held;
}

/*
 * The stream ended. Between FPDUs that is an orderly end, even inside a message: a peer that
 * disconnects while a long message is under way finishes the FPDU, or says that it does not. Else
 * the peer was cut off.
 * Messages that wait for Receives are to be received first; see drive.c.
 */
static void ended(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	/* The last FPDU may be half a one, and is still under way. */
	if (rx->held && !soft_untagged_replay(conn))
		return;
	if (unreceived(rx)) {
		rx->stalled = true;
		return;
	}
	if (rx->err) {
		soft_conn_lost(conn, rx->err, TP_WC_FLUSHED);
		return;
	}
	if (!rx->cut && (rx->busy || staged(rx))) {
		soft_conn_lost(conn, -ECONNRESET,
			       cut_receive(conn) ? TP_WC_PARTIAL_PACKET : TP_WC_FLUSHED);
		return;
	}
	soft_conn_lost(conn, soft_conn_stream_error(conn), TP_WC_FLUSHED);
}

/*
 * How much of the stage to fill, which is the tiny one where FPDUs are taken in place. Many short
 * FPDUs in a row are worth the large one; the start of a long one that goes straight to its place
 * is not.
 */
static uint32_t room(const struct soft_rx *rx, uint32_t direct)
{
	if (rx->crc || rx->size < SOFT_RX_SMALL || rx->end >= SOFT_RX_SMALL)
		return rx->size;
	return direct || rx->full < FULL_READS ? SOFT_RX_SMALL : rx->size;
}

/* Bytes in the stage that the FPDU under way, or the next, cannot do without; of one whose length is
 * not there yet, those of the shortest. */
static uint32_t wanted(const struct soft_rx *rx)
{
	if (rx->busy)
		return (rx->left < rx->tail ? rx->left : rx->tail) + trailer(rx);
	if (staged(rx) < WIRE_MPA_LENGTH)
		return soft_mpa_fpdu(WIRE_DDP_TAGGED_SIZE);
	return soft_mpa_fpdu((uint32_t)rx->stage[0] << 8 | rx->stage[1]);
}

/* How much more of the stage to fill, in which what it has is at the start. */
static uint32_t space(const struct soft_conn *conn, uint32_t direct)
{
	const struct soft_rx *rx = &conn->rx;
	uint32_t most = room(rx, direct) - rx->end, least;

	if (!in_place(conn))
		return most;
	least = wanted(rx) - rx->end;
	return least < most ? least : most;
}

/* The link told so: 0 or a negative errno. */
static void over(struct soft_conn *conn, int why)
{
	struct soft_rx *rx = &conn->rx;

	rx->cut |= why == -ESHUTDOWN;
	if (why && !rx->cut && !rx->err)
		rx->err = why;
	ended(conn);
}

/* One read: 1 if more may be there, 0 if not, -1 if there will be no more. */
static int fill(struct soft_conn *conn, uint32_t *done)
{
	const struct soft_link_class *class = conn->link->class;
	struct iovec iov[SOFT_MAX_SGE + 1];
	struct soft_rx *rx = &conn->rx;
	uint32_t direct = 0, placed;
	ssize_t n;
	int num = 0;

	if (rx->full)
		grow(conn);
	compact(rx);
	if (rx->busy && rx->left > rx->tail) {
		num = soft_place_iov(conn, rx->pos, rx->left - rx->tail, iov, SOFT_MAX_SGE);
		if (num < 0)
			return -1;
		direct = rx->left - rx->tail;
	}
	iov[num++] =
		(struct iovec){ .iov_base = rx->stage + rx->end, .iov_len = space(conn, direct) };
	n = class->recv(conn->link, iov, num);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0) {
		if (n == -EFAULT && direct) {
			soft_place_fault(conn);
			return -1;
		}
		over(conn, (int)n);
		return -1;
	}
	conn->qp->moved++;
	*done += (uint32_t)n;
	placed = (uint32_t)n < direct ? (uint32_t)n : direct;
	rx->pos += placed;
	rx->left -= placed;
	rx->end += (uint32_t)n - placed;
	if (rx->most < rx->end)
		rx->most = rx->end;
	if ((uint32_t)n != direct + (uint32_t)iov[num - 1].iov_len)
		return class->quiet && !nothing_there(conn);
	rx->full = direct || in_place(conn) ? 0 : rx->full + 1;
	return 1;
}

/* Throws away what comes, until the peer ends: it is not kept from taking in the answers. */
static void discard(struct soft_conn *conn)
{
	uint8_t waste[SOFT_RX_SMALL];
	struct iovec iov = { .iov_base = waste, .iov_len = sizeof(waste) };
	ssize_t n = 1;

	for (uint32_t done = 0; n > 0 && done < RUN_BYTES; done += (uint32_t)n)
		n = conn->link->class->recv(conn->link, &iov, 1);
	if (n <= 0 && n != -EAGAIN)
		soft_conn_lost(conn, (int)n, TP_WC_FLUSHED);
}

static void take_in(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	enum step step = STEP_ON;
	uint32_t done = 0;
	bool direct;
	int more = 1;

	while (more >= 0 && !soft_conn_over(conn)) {
		/* What came before one that is half in does not wait for the rest of it. */
		if (rx->busy && rx->held && !soft_untagged_replay(conn))
			break;
		direct = in_place(conn) && !rx->busy && !staged(rx);
		if (direct)
			step = take_in_direct(conn, &done);
		else
			step = rx->busy ? proceed(conn) : next_fpdu(conn);
		if (step == STEP_STOP)
			break;
		if (step == STEP_ON && !direct)
			continue;
		if (!more || done >= RUN_BYTES)
			break;
		if ((step == STEP_ON || !direct) && nothing_there(conn))
			break;
		if (step == STEP_ON)
			continue;
		more = fill(conn, &done);
	}
}

void soft_rx_run(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	if (!rx->open)
		return;
	rx->stalled = rx->no_memory = false;
	rx->run_head = atomic_load_explicit(&conn->qp->rq.head, memory_order_relaxed);
	if (atomic_load(&conn->refusing))
		discard(conn);
	else
		take_in(conn);
	if (rx->stalled != atomic_load(&conn->rx_stalled) && !soft_conn_dead(conn)) {
		atomic_store(&conn->rx_stalled, rx->stalled);
		soft_watch_update(conn);
	}
}

/* ---- Life ---- */

void soft_rx_init(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	rx->held = NULL;
	rx->held_end = &rx->held;
	rx->stage = rx->tiny;
	rx->size = SOFT_RX_TINY;
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
	conn->rx.filling = NULL;
	if (conn->rx.stage != conn->rx.tiny)
		free(conn->rx.stage);
	conn->rx.stage = conn->rx.tiny;
}
