/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/wire/ud.h"

#include <string.h>

#define MAGIC 0x75644c31u /* and the version */

struct header {
	uint32_t magic;
	uint8_t type, flags;
	uint16_t len;
	uint32_t qpn, qkey;
	uint16_t port, reserved;
	uint64_t id;
} WIRE_PACKED;

_Static_assert(sizeof(struct header) == SOFT_UD_HEADER, "the header of a datagram");

void soft_ud_encode(uint8_t buf[SOFT_UD_HEADER], const struct soft_ud_frame *frame)
{
	struct header header = {
		.magic = htobe32(MAGIC),
		.type = frame->type,
		.flags = frame->flags,
		.len = htobe16(frame->len),
		.qpn = htobe32(frame->qpn),
		.qkey = htobe32(frame->qkey),
		.port = htobe16(frame->port),
		.id = htobe64(frame->id),
	};

	memcpy(buf, &header, sizeof(header));
}

static uint16_t most_data(uint8_t type)
{
	if (type == SOFT_UD_DATA)
		return SOFT_UD_MAX;
	return type == SOFT_UD_WAIT || type == SOFT_UD_ACK ? 0 : WIRE_MPA_PD_CONSUMER;
}

bool soft_ud_decode(const uint8_t *buf, size_t len, struct soft_ud_frame *frame)
{
	struct header header;

	if (len < sizeof(header))
		return false;
	memcpy(&header, buf, sizeof(header));
	*frame = (struct soft_ud_frame){
		.type = header.type,
		.flags = header.flags,
		.port = be16toh(header.port),
		.qpn = be32toh(header.qpn),
		.qkey = be32toh(header.qkey),
		.id = be64toh(header.id),
		.data = buf + sizeof(header),
		.len = be16toh(header.len),
	};
	if (be32toh(header.magic) != MAGIC || header.type >= SOFT_UD_TYPES ||
	    frame->len != len - sizeof(header) || frame->len > most_data(header.type) ||
	    frame->qpn > SOFT_UD_QPN_MASK)
		return false;
	return frame->port || (header.type != SOFT_UD_REQUEST && header.type != SOFT_UD_REPLY);
}
