/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ib_types.h
 * What the InfiniBand extension adds to the types of the interface: operations, events and flags.
 */
#ifndef DAT_IB_TYPES_H
#define DAT_IB_TYPES_H

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
DAT_CXX_FLAGS(DAT_EVD_FLAGS, DAT_IB_EVD_EXTENSION_FLAGS)

/** Access to registered memory that the extension adds (IBX-18, IBX-39). */
typedef enum dat_ib_mem_priv_flags {
	DAT_IB_MEM_PRIV_REMOTE_ATOMIC = 0x40
} DAT_IB_MEM_PRIV_FLAGS;
DAT_CXX_FLAGS(DAT_MEM_PRIV_FLAGS, DAT_IB_MEM_PRIV_FLAGS)

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

/** What event_extension_data of an extension event holds (IBX-20..IBX-22). */
typedef struct dat_ib_extension_event_data {
	DAT_IB_EXT_TYPE type;
	DAT_IB_STATUS status;
	union {
		DAT_IB_IMMED_DATA immed; /**< DAT_IB_RDMA_WRITE_IMMED_DATA */
	} val;
	__extension__ union {		      /* C99 has none without a name */
		DAT_IB_ADDR_HANDLE remote_ah; /**< established datagram peers */
		DAT_IB_COLLECTIVE_EVENT_DATA coll;
	};
	DAT_CONTEXT context; /**< as_ptr for dat_ib_ud_cm_free */
} DAT_IB_EXTENSION_EVENT_DATA;

#endif /* DAT_IB_TYPES_H */
