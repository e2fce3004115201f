/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Data over shared memory. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "providers/soft/base/config.h"
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
	/* Of what begins in an empty ring: */
	SHORT = 13 * SHM_LINE, /* two of them lie in the first bytes */
	LONG = 60 << 10,       /* and two of them behind those */
};

int soft_shm_outcome(struct soft_shm *shm)
{
	uint32_t ended = atomic_load(&shm->peer->ended);

	if (!ended && atomic_load(&shm->peer->taken) == atomic_load(&shm->sent))
		return 0;
	return ended == SHM_ENDED ? 0 : ended == SHM_CUT ? -ESHUTDOWN : -ECONNRESET;
}

static __attribute__((noinline, cold)) ssize_t nonsense(struct soft_shm *shm)
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
	shm->geometry_told = false;
}

/*
 * Begins anew, at begin, where nothing is in the ring. One that was short gets larger, once all
 * that is in it lies in one piece, which stays where it is.
 */
static void arrange(struct soft_shm *shm, uint32_t sent, uint32_t used, uint32_t begin)
{
	uint32_t mask = shm->out.mask, larger = shm->cramped ? SHM_RING - 1 : mask;
	uint32_t at = (shm->known - shm->out.origin) & mask;

	if (!used && (sent - begin != shm->out.origin || larger != mask))
		set_geometry(shm, sent - begin, larger);
	else if (larger != mask && at + used <= mask + 1)
		set_geometry(shm, shm->known - at, larger);
}

/*
 * Where in an empty ring len bytes begin: in one piece if they fit, and with what they carry at the
 * start of a line, and not at the place in a page that programs' buffers begin at: a copy to
 * shortly behind it, modulo 4096, takes twice as long. What is neither next to the words that
 * announce it nor too long has two such places; what is written in place takes turns.
 */
static uint32_t beginning(const struct soft_shm *shm, size_t len)
{
	if (len <= SHM_BESIDE)
		return 0;
	if (len <= SHORT)
		return SHM_BESIDE + (shm->turn ? SHORT : 0);
	return SHM_FIRST + (shm->turn && len <= LONG ? LONG : 0);
}

static_assert(SHM_BESIDE + 2 * SHORT <= SHM_FIRST, "");
static_assert(SHM_FIRST + 2 * LONG <= SHM_SMALL, "");

#ifdef __x86_64__
__attribute__((target("prfchw")))
#endif
static void
fetch_for_writing(const uint8_t *mem, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += SHM_LINE)
		__builtin_prefetch(mem + i, 1);
}

/*
 * len bytes from pos on are the peer's. If they began in an empty ring, so many are likely to begin
 * in an empty one next: while the peer reads these, the lines for those come out of his cache.
 */
static void prepare_turn(struct soft_shm *shm, uint32_t pos, uint32_t len)
{
	uint8_t *next;

	if (len <= SHM_BESIDE || len > LONG || pos - shm->out.origin != beginning(shm, len))
		return;
	shm->turn = !shm->turn;
	next = piece(&shm->out, shm->out.origin + beginning(shm, len), &len);
	fetch_for_writing(next, len);
}

/* What was written up to sent is the peer's. */
static inline void publish(struct soft_shm *shm, uint32_t sent)
{
	BEFORE_SEND();
	if (!shm->geometry_told) {
		shm->geometry_told = true;
		atomic_store_explicit(&shm->own->geometry,
				      SHM_GEOMETRY(shm->out.origin, shm->out.mask),
				      memory_order_relaxed);
	}
	atomic_store_explicit(&shm->own->acked,
			      atomic_load_explicit(&shm->taken, memory_order_relaxed),
			      memory_order_release);
	atomic_store_explicit(&shm->sent, sent, memory_order_relaxed);
	atomic_store(&shm->own->sent, sent);
	soft_shm_wake(shm, SHM_WAKE_DATA);
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
		n = try_move(out, sent, &at, max < SHM_CHUNK ? max : SHM_CHUNK, true, num == 1);
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
	size_t len = 0;

	if (used > shm->out.mask + 1)
		return nonsense(shm);
	if (atomic_load_explicit(&shm->hung_up, memory_order_relaxed))
		return soft_shm_outcome(shm) == -ECONNRESET ? -ECONNRESET : -EPIPE;
	for (int i = 0; i < num; i++)
		len += iov[i].iov_len;
	arrange(shm, sent, used, beginning(shm, len));
	if (used > shm->out.mask)
		return nothing(shm);
	return fill(shm, sent, used, iov, num);
}

/*
 * Where len bytes are next, in one piece, or NULL. Of a long one the peer would wait for the end,
 * which only pays where he has nothing else: by send he begins with what is there.
 */
static uint8_t *straight(struct soft_shm *shm, uint32_t sent, uint32_t used, uint32_t len)
{
	uint32_t n = len;
	uint8_t *place;

	if (used && len > SHM_CHUNK)
		return NULL;
	arrange(shm, sent, used, beginning(shm, len));
	if (len > shm->out.mask + 1 - used)
		return NULL;
	place = piece(&shm->out, sent, &n);
	return n == len ? place : NULL;
}

uint8_t *soft_shm_reserve(struct soft_link *link, uint32_t len)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t sent = atomic_load_explicit(&shm->sent, memory_order_relaxed);
	uint32_t used = in_use(shm, sent);
	uint8_t *place;

	if (used > shm->out.mask + 1 || atomic_load_explicit(&shm->hung_up, memory_order_relaxed))
		return NULL;
	place = straight(shm, sent, used, len);
	if (!place && atomic_load_explicit(&shm->peer->taken, memory_order_acquire) == sent) {
		shm->known = sent;
		place = straight(shm, sent, 0, len);
	}
	if (!place)
		return NULL;
	shm->beside = place == shm->own->first && len <= SHM_BESIDE;
	return shm->beside ? shm->line : place;
}

void soft_shm_commit(struct soft_link *link, uint32_t len)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t sent = atomic_load_explicit(&shm->sent, memory_order_relaxed) + len;

	if (shm->beside)
		memcpy(shm->own->first, shm->line, len);
	shm->spread |= ((sent - 1 - shm->out.origin) & shm->out.mask) >= SHM_FIRST;
	publish(shm, sent);
	atomic_store_explicit(&shm->slept, false, memory_order_relaxed);
	prepare_turn(shm, sent - len, len);
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
	return soft_shm_outcome(shm);
}

/* The peer's ring is as he says at the moment. */
static inline void look_at_ring(struct soft_shm *shm)
{
	uint64_t geometry = atomic_load_explicit(&shm->peer->geometry, memory_order_acquire);

	AFTER_RECV();
	shm->in.origin = SHM_ORIGIN(geometry);
	shm->in.mask = SHM_MASK(geometry);
}

const uint8_t *soft_shm_peek(struct soft_link *link, uint32_t *len)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t taken = atomic_load_explicit(&shm->taken, memory_order_relaxed);

	*len = atomic_load_explicit(&shm->peer->sent, memory_order_acquire) - taken;
	if (!*len || *len > SHM_RING)
		return NULL;
	look_at_ring(shm);
	return piece(&shm->in, taken, len);
}

/*
 * Whether half of the ring is free even for a peer who has seen nothing but shown: he does not
 * sleep for room. To make sure that he sees more takes an instruction that waits for him.
 */
static inline bool nobody_short(const struct soft_shm *shm)
{
	return atomic_load_explicit(&shm->peer->sent, memory_order_relaxed) - shm->shown <=
	       shm->in.mask / 2;
}

void soft_shm_consume(struct soft_link *link, uint32_t len)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t taken = atomic_load_explicit(&shm->taken, memory_order_relaxed) + len;

	atomic_store_explicit(&shm->taken, taken, memory_order_relaxed);
	if (nobody_short(shm)) {
		atomic_store_explicit(&shm->own->taken, taken, memory_order_release);
		return;
	}
	shm->shown = taken;
	atomic_store(&shm->own->taken, taken);
	if ((atomic_load(&shm->peer->wake_on) & SHM_WAKE_ROOM) &&
	    (int32_t)(taken - atomic_load(&shm->peer->room_at)) >= 0)
		soft_shm_wake(shm, SHM_WAKE_ROOM);
}

ssize_t soft_shm_recv(struct soft_link *link, const struct iovec *iov, int num)
{
	struct soft_shm *shm = soft_shm(link);
	uint32_t taken = atomic_load_explicit(&shm->taken, memory_order_relaxed), there;
	struct cursor at = { .iov = iov, .num = num };
	ssize_t rc;

	there = atomic_load_explicit(&shm->peer->sent, memory_order_acquire) - taken;
	if (!there) {
		rc = dry(shm, taken);
		if (rc <= 0)
			return rc;
		there = atomic_load_explicit(&shm->peer->sent, memory_order_acquire) - taken;
	}
	if (!there || there > SHM_RING)
		return nonsense(shm);
	look_at_ring(shm);
	rc = try_move(&shm->in, taken, &at, there, false, num == 1);
	if (rc > 0)
		soft_shm_consume(link, (uint32_t)rc);
	return rc;
}

void soft_shm_end(struct soft_shm *shm, uint32_t how, uint32_t ways)
{
	uint32_t none = 0;

	BEFORE_SEND();
	if (!atomic_compare_exchange_strong(&shm->own->ended, &none, how))
		return;
	soft_shm_send_wakeup(shm,
			     (atomic_exchange(&shm->peer->wake_on, 0) | SHM_WAKE_SOCKET) & ways);
}

void soft_shm_finish(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	if (shm->memory)
		soft_shm_end(shm, SHM_ENDED, UINT32_MAX);
}

/* The peer is told although its ring is full, and reads what is in that first. */
void soft_shm_cut(struct soft_link *link)
{
	struct soft_shm *shm = soft_shm(link);

	if (shm->memory)
		soft_shm_end(shm, SHM_CUT, UINT32_MAX);
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
	shm->own_direct = &memory->direct[own];
	shm->peer_direct = &memory->direct[peer];
	shm->closed = !shm->link.dev->config->direct;
	atomic_store(&shm->taken, taken);
	shm->shown = taken;
	set_geometry(shm, 0, SHM_SMALL - 1);
}
