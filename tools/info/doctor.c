/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat-info --doctor: what stands between this host and another one, and how to mend it. */
#include "tools/info/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/info/out.h"

/* ---- What is found ---- */

__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, args);
	return info_mask(info_printf("%s", text));
}

void doctor_say(struct doctor *doctor, enum doctor_state state, const char *about, const char *fmt,
		...)
{
	va_list args;

	doctor->lines =
		info_realloc(doctor->lines, (doctor->num_lines + 1) * sizeof(*doctor->lines));
	va_start(args, fmt);
	doctor->lines[doctor->num_lines++] =
		(struct doctor_line){ .state = state, .about = about, .text = format(fmt, args) };
	va_end(args);
	doctor->num_bad += state == DOCTOR_BAD;
}

void doctor_mend(struct doctor *doctor, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	doctor->lines[doctor->num_lines - 1].remedy = format(fmt, args);
	va_end(args);
}

/* ---- Telling it ---- */

static const char *const state_names[] = { "ok", "note", "WRONG" };

static void print_bad(const struct doctor *doctor)
{
	const struct doctor_line *line;
	size_t i, number = 0;

	printf("\n%zu thing%s in the way:\n", doctor->num_bad,
	       doctor->num_bad == 1 ? " is" : "s are");
	for (i = 0; i < doctor->num_lines; i++) {
		line = &doctor->lines[i];
		if (line->state != DOCTOR_BAD)
			continue;
		printf("%zu. %s: %s\n", ++number, line->about, line->text);
		if (line->remedy)
			printf("   %s\n", line->remedy);
	}
}

static void print(const struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->num_lines; i++)
		printf("%-5s  %-9s  %s\n", state_names[doctor->lines[i].state],
		       doctor->lines[i].about, doctor->lines[i].text);
	if (doctor->num_bad)
		print_bad(doctor);
	else
		printf("\nNothing is in the way to %s.\n", doctor->options->host);
}

static void print_json(const struct doctor *doctor)
{
	struct json_object *json = info_json_object(), *list, *item;
	size_t i;

	info_json_string(json, "host", doctor->options->host);
	info_json_number(json, "wrong", (int64_t)doctor->num_bad);
	list = info_json_list(json, "findings");
	for (i = 0; i < doctor->num_lines; i++) {
		item = info_json_item(list);
		info_json_string(item, "state", state_names[doctor->lines[i].state]);
		info_json_string(item, "about", doctor->lines[i].about);
		info_json_string(item, "text", doctor->lines[i].text);
		info_json_string(item, "remedy", doctor->lines[i].remedy);
	}
	info_json_print(json);
}

/* ---- The walk ---- */

static void walk(struct doctor *doctor)
{
	bool there = doctor_route(doctor);

	doctor_versions(doctor);
	doctor_adapters(doctor);
	doctor_devices(doctor);
	doctor_memory(doctor);
	if (!there)
		return;
	doctor_mtu(doctor);
	doctor_port(doctor);
	doctor_connect(doctor);
}

static void release(struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->num_lines; i++) {
		free(doctor->lines[i].text);
		free(doctor->lines[i].remedy);
	}
	free(doctor->lines);
}

int info_doctor(const struct info_options *options)
{
	struct doctor doctor = { .options = options };
	int status;

	if (!info_registry_read(&doctor.registry, options->file))
		return INFO_FAIL;
	walk(&doctor);
	if (options->json)
		print_json(&doctor);
	else
		print(&doctor);
	status = doctor.num_bad ? INFO_BAD : INFO_OK;
	release(&doctor);
	info_registry_free(&doctor.registry);
	return status;
}
