/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/adapter/settings_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dapl/base/config.h"
#include "dapl/object/describe.h"
#include "dapl/object/entries.h"
#include "trace/log.h"
#include "dat/dats.h"

struct request {
	const char *ia_name;
	FILE *out;
};

static const char *const type_names[] = {
	[DAPL_OPTION_BOOL] = "switch",
	[DAPL_OPTION_INT] = "number",
	[DAPL_OPTION_CHOICE] = "choice",
	[DAPL_OPTION_TEXT] = "text",
};

static void print_range(const struct dapl_option *option, FILE *out)
{
	size_t i;

	if (option->type == DAPL_OPTION_INT)
		fprintf(out, "%lld..%lld", (long long)option->value_min,
			(long long)option->value_max);
	for (i = 0; option->type == DAPL_OPTION_CHOICE && option->choices[i]; i++)
		fprintf(out, "%s%s", i ? "|" : "", option->choices[i]);
}

static void print_setting(void *arg, const struct dapl_setting *setting)
{
	const struct dapl_option *option = setting->option;
	const struct request *request = arg;
	const char *const first[] = { request->ia_name ? request->ia_name : "-",
				      setting->section,
				      option->name,
				      setting->value,
				      setting->origin,
				      type_names[option->type],
				      option->unit };
	FILE *out = request->out;
	size_t i;

	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		dapl_describe_text(first[i], out);
		fputc('\t', out);
	}
	print_range(option, out);
	fprintf(out, "\t%s\t%s\t%s\n", setting->standard, option->env ? option->env : "",
		option->help);
}

static void print_ia(void *arg, const char *ia_name)
{
	struct request request = { .ia_name = ia_name, .out = arg };

	dapl_config_each(ia_name, print_setting, &request);
}

static int run(void *arg, const char *args, FILE *out)
{
	struct request request = { .out = out };

	dapl_config_each(NULL, print_setting, &request);
	dapl_entry_each(print_ia, out);
	return 0;
}

static int run_points(void *arg, const char *args, FILE *out)
{
	dapl_trace_points(out);
	return 0;
}

static void pass_to_trace(void *arg, const struct dapl_setting *setting)
{
	if (!strcmp(setting->section, "dapl") &&
	    dats_trace_default(setting->option->name, setting->value) == -EINVAL &&
	    strcmp(setting->origin, "environment")) /* of that libdat2 has told */
		dapl_err("%s: %s is \"%s\", but a list of stderr, syslog, file and none is "
			 "possible; "
			 "the default stays",
			 setting->origin, setting->option->name, setting->value);
}

void dapl_settings_trace(void)
{
	if (dats_trace_default)
		dapl_config_each(NULL, pass_to_trace, NULL);
}

void dapl_settings_offer(void)
{
	static struct dats_command points = { .name = "points", .run = run_points };
	static struct dats_command command = {
		.name = "settings",
		.usage = "settings: all tunables, with their values and where they come from",
		.run = run,
	};

	if (!dats_control_add)
		return;
	dats_control_add(&command);
	dats_control_add(&points);
}
