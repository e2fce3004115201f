/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ib_extensions.h
 * The InfiniBand extension: atomics, immediate data, unreliable datagrams, counters and a query
 * that does not open the adapter. Every call is a macro over dat_extension_op.
 */
#ifndef DAT_IB_EXTENSIONS_H
#define DAT_IB_EXTENSIONS_H

#include "udat.h"
#include "dat_ib_collective.h"

struct ibv_ah;

/** Version of the extension; programs compare extension_version with it or with less (IBX-4). */
#define DAT_IB_EXTENSION_VERSION 209

/** Names of provider attributes that tell what works, with value "TRUE" (IBX-116..IBX-118). */
#define DAT_IB_ATTR_CMP_AND_SWAP  "DAT_IB_CMP_AND_SWAP"
#define DAT_IB_ATTR_COUNTERS	  "DAT_COUNTERS"
#define DAT_IB_ATTR_FETCH_AND_ADD "DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_IMMED_DATA	  "DAT_IB_IMMED_DATA"
#define DAT_IB_ATTR_UD		  "DAT_IB_UD"
#define DAT_ATTR_COUNTERS	  DAT_IB_ATTR_COUNTERS

/** Numbers of the extension's events (IBX-20..IBX-27, IBX-66..IBX-77). */
typedef enum dat_ib_event_number {
	DAT_IB_DTO_EVENT = 0x40000, /**< a transfer of the extension ended */
	DAT_IB_UD_CONNECTION_REQUEST_EVENT = 0x40001,
	DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED = 0x40002,
	DAT_IB_UD_CONNECTION_REJECT_EVENT = 0x40003,
	DAT_IB_UD_CONNECTION_ERROR_EVENT = 0x40004,
	DAT_IB_COLLECTIVE_EVENT = 0x40005 /**< never generated */
} DAT_IB_EVENT_NUMBER;

/** Operations of dat_extension_op (section 3 of the extension). */
typedef enum dat_ib_op {
	DAT_IB_FETCH_AND_ADD_OP = 0,
	DAT_IB_CMP_AND_SWAP_OP = 1,
	DAT_IB_RDMA_WRITE_IMMED_OP = 2,
	DAT_IB_UD_SEND_OP = 3,
	DAT_IB_QUERY_COUNTERS_OP = 4,
	DAT_IB_PRINT_COUNTERS_OP = 5,
	DAT_IB_COLLECTIVE_CREATE_MEMBER_OP = 6,
	DAT_IB_COLLECTIVE_FREE_MEMBER_OP = 7,
	DAT_IB_COLLECTIVE_CREATE_GROUP_OP = 8,
	DAT_IB_COLLECTIVE_FREE_GROUP_OP = 9,
	DAT_IB_COLLECTIVE_SET_CLOCK_OP = 10,
	DAT_IB_COLLECTIVE_READ_CLOCK_OP = 11,
	DAT_IB_COLLECTIVE_SCATTER_OP = 12,
	DAT_IB_COLLECTIVE_SCATTERV_OP = 13,
	DAT_IB_COLLECTIVE_GATHER_OP = 14,
	DAT_IB_COLLECTIVE_GATHERV_OP = 15,
	DAT_IB_COLLECTIVE_ALLGATHER_OP = 16,
	DAT_IB_COLLECTIVE_ALLGATHERV_OP = 17,
	DAT_IB_COLLECTIVE_ALLTOALL_OP = 18,
	DAT_IB_COLLECTIVE_ALLTOALLV_OP = 19,
	DAT_IB_COLLECTIVE_REDUCE_OP = 20,
	DAT_IB_COLLECTIVE_ALLREDUCE_OP = 21,
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP = 22,
	DAT_IB_COLLECTIVE_SCAN_OP = 23,
	DAT_IB_COLLECTIVE_BROADCAST_OP = 24,
	DAT_IB_COLLECTIVE_BARRIER_OP = 25,
	DAT_IB_START_COUNTERS_OP = 26, /**< sample a group */
	DAT_IB_STOP_COUNTERS_OP = 27,  /**< difference since then */
	DAT_IB_UD_CM_FREE_OP = 28,
	DAT_IB_UD_AH_FREE_OP = 29,
	DAT_IB_OPEN_QUERY_OP = 0x1000,
	DAT_IB_CLOSE_QUERY_OP = 0x2000
} DAT_IB_OP;

/** Older names (IBX-17). */
#define DAT_QUERY_COUNTERS_OP DAT_IB_QUERY_COUNTERS_OP
#define DAT_PRINT_COUNTERS_OP DAT_IB_PRINT_COUNTERS_OP

/** What an extension event is about (IBX-25). */
typedef enum dat_ib_ext_type {
	DAT_IB_FETCH_AND_ADD = 0,
	DAT_IB_CMP_AND_SWAP = 1,
	DAT_IB_RDMA_WRITE_IMMED = 2,
	DAT_IB_RDMA_WRITE_IMMED_DATA = 3, /**< a receive took it */
	DAT_IB_RECV_IMMED_DATA = 4,	  /**< of a foreign peer's send */
	DAT_IB_UD_CONNECT_REQUEST = 5,
	DAT_IB_UD_REMOTE_AH = 6,	 /**< established, active side */
	DAT_IB_UD_PASSIVE_REMOTE_AH = 7, /**< established, passive side */
	DAT_IB_UD_SEND = 8,
	DAT_IB_UD_RECV = 9,
	DAT_IB_UD_CONNECT_REJECT = 10,
	DAT_IB_UD_CONNECT_ERROR = 11,
	DAT_IB_COLLECTIVE_CREATE_STATUS = 12,
	DAT_IB_COLLECTIVE_CREATE_DATA = 13,
	DAT_IB_COLLECTIVE_CLOCK_SET_STATUS = 14,
	DAT_IB_COLLECTIVE_SCATTER_STATUS = 15,
	DAT_IB_COLLECTIVE_SCATTERV_STATUS = 16,
	DAT_IB_COLLECTIVE_GATHER_STATUS = 17,
	DAT_IB_COLLECTIVE_GATHERV_STATUS = 18,
	DAT_IB_COLLECTIVE_ALLGATHER_STATUS = 19,
	DAT_IB_COLLECTIVE_ALLGATHERV_STATUS = 20,
	DAT_IB_COLLECTIVE_ALLTOALL_STATUS = 21,
	DAT_IB_COLLECTIVE_ALLTOALLV_STATUS = 22,
	DAT_IB_COLLECTIVE_REDUCE_STATUS = 23,
	DAT_IB_COLLECTIVE_ALLREDUCE_STATUS = 24,
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS = 25,
	DAT_IB_COLLECTIVE_SCAN_STATUS = 26,
	DAT_IB_COLLECTIVE_BROADCAST_STATUS = 27,
	DAT_IB_COLLECTIVE_BARRIER_STATUS = 28
} DAT_IB_EXT_TYPE;

/** Status of an extension event (IBX-25, IBX-26). */
typedef enum dat_ib_status {
	DAT_OP_SUCCESS = 0,
	DAT_IB_OP_ERR = 1,
	DAT_IB_COLL_COMP_ERR = 2
} DAT_IB_STATUS;

/** Types of return values that the extension reserves; none is returned. */
typedef enum dat_ib_return {
	DAT_IB_ERR = 0x10000000,
	DAT_IB_COLLECTIVE_ERR = 0x10000001
} DAT_IB_RETURN;

/** Operations of extension completions, beyond those of DAT_DTOS (IBX-25). */
typedef enum dat_ib_dtos {
	DAT_IB_DTO_RDMA_WRITE_IMMED = 8,
	DAT_IB_DTO_RECV_IMMED = 9,
	DAT_IB_DTO_FETCH_ADD = 10,
	DAT_IB_DTO_CMP_SWAP = 11,
	DAT_IB_DTO_RECV_MSG_IMMED = 12,
	DAT_IB_DTO_SEND_UD = 13,
	DAT_IB_DTO_RECV_UD = 14,
	DAT_IB_DTO_RECV_UD_IMMED = 15,
	DAT_IB_DTO_COLLECTIVES = 16
} DAT_IB_DTOS;

/** Kinds of handles that the extension reserves; there are no such objects. */
typedef enum dat_ib_handle_type {
	DAT_IB_HANDLE_TYPE_EXT = 12,
	DAT_IB_HANDLE_TYPE_COLLECTIVE = 13
} DAT_IB_HANDLE_TYPE;

/** Flag of dispatchers for the extension; accepted, without effect (IBX-19). */
typedef enum dat_ib_evd_extension_flags {
	DAT_IB_EVD_EXTENSION_FLAG = 0x200
} DAT_IB_EVD_EXTENSION_FLAGS;

/** Access to registered memory that the extension adds (IBX-18, IBX-39). */
typedef enum dat_ib_mem_priv_flags {
	DAT_IB_MEM_PRIV_REMOTE_ATOMIC = 0x40
} DAT_IB_MEM_PRIV_FLAGS;

/** Service of an endpoint that the extension adds (IBX-57..IBX-65). */
typedef enum dat_ib_service_type {
	DAT_IB_SERVICE_TYPE_UD = 1
} DAT_IB_SERVICE_TYPE;

/** Immediate data of a completion (IBX-50). */
typedef struct dat_ib_immed_data {
	DAT_UINT32 data;
} DAT_IB_IMMED_DATA;

/** Address of a datagram endpoint; may be copied freely (IBX-71). */
typedef struct dat_ib_addr_handle {
	struct ibv_ah *ah;	/**< owned by the endpoint */
	DAT_UINT32 qpn;		/**< queue pair of the peer */
	DAT_SOCK_ADDR6 ia_addr; /**< information only */
} DAT_IB_ADDR_HANDLE;

/** Groups of an adapter's counters (IBX-103). */
typedef enum dat_ia_counter_type {
	DCNT_IA_CM = 0,	 /**< connection management */
	DCNT_IA_LNK = 1, /**< the link */
	DCNT_IA_DIAG = 2 /**< the device's diagnostics */
} DAT_IA_COUNTER_TYPE;

/** Counters of an adapter (IBX-94..IBX-105). */
typedef enum dat_ia_counters {
	/* successful calls that make and free objects */
	DCNT_IA_PZ_CREATE = 0,
	DCNT_IA_PZ_FREE = 1,
	DCNT_IA_LMR_CREATE = 2,
	DCNT_IA_LMR_FREE = 3,
	DCNT_IA_RMR_CREATE = 4,
	DCNT_IA_RMR_FREE = 5,
	DCNT_IA_PSP_CREATE = 6,
	DCNT_IA_PSP_CREATE_ANY = 7,
	DCNT_IA_PSP_FREE = 8,
	DCNT_IA_RSP_CREATE = 9,
	DCNT_IA_RSP_FREE = 10,
	DCNT_IA_EVD_CREATE = 11,
	DCNT_IA_EVD_FREE = 12,
	DCNT_IA_EP_CREATE = 13,
	DCNT_IA_EP_FREE = 14,
	DCNT_IA_SRQ_CREATE = 15,
	DCNT_IA_SRQ_FREE = 16,
	/* connection requests delivered, accepted and rejected by the program */
	DCNT_IA_SP_CR = 17,
	DCNT_IA_SP_CR_ACCEPTED = 18,
	DCNT_IA_SP_CR_REJECTED = 19,
	/* allocations inside the provider, their bytes, and frees */
	DCNT_IA_MEM_ALLOC = 20,
	DCNT_IA_MEM_ALLOC_DATA = 21,
	DCNT_IA_MEM_FREE = 22,
	/* asynchronous errors: all, of endpoints, of dispatchers */
	DCNT_IA_ASYNC_ERROR = 23,
	DCNT_IA_ASYNC_QP_ERROR = 24,
	DCNT_IA_ASYNC_CQ_ERROR = 25,
	/* listens and connection messages, sent (TX) and received (RX) */
	DCNT_IA_CM_LISTEN = 26,
	DCNT_IA_CM_REQ_TX = 27,
	DCNT_IA_CM_REQ_RX = 28,
	DCNT_IA_CM_REP_TX = 29,
	DCNT_IA_CM_REP_RX = 30,
	DCNT_IA_CM_RTU_TX = 31,
	DCNT_IA_CM_RTU_RX = 32,
	DCNT_IA_CM_USER_REJ_TX = 33,
	DCNT_IA_CM_USER_REJ_RX = 34,
	DCNT_IA_CM_ACTIVE_EST = 35,
	DCNT_IA_CM_PASSIVE_EST = 36,
	DCNT_IA_CM_AH_REQ_TX = 37,
	DCNT_IA_CM_AH_REQ_RX = 38,
	DCNT_IA_CM_AH_RESOLVED = 39,
	DCNT_IA_CM_DREQ_TX = 40,
	DCNT_IA_CM_DREQ_RX = 41,
	DCNT_IA_CM_DREP_TX = 42,
	DCNT_IA_CM_DREP_RX = 43,
	DCNT_IA_CM_MRA_TX = 44,
	DCNT_IA_CM_MRA_RX = 45,
	/* sends delayed by a full queue of connection messages */
	DCNT_IA_CM_REQ_FULLQ_POLL = 46,
	/* errors of connection management: all, then by kind */
	DCNT_IA_CM_ERR = 47,
	DCNT_IA_CM_ERR_REQ_FULLQ = 48,
	DCNT_IA_CM_ERR_REQ_DUP = 49,
	DCNT_IA_CM_ERR_REQ_RETRY = 50,
	DCNT_IA_CM_ERR_REP_DUP = 51,
	DCNT_IA_CM_ERR_REP_RETRY = 52,
	DCNT_IA_CM_ERR_RTU_DUP = 53,
	DCNT_IA_CM_ERR_RTU_RETRY = 54,
	DCNT_IA_CM_ERR_REFUSED = 55,
	DCNT_IA_CM_ERR_RESET = 56,
	DCNT_IA_CM_ERR_TIMEOUT = 57,
	DCNT_IA_CM_ERR_REJ_TX = 58,
	DCNT_IA_CM_ERR_REJ_RX = 59,
	DCNT_IA_CM_ERR_DREQ_DUP = 60,
	DCNT_IA_CM_ERR_DREQ_RETRY = 61,
	DCNT_IA_CM_ERR_DREP_DUP = 62,
	DCNT_IA_CM_ERR_DREP_RETRY = 63,
	DCNT_IA_CM_ERR_MRA_DUP = 64,
	DCNT_IA_CM_ERR_MRA_RETRY = 65,
	DCNT_IA_CM_ERR_UNEXPECTED = 66,
	/* errors and waits of the link */
	DCNT_IA_LNK_ERR_RCV = 67,
	DCNT_IA_LNK_ERR_RCV_REM_PHYS = 68,
	DCNT_IA_LNK_ERR_RCV_CONSTRAINT = 69,
	DCNT_IA_LNK_ERR_XMT_DISCARDS = 70,
	DCNT_IA_LNK_ERR_XMT_CONTRAINT = 71,
	DCNT_IA_LNK_ERR_INTEGRITY = 72,
	DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN = 73,
	DCNT_IA_LNK_WARN_RCV_SW_RELAY = 74,
	DCNT_IA_LNK_WARN_XMT_WAIT = 75,
	/* diagnostics of the device, as responder (RQ) and requester (SQ) */
	DCNT_IA_DIAG_ERR_RQ_RAE = 76,
	DCNT_IA_DIAG_ERR_RQ_OOS = 77,
	DCNT_IA_DIAG_ERR_RQ_RIRE = 78,
	DCNT_IA_DIAG_ERR_RQ_UDSDPRD = 79,
	DCNT_IA_DIAG_ERR_SQ_RAE = 80,
	DCNT_IA_DIAG_ERR_SQ_OOS = 81,
	DCNT_IA_DIAG_ERR_SQ_RIRE = 82,
	DCNT_IA_DIAG_ERR_SQ_RREE = 83,
	DCNT_IA_DIAG_ERR_SQ_TREE = 84,
	DCNT_IA_ALL_COUNTERS = 85 /**< number of them, and: all */
} DAT_IA_COUNTERS;

/** Counters of an endpoint (IBX-94..IBX-105). */
typedef enum dat_ep_counters {
	/* connects that succeeded and disconnects that took effect */
	DCNT_EP_CONNECT = 0,
	DCNT_EP_DISCONNECT = 1,
	/* transfers posted with DAT_SUCCESS, and their bytes */
	DCNT_EP_POST_SEND = 2,
	DCNT_EP_POST_SEND_DATA = 3,
	DCNT_EP_POST_SEND_UD = 4,
	DCNT_EP_POST_SEND_UD_DATA = 5,
	DCNT_EP_POST_RECV = 6,
	DCNT_EP_POST_RECV_DATA = 7,
	DCNT_EP_POST_WRITE = 8,
	DCNT_EP_POST_WRITE_DATA = 9,
	DCNT_EP_POST_WRITE_IMM = 10,
	DCNT_EP_POST_WRITE_IMM_DATA = 11,
	DCNT_EP_POST_READ = 12,
	DCNT_EP_POST_READ_DATA = 13,
	DCNT_EP_POST_CMP_SWAP = 14,
	DCNT_EP_POST_FETCH_ADD = 15,
	/* receives completed successfully, and their bytes */
	DCNT_EP_RECV = 16,
	DCNT_EP_RECV_DATA = 17,
	DCNT_EP_RECV_UD = 18,
	DCNT_EP_RECV_UD_DATA = 19,
	DCNT_EP_RECV_IMM = 20,
	DCNT_EP_RECV_IMM_DATA = 21,
	DCNT_EP_RECV_RDMA_IMM = 22,
	DCNT_EP_RECV_RDMA_IMM_DATA = 23,
	DCNT_EP_ALL_COUNTERS = 24 /**< number of them, and: all */
} DAT_EP_COUNTERS;

/** Counters of a dispatcher (IBX-94..IBX-105). */
typedef enum dat_evd_counters {
	DCNT_EVD_WAIT = 0,
	DCNT_EVD_WAIT_BLOCKED = 1, /**< of these, those that blocked */
	DCNT_EVD_WAIT_NOTIFY = 2,  /**< wake-ups by an arrival */
	DCNT_EVD_DEQUEUE = 3,
	DCNT_EVD_DEQUEUE_FOUND = 4,
	DCNT_EVD_DEQUEUE_NOT_FOUND = 5,
	DCNT_EVD_DEQUEUE_POLL = 6, /**< polls of the device's queue */
	DCNT_EVD_DEQUEUE_POLL_FOUND = 7,
	DCNT_EVD_CONN_CALLBACK = 8, /**< connection events delivered */
	DCNT_EVD_DTO_CALLBACK = 9,  /**< device notifications handled */
	DCNT_EVD_ALL_COUNTERS = 10  /**< number of them, and: all */
} DAT_EVD_COUNTERS;

/** What event_extension_data of an extension event holds (IBX-20..IBX-22). */
typedef struct dat_ib_extension_event_data {
	DAT_IB_EXT_TYPE type;
	DAT_IB_STATUS status;
	union {
		DAT_IB_IMMED_DATA immed; /**< DAT_IB_RDMA_WRITE_IMMED_DATA */
	} val;
	union {
		DAT_IB_ADDR_HANDLE remote_ah; /**< established datagram peers */
		DAT_IB_COLLECTIVE_EVENT_DATA coll;
	};
	DAT_CONTEXT context; /**< as_ptr for dat_ib_ud_cm_free */
} DAT_IB_EXTENSION_EVENT_DATA;

/**
 * Add to 64 bits of the peer's memory and fetch what was there before.
 *
 * One atomic step towards all atomics through the same adapter; the sum wraps (IBX-36,
 * IBX-38..IBX-46). It counts as an RDMA read for ordering and for max_rdma_read_out.
 *
 * @param ep a connected or disconnected endpoint.
 * @param add_val what to add, in the order of this host.
 * @param lbuf one local segment of at least 8 bytes with local write, which receives the old
 *        value; never NULL.
 * @param cookie DAT_DTO_COOKIE that comes back in the completion.
 * @param rbuf DAT_RMR_TRIPLET: remote address, divisible by 8, and context with
 *        DAT_IB_MEM_PRIV_REMOTE_ATOMIC; its length is ignored; never NULL.
 * @param flgs completion flags as for dat_ep_post_rdma_read.
 *
 * Events: DAT_IB_DTO_EVENT with operation DAT_IB_DTO_FETCH_ADD on the request dispatcher
 * (IBX-24..IBX-27).
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the operation is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is not a live endpoint, or a datagram one;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: lbuf is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: rbuf is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: flags that are not allowed here, in strict mode
 *        (IBX-29).
 * @retval DAT_LENGTH_ERROR the local segment is shorter than 8 bytes.
 * @retval DAT_INVALID_STATE as for dat_ep_post_rdma_read (IBX-28).
 * @retval DAT_INSUFFICIENT_RESOURCES as for dat_ep_post_rdma_read.
 * @retval DAT_MODEL_NOT_SUPPORTED DAT_IB_ATTR_FETCH_AND_ADD is not "TRUE".
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs)                      \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)(add_val), \
			 (DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_RMR_TRIPLET *)(rbuf),      \
			 (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Replace 64 bits of the peer's memory if they have a given value, and fetch what was there
 * before.
 *
 * It completes successfully in both cases; whether the swap took place shows in the value fetched
 * (IBX-37..IBX-46).
 *
 * @param ep a connected or disconnected endpoint.
 * @param cmp_val value to compare with, in the order of this host.
 * @param swap_val value to store if equal.
 * @param lbuf as for dat_ib_post_fetch_and_add.
 * @param cookie DAT_DTO_COOKIE that comes back in the completion.
 * @param rbuf as for dat_ib_post_fetch_and_add.
 * @param flgs completion flags as for dat_ep_post_rdma_read.
 *
 * Events: DAT_IB_DTO_EVENT with operation DAT_IB_DTO_CMP_SWAP on the request dispatcher
 * (IBX-24..IBX-27).
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the operation is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is not a live endpoint, or a datagram one;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: lbuf is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: rbuf is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: flags that are not allowed here, in strict mode
 *        (IBX-29).
 * @retval DAT_LENGTH_ERROR the local segment is shorter than 8 bytes.
 * @retval DAT_INVALID_STATE as for dat_ep_post_rdma_read (IBX-28).
 * @retval DAT_INSUFFICIENT_RESOURCES as for dat_ep_post_rdma_read.
 * @retval DAT_MODEL_NOT_SUPPORTED DAT_IB_ATTR_CMP_AND_SWAP is not "TRUE".
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs)            \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)(cmp_val), \
			 (DAT_UINT64)(swap_val), (DAT_LMR_TRIPLET *)(lbuf), (cookie),        \
			 (DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Write to the peer's memory and tell its program with 32 bits.
 *
 * As dat_ep_post_rdma_write; then the peer's oldest receive completes with the bits, its buffer
 * untouched, when all bytes are visible there (IBX-47..IBX-56).
 *
 * @param ep a connected or disconnected endpoint.
 * @param size number of segments, 0 to max_rdma_write_iov.
 * @param lbuf the bytes to write, in order; may be NULL when size is 0.
 * @param cookie DAT_DTO_COOKIE that comes back in the completion.
 * @param rbuf DAT_RMR_TRIPLET: address, length and context at the peer; may be NULL with nothing
 *        to write.
 * @param idata 32 bits, carried unchanged.
 * @param flgs completion flags as for dat_ep_post_send.
 *
 * Events: DAT_IB_DTO_EVENT with operation DAT_IB_DTO_RDMA_WRITE_IMMED on the request dispatcher;
 * at the peer, one with DAT_IB_DTO_RECV_IMMED on the receive dispatcher.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the write is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is not a live endpoint, or a datagram one;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: size is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: lbuf is NULL with segments to write, or the
 *        bytes exceed the maximum RDMA size.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: rbuf is NULL with bytes to write.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: flags that are not allowed here, in strict mode
 *        (IBX-29).
 * @retval DAT_LENGTH_ERROR as for dat_ep_post_rdma_write.
 * @retval DAT_INVALID_STATE as for dat_ep_post_rdma_write (IBX-28).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding.
 * @retval DAT_MODEL_NOT_SUPPORTED DAT_IB_ATTR_IMMED_DATA is not "TRUE".
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs)              \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_RDMA_WRITE_IMMED_OP, (DAT_COUNT)(size), \
			 (DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_RMR_TRIPLET *)(rbuf),     \
			 (DAT_UINT32)(idata), (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Send a datagram.
 *
 * Completion means only that the buffers may be used again: datagrams are lost without notice
 * (IBX-57..IBX-65, IBX-78..IBX-82).
 *
 * @param ep a datagram endpoint, in any state.
 * @param segments number of segments, 0 to max_request_iov.
 * @param lbuf the payload; may be NULL when segments is 0.
 * @param ah_ptr DAT_IB_ADDR_HANDLE of the receiver, from an event of this endpoint; read during
 *        the call; never NULL.
 * @param cookie DAT_DTO_COOKIE that comes back in the completion.
 * @param flgs completion flags as for dat_ep_post_send.
 *
 * Events: DAT_IB_DTO_EVENT with operation DAT_IB_DTO_SEND_UD on the request dispatcher.
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the datagram is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is not a live datagram endpoint;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: segments is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: lbuf is NULL with segments to send, or the
 *        payload is too long (IBX-80).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: ah_ptr or its ah is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: flags that are not allowed here, in strict mode
 *        (IBX-29).
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_EP_NOTREADY: it has no protection zone or request
 *        dispatcher.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding.
 * @retval DAT_MODEL_NOT_SUPPORTED DAT_IB_ATTR_UD is not "TRUE".
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs)                         \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_SEND_OP, (DAT_COUNT)(segments),       \
			 (DAT_LMR_TRIPLET *)(lbuf), (DAT_IB_ADDR_HANDLE *)(ah_ptr), (cookie), \
			 (DAT_COMPLETION_FLAGS)(flgs))

/** Receives of datagram endpoints start with 40 bytes for a routing header (IBX-83..IBX-87). */
#define dat_ib_post_recv_ud dat_ep_post_recv

#ifdef __cplusplus
/* What DAT_IB_CM_CONTEXT makes of a member of a context, or of a whole one. */
static inline DAT_CONTEXT dat_ib_cm_context(DAT_PVOID cm)
{
	DAT_CONTEXT context;

	context.as_ptr = cm;
	return context;
}

static inline DAT_CONTEXT dat_ib_cm_context(DAT_UINT64 cm)
{
	DAT_CONTEXT context;

	context.as_64 = cm;
	return context;
}

static inline DAT_CONTEXT dat_ib_cm_context(DAT_CONTEXT cm)
{
	return cm;
}

#define DAT_IB_CM_CONTEXT(cm) dat_ib_cm_context(cm)
#else
/* A cast to a union is a GNU extension: cm is a member of a context (IBX-13). */
#define DAT_IB_CM_CONTEXT(cm) (__extension__(DAT_CONTEXT)(cm))
#endif

/**
 * Release what is kept of one address resolution, its private data included.
 *
 * Address handles that came of it stay valid; what is not released goes with the endpoint
 * (IBX-91..IBX-93). Programs test that extension_version is at least 209 first.
 *
 * @param ep a datagram endpoint.
 * @param cm context.as_ptr or context.as_64 of a DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED of this
 *        endpoint; a member of the context, not the whole (IBX-13).
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS it is released.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is no live datagram endpoint, or does not
 *        hold cm; DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_NOT_IMPLEMENTED the provider has no datagrams.
 */
#define dat_ib_ud_cm_free(ep, cm) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_CM_FREE_OP, DAT_IB_CM_CONTEXT(cm))

/**
 * Give back one address handle.
 *
 * Each DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED hands out one reference; equal handles of other
 * events stay usable (IBX-88..IBX-90). Programs test that extension_version is at least 209 first.
 *
 * @param ep a datagram endpoint.
 * @param ah DAT_IB_ADDR_HANDLE from an event of this endpoint, of which no send is outstanding;
 *        never NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the reference is given back.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep is no live datagram endpoint;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ah is NULL or the endpoint does not hold it.
 * @retval DAT_NOT_IMPLEMENTED the provider has no datagrams.
 */
#define dat_ib_ud_ah_free(ep, ah) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_AH_FREE_OP, (DAT_IB_ADDR_HANDLE *)(ah))

/**
 * Read counters of an adapter, endpoint or dispatcher.
 *
 * A single counter is stored at its own index, not at 0 (IBX-94..IBX-101, IBX-105).
 *
 * @param dat_handle the object, whose kind selects the table: DAT_IA_COUNTERS, DAT_EP_COUNTERS or
 *        DAT_EVD_COUNTERS.
 * @param cntr a counter, or the table's _ALL_COUNTERS for all of them.
 * @param p_cntrs_out array of DAT_UINT64 with room for the table; never NULL.
 * @param reset not 0 to zero each counter that was read.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the counters are stored.
 * @retval DAT_INVALID_HANDLE dat_handle is of another kind or not live; DAT_INVALID_HANDLE1: it is
 *        NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: cntr is out of range.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: p_cntrs_out is NULL.
 * @retval DAT_NOT_IMPLEMENTED the provider has no counters, that is, no DAT_IB_ATTR_COUNTERS.
 */
#define dat_ib_query_counters(dat_handle, cntr, p_cntrs_out, reset)                       \
	dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_QUERY_COUNTERS_OP, (int)(cntr), \
			 (DAT_UINT64 *)(p_cntrs_out), (int)(reset))

/**
 * Write counters of an adapter, endpoint or dispatcher to standard output.
 *
 * One line each, with host, process, name and decimal value. This is the only call that writes
 * there (IBX-102).
 *
 * @param dat_handle the object, as for dat_ib_query_counters.
 * @param cntr a counter, or the table's _ALL_COUNTERS for all of them.
 * @param reset not 0 to zero each counter that was printed.
 *
 * Events: none.
 * Blocking: for the time that writing takes.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the counters are printed.
 * @retval DAT_INVALID_HANDLE dat_handle is of another kind or not live; DAT_INVALID_HANDLE1: it is
 *        NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: cntr is out of range.
 * @retval DAT_NOT_IMPLEMENTED the provider has no counters.
 */
#define dat_ib_print_counters(dat_handle, cntr, reset)                                    \
	dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_PRINT_COUNTERS_OP, (int)(cntr), \
			 (int)(reset))

/** Older names (IBX-17). */
#define dat_query_counters dat_ib_query_counters
#define dat_print_counters dat_ib_print_counters

/**
 * Begin to measure a group of an adapter's counters (IBX-103, IBX-104).
 *
 * @param dat_handle an open adapter.
 * @param type DCNT_IA_CM, for which nothing happens, DCNT_IA_LNK or DCNT_IA_DIAG.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the group is being measured, or the device does not show it.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: dat_handle is not an adapter;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: type is none of the three.
 * @retval DAT_NOT_IMPLEMENTED the provider has no counters.
 */
#define dat_ib_start_counter(dat_handle, type) \
	dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_START_COUNTERS_OP, (int)(type))

/**
 * End the measurement: the counters of the group become the difference since the start (IBX-103,
 * IBX-104).
 *
 * @param dat_handle an open adapter.
 * @param type the group that was started.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the counters are up to date.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: dat_handle is not an adapter;
 *        DAT_INVALID_HANDLE1: it is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: type is none of the three.
 * @retval DAT_NOT_IMPLEMENTED the provider has no counters.
 */
#define dat_ib_stop_counter(dat_handle, type) \
	dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_STOP_COUNTERS_OP, (int)(type))

/**
 * Read the attributes of an adapter that is not open.
 *
 * The device is opened just far enough; nothing else can be done with the handle but
 * dat_ib_close_query, until which strings and arrays in the structures live (IBX-106..IBX-114).
 *
 * @param name name of the adapter, less than 256 characters; never NULL.
 * @param ia_handle receives the query handle, DAT_HANDLE_NULL on failure; never NULL.
 * @param ia_mask fields of ia_attr wanted.
 * @param ia_attr DAT_IA_ATTR to fill; may be NULL if prov_attr is not.
 * @param prov_mask fields of prov_attr wanted.
 * @param prov_attr DAT_PROVIDER_ATTR to fill; may be NULL if ia_attr is not.
 *
 * Events: none.
 * Blocking: for the time that loading a library and opening a device takes (IBX-15).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_ARG3: name is NULL.
 * @retval DAT_INVALID_PARAMETER name is too long; DAT_INVALID_ARG4: ia_handle is NULL;
 *        DAT_INVALID_ARG5: both structures are NULL; else as for dat_ia_query.
 * @retval DAT_PROVIDER_NOT_FOUND the name is unknown.
 * @retval DAT_INSUFFICIENT_RESOURCES no memory or no device.
 * @retval DAT_INTERNAL_ERROR the device failed; other codes are those of dat_ia_openv.
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, prov_attr)      \
	dat_extension_op(DAT_HANDLE_NULL, DAT_IB_OPEN_QUERY_OP, (DAT_NAME_PTR)(name),   \
			 (DAT_HANDLE *)(ia_handle), (DAT_IA_ATTR_MASK)(ia_mask),        \
			 (DAT_IA_ATTR *)(ia_attr), (DAT_PROVIDER_ATTR_MASK)(prov_mask), \
			 (DAT_PROVIDER_ATTR *)(prov_attr))

/**
 * Release what dat_ib_open_query opened (IBX-112, IBX-115).
 *
 * @param ia_handle a query handle; not valid after success.
 *
 * Events: none.
 * Blocking: for the time that closing a device takes (IBX-15).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS everything is released.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is NULL, closed or an adapter of
 *        dat_ia_open.
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_close_query(ia_handle) \
	dat_extension_op((DAT_HANDLE)(ia_handle), DAT_IB_CLOSE_QUERY_OP)

/**
 * Text for the type of a return value, those of the extension included (IBX-120).
 *
 * @param value the return value.
 * @param message receives the text, a constant; never NULL.
 * @return what dat_strerror returns.
 */
static inline DAT_RETURN dat_strerror_extension(IN DAT_IB_RETURN value, OUT const char **message)
{
	if (DAT_GET_TYPE(value) == DAT_IB_ERR) {
		*message = "DAT_IB_ERR";
		return DAT_SUCCESS;
	}
	return dat_strerror((DAT_RETURN)value, message, NULL);
}

/**
 * Text for the status of an extension event (IBX-121).
 *
 * @param value the status.
 * @param message receives the text, a constant; never NULL.
 * @return DAT_SUCCESS, or DAT_INVALID_PARAMETER if the status is unknown.
 */
static inline DAT_RETURN dat_strerror_ext_status(IN DAT_IB_STATUS value, OUT const char **message)
{
	switch (value) {
	case DAT_OP_SUCCESS:
		*message = " ";
		return DAT_SUCCESS;
	case DAT_IB_OP_ERR:
		*message = "DAT_IB_OP_ERR";
		return DAT_SUCCESS;
	default:
		*message = "unknown extension status";
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1;
	}
}

#endif /* DAT_IB_EXTENSIONS_H */
