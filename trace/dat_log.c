/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Trace levels, records and diagnostics. */
#include "trace/dat_log.h"

#include "trace/recorder.h"
#include "trace/sink.h"
#include "util/clock.h"
#include "util/errno_text.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_LENGTH 4096
#define LINE_LENGTH (TEXT_LENGTH + 256)

DATS_DECLARE_POINTS(dat);

pthread_mutex_t dat_trace_lock = PTHREAD_MUTEX_INITIALIZER; /* of changes, and of followers */
static int levels[2];
static int changed[2]; /* while running: what stands in a file comes too late */
static int quiet;
static struct dats_follower *followers;

/* ---- Levels ---- */

static void set_level(enum dat_trace_component component, int level)
{
	struct dats_follower *follower;

	__atomic_store_n(&levels[component], level, __ATOMIC_RELAXED);
	if (component == DAT_TRC_DAT) {
		dats_points_reach(DATS_POINTS(dat), DATS_POINTS_END(dat), level);
		return;
	}
	for (follower = followers; follower; follower = follower->next)
		follower->level(level);
}

void dat_trace_initial_level(enum dat_trace_component component, int level)
{
	pthread_mutex_lock(&dat_trace_lock);
	if (!changed[component])
		set_level(component, level);
	pthread_mutex_unlock(&dat_trace_lock);
}

void dat_trace_silence(void)
{
	quiet = 1;
}

void dats_trace_follow(struct dats_follower *follower)
{
	pthread_mutex_lock(&dat_trace_lock);
	follower->next = followers;
	followers = follower;
	follower->level(dat_trace_level(DAT_TRC_DAPL));
	pthread_mutex_unlock(&dat_trace_lock);
}

void dats_trace_unfollow(struct dats_follower *follower)
{
	struct dats_follower **link;

	pthread_mutex_lock(&dat_trace_lock);
	for (link = &followers; *link && *link != follower; link = &(*link)->next)
		;
	if (*link)
		*link = follower->next;
	pthread_mutex_unlock(&dat_trace_lock);
}

int dat_trace_level(enum dat_trace_component component)
{
	return __atomic_load_n(&levels[component], __ATOMIC_RELAXED);
}

void dat_trace_change_level(enum dat_trace_component component, int level)
{
	if (level < 0)
		return;
	pthread_mutex_lock(&dat_trace_lock);
	changed[component] = 1;
	set_level(component, level);
	if (component == DAT_TRC_DAT && level > 0)
		__atomic_store_n(&quiet, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&dat_trace_lock);
}

/* ---- Records ---- */

/* Texts have names from programs and files: none of them makes lines, or tells a terminal. */
static void make_one_line(char *line)
{
	for (; *line && strcmp(line, "\n"); line++)
		if (((unsigned char)*line < ' ' && *line != '\t') || *line == 0x7f)
			*line = '?';
}

/* A record as all sinks get it: time, process and thread, hook, level, point, object, text. */
static void format_line(const struct dat_record *record, const char *text, char *out, size_t size)
{
	time_t seconds = (time_t)(record->time / 1000000000);
	char when[32], object[24] = "-";
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	if (record->object)
		snprintf(object, sizeof(object), "%p", record->object);
	snprintf(out, size, "dat: trace %s.%06uZ %ld.%ld 0x%X %u %s %s %.*s\n", when,
		 (unsigned int)(record->time % 1000000000 / 1000), (long)getpid(),
		 (long)record->tid, record->hook, record->level, record->point, object, TEXT_LENGTH,
		 text);
	make_one_line(out);
}

static enum dat_trace_component component_of(int hook)
{
	return hook == DATS_HOOK_DAPL_EVENT || hook == DATS_HOOK_DAPL_ERROR ? DAT_TRC_DAPL
									    : DAT_TRC_DAT;
}

/* As far as it fits: records are made while programs connect, and printf takes long. */
static void copy_text(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

/*
 * Lines are long, and programs have threads of small stacks: a line is on the stack only while it
 * is written, and never two at a time.
 */
static __attribute__((noinline)) void write_record(const struct dat_record *record,
						   const char *text, int on_stderr)
{
	char line[LINE_LENGTH];

	format_line(record, text, line, sizeof(line));
	dat_sink_write(record->hook, record->level, line, on_stderr);
}

/* on_stderr: standard error has it already, in other words. */
static void make_record(int hook, const struct dats_point *point, const void *object,
			const char *msg, int on_stderr)
{
	int wanted = point->level <= dat_trace_level(component_of(hook));
	struct dat_record record = { .object = object,
				     .tid = dat_recorder_tid(),
				     .hook = (uint16_t)hook,
				     .level = (uint16_t)point->level };

	if (!wanted && point->level > DATS_TRC_NORMAL)
		return;
	record.time = dats_clock(CLOCK_REALTIME);
	copy_text(record.point, sizeof(record.point), point->name);
	if (point->level <= DATS_TRC_NORMAL) {
		copy_text(record.text, sizeof(record.text), msg);
		dat_recorder_put(&record);
	}
	if (wanted)
		write_record(&record, msg, on_stderr);
}

void dats_trace_record(int hook, const struct dats_point *point, const void *object,
		       const char *msg)
{
	int saved = errno;

	make_record(hook, point, object, msg, 0);
	errno = saved;
}

#define RECORD_DIAG(point, object, fmt, msg) make_record(hook, (point), (object), (msg), 1)

static __attribute__((noinline)) void write_diag(const char *msg)
{
	char line[LINE_LENGTH];

	snprintf(line, sizeof(line), "dat: %.*s\n", TEXT_LENGTH, msg);
	make_one_line(line);
	dat_sink_stderr(line);
}

void dats_diag(int hook, const char *msg)
{
	int saved = errno;

	if (!__atomic_load_n(&quiet, __ATOMIC_RELAXED))
		write_diag(msg);
	DATS_TRACE(dat, error, DATS_TRC_ERROR, RECORD_DIAG, NULL, "text=%s", msg);
	errno = saved;
}

void dat_diag(const char *fmt, ...)
{
	char msg[TEXT_LENGTH];
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	errno = saved;
	dats_diag(DATS_HOOK_DAT_ERROR, msg);
}

void dat_trace_out(const struct dats_point *point, const void *object, const char *fmt, ...)
{
	int hook = point->level <= DATS_TRC_ERROR ? DATS_HOOK_DAT_ERROR : DATS_HOOK_DAT_EVENT;
	char msg[TEXT_LENGTH];
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	errno = saved;
	dats_trace_record(hook, point, object, msg);
}

/* ---- What is kept in memory ---- */

void dats_trace_internal_error(const char *why)
{
	struct dat_record *records;
	size_t num, i;
	int saved = errno;

	if (__atomic_load_n(&quiet, __ATOMIC_RELAXED))
		return;
	dats_diag(DATS_HOOK_DAPL_ERROR, why);
	records = dat_recorder_read(1, &num);
	for (i = 0; i < num; i++)
		write_record(&records[i], records[i].text, 0);
	free(records);
	errno = saved;
}

int dat_trace_dump_command(void *arg, const char *args, FILE *out)
{
	struct dat_record *records;
	char line[LINE_LENGTH];
	size_t num, i;

	records = dat_recorder_read(0, &num);
	for (i = 0; i < num; i++) {
		format_line(&records[i], records[i].text, line, sizeof(line));
		fputs(line, out);
	}
	free(records);
	return 0;
}

/* ---- From outside ---- */

/* What stands behind a level and its blanks; NULL: it is none. */
static const char *parse_level(const char *args, int *level)
{
	char *end;
	long value = strtol(args, &end, 10);
	size_t blanks = strspn(end, " \t\r\n");

	if (end == args || (*end && !blanks) || value < -1 || value > DATS_TRC_MAX)
		return NULL;
	*level = (int)value;
	return end + blanks;
}

/* "", "LEVEL" or "DAT DAPL". */
static int parse_levels(const char *args, int *dat, int *dapl)
{
	*dat = *dapl = -1;
	if (!*args)
		return 0;
	args = parse_level(args, dat);
	*dapl = *dat;
	if (args && *args)
		args = parse_level(args, dapl);
	return args && !*args ? 0 : -EINVAL;
}

int dat_trace_command(void *arg, const char *args, FILE *out)
{
	int dat, dapl, rc = parse_levels(args, &dat, &dapl);

	if (rc)
		return rc;
	dat_trace_change_level(DAT_TRC_DAT, dat);
	dat_trace_change_level(DAT_TRC_DAPL, dapl);
	fprintf(out, "dat %d\ndapl %d\n", dat_trace_level(DAT_TRC_DAT),
		dat_trace_level(DAT_TRC_DAPL));
	return 0;
}

int dat_trace_points_command(void *arg, const char *args, FILE *out)
{
	const struct dats_point *point;

	for (point = DATS_POINTS(dat); point < DATS_POINTS_END(dat); point++)
		fprintf(out, "dat\t%s\t%d\t%s\n", point->name, point->level, point->format);
	return 0;
}

const char *dat_errno_text(int err)
{
	static __thread char text[192];

	return dats_errno_text(err, text, sizeof(text));
}
