/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT return codes, and the one place where an errno becomes one. */
#ifndef DAPL_STATUS_H
#define DAPL_STATUS_H

#include <dat/udat.h>

#define dapl_fail(type, subtype) ((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

#define DAPL_BAD_HANDLE(kind)  dapl_fail(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##kind)
#define DAPL_BAD_ARG(n)	       dapl_fail(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + (n)-1)
#define DAPL_BAD_STATE(state)  dapl_fail(DAT_INVALID_STATE, DAT_INVALID_STATE_##state)
#define DAPL_NO_RESOURCE(kind) dapl_fail(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_##kind)
#define DAPL_NO_MODEL	       dapl_fail(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
#define DAPL_NOT_IMPLEMENTED   dapl_fail(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)

/* The bare forms of EVD-1: shipped programs compare the whole word. */
#define DAPL_QUEUE_EMPTY     ((DAT_RETURN)DAT_QUEUE_EMPTY)
#define DAPL_TIMEOUT_EXPIRED ((DAT_RETURN)DAT_TIMEOUT_EXPIRED)

/*
 * The code for a transport's negative errno; 0 is DAT_SUCCESS. resource is the DAT_RESOURCE_*
 * subtype for a shortage of what the call wanted from the adapter; a shortage of host memory is
 * always DAT_RESOURCE_MEMORY.
 */
DAT_RETURN dapl_status(int err, DAT_RETURN_SUBTYPE resource);

#endif
