/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ep_connect.h
 * Connecting and disconnecting endpoints.
 */
#ifndef DAT_EP_CONNECT_H
#define DAT_EP_CONNECT_H

#include "dat_types.h"

DAT_BEGIN_DECLS

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

DAT_END_DECLS

#endif /* DAT_EP_CONNECT_H */
