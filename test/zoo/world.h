/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The world of the zoo: what adapters, wires and the kernel would have, in memory that all
 * processes map at one address, so that pointers mean the same in each. One lock is over all of it.
 * The keeper (keeper.c) makes it, sees to what happens later and to what processes leave behind.
 */
#ifndef ZOO_WORLD_H
#define ZOO_WORLD_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "test/zoo/card.h"

#define ZOO_MAX_PROCS	256
#define ZOO_MAX_CARDS	8
#define ZOO_CHAINS	1024
#define ZOO_MAX_KEYS	(1 << 20)
#define ZOO_MAX_PRIVATE 255
#define ZOO_UD_MTU	1024

/* ---- Lists ---- */

struct zoo_link {
	struct zoo_link *next, **prev;
};

void zoo_link_add(struct zoo_link **list, struct zoo_link *link);
void zoo_link_del(struct zoo_link *link);

#define zoo_entry(link, type, member) \
	((type *)(void *)((char *)(link) - __builtin_offsetof(type, member)))

/* ---- Processes, adapters, descriptors ---- */

struct zoo_proc {
	pid_t pid; /* 0: unused */
};

struct zoo_card {
	uint32_t number;	/* of its kind */
	struct in_addr addr[2]; /* of its ports; 0: there is no such port */
	uint32_t num_qp, num_cq, num_mr, num_pd, num_srq, num_mw; /* that exist */
	bool removed, port_down, moved; /* moved: its address is the next card's */
};

struct zoo_id;

/* Something that a descriptor announces. */
struct zoo_event {
	struct zoo_event *next;
	void *object;	       /* it concerns; NULL: nobody's any more */
	uint32_t *delivered;   /* counts it when it is popped */
	void **user_of, *user; /* the object's, as it is then */
	int type;	       /* enum ibv_event_type or rdma_cm_event_type */
	int status;	       /* of rdma_cm's, as is what follows */
	struct zoo_id *id;     /* of a request: the new one */
	struct rdma_conn_param param;
	uint8_t data[ZOO_MAX_PRIVATE];
};

/* What is behind a descriptor: readable while there is an event. */
struct zoo_chan {
	struct zoo_link link; /* of the world's */
	struct zoo_proc *proc;
	uint32_t number; /* in the name of its socket */
	struct zoo_event *first;
};

/* ---- Verbs ---- */

struct zoo_pd {
	struct zoo_link link;
	struct zoo_proc *proc;
	struct zoo_card *card;
	uint32_t uses;
};

/* A region or a window, found by its key. */
struct zoo_key {
	struct zoo_link link;
	struct zoo_proc *proc;
	struct zoo_pd *pd;
	uint32_t index; /* keys are this and eight bits */
	uint32_t key;
	uint64_t addr, length;
	unsigned int access;
	uint32_t bound; /* of a region: windows bound to it */
	bool window, valid;
	enum ibv_mw_type type;
	struct zoo_key *mr; /* of a window */
	struct zoo_qp *qp;  /* of one of type 2, bound */
};

struct zoo_queue;

struct zoo_wc {
	struct ibv_wc wc;
	struct zoo_queue *queue; /* NULL: gone */
	uint32_t seq;		 /* of the request; what is up to it is free again */
};

struct zoo_cq {
	struct zoo_link link;
	struct zoo_proc *proc;
	struct zoo_card *card;
	struct zoo_chan *chan, *async;
	void *user;
	uint32_t cqe, uses, vector, delivered, async_delivered;
	_Atomic bool resized; /* since it was last polled */
	_Atomic uint32_t head, tail;
	struct zoo_wc *wc;
	int armed; /* 1: for solicited ones and errors, 2: for all */
	bool overrun;
};

struct zoo_wr {
	uint64_t id;
	uint32_t opcode, flags, imm, num_sge, length; /* length: of inline data */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare, swap;
	struct zoo_key *mw, *mr;
	uint32_t mw_key;
	unsigned int mw_access;
	uint64_t mw_addr, mw_length;
	uint32_t to_qpn, qkey; /* of a datagram */
	uint16_t dlid;
	bool global;
	union ibv_gid dgid;
	struct ibv_grh grh;   /* as it arrives */
	struct ibv_sge sge[]; /* or the inline data */
};

/* Entries from retired to posted are taken; those from next on not begun. */
struct zoo_queue {
	uint32_t size, max, max_sge, stride;
	uint32_t posted, next, retired;
	char *wr;
};

struct zoo_srq {
	struct zoo_link link;
	struct zoo_proc *proc;
	struct zoo_pd *pd;
	struct zoo_chan *async;
	void *user;
	struct zoo_queue queue;
	uint32_t limit, uses, delivered;
};

struct zoo_qp {
	struct zoo_link link, chain;
	struct zoo_proc *proc;
	struct zoo_card *card;
	struct zoo_pd *pd;
	struct zoo_cq *send_cq, *recv_cq;
	struct zoo_srq *srq;
	struct zoo_chan *async;
	void *user;
	struct zoo_queue sq, rq;
	enum ibv_qp_type type;
	uint32_t number, remote, max_inline, delivered;
	enum ibv_qp_state state;
	struct ibv_qp_attr attr; /* as last set */
	bool all_signaled, comm_est, last_wqe;
	bool holds; /* in error: the receive of its SRQ with this id */
	uint64_t held;
	bool refused;	   /* by the peer's adapter, which says nothing of it */
	bool closing;	   /* iWARP: in the kernel's hands */
	bool waits_recv;   /* its next request meets no receive */
	bool in_progress;  /* by an outer call */
	uint64_t deadline; /* of its next request; 0: none */
	struct zoo_id *id; /* iWARP: its connection */
};

/* ---- Connections ---- */

enum zoo_id_state {
	ZOO_IDLE,
	ZOO_BOUND,
	ZOO_LISTEN,
	ZOO_REQ_SENT,
	ZOO_REQ_RCVD,
	ZOO_REP_SENT,
	ZOO_REP_RCVD,
	ZOO_ESTABLISHED,
	ZOO_DREQ_SENT,
	ZOO_DREQ_RCVD,
	ZOO_CLOSED,
};

enum zoo_msg_kind {
	ZOO_REQ,
	ZOO_REP,
	ZOO_RTU,
	ZOO_REJ,
	ZOO_DREQ,
	ZOO_DREP,
	ZOO_MSG_KINDS
};

struct zoo_msg;

struct zoo_id {
	struct zoo_link link, chain;
	uint64_t number, peer;
	struct zoo_proc *proc;
	struct zoo_chan *chan;
	struct zoo_card *card;
	void *user; /* struct rdma_cm_id; NULL before the program has it */
	enum zoo_id_state state;
	struct in_addr src, dst;
	uint16_t src_port, dst_port, pkey;
	bool gid; /* its addresses are GIDs */
	uint8_t tos;
	bool owns_port;
	uint32_t backlog, waiting, delivered;
	struct zoo_id *listener;
	uint32_t qpn, remote_qpn;
	struct rdma_conn_param param; /* as the request or the reply had it */
	struct zoo_msg *resend;	      /* repeated at the deadline, tries left */
	uint64_t deadline;
	uint32_t tries;
	bool quiet; /* nobody hears of it any more */
};

/* ---- The world ---- */

struct zoo_world {
	pthread_mutex_t lock;
	pid_t keeper;
	uint64_t size, used;
	void *unused[48]; /* by the logarithm of their size */
	struct zoo_proc procs[ZOO_MAX_PROCS];
	struct zoo_card cards[ZOO_MAX_CARDS];
	uint32_t num_cards, next_chan, next_qp, next_port, next_key;
	uint32_t num_waiting; /* QPs whose next request meets no receive */
	uint32_t num_ahs;
	uint32_t num_cm_sent; /* messages of rdma_cm, and datagrams of a connection manager */
	uint64_t next_id;
	struct zoo_link *chans, *pds, *mrs, *cqs, *srqs, *qps, *ids, *msgs, *datagrams;
	struct zoo_link *qp_chains[ZOO_CHAINS], *id_chains[ZOO_CHAINS];
	uint64_t next_deadline; /* that the keeper knows of */
#define OPTION(name) uint32_t name;
#include "test/zoo/options.def"
#undef OPTION
	uint64_t random;
	struct zoo_key *keys[ZOO_MAX_KEYS];
};

extern struct zoo_world *zoo;
extern struct zoo_proc *zoo_me; /* NULL: not attached */

/* 0 or an errno. */
int zoo_attach(void);
/* The keeper's; num_cards are set. */
int zoo_create(int fd);
void zoo_lock(void);
void zoo_unlock(void);
const struct zoo_kind *zoo_kind_of(const struct zoo_card *card);

/* ---- Lock held, from here on ---- */

/* Zeroed memory of the world. It has some; who needs more than there is has made a mistake. */
void *zoo_alloc(size_t size);
void zoo_free(void *at);
uint64_t zoo_now(void);
void zoo_at(uint64_t deadline); /* the keeper looks at all deadlines then at the latest */
uint32_t zoo_random(void);	/* below 1000 */

/* A channel and its descriptor, or NULL with errno. Its fd may be moved by the program. */
struct zoo_chan *zoo_chan_open(int *fd);
void zoo_chan_close(struct zoo_chan *chan);
void zoo_chan_push(struct zoo_chan *chan, struct zoo_event *event);
/* Waits for an event where fd blocks. Takes the lock. NULL: errno says why. */
struct zoo_event *zoo_chan_pop(struct zoo_chan *chan, int fd);
/* Takes back what was pushed for object: each is freed, the id of a request too. */
void zoo_chan_purge(struct zoo_chan *chan, const void *object);

/* Bytes between processes; 0 or an errno. */
int zoo_copy(struct zoo_proc *to_proc, uint64_t to, struct zoo_proc *from_proc, uint64_t from,
	     uint64_t length);

/* What the process had is gone. */
void zoo_proc_ended(struct zoo_proc *proc);

#endif
