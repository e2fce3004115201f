/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ep_param.h
 * States, attributes and parameters of endpoints.
 */
#ifndef DAT_EP_PARAM_H
#define DAT_EP_PARAM_H

#include "dat_types.h"

/** Service of an endpoint (EP-22). */
typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC = 0, /**< reliable connection */
	DAT_SERVICE_TYPE_EXTENSION_BASE = 1
} DAT_SERVICE_TYPE;

/** States of an endpoint (EP-129..EP-155). */
typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED = 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED = 1,     /**< never reported */
	DAT_EP_STATE_RESERVED = 2,		       /**< kept for a service point */
	DAT_EP_STATE_UNCONFIGURED_RESERVED = 3,	       /**< never reported */
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING = 4,   /**< its request arrived */
	DAT_EP_STATE_UNCONFIGURED_PASSIVE = 5,	       /**< never reported */
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING = 6,    /**< connecting */
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7, /**< made for a request */
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE = 8,       /**< never reported */
	DAT_EP_STATE_CONNECTED = 9,
	DAT_EP_STATE_DISCONNECT_PENDING = 10, /**< ending gracefully */
	DAT_EP_STATE_DISCONNECTED = 11,
	DAT_EP_STATE_COMPLETION_PENDING = 12,	 /**< accepted */
	DAT_EP_STATE_CONNECTED_SINGLE_PATH = 13, /**< of a multipath connection */
	DAT_EP_STATE_CONNECTED_MULTI_PATH = 14
} DAT_EP_STATE;

/** Older name. */
#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED

/** Attributes of an endpoint (EP-22..EP-41). */
typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_SEG_LENGTH max_message_size; /**< bytes; 0: the adapter's */
	DAT_SEG_LENGTH max_rdma_size;	 /**< bytes; 0: the adapter's */
	DAT_QOS qos;
	DAT_COMPLETION_FLAGS recv_completion_flags;    /**< which notify */
	DAT_COMPLETION_FLAGS request_completion_flags; /**< which notify */
	DAT_COUNT max_recv_dtos;		       /**< receives outstanding */
	DAT_COUNT max_request_dtos;		       /**< requests and binds outstanding */
	DAT_COUNT max_recv_iov;			       /**< segments per receive */
	DAT_COUNT max_request_iov;		       /**< segments per send */
	DAT_COUNT max_rdma_read_in;		       /**< reads outstanding as target */
	DAT_COUNT max_rdma_read_out;		       /**< reads outstanding as originator */
	DAT_COUNT srq_soft_hw;			       /**< soft high watermark */
	DAT_COUNT max_rdma_read_iov;		       /**< 0: max_request_iov */
	DAT_COUNT max_rdma_write_iov;		       /**< 0: max_request_iov */
	DAT_COUNT ep_transport_specific_count;	       /**< entries of the next */
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count; /**< entries of the next */
	DAT_NAMED_ATTR *ep_provider_specific; /**< such as "delayed_ack" */
} DAT_EP_ATTR;

/** Parameters of an endpoint (EP-9..EP-21). */
typedef struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
	DAT_COMM comm; /**< for dat_ep_common_connect */
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;		  /**< of this end */
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr; /**< all zeros without a peer */
	DAT_PORT_QUAL remote_port_qual;		  /**< of the peer */
	DAT_PZ_HANDLE pz_handle;		  /**< or DAT_HANDLE_NULL */
	DAT_EVD_HANDLE recv_evd_handle;		  /**< or DAT_HANDLE_NULL */
	DAT_EVD_HANDLE request_evd_handle;	  /**< or DAT_HANDLE_NULL */
	DAT_EVD_HANDLE connect_evd_handle;	  /**< or DAT_HANDLE_NULL */
	DAT_SRQ_HANDLE srq_handle;		  /**< or DAT_HANDLE_NULL */
	DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

/** Selects fields of DAT_EP_PARAM, an OR of DAT_EP_FIELD_ values. */
typedef DAT_UINT64 DAT_EP_PARAM_MASK;

/** Fields of DAT_EP_PARAM and, as DAT_EP_FIELD_EP_ATTR_, of its ep_attr. */
#define DAT_EP_FIELD_IA_HANDLE			      UINT64_C(0x1)
#define DAT_EP_FIELD_EP_STATE			      UINT64_C(0x2)
#define DAT_EP_FIELD_COMM			      UINT64_C(0x4)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR	      UINT64_C(0x8)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL		      UINT64_C(0x10)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR	      UINT64_C(0x20)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL		      UINT64_C(0x40)
#define DAT_EP_FIELD_PZ_HANDLE			      UINT64_C(0x80)
#define DAT_EP_FIELD_RECV_EVD_HANDLE		      UINT64_C(0x100)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE		      UINT64_C(0x200)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE		      UINT64_C(0x400)
#define DAT_EP_FIELD_SRQ_HANDLE			      UINT64_C(0x800)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE	      UINT64_C(0x1000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE	      UINT64_C(0x2000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE	      UINT64_C(0x4000)
#define DAT_EP_FIELD_EP_ATTR_QOS		      UINT64_C(0x8000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS    UINT64_C(0x10000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS UINT64_C(0x20000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS	      UINT64_C(0x40000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS	      UINT64_C(0x80000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV	      UINT64_C(0x100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV	      UINT64_C(0x200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN	      UINT64_C(0x400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT	      UINT64_C(0x800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW	      UINT64_C(0x1000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV	      UINT64_C(0x2000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV	      UINT64_C(0x4000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR	      UINT64_C(0x8000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR  UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR	      UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR   UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL		      UINT64_C(0x7ffff000)
#define DAT_EP_FIELD_ALL			      UINT64_C(0x7fffffff)

#endif /* DAT_EP_PARAM_H */
