/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_sp.h
 * The passive side: public, reserved and common service points and the connection requests that
 * arrive at them.
 */
#ifndef DAT_SP_H
#define DAT_SP_H

#include "dat_types.h"

typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG = 0,
	DAT_PSP_PROVIDER_FLAG = 1
} DAT_PSP_FLAGS;

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

typedef struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COMM *comm;
	DAT_IA_ADDRESS_PTR address_ptr;
	DAT_EVD_HANDLE evd_handle;
} DAT_CSP_PARAM;

typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE = 0x1,
	DAT_CSP_FIELD_COMM = 0x2,
	DAT_CSP_FIELD_IA_ADDRESS = 0x4,
	DAT_CSP_FIELD_EVD_HANDLE = 0x8,
	DAT_CSP_FIELD_ALL = 0xf
} DAT_CSP_PARAM_MASK;

typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle;
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

DAT_EXPORT DAT_RETURN DAT_API dat_psp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
					     IN DAT_EVD_HANDLE evd_handle,
					     IN DAT_PSP_FLAGS psp_flags,
					     OUT DAT_PSP_HANDLE *psp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_psp_create_any(IN DAT_IA_HANDLE ia_handle,
						 OUT DAT_CONN_QUAL *conn_qual,
						 IN DAT_EVD_HANDLE evd_handle,
						 IN DAT_PSP_FLAGS psp_flags,
						 OUT DAT_PSP_HANDLE *psp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_psp_query(IN DAT_PSP_HANDLE psp_handle,
					    IN DAT_PSP_PARAM_MASK psp_param_mask,
					    OUT DAT_PSP_PARAM *psp_param);

DAT_EXPORT DAT_RETURN DAT_API dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_rsp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
					     IN DAT_EP_HANDLE ep_handle,
					     IN DAT_EVD_HANDLE evd_handle,
					     OUT DAT_RSP_HANDLE *rsp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle,
					    IN DAT_RSP_PARAM_MASK rsp_param_mask,
					    OUT DAT_RSP_PARAM *rsp_param);

DAT_EXPORT DAT_RETURN DAT_API dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_csp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COMM *communicator,
					     IN DAT_IA_ADDRESS_PTR address,
					     IN DAT_EVD_HANDLE evd_handle,
					     OUT DAT_CSP_HANDLE *csp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_csp_query(IN DAT_CSP_HANDLE csp_handle,
					    IN DAT_CSP_PARAM_MASK csp_param_mask,
					    OUT DAT_CSP_PARAM *csp_param);

DAT_EXPORT DAT_RETURN DAT_API dat_csp_free(IN DAT_CSP_HANDLE csp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cr_query(IN DAT_CR_HANDLE cr_handle,
					   IN DAT_CR_PARAM_MASK cr_param_mask,
					   OUT DAT_CR_PARAM *cr_param);

DAT_EXPORT DAT_RETURN DAT_API dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
					    IN DAT_COUNT private_data_size,
					    IN const DAT_PVOID private_data);

DAT_EXPORT DAT_RETURN DAT_API dat_cr_reject(IN DAT_CR_HANDLE cr_handle,
					    IN DAT_COUNT private_data_size,
					    IN const DAT_PVOID private_data);

DAT_EXPORT DAT_RETURN DAT_API dat_cr_handoff(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff);

DAT_END_DECLS

#endif /* DAT_SP_H */
