/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_iw_extensions.h
 * The iWARP extension: connections over a TCP socket that two programs have connected and spoken
 * over. Every call is a macro over dat_extension_op.
 *
 * The passive side makes a socket service point, which sends the peer one last message in streaming
 * mode; the active side, once it has read that, connects its endpoint over its own socket. Both
 * sides then go on with the start-up of MPA (RFC 5044 section 7.1) on the socket (IWX-1..IWX-14).
 */
#ifndef DAT_IW_EXTENSIONS_H
#define DAT_IW_EXTENSIONS_H

#include "udat.h"

/** Provider attribute that says "TRUE" where the calls work, else "FALSE" (IWX-2). */
#define DAT_IW_ATTR_SSP "DAT_IW_ATTR_SSP"

/** Provider attributes of extensions, and the version of this one. */
#define DAT_EXTENSION_ATTR		 "DAT_EXTENSION_INTERFACE"
#define DAT_EXTENSION_ATTR_VERSION	 "DAT_EXTENSION_VERSION"
#define DAT_EXTENSION_ATTR_VERSION_VALUE "2.0.1"

/**
 * Operations of dat_extension_op. They are not numbered from 0, as those of the InfiniBand
 * extension are, so that one adapter can have both extensions; the draft's macros could not be
 * compiled, so no program knows its numbers.
 */
typedef enum dat_iw_op {
	DAT_IW_SSP_CREATE_OP = 0x100,
	DAT_IW_SSP_FREE_OP = 0x101,
	DAT_IW_SSP_QUERY_OP = 0x102,
	DAT_IW_SOCKET_CONNECT_OP = 0x103
} DAT_IW_OP;

/**
 * Kinds of handles. The draft's DAT_HANDLE_TYPE_EXTENSION_BASE is DAT_IB_HANDLE_TYPE_EXT of the
 * InfiniBand extension: this is the first value that is free.
 */
typedef enum dat_handle_iw_ext_type {
	DAT_IW_HANDLE_TYPE_SSP = DAT_HANDLE_TYPE_EXTENSION_BASE + 2
} DAT_HANDLE_IW_EXT_TYPE;

/** Socket service point. */
typedef DAT_HANDLE DAT_IW_SSP_HANDLE;

/** Whether a socket service point can still generate a request (IWX-9). */
typedef enum dat_iw_ssp_state {
	DAT_IW_SSP_STATE_OPERATIONAL,	 /**< it waits for the peer's request */
	DAT_IW_SSP_STATE_NON_OPERATIONAL /**< the request came, or none comes any more */
} DAT_IW_SSP_STATE;

/** Descriptor of a connected TCP socket. */
typedef int DAT_IW_SOCKET;

/** Parameters of a socket service point. */
typedef struct dat_iw_ssp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_IW_SOCKET socket_id; /**< as given; the program may have closed it since */
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle; /**< DAT_HANDLE_NULL: the provider makes one */
	DAT_IW_SSP_STATE ssp_state;
} DAT_IW_SSP_PARAM;

/** Fields of DAT_IW_SSP_PARAM. */
typedef enum dat_iw_ssp_param_mask {
	DAT_IW_SSP_FIELD_IA_HANDLE = 0x01,
	DAT_IW_SSP_FIELD_SOCKET_ID = 0x02,
	DAT_IW_SSP_FIELD_EVD_HANDLE = 0x04,
	DAT_IW_SSP_FIELD_EP_HANDLE = 0x08,
	DAT_IW_SSP_FIELD_SSP_STATE = 0x10,
	DAT_IW_SSP_FIELD_ALL = 0x1F
} DAT_IW_SSP_PARAM_MASK;
DAT_CXX_FLAGS(DAT_IW_SSP_PARAM_MASK, DAT_IW_SSP_PARAM_MASK)

/**
 * Make a service point of a connected TCP socket.
 *
 * The socket becomes the provider's on success: it has a descriptor of its own, so that the program
 * may close its one, and the program must not read from or write to the socket any more (IWX-5).
 * The last message goes out as plain bytes, in the background where the socket has no room, and
 * then the peer's MPA Request is awaited, each byte that lies in the socket already being part of
 * it (IWX-7, IWX-8). With the request the endpoint goes from DAT_EP_STATE_RESERVED to
 * DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, as with dat_rsp_create; dat_cr_accept or dat_cr_reject
 * answers. On failure nothing was done to the socket.
 *
 * @param ia an open adapter.
 * @param socket_id a connected TCP socket over IPv4 or IPv6, of any address (IWX-4).
 * @param ep_handle an unconnected endpoint of this adapter, not a datagram one; DAT_HANDLE_NULL to
 *        have the provider make one on arrival.
 * @param evd_handle dispatcher of this adapter with DAT_EVD_CR_FLAG; never NULL.
 * @param final_sm_msg the last message in streaming mode, copied; may be NULL when
 *        final_sm_msg_len is 0.
 * @param final_sm_msg_len its length in bytes; 0 for none.
 * @param ssp_handle DAT_IW_SSP_HANDLE that receives the handle; never NULL.
 *
 * Events: one DAT_CONNECTION_REQUEST_EVENT on evd_handle, with ssp_handle in sp_handle (IWX-8); or
 * one DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR on the endpoint's connect dispatcher where the
 * peer sends no request within the provider's limit, ends the connection or sends something else,
 * and the endpoint is unconnected again (IWX-12).
 * Blocking: no; the limit counts message and request (IWX-11).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the service point waits and the endpoint is reserved.
 * @retval DAT_INVALID_HANDLE the subtype DAT_INVALID_HANDLE_IA, DAT_INVALID_HANDLE_EP or
 *        DAT_INVALID_HANDLE_EVD_CR names the handle that is not live or of another adapter, or the
 *        dispatcher that lacks the flag; DAT_INVALID_HANDLE1: ia is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: socket_id is not a connected TCP socket.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: final_sm_msg is NULL with bytes to send.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: final_sm_msg_len is negative.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: ssp_handle is NULL.
 * @retval DAT_INVALID_STATE the endpoint is not unconnected; the subtype names its state.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_DEVICE is short.
 * @retval DAT_NOT_IMPLEMENTED DAT_IW_ATTR_SSP is not "TRUE".
 */
#define dat_iw_ssp_create(ia, socket_id, ep_handle, evd_handle, final_sm_msg, final_sm_msg_len, \
			  ssp_handle)                                                           \
	dat_extension_op((DAT_IA_HANDLE)(ia), DAT_IW_SSP_CREATE_OP, (DAT_IW_SOCKET)(socket_id), \
			 (DAT_EP_HANDLE)(ep_handle), (DAT_EVD_HANDLE)(evd_handle),              \
			 (DAT_PVOID)(final_sm_msg), (DAT_COUNT)(final_sm_msg_len),              \
			 (DAT_IW_SSP_HANDLE *)(ssp_handle))

/**
 * Free a socket service point.
 *
 * One that still waits ends the connection of its socket, of which the peer sees a reset, and its
 * endpoint is unconnected again; one that is not operational leaves request and connection alone
 * (IWX-10).
 *
 * @param ssp_handle a socket service point; not valid after success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the service point is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE1: ssp_handle is not a live socket service point.
 * @retval DAT_NOT_IMPLEMENTED it is an object of an adapter whose DAT_IW_ATTR_SSP is not "TRUE".
 */
#define dat_iw_ssp_free(ssp_handle) \
	dat_extension_op((DAT_IW_SSP_HANDLE)(ssp_handle), DAT_IW_SSP_FREE_OP)

/**
 * Parameters of a socket service point.
 *
 * @param ssp_handle a socket service point.
 * @param ssp_param_mask fields that are wanted; others may be filled too.
 * @param ssp_param DAT_IW_SSP_PARAM to fill; may be NULL when no field is wanted.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE1: ssp_handle is not a live socket service point.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ssp_param_mask has unknown bits;
 *        DAT_INVALID_ARG4: ssp_param is NULL with fields wanted.
 * @retval DAT_NOT_IMPLEMENTED it is an object of an adapter whose DAT_IW_ATTR_SSP is not "TRUE".
 */
#define dat_iw_ssp_query(ssp_handle, ssp_param_mask, ssp_param)                \
	dat_extension_op((DAT_IW_SSP_HANDLE)(ssp_handle), DAT_IW_SSP_QUERY_OP, \
			 (DAT_IW_SSP_PARAM_MASK)(ssp_param_mask), (DAT_IW_SSP_PARAM *)(ssp_param))

/**
 * Connect an endpoint over a connected TCP socket.
 *
 * Sends the MPA Request on it, so the peer must have said in streaming mode that it waits for that.
 * The socket becomes the provider's on success as with dat_iw_ssp_create, and its peer is the
 * remote address of the endpoint (IWX-5, IWX-13). On failure nothing was done to the socket.
 *
 * @param ep_handle an unconnected endpoint with a protection zone and a connect dispatcher, not a
 *        datagram one.
 * @param socket_id a connected TCP socket over IPv4 or IPv6, of any address (IWX-4).
 * @param timeout microseconds for the whole attempt, or DAT_TIMEOUT_INFINITE; not 0.
 * @param private_data_size bytes at private_data, 0 to max_private_data_size.
 * @param private_data sent to the peer with the request; may be NULL when private_data_size is 0.
 *
 * Events: on the connect dispatcher as for dat_ep_connect: ESTABLISHED, PEER_REJECTED,
 * NON_PEER_REJECTED, UNREACHABLE or TIMED_OUT (EV-3..EV-8).
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the attempt is under way.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ep_handle is not a live endpoint, or a datagram
 *        one; DAT_INVALID_HANDLE1: it is NULL; DAT_INVALID_HANDLE_EVD_CONN: it has no connect
 *        dispatcher.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: socket_id is not a connected TCP socket.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: timeout is 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: private_data_size is out of range;
 *        DAT_INVALID_ARG6: private_data is NULL with bytes to send.
 * @retval DAT_INVALID_STATE the endpoint is not unconnected, or has no protection zone; the subtype
 *        says which.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY or DAT_RESOURCE_TEP is short.
 * @retval DAT_NOT_IMPLEMENTED DAT_IW_ATTR_SSP is not "TRUE".
 */
#define dat_iw_socket_connect(ep_handle, socket_id, timeout, private_data_size, private_data) \
	dat_extension_op((DAT_EP_HANDLE)(ep_handle), DAT_IW_SOCKET_CONNECT_OP,                \
			 (DAT_IW_SOCKET)(socket_id), (DAT_TIMEOUT)(timeout),                  \
			 (DAT_COUNT)(private_data_size), (DAT_PVOID)(private_data))

#endif /* DAT_IW_EXTENSIONS_H */
