/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Private data on rdma_cm's wire. Pure. */
#ifndef VERBS_PRIVATE_DATA_H
#define VERBS_PRIVATE_DATA_H

#include <stdbool.h>
#include <stdint.h>

/*
 * InfiniBand's connection messages carry a fixed number of bytes, 56 of a request's for the
 * program. It is sent as it is, as by release 2.1.10, and its length in what it leaves free: in a
 * request the end of the 56 bytes, marked by the flow control bit being off, else the bytes behind
 * them.
 */
#define VRB_PD_MAX	 56  /* of an InfiniBand or RoCE device */
#define VRB_PD_MAX_IWARP 240 /* of an iWARP device, where the length is sent */
#define VRB_PD_FRAME	 60

struct vrb_pd_frame {
	uint8_t bytes[VRB_PD_FRAME];
	uint8_t len;
	bool flow_control;
};

void vrb_pd_request(struct vrb_pd_frame *frame, const void *data, uint32_t len);
void vrb_pd_reply(struct vrb_pd_frame *frame, const void *data, uint32_t len);
/* How many of the bytes that came are the program's. */
uint32_t vrb_pd_request_len(const void *data, uint32_t len, bool flow_control);
uint32_t vrb_pd_reply_len(const void *data, uint32_t len);

/* Room for the private data of a rejection. */
#define VRB_PD_REJECT_MAX 244

/* Private data of a rejection by the consumer, into at; its length on the wire. */
uint32_t vrb_pd_reject(uint8_t *at, const void *data, uint32_t len);
uint32_t vrb_pd_reject_iwarp(uint8_t *at, const void *data, uint32_t len);
/* Whether a rejection comes from the peer's consumer; *mark: how much of it is before his data. */
bool vrb_pd_rejected(const void *data, uint32_t len, uint32_t *mark);
bool vrb_pd_rejected_iwarp(const void *data, uint32_t len, uint32_t *mark);

#endif
