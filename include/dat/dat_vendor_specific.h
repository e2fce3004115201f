/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_vendor_specific.h
 * Names and values of the vendor attributes of an interface adapter. A program looks them up by
 * name and accepts their absence (VND-1).
 */
#ifndef DAT_VENDOR_SPECIFIC_H
#define DAT_VENDOR_SPECIFIC_H

#include "dat_types.h"

/** "true" where the endpoint attribute DAT_EP_DELAYED_ACK may be set (VND-2). */
#define DAT_VENDOR_DELAYED_ACK_SUPPORTED "delayed_ack_supported"

/** Present where the trace levels can be read and changed while running (VND-3). */
#define DAT_VENDOR_EXTENSION "vendor_extension"

/** Version of that interface, DAT_VENDOR_EXT_VERSION_1_0 (VND-4). */
#define DAT_VENDOR_EXT_VERSION	   "vendor_ext_version"
#define DAT_VENDOR_EXT_VERSION_1_0 "1.0"

/** Attributes whose value is not text but the address of a function (VND-5, VND-6). */
#define DAT_VENDOR_DEBUG_QUERY	"debug_query"
#define DAT_VENDOR_DEBUG_MODIFY "debug_modify"

/** Provider-specific attribute of an endpoint, "true" or "false" (VND-14). */
#define DAT_EP_DELAYED_ACK "delayed_ack"

#endif /* DAT_VENDOR_SPECIFIC_H */
