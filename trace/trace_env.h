/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the environment and dapl.conf say about the trace. */
#ifndef DAT_TRACE_ENV_H
#define DAT_TRACE_ENV_H

/* Components, as indices of their levels. */
enum {
	DAT_TRC_DAT,
	DAT_TRC_DAPL,
};

/* Sets a level unless one was set at run time; trace.c. */
void dat_trace_initial_level(int component, int level);

/* Silence even about failures: DAT_TRACE_LEVEL=0 stands in the environment; trace.c. */
void dat_trace_silence(void);

/* Reads the environment, once, before anything is traced. */
void dat_trace_env_read(void);

#endif
