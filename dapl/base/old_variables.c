/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What release 2.1.10 took from the environment and has no counterpart here, unless a module's
 * table declares it.
 */
#include "dapl/base/config.h"

#include <string.h>

#define NO_HINTS  "nothing here is sized by the number of nodes or processes"
#define OF_OTHERS "no connection manager of this provider has such a step"
#define NO_LEAKS  "memory is watched by the sanitizers and valgrind instead"

static const struct {
	const char *name, *why;
} unused[] = {
	{ "DAPL_DBG_LEVEL", "levels are set by DAPL_TRACE_LEVEL" },
	{ "DAPL_DBG_SYS_MEM", NO_LEAKS },
	{ "DAPL_LOOPBACK", "a process always connects to itself" },
	{ "DAPL_MAX_CM_RESPONSE_TIME", OF_OTHERS },
	{ "DAPL_MAX_CM_RETRIES", OF_OTHERS },
	{ "DAPL_NETWORK_NODES", NO_HINTS },
	{ "DAPL_NETWORK_PPN", NO_HINTS },
	{ "DAPL_NETWORK_PROCESS_NUM", NO_HINTS },
	{ "DAPL_NETWORK_TRESHOLD", NO_HINTS },
	{ "DAPL_UCM_ARRAY_BITS", "tables of connections grow as they fill" },
	{ "DAPL_UCM_CQ_SIZE", "they have what DAPL_UCM_QP_SIZE says" },
	{ "DAPL_UCM_ENTRY_BITS", "tables of connections grow as they fill" },
	{ "DAPL_UCM_TIMER", "timers expire at their times" },
	{ "DAPL_UCM_TX_BURST", "each message sent is told of" },
};

const char *dapl_old_variable(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		if (!strcmp(unused[i].name, name))
			return unused[i].why;
	return NULL;
}
