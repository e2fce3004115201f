/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The operations of an endpoint, one row each: what is posted, and what its completion is called.
 * Those of udat.h stand in post.c, those of the InfiniBand extension in post_ib.c. */
#ifndef DAPL_OPERATIONS_H
#define DAPL_OPERATIONS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>
#include <dat/dat_ib_extensions.h>

#include "dapl/transport.h"

struct dapl_request;

struct dapl_operation {
	const char *name;  /* in traces */
	uint32_t opcode;   /* enum tp_opcode */
	uint32_t dto;	   /* DAT_DTOS or DAT_IB_DTOS of its completion */
	uint32_t counter;  /* DAT_EP_COUNTERS: how many were posted */
	bool counts_bytes; /* in the counter behind that one */
	/* Of the InfiniBand extension alone. */
	uint32_t extended_op; /* DAT_IB_OP */
	uint32_t event_type;  /* DAT_IB_EXT_TYPE of its event */
	const char *attr;     /* the adapter's named attribute that tells whether it has it */
	/* Reads and checks the arguments of its macro in dat_ib_post.h, and posts it. */
	DAT_RETURN (*post)(struct dapl_request *rq, va_list args);
};

/* Those of the extension; one without a name ends them. */
extern const struct dapl_operation dapl_ib_operations[];

/* Whether an adapter has one that not every adapter has. */
static inline bool dapl_operation_there(const struct dapl_operation *op,
					const struct tp_device_attr *dev)
{
	return op->opcode == TP_SEND_UD ? dev->max_datagram : dev->operations & TP_CAN(op->opcode);
}

/* Posts what a call of the extension asks for; of none that is known no argument is read (IBX-10). */
DAT_RETURN dapl_post_extended(uint32_t extended_op, DAT_HANDLE ep, va_list args);
/* What the extension's event says of a DTO, which may be a receive (IBX-20 to IBX-26). */
DAT_IB_EXT_TYPE dapl_operation_event_type(uint32_t dto);

#endif
