/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_types.h
 * Handles, scalars, flags and small structures that more than one kind of object uses.
 */
#ifndef DAT_1_2_DAT_TYPES_H
#define DAT_1_2_DAT_TYPES_H

#include "dat_platform_specific.h"
#include "dat_error.h"

/** Truth value of the interface. */
typedef enum dat_boolean {
	DAT_FALSE = 0,
	DAT_TRUE = 1
} DAT_BOOLEAN;

/** Name of an adapter, at most 255 characters and a NUL, and its size. */
typedef char *DAT_NAME_PTR;
#define DAT_NAME_MAX_LENGTH 256

/** Address of an adapter; the family tells its real type and length. */
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;

/** What a service point listens on, and the port of one end of a connection. */
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;

/** Time in microseconds. */
typedef DAT_UINT32 DAT_TIMEOUT;
#define DAT_TIMEOUT_INFINITE ((DAT_TIMEOUT)~0)

/** Length of memory in bytes; address; what names registered memory locally and to peers. */
typedef DAT_UINT64 DAT_VLEN;
typedef DAT_UINT64 DAT_VADDR;
typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;

/** A count that the provider cannot tell. */
#define DAT_VALUE_UNKNOWN ((DAT_COUNT)-2)

/** No watermark. */
#define DAT_WATERMARK_INFINITE ((DAT_COUNT)-1)
#define DAT_HW_DEFAULT	       DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT     0x0

/** Objects, compared for equality and nothing else. */
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_CNO_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;

#define DAT_HANDLE_NULL ((DAT_HANDLE)NULL)

/** Kind of an object. */
typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR = 0,
	DAT_HANDLE_TYPE_EP = 1,
	DAT_HANDLE_TYPE_EVD = 2,
	DAT_HANDLE_TYPE_IA = 3,
	DAT_HANDLE_TYPE_LMR = 4,
	DAT_HANDLE_TYPE_PSP = 5,
	DAT_HANDLE_TYPE_PZ = 6,
	DAT_HANDLE_TYPE_RMR = 7,
	DAT_HANDLE_TYPE_RSP = 8,
	DAT_HANDLE_TYPE_CNO = 9,
	DAT_HANDLE_TYPE_SRQ = 10
} DAT_HANDLE_TYPE;

/** Service point that a request arrived at; which member depends on what was made. */
typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
} DAT_SP_HANDLE;

/** A value of the program's that the interface keeps and gives back. */
typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;

/** Cookies come back in the completion of a transfer, or of a bind. */
typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/** Attribute that is found by its name. */
typedef struct dat_named_attr {
	const char *name;  /**< a string of the provider */
	const char *value; /**< a string of the provider */
} DAT_NAMED_ATTR;

/** How to end a connection or close an adapter. */
typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG = 0x0,
	DAT_CLOSE_GRACEFUL_FLAG = 0x1
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

/** What the completion of a transfer does. */
typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG = 0x0,
	DAT_COMPLETION_SUPPRESS_FLAG = 0x1,
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x2,
	DAT_COMPLETION_UNSIGNALLED_FLAG = 0x4,
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x8,
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10
} DAT_COMPLETION_FLAGS;

/** Quality of service of a connection. */
typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT = 0x0,
	DAT_QOS_HIGH_THROUGHPUT = 0x1,
	DAT_QOS_LOW_LATENCY = 0x2,
	DAT_QOS_ECONOMY = 0x4,
	DAT_QOS_PREMIUM = 0x8
} DAT_QOS;

/** Paths of a connection. */
typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG = 0x0,
	DAT_CONNECT_MULTIPATH_FLAG = 0x1
} DAT_CONNECT_FLAGS;

/** Segment of local memory. */
typedef struct dat_lmr_triplet {
	DAT_LMR_CONTEXT lmr_context;
	DAT_UINT32 pad; /**< never read */
	DAT_VADDR virtual_address;
	DAT_VLEN segment_length; /**< at most 2^32 - 1 */
} DAT_LMR_TRIPLET;

/** Segment of a peer's memory. */
typedef struct dat_rmr_triplet {
	DAT_RMR_CONTEXT rmr_context; /**< as the peer gave it */
	DAT_UINT32 pad;		     /**< never read */
	DAT_VADDR target_address;    /**< at the peer */
	DAT_VLEN segment_length;     /**< at most 2^32 - 1 */
} DAT_RMR_TRIPLET;

/** What a region description describes. */
typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL = 0,
	DAT_MEM_TYPE_LMR = 1,
	DAT_MEM_TYPE_SHARED_VIRTUAL = 2
} DAT_MEM_TYPE;

/** Access to registered memory. */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG = 0x0,
	DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x1,
	DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x2,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20,
	DAT_MEM_PRIV_ALL_FLAG = 0x33
} DAT_MEM_PRIV_FLAGS;

/** Local and remote access at once, names of DAT 1.0. */
#define DAT_MEM_PRIV_READ_FLAG	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

#endif /* DAT_1_2_DAT_TYPES_H */
