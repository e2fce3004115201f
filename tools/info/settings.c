/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat-info --settings: the tunables in force, and where their values come from. */
#include <stdio.h>
#include <string.h>

#include "tools/info/info.h"
#include "tools/info/tunables.h"

static const char *const keys[INFO_TUNABLE_FIELDS] = {
	[INFO_TUNABLE_IA] = "ia",	    [INFO_TUNABLE_SECTION] = "section",
	[INFO_TUNABLE_NAME] = "name",	    [INFO_TUNABLE_VALUE] = "value",
	[INFO_TUNABLE_ORIGIN] = "origin",   [INFO_TUNABLE_TYPE] = "type",
	[INFO_TUNABLE_UNIT] = "unit",	    [INFO_TUNABLE_RANGE] = "range",
	[INFO_TUNABLE_DEFAULT] = "default", [INFO_TUNABLE_VARIABLE] = "variable",
	[INFO_TUNABLE_HELP] = "help",
};

static bool of_one_ia(const struct info_tunable *tunable)
{
	return strcmp(tunable->field[INFO_TUNABLE_IA], "-");
}

static void add_row(struct info_table *table, const struct info_tunable *tunable)
{
	const char *const *field = tunable->field;

	if (of_one_ia(tunable))
		info_table_add(table, "ia \"%s\"", field[INFO_TUNABLE_IA]);
	else
		info_table_add(table, "%s", field[INFO_TUNABLE_SECTION]);
	info_table_add(table, "%s", field[INFO_TUNABLE_NAME]);
	info_table_add(table, "%s",
		       *field[INFO_TUNABLE_VALUE] ? field[INFO_TUNABLE_VALUE] : "\"\"");
	info_table_add(table, "%s", field[INFO_TUNABLE_UNIT]);
	info_table_add(table, "%s", field[INFO_TUNABLE_ORIGIN]);
	info_table_add(table, "%s", field[INFO_TUNABLE_VARIABLE]);
}

static void print_table(const struct info_tunables *tunables)
{
	static const char *const heads[] = { "SECTION", "NAME",	  "VALUE",
					     "UNIT",	"ORIGIN", "VARIABLE" };
	struct info_table table;
	size_t i;

	info_table_heads(&table, heads, sizeof(heads) / sizeof(heads[0]));
	for (i = 0; i < tunables->num; i++)
		add_row(&table, &tunables->list[i]);
	info_table_print(&table, "", stdout);
	info_table_free(&table);
}

/* With what each is for. */
static void print_verbose(const struct info_tunables *tunables)
{
	const char *const *field;
	size_t i;

	for (i = 0; i < tunables->num; i++) {
		field = tunables->list[i].field;
		if (of_one_ia(&tunables->list[i]))
			printf("%sia \"%s\": ", i ? "\n" : "", field[INFO_TUNABLE_IA]);
		else
			printf("%s", i ? "\n" : "");
		printf("%s.%s = %s%s%s (%s)\n", field[INFO_TUNABLE_SECTION],
		       field[INFO_TUNABLE_NAME],
		       *field[INFO_TUNABLE_VALUE] ? field[INFO_TUNABLE_VALUE] : "\"\"",
		       *field[INFO_TUNABLE_UNIT] ? " " : "", field[INFO_TUNABLE_UNIT],
		       field[INFO_TUNABLE_ORIGIN]);
		info_wrap(field[INFO_TUNABLE_HELP], 4, stdout);
		printf("    default %s%s%s; variable %s\n",
		       *field[INFO_TUNABLE_DEFAULT] ? field[INFO_TUNABLE_DEFAULT] : "\"\"",
		       *field[INFO_TUNABLE_RANGE] ? ", range " : "", field[INFO_TUNABLE_RANGE],
		       *field[INFO_TUNABLE_VARIABLE] ? field[INFO_TUNABLE_VARIABLE] : "none");
	}
}

static void print_json(const struct info_tunables *tunables)
{
	struct json_object *json = info_json_object(), *list, *item;
	size_t i;
	int j;

	info_json_string(json, "file", info_tunables_path());
	list = info_json_list(json, "settings");
	for (i = 0; i < tunables->num; i++) {
		item = info_json_item(list);
		for (j = 0; j < INFO_TUNABLE_FIELDS; j++)
			info_json_string(item, keys[j],
					 j == INFO_TUNABLE_IA && !of_one_ia(&tunables->list[i])
						 ? NULL
						 : tunables->list[i].field[j]);
	}
	info_findings_json(&tunables->findings, json);
	info_json_print(json);
}

static void print(const struct info_options *options, const struct info_tunables *tunables,
		  const struct info_registry *registry)
{
	if (options->json) {
		print_json(tunables);
		return;
	}
	if (!tunables->num)
		printf("no library of %s tells of settings\n", registry->path);
	else if (options->verbose)
		print_verbose(tunables);
	else
		print_table(tunables);
	fflush(stdout);
	info_findings_print(&tunables->findings, stderr);
}

int info_settings(const struct info_options *options)
{
	struct info_tunables tunables = { .list = NULL };
	struct info_registry registry;
	struct info_probe probe;
	size_t i;

	if (!info_registry_read(&registry, options->file))
		return INFO_FAIL;
	for (i = 0; i < registry.num_entries; i++) {
		if (!info_entry_opens(&registry.entries[i]))
			continue;
		info_probe(&registry, &registry.entries[i], options->timeout, &probe);
		info_tunables_take(&tunables, &probe);
		info_probe_free(&probe);
	}
	info_findings_sort(&tunables.findings);
	print(options, &tunables, &registry);
	info_tunables_free(&tunables);
	info_registry_free(&registry);
	return INFO_OK;
}
