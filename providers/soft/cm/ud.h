/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Resolution of datagram endpoints' addresses (wire/ud.h): an active one has a socket of its own, so
 * that the kernel tells of a peer without a listener; passive ones share that of their service
 * point. All on the loop.
 */
#ifndef SOFT_CM_UD_H
#define SOFT_CM_UD_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "providers/soft/base/device.h"
#include "util/list.h"

struct soft_qp;

/* The socket of a service point; it outlives that as long as resolutions need it. */
struct soft_ud_port {
	struct soft_dev *dev;
	struct list node;  /* in soft_cm.ud_ports */
	void *owner;	   /* the core's service point; NULL: nobody listens any more */
	struct list conns; /* oldest first */
	uint32_t pending;  /* of them, those without an answer or ACK, and rejected ones */
	struct tp_watch watch;
	uint16_t port;
};

/* The calls of dapl_cm_ops, of QPs of datagrams and their conns. */
int soft_ud_connect(struct soft_qp *qp, const struct tp_connect *param, void *owner,
		    struct tp_conn **out);
int soft_ud_accept(struct tp_conn *conn, struct tp_qp *qp, const void *private_data, uint32_t len,
		   void *owner);
int soft_ud_reject(struct tp_conn *conn, const void *private_data, uint32_t len);
void soft_ud_disconnect(struct tp_conn *conn);
void soft_ud_release(struct tp_conn *conn);
void soft_ud_addr(struct tp_conn *conn, struct tp_conn_addr *addr);
void soft_ud_free_ah(struct tp_device *dev, void *ah);

/* Whether a conn is one. */
static inline bool soft_is_ud(const struct tp_conn *conn)
{
	return ((const struct soft_any_conn *)(const void *)conn)->ud;
}

/* A service point listens: 0 or a negative errno; and ceases to. */
int soft_ud_listen(struct soft_dev *dev, uint16_t port, void *owner);
void soft_ud_unlisten(struct soft_dev *dev, void *owner);
/* Frees what lingers. */
void soft_ud_stop(struct soft_dev *dev);

#endif
