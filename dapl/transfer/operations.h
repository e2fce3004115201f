/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The operations of an endpoint, one row each: what is posted, and what its completion is called.
 */
#ifndef DAPL_OPERATIONS_H
#define DAPL_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>
#include <dat/dat_ib_extensions.h>

#include "dapl/transport.h"

#define DAPL_IB_DTO_EVENT ((DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)

enum dapl_operation_id {
	DAPL_SEND,
	DAPL_SEND_INVALIDATE,
	DAPL_RDMA_WRITE,
	DAPL_RDMA_READ,
	DAPL_READ_TO_RMR,
	DAPL_FETCH_AND_ADD,
	DAPL_CMP_AND_SWAP,
	DAPL_WRITE_IMMEDIATE,
	DAPL_NUM_OPERATIONS
};

struct dapl_operation {
	const char *name;  /* in traces */
	uint32_t opcode;   /* enum tp_opcode */
	uint32_t dto;	   /* DAT_DTOS or DAT_IB_DTOS of its completion */
	uint32_t counter;  /* DAT_EP_COUNTERS: how many were posted */
	bool counts_bytes; /* in the counter behind that one */
	/* The bool of struct tp_device_attr that says whether the adapter has it; 0: all have. */
	size_t feature;
	/* Of the InfiniBand extension alone; others have no attr. */
	uint32_t extended_op; /* DAT_IB_OP */
	uint32_t event_type;  /* DAT_IB_EXT_TYPE of its event */
	const char *attr;     /* the adapter's named attribute that tells of the feature */
};

extern const struct dapl_operation dapl_operations[DAPL_NUM_OPERATIONS];

/* Whether the adapter has the operation. */
static inline bool dapl_operation_there(const struct dapl_operation *op,
					const struct tp_device_attr *dev)
{
	return !op->feature || *(const bool *)((const char *)dev + op->feature);
}

/* The operation behind a call of the extension; NULL: none. */
const struct dapl_operation *dapl_operation_of_call(uint32_t extended_op);
/* What the extension's event says of a DTO, which may be a receive (IBX-20 to IBX-26). */
DAT_IB_EXT_TYPE dapl_operation_event_type(uint32_t dto);

#endif
