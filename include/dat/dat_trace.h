/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_trace.h
 * Looking at and changing the trace of a running program.
 *
 * A portable program finds the two calls on levels through the vendor attributes of an open IA:
 * where there is one named "vendor_extension" (VND-3), the values of those named "debug_query" and
 * "debug_modify" are their addresses, to be cast to DAT_DEBUG_QUERY_FUNC and
 * DAT_DEBUG_MODIFY_FUNC. Linked with this project's libdat2, it may also call them by name.
 */
#ifndef DAT_TRACE_H_INCLUDED
#define DAT_TRACE_H_INCLUDED

#include "udat.h"

DAT_BEGIN_DECLS

/**
 * Ask for the trace levels of the registry library and of the provider libraries.
 *
 * @param dat_level out: 0 (nothing) to 10 (everything); not NULL
 * @param dapl_level out: likewise
 * @retval DAT_SUCCESS both are set
 * @retval DAT_INVALID_PARAMETER a pointer is NULL (subtype: which)
 *
 * Events: none.
 * Blocking: no.
 * Threads: any.
 * Clauses: VND-8, VND-9.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_trclvl_query(OUT DAT_COUNT *dat_level, OUT DAT_COUNT *dapl_level);

/**
 * Change the trace levels, at once and for the whole process.
 *
 * @param dat_level 0 to 10, or -1 to leave it as it is
 * @param dapl_level likewise
 * @retval DAT_SUCCESS a query tells the new ones
 * @retval DAT_INVALID_PARAMETER another level (subtype: which); neither has changed
 *
 * Events: none.
 * Blocking: no.
 * Threads: any.
 * Clauses: VND-8, VND-9, VND-13.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_trclvl_modify(IN DAT_COUNT dat_level, IN DAT_COUNT dapl_level);

/**
 * Function that takes trace records: the argument given with it, the record's hook and level, and
 * the line that the other sinks get, which ends with a newline and is valid during the call.
 *
 * It runs on the thread that does what is traced, possibly on several at once and with locks of the
 * library held: it must neither make a call of this interface nor wait for a thread that may be in
 * one.
 */
typedef void (*DAT_TRACE_FUNC)(DAT_PVOID arg, int hook, int level, const char *record);

/**
 * Hand all trace records of this process to a function as well.
 *
 * The function before it, if any, is not called any more when this returns, and has returned itself.
 * While that is waited for, records go to neither.
 *
 * @param func NULL ends it
 * @param arg handed to func
 * @retval DAT_SUCCESS always
 *
 * Events: none.
 * Blocking: until calls of the function before have returned.
 * Threads: any.
 * Clauses: VND-12.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_trace_callback(IN DAT_TRACE_FUNC func, IN DAT_PVOID arg);

DAT_END_DECLS

#endif
