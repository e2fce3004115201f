/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which region a context names (D12-91): binds of DAT 1.2 say the context, those of DAT 2.0 the
 * handle. Finding one takes no lock.
 */
#ifndef DAT12_CONTEXTS_H
#define DAT12_CONTEXTS_H

#include "dat-1.2/libdat2.h"

struct dat12_context;

/* Before the region is made, so that nothing has to be undone for lack of memory; NULL: none. */
struct dat12_context *dat12_context_new(void);
void dat12_context_add(struct dat12_context *context, DAT_IA_HANDLE ia, DAT_LMR_CONTEXT name,
		       DAT_LMR_HANDLE lmr);
/* What was not added. */
void dat12_context_drop(struct dat12_context *context);

/* The region is gone; its context was this. */
void dat12_context_forget(DAT_LMR_CONTEXT name, DAT_LMR_HANDLE lmr);

/*
 * The IA is being closed: regions that it has now are gone when that succeeded. Another IA may have
 * got its number by then.
 */
void dat12_contexts_begin_close(DAT_IA_HANDLE ia);
void dat12_contexts_end_close(DAT_IA_HANDLE ia, int closed);

/* Regions of any IA that have the context, the newest first; at most max of them. */
unsigned int dat12_contexts_find(DAT_LMR_CONTEXT name, DAT_LMR_HANDLE *lmrs, unsigned int max);

#endif
