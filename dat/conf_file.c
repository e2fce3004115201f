/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/conf_file.h"
#include "util/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const char default_path[] = UDAPL_SYSCONFDIR "/dat.conf";

static int open_conf(const char *path)
{
	int fd = dats_fd(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));

	return fd >= 0 ? fd : -errno;
}

const char *dat_conf_default_path(void)
{
	return default_path;
}

int dat_conf_open_fallback(void)
{
	return open_conf(DAT_CONF_FALLBACK);
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
	fd = dat_conf_open_fallback();
	if (fd == -ENOENT)
		return first;
	*path = DAT_CONF_FALLBACK;
	return fd;
}
