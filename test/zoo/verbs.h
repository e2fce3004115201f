/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the libraries of the zoo keep in their process. */
#ifndef ZOO_VERBS_H
#define ZOO_VERBS_H

#include <errno.h>

#include "test/zoo/engine.h"

struct my_context {
	struct zoo_chan *async;
	struct verbs_context verbs; /* ends with the program's */
};

struct my_pd {
	struct ibv_pd ib;
	struct zoo_pd *pd;
};

struct my_mr {
	struct ibv_mr ib;
	struct zoo_key *key;
};

struct my_mw {
	struct ibv_mw ib;
	struct zoo_key *key;
};

struct my_channel {
	struct ibv_comp_channel ib;
	struct zoo_chan *chan;
};

struct my_cq {
	struct ibv_cq ib;
	struct zoo_cq *cq;
};

struct my_srq {
	struct ibv_srq ib;
	struct zoo_srq *srq;
};

struct my_qp {
	struct ibv_qp ib;
	struct zoo_qp *qp;
};

static inline struct my_context *my_context(struct ibv_context *ctx)
{
	return zoo_entry(ctx, struct my_context, verbs.context);
}

#define my(type, of) zoo_entry(of, struct my_##type, ib)

/* ---- datagram.c ---- */

/* Where the program's request goes. */
void zoo_put_ah(struct zoo_wr *own, const struct ibv_send_wr *wr);

/* ---- device.c ---- */

/* Takes a lock of the whole process for a while. */
void zoo_global(void);
struct ibv_context *zoo_open(struct zoo_card *card);
/* RoCE's GIDs of the address, of version 1 and 2, among the port's. */
#define ZOO_GID_V1 2
#define ZOO_GID_V2 3
/* That of the port's address. */
void zoo_gid(const struct zoo_card *card, uint8_t port, union ibv_gid *gid);
/* That of an index; an errno where there is none. */
int zoo_gid_at(const struct zoo_card *card, uint8_t port, uint32_t index, union ibv_gid *gid);
struct zoo_card *zoo_card_of(const struct ibv_context *ctx);
/* An errno where the test wants the call to fail. */
int zoo_refuses(const char *call);
/* What destroying answers where the device is gone, and its objects with it: libibverbs keeps its own
 * part of them (verbs_is_destroy_err of libibverbs/driver.h). */
static inline int zoo_destroyed(const struct zoo_card *card)
{
	return card->removed ? EIO : 0;
}
/* Memory for what the program has of something that it makes; NULL with errno where err forbids it,
 * or most of them are there. */
void *zoo_make(struct zoo_card *card, size_t size, int err, uint32_t num, int most);
/* A channel for the call of this name; NULL with errno. */
struct zoo_chan *zoo_make_channel(const char *call, int *fd);
/* The time that a command of the firmware takes; no lock held. */
void zoo_command(const struct zoo_card *card);
void zoo_await_acks(pthread_mutex_t *lock, pthread_cond_t *cond, const uint32_t *count,
		    uint32_t num);

/* Whether the process may use all of it so (ops.c). */
int zoo_mapped(const void *addr, size_t length, unsigned int access);

/* The calls of a context (ops.c). */
void zoo_set_ops(struct ibv_context_ops *ops, const struct zoo_kind *kind);
int zoo_poll_cq(struct ibv_cq *ib, int num, struct ibv_wc *wc);
int zoo_req_notify_cq(struct ibv_cq *ib, int solicited);
int zoo_post_send(struct ibv_qp *ib, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int zoo_post_recv(struct ibv_qp *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int zoo_post_srq_recv(struct ibv_srq *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct ibv_mw *zoo_alloc_mw(struct ibv_pd *ib, enum ibv_mw_type type);
int zoo_dealloc_mw(struct ibv_mw *ib);
int zoo_bind_mw(struct ibv_qp *qp, struct ibv_mw *ib, struct ibv_mw_bind *bind);

#endif
