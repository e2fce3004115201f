/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ep.h
 * Endpoints: attributes, states, life and connection. Transfers are in dat_dto.h.
 */
#ifndef DAT_EP_H
#define DAT_EP_H

#include "dat_types.h"

typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC = 0,
	DAT_SERVICE_TYPE_EXTENSION_BASE = 1
} DAT_SERVICE_TYPE;

typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED = 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED = 1,
	DAT_EP_STATE_RESERVED = 2,
	DAT_EP_STATE_UNCONFIGURED_RESERVED = 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING = 4,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE = 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING = 6,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE = 8,
	DAT_EP_STATE_CONNECTED = 9,
	DAT_EP_STATE_DISCONNECT_PENDING = 10,
	DAT_EP_STATE_DISCONNECTED = 11,
	DAT_EP_STATE_COMPLETION_PENDING = 12,
	DAT_EP_STATE_CONNECTED_SINGLE_PATH = 13,
	DAT_EP_STATE_CONNECTED_MULTI_PATH = 14
} DAT_EP_STATE;

#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED

typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_SEG_LENGTH max_message_size;
	DAT_SEG_LENGTH max_rdma_size;
	DAT_QOS qos;
	DAT_COMPLETION_FLAGS recv_completion_flags;
	DAT_COMPLETION_FLAGS request_completion_flags;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_request_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT max_request_iov;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_COUNT srq_soft_hw;
	DAT_COUNT max_rdma_read_iov;
	DAT_COUNT max_rdma_write_iov;
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
} DAT_EP_ATTR;

typedef struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
	DAT_COMM comm;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_PZ_HANDLE pz_handle;
	DAT_EVD_HANDLE recv_evd_handle;
	DAT_EVD_HANDLE request_evd_handle;
	DAT_EVD_HANDLE connect_evd_handle;
	DAT_SRQ_HANDLE srq_handle;
	DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

typedef DAT_UINT64 DAT_EP_PARAM_MASK;

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

DAT_BEGIN_DECLS

DAT_EXPORT DAT_RETURN DAT_API dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
					    IN DAT_EVD_HANDLE recv_completion_evd_handle,
					    IN DAT_EVD_HANDLE request_completion_evd_handle,
					    IN DAT_EVD_HANDLE connect_evd_handle,
					    IN const DAT_EP_ATTR *ep_attributes,
					    OUT DAT_EP_HANDLE *ep_handle);

DAT_EXPORT DAT_RETURN DAT_API
dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		       IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
		       IN DAT_EVD_HANDLE connect_evd_handle, IN DAT_SRQ_HANDLE srq_handle,
		       IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_query(IN DAT_EP_HANDLE ep_handle,
					   IN DAT_EP_PARAM_MASK ep_param_mask,
					   OUT DAT_EP_PARAM *ep_param);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_modify(IN DAT_EP_HANDLE ep_handle,
					    IN DAT_EP_PARAM_MASK ep_param_mask,
					    IN const DAT_EP_PARAM *ep_param);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_get_status(IN DAT_EP_HANDLE ep_handle,
						OUT DAT_EP_STATE *ep_state,
						OUT DAT_BOOLEAN *recv_idle,
						OUT DAT_BOOLEAN *request_idle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
					     IN DAT_IA_ADDRESS_PTR remote_ia_address,
					     IN DAT_CONN_QUAL remote_conn_qual,
					     IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
					     IN const DAT_PVOID private_data,
					     IN DAT_QOS quality_of_service,
					     IN DAT_CONNECT_FLAGS connect_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle,
						 IN DAT_EP_HANDLE ep_dup_handle,
						 IN DAT_TIMEOUT timeout,
						 IN DAT_COUNT private_data_size,
						 IN const DAT_PVOID private_data,
						 IN DAT_QOS quality_of_service);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_common_connect(IN DAT_EP_HANDLE ep_handle,
						    IN DAT_IA_ADDRESS_PTR remote_ia_address,
						    IN DAT_TIMEOUT timeout,
						    IN DAT_COUNT private_data_size,
						    IN const DAT_PVOID private_data);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle,
						IN DAT_CLOSE_FLAGS disconnect_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_free(IN DAT_EP_HANDLE ep_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle,
						OUT DAT_COUNT *nbufs_allocated,
						OUT DAT_COUNT *bufs_alloc_span);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle,
						   IN DAT_COUNT soft_high_watermark,
						   IN DAT_COUNT hard_high_watermark);

DAT_END_DECLS

#endif /* DAT_EP_H */
