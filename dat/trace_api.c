/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The public calls on the trace. */
#include "dat/internal.h"
#include "trace/dat_log.h"
#include "trace/sink.h"

DAT_RETURN dat_trclvl_query(DAT_COUNT *dat_level, DAT_COUNT *dapl_level)
{
	if (!dat_level)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!dapl_level)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*dat_level = dat_trace_level(DAT_TRC_DAT);
	*dapl_level = dat_trace_level(DAT_TRC_DAPL);
	return DAT_SUCCESS;
}

DAT_RETURN dat_trclvl_modify(DAT_COUNT dat_level, DAT_COUNT dapl_level)
{
	if (dat_level < -1 || dat_level > DATS_TRC_MAX)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (dapl_level < -1 || dapl_level > DATS_TRC_MAX)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	dat_trace_change_level(DAT_TRC_DAT, dat_level);
	dat_trace_change_level(DAT_TRC_DAPL, dapl_level);
	return DAT_SUCCESS;
}

DAT_RETURN dat_trace_callback(DAT_TRACE_FUNC func, void *arg)
{
	dat_sink_callback(func, arg);
	return DAT_SUCCESS;
}
