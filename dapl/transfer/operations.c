/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/transfer/operations.h"

#define FEATURE(member) offsetof(struct tp_device_attr, member)

const struct dapl_operation dapl_operations[DAPL_NUM_OPERATIONS] = {
	[DAPL_SEND] = { .name = "SEND",
			.opcode = TP_SEND,
			.dto = DAT_DTO_SEND,
			.counter = DCNT_EP_POST_SEND,
			.counts_bytes = true },
	[DAPL_SEND_INVALIDATE] = { .name = "SEND_INVALIDATE",
				   .opcode = TP_SEND_INVALIDATE,
				   .dto = DAT_DTO_SEND,
				   .counter = DCNT_EP_POST_SEND,
				   .counts_bytes = true,
				   .feature = FEATURE(send_invalidate) },
	[DAPL_RDMA_WRITE] = { .name = "RDMA_WRITE",
			      .opcode = TP_RDMA_WRITE,
			      .dto = DAT_DTO_RDMA_WRITE,
			      .counter = DCNT_EP_POST_WRITE,
			      .counts_bytes = true },
	[DAPL_RDMA_READ] = { .name = "RDMA_READ",
			     .opcode = TP_RDMA_READ,
			     .dto = DAT_DTO_RDMA_READ,
			     .counter = DCNT_EP_POST_READ,
			     .counts_bytes = true },
	[DAPL_READ_TO_RMR] = { .name = "RDMA_READ_TO_RMR",
			       .opcode = TP_READ_TO_RKEY,
			       .dto = DAT_DTO_RDMA_READ,
			       .counter = DCNT_EP_POST_READ,
			       .counts_bytes = true,
			       .feature = FEATURE(read_to_rkey) },
	[DAPL_FETCH_AND_ADD] = { .name = "FETCH_AND_ADD",
				 .opcode = TP_FETCH_AND_ADD,
				 .dto = DAT_IB_DTO_FETCH_ADD,
				 .counter = DCNT_EP_POST_FETCH_ADD,
				 .feature = FEATURE(fetch_and_add),
				 .extended_op = DAT_IB_FETCH_AND_ADD_OP,
				 .event_type = DAT_IB_FETCH_AND_ADD,
				 .attr = DAT_IB_ATTR_FETCH_AND_ADD },
	[DAPL_CMP_AND_SWAP] = { .name = "CMP_AND_SWAP",
				.opcode = TP_CMP_AND_SWAP,
				.dto = DAT_IB_DTO_CMP_SWAP,
				.counter = DCNT_EP_POST_CMP_SWAP,
				.feature = FEATURE(cmp_and_swap),
				.extended_op = DAT_IB_CMP_AND_SWAP_OP,
				.event_type = DAT_IB_CMP_AND_SWAP,
				.attr = DAT_IB_ATTR_CMP_AND_SWAP },
	[DAPL_WRITE_IMMEDIATE] = { .name = "RDMA_WRITE_IMMED",
				   .opcode = TP_RDMA_WRITE_IMM,
				   .dto = DAT_IB_DTO_RDMA_WRITE_IMMED,
				   .counter = DCNT_EP_POST_WRITE_IMM,
				   .counts_bytes = true,
				   .feature = FEATURE(write_immediate),
				   .extended_op = DAT_IB_RDMA_WRITE_IMMED_OP,
				   .event_type = DAT_IB_RDMA_WRITE_IMMED,
				   .attr = DAT_IB_ATTR_IMMED_DATA },
};

const struct dapl_operation *dapl_operation_of_call(uint32_t extended_op)
{
	const struct dapl_operation *op;

	for (op = dapl_operations; op < dapl_operations + DAPL_NUM_OPERATIONS; op++)
		if (op->attr && op->extended_op == extended_op)
			return op;
	return NULL;
}

DAT_IB_EXT_TYPE dapl_operation_event_type(uint32_t dto)
{
	const struct dapl_operation *op;

	for (op = dapl_operations; op < dapl_operations + DAPL_NUM_OPERATIONS; op++)
		if (op->attr && op->dto == dto)
			return (DAT_IB_EXT_TYPE)op->event_type;
	return dto == DAT_IB_DTO_RECV_IMMED ? DAT_IB_RDMA_WRITE_IMMED_DATA : DAT_IB_RECV_IMMED_DATA;
}
