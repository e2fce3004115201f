/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors of the libraries, of libdat2 as of the provider core. */
#ifndef UTIL_FD_H
#define UTIL_FD_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * For the result of every call that makes a descriptor. In a program that was started without
 * standard input, output or error the new descriptor may have the number of one of them, and what
 * the program then writes to standard error would go there: it gets a higher one. -1 and errno.
 */
static inline int dats_fd(int fd)
{
	int low = fd, err;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	err = errno;
	close(low);
	errno = err;
	return fd;
}

/* A file's or socket's descriptor that is kept: the program may close it, and have something else of
 * its number. (Eventfds and the like all have one inode.) */
struct dats_own_fd {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

/* What a call that makes a descriptor returned: 0 or an errno. */
static inline int dats_own_fd_take(struct dats_own_fd *own, int fd)
{
	struct stat st;
	int err;

	own->fd = dats_fd(fd);
	if (own->fd < 0)
		return errno;
	if (!fstat(own->fd, &st)) {
		own->dev = st.st_dev;
		own->ino = st.st_ino;
		return 0;
	}
	err = errno;
	close(own->fd);
	own->fd = -1;
	return err;
}

static inline bool dats_own_fd_is_ours(const struct dats_own_fd *own)
{
	struct stat st;

	if (own->fd < 0)
		return false;
	if (fstat(own->fd, &st))
		return errno != EBADF;
	return st.st_dev == own->dev && st.st_ino == own->ino;
}

/* Unless it is the program's by now. */
static inline void dats_own_fd_close(struct dats_own_fd *own)
{
	if (dats_own_fd_is_ours(own))
		close(own->fd);
	own->fd = -1;
}

#endif
