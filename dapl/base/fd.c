/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/fd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "dapl/base/fork.h"
#include "util/fd.h"

/*
 * One bit for each, up to the kernel's usual limit (fs.nr_open). A connection or a listener that a
 * child has as well does not end when the parent, or who kills it, closes it.
 */
#define WORDS ((1u << 20) / 64)

enum {
	MOST = 1024, /* of peers' doing, unless an option says more */
	SHARE = 4,   /* of the descriptors that the process may have */
};

static _Atomic uint64_t own[WORDS];
static _Atomic uint32_t end; /* words beyond are 0 */

int dapl_fd_own(int fd)
{
	uint32_t word, seen;

	fd = dats_fd(fd);
	if (fd < 0)
		return fd;
	word = (uint32_t)fd / 64;
	if (word >= WORDS)
		return fd;
	atomic_fetch_or(&own[word], 1ull << fd % 64);
	seen = atomic_load(&end);
	while (seen <= word && !atomic_compare_exchange_weak(&end, &seen, word + 1))
		;
	return fd;
}

void dapl_fd_disown(int fd)
{
	uint32_t word = (uint32_t)fd / 64;

	if (fd >= 0 && word < WORDS)
		atomic_fetch_and(&own[word], ~(1ull << fd % 64));
}

/* Disowned first: the number may be another's as soon as it is closed. */
void dapl_fd_close(int fd)
{
	int err = errno;

	dapl_fd_disown(fd);
	close(fd);
	errno = err;
}

uint32_t dapl_fd_share(int64_t option)
{
	struct rlimit files;

	if (option)
		return (uint32_t)option;
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / SHARE > MOST)
		return MOST;
	return files.rlim_cur < SHARE ? 1 : (uint32_t)(files.rlim_cur / SHARE);
}

int dapl_eventfd(void)
{
	return dapl_fd_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void dapl_eventfd_signal(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void dapl_eventfd_clear(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static void in_child(void)
{
	uint32_t word;
	uint64_t bits;

	for (word = 0; word < end; word++) {
		for (bits = own[word]; bits; bits &= bits - 1)
			close((int)(word * 64) + __builtin_ctzll(bits));
		own[word] = 0;
	}
	end = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct dats_fork_watcher watcher = { .in_child = in_child };

	dapl_fork_watch(&watcher);
}
