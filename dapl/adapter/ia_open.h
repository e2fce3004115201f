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
DAPL_CALL(ia_query);
DAPL_CALL(ia_close);
DAT_RETURN dapl_ia_ha_related(DAT_IA_HANDLE ia_handle, const DAT_NAME_PTR name,
			      DAT_BOOLEAN *answer);
DAPL_CALL(set_consumer_context);
DAPL_CALL(get_consumer_context);
DAPL_CALL(get_handle_type);

#endif
