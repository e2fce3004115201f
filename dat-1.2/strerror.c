/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat-1.2/convert.h"

/*
 * The texts are those of DAT 2.0: the names of the same codes. A number that DAT 2.0 does not give
 * to any of DAT 1.2 is unknown (D12-35 to D12-37).
 */
static DAT_RETURN new_word(DAT_RETURN old)
{
	DAT_UINT32 subtype = DAT_GET_SUBTYPE(old), type = DAT_GET_TYPE(old), new = 0;

	if (type > DAT_CONN_QUAL_UNAVAILABLE && type != DAT_NOT_IMPLEMENTED)
		return DAT_EXTENSION_BASE;
	while (new <= DAT_THREAD_SAFETY_NOT_FOUND && dat12_subtype(new) != subtype)
		new ++;
	return new > DAT_THREAD_SAFETY_NOT_FOUND ? DAT_EXTENSION_BASE : type | new;
}

DAT_RETURN dat12_strerror(DAT_RETURN value, const char **major_message, const char **minor_message)
{
	DAT_RETURN rc = dat_strerror(new_word(value), major_message, minor_message);

	if (rc == DAT_SUCCESS)
		return rc;
	if (major_message)
		*major_message = "unknown code";
	if (minor_message)
		*minor_message = "";
	return dat12_failure(rc);
}
