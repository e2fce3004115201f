/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAPL_QUERY_ONLY_H
#define DAPL_QUERY_ONLY_H

#include <stdarg.h>

#include <dat/udat.h>

/* dat_ib_open_query, with the arguments behind the operation, and dat_ib_close_query. */
DAT_RETURN dapl_ext_open_query(va_list args);
DAT_RETURN dapl_ext_close_query(DAT_HANDLE handle);

#endif
