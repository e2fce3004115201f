/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of dapl.conf share: a file that DAPL_CONF names, and what is said of it. */
#ifndef CORE_CONFIG_UTIL_H
#define CORE_CONFIG_UTIL_H

#include <stddef.h>

extern char conf_path[64];
/* Of the group of tests. */
int make_conf(void **state);
int remove_conf(void **state);

void write_conf(const char *text);
void write_conf_bytes(const char *bytes, size_t length);

/* What went to standard error while body ran. */
extern char said[16384];
void hear(void (*body)(void));
void heard(const char *what);
void silent(void);
unsigned int lines(void);

#endif
