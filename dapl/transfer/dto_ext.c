/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posting of requests beyond Send, RDMA Write and RDMA Read: those that invalidate or read into a
 * remote key, and those of the InfiniBand extension.
 */
#include <assert.h>

#include "dapl/base/config.h"
#include "dapl/transfer/dto.h"
#include "dapl/base/status.h"

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

/* ---- The InfiniBand extension ---- */

/*
 * What an extension request asks of its EP before its arguments are looked at (IBX-9, IBX-11,
 * IBX-28, IBX-34).
 */
static DAT_RETURN check_ep(DAT_HANDLE handle, size_t feature, struct dapl_ep **out)
{
	struct dapl_ep *ep = dapl_object_arg(handle, DAPL_TYPE_EP);
	const struct tp_device_attr *dev;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	dev = ep->cold->dev_attr;
	if (!dev->ib_extension)
		return DAPL_NOT_IMPLEMENTED;
	if (!*(const bool *)((const char *)dev + feature))
		return DAPL_NO_MODEL;
	if (not_ready(ep))
		return DAPL_BAD_STATE(EP_NOTREADY);
	*out = ep;
	return DAT_SUCCESS;
}

/* After the two NULL pointers have been told apart. */
static DAT_RETURN post_atomic(struct dapl_request *rq, const DAT_RMR_TRIPLET *remote,
			      DAT_RETURN bad_flags)
{
	if (rq->iov->segment_length < sizeof(DAT_UINT64))
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (strict_flags_bad(rq->ep, rq->flags))
		return bad_flags;
	if (!rq->ep->cold->attr.max_rdma_read_out)
		return DAPL_NO_RESOURCE(CREDITS); /* IBX-45 */
	rq->num = 1;
	rq->length = sizeof(DAT_UINT64);
	rq->remote_addr = remote->virtual_address;
	rq->rkey = remote->rmr_context;
	return dapl_request_post(rq);
}

DAT_RETURN dapl_ext_fetch_and_add(DAT_HANDLE handle, DAT_UINT64 add, const DAT_LMR_TRIPLET *local,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	struct dapl_request rq = { .iov = local,
				   .cookie = cookie.as_64,
				   .flags = flags,
				   .opcode = TP_FETCH_AND_ADD,
				   .operation = DAT_IB_DTO_FETCH_ADD,
				   .compare_add = add };
	DAT_RETURN rc;

	rc = check_ep(handle, offsetof(struct tp_device_attr, fetch_and_add), &rq.ep);
	if (rc)
		return rc;
	if (!local)
		return DAPL_BAD_ARG(4);
	if (!remote)
		return DAPL_BAD_ARG(6);
	return post_atomic(&rq, remote, DAPL_BAD_ARG(7));
}

DAT_RETURN dapl_ext_cmp_and_swap(DAT_HANDLE handle, DAT_UINT64 compare, DAT_UINT64 swap,
				 const DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
				 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_request rq = { .iov = local,
				   .cookie = cookie.as_64,
				   .flags = flags,
				   .opcode = TP_CMP_AND_SWAP,
				   .operation = DAT_IB_DTO_CMP_SWAP,
				   .compare_add = compare,
				   .swap = swap };
	DAT_RETURN rc;

	rc = check_ep(handle, offsetof(struct tp_device_attr, cmp_and_swap), &rq.ep);
	if (rc)
		return rc;
	if (!local)
		return DAPL_BAD_ARG(5);
	if (!remote)
		return DAPL_BAD_ARG(7);
	return post_atomic(&rq, remote, DAPL_BAD_ARG(8));
}

/* What a write with immediate moves; with nothing to move the target is not looked at (IBX-49). */
static DAT_RETURN check_write(const struct dapl_request *rq, DAT_COUNT num,
			      const DAT_RMR_TRIPLET *remote, uint64_t *total)
{
	const struct dapl_ep_cold *cold = rq->ep->cold;
	DAT_RETURN rc = dapl_check_iov(rq->iov, num, rq->ep->max_write_sge, total);

	if (rc)
		return (rc & DAT_SUBTYPE_MASK) == DAT_INVALID_ARG2 ? DAPL_BAD_ARG(3)
								   : DAPL_BAD_ARG(4);
	if (*total > dapl_size_limit(cold->attr.max_rdma_size, cold->dev_attr->max_rdma_size))
		return DAPL_BAD_ARG(4);
	if (!*total)
		return DAT_SUCCESS;
	if (!remote)
		return DAPL_BAD_ARG(6);
	if (dapl_config.strict && *total > remote->segment_length)
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE); /* DTO-46 */
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ext_write_immediate(DAT_HANDLE handle, DAT_COUNT num, const DAT_LMR_TRIPLET *local,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    DAT_UINT32 immediate, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_request rq = { .iov = local,
				   .num = (uint32_t)num,
				   .cookie = cookie.as_64,
				   .flags = flags,
				   .opcode = TP_RDMA_WRITE_IMM,
				   .operation = DAT_IB_DTO_RDMA_WRITE_IMMED,
				   .immediate = immediate };
	uint64_t total;
	DAT_RETURN rc;

	rc = check_ep(handle, offsetof(struct tp_device_attr, write_immediate), &rq.ep);
	if (!rc)
		rc = check_write(&rq, num, remote, &total);
	if (rc)
		return rc;
	if (strict_flags_bad(rq.ep, flags))
		return DAPL_BAD_ARG(8);
	rq.length = (uint32_t)total;
	if (total) {
		rq.remote_addr = remote->virtual_address;
		rq.rkey = remote->rmr_context;
	}
	return dapl_request_post(&rq);
}
