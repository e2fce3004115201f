/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the modules say of dapl.conf, of the environment and of the tunables in force. */
#ifndef INFO_TUNABLES_H
#define INFO_TUNABLES_H

#include "tools/info/findings.h"
#include "tools/info/probe.h"

/* As the control command "settings" tells them (dapl/adapter/settings_command.h). */
enum info_tunable_field {
	INFO_TUNABLE_IA, /* "-": of no single one */
	INFO_TUNABLE_SECTION,
	INFO_TUNABLE_NAME,
	INFO_TUNABLE_VALUE,
	INFO_TUNABLE_ORIGIN,
	INFO_TUNABLE_TYPE,
	INFO_TUNABLE_UNIT,
	INFO_TUNABLE_RANGE,
	INFO_TUNABLE_DEFAULT,
	INFO_TUNABLE_VARIABLE,
	INFO_TUNABLE_HELP,
	INFO_TUNABLE_FIELDS,
};

struct info_tunable {
	char *line; /* which the fields lie in */
	const char *field[INFO_TUNABLE_FIELDS];
};

struct info_tunables {
	struct info_tunable *list;
	size_t num;
	struct info_findings findings; /* of dapl.conf and the environment */
};

/* The file that modules read. */
const char *info_tunables_path(void);
/* Whether a message of a module is about dapl.conf or the environment. */
bool info_tunables_message(const char *message);
/* Adds what is new of what an adapter's module told. */
void info_tunables_take(struct info_tunables *tunables, const struct info_probe *probe);
/* After all adapters: sections of the file that none of them takes. */
void info_tunables_judge(struct info_tunables *tunables, const struct info_registry *registry);
void info_tunables_free(struct info_tunables *tunables);

#endif
