/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_dto.h
 * Data transfer operations on endpoints.
 */
#ifndef DAT_DTO_H
#define DAT_DTO_H

#include "dat_types.h"

DAT_BEGIN_DECLS

/**
 * Send a message.
 *
 * It consumes the peer's oldest receive and may be empty. Completion means that the local buffers
 * may be used again, not that the peer has looked at the message; without a receive at the peer
 * the message waits there (DTO-34..DTO-36, DTO-90). Segments are sent in order; those of length 0
 * are skipped (DTO-9..DTO-13).
 *
 * A request whose completion is suppressed occupies one of max_request_dtos until a later one that
 * is not has completed and was dequeued. On a verbs device a program that suppresses all of them
 * can post max_request_dtos and no more: one in so many must tell, or post after post is refused
 * with DAT_RESOURCE_MEMORY, which a line on standard error explains. The software provider knows
 * which are over and gives their places back; there, refused means that none is yet, and a later
 * try succeeds. Programs for any provider let one in max_request_dtos tell (DTO-17).
 *
 * @param ep_handle a connected or disconnected endpoint; on the latter the message is flushed at
 *        once.
 * @param num_segments entries of local_iov, 0 to the endpoint's max_request_iov.
 * @param local_iov the bytes to send; copied; may be NULL when num_segments is 0. The memory
 *        belongs to the provider until completion (DTO-7, DTO-8).
 * @param user_cookie 64 bits that come back in the completion.
 * @param completion_flags an OR of DAT_COMPLETION_SUPPRESS_FLAG, _SOLICITED_WAIT_FLAG,
 *        _UNSIGNALLED_FLAG and _BARRIER_FENCE_FLAG (DTO-24..DTO-33).
 *
 * Events: DAT_DTO_COMPLETION_EVENT with operation DAT_DTO_SEND on the request dispatcher, unless
 * suppressed and successful.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the message is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint, or a
 *        datagram one.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: num_segments is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: local_iov is NULL with segments to send, or the
 *        bytes exceed the maximum message size (DTO-35).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: flags that are not allowed here, in strict mode
 *        (DTO-27, GEN-31).
 * @retval DAT_INVALID_STATE the endpoint is not connected and the subtype names its state;
 *        DAT_INVALID_STATE_EP_NOTREADY: it has no protection zone or request dispatcher
 *        (DTO-18..DTO-20).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding
 *        (DTO-16, DTO-17).
 * @retval DAT_PROTECTION_VIOLATION only from providers that check segments when posting; so
 *        DAT_PRIVILEGES_VIOLATION. Others report bad segments by completion (DTO-83).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_send(IN DAT_EP_HANDLE ep_handle,
					       IN DAT_COUNT num_segments,
					       IN DAT_LMR_TRIPLET *local_iov,
					       IN DAT_DTO_COOKIE user_cookie,
					       IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * Send a message that takes a context away from the peer.
 *
 * Before the peer's receive completes, the context is invalid there; the receive completes with
 * operation DAT_DTO_RECEIVE_WITH_INVALIDATE and names it. Only contexts bound through the
 * receiving endpoint by an RMR of scope endpoint can be invalidated; others break the connection
 * (DTO-58..DTO-63, RMR-34..RMR-36).
 *
 * @param ep_handle a connected or disconnected endpoint.
 * @param num_segments entries of local_iov, 0 to max_request_iov.
 * @param local_iov the bytes to send; copied; may be NULL when num_segments is 0.
 * @param user_cookie 64 bits that come back in the completion.
 * @param completion_flags as for dat_ep_post_send.
 * @param invalidate_flag DAT_TRUE to invalidate; DAT_FALSE makes this dat_ep_post_send.
 * @param rmr_context the peer's context; ignored without invalidate_flag.
 *
 * Events: DAT_DTO_COMPLETION_EVENT with operation DAT_DTO_SEND on the request dispatcher, unless
 * suppressed and successful.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the message is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint, or a
 *        datagram one.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: num_segments is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: local_iov is NULL with segments to send, or the
 *        bytes exceed the maximum message size.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: flags that are not allowed here, in strict mode
 *        (DTO-27).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: invalidate_flag is neither DAT_FALSE nor
 *        DAT_TRUE.
 * @retval DAT_INVALID_STATE as for dat_ep_post_send.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding.
 * @retval DAT_PROTECTION_VIOLATION as for dat_ep_post_send; so DAT_PRIVILEGES_VIOLATION (DTO-83).
 * @retval DAT_MODEL_NOT_SUPPORTED the provider cannot invalidate, whatever the flag (DTO-62).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_send_with_invalidate(
	IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie, IN DAT_COMPLETION_FLAGS completion_flags,
	IN DAT_BOOLEAN invalidate_flag, IN DAT_RMR_CONTEXT rmr_context);

/**
 * Queue a buffer for one message from the peer.
 *
 * Legal in every state; before a connection the buffer waits, on a disconnected endpoint it is
 * flushed at once. A message longer than the buffer completes with DAT_DTO_ERR_LOCAL_LENGTH and
 * breaks the connection; nothing is ever written beyond the buffer (DTO-37..DTO-44).
 *
 * @param ep_handle an endpoint without a shared receive queue.
 * @param num_segments entries of local_iov, 0 to max_recv_iov.
 * @param local_iov where the message goes, in order; copied; may be NULL when num_segments is 0.
 *        Needs DAT_MEM_PRIV_LOCAL_WRITE_FLAG.
 * @param user_cookie 64 bits that come back in the completion.
 * @param completion_flags DAT_COMPLETION_DEFAULT_FLAG, or DAT_COMPLETION_UNSIGNALLED_FLAG where
 *        the endpoint's recv_completion_flags say so.
 *
 * Events: DAT_DTO_COMPLETION_EVENT with operation DAT_DTO_RECEIVE or
 * DAT_DTO_RECEIVE_WITH_INVALIDATE on the receive dispatcher.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the buffer is queued and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: num_segments is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: local_iov is NULL and num_segments is not 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: flags that are not allowed here, in strict mode
 *        (DTO-27).
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_SRQ_IN_USE: the endpoint has a shared receive queue;
 *        DAT_INVALID_STATE_EP_NOTREADY: it has no protection zone or receive dispatcher (DTO-18,
 *        DTO-19, DTO-43).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_recv_dtos are outstanding.
 * @retval DAT_PROTECTION_VIOLATION as for dat_ep_post_send; so DAT_PRIVILEGES_VIOLATION (DTO-83).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle,
					       IN DAT_COUNT num_segments,
					       IN DAT_LMR_TRIPLET *local_iov,
					       IN DAT_DTO_COOKIE user_cookie,
					       IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * Read memory of the peer.
 *
 * The bytes go to the local segments in order. In strict mode as many are read as the remote
 * triplet names; otherwise as many as the local segments hold (DTO-48..DTO-51, DTO-55..DTO-57).
 * More reads than max_rdma_read_out may be posted; the surplus waits.
 *
 * @param ep_handle a connected or disconnected endpoint.
 * @param num_segments entries of local_iov, 0 to max_rdma_read_iov, where 0 stands for
 *        max_request_iov.
 * @param local_iov where the bytes go; copied; may be NULL when num_segments is 0. Needs
 *        DAT_MEM_PRIV_LOCAL_WRITE_FLAG, and the remote write privilege where the provider's
 *        rdma_write_for_rdma_read_req says so (LMR-28).
 * @param user_cookie 64 bits that come back in the completion.
 * @param remote_iov address, or offset, length and context at the peer; copied; may be NULL when
 *        num_segments is 0.
 * @param completion_flags as for dat_ep_post_send; DAT_COMPLETION_SOLICITED_WAIT_FLAG has no
 *        effect.
 *
 * Events: DAT_DTO_COMPLETION_EVENT with operation DAT_DTO_RDMA_READ on the request dispatcher,
 * unless suppressed and successful; none at the peer.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the read is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint, or a
 *        datagram one.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: num_segments is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: local_iov is NULL and num_segments is not 0, or
 *        the bytes exceed the maximum RDMA size (DTO-55).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: remote_iov is NULL and num_segments is not 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: flags that are not allowed here, in strict mode
 *        (DTO-27).
 * @retval DAT_INVALID_STATE as for dat_ep_post_send.
 * @retval DAT_LENGTH_ERROR the local segments are shorter than the remote length, in strict mode
 *        (DTO-49).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding;
 *        DAT_RESOURCE_CREDITS: max_rdma_read_out is 0.
 * @retval DAT_PROTECTION_VIOLATION as for dat_ep_post_send; so DAT_PRIVILEGES_VIOLATION (DTO-83).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle,
						    IN DAT_COUNT num_segments,
						    IN DAT_LMR_TRIPLET *local_iov,
						    IN DAT_DTO_COOKIE user_cookie,
						    IN const DAT_RMR_TRIPLET *remote_iov,
						    IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * Read memory of the peer into a range named by a remote context of this side.
 *
 * As dat_ep_post_rdma_read with one sink, which must be bound, or registered, with remote write in
 * the endpoint's protection zone (DTO-52..DTO-54).
 *
 * @param ep_handle a connected or disconnected endpoint.
 * @param local_iov where the bytes go: address, or offset, length and context of a local binding;
 *        copied; never NULL.
 * @param user_cookie 64 bits that come back in the completion.
 * @param remote_iov address, or offset, length and context at the peer; copied; never NULL.
 * @param completion_flags as for dat_ep_post_rdma_read.
 *
 * Events: DAT_DTO_COMPLETION_EVENT with operation DAT_DTO_RDMA_READ on the request dispatcher,
 * unless suppressed and successful.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the read is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint, or a
 *        datagram one.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: local_iov is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: the bytes exceed the maximum RDMA size (DTO-55).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: remote_iov is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: flags that are not allowed here, in strict mode
 *        (DTO-27).
 * @retval DAT_INVALID_STATE as for dat_ep_post_send.
 * @retval DAT_LENGTH_ERROR the local range is shorter than the remote length, in strict mode
 *        (DTO-49).
 * @retval DAT_INSUFFICIENT_RESOURCES as for dat_ep_post_rdma_read.
 * @retval DAT_PROTECTION_VIOLATION as for dat_ep_post_send; so DAT_PRIVILEGES_VIOLATION (DTO-83).
 * @retval DAT_MODEL_NOT_SUPPORTED the provider cannot do it, as over InfiniBand.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_post_rdma_read_to_rmr(IN DAT_EP_HANDLE ep_handle, IN const DAT_RMR_TRIPLET *local_iov,
			     IN DAT_DTO_COOKIE user_cookie, IN const DAT_RMR_TRIPLET *remote_iov,
			     IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * Write to memory of the peer.
 *
 * The peer's program is not told. Once the last byte has changed there, all others are visible,
 * and so they are when a later message of this endpoint is received (DTO-45..DTO-47,
 * DTO-55..DTO-57, DTO-66).
 *
 * @param ep_handle a connected or disconnected endpoint.
 * @param num_segments entries of local_iov, 0 to max_rdma_write_iov, where 0 stands for
 *        max_request_iov.
 * @param local_iov the bytes to write, in order; copied; may be NULL when num_segments is 0.
 * @param user_cookie 64 bits that come back in the completion.
 * @param remote_iov address, or offset, length and context at the peer; copied; may be NULL when
 *        num_segments is 0.
 * @param completion_flags as for dat_ep_post_send; DAT_COMPLETION_SOLICITED_WAIT_FLAG has no
 *        effect.
 *
 * Events: DAT_DTO_COMPLETION_EVENT with operation DAT_DTO_RDMA_WRITE on the request dispatcher,
 * unless suppressed and successful; none at the peer.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the write is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint, or a
 *        datagram one.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: num_segments is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: local_iov is NULL and num_segments is not 0, or
 *        the bytes exceed the maximum RDMA size (DTO-55).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: remote_iov is NULL and num_segments is not 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: flags that are not allowed here, in strict mode
 *        (DTO-27).
 * @retval DAT_INVALID_STATE as for dat_ep_post_send.
 * @retval DAT_LENGTH_ERROR the local segments are longer than the remote length, in strict mode
 *        (DTO-46).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding.
 * @retval DAT_PROTECTION_VIOLATION as for dat_ep_post_send; so DAT_PRIVILEGES_VIOLATION (DTO-83).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle,
						     IN DAT_COUNT num_segments,
						     IN DAT_LMR_TRIPLET *local_iov,
						     IN DAT_DTO_COOKIE user_cookie,
						     IN const DAT_RMR_TRIPLET *remote_iov,
						     IN DAT_COMPLETION_FLAGS completion_flags);

DAT_END_DECLS

#endif /* DAT_DTO_H */
