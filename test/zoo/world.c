/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/zoo/world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "test/zoo/engine.h"

#define AT   ((void *)0x200000000000)
#define SIZE (UINT64_C(1) << 36)

struct zoo_world *zoo;
struct zoo_proc *zoo_me;

static int keeper_fd = -1, send_fd = -1; /* of this process */
static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;

/* ---- Lists ---- */

void zoo_link_add(struct zoo_link **list, struct zoo_link *link)
{
	link->next = *list;
	if (link->next)
		link->next->prev = &link->next;
	link->prev = list;
	*list = link;
}

void zoo_link_del(struct zoo_link *link)
{
	if (!link->prev)
		return;
	*link->prev = link->next;
	if (link->next)
		link->next->prev = link->prev;
	link->prev = NULL;
}

/* ---- Lock and memory ---- */

void zoo_lock(void)
{
	if (pthread_mutex_lock(&zoo->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&zoo->lock);
}

void zoo_unlock(void)
{
	pthread_mutex_unlock(&zoo->lock);
}

/* Before each piece: the logarithm of its size, header included. */
#define HEADER 16

#define LARGE ((size_t)1 << 17)
#define PAGE  ((uintptr_t)4096)

/* The pages of much memory are given back, so that they are zero again. */
static void clear(char *from, char *to)
{
	char *first = (char *)(((uintptr_t)from + PAGE - 1) & ~(PAGE - 1));
	char *end = (char *)((uintptr_t)to & ~(PAGE - 1));

	if ((size_t)(to - from) < LARGE || madvise(first, (size_t)(end - first), MADV_REMOVE)) {
		memset(from, 0, (size_t)(to - from));
		return;
	}
	memset(from, 0, (size_t)(first - from));
	memset(end, 0, (size_t)(to - end));
}

void *zoo_alloc(size_t size)
{
	uint32_t log = 6;
	char *at;

	while ((UINT64_C(1) << log) < size + HEADER)
		log++;
	at = zoo->unused[log];
	if (at) {
		zoo->unused[log] = *(void **)(void *)(at + HEADER);
	} else {
		if (zoo->used + (UINT64_C(1) << log) > zoo->size)
			abort();
		at = (char *)zoo + zoo->used;
		zoo->used += UINT64_C(1) << log;
		*(uint32_t *)(void *)at = log;
		return at + HEADER; /* nobody has written to it */
	}
	clear(at + HEADER, at + (UINT64_C(1) << log));
	return at + HEADER;
}

void zoo_free(void *at)
{
	uint32_t log;

	if (!at)
		return;
	log = *(uint32_t *)(void *)((char *)at - HEADER);
	*(void **)at = zoo->unused[log];
	zoo->unused[log] = (char *)at - HEADER;
}

uint64_t zoo_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint32_t zoo_random(void)
{
	zoo->random = zoo->random * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(zoo->random >> 33) % 1000;
}

const struct zoo_kind *zoo_kind_of(const struct zoo_card *card)
{
	return zoo_kind(card->number);
}

/* ---- Descriptors: a datagram lies in the socket while there is an event ---- */

static socklen_t chan_name(struct sockaddr_un *un, uint32_t number)
{
	int len;

	un->sun_family = AF_UNIX;
	len = snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, "zoo-%d-%u", zoo->keeper,
		       number);
	un->sun_path[0] = 0;
	return (socklen_t)(__builtin_offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static void wake(uint32_t number)
{
	struct sockaddr_un un;
	socklen_t len = chan_name(&un, number);

	sendto(send_fd, "", 1, MSG_DONTWAIT, (struct sockaddr *)&un, len);
}

void zoo_at(uint64_t deadline)
{
	if (zoo->next_deadline && zoo->next_deadline <= deadline)
		return;
	zoo->next_deadline = deadline;
	if (getpid() != zoo->keeper)
		wake(0);
}

struct zoo_chan *zoo_chan_open(int *fd)
{
	struct zoo_chan *chan;
	struct sockaddr_un un;
	socklen_t len;

	*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return NULL;
	chan = zoo_alloc(sizeof(*chan));
	chan->proc = zoo_me;
	chan->number = ++zoo->next_chan;
	len = chan_name(&un, chan->number);
	if (bind(*fd, (struct sockaddr *)&un, len)) {
		close(*fd);
		zoo_free(chan);
		return NULL;
	}
	zoo_link_add(&zoo->chans, &chan->link);
	return chan;
}

static void event_free(struct zoo_event *event)
{
	if (event->id)
		zoo_id_end(event->id);
	zoo_free(event);
}

void zoo_chan_close(struct zoo_chan *chan)
{
	struct zoo_event *event;

	while ((event = chan->first)) {
		chan->first = event->next;
		event_free(event);
	}
	zoo_link_del(&chan->link);
	zoo_free(chan);
}

void zoo_chan_push(struct zoo_chan *chan, struct zoo_event *event)
{
	struct zoo_event **end = &chan->first;

	while (*end)
		end = &(*end)->next;
	event->next = NULL;
	*end = event;
	if (chan->first == event)
		wake(chan->number);
}

/* Lock held; no event is left. */
static void silence(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) == 1)
		;
}

struct zoo_event *zoo_chan_pop(struct zoo_chan *chan, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct zoo_event *event;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return NULL;
	for (;;) {
		zoo_lock();
		event = chan->first;
		if (event)
			chan->first = event->next;
		if (event && event->delivered)
			++*event->delivered;
		if (event && event->user_of)
			event->user = *event->user_of;
		if (!chan->first)
			silence(fd);
		zoo_unlock();
		if (event)
			return event;
		if (flags & O_NONBLOCK) {
			errno = EAGAIN;
			return NULL;
		}
		if (poll(&pfd, 1, -1) < 0)
			return NULL;
	}
}

void zoo_chan_purge(struct zoo_chan *chan, const void *object)
{
	struct zoo_event **link = &chan->first, *event;

	while ((event = *link)) {
		if (event->object != object) {
			link = &event->next;
			continue;
		}
		*link = event->next;
		event_free(event);
	}
}

/* ---- Bytes ---- */

/* Programs look at the end of what comes, and what is copied at once may come in any order. */
enum {
	LAST = 8
};

static int copy_over(pid_t pid, uint64_t there, void *here, uint64_t length, bool to_here)
{
	struct iovec local = { .iov_base = here, .iov_len = length };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)there, .iov_len = length };
	ssize_t n = to_here ? process_vm_readv(pid, &local, 1, &remote, 1, 0)
			    : process_vm_writev(pid, &local, 1, &remote, 1, 0);

	return n == (ssize_t)length ? 0 : n < 0 ? errno : EFAULT;
}

/* Each byte once, and forward. */
static void copy_here(void *to, const void *from, size_t length)
{
	volatile char *t = to;
	const char *f = from;

#ifdef __x86_64__
	if (length > LAST) {
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
		return;
	}
#endif
	while (length--)
		*t++ = *f++;
}

static int copy_part(struct zoo_proc *to_proc, uint64_t to, struct zoo_proc *from_proc,
		     uint64_t from, uint64_t length)
{
	static char bounce[65536];
	uint64_t part;
	int err = 0;

	if (to_proc == zoo_me && from_proc == zoo_me) {
		copy_here((void *)(uintptr_t)to, (void *)(uintptr_t)from, length);
		return 0;
	}
	if (to_proc == zoo_me)
		return copy_over(from_proc->pid, from, (void *)(uintptr_t)to, length, true);
	if (from_proc == zoo_me)
		return copy_over(to_proc->pid, to, (void *)(uintptr_t)from, length, false);
	for (; length && !err; length -= part, to += part, from += part) {
		part = length < sizeof(bounce) ? length : sizeof(bounce);
		err = copy_over(from_proc->pid, from, bounce, part, true);
		if (!err)
			err = copy_over(to_proc->pid, to, bounce, part, false);
	}
	return err;
}

int zoo_copy(struct zoo_proc *to_proc, uint64_t to, struct zoo_proc *from_proc, uint64_t from,
	     uint64_t length)
{
	uint64_t last = length > LAST ? LAST : 0, before = length - last;
	int err = copy_part(to_proc, to, from_proc, from, before);

	return err || !last ? err : copy_part(to_proc, to + before, from_proc, from + before, last);
}

/* ---- Coming and going ---- */

static void forked(void)
{
	if (keeper_fd >= 0)
		close(keeper_fd);
	if (send_fd >= 0)
		close(send_fd);
	keeper_fd = send_fd = -1;
	zoo_me = NULL;
	pthread_mutex_init(&attaching, NULL);
	zoo_forget_contexts();
}

/* Where programs look for free numbers is no place for descriptors of libraries. */
static int high_fd(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 900);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int map(int fd)
{
	void *at = mmap(AT, SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);

	if (at == MAP_FAILED)
		return errno;
	zoo = at;
	madvise(at, SIZE, MADV_DONTDUMP);
	return 0;
}

static int map_keepers(void)
{
	const char *name = getenv("ZOO_WORLD");
	int fd, err;

	if (!name)
		return ENODEV;
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	err = map(fd);
	close(fd);
	if (!err)
		pthread_atfork(NULL, NULL, forked);
	return err;
}

/* The keeper hears of this process's end by the end of a connection. */
static int enrol(void)
{
	struct sockaddr_un un;
	socklen_t len = chan_name(&un, UINT32_MAX);
	uint32_t slot;

	send_fd = high_fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	keeper_fd = high_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (send_fd < 0 || keeper_fd < 0 || connect(keeper_fd, (struct sockaddr *)&un, len))
		return errno;
	zoo_lock();
	for (slot = 0; slot < ZOO_MAX_PROCS && zoo->procs[slot].pid; slot++)
		;
	if (slot < ZOO_MAX_PROCS)
		zoo->procs[slot].pid = getpid();
	zoo_unlock();
	if (slot == ZOO_MAX_PROCS)
		return EAGAIN;
	if (send(keeper_fd, &slot, sizeof(slot), MSG_NOSIGNAL) != sizeof(slot))
		return EIO;
	zoo_me = &zoo->procs[slot];
	return 0;
}

int zoo_attach(void)
{
	int err = 0;

	pthread_mutex_lock(&attaching);
	if (!zoo)
		err = map_keepers();
	if (!err && !zoo_me) {
		err = enrol();
		if (err)
			forked();
	}
	pthread_mutex_unlock(&attaching);
	return err;
}

int zoo_create(int fd)
{
	pthread_mutexattr_t attr;
	int err;

	if (ftruncate(fd, (off_t)SIZE))
		return errno;
	err = map(fd);
	if (err)
		return err;
	zoo->size = SIZE;
	zoo->used = (sizeof(*zoo) + 4095) & ~UINT64_C(4095);
	zoo->keeper = getpid();
	zoo->next_qp = 1;
	zoo->next_id = 1;
	zoo->random = 1;
	zoo->procs[0].pid = getpid();
	zoo_me = &zoo->procs[0];
	send_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	return pthread_mutex_init(&zoo->lock, &attr);
}

/* Of each list, what is the process's. */
#define END_ALL(list, type, proc_, end)                                    \
	do {                                                               \
		struct zoo_link *link_ = (list), *next_;                   \
		for (; link_; link_ = next_) {                             \
			next_ = link_->next;                               \
			if (zoo_entry(link_, type, link)->proc == (proc_)) \
				end(zoo_entry(link_, type, link));         \
		}                                                          \
	} while (0)

void zoo_proc_ended(struct zoo_proc *proc)
{
	struct zoo_link *link;

	/* Ending one id may end others, of requests that nobody has read. */
	for (link = zoo->ids; link;) {
		struct zoo_id *id = zoo_entry(link, struct zoo_id, link);

		link = link->next;
		if (id->proc != proc)
			continue;
		zoo_id_end(id);
		link = zoo->ids;
	}
	END_ALL(zoo->qps, struct zoo_qp, proc, zoo_qp_end);
	END_ALL(zoo->srqs, struct zoo_srq, proc, zoo_srq_end);
	END_ALL(zoo->cqs, struct zoo_cq, proc, zoo_cq_end);
	END_ALL(zoo->mrs, struct zoo_key, proc, zoo_key_end);
	END_ALL(zoo->pds, struct zoo_pd, proc, zoo_pd_end);
	END_ALL(zoo->chans, struct zoo_chan, proc, zoo_chan_close);
	proc->pid = 0;
}
