/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between rdma_cm's calls and the rules of InfiniBand and iWARP; the lock is held. */
#ifndef ZOO_CM_H
#define ZOO_CM_H

#include "test/zoo/engine.h"

/* Bytes for the program in the messages of InfiniBand: IB_CM_REQ_PRIVATE_DATA_SIZE less rdma_cm's
 * header, IB_CM_REP_..., IB_CM_REJ_... (include/rdma/ib_cm.h, cma.c). */
#define ZOO_IB_REQ_DATA 56
#define ZOO_CMA_HEADER	36 /* struct cma_hdr, which is not there where GIDs are the addresses */
#define ZOO_IB_REP_DATA 196
#define ZOO_IB_REJ_DATA 148

/* Reasons of a rejection (IBTA volume 1, section 12.6.7.2). */
#define ZOO_REJ_TIMEOUT	 4
#define ZOO_REJ_NOBODYS	 6 /* invalid communication ID */
#define ZOO_REJ_CONSUMER 28
#define ZOO_REJ_OPTION	 35

static inline uint8_t zoo_req_data(const struct zoo_id *id)
{
	return id->gid ? ZOO_IB_REQ_DATA + ZOO_CMA_HEADER : ZOO_IB_REQ_DATA;
}

/* A connection ended in order: its numbers are not used again for a time, whose end is told. */
void zoo_ib_closed(struct zoo_id *id);
/* The program, or its process, has no more of it. */
void zoo_ib_end(struct zoo_id *id);
void zoo_iwarp_end(struct zoo_id *id);
void zoo_id_free(struct zoo_id *id);
/* The request that nobody has answered yet is taken back. */
void zoo_reject_unanswered(struct zoo_id *id, int reason);

/* iWARP: the QP of id's program belongs to the connection. Errno. */
int zoo_iwarp_take_qp(struct zoo_id *id);
void zoo_iwarp_accepted(struct zoo_id *id);
/* The program ends the connection; cxgb4's QP is in CLOSING until TCP's peer has answered. */
void zoo_iwarp_begin_close(struct zoo_id *id);

#endif
