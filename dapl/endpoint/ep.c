/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Life of an endpoint. */
#include "dapl/endpoint/ep.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/config.h"
#include "dapl/event/async.h"
#include "dapl/object/counters.h"
#include "dapl/transfer/request.h"
#include "dapl/object/ia.h"
#include "dapl/base/loop.h"
#include "dapl/transfer/srq.h"
#include "dapl/base/status.h"
#include "trace/log.h"

#define DEFAULT_DTOS	   16
#define DEFAULT_IOV	   4
#define DEFAULT_READ_DEPTH 4

static uint32_t at_most(uint32_t wanted, uint32_t limit)
{
	return wanted < limit ? wanted : limit;
}

void dapl_ep_default_attr(const struct dapl_ia *ia, const struct dapl_ep_parts *parts,
			  DAT_EP_ATTR *attr)
{
	const struct tp_device_attr *dev = ia->attr;
	bool recv = parts->recv_evd, request = parts->request_evd;

	*attr = (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = at_most(1u << 31, dev->max_msg_size),
		.max_rdma_size = at_most(1u << 31, dev->max_rdma_size),
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.max_recv_dtos = recv ? (DAT_COUNT)at_most(DEFAULT_DTOS, dev->max_qp_wr) : 0,
		.max_request_dtos = request ? (DAT_COUNT)at_most(DEFAULT_DTOS, dev->max_qp_wr) : 0,
		.max_recv_iov = recv ? (DAT_COUNT)at_most(DEFAULT_IOV, dev->max_sge) : 0,
		.max_request_iov = request ? (DAT_COUNT)at_most(DEFAULT_IOV, dev->max_sge) : 0,
		.max_rdma_read_in = (DAT_COUNT)at_most(DEFAULT_READ_DEPTH, dev->max_read_in),
		.max_rdma_read_out = (DAT_COUNT)at_most(DEFAULT_READ_DEPTH, dev->max_read_out),
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
}

/* ---- Creation ---- */

struct dapl_ep_parts dapl_ep_parts_of(const struct dapl_ep *ep)
{
	return (struct dapl_ep_parts){ ep->qp.pz, ep->recv_evd, ep->request_evd, ep->connect_evd,
				       ep->qp.srq };
}

void dapl_ep_set_parts(struct dapl_ep *ep, const struct dapl_ep_parts *parts)
{
	ep->qp.pz = parts->pz;
	ep->recv_evd = parts->recv_evd;
	ep->request_evd = parts->request_evd;
	ep->connect_evd = parts->connect_evd;
	ep->qp.srq = parts->srq;
}

void dapl_ep_each_part(const struct dapl_ep_parts *parts, void (*each)(struct dapl_object *obj))
{
	if (parts->pz)
		each(&parts->pz->obj);
	if (parts->recv_evd)
		each(&parts->recv_evd->obj);
	if (parts->request_evd)
		each(&parts->request_evd->obj);
	if (parts->connect_evd)
		each(&parts->connect_evd->obj);
	if (parts->srq)
		each(&parts->srq->obj);
}

void dapl_ep_count_streams(const struct dapl_ep *ep, int by)
{
	if (ep->recv_evd)
		dapl_evd_count_stream(ep->recv_evd, ep->qp.recv_stream, by);
	if (ep->request_evd)
		dapl_evd_count_stream(ep->request_evd, ep->qp.request_stream, by);
}

/* Under the lock: another adapter's connect EVD may be about to go (dapl_ep_forget). */
static void unuse_parts(struct dapl_ep *ep)
{
	struct dapl_ep_parts parts;

	dapl_ep_count_streams(ep, -1);
	dapl_lock(&ep->qp.lock);
	parts = dapl_ep_parts_of(ep);
	dapl_ep_each_part(&parts, dapl_object_unuse);
	ep->connect_evd = NULL;
	dapl_unlock(&ep->qp.lock);
}

static struct tp_cq *cq_of(const struct dapl_evd *evd)
{
	return evd ? evd->cq : NULL;
}

void dapl_ep_qp_attr(const struct dapl_ep_parts *parts, const DAT_EP_ATTR *attr,
		     struct tp_qp_attr *qp)
{
	uint32_t send_sge = (uint32_t)attr->max_request_iov;

	if ((uint32_t)attr->max_rdma_read_iov > send_sge)
		send_sge = (uint32_t)attr->max_rdma_read_iov;
	if ((uint32_t)attr->max_rdma_write_iov > send_sge)
		send_sge = (uint32_t)attr->max_rdma_write_iov;
	/* The sink of an atomic, and of an RDMA Read to an RMR, which no limit counts. */
	if (!send_sge && attr->max_request_dtos)
		send_sge = 1;
	*qp = (struct tp_qp_attr){
		.pd = parts->pz ? parts->pz->pd : NULL,
		.send_cq = cq_of(parts->request_evd),
		.recv_cq = cq_of(parts->recv_evd),
		.max_send_wr = (uint32_t)attr->max_request_dtos,
		.max_recv_wr = parts->srq ? 0 : (uint32_t)attr->max_recv_dtos,
		.max_send_sge = send_sge,
		.max_recv_sge = parts->srq ? 0 : (uint32_t)attr->max_recv_iov,
		.max_read_in = (uint32_t)attr->max_rdma_read_in,
		.max_read_out = (uint32_t)attr->max_rdma_read_out,
		.srq = parts->srq ? parts->srq->srq : NULL,
		.delayed_ack = dapl_ep_delayed_ack(attr),
		.ud = dapl_ep_attr_ud(attr),
	};
}

DAT_DTOS dapl_ep_recv_operation(bool ud)
{
	return ud ? (DAT_DTOS)DAT_IB_DTO_RECV_UD : DAT_DTO_RECEIVE;
}

static uint32_t or_else(uint32_t value, uint32_t instead)
{
	return value ? value : instead;
}

/* What posts have to keep to. */
static void take_limits(struct dapl_qp *qp, const struct tp_device_attr *dev,
			const DAT_EP_ATTR *attr)
{
	bool strict = dapl_config.strict;

	qp->max_recv_sge = qp->srq ? 0 : (uint32_t)attr->max_recv_iov;
	qp->max_send_sge = (uint32_t)attr->max_request_iov;
	/* DTO-12: 0 means the same as max_request_iov. */
	qp->max_read_sge = or_else((uint32_t)attr->max_rdma_read_iov, qp->max_send_sge);
	qp->max_read_sge = at_most(qp->max_read_sge, dev->max_sge_read);
	qp->max_write_sge = or_else((uint32_t)attr->max_rdma_write_iov, qp->max_send_sge);
	qp->max_write_sge = at_most(qp->max_write_sge, dev->max_sge_write);
	qp->cold->max_read_out = (uint32_t)attr->max_rdma_read_out;
	if (!qp->cold->max_read_out)
		qp->max_read_sge = dev->max_sge_read;
	/* A size attribute counts in strict mode, where it is not 0; else the adapter's does. */
	qp->cold->max_message =
		strict && attr->max_message_size ? attr->max_message_size : dev->max_msg_size;
	qp->cold->max_rdma =
		strict && attr->max_rdma_size ? attr->max_rdma_size : dev->max_rdma_size;
	if (qp->ud) /* IBX-61 */
		qp->cold->max_message =
			attr->max_message_size ? attr->max_message_size : dev->max_datagram;
}

static uint8_t unsignalled(uint8_t stream)
{
	return stream == DAPL_STREAM_NOTIFY ? DAT_COMPLETION_UNSIGNALLED_FLAG : 0;
}

void dapl_ep_take_attr(struct dapl_ep *ep, const struct tp_device_attr *dev,
		       const DAT_EP_ATTR *attr)
{
	struct dapl_qp *qp = &ep->qp;
	bool fast;

	dapl_assert_held(&qp->lock);
	ep->cold->attr = *attr;
	dapl_ep_name_attr(dev, &ep->cold->attr);
	qp->recv_stream = dapl_ep_stream(attr->recv_completion_flags, true);
	qp->request_stream = dapl_ep_stream(attr->request_completion_flags, false);
	qp->recv_unsignalled = unsignalled(qp->recv_stream);
	qp->request_unsignalled = unsignalled(qp->request_stream);
	take_limits(qp, dev, attr);
	fast = !dapl_config.strict && !qp->request_unsignalled && !qp->ud;
	qp->plain_send_below = fast && qp->max_send_sge ? qp->cold->max_message + 1 : 0;
	qp->plain_write_below = fast && qp->max_write_sge ? qp->cold->max_rdma + 1 : 0;
	qp->plain_read_below =
		fast && qp->max_read_sge && qp->cold->max_read_out ? qp->cold->max_rdma + 1 : 0;
	dapl_slots_unsilence(&qp->request);
	dapl_ep_update_slots(ep);
}

static struct dapl_ep_cold *cold_new(struct dapl_ia *ia, struct dapl_ep *ep)
{
	struct dapl_ep_cold *cold = calloc(1, sizeof(*cold));

	if (!cold)
		return NULL;
	pthread_mutex_init(&cold->cm_lock, NULL);
	cold->ep = ep;
	cold->qp.check_marks = dapl_ep_check_marks;
	cold->comm = (DAT_COMM){ .domain = ia->attr->addr.ss_family, .type = SOCK_STREAM };
	cold->timer.expired = dapl_ep_timed_out;
	cold->breaker.run = dapl_ep_break;
	cold->soft_mark = DAT_WATERMARK_INFINITE;
	cold->hard_mark = DAT_WATERMARK_INFINITE;
	return cold;
}

static void cold_free(struct dapl_ep_cold *cold)
{
	struct dapl_retired *retired;

	while ((retired = cold->retired)) {
		cold->retired = retired->next;
		free(retired->slot);
		free(retired);
	}
	free(cold->private_data);
	pthread_mutex_destroy(&cold->cm_lock);
	free(cold);
}

static void free_memory(struct dapl_ep *ep)
{
	free(ep->qp.request.slot);
	free(ep->qp.recv.slot);
	if (ep->cold)
		cold_free(ep->cold);
	dapl_lock_fini(&ep->qp.lock);
	dapl_object_release(&ep->obj);
}

/* Completions the transport has finished move to the EVDs' rings: slots may be reused. */
static void keep_completions(struct dapl_ep *ep)
{
	if (ep->recv_evd)
		dapl_evd_drain_ep(ep->recv_evd, ep);
	if (ep->request_evd && ep->request_evd != ep->recv_evd)
		dapl_evd_drain_ep(ep->request_evd, ep);
}

void dapl_ep_delete(struct dapl_ep *ep)
{
	dapl_object_wait_left(&ep->obj); /* its service point may be giving it back */
	dapl_ep_drop_conn(ep);
	dapl_ud_end(ep);
	ep->qp.tp->ops->destroy(ep->qp.tp);
	dapl_ud_free_ahs(ep);
	keep_completions(ep);
	dapl_binder_end(&ep->qp.cold->binder, ep->obj.ia);
	unuse_parts(ep);
	dapl_ia_remove(&ep->obj);
	free_memory(ep);
}

static void close_ep(struct dapl_object *obj)
{
	struct dapl_ep *ep = container_of(obj, struct dapl_ep, obj);
	struct dapl_ep_step step;

	/* Refused if dat_ep_free comes at the same time, which then finds that it is gone. */
	(void)dapl_ep_lock_and_fire(ep, DAPL_EP_CLOSE, &step);
	dapl_ep_delete(ep);
}

static bool uses(struct dapl_object *obj, const struct dapl_object *part)
{
	struct dapl_ep *ep = container_of(obj, struct dapl_ep, obj);
	bool found;

	dapl_lock(&ep->qp.lock);
	found = (ep->qp.pz && &ep->qp.pz->obj == part) ||
		(ep->qp.srq && &ep->qp.srq->obj == part) ||
		(ep->recv_evd && &ep->recv_evd->obj == part) ||
		(ep->request_evd && &ep->request_evd->obj == part) ||
		(ep->connect_evd && &ep->connect_evd->obj == part);
	dapl_unlock(&ep->qp.lock);
	return found;
}

const struct dapl_class dapl_ep_class = {
	DAPL_CLASS(EP),
	.uses = uses,
	.close = close_ep,
	.forget = dapl_ep_forget,
	.describe = dapl_ep_describe,
	.read_counters = dapl_ep_read_counters,
	.counter_names = dapl_ep_counter_names,
	.num_counters = DCNT_EP_ALL_COUNTERS,
};

/* All that an EP has but for the transport's QP; NULL: no memory. */
static struct dapl_ep *alloc_ep(struct dapl_ia *ia, const struct dapl_ep_parts *parts,
				const DAT_EP_ATTR *attr, uint8_t state)
{
	struct dapl_ep *ep = dapl_object_alloc(sizeof(*ep));

	if (!ep)
		return NULL;
	dapl_lock_init(&ep->qp.lock);
	ep->cold = cold_new(ia, ep);
	if (!ep->cold)
		goto no_memory;
	ep->qp.cold = &ep->cold->qp;
	ep->qp.ud = dapl_ep_attr_ud(attr);
	if (!dapl_slots_init(&ep->qp.recv, parts->srq ? 0 : (uint32_t)attr->max_recv_dtos, ep,
			     dapl_ep_recv_operation(ep->qp.ud)) ||
	    !dapl_slots_init(&ep->qp.request, (uint32_t)attr->max_request_dtos, ep, DAT_DTO_SEND))
		goto no_memory;
	dapl_ep_set_parts(ep, parts);
	atomic_store_explicit(&ep->state, state, memory_order_relaxed);
	dapl_lock(&ep->qp.lock);
	dapl_ep_take_attr(ep, ia->attr, attr);
	dapl_unlock(&ep->qp.lock);
	return ep;

no_memory:
	dapl_err("endpoint not created: %s", dapl_strerror(ENOMEM));
	free_memory(ep);
	return NULL;
}

DAT_RETURN dapl_ep_new(struct dapl_ia *ia, const struct dapl_ep_parts *parts,
		       const DAT_EP_ATTR *attr, uint8_t state, struct dapl_ep **out)
{
	struct dapl_ep *ep = alloc_ep(ia, parts, attr, state);
	struct tp_qp_attr qp_attr;
	DAT_RETURN rc;
	int err;

	if (!ep)
		return DAPL_NO_RESOURCE(MEMORY);
	dapl_ep_qp_attr(parts, attr, &qp_attr);
	err = ia->dev->transport->qp->create(ia->dev, &qp_attr, ep, &ep->qp.tp);
	rc = dapl_status(err, DAT_RESOURCE_TEP);
	if (err)
		goto free_ep;
	ep->qp.tp->lock = &ep->qp.lock;
	if (!ep->qp.tp->post_plain)
		ep->qp.tp->post_plain = dapl_post_plain;
	dapl_ep_each_part(parts, dapl_object_use);
	dapl_ep_count_streams(ep, 1);
	if (attr->srq_soft_hw > 0) {
		rc = dapl_ep_set_marks(ep, attr->srq_soft_hw, DAT_WATERMARK_INFINITE);
		if (rc)
			goto destroy_qp;
	}
	if (!dapl_ia_add(ia, &ep->obj, &dapl_ep_class, ia->attr->max_qp)) {
		rc = DAPL_NO_RESOURCE(TEP);
		goto destroy_qp;
	}
	*out = ep;
	return DAT_SUCCESS;

destroy_qp:
	unuse_parts(ep);
	ep->qp.tp->ops->destroy(ep->qp.tp);
free_ep:
	free_memory(ep);
	return rc;
}

/*
 * Programs of release 2.1.10, its dapltest among them, use one connect EVD for the EPs of several
 * opens of an adapter: strict mode alone refuses that (GEN-22).
 */
static struct dapl_evd *enter_connect_evd(DAT_EVD_HANDLE handle, const struct dapl_ia *ia)
{
	struct dapl_evd *evd = dapl_evd_enter(handle, DAT_EVD_CONNECTION_FLAG);

	if (!evd || (dapl_config.strict ? evd->obj.ia == ia : evd->obj.ia->entry == ia->entry))
		return evd;
	dapl_evd_leave(evd);
	return NULL;
}

static DAT_RETURN find_parts(const struct dapl_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			     DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			     struct dapl_ep_parts *parts)
{
	if (pz && !(parts->pz = dapl_pz_use(pz, ia)))
		return DAPL_BAD_HANDLE(PZ);
	if (recv_evd && !(parts->recv_evd = dapl_evd_use(recv_evd, ia, DAT_EVD_DTO_FLAG)))
		return DAPL_BAD_HANDLE(EVD_RECV);
	if (request_evd && !(parts->request_evd = dapl_evd_use(request_evd, ia, DAT_EVD_DTO_FLAG)))
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	if (connect_evd && !(parts->connect_evd = enter_connect_evd(connect_evd, ia)))
		return DAPL_BAD_HANDLE(EVD_CONN);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_find_parts(const struct dapl_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			      DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			      struct dapl_ep_parts *parts)
{
	DAT_RETURN rc;

	*parts = (struct dapl_ep_parts){ .pz = NULL };
	rc = find_parts(ia, pz, recv_evd, request_evd, connect_evd, parts);
	if (rc)
		dapl_ep_leave_parts(NULL, parts);
	return rc;
}

void dapl_ep_leave_parts(struct dapl_ep *ep, const struct dapl_ep_parts *parts)
{
	struct dapl_evd *evd = parts->connect_evd;

	/* Its IA, which may be another and closing, may have had it forgotten before ep had it. */
	if (ep && evd && !dapl_object_is(&evd->obj, DAPL_TYPE_EVD))
		dapl_ep_forget(&ep->obj, &evd->obj);
	dapl_ep_each_part(parts, dapl_object_unuse);
	if (evd)
		dapl_object_leave(&evd->obj);
}

static DAT_RETURN create_of(struct dapl_ia *ia, const struct dapl_ep_parts *parts,
			    const DAT_EP_ATTR *ep_attr, DAT_RETURN bad_attr, DAT_RETURN bad_handle,
			    bool answer, struct dapl_ep **ep)
{
	DAT_EP_ATTR attr;
	DAT_RETURN rc;

	if (ep_attr)
		attr = *ep_attr;
	else
		dapl_ep_default_attr(ia, parts, &attr);
	rc = dapl_ep_check_attr(ia, parts, NULL, &attr, bad_attr);
	if (rc)
		return rc;
	return answer ? dapl_ep_new(ia, parts, &attr, DAT_EP_STATE_UNCONNECTED, ep) : bad_handle;
}

DAT_RETURN dapl_ep_create_of(struct dapl_ia *ia, const struct dapl_ep_parts *parts,
			     const DAT_EP_ATTR *ep_attr, DAT_RETURN bad_attr, DAT_RETURN bad_handle,
			     DAT_EP_HANDLE *ep_handle)
{
	struct dapl_ep *ep = NULL;
	DAT_RETURN rc;

	rc = create_of(ia, parts, ep_attr, bad_attr, bad_handle, ep_handle, &ep);
	dapl_ep_leave_parts(rc ? NULL : ep, parts);
	if (rc)
		return rc;
	dapl_count(ia, DCNT_IA_EP_CREATE);
	*ep_handle = ep;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			  DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			  const DAT_EP_ATTR *ep_attr, DAT_EP_HANDLE *ep_handle)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	struct dapl_ep_parts parts;
	DAT_RETURN rc;

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	rc = dapl_ep_find_parts(ia, pz, recv_evd, request_evd, connect_evd, &parts);
	return rc ? rc
		  : dapl_ep_create_of(ia, &parts, ep_attr, DAPL_BAD_ARG(6), DAPL_BAD_ARG(7),
				      ep_handle);
}

/* ---- Queries ---- */

DAT_RETURN dapl_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	/* Programs read a peer's address whether there is a peer or not (EP-14). */
	static struct sockaddr_storage nobody;
	struct dapl_ep_cold *cold;
	struct dapl_ep *ep;
	DAT_RETURN rc;

	ep = dapl_object_query(ep_handle, &dapl_ep_class, mask, param, &rc);
	if (!ep)
		return rc;
	cold = ep->cold;
	memset(param, 0, sizeof(*param));
	param->ia_handle = dapl_ia_handle(ep->obj.ia);
	dapl_lock(&ep->qp.lock);
	param->ep_state = (DAT_EP_STATE)dapl_ep_state(ep);
	param->comm = cold->comm;
	param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->obj.ia->attr->addr;
	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&nobody;
	if (cold->addr_known) {
		param->local_port_qual = cold->addr.local_qual;
		param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cold->addr.remote;
		param->remote_port_qual = cold->addr.remote_qual;
	}
	param->pz_handle = ep->qp.pz;
	param->recv_evd_handle = ep->recv_evd;
	param->request_evd_handle = ep->request_evd;
	param->connect_evd_handle = ep->connect_evd;
	param->srq_handle = ep->qp.srq;
	param->ep_attr = cold->attr;
	dapl_unlock(&ep->qp.lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			      DAT_BOOLEAN *request_idle)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	uint32_t recv, request;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (state)
		*state = (DAT_EP_STATE)dapl_ep_state(ep);
	ep->qp.tp->ops->pending(ep->qp.tp, &recv, &request);
	if (recv_idle)
		*recv_idle = recv ? DAT_FALSE : DAT_TRUE;
	if (request_idle)
		*request_idle = request ? DAT_FALSE : DAT_TRUE;
	return DAT_SUCCESS;
}

/* ---- Reset and end ---- */

static DAT_RETURN reset(struct dapl_ep *ep)
{
	struct dapl_ep_step step;
	uint8_t state = dapl_ep_state(ep);
	uint32_t recv, request;
	DAT_RETURN rc;
	int err;

	dapl_assert_mutex_held(&ep->cold->cm_lock);
	step = dapl_ep_step(state, DAPL_EP_RESET);
	if (step.verdict == DAPL_EP_REFUSE)
		return dapl_ep_state_error(state);
	if (step.verdict == DAPL_EP_STAY)
		return DAT_SUCCESS;
	dapl_ep_drop_conn(ep);
	keep_completions(ep); /* binds that were flushed are to be known as such */
	err = ep->qp.tp->ops->reset(ep->qp.tp);
	if (err)
		return dapl_status(err, DAT_RESOURCE_TEP);
	keep_completions(ep);
	dapl_lock(&ep->qp.lock);
	ep->qp.tp->ops->pending(ep->qp.tp, &recv, &request);
	dapl_binder_settle(&ep->qp.cold->binder, ep->obj.ia);
	ep->qp.cold->recv_lost += dapl_slots_used(&ep->qp.recv);
	dapl_slots_empty(&ep->qp.recv, recv);
	ep->qp.cold->recv_lost -= dapl_slots_used(&ep->qp.recv);
	dapl_slots_empty(&ep->qp.request, request);
	ep->cold->addr_known = false;
	free(ep->cold->private_data);
	ep->cold->private_data = NULL;
	rc = dapl_ep_fire(ep, DAPL_EP_RESET, &step);
	dapl_unlock(&ep->qp.lock);
	return rc;
}

DAT_RETURN dapl_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (ep->qp.ud)
		return DAT_SUCCESS; /* IBX-64 */
	pthread_mutex_lock(&ep->cold->cm_lock);
	rc = reset(ep);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	return rc;
}

DAT_RETURN dapl_ep_free(DAT_EP_HANDLE ep_handle)
{
	struct dapl_ep *ep = ep_handle;
	struct dapl_ep_step step;
	DAT_RETURN rc;

	if (!dapl_object_enter(&ep->obj, DAPL_TYPE_EP))
		return DAPL_BAD_HANDLE(EP);
	pthread_mutex_lock(&ep->cold->cm_lock);
	rc = dapl_ep_lock_and_fire(ep, DAPL_EP_FREE, &step);
	if (!rc && !dapl_object_retire(&ep->obj)) /* its IA is being closed */
		rc = DAPL_BAD_HANDLE(EP);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	dapl_object_leave(&ep->obj);
	if (rc)
		return rc;
	dapl_count(ep->obj.ia, DCNT_IA_EP_FREE);
	dapl_ep_delete(ep);
	return DAT_SUCCESS;
}
