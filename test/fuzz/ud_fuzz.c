/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for the datagrams of UD endpoints. What is taken from one lies within its bytes
 * and bounds, and comes out of its own encoding as it was.
 */
#include "test/fuzz/insist.h"

#include "providers/soft/wire/ud.h"

static void within_bounds(const struct soft_ud_frame *frame, const uint8_t *buf, size_t len)
{
	insist(frame->type < SOFT_UD_TYPES && frame->qpn <= SOFT_UD_QPN_MASK);
	insist(frame->data == buf + SOFT_UD_HEADER && frame->len == len - SOFT_UD_HEADER);
	if (frame->type == SOFT_UD_DATA)
		insist(frame->len <= SOFT_UD_MAX);
	else
		insist(frame->len <= WIRE_MPA_PD_CONSUMER);
	if (frame->type == SOFT_UD_WAIT || frame->type == SOFT_UD_ACK)
		insist(!frame->len);
	if (frame->type == SOFT_UD_REQUEST || frame->type == SOFT_UD_REPLY)
		insist(frame->port);
}

static void back(const struct soft_ud_frame *frame)
{
	uint8_t *bytes = malloc(SOFT_UD_HEADER + frame->len);
	struct soft_ud_frame again;

	insist(bytes);
	soft_ud_encode(bytes, frame);
	memcpy(bytes + SOFT_UD_HEADER, frame->data, frame->len);
	insist(soft_ud_decode(bytes, SOFT_UD_HEADER + frame->len, &again));
	insist(again.type == frame->type && again.flags == frame->flags);
	insist(again.port == frame->port && again.qpn == frame->qpn && again.qkey == frame->qkey);
	insist(again.id == frame->id && again.len == frame->len);
	/* One byte more or less is another frame, or none. */
	insist(!soft_ud_decode(bytes, SOFT_UD_HEADER + frame->len - 1u, &again));
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct soft_ud_frame frame;
	uint8_t *exact = malloc(size ? size : 1);

	insist(exact);
	memcpy(exact, data, size);
	if (soft_ud_decode(exact, size, &frame)) {
		within_bounds(&frame, exact, size);
		back(&frame);
	}
	free(exact);
	return 0;
}
