/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/wire/ddp.h"

#include <string.h>

/* RFC 5040 section 4.1, figure 4; RFC 7306 section 4.1, figure 2. */
struct message {
	bool known, tagged;
	uint8_t qn;
};

static const struct message messages[WIRE_RDMAP_OPCODE + 1] = {
	[WIRE_OP_WRITE] = { .known = true, .tagged = true },
	[WIRE_OP_READ_REQUEST] = { .known = true, .qn = WIRE_QN_READ },
	[WIRE_OP_READ_RESPONSE] = { .known = true, .tagged = true },
	[WIRE_OP_SEND] = { .known = true, .qn = WIRE_QN_SEND },
	[WIRE_OP_SEND_INVALIDATE] = { .known = true, .qn = WIRE_QN_SEND },
	[WIRE_OP_SEND_SE] = { .known = true, .qn = WIRE_QN_SEND },
	[WIRE_OP_SEND_SE_INVALIDATE] = { .known = true, .qn = WIRE_QN_SEND },
	[WIRE_OP_TERMINATE] = { .known = true, .qn = WIRE_QN_TERMINATE },
	[WIRE_OP_IMMEDIATE] = { .known = true, .qn = WIRE_QN_SEND },
	[WIRE_OP_IMMEDIATE_SE] = { .known = true, .qn = WIRE_QN_SEND },
	[WIRE_OP_ATOMIC_REQUEST] = { .known = true, .qn = WIRE_QN_READ },
	[WIRE_OP_ATOMIC_RESPONSE] = { .known = true, .qn = WIRE_QN_ATOMIC },
};

static bool refuse(struct soft_error *error, uint8_t layer, uint8_t etype, uint8_t code)
{
	*error = (struct soft_error){ .layer = layer, .etype = etype, .code = code };
	return false;
}

static void decode_fields(const uint8_t *buf, struct soft_ddp *ddp)
{
	struct wire_ddp_tagged tagged;
	struct wire_ddp_untagged untagged;

	if (ddp->tagged) {
		memcpy(&tagged, buf, sizeof(tagged));
		ddp->stag = be32toh(tagged.stag);
		ddp->to = be64toh(tagged.to);
		ddp->qn = ddp->msn = ddp->mo = 0;
	} else {
		memcpy(&untagged, buf, sizeof(untagged));
		ddp->qn = be32toh(untagged.qn);
		ddp->msn = be32toh(untagged.msn);
		ddp->mo = be32toh(untagged.mo);
		ddp->stag = be32toh(untagged.invalidate_stag);
		ddp->to = 0;
	}
}

bool soft_ddp_decode(const uint8_t *buf, uint16_t ulpdu, struct soft_ddp *ddp,
		     struct soft_error *error)
{
	const struct message *message;
	uint8_t version = buf[1] & WIRE_RDMAP_VERSION;

	ddp->tagged = buf[0] & WIRE_DDP_TAGGED;
	ddp->last = buf[0] & WIRE_DDP_LAST;
	ddp->opcode = buf[1] & WIRE_RDMAP_OPCODE;
	ddp->header = (uint8_t)soft_ddp_header(buf[0]);
	ddp->ulpdu = ulpdu;
	memcpy(ddp->raw, buf, ddp->header);
	decode_fields(buf, ddp);

	if ((buf[0] & WIRE_DDP_VERSION) != WIRE_DDP_V1)
		return ddp->tagged ? refuse(error, WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED,
					    WIRE_TAGGED_VERSION)
				   : refuse(error, WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED,
					    WIRE_UNTAGGED_VERSION);
	/* The messages of RFC 7306 have no version 0. */
	if (version != WIRE_RDMAP_V1 &&
	    (version != WIRE_RDMAP_V0 || ddp->opcode > WIRE_OP_TERMINATE))
		return refuse(error, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_VERSION);
	if (!ddp->tagged && ddp->qn >= WIRE_QN_COUNT)
		return refuse(error, WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, WIRE_UNTAGGED_QN);
	message = &messages[ddp->opcode];
	if (!message->known || message->tagged != ddp->tagged ||
	    (!ddp->tagged && message->qn != ddp->qn))
		return refuse(error, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_OPCODE);
	return true;
}

size_t soft_ddp_put_tagged(uint8_t *buf, uint8_t opcode, bool last, uint32_t stag, uint64_t to)
{
	struct wire_ddp_tagged header = {
		.ddp = WIRE_DDP_TAGGED | WIRE_DDP_V1 | (last ? WIRE_DDP_LAST : 0),
		.rdmap = WIRE_RDMAP_V1 | opcode,
		.stag = htobe32(stag),
		.to = htobe64(to),
	};

	memcpy(buf, &header, sizeof(header));
	return sizeof(header);
}

size_t soft_ddp_put_untagged(uint8_t *buf, uint8_t opcode, bool last, uint32_t qn, uint32_t msn,
			     uint32_t mo)
{
	struct wire_ddp_untagged header = {
		.ddp = WIRE_DDP_V1 | (last ? WIRE_DDP_LAST : 0),
		.rdmap = WIRE_RDMAP_V1 | opcode,
		.qn = htobe32(qn),
		.msn = htobe32(msn),
		.mo = htobe32(mo),
	};

	memcpy(buf, &header, sizeof(header));
	return sizeof(header);
}

void soft_ddp_put_invalidate(uint8_t *buf, uint32_t stag)
{
	uint32_t wire = htobe32(stag);

	memcpy(buf + offsetof(struct wire_ddp_untagged, invalidate_stag), &wire, sizeof(wire));
}
