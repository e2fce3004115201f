/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/cm/exchange_wire.h"

#include <errno.h>

/* An address block in the form of InfiniBand (CM-2). */
enum {
	AT_LID = 2,
	AT_QPN = 4,
	AT_GID = 8,
	AT_QP_TYPE = 27,
};

static int wrong(const char **why, const char *what)
{
	*why = what;
	return -EPROTO;
}

int xchg_get_end(const uint8_t *buf, struct xchg_end *end, const char **why)
{
	const uint8_t *src = buf + XCHG_AT_SRC;

	end->reads_in = buf[XCHG_AT_READS_IN];
	end->lid = xchg_get16(src + AT_LID);
	end->qpn = xchg_get32(src + AT_QPN);
	memcpy(end->gid, src + AT_GID, sizeof(end->gid));
	end->qp_type = src[AT_QP_TYPE];
	if (end->mtu > XCHG_MTU_MAX)
		return wrong(why, "no such MTU");
	if (end->lid > XCHG_LID_MAX)
		return wrong(why, "a multicast LID");
	if (!end->qpn || end->qpn > XCHG_QPN_MAX)
		return wrong(why, "no such QP");
	if (end->qp_type != XCHG_QPT_RC && end->qp_type != XCHG_QPT_UD)
		return wrong(why, "no such type of QP");
	return 0;
}

void xchg_put_end(uint8_t *buf, const struct xchg_end *end)
{
	uint8_t *src = buf + XCHG_AT_SRC;

	buf[XCHG_AT_READS_IN] = end->reads_in;
	buf[XCHG_AT_MTU] = end->mtu;
	xchg_put16(src + AT_LID, end->lid);
	xchg_put32(src + AT_QPN, end->qpn);
	memcpy(src + AT_GID, end->gid, sizeof(end->gid));
	src[AT_QP_TYPE] = end->qp_type;
}
