/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/cm/ucm_wire.h"

#include <errno.h>
#include <sys/socket.h>

/* The header beside what exchange_wire.h has (CM-1); what has no name is 0. */
enum {
	AT_SRC_PORT = 4,
	AT_DST_PORT = 6,
	AT_SRC_QPN = 8,
	AT_DST_QPN = 12,
	AT_SRC_ID = 20,
	AT_DST_ID = 24,
	AT_SRC_PORT_HIGH = 29,
	AT_DST_PORT_HIGH = 30,
	AT_RETRANS = 31,
};

/* An address block (CM-2, UCM-2). */
enum {
	AT_FAMILY = 0,
	AT_LID = 2,
	AT_QPN = 4,
	AT_GID = 8,
	AT_QP_TYPE = 27,
};

enum {
	VERSION_PORTS = 8, /* from here on with the ports' high bytes and retrans (VER-5) */
};

static int wrong(const char **why, const char *what)
{
	*why = what;
	return -EPROTO;
}

/* ---- Addresses ---- */

void ucm_put_address(uint8_t to[XCHG_ADDRESS], const struct ucm_address *addr)
{
	const uint16_t family = AF_INET6; /* host order */

	memset(to, 0, XCHG_ADDRESS);
	memcpy(to + AT_FAMILY, &family, sizeof(family));
	xchg_put16(to + AT_LID, addr->lid);
	xchg_put32(to + AT_QPN, addr->qpn);
	memcpy(to + AT_GID, addr->gid, sizeof(addr->gid));
	to[AT_QP_TYPE] = addr->type;
}

int ucm_get_address(const uint8_t from[XCHG_ADDRESS], struct ucm_address *addr)
{
	addr->lid = xchg_get16(from + AT_LID);
	addr->qpn = xchg_get32(from + AT_QPN);
	memcpy(addr->gid, from + AT_GID, sizeof(addr->gid));
	addr->type = from[AT_QP_TYPE];
	return addr->lid > XCHG_LID_MAX || !addr->qpn || addr->qpn > XCHG_QPN_MAX ? -EPROTO : 0;
}

/* ---- Decoding ---- */

/* Valid from version 9 on, and before where it makes sense (CM-5, VER-5). */
static uint8_t get_mtu(const uint8_t *buf, uint16_t version)
{
	uint8_t mtu = buf[XCHG_AT_MTU];

	return version < XCHG_VERSION_MTU && mtu > XCHG_MTU_MAX ? 0 : mtu;
}

static bool carries_data(enum ucm_op op)
{
	return op == UCM_REQ || op == UCM_REP || op == UCM_REJ_USER;
}

static int get_data(const uint8_t *buf, size_t len, struct ucm_msg *msg, const char **why)
{
	size_t most = msg->version < XCHG_VERSION_DATA ? XCHG_DATA_OLD : XCHG_DATA;
	size_t said = xchg_get16(buf + XCHG_AT_LEN), there = len - XCHG_HEADER;

	msg->data = buf + XCHG_HEADER;
	if (!carries_data(msg->op))
		return 0;
	if (said > most)
		return wrong(why, "too much private data");
	msg->len = (uint16_t)(said < there ? said : there);
	return 0;
}

static void get_ports(const uint8_t *buf, struct ucm_msg *msg)
{
	msg->src_port = xchg_get16(buf + AT_SRC_PORT);
	msg->dst_port = xchg_get16(buf + AT_DST_PORT);
	if (msg->version < VERSION_PORTS)
		return;
	msg->src_port |= (uint32_t)buf[AT_SRC_PORT_HIGH] << 16;
	msg->dst_port |= (uint32_t)buf[AT_DST_PORT_HIGH] << 16;
	msg->retrans = buf[AT_RETRANS];
}

int ucm_decode(const uint8_t *buf, size_t len, struct ucm_msg *msg, const char **why)
{
	int rc;

	*why = NULL;
	if (len < XCHG_HEADER || len > XCHG_MOST)
		return wrong(why, "its length");
	*msg = (struct ucm_msg){ .op = xchg_get16(buf + XCHG_AT_OP),
				 .version = xchg_get16(buf + XCHG_AT_VERSION) };
	if (msg->version < XCHG_VERSION_LEAST) {
		*why = "a version before 7";
		return -EPROTONOSUPPORT;
	}
	if (msg->op < UCM_REQ || msg->op > UCM_DREP)
		return wrong(why, "no such message");
	get_ports(buf, msg);
	msg->src_qpn = xchg_get32(buf + AT_SRC_QPN);
	msg->dst_qpn = xchg_get32(buf + AT_DST_QPN);
	msg->src_id = xchg_get32(buf + AT_SRC_ID);
	msg->dst_id = xchg_get32(buf + AT_DST_ID);
	memcpy(msg->dst, buf + XCHG_AT_DST, sizeof(msg->dst));
	rc = get_data(buf, len, msg, why);
	if (rc)
		return rc;
	msg->end.mtu = get_mtu(buf, msg->version);
	msg->end.mtu_old = !msg->end.mtu;
	rc = xchg_get_end(buf, &msg->end, why);
	if (msg->op == UCM_REQ || msg->op == UCM_REP)
		return rc;
	*why = NULL;
	return msg->end.lid > XCHG_LID_MAX ? wrong(why, "a multicast LID") : 0;
}

/* ---- Encoding ---- */

static void put_ports(uint8_t *buf, uint32_t src, uint32_t dst)
{
	xchg_put16(buf + AT_SRC_PORT, (uint16_t)src);
	xchg_put16(buf + AT_DST_PORT, (uint16_t)dst);
	buf[AT_SRC_PORT_HIGH] = (uint8_t)(src >> 16);
	buf[AT_DST_PORT_HIGH] = (uint8_t)(dst >> 16);
}

size_t ucm_encode(uint8_t buf[UCM_MOST], const struct ucm_msg *msg)
{
	if (msg->len > XCHG_DATA)
		return 0;
	memset(buf, 0, XCHG_HEADER);
	xchg_put16(buf + XCHG_AT_VERSION, XCHG_VERSION);
	xchg_put16(buf + XCHG_AT_OP, (uint16_t)msg->op);
	put_ports(buf, msg->src_port, msg->dst_port);
	xchg_put32(buf + AT_SRC_QPN, msg->src_qpn);
	xchg_put32(buf + AT_DST_QPN, msg->dst_qpn);
	xchg_put16(buf + XCHG_AT_LEN, msg->len);
	xchg_put32(buf + AT_SRC_ID, msg->src_id);
	xchg_put32(buf + AT_DST_ID, msg->dst_id);
	buf[AT_RETRANS] = msg->retrans;
	xchg_put_end(buf, &msg->end);
	memcpy(buf + XCHG_AT_DST, msg->dst, sizeof(msg->dst));
	if (msg->len)
		memcpy(buf + XCHG_HEADER, msg->data, msg->len);
	return XCHG_HEADER + msg->len;
}

void ucm_set_retrans(uint8_t buf[UCM_MOST], uint8_t retrans)
{
	buf[AT_RETRANS] = retrans;
}

size_t ucm_refuse(uint8_t buf[UCM_MOST], const uint8_t *request)
{
	memset(buf, 0, XCHG_HEADER);
	xchg_put16(buf + XCHG_AT_VERSION, XCHG_VERSION);
	xchg_put16(buf + XCHG_AT_OP, UCM_REJ_CM);
	memcpy(buf + AT_SRC_PORT, request + AT_DST_PORT, 2);
	memcpy(buf + AT_DST_PORT, request + AT_SRC_PORT, 2);
	buf[AT_SRC_PORT_HIGH] = request[AT_DST_PORT_HIGH];
	buf[AT_DST_PORT_HIGH] = request[AT_SRC_PORT_HIGH];
	memcpy(buf + AT_SRC_QPN, request + AT_DST_QPN, 4);
	memcpy(buf + AT_DST_QPN, request + AT_SRC_QPN, 4);
	memcpy(buf + AT_DST_ID, request + AT_SRC_ID, 4);
	memcpy(buf + XCHG_AT_SRC, request + XCHG_AT_DST, XCHG_ADDRESS);
	buf[XCHG_AT_SRC + AT_QP_TYPE] = request[XCHG_AT_SRC + AT_QP_TYPE];
	memcpy(buf + XCHG_AT_DST, request + XCHG_AT_SRC, XCHG_ADDRESS);
	return XCHG_HEADER;
}
