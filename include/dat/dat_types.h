/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_types.h
 * Handles, scalars, flags and small structures that more than one kind of object uses.
 */
#ifndef DAT_TYPES_H
#define DAT_TYPES_H

#include "dat_platform_specific.h"
#include "dat_error.h"

/** Truth value of the interface. */
typedef enum dat_boolean {
	DAT_FALSE = 0,
	DAT_TRUE = 1
} DAT_BOOLEAN;

/** A number of things, or a queue length; negative values are special. */
typedef int DAT_COUNT;

/** File descriptor, as of dat_cno_fd_create. */
typedef int DAT_FD;

/** Time in microseconds; 0 polls where a call allows it, DAT_TIMEOUT_INFINITE never ends. */
typedef DAT_UINT32 DAT_TIMEOUT;

/** Length of memory in bytes. */
typedef DAT_UINT64 DAT_VLEN;

/** Virtual address, or offset in a zero-based region, in host byte order. */
typedef DAT_UINT64 DAT_VADDR;

/** Length in bytes of a segment, message or RDMA. */
typedef DAT_UINT32 DAT_SEG_LENGTH;

/** What a service point listens on, in host byte order; a port number on IP transports. */
typedef DAT_UINT64 DAT_CONN_QUAL;

/** Port of one end of a connection. */
typedef DAT_UINT64 DAT_PORT_QUAL;

/** Names a registered region in local segments; 0 names none (LMR-27). */
typedef DAT_UINT32 DAT_LMR_CONTEXT;

/** Names memory to a peer; 0 names none (LMR-26). */
typedef DAT_UINT32 DAT_RMR_CONTEXT;

/** Operation of an extension, see dat_extension_op. */
typedef int DAT_EXTENDED_OP;

/** Name of an adapter, at most 255 characters and a NUL. */
typedef char *DAT_NAME_PTR;

/** Address of an adapter; the family tells its real type and length. */
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;

/** Size of a name with its NUL. */
#define DAT_NAME_MAX_LENGTH 256

/** No limit of time. */
#define DAT_TIMEOUT_INFINITE ((DAT_TIMEOUT)~0)

/** A count that the provider cannot tell. */
#define DAT_VALUE_UNKNOWN ((DAT_COUNT)-2)

/** No watermark: of dat_ep_set_watermark, of new endpoints, of shared receive queues. */
#define DAT_WATERMARK_INFINITE ((DAT_COUNT)-1)
#define DAT_HW_DEFAULT	       DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT     0x0

/** Any object. Handles are compared for equality and nothing else (GEN-15). */
typedef DAT_PVOID DAT_HANDLE;

/** Interface adapter, a small number (GEN-17). */
typedef DAT_HANDLE DAT_IA_HANDLE;

/** Endpoint. */
typedef DAT_HANDLE DAT_EP_HANDLE;

/** Event dispatcher. */
typedef DAT_HANDLE DAT_EVD_HANDLE;

/** Consumer notification object. */
typedef DAT_HANDLE DAT_CNO_HANDLE;

/** Protection zone. */
typedef DAT_HANDLE DAT_PZ_HANDLE;

/** Local memory region. */
typedef DAT_HANDLE DAT_LMR_HANDLE;

/** Remote memory region. */
typedef DAT_HANDLE DAT_RMR_HANDLE;

/** Shared receive queue. */
typedef DAT_HANDLE DAT_SRQ_HANDLE;

/** Public service point. */
typedef DAT_HANDLE DAT_PSP_HANDLE;

/** Reserved service point. */
typedef DAT_HANDLE DAT_RSP_HANDLE;

/** Common service point. */
typedef DAT_HANDLE DAT_CSP_HANDLE;

/** Connection request. */
typedef DAT_HANDLE DAT_CR_HANDLE;

/** No object. */
#define DAT_HANDLE_NULL ((DAT_HANDLE)0)

/** Kind of an object (CTX-7). */
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
	DAT_HANDLE_TYPE_SRQ = 10,
	DAT_HANDLE_TYPE_CSP = 11,
	DAT_HANDLE_TYPE_EXTENSION_BASE = 12 /**< objects of extensions */
} DAT_HANDLE_TYPE;

/** Service point that a request arrived at; which member depends on what was made. */
typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
	DAT_CSP_HANDLE csp_handle;
} DAT_SP_HANDLE;

/** A value of the program's that the interface keeps and gives back. */
typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;

/** Comes back in the completion of a transfer (DTO-13). */
typedef DAT_CONTEXT DAT_DTO_COOKIE;

/** Comes back in the completion of a bind (RMR-22). */
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/** Attribute that is found by its name; both are strings of the provider. */
typedef struct dat_named_attr {
	const char *name;
	const char *value;
} DAT_NAMED_ATTR;

/** How to end a connection or close an adapter. */
typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG = 0x0,  /**< at once */
	DAT_CLOSE_GRACEFUL_FLAG = 0x1 /**< when work is done, or only if nothing is left */
} DAT_CLOSE_FLAGS;

/** What a close does when nothing else is said. */
#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

/** Bits of operations that open and close an adapter by name (GEN-30). */
#define DAT_OPEN_EXTENSION_BASE	 0x1000
#define DAT_CLOSE_EXTENSION_BASE 0x2000

/** What the completion of a transfer does (DTO-24..DTO-33). */
typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG = 0x0,		/**< an event that notifies */
	DAT_COMPLETION_SUPPRESS_FLAG = 0x1,		/**< no event if successful */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x2,	/**< the peer's receive notifies */
	DAT_COMPLETION_UNSIGNALLED_FLAG = 0x4,		/**< an event that does not notify */
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x8,	/**< after earlier reads and atomics */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10,	/**< endpoint attribute only */
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20 /**< never used */
} DAT_COMPLETION_FLAGS;
DAT_CXX_FLAGS(DAT_COMPLETION_FLAGS, DAT_COMPLETION_FLAGS)

/** Quality of service of a connection. */
typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT = 0x0,
	DAT_QOS_HIGH_THROUGHPUT = 0x1,
	DAT_QOS_LOW_LATENCY = 0x2,
	DAT_QOS_ECONOMY = 0x4,
	DAT_QOS_PREMIUM = 0x8
} DAT_QOS;
DAT_CXX_FLAGS(DAT_QOS, DAT_QOS)

/** Paths of a connection (HA-11..HA-14). */
typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG = 0,
	DAT_CONNECT_MULTIPATH_FLAG = 1,		/**< more paths wanted */
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG = 2 /**< more paths or no connection */
} DAT_CONNECT_FLAGS;
DAT_CXX_FLAGS(DAT_CONNECT_FLAGS, DAT_CONNECT_FLAGS)

/** Both names mean that more paths are wanted (HA-11). */
#define DAT_CONNECT_MULTIPATH_REQUESTED_FLAG DAT_CONNECT_MULTIPATH_FLAG

/** Socket-style communicator, with the constants of socket. */
typedef struct dat_comm {
	int domain;   /**< AF_INET or AF_INET6 */
	int type;     /**< SOCK_STREAM */
	int protocol; /**< 0 or IPPROTO_TCP */
} DAT_COMM;

/** Segment of local memory. */
typedef struct dat_lmr_triplet {
	DAT_VADDR virtual_address;     /**< address, or offset for a zero-based region */
	DAT_SEG_LENGTH segment_length; /**< bytes */
	DAT_LMR_CONTEXT lmr_context;   /**< region that holds them */
} DAT_LMR_TRIPLET;

/** Segment of a peer's memory. */
typedef struct dat_rmr_triplet {
	DAT_VADDR virtual_address;     /**< address, or offset for a zero-based region */
	DAT_SEG_LENGTH segment_length; /**< bytes */
	DAT_RMR_CONTEXT rmr_context;   /**< the peer's context */
} DAT_RMR_TRIPLET;

/** What a region description describes (LMR-9..LMR-17). */
typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL = 0,	/**< for_va */
	DAT_MEM_TYPE_LMR = 1,		/**< for_lmr_handle */
	DAT_MEM_TYPE_SHARED_VIRTUAL = 2 /**< for_shared_memory */
} DAT_MEM_TYPE;

/** Access to registered memory (LMR-21..LMR-28). */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG = 0x0,	       /**< source of sends and writes, as always */
	DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x1,    /**< source of sends and writes */
	DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x2,   /**< a peer may read */
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,  /**< sink of receives, reads, atomics */
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20, /**< a peer may write */
	DAT_MEM_PRIV_ALL_FLAG = 0x33,
	DAT_MEM_PRIV_EXTENSION_BASE = 0x40
} DAT_MEM_PRIV_FLAGS;
DAT_CXX_FLAGS(DAT_MEM_PRIV_FLAGS, DAT_MEM_PRIV_FLAGS)

/** Local and remote access at once, names of DAT 1.0. */
#define DAT_MEM_PRIV_READ_FLAG	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/** How memory is addressed (LMR-18..LMR-20). */
typedef enum dat_va_type {
	DAT_VA_TYPE_VA = 0, /**< virtual addresses */
	DAT_VA_TYPE_ZB = 1  /**< offsets from the start */
} DAT_VA_TYPE;

/** Which connections may use a remote memory region (RMR-2..RMR-4). */
typedef enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP = 0, /**< of one endpoint */
	DAT_RMR_SCOPE_PZ = 1, /**< of the endpoints of a zone */
	DAT_RMR_SCOPE_ANY = 2 /**< a provider supports both */
} DAT_RMR_SCOPE;

#endif /* DAT_TYPES_H */
