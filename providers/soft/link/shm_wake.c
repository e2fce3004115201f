/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Wake-ups over shared memory.
 *
 * A thread that sleeps on a CQ of one connection does so on wake_on itself, which who wakes it
 * clears, and wakes (soft_shm_doze). The rest is of those who sleep on the socket, the loop among
 * them.
 *
 * No wake-up is lost. A side that goes to sleep (arm_wakeup) writes what it waits for into its
 * wake_on and then looks at the peer's positions; the peer writes its position and then looks at
 * wake_on (soft_shm_wake). All four are sequentially consistent: either the sleeper sees the new
 * position and stays awake, or the peer sees wake_on, clears it, so that one byte answers for one
 * sleep, and sends the byte. Who polls leaves wake_on alone, and costs neither side a system call.
 *
 * A byte is for all waiters of this side, the loop and up to two CQs, whose epoll sets all watch
 * the socket. It stays, and so do they awake, but for a loop that waits for something else, until
 * one who goes to sleep reads it, and he does so only when nothing that any of them waits for is
 * there: he counts the bytes, then looks at the positions, and reads as many as he counted. Those
 * were sent for what he saw gone; one that comes after he counted may be for somebody who sleeps
 * already. If wake_on is cleared meanwhile, he begins anew. So when he sleeps, nothing was there
 * after wake_on was written, and the byte of whatever comes later is not read.
 *
 * Who goes to sleep and finds something makes his epoll set ready by asking it for EPOLLOUT, which
 * a socket that carries a byte now and then always has.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "providers/soft/link/shm.h"

enum {
	TRIES = 8,
};

static const uint32_t both = EPOLLIN | EPOLLOUT;

/* ---- Wake-ups ---- */

void soft_shm_send_wakeup(struct soft_shm *shm, uint32_t wanted)
{
	if (wanted & SHM_WAKE_FUTEX)
		dapl_futex_wake_shared((uint32_t *)&shm->peer->wake_on);
	if (!(wanted & SHM_WAKE_SOCKET))
		return;
	/* If there is no room for the byte, others wait there; if there is no peer, the loop hears
	 * of it. */
	(void)send(shm->link.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
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

/* Somebody goes to sleep: which of what all wait for is there already. lock held. */
static uint32_t arm_wakeup(struct soft_shm *shm)
{
	uint32_t all = 0, wake_on, ready;
	size_t bytes;

	for (int i = 0; i < SOFT_WATCHERS; i++)
		all |= shm->wanted[i];
	wake_on = (all ? SHM_WAKE_END | SHM_WAKE_SOCKET : 0) | (all & EPOLLIN ? SHM_WAKE_DATA : 0) |
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
			return ready & all;
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
	return all;
}

/* ---- Who waits ---- */

/*
 * What is there of what the loop waits for. Where something is there for others alone, the byte of
 * that is theirs, and the loop does not watch for bytes until one of them is armed anew. lock held.
 */
static uint32_t arm_loop(struct soft_shm *shm)
{
	uint32_t wants = shm->wanted[SOFT_WATCHER_LOOP], there = wants ? arm_wakeup(shm) : 0;

	shm->left = there && !(there & wants);
	return there & wants;
}

/* The hang-up is watched for in any case, but told of once. lock held. */
static int register_loop(struct soft_shm *shm, bool ready)
{
	uint32_t wants = shm->wanted[SOFT_WATCHER_LOOP], events = EPOLLONESHOT;

	if (wants && !shm->left)
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
	rc = register_loop(shm, arm_loop(shm));
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
		ready = arm_wakeup(shm) & events;
	if (shm->left) {
		shm->left = false;
		register_loop(shm, false);
	}
	pthread_mutex_unlock(&shm->lock);
	return (events ? EPOLLIN : 0) | (ready ? EPOLLOUT : 0);
}

/*
 * What it becomes. One that was seen before a rouse, or before the peer cleared it, does not come
 * back: another thread may be about to sleep on it.
 */
static uint32_t add_to_word(struct soft_shm *shm, uint32_t wake_on)
{
	uint32_t old = atomic_load(&shm->own->wake_on), count, word;

	do {
		count = atomic_load(&shm->roused);
		if (wake_on && !(old & SHM_WAKE_FUTEX))
			count = atomic_fetch_add(&shm->roused, 1) + 1;
		word = (old & ((1u << SHM_WAKE_BITS) - 1)) | wake_on | count << SHM_WAKE_BITS;
	} while (!atomic_compare_exchange_weak(&shm->own->wake_on, &old, word));
	return word;
}

uint32_t *soft_shm_doze(struct soft_link *link, uint32_t events, uint32_t *seen)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t wake_on = SHM_WAKE_FUTEX | SHM_WAKE_END | (events & EPOLLIN ? SHM_WAKE_DATA : 0) |
			   (events & EPOLLOUT ? SHM_WAKE_ROOM : 0);

	if (wake_on & SHM_WAKE_ROOM) {
		atomic_store(&shm->own->room_at, room_at(shm));
		atomic_store_explicit(&shm->slept, true, memory_order_relaxed);
	}
	*seen = add_to_word(shm, wake_on);
	return level(shm) & events ? NULL : (uint32_t *)&shm->own->wake_on;
}

void soft_shm_rouse(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	atomic_fetch_add(&shm->roused, 1);
	add_to_word(shm, 0);
	dapl_futex_wake_shared((uint32_t *)&shm->own->wake_on);
}

/* What the loop's owner is to be told; 0: nothing. The watch goes on accordingly. */
static uint32_t look(struct soft_shm *shm, uint32_t events)
{
	uint32_t *wants = &shm->wanted[SOFT_WATCHER_LOOP], ready;
	bool first;

	pthread_mutex_lock(&shm->lock);
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		atomic_store(&shm->hung_up, true);
	ready = arm_loop(shm);
	/* Somebody else has taken what the byte told of, and will the next: the owner sees who. */
	if (!ready && !shm->left && events & EPOLLIN)
		ready = *wants & EPOLLIN;
	first = atomic_load(&shm->hung_up) && !shm->told;
	if (first) {
		shm->told = true;
		ready |= EPOLLHUP | EPOLLRDHUP |
			 (soft_shm_outcome(shm) == -ECONNRESET ? EPOLLERR : 0);
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
