/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remote memory regions: windows that are bound to parts of LMRs. */
#ifndef DAPL_RMR_H
#define DAPL_RMR_H

#include "dapl/memory/binding.h"
#include "dapl/memory/pz.h"
#include "dapl/object/object.h"

struct dapl_rmr {
	struct dapl_object obj;
	struct dapl_pz *pz;
	struct tp_mw *mw;
	DAT_RMR_SCOPE scope;
	struct dapl_bindings bindings; /* under ia->bind_lock */
};

extern const struct dapl_class dapl_rmr_class;

/* Settles what can be, so that the use counts of LMRs are exact. No lock but below ia->lock. */
void dapl_rmr_settle_all(struct dapl_ia *ia);

#endif
