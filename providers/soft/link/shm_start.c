/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links over shared memory: how two processes get to have it. Each checks that the other is the
 * same user's, and the passive side that the memory is what it must be: such that its size cannot
 * change, so that no access to it fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/link/shm.h"
#include "trace/log.h"
#include "util/signals.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum {
	BACKLOG = 4096, /* the kernel lowers it to its own limit */
	FIRST_PORT = 49152,
	SEGMENT = 65535, /* an FPDU as large as they are */
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};

static struct soft_shm *shm_alloc(struct soft_dev *dev, const struct soft_link_class *class, int fd)
{
	struct soft_shm *shm = aligned_alloc(_Alignof(struct soft_shm), sizeof(*shm));

	if (!shm)
		return NULL;
	memset(shm, 0, sizeof(*shm));
	soft_link_init(&shm->link, class, dev, fd);
	shm->memfd = -1;
	shm->local = dev->addr;
	pthread_mutex_init(&shm->lock, NULL);
	return shm;
}

static void shm_free(struct soft_shm *shm)
{
	if (shm->memory)
		munmap(shm->memory, SHM_SIZE);
	if (shm->memfd >= 0)
		dapl_fd_close(shm->memfd);
	pthread_mutex_destroy(&shm->lock);
	free(shm);
}

static void shm_close(struct soft_link *link, bool abort)
{
	struct soft_shm *shm = soft_shm(link);

	/* A peer who has ended himself waits for the end of the socket. */
	if (shm->memory && !link->moved)
		soft_shm_end(shm, abort ? SHM_ABORTED : SHM_ENDED,
			     atomic_load(&shm->peer->ended) ? SHM_WAKE_FUTEX : UINT32_MAX);
	dapl_fd_close(link->fd);
	shm_free(shm);
}

static void shm_names(struct soft_link *link, struct sockaddr_storage *local, uint64_t *local_qual,
		      struct sockaddr_storage *remote, uint64_t *remote_qual)
{
	struct soft_shm *shm = soft_shm(link);

	*local = shm->local;
	if (shm->local_qual) /* of the active side; that of the passive one is the service point's
			      */
		*local_qual = shm->local_qual;
	*remote = shm->remote;
	*remote_qual = shm->remote_qual;
}

/* ---- The memory ---- */

/* A descriptor for it, or a negative errno. */
static int new_memory(const struct soft_dev *dev)
{
	int fd, rc;

	fd = dapl_fd_own(
		memfd_create("udapl-soft", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));

	if (fd < 0 && errno == EINVAL) /* Linux before 6.3 */
		fd = dapl_fd_own(memfd_create("udapl-soft", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (fd >= 0)
		return fd;
	rc = -errno;
	/* Otherwise TCP may do, and says so if not. */
	if (dev->config->link == SOFT_LINK_SHM)
		dapl_err("%s: no memory to be shared with a peer: %s", dev->name,
			 dapl_strerror(-rc));
	return rc;
}

/* Makes it, as nobody can change it any more; NULL and errno if that fails. */
static struct shm_memory *make_memory(int fd)
{
	struct dats_signals signals;
	void *page;
	int rc;

	dats_signals_block(&signals);
	rc = ftruncate(fd, SHM_SIZE);
	dats_signals_restore(&signals);
	if (rc || fcntl(fd, F_ADD_SEALS, SEALS))
		return NULL;
	page = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

/* Of a descriptor that came from outside; NULL and errno EPROTO if it is not what it must be. Other
 * files, huge pages among them, can fail under an access. */
static struct shm_memory *map_memory(int fd)
{
	struct statfs fs;
	struct stat st;
	void *page;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC ||
	    fstat(fd, &st) || st.st_size != SHM_SIZE) {
		errno = EPROTO;
		return NULL;
	}
	page = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		if (errno != ENOMEM)
			errno = EPROTO;
		return NULL;
	}
	return page;
}

/* ---- The passive side ---- */

static int shm_listen(const struct soft_dev *dev, uint64_t *qual)
{
	return soft_link_listen_local(SOCK_STREAM, SHM_NAME, &dev->addr, *qual, BACKLOG);
}

static int shm_accept(struct soft_dev *dev, int listen_fd, struct soft_link **link)
{
	int fd = dapl_fd_own(accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)), rc;
	struct soft_shm *shm;
	uid_t user;

	if (fd < 0)
		return -errno;
	rc = -ECONNABORTED;
	if (!soft_link_same_user(fd, &user)) {
		dapl_err_limited(
			"%s: connection refused: shared memory is for processes of one user",
			dev->name);
		goto close_fd;
	}
	rc = -ENOMEM;
	shm = shm_alloc(dev, &soft_link_shm_incoming, fd);
	if (!shm)
		goto close_fd;
	*link = &shm->link;
	return 0;

close_fd:
	dapl_fd_close(fd);
	return rc;
}

/* Has the memory and who is at its other end. */
static int take_memory(struct soft_shm *shm, int fd, uint32_t taken)
{
	struct shm_memory *memory = map_memory(fd);
	struct sockaddr_storage addr;

	if (!memory)
		return -errno;
	soft_shm_ready(shm, memory, false, taken);
	shm->link.watch.ready = soft_shm_event;
	memcpy(&addr, &memory->page.addr, sizeof(addr));
	shm->remote_qual = *(volatile uint64_t *)&memory->page.qual & UINT16_MAX;
	if (addr.ss_family != shm->link.dev->addr.ss_family)
		return -EPROTO;
	soft_addr_copy(&shm->remote, (struct sockaddr *)&addr);
	return 0;
}

/* fd: of the memory; -1: there came none. */
static int take_hello(struct soft_shm *shm, const struct shm_hello *hello, ssize_t len, int fd)
{
	struct soft_link *link = &shm->link;
	int rc = -EPROTO;

	if (len == sizeof(*hello) && fd >= 0 && hello->magic == SHM_MAGIC &&
	    hello->version == SHM_VERSION && hello->size == SHM_SIZE)
		rc = take_memory(shm, fd, 0);
	if (rc) {
		if (rc == -EPROTO)
			link->why = "what came is no memory to be shared";
		if (fd >= 0)
			dapl_fd_close(fd);
		return rc;
	}
	shm->memfd = fd;
	if (atomic_load(&shm->peer->ended)) /* he has withdrawn */
		return -ECONNRESET;
	atomic_store(&shm->memory->page.attached, 1);
	link->class = &soft_link_shm_accepted;
	return 0;
}

static ssize_t incoming_recv(struct soft_link *link, const struct iovec *iov, int num)
{
	struct soft_shm *shm = soft_shm(link);
	struct shm_hello hello;
	int fd, passed = 1, rc;
	ssize_t len;

	len = soft_link_recv_fds(link->fd, &hello, sizeof(hello), &fd, &passed);
	if (len <= 0)
		return len;
	rc = take_hello(shm, &hello, len, passed ? fd : -1);
	return rc ? rc : link->class->recv(link, iov, num);
}

/* Without the memory nothing can be sent or received. */
static ssize_t no_data(struct soft_link *link, const struct iovec *iov, int num)
{
	return -ENOTCONN;
}

/* Who answers keeps it: the memory's descriptor is of no more use. */
static ssize_t accepted_send(struct soft_link *link, const struct iovec *iov, int num)
{
	struct soft_shm *shm = soft_shm(link);

	dapl_fd_close(shm->memfd);
	shm->memfd = -1;
	link->class = &soft_link_shm;
	return soft_shm_send(link, iov, num);
}

/* ---- Handing on ---- */

static int shm_give(struct soft_link *link, int fds[SOFT_LINK_FDS])
{
	fds[0] = link->fd;
	fds[1] = soft_shm(link)->memfd;
	return 2;
}

static int shm_adopt(struct soft_dev *dev, const int *fds, int num, uint32_t len,
		     struct soft_link **link)
{
	int domain = 0, type = 0, rc;
	socklen_t domain_len = sizeof(domain), type_len = sizeof(type);
	struct soft_shm *shm;
	uid_t user;

	if (num != 2 || getsockopt(fds[0], SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) ||
	    getsockopt(fds[0], SOL_SOCKET, SO_TYPE, &type, &type_len) || domain != AF_UNIX ||
	    type != SOCK_STREAM || !soft_link_same_user(fds[0], &user))
		return -EPROTO;
	shm = shm_alloc(dev, &soft_link_shm_accepted, fds[0]);
	if (!shm)
		return -ENOMEM;
	rc = take_memory(shm, fds[1], len);
	if (rc) {
		shm_free(shm);
		return rc;
	}
	shm->memfd = fds[1];
	*link = &shm->link;
	return 0;
}

/* ---- The active side ---- */

/* What such a link is called by; TCP would take the next free port. */
static uint64_t next_qual(void)
{
	static atomic_uint next;

	return FIRST_PORT + ((uint32_t)getpid() * 97u + atomic_fetch_add(&next, 1)) %
				    (UINT16_MAX + 1 - FIRST_PORT);
}

/* Why nobody takes the call. */
static int no_connect(struct soft_shm *shm)
{
	int err = errno;

	shm->link.why = "nobody takes connections over shared memory there";
	if (err != ECONNREFUSED && err != EAGAIN)
		return -err;
	if (shm->link.dev->config->link != SOFT_LINK_SHM || !soft_addr_bindable(&shm->remote))
		return -ECONNREFUSED;
	shm->link.why = "the address is not this host's, and shared memory is all that may be used";
	return -EHOSTUNREACH;
}

/* Finds the service point: 0, or why it cannot be had there. */
static int call_peer(struct soft_shm *shm)
{
	struct sockaddr_un name;
	socklen_t len = soft_link_name(SHM_NAME, &shm->remote, shm->remote_qual, &name);
	uid_t user;

	if (connect(shm->link.fd, (struct sockaddr *)&name, len))
		return no_connect(shm);
	if (soft_link_same_user(shm->link.fd, &user))
		return 0;
	shm->link.why = "the process there is another user's";
	return -ECONNREFUSED;
}

/* 0 or a negative errno. From here on the peer is told of an end. */
static int hand_memory(struct soft_shm *shm, struct shm_memory *memory, int memfd)
{
	const struct shm_hello hello = { SHM_MAGIC, SHM_VERSION, SHM_SIZE };

	memory->page.addr = shm->local;
	memory->page.qual = shm->local_qual;
	soft_shm_ready(shm, memory, true, 0);
	return soft_link_send_fds(shm->link.fd, &hello, sizeof(hello), &memfd, 1) < 0 ? -errno : 0;
}

/* The memory is made first, so that the peer, once called, need not wait for it. */
static int share_memory(struct soft_shm *shm, int memfd)
{
	struct shm_memory *memory = make_memory(memfd);
	int err = memory ? 0 : -errno, rc = call_peer(shm);

	if (!rc && memory)
		return hand_memory(shm, memory, memfd);
	if (memory)
		munmap(memory, SHM_SIZE);
	if (!rc && err == -EFBIG)
		shm->link.why = "files may not be as large as shared memory is (ulimit -f)";
	return rc ? rc : err;
}

static int shm_connect(struct soft_dev *dev, const struct sockaddr_storage *local,
		       const struct sockaddr *remote, uint64_t qual, struct soft_link **link)
{
	struct soft_shm *shm;
	int fd, memfd;

	if (remote->sa_family != local->ss_family)
		return -EAFNOSUPPORT;
	fd = dapl_fd_own(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	shm = shm_alloc(dev, &soft_link_shm_failed, fd);
	if (!shm) {
		dapl_fd_close(fd);
		return -ENOMEM;
	}
	soft_addr_copy(&shm->remote, remote);
	shm->remote_qual = qual;
	shm->local_qual = next_qual();
	*link = &shm->link;
	/* First of all, so that nobody is called in vain for want of a descriptor. */
	memfd = new_memory(dev);
	shm->link.start_err = memfd < 0 ? memfd : share_memory(shm, memfd);
	if (memfd >= 0)
		dapl_fd_close(memfd);
	if (shm->link.start_err)
		return 0;
	shm->link.class = &soft_link_shm;
	shm->link.watch.ready = soft_shm_event;
	return 0;
}

static int shm_started(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	if (link->start_err || !atomic_load(&shm->hung_up) ||
	    atomic_load(&shm->memory->page.attached))
		return link->start_err;
	link->why = "the process there did not take the memory to be shared";
	return -ECONNREFUSED;
}

/* ---- The tables ---- */

static uint32_t shm_segment(struct soft_link *link)
{
	return SEGMENT;
}

/* A host is not silent towards itself. */
static bool shm_lost(struct soft_link *link, uint32_t ms)
{
	return false;
}

/* What is in the ring stays there when this side is gone. */
static uint32_t shm_unsent(struct soft_link *link)
{
	return 0;
}

#define COMMON(what)                                                                           \
	.name = what, .cost = 1, .vain_polls = 2048, .checked = true, .revision = SHM_VERSION, \
	.listen = shm_listen, .accept = shm_accept, .give = shm_give, .adopt = shm_adopt,      \
	.connect = shm_connect, .started = shm_started, .finish = soft_shm_finish,             \
	.cut = soft_shm_cut, .close = shm_close, .segment = shm_segment, .lost = shm_lost,     \
	.unsent = shm_unsent, .names = shm_names
#define DATA                                                                   \
	.recv = soft_shm_recv, .quiet = soft_shm_quiet, .rest = soft_shm_rest, \
	.watch = soft_shm_watch, .arm = soft_shm_arm, .doze = soft_shm_doze,   \
	.rouse = soft_shm_rouse

const struct soft_link_class soft_link_shm_failed = {
	COMMON("shm, failed"),
	.send = no_data,
	.recv = no_data,
	.watch = soft_link_register,
};

const struct soft_link_class soft_link_shm_incoming = {
	COMMON("shm, incoming"),
	.send = no_data,
	.recv = incoming_recv,
	.watch = soft_link_register,
};

const struct soft_link_class soft_link_shm_accepted = {
	COMMON("shm, accepted"),
	DATA,
	.send = accepted_send,
};

const struct soft_link_class soft_link_shm = {
	COMMON("shm"),
	DATA,
	.send = soft_shm_send,
	.reserve = soft_shm_reserve,
	.commit = soft_shm_commit,
	.peek = soft_shm_peek,
	.consume = soft_shm_consume,
	.direct = &soft_shm_direct,
};
