/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs of datagrams: what they do otherwise than those of connections. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "dapl/base/loop_call.h"
#include "providers/verbs/qp.h"
#include "providers/verbs/watchdog.h"

static_assert(TP_UD_RESERVED == sizeof(struct ibv_grh), "the global routing header");

/* What the device refuses of a QP in error waits for the connection manager to flush it. */
int vrb_ud_post_send(struct tp_qp *base, struct tp_wr *wr)
{
	uint32_t flags = VRB_WR_SLOW | VRB_WR_POLLED;
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_queue *queue = &qp->sq;
	struct ibv_send_wr ib;
	struct vrb_wr *own;
	int rc;

	if (queue->mode != VRB_QUEUE_ACTIVE)
		return vrb_qp_post_inactive(qp, wr->wr_id);
	if (vrb_queue_full(queue))
		return -ENOMEM;
	if (!(wr->flags & TP_WR_SIGNALED))
		flags |= VRB_WR_UNSIGNALED;
	own = vrb_queue_reserve(queue, wr->wr_id, flags);
	vrb_wr_copy_sge(own, wr->sge, wr->num_sge, wr->length);
	memcpy(&ib, wr, offsetof(struct tp_wr, one));
	ib.opcode = IBV_WR_SEND;
	/* A fence is of RC alone. All are signaled: no drain can be posted behind the last ones to
	 * tell that the device is through with them. */
	ib.send_flags = (wr->flags & ~(unsigned int)IBV_SEND_FENCE) | IBV_SEND_SIGNALED;
	ib.sg_list = (struct ibv_sge *)vrb_wr_sge(own);
	ib.num_sge = own->num_sge;
	/* They lie elsewhere where pointers have 32 bits. */
	ib.wr.ud.ah = wr->ah;
	ib.wr.ud.remote_qpn = wr->ud.qpn;
	ib.wr.ud.remote_qkey = qp->qkey;
	rc = vrb_qp_post_ib(qp, own, &ib);
	if (unlikely(queue->mode != VRB_QUEUE_ACTIVE))
		vrb_qp_notify(qp);
	return rc;
}

void vrb_ud_qp_serve(struct vrb_qp *qp)
{
	if (!qp->served)
		vrb_watchdog_add(qp->dev);
	qp->served = true;
}

static int stop_serving(void *arg)
{
	struct vrb_qp *qp = arg;

	if (qp->served)
		vrb_watchdog_remove(qp->dev);
	qp->served = false;
	return 0;
}

/* The connection manager may look at it just now, and does no more afterwards. */
void vrb_ud_qp_leave(struct vrb_qp *qp)
{
	dapl_loop_call(qp->base.dev->loop, stop_serving, qp);
}
