/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the environment and dapl.conf say about the trace. */
#ifndef TRACE_OPTIONS_H
#define TRACE_OPTIONS_H

/* Reads the environment, once, before anything is traced. */
void dat_trace_options_read(void);

#endif
