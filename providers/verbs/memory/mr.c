/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection domains and memory regions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "trace/log.h"
#include "providers/verbs/memory/memory.h"

#define MR_CHAINS 1024 /* a power of two */

/* ---- Protection domains ---- */

static int pd_alloc(struct tp_device *base, struct tp_pd **out)
{
	struct vrb_dev *dev = vrb_dev(base);
	struct vrb_pd *pd = calloc(1, sizeof(*pd));

	if (pd) {
		errno = 0;
		pd->ibpd = ibv_alloc_pd(dev->ctx);
	}
	if (!pd || !pd->ibpd) {
		dapl_err("%s: protection domain not allocated: %s", dev->name,
			 dapl_strerror(pd && errno ? errno : ENOMEM));
		free(pd);
		return -ENOMEM;
	}
	pd->base.dev = base;
	*out = &pd->base;
	return 0;
}

static void pd_finish(struct vrb_reap *item)
{
	struct vrb_pd *pd = container_of(item, struct vrb_pd, reap);
	int err = ibv_dealloc_pd(pd->ibpd);

	if (vrb_dev_kept(vrb_dev(pd->base.dev), err))
		dapl_err("%s: protection domain not freed: %s", vrb_dev(pd->base.dev)->name,
			 dapl_strerror(err));
	free(pd);
}

static void pd_free(struct tp_pd *base)
{
	struct vrb_pd *pd = vrb_pd(base);

	pd->reap.run = pd_finish;
	vrb_reap_after(vrb_dev(base->dev), &pd->reap);
}

/* ---- Finding a region by its key ---- */

static struct vrb_mr **chain(struct vrb_dev *dev, uint32_t lkey)
{
	/* Drivers vary the low byte or count in the upper ones. */
	return &dev->mrs[(lkey ^ lkey >> 8 ^ lkey >> 18) & (MR_CHAINS - 1)];
}

static int list(struct vrb_dev *dev, struct vrb_mr *mr)
{
	struct vrb_mr **link;
	int rc = -ENOMEM;

	pthread_mutex_lock(&dev->mr_lock);
	if (!dev->mrs)
		dev->mrs = calloc(MR_CHAINS, sizeof(struct vrb_mr *));
	if (dev->mrs) {
		link = chain(dev, mr->base.lkey);
		mr->next = *link;
		*link = mr;
		rc = 0;
	}
	pthread_mutex_unlock(&dev->mr_lock);
	return rc;
}

static void unlist(struct vrb_dev *dev, struct vrb_mr *mr)
{
	struct vrb_mr **link;

	pthread_mutex_lock(&dev->mr_lock);
	for (link = chain(dev, mr->base.lkey); *link != mr; link = &(*link)->next)
		;
	*link = mr->next;
	atomic_fetch_add(&dev->mr_gen, 1);
	pthread_mutex_unlock(&dev->mr_lock);
}

void vrb_mr_take_hint(struct vrb_dev *dev, struct vrb_mr_hint *hint, const struct vrb_pd *pd,
		      uint32_t lkey)
{
	struct vrb_mr *mr = NULL;

	pthread_mutex_lock(&dev->mr_lock);
	hint->gen = atomic_load(&dev->mr_gen);
	if (dev->mrs)
		for (mr = *chain(dev, lkey); mr; mr = mr->next)
			if (mr->base.lkey == lkey && mr->base.pd == &pd->base)
				break;
	hint->lkey = mr ? lkey : 0;
	hint->start = mr ? mr->start : 1;
	hint->end = mr ? mr->end : 0;
	pthread_mutex_unlock(&dev->mr_lock);
}

static bool allows(struct vrb_dev *dev, const struct vrb_pd *pd, const struct tp_sge *sge,
		   bool write)
{
	const struct vrb_mr *mr = dev->mrs ? *chain(dev, sge->lkey) : NULL;

	for (; mr; mr = mr->next)
		if (mr->base.lkey == sge->lkey)
			return mr->base.pd == &pd->base && (mr->writable || !write) &&
			       sge->addr >= mr->start && sge->addr <= mr->end &&
			       sge->length <= mr->end - sge->addr;
	return false;
}

bool vrb_mr_allows(struct vrb_dev *dev, const struct vrb_pd *pd, const struct tp_sge *sge,
		   uint32_t num, bool write)
{
	bool all = true;
	uint32_t i;

	pthread_mutex_lock(&dev->mr_lock);
	for (i = 0; i < num && all; i++)
		all = allows(dev, pd, &sge[i], write);
	pthread_mutex_unlock(&dev->mr_lock);
	return all;
}

/* ---- Memory regions ---- */

static int access_flags(const struct vrb_dev *dev, uint32_t access)
{
	return (dev->windows ? IBV_ACCESS_MW_BIND : 0) |
	       (dev->on_demand ? IBV_ACCESS_ON_DEMAND : 0) |
	       (access & TP_ACCESS_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (access & TP_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & TP_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (access & TP_ACCESS_REMOTE_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/* Memory of the process that is pinned or locked, in bytes. */
static uint64_t pinned(void)
{
	unsigned long long kb, sum = 0;
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmPin: %llu", &kb) == 1 || sscanf(line, "VmLck: %llu", &kb) == 1)
			sum += kb * 1024;
	fclose(status);
	return sum;
}

/* The kernel says ENOMEM for both: no memory, and more of it pinned than the process may. */
static int refused(struct vrb_dev *dev, const struct tp_mr_attr *attr, int err)
{
	struct rlimit limit;
	uint64_t now;

	if (err == ENOMEM && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY) {
		now = pinned();
		if (attr->length > limit.rlim_cur || now + attr->length > limit.rlim_cur) {
			dapl_err("%s: %llu bytes at %p not registered: %llu of %llu bytes that the "
				 "process may lock are pinned (limit: locked memory; knob: ulimit "
				 "-l)",
				 dev->name, (unsigned long long)attr->length, attr->addr,
				 (unsigned long long)now, (unsigned long long)limit.rlim_cur);
			return -EAGAIN;
		}
	}
	dapl_err("%s: %llu bytes at %p not registered: %s%s", dev->name,
		 (unsigned long long)attr->length, attr->addr, dapl_strerror(err),
		 vrb_paging_hint(err));
	switch (err) {
	case EFAULT:
	case EINVAL:
		return -EFAULT;
	case ENOSPC:
	case EAGAIN:
		return -ENOSPC;
	default:
		return -ENOMEM;
	}
}

static int no_memory(const struct vrb_dev *dev, const struct tp_mr_attr *attr)
{
	dapl_err("%s: %llu bytes at %p not registered: %s", dev->name,
		 (unsigned long long)attr->length, attr->addr, dapl_strerror(ENOMEM));
	return -ENOMEM;
}

static int mr_reg(struct tp_pd *base, const struct tp_mr_attr *attr, struct tp_mr **out)
{
	struct vrb_dev *dev = vrb_dev(base->dev);
	const uint32_t remote =
		TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC;
	struct vrb_mr *mr = calloc(1, sizeof(*mr));
	int rc = -ENOMEM;

	if (!mr)
		return no_memory(dev, attr);
	errno = 0;
	mr->ibmr = VRB_GLOBAL(ibv_reg_mr(vrb_pd(base)->ibpd, attr->addr, attr->length,
					 access_flags(dev, attr->access)));
	if (!mr->ibmr) {
		rc = refused(dev, attr, errno ? errno : ENOMEM);
		goto free_mr;
	}
	mr->base.pd = base;
	mr->base.lkey = mr->ibmr->lkey;
	mr->base.rkey = attr->access & remote ? mr->ibmr->rkey : 0;
	mr->start = (uintptr_t)attr->addr;
	mr->end = mr->start + attr->length;
	mr->writable = attr->access & TP_ACCESS_LOCAL_WRITE;
	rc = list(dev, mr);
	if (!rc) {
		vrb_paging_count(1);
		*out = &mr->base;
		return 0;
	}
	no_memory(dev, attr);
	VRB_GLOBAL(ibv_dereg_mr(mr->ibmr));
free_mr:
	free(mr);
	return rc;
}

static void mr_dereg(struct tp_mr *base)
{
	struct vrb_mr *mr = container_of(base, struct vrb_mr, base);
	struct vrb_dev *dev = vrb_dev(base->pd->dev);
	int err;

	unlist(dev, mr);
	vrb_paging_count(-1);
	do {
		err = VRB_GLOBAL(ibv_dereg_mr(mr->ibmr));
	} while (err && vrb_mw_unbind_one(dev, mr->ibmr));
	if (vrb_dev_kept(dev, err))
		dapl_err("%s: region at 0x%llx not deregistered: %s", dev->name,
			 (unsigned long long)mr->start, dapl_strerror(err));
	free(mr);
}

const struct dapl_pd_ops vrb_pd_ops = {
	.alloc = pd_alloc,
	.free = pd_free,
};

const struct dapl_mr_ops vrb_mr_ops = {
	.reg = mr_reg,
	.dereg = mr_dereg,
};
