/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/async.h"

#include <errno.h>
#include <sys/epoll.h>

#include "trace/log.h"
#include "providers/verbs/map.h"
#include "providers/verbs/qp.h"

void vrb_async_removed(struct vrb_dev *dev)
{
	struct vrb_qp *qp;

	if (atomic_exchange(&dev->gone, true))
		return;
	dapl_err("%s: device %s is gone or failed", dev->name, dev->ibdev);
	pthread_mutex_lock(&dev->lock);
	for (qp = dev->qps; qp; qp = qp->next) {
		atomic_store(&qp->fault, TP_WC_TRANSPORT);
		vrb_qp_last_wqe(qp);
		vrb_qp_notify(qp);
	}
	pthread_mutex_unlock(&dev->lock);
	if (atomic_load(&dev->cm_qp))
		dapl_loop_post(dev->base.loop, &dev->cm_event);
	dev->base.up->async(dev->base.owner, TP_ASYNC_DEVICE_FATAL, NULL);
}

/* closed_is_fatal; the request's completion is there before the event. */
static bool only_closed(struct vrb_qp *qp, const struct ibv_async_event *event)
{
	if (!qp->dev->quirks.closed_is_fatal || event->event_type != IBV_EVENT_QP_FATAL)
		return false;
	vrb_qp_collect(qp);
	return atomic_load(&qp->peer_closed) && !atomic_load(&qp->fault);
}

/* unanswered_is_fatal: what the peer asked for, this side no longer answers. */
static bool only_ended(struct vrb_qp *qp, const struct ibv_async_event *event)
{
	return qp->dev->quirks.unanswered_is_fatal && event->event_type == IBV_EVENT_QP_REQ_ERR &&
	       atomic_load(&qp->ended);
}

static void qp_event(struct vrb_dev *dev, const struct ibv_async_event *event)
{
	struct vrb_qp *qp = event->element.qp->qp_context;

	if (event->element.qp == atomic_load(&dev->cm_qp))
		dapl_loop_post(dev->base.loop, &dev->cm_event);
	if (!qp || only_closed(qp, event) || only_ended(qp, event)) /* NULL: orphaned */
		return;
	if (vrb_qp_set_fault(qp, TP_WC_TRANSPORT))
		dapl_err_limited("%s: QP 0x%x: %s", dev->name, event->element.qp->qp_num,
				 ibv_event_type_str(event->event_type));
	if (!atomic_exchange(&qp->fault_told, true))
		dapl_loop_post(dev->base.loop, &qp->notice);
	vrb_qp_notify(qp);
}

/* For the transport alone. */
static void qp_notice(const struct ibv_async_event *event)
{
	struct vrb_qp *qp;

	if (event->event_type != IBV_EVENT_QP_LAST_WQE_REACHED &&
	    event->event_type != IBV_EVENT_COMM_EST)
		return;
	qp = event->element.qp->qp_context;
	if (!qp) /* orphaned */
		return;
	if (event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED) {
		vrb_qp_last_wqe(qp);
		return;
	}
	atomic_store(&qp->peer_sent, true);
	vrb_qp_notify(qp);
}

static void tell_device(struct vrb_dev *dev, enum tp_async_event event)
{
	if (event == TP_ASYNC_DEVICE_FATAL)
		vrb_async_removed(dev);
	else if (event == TP_ASYNC_CQ_OVERFLOW)
		vrb_qp_cq_died(dev);
	else
		dev->base.up->async(dev->base.owner, event, NULL);
}

static void tell_later(struct tp_task *task)
{
	struct vrb_dev *dev = container_of(task, struct vrb_dev, async_task);
	uint32_t told = atomic_exchange(&dev->async_told, 0), i;

	for (i = 0; told; i++, told >>= 1)
		if (told & 1)
			tell_device(dev, (enum tp_async_event)i);
}

static void post_told(struct vrb_dev *dev, enum tp_async_event event)
{
	atomic_fetch_or(&dev->async_told, 1U << event);
	dapl_loop_post(dev->base.loop, &dev->async_task);
}

static void device_event(struct vrb_dev *dev, enum tp_async_event event)
{
	if (dapl_loop_is_self(dev->base.loop))
		tell_device(dev, event);
	else
		post_told(dev, event);
}

/*
 * The core hears of the queue, and of the connections, each from its own task. The connection
 * manager's own queue has the device for a context, one that is gone has none.
 */
static void cq_event(struct vrb_dev *dev, void *context)
{
	struct vrb_cq *cq = context;

	if (!context)
		return;
	if (context == dev) {
		dapl_err("%s: a completion queue of connection messages failed: the adapter "
			 "connects to no peer any more",
			 dev->name);
		atomic_store(&dev->cm_dead, true);
		return;
	}
	atomic_store(&cq->dead, true);
	post_told(dev, TP_ASYNC_CQ_OVERFLOW);
	dapl_loop_post(dev->base.loop, &cq->overflow);
}

/*
 * The core hears of an object's event from a task: what it does then may end with the object
 * destroyed, for which libibverbs waits until the event is acknowledged. Or it is disowned, under
 * dev->async_lock, which is held here.
 */
static void object_event(struct vrb_dev *dev, struct vrb_async what,
			 const struct ibv_async_event *event)
{
	switch (what.object) {
	case VRB_ASYNC_NOBODY:
		qp_notice(event);
		break;
	case VRB_ASYNC_CQ:
		cq_event(dev, event->element.cq->cq_context);
		break;
	case VRB_ASYNC_QP:
		qp_event(dev, event);
		break;
	case VRB_ASYNC_SRQ:
		if (event->element.srq->srq_context)
			vrb_srq_event(event->element.srq->srq_context, what.event);
		break;
	case VRB_ASYNC_PORT:
	case VRB_ASYNC_DEVICE:
		break;
	}
}

static void port_event(struct vrb_dev *dev, const struct ibv_async_event *event,
		       enum tp_async_event what)
{
	if (vrb_port_event(dev, event))
		device_event(dev, what);
	if (atomic_load(&dev->cm_qp))
		dapl_loop_post(dev->base.loop, &dev->cm_event);
}

static void handle(struct vrb_dev *dev, const struct ibv_async_event *event)
{
	struct vrb_async what = vrb_map_async(event->event_type);

	dapl_trace(verbs_async, DAPL_TRC_NORMAL, dev, "ia=%s device=%s event=%s", dev->name,
		   dev->ibdev, ibv_event_type_str(event->event_type));
	if (what.object == VRB_ASYNC_PORT)
		port_event(dev, event, what.event);
	if (what.object == VRB_ASYNC_DEVICE)
		device_event(dev, what.event);
	pthread_mutex_lock(&dev->async_lock);
	object_event(dev, what, event);
	pthread_mutex_unlock(&dev->async_lock);
}

void vrb_async_poll(struct vrb_dev *dev)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(dev->ctx, &event)) {
		handle(dev, &event);
		ibv_ack_async_event(&event);
	}
}

static void ready(struct tp_watch *watch, uint32_t events)
{
	struct vrb_dev *dev = container_of(watch, struct vrb_dev, async);

	vrb_async_poll(dev);
	if (errno == EAGAIN && !(events & EPOLLERR))
		return;
	/* A device that was torn away answers nothing any more. */
	dapl_loop_del(dev->base.loop, watch);
	vrb_async_removed(dev);
}

int vrb_async_start(struct vrb_dev *dev)
{
	dev->async_task.run = tell_later;
	dev->async = (struct tp_watch){ .ready = ready, .fd = dev->ctx->async_fd };
	return dapl_loop_add(dev->base.loop, &dev->async, EPOLLIN);
}

void vrb_async_stop(struct vrb_dev *dev)
{
	dapl_loop_del(dev->base.loop, &dev->async);
	dapl_loop_cancel(dev->base.loop, &dev->async_task);
}
