/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of the socket connection manager (doc/spec/08-cm-wire.md), as libdaploscm.so.2 of release
 * 2.1.10 has them on its TCP connections. Pure: bytes in, bytes out.
 */
#ifndef VERBS_SCM_WIRE_H
#define VERBS_SCM_WIRE_H

#include <netinet/in.h>
#include <stddef.h>

#include "providers/verbs/cm/exchange_wire.h"

enum {
	SCM_WORD = 4,	 /* an RTU, or a disconnect word */
	SCM_PORT = 1000, /* of connection qualifier 0 (SCM-1) */
};

enum scm_op {
	SCM_REQ = 1,
	SCM_REP = 2,
	SCM_REJ_USER = 3,
	SCM_REJ_CM = 4,
	SCM_RTU = 5,
};

/* A request or its answer. */
struct scm_msg {
	enum scm_op op;
	uint16_t version;
	bool stray; /* encoding: in the form with XCHG_STRAY, whatever the version (SCM-15) */
	/* Of a rejection, which repeats the request, nothing of the following is read. */
	struct xchg_end end;
	struct sockaddr_in addr; /* the sender's end of the TCP connection */
	const uint8_t *data;	 /* the program's */
	uint16_t len;
};

/* The TCP port of a connection qualifier, and back; port 0 is nobody's. */
static inline uint16_t scm_port(uint64_t qual)
{
	return (uint16_t)(qual + SCM_PORT);
}

static inline uint16_t scm_qual(uint16_t port)
{
	return (uint16_t)(port - SCM_PORT);
}

/*
 * How many bytes the request or answer has that starts with these: 0 if more than have must be seen
 * to tell; -EPROTONOSUPPORT for a version that is not spoken here, -EMSGSIZE for too much private
 * data.
 */
int scm_size(const uint8_t *buf, size_t have);
/*
 * Takes a whole one apart; data points into buf. -EPROTO if a field has no value that makes sense,
 * with *why telling which. In an answer every opcode but SCM_REP and SCM_REJ_USER is SCM_REJ_CM
 * (SCM-7).
 */
int scm_decode(const uint8_t *buf, size_t len, bool answer, struct scm_msg *msg, const char **why);
/* Writes one of at most XCHG_MOST bytes; its size, or 0 if there is too much private data. */
size_t scm_encode(uint8_t *buf, const struct scm_msg *msg);
/* Writes the rejection of a request, which it repeats (SCM-6). As scm_encode. */
size_t scm_reject(uint8_t *buf, const uint8_t *request, enum scm_op op, const void *data,
		  uint32_t len);
/*
 * Who asks a second time sends XCHG_STRAY bytes more than version 9 has (SCM-15): takes them out of
 * a request of size bytes of which have came. How many bytes it has then.
 */
size_t scm_drop_stray(uint8_t *buf, size_t size, size_t have);

/* The word that confirms: version is the answer's. */
void scm_put_rtu(uint8_t buf[SCM_WORD], uint16_t version);
bool scm_is_rtu(const uint8_t buf[SCM_WORD]);
/* The word that ends. */
extern const uint8_t scm_end_word[SCM_WORD];

#endif
