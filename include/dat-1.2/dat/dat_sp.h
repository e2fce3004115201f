/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_sp.h
 * Service points and connection requests.
 */
#ifndef DAT_1_2_DAT_SP_H
#define DAT_1_2_DAT_SP_H

#include "dat_types.h"

/** Whether a public service point's requests bring an endpoint of the provider. */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG = 0x0,
	DAT_PSP_PROVIDER_FLAG = 0x1
} DAT_PSP_FLAGS;

/** Parameters of a public service point, and which are asked for. */
typedef struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE = 0x1,
	DAT_PSP_FIELD_CONN_QUAL = 0x2,
	DAT_PSP_FIELD_EVD_HANDLE = 0x4,
	DAT_PSP_FIELD_PSP_FLAGS = 0x8,
	DAT_PSP_FIELD_ALL = 0xf
} DAT_PSP_PARAM_MASK;

/** Parameters of a reserved service point, and which are asked for. */
typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE = 0x1,
	DAT_RSP_FIELD_CONN_QUAL = 0x2,
	DAT_RSP_FIELD_EVD_HANDLE = 0x4,
	DAT_RSP_FIELD_EP_HANDLE = 0x8,
	DAT_RSP_FIELD_ALL = 0xf
} DAT_RSP_PARAM_MASK;

/** Parameters of a connection request, and which are asked for. */
typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle; /**< the one an RSP or the provider gave */
} DAT_CR_PARAM;

typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x1,
	DAT_CR_FIELD_REMOTE_PORT_QUAL = 0x2,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE = 0x4,
	DAT_CR_FIELD_PRIVATE_DATA = 0x8,
	DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,
	DAT_CR_FIELD_ALL = 0x1f
} DAT_CR_PARAM_MASK;

DAT_BEGIN_DECLS

/** Read the parameters of a connection request. */
extern DAT_RETURN dat_cr_query(IN DAT_CR_HANDLE cr_handle, IN DAT_CR_PARAM_MASK cr_param_mask,
			       OUT DAT_CR_PARAM *cr_param);

/** Accept a connection request, with private data for the peer or 0 and NULL. */
extern DAT_RETURN dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
				IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data);

/** Refuse a connection request. */
extern DAT_RETURN dat_cr_reject(IN DAT_CR_HANDLE cr_handle);

/** Give a connection request to another qualifier of this host. */
extern DAT_RETURN dat_cr_handoff(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff);

/** Listen on a connection qualifier. */
extern DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
				 IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
				 OUT DAT_PSP_HANDLE *psp_handle);

/** Listen on a connection qualifier that the provider chooses. */
extern DAT_RETURN dat_psp_create_any(IN DAT_IA_HANDLE ia_handle, OUT DAT_CONN_QUAL *conn_qual,
				     IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
				     OUT DAT_PSP_HANDLE *psp_handle);

/** Read the parameters of a public service point. */
extern DAT_RETURN dat_psp_query(IN DAT_PSP_HANDLE psp_handle, IN DAT_PSP_PARAM_MASK psp_param_mask,
				OUT DAT_PSP_PARAM *psp_param);

/** Stop listening. */
extern DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

/** Wait for one connection request, with the endpoint for it. */
extern DAT_RETURN dat_rsp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
				 IN DAT_EP_HANDLE ep_handle, IN DAT_EVD_HANDLE evd_handle,
				 OUT DAT_RSP_HANDLE *rsp_handle);

/** Read the parameters of a reserved service point. */
extern DAT_RETURN dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle, IN DAT_RSP_PARAM_MASK rsp_param_mask,
				OUT DAT_RSP_PARAM *rsp_param);

/** Stop waiting for it. */
extern DAT_RETURN dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

DAT_END_DECLS

#endif /* DAT_1_2_DAT_SP_H */
