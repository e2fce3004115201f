/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the socket and the datagram connection manager share: the device of an entry of dat.conf,
 * and a QP's states by what the peers told each other, without rdma_cm.
 */
#ifndef VERBS_EXCHANGE_H
#define VERBS_EXCHANGE_H

#include "providers/verbs/cm/cm.h"
#include "providers/verbs/cm/exchange_wire.h"
#include "providers/verbs/qp.h"

/* What a device has of it; the manager's own structure, dev->cm, begins with it. */
struct vrb_xchg {
	bool ethernet; /* RoCE */
	bool active;   /* the port was, when it was opened */
	uint16_t pkey_index;
	uint8_t ack_delay; /* the device's own, as an exponent like ack_timer */
};

static inline struct vrb_xchg *vrb_xchg(const struct vrb_dev *dev)
{
	return dev->cm;
}

/* ---- exchange_device.c ---- */

/* Opens "device port" (CM-9): ctx, ibdev, port and GID. 0 or -errno, with a message. */
int vrb_xchg_open(struct vrb_dev *dev, const char *params);
/* What vrb_xchg_open opened, where the manager cannot go on. */
void vrb_xchg_close(struct vrb_dev *dev);

/* ---- exchange_qp.c: CM-5 to CM-7 ---- */

/* The path to a peer. */
void vrb_xchg_path(const struct vrb_dev *dev, const struct xchg_end *peer,
		   struct ibv_ah_attr *attr);
/* Sets peer's MTU to what it and this port agree on; 0 or -errno. */
int vrb_xchg_agree(const struct vrb_dev *dev, struct xchg_end *peer);
/* Takes the QP to a state in which it takes receives, and gives it them. */
int vrb_xchg_qp_init(struct vrb_qp *qp);
/*
 * Ready to receive and to send, as peer says, whose MTU is set to what was agreed. reads_in: how
 * many reads the peer may have outstanding at least, as far as the device can.
 */
int vrb_xchg_qp_ready(struct vrb_qp *qp, struct xchg_end *peer, uint32_t reads_in);
/* This end, for a request or an answer. mtu: what was agreed, or 0 for this port's. */
int vrb_xchg_own(struct vrb_qp *qp, uint8_t mtu, struct xchg_end *own);

#endif
