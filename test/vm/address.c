/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loaded before a program: tells on standard error what address a queue pair is given, for what
 * does not show on the wire of a soft device.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include <infiniband/verbs.h>

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*next)(struct ibv_qp *, struct ibv_qp_attr *, int);

	/* Not in the program's own scope: the provider that needs it was loaded later. */
	*(void **)&next = dlvsym(dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD),
				 "ibv_modify_qp", "IBVERBS_1.1");
	if (mask & IBV_QP_AV)
		fprintf(stderr, "address: sl=%u tclass=%u hop_limit=%u mtu=%d\n", attr->ah_attr.sl,
			attr->ah_attr.grh.traffic_class, attr->ah_attr.grh.hop_limit,
			128 << attr->path_mtu);
	return next(qp, attr, mask);
}
