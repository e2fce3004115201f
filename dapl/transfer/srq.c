/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/transfer/srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "dapl/base/status.h"
#include "trace/log.h"

static const struct dapl_srq_ops *ops_of(const struct dapl_srq *srq)
{
	return srq->obj.ia->dev->transport->srq;
}

/* The SRQ of a handle with its lock held: it is not freed before that is given back. */
static struct dapl_srq *lock_srq(DAT_SRQ_HANDLE handle)
{
	return dapl_object_lock(handle, DAPL_TYPE_SRQ);
}

/* ---- Counts ---- */

static void put_count(struct dapl_srq_count *count)
{
	if (atomic_fetch_sub_explicit(&count->holders, 1, memory_order_acq_rel) == 1)
		free(count);
}

/* The event of a receive leaves its EVD. */
static void receive_left(const struct dapl_event *event, bool delivered)
{
	struct dapl_srq_count *count = event->leave_arg;

	atomic_fetch_sub_explicit(&count->outstanding, 1, memory_order_release);
	put_count(count);
}

static uint32_t outstanding(const struct dapl_srq *srq)
{
	return atomic_load_explicit(&srq->count->outstanding, memory_order_acquire);
}

/* ---- Slots ---- */

/* Many bring back, and only the poster takes, all at once: a slot that is there stays until then.
 */
static void give_back(struct dapl_srq_slot *own)
{
	struct dapl_srq *srq = own->srq;
	struct dapl_srq_slot *first = atomic_load_explicit(&srq->returned, memory_order_relaxed);

	do
		own->next = first;
	while (!atomic_compare_exchange_weak_explicit(&srq->returned, &first, own,
						      memory_order_release, memory_order_relaxed));
}

/* The receive counts until its event has left. */
static void complete(const struct tp_wc *wc, struct dapl_event *event)
{
	struct dapl_srq_slot *own =
		container_of(dapl_slot_of(wc->wr_id), struct dapl_srq_slot, slot);

	dapl_dto_complete_shared(wc, event);
	event->leave = receive_left;
	event->leave_arg = own->srq->count;
	atomic_fetch_add_explicit(&own->srq->count->holders, 1, memory_order_relaxed);
	give_back(own);
}

/* A free slot, or NULL. */
static struct dapl_srq_slot *take_slot(struct dapl_srq *srq)
{
	struct dapl_srq_slot *slot;

	dapl_assert_held(&srq->obj.lock);
	if (outstanding(srq) >= srq->limit)
		return NULL;
	if (!srq->spare)
		srq->spare = atomic_exchange_explicit(&srq->returned, NULL, memory_order_acquire);
	slot = srq->spare;
	if (slot)
		srq->spare = slot->next;
	return slot;
}

/* Makes num slots at least; lock held, or nobody knows the queue yet. */
static bool make_slots(struct dapl_srq *srq, uint32_t num)
{
	uint32_t more = num > srq->num_slots ? num - srq->num_slots : 0, i;
	struct dapl_srq_chunk *chunk;
	size_t size;

	if (!more)
		return true;
	size = sizeof(*chunk) + (size_t)more * sizeof(*chunk->slot);
	chunk = aligned_alloc(_Alignof(struct dapl_srq_chunk),
			      (size + _Alignof(struct dapl_srq_chunk) - 1) &
				      ~(_Alignof(struct dapl_srq_chunk) - 1));
	if (!chunk) {
		dapl_err("SRQ %p: no memory for %u receives: %s", (void *)srq, num,
			 dapl_strerror(ENOMEM));
		return false;
	}
	memset(chunk, 0, size);
	for (i = 0; i < more; i++) {
		chunk->slot[i].slot.complete = complete;
		chunk->slot[i].srq = srq;
		chunk->slot[i].next = srq->spare;
		srq->spare = &chunk->slot[i];
	}
	chunk->next = srq->chunks;
	srq->chunks = chunk;
	srq->num_slots = num;
	return true;
}

static void free_slots(struct dapl_srq *srq)
{
	struct dapl_srq_chunk *chunk;

	while ((chunk = srq->chunks)) {
		srq->chunks = chunk->next;
		free(chunk);
	}
}

/* ---- Creation and end ---- */

static DAT_RETURN check_attr(const struct tp_device_attr *dev, const DAT_SRQ_ATTR *attr)
{
	if (!attr || attr->max_recv_dtos <= 0 || (uint32_t)attr->max_recv_dtos > dev->max_srq_wr ||
	    attr->max_recv_iov < 0 || (uint32_t)attr->max_recv_iov > dev->max_srq_sge ||
	    attr->low_watermark < 0 || attr->low_watermark > attr->max_recv_dtos)
		return DAPL_BAD_ARG(3);
	return attr->low_watermark && !dev->srq_limit ? DAPL_NO_MODEL : DAT_SUCCESS; /* SRQ-6 */
}

/* The queue without its transport's part, or NULL. */
static struct dapl_srq *srq_new(struct dapl_pz *pz, const DAT_SRQ_ATTR *attr)
{
	struct dapl_srq *srq = dapl_object_alloc(sizeof(*srq));

	if (!srq)
		return NULL;
	srq->pz = pz;
	srq->limit = (uint32_t)attr->max_recv_dtos;
	srq->max_sge = (uint32_t)attr->max_recv_iov;
	srq->low_watermark = attr->low_watermark;
	srq->count = calloc(1, sizeof(*srq->count));
	if (srq->count && make_slots(srq, srq->limit)) {
		atomic_store_explicit(&srq->count->holders, 1, memory_order_relaxed);
		return srq;
	}
	if (!srq->count)
		dapl_err("SRQ of %u receives not created: %s", srq->limit, dapl_strerror(ENOMEM));
	free(srq->count);
	dapl_object_release(&srq->obj);
	return NULL;
}

/* Its own part; what is kept on EVDs lives on. */
static void free_own(struct dapl_srq *srq)
{
	put_count(srq->count);
	free_slots(srq);
}

/* Retired already: whoever came in before is waited for. */
static void end(struct dapl_object *obj)
{
	struct dapl_srq *srq = container_of(obj, struct dapl_srq, obj);

	dapl_lock(&obj->lock);
	dapl_unlock(&obj->lock);
	ops_of(srq)->destroy(srq->srq);
	dapl_object_unuse(&srq->pz->obj);
	free_own(srq);
}

static bool uses(struct dapl_object *obj, const struct dapl_object *part)
{
	return &container_of(obj, struct dapl_srq, obj)->pz->obj == part;
}

const struct dapl_class dapl_srq_class = {
	DAPL_CLASS(SRQ),	   .uses = uses, .in_use = DAT_INVALID_STATE_SRQ_IN_USE,
	.freed = DCNT_IA_SRQ_FREE, .end = end,
};

/* Makes the transport's part and publishes the queue. */
static DAT_RETURN set_up(struct dapl_srq *srq, struct dapl_ia *ia)
{
	const struct dapl_srq_ops *ops = ia->dev->transport->srq;
	const struct tp_srq_attr attr = { .pd = srq->pz->pd,
					  .max_wr = srq->limit,
					  .max_sge = srq->max_sge };
	int err = ops->create(ia->dev, &attr, srq, &srq->srq);
	DAT_RETURN rc = dapl_status(err, DAT_RESOURCE_SRQ);

	if (err)
		return rc;
	if (dapl_ia_add(ia, &srq->obj, &dapl_srq_class, ia->attr->max_srq))
		return DAT_SUCCESS;
	ops->destroy(srq->srq);
	return DAPL_NO_RESOURCE(SRQ);
}

static DAT_RETURN arm(struct dapl_srq *srq, DAT_COUNT low_watermark)
{
	int err;

	dapl_assert_held(&srq->obj.lock);
	err = srq->srq->ops->arm(srq->srq, (uint32_t)low_watermark);
	if (err)
		return dapl_status(err, DAT_RESOURCE_SRQ);
	srq->low_watermark = low_watermark;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *srq_handle)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	struct dapl_srq *srq;
	struct dapl_pz *pz;
	DAT_RETURN rc;

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (!ia->attr->max_srq)
		return DAPL_NO_MODEL; /* SRQ-2 */
	pz = dapl_pz_use(pz_handle, ia);
	if (!pz)
		return DAPL_BAD_HANDLE(PZ);
	rc = check_attr(ia->attr, attr);
	if (!rc && !srq_handle)
		rc = DAPL_BAD_ARG(4);
	if (rc)
		goto unuse_pz;
	srq = srq_new(pz, attr);
	rc = DAPL_NO_RESOURCE(MEMORY);
	if (!srq)
		goto unuse_pz;
	rc = set_up(srq, ia);
	if (rc)
		goto release;
	dapl_lock(&srq->obj.lock);
	if (attr->low_watermark)
		rc = arm(srq, attr->low_watermark);
	dapl_unlock(&srq->obj.lock);
	if (rc) {
		dapl_object_retire(&srq->obj);
		dapl_ia_end(&srq->obj);
		return rc;
	}
	dapl_count(ia, DCNT_IA_SRQ_CREATE);
	*srq_handle = srq;
	return DAT_SUCCESS;

release:
	free_own(srq);
	dapl_object_release(&srq->obj);
unuse_pz:
	dapl_object_unuse(&pz->obj);
	return rc;
}

DAT_RETURN dapl_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	return dapl_ia_free(srq_handle, &dapl_srq_class);
}

void dapl_srq_failed(struct dapl_srq *srq)
{
	atomic_store_explicit(&srq->failed, true, memory_order_relaxed);
}

/* ---- The other calls ---- */

static DAT_RETURN post(struct dapl_srq *srq, uint32_t num, const DAT_LMR_TRIPLET *iov,
		       DAT_UINT64 cookie)
{
	struct dapl_srq_slot *slot = take_slot(srq);
	int err;

	if (!slot)
		return DAPL_NO_RESOURCE(MEMORY); /* SRQ-11 */
	slot->slot.done.user_cookie.as_64 = cookie;
	atomic_fetch_add_explicit(&srq->count->outstanding, 1, memory_order_relaxed);
	err = srq->srq->ops->post(srq->srq, (uintptr_t)&slot->slot, (const struct tp_sge *)iov,
				  num);
	if (!err)
		return DAT_SUCCESS;
	give_back(slot);
	atomic_fetch_sub_explicit(&srq->count->outstanding, 1, memory_order_release);
	return dapl_status(err, DAT_RESOURCE_SRQ);
}

DAT_RETURN dapl_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			      DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	struct dapl_srq *srq = dapl_object_self(srq_handle, DAPL_TYPE_SRQ);
	DAT_RETURN rc;

	if (!srq)
		return DAPL_BAD_HANDLE(SRQ);
	if ((uint32_t)num_segments > srq->max_sge)
		return DAPL_BAD_ARG(2);
	if (num_segments && !local_iov)
		return DAPL_BAD_ARG(3);
	srq = lock_srq(srq_handle);
	if (!srq)
		return DAPL_BAD_HANDLE(SRQ);
	rc = post(srq, (uint32_t)num_segments, local_iov, user_cookie.as_64);
	dapl_unlock(&srq->obj.lock);
	return rc;
}

DAT_RETURN dapl_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct dapl_srq *srq;
	DAT_RETURN rc;
	bool failed;

	if (!dapl_object_query(srq_handle, &dapl_srq_class, mask, param, &rc))
		return rc;
	srq = lock_srq(srq_handle);
	if (!srq)
		return DAPL_BAD_HANDLE(SRQ);
	failed = atomic_load_explicit(&srq->failed, memory_order_relaxed);
	*param = (DAT_SRQ_PARAM){
		.srq_state = failed ? DAT_SRQ_STATE_ERROR : DAT_SRQ_STATE_OPERATIONAL,
		.pz_handle = srq->pz,
		.max_recv_dtos = (DAT_COUNT)srq->limit,
		.max_recv_iov = (DAT_COUNT)srq->max_sge,
		.low_watermark = srq->low_watermark,
		.available_dto_count = DAT_VALUE_UNKNOWN,
		.outstanding_dto_count = (DAT_COUNT)outstanding(srq),
	};
	if (srq->obj.ia->attr->srq_count)
		param->available_dto_count = (DAT_COUNT)srq->srq->ops->available(srq->srq);
	param->ia_handle = dapl_ia_handle(srq->obj.ia);
	dapl_unlock(&srq->obj.lock);
	return DAT_SUCCESS;
}

static DAT_RETURN resize(struct dapl_srq *srq, uint32_t limit)
{
	int err;

	dapl_assert_held(&srq->obj.lock);
	if (limit < outstanding(srq) || limit < (uint32_t)srq->low_watermark)
		return dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE); /* SRQ-22 */
	if (!make_slots(srq, limit))
		return DAPL_NO_RESOURCE(MEMORY);
	err = srq->srq->ops->resize(srq->srq, limit);
	if (err == -EOPNOTSUPP && limit <= srq->limit)
		return DAT_SUCCESS; /* stays larger (SRQ-21) */
	if (!err)
		srq->limit = limit;
	return dapl_status(err, DAT_RESOURCE_SRQ);
}

DAT_RETURN dapl_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT max_recv_dtos)
{
	struct dapl_srq *srq = lock_srq(srq_handle);
	DAT_RETURN rc;

	if (!srq)
		return DAPL_BAD_HANDLE(SRQ);
	if (max_recv_dtos <= 0 || (uint32_t)max_recv_dtos > srq->obj.ia->attr->max_srq_wr)
		rc = DAPL_BAD_ARG(2);
	else
		rc = resize(srq, (uint32_t)max_recv_dtos);
	dapl_unlock(&srq->obj.lock);
	return rc;
}

DAT_RETURN dapl_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	struct dapl_srq *srq = lock_srq(srq_handle);
	DAT_RETURN rc = DAT_SUCCESS;

	if (!srq)
		return DAPL_BAD_HANDLE(SRQ);
	if (low_watermark < 0 || (uint32_t)low_watermark > srq->limit)
		rc = DAPL_BAD_ARG(2);
	else if (srq->obj.ia->attr->srq_limit)
		rc = arm(srq, low_watermark);
	else if (low_watermark)
		rc = DAPL_NO_MODEL;
	dapl_unlock(&srq->obj.lock);
	return rc;
}
