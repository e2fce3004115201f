/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection zones. */
#ifndef DAPL_PZ_H
#define DAPL_PZ_H

#include "dapl/object/object.h"
#include "dapl/transport.h"

/* users: EPs, SRQs, LMRs and RMRs. */
struct dapl_pz {
	struct dapl_object obj;
	struct tp_pd *pd;
};

extern const struct dapl_class dapl_pz_class;

/* A PZ of ia, which counts one more user, or NULL. */
struct dapl_pz *dapl_pz_use(DAT_PZ_HANDLE handle, const struct dapl_ia *ia);

#endif
