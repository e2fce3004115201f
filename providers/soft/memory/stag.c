/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registered memory. Keys cannot be guessed by a peer, and index an open-addressing
 * table whose readers take no lock. Deregistration unpublishes the key and then passes through both
 * locks of every QP: whoever saw the key before has left its memory alone after that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "providers/soft/base/device.h"
#include "providers/soft/memory/copy.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/memory/window.h"
#include "trace/log.h"

struct soft_stag_table {
	struct soft_stag_table *next; /* retired ones */
	uint32_t mask;
	uint32_t used; /* slots that are not NULL; under soft_stags.lock */
	struct soft_region *_Atomic slot[];
};

enum {
	FIRST_SLOTS = 64,
};

/* A slot whose key is gone; searches go on behind it. */
static struct soft_region tombstone;

/* ---- Keys ---- */

/*
 * A key is the number of keys drawn so far, enciphered with Speck32/64 under a secret of the
 * device: none comes twice before all have come once, so that a stale one is not valid again
 * (LMR-38) and one that is promised is nobody else's, and whoever has seen some cannot tell the
 * next.
 */
static inline uint32_t speck(const uint16_t *key, uint32_t block)
{
	uint16_t x = (uint16_t)(block >> 16), y = (uint16_t)block;

	for (int i = 0; i < SOFT_STAG_ROUNDS; i++) {
		x = (uint16_t)((uint16_t)((uint16_t)(x >> 7 | x << 9) + y) ^ key[i]);
		y = (uint16_t)((uint16_t)(y << 2 | y >> 14) ^ x);
	}
	return (uint32_t)x << 16 | y;
}

static void expand_secret(uint16_t *key, const uint16_t secret[4])
{
	uint16_t l[3] = { secret[1], secret[2], secret[3] }, k = secret[0], x;

	for (int i = 0; i < SOFT_STAG_ROUNDS; i++) {
		key[i] = k;
		x = l[i % 3];
		x = (uint16_t)((uint16_t)((uint16_t)(x >> 7 | x << 9) + k) ^ i);
		k = (uint16_t)((uint16_t)(k << 2 | k >> 14) ^ x);
		l[i % 3] = x;
	}
}

uint32_t soft_stag_draw(struct soft_stags *stags)
{
	uint32_t key;

	do
		key = speck(stags->secret, stags->drawn++);
	while (!key || soft_stag_find(stags, key));
	return key;
}

/* ---- The table ---- */

static struct soft_stag_table *table_alloc(uint32_t slots)
{
	struct soft_stag_table *table;

	table = calloc(1, sizeof(*table) + slots * sizeof(table->slot[0]));
	if (table)
		table->mask = slots - 1;
	return table;
}

struct soft_region *soft_stag_find(struct soft_stags *stags, uint32_t key)
{
	struct soft_stag_table *table = atomic_load_explicit(&stags->table, memory_order_acquire);
	struct soft_region *region;
	uint32_t i = key;

	while ((region = atomic_load_explicit(&table->slot[i & table->mask],
					      memory_order_acquire))) {
		if (atomic_load_explicit(&region->key, memory_order_relaxed) == key)
			return region;
		i++;
	}
	return NULL;
}

static void insert(struct soft_stag_table *table, struct soft_region *region)
{
	uint32_t i = atomic_load_explicit(&region->key, memory_order_relaxed);
	struct soft_region *old;

	while ((old = atomic_load_explicit(&table->slot[i & table->mask], memory_order_relaxed)) &&
	       old != &tombstone)
		i++;
	atomic_store_explicit(&table->slot[i & table->mask], region, memory_order_release);
	table->used += !old;
}

/* Makes room for one more, at most half full; lock held. */
static int reserve(struct soft_stags *stags)
{
	struct soft_stag_table *old = atomic_load_explicit(&stags->table, memory_order_relaxed),
			       *table;
	uint32_t slots = old->mask + 1;
	struct soft_region *region;

	if (old->used + 1 <= slots / 2)
		return 0;
	while (stags->live + 1 > slots / 4)
		slots *= 2;
	table = table_alloc(slots);
	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i <= old->mask; i++) {
		region = atomic_load_explicit(&old->slot[i], memory_order_relaxed);
		if (region && region != &tombstone)
			insert(table, region);
	}
	/* A reader may be in the old one still. */
	old->next = stags->retired;
	stags->retired = old;
	atomic_store_explicit(&stags->table, table, memory_order_release);
	dapl_loop_post(stags->dev->base.loop, &stags->settle);
	return 0;
}

int soft_stag_publish(struct soft_stags *stags, struct soft_region *region)
{
	int rc = reserve(stags);

	if (rc)
		return rc;
	insert(atomic_load_explicit(&stags->table, memory_order_relaxed), region);
	stags->live++;
	return 0;
}

/* Tombstones that nothing lies behind need not stay: keys that come and go fill no table. */
static void sweep(struct soft_stag_table *table, uint32_t i)
{
	if (atomic_load_explicit(&table->slot[(i + 1) & table->mask], memory_order_relaxed))
		return;
	while (atomic_load_explicit(&table->slot[i & table->mask], memory_order_relaxed) ==
	       &tombstone) {
		atomic_store_explicit(&table->slot[i & table->mask], NULL, memory_order_release);
		table->used--;
		i--;
	}
}

void soft_stag_unpublish(struct soft_stags *stags, struct soft_region *region)
{
	struct soft_stag_table *table = atomic_load_explicit(&stags->table, memory_order_relaxed);
	uint32_t i = atomic_load_explicit(&region->key, memory_order_relaxed);

	while (atomic_load_explicit(&table->slot[i & table->mask], memory_order_relaxed) != region)
		i++;
	atomic_store_explicit(&table->slot[i & table->mask], &tombstone, memory_order_release);
	sweep(table, i);
	stags->live--;
}

static void settle(struct tp_task *task)
{
	soft_stags_settle(container_of(task, struct soft_stags, settle), 0);
}

int soft_stags_init(struct soft_dev *dev, void (*quiesce)(struct soft_dev *dev, uint32_t key))
{
	struct soft_stag_table *table = table_alloc(FIRST_SLOTS);
	struct soft_stags *stags = calloc(1, sizeof(*stags));
	uint16_t secret[4];
	int rc = -ENOMEM;

	if (!table || !stags)
		goto free_all;
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret) ||
	    getrandom(&stags->drawn, sizeof(stags->drawn), 0) != sizeof(stags->drawn)) {
		rc = -errno;
		goto free_all;
	}
	expand_secret(stags->secret, secret);
	atomic_init(&stags->table, table);
	stags->dev = dev;
	stags->quiesce = quiesce;
	stags->settle.run = settle;
	pthread_mutex_init(&stags->lock, NULL);
	dev->stags = stags;
	return 0;

free_all:
	dapl_err("keys of memory: %s", dapl_strerror(-rc));
	free(stags);
	free(table);
	return rc;
}

static void free_tables(struct soft_stag_table *table)
{
	struct soft_stag_table *next;

	for (; table; table = next) {
		next = table->next;
		free(table);
	}
}

void soft_stags_settle(struct soft_stags *stags, uint32_t key)
{
	struct soft_stag_table *retired;

	pthread_mutex_lock(&stags->lock);
	retired = stags->retired;
	stags->retired = NULL;
	pthread_mutex_unlock(&stags->lock);
	stags->quiesce(stags->dev, key);
	free_tables(retired);
}

void soft_stags_fini(struct soft_stags *stags)
{
	dapl_loop_cancel(stags->dev->base.loop, &stags->settle);
	free_tables(stags->retired);
	free(atomic_load_explicit(&stags->table, memory_order_relaxed));
	pthread_mutex_destroy(&stags->lock);
	free(stags);
}

/* ---- Access ---- */

static inline enum soft_stag_result check(const struct soft_protection *prot,
					  const struct tp_pd *pd, uint32_t key, uint64_t addr,
					  uint64_t len, uint32_t access, uint8_t **mem)
{
	struct soft_region *region = soft_stag_find(prot->stags, key);

	if (!key || !region)
		return SOFT_STAG_INVALID;
	if (region->pd != pd)
		return region->pd == &soft_window_pd
			       ? soft_window_check(region, key, prot, addr, len, access, false, mem)
			       : SOFT_STAG_PD;
	if (addr + len < addr)
		return SOFT_STAG_WRAP;
	if (addr < region->start || addr - region->start > region->length ||
	    len > region->length - (addr - region->start))
		return SOFT_STAG_BOUNDS;
	if ((region->access & access) != access)
		return SOFT_STAG_ACCESS;
	*mem = region->mem + (addr - region->start);
	return SOFT_STAG_OK;
}

enum soft_stag_result soft_stag_check(const struct soft_protection *prot, uint32_t key,
				      uint64_t addr, uint64_t len, uint32_t access, uint8_t **mem)
{
	return check(prot, prot->pd, key, addr, len, access, mem);
}

bool soft_stag_check_recv(const struct soft_protection *prot, const struct tp_pd *pd, uint32_t key,
			  uint64_t addr, uint64_t len, uint8_t **mem)
{
	return !check(prot, pd, key, addr, len, TP_ACCESS_LOCAL_WRITE, mem);
}

bool soft_stag_holds(const struct soft_protection *prot, uint32_t key, const uint8_t *mem,
		     uint64_t len, uint32_t access)
{
	struct soft_region *region = soft_stag_find(prot->stags, key);
	uint8_t *same;

	if (!key || !region)
		return false;
	if (region->pd == &soft_window_pd)
		return !soft_window_check(region, key, prot, (uintptr_t)mem, len, access, true,
					  &same);
	return region->pd == prot->pd && mem >= region->mem &&
	       (uint64_t)(mem - region->mem) <= region->length &&
	       len <= region->length - (uint64_t)(mem - region->mem) &&
	       (region->access & access) == access;
}

/* ---- Registration ---- */

/* Otherwise: at least that nothing is missing there. */
static int check_mapped(uintptr_t start, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), chunk, max = 4096 * page;
	unsigned char resident[4096];

	for (; len; start += chunk, len -= chunk) {
		chunk = len < max ? len : max;
		if (mincore((void *)start, chunk, resident) && errno == ENOMEM)
			return -EFAULT;
	}
	return 0;
}

#ifndef MADV_POPULATE_READ /* not in musl's headers */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Whether the range is mapped and, for a sink, writable. Faults the pages in, changes nothing
 * (LMR-6). */
static int check_range(const struct tp_mr_attr *attr)
{
	int advice =
		attr->access & TP_ACCESS_LOCAL_WRITE ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)attr->addr, end;
	static char probe;

	if (!attr->addr || start + attr->length < start ||
	    start + attr->length > UINTPTR_MAX - page)
		return -EFAULT;
	end = (start + attr->length + page - 1) & ~(page - 1);
	start &= ~(page - 1);
	if (!madvise((void *)start, end - start, advice))
		return 0;
	if (errno == EHWPOISON || errno == EAGAIN)
		return -errno;
	if (errno == EFAULT || errno == ENOMEM)
		return -EFAULT;
	/* The protection forbids it, or the kernel (before 5.14) or a filter of calls the question. */
	if (!madvise((void *)((uintptr_t)&probe & ~(page - 1)), page, MADV_POPULATE_READ))
		return -EFAULT;
	return check_mapped(start, end - start);
}

static int mr_reg(struct tp_pd *pd, const struct tp_mr_attr *attr, struct tp_mr **out)
{
	struct soft_dev *dev = soft_dev(pd->dev);
	struct soft_mr *mr;
	int rc = check_range(attr);

	soft_guard_install();
	if (rc && rc != -EFAULT) {
		dapl_err("%s: memory %p not registered: %s", dev->name, attr->addr,
			 dapl_strerror(-rc));
		return rc;
	}
	if (rc) {
		dapl_trace(soft_not_registered, DAPL_TRC_ERROR, dev,
			   "ia=%s address=%p length=%llu why=%s", dev->name, attr->addr,
			   (unsigned long long)attr->length, dapl_strerror(-rc));
		return rc;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		goto no_memory;
	mr->base.pd = pd;
	mr->region.pd = pd;
	mr->region.start = attr->zero_based ? 0 : (uintptr_t)attr->addr;
	mr->region.length = attr->length;
	mr->region.mem = attr->addr;
	mr->region.access = attr->access | SOFT_ACCESS_LOCAL_READ;
	pthread_mutex_lock(&dev->stags->lock);
	mr->base.lkey = soft_stag_draw(dev->stags);
	atomic_init(&mr->region.key, mr->base.lkey);
	rc = soft_stag_publish(dev->stags, &mr->region);
	pthread_mutex_unlock(&dev->stags->lock);
	if (rc)
		goto no_memory;
	if (attr->access &
	    (TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC))
		mr->base.rkey = mr->base.lkey;
	*out = &mr->base;
	return 0;

no_memory:
	dapl_err("%s: memory %p not registered: %s", dev->name, attr->addr, dapl_strerror(ENOMEM));
	free(mr);
	return -ENOMEM;
}

static void mr_dereg(struct tp_mr *base)
{
	struct soft_mr *mr = container_of(base, struct soft_mr, base);
	struct soft_dev *dev = soft_dev(base->pd->dev);

	pthread_mutex_lock(&dev->stags->lock);
	soft_stag_unpublish(dev->stags, &mr->region);
	pthread_mutex_unlock(&dev->stags->lock);
	soft_stags_settle(dev->stags, mr->base.lkey);
	free(mr);
}

const struct dapl_mr_ops soft_mr_ops = {
	.reg = mr_reg,
	.dereg = mr_dereg,
};

/* ---- Protection domains ---- */

static int pd_alloc(struct tp_device *dev, struct tp_pd **out)
{
	struct tp_pd *pd = calloc(1, sizeof(*pd));

	if (!pd) {
		dapl_err("%s: protection domain not created: %s", soft_dev(dev)->name,
			 dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	pd->dev = dev;
	*out = pd;
	return 0;
}

static void pd_free(struct tp_pd *pd)
{
	free(pd);
}

const struct dapl_pd_ops soft_pd_ops = {
	.alloc = pd_alloc,
	.free = pd_free,
};
