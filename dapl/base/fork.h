/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What parts of this module do when the process forks (GEN-32, GEN-33). */
#ifndef DAPL_BASE_FORK_H
#define DAPL_BASE_FORK_H

#include "dat/dats.h"

/* From a constructor; the watcher is static. */
void dapl_fork_watch(struct dats_fork_watcher *watcher);

#endif
