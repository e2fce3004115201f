/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "refusal.h"

#include <stdio.h>

bool refusal_is(DAT_RETURN rc)
{
	switch (DAT_GET_TYPE(rc)) {
	case DAT_INSUFFICIENT_RESOURCES:
	case DAT_INTERRUPTED_CALL:
	case DAT_PROVIDER_NOT_FOUND:
	case DAT_CONN_QUAL_IN_USE:
	case DAT_CONN_QUAL_UNAVAILABLE:
	case DAT_INVALID_ADDRESS:
	case DAT_INTERNAL_ERROR:
		return true;
	default:
		return false;
	}
}

const char *refusal_name(DAT_RETURN rc)
{
	static char text[160];
	const char *major = "?", *minor = "?";

	dat_strerror(rc, &major, &minor);
	snprintf(text, sizeof(text), "%s %s", major, minor);
	return text;
}
