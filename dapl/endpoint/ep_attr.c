/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoint attributes: what is legal, and dat_ep_modify. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/config.h"
#include "dapl/endpoint/ep.h"
#include "dapl/object/ia.h"
#include "dapl/transfer/srq.h"
#include "dapl/base/status.h"
#include "trace/log.h"

/* ---- Completion flags ---- */

enum dapl_stream dapl_ep_stream(DAT_COMPLETION_FLAGS flags, bool recv)
{
	if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		return DAPL_STREAM_NOTIFY;
	return recv && (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) ? DAPL_STREAM_SOLICITED
								    : DAPL_STREAM_THRESHOLD;
}

static bool flags_exact(uint32_t flags, bool recv)
{
	uint32_t added = recv ? 0
			      : DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
					 DAT_COMPLETION_BARRIER_FENCE_FLAG;

	switch (flags & ~added) {
	case DAT_COMPLETION_DEFAULT_FLAG:
	case DAT_COMPLETION_UNSIGNALLED_FLAG:
	case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
		return true;
	case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
		return recv;
	default:
		return false;
	}
}

/* EP-41, EVD-30: which kinds of completion streams may share an EVD. */
static bool may_share(struct dapl_evd *evd, const struct dapl_ep_parts *parts,
		      const struct dapl_ep *self, enum dapl_stream recv, enum dapl_stream request)
{
	const uint32_t others = ~(uint32_t)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	uint32_t streams[DAPL_NUM_STREAMS];
	bool notify, solicited;

	if (!evd)
		return true;
	dapl_lock(&evd->obj.lock);
	memcpy(streams, evd->streams, sizeof(streams));
	dapl_unlock(&evd->obj.lock);
	if (self && self->recv_evd == evd)
		streams[self->qp.recv_stream]--;
	if (self && self->request_evd == evd)
		streams[self->qp.request_stream]--;
	streams[recv] += parts->recv_evd == evd;
	streams[request] += parts->request_evd == evd;
	notify = streams[DAPL_STREAM_NOTIFY];
	solicited = streams[DAPL_STREAM_SOLICITED];
	if (!notify && !solicited)
		return true;
	return notify != solicited && !streams[DAPL_STREAM_THRESHOLD] && !(evd->flags & others);
}

/* ---- Attributes ---- */

static bool in_range(DAT_COUNT value, uint32_t limit)
{
	return value >= 0 && (uint32_t)value <= limit;
}

static void lower(DAT_COUNT *value, uint32_t limit)
{
	if (*value > 0 && (uint32_t)*value > limit)
		*value = (DAT_COUNT)limit;
}

/* Release 2.1.10 looks at none of these. */
static void drop_unsupported(const struct tp_device_attr *dev, DAT_EP_ATTR *attr)
{
	if (!dapl_ep_attr_ud(attr))
		attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->qos = DAT_QOS_BEST_EFFORT;
	if (attr->srq_soft_hw < 0 || !dapl_ep_has_watermarks(dev))
		attr->srq_soft_hw = DAT_HW_DEFAULT;
}

/*
 * Programs write down what the adapters could do that they were written on. They get what this one
 * can do, as dat_ep_query shows; in strict mode a number beyond that is an error (EP-46).
 */
static void lower_to_limits(const struct tp_device_attr *dev, DAT_EP_ATTR *attr)
{
	if (!dapl_ep_attr_ud(attr) && attr->max_message_size > dev->max_msg_size)
		attr->max_message_size = dev->max_msg_size;
	if (attr->max_rdma_size > dev->max_rdma_size)
		attr->max_rdma_size = dev->max_rdma_size;
	lower(&attr->max_recv_dtos, dev->max_qp_wr);
	lower(&attr->max_request_dtos, dev->max_qp_wr);
	lower(&attr->max_recv_iov, dev->max_sge);
	lower(&attr->max_request_iov, dev->max_sge);
	lower(&attr->max_rdma_read_in, dev->max_read_in);
	lower(&attr->max_rdma_read_out, dev->max_read_out);
	lower(&attr->max_rdma_read_iov, dev->max_sge_read);
	lower(&attr->max_rdma_write_iov, dev->max_sge_write);
}

/* A queue and its EVD come together (EP-28, EP-29). */
static bool queue_fits(DAT_COUNT dtos, const struct dapl_evd *evd, uint32_t limit)
{
	return in_range(dtos, limit) && !dtos == !evd;
}

/* With an SRQ there is no queue, only a number that is reported (SRQ-32). */
static bool recv_fits(const struct tp_device_attr *dev, const struct dapl_ep_parts *parts,
		      const DAT_EP_ATTR *attr)
{
	if (parts->srq)
		return in_range(attr->max_recv_dtos, dev->max_qp_wr);
	return queue_fits(attr->max_recv_dtos, parts->recv_evd, dev->max_qp_wr) &&
	       in_range(attr->max_recv_iov, dev->max_sge) &&
	       (!parts->recv_evd || attr->max_recv_iov);
}

static bool numbers_ok(const struct tp_device_attr *dev, const struct dapl_ep_parts *parts,
		       const DAT_EP_ATTR *attr)
{
	bool request = parts->request_evd;

	return attr->max_message_size <= dev->max_msg_size &&
	       attr->max_rdma_size <= dev->max_rdma_size && recv_fits(dev, parts, attr) &&
	       queue_fits(attr->max_request_dtos, parts->request_evd, dev->max_qp_wr) &&
	       in_range(attr->max_request_iov, dev->max_sge) &&
	       (request || !attr->max_request_iov) &&
	       in_range(attr->max_rdma_read_in, dev->max_read_in) &&
	       in_range(attr->max_rdma_read_out, dev->max_read_out) &&
	       in_range(attr->max_rdma_read_iov, dev->max_sge_read) &&
	       in_range(attr->max_rdma_write_iov, dev->max_sge_write) &&
	       attr->srq_soft_hw >= DAT_HW_DEFAULT;
}

/* What a datagram endpoint may be (IBX-60, IBX-61); what says of RDMA is ignored. */
static DAT_RETURN check_ud(const struct tp_device_attr *dev, const struct dapl_ep_parts *parts,
			   DAT_EP_ATTR *attr, DAT_RETURN bad_arg)
{
	if (!dev->max_datagram || parts->srq)
		return DAPL_NO_MODEL;
	if (attr->max_message_size > dev->max_datagram)
		return bad_arg;
	attr->max_rdma_size = 0;
	attr->max_rdma_read_in = attr->max_rdma_read_out = 0;
	attr->max_rdma_read_iov = attr->max_rdma_write_iov = 0;
	return DAT_SUCCESS;
}

static DAT_RETURN check_service(const struct tp_device_attr *dev, const struct dapl_ep_parts *parts,
				const struct dapl_ep *self, DAT_EP_ATTR *attr, DAT_RETURN bad_arg)
{
	bool ud = dapl_ep_attr_ud(attr);

	if (self && ud != self->qp.ud)
		return bad_arg; /* it is made as the one or the other */
	if (ud)
		return check_ud(dev, parts, attr, bad_arg);
	return (int)attr->service_type == DAT_SERVICE_TYPE_RC ? DAT_SUCCESS : bad_arg;
}

DAT_RETURN dapl_ep_check_attr(const struct dapl_ia *ia, const struct dapl_ep_parts *parts,
			      const struct dapl_ep *self, DAT_EP_ATTR *attr, DAT_RETURN bad_arg)
{
	uint32_t recv_flags = (uint32_t)attr->recv_completion_flags;
	uint32_t request_flags = (uint32_t)attr->request_completion_flags;
	enum dapl_stream recv = dapl_ep_stream(attr->recv_completion_flags, true);
	enum dapl_stream request = dapl_ep_stream(attr->request_completion_flags, false);
	DAT_RETURN rc;

	if (!dapl_config.strict) {
		drop_unsupported(ia->attr, attr);
		lower_to_limits(ia->attr, attr);
	}
	rc = check_service(ia->attr, parts, self, attr, bad_arg);
	if (rc)
		return rc;
	if (!numbers_ok(ia->attr, parts, attr))
		return bad_arg;
	if (dapl_config.strict && /* DTO-24 */
	    (!flags_exact(recv_flags, true) || !flags_exact(request_flags, false)))
		return bad_arg;
	if (!dapl_ep_named_ok(ia, attr)) /* EP-46 */
		return bad_arg;
	if (dapl_config.strict && (!may_share(parts->recv_evd, parts, self, recv, request) ||
				   !may_share(parts->request_evd, parts, self, recv, request)))
		return bad_arg;
	if (attr->qos != DAT_QOS_BEST_EFFORT)
		return DAPL_NO_MODEL; /* EP-47 */
	if (attr->srq_soft_hw > 0 && !dapl_ep_has_watermarks(ia->attr))
		return DAPL_NO_MODEL; /* SRQ-44 */
	return DAT_SUCCESS;
}

/* ---- dat_ep_modify ---- */

#define F(name) DAT_EP_FIELD_##name

#define NEVER                                                                        \
	(F(IA_HANDLE) | F(EP_STATE) | F(LOCAL_IA_ADDRESS_PTR) | F(LOCAL_PORT_QUAL) | \
	 F(REMOTE_IA_ADDRESS_PTR) | F(REMOTE_PORT_QUAL) | F(SRQ_HANDLE))
#define ONLY_U                                                                          \
	(F(COMM) | F(EP_ATTR_NUM_TRANSPORT_ATTR) | F(EP_ATTR_TRANSPORT_SPECIFIC_ATTR) | \
	 F(EP_ATTR_NUM_PROVIDER_ATTR) | F(EP_ATTR_PROVIDER_SPECIFIC_ATTR))
#define QUEUES                                                                                     \
	(F(RECV_EVD_HANDLE) | F(REQUEST_EVD_HANDLE) | F(CONNECT_EVD_HANDLE) |                      \
	 F(EP_ATTR_SERVICE_TYPE) | F(EP_ATTR_MAX_MESSAGE_SIZE) | F(EP_ATTR_MAX_RDMA_SIZE) |        \
	 F(EP_ATTR_QOS) | F(EP_ATTR_RECV_COMPLETION_FLAGS) | F(EP_ATTR_REQUEST_COMPLETION_FLAGS) | \
	 F(EP_ATTR_MAX_RECV_DTOS) | F(EP_ATTR_MAX_REQUEST_DTOS) | F(EP_ATTR_MAX_RECV_IOV) |        \
	 F(EP_ATTR_MAX_REQUEST_IOV) | F(EP_ATTR_MAX_RDMA_READ_IN) | F(EP_ATTR_MAX_RDMA_READ_OUT) | \
	 F(EP_ATTR_MAX_RDMA_READ_IOV) | F(EP_ATTR_MAX_RDMA_WRITE_IOV))

/* EP-59: may these be changed in this state? */
static DAT_RETURN modify_allowed(struct dapl_ep *ep, DAT_EP_PARAM_MASK mask)
{
	uint8_t state = dapl_ep_state(ep);

	if ((mask & F(PZ_HANDLE)) &&
	    dapl_ep_step(state, DAPL_EP_MODIFY_PZ).verdict == DAPL_EP_REFUSE)
		return dapl_ep_state_error(state);
	if ((mask & QUEUES) && dapl_ep_step(state, DAPL_EP_MODIFY_QUEUES).verdict == DAPL_EP_REFUSE)
		return dapl_ep_state_error(state);
	if ((mask & ONLY_U) && dapl_ep_step(state, DAPL_EP_MODIFY_U).verdict == DAPL_EP_REFUSE)
		return dapl_ep_state_error(state);
	if ((mask & F(EP_ATTR_RECV_COMPLETION_FLAGS)) && dapl_slots_used(&ep->qp.recv))
		return dapl_ep_state_error(state);
	return DAT_SUCCESS;
}

/* To be left, if it succeeds. */
static DAT_RETURN new_parts(const struct dapl_ep *ep, DAT_EP_PARAM_MASK mask,
			    const DAT_EP_PARAM *param, struct dapl_ep_parts *parts)
{
	const struct dapl_ia *ia = ep->obj.ia;

#define GIVEN(bit, given, own) ((mask & F(bit)) ? param->given : (own))
	if (dapl_ep_find_parts(ia, GIVEN(PZ_HANDLE, pz_handle, ep->qp.pz),
			       GIVEN(RECV_EVD_HANDLE, recv_evd_handle, ep->recv_evd),
			       GIVEN(REQUEST_EVD_HANDLE, request_evd_handle, ep->request_evd),
			       GIVEN(CONNECT_EVD_HANDLE, connect_evd_handle, ep->connect_evd),
			       parts))
		return DAPL_BAD_ARG(3);
#undef GIVEN
	parts->srq = ep->qp.srq;
	if (!parts->srq)
		return DAT_SUCCESS;
	dapl_object_use(&parts->srq->obj);
	/* SRQ-34 holds on, and the completions of an SRQ need a place. */
	if (parts->recv_evd &&
	    (!parts->pz || parts->pz == parts->srq->pz || ia->attr->srq_pd_differs))
		return DAT_SUCCESS;
	dapl_ep_leave_parts(NULL, parts);
	return DAPL_BAD_ARG(3);
}

static void new_attr(const struct dapl_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param,
		     DAT_EP_ATTR *attr)
{
	const DAT_EP_ATTR *given = &param->ep_attr;

	*attr = ep->cold->attr;
#define TAKE(bit, field)             \
	if (mask & F(EP_ATTR_##bit)) \
		attr->field = given->field;
	TAKE(SERVICE_TYPE, service_type)
	TAKE(MAX_MESSAGE_SIZE, max_message_size)
	TAKE(MAX_RDMA_SIZE, max_rdma_size)
	TAKE(QOS, qos)
	TAKE(RECV_COMPLETION_FLAGS, recv_completion_flags)
	TAKE(REQUEST_COMPLETION_FLAGS, request_completion_flags)
	TAKE(MAX_RECV_DTOS, max_recv_dtos)
	TAKE(MAX_REQUEST_DTOS, max_request_dtos)
	TAKE(MAX_RECV_IOV, max_recv_iov)
	TAKE(MAX_REQUEST_IOV, max_request_iov)
	TAKE(MAX_RDMA_READ_IN, max_rdma_read_in)
	TAKE(MAX_RDMA_READ_OUT, max_rdma_read_out)
	TAKE(SRQ_SOFT_HW, srq_soft_hw)
	TAKE(MAX_RDMA_READ_IOV, max_rdma_read_iov)
	TAKE(MAX_RDMA_WRITE_IOV, max_rdma_write_iov)
#undef TAKE
	/* EP-60: both bits or no change. */
	if ((mask & F(EP_ATTR_NUM_PROVIDER_ATTR)) && (mask & F(EP_ATTR_PROVIDER_SPECIFIC_ATTR)) &&
	    given->ep_provider_specific_count) {
		attr->ep_provider_specific_count = given->ep_provider_specific_count;
		attr->ep_provider_specific = given->ep_provider_specific;
	}
	if ((mask & F(EP_ATTR_NUM_TRANSPORT_ATTR)) && (mask & F(EP_ATTR_TRANSPORT_SPECIFIC_ATTR)))
		attr->ep_transport_specific_count = given->ep_transport_specific_count;
}

/*
 * A queue whose EVD is dropped goes with it, and one that gets its first EVD gets the defaults,
 * unless the caller gives its sizes as well (EP-28, EP-29, EP-62).
 */
static void follow_evds(const struct dapl_ep *ep, DAT_EP_PARAM_MASK mask,
			const struct dapl_ep_parts *parts, DAT_EP_ATTR *attr)
{
	DAT_EP_ATTR fresh;

	dapl_ep_default_attr(ep->obj.ia, parts, &fresh);
#define FOLLOW(bit, field, old, now)                        \
	if (!(mask & F(EP_ATTR_##bit)) && !(old) != !(now)) \
		attr->field = fresh.field;
	FOLLOW(MAX_RECV_DTOS, max_recv_dtos, ep->recv_evd, parts->recv_evd)
	FOLLOW(MAX_RECV_IOV, max_recv_iov, ep->recv_evd, parts->recv_evd)
	FOLLOW(MAX_REQUEST_DTOS, max_request_dtos, ep->request_evd, parts->request_evd)
	FOLLOW(MAX_REQUEST_IOV, max_request_iov, ep->request_evd, parts->request_evd)
#undef FOLLOW
}

/*
 * Room for limit DTOs in slots. Where DTOs are posted in slots that become too few, new posts go to
 * new slots and the old ones stay until the EP is freed: the transport knows them by address.
 */
static DAT_RETURN resize_slots(struct dapl_ep *ep, struct dapl_slots *slots, uint32_t limit)
{
	struct dapl_retired *retired;

	dapl_assert_held(&ep->qp.lock);
	if (!limit || (slots->slot && limit <= slots->size)) {
		slots->limit = limit;
		return DAT_SUCCESS;
	}
	retired = malloc(sizeof(*retired));
	if (!retired)
		return DAPL_NO_RESOURCE(MEMORY);
	retired->slot = slots->slot;
	retired->size = slots->size;
	if (!dapl_slots_extend(slots, limit, ep,
			       slots == &ep->qp.recv ? dapl_ep_recv_operation(ep->qp.ud)
						     : DAT_DTO_SEND)) {
		free(retired);
		return DAPL_NO_RESOURCE(MEMORY);
	}
	retired->next = ep->cold->retired;
	ep->cold->retired = retired;
	return DAT_SUCCESS;
}

/* Everything is checked and the transport has agreed. */
static void commit(struct dapl_ep *ep, const struct dapl_ep_parts *parts, const DAT_EP_ATTR *attr)
{
	const struct dapl_ep_parts old = dapl_ep_parts_of(ep);

	dapl_assert_held(&ep->qp.lock);
	dapl_ep_count_streams(ep, -1);
	/* In this order: what stays is in use throughout. */
	dapl_ep_each_part(parts, dapl_object_use);
	dapl_ep_each_part(&old, dapl_object_unuse);
	dapl_ep_set_parts(ep, parts);
	dapl_ep_take_attr(ep, ep->obj.ia->attr, attr);
	dapl_ep_count_streams(ep, 1);
}

static uint32_t recv_limit(const struct dapl_ep *ep, const DAT_EP_ATTR *attr)
{
	return ep->qp.srq ? 0 : (uint32_t)attr->max_recv_dtos;
}

static DAT_RETURN apply(struct dapl_ep *ep, const struct dapl_ep_parts *parts,
			const DAT_EP_ATTR *attr)
{
	struct tp_qp_attr qp_attr;
	DAT_RETURN rc;
	int err;

	dapl_assert_held(&ep->qp.lock);
	rc = resize_slots(ep, &ep->qp.recv, recv_limit(ep, attr));
	if (!rc)
		rc = resize_slots(ep, &ep->qp.request, (uint32_t)attr->max_request_dtos);
	if (!rc) {
		dapl_ep_qp_attr(parts, attr, &qp_attr);
		err = ep->qp.tp->ops->modify(ep->qp.tp, &qp_attr);
		rc = dapl_status(err, DAT_RESOURCE_TEP);
	}
	if (rc) {
		ep->qp.recv.limit = recv_limit(ep, &ep->cold->attr);
		ep->qp.request.limit = (uint32_t)ep->cold->attr.max_request_dtos;
		return rc;
	}
	commit(ep, parts, attr);
	return DAT_SUCCESS;
}

/* soft gets the watermark that is to be set. */
static DAT_RETURN modify(struct dapl_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param,
			 const struct dapl_ep_parts *parts, DAT_COUNT *soft)
{
	DAT_EP_ATTR attr;
	DAT_RETURN rc;

	dapl_assert_held(&ep->qp.lock);
	new_attr(ep, mask, param, &attr);
	follow_evds(ep, mask, parts, &attr);
	rc = dapl_ep_check_attr(ep->obj.ia, parts, ep, &attr, DAPL_BAD_ARG(3));
	if (rc)
		return rc;
	rc = modify_allowed(ep, mask);
	if (rc)
		return rc;
	if ((uint32_t)attr.max_recv_dtos < dapl_slots_used(&ep->qp.recv) ||
	    (uint32_t)attr.max_request_dtos < dapl_slots_used(&ep->qp.request))
		return dapl_ep_state_error(dapl_ep_state(ep)); /* EP-64 */
	if ((mask & (F(PZ_HANDLE) | QUEUES)) ||
	    dapl_ep_delayed_ack(&attr) != dapl_ep_delayed_ack(&ep->cold->attr)) {
		rc = apply(ep, parts, &attr);
		if (rc)
			return rc;
	}
	if (mask & F(COMM))
		ep->cold->comm = param->comm;
	*soft = attr.srq_soft_hw;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK mask,
			  const DAT_EP_PARAM *param)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	DAT_COUNT soft = DAT_HW_DEFAULT;
	struct dapl_ep_parts parts;
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if ((mask & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_ALL) || (mask & NEVER))
		return DAPL_BAD_ARG(2);
	if (!mask)
		return DAT_SUCCESS;
	if (!param)
		return DAPL_BAD_ARG(3);
	dapl_lock(&ep->qp.lock);
	rc = new_parts(ep, mask, param, &parts);
	if (rc) {
		dapl_unlock(&ep->qp.lock);
		return rc;
	}
	rc = modify(ep, mask, param, &parts, &soft);
	dapl_unlock(&ep->qp.lock);
	dapl_ep_leave_parts(ep, &parts);
	if (!rc && (mask & F(EP_ATTR_SRQ_SOFT_HW)))
		rc = dapl_ep_set_soft(ep, soft);
	return rc;
}
