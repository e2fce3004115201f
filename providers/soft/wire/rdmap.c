/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/wire/rdmap.h"

#include <string.h>

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
