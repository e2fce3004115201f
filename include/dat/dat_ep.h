/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ep.h
 * Endpoints: attributes, states, life and connection. Transfers are in dat_dto.h.
 */
#ifndef DAT_EP_H
#define DAT_EP_H

#include "dat_types.h"
#include "dat_ep_param.h"
#include "dat_ep_connect.h"

DAT_BEGIN_DECLS

/**
 * Make an endpoint.
 *
 * It starts in DAT_EP_STATE_UNCONNECTED. What is left out can be supplied later by dat_ep_modify:
 * protection zone and connect dispatcher before connecting; without a completion dispatcher
 * nothing can be posted in that direction (EP-42..EP-48). The endpoint has exactly the attributes
 * asked for, but max_request_dtos and max_request_iov may be larger, and outside strict mode what is
 * beyond the adapter's limits is lowered to them or has no effect: dat_ep_query tells what it has.
 *
 * Without attributes it has these: service DAT_SERVICE_TYPE_RC, qos DAT_QOS_BEST_EFFORT, messages
 * and RDMA of 2^31 bytes or the adapter's limit if that is less, both completion flags
 * DAT_COMPLETION_EVD_THRESHOLD_FLAG, 16 receives and 16 requests outstanding (0 in a direction
 * without dispatcher), 4 segments each, 4 RDMA Reads outstanding either way, no watermark, and no
 * named attributes (EP-22..EP-38). Completion flags are that value, DAT_COMPLETION_DEFAULT_FLAG,
 * DAT_COMPLETION_UNSIGNALLED_FLAG, by which posts may say that they do not notify, or of receives
 * DAT_COMPLETION_SOLICITED_WAIT_FLAG: only messages that ask for it notify.
 *
 * @param ia_handle an open adapter.
 * @param pz_handle protection zone; DAT_HANDLE_NULL for none now.
 * @param recv_completion_evd_handle dispatcher with DAT_EVD_DTO_FLAG for receives; DAT_HANDLE_NULL
 *        for none.
 * @param request_completion_evd_handle dispatcher with DAT_EVD_DTO_FLAG for requests and binds;
 *        DAT_HANDLE_NULL for none.
 * @param connect_evd_handle dispatcher with DAT_EVD_CONNECTION_FLAG; DAT_HANDLE_NULL for none now.
 * @param ep_attributes attributes, all fields of which count; NULL for the defaults.
 * @param ep_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the endpoint exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PZ: pz_handle is neither NULL nor a zone of this
 *        adapter.
 * @retval DAT_INVALID_HANDLE the subtype DAT_INVALID_HANDLE_EVD_RECV,
 *        DAT_INVALID_HANDLE_EVD_REQUEST or DAT_INVALID_HANDLE_EVD_CONN names a dispatcher that is
 *        not live, of another adapter or without the flag of its role.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: an attribute is out of range: negative, 0 with or
 *        not 0 without a dispatcher of that direction, or unknown flags or named attributes; in
 *        strict mode also beyond the adapter's limit, or of streams that do not fit (EP-46, EVD-30).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: ep_handle is NULL.
 * @retval DAT_MODEL_NOT_SUPPORTED the service type or, in strict mode, the quality of service or
 *        watermark is not supported.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: no memory; DAT_RESOURCE_TEP: the device
 *        has no endpoint left.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
					    IN DAT_EVD_HANDLE recv_completion_evd_handle,
					    IN DAT_EVD_HANDLE request_completion_evd_handle,
					    IN DAT_EVD_HANDLE connect_evd_handle,
					    IN const DAT_EP_ATTR *ep_attributes,
					    OUT DAT_EP_HANDLE *ep_handle);

/**
 * Make an endpoint that takes its receives from a shared receive queue.
 *
 * Otherwise as dat_ep_create. The queue stays with the endpoint until it is freed;
 * dat_ep_post_recv is refused. Receive buffers are checked against the zone of the queue,
 * everything else against that of the endpoint (EP-49..EP-54, SRQ-31..SRQ-38).
 *
 * @param ia_handle an open adapter.
 * @param pz_handle protection zone; DAT_HANDLE_NULL for none now; must be that of the queue unless
 *        srq_ep_pz_difference_supported.
 * @param recv_evd_handle dispatcher with DAT_EVD_DTO_FLAG for receives; DAT_HANDLE_NULL for none.
 * @param request_evd_handle dispatcher with DAT_EVD_DTO_FLAG for requests and binds;
 *        DAT_HANDLE_NULL for none.
 * @param connect_evd_handle dispatcher with DAT_EVD_CONNECTION_FLAG; DAT_HANDLE_NULL for none now.
 * @param srq_handle the queue; never NULL.
 * @param ep_attributes attributes; NULL for the defaults of dat_ep_create, but never in strict mode
 *        (SRQ-32); max_recv_iov is ignored, max_recv_dtos is the number of receives that may be
 *        taken and not completed.
 * @param ep_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the endpoint exists.
 * @retval DAT_INVALID_HANDLE the subtype DAT_INVALID_HANDLE_IA, DAT_INVALID_HANDLE_PZ,
 *        DAT_INVALID_HANDLE_EVD_RECV, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_INVALID_HANDLE_EVD_CONN
 *        or DAT_INVALID_HANDLE_SRQ names the handle that is not live, of another adapter or
 *        without the flag of its role.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the zones differ and may not.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: ep_attributes is out of range, as for
 *        dat_ep_create, or NULL in strict mode.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: ep_handle is NULL.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_SRQ_ERROR or DAT_INVALID_STATE_SRQ_SHUTDOWN: the
 *        state of the queue (EP-53).
 * @retval DAT_MODEL_NOT_SUPPORTED shared receive queues, the service type or, in strict mode, the
 *        quality of service or watermark are not supported; so says DAT_NOT_IMPLEMENTED.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_SRQ: max_ep_per_srq is reached;
 *        DAT_RESOURCE_MEMORY: no memory; DAT_RESOURCE_TEP: the device has no endpoint left.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		       IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
		       IN DAT_EVD_HANDLE connect_evd_handle, IN DAT_SRQ_HANDLE srq_handle,
		       IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

/**
 * Read the parameters and attributes of an endpoint.
 *
 * Legal in every state. Ports and the remote address of a connection are valid from the call that
 * connects or the request that arrives until the connection has ended; else unspecified, but
 * remote_ia_address_ptr is never NULL: it leads to zeros or to the last peer's address. Pointers
 * live until the endpoint is freed (EP-13..EP-15, EP-55..EP-57).
 *
 * @param ep_handle an endpoint.
 * @param ep_param_mask fields wanted, an OR of DAT_EP_FIELD_ values; 0 for none.
 * @param ep_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ep_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_query(IN DAT_EP_HANDLE ep_handle,
					   IN DAT_EP_PARAM_MASK ep_param_mask,
					   OUT DAT_EP_PARAM *ep_param);

/**
 * Change parameters and attributes of an endpoint, all of those selected or none.
 *
 * Dispatchers and attributes can be changed while the endpoint is unconnected, reserved or has a
 * request pending, the receives' completion flags only while no receive is posted; the protection
 * zone while it is unconnected or made for a request; comm and named attributes while it is
 * unconnected; srq_soft_hw always; nothing else. Receives posted before stay posted (EP-58..EP-65).
 * Attributes beyond what the adapter can do are treated as by dat_ep_create.
 *
 * @param ep_handle an endpoint.
 * @param ep_param_mask fields to change, an OR of DAT_EP_FIELD_ values; 0 changes nothing.
 * @param ep_param the new values; may be NULL when the mask is 0. A handle may be DAT_HANDLE_NULL,
 *        which drops the old one.
 *
 * Events: none, but for a watermark that is exceeded already (EP-126).
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS everything selected is changed.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit or names what
 *        cannot change.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ep_param is NULL, or a value or handle in it is
 *        not acceptable.
 * @retval DAT_INVALID_STATE something selected cannot change in this state; the subtype names the
 *        state.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_TEP: larger queues cannot
 *        be had.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_modify(IN DAT_EP_HANDLE ep_handle,
					    IN DAT_EP_PARAM_MASK ep_param_mask,
					    IN const DAT_EP_PARAM *ep_param);

/**
 * Read the state of an endpoint and whether its queues are idle.
 *
 * A snapshot, legal in every state. A queue is idle when no posted operation waits for its
 * completion to be generated; receives still in a shared queue do not count (EP-102..EP-105).
 *
 * @param ep_handle an endpoint.
 * @param ep_state receives the state; may be NULL.
 * @param recv_idle receives DAT_TRUE if no receive is outstanding; may be NULL.
 * @param request_idle receives DAT_TRUE if no request or bind is outstanding; may be NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the values are stored.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_get_status(IN DAT_EP_HANDLE ep_handle,
						OUT DAT_EP_STATE *ep_state,
						OUT DAT_BOOLEAN *recv_idle,
						OUT DAT_BOOLEAN *request_idle);

/**
 * Make a disconnected endpoint fit to be connected again.
 *
 * The state becomes DAT_EP_STATE_UNCONNECTED; attributes, zone, dispatchers, shared queue and
 * context stay. Completions not yet taken may be lost: to lose none, post a marker and take events
 * until it appears flushed (EP-106..EP-110). On an unconnected endpoint the call does nothing and
 * posted receives stay.
 *
 * @param ep_handle a disconnected or unconnected endpoint.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the endpoint is unconnected.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_STATE the endpoint is in another state, which the subtype names.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_TEP: a new endpoint of
 *        the device is needed and cannot be had.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

/**
 * Destroy an endpoint.
 *
 * A connection is ended abruptly first. No event of the endpoint is generated after the return;
 * completions not yet taken may stay or vanish. Zone, dispatchers and shared queue are free of it
 * when the call returns (EP-111..EP-116).
 *
 * @param ep_handle an endpoint that no service point or connection request holds; not valid after
 *        success.
 *
 * Events: none on this side; the peer of a connection sees DAT_CONNECTION_EVENT_DISCONNECTED.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the endpoint is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_STATE a reserved service point or a connection request holds it, and the
 *        subtype names its state: free the one or reject the other first (EP-111).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_free(IN DAT_EP_HANDLE ep_handle);

/**
 * Read how many receive buffers an endpoint holds.
 *
 * Both numbers come from one moment; for an endpoint without a shared queue they are equal
 * (EP-117..EP-120, SRQ-45..SRQ-47).
 *
 * @param ep_handle an endpoint, in any state.
 * @param nbufs_allocated receives the receives posted, or taken from the shared queue, and not
 *        completed; may be NULL.
 * @param bufs_alloc_span receives the further completions there would be if every message now
 *        arriving completed; may be NULL. Either is DAT_VALUE_UNKNOWN where it cannot be told.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the numbers are stored.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider's ep_recv_info_supported is 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle,
						OUT DAT_COUNT *nbufs_allocated,
						OUT DAT_COUNT *bufs_alloc_span);

/**
 * Set limits on the receives that an endpoint holds.
 *
 * Above the soft limit one event is generated, and no other until the limit is set again; above
 * the hard limit the connection is broken. The two are independent and can be set in every state;
 * a limit that is exceeded already acts during the call (EP-121..EP-128, SRQ-39..SRQ-44).
 *
 * @param ep_handle an endpoint, in any state.
 * @param soft_high_watermark receives above which the event is due; DAT_WATERMARK_INFINITE for no
 *        limit.
 * @param hard_high_watermark receives above which the connection breaks; DAT_WATERMARK_INFINITE
 *        for no limit.
 *
 * Events: soft: DAT_ASYNC_ERROR_EP_BROKEN with reason DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT on the
 * adapter's asynchronous dispatcher; hard: DAT_CONNECTION_EVENT_BROKEN on the connect dispatcher.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS both limits are set.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: soft_high_watermark is below -1.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: hard_high_watermark is below -1.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider's srq_watermarks_supported lacks one that is set;
 *        nothing was set.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle,
						   IN DAT_COUNT soft_high_watermark,
						   IN DAT_COUNT hard_high_watermark);

DAT_END_DECLS

#endif /* DAT_EP_H */
