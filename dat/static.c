/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds and reads dat.conf, and reports what is wrong with it. */
#include "dat/static.h"
#include "dat/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No dat.conf is that long; the bound keeps a device or an endless pipe from taking all memory. */
#define FILE_MAX (1 << 20)

/* How long a pipe given as the file may stay silent. */
#define SILENCE_MS 5000

static const char default_path[] = UDAPL_SYSCONFDIR "/dat.conf";
static const char fallback_path[] = "/etc/dat.conf";

static struct dat_static sr;
static int sr_ready;

/* One read that does not block for ever. Returns a count, 0 at the end, or -1 with errno. */
static ssize_t read_some(int fd, char *buf, size_t size)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n;

	for (;;) {
		n = read(fd, buf, size);
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return n;
		if (errno == EAGAIN && poll(&wait, 1, SILENCE_MS) == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
}

/* The whole file, NULL with errno. */
static char *read_all(int fd, size_t *length)
{
	char *text = malloc(FILE_MAX + 1);
	ssize_t n = 1;

	*length = 0;
	while (text && n > 0 && *length <= FILE_MAX) {
		n = read_some(fd, text + *length, FILE_MAX + 1 - *length);
		if (n > 0)
			*length += (size_t)n;
	}
	if (text && *length > FILE_MAX) {
		n = -1;
		errno = EFBIG;
	}
	if (n < 0) {
		free(text);
		text = NULL;
	}
	return text;
}

static int open_conf(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* REG-8 and REG-9. The override is not for set-user-id programs: it names code to run. */
static int find_conf(const char **path)
{
	const char *override = secure_getenv("DAT_OVERRIDE");
	int fd, err;

	*path = override ? override : default_path;
	fd = open_conf(*path);
	if (fd >= 0 || override || !strcmp(default_path, fallback_path))
		return fd;
	err = errno;
	if (err != ENOENT)
		dat_diag("%s: %s; trying %s", default_path, dat_errno_text(err), fallback_path);
	fd = open_conf(fallback_path);
	if (fd >= 0 || errno != ENOENT)
		*path = fallback_path;
	return fd;
}

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

static void read_conf(void)
{
	const char *path;
	char *text = NULL, *copy;
	size_t length;
	int fd = find_conf(&path), err = 0;

	copy = strdup(path); /* the environment may change */
	sr.path = copy ? copy : default_path;
	if (fd < 0 || !(text = read_all(fd, &length)))
		err = -errno;
	else
		err = parse_and_adopt(text, length);
	if (err)
		dat_diag("%s: %s; the static registry is empty", path, dat_errno_text(-err));
	dat_trace(DAT_TRC_NORMAL, "%s: %zu entries", path, sr.num_sources);
	free(text);
	if (fd >= 0)
		close(fd);
	__atomic_store_n(&sr_ready, 1, __ATOMIC_RELEASE);
}

const struct dat_static *dat_static_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_conf);
	return &sr;
}

const struct dat_static *dat_static_peek(void)
{
	static const struct dat_static nothing;

	return __atomic_load_n(&sr_ready, __ATOMIC_ACQUIRE) ? &sr : &nothing;
}
