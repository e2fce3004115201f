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
#include <sys/socket.h>
#include <sys/uio.h>

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
	if ((atomic_load(&shm->peer->wake_on) & why) && atomic_exchange(&shm->peer->wake_on, 0))
		send_wakeup(shm);
}

void soft_shm_wake(struct soft_shm *shm, uint32_t why)
{
	wake(shm, why);
}

/* Whether send would get rid of something. */
static bool room(struct soft_shm *shm)
{
	if (atomic_load(&shm->lent))
		return !(atomic_load(&shm->own->loan) & SHM_LOAN_OUT);
	return SHM_RING - (atomic_load(&shm->sent) - atomic_load(&shm->peer->taken)) >=
	       SHM_RING / 2;
}

/* What a socket would be ready for. Any thread: positions only grow, so that one that is old makes
 * it look ready, never the contrary. */
static uint32_t level(struct soft_shm *shm)
{
	uint32_t there = atomic_load(&shm->peer->sent) - atomic_load(&shm->taken);
	bool over = atomic_load(&shm->hung_up) || atomic_load(&shm->spoilt);
	bool ended = over || atomic_load(&shm->peer->ended);

	return (there || ended || soft_shm_offered(shm) ? EPOLLIN : 0) | (ended ? EPOLLRDHUP : 0) |
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

/* Bytes at a position and on that lie in one piece. */
static inline uint32_t piece(uint32_t pos, size_t len)
{
	uint32_t straight = SHM_RING - (pos & (SHM_RING - 1));

	return len < straight ? (uint32_t)len : straight;
}

/* To the ring or from it, at a position of it; no more than max bytes. */
static __attribute__((noinline)) uint32_t move(uint8_t *ring, uint32_t pos, const struct iovec *iov,
					       int num, uint32_t max, bool out)
{
	uint32_t done = 0, len, n;

	for (int i = 0; i < num && done < max; i++) {
		uint8_t *mem = iov[i].iov_base, *at;

		len = iov[i].iov_len < max - done ? (uint32_t)iov[i].iov_len : max - done;
		for (done += len; len; mem += n, pos += n, len -= n) {
			n = piece(pos, len);
			at = ring + (pos & (SHM_RING - 1));
			memcpy(out ? at : mem, out ? mem : at, n);
		}
	}
	return done;
}

/* Ditto; -EFAULT: the program's memory is gone, and nothing has moved. */
static ssize_t try_move(uint8_t *ring, uint32_t pos, const struct iovec *iov, int num, uint32_t max,
			bool out)
{
	struct soft_guard guard;
	uint32_t n;

	if (num == 1)
		return move(ring, pos, iov, num, max, out);
	if (sigsetjmp(guard.env, 0))
		return -EFAULT;
	soft_guard_enter(&guard, iov, num);
	n = move(ring, pos, iov, num, max, out);
	soft_guard_leave();
	return n;
}

ssize_t soft_shm_send(struct soft_link *link, const struct iovec *iov, int num)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t sent = atomic_load_explicit(&shm->sent, memory_order_relaxed);
	uint32_t used = sent - atomic_load_explicit(&shm->peer->taken, memory_order_acquire);
	ssize_t n;

	if (used > SHM_RING)
		return soft_shm_nonsense(shm);
	if (atomic_load_explicit(&shm->hung_up, memory_order_relaxed))
		return outcome(shm) == -ECONNRESET ? -ECONNRESET : -EPIPE;
	if (atomic_load_explicit(&shm->lent, memory_order_relaxed)) {
		n = soft_shm_repaid(link, false);
		if (n || atomic_load_explicit(&shm->lent, memory_order_relaxed))
			return n ? n : nothing(shm);
	}
	if (used == SHM_RING || (num > 1 && soft_shm_lend(shm, iov, num)))
		return nothing(shm);
	n = try_move(shm->out, sent, iov, num, SHM_RING - used, true);
	if (n < 0)
		return n;
	BEFORE_SEND();
	sent += (uint32_t)n;
	atomic_store_explicit(&shm->sent, sent, memory_order_relaxed);
	atomic_store(&shm->own->sent, sent);
	wake(shm, SHM_WAKE_DATA);
	return n;
}

bool soft_shm_quiet(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	return atomic_load_explicit(&shm->peer->sent, memory_order_relaxed) ==
		       atomic_load_explicit(&shm->taken, memory_order_relaxed) &&
	       !soft_shm_offered(shm) &&
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
	ssize_t rc;

	there = atomic_load_explicit(&shm->peer->sent, memory_order_acquire) - taken;
	if (!there) {
		if (soft_shm_offered(shm) && atomic_load(&shm->peer->sent) == taken) {
			rc = soft_shm_borrow(shm, iov, num);
			if (rc)
				return rc;
		}
		rc = dry(shm, taken);
		if (rc <= 0)
			return rc;
		there = atomic_load_explicit(&shm->peer->sent, memory_order_acquire) - taken;
	}
	if (!there || there > SHM_RING)
		return soft_shm_nonsense(shm);
	AFTER_RECV();
	rc = try_move(shm->in, taken, iov, num, there, false);
	if (rc < 0)
		return rc;
	taken += (uint32_t)rc;
	atomic_store_explicit(&shm->taken, taken, memory_order_relaxed);
	atomic_store(&shm->own->taken, taken);
	if (SHM_RING - (there - (uint32_t)rc) >= SHM_RING / 2)
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
	uint32_t first = (uint32_t)-SHM_FIRST;

	shm->memory = memory;
	shm->own = &memory->page.side[active ? 0 : 1];
	shm->peer = &memory->page.side[active ? 1 : 0];
	shm->lends = &memory->loan[active ? 0 : 1];
	shm->borrows = &memory->loan[active ? 1 : 0];
	shm->out = active ? memory->ring0 : memory->ring1;
	shm->in = active ? memory->ring1 : memory->ring0;
	atomic_store(&shm->sent, active ? first : 0);
	atomic_store(&shm->taken, active ? 0 : first + taken);
	if (!active)
		return;
	atomic_store(&shm->own->sent, first);
	atomic_store(&shm->peer->taken, first);
}
