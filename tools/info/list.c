/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat-info [-v]: the entries of dat.conf, and what their adapters say of themselves. */
#include <stdio.h>
#include <string.h>

#include "tools/info/info.h"
#include "tools/info/out.h"
#include "tools/info/probe.h"
#include "tools/info/registry.h"
#include "tools/info/tunables.h"

/* ---- Which entries ---- */

static bool asked_for(const struct info_options *options, const struct info_entry *entry)
{
	int i;

	for (i = 0; i < options->num_names; i++)
		if (!strcmp(options->names[i], entry->conf->info.ia_name))
			return true;
	return !options->num_names;
}

/* Names of the command line that no entry has. */
static int unknown_names(const struct info_options *options, const struct info_registry *registry)
{
	int i, unknown = 0;
	size_t j;

	for (i = 0; i < options->num_names; i++) {
		for (j = 0; j < registry->num_entries; j++)
			if (!strcmp(options->names[i], registry->entries[j].conf->info.ia_name))
				break;
		if (j < registry->num_entries)
			continue;
		fprintf(stderr, "dat-info: %s: no entry for \"%s\"\n", registry->path,
			options->names[i]);
		unknown++;
	}
	return unknown;
}

/* ---- Bad lines ---- */

static bool is_duplicate(const struct info_registry *registry, unsigned int line)
{
	size_t i;

	for (i = 0; i < registry->num_entries; i++)
		if (registry->entries[i].conf->line == line)
			return true;
	return false;
}

/* The list shows what a duplicate is; here stands what is in no list. */
static void print_bad_lines(const struct info_registry *registry)
{
	const struct dat_conf_diag *diag;
	size_t i;

	fflush(stdout);
	for (i = 0; i < registry->conf.num_diags; i++) {
		diag = &registry->conf.diags[i];
		if (!is_duplicate(registry, diag->line))
			fprintf(stderr, "dat-info: %s:%u: field %d (%s): %s; no entry\n",
				registry->path, diag->line, diag->field,
				dat_conf_field_name(diag->field), diag->reason);
	}
}

static void json_bad_lines(const struct info_registry *registry, struct json_object *json)
{
	struct json_object *list = info_json_list(json, "bad_lines"), *item;
	const struct dat_conf_diag *diag;
	size_t i;

	for (i = 0; i < registry->conf.num_diags; i++) {
		diag = &registry->conf.diags[i];
		if (is_duplicate(registry, diag->line))
			continue;
		item = info_json_item(list);
		info_json_number(item, "line", diag->line);
		info_json_number(item, "field", diag->field);
		info_json_string(item, "field_name", dat_conf_field_name(diag->field));
		info_json_string(item, "reason", diag->reason);
	}
}

/* ---- One entry ---- */

static const char *threads(const struct dat_conf_entry *conf)
{
	return conf->info.is_thread_safe ? "threadsafe" : "nonthreadsafe";
}

static void json_entry(const struct info_registry *registry, const struct info_entry *entry,
		       struct json_object *json)
{
	const struct dat_conf_entry *conf = entry->conf;

	info_json_string(json, "name", conf->info.ia_name);
	info_json_string(json, "file", registry->path);
	info_json_number(json, "line", conf->line);
	info_json_string(json, "use", info_entry_use(entry));
	info_json_string(json, "level", conf->user ? "user" : "kernel");
	info_json_number(json, "major", conf->info.dapl_version_major);
	info_json_number(json, "minor", conf->info.dapl_version_minor);
	info_json_bool(json, "threadsafe", conf->info.is_thread_safe == DAT_TRUE);
	info_json_string(json, "library", conf->lib_path);
	info_json_string(json, "parameters", conf->ia_params);
}

static void row(const struct info_registry *registry, const struct info_entry *entry,
		struct info_table *table)
{
	const struct dat_conf_entry *conf = entry->conf;

	info_table_add(table, "%s", conf->info.ia_name);
	info_table_add(table, "%s", info_entry_use(entry));
	info_table_add(table, "%c%u.%u", conf->user ? 'u' : 'k', conf->info.dapl_version_major,
		       conf->info.dapl_version_minor);
	info_table_add(table, "%s", threads(conf));
	info_table_add(table, "%s", conf->lib_path);
	info_table_add(table, "\"%s\"", conf->ia_params);
	info_table_add(table, "%s:%u", registry->path, conf->line);
}

static void list_table(const struct info_options *options, const struct info_registry *registry)
{
	static const char *const heads[] = { "NAME",	"USE",	      "API",  "THREADS",
					     "LIBRARY", "PARAMETERS", "WHERE" };
	struct info_table table;
	size_t i;

	info_table_heads(&table, heads, sizeof(heads) / sizeof(heads[0]));
	for (i = 0; i < registry->num_entries; i++)
		if (asked_for(options, &registry->entries[i]))
			row(registry, &registry->entries[i], &table);
	if (table.num_cells > table.columns)
		info_table_print(&table, "", stdout);
	else
		printf("%s has no entries\n", registry->path);
	info_table_free(&table);
}

/* ---- An opened adapter ---- */

static void print_group(const struct info_probe *probe, const char *group, const char *title)
{
	struct info_table table;
	size_t i;

	info_table_init(&table, 2);
	for (i = 0; i < probe->num_attrs; i++) {
		if (strcmp(probe->attrs[i].group, group))
			continue;
		info_table_add(&table, "%s", probe->attrs[i].name);
		info_table_add(&table, "%s", probe->attrs[i].text);
	}
	if (table.num_cells)
		printf("  %s\n", title);
	info_table_print(&table, "    ", stdout);
	info_table_free(&table);
}

static void print_outcome(const struct info_probe *probe)
{
	size_t i, num = probe->num_messages - (probe->cause ? 1 : 0);

	if (probe->cause) {
		printf("  cannot be opened: %s\n    %s\n", probe->cause, probe->reason);
	} else if (!probe->opened) {
		printf("  cannot be opened: %s\n", probe->reason);
	} else if (probe->reason) {
		printf("  opened, but then: %s\n", probe->reason);
	}
	if (num)
		puts("  messages of its libraries");
	for (i = 0; i < probe->num_messages; i++)
		if (!probe->cause || i != probe->cause_index)
			printf("    %s\n", probe->messages[i]);
}

static void print_probe(const struct info_probe *probe)
{
	print_outcome(probe);
	print_group(probe, "ia", "interface adapter");
	print_group(probe, "transport", "attributes of the transport");
	print_group(probe, "vendor", "attributes of the vendor");
	print_group(probe, "provider", "provider");
	print_group(probe, "specific", "attributes of the provider's own");
}

static void print_entry(const struct info_registry *registry, const struct info_entry *entry,
			const struct info_probe *probe)
{
	const struct dat_conf_entry *conf = entry->conf;

	printf("%s  %s:%u\n", conf->info.ia_name, registry->path, conf->line);
	printf("  %c%u.%u %s, %s", conf->user ? 'u' : 'k', conf->info.dapl_version_major,
	       conf->info.dapl_version_minor, threads(conf), conf->lib_path);
	if (probe && probe->loaded && strcmp(probe->loaded, conf->lib_path))
		printf(" (%s)", probe->loaded);
	printf(", parameters \"%s\"\n", conf->ia_params);
	if (entry->first)
		printf("  used only where the entry of line %u cannot be loaded\n",
		       entry->first->line);
	if (!strcmp(info_entry_use(entry), "1.2"))
		printf("  for programs of DAT 1.2, which get %s\n", dat_conf_legacy_library(conf));
	if (!probe)
		printf("  not tried: programs take no %s entries\n", info_entry_use(entry));
	else
		print_probe(probe);
}

static void json_group(const struct info_probe *probe, const char *group, struct json_object *json)
{
	size_t i;

	for (i = 0; i < probe->num_attrs; i++)
		if (!strcmp(probe->attrs[i].group, group))
			json_object_object_add(json, probe->attrs[i].name,
					       json_tokener_parse(probe->attrs[i].json));
}

static void json_probe(const struct info_probe *probe, struct json_object *json)
{
	struct json_object *list, *ia, *provider;
	static const char *const outcomes[] = {
		[INFO_OPENED] = "opened",   [INFO_NO_LIBRARY] = "no library",
		[INFO_REFUSED] = "refused", [INFO_DIED] = "died",
		[INFO_SILENT] = "silent",   [INFO_UNTRIED] = "untried",
	};
	size_t i;

	info_json_string(json, "outcome", outcomes[probe->outcome]);
	info_json_bool(json, "opened", probe->opened);
	info_json_string(json, "reason", probe->reason);
	info_json_string(json, "cause", probe->cause);
	list = info_json_list(json, "messages");
	for (i = 0; i < probe->num_messages; i++)
		json_object_array_add(list, info_json_text(probe->messages[i]));
	info_json_string(json, "loaded_from", probe->loaded);
	ia = info_json_member(json, "ia");
	json_group(probe, "ia", ia);
	json_group(probe, "transport", info_json_member(ia, "transport_attr"));
	json_group(probe, "vendor", info_json_member(ia, "vendor_attr"));
	provider = info_json_member(json, "provider");
	json_group(probe, "provider", provider);
	json_group(probe, "specific", info_json_member(provider, "provider_specific_attr"));
}

/* ---- The list ---- */

/* True: it is open, or is none that programs open. */
static bool show_opened(const struct info_options *options, const struct info_registry *registry,
			const struct info_entry *entry, struct info_tunables *tunables,
			struct json_object *json)
{
	struct info_probe probe;
	bool fine;

	if (!info_entry_opens(entry)) {
		if (json)
			json_entry(registry, entry, json);
		else
			print_entry(registry, entry, NULL);
		return true;
	}
	info_probe(registry, entry, options->timeout, &probe);
	if (json) {
		json_entry(registry, entry, json);
		json_probe(&probe, json);
	} else {
		print_entry(registry, entry, &probe);
	}
	info_tunables_take(tunables, &probe);
	fine = probe.outcome == INFO_OPENED && !probe.reason;
	info_probe_free(&probe);
	return fine;
}

static int list_json(const struct info_options *options, const struct info_registry *registry)
{
	struct info_tunables tunables = { .list = NULL };
	struct json_object *json = info_json_object(), *list, *item;
	int not_open = 0;
	size_t i;

	info_json_string(json, "file", registry->path);
	list = info_json_list(json, "entries");
	for (i = 0; i < registry->num_entries; i++) {
		if (!asked_for(options, &registry->entries[i]))
			continue;
		item = info_json_item(list);
		if (!options->verbose)
			json_entry(registry, &registry->entries[i], item);
		else if (!show_opened(options, registry, &registry->entries[i], &tunables, item))
			not_open++;
	}
	json_bad_lines(registry, json);
	info_findings_sort(&tunables.findings);
	info_findings_json(&tunables.findings, json);
	info_json_print(json);
	info_tunables_free(&tunables);
	return not_open;
}

static int list_opened(const struct info_options *options, const struct info_registry *registry)
{
	struct info_tunables tunables = { .list = NULL };
	int not_open = 0, shown = 0;
	size_t i;

	for (i = 0; i < registry->num_entries; i++) {
		if (!asked_for(options, &registry->entries[i]))
			continue;
		if (shown++)
			putchar('\n');
		if (!show_opened(options, registry, &registry->entries[i], &tunables, NULL))
			not_open++;
	}
	if (!shown)
		printf("%s has no entries\n", registry->path);
	fflush(stdout);
	info_findings_sort(&tunables.findings);
	info_findings_print(&tunables.findings, stderr);
	info_tunables_free(&tunables);
	return not_open;
}

int info_list(const struct info_options *options)
{
	struct info_registry registry;
	int not_open = 0, unknown;

	if (!info_registry_read(&registry, options->file))
		return INFO_FAIL;
	unknown = unknown_names(options, &registry);
	if (!registry.num_entries)
		info_registry_advise(registry.path);
	if (options->json) {
		not_open = list_json(options, &registry);
	} else if (unknown < options->num_names || !options->num_names) {
		if (options->verbose)
			not_open = list_opened(options, &registry);
		else
			list_table(options, &registry);
		print_bad_lines(&registry);
	}
	info_registry_free(&registry);
	return not_open || unknown ? INFO_BAD : INFO_OK;
}
