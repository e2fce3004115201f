/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat-info --pid: what a running program has open, and what goes through it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/info/info.h"
#include "tools/info/objects.h"
#include "tools/info/out.h"

#define CLEAR_SCREEN "\033[H\033[2J"

/* What is shown now, and what was before, for the rates. */
struct view {
	const struct info_options *options;
	struct info_objects now, before;
	double seconds; /* between them; 0: there is no before */
};

static bool is_kind(const struct info_object *object, const char *kind)
{
	return !strcmp(object->kind, kind);
}

static bool belongs(const struct info_object *object, const struct info_object *ia)
{
	const char *a = info_object_get(object, "ia"), *b = info_object_get(ia, "ia");

	return object != ia && a && b && !strcmp(a, b);
}

static const char *get(const struct info_object *object, const char *key)
{
	const char *value = info_object_get(object, key);

	return value && *value ? value : "-";
}

static bool is_set(const struct info_object *object, const char *key)
{
	return info_object_number(object, key) != 0;
}

/* "3/64"; "?" for an object that was too busy. */
static void add_fill(struct info_table *table, const struct info_object *object, const char *used,
		     const char *room)
{
	if (info_object_get(object, used))
		info_table_add(table, "%s/%s", get(object, used), get(object, room));
	else
		info_table_add(table, "?");
}

static void print_table(struct info_table *table)
{
	if (table->num_cells > table->columns) {
		putchar('\n');
		info_table_print(table, "  ", stdout);
	}
	info_table_free(table);
}

/* ---- Endpoints ---- */

/* What has gone through an endpoint. */
struct traffic {
	uint64_t operations, out, in, errors;
};

static struct traffic traffic_of(const struct info_object *ep)
{
	return (struct traffic){
		.operations = info_object_number(ep, "sends") + info_object_number(ep, "writes") +
			      info_object_number(ep, "reads") + info_object_number(ep, "atomics") +
			      info_object_number(ep, "received"),
		.out = info_object_number(ep, "sent_bytes") +
		       info_object_number(ep, "written_bytes"),
		.in = info_object_number(ep, "received_bytes") +
		      info_object_number(ep, "read_bytes"),
		.errors = info_object_number(ep, "errors"),
	};
}

/* The same endpoint as it was before; NULL: there was none, or it was too busy. */
static const struct info_object *earlier(const struct view *view, const struct info_object *ep)
{
	const struct info_object *before;
	size_t i;

	for (i = 0; i < view->before.num; i++) {
		before = &view->before.list[i];
		if (is_kind(before, "ep") && info_object_get(before, "received") &&
		    !strcmp(get(before, "ep"), get(ep, "ep")) && belongs(before, ep))
			return before;
	}
	return NULL;
}

/* Three digits and k, M, G, ... for thousands. */
static void add_large(struct info_table *table, double value)
{
	static const char units[] = " kMGTPE";
	const char *unit = units;

	while (value >= 999.5 && unit[1]) {
		value /= 1000;
		unit++;
	}
	if (*unit == ' ')
		info_table_add(table, "%.0f", value);
	else
		info_table_add(table, "%.*f%c",
			       value < 9.995   ? 2
			       : value < 99.95 ? 1
					       : 0,
			       value, *unit);
}

static void add_rates(struct info_table *table, const struct view *view,
		      const struct info_object *ep)
{
	const struct info_object *before = earlier(view, ep);
	struct traffic now = traffic_of(ep), then;
	int i;

	if (!before || !info_object_get(ep, "received")) {
		for (i = 0; i < 3; i++)
			info_table_add(table, "-");
		return;
	}
	then = traffic_of(before);
	add_large(table, (double)(now.operations - then.operations) / view->seconds);
	add_large(table, (double)(now.out - then.out) / view->seconds);
	add_large(table, (double)(now.in - then.in) / view->seconds);
}

static void add_ep(struct info_table *table, const struct view *view, const struct info_object *ep)
{
	struct traffic traffic = traffic_of(ep);

	info_table_add(table, "%s", get(ep, "ep"));
	info_table_add(table, "%s", get(ep, "state"));
	info_table_add(table, "%s", get(ep, "local"));
	info_table_add(table, "%s", get(ep, "remote"));
	add_fill(table, ep, "recvs", "max_recvs");
	add_fill(table, ep, "requests", "max_requests");
	add_large(table, (double)traffic.operations);
	add_large(table, (double)traffic.out);
	add_large(table, (double)traffic.in);
	add_large(table, (double)traffic.errors);
	if (view->seconds > 0)
		add_rates(table, view, ep);
	info_table_add(table, "%s", is_set(ep, "starved") ? "a message waits for a Receive" : "-");
}

static void print_eps(const struct view *view, const struct info_object *ia)
{
	static const char *const heads[] = { "EP",	 "STATE", "LOCAL", "REMOTE", "RECVS",
					     "REQUESTS", "OPS",	  "OUT",   "IN",     "ERRORS",
					     "OPS/s",	 "OUT/s", "IN/s",  "NOTES" };
	const char *brief[] = { heads[0], heads[1], heads[2], heads[3], heads[4], heads[5],
				heads[6], heads[7], heads[8], heads[9], heads[13] };
	const struct info_object *object;
	struct info_table table;
	size_t i;

	if (view->seconds > 0)
		info_table_heads(&table, heads, 14);
	else
		info_table_heads(&table, brief, 11);
	for (i = 4; i + 1 < table.columns; i++)
		table.right[i] = true;
	for (i = 0; i < view->now.num; i++) {
		object = &view->now.list[i];
		if (is_kind(object, "ep") && belongs(object, ia))
			add_ep(&table, view, object);
	}
	print_table(&table);
}

/* What carries them. */
static void print_links(const struct view *view, const struct info_object *ia)
{
	static const char *const heads[] = { "EP", "LINK", "CRC" };
	const struct info_object *object;
	struct info_table table;
	size_t i;

	info_table_heads(&table, heads, sizeof(heads) / sizeof(heads[0]));
	for (i = 0; i < view->now.num; i++) {
		object = &view->now.list[i];
		if (!is_kind(object, "ep") || !belongs(object, ia) ||
		    !info_object_get(object, "link"))
			continue;
		info_table_add(&table, "%s", get(object, "ep"));
		info_table_add(&table, "%s: %s", get(object, "link"), get(object, "link_why"));
		if (info_object_get(object, "crc"))
			info_table_add(&table, "%s: %s", get(object, "crc"),
				       get(object, "crc_why"));
		else
			info_table_add(&table, "-");
	}
	print_table(&table);
}

/* ---- Dispatchers and service points ---- */

static bool notable(const struct info_object *evd)
{
	return is_set(evd, "waiter") || is_set(evd, "disabled") || is_set(evd, "overflowed");
}

static void print_evds(const struct view *view, const struct info_object *ia)
{
	static const char *const heads[] = { "EVD", "STREAMS", "EVENTS", "CNO", "NOTES" };
	const struct info_object *object;
	const char *cno;
	struct info_table table;
	size_t i;

	info_table_heads(&table, heads, sizeof(heads) / sizeof(heads[0]));
	table.right[2] = true;
	for (i = 0; i < view->now.num; i++) {
		object = &view->now.list[i];
		if (!is_kind(object, "evd") || !belongs(object, ia))
			continue;
		cno = get(object, "cno");
		info_table_add(&table, "%s", get(object, "evd"));
		info_table_add(&table, "%s", get(object, "streams"));
		add_fill(&table, object, "events", "qlen");
		info_table_add(&table, "%s", strcmp(cno, "(nil)") ? cno : "-");
		info_table_add(&table, "%s%s%s%s", is_set(object, "waiter") ? "waited for " : "",
			       is_set(object, "disabled") ? "disabled " : "",
			       is_set(object, "overflowed") ? "overflowed " : "",
			       notable(object) ? "" : "-");
	}
	print_table(&table);
}

static bool is_sp(const struct info_object *object)
{
	return is_kind(object, "psp") || is_kind(object, "rsp") || is_kind(object, "ssp") ||
	       is_kind(object, "csp");
}

static void print_sps(const struct view *view, const struct info_object *ia)
{
	static const char *const heads[] = { "SERVICE POINT", "KIND", "QUALIFIER", "EVD" };
	const struct info_object *object;
	struct info_table table;
	size_t i;

	info_table_heads(&table, heads, sizeof(heads) / sizeof(heads[0]));
	table.right[2] = true;
	for (i = 0; i < view->now.num; i++) {
		object = &view->now.list[i];
		if (!is_sp(object) || !belongs(object, ia))
			continue;
		info_table_add(&table, "%s", get(object, "sp"));
		info_table_add(&table, "%s%s", object->kind,
			       is_set(object, "listening") ? "" : ", not listening");
		info_table_add(&table, "%s", get(object, "qual"));
		info_table_add(&table, "%s", get(object, "evd"));
	}
	print_table(&table);
}

/* ---- All ---- */

/* The counters that tell of errors, or all that are not 0. */
static void print_counters(const struct view *view, const struct info_object *ia)
{
	struct info_table table;
	size_t i;

	info_table_init(&table, 2);
	table.right[1] = true;
	for (i = 0; i < ia->num; i++) {
		if (strncmp(ia->keys[i], "DCNT_", 5))
			continue;
		if (!view->options->verbose && !strstr(ia->keys[i], "ERR"))
			continue;
		info_table_add(&table, "%s", ia->keys[i]);
		info_table_add(&table, "%s", ia->values[i]);
	}
	if (table.num_cells)
		putchar('\n');
	info_table_print(&table, "  ", stdout);
	info_table_free(&table);
}

static void print_ia(const struct view *view, const struct info_object *ia)
{
	static const char *const kinds[] = { "eps",  "evds", "lmrs", "rmrs", "pzs",  "srqs",
					     "cnos", "psps", "rsps", "ssps", "csps", "crs" };
	const char *separator = "", *num;
	size_t i;

	printf("\nIA %s  %s  %s%s\n  ", get(ia, "ia"), get(ia, "name"), get(ia, "address"),
	       is_set(ia, "closing") ? "  closing" : "");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		num = info_object_get(ia, kinds[i]);
		if (!num || !strcmp(num, "0"))
			continue;
		printf("%s%s %s", separator, kinds[i], num);
		separator = ", ";
	}
	puts(*separator ? "" : "no objects");
	print_counters(view, ia);
	print_eps(view, ia);
	print_links(view, ia);
	print_evds(view, ia);
	print_sps(view, ia);
}

/* The name of the program; "?" if it cannot be told. */
static const char *program(pid_t pid, char name[64])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	file = fopen(path, "re");
	if (!file || !fgets(name, 64, file))
		strcpy(name, "?");
	if (file)
		fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return info_mask(name);
}

static void print_view(const struct view *view)
{
	char name[64], at[32];
	time_t now = time(NULL);
	size_t i, ias = 0;

	strftime(at, sizeof(at), "%H:%M:%S", localtime(&now));
	printf("%s  process %ld, %s\n", at, (long)view->options->pid,
	       program(view->options->pid, name));
	for (i = 0; i < view->now.num; i++)
		if (is_kind(&view->now.list[i], "ia")) {
			print_ia(view, &view->now.list[i]);
			ias++;
		}
	if (!ias)
		puts("\nno interface adapter is open");
}

/* Names are texts, whatever they look like. */
static bool is_number(const char *key, const char *text)
{
	size_t length = strspn(text, "0123456789");

	return length && length < 19 && !text[length] && strcmp(key, "name");
}

static void json_view(const struct view *view)
{
	struct json_object *json = info_json_object(), *list, *item;
	const struct info_object *object;
	size_t i, j;
	char name[64];

	info_json_number(json, "pid", view->options->pid);
	info_json_string(json, "program", program(view->options->pid, name));
	info_json_number(json, "time", (int64_t)time(NULL));
	list = info_json_list(json, "objects");
	for (i = 0; i < view->now.num; i++) {
		object = &view->now.list[i];
		item = info_json_item(list);
		info_json_string(item, "kind", object->kind);
		for (j = 0; j < object->num; j++)
			if (is_number(object->keys[j], object->values[j]))
				info_json_number(item, object->keys[j],
						 strtoll(object->values[j], NULL, 10));
			else
				info_json_string(item, object->keys[j], object->values[j]);
	}
	info_json_print(json);
}

static void show(const struct view *view)
{
	bool screen = view->options->watch && !view->options->json && isatty(STDOUT_FILENO);

	if (screen)
		fputs(CLEAR_SCREEN, stdout);
	if (view->options->json)
		json_view(view);
	else
		print_view(view);
	if (view->options->watch && !screen && !view->options->json)
		putchar('\n');
	fflush(stdout);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void pause_ms(uint64_t ms)
{
	struct timespec ts = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

int info_process(const struct info_options *options)
{
	struct view view = { .options = options };
	unsigned int round;
	double last = 0, now;
	char why[300];
	int err = 0;

	for (round = 1; !err; round++) {
		err = info_objects_ask(options->pid, &view.now, why, sizeof(why));
		if (err)
			break;
		now = seconds();
		view.seconds = last > 0 ? now - last : 0;
		last = now;
		show(&view);
		info_objects_free(&view.before);
		view.before = view.now;
		if (!options->watch || round == options->rounds || ferror(stdout))
			break;
		pause_ms(options->interval_ms);
	}
	info_objects_free(&view.before);
	if (!err)
		return INFO_OK;
	fprintf(stderr, "dat-info: %s\n", why);
	return INFO_BAD;
}
