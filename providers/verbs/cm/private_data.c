/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/cm/private_data.h"

#include <string.h>

#define TRAILER 4    /* two bytes of mark, the length's complement, the length */
#define SHORT	0xd0 /* in the last byte of a request that leaves one to three free: 0xd1 to 0xd3 */

static void put_trailer(uint8_t *at, uint32_t len)
{
	at[0] = 'u';
	at[1] = 'D';
	at[2] = (uint8_t)~len;
	at[3] = (uint8_t)len;
}

static bool get_trailer(const uint8_t *at, uint32_t max, uint32_t *len)
{
	if (at[0] != 'u' || at[1] != 'D' || (at[2] ^ at[3]) != 0xff || at[3] > max)
		return false;
	*len = at[3];
	return true;
}

static void fill(struct vrb_pd_frame *frame, const void *data, uint32_t len, uint8_t size)
{
	memset(frame, 0, sizeof(*frame));
	if (len)
		memcpy(frame->bytes, data, len);
	frame->len = size;
	frame->flow_control = true;
}

void vrb_pd_request(struct vrb_pd_frame *frame, const void *data, uint32_t len)
{
	fill(frame, data, len, VRB_PD_MAX);
	if (len == VRB_PD_MAX)
		return;
	frame->flow_control = false;
	if (len <= VRB_PD_MAX - TRAILER)
		put_trailer(frame->bytes + VRB_PD_MAX - TRAILER, len);
	else
		frame->bytes[VRB_PD_MAX - 1] = (uint8_t)(SHORT + VRB_PD_MAX - len);
}

void vrb_pd_reply(struct vrb_pd_frame *frame, const void *data, uint32_t len)
{
	fill(frame, data, len, VRB_PD_FRAME);
	put_trailer(frame->bytes + VRB_PD_MAX, len);
}

uint32_t vrb_pd_request_len(const void *data, uint32_t len, bool flow_control)
{
	const uint8_t *bytes = data;
	uint32_t out, last;

	if (len < VRB_PD_MAX || flow_control)
		return len;
	if (get_trailer(bytes + VRB_PD_MAX - TRAILER, VRB_PD_MAX - TRAILER, &out))
		return out;
	last = bytes[VRB_PD_MAX - 1];
	if (last > SHORT && last < SHORT + TRAILER)
		return VRB_PD_MAX - (last - SHORT);
	return len;
}

uint32_t vrb_pd_reply_len(const void *data, uint32_t len)
{
	uint32_t out;

	if (len >= VRB_PD_FRAME &&
	    get_trailer((const uint8_t *)data + VRB_PD_MAX, VRB_PD_MAX, &out))
		return out;
	return len;
}

/*
 * Release 2.1.10 has four bytes before the private data of a rejection by its consumer: the kernel
 * answers for a process that is gone, and for a listener that is freed, with the same reason but
 * without them. iWARP sends lengths, and its peers may be others than ours: there they come where
 * there is no data that would tell, or data that looks like them.
 */
static const uint8_t by_consumer[4] = { 2, 0, 2, 0 };

static bool begins_so(const void *data, uint32_t len)
{
	return len >= sizeof(by_consumer) && !memcmp(data, by_consumer, sizeof(by_consumer));
}

uint32_t vrb_pd_reject_iwarp(uint8_t *at, const void *data, uint32_t len)
{
	uint32_t mark = 0;

	if (!len || begins_so(data, len)) {
		memcpy(at, by_consumer, sizeof(by_consumer));
		mark = sizeof(by_consumer);
	}
	if (len)
		memcpy(at + mark, data, len);
	return mark + len;
}

uint32_t vrb_pd_reject(uint8_t *at, const void *data, uint32_t len)
{
	struct vrb_pd_frame frame;

	memcpy(at, by_consumer, sizeof(by_consumer));
	vrb_pd_reply(&frame, data, len);
	memcpy(at + sizeof(by_consumer), frame.bytes, frame.len);
	return (uint32_t)sizeof(by_consumer) + frame.len;
}

bool vrb_pd_rejected_iwarp(const void *data, uint32_t len, uint32_t *mark)
{
	*mark = 0;
	if (begins_so(data, len))
		*mark = sizeof(by_consumer);
	return len;
}

bool vrb_pd_rejected(const void *data, uint32_t len, uint32_t *mark)
{
	const uint8_t *bytes = data;

	if (vrb_pd_rejected_iwarp(data, len, mark) && *mark)
		return true;
	/* It has one length, filled with zeros. */
	while (len && !bytes[len - 1])
		len--;
	return len;
}
