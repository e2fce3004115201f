/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Local memory regions. */
#ifndef DAPL_LMR_H
#define DAPL_LMR_H

#include "dapl/memory/pz.h"
#include "dapl/object/object.h"
#include "dapl/transport.h"

struct dapl_lmr {
	struct dapl_object obj;
	struct dapl_pz *pz;
	struct tp_mr *mr;
	DAT_LMR_CONTEXT lkey; /* of mr, which ends before the object leaves the IA's list */
	void *addr;	      /* the registered range */
	DAT_VLEN length;
	DAT_MEM_TYPE mem_type; /* as created, this and what follows */
	DAT_REGION_DESCRIPTION region;
	char cookie[DAT_LMR_COOKIE_SIZE]; /* of DAT_MEM_TYPE_SHARED_VIRTUAL */
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_VA_TYPE va_type;
};

extern const struct dapl_class dapl_lmr_class;

/* Whether it lies inside, as the LMR is addressed. */
bool dapl_lmr_covers(const struct dapl_lmr *lmr, const DAT_LMR_TRIPLET *range);

#endif
