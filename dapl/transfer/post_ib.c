/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of the InfiniBand extension. */
#include "dapl/base/config.h"
#include "dapl/base/status.h"
#include "dapl/object/ia.h"
#include "dapl/transfer/post.h"

/*
 * What an extension request asks of its EP before its arguments are looked at (IBX-9, IBX-11,
 * IBX-28, IBX-34).
 */
static DAT_RETURN check_ep(DAT_HANDLE handle, struct dapl_request *rq)
{
	const struct tp_device_attr *dev;

	rq->qp = dapl_object_arg(handle, DAPL_TYPE_EP);
	if (!rq->qp)
		return DAPL_BAD_HANDLE(EP);
	dev = rq->qp->obj.ia->attr;
	if (!dev->ib_extension)
		return DAPL_NOT_IMPLEMENTED;
	if (!dapl_operation_there(rq->op, dev))
		return DAPL_NO_MODEL;
	return dapl_request_ready(rq->qp) ? DAT_SUCCESS : DAPL_BAD_STATE(EP_NOTREADY);
}

/* ---- Atomics ---- */

#define BAD_ARG(n) dapl_fail(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + (n)-1)

/* Arguments from the local segment on, the first of which is number arg of the call. */
static DAT_RETURN post_atomic(struct dapl_request *rq, DAT_HANDLE handle, va_list args,
			      uint32_t arg)
{
	const DAT_RMR_TRIPLET *remote;
	DAT_RETURN rc;

	rq->iov = va_arg(args, DAT_LMR_TRIPLET *);
	rq->cookie = va_arg(args, DAT_DTO_COOKIE).as_64;
	remote = va_arg(args, DAT_RMR_TRIPLET *);
	rq->flags = va_arg(args, DAT_COMPLETION_FLAGS);
	rc = check_ep(handle, rq);
	if (rc)
		return rc;
	if (!rq->iov)
		return BAD_ARG(arg);
	if (!remote)
		return BAD_ARG(arg + 2);
	if (rq->iov->segment_length < sizeof(DAT_UINT64))
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (dapl_request_flags_bad(rq->qp, rq->flags))
		return BAD_ARG(arg + 3);
	if (!rq->qp->cold->max_read_out)
		return DAPL_NO_RESOURCE(CREDITS); /* IBX-45 */
	rq->num = 1;
	rq->length = sizeof(DAT_UINT64);
	rq->remote_addr = remote->virtual_address;
	rq->rkey = remote->rmr_context;
	return dapl_request_post(rq);
}

static DAT_RETURN fetch_and_add(struct dapl_request *rq, DAT_HANDLE handle, va_list args)
{
	rq->compare_add = va_arg(args, DAT_UINT64);
	return post_atomic(rq, handle, args, 4);
}

static DAT_RETURN cmp_and_swap(struct dapl_request *rq, DAT_HANDLE handle, va_list args)
{
	rq->compare_add = va_arg(args, DAT_UINT64);
	rq->swap = va_arg(args, DAT_UINT64);
	return post_atomic(rq, handle, args, 5);
}

/* ---- RDMA Write with immediate data ---- */

/* With nothing to move the target is not looked at (IBX-49). */
static DAT_RETURN check_write(struct dapl_request *rq, DAT_COUNT num, const DAT_RMR_TRIPLET *remote)
{
	uint64_t total;
	DAT_RETURN rc = dapl_check_iov(rq->iov, num, rq->qp->max_write_sge, &total);

	if (rc)
		return (rc & DAT_SUBTYPE_MASK) == DAT_INVALID_ARG2 ? DAPL_BAD_ARG(3)
								   : DAPL_BAD_ARG(4);
	if (total > rq->qp->cold->max_rdma)
		return DAPL_BAD_ARG(4);
	rq->num = (uint32_t)num;
	rq->length = (uint32_t)total;
	if (!total)
		return DAT_SUCCESS;
	if (!remote)
		return DAPL_BAD_ARG(6);
	if (dapl_config.strict && total > remote->segment_length)
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE); /* DTO-46 */
	rq->remote_addr = remote->virtual_address;
	rq->rkey = remote->rmr_context;
	return DAT_SUCCESS;
}

static DAT_RETURN write_immediate(struct dapl_request *rq, DAT_HANDLE handle, va_list args)
{
	DAT_COUNT num = va_arg(args, DAT_COUNT);
	const DAT_RMR_TRIPLET *remote;
	DAT_RETURN rc;

	rq->iov = va_arg(args, DAT_LMR_TRIPLET *);
	rq->cookie = va_arg(args, DAT_DTO_COOKIE).as_64;
	remote = va_arg(args, DAT_RMR_TRIPLET *);
	rq->immediate = va_arg(args, DAT_UINT32);
	rq->flags = va_arg(args, DAT_COMPLETION_FLAGS);
	rc = check_ep(handle, rq);
	if (!rc)
		rc = check_write(rq, num, remote);
	if (rc)
		return rc;
	if (dapl_request_flags_bad(rq->qp, rq->flags))
		return DAPL_BAD_ARG(8);
	return dapl_request_post(rq);
}

DAT_RETURN dapl_post_extended(const struct dapl_operation *op, DAT_HANDLE handle, va_list args)
{
	struct dapl_request rq = { .op = op };

	switch (op->opcode) {
	case TP_FETCH_AND_ADD:
		return fetch_and_add(&rq, handle, args);
	case TP_CMP_AND_SWAP:
		return cmp_and_swap(&rq, handle, args);
	case TP_RDMA_WRITE_IMM:
		return write_immediate(&rq, handle, args);
	default:
		return DAPL_NOT_IMPLEMENTED;
	}
}
