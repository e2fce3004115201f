/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_sp.h
 * The passive side: public, reserved and common service points and the connection requests that
 * arrive at them.
 */
#ifndef DAT_SP_H
#define DAT_SP_H

#include "dat_types.h"
#include "dat_csp.h"
#include "dat_cr.h"

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
 * @param conn_qual qualifier in host byte order, not 0; 1024 to 65535 are portable. Where the
 *        adapter has ports for qualifiers, a larger one becomes its value modulo 32001 plus 33534,
 *        here as in dat_ep_connect, so that two large ones may meet; in strict mode it is refused.
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

DAT_END_DECLS

#endif /* DAT_SP_H */
