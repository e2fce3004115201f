/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ib_ud.h
 * Unreliable datagrams.
 */
#ifndef DAT_IB_UD_H
#define DAT_IB_UD_H

#include "dat_ib_types.h"

/**
 * Send a datagram.
 *
 * Completion means only that the buffers may be used again: datagrams are lost without notice
 * (IBX-57..IBX-65, IBX-78..IBX-82).
 *
 * @param ep a datagram endpoint, in any state.
 * @param segments number of segments, 0 to max_request_iov.
 * @param lbuf the payload; may be NULL when segments is 0.
 * @param ah_ptr DAT_IB_ADDR_HANDLE of the receiver, from an event of this endpoint; read during
 *        the call; never NULL.
 * @param cookie DAT_DTO_COOKIE that comes back in the completion.
 * @param flgs completion flags as for dat_ep_post_send.
 *
 * Events: DAT_IB_DTO_EVENT with operation DAT_IB_DTO_SEND_UD on the request dispatcher.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the datagram is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is not a live datagram endpoint;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: segments is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: lbuf is NULL with segments to send, or the
 *        payload is too long (IBX-80).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: ah_ptr or its ah is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: flags that are not allowed here, in strict mode
 *        (IBX-29).
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_EP_NOTREADY: it has no protection zone or request
 *        dispatcher.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding.
 * @retval DAT_MODEL_NOT_SUPPORTED DAT_IB_ATTR_UD is not "TRUE".
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs)                         \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_SEND_OP, (DAT_COUNT)(segments),       \
			 (DAT_LMR_TRIPLET *)(lbuf), (DAT_IB_ADDR_HANDLE *)(ah_ptr), (cookie), \
			 (DAT_COMPLETION_FLAGS)(flgs))

/** Receives of datagram endpoints start with 40 bytes for a routing header (IBX-83..IBX-87). */
#define dat_ib_post_recv_ud dat_ep_post_recv

#ifdef __cplusplus
/* What DAT_IB_CM_CONTEXT makes of a member of a context, or of a whole one. */
static inline DAT_CONTEXT dat_ib_cm_context(DAT_PVOID cm)
{
	DAT_CONTEXT context;

	context.as_ptr = cm;
	return context;
}

static inline DAT_CONTEXT dat_ib_cm_context(DAT_UINT64 cm)
{
	DAT_CONTEXT context;

	context.as_64 = cm;
	return context;
}

static inline DAT_CONTEXT dat_ib_cm_context(DAT_CONTEXT cm)
{
	return cm;
}

#define DAT_IB_CM_CONTEXT(cm) dat_ib_cm_context(cm)
#else
/* A cast to a union is a GNU extension: cm is a member of a context (IBX-13). */
#define DAT_IB_CM_CONTEXT(cm) (__extension__(DAT_CONTEXT)(cm))
#endif

/**
 * Release what is kept of one address resolution, its private data included.
 *
 * Address handles that came of it stay valid; what is not released goes with the endpoint
 * (IBX-91..IBX-93). Programs test that extension_version is at least 209 first.
 *
 * @param ep a datagram endpoint.
 * @param cm context.as_ptr or context.as_64 of a DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED of this
 *        endpoint; a member of the context, not the whole (IBX-13).
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS it is released.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is no live datagram endpoint, or does not
 *        hold cm; DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_NOT_IMPLEMENTED the provider has no datagrams.
 */
#define dat_ib_ud_cm_free(ep, cm) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_CM_FREE_OP, DAT_IB_CM_CONTEXT(cm))

/**
 * Give back one address handle.
 *
 * Each DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED hands out one reference; equal handles of other
 * events stay usable (IBX-88..IBX-90). Programs test that extension_version is at least 209 first.
 *
 * @param ep a datagram endpoint.
 * @param ah DAT_IB_ADDR_HANDLE from an event of this endpoint, of which no send is outstanding;
 *        never NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the reference is given back.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is no live datagram endpoint;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ah is NULL or the endpoint does not hold it.
 * @retval DAT_NOT_IMPLEMENTED the provider has no datagrams.
 */
#define dat_ib_ud_ah_free(ep, ah) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_AH_FREE_OP, (DAT_IB_ADDR_HANDLE *)(ah))

#endif /* DAT_IB_UD_H */
