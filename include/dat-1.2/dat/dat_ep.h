/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ep.h
 * Endpoints.
 */
#ifndef DAT_1_2_DAT_EP_H
#define DAT_1_2_DAT_EP_H

#include "dat_types.h"

/** Kind of service; there is one. */
typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC = 0
} DAT_SERVICE_TYPE;

/** State of an endpoint. */
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
	DAT_EP_STATE_COMPLETION_PENDING = 12
} DAT_EP_STATE;

#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED

/** Attributes of an endpoint. */
typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_VLEN max_message_size;
	DAT_VLEN max_rdma_size;
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
	DAT_COUNT max_rdma_read_iov;  /**< 0: as max_request_iov */
	DAT_COUNT max_rdma_write_iov; /**< 0: as max_request_iov */
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
} DAT_EP_ATTR;

/** Parameters of an endpoint. */
typedef struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
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

/** Parameters that dat_ep_query and dat_ep_modify are asked for. */
typedef DAT_UINT64 DAT_EP_PARAM_MASK;
#define DAT_EP_FIELD_IA_HANDLE			      UINT64_C(0x1)
#define DAT_EP_FIELD_EP_STATE			      UINT64_C(0x2)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR	      UINT64_C(0x4)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL		      UINT64_C(0x8)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR	      UINT64_C(0x10)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL		      UINT64_C(0x20)
#define DAT_EP_FIELD_PZ_HANDLE			      UINT64_C(0x40)
#define DAT_EP_FIELD_RECV_EVD_HANDLE		      UINT64_C(0x80)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE		      UINT64_C(0x100)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE		      UINT64_C(0x200)
#define DAT_EP_FIELD_SRQ_HANDLE			      UINT64_C(0x400)
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
#define DAT_EP_FIELD_ALL			      UINT64_C(0x7ffff7ff)
#define DAT_EP_FIELD_EP_ATTR_ALL		      UINT64_C(0x7ffff000)

DAT_BEGIN_DECLS

/** Make an endpoint; NULL attributes are defaults. */
extern DAT_RETURN dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
				IN DAT_EVD_HANDLE recv_completion_evd_handle,
				IN DAT_EVD_HANDLE request_completion_evd_handle,
				IN DAT_EVD_HANDLE connect_evd_handle,
				IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

/** Read the parameters of an endpoint that the mask names. */
extern DAT_RETURN dat_ep_query(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
			       OUT DAT_EP_PARAM *ep_param);

/** Change the parameters of an endpoint that the mask names; no others are read. */
extern DAT_RETURN dat_ep_modify(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
				IN const DAT_EP_PARAM *ep_param);

/**
 * Ask a peer for a connection. The address is read as long as its family says; the outcome is an
 * event.
 */
extern DAT_RETURN dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
				 IN DAT_IA_ADDRESS_PTR remote_ia_address,
				 IN DAT_CONN_QUAL remote_conn_qual, IN DAT_TIMEOUT timeout,
				 IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data,
				 IN DAT_QOS quality_of_service, IN DAT_CONNECT_FLAGS connect_flags);

/** Ask for a connection to the peer that ep_dup_handle is connected to. */
extern DAT_RETURN dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_HANDLE ep_dup_handle,
				     IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
				     IN const DAT_PVOID private_data,
				     IN DAT_QOS quality_of_service);

/** End a connection, gracefully after the transfers under way. */
extern DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle, IN DAT_CLOSE_FLAGS close_flags);

/** Queue a Send; the segments may be reused when the call returns. */
extern DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
				   IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
				   IN DAT_COMPLETION_FLAGS completion_flags);

/** Queue a Receive. */
extern DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
				   IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
				   IN DAT_COMPLETION_FLAGS completion_flags);

/** Queue an RDMA Read from one segment of the peer. */
extern DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
					IN DAT_LMR_TRIPLET *local_iov,
					IN DAT_DTO_COOKIE user_cookie,
					IN const DAT_RMR_TRIPLET *remote_iov,
					IN DAT_COMPLETION_FLAGS completion_flags);

/** Queue an RDMA Write to one segment of the peer. */
extern DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
					 IN DAT_LMR_TRIPLET *local_iov,
					 IN DAT_DTO_COOKIE user_cookie,
					 IN const DAT_RMR_TRIPLET *remote_iov,
					 IN DAT_COMPLETION_FLAGS completion_flags);

/** Read an endpoint's state and whether its queues are idle. */
extern DAT_RETURN dat_ep_get_status(IN DAT_EP_HANDLE ep_handle, OUT DAT_EP_STATE *ep_state,
				    OUT DAT_BOOLEAN *recv_idle, OUT DAT_BOOLEAN *request_idle);

/** Destroy an endpoint and what it has queued. */
extern DAT_RETURN dat_ep_free(IN DAT_EP_HANDLE ep_handle);

/** Make a disconnected endpoint ready for another connection. */
extern DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

/** Make an endpoint whose Receives are those of a shared queue. */
extern DAT_RETURN
dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		       IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
		       IN DAT_EVD_HANDLE connect_evd_handle, IN DAT_SRQ_HANDLE srq_handle,
		       IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

/** Read how many Receives of a shared queue an endpoint holds. */
extern DAT_RETURN dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle, OUT DAT_COUNT *nbufs_allocated,
				    OUT DAT_COUNT *bufs_alloc_span);

/** Set how many Receives of a shared queue an endpoint may hold. */
extern DAT_RETURN dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT soft_high_watermark,
				       IN DAT_COUNT hard_high_watermark);

DAT_END_DECLS

#endif /* DAT_1_2_DAT_EP_H */
