/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posting of requests beyond Send, RDMA Write and RDMA Read: those that invalidate or read into a
 * remote key, and those of the InfiniBand extension.
 */
#include <assert.h>

#include "dapl/config.h"
#include "dapl/dto.h"
#include "dapl/status.h"

static_assert(offsetof(DAT_RMR_TRIPLET, virtual_address) == offsetof(struct tp_sge, addr) &&
		      offsetof(DAT_RMR_TRIPLET, segment_length) ==
			      offsetof(struct tp_sge, length) &&
		      offsetof(DAT_RMR_TRIPLET, rmr_context) == offsetof(struct tp_sge, lkey),
	      "the sink of a read to RMR is a segment");

static bool strict_flags_bad(const struct dapl_ep *ep, DAT_COMPLETION_FLAGS flags)
{
	return dapl_config.strict && !dapl_request_flags_legal(ep, flags);
}

static bool not_ready(const struct dapl_ep *ep)
{
	return !ep->pz || !ep->request.limit;
}

/* ---- Keys of RMRs ---- */

DAT_RETURN dapl_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	const struct dapl_ep_cold *cold;
	uint64_t total;
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	cold = ep->cold;
	if (!cold->dev_attr->send_invalidate)
		return DAPL_NO_MODEL;
	if (not_ready(ep))
		return DAPL_BAD_STATE(EP_NOTREADY);
	rc = dapl_check_iov(local_iov, num_segments, ep->max_send_sge, &total);
	if (rc)
		return rc;
	if (total > dapl_size_limit(cold->attr.max_message_size, cold->dev_attr->max_msg_size))
		return DAPL_BAD_ARG(3);
	if (strict_flags_bad(ep, flags))
		return DAPL_BAD_ARG(5);
	if ((uint32_t)invalidate_flag > DAT_TRUE)
		return DAPL_BAD_ARG(6); /* DTO-63 */
	return dapl_request_post(
		&(struct dapl_request){ .ep = ep,
					.iov = local_iov,
					.num = (uint32_t)num_segments,
					.length = (uint32_t)total,
					.cookie = user_cookie.as_64,
					.flags = flags,
					.opcode = invalidate_flag ? TP_SEND_INVALIDATE : TP_SEND,
					.operation = DAT_DTO_SEND,
					.immediate = rmr_context });
}

DAT_RETURN dapl_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_iov,
					 DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	const struct dapl_ep_cold *cold;
	DAT_RMR_TRIPLET sink;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	cold = ep->cold;
	if (!cold->dev_attr->read_to_rkey)
		return DAPL_NO_MODEL;
	if (not_ready(ep))
		return DAPL_BAD_STATE(EP_NOTREADY);
	if (!local_iov)
		return DAPL_BAD_ARG(2);
	if (!remote_iov)
		return DAPL_BAD_ARG(4);
	sink = *local_iov;
	if (dapl_config.strict) { /* DTO-48, DTO-49 */
		if (sink.segment_length < remote_iov->segment_length)
			return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
		sink.segment_length = remote_iov->segment_length;
	}
	if (sink.segment_length >
	    dapl_size_limit(cold->attr.max_rdma_size, cold->dev_attr->max_rdma_size))
		return DAPL_BAD_ARG(2);
	if (strict_flags_bad(ep, flags))
		return DAPL_BAD_ARG(5);
	if (!cold->attr.max_rdma_read_out)
		return DAPL_NO_RESOURCE(CREDITS);
	return dapl_request_post(&(struct dapl_request){ .ep = ep,
							 .iov = (const DAT_LMR_TRIPLET *)&sink,
							 .num = 1,
							 .length = sink.segment_length,
							 .remote_addr = remote_iov->virtual_address,
							 .rkey = remote_iov->rmr_context,
							 .cookie = user_cookie.as_64,
							 .flags = flags,
							 .opcode = TP_READ_TO_RKEY,
							 .operation = DAT_DTO_RDMA_READ });
}
