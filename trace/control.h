/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control socket of the process; what others may do with it stands in exports.h. */
#ifndef TRACE_CONTROL_H
#define TRACE_CONTROL_H

#include <pthread.h>

#include "trace/exports.h"

/*
 * An IA was opened: starts the thread that answers, unless it runs, DAT_CONTROL forbids it or the
 * program is set-user-id. A failure is traced and has no other consequence (VND-13). Keeps errno.
 */
void dat_control_open(void);

/* An IA was closed: with the last one thread and descriptor go, before this returns (IA-89). */
void dat_control_close(void);

/* Held around a fork (dat/fork.c). */
extern pthread_mutex_t dat_control_lock;

/* In a forked child, where the thread stays behind: it gets one and a name when it opens an IA. */
void dat_control_abandon(void);

#endif
