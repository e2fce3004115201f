/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts of return codes, for messages. dat_strerror gives their names. */
#ifndef DAT_STRERROR_H
#define DAT_STRERROR_H

#include "dat/internal.h"

const char *dat_type_text(DAT_RETURN value);

/* "" if there is no subtype. */
const char *dat_subtype_text(DAT_RETURN value);

#endif
