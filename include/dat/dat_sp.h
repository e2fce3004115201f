/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_sp.h
 * The passive side: public, reserved and common service points and the connection requests that
 * arrive at them.
 */
#ifndef DAT_SP_H
#define DAT_SP_H

#include "dat_types.h"

/** Who supplies the endpoint of a request (PSP-5). */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG = 0, /**< the program, at dat_cr_accept */
	DAT_PSP_PROVIDER_FLAG = 1  /**< the provider, at arrival */
} DAT_PSP_FLAGS;

/** Parameters of a public service point (PSP-11). */
typedef struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual; /**< as given or picked */
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

/** Selects fields of DAT_PSP_PARAM. */
typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE = 0x1,
	DAT_PSP_FIELD_CONN_QUAL = 0x2,
	DAT_PSP_FIELD_EVD_HANDLE = 0x4,
	DAT_PSP_FIELD_PSP_FLAGS = 0x8,
	DAT_PSP_FIELD_ALL = 0xf
} DAT_PSP_PARAM_MASK;

/** Parameters of a reserved service point (RSP-10). */
typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

/** Selects fields of DAT_RSP_PARAM. */
typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE = 0x1,
	DAT_RSP_FIELD_CONN_QUAL = 0x2,
	DAT_RSP_FIELD_EVD_HANDLE = 0x4,
	DAT_RSP_FIELD_EP_HANDLE = 0x8,
	DAT_RSP_FIELD_ALL = 0xf
} DAT_RSP_PARAM_MASK;

/** Parameters of a common service point (CSP-6). */
typedef struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COMM *comm; /**< the provider's copy */
	DAT_IA_ADDRESS_PTR address_ptr;
	DAT_EVD_HANDLE evd_handle;
} DAT_CSP_PARAM;

/** Selects fields of DAT_CSP_PARAM. */
typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE = 0x1,
	DAT_CSP_FIELD_COMM = 0x2,
	DAT_CSP_FIELD_IA_ADDRESS = 0x4,
	DAT_CSP_FIELD_EVD_HANDLE = 0x8,
	DAT_CSP_FIELD_ALL = 0xf
} DAT_CSP_PARAM_MASK;

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
 * Listen on a connection qualifier.
 *
 * Until the service point is freed, each request that arrives becomes a connection request,
 * announced by an event. The free places of the dispatcher bound the requests that wait: beyond
 * them the active side is refused (PSP-1..PSP-9). A connect that begins after the return reaches
 * the service point.
 *
 * @param ia_handle an open adapter.
 * @param conn_qual qualifier in host byte order, not 0; 1024 to 65535 are portable.
 * @param evd_handle dispatcher of this adapter with DAT_EVD_CR_FLAG; never NULL; may serve several
 *        service points.
 * @param psp_flags DAT_PSP_CONSUMER_FLAG: the program supplies the endpoint when it accepts;
 *        DAT_PSP_PROVIDER_FLAG: the provider makes one per request (PSP-5..PSP-7).
 * @param psp_handle receives the handle; never NULL.
 *
 * Events: DAT_CONNECTION_REQUEST_EVENT on evd_handle for each request (EV-2).
 * Blocking: for a bounded time, until the service point listens (PSP-2).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the service point listens.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter;
 *        DAT_INVALID_HANDLE_EVD_CR: evd_handle is NULL, not live, of another adapter or lacks the
 *        flag.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the qualifier is 0 or more than the transport
 *        can express.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: psp_flags is neither of the two.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: psp_handle is NULL.
 * @retval DAT_CONN_QUAL_IN_USE somebody listens on the qualifier at this address already.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider's ep_creator does not allow the flag (PSP-6).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_DEVICE is short.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
					     IN DAT_EVD_HANDLE evd_handle,
					     IN DAT_PSP_FLAGS psp_flags,
					     OUT DAT_PSP_HANDLE *psp_handle);

/**
 * Listen on a connection qualifier that the provider picks.
 *
 * Otherwise as dat_psp_create (PSP-10).
 *
 * @param ia_handle an open adapter.
 * @param conn_qual receives the qualifier, in host byte order; never NULL; undefined on failure.
 * @param evd_handle dispatcher of this adapter with DAT_EVD_CR_FLAG; never NULL.
 * @param psp_flags as for dat_psp_create.
 * @param psp_handle receives the handle; never NULL.
 *
 * Events: DAT_CONNECTION_REQUEST_EVENT on evd_handle for each request (EV-2).
 * Blocking: for a bounded time, until the service point listens (PSP-2).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the service point listens.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter;
 *        DAT_INVALID_HANDLE_EVD_CR: evd_handle is NULL, not live, of another adapter or lacks the
 *        flag.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: conn_qual is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: psp_flags is neither of the two.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: psp_handle is NULL.
 * @retval DAT_CONN_QUAL_UNAVAILABLE no qualifier is left.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider's ep_creator does not allow the flag (PSP-6).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_DEVICE is short.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_create_any(IN DAT_IA_HANDLE ia_handle,
						 OUT DAT_CONN_QUAL *conn_qual,
						 IN DAT_EVD_HANDLE evd_handle,
						 IN DAT_PSP_FLAGS psp_flags,
						 OUT DAT_PSP_HANDLE *psp_handle);

/**
 * Read the parameters of a public service point.
 *
 * The qualifier is the one given or picked, never a value of the transport (PSP-11).
 *
 * @param psp_handle a public service point.
 * @param psp_param_mask fields wanted, an OR of DAT_PSP_FIELD_ values; 0 for none.
 * @param psp_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PSP: psp_handle is not a live public service
 *        point.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: psp_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_query(IN DAT_PSP_HANDLE psp_handle,
					    IN DAT_PSP_PARAM_MASK psp_param_mask,
					    OUT DAT_PSP_PARAM *psp_param);

/**
 * Stop listening and destroy a public service point.
 *
 * Requests announced before stay and can still be accepted; the qualifier can be used again at
 * once (PSP-8, PSP-12, PSP-13).
 *
 * @param psp_handle a public service point; not valid after success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the service point is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PSP: psp_handle is not a live public service
 *        point.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

/**
 * Listen for one request that a given endpoint is kept for.
 *
 * The endpoint goes from DAT_EP_STATE_UNCONNECTED to DAT_EP_STATE_RESERVED, and with the request
 * to DAT_EP_STATE_PASSIVE_CONNECTION_PENDING. The service point is then spent: it listens no more
 * but stays a valid handle until freed (RSP-1..RSP-8). Give the endpoint its protection zone
 * before.
 *
 * @param ia_handle an open adapter.
 * @param conn_qual qualifier in host byte order, as for dat_psp_create.
 * @param ep_handle an unconnected endpoint of this adapter; DAT_HANDLE_NULL to have the provider
 *        make one on arrival (RSP-3).
 * @param evd_handle dispatcher of this adapter with DAT_EVD_CR_FLAG; never NULL.
 * @param rsp_handle receives the handle; never NULL.
 *
 * Events: one DAT_CONNECTION_REQUEST_EVENT on evd_handle (EV-2, RSP-5).
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the service point listens and the endpoint is reserved.
 * @retval DAT_INVALID_HANDLE the subtype DAT_INVALID_HANDLE_IA, DAT_INVALID_HANDLE_EP or
 *        DAT_INVALID_HANDLE_EVD_CR names the handle that is not live or of another adapter, or the
 *        dispatcher that lacks the flag.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the qualifier is unusable.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: rsp_handle is NULL.
 * @retval DAT_INVALID_STATE the endpoint is not unconnected; the subtype names its state.
 * @retval DAT_CONN_QUAL_IN_USE somebody listens on the qualifier at this address already.
 * @retval DAT_MODEL_NOT_SUPPORTED ep_handle is NULL and the provider makes no endpoints.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_DEVICE is short.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
					     IN DAT_EP_HANDLE ep_handle,
					     IN DAT_EVD_HANDLE evd_handle,
					     OUT DAT_RSP_HANDLE *rsp_handle);

/**
 * Read the parameters of a reserved service point, spent ones included (RSP-7, RSP-10).
 *
 * @param rsp_handle a reserved service point.
 * @param rsp_param_mask fields wanted, an OR of DAT_RSP_FIELD_ values; 0 for none.
 * @param rsp_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_RSP: rsp_handle is not a live reserved service
 *        point.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: rsp_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle,
					    IN DAT_RSP_PARAM_MASK rsp_param_mask,
					    OUT DAT_RSP_PARAM *rsp_param);

/**
 * Destroy a reserved service point.
 *
 * One that still listens gives its endpoint back, unconnected; a spent one leaves endpoint and
 * request alone (RSP-7..RSP-9).
 *
 * @param rsp_handle a reserved service point; not valid after success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the service point is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_RSP: rsp_handle is not a live reserved service
 *        point.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

/**
 * Listen on an address and port, socket fashion.
 *
 * Requests are delivered as by a public service point with DAT_PSP_CONSUMER_FLAG and share its
 * rules for dispatcher and backlog (CSP-1..CSP-5).
 *
 * @param ia_handle an open adapter.
 * @param communicator domain, type and protocol as for socket: AF_INET or AF_INET6, SOCK_STREAM, 0
 *        or IPPROTO_TCP; copied; never NULL.
 * @param address address of the adapter or the wildcard, with a port in network byte order; port 0
 *        picks one, which dat_csp_query shows. Never NULL.
 * @param evd_handle dispatcher of this adapter with DAT_EVD_CR_FLAG; never NULL.
 * @param csp_handle receives the handle; never NULL.
 *
 * Events: DAT_CONNECTION_REQUEST_EVENT on evd_handle for each request, with the port in host byte
 * order as its qualifier (EV-2, CSP-5).
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the service point listens.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter;
 *        DAT_INVALID_HANDLE_EVD_CR: evd_handle is NULL, not live, of another adapter or lacks the
 *        flag.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: communicator is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: address is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: csp_handle is NULL.
 * @retval DAT_COMM_NOT_SUPPORTED the communicator is none of those above.
 * @retval DAT_INVALID_ADDRESS DAT_INVALID_ADDRESS_UNSUPPORTED or DAT_INVALID_ADDRESS_MALFORMED: a
 *        foreign address or another family.
 * @retval DAT_PORT_IN_USE somebody listens on the port, or on the qualifier of the same number.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider has no common service points; so says
 *        DAT_NOT_IMPLEMENTED.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_DEVICE is short.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COMM *communicator,
					     IN DAT_IA_ADDRESS_PTR address,
					     IN DAT_EVD_HANDLE evd_handle,
					     OUT DAT_CSP_HANDLE *csp_handle);

/**
 * Read the parameters of a common service point.
 *
 * comm and address_ptr point to memory of the provider that lives until the service point is freed
 * (CSP-6).
 *
 * @param csp_handle a common service point.
 * @param csp_param_mask fields wanted, an OR of DAT_CSP_FIELD_ values; 0 for none.
 * @param csp_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CSP: csp_handle is not a live common service
 *        point.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: csp_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_query(IN DAT_CSP_HANDLE csp_handle,
					    IN DAT_CSP_PARAM_MASK csp_param_mask,
					    OUT DAT_CSP_PARAM *csp_param);

/**
 * Stop listening and destroy a common service point; requests announced before stay (CSP-7).
 *
 * @param csp_handle a common service point; not valid after success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the service point is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CSP: csp_handle is not a live common service
 *        point.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_free(IN DAT_CSP_HANDLE csp_handle);

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
 *        DAT_INVALID_HANDLE_EP: ep_handle is not what CR-10..CR-12 ask for.
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

#endif /* DAT_SP_H */
