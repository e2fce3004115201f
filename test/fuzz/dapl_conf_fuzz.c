/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for dapl.conf, with the tunables of the software provider; the seeds are in
 * test/fuzz/seeds/dapl_conf. Whatever the file says, every value is in its range, and each
 * diagnosis names the file and one of its lines.
 */
#include "test/fuzz/insist.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dapl/base/config.h"
#include "trace/log.h"
#include "dapl/transport.h"

static char path[64];
static int file;
static long lines;

/* The library's way of telling. */
void dapl_diag(const char *fmt, ...)
{
	size_t len = strlen(path);
	char text[2048], *end;
	va_list ap;
	long line;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strncmp(text, path, len) || text[len] != ':') {
		fprintf(stderr, "%s\n", text);
		abort();
	}
	line = strtol(text + len + 1, &end, 10);
	if (line < 1 || line > lines || (*end != ':' && *end != ',')) {
		fprintf(stderr, "of %ld lines: %s\n", lines, text);
		abort();
	}
}

void dapl_trace_out(const struct dats_point *point, const void *object, const char *fmt, ...)
{
	(void)point;
	(void)object;
	(void)fmt;
}

const char *dapl_strerror(int err)
{
	return strerror(err);
}

const char *dapl_port_strerror(int err)
{
	return strerror(err);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	file = memfd_create("dapl.conf", MFD_CLOEXEC);
	insist(file >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	setenv("DAPL_CONF", path, 1);
	return 0;
}

static void check_table(const struct dapl_option *options, uint32_t num, const char *base)
{
	const struct dapl_option *option;
	int64_t value, choices;

	for (option = options; option < options + num; option++) {
		if (option->type == DAPL_OPTION_TEXT) {
			insist(strlen(*(const char *const *)(base + option->offset)) < 1 << 20);
			continue;
		}
		value = *(const int64_t *)(base + option->offset);
		for (choices = 0; option->choices && option->choices[choices];)
			choices++;
		if (option->type == DAPL_OPTION_CHOICE)
			insist(value >= 0 && value < choices);
		else
			insist(value >= option->value_min && value <= option->value_max);
	}
}

static void check_setting(void *arg, const struct dapl_setting *setting)
{
	(void)arg;
	insist(strlen(setting->value) < sizeof(setting->value));
	insist(!strcmp(setting->origin, "default") ||
	       !strncmp(setting->origin, path, strlen(path)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dapl_transport *t = &dapl_module_transport;
	static const char *const names[] = { "a", "lo", "soft0" };
	void *of_ia;

	lines = 1;
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	insist(!ftruncate(file, 0) && pwrite(file, data, size, 0) == (ssize_t)size);
	dapl_config_load(t->name, t->options, t->num_options, t->config);
	check_table(dapl_core_options, dapl_num_core_options, (const char *)&dapl_config);
	check_table(t->options, t->num_options, t->config);
	dapl_config_each(NULL, check_setting, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		dapl_config_each(names[i], check_setting, NULL);
		of_ia = dapl_config_for_ia(names[i]);
		insist(of_ia);
		check_table(t->options, t->num_options, of_ia);
		free(of_ia);
	}
	return 0;
}
