/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What librdmacm of the zoo keeps in its process. */
#ifndef ZOO_RDMA_H
#define ZOO_RDMA_H

#include <errno.h>

#include "test/zoo/cm.h"
#include "test/zoo/verbs.h"

struct my_event_channel {
	struct rdma_event_channel ib;
	struct zoo_chan *chan;
};

struct my_id {
	struct rdma_cm_id ib;
	struct zoo_id *id;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t completed; /* events */
};

static inline int zoo_failed(int err)
{
	errno = err;
	return -1;
}

struct my_id *zoo_my_id(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps);
/* That of its address, as long as the card has it. */
static inline uint8_t zoo_port_of(const struct zoo_id *id)
{
	uint8_t port = zoo_port_at(id->card, id->src);

	return port ? port : 1;
}

/* librdmacm opens a device once. */
struct ibv_context *zoo_context_of(struct zoo_card *card);
/* Where the program finds the addresses. */
void zoo_tell_addrs(struct rdma_cm_id *ib, const struct zoo_id *id);
/* ---- rdma_qp.c: where the library has made the id's queue pair ---- */

/* It becomes ready to send; -1 with errno. */
int zoo_qp_accepts(struct rdma_cm_id *id);
void zoo_qp_ends(struct rdma_cm_id *id);
/* An event is about to be given to the program. */
void zoo_qp_event(struct rdma_cm_event *event);

/* A request is no longer one of its listener's. */
void zoo_leave_listener(struct zoo_id *id);

#endif
