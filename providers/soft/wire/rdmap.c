/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/wire/rdmap.h"

#include <string.h>

#include "dapl/transport.h"

void soft_rdmap_put_read(uint8_t *buf, const struct soft_read_request *read)
{
	struct wire_read_request wire = {
		.sink_stag = htobe32(read->sink_stag),
		.sink_to = htobe64(read->sink_to),
		.size = htobe32(read->size),
		.source_stag = htobe32(read->source_stag),
		.source_to = htobe64(read->source_to),
	};

	memcpy(buf, &wire, sizeof(wire));
}

void soft_rdmap_get_read(const uint8_t *buf, struct soft_read_request *read)
{
	struct wire_read_request wire;

	memcpy(&wire, buf, sizeof(wire));
	read->sink_stag = be32toh(wire.sink_stag);
	read->sink_to = be64toh(wire.sink_to);
	read->size = be32toh(wire.size);
	read->source_stag = be32toh(wire.source_stag);
	read->source_to = be64toh(wire.source_to);
}

void soft_rdmap_put_atomic(uint8_t *buf, const struct soft_atomic *atomic)
{
	struct wire_atomic_request wire = {
		.code = htobe32(atomic->code),
		.id = htobe32(atomic->id),
		.stag = htobe32(atomic->stag),
		.to = htobe64(atomic->to),
		.data = htobe64(atomic->data),
		.mask = htobe64(atomic->mask),
		.compare = htobe64(atomic->compare),
		.compare_mask = htobe64(atomic->compare_mask),
	};

	memcpy(buf, &wire, sizeof(wire));
}

void soft_rdmap_get_atomic(const uint8_t *buf, struct soft_atomic *atomic)
{
	struct wire_atomic_request wire;

	memcpy(&wire, buf, sizeof(wire));
	atomic->code = be32toh(wire.code) & WIRE_ATOMIC_CODE;
	atomic->id = be32toh(wire.id);
	atomic->stag = be32toh(wire.stag);
	atomic->to = be64toh(wire.to);
	atomic->data = be64toh(wire.data);
	atomic->mask = be64toh(wire.mask);
	atomic->compare = be64toh(wire.compare);
	atomic->compare_mask = be64toh(wire.compare_mask);
}

void soft_rdmap_put_value(uint8_t *buf, uint32_t id, uint64_t value)
{
	struct wire_atomic_response wire = { .id = htobe32(id), .value = htobe64(value) };

	memcpy(buf, &wire, sizeof(wire));
}

void soft_rdmap_get_value(const uint8_t *buf, uint32_t *id, uint64_t *value)
{
	struct wire_atomic_response wire;

	memcpy(&wire, buf, sizeof(wire));
	*id = be32toh(wire.id);
	*value = be64toh(wire.value);
}

uint64_t soft_atomic_result(const struct soft_atomic *atomic, uint64_t old)
{
	uint64_t top = atomic->mask;

	if (atomic->code == WIRE_ATOMIC_CMP_SWAP)
		return (atomic->compare ^ old) & atomic->compare_mask
			       ? old
			       : (old & ~atomic->mask) | (atomic->data & atomic->mask);
	/* The mask has the top bit of every field; what is carried out of one is lost. */
	return ((old & ~top) + (atomic->data & ~top)) ^ ((old ^ atomic->data) & top);
}

size_t soft_rdmap_put_terminate(uint8_t *buf, const struct soft_terminate *term)
{
	struct wire_terminate head = {
		.layer_etype = (uint8_t)(term->error.layer << 4 | term->error.etype),
		.code = term->error.code,
		.hdrct = (uint8_t)((term->has_ddp ? WIRE_TERM_LENGTH | WIRE_TERM_DDP : 0) |
				   (term->has_read ? WIRE_TERM_RDMA : 0)),
	};
	size_t size = sizeof(head);
	uint16_t length;

	memcpy(buf, &head, sizeof(head));
	if (term->has_ddp) {
		length = htobe16(term->ddp.ulpdu);
		memcpy(buf + size, &length, sizeof(length));
		size += sizeof(length);
		memcpy(buf + size, term->ddp.raw, term->ddp.header);
		size += term->ddp.header;
	}
	if (term->has_read) {
		soft_rdmap_put_read(buf + size, &term->read);
		size += sizeof(struct wire_read_request);
	}
	return size;
}

bool soft_rdmap_get_terminate(const uint8_t *buf, size_t len, struct soft_terminate *term)
{
	struct wire_terminate head;
	struct soft_error ignored;
	uint16_t length = 0;
	size_t at = sizeof(head);

	memset(term, 0, sizeof(*term));
	if (len < sizeof(head))
		return false;
	memcpy(&head, buf, sizeof(head));
	term->error.layer = head.layer_etype >> 4;
	term->error.etype = head.layer_etype & 15;
	term->error.code = head.code;
	/* The length field is present whenever the DDP header is (RFC 5040 section 4.8). */
	if (!(head.hdrct & WIRE_TERM_DDP))
		return true;
	if (len < at + sizeof(length) + 1)
		return true;
	memcpy(&length, buf + at, sizeof(length));
	at += sizeof(length);
	if (len < at + soft_ddp_header(buf[at]))
		return true;
	soft_ddp_decode(buf + at, be16toh(length), &term->ddp, &ignored);
	term->has_ddp = true;
	at += term->ddp.header;
	if ((head.hdrct & WIRE_TERM_RDMA) && len >= at + sizeof(struct wire_read_request)) {
		soft_rdmap_get_read(buf + at, &term->read);
		term->has_read = true;
	}
	return true;
}

/* ---- Meaning ---- */

struct meaning {
	uint8_t layer, etype;
	int16_t code; /* -1: any */
	uint32_t status;
	const char *text;
};

/* The first row that fits. */
static const struct meaning meanings[] = {
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, WIRE_PROT_STAG, TP_WC_REMOTE_ACCESS,
	  "unknown tag" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, WIRE_PROT_BOUNDS, TP_WC_REMOTE_ACCESS,
	  "range outside the region" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, WIRE_PROT_ACCESS, TP_WC_REMOTE_ACCESS,
	  "access right missing" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, WIRE_PROT_STREAM, TP_WC_REMOTE_ACCESS,
	  "tag of another protection zone" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, WIRE_PROT_INVALIDATE, TP_WC_REMOTE_ACCESS,
	  "tag cannot be invalidated" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, -1, TP_WC_REMOTE_ACCESS,
	  "remote protection error" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_VERSION, TP_WC_REMOTE_RESPONDER,
	  "RDMAP version" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_OPCODE, TP_WC_REMOTE_RESPONDER,
	  "unexpected opcode" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, WIRE_OPER_INVALIDATE, TP_WC_REMOTE_ACCESS,
	  "tag cannot be invalidated" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, -1, TP_WC_REMOTE_RESPONDER,
	  "remote operation error" },
	{ WIRE_LAYER_RDMAP, WIRE_RDMAP_CATASTROPHIC, -1, TP_WC_REMOTE_RESPONDER, "local error" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_STAG, TP_WC_REMOTE_ACCESS,
	  "unknown tag" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_BOUNDS, TP_WC_REMOTE_ACCESS,
	  "range outside the region" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_STREAM, TP_WC_REMOTE_ACCESS,
	  "tag of another protection zone" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_VERSION, TP_WC_REMOTE_RESPONDER,
	  "DDP version" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, -1, TP_WC_REMOTE_ACCESS, "tagged buffer error" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, WIRE_UNTAGGED_NO_BUFFER, TP_WC_REMOTE_RESPONDER,
	  "no buffer for the message" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, WIRE_UNTAGGED_MSN, TP_WC_REMOTE_RESPONDER,
	  "message out of sequence" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, WIRE_UNTAGGED_MO, TP_WC_REMOTE_RESPONDER,
	  "segment out of sequence" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, WIRE_UNTAGGED_TOO_LONG, TP_WC_REMOTE_RESPONDER,
	  "message longer than the Receive" },
	{ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, -1, TP_WC_REMOTE_RESPONDER,
	  "untagged buffer error" },
	{ WIRE_LAYER_DDP, WIRE_DDP_CATASTROPHIC, -1, TP_WC_REMOTE_RESPONDER, "local error" },
	{ WIRE_LAYER_MPA, 0, WIRE_MPA_ERR_CRC, TP_WC_TRANSPORT, "wrong CRC" },
	{ WIRE_LAYER_MPA, 0, WIRE_MPA_ERR_IRD, TP_WC_TRANSPORT, "RDMA Read depth" },
	{ WIRE_LAYER_MPA, 0, WIRE_MPA_ERR_RTR, TP_WC_TRANSPORT, "ready-to-receive options" },
	{ WIRE_LAYER_MPA, 0, -1, TP_WC_TRANSPORT, "framing error" },
};

static const struct meaning *meaning(const struct soft_error *error)
{
	static const struct meaning unknown = { .status = TP_WC_TRANSPORT,
						.text = "unknown error" };
	const struct meaning *row = meanings;

	for (; row < meanings + sizeof(meanings) / sizeof(meanings[0]); row++)
		if (row->layer == error->layer && row->etype == error->etype &&
		    (row->code < 0 || row->code == error->code))
			return row;
	return &unknown;
}

uint32_t soft_rdmap_status(const struct soft_error *error)
{
	return meaning(error)->status;
}

const char *soft_rdmap_error_text(const struct soft_error *error)
{
	return meaning(error)->text;
}
