/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_cr.h
 * Connection requests, which arrive at service points.
 */
#ifndef DAT_CR_H
#define DAT_CR_H

#include "dat_types.h"

/** Parameters of a connection request (CR-3..CR-8). */
typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual; /**< local_port_qual of the active end */
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;	       /**< NULL if there are none */
	DAT_EP_HANDLE local_ep_handle; /**< reserved or made for it */
} DAT_CR_PARAM;

/** Selects fields of DAT_CR_PARAM. */
typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x1,
	DAT_CR_FIELD_REMOTE_PORT_QUAL = 0x2,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE = 0x4,
	DAT_CR_FIELD_PRIVATE_DATA = 0x8,
	DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,
	DAT_CR_FIELD_ALL = 0x1f
} DAT_CR_PARAM_MASK;

DAT_BEGIN_DECLS

/**
 * Read the parameters of a connection request.
 *
 * The address and the private data live as long as the request; two queries give the same pointers
 * (CR-3..CR-8, PD-8, PD-9).
 *
 * @param cr_handle a connection request.
 * @param cr_param_mask fields wanted, an OR of DAT_CR_FIELD_ values; 0 for none.
 * @param cr_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CR: cr_handle is not a live connection request.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: cr_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_query(IN DAT_CR_HANDLE cr_handle,
					   IN DAT_CR_PARAM_MASK cr_param_mask,
					   OUT DAT_CR_PARAM *cr_param);

/**
 * Accept a connection request on an endpoint.
 *
 * The endpoint goes to DAT_EP_STATE_COMPLETION_PENDING, the request is gone, and exactly one
 * outcome follows; requests may be posted once the connection is established. A failing call
 * leaves everything as it was (CR-9..CR-16).
 *
 * A request of a service point with DAT_PSP_PROVIDER_FLAG has an endpoint that the provider made,
 * in DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, without protection zone and dispatchers. Take it
 * from local_ep_handle of dat_cr_query; give it with dat_ep_modify at least a protection zone and a
 * connect dispatcher, and where it is to send or receive the dispatcher of that direction with
 * max_request_dtos or max_recv_dtos; post receives; then accept with DAT_HANDLE_NULL. From then on
 * the program frees it. Without those two the call is refused and says what is missing
 * (PSP-5..PSP-7).
 *
 * @param cr_handle a connection request; not valid after success.
 * @param ep_handle an unconnected endpoint of this adapter with protection zone and connect
 *        dispatcher; DAT_HANDLE_NULL, and nothing else, where the request has an endpoint of its
 *        own (CR-10..CR-12).
 * @param private_data_size bytes of private data, 0 to max_private_data_size.
 * @param private_data bytes for the active side, which finds them in its event; copied, may be
 *        those of the request; may be NULL when the size is 0.
 *
 * Events: one of DAT_CONNECTION_EVENT_ESTABLISHED, _ACCEPT_COMPLETION_ERROR, or _DISCONNECTED
 * after a local disconnect, on the connect dispatcher (EP-151).
 * Blocking: no; it starts work whose outcome arrives as an event (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the connection is being completed.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CR: cr_handle is not a live connection request;
 *        DAT_INVALID_HANDLE_EP: ep_handle is not an endpoint of this adapter, is not NULL though
 *        the request has an endpoint, or lacks protection zone or connect dispatcher
 *        (CR-10..CR-12).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the endpoint cannot satisfy the request; another
 *        one may (CR-13).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: the size is negative or too large.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: private_data is NULL and the size is not 0.
 * @retval DAT_INVALID_STATE the endpoint is not unconnected; the subtype names its state.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_TEP is short.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
					    IN DAT_COUNT private_data_size,
					    IN const DAT_PVOID private_data);

/**
 * Refuse a connection request.
 *
 * The request is gone. The endpoint of a reserved service point is unconnected again with its
 * receives; one that the provider made is destroyed (CR-17..CR-19).
 *
 * @param cr_handle a connection request; not valid after success.
 * @param private_data_size bytes of private data, 0 to max_private_data_size.
 * @param private_data bytes for the active side; copied; may be NULL when the size is 0.
 *
 * Events: none on this side; DAT_CONNECTION_EVENT_PEER_REJECTED with the private data on the
 * active side.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the request is refused.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CR: cr_handle is not a live connection request.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the size is negative or too large; the request
 *        stays.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: private_data is NULL and the size is not 0; the
 *        request stays.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_reject(IN DAT_CR_HANDLE cr_handle,
					    IN DAT_COUNT private_data_size,
					    IN const DAT_PVOID private_data);

/**
 * Pass a connection request on to another service point of the same adapter.
 *
 * It arrives there as if it came from the network, with its private data and identity; this
 * request is gone, and its endpoint is treated as by dat_cr_reject (CR-20..CR-23). The active side
 * does not notice: its endpoint goes on naming the qualifier that it asked for. Every provider
 * reaches the service points of the same open adapter; the software provider also those of other
 * processes of the same user.
 *
 * @param cr_handle a connection request; not valid after success.
 * @param handoff qualifier of the other service point, in host byte order; not 0.
 *
 * Events: none on the old dispatcher; DAT_CONNECTION_REQUEST_EVENT on that of the other service
 * point.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the request is passed on.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CR: cr_handle is not a live connection request.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: nobody listens there, where the provider can
 *        tell, or the qualifier is unusable; the request stays.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider cannot reach that service point, if there is one; so
 *        says DAT_NOT_IMPLEMENTED; the request stays.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_DEVICE is short, or the
 *        other dispatcher is full; the request stays.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_handoff(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff);

DAT_END_DECLS

#endif /* DAT_CR_H */
