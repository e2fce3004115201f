/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters of the InfiniBand extension (IBX-94 to IBX-105). Objects count where they work, under
 * the lock that is held there anyway; what follows from other numbers is not counted twice. A
 * reset leaves all that alone and remembers from where to count.
 */
#ifndef DAPL_COUNTERS_H
#define DAPL_COUNTERS_H

#include <stdatomic.h>

#include <dat/dat_ib_extensions.h>

#include "dapl/object/ia.h"

struct dapl_ia_counters {
	_Atomic uint64_t count[DCNT_IA_ALL_COUNTERS];
	uint64_t base[DCNT_IA_ALL_COUNTERS]; /* where the last reset was; under ia->lock */
	/* What the device had counted when a group was started; under ia->lock. */
	uint64_t start[DCNT_IA_ALL_COUNTERS];
	bool started[DCNT_IA_DIAG + 1];
};

extern const char *const dapl_ia_counter_names[DCNT_IA_ALL_COUNTERS];
extern const char *const dapl_ep_counter_names[DCNT_EP_ALL_COUNTERS];
extern const char *const dapl_evd_counter_names[DCNT_EVD_ALL_COUNTERS];

/* Any thread, any lock. */
static inline void dapl_count_by(struct dapl_ia *ia, DAT_IA_COUNTERS counter, uint64_t by)
{
	atomic_fetch_add_explicit(&ia->counters->count[counter], by, memory_order_relaxed);
}

static inline void dapl_count(struct dapl_ia *ia, DAT_IA_COUNTERS counter)
{
	dapl_count_by(ia, counter, 1);
}

/* An error of connection management: in all, and of its kind. */
static inline void dapl_count_cm_error(struct dapl_ia *ia, DAT_IA_COUNTERS kind)
{
	dapl_count(ia, DCNT_IA_CM_ERR);
	dapl_count(ia, kind);
}

/* Counters of one object as somebody asks for them: those from first on before end. */
struct dapl_counters_view {
	int first, end;
	bool reset;
	uint64_t value[DCNT_IA_ALL_COUNTERS];
};

/* Values become what they are since base, and base moves if they are reset (IBX-99). */
void dapl_counters_since(struct dapl_counters_view *view, uint64_t *base);
/* What an IA has counted since it was opened: DCNT_IA_ALL_COUNTERS values. */
void dapl_counters_of_ia(struct dapl_ia *ia, uint64_t *value);

#endif
