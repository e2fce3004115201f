/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trace/options.h"

#include "trace/dat_log.h"
#include "trace/sink.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * Release 2.1.10's masks. Bit 0 of a type is errors, all others are kinds of detail. Its standard
 * output is our standard error: a library has no business on the other one (REG-22).
 */
#define DBG_TYPE_ERROR	0x1
#define DBG_DEST_STDOUT 0x1
#define DBG_DEST_SYSLOG 0x2

static struct {
	char *path;
	uint64_t size;
	unsigned int keep;
} file = { .size = 16 << 20, .keep = 2 };

/* A number of the whole text; -1 if it is none or too large. */
static int64_t number(const char *text, int base, int64_t max)
{
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, base);
	return errno || end == text || *end || value < 0 || value > max ? -1 : value;
}

static void file_changed(void)
{
	dat_sink_file(file.path, file.size, file.keep);
}

static int take_level(enum dat_trace_component component, const char *value)
{
	int64_t level = number(value, 0, DATS_TRC_MAX);

	if (level >= 0)
		dat_trace_initial_level(component, (int)level);
	return level < 0 ? -EINVAL : 0;
}

static int take_dat_level(const char *value)
{
	return take_level(DAT_TRC_DAT, value);
}

static int take_dapl_level(const char *value)
{
	return take_level(DAT_TRC_DAPL, value);
}

static int take_dest(const char *value)
{
	static const struct {
		const char *name;
		int sink;
	} names[] = { { "none", 0 },
		      { "stderr", DAT_SINK_STDERR },
		      { "syslog", DAT_SINK_SYSLOG },
		      { "file", DAT_SINK_FILE } };
	int sinks = 0, known;
	size_t length, i;

	for (; *value; value += length + (value[length] == ',')) {
		length = strcspn(value, ",");
		for (i = known = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i].name) == length &&
			    !strncasecmp(names[i].name, value, length)) {
				sinks |= names[i].sink;
				known = 1;
			}
		if (!known)
			return -EINVAL;
	}
	dat_sink_choose(sinks);
	return 0;
}

static int take_file(const char *value)
{
	free(file.path);
	file.path = strdup(value);
	file_changed();
	return 0;
}

static int take_size(const char *value)
{
	int64_t size = number(value, 0, INT64_MAX);

	if (size < 0)
		return -EINVAL;
	file.size = (uint64_t)size;
	file_changed();
	return 0;
}

static int take_keep(const char *value)
{
	int64_t keep = number(value, 0, 99);

	if (keep < 0)
		return -EINVAL;
	file.keep = (unsigned int)keep;
	file_changed();
	return 0;
}

enum {
	SETTING_DAT_LEVEL,
	SETTING_DAPL_LEVEL,
	SETTING_DEST,
	SETTING_FILE,
};

static struct setting {
	const char *name, *env, *what;
	int (*take)(const char *value);
	int given; /* by the environment */
} settings[] = {
	[SETTING_DAT_LEVEL] = { "dat_trace_level", "DAT_TRACE_LEVEL", "a number from 0 to 10",
				take_dat_level, 0 },
	/* A value that is none is reported by the provider core, whose tunable it is. */
	[SETTING_DAPL_LEVEL] = { "trace_level", "DAPL_TRACE_LEVEL", NULL, take_dapl_level, 0 },
	[SETTING_DEST] = { "trace_dest", "DAT_TRACE_DEST",
			   "a list of stderr, syslog, file and none", take_dest, 0 },
	[SETTING_FILE] = { "trace_file", "DAT_TRACE_FILE", "a path", take_file, 0 },
	{ "trace_size", "DAT_TRACE_SIZE", "a number of bytes", take_size, 0 },
	{ "trace_keep", "DAT_TRACE_KEEP", "a number from 0 to 99", take_keep, 0 },
};

static void read_setting(struct setting *setting)
{
	const char *value = secure_getenv(setting->env);

	if (!value || !*value)
		return;
	if (!setting->take(value))
		setting->given = 1;
	else if (setting->what)
		dat_diag("%s: \"%s\" is not %s; the default stays", setting->env, value,
			 setting->what);
}

static void read_type(const char *env, struct setting *setting)
{
	const char *value = secure_getenv(env);
	int64_t type = value ? number(value, 0, UINT32_MAX) : -1;

	if (setting->given || type <= 0)
		return;
	setting->take(type & ~DBG_TYPE_ERROR ? "7" : "1");
	setting->given = 1;
}

static void read_dest(const char *env)
{
	const char *value = secure_getenv(env);
	int64_t dest = value ? number(value, 0, UINT32_MAX) : -1;
	int sinks = 0;

	if (settings[SETTING_DEST].given || dest <= 0)
		return;
	if (dest & DBG_DEST_STDOUT)
		sinks |= DAT_SINK_STDERR;
	if (dest & DBG_DEST_SYSLOG)
		sinks |= DAT_SINK_SYSLOG;
	dat_sink_choose(sinks);
	settings[SETTING_DEST].given = 1;
}

void dat_trace_options_read(void)
{
	const char *level;
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		read_setting(&settings[i]);
	level = secure_getenv("DAT_TRACE_LEVEL");
	if (level && settings[SETTING_DAT_LEVEL].given && !number(level, 0, DATS_TRC_MAX))
		dat_trace_silence();
	read_type("DAT_DBG_TYPE", &settings[SETTING_DAT_LEVEL]);
	read_type("DAPL_DBG_TYPE", &settings[SETTING_DAPL_LEVEL]);
	read_dest("DAPL_DBG_DEST");
	read_dest("DAT_DBG_DEST");
	/* Who names a file wants it written. */
	if (settings[SETTING_FILE].given && !settings[SETTING_DEST].given)
		settings[SETTING_DEST].given = !take_dest("file");
}

int dats_trace_default(const char *name, const char *value)
{
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(settings[i].name, name))
			return settings[i].given ? 0 : settings[i].take(value);
	return -ENOENT;
}
