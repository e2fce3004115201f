/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the program says: results on standard output, failures on standard error. */
#ifndef DAPLTEST_REPORT_H
#define DAPLTEST_REPORT_H

#include <dat/udat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DT_ERROR_TEXT 256

/*
 * One actor of a test (the client, a session of the server, a test thread) and the first failure it
 * met. The text is kept because the other side is told it. Belongs to one thread at a time.
 */
struct dt_actor {
	char who[32];
	bool failed;
	char text[DT_ERROR_TEXT];
};

void dt_actor_init(struct dt_actor *actor, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Both print the failure, keep it if it is the actor's first, and return -1. */
int dt_fail(struct dt_actor *actor, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int dt_fail_dat(struct dt_actor *actor, DAT_RETURN ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Takes over another actor's failure, without printing it again. */
void dt_adopt_failure(struct dt_actor *actor, const struct dt_actor *other);

void dt_warn(const struct dt_actor *actor, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void dt_warn_dat(const struct dt_actor *actor, DAT_RETURN ret, const char *call);

/* One complete line each on standard output, flushed: scripts wait for some of them. */
void dt_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Results go to a machine: dt_say and dt_debug keep silent. */
void dt_set_silent(bool silent);

/*
 * How far a long test is, rewritten on standard error twice a second if that is a terminal. Any
 * thread, cheap when nothing is due; dt_progress_end() clears the line.
 */
void dt_progress(const char *what, uint64_t done, uint64_t total);
void dt_progress_end(void);

void dt_set_debug(int level);
int dt_debug_level(void);
void dt_debug(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *dt_strerror(DAT_RETURN ret, char *text, size_t size);
const char *dt_event_name(DAT_EVENT_NUMBER number);
const char *dt_status_name(DAT_DTO_COMPLETION_STATUS status);

#endif
