/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "dat/dats.h"

#define LINE_MAX_LEN 512

/* Under a libdat2 without a sink the core reads its own level, once. */
static int own_level(void)
{
	static int level = -1;
	const char *value;
	int l = __atomic_load_n(&level, __ATOMIC_RELAXED);

	if (l < 0) {
		value = getenv("DAPL_TRACE_LEVEL");
		l = value ? atoi(value) : 0;
		l = l < 0 || l > 10 ? 0 : l;
		__atomic_store_n(&level, l, __ATOMIC_RELAXED);
	}
	return l;
}

int dapl_trace_level(void)
{
	return dats_trace_levels ? __atomic_load_n(&dats_trace_levels()[1], __ATOMIC_RELAXED)
				 : own_level();
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

void dapl_trace_out(int level, const char *fmt, ...)
{
	int hook = level <= DAPL_TRC_ERROR ? DATS_HOOK_DAPL_ERROR : DATS_HOOK_DAPL_EVENT;
	int saved = errno;
	char line[LINE_MAX_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (dats_trace_write)
		dats_trace_write(hook, level, line);
	else
		fprintf(stderr, "dapl: %x: %s\n", (unsigned)hook, line);
	errno = saved;
}

static const struct {
	int err;
	__rlimit_resource_t resource;
	const char *limit, *knob;
} limits[] = {
	{ EMFILE, RLIMIT_NOFILE, "open descriptors of the process", "ulimit -n" },
	{ ENOMEM, RLIMIT_AS, "address space of the process", "ulimit -v" },
	{ EAGAIN, RLIMIT_NPROC, "threads and processes of the user", "ulimit -u" },
};

const char *dapl_strerror(int err)
{
	static __thread char text[256];
	char buf[96];
	struct rlimit rl;
	size_t i;

	err = err < 0 ? -err : err;
	snprintf(text, sizeof(text), "%s", strerror_r(err, buf, sizeof(buf)));
	if (err == ENFILE)
		snprintf(text, sizeof(text),
			 "%s (limit: fs.file-max of the system, knob: sysctl fs.file-max)",
			 strerror_r(err, buf, sizeof(buf)));
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].err != err || getrlimit(limits[i].resource, &rl))
			continue;
		if (rl.rlim_cur == RLIM_INFINITY)
			snprintf(text, sizeof(text), "%s (limit: %s, unlimited; knob: %s)",
				 strerror_r(err, buf, sizeof(buf)), limits[i].limit,
				 limits[i].knob);
		else
			snprintf(text, sizeof(text), "%s (limit: %s, now %llu; knob: %s)",
				 strerror_r(err, buf, sizeof(buf)), limits[i].limit,
				 (unsigned long long)rl.rlim_cur, limits[i].knob);
	}
	return text;
}
