/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file udat_vendor_specific.h
 * Trace levels and the functions that read and change them in a running program.
 */
#ifndef UDAT_VENDOR_SPECIFIC_H
#define UDAT_VENDOR_SPECIFIC_H

#include "dat_vendor_specific.h"

/* Trace levels run from 0, nothing, to 10, everything; these three have names (VND-11). */
#ifndef TRC_LVL_ERROR
#define TRC_LVL_ERROR  1
#define TRC_LVL_NORMAL 3
#define TRC_LVL_DETAIL 7
#endif

/* Identifiers on trace records: which component wrote them and what they are (VND-12). */
#define DAT_TRACE_HOOK_DAPL_EVENT 0x5c3
#define DAT_TRACE_HOOK_DAPL_ERROR 0x5c4
#define DAT_TRACE_HOOK_DAT_EVENT  0x5c7
#define DAT_TRACE_HOOK_DAT_ERROR  0x5c8

/**
 * Value of the vendor attribute "debug_query": reads both trace levels (VND-8).
 */
typedef DAT_RETURN (*DAT_DEBUG_QUERY_FUNC)(OUT DAT_COUNT *dat_level, OUT DAT_COUNT *dapl_level);

/**
 * Value of the vendor attribute "debug_modify": sets both trace levels at once, for the whole
 * process. -1 leaves a level as it is (VND-9).
 */
typedef DAT_RETURN (*DAT_DEBUG_MODIFY_FUNC)(IN DAT_COUNT dat_level, IN DAT_COUNT dapl_level);

#endif /* UDAT_VENDOR_SPECIFIC_H */
