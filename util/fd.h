/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors of the libraries, of libdat2 as of the provider core. */
#ifndef UTIL_FD_H
#define UTIL_FD_H

#include <errno.h>
#include <fcntl.h>
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

#endif
