/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of extension operations share. */
#ifndef EXT_UTIL_H
#define EXT_UTIL_H

#include <dat2/dat_ib_extensions.h>

#include "conn_util.h"

/* The value of a named attribute, or NULL. */
const char *xu_named(const struct cu_rig *rig, const char *name);
/* Skips the test unless the attribute is "TRUE" (IBX-117). */
void xu_need(const struct cu_rig *rig, const char *name);

/* Rights of a target of atomics, and all others. */
#define XU_ALL ((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC))

/* What is expected of an extension event. */
struct xu_event {
	DAT_EP_HANDLE ep;
	uint64_t cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_IB_DTOS operation;
	DAT_IB_EXT_TYPE type;
	size_t len;	/* of a success */
	uint32_t immed; /* ditto */
};

/* Compares an event, down to the bytes that are to be zero (IBX-20 to IBX-26). */
void xu_check(const DAT_EVENT *event, DAT_EVD_HANDLE evd, struct xu_event want, const char *file,
	      int line);
/* Takes the next event of evd within CT_MS and compares it. */
void xu_check_next(DAT_EVD_HANDLE evd, struct xu_event want, const char *file, int line);
#define XDONE(evd, ...) xu_check_next((evd), (struct xu_event){ __VA_ARGS__ }, __FILE__, __LINE__)

/* A write with immediate data; the second from offset 0 of the end's memory to the peer's at
 * to_off. */
DAT_RETURN xu_post_immed(struct ct_end *end, DAT_COUNT num, const DAT_LMR_TRIPLET *from,
			 const DAT_RMR_TRIPLET *to, uint32_t immed, uint64_t cookie,
			 uint32_t flags);
DAT_RETURN xu_write_immed(struct ct_end *end, size_t len, const struct ct_mem *to, size_t to_off,
			  uint32_t immed, uint64_t cookie);
/* Its events at the one end and the other. */
#define XU_WROTE(end, c, len)                                                               \
	XDONE((end)->request, (end)->ep, (c), DAT_DTO_SUCCESS, DAT_IB_DTO_RDMA_WRITE_IMMED, \
	      DAT_IB_RDMA_WRITE_IMMED, (len), 0)
#define XU_TOLD(end, c, len, immed)                                                \
	XDONE((end)->recv, (end)->ep, (c), DAT_DTO_SUCCESS, DAT_IB_DTO_RECV_IMMED, \
	      DAT_IB_RDMA_WRITE_IMMED_DATA, (len), (immed))

/* A 64-bit word of memory that peers change: see CU_PEER_MEMORY. */
uint64_t xu_word(const void *at);
void xu_set_word(void *at, uint64_t value);

#endif
