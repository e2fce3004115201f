/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds and reads dat.conf, and reports what is wrong with it. */
#include "dat/static.h"
#include "dat/conf_file.h"
#include "dat/fork.h"
#include "trace/dat_log.h"
#include "util/read_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct dat_static sr;
pthread_mutex_t dat_static_lock = PTHREAD_MUTEX_INITIALIZER;
static int sr_ready;

/* What came of reading the file, to be said once the lock is free: a trace function may fork. */
struct reading {
	int done;
	const char *path;
	int passed_over, err; /* negative errno */
	struct dat_conf conf; /* what is wrong with its lines */
	size_t num_sources;
};

/* The entries' strings get a new owner. */
static int adopt(struct dat_conf *conf)
{
	size_t i;

	sr.sources = calloc(conf->num_entries + 1, sizeof(*sr.sources));
	if (!sr.sources)
		return -ENOMEM;
	for (i = 0; i < conf->num_entries; i++)
		sr.sources[i].conf = conf->entries[i];
	sr.num_sources = conf->num_entries;
	conf->num_entries = 0;
	sr.passed_over = conf->passed_over;
	sr.num_passed_over = conf->num_passed_over;
	conf->passed_over = NULL;
	conf->num_passed_over = 0;
	return 0;
}

static int parse_and_adopt(const char *text, size_t length, struct dat_conf *conf)
{
	int err = dat_conf_parse(text, length, conf);

	return err ? err : adopt(conf);
}

/* What may be otherwise the next time; a file that is not there, or for others only, stays so. */
static int is_passing(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE || err == -EIO || err == -EINTR;
}

static const char *what_next(int err)
{
	if (is_passing(err))
		return " until the next call finds it readable";
	return err == -ENOENT ? " (dat-info --generate writes a file for this host)" : "";
}

/* dat_static_lock held */
static void read_conf(struct reading *reading)
{
	static char *path_copy; /* of the last attempt; nobody sees it before one has an end */
	char *text = NULL, *copy;
	size_t length;
	int fd = dat_conf_open(&reading->path, &reading->passed_over);

	copy = strdup(reading->path); /* the environment may change */
	free(path_copy);
	path_copy = copy;
	sr.path = copy ? copy : dat_conf_default_path();
	if (fd < 0)
		reading->err = fd;
	else if (!(text = dats_read_file(fd, &length)))
		reading->err = -errno;
	else
		reading->err = parse_and_adopt(text, length, &reading->conf);
	free(text);
	if (fd >= 0)
		close(fd);
	reading->done = 1;
	reading->num_sources = sr.num_sources;
	sr.is_unread = reading->err != 0;
	if (!is_passing(reading->err))
		__atomic_store_n(&sr_ready, 1, __ATOMIC_RELEASE);
}

static void report(const struct reading *reading)
{
	const struct dat_conf_diag *diag;
	size_t i;

	if (reading->passed_over)
		dat_diag("%s: %s; trying %s", dat_conf_default_path(),
			 dat_errno_text(-reading->passed_over), DAT_CONF_FALLBACK);
	for (i = 0; i < reading->conf.num_diags; i++) {
		diag = &reading->conf.diags[i];
		dat_diag("%s:%u: field %d (%s): %s", reading->path, diag->line, diag->field,
			 dat_conf_field_name(diag->field), diag->reason);
	}
	if (reading->err)
		dat_diag("%s: %s; the static registry is empty%s",
			 *reading->path ? reading->path : "DAT_OVERRIDE is empty",
			 dat_errno_text(-reading->err), what_next(reading->err));
	dat_trace(conf_read, DATS_TRC_NORMAL, NULL, "file=%s entries=%zu", reading->path,
		  reading->num_sources);
}

const struct dat_static *dat_static_get(void)
{
	struct reading reading = { .done = 0 };

	pthread_mutex_lock(&dat_static_lock);
	if (!sr_ready)
		read_conf(&reading);
	pthread_mutex_unlock(&dat_static_lock);
	if (reading.done) {
		report(&reading);
		dat_conf_free(&reading.conf);
	}
	return dat_static_peek();
}

const struct dat_static *dat_static_peek(void)
{
	static const struct dat_static nothing;

	return __atomic_load_n(&sr_ready, __ATOMIC_ACQUIRE) ? &sr : &nothing;
}
