/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_event.h
 * Events: their numbers and the data they carry.
 */
#ifndef DAT_EVENT_H
#define DAT_EVENT_H

#include "dat_types.h"

/** Numbers of events; classes are told apart by the high bits (EVT-4). */
typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT = 0x00001,			/**< a transfer ended */
	DAT_RMR_BIND_COMPLETION_EVENT = 0x01001,		/**< a bind ended */
	DAT_CONNECTION_REQUEST_EVENT = 0x02001,			/**< a request arrived */
	DAT_CONNECTION_EVENT_ESTABLISHED = 0x04001,		/**< messages may be sent */
	DAT_CONNECTION_EVENT_PEER_REJECTED = 0x04002,		/**< by the peer's program */
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x04003,	/**< by anybody else */
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x04004, /**< after an accept */
	DAT_CONNECTION_EVENT_DISCONNECTED = 0x04005,		/**< ended in order */
	DAT_CONNECTION_EVENT_BROKEN = 0x04006,			/**< ended by a failure */
	DAT_CONNECTION_EVENT_TIMED_OUT = 0x04007,		/**< the connect's time is up */
	DAT_CONNECTION_EVENT_UNREACHABLE = 0x04008,		/**< no way, or no answer */
	DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x08001,			/**< events were lost */
	DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x08002,		/**< the device failed */
	DAT_ASYNC_ERROR_EP_BROKEN = 0x08003, /**< or a watermark, see the reason */
	DAT_ASYNC_ERROR_TIMED_OUT = 0x08004, /**< inside the device */
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x08005,
	DAT_HA_DOWN_TO_1 = 0x08101,	       /**< one path left */
	DAT_HA_UP_TO_MULTI_PATH = 0x08102,     /**< more than one again */
	DAT_SOFTWARE_EVENT = 0x10001,	       /**< from dat_evd_post_se */
	DAT_EXTENSION_EVENT = 0x20000,	       /**< never generated */
	DAT_IB_EXTENSION_RANGE_BASE = 0x40000, /**< dat_ib_extensions.h */
	DAT_IW_EXTENSION_RANGE_BASE = 0x80000  /**< reserved */
} DAT_EVENT_NUMBER;

/** Operation that a completion belongs to (EVT-11). */
typedef enum dat_dtos {
	DAT_DTO_SEND = 0, /**< with invalidate too */
	DAT_DTO_RDMA_WRITE = 1,
	DAT_DTO_RDMA_READ = 2, /**< to a remote context too */
	DAT_DTO_RECEIVE = 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE = 4,
	DAT_DTO_BIND_MW = 5,	    /**< not in this event */
	DAT_DTO_LMR_FMR = 6,	    /**< not in this event */
	DAT_DTO_LMR_INVALIDATE = 7, /**< not in this event */
	DAT_DTO_EXTENSION_BASE = 8
} DAT_DTOS;

/** How a transfer or bind ended (EVT-12..EVT-17). */
typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS = 0,
	DAT_DTO_ERR_FLUSHED = 1,	    /**< the connection ended first */
	DAT_DTO_ERR_LOCAL_LENGTH = 2,	    /**< message longer than the buffer */
	DAT_DTO_ERR_LOCAL_EP = 3,	    /**< endpoint inconsistent */
	DAT_DTO_ERR_LOCAL_PROTECTION = 4,   /**< bad local segment */
	DAT_DTO_ERR_BAD_RESPONSE = 5,	    /**< from the peer */
	DAT_DTO_ERR_REMOTE_ACCESS = 6,	    /**< refused by the peer */
	DAT_DTO_ERR_REMOTE_RESPONDER = 7,   /**< the peer could not do it */
	DAT_DTO_ERR_TRANSPORT = 8,	    /**< no acknowledgement */
	DAT_DTO_ERR_RECEIVER_NOT_READY = 9, /**< no receive at the peer */
	DAT_DTO_ERR_PARTIAL_PACKET = 10,    /**< ended within a message */
	DAT_RMR_OPERATION_FAILED = 11,	    /**< of binds */
	DAT_DTO_ERR_LOCAL_MM_ERROR = 12	    /**< never reported */
} DAT_DTO_COMPLETION_STATUS;

/** Older names (EVT-13). */
#define DAT_DTO_FAILURE	     DAT_DTO_ERR_FLUSHED
#define DAT_DTO_LENGTH_ERROR DAT_DTO_ERR_LOCAL_LENGTH

/** Status of a bind, in the names of DAT 1.0 (EVT-13). */
#define DAT_RMR_BIND_COMPLETION_STATUS DAT_DTO_COMPLETION_STATUS
#define DAT_RMR_BIND_SUCCESS	       DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE	       DAT_DTO_ERR_FLUSHED

/** Data of DAT_DTO_COMPLETION_EVENT (EVT-6..EVT-12). */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle; /**< an endpoint, never a queue */
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_SEG_LENGTH transfered_length; /**< bytes, if successful */
	DAT_DTOS operation;
	DAT_RMR_CONTEXT rmr_context; /**< the one invalidated */
} DAT_DTO_COMPLETION_EVENT_DATA;

/** Data of DAT_RMR_BIND_COMPLETION_EVENT (EVT-16, EVT-17). */
typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/** Data of DAT_CONNECTION_REQUEST_EVENT (EVT-18..EVT-20, EV-2). */
typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr; /**< lives as long as the request */
	DAT_CONN_QUAL conn_qual;
	DAT_CR_HANDLE cr_handle;
	DAT_BOOLEAN truncate_flag; /**< private data was cut */
} DAT_CR_ARRIVAL_EVENT_DATA;

/** Data of the DAT_CONNECTION_EVENT_ events (EVT-21..EVT-24, EV-4). */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data; /**< NULL if there are none */
} DAT_CONNECTION_EVENT_DATA;

/** Reasons of events about an adapter (EVT-25). */
typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR = 0,
	DAT_IA_OTHER_ERROR = 1
} DAT_IA_ASYNC_ERROR_REASON;

/** Reasons of events about an endpoint (EVT-25). */
typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR = 0,
	DAT_EP_OTHER_ERROR = 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2 /**< nothing is broken */
} DAT_EP_ASYNC_ERROR_REASON;

/** Reasons of events about a dispatcher (EVT-25). */
typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR = 0,
	DAT_EVD_OTHER_ERROR = 1
} DAT_EVD_ASYNC_ERROR_REASON;

/** Reasons of events about a shared receive queue (EVT-25). */
typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR = 0,
	DAT_SRQ_OTHER_ERROR = 1,
	DAT_SRQ_LOW_WATERMARK_EVENT = 2 /**< nothing is broken */
} DAT_SRQ_ASYNC_ERROR_REASON;

/** Reasons of events about a local memory region (EVT-25). */
typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR = 0
} DAT_LMR_ASYNC_ERROR_REASON;

/** Reasons of events about a remote memory region (EVT-25). */
typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR = 0
} DAT_RMR_ASYNC_ERROR_REASON;

/** Reasons of events about a protection zone (EVT-25). */
typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR = 0
} DAT_PZ_ASYNC_ERROR_REASON;

/** Data of the asynchronous events (EVT-25..EVT-31). */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle; /**< the object concerned */
	DAT_COUNT reason;      /**< by the kind of object */
} DAT_ASYNCH_ERROR_EVENT_DATA;

/** Data of DAT_SOFTWARE_EVENT (EVD-69, EVT-32). */
typedef struct dat_software_event_data {
	DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

/** Data of an event; the number tells which member counts (EVT-2). */
typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
} DAT_EVENT_DATA;

/** An event as it is taken from a dispatcher (EVT-1..EVT-3). */
typedef struct dat_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle; /**< where it was taken from */
	DAT_EVENT_DATA event_data;
	DAT_UINT64 event_extension_data[8]; /**< of extension events, else 0 */
} DAT_EVENT;

#endif /* DAT_EVENT_H */
