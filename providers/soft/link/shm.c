/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data over shared memory, and wake-ups.
 *
 * No wake-up is lost. A side that goes to sleep (arm_wakeup) writes what it waits for into its
 * wake_on and then looks at the peer's positions; the peer writes its position and then looks at
 * wake_on (send, recv). All four are sequentially consistent: either the sleeper sees the new
 * position and stays awake, or the peer sees wake_on, clears it, so that one byte answers for one
 * sleep, and sends the byte. Who polls leaves wake_on alone, and costs neither side a system call.
 *
 * A byte is for all waiters of this side, the loop and up to two CQs, whose epoll sets all watch
 * the socket. It stays, and so do they awake, until one who goes to sleep reads it, and he does so
 * only when nothing that any of them waits for is there: he counts the bytes, then looks at the
 * positions, and reads as many as he counted. Those were sent for what he saw gone; one that comes
 * after he counted may be for somebody who sleeps already. If wake_on is cleared meanwhile, he
 * begins anew. So when he sleeps, nothing was there after wake_on was written, and the byte of
 * whatever comes later is not read.
 *
 * Who goes to sleep and finds something makes his epoll set ready by asking it for EPOLLOUT, which
 * a socket that carries a byte now and then always has.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "providers/soft/base/device.h"
#include "providers/soft/link/shm.h"
#include "providers/soft/memory/copy.h"
#include "util/compiler.h"

/*
 * ThreadSanitizer follows addresses and does not know that two mappings are one memory. Both ends
 * in one process, as tests have them: what is sent comes before what is received.
 */
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
static char moved;
#define BEFORE_SEND() __tsan_release(&moved)
#define AFTER_RECV()  __tsan_acquire(&moved)
#else
#define BEFORE_SEND() ((void)0)
#define AFTER_RECV()  ((void)0)
#endif

enum {
	TRIES = 8,
	CHUNK = 32 << 10, /* of what is sent the peer gets so much at a time, and begins with it */
};

static const uint32_t both = EPOLLIN | EPOLLOUT;

/* ---- Wake-ups ---- */

static void send_wakeup(struct soft_shm *shm)
{
	/* If there is no room for the byte, others wait there; if there is no peer, the loop hears
	 * of it. */
	(void)send(shm->link.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* After a position of ours has changed. */
static inline void wake(struct soft_shm *shm, uint32_t why)
{
	if ((atomic_load(&shm->peer->wake_on) & why) && atomic_exchange(&shm->peer->wake_on, 0)) {
		atomic_store_explicit(&shm->slept, true, memory_order_relaxed);
		send_wakeup(shm);
	}
}

/* The peer's taken from which on half of our ring is free. */
static uint32_t room_at(struct soft_shm *shm)
{
	return atomic_load(&shm->sent) - atomic_load(&shm->size) / 2;
}

/* Whether send would get rid of something. */
static bool room(struct soft_shm *shm)
{
	return (int32_t)(atomic_load(&shm->peer->taken) - room_at(shm)) >= 0;
}

/* What a socket would be ready for. Any thread: positions only grow, so that one that is old makes
 * it look ready, never the contrary. */
static uint32_t level(struct soft_shm *shm)
{
	uint32_t there = atomic_load(&shm->peer->sent) - atomic_load(&shm->taken);
	bool over = atomic_load(&shm->hung_up) || atomic_load(&shm->spoilt);
	bool ended = over || atomic_load(&shm->peer->ended);

	return (there || ended ? EPOLLIN : 0) | (ended ? EPOLLRDHUP : 0) |
	       (over || room(shm) ? EPOLLOUT : 0);
}

enum {
	BYTES = 64,
};

/* How many bytes there are, which stay; notes the end of the stream. */
static size_t count_bytes(struct soft_shm *shm)
{
	uint8_t bytes[BYTES];
	ssize_t n = recv(shm->link.fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK);

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		atomic_store(&shm->hung_up, true);
	return n < 0 ? 0 : (size_t)n;
}

/* What comes after those that were counted stays. */
static void take_bytes(struct soft_shm *shm, size_t num)
{
	uint8_t bytes[BYTES];

	if (num)
		(void)!recv(shm->link.fd, bytes, num, MSG_DONTWAIT);
}

/* Somebody goes to sleep: which of what he wants is there already. lock held. */
static uint32_t arm_wakeup(struct soft_shm *shm, uint32_t wants)
{
	uint32_t all = 0, wake_on, ready;
	size_t bytes;

	for (int i = 0; i < SOFT_WATCHERS; i++)
		all |= shm->wanted[i];
	wake_on = (all ? SHM_WAKE_END : 0) | (all & EPOLLIN ? SHM_WAKE_DATA : 0) |
		  (all & EPOLLOUT ? SHM_WAKE_ROOM : 0);
	for (int i = 0; i < TRIES; i++) {
		if (wake_on & SHM_WAKE_ROOM) {
			atomic_store(&shm->own->room_at, room_at(shm));
			atomic_store_explicit(&shm->slept, true, memory_order_relaxed);
		}
		if (wake_on)
			atomic_fetch_or(&shm->own->wake_on, wake_on);
		ready = level(shm);
		if (ready & all)
			return ready & wants;
		bytes = count_bytes(shm);
		/* The byte of what has come since is not this one's alone. */
		if (level(shm) & all)
			continue;
		take_bytes(shm, bytes);
		if ((atomic_load(&shm->own->wake_on) & wake_on) == wake_on &&
		    !atomic_load(&shm->hung_up))
			return 0;
	}
	/* A peer that does nothing but send wake-ups. */
	return wants;
}

/*
 * How the peer ended, who says no more, as recv tells it. One who said nothing is a process that is
 * gone; as with TCP that is an end in order unless it left something of ours unread.
 */
static int outcome(struct soft_shm *shm)
{
	uint32_t ended = atomic_load(&shm->peer->ended);

	if (!ended && atomic_load(&shm->peer->taken) == atomic_load(&shm->sent))
		return 0;
	return ended == SHM_ENDED ? 0 : ended == SHM_CUT ? -ESHUTDOWN : -ECONNRESET;
}

/* ---- Who waits ---- */

/* The hang-up is watched for in any case, but told of once. lock held. */
static int register_loop(struct soft_shm *shm, bool ready)
{
	uint32_t wants = shm->wanted[SOFT_WATCHER_LOOP], events = EPOLLONESHOT;

	if (wants)
		events |= EPOLLIN;
	if (ready)
		events |= EPOLLOUT;
	if (!shm->told)
		events |= EPOLLRDHUP;
	/* EPOLLHUP needs no asking: without EPOLLONESHOT's rest it would come for ever. */
	if (shm->told && !wants)
		return 0;
	return soft_link_register(&shm->link, events);
}

int soft_shm_watch(struct soft_link *link, uint32_t events)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t wants = events & (both | EPOLLRDHUP);
	int rc;

	pthread_mutex_lock(&shm->lock);
	shm->wanted[SOFT_WATCHER_LOOP] = wants;
	shm->once = events & EPOLLONESHOT;
	rc = register_loop(shm, wants && arm_wakeup(shm, wants));
	pthread_mutex_unlock(&shm->lock);
	return rc;
}

uint32_t soft_shm_arm(struct soft_link *link, enum soft_watcher who, uint32_t events, bool asleep)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t ready = 0;

	events &= both;
	pthread_mutex_lock(&shm->lock);
	shm->wanted[who] = events;
	if (asleep && events)
		ready = arm_wakeup(shm, events);
	pthread_mutex_unlock(&shm->lock);
	return (events ? EPOLLIN : 0) | (ready ? EPOLLOUT : 0);
}

/* What the loop's owner is to be told; 0: nothing. The watch goes on accordingly. */
static uint32_t look(struct soft_shm *shm, uint32_t events)
{
	uint32_t *wants = &shm->wanted[SOFT_WATCHER_LOOP], ready;
	bool first;

	pthread_mutex_lock(&shm->lock);
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		atomic_store(&shm->hung_up, true);
	ready = *wants ? arm_wakeup(shm, *wants) : 0;
	first = atomic_load(&shm->hung_up) && !shm->told;
	if (first) {
		shm->told = true;
		ready |= EPOLLHUP | EPOLLRDHUP | (outcome(shm) == -ECONNRESET ? EPOLLERR : 0);
	}
	if (ready && shm->once)
		*wants = 0;
	/* One who is told as long as there is something to tell gets the next chance to say so. */
	register_loop(shm, ready && *wants);
	pthread_mutex_unlock(&shm->lock);
	return ready;
}

void soft_shm_event(struct tp_watch *watch, uint32_t events)
{
	struct soft_link *link = container_of(watch, struct soft_link, watch);
	uint32_t told = look(soft_shm(link), events);

	if (told)
		link->ready(link, told);
}

/* ---- Data ---- */

__attribute__((noinline, cold)) ssize_t soft_shm_nonsense(struct soft_shm *shm)
{
	if (!atomic_exchange(&shm->spoilt, true))
		shm->link.why = "the peer wrote into the shared memory what cannot be";
	return -EPROTO;
}

static ssize_t nothing(struct soft_shm *shm)
{
	return atomic_load_explicit(&shm->spoilt, memory_order_relaxed) ? -EPROTO : -EAGAIN;
}

/* Where the byte at a position is, and how many of len lie there in one piece. */
static inline uint8_t *piece(const struct shm_ring *ring, uint32_t pos, uint32_t *len)
{
	uint32_t at = (pos - ring->origin) & ring->mask, straight;

	straight = (at < SHM_FIRST && SHM_FIRST <= ring->mask ? SHM_FIRST : ring->mask + 1) - at;
	if (*len > straight)
		*len = straight;
	return at < SHM_FIRST ? ring->first + at : ring->rest + at;
}

/* What is left of the places that are to be read or written. */
struct cursor {
	const struct iovec *iov;
	int num;
	size_t skip; /* of the first */
};

/* To the ring or from it, at a position of it; no more than max bytes. */
static __attribute__((noinline)) uint32_t move(const struct shm_ring *ring, uint32_t pos,
					       struct cursor *at, uint32_t max, bool out)
{
	uint32_t done = 0, n;
	uint8_t *mem, *here;
	size_t len;

	while (at->num && done < max) {
		mem = (uint8_t *)at->iov->iov_base + at->skip;
		len = at->iov->iov_len - at->skip;
		n = len < max - done ? (uint32_t)len : max - done;
		here = piece(ring, pos + done, &n);
		memcpy(out ? here : mem, out ? mem : here, n);
		done += n;
		at->skip += n;
		if (at->skip == at->iov->iov_len) {
			at->iov++;
			at->num--;
			at->skip = 0;
		}
	}
	return done;
}

/* Ditto; -EFAULT: the program's memory is gone, and nothing has moved that counts. */
static ssize_t try_move(const struct shm_ring *ring, uint32_t pos, struct cursor *at, uint32_t max,
			bool out, bool ours)
{
	struct soft_guard guard;
	uint32_t n;

	if (ours)
		return move(ring, pos, at, max, out);
	if (sigsetjmp(guard.env, 0))
		return -EFAULT;
	soft_guard_enter(&guard, at->iov, at->num);
	n = move(ring, pos, at, max, out);
	soft_guard_leave();
	return n;
}

/*
 * Bytes of our ring that may not be written over. Who answers says in the same cache line what he
 * has taken; else it is looked up once little room is known of. Each word of his is judged when it
 * is new: 4 GB later an old one could look like it.
 */
static uint32_t in_use(struct soft_shm *shm, uint32_t sent)
{
	uint32_t acked = atomic_load_explicit(&shm->peer->acked, memory_order_acquire);

	if (acked != shm->acked) {
		shm->acked = acked;
		if ((int32_t)(acked - shm->known) > 0)
			shm->known = acked;
	}
	if (sent - shm->known > shm->out.mask / 4)
		shm->known = atomic_load_explicit(&shm->peer->taken, memory_order_acquire);
	return sent - shm->known;
}

static void set_geometry(struct soft_shm *shm, uint32_t origin, uint32_t mask)
{
	shm->out.origin = origin;
	if (mask != shm->out.mask) {
		shm->out.mask = mask;
		atomic_store(&shm->size, mask + 1);
	}
	atomic_store_explicit(&shm->own->geometry, SHM_GEOMETRY(origin, mask),
			      memory_order_release);
}

/*
 * Begins anew where nothing is in the ring. One that was short gets larger, once all that is in it
 * lies in one piece, which stays where it is.
 */
static void arrange(struct soft_shm *shm, uint32_t sent, uint32_t used)
{
	uint32_t mask = shm->out.mask, larger = shm->cramped ? SHM_RING - 1 : mask;
	uint32_t at = (shm->known - shm->out.origin) & mask;

	if (!used && (sent != shm->out.origin || larger != mask))
		set_geometry(shm, sent, larger);
	else if (larger != mask && at + used <= mask + 1)
		set_geometry(shm, shm->known - at, larger);
}

/* What was written up to sent is the peer's. */
static inline void publish(struct soft_shm *shm, uint32_t sent)
{
	BEFORE_SEND();
	atomic_store_explicit(&shm->own->acked,
			      atomic_load_explicit(&shm->taken, memory_order_relaxed),
			      memory_order_release);
	atomic_store_explicit(&shm->sent, sent, memory_order_relaxed);
	atomic_store(&shm->own->sent, sent);
	wake(shm, SHM_WAKE_DATA);
}

/* The ring has room: fills it, and goes on as long as the peer makes more. */
static ssize_t fill(struct soft_shm *shm, uint32_t sent, uint32_t used, const struct iovec *iov,
		    int num)
{
	struct cursor at = { .iov = iov, .num = num };
	const struct shm_ring *out = &shm->out;
	uint32_t begin = sent, max;
	ssize_t n;

	do {
		max = out->mask + 1 - used;
		n = try_move(out, sent, &at, max < CHUNK ? max : CHUNK, true, num == 1);
		if (n < 0)
			return sent != begin ? (ssize_t)(sent - begin) : n;
		sent += (uint32_t)n;
		used += (uint32_t)n;
		shm->spread |= ((sent - 1 - out->origin) & out->mask) >= SHM_FIRST;
		publish(shm, sent);
		if (at.num && used == out->mask + 1)
			used = in_use(shm, sent);
	} while (at.num && used <= out->mask);
	/* Who slept while the other side had nothing to do had too little. */
	if (at.num && atomic_load_explicit(&shm->slept, memory_order_relaxed))
		shm->cramped = true;
	atomic_store_explicit(&shm->slept, false, memory_order_relaxed);
	return sent - begin;
}

ssize_t soft_shm_send(struct soft_link *link, const struct iovec *iov, int num)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t sent = atomic_load_explicit(&shm->sent, memory_order_relaxed);
	uint32_t used = in_use(shm, sent);

	if (used > shm->out.mask + 1)
		return soft_shm_nonsense(shm);
	if (atomic_load_explicit(&shm->hung_up, memory_order_relaxed))
		return outcome(shm) == -ECONNRESET ? -ECONNRESET : -EPIPE;
	arrange(shm, sent, used);
	if (used > shm->out.mask)
		return nothing(shm);
	return fill(shm, sent, used, iov, num);
}

/* Gives back the pages that nothing but our ring lies in; they may be larger than SHM_PAGE. */
static void remove_pages(uint8_t *ring)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)ring + page - 1) & -page;
	uintptr_t to = ((uintptr_t)ring + SHM_RING) & -page;

	(void)madvise((void *)from, to - from, MADV_REMOVE);
}

void soft_shm_rest(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t sent = atomic_load_explicit(&shm->sent, memory_order_relaxed);

	if (shm->spread && sent == shm->rested && sent == atomic_load(&shm->peer->taken)) {
		shm->cramped = shm->spread = false;
		shm->known = sent;
		set_geometry(shm, sent, SHM_SMALL - 1);
		remove_pages(shm->out.rest);
	}
	shm->rested = sent;
}

bool soft_shm_quiet(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	return atomic_load_explicit(&shm->peer->sent, memory_order_relaxed) ==
		       atomic_load_explicit(&shm->taken, memory_order_relaxed) &&
	       !atomic_load_explicit(&shm->peer->ended, memory_order_relaxed) &&
	       !atomic_load_explicit(&shm->hung_up, memory_order_relaxed) &&
	       !atomic_load_explicit(&shm->spoilt, memory_order_relaxed);
}

/* Nothing is there: 1 if it is now, or as recv says. What came before the peer ended is read first.
 */
static ssize_t dry(struct soft_shm *shm, uint32_t taken)
{
	bool over = atomic_load_explicit(&shm->hung_up, memory_order_acquire);

	if (!over && !atomic_load_explicit(&shm->peer->ended, memory_order_acquire))
		return nothing(shm);
	if (atomic_load(&shm->peer->sent) != taken)
		return 1;
	AFTER_RECV();
	return outcome(shm);
}

ssize_t soft_shm_recv(struct soft_link *link, const struct iovec *iov, int num)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t taken = atomic_load_explicit(&shm->taken, memory_order_relaxed), there;
	struct cursor at = { .iov = iov, .num = num };
	uint64_t geometry;
	ssize_t rc;

	there = atomic_load_explicit(&shm->peer->sent, memory_order_acquire) - taken;
	if (!there) {
		rc = dry(shm, taken);
		if (rc <= 0)
			return rc;
		there = atomic_load_explicit(&shm->peer->sent, memory_order_acquire) - taken;
	}
	if (!there || there > SHM_RING)
		return soft_shm_nonsense(shm);
	AFTER_RECV();
	geometry = atomic_load_explicit(&shm->peer->geometry, memory_order_acquire);
	shm->in.origin = SHM_ORIGIN(geometry);
	shm->in.mask = SHM_MASK(geometry);
	rc = try_move(&shm->in, taken, &at, there, false, num == 1);
	if (rc < 0)
		return rc;
	taken += (uint32_t)rc;
	atomic_store_explicit(&shm->taken, taken, memory_order_relaxed);
	atomic_store(&shm->own->taken, taken);
	if ((atomic_load(&shm->peer->wake_on) & SHM_WAKE_ROOM) &&
	    (int32_t)(taken - atomic_load(&shm->peer->room_at)) >= 0)
		wake(shm, SHM_WAKE_ROOM);
	return rc;
}

void soft_shm_end(struct soft_shm *shm, uint32_t how)
{
	uint32_t none = 0;

	BEFORE_SEND();
	if (!atomic_compare_exchange_strong(&shm->own->ended, &none, how))
		return;
	atomic_store(&shm->peer->wake_on, 0);
	send_wakeup(shm);
}

void soft_shm_finish(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	if (shm->memory)
		soft_shm_end(shm, SHM_ENDED);
}

/* The peer is told although its ring is full, and reads what is in that first. */
void soft_shm_cut(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	if (shm->memory)
		soft_shm_end(shm, SHM_CUT);
}

/* ---- The memory is there ---- */

void soft_shm_ready(struct soft_shm *shm, struct shm_memory *memory, bool active, uint32_t taken)
{
	const int own = active ? 0 : 1, peer = 1 - own;

	shm->memory = memory;
	shm->own = &memory->page.side[own];
	shm->peer = &memory->page.side[peer];
	shm->out = (struct shm_ring){ .first = shm->own->first, .rest = memory->rest[own] };
	shm->in = (struct shm_ring){ .first = shm->peer->first, .rest = memory->rest[peer] };
	atomic_store(&shm->taken, taken);
	set_geometry(shm, 0, SHM_SMALL - 1);
}
