/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/cm/scm_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* The header (CM-1); what has no name here is 0. */
enum {
	AT_VERSION = 0,
	AT_OP = 2,
	AT_LEN = 16,
	AT_READS_IN = 28,
	AT_MTU = 32,
	AT_SRC = 36,
	AT_DST = 64,
};

/* An address block (CM-2): the form of InfiniBand, and that of a socket. */
enum {
	AT_LID = 2,
	AT_QPN = 4,
	AT_GID = 8,
	AT_QP_TYPE = 27,
	AT_FAMILY = 0,
	AT_PORT = 2,
	AT_IPV4 = 4,
};

enum {
	VERSION_STRAY = 8, /* from here on without SCM_STRAY, and with less private data */
	VERSION_MTU = 9,   /* and with the MTU (SCM-49) */
	MTU_MOST = 5,	   /* IBV_MTU_4096 */
};

const uint8_t scm_end_word[SCM_WORD] = { 0x00, 0x00, 0xde, 0xad };

/* ---- Integers ---- */

static uint16_t get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return be16toh(value);
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static void put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

/* ---- Sizes ---- */

static bool has_stray(uint16_t version)
{
	return version < VERSION_STRAY;
}

static uint32_t most_data(uint16_t version)
{
	return has_stray(version) ? SCM_DATA_OLD : SCM_DATA;
}

static size_t data_at(bool stray)
{
	return stray ? SCM_HEADER + SCM_STRAY : SCM_HEADER;
}

int scm_size(const uint8_t *buf, size_t have)
{
	uint16_t version, len;

	if (have >= AT_VERSION + 2 && get16(buf + AT_VERSION) < SCM_VERSION_LEAST)
		return -EPROTONOSUPPORT;
	if (have < AT_LEN + 2)
		return 0;
	version = get16(buf + AT_VERSION);
	len = get16(buf + AT_LEN);
	if (len > most_data(version))
		return -EMSGSIZE;
	return (int)(data_at(has_stray(version)) + len);
}

size_t scm_drop_stray(uint8_t *buf, size_t size, size_t have)
{
	if (have != size + SCM_STRAY || has_stray(get16(buf + AT_VERSION)))
		return have;
	memmove(buf + SCM_HEADER, buf + SCM_HEADER + SCM_STRAY, size - SCM_HEADER);
	return size;
}

/* ---- Requests and answers ---- */

static int wrong(const char **why, const char *what)
{
	*why = what;
	return -EPROTO;
}

static int get_endpoint(const uint8_t *buf, struct scm_msg *msg, const char **why)
{
	const uint8_t *src = buf + AT_SRC, *dst = buf + AT_DST;

	msg->reads_in = buf[AT_READS_IN];
	msg->mtu = msg->version >= VERSION_MTU ? buf[AT_MTU] : 0;
	msg->lid = get16(src + AT_LID);
	msg->qpn = get32(src + AT_QPN);
	memcpy(msg->gid, src + AT_GID, sizeof(msg->gid));
	msg->qp_type = src[AT_QP_TYPE];
	msg->addr.sin_family = AF_INET;
	memcpy(&msg->addr.sin_port, dst + AT_PORT, sizeof(msg->addr.sin_port));
	memcpy(&msg->addr.sin_addr, dst + AT_IPV4, sizeof(msg->addr.sin_addr));
	if (msg->mtu > MTU_MOST)
		return wrong(why, "no such MTU");
	if (msg->lid > SCM_LID_MAX)
		return wrong(why, "a multicast LID");
	if (!msg->qpn || msg->qpn > SCM_QPN_MAX)
		return wrong(why, "no such QP");
	if (msg->qp_type != SCM_QPT_RC && msg->qp_type != SCM_QPT_UD)
		return wrong(why, "no such type of QP");
	return 0;
}

int scm_decode(const uint8_t *buf, size_t len, bool answer, struct scm_msg *msg, const char **why)
{
	int size = scm_size(buf, len);

	*why = NULL;
	if (size <= 0 || (size_t)size > len)
		return wrong(why, "its length");
	*msg = (struct scm_msg){ .op = get16(buf + AT_OP), .version = get16(buf + AT_VERSION) };
	msg->stray = has_stray(msg->version);
	msg->len = get16(buf + AT_LEN);
	msg->data = buf + data_at(msg->stray);
	if (!answer && msg->op != SCM_REQ)
		return wrong(why, "no request");
	if (answer && msg->op != SCM_REP && msg->op != SCM_REJ_USER)
		msg->op = SCM_REJ_CM;
	return answer && msg->op != SCM_REP ? 0 : get_endpoint(buf, msg, why);
}

static size_t put_data(uint8_t *buf, bool stray, const void *data, uint32_t len)
{
	uint8_t *at = buf + data_at(stray);

	put16(buf + AT_LEN, (uint16_t)len);
	memset(buf + SCM_HEADER, 0, data_at(stray) - SCM_HEADER);
	/* As a second attempt of release 2.1.10 has them (SCM-15). */
	if (stray && len)
		memcpy(buf + SCM_HEADER, data, len < SCM_STRAY ? len : SCM_STRAY);
	if (len)
		memcpy(at, data, len);
	return data_at(stray) + len;
}

size_t scm_encode(uint8_t *buf, const struct scm_msg *msg)
{
	uint8_t *src = buf + AT_SRC, *dst = buf + AT_DST;
	const uint16_t family = AF_INET; /* host order (CM-2) */

	if (msg->len > SCM_DATA)
		return 0;
	memset(buf, 0, SCM_HEADER);
	put16(buf + AT_VERSION, msg->version);
	put16(buf + AT_OP, (uint16_t)msg->op);
	buf[AT_READS_IN] = msg->reads_in;
	buf[AT_MTU] = msg->mtu;
	put16(src + AT_LID, msg->lid);
	put32(src + AT_QPN, msg->qpn);
	memcpy(src + AT_GID, msg->gid, sizeof(msg->gid));
	src[AT_QP_TYPE] = msg->qp_type;
	memcpy(dst + AT_FAMILY, &family, sizeof(family));
	memcpy(dst + AT_PORT, &msg->addr.sin_port, sizeof(msg->addr.sin_port));
	memcpy(dst + AT_IPV4, &msg->addr.sin_addr, sizeof(msg->addr.sin_addr));
	return put_data(buf, msg->stray, msg->data, msg->len);
}

size_t scm_reject(uint8_t *buf, const uint8_t *request, enum scm_op op, const void *data,
		  uint32_t len)
{
	if (len > SCM_DATA)
		return 0;
	memcpy(buf, request, SCM_HEADER);
	put16(buf + AT_OP, (uint16_t)op);
	return put_data(buf, has_stray(get16(request + AT_VERSION)), data, len);
}

/* ---- Words ---- */

void scm_put_rtu(uint8_t buf[SCM_WORD], uint16_t version)
{
	put16(buf + AT_VERSION, version);
	put16(buf + AT_OP, SCM_RTU);
}

bool scm_is_rtu(const uint8_t buf[SCM_WORD])
{
	return get16(buf + AT_VERSION) >= SCM_VERSION_LEAST && get16(buf + AT_OP) == SCM_RTU;
}
