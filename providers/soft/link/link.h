/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A link carries the bytes of one connection, in order, both ways. The protocols above know this
 * interface only; what is below it (TCP, or shared memory inside a host) is one file each.
 *
 * A link is started by connect or accept of its class and then belongs to one owner: first the
 * connection, at the end an orphan. ready and expired run on the loop; the owner changes them
 * there, so that no callback of the former owner can be on its way. send and recv are called under
 * the owner's locks.
 */
#ifndef SOFT_LINK_H
#define SOFT_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "dapl/transport.h"

struct iovec;
struct sockaddr_un;
struct soft_budget_entry;
struct soft_dev;
struct soft_link;

enum {
	SOFT_LINK_FDS = 2, /* descriptors of a link at most */
};

/* For whom a link is watched. */
enum soft_watcher {
	SOFT_WATCHER_CQ,    /* the connection's first CQ */
	SOFT_WATCHER_OTHER, /* and its second */
	SOFT_WATCHER_LOOP,
	SOFT_WATCHERS,
};

/* Registered memory of one side, as the other names it. */
struct soft_exposed {
	uint32_t key;
	uint32_t access; /* TP_ACCESS_REMOTE_* */
	uint64_t start;	 /* what the peer calls its first byte */
	uint64_t length;
	uint8_t *mem; /* that byte */
};

/* An RDMA Write or Read of len bytes. The last word of its sink is stored last (DTO-47). */
struct soft_access {
	uint32_t key;
	uint32_t right; /* TP_ACCESS_REMOTE_WRITE or TP_ACCESS_REMOTE_READ */
	uint64_t addr;
	uint32_t len;
	struct iovec *iov; /* the local bytes, changed; there is room for one piece more */
	int num;
	bool last; /* else it is a part, and others follow */
};

/*
 * Access to the peer's registered memory by one side alone, past the bytes of the link. What has
 * once been asked for by way of them is exposed to the peer, who need not ask again. Under the
 * connection's lock, but for polled.
 */
struct soft_direct_ops {
	/* The peer may reach it, until revoke of its key or close of all. What he is at then is over
	 * when await returns true, and when outlast has returned, which is called if it does not: a
	 * peer who stands still delays each until its deadline (dapl_now). After outlast, and after
	 * close, nothing is exposed. */
	void (*expose)(struct soft_link *link, const struct soft_exposed *region);
	/* Whether it was exposed. */
	bool (*revoke)(struct soft_link *link, uint32_t key);
	void (*close)(struct soft_link *link);
	bool (*await)(struct soft_link *link, uint64_t deadline);
	void (*outlast)(struct soft_link *link, uint64_t deadline);
	/* Whether all that has been received is done with, and answered. */
	void (*settle)(struct soft_link *link, bool settled);
	/* Whether that is so at the peer's for all that was sent, and he may be reached, and len
	 * bytes get there sooner than by the link. */
	bool (*apt)(struct soft_link *link, uint32_t len);
	/* false: not everything was done, and the link has to be asked, which also knows why. */
	bool (*access)(struct soft_link *link, struct soft_access *access);
	/* Somebody polled the link so often in vain: if the peer takes him for asleep, and has not
	 * done about as much, the link is the faster way. */
	void (*polled)(struct soft_link *link, uint32_t polls);
};

struct soft_link_class {
	const char *name;
	uint32_t cost; /* of asking it for bytes in vain, see cq_drive.c; some 10 ns for each */
	/*
	 * After so many polls of its queue without one this side looks less often, or has the peer
	 * wake it. Were they no more than what that costs, many that are used in turn would all come
	 * to be woken for: waking makes each wait the longer for its turn.
	 */
	uint32_t vain_polls;
	bool checked;	   /* bytes do not change on the way: a CRC would find nothing */
	uint32_t revision; /* of what give gives */

	/*
	 * Listens on qualifier *qual of dev (0: a free one, which *qual becomes). Returns a
	 * descriptor to be watched for input, or a negative errno. EADDRINUSE when somebody listens
	 * there.
	 */
	int (*listen)(const struct soft_dev *dev, uint64_t *qual);
	/* The next connection of a listening descriptor: 0, -EAGAIN if there is none, or why not.
	 */
	int (*accept)(struct soft_dev *dev, int fd, struct soft_link **link);
	/*
	 * The descriptors by which somebody else can go on with an accepted link from which a
	 * start-up frame was received and to which nothing was sent; returns their number. They
	 * stay the link's.
	 */
	int (*give)(struct soft_link *link, int fds[SOFT_LINK_FDS]);
	/*
	 * A link of what give gave, of which len bytes were received. Takes the descriptors unless
	 * it fails: -ENOMEM, -EPROTO if they are something else.
	 */
	int (*adopt)(struct soft_dev *dev, const int *fds, int num, uint32_t len,
		     struct soft_link **link);
	/*
	 * Starts to connect from local to qual of remote without waiting. 0: *link gets ready for
	 * output once the outcome is known, and started() tells it. -EAFNOSUPPORT, -EADDRNOTAVAIL,
	 * -ENETUNREACH, or out of something: it was not even started.
	 */
	int (*connect)(struct soft_dev *dev, const struct sockaddr_storage *local,
		       const struct sockaddr *remote, uint64_t qual, struct soft_link **link);
	/* The outcome of connect: 0 or a negative errno. A refusal may show only when the link has
	 * ended and nothing has come: it is asked again then. */
	int (*started)(struct soft_link *link);

	/*
	 * Memory of the program has memory of our own before or behind it: a single piece is ours.
	 */

	/* Bytes taken, at least one; -EAGAIN if there is no room; -EFAULT: not all of the memory is
	 * there; else why the link is dead. */
	ssize_t (*send)(struct soft_link *link, const struct iovec *iov, int num);
	/* Bytes received; 0 once the peer has ended; -ESHUTDOWN once it has by cut; -EAGAIN if none
	 * are here; -EFAULT as for send; else why the link is dead. */
	ssize_t (*recv)(struct soft_link *link, const struct iovec *iov, int num);
	/*
	 * Without a copy in between, where the link's bytes lie in memory of both sides; NULL: they
	 * do not. The first two do what send does: room for len bytes in one piece, or NULL, for
	 * whatever reason, and send it. The other two are recv: the bytes that have come and lie in
	 * one piece, which the peer may change at any time, or NULL; and len of them are done with.
	 */
	uint8_t *(*reserve)(struct soft_link *link, uint32_t len);
	void (*commit)(struct soft_link *link, uint32_t len);
	const uint8_t *(*peek)(struct soft_link *link, uint32_t *len);
	void (*consume)(struct soft_link *link, uint32_t len);
	const struct soft_direct_ops *direct; /* NULL: the peer's memory is out of reach */
	/* Whether recv would find nothing; NULL: that cannot be seen for less. Any thread. */
	bool (*quiet)(struct soft_link *link);
	/* Now and then, as send: gives memory back that was of no use since the last time. NULL:
	 * none. */
	void (*rest)(struct soft_link *link);
	/* We send no more: what was taken is delivered, then the peer sees the end. */
	void (*finish)(struct soft_link *link);
	/* Ditto, although what was taken is not whole, and even if the peer takes nothing of it.
	 * NULL: such a peer cannot be told. */
	void (*cut)(struct soft_link *link);
	/* Gives the link up and frees it; abort: the peer sees a reset, and nothing that is on its
	 * way. */
	void (*close)(struct soft_link *link, bool abort);

	/* Has the loop call ready as of these events of a socket; for EPOLLIN also where another
	 * thread has taken what came. Any thread. */
	int (*watch)(struct soft_link *link, uint32_t events);
	/*
	 * What a CQ's epoll set is to be told of the descriptor for these events. asleep: nobody
	 * looks at the link before the set is ready; this is told each time that somebody sleeps.
	 * NULL: these events.
	 */
	uint32_t (*arm)(struct soft_link *link, enum soft_watcher who, uint32_t events,
			bool asleep);

	/*
	 * Somebody is about to sleep until one of these events: on a shared word that is changed then
	 * and woken, and how it is seen; NULL: one of them is there. rouse changes and wakes it
	 * otherwise. Any thread. NULL: there is no such word.
	 */
	uint32_t *(*doze)(struct soft_link *link, uint32_t events, uint32_t *seen);
	void (*rouse)(struct soft_link *link);

	/* The size of a segment that travels in one piece (EMSS), for the size of FPDUs. */
	uint32_t (*segment)(struct soft_link *link);
	/* Whether the peer has not answered for ms milliseconds although it should have. */
	bool (*lost)(struct soft_link *link, uint32_t ms);
	/* Bytes that the peer's host has not taken yet. */
	uint32_t (*unsent)(struct soft_link *link);
	/* Both ends' names. */
	void (*names)(struct soft_link *link, struct sockaddr_storage *local, uint64_t *local_qual,
		      struct sockaddr_storage *remote, uint64_t *remote_qual);
};

struct soft_link {
	const struct soft_link_class *class;
	atomic_bool stalled; /* it takes no more for now; with class, as polls look at both */
	struct soft_dev *dev;
	int fd;
	struct tp_watch watch;
	struct tp_timer timer;
	bool watched;
	bool moved;	 /* another goes on with it: close is not to tell the peer of an end */
	bool shared;	 /* the program may have the socket open, too: closing it ends nothing */
	int start_err;	 /* of connect, for started */
	const char *why; /* what an error number of it does not tell, or NULL */
	void (*ready)(struct soft_link *link, uint32_t events);
	void (*expired)(struct soft_link *link);
	void *owner;
	/* Who counts the link (cm/budget.h): destroyed is called before it is closed, or NULL. */
	void (*destroyed)(struct soft_link *link);
	struct soft_budget_entry *budget_entry;
};

/* Prepares what all classes share. */
void soft_link_init(struct soft_link *link, const struct soft_link_class *class,
		    struct soft_dev *dev, int fd);
/* Watches or changes what is watched. Any thread. */
int soft_link_watch(struct soft_link *link, uint32_t events);
/* Ditto, of the descriptor. */
int soft_link_register(struct soft_link *link, uint32_t events);
/* Sets the timer, in milliseconds from now; 0: none. On the loop, or before the first watch. */
void soft_link_timeout(struct soft_link *link, uint32_t ms);
/*
 * Sends what there is no room for later: buf from *sent on, up to len. 1 once all is out, 0 if not,
 * or a negative errno.
 */
int soft_link_send_all(struct soft_link *link, uint8_t *buf, size_t len, size_t *sent);
/* Ends watch and timer and closes. On the loop, or before the first watch. */
void soft_link_destroy(struct soft_link *link, bool abort);

/* ---- Sockets of the program (tcp.c) ---- */

/*
 * A link of TCP over a socket that the program has connected, by a descriptor of its own; the
 * socket stays as it was until take. -EINVAL, of which it says why; -EMFILE, -ENOMEM.
 */
int soft_link_of_socket(struct soft_dev *dev, int socket, struct soft_link **link);
/* The socket is the link's. */
void soft_link_take(struct soft_link *link);

/* ---- Unix sockets, over which links and what carries them are given to other processes ---- */

/* The abstract name of what listens at an address and qualifier; returns its length. */
socklen_t soft_link_name(const char *what, const void *addr, uint64_t qual,
			 struct sockaddr_un *name);
/* Listens there: a descriptor or a negative errno. */
int soft_link_listen_local(int type, const char *what, const struct sockaddr_storage *addr,
			   uint64_t qual, int backlog);
/* Whether the other end is a process of the same user; user: of which. */
bool soft_link_same_user(int fd, uid_t *user);
/*
 * One packet with descriptors. The first returns what sendmsg does. The other one takes up to *num
 * of them, which becomes their number, and returns the packet's length, 0 at the end, or a negative
 * errno; -EMFILE: not all of the packet, or of the descriptors, could be taken in.
 */
ssize_t soft_link_send_fds(int fd, const void *packet, size_t len, const int *fds, int num);
ssize_t soft_link_recv_fds(int fd, void *packet, size_t len, int *fds, int *num);
void soft_link_close_fds(const int *fds, int num);

/* "local - remote", for messages; buf has room for two addresses. */
const char *soft_link_text(struct soft_link *link, char *buf);
/* There is no memory for bytes on their way to it, or from it. */
void soft_link_say_no_buffer(const struct soft_link *link, uint32_t size);

extern const struct soft_link_class soft_link_tcp;
extern const struct soft_link_class soft_link_shm; /* see shm.h */

#endif
