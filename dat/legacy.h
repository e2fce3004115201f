/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What libdat2 offers to libdat.so.1, which serves programs of DAT 1.2. */
#ifndef DAT_LEGACY_H
#define DAT_LEGACY_H

#pragma GCC visibility push(default)

#include <dat/udat.h>
#include <dat/dat_registry.h>

/*
 * Opens the name for a program of DAT 1.2: lines of dat.conf that say u1.2 and that one of our
 * modules can serve, then those of DAT 2.0, until one opens (D12-101 to D12-105). The words are
 * those of DAT 2.0.
 */
DAT_RETURN dats_legacy_open(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			    DAT_BOOLEAN thread_safety);

/* The names that it can open, once each (D12-107, D12-108). */
DAT_RETURN dats_legacy_list(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
			    DAT_PROVIDER_INFO *list[]);

#pragma GCC visibility pop

#endif
