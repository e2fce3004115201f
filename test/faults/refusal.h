/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Return codes of calls below which something failed. */
#ifndef FAULTS_REFUSAL_H
#define FAULTS_REFUSAL_H

#include <stdbool.h>

#include <dat2/udat.h>

/* What a call may answer where the system refuses something. */
bool refusal_is(DAT_RETURN rc);
/* Both its names; until the next call. */
const char *refusal_name(DAT_RETURN rc);

#endif
