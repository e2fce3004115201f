/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of remote memory regions share. */
#ifndef BIND_UTIL_H
#define BIND_UTIL_H

#include "conn_util.h"

#define BU_REMOTE \
	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))

bool bu_has_scope(const struct cu_rig *rig, DAT_RMR_SCOPE scope);
/* A region of the end's zone; skips the test where the adapter has none of that scope. */
DAT_RMR_HANDLE bu_rmr(const struct cu_rig *rig, DAT_PZ_HANDLE pz, DAT_RMR_SCOPE scope);
/* The same with a scope that the adapter has. */
DAT_RMR_HANDLE bu_any_rmr(const struct cu_rig *rig, DAT_PZ_HANDLE pz);

/* A binding, with every argument of the call. */
struct bu_bind {
	const struct ct_mem *mem;
	size_t offset, len;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va_type;
	uint64_t cookie;
	DAT_COMPLETION_FLAGS flags;
};

DAT_RETURN bu_post(struct ct_end *end, DAT_RMR_HANDLE rmr, struct bu_bind bind,
		   DAT_RMR_CONTEXT *context);
/* Remote read and write to part of mem. */
DAT_RETURN bu_bind(struct ct_end *end, DAT_RMR_HANDLE rmr, const struct ct_mem *mem, size_t offset,
		   size_t len, uint64_t cookie, DAT_RMR_CONTEXT *context);
DAT_RETURN bu_unbind(struct ct_end *end, DAT_RMR_HANDLE rmr, uint64_t cookie);
/* The same, and waits for the success; the context. */
DAT_RMR_CONTEXT bu_bound(struct ct_end *end, DAT_RMR_HANDLE rmr, const struct ct_mem *mem,
			 size_t offset, size_t len);
void bu_unbound(struct ct_end *end, DAT_RMR_HANDLE rmr);

/* Takes the next event of evd within CT_MS, which must be this bind's. */
void bu_check_done(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
		   DAT_DTO_COMPLETION_STATUS status, const char *file, int line);
#define BOUND(evd, rmr, cookie) \
	bu_check_done((evd), (rmr), (cookie), DAT_DTO_SUCCESS, __FILE__, __LINE__)
#define BIND_FLUSHED(evd, rmr, cookie) \
	bu_check_done((evd), (rmr), (cookie), DAT_DTO_ERR_FLUSHED, __FILE__, __LINE__)

DAT_RMR_PARAM bu_query(DAT_RMR_HANDLE rmr);
/* What a query says of a region that is bound to nothing, and of one bound to part of mem by
 * bu_bind. */
void bu_check_unbound(DAT_RMR_HANDLE rmr);
void bu_check_bound(DAT_RMR_HANDLE rmr, const struct ct_mem *mem, size_t offset, size_t len,
		    DAT_RMR_CONTEXT context);
/*
 * The peer has posted no receive: a send waits, and what is posted behind it (DTO-90). An iWARP
 * device breaks the connection instead.
 */
void bu_stall(struct ct_end *end);
/* Whether a region is bound to mem: whether it cannot be freed. Must not be the last word. */
void bu_in_use(const struct ct_mem *mem);
/* Frees the region of mem, which nothing is bound to. */
void bu_free_lmr(struct ct_mem *mem);

/* A context of the peer as the target of a transfer. */
DAT_RMR_TRIPLET bu_target(DAT_VADDR address, size_t len, DAT_RMR_CONTEXT context);

#endif
