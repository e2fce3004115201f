/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/object/counters.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dapl/transfer/dto.h"
#include "dapl/endpoint/ep.h"
#include "dapl/event/evd.h"
#include "dapl/base/status.h"

/* ---- What an object has counted since it was made ---- */

static void read_ia(struct dapl_ia *ia, uint64_t *value)
{
	int i;

	for (i = 0; i < DCNT_IA_ALL_COUNTERS; i++)
		value[i] = atomic_load_explicit(&ia->counters->count[i], memory_order_relaxed);
}

static void add_posted(const struct dapl_ep *ep, uint32_t operation, DAT_EP_COUNTERS counter,
		       uint64_t *value)
{
	value[counter] = ep->posted[operation];
	value[counter + 1] = ep->posted_bytes[operation];
}

/* What the slots of a ring, which may be one of requests, have received. */
static uint64_t ring_bytes(const struct dapl_ep *ep, const struct dapl_slot *slot, uint32_t size)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; slot && i < size; i++)
		if (slot[i].head == &ep->recv.head)
			sum += slot[i].moved;
	return sum;
}

/* Bytes of receives that completed well; recv_evd's lock held. */
static uint64_t received_bytes(const struct dapl_ep *ep)
{
	uint64_t sum = ep->cold->recv_bytes + ring_bytes(ep, ep->recv.slot, ep->recv.size);
	const struct dapl_retired *old;

	for (old = ep->cold->retired; old; old = old->next)
		sum += ring_bytes(ep, old->slot, old->size);
	return sum;
}

/* EP lock and recv_evd's held; after read_posted */
static void read_received(struct dapl_ep *ep, uint64_t *value)
{
	const struct dapl_ep_cold *cold = ep->cold;

	value[DCNT_EP_RECV] = value[DCNT_EP_POST_RECV] - dapl_slots_used(&ep->recv) -
			      cold->recv_other - cold->recv_lost + cold->recv_shared;
	value[DCNT_EP_RECV_DATA] = received_bytes(ep);
	memcpy(&value[DCNT_EP_RECV_IMM], cold->recv_imm, sizeof(cold->recv_imm));
}

/* EP lock held */
static void read_posted(struct dapl_ep *ep, uint64_t *value)
{
	memset(value, 0, DCNT_EP_ALL_COUNTERS * sizeof(*value));
	value[DCNT_EP_CONNECT] = ep->cold->connects;
	value[DCNT_EP_DISCONNECT] = ep->cold->disconnects;
	add_posted(ep, DAT_DTO_SEND, DCNT_EP_POST_SEND, value);
	add_posted(ep, DAT_DTO_RDMA_WRITE, DCNT_EP_POST_WRITE, value);
	add_posted(ep, DAT_IB_DTO_RDMA_WRITE_IMMED, DCNT_EP_POST_WRITE_IMM, value);
	add_posted(ep, DAT_DTO_RDMA_READ, DCNT_EP_POST_READ, value);
	value[DCNT_EP_POST_CMP_SWAP] = ep->posted[DAT_IB_DTO_CMP_SWAP];
	value[DCNT_EP_POST_FETCH_ADD] = ep->posted[DAT_IB_DTO_FETCH_ADD];
	value[DCNT_EP_POST_SEND] += ep->short_sends;
	value[DCNT_EP_POST_WRITE] += dapl_slots_posted(&ep->request) - ep->longs - ep->short_sends;
	value[DCNT_EP_POST_RECV] = dapl_slots_posted(&ep->recv);
	value[DCNT_EP_POST_RECV_DATA] = ep->recv_bytes;
}

/* EP lock held */
static void read_ep(struct dapl_ep *ep, uint64_t *value)
{
	read_posted(ep, value);
	if (!ep->recv_evd)
		return;
	dapl_lock(&ep->recv_evd->obj.lock);
	read_received(ep, value);
	dapl_unlock(&ep->recv_evd->obj.lock);
}

/* Slots whose bytes are summed up while a thread that posts may have to wait. */
#define QUICK_SLOTS 1024

bool dapl_counters_glance(struct dapl_ep *ep, uint64_t *value)
{
	struct dapl_evd *evd = ep->recv_evd;

	read_posted(ep, value);
	if (!evd)
		return true;
	if (ep->recv.size > QUICK_SLOTS || !dapl_trylock(&evd->obj.lock))
		return false;
	read_received(ep, value);
	dapl_unlock(&evd->obj.lock);
	return true;
}

void dapl_counters_of_ia(struct dapl_ia *ia, uint64_t *value)
{
	read_ia(ia, value);
}

/* lock held */
static void read_evd(struct dapl_evd *evd, uint64_t *value)
{
	const struct dapl_evd_counts *counts = &evd->counts;
	uint64_t missed = atomic_load_explicit(&counts->missed, memory_order_relaxed);

	value[DCNT_EVD_WAIT] = counts->waits;
	value[DCNT_EVD_WAIT_BLOCKED] = counts->blocked;
	value[DCNT_EVD_WAIT_NOTIFY] = counts->notified;
	value[DCNT_EVD_DEQUEUE_FOUND] =
		counts->taken + counts->kept + counts->polled - counts->waited;
	value[DCNT_EVD_DEQUEUE_NOT_FOUND] = missed;
	value[DCNT_EVD_DEQUEUE] = value[DCNT_EVD_DEQUEUE_FOUND] + missed;
	value[DCNT_EVD_DEQUEUE_POLL_FOUND] = counts->taken + counts->polled;
	value[DCNT_EVD_DEQUEUE_POLL] = value[DCNT_EVD_DEQUEUE_POLL_FOUND] + (evd->cq ? missed : 0);
	value[DCNT_EVD_CONN_CALLBACK] = counts->connections;
	value[DCNT_EVD_DTO_CALLBACK] = counts->notices;
}

/* ---- Since the last reset ---- */

/* Counters of one object as somebody asked for them. */
struct view {
	const char *const *names;
	int first, end; /* those asked for */
	uint64_t value[DCNT_IA_ALL_COUNTERS];
};

/* Which counters of a table of num are meant (IBX-97, IBX-98, IBX-100). */
static DAT_RETURN choose(struct view *view, const char *const *names, int num, int counter)
{
	if (counter < 0 || counter > num)
		return DAPL_BAD_ARG(3);
	view->names = names;
	view->first = counter == num ? 0 : counter;
	view->end = counter == num ? num : counter + 1;
	return DAT_SUCCESS;
}

/* Values become what they are since base; base moves if they are reset (IBX-99). */
static void since(struct view *view, uint64_t *base, bool reset)
{
	uint64_t now;
	int i;

	for (i = view->first; i < view->end; i++) {
		now = view->value[i];
		view->value[i] = now - base[i];
		if (reset)
			base[i] = now;
	}
}

static DAT_RETURN view_ia(struct dapl_ia *ia, int counter, bool reset, struct view *view)
{
	DAT_RETURN rc = choose(view, dapl_ia_counter_names, DCNT_IA_ALL_COUNTERS, counter);

	if (rc)
		return rc;
	pthread_mutex_lock(&ia->lock);
	read_ia(ia, view->value);
	since(view, ia->counters->base, reset);
	pthread_mutex_unlock(&ia->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN view_ep(struct dapl_ep *ep, int counter, bool reset, struct view *view)
{
	DAT_RETURN rc = choose(view, dapl_ep_counter_names, DCNT_EP_ALL_COUNTERS, counter);

	if (rc)
		return rc;
	dapl_lock(&ep->lock);
	read_ep(ep, view->value);
	since(view, ep->cold->counted_before, reset);
	dapl_unlock(&ep->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN view_evd(struct dapl_evd *evd, int counter, bool reset, struct view *view)
{
	DAT_RETURN rc = choose(view, dapl_evd_counter_names, DCNT_EVD_ALL_COUNTERS, counter);

	if (rc)
		return rc;
	dapl_lock(&evd->obj.lock);
	read_evd(evd, view->value);
	since(view, evd->counted_before, reset);
	dapl_unlock(&evd->obj.lock);
	return DAT_SUCCESS;
}

static DAT_RETURN view_of(DAT_HANDLE handle, int counter, bool reset, struct view *view)
{
	struct dapl_object *obj = handle;

	if (!handle || !dapl_object_readable(handle))
		return dapl_fail(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	switch (atomic_load_explicit(&obj->type, memory_order_acquire)) {
	case DAPL_TYPE_IA:
	case DAPL_TYPE_EP:
	case DAPL_TYPE_EVD:
		break;
	default:
		return dapl_fail(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1); /* IBX-101 */
	}
	if (!obj->ia->attr->ib_extension)
		return DAPL_NOT_IMPLEMENTED; /* IBX-9 */
	if (dapl_object_is(obj, DAPL_TYPE_IA))
		return view_ia(obj->ia, counter, reset, view);
	if (dapl_object_is(obj, DAPL_TYPE_EP))
		return view_ep(container_of(obj, struct dapl_ep, obj), counter, reset, view);
	return view_evd(container_of(obj, struct dapl_evd, obj), counter, reset, view);
}

/* ---- Calls ---- */

DAT_RETURN dapl_ext_query_counters(DAT_HANDLE handle, int counter, DAT_UINT64 *out, int reset)
{
	struct view view;
	DAT_RETURN rc;
	int i;

	rc = view_of(handle, counter, out && reset, &view);
	if (rc)
		return rc;
	if (!out)
		return DAPL_BAD_ARG(4);
	for (i = view.first; i < view.end; i++)
		out[i] = view.value[i];
	return DAT_SUCCESS;
}

/* IBX-102: the one call that writes to standard output. */
DAT_RETURN dapl_ext_print_counters(DAT_HANDLE handle, int counter, int reset)
{
	char host[65] = "";
	struct view view;
	DAT_RETURN rc;
	int i;

	rc = view_of(handle, counter, reset, &view);
	if (rc)
		return rc;
	gethostname(host, sizeof(host) - 1);
	for (i = view.first; i < view.end; i++)
		printf("%s %d %s %llu\n", host, (int)getpid(), view.names[i],
		       (unsigned long long)view.value[i]);
	fflush(stdout);
	return DAT_SUCCESS;
}

/* What the device counts by itself. */
static const struct group {
	enum tp_counters counters;
	DAT_IA_COUNTERS first, last;
} groups[] = {
	[DCNT_IA_LNK] = { TP_COUNTERS_LINK, DCNT_IA_LNK_ERR_RCV, DCNT_IA_LNK_WARN_XMT_WAIT },
	[DCNT_IA_DIAG] = { TP_COUNTERS_DIAG, DCNT_IA_DIAG_ERR_RQ_RAE, DCNT_IA_DIAG_ERR_SQ_TREE },
};

/* IBX-103, IBX-104; *ia and *group, NULL where there is nothing to be sampled. */
static DAT_RETURN find_group(DAT_HANDLE handle, int type, struct dapl_ia **ia,
			     const struct group **group)
{
	*ia = dapl_ia_get(handle);
	*group = NULL;
	if (!*ia)
		return DAPL_BAD_HANDLE(IA);
	if (!(*ia)->attr->ib_extension)
		return DAPL_NOT_IMPLEMENTED;
	if (type < DCNT_IA_CM || type > DCNT_IA_DIAG)
		return DAPL_BAD_ARG(3);
	if (type != DCNT_IA_CM)
		*group = &groups[type];
	return DAT_SUCCESS;
}

/* What the device cannot tell stays 0. */
static void sample(struct dapl_ia *ia, const struct group *group, uint64_t *now)
{
	uint32_t num = (uint32_t)group->last - (uint32_t)group->first + 1;

	memset(now, 0, DCNT_IA_ALL_COUNTERS * sizeof(*now));
	ia->dev->transport->device->sample(ia->dev, group->counters, &now[group->first], num);
}

DAT_RETURN dapl_ext_start_counter(DAT_HANDLE handle, int type)
{
	uint64_t now[DCNT_IA_ALL_COUNTERS];
	const struct group *group;
	struct dapl_ia *ia;
	DAT_RETURN rc;
	int i;

	rc = find_group(handle, type, &ia, &group);
	if (rc || !group)
		return rc;
	sample(ia, group, now);
	pthread_mutex_lock(&ia->lock);
	for (i = group->first; i <= (int)group->last; i++)
		ia->counters->start[i] = now[i];
	ia->counters->started[type] = true;
	pthread_mutex_unlock(&ia->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ext_stop_counter(DAT_HANDLE handle, int type)
{
	uint64_t now[DCNT_IA_ALL_COUNTERS];
	struct dapl_ia_counters *counters;
	const struct group *group;
	struct dapl_ia *ia;
	DAT_RETURN rc;
	int i;

	rc = find_group(handle, type, &ia, &group);
	if (rc || !group)
		return rc;
	sample(ia, group, now);
	counters = ia->counters;
	pthread_mutex_lock(&ia->lock);
	for (i = group->first; counters->started[type] && i <= (int)group->last; i++) {
		atomic_store_explicit(&counters->count[i], now[i] - counters->start[i],
				      memory_order_relaxed);
		counters->base[i] = 0;
	}
	counters->started[type] = false;
	pthread_mutex_unlock(&ia->lock);
	return DAT_SUCCESS;
}
