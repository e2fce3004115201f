/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows. A bound window has a key in the table of registered memory; readers take no lock,
 * so that what it is bound to is read between two looks at seq. A binding is a request of a QP: it
 * is posted with its new key, and done when its turn comes, under both locks of the QP. Whoever
 * used a window of QP scope is out of it by then. One of PD scope may be in use by any QP, and is
 * first unbound by the loop, which passes through the locks of all.
 */
#include "providers/soft/base/device.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/memory/window.h"

const struct tp_pd soft_window_pd;

static struct soft_stags *stags_of(struct soft_mw *mw)
{
	return soft_dev(mw->base.pd->dev)->stags;
}

/* ---- The binding; soft_stags.lock held ---- */

static bool is_bound(struct soft_mw *mw)
{
	return atomic_load(&mw->region.key);
}

static void clear(struct soft_mw *mw)
{
	atomic_fetch_add(&mw->seq, 1);
	atomic_store(&mw->region.key, 0);
	atomic_store(&mw->stream, 0);
	atomic_fetch_add(&mw->seq, 1);
}

static void unbind(struct soft_mw *mw)
{
	if (!is_bound(mw))
		return;
	soft_stag_unpublish(stags_of(mw), &mw->region);
	clear(mw);
}

/* What the window shows has to be there, and fit for the rights it grants (RMR-13, RMR-17). */
static bool fits(const struct soft_region *mr, const struct soft_mw *mw,
		 const struct soft_bind *bind)
{
	uint64_t from;

	if (!mr || mr->pd != mw->base.pd || bind->addr < mr->start)
		return false;
	from = bind->addr - mr->start;
	if (from > mr->length || bind->length > mr->length - from)
		return false;
	return !(bind->access & (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC)) ||
	       (mr->access & TP_ACCESS_LOCAL_WRITE);
}

static bool rebind(struct soft_mw *mw, const struct soft_bind *bind, uint32_t key, uint64_t stream)
{
	const struct soft_region *mr = soft_stag_find(stags_of(mw), bind->mr_key);

	unbind(mw);
	if (!fits(mr, mw, bind))
		return false;
	atomic_fetch_add(&mw->seq, 1);
	atomic_store(&mw->access, bind->access);
	atomic_store(&mw->mr_key, bind->mr_key);
	atomic_store(&mw->start, bind->zero_based ? 0 : bind->addr);
	atomic_store(&mw->length, bind->length);
	atomic_store(&mw->mem, mr->mem + (bind->addr - mr->start));
	atomic_store(&mw->stream, mw->base.qp_scope ? stream : 0);
	atomic_store(&mw->region.key, key);
	atomic_fetch_add(&mw->seq, 1);
	if (!soft_stag_publish(stags_of(mw), &mw->region))
		return true;
	clear(mw);
	return false;
}

/* ---- Use ---- */

/* What a window was bound to at one moment. */
struct view {
	uint32_t key, access, mr_key;
	uint64_t start, length, stream;
	uint8_t *mem;
};

/* false: it is being bound to something else, and the key that led here is dead. */
static bool look(struct soft_mw *mw, struct view *view)
{
	unsigned seq = atomic_load_explicit(&mw->seq, memory_order_acquire);

	view->key = atomic_load_explicit(&mw->region.key, memory_order_acquire);
	view->access = atomic_load_explicit(&mw->access, memory_order_acquire);
	view->mr_key = atomic_load_explicit(&mw->mr_key, memory_order_acquire);
	view->start = atomic_load_explicit(&mw->start, memory_order_acquire);
	view->length = atomic_load_explicit(&mw->length, memory_order_acquire);
	view->stream = atomic_load_explicit(&mw->stream, memory_order_acquire);
	view->mem = atomic_load_explicit(&mw->mem, memory_order_acquire);
	return !(seq & 1) && atomic_load_explicit(&mw->seq, memory_order_acquire) == seq;
}

enum soft_stag_result soft_window_check(struct soft_region *region, uint32_t key,
					const struct soft_protection *prot, uint64_t addr,
					uint64_t len, uint32_t access, bool by_mem, uint8_t **mem)
{
	struct soft_mw *mw = container_of(region, struct soft_mw, region);
	struct view view;
	uint64_t start;

	if (!look(mw, &view) || view.key != key || !soft_stag_find(stags_of(mw), view.mr_key))
		return SOFT_STAG_INVALID;
	if (mw->base.pd != prot->pd ||
	    (mw->base.qp_scope &&
	     view.stream != atomic_load_explicit(&prot->stream, memory_order_relaxed)))
		return SOFT_STAG_PD;
	if (addr + len < addr)
		return SOFT_STAG_WRAP;
	start = by_mem ? (uintptr_t)view.mem : view.start;
	if (addr < start || addr - start > view.length || len > view.length - (addr - start))
		return SOFT_STAG_BOUNDS;
	if ((view.access & access) != access)
		return SOFT_STAG_ACCESS;
	*mem = view.mem + (addr - start);
	return SOFT_STAG_OK;
}

bool soft_window_invalidate(const struct soft_protection *prot, uint32_t key)
{
	struct soft_stags *stags = prot->stags;
	struct soft_region *region;
	struct soft_mw *mw;
	bool done = false;

	pthread_mutex_lock(&stags->lock);
	region = key ? soft_stag_find(stags, key) : NULL;
	if (region && region->pd == &soft_window_pd) {
		mw = container_of(region, struct soft_mw, region);
		done = mw->base.qp_scope && atomic_load(&mw->stream) == atomic_load(&prot->stream);
		if (done)
			unbind(mw);
	}
	pthread_mutex_unlock(&stags->lock);
	return done;
}

/* ---- Bindings as requests ---- */

uint32_t soft_window_post(struct soft_protection *prot, const struct soft_bind *bind)
{
	uint32_t key = 0;

	pthread_mutex_lock(&prot->stags->lock);
	if (bind->mr_key)
		key = soft_stag_draw(prot->stags);
	bind->mw->queued++;
	bind->mw->queued_stream = atomic_load(&prot->stream);
	pthread_mutex_unlock(&prot->stags->lock);
	return key;
}

uint64_t soft_window_stream(struct soft_mw *mw)
{
	struct soft_stags *stags = stags_of(mw);
	uint64_t stream;

	pthread_mutex_lock(&stags->lock);
	stream = mw->queued ? mw->queued_stream : atomic_load(&mw->stream);
	pthread_mutex_unlock(&stags->lock);
	return stream;
}

enum soft_bind_result soft_window_bind(const struct soft_protection *prot, struct soft_bind *bind,
				       uint32_t key)
{
	enum soft_bind_result result = SOFT_BIND_DONE;
	struct soft_mw *mw = bind->mw;

	if (!mw)
		return SOFT_BIND_DONE;
	pthread_mutex_lock(&prot->stags->lock);
	if (is_bound(mw) && !mw->base.qp_scope) {
		result = SOFT_BIND_LATER;
	} else {
		if (!bind->mr_key)
			unbind(mw);
		else if (!rebind(mw, bind, key, atomic_load(&prot->stream)))
			result = SOFT_BIND_FAILED;
		mw->queued--;
		bind->mw = NULL;
	}
	pthread_mutex_unlock(&prot->stags->lock);
	return result;
}

void soft_window_unbind(struct soft_mw *mw)
{
	struct soft_stags *stags = stags_of(mw);

	pthread_mutex_lock(&stags->lock);
	unbind(mw);
	pthread_mutex_unlock(&stags->lock);
}

void soft_window_drop(struct soft_bind *bind)
{
	struct soft_stags *stags;

	if (!bind->mw)
		return;
	stags = stags_of(bind->mw);
	pthread_mutex_lock(&stags->lock);
	bind->mw->queued--;
	bind->mw = NULL;
	pthread_mutex_unlock(&stags->lock);
}
