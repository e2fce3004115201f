/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/ext.h"

#include <dat/dat_ib_extensions.h>

#include "dapl/status.h"

DAT_RETURN dapl_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	(void)handle;
	(void)args;
	switch ((int)op) {
	default:
		return DAPL_NOT_IMPLEMENTED; /* IBX-10: no argument is read */
	}
}
