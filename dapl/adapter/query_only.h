/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_ib_open_query and dat_ib_close_query. */
#ifndef DAPL_QUERY_H
#define DAPL_QUERY_H

#include <dat/udat.h>

/* The arguments of the macro. */
struct dapl_open_query {
	const char *name;
	DAT_HANDLE *handle;
	DAT_IA_ATTR_MASK ia_mask;
	DAT_IA_ATTR *ia_attr;
	DAT_PROVIDER_ATTR_MASK provider_mask;
	DAT_PROVIDER_ATTR *provider_attr;
};

DAT_RETURN dapl_ext_open_query(const struct dapl_open_query *query);
DAT_RETURN dapl_ext_close_query(DAT_HANDLE handle);

#endif
