/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/conf_file.h"
#include "util/fd.h"

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

char *dat_conf_read(int fd, size_t *length)
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
	int fd = dats_fd(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));

	return fd >= 0 ? fd : -errno;
}

const char *dat_conf_default_path(void)
{
	return default_path;
}

/* The override is not for set-user-id programs: it names code to run. */
int dat_conf_open(const char **path, int *passed_over)
{
	const char *override = secure_getenv("DAT_OVERRIDE");
	int fd, first;

	*passed_over = 0;
	*path = override ? override : default_path;
	first = open_conf(*path);
	if (first >= 0 || override || !strcmp(default_path, DAT_CONF_FALLBACK))
		return first;
	if (first != -ENOENT)
		*passed_over = first;
	fd = open_conf(DAT_CONF_FALLBACK);
	if (fd == -ENOENT)
		return first;
	*path = DAT_CONF_FALLBACK;
	return fd;
}
