/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links over memory that two processes of one user share: what set-up (shm_start.c), data (shm.c),
 * wake-ups (shm_wake.c) and direct access (shm_direct.c) have in common, and the layout of the
 * memory.
 *
 * The memory is a sealed memfd of two rings and what each side says about them. The active side
 * makes it and sends it through an abstract Unix socket, named after the address and qualifier of
 * the service point; who takes it says so in it, and the request is in it or follows. The end of the
 * socket's stream is the peer's death, and a byte in it wakes a peer who said in the memory that he
 * sleeps.
 *
 * All of the memory is the peer's to write at any time. Each side keeps its own positions in memory
 * of its own; of the peer's it takes each once, and what does not fit ends the connection.
 */
#ifndef SOFT_SHM_H
#define SOFT_SHM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "dapl/base/lock.h"
#include "providers/soft/link/link.h"
#include "util/list.h"

enum {
	SHM_VERSION = 7,
	SHM_LINE = 64,
	SHM_RING = 1 << 20,    /* the size of a ring at most; a power of two, as all sizes */
	SHM_SMALL = 128 << 10, /* and until it turns out to be short: it stays in the cache */
	SHM_FIRST = 1772,      /* bytes of a ring that lie with what is said about it */
	SHM_BESIDE = 44,       /* of these, in the line that the peer polls */
	SHM_CHUNK = 8 << 10,   /* the peer gets so much at a time, and begins with it */
	SHM_PAGE = 4096,
	SHM_SIZE = 2 * SHM_RING + 2 * SHM_PAGE,
	SHM_REGIONS = 60, /* that one side exposes at a time */
};

/* The name of the socket at which a service point takes such connections begins with it. */
#define SHM_NAME "udapl-shm"

#define SHM_MAGIC 0x7564617073686d31u

/* What goes with the descriptor. */
struct shm_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
};

/* What a sleeper wants to be woken for. */
enum {
	SHM_WAKE_DATA = 1,
	SHM_WAKE_ROOM = 2, /* as much as room_at says */
	SHM_WAKE_END = 4,  /* in any case */
	/* And how: by a byte in the socket, by waking the word. */
	SHM_WAKE_SOCKET = 8,
	SHM_WAKE_FUTEX = 16,
	SHM_WAKE_BITS = 8, /* behind them is soft_shm.roused */
};

enum {
	SHM_ENDED = 1,
	SHM_ABORTED = 2,
	SHM_CUT = 3, /* in order, within what was being sent */
};

/*
 * What one side writes, and wake_on the other one too. The byte at a position of the ring is at
 * (position - origin) & mask. A ring that is empty begins anew, at 0 where the message is short
 * enough to lie in the cache line of the words that announce it.
 */
struct shm_side {
	_Alignas(SHM_LINE) _Atomic uint32_t taken; /* bytes out of the other's ring so far */
	_Atomic uint32_t settled; /* of these, those of which all was done that they ask for */
	_Alignas(SHM_LINE) _Atomic uint32_t wake_on; /* SHM_WAKE_*; cleared by who wakes */
	_Atomic uint32_t room_at;		     /* the other's taken for SHM_WAKE_ROOM */
	_Alignas(SHM_LINE) _Atomic uint32_t sent;    /* bytes into its ring so far */
	_Atomic uint32_t acked;			     /* taken when that was written */
	_Atomic uint64_t geometry;		     /* SHM_GEOMETRY; written before sent */
	_Atomic uint32_t ended;			     /* and no more will come */
	uint8_t first[SHM_FIRST];
};

#define SHM_GEOMETRY(origin, mask) ((uint64_t)(mask) << 32 | (origin))
#define SHM_ORIGIN(geometry)	   ((uint32_t)(geometry))
#define SHM_MASK(geometry)	   ((uint32_t)((geometry) >> 32) & (SHM_RING - 1))

struct shm_page {
	struct shm_side side[2]; /* active, passive */
	/* The active side's name, written before the memory is handed over. */
	struct sockaddr_storage addr;
	uint64_t qual;
	_Atomic uint32_t attached; /* the passive side has taken the memory */
};

/* Registered memory that the other side may reach. Its owner writes key last, and 0 first. */
struct shm_region {
	_Atomic uint32_t key; /* 0: none */
	uint32_t access;      /* TP_ACCESS_REMOTE_* */
	uint64_t start;	      /* what the peer calls its first byte */
	uint64_t length;
	uint64_t mem; /* that byte, in the memory of its process */
};

/* Direct access, see shm_direct.c: what one side writes. */
struct shm_direct {
	/* Where in its process's memory the second word stands, for who asks whether it has the
	 * right process; 0: nothing was exposed so far. */
	_Atomic uint64_t proof_at;
	uint64_t proof;
	uint32_t pointer_size;	 /* of its process: that of bytes */
	_Atomic uint32_t polled; /* grows while it polls without being known to */
	/* Its own access to the other's memory: odd while it is under way, and to which bytes of his
	 * process, which he takes away if that may no longer begin. */
	_Alignas(SHM_LINE) _Atomic uint32_t access;
	struct iovec bytes[2];
	_Alignas(SHM_LINE) struct shm_region region[SHM_REGIONS];
};

/* A connection that has not much to say touches one page, and the second one if it exposes memory. */
struct shm_memory {
	struct shm_page page;
	_Alignas(SHM_PAGE) struct shm_direct direct[2];
	/* The rings, behind their first bytes. */
	_Alignas(SHM_PAGE) uint8_t rest[2][SHM_RING];
};

/* Libatomic's locks keep no other process out. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2, "words of two processes");
_Static_assert(sizeof(struct shm_side) == 1920, "whole lines");
_Static_assert((offsetof(struct shm_side, first) + SHM_BESIDE) % SHM_LINE == 0, "");
_Static_assert(sizeof(struct shm_page) <= SHM_PAGE, "");
_Static_assert(sizeof(struct shm_direct) == SHM_PAGE / 2, "");
_Static_assert(sizeof(struct shm_memory) == SHM_SIZE, "");

/* A ring as one side sees it for the moment. */
struct shm_ring {
	uint8_t *first, *rest;
	uint32_t origin, mask;
};

struct soft_shm {
	/* With the link's class all that a poll looks at, in one line. One writes sent, one taken:
	 * who holds the connection's lock of that direction. */
	_Alignas(SHM_LINE) struct shm_side *peer;
	struct shm_side *own;
	_Atomic uint32_t sent, taken;
	atomic_bool hung_up;
	atomic_bool spoilt; /* the peer wrote what cannot be */
	struct soft_link link;
	/* Our ring, and what send knows of it. */
	struct shm_ring out;
	_Atomic uint32_t size;
	uint32_t acked, known; /* the peer's word when it was looked at last; what he has taken */
	uint32_t rested;       /* sent, at the last call of rest */
	uint32_t shown;	       /* taken, when it was last made sure that the peer sees it */
	bool geometry_told;    /* to the peer */
	/* What was reserved is written here, and to its place when it is sent: the peer who polls
	 * takes the line of that away between one word and the next. */
	bool beside;
	uint8_t line[SHM_BESIDE];
	bool turn;	    /* the next one in an empty ring begins at the other place */
	bool cramped;	    /* it is to get larger */
	bool spread;	    /* more than its first bytes were used since it was given back */
	atomic_bool slept;  /* one of the sides did since send found room last */
	struct shm_ring in; /* the peer's, as the last recv found it */
	/* Direct access: what each side says about it, and what is known of his process. */
	struct shm_direct *own_direct, *peer_direct;
	uint8_t reach;		      /* enum shm_reach */
	bool closed;		      /* there is none, or no more */
	uint32_t accesses;	      /* of ours */
	uint32_t polled;	      /* the peer's word when it was looked at last */
	uint32_t by_link;	      /* so many small writes still go that way */
	_Atomic uint32_t peer_access; /* ditto; of who polls */
	bool deaf;		      /* the peer stood still: he is not waited for */
	uint32_t stuck;		      /* the peer's word when he was waited for in vain */
	pid_t pid;		      /* the peer's process, if it can be reached */
	_Atomic uint32_t roused;      /* how often this side has made the word another one */

	pthread_mutex_t lock;
	uint32_t wanted[SOFT_WATCHERS]; /* EPOLL* that each waits for */
	bool once;			/* the loop: tell it once */
	bool told;			/* ditto, of the hang-up */
	bool left;			/* ditto: something is there, for others */

	struct shm_memory *memory; /* NULL: none yet */
	int memfd;		   /* -1: closed */
	struct sockaddr_storage local, remote;
	uint64_t local_qual, remote_qual;
};

static inline struct soft_shm *soft_shm(struct soft_link *link)
{
	return container_of(link, struct soft_shm, link);
}

/* The stages of a link: active, it could not be started; passive, the memory is awaited; passive, it
 * can be given to others. */
extern const struct soft_link_class soft_link_shm_failed;
extern const struct soft_link_class soft_link_shm_incoming;
extern const struct soft_link_class soft_link_shm_accepted;

/* The memory is there, and taken bytes of the peer's are with somebody else. */
void soft_shm_ready(struct soft_shm *shm, struct shm_memory *memory, bool active, uint32_t taken);
/* What a link's watch runs from then on. */
void soft_shm_event(struct tp_watch *watch, uint32_t events);
/* Tells the peer, unless he was told before; ways: of SHM_WAKE_*, those by which he is woken. */
void soft_shm_end(struct soft_shm *shm, uint32_t how, uint32_t ways);
/*
 * How the peer ended, who says no more, as recv tells it. One who said nothing is a process that is
 * gone; as with TCP that is an end in order unless it left something of ours unread.
 */
int soft_shm_outcome(struct soft_shm *shm);
/* Wakes the peer, who wanted that: SHM_WAKE_*. */
void soft_shm_send_wakeup(struct soft_shm *shm, uint32_t wanted);
/* Ditto if he sleeps for that, after a position of ours has changed. */
static inline void soft_shm_wake(struct soft_shm *shm, uint32_t why)
{
	uint32_t wanted;

	if (!(atomic_load(&shm->peer->wake_on) & why))
		return;
	wanted = atomic_exchange(&shm->peer->wake_on, 0);
	if (wanted) {
		atomic_store_explicit(&shm->slept, true, memory_order_relaxed);
		soft_shm_send_wakeup(shm, wanted);
	}
}

extern const struct soft_direct_ops soft_shm_direct; /* shm_direct.c */

/* Data: shm.c's part of the tables in shm_start.c. */
ssize_t soft_shm_send(struct soft_link *link, const struct iovec *iov, int num);
bool soft_shm_quiet(struct soft_link *link);
ssize_t soft_shm_recv(struct soft_link *link, const struct iovec *iov, int num);
uint8_t *soft_shm_reserve(struct soft_link *link, uint32_t len);
void soft_shm_commit(struct soft_link *link, uint32_t len);
const uint8_t *soft_shm_peek(struct soft_link *link, uint32_t *len);
void soft_shm_consume(struct soft_link *link, uint32_t len);
void soft_shm_rest(struct soft_link *link);
void soft_shm_finish(struct soft_link *link);
void soft_shm_cut(struct soft_link *link);
int soft_shm_watch(struct soft_link *link, uint32_t events);
uint32_t soft_shm_arm(struct soft_link *link, enum soft_watcher who, uint32_t events, bool asleep);
uint32_t *soft_shm_doze(struct soft_link *link, uint32_t events, uint32_t *seen);
void soft_shm_rouse(struct soft_link *link);
#endif
