/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts of failed calls. */
#ifndef UTIL_ERRNO_TEXT_H
#define UTIL_ERRNO_TEXT_H

#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* buf may hold it, or the text is the C library's own. */
static inline const char *dats_strerror(int err, char *buf, size_t size)
{
#ifdef STRERROR_R_CHAR_P
	return strerror_r(err, buf, size);
#else
	return strerror_r(err, buf, size) ? "an error that has no text" : buf;
#endif
}

/* The errno's own text, and where a limit was hit that limit with its value and its knob. */
static inline const char *dats_errno_text(int err, char *text, size_t size)
{
	static const struct {
		int err;
		int resource;
		const char *limit, *knob;
	} limits[] = {
		{ EMFILE, RLIMIT_NOFILE, "open descriptors of the process", "ulimit -n" },
		{ ENOMEM, RLIMIT_AS, "address space of the process", "ulimit -v" },
		{ EAGAIN, RLIMIT_NPROC, "threads and processes of the user", "ulimit -u" },
	};
	char buf[96];
	const char *own = dats_strerror(err, buf, sizeof(buf));
	struct rlimit rl;
	size_t i;

	snprintf(text, size, "%s", own);
	if (err == ENFILE)
		snprintf(text, size,
			 "%s (limit: fs.file-max of the system, knob: sysctl fs.file-max)", own);
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].err != err || getrlimit(limits[i].resource, &rl))
			continue;
		if (rl.rlim_cur == RLIM_INFINITY)
			snprintf(text, size, "%s (limit: %s, unlimited; knob: %s)", own,
				 limits[i].limit, limits[i].knob);
		else
			snprintf(text, size, "%s (limit: %s, now %llu; knob: %s)", own,
				 limits[i].limit, (unsigned long long)rl.rlim_cur, limits[i].knob);
	}
	return text;
}

#endif
