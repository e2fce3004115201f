/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What adapters and connection managers do, once for all processes; the lock is held. */
#ifndef ZOO_ENGINE_H
#define ZOO_ENGINE_H

#include "test/zoo/world.h"

/* A message between connection managers. */
struct zoo_msg {
	struct zoo_link link;
	uint64_t due;
	enum zoo_msg_kind kind;
	uint64_t from, to; /* numbers of ids; to 0: whoever listens at addr */
	struct in_addr src, addr;
	uint16_t src_port, port;
	bool gid; /* without rdma_cm's header */
	uint16_t pkey;
	uint8_t tos;
	int status;
	uint32_t qpn;
	struct rdma_conn_param param;
	uint8_t data[ZOO_MAX_PRIVATE];
};

/* Between UD QPs. */
struct zoo_datagram {
	struct zoo_link link;
	uint64_t due;
	uint32_t from, to, qkey, length;
	uint16_t slid, dlid;
	bool global, solicited;
	union ibv_gid dgid;
	uint8_t grh[sizeof(struct ibv_grh)];
	uint8_t bytes[]; /* right behind it */
};

/* ---- Ends (of what a process left, too) ---- */

void zoo_pd_end(struct zoo_pd *pd);
void zoo_key_end(struct zoo_key *key);
void zoo_cq_end(struct zoo_cq *cq);
void zoo_srq_end(struct zoo_srq *srq);
void zoo_qp_end(struct zoo_qp *qp);
void zoo_id_end(struct zoo_id *id);

/* ---- memory.c ---- */

/* A key's region or window; NULL: there is none. */
struct zoo_key *zoo_key_find(uint32_t key);
/* Whether the QP may use the segments, and the peer's QP the range. */
bool zoo_allows_local(const struct zoo_pd *pd, const struct ibv_sge *sge, uint32_t num, bool write);
bool zoo_allows_remote(const struct zoo_qp *target, uint32_t rkey, uint64_t addr, uint64_t length,
		       unsigned int access);
/* A bind or an invalidation by a request on qp; IBV_WC_SUCCESS or what is wrong with it. */
enum ibv_wc_status zoo_bind(struct zoo_qp *qp, const struct zoo_wr *wr);
enum ibv_wc_status zoo_invalidate(struct zoo_qp *qp, uint32_t rkey, bool by_peer);
/* Windows bound through the QP are bound no more. */
void zoo_unbind_all(struct zoo_qp *qp);

/* ---- cq.c ---- */

void zoo_cq_push(struct zoo_cq *cq, struct zoo_queue *queue, uint32_t seq, const struct ibv_wc *wc,
		 bool solicited);
/* Its completions: gone, or nobody's. */
void zoo_cq_forget(struct zoo_cq *cq, const struct zoo_queue *queue, uint32_t number, bool remove);

/* ---- queue.c ---- */

void zoo_queue_init(struct zoo_queue *queue, uint32_t max, uint32_t max_sge, uint32_t max_inline);
void zoo_queue_fini(struct zoo_queue *queue);
struct zoo_wr *zoo_queue_at(const struct zoo_queue *queue, uint32_t seq);
static inline bool zoo_queue_full(const struct zoo_queue *queue)
{
	return queue->posted - queue->retired >= queue->max;
}
/* The next entry of a queue with room, filled by the caller. */
struct zoo_wr *zoo_queue_post(struct zoo_queue *queue);
int zoo_recv_post(struct zoo_queue *queue, const struct ibv_recv_wr *wr);

/* ---- device.c ---- */

uint8_t zoo_num_ports(const struct zoo_card *card);
/* The port that has this address, or 0. */
uint8_t zoo_port_at(const struct zoo_card *card, struct in_addr addr);
/* The partition at this place of the adapter's table, or 0; where one that is meant stands, or -1. */
uint16_t zoo_pkey(const struct zoo_card *card, uint32_t index);
int zoo_pkey_index(const struct zoo_card *card, uint16_t pkey);

/* ---- transfer.c ---- */

struct zoo_qp *zoo_qp_find(uint32_t number);
/* Executes what can be executed. */
void zoo_progress(struct zoo_qp *qp);
/* The deadline of its next request has come. */
void zoo_qp_expired(struct zoo_qp *qp);
/* Error state: everything outstanding completes. */
void zoo_qp_to_error(struct zoo_qp *qp);
/* Receives were posted: whoever waits for them goes on. */
void zoo_received_on(const struct zoo_qp *target, const struct zoo_srq *srq);
/* About object, of which the program knows *user. */
void zoo_async(struct zoo_chan *chan, void *object, void **user, uint32_t *delivered,
	       enum ibv_event_type type);

/* ---- datagram.c ---- */

/* The port's; 0 on Ethernet. */
uint16_t zoo_lid(const struct zoo_card *card);
/* A request of a UD QP, whose bytes are the process's. */
enum ibv_wc_status zoo_send_datagram(const struct zoo_qp *qp, const struct zoo_wr *wr,
				     struct zoo_proc *proc, const struct ibv_sge *sge, uint32_t num,
				     uint64_t length);
/* What is due is delivered; the next deadline, 0 if there is none. */
uint64_t zoo_datagrams_expired(uint64_t now);

/* ---- wire.c: messages of connection managers ---- */

/* In a forked child, the parent's. */
void zoo_forget_contexts(void);
struct zoo_id *zoo_id_find(uint64_t number);
struct zoo_id *zoo_id_new(struct zoo_proc *proc, struct zoo_chan *chan);
void zoo_id_event(struct zoo_id *id, enum rdma_cm_event_type type, int status,
		  const struct zoo_msg *msg);
/* Whether somebody does, there. */
bool zoo_listens(struct in_addr addr, uint16_t port);
/* A message from id to its peer, as the wire treats it; a request and what is repeated is until it
 * is answered. */
void zoo_send(struct zoo_id *id, enum zoo_msg_kind kind, int status,
	      const struct rdma_conn_param *param, bool repeat);
/* What is due is delivered, repeated or given up; the next deadline, 0 if there is none. */
uint64_t zoo_wire_expired(uint64_t now);
/* Arrived: by rdma_cm's rules for InfiniBand (ib.c) and iWARP (iwarp.c). */
void zoo_ib_receive(struct zoo_id *id, const struct zoo_msg *msg);
void zoo_ib_gave_up(struct zoo_id *id);
void zoo_iwarp_receive(struct zoo_id *id, const struct zoo_msg *msg);
/* Ends a connection in either direction; the QP of the kernel's side goes. */
void zoo_iwarp_close(struct zoo_id *id, int status);
void zoo_iwarp_gave_up(struct zoo_id *id);

#endif
