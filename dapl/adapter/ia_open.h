/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening, asking and closing an interface adapter. */
#ifndef DAPL_IA_OPEN_H
#define DAPL_IA_OPEN_H

#include "dapl/object/entries.h"
#include "dapl/object/ia.h"

extern const struct dapl_class dapl_ia_class;

/* An IA with device and loop, without async EVD; class is that of IAs or of queries. */
DAT_RETURN dapl_ia_new(struct dapl_entry *entry, const struct dapl_class *class,
		       struct dapl_ia **out);
/* It is retired and has no objects any more. */
void dapl_ia_delete(struct dapl_ia *ia);
/* Fills what is not NULL. */
void dapl_ia_fill(struct dapl_ia *ia, DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR *provider_attr);

DAT_RETURN dapl_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia_handle);
DAT_RETURN dapl_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			 DAT_PROVIDER_ATTR_MASK provider_mask, DAT_PROVIDER_ATTR *provider_attr);
DAT_RETURN dapl_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags);
DAT_RETURN dapl_ia_ha_related(DAT_IA_HANDLE ia_handle, const DAT_NAME_PTR name,
			      DAT_BOOLEAN *answer);
DAT_RETURN dapl_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN dapl_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);
DAT_RETURN dapl_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type);

#endif
