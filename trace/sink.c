/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trace/sink.h"
#include "trace/point.h"
#include "util/errno_text.h"
#include "util/fd.h"
#include "util/signals.h"
#include "util/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define PATH_LEN 4096 /* static where it is needed: who traces may have the smallest stack */

/* The lock covers the file; the rest is set before there is anything to write, or atomic. */
pthread_mutex_t dat_sink_lock = PTHREAD_MUTEX_INITIALIZER;
static int sinks = DAT_SINK_STDERR;
static struct {
	char *path;
	uint64_t size;
	unsigned int keep;
	struct dats_own_fd own; /* none: to be opened */
	int failure_reported;
	int given_up; /* it cannot be opened */
	int grows;    /* it could not be moved aside, which was told */
} file = { .size = 16 << 20, .keep = 2, .own.fd = -1 };

static struct {
	DAT_TRACE_FUNC func;
	void *arg;
	int changing;	      /* there are no new calls, so that they come to an end */
	unsigned int calls;   /* that have not returned */
	pthread_cond_t ended; /* all of them have */
} callback = { .ended = PTHREAD_COND_INITIALIZER };

static __thread int inside; /* a callback that makes records of its own gets none of them */

/* ---- One write per line, so that the lines of several threads do not mix ---- */

static ssize_t write_quietly(int fd, const char *line, size_t length)
{
	struct dats_signals signals;
	ssize_t n;

	dats_signals_block(&signals);
	n = write(fd, line, length);
	dats_signals_restore(&signals);
	return n;
}

void dat_sink_stderr(const char *line)
{
	write_quietly(STDERR_FILENO, line, strlen(line));
}

/* ---- The file ---- */

/* dat_sink_lock held, here and below */
static const char *reason(int err)
{
	static char text[192];

	return dats_errno_text(err, text, sizeof(text));
}

static void file_report(const char *path, const char *why, const char *what)
{
	static char line[PATH_LEN + 256];

	snprintf(line, sizeof(line), "dat: trace file %s: %s; %s\n", path, why, what);
	dat_sink_stderr(line);
}

/* The configured path with the process id in place of %p. */
static void file_path(char *out, size_t size)
{
	const char *from = file.path;
	size_t used = 0;

	while (*from && used + 24 < size) {
		if (from[0] == '%' && from[1] == 'p') {
			used += (size_t)snprintf(out + used, size - used, "%ld", (long)getpid());
			from += 2;
		} else {
			out[used++] = *from++;
		}
	}
	out[used] = '\0';
}

/*
 * Why a file is not written to, NULL if it is. Pipes and sockets would bring waiting with them; a
 * file of another user, or one that has a second name, may have been put there by somebody who is
 * not to read the trace, or for somebody who is not to be overwritten.
 */
static const char *objection(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return reason(errno);
	if (S_ISCHR(st.st_mode))
		return NULL;
	if (!S_ISREG(st.st_mode))
		return reason(EINVAL);
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	return st.st_nlink > 1 ? "it has other names" : NULL;
}

static void file_open(const char *path)
{
	const char *why;
	int err;

	err = dats_own_fd_take(&file.own, open(path,
					       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
						       O_NOCTTY | O_NONBLOCK | O_NOFOLLOW,
					       0600));
	if (err)
		why = err == ELOOP ? "it is a symbolic link" : reason(err);
	else
		why = objection(file.own.fd);
	if (!why)
		return;
	dats_own_fd_close(&file.own);
	file.given_up = 1;
	file_report(path, why, "the trace goes to standard error");
}

static void not_moved(const char *where)
{
	if (!file.grows)
		file_report(where, reason(errno), "the trace grows");
	file.grows = 1;
	file.size *= 2; /* then it is tried again */
}

/* Where a file stays, so do all that would take its place: no record is lost. */
static void move_aside(const char *path)
{
	static char older[PATH_LEN + 16], newer[PATH_LEN + 16];
	unsigned int i;

	for (i = file.keep; i > 0; i--) {
		snprintf(older, sizeof(older), "%s.%u", path, i);
		if (i > 1)
			snprintf(newer, sizeof(newer), "%s.%u", path, i - 1);
		else
			snprintf(newer, sizeof(newer), "%s", path);
		if (rename(newer, older) && errno != ENOENT) {
			not_moved(older);
			return;
		}
	}
	if (!file.keep && unlink(path) && errno != ENOENT)
		not_moved(path);
}

/* Another process may write to the same file, and may have moved it aside already. */
static void rotate(const char *path)
{
	struct stat ours, there;

	flock(file.own.fd, LOCK_EX);
	if (!fstat(file.own.fd, &ours) && !lstat(path, &there) && ours.st_ino == there.st_ino &&
	    ours.st_dev == there.st_dev)
		move_aside(path);
	dats_own_fd_close(&file.own); /* and with it the lock */
	file_open(path);
}

static int full(void)
{
	struct stat st;

	return !fstat(file.own.fd, &st) && S_ISREG(st.st_mode) && file.size &&
	       (uint64_t)st.st_size >= file.size;
}

/* 0 if the record is on its way, or lost and that said once; -1: to standard error. */
static int file_write(const char *line)
{
	static char path[PATH_LEN];

	if (!file.path || file.given_up)
		return -1;
	file_path(path, sizeof(path));
	if (!dats_own_fd_is_ours(&file.own))
		file_open(path);
	if (file.own.fd >= 0 && full())
		rotate(path);
	if (file.own.fd < 0)
		return -1;
	if (write_quietly(file.own.fd, line, strlen(line)) >= 0)
		return 0;
	if (!file.failure_reported)
		file_report(path,
			    errno == EFBIG ? "it is as large as files may be (knob: ulimit -f)"
					   : reason(errno),
			    "records are lost");
	file.failure_reported = 1;
	return 0;
}

/* ---- Choice ---- */

void dat_sink_choose(int chosen)
{
	__atomic_store_n(&sinks, chosen, __ATOMIC_RELAXED);
}

void dat_sink_file(const char *path, uint64_t size, unsigned int keep)
{
	int same;

	pthread_mutex_lock(&dat_sink_lock);
	same = !strcmp(path ? path : "", file.path ? file.path : "");
	file.size = size;
	file.keep = keep;
	if (!same) {
		dats_own_fd_close(&file.own);
		free(file.path);
		file.path = path && *path ? strdup(path) : NULL;
		file.failure_reported = file.given_up = file.grows = 0;
	}
	pthread_mutex_unlock(&dat_sink_lock);
}

/* A child opens a file of its own, which may have another name. */
void dat_sink_abandon(void)
{
	dats_own_fd_close(&file.own);
	file.grows = 0;
	pthread_cond_init(&callback.ended, NULL);
	callback.changing = 0;
	callback.calls = inside != 0;
}

void dat_sink_callback(DAT_TRACE_FUNC func, void *arg)
{
	pthread_mutex_lock(&dat_sink_lock);
	while (callback.calls && !inside) {
		callback.changing = 1;
		dats_cond_wait(&callback.ended, &dat_sink_lock);
	}
	callback.changing = 0;
	callback.arg = arg;
	callback.func = func;
	pthread_mutex_unlock(&dat_sink_lock);
}

/* ---- Records ---- */

static void to_program(int hook, int level, const char *line)
{
	DAT_TRACE_FUNC func;
	void *arg;

	if (inside)
		return;
	pthread_mutex_lock(&dat_sink_lock);
	func = callback.changing ? NULL : callback.func;
	arg = callback.arg;
	callback.calls += func != NULL;
	pthread_mutex_unlock(&dat_sink_lock);
	if (!func)
		return;
	inside = 1;
	func(arg, hook, level, line);
	inside = 0;
	pthread_mutex_lock(&dat_sink_lock);
	if (!--callback.calls)
		pthread_cond_broadcast(&callback.ended);
	pthread_mutex_unlock(&dat_sink_lock);
}

void dat_sink_write(int hook, int level, const char *line, int on_stderr)
{
	int chosen = __atomic_load_n(&sinks, __ATOMIC_RELAXED), saved = errno, missed = 0;

	if (chosen & DAT_SINK_FILE) {
		pthread_mutex_lock(&dat_sink_lock);
		missed = file_write(line);
		pthread_mutex_unlock(&dat_sink_lock);
	}
	if (!on_stderr && (chosen & DAT_SINK_STDERR || missed))
		dat_sink_stderr(line);
	if (chosen & DAT_SINK_SYSLOG) {
		/* The C library's own lock would stay taken in a child that is forked meanwhile. */
		pthread_mutex_lock(&dat_sink_lock);
		syslog(level <= DATS_TRC_ERROR ? LOG_ERR : LOG_DEBUG, "%s", line);
		pthread_mutex_unlock(&dat_sink_lock);
	}
	to_program(hook, level, line);
	errno = saved;
}
