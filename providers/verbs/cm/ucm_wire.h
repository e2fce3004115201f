/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of the datagram connection manager (doc/spec/08-cm-wire.md), as libdaploucm.so.2 of
 * release 2.1.10 sends them from one UD QP for each adapter. Pure: bytes in, bytes out.
 */
#ifndef VERBS_UCM_WIRE_H
#define VERBS_UCM_WIRE_H

#include <stddef.h>

#include "providers/verbs/cm/exchange_wire.h"

enum {
	UCM_MOST = XCHG_HEADER + XCHG_DATA, /* that we send (UCM-62) */
	UCM_ID_MAX = (1 << 18) - 1,	    /* of our connections (UCM-5) */
	UCM_PORT_MAX = (1 << 24) - 1,
};

#define UCM_QKEY 0x78654321U

enum ucm_op {
	UCM_REQ = 1,
	UCM_REP,
	UCM_REJ_USER,
	UCM_REJ_CM,
	UCM_RTU,
	UCM_DREQ,
	UCM_DREP,
};

struct ucm_msg {
	enum ucm_op op;
	uint16_t version; /* decoded */
	uint32_t src_port, dst_port;
	uint32_t src_qpn, dst_qpn; /* of the managers' QPs */
	uint32_t src_id, dst_id;
	uint8_t retrans;
	struct xchg_end end;	   /* the sender's; checked of requests and consents alone */
	uint8_t dst[XCHG_ADDRESS]; /* as UCM-9 says for each message */
	const uint8_t *data;	   /* the program's */
	uint16_t len;
};

/* The address of an adapter, which programs have of it and hand to their peers (UCM-2). */
struct ucm_address {
	uint16_t lid;
	uint32_t qpn; /* of the manager's QP */
	uint8_t gid[16];
	uint8_t type; /* XCHG_QPT_UD */
};

void ucm_put_address(uint8_t to[XCHG_ADDRESS], const struct ucm_address *addr);
/* -EPROTO for a LID or a QP number that no adapter has. */
int ucm_get_address(const uint8_t from[XCHG_ADDRESS], struct ucm_address *addr);

/*
 * Takes a datagram apart; data points into buf. -EPROTONOSUPPORT for a version that is not spoken
 * here, -EPROTO if a field has no value that makes sense, with *why telling which. Longer than the
 * datagram the private data never is, whatever it says of itself (UCM-63).
 */
int ucm_decode(const uint8_t *buf, size_t len, struct ucm_msg *msg, const char **why);
/* Writes one; its size, or 0 if there is too much private data. */
size_t ucm_encode(uint8_t buf[UCM_MOST], const struct ucm_msg *msg);
/* Of one that is written. */
void ucm_set_retrans(uint8_t buf[UCM_MOST], uint8_t retrans);
/* The refusal of a request that no connection was made for, from its bytes (UCM-9, UCM-66). */
size_t ucm_refuse(uint8_t buf[UCM_MOST], const uint8_t *request);

#endif
