/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What dat_ia_query tells, as text. */
#ifndef INFO_ATTRS_H
#define INFO_ATTRS_H

#include <stdio.h>

#include <dat/udat.h>

/* Each writes records of four strings that end with a NUL: group, name, text, JSON value. */
void info_attrs_ia(FILE *out, const DAT_IA_ATTR *attr);
void info_attrs_provider(FILE *out, const DAT_PROVIDER_ATTR *attr);

#endif
