/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_srq.h
 * Shared receive queues.
 */
#ifndef DAT_1_2_DAT_SRQ_H
#define DAT_1_2_DAT_SRQ_H

#include "dat_types.h"

/** State of a shared receive queue. The numbers are not those of DAT 2.0. */
typedef enum dat_srq_state {
	DAT_SRQ_STATE_OPERATIONAL = 0,
	DAT_SRQ_STATE_ERROR = 1
} DAT_SRQ_STATE;

/** Attributes of a shared receive queue. */
typedef struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
} DAT_SRQ_ATTR;

/** Parameters of a shared receive queue, and which are asked for. */
typedef struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;
	DAT_SRQ_STATE srq_state;
	DAT_PZ_HANDLE pz_handle;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
	DAT_COUNT available_dto_count;
	DAT_COUNT outstanding_dto_count;
} DAT_SRQ_PARAM;

typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE = 0x1,
	DAT_SRQ_FIELD_SRQ_STATE = 0x2,
	DAT_SRQ_FIELD_PZ_HANDLE = 0x4,
	DAT_SRQ_FIELD_MAX_RECV_DTO = 0x8,
	DAT_SRQ_FIELD_MAX_RECV_IOV = 0x10,
	DAT_SRQ_FIELD_LOW_WATERMARK = 0x20,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x40,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x80,
	DAT_SRQ_FIELD_ALL = 0xff
} DAT_SRQ_PARAM_MASK;

DAT_BEGIN_DECLS

/** Make a shared receive queue. */
extern DAT_RETURN dat_srq_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
				 IN DAT_SRQ_ATTR *srq_attr, OUT DAT_SRQ_HANDLE *srq_handle);

/** Destroy a shared receive queue that no endpoint uses. */
extern DAT_RETURN dat_srq_free(IN DAT_SRQ_HANDLE srq_handle);

/** Queue a Receive for any endpoint of a shared queue. */
extern DAT_RETURN dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT num_segments,
				    IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie);

/** Read the parameters of a shared receive queue. */
extern DAT_RETURN dat_srq_query(IN DAT_SRQ_HANDLE srq_handle, IN DAT_SRQ_PARAM_MASK srq_param_mask,
				OUT DAT_SRQ_PARAM *srq_param);

/** Change how many Receives a shared queue can hold. */
extern DAT_RETURN dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT srq_max_recv_dto);

/** Ask for an event when fewer Receives are left. */
extern DAT_RETURN dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT low_watermark);

DAT_END_DECLS

#endif /* DAT_1_2_DAT_SRQ_H */
