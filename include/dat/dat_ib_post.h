/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ib_post.h
 * Transfers of the InfiniBand extension on connections: atomics, and writes with immediate data.
 */
#ifndef DAT_IB_POST_H
#define DAT_IB_POST_H

#include "dat_ib_types.h"

/**
 * Add to 64 bits of the peer's memory and fetch what was there before.
 *
 * One atomic step towards all atomics through the same adapter; the sum wraps (IBX-36,
 * IBX-38..IBX-46). It counts as an RDMA read for ordering and for max_rdma_read_out.
 *
 * @param ep a connected or disconnected endpoint.
 * @param add_val what to add, in the order of this host.
 * @param lbuf one local segment of at least 8 bytes with local write, which receives the old
 *        value; never NULL.
 * @param cookie DAT_DTO_COOKIE that comes back in the completion.
 * @param rbuf DAT_RMR_TRIPLET: remote address, divisible by 8, and context with
 *        DAT_IB_MEM_PRIV_REMOTE_ATOMIC; its length is ignored; never NULL.
 * @param flgs completion flags as for dat_ep_post_rdma_read.
 *
 * Events: DAT_IB_DTO_EVENT with operation DAT_IB_DTO_FETCH_ADD on the request dispatcher
 * (IBX-24..IBX-27).
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the operation is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is not a live endpoint, or a datagram one;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: lbuf is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: rbuf is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: flags that are not allowed here, in strict mode
 *        (IBX-29).
 * @retval DAT_LENGTH_ERROR the local segment is shorter than 8 bytes.
 * @retval DAT_INVALID_STATE as for dat_ep_post_rdma_read (IBX-28).
 * @retval DAT_INSUFFICIENT_RESOURCES as for dat_ep_post_rdma_read.
 * @retval DAT_MODEL_NOT_SUPPORTED DAT_IB_ATTR_FETCH_AND_ADD is not "TRUE".
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs)                      \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)(add_val), \
			 (DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_RMR_TRIPLET *)(rbuf),      \
			 (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Replace 64 bits of the peer's memory if they have a given value, and fetch what was there
 * before.
 *
 * It completes successfully in both cases; whether the swap took place shows in the value fetched
 * (IBX-37..IBX-46).
 *
 * @param ep a connected or disconnected endpoint.
 * @param cmp_val value to compare with, in the order of this host.
 * @param swap_val value to store if equal.
 * @param lbuf as for dat_ib_post_fetch_and_add.
 * @param cookie DAT_DTO_COOKIE that comes back in the completion.
 * @param rbuf as for dat_ib_post_fetch_and_add.
 * @param flgs completion flags as for dat_ep_post_rdma_read.
 *
 * Events: DAT_IB_DTO_EVENT with operation DAT_IB_DTO_CMP_SWAP on the request dispatcher
 * (IBX-24..IBX-27).
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the operation is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is not a live endpoint, or a datagram one;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: lbuf is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: rbuf is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: flags that are not allowed here, in strict mode
 *        (IBX-29).
 * @retval DAT_LENGTH_ERROR the local segment is shorter than 8 bytes.
 * @retval DAT_INVALID_STATE as for dat_ep_post_rdma_read (IBX-28).
 * @retval DAT_INSUFFICIENT_RESOURCES as for dat_ep_post_rdma_read.
 * @retval DAT_MODEL_NOT_SUPPORTED DAT_IB_ATTR_CMP_AND_SWAP is not "TRUE".
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs)            \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)(cmp_val), \
			 (DAT_UINT64)(swap_val), (DAT_LMR_TRIPLET *)(lbuf), (cookie),        \
			 (DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Write to the peer's memory and tell its program with 32 bits.
 *
 * As dat_ep_post_rdma_write; then the peer's oldest receive completes with the bits, its buffer
 * untouched, when all bytes are visible there (IBX-47..IBX-56).
 *
 * @param ep a connected or disconnected endpoint.
 * @param size number of segments, 0 to max_rdma_write_iov.
 * @param lbuf the bytes to write, in order; may be NULL when size is 0.
 * @param cookie DAT_DTO_COOKIE that comes back in the completion.
 * @param rbuf DAT_RMR_TRIPLET: address, length and context at the peer; may be NULL with nothing
 *        to write.
 * @param idata 32 bits, carried unchanged.
 * @param flgs completion flags as for dat_ep_post_send.
 *
 * Events: DAT_IB_DTO_EVENT with operation DAT_IB_DTO_RDMA_WRITE_IMMED on the request dispatcher;
 * at the peer, one with DAT_IB_DTO_RECV_IMMED on the receive dispatcher.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the write is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is not a live endpoint, or a datagram one;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: size is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: lbuf is NULL with segments to write, or the
 *        bytes exceed the maximum RDMA size.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: rbuf is NULL with bytes to write.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: flags that are not allowed here, in strict mode
 *        (IBX-29).
 * @retval DAT_LENGTH_ERROR as for dat_ep_post_rdma_write.
 * @retval DAT_INVALID_STATE as for dat_ep_post_rdma_write (IBX-28).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding.
 * @retval DAT_MODEL_NOT_SUPPORTED DAT_IB_ATTR_IMMED_DATA is not "TRUE".
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs)              \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_RDMA_WRITE_IMMED_OP, (DAT_COUNT)(size), \
			 (DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_RMR_TRIPLET *)(rbuf),     \
			 (DAT_UINT32)(idata), (DAT_COMPLETION_FLAGS)(flgs))

#endif /* DAT_IB_POST_H */
