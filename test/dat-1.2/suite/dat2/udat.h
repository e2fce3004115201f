/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * DAT 1.2 for the programs of test/conformance, which include <dat2/udat.h>: with this folder first on
 * the command line they become programs of DAT 1.2. What only has another name or place there is said
 * here; what 1.2 lacks stays undeclared, and whoever needs it is not in the list of Makemodule.am.
 */
#ifndef SUITE_UDAT_H
#define SUITE_UDAT_H

#define target_address virtual_address /* of an RMR triplet */
#include "dat-1.2/dat/udat.h"

typedef DAT_VLEN DAT_SEG_LENGTH;

/* Events do not say what completed. */
typedef enum suite_dtos {
	DAT_DTO_SEND,
	DAT_DTO_RDMA_WRITE,
	DAT_DTO_RDMA_READ,
	DAT_DTO_RECEIVE
} DAT_DTOS;

typedef enum suite_scope {
	DAT_RMR_SCOPE_EP,
	DAT_RMR_SCOPE_PZ,
	DAT_RMR_SCOPE_ANY
} DAT_RMR_SCOPE;
typedef enum suite_va {
	DAT_VA_TYPE_VA,
	DAT_VA_TYPE_ZB
} DAT_VA_TYPE;

/* All connections are plainly connected. */
#define DAT_EP_STATE_CONNECTED_SINGLE_PATH DAT_EP_STATE_CONNECTED
#define DAT_EP_STATE_CONNECTED_MULTI_PATH  DAT_EP_STATE_CONNECTED

#define DAT_HANDLE_TYPE_EXTENSION_BASE	     ((DAT_HANDLE_TYPE)(DAT_HANDLE_TYPE_SRQ + 1))
#define DAT_CONNECT_MULTIPATH_REQUESTED_FLAG DAT_CONNECT_MULTIPATH_FLAG

/* Without the arguments that 1.2 has not. */
#define dat_lmr_create(ia, type, region, len, pz, priv, va_type, ...) \
	((void)(va_type), dat_lmr_create(ia, type, region, len, pz, priv, __VA_ARGS__))
#define dat_rmr_bind(rmr, lmr, triplet, priv, va_type, ...) \
	((void)(lmr), (void)(va_type), dat_rmr_bind(rmr, triplet, priv, __VA_ARGS__))
#define dat_cr_reject(cr, size, data)  dat_cr_reject(cr)
#define dat_rmr_create_for_ep(pz, rmr) dat_rmr_create(pz, rmr) /* D12-94 */

#endif
