/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the messages of the socket and of the datagram connection manager have in common
 * (doc/spec/08-cm-wire.md, CM-1 and CM-2): the header, and what an endpoint tells of itself in it.
 */
#ifndef VERBS_EXCHANGE_WIRE_H
#define VERBS_EXCHANGE_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	XCHG_VERSION = 9,	/* ours, in all that we send but what repeats the peer's */
	XCHG_VERSION_LEAST = 7, /* of peers: what came before has two layouts (VER-1, VER-5) */
	XCHG_VERSION_DATA = 8,	/* from here on with less private data, without stray bytes */
	XCHG_VERSION_MTU = 9,	/* and with the MTU */

	XCHG_HEADER = 148,
	XCHG_STRAY = 2,	     /* bytes without meaning of versions below XCHG_VERSION_DATA */
	XCHG_DATA = 68,	     /* of a program, in each direction */
	XCHG_DATA_OLD = 118, /* of versions below XCHG_VERSION_DATA */
	XCHG_MOST = XCHG_HEADER + XCHG_STRAY + XCHG_DATA_OLD,
	XCHG_ADDRESS = 28,

	XCHG_QPT_RC = 2,
	XCHG_QPT_UD = 4,
	XCHG_QPN_MAX = 0xffffff,
	XCHG_LID_MAX = 0xbfff, /* above are multicast LIDs (UCM-74) */
	XCHG_MTU_MAX = 5,      /* IBV_MTU_4096 */
};

/* Where what both use is in the header. */
enum {
	XCHG_AT_VERSION = 0,
	XCHG_AT_OP = 2,
	XCHG_AT_LEN = 16,
	XCHG_AT_READS_IN = 28,
	XCHG_AT_MTU = 32,
	XCHG_AT_SRC = 36,
	XCHG_AT_DST = 64,
};

/* An endpoint, as a request or an answer tells of it. */
struct xchg_end {
	uint8_t reads_in; /* that it takes */
	uint8_t mtu;	  /* verbs' code; 0: not stated */
	bool mtu_old;	  /* and it is 2048 then (CM-5) */
	uint16_t lid;
	uint32_t qpn;
	uint8_t gid[16];
	uint8_t qp_type;
};

/* What a program gets of a peer's private data, which in old versions may be longer. */
static inline uint32_t xchg_data_len(uint32_t len)
{
	return len < XCHG_DATA ? len : XCHG_DATA;
}

static inline uint16_t xchg_get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return be16toh(value);
}

static inline uint32_t xchg_get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static inline void xchg_put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static inline void xchg_put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

/*
 * The sender's endpoint in a request or answer; the MTU is the caller's to find out, since where it
 * is valid depends on the manager. -EPROTO if a field has no value that makes sense, with *why
 * telling which.
 */
int xchg_get_end(const uint8_t *buf, struct xchg_end *end, const char **why);
void xchg_put_end(uint8_t *buf, const struct xchg_end *end);

#endif
