/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The steps of opening an IA, which programs of DAT 2.0 and of 1.2 take alike. */
#ifndef DAT_IA_INTERNAL_H
#define DAT_IA_INTERNAL_H

#include "dat/registry.h"

/* Sets *ia to NULL; all that is wrong with arguments. */
DAT_RETURN dat_ia_check_open(const char *name, DAT_COUNT qlen, const DAT_EVD_HANDLE *async_evd,
			     DAT_IA_HANDLE *ia, DAT_BOOLEAN thread_safety);

void dat_ia_fill_key(DAT_PROVIDER_INFO *key, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		     DAT_BOOLEAN thread_safety);

/* Opens through an entry that was acquired, and gives that back if it fails. */
DAT_RETURN dat_ia_open_entry(struct dat_entry *entry, const DAT_NAME_PTR name, DAT_COUNT qlen,
			     DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);

/* What became of it. */
void dat_ia_trace_open(const DAT_PROVIDER_INFO *wanted, DAT_IA_HANDLE handle, DAT_RETURN rc);

#endif
