/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations of the InfiniBand extension. */
#ifndef DAPL_EXT_H
#define DAPL_EXT_H

#include <stdarg.h>

#include <dat/udat.h>

/*
 * What dat_extension_op comes to. args begins with the first variadic argument; a case reads its
 * own, in the order of its macro in dat_ib_extensions.h, and whoever answers checks handle and
 * whether the adapter is announced with the extension (IBX-9, IBX-11).
 */
DAT_RETURN dapl_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

#endif
