/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_vendor_specific.h
 * Vendor attributes. DAT 1.2 names none.
 */
#ifndef DAT_1_2_DAT_VENDOR_SPECIFIC_H
#define DAT_1_2_DAT_VENDOR_SPECIFIC_H

#include "dat_types.h"

#endif /* DAT_1_2_DAT_VENDOR_SPECIFIC_H */
