/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trace/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/exports.h"
#include "util/errno_text.h"

#define LINE_MAX_LEN 512

DATS_DECLARE_POINTS(dapl);

static int current; /* the level; libdat2 has it too */

static void follow(int level)
{
	__atomic_store_n(&current, level, __ATOMIC_RELAXED);
	dats_points_reach(DATS_POINTS(dapl), DATS_POINTS_END(dapl), level);
}

static struct dats_follower follower = { .level = follow };

/* Under a libdat2 without a sink the core reads its own level, once. */
static int own_level(void)
{
	const char *value = secure_getenv("DAPL_TRACE_LEVEL");
	long level;
	char *end;

	if (!value || !*value)
		return 0;
	level = strtol(value, &end, 10);
	return *end || level < 0 || level > DATS_TRC_MAX ? 0 : (int)level;
}

__attribute__((constructor)) static void start(void)
{
	if (dats_trace_follow)
		dats_trace_follow(&follower);
	else
		follow(own_level());
}

__attribute__((destructor)) static void stop(void)
{
	if (dats_trace_unfollow)
		dats_trace_unfollow(&follower);
}

void dapl_diag(const char *fmt, ...)
{
	int saved = errno;
	char line[LINE_MAX_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (dats_diag)
		dats_diag(DATS_HOOK_DAPL_ERROR, line);
	else
		fprintf(stderr, "dapl: %s\n", line);
	errno = saved;
}

void dapl_trace_out(const struct dats_point *point, const void *object, const char *fmt, ...)
{
	int hook = point->level <= DAPL_TRC_ERROR ? DATS_HOOK_DAPL_ERROR : DATS_HOOK_DAPL_EVENT;
	int saved = errno;
	char line[LINE_MAX_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (dats_trace_record)
		dats_trace_record(hook, point, object, line);
	else if (__atomic_load_n(&current, __ATOMIC_RELAXED) >= point->level)
		fprintf(stderr, "dapl: trace 0x%X %d %s %p %s\n", (unsigned int)hook, point->level,
			point->name, object, line);
	errno = saved;
}

void dapl_trace_points(FILE *out)
{
	const struct dats_point *point;

	for (point = DATS_POINTS(dapl); point < DATS_POINTS_END(dapl); point++)
		fprintf(out, "dapl\t%s\t%d\t%s\n", point->name, point->level, point->format);
}

void dapl_internal_error(const char *why)
{
	if (dats_trace_internal_error)
		dats_trace_internal_error(why);
	else
		dapl_err("%s", why);
}

static __thread char text[256];

const char *dapl_strerror(int err)
{
	return dats_errno_text(err < 0 ? -err : err, text, sizeof(text));
}

const char *dapl_port_strerror(int err)
{
	char buf[96];

	err = err < 0 ? -err : err;
	if (err != EADDRNOTAVAIL && err != EADDRINUSE)
		return dapl_strerror(err);
	snprintf(text, sizeof(text),
		 "%s (no port is left, or the address is gone; "
		 "knob: sysctl net.ipv4.ip_local_port_range)",
		 dats_strerror(err, buf, sizeof(buf)));
	return text;
}
