/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an endpoint has counted, and its line of the control command "objects". */
#include <inttypes.h>
#include <string.h>

#include "dapl/endpoint/ep.h"
#include "dapl/object/counters.h"
#include "dapl/object/describe.h"
#include "dapl/object/ia.h"
#include "dapl/transfer/dto.h"

/* ---- Counters ---- */

/* What the slots of a ring, which may be one of requests, have received. */
static uint64_t ring_bytes(const struct dapl_ep *ep, const struct dapl_slot *slot, uint32_t size)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; slot && i < size; i++)
		if (slot[i].head == &ep->qp.recv.head)
			sum += slot[i].moved;
	return sum;
}

/* Bytes of receives that completed well; recv_evd's lock held. */
static uint64_t received_bytes(const struct dapl_ep *ep)
{
	uint64_t sum = ep->qp.cold->recv_bytes + ring_bytes(ep, ep->qp.recv.slot, ep->qp.recv.size);
	const struct dapl_retired *old;

	for (old = ep->cold->retired; old; old = old->next)
		sum += ring_bytes(ep, old->slot, old->size);
	return sum;
}

/* After read_posted. */
static void read_received(struct dapl_ep *ep, uint64_t *value)
{
	const struct dapl_qp_cold *cold = ep->qp.cold;

	dapl_assert_held(&ep->qp.lock);
	dapl_assert_held(&ep->recv_evd->obj.lock);
	value[DCNT_EP_RECV] = value[DCNT_EP_POST_RECV] - dapl_slots_used(&ep->qp.recv) -
			      cold->recv_other - cold->recv_lost + cold->recv_shared;
	value[DCNT_EP_RECV_DATA] = received_bytes(ep);
	memcpy(&value[DCNT_EP_RECV_UD], cold->recv_extended, sizeof(cold->recv_extended));
}

static void read_posted(struct dapl_ep *ep, uint64_t *value)
{
	dapl_assert_held(&ep->qp.lock);
	memset(value, 0, DCNT_EP_ALL_COUNTERS * sizeof(*value));
	memcpy(value, ep->qp.posted, sizeof(ep->qp.posted));
	value[DCNT_EP_CONNECT] = ep->cold->connects;
	value[DCNT_EP_DISCONNECT] = ep->cold->disconnects;
}

static void read_all(struct dapl_ep *ep, uint64_t *value)
{
	read_posted(ep, value);
	if (!ep->recv_evd)
		return;
	dapl_lock(&ep->recv_evd->obj.lock);
	read_received(ep, value);
	dapl_unlock(&ep->recv_evd->obj.lock);
}

void dapl_ep_read_counters(struct dapl_object *obj, struct dapl_counters_view *view)
{
	struct dapl_ep *ep = container_of(obj, struct dapl_ep, obj);

	dapl_lock(&ep->qp.lock);
	read_all(ep, view->value);
	dapl_counters_since(view, ep->cold->counted_before);
	dapl_unlock(&ep->qp.lock);
}

/* Slots whose bytes are summed up while a thread that posts may have to wait. */
#define QUICK_SLOTS 1024

/*
 * As read_all, for who must not make others wait. False: those of completed receives are missing.
 */
static bool try_read(struct dapl_ep *ep, uint64_t *value)
{
	struct dapl_evd *evd = ep->recv_evd;

	dapl_assert_held(&ep->qp.lock);
	read_posted(ep, value);
	if (!evd)
		return true;
	if (ep->qp.recv.size > QUICK_SLOTS || !dapl_trylock(&evd->obj.lock))
		return false;
	read_received(ep, value);
	dapl_unlock(&evd->obj.lock);
	return true;
}

/* ---- Description ---- */

struct ep_view {
	struct tp_conn_addr addr;
	bool addr_known;
	uint32_t recvs, max_recvs, requests, max_requests;
	const struct dapl_evd *recv_evd, *request_evd, *connect_evd;
	uint64_t counter[DCNT_EP_ALL_COUNTERS];
	bool received; /* the counters of receives are among them */
	bool starved;  /* a message waits for a receive */
};

static bool look_at_entered(struct dapl_ep *ep, struct ep_view *view)
{
	if (!dapl_describe_lock(&ep->qp.lock))
		return false;
	view->addr_known = ep->cold->addr_known;
	if (view->addr_known)
		view->addr = ep->cold->addr;
	view->recvs = dapl_slots_used(&ep->qp.recv);
	view->max_recvs = ep->qp.recv.limit;
	view->requests = dapl_slots_used(&ep->qp.request);
	view->max_requests = ep->qp.request.limit;
	view->recv_evd = ep->recv_evd;
	view->request_evd = ep->request_evd;
	view->connect_evd = ep->connect_evd;
	view->received = try_read(ep, view->counter);
	dapl_unlock(&ep->qp.lock);
	view->starved = ep->qp.tp->ops->starved && ep->qp.tp->ops->starved(ep->qp.tp);
	return true;
}

/* The list that it is found in keeps the EP, but not its QP. */
static bool look_at_ep(struct dapl_ep *ep, struct ep_view *view)
{
	bool seen;

	if (!dapl_object_enter(&ep->obj, DAPL_TYPE_EP))
		return false;
	seen = look_at_entered(ep, view);
	dapl_object_leave(&ep->obj);
	return seen;
}

static void describe_traffic(const struct ep_view *view, FILE *out)
{
	const uint64_t *n = view->counter;

	fprintf(out,
		"\tconnects=%" PRIu64 "\tdisconnects=%" PRIu64 "\tsends=%" PRIu64
		"\tsent_bytes=%" PRIu64 "\twrites=%" PRIu64 "\twritten_bytes=%" PRIu64
		"\treads=%" PRIu64 "\tread_bytes=%" PRIu64 "\tatomics=%" PRIu64,
		n[DCNT_EP_CONNECT], n[DCNT_EP_DISCONNECT], n[DCNT_EP_POST_SEND],
		n[DCNT_EP_POST_SEND_DATA], n[DCNT_EP_POST_WRITE] + n[DCNT_EP_POST_WRITE_IMM],
		n[DCNT_EP_POST_WRITE_DATA] + n[DCNT_EP_POST_WRITE_IMM_DATA], n[DCNT_EP_POST_READ],
		n[DCNT_EP_POST_READ_DATA], n[DCNT_EP_POST_CMP_SWAP] + n[DCNT_EP_POST_FETCH_ADD]);
	if (view->received)
		fprintf(out, "\treceived=%" PRIu64 "\treceived_bytes=%" PRIu64,
			n[DCNT_EP_RECV] + n[DCNT_EP_RECV_IMM] + n[DCNT_EP_RECV_RDMA_IMM],
			n[DCNT_EP_RECV_DATA] + n[DCNT_EP_RECV_IMM_DATA]);
}

void dapl_ep_describe(struct dapl_object *obj, FILE *out)
{
	struct dapl_ep *ep = container_of(obj, struct dapl_ep, obj);
	struct dapl_ia *ia = obj->ia;
	struct ep_view view;

	fprintf(out, "ep\tia=%lu\tep=%p\tstate=%s", (unsigned long)dapl_ia_handle(ia), (void *)ep,
		dapl_ep_state_name(dapl_ep_state(ep)));
	if (look_at_ep(ep, &view)) {
		if (view.addr_known) {
			dapl_describe_addr("local", &ia->attr->addr, view.addr.local_qual, out);
			dapl_describe_addr("remote", &view.addr.remote, view.addr.remote_qual, out);
		}
		if (view.addr_known && view.addr.link)
			fprintf(out, "\tlink=%s\tlink_why=%s", view.addr.link, view.addr.link_why);
		if (view.addr_known && view.addr.crc)
			fprintf(out, "\tcrc=%s\tcrc_why=%s", view.addr.crc, view.addr.crc_why);
		fprintf(out,
			"\trecv_evd=%p\trequest_evd=%p\tconnect_evd=%p\trecvs=%u\tmax_recvs=%u\t"
			"requests=%u\tmax_requests=%u\tstarved=%d",
			(const void *)view.recv_evd, (const void *)view.request_evd,
			(const void *)view.connect_evd, view.recvs, view.max_recvs, view.requests,
			view.max_requests, view.starved);
		describe_traffic(&view, out);
	}
	fprintf(out, "\terrors=%" PRIu64 "\tflushed=%" PRIu64,
		atomic_load_explicit(&ep->qp.cold->failed, memory_order_relaxed),
		atomic_load_explicit(&ep->qp.cold->flushed, memory_order_relaxed));
	fputc('\n', out);
}
