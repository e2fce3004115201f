/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/minimal/minimal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mr {
	struct tp_mr base;
	uint64_t addr, length;
	uint32_t access;
	struct mr *next;
};

static struct mr *mrs;
static uint32_t last_key; /* never goes back: no key is given out twice (LMR-38) */

static int pd_alloc(struct tp_device *dev, struct tp_pd **out)
{
	struct tp_pd *pd = malloc(sizeof(*pd));

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

const struct dapl_pd_ops mini_pd_ops = {
	.alloc = pd_alloc,
	.free = pd_free,
};

/* Faults the pages in as a device's driver would, and finds out whether they are there. */
static bool is_mapped(const struct tp_mr_attr *attr)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), addr = (uintptr_t)attr->addr;
	uintptr_t first = addr & ~(page - 1);
	uintptr_t end = (addr + attr->length + page - 1) & ~(page - 1);
	int how = attr->access & TP_ACCESS_LOCAL_WRITE ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	return end > first && !madvise((void *)first, end - first, how);
}

static int mr_reg(struct tp_pd *pd, const struct tp_mr_attr *attr, struct tp_mr **out)
{
	const uint32_t remote = TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE;
	struct mr *mr;

	if (!is_mapped(attr))
		return -EFAULT;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	*mr = (struct mr){
		.base.pd = pd,
		.addr = (uintptr_t)attr->addr,
		.length = attr->length,
		.access = attr->access,
	};
	pthread_mutex_lock(&mini_lock);
	if (last_key == UINT32_MAX) {
		pthread_mutex_unlock(&mini_lock);
		free(mr);
		return -ENOSPC;
	}
	mr->base.lkey = ++last_key;
	mr->base.rkey = attr->access & remote ? mr->base.lkey : 0;
	mr->next = mrs;
	mrs = mr;
	pthread_mutex_unlock(&mini_lock);
	*out = &mr->base;
	return 0;
}

static void mr_dereg(struct tp_mr *base)
{
	struct mr *mr = mini_container(base, mr, base), **link;

	pthread_mutex_lock(&mini_lock);
	for (link = &mrs; *link != mr; link = &(*link)->next)
		;
	*link = mr->next;
	pthread_mutex_unlock(&mini_lock);
	free(mr);
}

const struct dapl_mr_ops mini_mr_ops = {
	.reg = mr_reg,
	.dereg = mr_dereg,
};

static bool is_allowed(const struct mini_side *side, const struct tp_sge *sge)
{
	const struct mr *mr;

	for (mr = mrs; mr && mr->base.lkey != sge->lkey; mr = mr->next)
		;
	return mr && mr->base.pd == side->pd && (mr->access & side->access) == side->access &&
	       sge->addr >= mr->addr && sge->length <= mr->length &&
	       sge->addr - mr->addr <= mr->length - sge->length;
}

bool mini_allowed(const struct mini_side *side)
{
	uint32_t i;

	for (i = 0; i < side->num_sge; i++)
		if (side->sge[i].length && !is_allowed(side, &side->sge[i]))
			return false;
	return true;
}

enum mini_copied mini_copy(const struct mini_side *from, const struct mini_side *to, uint64_t len)
{
	const struct tp_sge *src = from->sge, *dst = to->sge;
	uint32_t src_off = 0, dst_off = 0;
	uint64_t n;

	for (; len; len -= n, src_off += n, dst_off += n) {
		for (; src < from->sge + from->num_sge && src_off == src->length; src_off = 0)
			src++;
		for (; dst < to->sge + to->num_sge && dst_off == dst->length; dst_off = 0)
			dst++;
		if (src == from->sge + from->num_sge || !is_allowed(from, src))
			return MINI_BAD_SOURCE;
		if (dst == to->sge + to->num_sge || !is_allowed(to, dst))
			return MINI_BAD_SINK;
		n = src->length - src_off;
		n = n < dst->length - dst_off ? n : dst->length - dst_off;
		n = n < len ? n : len;
		memmove((char *)(uintptr_t)dst->addr + dst_off,
			(char *)(uintptr_t)src->addr + src_off, n);
	}
	return MINI_COPIED;
}
