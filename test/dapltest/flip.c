/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Preloaded into a client to spoil one transfer, so that a test can tell that -V sees it.
 * DT_SPOIL is send, write or read: of the transfers of that kind that have several segments the
 * third is spoiled, by one bit of what is sent or written, or by the places of the two segments of
 * what is read.
 */
#define _GNU_SOURCE 1
#include <dat/udat.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VICTIM	3
#define VISIBLE __attribute__((visibility("default")))

static atomic_int seen;

static int is_victim(const char *kind)
{
	const char *wanted = getenv("DT_SPOIL");

	return wanted && !strcmp(wanted, kind) && atomic_fetch_add(&seen, 1) + 1 == VICTIM;
}

static void flip_last_bit(const DAT_LMR_TRIPLET *iov)
{
	unsigned char *bytes = (unsigned char *)(uintptr_t)iov->virtual_address;

	bytes[iov->segment_length - 1] ^= 1;
}

typedef DAT_RETURN post_send_fn(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				DAT_COMPLETION_FLAGS);
typedef DAT_RETURN post_rdma_fn(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);

static void *next(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (!symbol)
		abort();
	return symbol;
}

VISIBLE DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (count > 1 && is_victim("send"))
		flip_last_bit(&iov[count - 1]);
	return ((post_send_fn *)next("dat_ep_post_send"))(ep, count, iov, cookie, flags);
}

VISIBLE DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
					  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					  DAT_COMPLETION_FLAGS flags)
{
	if (count > 1 && is_victim("write"))
		flip_last_bit(&iov[count - 1]);
	return ((post_rdma_fn *)next("dat_ep_post_rdma_write"))(ep, count, iov, cookie, remote,
								flags);
}

VISIBLE DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
					 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					 DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET swapped[2];

	if (count == 2 && is_victim("read")) {
		swapped[0] = iov[1];
		swapped[1] = iov[0];
		iov = swapped;
	}
	return ((post_rdma_fn *)next("dat_ep_post_rdma_read"))(ep, count, iov, cookie, remote,
							       flags);
}
