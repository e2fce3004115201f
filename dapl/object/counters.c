/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading counters, and what those of an adapter, an endpoint and a dispatcher are called. */
#include "dapl/object/counters.h"

void dapl_counters_of_ia(struct dapl_ia *ia, uint64_t *value)
{
	int i;

	for (i = 0; i < DCNT_IA_ALL_COUNTERS; i++)
		value[i] = atomic_load_explicit(&ia->counters->count[i], memory_order_relaxed);
}

void dapl_counters_since(struct dapl_counters_view *view, uint64_t *base)
{
	uint64_t now;
	int i;

	for (i = view->first; i < view->end; i++) {
		now = view->value[i];
		view->value[i] = now - base[i];
		if (view->reset)
			base[i] = now;
	}
}

/* The names, in the order of the public header, from which they are made (dapl/Makemodule.am). */

const char *const dapl_ia_counter_names[DCNT_IA_ALL_COUNTERS] = {
#include "dapl/object/ia_counters.inc"
};

const char *const dapl_ep_counter_names[DCNT_EP_ALL_COUNTERS] = {
#include "dapl/object/ep_counters.inc"
};

const char *const dapl_evd_counter_names[DCNT_EVD_ALL_COUNTERS] = {
#include "dapl/object/evd_counters.inc"
};
