/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Life of remote memory regions, and what becomes of their bindings. */
#include "dapl/memory/rmr.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "dapl/base/config.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "dapl/base/status.h"
#include "trace/log.h"

static_assert(sizeof(struct dapl_rmr) <= DAPL_SLOT_SIZE, "an RMR is an object");

static const struct dapl_mw_ops *mw_of(const struct dapl_rmr *rmr)
{
	return rmr->obj.ia->dev->transport->mw;
}

/* ---- Bindings; bind_lock held ---- */

static void let_go(struct dapl_binding *binding)
{
	if (binding->lmr)
		dapl_object_unuse(&binding->lmr->obj);
	*binding = (struct dapl_binding){ .lmr = NULL };
}

/* What the region is bound to, or will be once everything posted has completed. */
static const struct dapl_binding *newest(const struct dapl_rmr *rmr)
{
	return rmr->first ? &container_of(rmr->last, struct dapl_bind, next)->to : &rmr->now;
}

static void unlist(struct dapl_rmr *rmr)
{
	if (!rmr->listed)
		return;
	*rmr->link = rmr->next;
	if (rmr->next)
		rmr->next->link = rmr->link;
	else
		rmr->listed->cold->last_rmr = rmr->link;
	rmr->listed = NULL;
}

/* At the end of the list of the EP that counts: who was bound first is found first. */
static void relist(struct dapl_rmr *rmr)
{
	struct dapl_ep *ep = newest(rmr)->ep;
	struct dapl_ep_cold *cold;

	unlist(rmr);
	if (!ep)
		return;
	cold = ep->cold;
	rmr->listed = ep;
	rmr->next = NULL;
	rmr->link = cold->last_rmr ? cold->last_rmr : &cold->rmrs;
	*rmr->link = rmr;
	cold->last_rmr = &rmr->next;
}

/* Whether the slot of a bind was given back. */
static bool passed(const struct dapl_bind *bind)
{
	uint32_t head = atomic_load_explicit(&bind->ep->request.head, memory_order_acquire);

	return bind->seq - head - 1 >= bind->room;
}

/* The oldest bind of the region takes its effect (RMR-19, RMR-24, RMR-25). */
static void apply(struct dapl_rmr *rmr, struct dapl_bind *bind)
{
	if (bind->status != TP_WC_FLUSHED) {
		let_go(&rmr->now);
		rmr->bound_by = NULL;
	}
	if (bind->status == TP_WC_SUCCESS) {
		rmr->now = bind->to;
		rmr->bound_by = bind->to.lmr ? bind : NULL;
		if (!rmr->now.lmr)
			rmr->now.ep = NULL;
		bind->to = (struct dapl_binding){ .lmr = NULL };
	} else {
		let_go(&bind->to);
	}
	bind->rmr = NULL;
}

static void settle(struct dapl_rmr *rmr)
{
	struct dapl_bind **link = &rmr->first, *bind;
	bool changed = false;

	while ((bind = *link)) {
		if (!bind->done && !passed(bind)) {
			link = &bind->next;
			continue;
		}
		*link = bind->next;
		if (!bind->next)
			rmr->last = link;
		apply(rmr, bind);
		changed = true;
	}
	if (changed && rmr->listed != newest(rmr)->ep)
		relist(rmr);
}

void dapl_rmr_settle_all(struct dapl_ia *ia)
{
	struct dapl_object *obj;

	pthread_mutex_lock(&ia->lock);
	dapl_lock(&ia->bind_lock);
	for (obj = ia->objects; obj; obj = obj->next)
		if (dapl_object_is(obj, DAPL_TYPE_RMR))
			settle(container_of(obj, struct dapl_rmr, obj));
	dapl_unlock(&ia->bind_lock);
	pthread_mutex_unlock(&ia->lock);
}

/* ---- What transports tell ---- */

DAT_EVENT_NUMBER dapl_rmr_bound(const struct tp_wc *wc, struct dapl_slot *slot,
				DAT_RMR_BIND_COMPLETION_EVENT_DATA *data)
{
	struct dapl_ep *ep = slot->done.ep_handle;
	struct dapl_ia *ia = ep->obj.ia;
	struct dapl_bind *bind = slot->bind;

	data->user_cookie.as_64 = slot->done.user_cookie.as_64;
	data->status = (DAT_DTO_COMPLETION_STATUS)wc->status;
	if (wc->status && wc->status != TP_WC_FLUSHED)
		data->status = DAT_RMR_OPERATION_FAILED; /* EVT-17 */
	dapl_lock(&ia->bind_lock);
	data->rmr_handle = bind->handle;
	bind->status = wc->status;
	bind->done = true;
	dapl_slot_free(slot);
	if (bind->rmr)
		settle(bind->rmr);
	dapl_unlock(&ia->bind_lock);
	return DAT_RMR_BIND_COMPLETION_EVENT;
}

/* The bind that gave the region this context, if it is not settled. */
static struct dapl_bind *bind_of(struct dapl_rmr *rmr, DAT_RMR_CONTEXT context)
{
	struct dapl_bind *bind;

	for (bind = rmr->first; bind; bind = bind->next)
		if (bind->to.lmr && bind->to.context == context)
			break;
	return bind;
}

/* A bind took effect, and all before it, although nobody has seen the completions. */
static void succeeded(struct dapl_rmr *rmr, struct dapl_bind *last)
{
	struct dapl_bind *bind;

	for (bind = rmr->first; bind != last->next; bind = bind->next)
		bind->done = true;
	settle(rmr);
}

void dapl_rmr_invalidated(struct dapl_ep *ep, DAT_RMR_CONTEXT context)
{
	struct dapl_ia *ia = ep->obj.ia;
	struct dapl_bind *bind = NULL;
	struct dapl_rmr *rmr;

	dapl_lock(&ia->bind_lock);
	for (rmr = ep->cold->rmrs; rmr; rmr = rmr->next) {
		if (rmr->now.lmr && rmr->now.context == context)
			break;
		bind = bind_of(rmr, context);
		if (bind)
			break;
	}
	if (bind)
		succeeded(rmr, bind);
	if (rmr && rmr->now.context == context) {
		let_go(&rmr->now);
		relist(rmr);
	}
	dapl_unlock(&ia->bind_lock);
}

/* Whatever did not complete has not been done (RMR-24). */
static void settle_table(struct dapl_bind_table *table)
{
	struct dapl_bind *bind;
	uint32_t i;

	for (i = 0; i < table->size; i++) {
		bind = &table->bind[i];
		if (!bind->rmr)
			continue;
		if (!bind->done && !passed(bind)) {
			bind->done = true;
			bind->status = TP_WC_FLUSHED;
		}
		settle(bind->rmr);
	}
}

void dapl_rmr_ep_gone(struct dapl_ep *ep)
{
	struct dapl_ep_cold *cold = ep->cold;
	struct dapl_ia *ia = ep->obj.ia;
	struct dapl_bind_table *table;
	struct dapl_rmr *rmr;

	dapl_lock(&ia->bind_lock);
	for (table = cold->binds; table; table = table->older)
		settle_table(table);
	while ((rmr = cold->rmrs)) {
		let_go(&rmr->now);
		relist(rmr);
	}
	dapl_unlock(&ia->bind_lock);
	while ((table = cold->binds)) {
		cold->binds = table->older;
		free(table);
	}
}

/* ---- Creation and end ---- */

/* Binds still queued complete without a region (RMR-33); bind_lock held. */
static void let_all_go(struct dapl_rmr *rmr)
{
	struct dapl_bind *bind;

	unlist(rmr);
	for (bind = rmr->first; bind; bind = bind->next) {
		let_go(&bind->to);
		bind->rmr = NULL;
	}
	let_go(&rmr->now);
}

/* The window first: until it is gone its LMRs are in use. */
static void end(struct dapl_object *obj)
{
	struct dapl_rmr *rmr = container_of(obj, struct dapl_rmr, obj);

	mw_of(rmr)->free(rmr->mw);
	dapl_lock(&obj->ia->bind_lock);
	let_all_go(rmr);
	dapl_unlock(&obj->ia->bind_lock);
	dapl_object_unuse(&rmr->pz->obj);
}

const struct dapl_class dapl_rmr_class = {
	.name = "RMR",
	.type = DAPL_TYPE_RMR,
	.handle_type = DAT_HANDLE_TYPE_RMR,
	.bad_handle = DAT_INVALID_HANDLE_RMR,
	.fields = DAT_RMR_FIELD_ALL,
	.freed = DCNT_IA_RMR_FREE,
	.rank = DAPL_RANK_RMR,
	.end = end,
};

static DAT_RETURN create(DAT_PZ_HANDLE pz_handle, DAT_RMR_SCOPE scope, DAT_RMR_HANDLE *out)
{
	struct dapl_pz *pz = dapl_object_self(pz_handle, DAPL_TYPE_PZ);
	const struct tp_device_attr *dev;
	struct dapl_rmr *rmr;
	DAT_RETURN rc;
	int err;

	if (!pz)
		return DAPL_BAD_HANDLE(PZ);
	dev = pz->obj.ia->attr;
	if (!dev->max_mw || !(scope == DAT_RMR_SCOPE_EP ? dev->mw_qp_scope : dev->mw_pd_scope))
		return DAPL_NO_MODEL; /* RMR-1, RMR-4 */
	if (!out)
		return DAPL_BAD_ARG(2);
	rmr = dapl_object_alloc(sizeof(*rmr));
	if (!rmr)
		return DAPL_NO_RESOURCE(MEMORY);
	rmr->pz = pz;
	rmr->scope = scope;
	rmr->last = &rmr->first;
	err = pz->obj.ia->dev->transport->mw->alloc(pz->pd, scope == DAT_RMR_SCOPE_EP, &rmr->mw);
	rc = dapl_status(err, DAT_RESOURCE_MEMORY_REGION);
	if (err)
		goto release;
	dapl_object_use(&pz->obj);
	if (dapl_ia_add(pz->obj.ia, &rmr->obj, &dapl_rmr_class, dev->max_mw)) {
		dapl_count(pz->obj.ia, DCNT_IA_RMR_CREATE);
		*out = rmr;
		return DAT_SUCCESS;
	}
	rc = DAPL_NO_RESOURCE(MEMORY_REGION);
	dapl_object_unuse(&pz->obj);
	pz->obj.ia->dev->transport->mw->free(rmr->mw);
release:
	dapl_object_release(&rmr->obj);
	return rc;
}

DAT_RETURN dapl_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, DAT_RMR_SCOPE_PZ, rmr);
}

DAT_RETURN dapl_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, DAT_RMR_SCOPE_EP, rmr);
}

DAT_RETURN dapl_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	return dapl_ia_free(rmr_handle, &dapl_rmr_class);
}

DAT_RETURN dapl_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	struct dapl_rmr *rmr;
	const struct dapl_binding *binding;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rmr = dapl_object_query(rmr_handle, &dapl_rmr_class, mask, param, &rc);
	if (!rmr)
		return rc;
	ia = rmr->obj.ia;
	param->ia_handle = dapl_ia_handle(ia);
	param->pz_handle = rmr->pz;
	param->rmr_scope = rmr->scope;
	dapl_lock(&ia->bind_lock);
	settle(rmr);
	binding = newest(rmr);
	param->lmr_triplet = binding->triplet;
	param->mem_priv = binding->privileges;
	param->rmr_context = binding->context;
	param->va_type = binding->va_type;
	dapl_unlock(&ia->bind_lock);
	return DAT_SUCCESS;
}

/* ---- Binding ---- */

/* The record beside the slot that the next request takes; EP lock held. */
static struct dapl_bind *record(struct dapl_ep *ep)
{
	struct dapl_bind_table *table = ep->cold->binds;
	const struct dapl_slots *slots = &ep->request;

	if (!table || table->size < slots->size) {
		table = calloc(1, sizeof(*table) + (size_t)slots->size * sizeof(*table->bind));
		if (!table) {
			dapl_err("EP %p: no memory for the records of %u binds: %s", (void *)ep,
				 slots->size, dapl_strerror(ENOMEM));
			return NULL;
		}
		table->size = slots->size;
		table->older = ep->cold->binds;
		ep->cold->binds = table;
	}
	return &table->bind[slots->next - slots->slot];
}

/* RMR-21; bind_lock held. */
static bool bound_elsewhere(const struct dapl_rmr *rmr, const struct dapl_ep *ep)
{
	const struct dapl_binding *binding = newest(rmr);

	return binding->lmr && binding->ep && binding->ep != ep &&
	       dapl_ep_state_connected(dapl_ep_state(binding->ep));
}

/* A bind whose arguments are right. */
struct wish {
	struct dapl_rmr *rmr;
	struct dapl_ep *ep;
	struct dapl_binding to;
	DAT_UINT64 cookie;
	DAT_COMPLETION_FLAGS flags;
};

static int tell_transport(const struct wish *wish, const struct dapl_slot *slot, uint32_t *rkey)
{
	const uint32_t rights =
		TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC;
	const struct tp_bind bind = {
		.mw = wish->rmr->mw,
		.mr = wish->to.lmr ? wish->to.lmr->mr : NULL,
		.addr = wish->to.triplet.virtual_address,
		.length = wish->to.triplet.segment_length,
		.access = (uint32_t)wish->to.privileges & rights,
		.zero_based = wish->to.va_type == DAT_VA_TYPE_ZB,
	};

	return mw_of(wish->rmr)->bind(wish->ep->qp, (uintptr_t)slot,
				      dapl_request_flags(wish->flags), &bind, rkey);
}

/* EP lock and bind_lock held; the handles may have died meanwhile. */
static DAT_RETURN check_alive(const struct wish *wish)
{
	if (!dapl_object_is(&wish->rmr->obj, DAPL_TYPE_RMR))
		return DAPL_BAD_HANDLE(RMR);
	if (wish->to.lmr && !dapl_object_is(&wish->to.lmr->obj, DAPL_TYPE_LMR))
		return DAPL_BAD_HANDLE(LMR);
	settle(wish->rmr);
	if (bound_elsewhere(wish->rmr, wish->ep))
		return dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static void remember(const struct wish *wish, struct dapl_slot *slot, struct dapl_bind *bind)
{
	struct dapl_rmr *rmr = wish->rmr;

	if (bind->rmr)
		settle(bind->rmr); /* an earlier one of this slot */
	if (rmr->bound_by == bind)
		rmr->bound_by = NULL;
	*bind = (struct dapl_bind){ .rmr = rmr,
				    .handle = rmr,
				    .to = wish->to,
				    .ep = wish->ep,
				    .seq = slot->seq,
				    .room = wish->ep->request.size };
	if (rmr->scope == DAT_RMR_SCOPE_EP)
		bind->to.ep = wish->ep;
	slot->bind = bind;
	slot->done.user_cookie.as_64 = wish->cookie;
	slot->done.operation = (DAT_DTOS)DAPL_OP_BIND;
	slot->silent = (uint8_t)wish->flags & wish->ep->request_unsignalled;
}

/*
 * The record is among those of the region before the transport hears of the bind: it may complete
 * at any time from then on. EP lock and bind_lock held.
 */
static DAT_RETURN begin(const struct wish *wish, struct dapl_bind *bind, struct dapl_slot **slot)
{
	struct dapl_rmr *rmr = wish->rmr;
	DAT_RETURN rc;

	rc = check_alive(wish);
	if (!rc)
		rc = dapl_request_take(wish->ep, slot);
	if (rc)
		return rc;
	remember(wish, *slot, bind);
	if (bind->to.lmr)
		dapl_object_use(&bind->to.lmr->obj);
	*rmr->last = bind;
	rmr->last = &bind->next;
	relist(rmr);
	return DAT_SUCCESS;
}

/* The transport refused it; bind_lock held. */
static void forget(struct dapl_rmr *rmr, struct dapl_bind *bind)
{
	struct dapl_bind **link = &rmr->first;

	while (*link != bind)
		link = &(*link)->next;
	*link = bind->next;
	if (!bind->next)
		rmr->last = link;
	let_go(&bind->to);
	bind->rmr = NULL;
	relist(rmr);
}

/* What the transport named it, which may have completed meanwhile; bind_lock held. */
static void set_context(struct dapl_rmr *rmr, struct dapl_bind *bind, DAT_RMR_CONTEXT context)
{
	if (bind->rmr)
		bind->to.context = context;
	else if (rmr->bound_by == bind)
		rmr->now.context = context;
}

/* EP lock held; the transport is called without bind_lock, which comes behind the EVD's. */
static DAT_RETURN post(const struct wish *wish, struct dapl_bind *bind, DAT_RMR_CONTEXT *context)
{
	struct dapl_ia *ia = wish->ep->obj.ia;
	struct dapl_slot *slot;
	uint32_t rkey = 0;
	DAT_RETURN rc;
	int err;

	dapl_lock(&ia->bind_lock);
	rc = begin(wish, bind, &slot);
	dapl_unlock(&ia->bind_lock);
	if (rc)
		return rc;
	err = tell_transport(wish, slot, &rkey);
	dapl_lock(&ia->bind_lock);
	if (err)
		forget(wish->rmr, bind);
	else
		set_context(wish->rmr, bind, rkey);
	dapl_unlock(&ia->bind_lock);
	if (err)
		return dapl_request_refused(wish->ep, slot, err);
	if (context)
		*context = rkey;
	return DAT_SUCCESS;
}

static DAT_RETURN bind_rmr(const struct wish *wish, DAT_RMR_CONTEXT *context)
{
	struct dapl_ep *ep = wish->ep;
	struct dapl_bind *bind;
	DAT_RETURN rc = DAPL_NO_RESOURCE(MEMORY);

	dapl_lock(&ep->lock);
	bind = record(ep);
	if (bind)
		rc = post(wish, bind, context);
	dapl_unlock(&ep->lock);
	return rc;
}

/* RMR-13: [addr, addr + length) as the LMR is addressed. */
static bool inside(const struct dapl_lmr *lmr, const DAT_LMR_TRIPLET *triplet)
{
	uint64_t start = lmr->va_type == DAT_VA_TYPE_ZB ? 0 : (uintptr_t)lmr->addr;
	uint64_t offset = triplet->virtual_address - start;

	return offset <= lmr->length && triplet->segment_length <= lmr->length - offset;
}

/* What the window may be bound to (RMR-13 to RMR-17). */
static DAT_RETURN check_binding(const struct dapl_ia *ia, const struct dapl_binding *to)
{
	uint32_t known = DAT_MEM_PRIV_ALL_FLAG, rights = (uint32_t)to->privileges;

	if (ia->attr->ib_extension)
		known |= TP_ACCESS_REMOTE_ATOMIC;
	if (!inside(to->lmr, &to->triplet))
		return DAPL_BAD_ARG(3);
	if (rights & ~known)
		return DAPL_BAD_ARG(4);
	if ((int)to->va_type != DAT_VA_TYPE_VA && (int)to->va_type != DAT_VA_TYPE_ZB)
		return DAPL_BAD_ARG(5);
	if (to->va_type == DAT_VA_TYPE_ZB && !ia->attr->zero_based)
		return DAPL_NO_MODEL;
	if ((rights & (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC)) &&
	    !((uint32_t)to->lmr->privileges & TP_ACCESS_LOCAL_WRITE))
		return dapl_fail(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	return DAT_SUCCESS;
}

/* PZs of all three, flags, and the binding if it is one. */
static DAT_RETURN check_wish(const struct wish *wish)
{
	const struct dapl_lmr *lmr = wish->to.lmr;
	const struct dapl_ep *ep = wish->ep;

	if (!ep->pz || !ep->request.limit)
		return DAPL_BAD_STATE(EP_NOTREADY);
	if (dapl_config.strict && !dapl_request_flags_legal(ep, wish->flags))
		return DAPL_BAD_ARG(8);
	if (ep->pz != wish->rmr->pz || (lmr && lmr->pz != wish->rmr->pz))
		return dapl_fail(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	return lmr ? check_binding(ep->obj.ia, &wish->to) : DAT_SUCCESS;
}

DAT_RETURN dapl_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			 const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
			 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct wish wish = { .rmr = dapl_object_self(rmr_handle, DAPL_TYPE_RMR),
			     .ep = dapl_object_arg(ep_handle, DAPL_TYPE_EP),
			     .cookie = user_cookie.as_64,
			     .flags = flags };
	DAT_RETURN rc;

	if (!wish.rmr)
		return DAPL_BAD_HANDLE(RMR);
	if (!wish.ep || wish.ep->obj.ia != wish.rmr->obj.ia)
		return DAPL_BAD_HANDLE(EP);
	if (!triplet)
		return DAPL_BAD_ARG(3);
	if (triplet->segment_length) {
		wish.to.lmr = dapl_object_arg(lmr_handle, DAPL_TYPE_LMR);
		if (!wish.to.lmr || wish.to.lmr->obj.ia != wish.rmr->obj.ia)
			return DAPL_BAD_HANDLE(LMR);
		wish.to.triplet = *triplet;
		wish.to.triplet.lmr_context = wish.to.lmr->mr->lkey;
		wish.to.privileges = privileges;
		wish.to.va_type = va_type;
	}
	rc = check_wish(&wish);
	return rc ? rc : bind_rmr(&wish, context);
}
