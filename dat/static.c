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

static void report(const struct dat_conf *conf)
{
	const struct dat_conf_diag *diag;
	size_t i;

	for (i = 0; i < conf->num_diags; i++) {
		diag = &conf->diags[i];
		dat_diag("%s:%u: field %d (%s): %s", sr.path, diag->line, diag->field,
			 dat_conf_field_name(diag->field), diag->reason);
	}
}

static int adopt(struct dat_conf *conf)
{
	size_t i;

	if (!conf->num_entries)
		return 0;
	sr.sources = calloc(conf->num_entries, sizeof(*sr.sources));
	if (!sr.sources)
		return -ENOMEM;
	for (i = 0; i < conf->num_entries; i++)
		sr.sources[i].conf = conf->entries[i];
	sr.num_sources = conf->num_entries;
	conf->num_entries = 0; /* their strings have a new owner */
	return 0;
}

static int parse_and_adopt(const char *text, size_t length)
{
	struct dat_conf conf;
	int err = dat_conf_parse(text, length, &conf);

	if (err)
		return err;
	report(&conf);
	err = adopt(&conf);
	dat_conf_free(&conf);
	return err;
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
static void read_conf(void)
{
	const char *path;
	char *text = NULL, *copy;
	size_t length;
	int passed_over, fd = dat_conf_open(&path, &passed_over), err = 0;

	if (passed_over)
		dat_diag("%s: %s; trying %s", dat_conf_default_path(), dat_errno_text(-passed_over),
			 DAT_CONF_FALLBACK);
	if (!sr.path) {
		copy = strdup(path); /* the environment may change */
		sr.path = copy ? copy : dat_conf_default_path();
	}
	if (fd < 0)
		err = fd;
	else if (!(text = dats_read_file(fd, &length)))
		err = -errno;
	else
		err = parse_and_adopt(text, length);
	if (err)
		dat_diag("%s: %s; the static registry is empty%s", path, dat_errno_text(-err),
			 what_next(err));
	sr.is_unread = err != 0;
	dat_trace(conf_read, DATS_TRC_NORMAL, NULL, "file=%s entries=%zu", path, sr.num_sources);
	free(text);
	if (fd >= 0)
		close(fd);
	if (!is_passing(err))
		__atomic_store_n(&sr_ready, 1, __ATOMIC_RELEASE);
}

const struct dat_static *dat_static_get(void)
{
	pthread_mutex_lock(&dat_static_lock);
	if (!sr_ready)
		read_conf();
	pthread_mutex_unlock(&dat_static_lock);
	return dat_static_peek();
}

const struct dat_static *dat_static_peek(void)
{
	static const struct dat_static nothing;

	return __atomic_load_n(&sr_ready, __ATOMIC_ACQUIRE) ? &sr : &nothing;
}
