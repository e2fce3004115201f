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

#endif
