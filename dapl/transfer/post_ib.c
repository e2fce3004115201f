/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of the InfiniBand extension. */
#include <assert.h>

#include "dapl/base/status.h"
#include "dapl/object/ia.h"
#include "dapl/transfer/refusal.h"
#include "dapl/transfer/request.h"

/* Arguments from the local segment on, the first of which is number arg of the call. */
static DAT_RETURN post_atomic(struct dapl_request *rq, va_list args, unsigned int arg)
{
	const DAT_RMR_TRIPLET *remote;

	rq->iov = va_arg(args, DAT_LMR_TRIPLET *);
	rq->cookie = va_arg(args, DAT_DTO_COOKIE).as_64;
	remote = va_arg(args, DAT_RMR_TRIPLET *);
	rq->flags = va_arg(args, DAT_COMPLETION_FLAGS);
	if (!rq->iov)
		return DAPL_BAD_ARG(arg);
	if (!remote)
		return DAPL_BAD_ARG(arg + 2);
	if (rq->iov->segment_length < sizeof(DAT_UINT64))
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (dapl_request_flags_bad(rq->qp, rq->flags))
		return DAPL_BAD_ARG(arg + 3);
	if (!rq->qp->cold->max_read_out)
		return DAPL_NO_RESOURCE(CREDITS); /* IBX-45 */
	rq->num = 1;
	rq->length = sizeof(DAT_UINT64);
	rq->remote_addr = remote->virtual_address;
	rq->rkey = remote->rmr_context;
	return dapl_request_post(rq);
}

static DAT_RETURN fetch_and_add(struct dapl_request *rq, va_list args)
{
	rq->compare_add = va_arg(args, DAT_UINT64);
	return post_atomic(rq, args, 4);
}

static DAT_RETURN cmp_and_swap(struct dapl_request *rq, va_list args)
{
	rq->compare_add = va_arg(args, DAT_UINT64);
	rq->swap = va_arg(args, DAT_UINT64);
	return post_atomic(rq, args, 5);
}

static DAT_RETURN write_immediate(struct dapl_request *rq, va_list args)
{
	DAT_COUNT num = va_arg(args, DAT_COUNT);
	const DAT_RMR_TRIPLET *remote;

	rq->iov = va_arg(args, DAT_LMR_TRIPLET *);
	rq->cookie = va_arg(args, DAT_DTO_COOKIE).as_64;
	remote = va_arg(args, DAT_RMR_TRIPLET *);
	rq->immediate = va_arg(args, DAT_UINT32);
	rq->flags = va_arg(args, DAT_COMPLETION_FLAGS);
	return dapl_request_rdma(rq, num, remote, 3);
}

/* What a request says of its target lies where a datagram says who is its peer. */
static_assert(offsetof(struct tp_wr, ah) == offsetof(struct tp_wr, remote_addr) &&
		      offsetof(struct tp_wr, ud.qpn) == offsetof(struct tp_wr, rkey),
	      "the peer of a datagram");

static DAT_RETURN send_ud(struct dapl_request *rq, va_list args)
{
	DAT_COUNT num = va_arg(args, DAT_COUNT);
	struct dapl_qp *qp = rq->qp;
	const DAT_IB_ADDR_HANDLE *peer;
	uint64_t total;
	DAT_RETURN rc;

	rq->iov = va_arg(args, DAT_LMR_TRIPLET *);
	peer = va_arg(args, DAT_IB_ADDR_HANDLE *);
	rq->cookie = va_arg(args, DAT_DTO_COOKIE).as_64;
	rq->flags = va_arg(args, DAT_COMPLETION_FLAGS);
	rc = dapl_check_iov(rq->iov, num, qp->max_send_sge, 3, &total);
	if (rc)
		return rc;
	if (total > qp->cold->max_message)
		return DAPL_BAD_ARG(4); /* IBX-80 */
	if (!peer || !peer->ah)
		return DAPL_BAD_ARG(5);
	if (dapl_request_flags_bad(qp, rq->flags))
		return DAPL_BAD_ARG(7);
	rq->num = (uint32_t)num;
	rq->length = (uint32_t)total;
	rq->remote_addr = (uintptr_t)peer->ah;
	rq->rkey = peer->qpn;
	dapl_lock(&qp->lock);
	/* A stale one is never followed. */
	rc = dapl_ah_held(&qp->cold->ahs, peer->ah) ? dapl_request_post_locked(rq)
						    : DAPL_BAD_ARG(5);
	dapl_unlock(&qp->lock);
	return rc;
}

const struct dapl_operation dapl_ib_operations[] = {
	{ .name = "FETCH_AND_ADD",
	  .opcode = TP_FETCH_AND_ADD,
	  .dto = DAT_IB_DTO_FETCH_ADD,
	  .counter = DCNT_EP_POST_FETCH_ADD,
	  .extended_op = DAT_IB_FETCH_AND_ADD_OP,
	  .event_type = DAT_IB_FETCH_AND_ADD,
	  .attr = DAT_IB_ATTR_FETCH_AND_ADD,
	  .post = fetch_and_add },
	{ .name = "CMP_AND_SWAP",
	  .opcode = TP_CMP_AND_SWAP,
	  .dto = DAT_IB_DTO_CMP_SWAP,
	  .counter = DCNT_EP_POST_CMP_SWAP,
	  .extended_op = DAT_IB_CMP_AND_SWAP_OP,
	  .event_type = DAT_IB_CMP_AND_SWAP,
	  .attr = DAT_IB_ATTR_CMP_AND_SWAP,
	  .post = cmp_and_swap },
	{ .name = "RDMA_WRITE_IMMED",
	  .opcode = TP_RDMA_WRITE_IMM,
	  .dto = DAT_IB_DTO_RDMA_WRITE_IMMED,
	  .counter = DCNT_EP_POST_WRITE_IMM,
	  .counts_bytes = true,
	  .extended_op = DAT_IB_RDMA_WRITE_IMMED_OP,
	  .event_type = DAT_IB_RDMA_WRITE_IMMED,
	  .attr = DAT_IB_ATTR_IMMED_DATA,
	  .post = write_immediate },
	{ .name = "SEND_UD",
	  .opcode = TP_SEND_UD,
	  .dto = DAT_IB_DTO_SEND_UD,
	  .counter = DCNT_EP_POST_SEND_UD,
	  .counts_bytes = true,
	  .extended_op = DAT_IB_UD_SEND_OP,
	  .event_type = DAT_IB_UD_SEND,
	  .attr = DAT_IB_ATTR_UD,
	  .post = send_ud },
	{ .name = NULL },
};

DAT_IB_EXT_TYPE dapl_operation_event_type(uint32_t dto)
{
	const struct dapl_operation *op;

	for (op = dapl_ib_operations; op->name; op++)
		if (op->dto == dto)
			return (DAT_IB_EXT_TYPE)op->event_type;
	return dto == DAT_IB_DTO_RECV_IMMED ? DAT_IB_RDMA_WRITE_IMMED_DATA : DAT_IB_RECV_IMMED_DATA;
}

/* What the call asks of its EP comes before its arguments (IBX-9, IBX-11, IBX-28, IBX-34). */
DAT_RETURN dapl_post_extended(uint32_t extended_op, DAT_HANDLE handle, va_list args)
{
	struct dapl_request rq = { .op = dapl_ib_operations };
	const struct tp_device_attr *dev;

	while (rq.op->name && rq.op->extended_op != extended_op)
		rq.op++;
	if (!rq.op->name)
		return DAPL_NOT_IMPLEMENTED;
	rq.qp = dapl_object_arg(handle, DAPL_TYPE_EP);
	if (!rq.qp)
		return DAPL_BAD_HANDLE(EP);
	dev = rq.qp->obj.ia->attr;
	if (!dev->ib_extension)
		return DAPL_NOT_IMPLEMENTED;
	if (!dapl_operation_there(rq.op, dev))
		return DAPL_NO_MODEL;
	if (rq.qp->ud != (rq.op->opcode == TP_SEND_UD))
		return DAPL_BAD_HANDLE(EP); /* IBX-33 */
	return dapl_request_ready(rq.qp) ? rq.op->post(&rq, args)
					 : dapl_not_ready(rq.qp, &rq.qp->request);
}
