/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/cm/scm_wire.h"

#include <errno.h>

/* An address block in the form of a socket (CM-2). */
enum {
	AT_FAMILY = 0,
	AT_PORT = 2,
	AT_IPV4 = 4,
};

const uint8_t scm_end_word[SCM_WORD] = { 0x00, 0x00, 0xde, 0xad };

/* ---- Sizes ---- */

static bool has_stray(uint16_t version)
{
	return version < XCHG_VERSION_DATA;
}

static uint32_t most_data(uint16_t version)
{
	return has_stray(version) ? XCHG_DATA_OLD : XCHG_DATA;
}

static size_t data_at(bool stray)
{
	return stray ? XCHG_HEADER + XCHG_STRAY : XCHG_HEADER;
}

int scm_size(const uint8_t *buf, size_t have)
{
	uint16_t version, len;

	if (have >= XCHG_AT_VERSION + 2 && xchg_get16(buf + XCHG_AT_VERSION) < XCHG_VERSION_LEAST)
		return -EPROTONOSUPPORT;
	if (have < XCHG_AT_LEN + 2)
		return 0;
	version = xchg_get16(buf + XCHG_AT_VERSION);
	len = xchg_get16(buf + XCHG_AT_LEN);
	if (len > most_data(version))
		return -EMSGSIZE;
	return (int)(data_at(has_stray(version)) + len);
}

size_t scm_drop_stray(uint8_t *buf, size_t size, size_t have)
{
	if (have != size + XCHG_STRAY || has_stray(xchg_get16(buf + XCHG_AT_VERSION)))
		return have;
	memmove(buf + XCHG_HEADER, buf + XCHG_HEADER + XCHG_STRAY, size - XCHG_HEADER);
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
	const uint8_t *dst = buf + XCHG_AT_DST;

	msg->end.mtu_old = msg->version < XCHG_VERSION_MTU; /* SCM-49 */
	msg->end.mtu = msg->end.mtu_old ? 0 : buf[XCHG_AT_MTU];
	msg->addr.sin_family = AF_INET;
	memcpy(&msg->addr.sin_port, dst + AT_PORT, sizeof(msg->addr.sin_port));
	memcpy(&msg->addr.sin_addr, dst + AT_IPV4, sizeof(msg->addr.sin_addr));
	return xchg_get_end(buf, &msg->end, why);
}

int scm_decode(const uint8_t *buf, size_t len, bool answer, struct scm_msg *msg, const char **why)
{
	int size = scm_size(buf, len);

	*why = NULL;
	if (size <= 0 || (size_t)size > len)
		return wrong(why, "its length");
	*msg = (struct scm_msg){ .op = xchg_get16(buf + XCHG_AT_OP),
				 .version = xchg_get16(buf + XCHG_AT_VERSION) };
	msg->stray = has_stray(msg->version);
	msg->len = xchg_get16(buf + XCHG_AT_LEN);
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

	xchg_put16(buf + XCHG_AT_LEN, (uint16_t)len);
	memset(buf + XCHG_HEADER, 0, data_at(stray) - XCHG_HEADER);
	/* As a second attempt of release 2.1.10 has them (SCM-15). */
	if (stray && len)
		memcpy(buf + XCHG_HEADER, data, len < XCHG_STRAY ? len : XCHG_STRAY);
	if (len)
		memcpy(at, data, len);
	return data_at(stray) + len;
}

size_t scm_encode(uint8_t *buf, const struct scm_msg *msg)
{
	uint8_t *dst = buf + XCHG_AT_DST;
	const uint16_t family = AF_INET; /* host order (CM-2) */

	if (msg->len > XCHG_DATA)
		return 0;
	memset(buf, 0, XCHG_HEADER);
	xchg_put16(buf + XCHG_AT_VERSION, msg->version);
	xchg_put16(buf + XCHG_AT_OP, (uint16_t)msg->op);
	xchg_put_end(buf, &msg->end);
	memcpy(dst + AT_FAMILY, &family, sizeof(family));
	memcpy(dst + AT_PORT, &msg->addr.sin_port, sizeof(msg->addr.sin_port));
	memcpy(dst + AT_IPV4, &msg->addr.sin_addr, sizeof(msg->addr.sin_addr));
	return put_data(buf, msg->stray, msg->data, msg->len);
}

size_t scm_reject(uint8_t *buf, const uint8_t *request, enum scm_op op, const void *data,
		  uint32_t len)
{
	if (len > XCHG_DATA)
		return 0;
	memcpy(buf, request, XCHG_HEADER);
	xchg_put16(buf + XCHG_AT_OP, (uint16_t)op);
	return put_data(buf, has_stray(xchg_get16(request + XCHG_AT_VERSION)), data, len);
}

/* ---- Words ---- */

void scm_put_rtu(uint8_t buf[SCM_WORD], uint16_t version)
{
	xchg_put16(buf + XCHG_AT_VERSION, version);
	xchg_put16(buf + XCHG_AT_OP, SCM_RTU);
}

bool scm_is_rtu(const uint8_t buf[SCM_WORD])
{
	return xchg_get16(buf + XCHG_AT_VERSION) >= XCHG_VERSION_LEAST &&
	       xchg_get16(buf + XCHG_AT_OP) == SCM_RTU;
}
