/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs of datagrams: soft_qp with a UDP socket in place of a connection. Who posts sends at
 * once; the service thread takes in what comes, and drops what is for nobody.
 */
#ifndef SOFT_ENGINE_UD_H
#define SOFT_ENGINE_UD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "dapl/transport.h"
#include "providers/soft/wire/ud.h"

struct soft_dev;
struct soft_qp;

struct soft_ud {
	struct soft_qp *qp;
	struct tp_watch watch;
	uint16_t port;
	uint32_t qpn, qkey;
	bool broken; /* a request failed: those behind it are flushed; the QP's lock */
	uint8_t frame[SOFT_UD_FRAME_MAX + 1]; /* the loop's */
};

/* What programs get as an address handle. */
struct soft_ah {
	struct sockaddr_storage addr;
	uint32_t qkey;
};

/* Makes one of a new QP: 0 or a negative errno. */
int soft_ud_open(struct soft_qp *qp);
/* A socket at the device's address: its descriptor, or a negative errno; *port 0: any. */
int soft_ud_socket(const struct soft_dev *dev, uint16_t *port);

#endif
