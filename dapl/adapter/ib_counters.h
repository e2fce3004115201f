/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAPL_IB_COUNTERS_H
#define DAPL_IB_COUNTERS_H

#include <dat/udat.h>

struct dapl_counters_view;
struct dapl_object;

/* The dapl_class.read_counters of an IA. */
void dapl_ia_read_counters(struct dapl_object *obj, struct dapl_counters_view *view);

/* The macros of dat_ib_extensions.h of the same names, once their arguments are read. */
DAT_RETURN dapl_ext_query_counters(DAT_HANDLE handle, int counter, DAT_UINT64 *out, int reset);
DAT_RETURN dapl_ext_print_counters(DAT_HANDLE handle, int counter, int reset);
DAT_RETURN dapl_ext_start_counter(DAT_HANDLE handle, int type);
DAT_RETURN dapl_ext_stop_counter(DAT_HANDLE handle, int type);

#endif
