/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Direct access: one side copies from or to the other's registered memory by a call of the kernel
 * (process_vm_writev(2)), in one copy and without that side's help.
 *
 * The owner exposes regions in the memory that both share, and revokes them there. No access
 * outlasts that: who copies first says so (shm_direct.access) and then looks whether the region is
 * still there; who revokes it first takes it out and then looks whether somebody copies. All four
 * are sequentially consistent, so that one of them sees the other, and the owner waits for the end
 * of the copy or of the peer. A peer may be stopped before he calls the kernel, and go on much later:
 * which bytes he wants it reads in the shared memory, where the owner has taken them away. One who is
 * stopped behind it has done all he can.
 *
 * The peer's process is known by the socket. That it is the one with the memory, neither side having
 * handed the connection on, is proved by a random word that it has at a place it tells. What has
 * this number may be another program once it has ended or called execve(2), but then its end of
 * the socket is closed, which is looked at right before each copy. Two things are left that no look
 * can exclude (doc/security.md): that program may begin between the look and the copy, and the
 * kernel may be in a copy for longer than the owner waits.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dapl/base/fork.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/link/shm.h"
#include "trace/log.h"

enum {
	LARGE = 32 << 10, /* from here on it may be the faster way also to a peer who polls */
	TRIAL = 64 << 10, /* bytes that are copied to find out, */
	TRIALS = 5,	  /* so often */
	CHUNK = 1 << 20,  /* of a copy; the owner waits for one of them */
	PLACES = 8,	  /* where a key may stand */
	/* Of one who waits for what the peer does there; who looks at his memory polls less. */
	POLLS_PER_ACCESS = 4,
	/* Small writes by the link once he is seen: until it is known to him as one that is used. */
	BY_LINK = 8,
};

#define NOT_SETTLED 0x80000000u

enum shm_reach {
	REACH_UNKNOWN,
	REACH_YES,
	REACH_NO,
};

static struct shm_region *place(struct shm_direct *direct, uint32_t key, uint32_t i)
{
	return &direct->region[(key + i) % SHM_REGIONS];
}

static struct shm_region *find(struct shm_direct *direct, uint32_t key)
{
	for (uint32_t i = 0; i < PLACES; i++)
		if (atomic_load(&place(direct, key, i)->key) == key)
			return place(direct, key, i);
	return NULL;
}

/* ---- The owner ---- */

/* At its place no other process has this word. */
static uint64_t proof;
static pthread_mutex_t proof_lock = PTHREAD_MUTEX_INITIALIZER;

/* Of the parent's it has a copy. */
static void in_child(void)
{
	pthread_mutex_init(&proof_lock, NULL);
	proof = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct dats_fork_watcher watcher = { .in_child = in_child };

	dapl_fork_watch(&watcher);
}

/* Of the first region: false if there is no proof to be had. */
static bool prove(struct shm_direct *direct)
{
	bool there;

	pthread_mutex_lock(&proof_lock);
	there = proof || getrandom(&proof, sizeof(proof), 0) == sizeof(proof);
	pthread_mutex_unlock(&proof_lock);
	if (!there)
		return false;
	direct->proof = proof;
	direct->pointer_size = sizeof(void *);
	atomic_store(&direct->proof_at, (uintptr_t)&proof);
	return true;
}

static bool exposes(const struct soft_shm *shm)
{
	return atomic_load_explicit(&shm->own_direct->proof_at, memory_order_relaxed);
}

static struct shm_region *free_place(struct shm_direct *direct, uint32_t key)
{
	for (uint32_t i = 0; i < PLACES; i++)
		if (!atomic_load(&place(direct, key, i)->key))
			return place(direct, key, i);
	return NULL;
}

/* Where all places of a key are taken, or there is no proof, the peer goes on by the link. */
static void shm_expose(struct soft_link *link, const struct soft_exposed *what)
{
	struct soft_shm *shm = soft_shm(link);
	struct shm_region *region;

	if (shm->closed || find(shm->own_direct, what->key))
		return;
	region = free_place(shm->own_direct, what->key);
	if (!region || (!exposes(shm) && !prove(shm->own_direct)))
		return;
	region->access = what->access;
	region->start = what->start;
	region->length = what->length;
	region->mem = (uintptr_t)what->mem;
	atomic_store(&region->key, what->key);
}

static bool shm_revoke(struct soft_link *link, uint32_t key)
{
	struct shm_region *region = find(soft_shm(link)->own_direct, key);

	if (region)
		atomic_store(&region->key, 0);
	return region;
}

static void shm_close_direct(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	shm->closed = true;
	for (uint32_t i = 0; i < SHM_REGIONS; i++)
		atomic_store(&shm->own_direct->region[i].key, 0);
}

/* 1: he is; 0: he is not, after so long; negative: that cannot be told. */
static int gone(const struct soft_shm *shm, int ms)
{
	struct pollfd fd = { .fd = shm->link.fd, .events = POLLRDHUP };

	return poll(&fd, 1, ms);
}

/*
 * What he has not named to the kernel yet is nowhere. It is the first piece that decides: a copy
 * ends where it fails. If he is at something else by now, that goes by the link.
 */
static void take_bytes_away(struct shm_direct *peer)
{
	*(void *volatile *)&peer->bytes[0].iov_base = NULL;
}

/* He cannot begin any more: nobody has to wait for him again. */
static void give_up(struct soft_shm *shm)
{
	shm_close_direct(&shm->link);
	shm->deaf = true;
	dapl_err_limited(
		"%s: a peer stands still in the middle of an RDMA operation; its connection "
		"goes on without direct access to memory",
		shm->link.dev->name);
}

/* Whether the peer's access, the word being that, is over before the deadline. */
static bool ends(struct soft_shm *shm, uint32_t access, uint64_t deadline)
{
	bool late = false;

	while (!late) {
		late = dapl_now() >= deadline;
		if (atomic_load(&shm->peer_direct->access) != access || gone(shm, late ? 0 : 1) > 0)
			return true;
	}
	return false;
}

static bool shm_await(struct soft_link *link, uint64_t deadline)
{
	struct soft_shm *shm = soft_shm(link);

	shm->stuck = atomic_load(&shm->peer_direct->access);
	if (!(shm->stuck & 1) || shm->deaf || ends(shm, shm->stuck, deadline))
		return true;
	take_bytes_away(shm->peer_direct);
	return false;
}

static void shm_outlast(struct soft_link *link, uint64_t deadline)
{
	struct soft_shm *shm = soft_shm(link);

	if (!ends(shm, shm->stuck, deadline))
		give_up(shm);
}

/* One that is not settled says so each time: an old position would be right again 4 GB later. */
static void shm_settle(struct soft_link *link, bool settled)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t taken = atomic_load_explicit(&shm->taken, memory_order_relaxed);

	atomic_store_explicit(&shm->own->settled, settled ? taken : taken ^ NOT_SETTLED,
			      memory_order_release);
}

/* ---- The peer ---- */

static void say_refused(const struct soft_shm *shm, int err)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		dapl_err("%s: RDMA inside this host takes the peer's help and another copy: its "
			 "memory is out of reach: %s (kernel.yama.ptrace_scope, CAP_SYS_PTRACE; "
			 "option direct)",
			 shm->link.dev->name, dapl_strerror(err));
}

/* Finds the process that has the memory. */
static enum shm_reach reach(struct soft_shm *shm)
{
	uint64_t at = atomic_load(&shm->peer_direct->proof_at), word = 0;
	uint32_t size = *(volatile uint32_t *)&shm->peer_direct->pointer_size;
	struct iovec local = { .iov_base = &word, .iov_len = sizeof(word) };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)at, .iov_len = sizeof(word) };
	struct ucred peer = { .pid = 0 };
	socklen_t len = sizeof(peer);

	/* A program that may do more than its user is no tool for the peer. */
	if (size != sizeof(void *) || getauxval(AT_SECURE) ||
	    getsockopt(shm->link.fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.pid <= 0 ||
	    (peer.pid == getpid() && at != (uintptr_t)&proof))
		return REACH_NO;
	shm->pid = peer.pid;
	if (process_vm_readv(shm->pid, &local, 1, &remote, 1, 0) != sizeof(word)) {
		if (errno == EPERM || errno == ENOSYS)
			say_refused(shm, errno);
		return REACH_NO;
	}
	return word == *(volatile uint64_t *)&shm->peer_direct->proof ? REACH_YES : REACH_NO;
}

/* Nanoseconds that a copy takes, by the kernel or not; UINT64_MAX: it cannot. */
static uint64_t time_copy(uint8_t *to, uint8_t *from, bool by_kernel)
{
	struct iovec local = { .iov_base = from, .iov_len = TRIAL };
	struct iovec remote = { .iov_base = to, .iov_len = TRIAL };
	uint64_t start = dapl_now();

	if (!by_kernel)
		memcpy(to, from, TRIAL);
	else if (process_vm_writev(getpid(), &local, 1, &remote, 1, 0) != TRIAL)
		return UINT64_MAX;
	return dapl_now() - start;
}

/*
 * Whether one copy by the kernel takes less time than the link's two by the processor: with some
 * kernels on some processors it does, elsewhere it takes several times as long. The least of
 * several counts, which no interruption has made longer.
 */
static bool try_copies(void)
{
	uint64_t kernel = UINT64_MAX, processor = UINT64_MAX, time;
	uint8_t *mem = calloc(2, TRIAL);

	for (int i = 0; mem && i < TRIALS; i++) {
		time = time_copy(mem, mem + TRIAL, true);
		kernel = time < kernel ? time : kernel;
		time = time_copy(mem, mem + TRIAL, false);
		processor = time < processor ? time : processor;
	}
	free(mem);
	return kernel / 2 < processor;
}

/* From how many bytes on a peer who polls is reached directly too. */
static uint32_t large(const struct soft_shm *shm)
{
	static _Atomic uint32_t found;
	uint32_t from = (uint32_t)shm->link.dev->config->direct_large;

	if (!from)
		from = atomic_load_explicit(&found, memory_order_relaxed);
	if (!from) {
		from = try_copies() ? LARGE : UINT32_MAX;
		atomic_store_explicit(&found, from, memory_order_relaxed);
	}
	return from;
}

/* Who waits for an event is woken meanwhile for what most often follows a write. */
static bool is_served_by_loop(struct soft_shm *shm)
{
	return (atomic_load(&shm->peer->wake_on) & (SHM_WAKE_DATA | SHM_WAKE_FUTEX)) ==
	       SHM_WAKE_DATA;
}

/* Whether he has polled since this was asked last, or did so a few writes ago. */
static bool is_polled(struct soft_shm *shm)
{
	uint32_t polled = atomic_load(&shm->peer_direct->polled);

	if (polled != shm->polled) {
		shm->polled = polled;
		shm->by_link = BY_LINK;
	}
	if (!shm->by_link)
		return false;
	shm->by_link--;
	return true;
}

static bool shm_apt(struct soft_link *link, uint32_t len)
{
	struct soft_shm *shm = soft_shm(link);
	bool small;

	if (shm->closed || shm->reach == REACH_NO)
		return false;
	/* First what lies in the page that the link needs as well. */
	small = len < LARGE || len < large(shm);
	if ((small && !is_served_by_loop(shm)) ||
	    !atomic_load_explicit(&shm->peer_direct->proof_at, memory_order_acquire) ||
	    (small && is_polled(shm)))
		return false;
	return atomic_load_explicit(&shm->peer->settled, memory_order_acquire) ==
		       atomic_load_explicit(&shm->sent, memory_order_relaxed) &&
	       !atomic_load_explicit(&shm->hung_up, memory_order_relaxed);
}

/* The bytes of the aligned word that ends there. */
static uint32_t last_word(uintptr_t end, size_t len)
{
	uint32_t word = sizeof(uint64_t);

	while (end % word || word > len)
		word /= 2;
	return word;
}

/* Takes the last word of what is to be read into a piece of its own. */
static void part_sink(const struct soft_access *access, int *num)
{
	struct iovec *last = &access->iov[*num - 1];
	uintptr_t end = (uintptr_t)last->iov_base + last->iov_len;
	uint32_t word = last_word(end, last->iov_len);

	if (word == last->iov_len)
		return;
	last->iov_len -= word;
	access->iov[(*num)++] = (struct iovec){ (void *)(end - word), word };
}

/* One call of the kernel: false, not all was copied. */
static bool copy(struct soft_shm *shm, const struct shm_region *region,
		 const struct soft_access *access, uintptr_t mem, uint32_t len, bool last)
{
	bool write = access->right == TP_ACCESS_REMOTE_WRITE;
	uint32_t word = write && last ? last_word(mem + len, len) : 0;
	struct shm_direct *own = shm->own_direct;
	unsigned long pieces = 1;
	ssize_t n = -1;

	if (word == len)
		word = 0;
	own->bytes[0] = (struct iovec){ (void *)mem, len - word };
	if (word)
		own->bytes[pieces++] = (struct iovec){ (void *)(mem + len - word), word };
	atomic_store(&own->access, 2 * shm->accesses + 1);
	if (atomic_load(&region->key) == access->key && !gone(shm, 0))
		n = (write ? process_vm_writev : process_vm_readv)(
			shm->pid, access->iov, (unsigned long)access->num, own->bytes, pieces, 0);
	atomic_store(&own->access, 2 * ++shm->accesses);
	return n == (ssize_t)len;
}

/* Copied: the rest follows. */
static void skip(struct soft_access *access, size_t len)
{
	size_t n;

	for (; len; len -= n) {
		n = access->iov->iov_len < len ? access->iov->iov_len : len;
		access->iov->iov_base = (uint8_t *)access->iov->iov_base + n;
		access->iov->iov_len -= n;
		if (!access->iov->iov_len) {
			access->iov++;
			access->num--;
		}
	}
}

/* Where the first byte is, 0 if the region has not all of them, or not for that. */
static uintptr_t where(const struct shm_region *region, const struct soft_access *access)
{
	const volatile struct shm_region *r = region;
	uint64_t from = access->addr - r->start, length = r->length, mem = r->mem + from;

	if ((r->access & access->right) != access->right || from > length ||
	    access->len > length - from || mem + access->len > UINTPTR_MAX)
		return 0;
	return (uintptr_t)mem;
}

static bool shm_access(struct soft_link *link, struct soft_access *access)
{
	struct soft_shm *shm = soft_shm(link);
	struct shm_region *region = access->key ? find(shm->peer_direct, access->key) : NULL;
	uint32_t left = access->len, n;
	uintptr_t mem;

	if (!region)
		return false;
	if (shm->reach == REACH_UNKNOWN)
		shm->reach = (uint8_t)reach(shm);
	mem = where(region, access);
	if (shm->reach != REACH_YES || !mem)
		return false;
	if (access->right == TP_ACCESS_REMOTE_READ && access->last)
		part_sink(access, &access->num);
	for (; left; left -= n, mem += n) {
		n = left < CHUNK ? left : CHUNK;
		if (!copy(shm, region, access, mem, n, n == left && access->last))
			return false;
		skip(access, n);
	}
	return true;
}

static void shm_polled(struct soft_link *link, uint32_t polls)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t access, before;

	if (!exposes(shm))
		return;
	access = atomic_load_explicit(&shm->peer_direct->access, memory_order_relaxed);
	before = atomic_exchange_explicit(&shm->peer_access, access, memory_order_relaxed);
	if (access != before && (access - before) / 2 <= polls / POLLS_PER_ACCESS &&
	    (atomic_load_explicit(&shm->own->wake_on, memory_order_relaxed) & SHM_WAKE_DATA))
		atomic_fetch_add(&shm->own_direct->polled, 1);
}

const struct soft_direct_ops soft_shm_direct = {
	.expose = shm_expose,
	.revoke = shm_revoke,
	.close = shm_close_direct,
	.await = shm_await,
	.outlast = shm_outlast,
	.settle = shm_settle,
	.apt = shm_apt,
	.access = shm_access,
	.polled = shm_polled,
};
