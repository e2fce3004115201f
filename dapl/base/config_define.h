/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Defines what config_declare.h declares, with the defaults, and the table CONFIG_OPTIONS. */
#include "dapl/base/config.h"

#define SWITCH(member, name, variable, standard, ...)	  .member = (standard),
#define NUMBER(member, name, variable, of, standard, ...) .member = (standard),
#define CHOICE(member, name, variable, of, standard, ...) .member = (standard),
#define TEXT(member, name, variable, standard, ...)	  .member = (standard),

struct CONFIG CONFIG = {
#include TUNABLES
};

#undef SWITCH
#undef NUMBER
#undef CHOICE
#undef TEXT

#define ROW(member, conf_name, variable, kind, of, what)                                  \
	.name = (conf_name), .env = (variable), .type = DAPL_OPTION_##kind, .unit = (of), \
	.help = (what), .offset = offsetof(struct CONFIG, member)
#define SWITCH(member, name, variable, standard, what, ...)                         \
	{ ROW(member, name, variable, BOOL, "", what), .value_default = (standard), \
	  .value_max = 1, __VA_ARGS__ },
#define NUMBER(member, name, variable, of, standard, least, most, what, ...)       \
	{ ROW(member, name, variable, INT, of, what), .value_default = (standard), \
	  .value_min = (least), .value_max = (most), __VA_ARGS__ },
#define CHOICE(member, name, variable, of, standard, what, ...)                       \
	{ ROW(member, name, variable, CHOICE, "", what), .value_default = (standard), \
	  .choices = (of), __VA_ARGS__ },
#define TEXT(member, name, variable, standard, what, ...) \
	{ ROW(member, name, variable, TEXT, "", what), .text_default = (standard), __VA_ARGS__ },

const struct dapl_option CONFIG_OPTIONS[] = {
#include TUNABLES
};

#undef ROW
#undef SWITCH
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef CONFIG
#undef CONFIG_OPTIONS
#undef TUNABLES
