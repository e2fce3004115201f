/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/sim/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "test/sim/libc.h"
#include "test/sim/sim.h"

/* ---- Descriptors ---- */

static struct sim_file *files[SIM_FDS];

void sim_file_init(struct sim_file *file, enum sim_kind kind, int flags)
{
	memset(file, 0, sizeof(*file));
	file->kind = kind;
	file->host = fiber_host();
	file->blocks = !(flags & O_NONBLOCK);
}

int sim_fd_add(struct sim_file *file)
{
	for (int i = 0; i < SIM_FDS; i++) {
		if (files[i])
			continue;
		files[i] = file;
		file->descriptors++;
		return SIM_FIRST_FD + i;
	}
	errno = EMFILE;
	return -1;
}

bool sim_fd_is_ours(int fd)
{
	return sim_on && fd >= SIM_FIRST_FD && fd < SIM_FIRST_FD + SIM_FDS;
}

struct sim_file *sim_fd(int fd)
{
	return sim_fd_is_ours(fd) ? files[fd - SIM_FIRST_FD] : NULL;
}

uint32_t sim_fd_count(int host)
{
	uint32_t count = 0;

	for (int i = 0; i < SIM_FDS; i++)
		count += files[i] && files[i]->host == host;
	return count;
}

void sim_fd_close_all(int host)
{
	for (int i = 0; i < SIM_FDS; i++)
		if (files[i] && files[i]->host == host)
			sim_fd_close(SIM_FIRST_FD + i);
}

int sim_fd_close(int fd)
{
	struct sim_file *file = sim_fd(fd);

	if (!file)
		sim_fail("descriptor %d is closed, which is none", fd);
	sim_trace(SIM_CLOSE, (uint64_t)fd, 0, 0, 0);
	files[fd - SIM_FIRST_FD] = NULL;
	if (--file->descriptors)
		return 0;
	sim_file_forget(file);
	fiber_wake_file(file);
	file->closed(file);
	return 0;
}

/* ---- Sets ---- */

/* A file in a set. */
struct sim_item {
	struct sim_set *set;
	struct sim_file *file;
	struct sim_item *next_of_file, *next_of_set;
	int fd;
	uint32_t events, told; /* changes of the file when it was last reported */
	uint64_t data;
};

struct sim_set {
	struct sim_file file; /* first */
	struct sim_item *items;
};

static uint32_t item_ready(const struct sim_item *item)
{
	uint32_t ready;

	ready = item->file->ready(item->file) & item->events;
	if (item->events & EPOLLET && item->told == item->file->changes)
		return 0;
	return ready;
}

static uint32_t set_ready(struct sim_file *file)
{
	struct sim_set *set = (struct sim_set *)file;

	for (struct sim_item *item = set->items; item; item = item->next_of_set)
		if (item_ready(item))
			return EPOLLIN;
	return 0;
}

static void unlink_item(struct sim_item *item)
{
	struct sim_item **link = &item->file->watchers;

	while (*link != item)
		link = &(*link)->next_of_file;
	*link = item->next_of_file;
	for (link = &item->set->items; *link != item; link = &(*link)->next_of_set)
		;
	*link = item->next_of_set;
	__libc_free(item);
}

static void set_closed(struct sim_file *file)
{
	struct sim_set *set = (struct sim_set *)file;

	while (set->items)
		unlink_item(set->items);
	__libc_free(set);
}

void sim_file_forget(struct sim_file *file)
{
	while (file->watchers)
		unlink_item(file->watchers);
}

void sim_file_changed(struct sim_file *file)
{
	file->changes++;
	fiber_wake_file(file);
	for (struct sim_item *item = file->watchers; item; item = item->next_of_file)
		sim_file_changed(&item->set->file);
}

SIM_CALL int epoll_create1(int flags)
{
	struct sim_set *set;
	int fd;

	(void)flags;
	fiber_point();
	if (FAILS("epoll_create1", EMFILE))
		return -1;
	set = __libc_calloc(1, sizeof(*set));
	sim_file_init(&set->file, SIM_FILE_EPOLL, O_NONBLOCK);
	set->file.ready = set_ready;
	set->file.closed = set_closed;
	fd = sim_fd_add(&set->file);
	if (fd < 0)
		__libc_free(set);
	return fd;
}

static struct sim_item *find_item(struct sim_set *set, int fd)
{
	struct sim_item *item = set->items;

	while (item && (item->fd != fd || item->file != sim_fd(fd)))
		item = item->next_of_set;
	return item;
}

static void add_item(struct sim_set *set, int fd, struct sim_file *file)
{
	struct sim_item *item = __libc_calloc(1, sizeof(*item));

	item->set = set;
	item->file = file;
	item->fd = fd;
	item->next_of_file = file->watchers;
	file->watchers = item;
	item->next_of_set = set->items;
	set->items = item;
}

static int no(int error)
{
	errno = error;
	return -1;
}

SIM_CALL int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct sim_set *set = (struct sim_set *)sim_fd(epfd);
	struct sim_file *file = sim_fd(fd);
	struct sim_item *item;

	fiber_point();
	if (!set || !file)
		return no(EBADF);
	item = find_item(set, fd);
	if (op == EPOLL_CTL_ADD && item)
		return no(EEXIST);
	if (op != EPOLL_CTL_ADD && !item)
		return no(ENOENT);
	if (op == EPOLL_CTL_ADD && FAILS("epoll_ctl", ENOSPC))
		return -1;
	if (op == EPOLL_CTL_DEL) {
		unlink_item(item);
		return 0;
	}
	if (op == EPOLL_CTL_ADD)
		add_item(set, fd, file);
	item = find_item(set, fd);
	/* Errors and hang-ups are told whatever is asked for. */
	item->events = event->events | EPOLLERR | EPOLLHUP;
	item->data = event->data.u64;
	item->told = file->changes - 1;
	if (item_ready(item))
		sim_file_changed(&set->file);
	return 0;
}

/* What is ready, from any of them on, as the order is nobody's right. */
static int collect(struct sim_set *set, struct epoll_event *events, int room)
{
	struct sim_item *item = set->items;
	uint32_t ready, total = 0, skip;
	int num = 0;

	for (; item; item = item->next_of_set)
		total++;
	skip = total ? sim_random(total) : 0;
	for (item = set->items; skip--; item = item->next_of_set)
		;
	for (; total-- && num < room; item = item->next_of_set ? item->next_of_set : set->items) {
		ready = item_ready(item);
		if (!ready)
			continue;
		events[num].events = ready;
		events[num++].data.u64 = item->data;
		item->told = item->file->changes;
		if (item->events & EPOLLONESHOT)
			item->events = 0; /* until it is asked for again */
		/* Some of it is told by the next call. */
		if (sim_once_in(sim_plan.short_one_in))
			break;
	}
	return num;
}

SIM_CALL int epoll_wait(int epfd, struct epoll_event *events, int room, int timeout)
{
	uint64_t deadline = timeout < 0 ? SIM_NEVER : sim_now + (uint64_t)timeout * 1000000;
	struct sim_set *set = (struct sim_set *)sim_fd(epfd);
	struct sim_file *file = &set->file;
	int num;

	fiber_point();
	if (!set)
		return no(EBADF);
	for (;;) {
		num = collect(set, events, room);
		if (num || sim_now >= deadline)
			break;
		fiber_wait_files(&file, 1, deadline);
	}
	sim_trace(SIM_EPOLL, (uint64_t)epfd, (uint64_t)num, num ? events[0].events : 0, 0);
	return num;
}

/* ---- Poll ---- */

static int poll_once(struct pollfd *fds, unsigned long num)
{
	struct sim_file *file;
	int ready = 0;

	for (unsigned long i = 0; i < num; i++) {
		file = sim_fd(fds[i].fd);
		fds[i].revents = 0;
		if (fds[i].fd < 0)
			continue;
		fds[i].revents = (short)(!file ? POLLNVAL
					       : file->ready(file) & ((uint32_t)fds[i].events |
								      POLLERR | POLLHUP));
		ready += fds[i].revents != 0;
	}
	return ready;
}

static int poll_until(struct pollfd *fds, unsigned long num, uint64_t deadline)
{
	struct sim_file *watched[SIM_WATCHED];
	uint32_t count = 0;
	int ready;

	fiber_point();
	if (num > SIM_WATCHED)
		sim_fail("a poll of %lu descriptors", num);
	for (unsigned long i = 0; i < num; i++)
		if (sim_fd(fds[i].fd))
			watched[count++] = sim_fd(fds[i].fd);
	for (;;) {
		ready = poll_once(fds, num);
		if (ready || sim_now >= deadline)
			break;
		fiber_wait_files(watched, count, deadline);
	}
	sim_trace(SIM_POLL, (uint64_t)ready, num, 0, 0);
	return ready;
}

SIM_CALL int poll(struct pollfd *fds, nfds_t num, int timeout)
{
	return poll_until(fds, num,
			  timeout < 0 ? SIM_NEVER : sim_now + (uint64_t)timeout * 1000000);
}

SIM_CALL int ppoll(struct pollfd *fds, nfds_t num, const struct timespec *timeout,
		   const sigset_t *mask)
{
	uint64_t deadline = SIM_NEVER;

	(void)mask;
	if (timeout)
		deadline = sim_now + (uint64_t)timeout->tv_sec * 1000000000 +
			   (uint64_t)timeout->tv_nsec;
	return poll_until(fds, num, deadline);
}
