/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The part of an endpoint that DTOs go through; it knows nothing of connections. */
#ifndef DAPL_QP_H
#define DAPL_QP_H

#include <dat/dat_ib_extensions.h>

#include "dapl/base/lock.h"
#include "dapl/memory/binding.h"
#include "dapl/object/object.h"
#include "dapl/transfer/ah.h"
#include "dapl/transfer/slots.h"
#include "dapl/transport.h"

struct dapl_pz;
struct dapl_srq;

/* What an EP handle leads to. The fast path of Sends and RDMA Writes reads from lock to
 * request: one cache line. */
struct dapl_qp {
	struct dapl_object obj;
	struct dapl_lock lock;			       /* the EP lock: all that follows */
	uint8_t recv_stream, request_stream;	       /* enum dapl_stream */
	uint8_t recv_unsignalled, request_unsignalled; /* the flag where posts may carry it, or 0 */
	/* Where the fast path ends, by the bytes of a segment; 0: there is none. */
	uint64_t plain_send_below, plain_write_below;
	struct tp_qp *tp;
	struct dapl_slots request, recv;
	uint64_t posted[DCNT_EP_RECV]; /* by DAT_EP_COUNTERS */
	uint64_t plain_read_below;     /* as those above; of any number of segments */
	uint32_t max_send_sge, max_recv_sge, max_write_sge, max_read_sge;
	bool ud; /* of datagrams alone; constant */
	struct dapl_pz *pz;
	struct dapl_srq *srq; /* NULL: receives are posted to the QP */
	struct dapl_qp_cold *cold;
};

/* What plain DTOs do not need. */
struct dapl_qp_cold {
	uint64_t max_message, max_rdma; /* bytes */
	uint32_t max_read_out;
	/* The last suppressed request, by its slot's seq, and how many came without another between:
	 * a program may post no other for hours. */
	uint32_t suppressed;
	uint64_t num_suppressed;
	struct dapl_binder binder;
	/* A receive was posted that had to be checked; no lock held. */
	void (*check_marks)(struct dapl_qp *qp);
	/* What counts besides posted (dapl/object/counters.h); of receives under the EVD's lock. */
	uint64_t recv_other;  /* own receives that were no plain success */
	uint64_t recv_lost;   /* that a reset swept away; EP lock */
	uint64_t recv_shared; /* plain successes of an SRQ's receives */
	uint64_t recv_bytes;  /* of plain successes that no slot counts */
	uint64_t recv_extended[DCNT_EP_RECV_RDMA_IMM_DATA - DCNT_EP_RECV_UD + 1];
	_Atomic uint64_t failed, flushed; /* completions with an error of their own, or without */
	struct dapl_ahs ahs;		  /* of datagrams: those of its peers; EP lock */
};

static inline struct dapl_qp *dapl_qp_get(DAT_EP_HANDLE handle)
{
	return dapl_object_self(handle, DAPL_TYPE_EP);
}

#endif
