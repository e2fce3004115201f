/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/memory/binding.h"

#include <stdlib.h>

#include "dapl/object/ia.h"

/* The records of the binds of one EP, one for each slot. */
struct dapl_bind_table {
	struct dapl_bind_table *older; /* replaced when the queue grew */
	uint32_t size;
	struct dapl_bind bind[];
};

/* ---- A region ---- */

static void unbind(struct dapl_binding *binding)
{
	if (binding->lmr)
		dapl_object_unuse(&binding->lmr->obj);
	*binding = (struct dapl_binding){ .lmr = NULL };
}

const struct dapl_binding *dapl_bindings_newest(const struct dapl_bindings *region)
{
	return region->first ? &container_of(region->last, struct dapl_bind, next)->to
			     : &region->now;
}

static bool names(const struct dapl_binding *binding, const struct dapl_object *lmr)
{
	return binding->lmr && &binding->lmr->obj == lmr;
}

bool dapl_bindings_use(const struct dapl_bindings *region, const struct dapl_object *lmr)
{
	const struct dapl_bind *bind;

	for (bind = region->first; bind; bind = bind->next)
		if (names(&bind->to, lmr))
			return true;
	return names(&region->now, lmr);
}

static void unlist(struct dapl_bindings *region)
{
	if (!region->listed)
		return;
	*region->link = region->next;
	if (region->next)
		region->next->link = region->link;
	else
		region->listed->last = region->link;
	region->listed = NULL;
}

/* At the end of the list of the EP that counts: who was bound first is found first. */
static void relist(struct dapl_bindings *region)
{
	struct dapl_binder *binder = dapl_bindings_newest(region)->binder;

	unlist(region);
	if (!binder)
		return;
	region->listed = binder;
	region->next = NULL;
	region->link = binder->last ? binder->last : &binder->regions;
	*region->link = region;
	binder->last = &region->next;
}

/* Whether the slot of a bind was given back. */
static bool passed(const struct dapl_bind *bind)
{
	return bind->seq - atomic_load_explicit(bind->head, memory_order_acquire) - 1 >=
	       bind->ring_size;
}

/* The oldest bind of the region takes its effect (RMR-19, RMR-24, RMR-25). */
static void apply(struct dapl_bindings *region, struct dapl_bind *bind)
{
	if (bind->status != TP_WC_FLUSHED) {
		unbind(&region->now);
		region->bound_by = NULL;
	}
	if (bind->status == TP_WC_SUCCESS) {
		region->now = bind->to;
		region->bound_by = bind->to.lmr ? bind : NULL;
		if (!region->now.lmr)
			region->now.binder = NULL;
		bind->to = (struct dapl_binding){ .lmr = NULL };
	} else {
		unbind(&bind->to);
	}
	bind->region = NULL;
}

void dapl_bindings_settle(struct dapl_bindings *region)
{
	struct dapl_bind **link = &region->first, *bind;
	bool changed = false;

	while ((bind = *link)) {
		if (!bind->done && !passed(bind)) {
			link = &bind->next;
			continue;
		}
		*link = bind->next;
		if (!bind->next)
			region->last = link;
		apply(region, bind);
		changed = true;
	}
	if (changed && region->listed != dapl_bindings_newest(region)->binder)
		relist(region);
}

void dapl_bindings_init(struct dapl_bindings *region)
{
	region->last = &region->first;
}

void dapl_bindings_end(struct dapl_bindings *region)
{
	struct dapl_bind *bind;

	unlist(region);
	for (bind = region->first; bind; bind = bind->next) {
		unbind(&bind->to);
		bind->region = NULL;
	}
	unbind(&region->now);
}

/* ---- A bind ---- */

struct dapl_bind *dapl_bind_record(struct dapl_binder *binder, uint32_t num, uint32_t index)
{
	struct dapl_bind_table *table = binder->table;

	if (!table || table->size < num) {
		table = calloc(1, sizeof(*table) + (size_t)num * sizeof(*table->bind));
		if (!table)
			return NULL;
		table->size = num;
		table->older = binder->table;
		binder->table = table;
	}
	return &table->bind[index];
}

void dapl_bind_add(struct dapl_bind *record, const struct dapl_bind *bind)
{
	struct dapl_bindings *region = bind->region;

	if (record->region)
		dapl_bindings_settle(record->region); /* an earlier one of this slot */
	if (region->bound_by == record)
		region->bound_by = NULL;
	*record = *bind;
	if (record->to.lmr)
		dapl_object_use(&record->to.lmr->obj);
	*region->last = record;
	region->last = &record->next;
	relist(region);
}

void dapl_bind_named(struct dapl_bindings *region, struct dapl_bind *bind, DAT_RMR_CONTEXT context)
{
	if (bind->region)
		bind->to.context = context;
	else if (region->bound_by == bind)
		region->now.context = context;
}

void dapl_bind_remove(struct dapl_bind *bind)
{
	struct dapl_bindings *region = bind->region;
	struct dapl_bind **link;

	if (!region)
		return; /* freed meanwhile */
	for (link = &region->first; *link != bind; link = &(*link)->next)
		;
	*link = bind->next;
	if (!bind->next)
		region->last = link;
	unbind(&bind->to);
	bind->region = NULL;
	relist(region);
}

void dapl_bind_completed(struct dapl_bind *bind, uint32_t status)
{
	bind->status = status;
	bind->done = true;
	if (bind->region)
		dapl_bindings_settle(bind->region);
}

/* ---- An endpoint ---- */

/* The bind that gave the region this context, if it is not settled. */
static struct dapl_bind *bind_of(struct dapl_bindings *region, DAT_RMR_CONTEXT context)
{
	struct dapl_bind *bind;

	for (bind = region->first; bind; bind = bind->next)
		if (bind->to.lmr && bind->to.context == context)
			break;
	return bind;
}

/* A bind took effect, and all before it, although nobody has seen the completions. */
static void succeeded(struct dapl_bindings *region, struct dapl_bind *last)
{
	struct dapl_bind *bind;

	for (bind = region->first; bind != last->next; bind = bind->next)
		bind->done = true;
	dapl_bindings_settle(region);
}

void dapl_binder_invalidated(struct dapl_binder *binder, struct dapl_ia *ia,
			     DAT_RMR_CONTEXT context)
{
	struct dapl_bind *bind = NULL;
	struct dapl_bindings *region;

	dapl_lock(&ia->bind_lock);
	for (region = binder->regions; region; region = region->next) {
		if (region->now.lmr && region->now.context == context)
			break;
		bind = bind_of(region, context);
		if (bind)
			break;
	}
	if (bind)
		succeeded(region, bind);
	if (region && region->now.context == context) {
		unbind(&region->now);
		relist(region);
	}
	dapl_unlock(&ia->bind_lock);
}

/*
 * Whatever did not complete has not been done (RMR-24). Whether one whose success is not told has
 * been done is not known; as a rule it has (RMR-37).
 */
static void complete_all(struct dapl_bind_table *table)
{
	struct dapl_bind *bind;
	uint32_t i;

	for (i = 0; i < table->size; i++) {
		bind = &table->bind[i];
		if (!bind->region || bind->done || passed(bind))
			continue;
		bind->done = true;
		bind->status = bind->suppressed ? TP_WC_SUCCESS : TP_WC_FLUSHED;
	}
}

/* In the order in which they were posted, which is that of a region's list. */
static void settle_all(const struct dapl_binder *binder)
{
	struct dapl_bind_table *table;
	uint32_t i;

	for (table = binder->table; table; table = table->older)
		complete_all(table);
	for (table = binder->table; table; table = table->older)
		for (i = 0; i < table->size; i++)
			if (table->bind[i].region)
				dapl_bindings_settle(table->bind[i].region);
}

void dapl_binder_settle(struct dapl_binder *binder, struct dapl_ia *ia)
{
	dapl_lock(&ia->bind_lock);
	settle_all(binder);
	dapl_unlock(&ia->bind_lock);
}

void dapl_binder_end(struct dapl_binder *binder, struct dapl_ia *ia)
{
	struct dapl_bind_table *table;
	struct dapl_bindings *region;

	dapl_lock(&ia->bind_lock);
	settle_all(binder);
	while ((region = binder->regions)) {
		unbind(&region->now);
		relist(region);
	}
	dapl_unlock(&ia->bind_lock);
	while ((table = binder->table)) {
		binder->table = table->older;
		free(table);
	}
}
