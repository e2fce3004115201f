/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where diagnostics and traces go: standard error, syslog on request, never standard output. */
#include "dat/trace.h"

#include <errno.h>
#include <sys/resource.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define LINE_MAX_LENGTH 4096
#define LEVEL_MAX	10

/* The bits of DAT_DBG_TYPE and DAT_DBG_DEST (REG-22). */
#define DBG_TYPE_ERROR 0x1
#define DBG_DEST_STDERR \
	0x1 /* release 2.1.10 writes to standard output; a library has no business there */
#define DBG_DEST_SYSLOG 0x2

struct dat_trace dat_trace_state = { .to_stderr = 1 };

/* A number from the environment, -1 if there is none or it is unusable. */
static long env_number(const char *name, int base, long max)
{
	const char *text = secure_getenv(name);
	char *end;
	long value;

	if (!text || !*text)
		return -1;
	value = strtol(text, &end, base);
	return *end || value < 0 || value > max ? -1 : value;
}

__attribute__((constructor)) static void trace_init(void)
{
	long dat = env_number("DAT_TRACE_LEVEL", 10, LEVEL_MAX);
	long dapl = env_number("DAPL_TRACE_LEVEL", 10, LEVEL_MAX);
	long type = env_number("DAT_DBG_TYPE", 0, 0xFFFF);
	long dest = env_number("DAT_DBG_DEST", 0, 0xFFFF);

	dat_trace_state.quiet = dat == 0;
	if (dat < 0 && type > 0)
		dat = type & ~DBG_TYPE_ERROR ? DAT_TRC_DETAIL : DAT_TRC_ERROR;
	dat_trace_state.levels[0] = dat < 0 ? 0 : (int)dat;
	dat_trace_state.levels[1] = dapl < 0 ? 0 : (int)dapl;
	if (dest > 0) {
		dat_trace_state.to_stderr = !!(dest & DBG_DEST_STDERR);
		dat_trace_state.to_syslog = !!(dest & DBG_DEST_SYSLOG);
	}
}

/* One write per line, so that the lines of several threads do not mix. */
static void sink(int priority, const char *line)
{
	if (dat_trace_state.to_stderr || priority == LOG_ERR)
		fputs(line, stderr);
	if (dat_trace_state.to_syslog)
		syslog(priority, "%s", line);
}

void dats_diag(int hook, const char *msg)
{
	char line[LINE_MAX_LENGTH];
	int saved = errno;

	(void)hook; /* a diagnostic is for people; the record with the hook is the trace */
	if (!dat_trace_state.quiet) {
		snprintf(line, sizeof(line) - 1, "dat: %s", msg);
		sink(LOG_ERR, strcat(line, "\n"));
	}
	errno = saved;
}

int *dats_trace_levels(void)
{
	return dat_trace_state.levels;
}

void dats_trace_write(int hook, int level, const char *msg)
{
	char line[LINE_MAX_LENGTH];
	int saved = errno;

	snprintf(line, sizeof(line) - 1, "dat: trace 0x%X %d %s", (unsigned int)hook, level, msg);
	sink(LOG_DEBUG, strcat(line, "\n"));
	errno = saved;
}

void dat_diag(const char *fmt, ...)
{
	char msg[LINE_MAX_LENGTH];
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	errno = saved;
	dats_diag(DATS_HOOK_DAT_ERROR, msg);
}

void dat_trace_out(int level, const char *fmt, ...)
{
	int hook = level <= DAT_TRC_ERROR ? DATS_HOOK_DAT_ERROR : DATS_HOOK_DAT_EVENT;
	char msg[LINE_MAX_LENGTH];
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	errno = saved;
	dats_trace_write(hook, level, msg);
}

const char *dat_errno_text(int err)
{
	static __thread char text[192];
	const char *what = NULL, *knob = NULL;
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	char name[80];

	if (err == EMFILE && !getrlimit(RLIMIT_NOFILE, &limit)) {
		what = "open descriptors of the process";
		knob = "ulimit -n";
	} else if (err == ENOMEM && !getrlimit(RLIMIT_AS, &limit)) {
		what = "address space of the process";
		knob = "ulimit -v";
	} else if (err == ENFILE) {
		what = "open files of the system";
		knob = "sysctl fs.file-max";
	}
	if (!what)
		snprintf(text, sizeof(text), "%s", strerror_r(err, name, sizeof(name)));
	else if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(text, sizeof(text), "%s (limit: %s; knob: %s)",
			 strerror_r(err, name, sizeof(name)), what, knob);
	else
		snprintf(text, sizeof(text), "%s (limit: %s, now %llu; knob: %s)",
			 strerror_r(err, name, sizeof(name)), what,
			 (unsigned long long)limit.rlim_cur, knob);
	return text;
}
