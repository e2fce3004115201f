/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which adapters can back each other up (HA-1): only who runs the machine knows. */
#ifndef DAPL_HA_H
#define DAPL_HA_H

#include <stdbool.h>

/*
 * Whether a group names both. Groups are separated by semicolons, the names in a group by blanks or
 * commas. Pure.
 */
bool dapl_ha_together(const char *groups, const char *one, const char *other);

#endif
