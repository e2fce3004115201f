/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/adapter/extension.h"

#include <dat/dat_ib_extensions.h>

#include "dapl/adapter/counters.h"
#include "dapl/transfer/dto.h"
#include "dapl/adapter/query_only.h"
#include "dapl/base/status.h"

static DAT_RETURN fetch_and_add(DAT_HANDLE handle, va_list args)
{
	DAT_UINT64 add = va_arg(args, DAT_UINT64);
	DAT_LMR_TRIPLET *local = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dapl_ext_fetch_and_add(handle, add, local, cookie, remote, flags);
}

static DAT_RETURN cmp_and_swap(DAT_HANDLE handle, va_list args)
{
	DAT_UINT64 compare = va_arg(args, DAT_UINT64);
	DAT_UINT64 swap = va_arg(args, DAT_UINT64);
	DAT_LMR_TRIPLET *local = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dapl_ext_cmp_and_swap(handle, compare, swap, local, cookie, remote, flags);
}

static DAT_RETURN write_immediate(DAT_HANDLE handle, va_list args)
{
	DAT_COUNT num = va_arg(args, DAT_COUNT);
	DAT_LMR_TRIPLET *local = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	DAT_RMR_TRIPLET *remote = va_arg(args, DAT_RMR_TRIPLET *);
	DAT_UINT32 immediate = va_arg(args, DAT_UINT32);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);

	return dapl_ext_write_immediate(handle, num, local, cookie, remote, immediate, flags);
}

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

DAT_RETURN dapl_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	switch ((int)op) {
	case DAT_IB_FETCH_AND_ADD_OP:
		return fetch_and_add(handle, args);
	case DAT_IB_CMP_AND_SWAP_OP:
		return cmp_and_swap(handle, args);
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		return write_immediate(handle, args);
	case DAT_IB_QUERY_COUNTERS_OP:
		return query_counters(handle, args);
	case DAT_IB_PRINT_COUNTERS_OP:
		return print_counters(handle, args);
	case DAT_IB_START_COUNTERS_OP:
		return dapl_ext_start_counter(handle, va_arg(args, int));
	case DAT_IB_STOP_COUNTERS_OP:
		return dapl_ext_stop_counter(handle, va_arg(args, int));
	case DAT_IB_OPEN_QUERY_OP:
		return dapl_ext_open_query(args);
	case DAT_IB_CLOSE_QUERY_OP:
		return dapl_ext_close_query(handle);
	default:
		return DAPL_NOT_IMPLEMENTED; /* IBX-10: no argument is read */
	}
}
