/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ep.h
 * Endpoints: attributes, states, life and connection. Transfers are in dat_dto.h.
 */
#ifndef DAT_EP_H
#define DAT_EP_H

#include "dat_types.h"

/** Service of an endpoint (EP-22). */
typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC = 0, /**< reliable connection */
	DAT_SERVICE_TYPE_EXTENSION_BASE = 1
} DAT_SERVICE_TYPE;

/** States of an endpoint; EP-129..EP-155 tell what leads from one to another. */
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
	DAT_COMPLETION_FLAGS recv_completion_flags;    /**< EP-26 */
	DAT_COMPLETION_FLAGS request_completion_flags; /**< EP-27 */
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
	DAT_PORT_QUAL local_port_qual;		  /**< EP-13 */
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr; /**< all zeros without a peer (EP-14) */
	DAT_PORT_QUAL remote_port_qual;		  /**< EP-15 */
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

DAT_BEGIN_DECLS

/**
 * Make an endpoint.
 *
 * It starts in DAT_EP_STATE_UNCONNECTED. What is left out can be supplied later by dat_ep_modify:
 * protection zone and connect dispatcher before connecting; without a completion dispatcher
 * nothing can be posted in that direction (EP-42..EP-48). The endpoint has exactly the attributes
 * asked for, except that max_request_dtos and max_request_iov may be larger, and that outside
 * strict mode numbers beyond the adapter's limits are lowered to them and what the adapter does not
 * support has no effect: dat_ep_query tells what it has.
 *
 * @param ia_handle an open adapter.
 * @param pz_handle protection zone; DAT_HANDLE_NULL for none now.
 * @param recv_completion_evd_handle dispatcher with DAT_EVD_DTO_FLAG for receives; DAT_HANDLE_NULL
 *        for none.
 * @param request_completion_evd_handle dispatcher with DAT_EVD_DTO_FLAG for requests and binds;
 *        DAT_HANDLE_NULL for none.
 * @param connect_evd_handle dispatcher with DAT_EVD_CONNECTION_FLAG; DAT_HANDLE_NULL for none now.
 * @param ep_attributes attributes, all fields of which count; NULL for the defaults of
 *        EP-22..EP-38.
 * @param ep_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the endpoint exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PZ: pz_handle is neither NULL nor a zone of this
 *        adapter.
 * @retval DAT_INVALID_HANDLE the subtype DAT_INVALID_HANDLE_EVD_RECV,
 *        DAT_INVALID_HANDLE_EVD_REQUEST or DAT_INVALID_HANDLE_EVD_CONN names a dispatcher that is
 *        not live, of another adapter or without the flag of its role.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: an attribute is out of range, or it or the
 *        dispatchers' other streams do not fit (EP-46; the latter and numbers beyond the adapter's
 *        limits in strict mode only, EVD-30).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: ep_handle is NULL.
 * @retval DAT_MODEL_NOT_SUPPORTED the service type or, in strict mode, the quality of service or
 *        watermark is not supported.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: no memory; DAT_RESOURCE_TEP: the device
 *        has no endpoint left.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
					    IN DAT_EVD_HANDLE recv_completion_evd_handle,
					    IN DAT_EVD_HANDLE request_completion_evd_handle,
					    IN DAT_EVD_HANDLE connect_evd_handle,
					    IN const DAT_EP_ATTR *ep_attributes,
					    OUT DAT_EP_HANDLE *ep_handle);

/**
 * Make an endpoint that takes its receives from a shared receive queue.
 *
 * Otherwise as dat_ep_create. The queue stays with the endpoint until it is freed;
 * dat_ep_post_recv is refused. Receive buffers are checked against the zone of the queue,
 * everything else against that of the endpoint (EP-49..EP-54, SRQ-31..SRQ-38).
 *
 * @param ia_handle an open adapter.
 * @param pz_handle protection zone; DAT_HANDLE_NULL for none now; must be that of the queue unless
 *        srq_ep_pz_difference_supported.
 * @param recv_evd_handle dispatcher with DAT_EVD_DTO_FLAG for receives; DAT_HANDLE_NULL for none.
 * @param request_evd_handle dispatcher with DAT_EVD_DTO_FLAG for requests and binds;
 *        DAT_HANDLE_NULL for none.
 * @param connect_evd_handle dispatcher with DAT_EVD_CONNECTION_FLAG; DAT_HANDLE_NULL for none now.
 * @param srq_handle the queue; never NULL.
 * @param ep_attributes attributes; NULL for the defaults of dat_ep_create, but never in strict mode
 *        (SRQ-32); max_recv_iov is ignored, max_recv_dtos is the number of receives that may be
 *        taken and not completed.
 * @param ep_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the endpoint exists.
 * @retval DAT_INVALID_HANDLE the subtype DAT_INVALID_HANDLE_IA, DAT_INVALID_HANDLE_PZ,
 *        DAT_INVALID_HANDLE_EVD_RECV, DAT_INVALID_HANDLE_EVD_REQUEST, DAT_INVALID_HANDLE_EVD_CONN
 *        or DAT_INVALID_HANDLE_SRQ names the handle that is not live, of another adapter or
 *        without the flag of its role.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the zones differ and may not.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: ep_attributes is out of range, as for
 *        dat_ep_create, or NULL in strict mode.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: ep_handle is NULL.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_SRQ_ERROR or DAT_INVALID_STATE_SRQ_SHUTDOWN: the
 *        state of the queue (EP-53).
 * @retval DAT_MODEL_NOT_SUPPORTED shared receive queues, the service type or, in strict mode, the
 *        quality of service or watermark are not supported; so says DAT_NOT_IMPLEMENTED.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_SRQ: max_ep_per_srq is reached;
 *        DAT_RESOURCE_MEMORY: no memory; DAT_RESOURCE_TEP: the device has no endpoint left.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		       IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
		       IN DAT_EVD_HANDLE connect_evd_handle, IN DAT_SRQ_HANDLE srq_handle,
		       IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

/**
 * Read the parameters and attributes of an endpoint.
 *
 * Legal in every state. Addresses and ports of a connection are valid in the states that
 * EP-13..EP-15 list; elsewhere they are unspecified, and pointers are NULL or safe to follow.
 * Pointers live until the endpoint is freed (EP-55..EP-57).
 *
 * @param ep_handle an endpoint.
 * @param ep_param_mask fields wanted, an OR of DAT_EP_FIELD_ values; 0 for none.
 * @param ep_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ep_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_query(IN DAT_EP_HANDLE ep_handle,
					   IN DAT_EP_PARAM_MASK ep_param_mask,
					   OUT DAT_EP_PARAM *ep_param);

/**
 * Change parameters and attributes of an endpoint, all of those selected or none.
 *
 * Most can be changed while the endpoint is unconnected, reserved or has a request pending; EP-59
 * lists which in which state. Handle, state, addresses, ports and shared receive queue never
 * change this way. Receives posted before stay posted (EP-58..EP-65). Attributes beyond what the
 * adapter can do are treated as by dat_ep_create.
 *
 * @param ep_handle an endpoint.
 * @param ep_param_mask fields to change, an OR of DAT_EP_FIELD_ values; 0 changes nothing.
 * @param ep_param the new values; may be NULL when the mask is 0. A handle may be DAT_HANDLE_NULL,
 *        which drops the old one.
 *
 * Events: none, but for a watermark that is exceeded already (EP-126).
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS everything selected is changed.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit or names what
 *        cannot change.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ep_param is NULL, or a value or handle in it is
 *        not acceptable.
 * @retval DAT_INVALID_STATE something selected cannot change in this state; the subtype names the
 *        state.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_TEP: larger queues cannot
 *        be had.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_modify(IN DAT_EP_HANDLE ep_handle,
					    IN DAT_EP_PARAM_MASK ep_param_mask,
					    IN const DAT_EP_PARAM *ep_param);

/**
 * Read the state of an endpoint and whether its queues are idle.
 *
 * A snapshot, legal in every state. A queue is idle when no posted operation waits for its
 * completion to be generated; receives still in a shared queue do not count (EP-102..EP-105).
 *
 * @param ep_handle an endpoint.
 * @param ep_state receives the state; may be NULL.
 * @param recv_idle receives DAT_TRUE if no receive is outstanding; may be NULL.
 * @param request_idle receives DAT_TRUE if no request or bind is outstanding; may be NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the values are stored.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_get_status(IN DAT_EP_HANDLE ep_handle,
						OUT DAT_EP_STATE *ep_state,
						OUT DAT_BOOLEAN *recv_idle,
						OUT DAT_BOOLEAN *request_idle);

/**
 * Start a connection to a service point.
 *
 * The endpoint goes from DAT_EP_STATE_UNCONNECTED to DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, and
 * exactly one outcome follows. It needs a protection zone and a connect dispatcher. Address and
 * private data are copied (EP-66..EP-79, PD-1..PD-9, TMO-1..TMO-8).
 *
 * @param ep_handle an unconnected endpoint.
 * @param remote_ia_address address of the remote adapter, AF_INET or AF_INET6, whose port is
 *        ignored; never NULL.
 * @param remote_conn_qual qualifier that the service point listens on, in host byte order.
 * @param timeout microseconds from the call to the outcome, more than 0; DAT_TIMEOUT_INFINITE for
 *        no limit.
 * @param private_data_size bytes of private data, 0 to the provider's max_private_data_size.
 * @param private_data bytes for the peer, which finds them in the connection request; may be NULL
 *        when the size is 0.
 * @param quality_of_service one of the provider's dat_qos_supported, DAT_QOS_BEST_EFFORT always.
 * @param connect_flags DAT_CONNECT_DEFAULT_FLAG, or more than one path wanted or required
 *        (HA-11..HA-14).
 *
 * Events: one of DAT_CONNECTION_EVENT_ESTABLISHED, _PEER_REJECTED, _NON_PEER_REJECTED, _TIMED_OUT,
 * _UNREACHABLE, or _DISCONNECTED after a local disconnect, on the connect dispatcher (EV-15).
 * Nobody listening is reported so, never by the call.
 * Blocking: no; it starts work whose outcome arrives as an event (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the attempt has started.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint;
 *        DAT_INVALID_HANDLE_EVD_CONN: it has no connect dispatcher (EP-68).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: remote_ia_address is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: timeout is 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: the size is negative or too large.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: private_data is NULL and the size is not 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: the quality of service is undefined.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: connect_flags has an undefined bit.
 * @retval DAT_INVALID_ADDRESS DAT_INVALID_ADDRESS_MALFORMED, DAT_INVALID_ADDRESS_UNSUPPORTED or
 *        DAT_INVALID_ADDRESS_UNREACHABLE, where the provider sees it at once (EP-70).
 * @retval DAT_INVALID_STATE the endpoint is not unconnected and the subtype names its state;
 *        DAT_INVALID_STATE_EP_NOTREADY: it has no protection zone (EP-67, EP-68).
 * @retval DAT_MODEL_NOT_SUPPORTED the quality of service or a required second path is not
 *        supported.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY, DAT_RESOURCE_TEP or DAT_RESOURCE_DEVICE
 *        is short.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
					     IN DAT_IA_ADDRESS_PTR remote_ia_address,
					     IN DAT_CONN_QUAL remote_conn_qual,
					     IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
					     IN const DAT_PVOID private_data,
					     IN DAT_QOS quality_of_service,
					     IN DAT_CONNECT_FLAGS connect_flags);

/**
 * Start a connection to where another endpoint is connected to.
 *
 * Same remote adapter, qualifier and flags as the other endpoint, which is only read; otherwise as
 * dat_ep_connect (EP-80..EP-86).
 *
 * @param ep_handle an unconnected endpoint.
 * @param ep_dup_handle a connected endpoint of the same adapter instance.
 * @param timeout microseconds, more than 0; DAT_TIMEOUT_INFINITE for no limit.
 * @param private_data_size bytes of private data, 0 to max_private_data_size.
 * @param private_data bytes for the peer; may be NULL when the size is 0.
 * @param quality_of_service as for dat_ep_connect.
 *
 * Events: as for dat_ep_connect (EV-15).
 * Blocking: no; it starts work whose outcome arrives as an event (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the attempt has started.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: one of the endpoints is not live, or they are
 *        of different adapters; DAT_INVALID_HANDLE_EVD_CONN: ep_handle has no connect dispatcher.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: timeout is 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: the size is negative or too large.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: private_data is NULL and the size is not 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: the quality of service is undefined.
 * @retval DAT_INVALID_ADDRESS as for dat_ep_connect.
 * @retval DAT_INVALID_STATE ep_handle is not unconnected or ep_dup_handle not connected, and the
 *        subtype names that state; DAT_INVALID_STATE_EP_NOTREADY: ep_handle has no protection
 *        zone.
 * @retval DAT_MODEL_NOT_SUPPORTED as for dat_ep_connect.
 * @retval DAT_INSUFFICIENT_RESOURCES as for dat_ep_connect.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle,
						 IN DAT_EP_HANDLE ep_dup_handle,
						 IN DAT_TIMEOUT timeout,
						 IN DAT_COUNT private_data_size,
						 IN const DAT_PVOID private_data,
						 IN DAT_QOS quality_of_service);

/**
 * Start a connection to a common service point.
 *
 * The service is named by address and port, the transport by the endpoint's comm, the quality of
 * service by its attribute; otherwise as dat_ep_connect. On IP transports port and qualifier of
 * the same number name the same service (EP-87..EP-89).
 *
 * @param ep_handle an unconnected endpoint.
 * @param remote_ia_address address and port, in network byte order, of the service; never NULL.
 * @param timeout microseconds, more than 0; DAT_TIMEOUT_INFINITE for no limit.
 * @param private_data_size bytes of private data, 0 to max_private_data_size.
 * @param private_data bytes for the peer; may be NULL when the size is 0.
 *
 * Events: as for dat_ep_connect (EV-15).
 * Blocking: no; it starts work whose outcome arrives as an event (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the attempt has started.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint;
 *        DAT_INVALID_HANDLE_EVD_CONN: it has no connect dispatcher.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: remote_ia_address is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: timeout is 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: the size is negative or too large.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: private_data is NULL and the size is not 0.
 * @retval DAT_INVALID_ADDRESS as for dat_ep_connect; also for port 0.
 * @retval DAT_COMM_NOT_SUPPORTED the endpoint's comm is not supported.
 * @retval DAT_INVALID_STATE as for dat_ep_connect.
 * @retval DAT_INSUFFICIENT_RESOURCES as for dat_ep_connect.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider has no common connections; so says
 *        DAT_NOT_IMPLEMENTED.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_common_connect(IN DAT_EP_HANDLE ep_handle,
						    IN DAT_IA_ADDRESS_PTR remote_ia_address,
						    IN DAT_TIMEOUT timeout,
						    IN DAT_COUNT private_data_size,
						    IN const DAT_PVOID private_data);

/**
 * End a connection, or give up one that is being made.
 *
 * Abrupt: what is outstanding is flushed. Graceful: requests posted before are carried out first,
 * in DAT_EP_STATE_DISCONNECT_PENDING; when none of them completes for the time of the tunable drain
 * (dapl.conf), the rest is flushed. While a connection is being made both flags abort it; on a
 * disconnected endpoint the call does nothing. The state may be reached after the return, in
 * bounded time and without the peer's help (EP-90..EP-101, FL-1..FL-15).
 *
 * @param ep_handle an endpoint.
 * @param disconnect_flags DAT_CLOSE_ABRUPT_FLAG or DAT_CLOSE_GRACEFUL_FLAG.
 *
 * Events: exactly one DAT_CONNECTION_EVENT_DISCONNECTED on the connect dispatcher of each side,
 * however often it is called (EP-97, EP-98); flushed completions.
 * Blocking: for a bounded time when abrupt (GEN-26); graceful, it starts work whose end arrives as
 * the event.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the connection is ending or has ended.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: disconnect_flags is neither of the two.
 * @retval DAT_INVALID_STATE the endpoint is unconnected, reserved or has a request pending; the
 *        subtype names the state (EP-91).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: no memory.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle,
						IN DAT_CLOSE_FLAGS disconnect_flags);

/**
 * Make a disconnected endpoint fit to be connected again.
 *
 * The state becomes DAT_EP_STATE_UNCONNECTED; attributes, zone, dispatchers, shared queue and
 * context stay. Completions not yet taken may be lost: to lose none, post a marker and take events
 * until it appears flushed (EP-106..EP-110). On an unconnected endpoint the call does nothing and
 * posted receives stay.
 *
 * @param ep_handle a disconnected or unconnected endpoint.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the endpoint is unconnected.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_STATE the endpoint is in another state, which the subtype names.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_TEP: a new endpoint of
 *        the device is needed and cannot be had.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

/**
 * Destroy an endpoint.
 *
 * A connection is ended abruptly first. No event of the endpoint is generated after the return;
 * completions not yet taken may stay or vanish. Zone, dispatchers and shared queue are free of it
 * when the call returns (EP-111..EP-116).
 *
 * @param ep_handle an endpoint that no service point or connection request holds; not valid after
 *        success.
 *
 * Events: none on this side; the peer of a connection sees DAT_CONNECTION_EVENT_DISCONNECTED.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the endpoint is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_STATE a reserved service point or a connection request holds it, and the
 *        subtype names its state: free the one or reject the other first (EP-111).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_free(IN DAT_EP_HANDLE ep_handle);

/**
 * Read how many receive buffers an endpoint holds.
 *
 * Both numbers come from one moment; for an endpoint without a shared queue they are equal
 * (EP-117..EP-120, SRQ-45..SRQ-47).
 *
 * @param ep_handle an endpoint, in any state.
 * @param nbufs_allocated receives the receives posted, or taken from the shared queue, and not
 *        completed; may be NULL.
 * @param bufs_alloc_span receives the further completions there would be if every message now
 *        arriving completed; may be NULL. Either is DAT_VALUE_UNKNOWN where it cannot be told.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the numbers are stored.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider's ep_recv_info_supported is 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle,
						OUT DAT_COUNT *nbufs_allocated,
						OUT DAT_COUNT *bufs_alloc_span);

/**
 * Set limits on the receives that an endpoint holds.
 *
 * Above the soft limit one event is generated, and no other until the limit is set again; above
 * the hard limit the connection is broken. The two are independent and can be set in every state;
 * a limit that is exceeded already acts during the call (EP-121..EP-128, SRQ-39..SRQ-44).
 *
 * @param ep_handle an endpoint, in any state.
 * @param soft_high_watermark receives above which the event is due; DAT_WATERMARK_INFINITE for no
 *        limit.
 * @param hard_high_watermark receives above which the connection breaks; DAT_WATERMARK_INFINITE
 *        for no limit.
 *
 * Events: soft: DAT_ASYNC_ERROR_EP_BROKEN with reason DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT on the
 * adapter's asynchronous dispatcher; hard: DAT_CONNECTION_EVENT_BROKEN on the connect dispatcher.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS both limits are set.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: soft_high_watermark is below -1.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: hard_high_watermark is below -1.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider's srq_watermarks_supported lacks one that is set;
 *        nothing was set.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle,
						   IN DAT_COUNT soft_high_watermark,
						   IN DAT_COUNT hard_high_watermark);

DAT_END_DECLS

#endif /* DAT_EP_H */
