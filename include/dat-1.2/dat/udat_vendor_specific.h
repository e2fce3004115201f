/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file udat_vendor_specific.h
 * Vendor attributes of the user interface. DAT 1.2 names none.
 */
#ifndef DAT_1_2_UDAT_VENDOR_SPECIFIC_H
#define DAT_1_2_UDAT_VENDOR_SPECIFIC_H

#include "dat_vendor_specific.h"

#endif /* DAT_1_2_UDAT_VENDOR_SPECIFIC_H */
