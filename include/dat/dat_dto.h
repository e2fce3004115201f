/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_dto.h
 * Data transfer operations on endpoints.
 */
#ifndef DAT_DTO_H
#define DAT_DTO_H

#include "dat_types.h"

DAT_BEGIN_DECLS

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_send(IN DAT_EP_HANDLE ep_handle,
					       IN DAT_COUNT num_segments,
					       IN DAT_LMR_TRIPLET *local_iov,
					       IN DAT_DTO_COOKIE user_cookie,
					       IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_send_with_invalidate(
	IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie, IN DAT_COMPLETION_FLAGS completion_flags,
	IN DAT_BOOLEAN invalidate_flag, IN DAT_RMR_CONTEXT rmr_context);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle,
					       IN DAT_COUNT num_segments,
					       IN DAT_LMR_TRIPLET *local_iov,
					       IN DAT_DTO_COOKIE user_cookie,
					       IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle,
						    IN DAT_COUNT num_segments,
						    IN DAT_LMR_TRIPLET *local_iov,
						    IN DAT_DTO_COOKIE user_cookie,
						    IN const DAT_RMR_TRIPLET *remote_iov,
						    IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API
dat_ep_post_rdma_read_to_rmr(IN DAT_EP_HANDLE ep_handle, IN const DAT_RMR_TRIPLET *local_iov,
			     IN DAT_DTO_COOKIE user_cookie, IN const DAT_RMR_TRIPLET *remote_iov,
			     IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle,
						     IN DAT_COUNT num_segments,
						     IN DAT_LMR_TRIPLET *local_iov,
						     IN DAT_DTO_COOKIE user_cookie,
						     IN const DAT_RMR_TRIPLET *remote_iov,
						     IN DAT_COMPLETION_FLAGS completion_flags);

DAT_END_DECLS

#endif /* DAT_DTO_H */
