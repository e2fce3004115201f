/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Declares the values of a table of tunables: struct CONFIG, and the variable of that name. The
 * file TUNABLES has the rows, and a row all there is to say of a tunable:
 *
 *   SWITCH(member, name, variable, default, help)
 *   NUMBER(member, name, variable, unit, default, least, most, help)
 *   CHOICE(member, name, variable, choices, default, help)
 *   TEXT(member, name, variable, default, help)
 *
 * name is that of dapl.conf; variable, of the environment, overrides it, or is NULL; further fields
 * of struct dapl_option may follow. config_define.h makes the table of the same rows, and
 * tools/dapl-conf.py writes the documentation.
 */
#include <stdint.h>

#define SWITCH(member, ...) int64_t member;
#define NUMBER(member, ...) int64_t member;
#define CHOICE(member, ...) int64_t member;
#define TEXT(member, ...)   const char *member;

extern struct CONFIG {
#include TUNABLES
} CONFIG;

#undef SWITCH
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef CONFIG
#undef TUNABLES
