/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registered memory. Keys are random, so that a peer cannot guess one, and index an open-addressing
 * table whose readers take no lock. Deregistration unpublishes the key and then passes through both
 * locks of every QP: whoever saw the key before has left its memory alone after that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "dapl/trace.h"
#include "providers/soft/soft.h"

struct soft_stag_table {
	struct soft_stag_table *next; /* retired ones */
	uint32_t mask;
	uint32_t used; /* slots that are not NULL; under soft_stags.lock */
	struct soft_mr *_Atomic slot[];
};

enum {
	FIRST_SLOTS = 64,
};

/* A slot whose key is gone; searches go on behind it. */
static struct soft_mr tombstone;

/* ---- The table ---- */

static struct soft_stag_table *table_alloc(uint32_t slots)
{
	struct soft_stag_table *table;

	table = calloc(1, sizeof(*table) + slots * sizeof(table->slot[0]));
	if (table)
		table->mask = slots - 1;
	return table;
}

static inline struct soft_mr *find(struct soft_stags *stags, uint32_t key)
{
	struct soft_stag_table *table = atomic_load_explicit(&stags->table, memory_order_acquire);
	struct soft_mr *mr;
	uint32_t i = key;

	while ((mr = atomic_load_explicit(&table->slot[i & table->mask], memory_order_acquire))) {
		if (mr->key == key)
			return mr;
		i++;
	}
	return NULL;
}

static void insert(struct soft_stag_table *table, struct soft_mr *mr)
{
	uint32_t i = mr->key;

	while (atomic_load_explicit(&table->slot[i & table->mask], memory_order_relaxed))
		i++;
	atomic_store_explicit(&table->slot[i & table->mask], mr, memory_order_release);
	table->used++;
}

/* Makes room for one more, at most half full; lock held. */
static int reserve(struct soft_stags *stags)
{
	struct soft_stag_table *old = atomic_load_explicit(&stags->table, memory_order_relaxed),
			       *table;
	uint32_t slots = old->mask + 1;
	struct soft_mr *mr;

	if (old->used + 1 <= slots / 2)
		return 0;
	while (stags->live + 1 > slots / 4)
		slots *= 2;
	table = table_alloc(slots);
	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i <= old->mask; i++) {
		mr = atomic_load_explicit(&old->slot[i], memory_order_relaxed);
		if (mr && mr != &tombstone)
			insert(table, mr);
	}
	/* A reader may be in the old one still; it is at most as large as the new one, so kept. */
	old->next = stags->retired;
	stags->retired = old;
	atomic_store_explicit(&stags->table, table, memory_order_release);
	return 0;
}

/* A key nobody has; lock held. */
static int new_key(struct soft_stags *stags, uint32_t *key)
{
	do {
		if (getrandom(key, sizeof(*key), 0) != sizeof(*key))
			return -errno;
	} while (!*key || find(stags, *key));
	return 0;
}

static int publish(struct soft_stags *stags, struct soft_mr *mr)
{
	int rc;

	pthread_mutex_lock(&stags->lock);
	rc = reserve(stags);
	if (!rc)
		rc = new_key(stags, &mr->key);
	if (!rc) {
		insert(atomic_load_explicit(&stags->table, memory_order_relaxed), mr);
		stags->live++;
	}
	pthread_mutex_unlock(&stags->lock);
	return rc;
}

static void unpublish(struct soft_stags *stags, struct soft_mr *mr)
{
	struct soft_stag_table *table;
	uint32_t i = mr->key;

	pthread_mutex_lock(&stags->lock);
	table = atomic_load_explicit(&stags->table, memory_order_relaxed);
	while (atomic_load_explicit(&table->slot[i & table->mask], memory_order_relaxed) != mr)
		i++;
	atomic_store_explicit(&table->slot[i & table->mask], &tombstone, memory_order_release);
	stags->live--;
	pthread_mutex_unlock(&stags->lock);
}

int soft_stags_init(struct soft_stags *stags)
{
	struct soft_stag_table *table = table_alloc(FIRST_SLOTS);

	if (!table)
		return -ENOMEM;
	atomic_init(&stags->table, table);
	stags->retired = NULL;
	stags->live = 0;
	pthread_mutex_init(&stags->lock, NULL);
	return 0;
}

void soft_stags_fini(struct soft_stags *stags)
{
	struct soft_stag_table *table;

	while ((table = stags->retired)) {
		stags->retired = table->next;
		free(table);
	}
	free(atomic_load_explicit(&stags->table, memory_order_relaxed));
	pthread_mutex_destroy(&stags->lock);
}

/* ---- Access ---- */

enum soft_stag_result soft_stag_check(struct soft_stags *stags, uint32_t key,
				      const struct tp_pd *pd, uint64_t addr, uint64_t len,
				      uint32_t access)
{
	const struct soft_mr *mr = find(stags, key);

	if (!key || !mr)
		return SOFT_STAG_INVALID;
	if (mr->base.pd != pd)
		return SOFT_STAG_PD;
	if (addr + len < addr)
		return SOFT_STAG_WRAP;
	if (addr < mr->addr || addr - mr->addr > mr->length || len > mr->length - (addr - mr->addr))
		return SOFT_STAG_BOUNDS;
	if ((mr->access & access) != access)
		return SOFT_STAG_ACCESS;
	return SOFT_STAG_OK;
}

/* ---- Registration ---- */

/* Old kernels: at least that something is mapped there. */
static int check_mapped(uintptr_t start, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), chunk, max = 4096 * page;
	unsigned char resident[4096];

	for (; len; start += chunk, len -= chunk) {
		chunk = len < max ? len : max;
		if (mincore((void *)start, chunk, resident))
			return -EFAULT;
	}
	return 0;
}

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
	if (errno != EINVAL)
		return errno == EHWPOISON || errno == EAGAIN ? -errno : -EFAULT;
	/* EINVAL: the protection forbids it, or the kernel (before 5.14) does not know the
	 * question. */
	if (!madvise((void *)((uintptr_t)&probe & ~(page - 1)), page, MADV_POPULATE_READ))
		return -EFAULT;
	return check_mapped(start, end - start);
}

static int mr_reg(struct tp_pd *pd, const struct tp_mr_attr *attr, struct tp_mr **out)
{
	struct soft_dev *dev = soft_dev(pd->dev);
	struct soft_mr *mr;
	int rc = check_range(attr);

	if (rc) {
		dapl_trace(DAPL_TRC_ERROR, "%s: memory %p length %llu not registered: %s",
			   dev->name, attr->addr, (unsigned long long)attr->length,
			   dapl_strerror(-rc));
		return rc;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		goto no_memory;
	mr->base.pd = pd;
	mr->addr = (uintptr_t)attr->addr;
	mr->length = attr->length;
	mr->access = attr->access;
	rc = publish(&dev->stags, mr);
	if (rc == -ENOMEM)
		goto no_memory;
	if (rc)
		goto free_mr;
	mr->base.lkey = mr->key;
	if (mr->access & (TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC))
		mr->base.rkey = mr->key;
	*out = &mr->base;
	return 0;

no_memory:
	rc = -ENOMEM;
free_mr:
	dapl_err("%s: memory %p not registered: %s", dev->name, attr->addr, dapl_strerror(-rc));
	free(mr);
	return rc;
}

/* Waits until nobody who may have seen an unpublished key is at work. */
static void quiesce(struct soft_dev *dev)
{
	struct soft_list *node;
	struct soft_qp *qp;

	pthread_mutex_lock(&dev->lock);
	for (node = dev->qps.next; node != &dev->qps; node = node->next) {
		qp = soft_container(node, struct soft_qp, node);
		pthread_mutex_lock(&qp->rx_lock);
		soft_qp_rx_unlock(qp);
		pthread_mutex_lock(&qp->tx_lock);
		soft_qp_tx_unlock(qp);
	}
	pthread_mutex_unlock(&dev->lock);
}

static void mr_dereg(struct tp_mr *base)
{
	struct soft_mr *mr = soft_container(base, struct soft_mr, base);
	struct soft_dev *dev = soft_dev(base->pd->dev);

	unpublish(&dev->stags, mr);
	quiesce(dev);
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

	if (!pd)
		return -ENOMEM;
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
