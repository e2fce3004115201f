/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/connect/cr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/status.h"
#include "dapl/connect/addr.h"
#include "dapl/endpoint/ep_ud.h"
#include "dapl/event/async.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "trace/log.h"

static const struct dapl_cm_ops *cm_of(const struct dapl_cr *cr)
{
	return cr->obj.ia->dev->transport->cm;
}

/* ---- Life ---- */

/* An EP in T for a request whose service point leaves that to the provider (PSP-7); NULL: none can
 * be made. */
static struct dapl_ep *make_ep(struct dapl_ia *ia, bool ud)
{
	const struct dapl_ep_parts none = { .pz = NULL };
	struct dapl_ep *ep;
	DAT_EP_ATTR attr;

	dapl_ep_default_attr(ia, &none, &attr);
	if (ud) {
		attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
		attr.max_message_size = 0;
		if (dapl_ep_check_attr(ia, &none, NULL, &attr, DAPL_NO_MODEL))
			return NULL;
	}
	if (!dapl_ep_new(ia, &none, &attr, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, &ep))
		return ep;
	dapl_err_limited("connection request refused: no endpoint can be made for it (limit: "
			 "max_eps %u of the adapter, or memory)",
			 ia->attr->max_qp);
	return NULL;
}

/* The EP of a request that comes to nothing: an RSP's is the consumer's again, a made one goes
 * (CR-18). */
static void unmake_ep(struct dapl_ep *ep)
{
	struct dapl_ep_step step;
	DAT_RETURN rc;

	dapl_lock(&ep->qp.lock);
	rc = dapl_ep_fire(ep, DAPL_EP_REJECT, &step);
	ep->cold->addr_known = false;
	dapl_unlock(&ep->qp.lock);
	if (!rc && step.next == DAPL_EP_GONE && dapl_object_retire(&ep->obj))
		dapl_ep_delete(ep);
}

/* Refuses a request that nobody has answered as if nobody had listened. */
static void end(struct dapl_object *obj)
{
	struct dapl_cr *cr = container_of(obj, struct dapl_cr, obj);

	dapl_object_wait_left(obj); /* somebody may be trying to answer (SIM-7) */
	if (cr->conn)
		cm_of(cr)->release(cr->conn);
	if (cr->ep && !cr->accepted)
		unmake_ep(cr->ep);
	if (!cr->accepted || !cr->ud)
		free(cr->private_data);
	pthread_mutex_destroy(&cr->lock);
}

const struct dapl_class dapl_cr_class = {
	DAPL_CLASS(CR),
	.end = end,
};

void dapl_cr_discard(DAT_CR_HANDLE handle)
{
	struct dapl_cr *cr = dapl_object_arg(handle, DAPL_TYPE_CR);

	if (cr && dapl_object_retire(&cr->obj))
		dapl_ia_end(&cr->obj);
}

static struct dapl_cr *cr_new(struct dapl_ia *ia, struct tp_conn *conn,
			      const struct tp_conn_request *req)
{
	struct dapl_cr *cr = dapl_object_alloc(sizeof(*cr));

	if (!cr)
		return NULL;
	pthread_mutex_init(&cr->lock, NULL);
	cr->conn = conn;
	cr->truncated = req->truncated;
	cr->ud = req->ud;
	ia->dev->transport->cm->addr(conn, &cr->addr);
	if (req->private_data_len) {
		cr->private_data = malloc(req->private_data_len);
		if (!cr->private_data) {
			dapl_err_limited("connection request refused: %u bytes of private data: %s",
					 req->private_data_len, dapl_strerror(ENOMEM));
			goto release;
		}
		memcpy(cr->private_data, req->private_data, req->private_data_len);
		cr->private_data_size = req->private_data_len;
	}
	if (dapl_ia_add(ia, &cr->obj, &dapl_cr_class, UINT32_MAX))
		return cr;
	free(cr->private_data);
release:
	pthread_mutex_destroy(&cr->lock);
	dapl_object_release(&cr->obj);
	return NULL;
}

void dapl_cr_bring_ep(struct dapl_cr *cr, struct dapl_ep *ep)
{
	cr->ep = ep;
	dapl_ep_set_addr(ep, &cr->addr);
}

struct dapl_cr *dapl_cr_new(struct dapl_ia *ia, struct tp_conn *conn,
			    const struct tp_conn_request *req, bool with_ep)
{
	struct dapl_ep *ep = with_ep ? make_ep(ia, req->ud) : NULL;
	struct dapl_cr *cr = ep || !with_ep ? cr_new(ia, conn, req) : NULL;

	if (cr && ep)
		dapl_cr_bring_ep(cr, ep);
	else if (ep)
		unmake_ep(ep);
	return cr;
}

/* Requests whose announcement nobody will see are refused (EVD-92). */
static void announcement_left(const struct dapl_event *event, bool delivered)
{
	if (!delivered)
		dapl_cr_discard(event->data.cr_arrival_event_data.cr_handle);
}

bool dapl_cr_announce(struct dapl_cr *cr, struct dapl_sp *sp, bool reserved)
{
	struct dapl_event event = { .number = DAT_CONNECTION_REQUEST_EVENT,
				    .reserved = reserved,
				    .leave = announcement_left };
	DAT_CR_ARRIVAL_EVENT_DATA *data = &event.data.cr_arrival_event_data;
	struct dapl_ia *ia = cr->obj.ia;

	if (cr->ud) {
		event.number = (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_REQUEST_EVENT;
		event.extension = DAT_IB_UD_CONNECT_REQUEST;
		dapl_count(ia, DCNT_IA_CM_AH_REQ_RX);
	}
	data->sp_handle.psp_handle = sp;
	data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->obj.ia->attr->addr;
	data->conn_qual = dapl_sp_qual(sp);
	data->cr_handle = cr;
	data->truncate_flag = cr->truncated ? DAT_TRUE : DAT_FALSE;
	/* Who has the event may look at the counter, and the CR may be gone. */
	dapl_count(ia, DCNT_IA_SP_CR);
	if (dapl_evd_append(sp->evd, &event))
		return true;
	dapl_count_by(ia, DCNT_IA_SP_CR, -UINT64_C(1));
	return false;
}

int dapl_cr_arrive(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req,
		   bool with_ep)
{
	struct dapl_cr *cr = dapl_cr_new(sp->obj.ia, conn, req, with_ep);

	if (!cr)
		return -ENOMEM;
	if (dapl_cr_announce(cr, sp, false))
		return 0;
	if (!dapl_object_retire(&cr->obj))
		return 0; /* closed, and refused by that */
	cr->conn = NULL;
	dapl_ia_end(&cr->obj); /* PSP-4: refused, and nothing of it remains */
	return -ENOBUFS;
}

/* ---- Calls ---- */

DAT_RETURN dapl_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct dapl_cr *cr;
	DAT_RETURN rc;

	cr = dapl_object_query(cr_handle, &dapl_cr_class, mask, param, &rc);
	if (!cr)
		return rc;
	if (!dapl_object_enter(&cr->obj, DAPL_TYPE_CR)) /* answered meanwhile */
		return DAPL_BAD_HANDLE(CR);
	*param = (DAT_CR_PARAM){
		.remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->addr.remote,
		.remote_port_qual = cr->addr.remote_qual,
		.private_data_size = (DAT_COUNT)cr->private_data_size,
		.private_data = cr->private_data,
		.local_ep_handle = cr->ep,
	};
	dapl_object_leave(&cr->obj);
	return DAT_SUCCESS;
}

/*
 * The request that a call tries to answer, alone until end_answer: another finds it as it was, or
 * answered (SIM-7). NULL: there is none (any more).
 */
static struct dapl_cr *begin_answer(DAT_CR_HANDLE handle)
{
	struct dapl_cr *cr = dapl_object_self(handle, DAPL_TYPE_CR);

	if (!cr || !dapl_object_enter(&cr->obj, DAPL_TYPE_CR))
		return NULL;
	pthread_mutex_lock(&cr->lock);
	if (dapl_object_is(&cr->obj, DAPL_TYPE_CR))
		return cr;
	pthread_mutex_unlock(&cr->lock);
	dapl_object_leave(&cr->obj);
	return NULL;
}

/* Once answered the connection is not the CR's to release, whoever ends that: a close may. */
static DAT_RETURN end_answer(struct dapl_cr *cr, DAT_RETURN rc)
{
	bool retired;

	if (!rc)
		cr->conn = NULL;
	retired = !rc && dapl_object_retire(&cr->obj);
	pthread_mutex_unlock(&cr->lock);
	dapl_object_leave(&cr->obj);
	if (retired)
		dapl_ia_end(&cr->obj);
	return rc;
}

/* The EP an accept is for (CR-10 to CR-12), not yet in a new state. */
static DAT_RETURN choose_ep(const struct dapl_cr *cr, DAT_EP_HANDLE handle, struct dapl_ep **out)
{
	struct dapl_ep *ep = cr->ep;

	if (ep && handle)
		return DAPL_BAD_HANDLE(EP);
	if (!ep)
		ep = dapl_object_arg(handle, DAPL_TYPE_EP);
	if (!ep || ep->obj.ia != cr->obj.ia)
		return DAPL_BAD_HANDLE(EP);
	if (!ep->qp.pz || !dapl_ep_has_connect_evd(ep)) {
		dapl_err_limited("CR %p: not accepted: endpoint %p has no %s, which %s gives it",
				 (const void *)cr, (void *)ep,
				 ep->qp.pz ? "connect dispatcher" : "protection zone",
				 cr->ep ? "dat_ep_modify" : "dat_ep_create or dat_ep_modify");
		return DAPL_BAD_HANDLE(EP);
	}
	if (ep->qp.ud != cr->ud) /* IBX-68 */
		return DAPL_BAD_HANDLE(EP);
	*out = ep;
	return DAT_SUCCESS;
}

static int accept_connection(struct dapl_cr *cr, struct dapl_ep *ep, const void *private_data,
			     uint32_t len)
{
	int err;

	ep->conn = cr->conn;
	dapl_ep_learn_addr(ep);
	err = cm_of(cr)->accept(cr->conn, ep->qp.tp, private_data, len, ep);
	if (!err)
		return 0;
	ep->conn = NULL;
	if (!cr->ep) {
		dapl_lock(&ep->qp.lock);
		ep->cold->addr_known = false;
		dapl_unlock(&ep->qp.lock);
	}
	return err;
}

/* The private data go to the event of the outcome. */
static int accept_datagrams(const struct dapl_cr *cr, struct dapl_ep *ep, const void *private_data,
			    uint32_t len)
{
	return dapl_ud_accept(ep, cr->conn, cr->private_data, cr->private_data_size, private_data,
			      len);
}

/* The EP is in CP; on failure it is as before (CR-16). */
static DAT_RETURN complete(struct dapl_cr *cr, struct dapl_ep *ep, uint8_t before,
			   const void *private_data, uint32_t len)
{
	int err;

	dapl_count(ep->obj.ia, DCNT_IA_CM_REP_TX);
	err = cr->ud ? accept_datagrams(cr, ep, private_data, len)
		     : accept_connection(cr, ep, private_data, len);
	if (!err)
		return DAT_SUCCESS;
	dapl_lock(&ep->qp.lock);
	dapl_ep_set_state(ep, before);
	dapl_unlock(&ep->qp.lock);
	return dapl_status(err, DAT_RESOURCE_TEP);
}

static enum dapl_ep_cause accept_cause(const struct dapl_cr *cr)
{
	if (cr->ep)
		return DAPL_EP_ACCEPT_OWN;
	return cr->ud ? DAPL_EP_UD_ACCEPT : DAPL_EP_ACCEPT;
}

static DAT_RETURN accept_on(struct dapl_cr *cr, struct dapl_ep *ep, const void *private_data,
			    uint32_t len)
{
	struct dapl_ep_step step;
	uint8_t before;
	DAT_RETURN rc;

	pthread_mutex_lock(&ep->cold->cm_lock);
	dapl_lock(&ep->qp.lock);
	before = dapl_ep_state(ep);
	rc = dapl_ep_fire(ep, accept_cause(cr), &step);
	dapl_unlock(&ep->qp.lock);
	if (!rc)
		rc = complete(cr, ep, before, private_data, len);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	return rc;
}

DAT_RETURN dapl_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	struct dapl_cr *cr = begin_answer(cr_handle);
	struct dapl_ep *ep;
	DAT_RETURN rc;

	if (!cr)
		return DAPL_BAD_HANDLE(CR);
	rc = choose_ep(cr, ep_handle, &ep);
	if (!rc)
		rc = dapl_check_private_data(cr->obj.ia, private_data_size, private_data,
					     DAPL_BAD_ARG(3), DAPL_BAD_ARG(4));
	if (!rc)
		rc = accept_on(cr, ep, private_data, (uint32_t)private_data_size);
	if (!rc) {
		cr->accepted = true;
		dapl_count(cr->obj.ia, DCNT_IA_SP_CR_ACCEPTED);
	}
	return end_answer(cr, rc);
}

DAT_RETURN dapl_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const DAT_PVOID private_data)
{
	struct dapl_cr *cr = begin_answer(cr_handle);
	DAT_RETURN rc;
	int err;

	if (!cr)
		return DAPL_BAD_HANDLE(CR);
	rc = dapl_check_private_data(cr->obj.ia, private_data_size, private_data, DAPL_BAD_ARG(2),
				     DAPL_BAD_ARG(3));
	if (!rc) {
		err = cm_of(cr)->reject(cr->conn, private_data, (uint32_t)private_data_size);
		rc = dapl_status(err, DAT_RESOURCE_TEP);
	}
	if (!rc) {
		dapl_count(cr->obj.ia, DCNT_IA_SP_CR_REJECTED);
		dapl_count(cr->obj.ia, DCNT_IA_CM_USER_REJ_TX);
	}
	return end_answer(cr, rc);
}

/* ---- Hand-off ---- */

/* The same IA may have the service point: then the transport need not be able to do anything. */
static int hand_off_here(struct dapl_cr *cr, DAT_CONN_QUAL qual)
{
	const struct tp_conn_request req = {
		.private_data = cr->private_data,
		.private_data_len = cr->private_data_size,
		.truncated = cr->truncated,
		.ud = cr->ud,
	};
	struct dapl_sp *sp = dapl_sp_find(cr->obj.ia, qual);
	int err;

	if (!sp)
		return -EOPNOTSUPP; /* nobody knows of others */
	err = dapl_sp_arrive(sp, cr->conn, &req);
	dapl_object_leave(&sp->obj);
	return err;
}

static DAT_RETURN hand_off(struct dapl_cr *cr, DAT_CONN_QUAL qual)
{
	int err;

	if (!dapl_sp_qual_ok(cr->obj.ia, qual))
		return DAPL_BAD_ARG(2);
	err = cm_of(cr)->handoff(cr->conn, dapl_addr_wire_qual(cr->obj.ia, qual));
	if (err == -EOPNOTSUPP)
		err = hand_off_here(cr, qual);
	if (err == -ECONNREFUSED || err == -EINVAL)
		return DAPL_BAD_ARG(2); /* CR-21 */
	return dapl_status(err, DAT_RESOURCE_DEVICE);
}

DAT_RETURN dapl_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL qual)
{
	struct dapl_cr *cr = begin_answer(cr_handle);

	return cr ? end_answer(cr, hand_off(cr, qual)) : DAPL_BAD_HANDLE(CR); /* CR-22 */
}
