/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_srq.h
 * Shared receive queues.
 */
#ifndef DAT_SRQ_H
#define DAT_SRQ_H

#include "dat_types.h"

/** States of a shared receive queue (SRQ-20). */
typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR = 0, /**< gives no more buffers */
	DAT_SRQ_STATE_OPERATIONAL = 1,
	DAT_SRQ_STATE_SHUTDOWN = 2 /**< being freed */
} DAT_SRQ_STATE;

/** Attributes of a shared receive queue (SRQ-5, SRQ-6). */
typedef struct dat_srq_attr {
	DAT_COUNT max_recv_dtos; /**< at least */
	DAT_COUNT max_recv_iov;	 /**< segments, at least */
	DAT_COUNT low_watermark; /**< DAT_SRQ_LW_DEFAULT for none */
} DAT_SRQ_ATTR;

/** Parameters of a shared receive queue (SRQ-16..SRQ-18). */
typedef struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;
	DAT_SRQ_STATE srq_state;
	DAT_PZ_HANDLE pz_handle;
	DAT_COUNT max_recv_dtos; /**< the real capacity */
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
	DAT_COUNT available_dto_count;	 /**< can still be taken */
	DAT_COUNT outstanding_dto_count; /**< slots in use */
} DAT_SRQ_PARAM;

/** Selects fields of DAT_SRQ_PARAM. */
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

/**
 * Make a shared receive queue.
 *
 * It is empty and operational. Endpoints made with dat_ep_create_with_srq take a buffer from it
 * when a message arrives for them (SRQ-1..SRQ-6).
 *
 * @param ia_handle an open adapter.
 * @param pz_handle zone of the receive buffers, kept in use until the queue is freed; never NULL.
 * @param srq_attr receives to hold and segments per receive, both at least, and low watermark,
 *        DAT_SRQ_LW_DEFAULT for none; never NULL.
 * @param srq_handle receives the handle; never NULL.
 *
 * Events: a positive low watermark fires at once, for the queue is empty (SRQ-6, SRQ-26).
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the queue exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter;
 *        DAT_INVALID_HANDLE_PZ: pz_handle is not a zone of it.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: srq_attr is NULL or out of range (SRQ-5).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: srq_handle is NULL.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_SRQ: max_srqs is reached; DAT_RESOURCE_MEMORY:
 *        no memory.
 * @retval DAT_MODEL_NOT_SUPPORTED shared receive queues, or low watermarks, are not supported.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
					     IN DAT_SRQ_ATTR *srq_attr,
					     OUT DAT_SRQ_HANDLE *srq_handle);

/**
 * Read the parameters of a shared receive queue.
 *
 * available_dto_count is what endpoints can still take; outstanding_dto_count adds what they took
 * and what completed but was not dequeued. Either is DAT_VALUE_UNKNOWN where it cannot be told
 * (SRQ-16..SRQ-20).
 *
 * @param srq_handle a shared receive queue.
 * @param srq_param_mask fields wanted, an OR of DAT_SRQ_FIELD_ values; 0 for none.
 * @param srq_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_SRQ: srq_handle is not a live shared receive
 *        queue.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: srq_param is NULL and the mask is not 0.
 * @retval DAT_MODEL_NOT_SUPPORTED shared receive queues are not supported.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_query(IN DAT_SRQ_HANDLE srq_handle,
					    IN DAT_SRQ_PARAM_MASK srq_param_mask,
					    OUT DAT_SRQ_PARAM *srq_param);

/**
 * Add a buffer to a shared receive queue.
 *
 * Legal in every state. Buffers are not promised to be used in order; the messages of one
 * connection complete in the order they were sent (SRQ-10..SRQ-15).
 *
 * @param srq_handle a shared receive queue.
 * @param num_segments entries of local_iov, 0 to the queue's max_recv_iov.
 * @param local_iov where a message goes, in regions of the queue's zone with
 *        DAT_MEM_PRIV_LOCAL_WRITE_FLAG; copied; may be NULL when num_segments is 0.
 * @param user_cookie 64 bits that come back in the completion.
 *
 * Events: DAT_DTO_COMPLETION_EVENT on the receive dispatcher of the endpoint that took the buffer
 * (SRQ-13).
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the buffer is in the queue.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_SRQ: srq_handle is not a live shared receive
 *        queue.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: num_segments is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: local_iov is NULL and num_segments is not 0.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_recv_dtos receives are not yet
 *        reaped.
 * @retval DAT_PROTECTION_VIOLATION only from providers that check segments when posting; so
 *        DAT_PRIVILEGES_VIOLATION (DTO-83).
 * @retval DAT_MODEL_NOT_SUPPORTED shared receive queues are not supported.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle,
						IN DAT_COUNT num_segments,
						IN DAT_LMR_TRIPLET *local_iov,
						IN DAT_DTO_COOKIE user_cookie);

/**
 * Change the number of receives that a shared receive queue holds.
 *
 * No buffer or message is lost; a queue may stay larger than asked. dat_srq_query tells the real
 * number (SRQ-21..SRQ-24).
 *
 * @param srq_handle a shared receive queue.
 * @param srq_max_recv_dto receives to hold at least, 1 to the adapter's max_recv_per_srq.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the queue holds at least that many.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_SRQ: srq_handle is not a live shared receive
 *        queue.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the number is not positive or above
 *        max_recv_per_srq.
 * @retval DAT_INVALID_STATE the number is below outstanding_dto_count or the low watermark;
 *        nothing was changed.
 * @retval DAT_INSUFFICIENT_RESOURCES no memory or no resource of the device.
 * @retval DAT_MODEL_NOT_SUPPORTED shared receive queues are not supported.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle,
					     IN DAT_COUNT srq_max_recv_dto);

/**
 * Set the low watermark of a shared receive queue and arm its event.
 *
 * The event comes once, when fewer receives are available than the watermark, at once if it is so
 * already; setting it again arms it again (SRQ-25..SRQ-30).
 *
 * @param srq_handle a shared receive queue.
 * @param low_watermark receives below which the event is due, 0 to max_recv_dtos; 0 disarms.
 *
 * Events: DAT_ASYNC_ERROR_EP_BROKEN with reason DAT_SRQ_LOW_WATERMARK_EVENT on the adapter's
 * asynchronous dispatcher (EVT-27).
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the watermark is set.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_SRQ: srq_handle is not a live shared receive
 *        queue.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: low_watermark is negative or above
 *        max_recv_dtos.
 * @retval DAT_MODEL_NOT_SUPPORTED low watermarks are not supported.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle,
					     IN DAT_COUNT low_watermark);

/**
 * Destroy a shared receive queue.
 *
 * Buffers still in it are discarded without completion; completions on dispatchers stay there
 * (SRQ-7..SRQ-9).
 *
 * @param srq_handle a shared receive queue that no endpoint was made with; not valid after
 *        success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the queue is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_SRQ: srq_handle is not a live shared receive
 *        queue.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_SRQ_IN_USE: an endpoint uses it; nothing was
 *        changed.
 * @retval DAT_MODEL_NOT_SUPPORTED shared receive queues are not supported.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_free(IN DAT_SRQ_HANDLE srq_handle);

DAT_END_DECLS

#endif /* DAT_SRQ_H */
