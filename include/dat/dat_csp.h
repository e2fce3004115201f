/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_csp.h
 * Common service points, which listen on an address and port, socket fashion.
 */
#ifndef DAT_CSP_H
#define DAT_CSP_H

#include "dat_types.h"

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

DAT_BEGIN_DECLS

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

DAT_END_DECLS

#endif /* DAT_CSP_H */
