/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

struct soft_conn *soft_setup_alloc(struct soft_dev *dev, enum soft_conn_state state)
{
	struct soft_conn *conn = soft_conn_alloc(dev);

	if (!conn)
		return NULL;
	conn->state = state;
	conn->setup = calloc(1, sizeof(*conn->setup));
	if (conn->setup)
		return conn;
	soft_conn_release(conn);
	return NULL;
}

void soft_setup_names(struct soft_conn *conn)
{
	pthread_mutex_lock(&conn->lock);
	conn->link->class->names(conn->link, &conn->local, &conn->local_qual, &conn->remote,
				 &conn->remote_qual);
	conn->link_name = conn->link->class->checked ? "shm" : "tcp";
	pthread_mutex_unlock(&conn->lock);
}

void soft_setup_link(struct soft_conn *conn, struct soft_link *link,
		     void (*ready)(struct soft_link *link, uint32_t events),
		     void (*expired)(struct soft_link *link))
{
	conn->link = link;
	link->owner = conn;
	link->ready = ready;
	link->expired = expired;
	soft_setup_names(conn);
}

void soft_setup_timeout(struct soft_conn *conn)
{
	soft_link_timeout(conn->link, (uint32_t)conn->dev->config->handshake_ms);
}

void soft_setup_late(struct soft_conn *conn)
{
	char text[2 * SOFT_ADDR_TEXT + 8];

	dapl_trace_limited(soft_set_up_late, DAPL_TRC_ERROR, conn,
			   "ia=%s peer=%s set-up not finished in time (option handshake): ms=%u",
			   conn->dev->name, soft_conn_text(conn, text),
			   (uint32_t)conn->dev->config->handshake_ms);
}

/* ---- Frames ---- */

void soft_setup_build(struct soft_conn *conn, const struct soft_mpa_frame *frame)
{
	conn->setup->out_size = soft_mpa_encode(conn->setup->out, frame);
	conn->setup->out_sent = 0;
}

int soft_setup_send(struct soft_conn *conn)
{
	struct soft_setup *setup = conn->setup;

	return soft_link_send_all(conn->link, setup->out, setup->out_size, &setup->out_sent);
}

int soft_setup_recv(struct soft_conn *conn, bool reply)
{
	struct soft_setup *setup = conn->setup;
	struct iovec iov;
	ssize_t n;
	int size;

	for (;;) {
		size = soft_mpa_frame_size(setup->in, setup->in_have, reply);
		if (size < 0)
			return size;
		if (size && setup->in_have == (size_t)size)
			return 1;
		iov.iov_base = setup->in + setup->in_have;
		iov.iov_len =
			(size ? (size_t)size : sizeof(struct wire_mpa_frame)) - setup->in_have;
		n = conn->link->class->recv(conn->link, &iov, 1);
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ? (int)n : -ENODATA;
		/* Half a frame must become a whole one in time; a program may take any time to
		 * answer. */
		if (reply && !setup->in_have)
			soft_setup_timeout(conn);
		setup->in_have += (size_t)n;
	}
}

/* ---- What is negotiated ---- */

/* Whether this side asks for a CRC, and why, or why not. */
static bool wants_crc(const struct soft_conn *conn, const char **why)
{
	int64_t choice = conn->dev->config->crc;

	*why = choice == SOFT_CRC_AUTO ? "both ends are on this host" : "option crc";
	if (conn->link->class->checked) {
		*why = "shared memory needs none";
		return false;
	}
	if (choice != SOFT_CRC_AUTO)
		return choice == SOFT_CRC_YES;
	if (soft_addr_same_host(&conn->dev->addr, &conn->remote))
		return false;
	*why = "the peer is on another host";
	return true;
}

bool soft_setup_wants_large(const struct soft_conn *conn)
{
	return !conn->dev->config->fpdu;
}

bool soft_setup_wants_crc(const struct soft_conn *conn)
{
	const char *why;

	return wants_crc(conn, &why);
}

void soft_setup_crc(struct soft_conn *conn, bool asked)
{
	const char *why;
	bool wanted = wants_crc(conn, &why);

	pthread_mutex_lock(&conn->lock);
	conn->crc = wanted || asked;
	conn->crc_why = asked && !wanted ? "the peer asks for it" : why;
	pthread_mutex_unlock(&conn->lock);
}

uint16_t soft_setup_depth(uint32_t reads)
{
	return (uint16_t)(reads < SOFT_MPA_NO_DEPTH ? reads : SOFT_MPA_NO_DEPTH - 1);
}

uint32_t soft_setup_reads_out(const struct soft_qp *qp)
{
	return qp->delayed_ack && !qp->max_read_out ? 1 : qp->max_read_out;
}

uint32_t soft_setup_limit(const struct soft_conn *conn, uint32_t reads)
{
	const struct soft_setup *setup = conn->setup;

	if (!setup->enhanced || setup->peer_ird == SOFT_MPA_NO_DEPTH)
		return reads;
	return reads < setup->peer_ird ? reads : setup->peer_ird;
}

int soft_setup_tx(struct soft_conn *conn, uint32_t ird)
{
	const struct soft_qp *qp = conn->qp;
	uint32_t proofs = 0;

	if (qp->delayed_ack) {
		proofs = soft_setup_limit(conn, soft_setup_reads_out(qp));
		if (!proofs)
			dapl_trace_limited(soft_no_proof, DAPL_TRC_ERROR, conn,
					   "ia=%s no delayed acknowledgement, since the peer "
					   "answers no reads",
					   conn->dev->name);
	}
	return soft_tx_init(conn, ird, soft_setup_limit(conn, qp->max_read_out), proofs);
}

void soft_setup_done(struct soft_conn *conn, enum soft_conn_cause cause, const void *data,
		     uint32_t len)
{
	soft_conn_tell(conn, cause, 0, data, len);
	if (conn->state == SOFT_CONN_ENDED)
		return;
	free(conn->setup);
	conn->setup = NULL;
	soft_conn_open(conn);
}
