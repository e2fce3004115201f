/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work requests and completions, a part of the contract (dapl/transport.h). */
#ifndef DAPL_WORK_H
#define DAPL_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* One local segment; the layout of DAT_LMR_TRIPLET and of a verbs scatter/gather element. */
struct tp_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* The values are those of enum ibv_wr_opcode. */
enum tp_opcode {
	TP_RDMA_WRITE = 0,
	TP_RDMA_WRITE_IMM = 1, /* and the immediate completes a receive of the peer (IBX-47) */
	TP_SEND = 2,
	TP_RDMA_READ = 4,
	TP_CMP_AND_SWAP = 5,
	TP_FETCH_AND_ADD = 6,
	TP_SEND_INVALIDATE = 9,
	/* Without values there. A datagram, of a QP that has those alone. */
	TP_SEND_UD = 30,
	/* One segment, whose lkey is a remote key of this side (DTO-52). */
	TP_READ_TO_RKEY = 31,
};

/* Of tp_device_attr.operations. */
#define TP_CAN(opcode) (UINT32_C(1) << (opcode))
#define TP_ATOMICS     (TP_CAN(TP_CMP_AND_SWAP) | TP_CAN(TP_FETCH_AND_ADD))

static inline bool tp_is_atomic(uint32_t opcode)
{
	return opcode == TP_CMP_AND_SWAP || opcode == TP_FETCH_AND_ADD;
}

/* The values are those of enum ibv_send_flags. */
enum {
	TP_WR_FENCE = 0x1,     /* starts after all earlier reads of the QP completed (DTO-33) */
	TP_WR_SIGNALED = 0x2,  /* success makes a completion; failure makes one always (DTO-26) */
	TP_WR_SOLICITED = 0x4, /* the peer's receive completion carries TP_WC_SOLICITED */
	/*
	 * Of a Send, RDMA Write or Read: each segment has bytes, length is their sum, and wr_id is
	 * the address of wr, which stays until its completion was polled. May be ignored.
	 */
	TP_WR_WHOLE = 0x100,
};

/*
 * A request. Keys and addresses of empty segments, and of an RDMA of length 0, are not looked at
 * (DTO-10, DTO-56). As far as it goes the layout is that of a verbs send work request, so that such
 * a transport passes it on as it is; length lies in a part that is not read there. An atomic has one
 * segment of 8 bytes at least, of which 8 are written (IBX-38); its operands are integers of the
 * host, and so is what it leaves in memory (IBX-42).
 */
struct tp_wr {
	uint64_t wr_id;	    /* returned in the completion, opaque */
	struct tp_wr *next; /* NULL */
	/* The caller's, copied before the post returns (DTO-7); or one, which stays as wr does. */
	const struct tp_sge *sge;
	uint32_t num_sge;
	uint32_t opcode; /* enum tp_opcode */
	uint32_t flags;	 /* TP_WR_* */
	union {
		uint32_t immediate;  /* TP_RDMA_WRITE_IMM: carried as it lies here (IBX-50) */
		uint32_t invalidate; /* TP_SEND_INVALIDATE: the peer's remote key */
	};
	union {
		uint64_t remote_addr; /* RDMA and atomics */
		void *ah;	      /* TP_SEND_UD: of a ud_event of this QP, not freed */
	};
	union {
		uint32_t rkey; /* RDMA */
		struct {
			uint32_t qpn;  /* the peer's, as it came with ah; any value may be given */
			uint32_t qkey; /* the transport's, if it has such */
		} ud;
		struct {
			uint64_t compare_add; /* compared with, or added to, what is there */
			uint64_t swap;
			uint32_t rkey;
		} atomic;
	};
	union {
		struct tp_sge one; /* the segment of tp_qp's post; sge points to it */
		struct {
			uint64_t one_addr;
			uint32_t length; /* bytes to move, <= sum of the segments; 8 of an atomic */
		};
	};
};

/* Completion status, by the values of DAT_DTO_COMPLETION_STATUS; transfer/dto_event.c asserts
 * it. */
enum tp_wc_status {
	TP_WC_SUCCESS = 0,
	TP_WC_FLUSHED = 1,
	TP_WC_LOCAL_LENGTH = 2,
	TP_WC_LOCAL_EP = 3,
	TP_WC_LOCAL_PROTECTION = 4,
	TP_WC_BAD_RESPONSE = 5,
	TP_WC_REMOTE_ACCESS = 6,
	TP_WC_REMOTE_RESPONDER = 7,
	TP_WC_TRANSPORT = 8,
	TP_WC_RECEIVER_NOT_READY = 9,
	TP_WC_PARTIAL_PACKET = 10,
	TP_WC_BIND_FAILED = 11,
};

enum {
	TP_WC_RECV = 0x1,	  /* a receive completed */
	TP_WC_SOLICITED = 0x2,	  /* its sender asked for notification */
	TP_WC_IMMEDIATE = 0x4,	  /* data is the sender's immediate */
	TP_WC_WRITTEN = 0x8,	  /* ditto, of an RDMA Write; byte_len is the bytes it wrote */
	TP_WC_INVALIDATED = 0x10, /* data is the remote key that the sender invalidated (DTO-58) */
	TP_WC_DATAGRAM = 0x20,	  /* of a QP of datagrams; byte_len counts TP_UD_RESERVED as well */
};

struct tp_wc {
	uint64_t wr_id;
	uint32_t status;   /* enum tp_wc_status */
	uint32_t flags;	   /* TP_WC_*; valid on success */
	uint32_t byte_len; /* bytes received; valid for a successful receive */
	uint32_t data;	   /* by flags */
	void *qp_owner;	   /* of the QP that took it; valid for a receive from an SRQ */
};

#endif
