/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ib_counters.h
 * Counters of adapters, endpoints and dispatchers.
 */
#ifndef DAT_IB_COUNTERS_H
#define DAT_IB_COUNTERS_H

#include "dat_ib_types.h"

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

#endif /* DAT_IB_COUNTERS_H */
