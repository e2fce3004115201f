/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Configuration files, which may also be pipes or devices. */
#ifndef UTIL_READ_FILE_H
#define UTIL_READ_FILE_H

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	/* None is that long; the bound keeps a device or an endless pipe from taking all memory. */
	DATS_FILE_MAX = 1 << 20,
	DATS_FILE_SILENCE_MS = 5000, /* how long a pipe may stay silent */
};

/* One read that does not block for ever. Returns a count, 0 at the end, or -1 with errno. */
static inline ssize_t dats_read_some(int fd, char *buf, size_t size)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n;

	for (;;) {
		n = read(fd, buf, size);
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return n;
		if (errno == EAGAIN && poll(&wait, 1, DATS_FILE_SILENCE_MS) == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
}

/*
 * All that is left of a file that was opened with O_NONBLOCK, malloc'ed and ended by a null byte.
 * NULL with errno: EFBIG beyond DATS_FILE_MAX, ETIMEDOUT for a pipe that stays silent.
 */
static inline char *dats_read_file(int fd, size_t *length)
{
	char *text = malloc(DATS_FILE_MAX + 1);
	ssize_t n = 1;

	*length = 0;
	while (text && n > 0 && *length <= DATS_FILE_MAX) {
		n = dats_read_some(fd, text + *length, DATS_FILE_MAX + 1 - *length);
		if (n > 0)
			*length += (size_t)n;
	}
	if (text && *length > DATS_FILE_MAX) {
		n = -1;
		errno = EFBIG;
	}
	if (text && n >= 0) {
		text[*length] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

#endif
