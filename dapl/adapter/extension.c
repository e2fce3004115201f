/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations of the InfiniBand and iWARP extensions. */
#include <stdarg.h>

#include <dat/dat_ib_extensions.h>
#include <dat/dat_iw_extensions.h>

#include "dapl/adapter/ib_counters.h"
#include "dapl/connect/connect.h"
#include "dapl/connect/sp.h"
#include "dapl/endpoint/ep_ud.h"
#include "dapl/object/object.h"
#include "dapl/transfer/operations.h"
#include "dapl/adapter/query_only.h"
#include "dapl/base/status.h"

static DAT_RETURN query_counters(DAT_HANDLE handle, va_list args)
{
	int counter = va_arg(args, int);
	DAT_UINT64 *out = va_arg(args, DAT_UINT64 *);
	int reset = va_arg(args, int);

	return dapl_ext_query_counters(handle, counter, out, reset);
}

static DAT_RETURN print_counters(DAT_HANDLE handle, va_list args)
{
	int counter = va_arg(args, int);
	int reset = va_arg(args, int);

	return dapl_ext_print_counters(handle, counter, reset);
}

/*
 * args begins with the first variadic argument; a case reads its own, in the order of its macro in
 * its header, and whoever answers checks handle and whether the adapter is announced with the
 * extension (IBX-9, IBX-11, IWX-3).
 */
DAT_RETURN dapl_handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	switch ((int)op) {
	case DAT_IB_QUERY_COUNTERS_OP:
		return query_counters(handle, args);
	case DAT_IB_PRINT_COUNTERS_OP:
		return print_counters(handle, args);
	case DAT_IB_START_COUNTERS_OP:
		return dapl_ext_start_counter(handle, va_arg(args, int));
	case DAT_IB_STOP_COUNTERS_OP:
		return dapl_ext_stop_counter(handle, va_arg(args, int));
	case DAT_IB_UD_AH_FREE_OP:
		return dapl_ext_ud_ah_free(handle, args);
	case DAT_IB_UD_CM_FREE_OP:
		return dapl_ext_ud_cm_free(handle, args);
	case DAT_IB_OPEN_QUERY_OP:
		return dapl_ext_open_query(args);
	case DAT_IB_CLOSE_QUERY_OP:
		return dapl_ext_close_query(handle);
	case DAT_IW_SSP_CREATE_OP:
		return dapl_ext_ssp_create(handle, args);
	case DAT_IW_SSP_FREE_OP:
		return dapl_ext_ssp_free(handle);
	case DAT_IW_SSP_QUERY_OP:
		return dapl_ext_ssp_query(handle, args);
	case DAT_IW_SOCKET_CONNECT_OP:
		return dapl_ext_socket_connect(handle, args);
	default:
		return dapl_post_extended((uint32_t)op, handle, args);
	}
}
