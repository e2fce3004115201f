/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entries of dat.conf that this module serves, and the IAs open through them. */
#ifndef DAPL_ENTRIES_H
#define DAPL_ENTRIES_H

#include "dapl/object/object.h"

struct dapl_entry {
	DAT_PROVIDER table; /* what every object of its IAs points to */
	DAT_PROVIDER_INFO info;
	char *params; /* field 7 */
	struct dapl_entry *next;
};

/*
 * Registers the entry that info and params name: the one of before, since a thread may be reading
 * the table of a handle whose IA is being closed, or a new one with a copy of table. NULL: no
 * memory.
 */
struct dapl_entry *dapl_entry_add(const DAT_PROVIDER_INFO *info, const char *params,
				  const DAT_PROVIDER *table);
/* Takes it out of the list: where several have that key, the one that libdat2 has called fini for.
 * NULL: it is not there. */
struct dapl_entry *dapl_entry_remove(const DAT_PROVIDER_INFO *info);
/* libdat2 has forgotten it: it may be registered again. */
void dapl_entry_retire(struct dapl_entry *entry);

/* The entry of that name that is being opened, or NULL. Release 2.1.10's libdat2 does not tell
 * which that is: there it is the one of that name that was registered last. */
struct dapl_entry *dapl_entry_find(const char *ia_name);
/* Calls each for the name of every entry. */
void dapl_entry_each(void (*each)(void *arg, const char *ia_name), void *arg);

/* The list of open IAs. */
void dapl_open_add(struct dapl_ia *ia);
void dapl_open_remove(struct dapl_ia *ia);
/* Calls each for every open IA; none is opened or closed meanwhile. */
void dapl_open_each(void (*each)(void *arg, struct dapl_ia *ia), void *arg);

#endif
