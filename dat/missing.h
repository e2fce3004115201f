/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a user is told of a name that nothing serves. */
#ifndef DAT_MISSING_H
#define DAT_MISSING_H

#include "dat/internal.h"

/*
 * Says why an open was answered with rc, a PROVIDER_NOT_FOUND of REG-25: what the file has instead,
 * and which names are near. Once for a name; what was said already, of the file or of a library, is
 * not said again.
 */
void dat_missing_say(const DAT_PROVIDER_INFO *wanted, DAT_RETURN rc);

#endif
