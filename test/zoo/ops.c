/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/zoo/verbs.h"

/*
 * Whether the kernel would pin these pages: they are mapped, and writable where the adapter is to
 * write. 0, EFAULT, or why that cannot be looked up.
 */
int zoo_mapped(const void *addr, size_t length, unsigned int access)
{
	uint64_t at = (uintptr_t)addr, last = at + (length ? length - 1 : 0);
	unsigned long long start, end;
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512], rights[5];
	bool all = false;

	if (!file)
		return errno;
	while (!all && last >= at && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx %4s", &start, &end, rights) != 3 || end <= at)
			continue;
		if (start > at || rights[0] != 'r' ||
		    ((access & IBV_ACCESS_LOCAL_WRITE) && rights[1] != 'w'))
			break;
		at = end;
		all = last < end;
	}
	fclose(file);
	return all ? 0 : EFAULT;
}

/* As libibverbs has it for what a library does not have (dummy_ops.c). */
static struct ibv_mw *no_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	(void)pd;
	(void)type;
	errno = EOPNOTSUPP;
	return NULL;
}

static int no_dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return EOPNOTSUPP;
}

static int no_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EOPNOTSUPP;
}

void zoo_set_ops(struct ibv_context_ops *ops, const struct zoo_kind *kind)
{
	ops->poll_cq = zoo_poll_cq;
	ops->req_notify_cq = zoo_req_notify_cq;
	ops->post_send = zoo_post_send;
	ops->post_recv = zoo_post_recv;
	ops->post_srq_recv = zoo_post_srq_recv;
	ops->alloc_mw = kind->no_mw_call ? no_alloc_mw : zoo_alloc_mw;
	ops->dealloc_mw = kind->no_mw_call ? no_dealloc_mw : zoo_dealloc_mw;
	ops->bind_mw = kind->no_mw_call ? no_bind_mw : zoo_bind_mw;
}
