/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which file is dat.conf. Writes no messages. */
#ifndef DAT_CONF_FILE_H
#define DAT_CONF_FILE_H

#include "dat/internal.h"

/*
 * Opens the file that REG-8 and REG-9 name. Returns a descriptor, or a negative errno; *path names
 * the file in either case and belongs to the environment. *passed_over is the negative errno for
 * which the file of this installation was given up and the fallback tried, else 0.
 */
int dat_conf_open(const char **path, int *passed_over);

/* Where it is looked for: first as the installation is configured, then here. */
const char *dat_conf_default_path(void);
#ifndef DAT_CONF_FALLBACK
#define DAT_CONF_FALLBACK "/etc/dat.conf"
#endif
/* The second one alone: a descriptor, or a negative errno. */
int dat_conf_open_fallback(void);

#endif
