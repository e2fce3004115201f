/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat-info --check: what is wrong with the files. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dat/conf_file.h"
#include "tools/info/findings.h"
#include "tools/info/info.h"
#include "tools/info/probe.h"
#include "tools/info/registry.h"
#include "tools/info/tunables.h"

/* ---- dat.conf ---- */

static bool is_entry(const struct info_registry *registry, unsigned int line)
{
	size_t i;

	for (i = 0; i < registry->num_entries; i++)
		if (registry->entries[i].conf->line == line)
			return true;
	return false;
}

static void check_lines(const struct info_registry *registry, struct info_findings *findings)
{
	const struct dat_conf_diag *diag;
	size_t i;

	for (i = 0; i < registry->conf.num_diags; i++) {
		diag = &registry->conf.diags[i];
		info_find(findings, !is_entry(registry, diag->line), registry->path, diag->line,
			  "field %d (%s): %s", diag->field, dat_conf_field_name(diag->field),
			  diag->reason);
	}
}

static bool has_plain_entry(const struct info_registry *registry, const char *name)
{
	const struct dat_conf_entry *conf;
	size_t i;

	for (i = 0; i < registry->num_entries; i++) {
		conf = registry->entries[i].conf;
		if (registry->entries[i].used && !strcmp(conf->info.ia_name, name) &&
		    conf->info.dapl_version_major == DAT_VERSION_MAJOR &&
		    conf->info.is_thread_safe == DAT_FALSE)
			return true;
	}
	return false;
}

/* Whether programs of DAT 1.2 open the name, who ask for nonthreadsafe lines of theirs alone. */
static bool has_old_entry(const struct info_registry *registry, const char *name)
{
	const struct info_entry *entry;
	size_t i;

	for (i = 0; i < registry->num_entries; i++) {
		entry = &registry->entries[i];
		if (info_entry_opens(entry) && !strcmp(entry->conf->info.ia_name, name) &&
		    (entry->used || !entry->conf->info.is_thread_safe))
			return true;
	}
	return false;
}

/* Whether programs come to it at all: they ask for the version and kind they were built for. */
static void check_reach(const struct info_registry *registry, const struct info_entry *entry,
			struct info_findings *findings)
{
	const struct dat_conf_entry *conf = entry->conf;
	const char *use = info_entry_use(entry);

	if (!strcmp(use, "1.2")) {
		if (!has_old_entry(registry, conf->info.ia_name))
			info_find(findings, false, registry->path, conf->line,
				  "%s: programs of DAT 1.2 do not find it: they ask for "
				  "nonthreadsafe",
				  conf->info.ia_name);
		return;
	}
	if (!strcmp(use, "unserved"))
		info_find(findings, false, registry->path, conf->line,
			  "%s: nobody finds it: no module serves programs of DAT %u.%u for %s",
			  conf->info.ia_name, conf->info.dapl_version_major,
			  conf->info.dapl_version_minor, conf->lib_path);
	else if (!entry->used)
		info_find(findings, false, registry->path, conf->line,
			  "%s: programs take no %s entries", conf->info.ia_name, use);
	else if (conf->info.dapl_version_major != DAT_VERSION_MAJOR)
		info_find(findings, false, registry->path, conf->line,
			  "%s: programs of DAT %u.%u do not find it: it is for version %u",
			  conf->info.ia_name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
			  conf->info.dapl_version_major);
	else if (conf->info.is_thread_safe && !has_plain_entry(registry, conf->info.ia_name))
		info_find(findings, false, registry->path, conf->line,
			  "%s: dat_ia_open does not find it: it asks for nonthreadsafe",
			  conf->info.ia_name);
}

static void check_open(const struct info_options *options, const struct info_registry *registry,
		       const struct info_entry *entry, struct info_findings *findings,
		       struct info_tunables *tunables)
{
	bool error;
	struct info_probe probe;

	info_probe(registry, entry, options->timeout, &probe);
	/* A device that is not there now may be there later. */
	error = probe.outcome != INFO_REFUSED && probe.outcome != INFO_OPENED;
	if (probe.outcome != INFO_OPENED || probe.reason)
		info_find(findings, error, registry->path, entry->conf->line, "%s: %s%s%s%s%s",
			  entry->conf->info.ia_name,
			  probe.opened ? "opened, but then: " : "cannot be opened: ",
			  probe.cause ? probe.cause : probe.reason, probe.cause ? " (" : "",
			  probe.cause ? probe.reason : "", probe.cause ? ")" : "");
	info_tunables_take(tunables, &probe);
	info_probe_free(&probe);
}

/* The file that all installations share, where this one has its own. */
static void check_shared(const struct info_registry *registry, struct info_findings *findings)
{
	int fd;

	if (strcmp(registry->path, dat_conf_default_path()) ||
	    !strcmp(registry->path, DAT_CONF_FALLBACK))
		return;
	fd = dat_conf_open_fallback();
	if (fd < 0)
		return;
	close(fd);
	info_find(findings, false, DAT_CONF_FALLBACK, 0, "not read, because %s is there",
		  registry->path);
}

static bool check_files(const struct info_options *options, struct info_findings *findings)
{
	struct info_tunables tunables = { .list = NULL };
	struct info_registry registry;
	size_t i;

	if (!info_registry_read(&registry, options->file))
		return false;
	check_lines(&registry, findings);
	check_shared(&registry, findings);
	for (i = 0; i < registry.num_entries; i++) {
		check_reach(&registry, &registry.entries[i], findings);
		if (info_entry_opens(&registry.entries[i]))
			check_open(options, &registry, &registry.entries[i], findings, &tunables);
	}
	if (!registry.conf.num_entries)
		info_find(findings, false, registry.path, 0, "has no entry that programs take");
	info_tunables_judge(&tunables, &registry);
	info_findings_append(findings, &tunables.findings);
	info_tunables_free(&tunables);
	info_registry_free(&registry);
	return true;
}

/* ---- All ---- */

static void report(const struct info_options *options, const struct info_findings *findings)
{
	size_t warnings = findings->num - findings->errors;
	struct json_object *json;

	if (options->json) {
		json = info_json_object();
		info_json_number(json, "errors", (int64_t)findings->errors);
		info_json_number(json, "warnings", (int64_t)warnings);
		info_findings_json(findings, json);
		info_json_print(json);
		return;
	}
	info_findings_print(findings, stdout);
	printf("%zu error%s, %zu warning%s\n", findings->errors, findings->errors == 1 ? "" : "s",
	       warnings, warnings == 1 ? "" : "s");
}

int info_check(const struct info_options *options)
{
	struct info_findings findings = { .list = NULL };
	bool readable = check_files(options, &findings);
	int status;

	info_findings_sort(&findings);
	report(options, &findings);
	status = !readable ? INFO_FAIL : findings.errors ? INFO_BAD : INFO_OK;
	info_findings_free(&findings);
	return status;
}
