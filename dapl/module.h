/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entries of dat.conf that this module serves, and the IAs open through them. */
#ifndef DAPL_PROVIDER_H
#define DAPL_PROVIDER_H

#include "dapl/object/object.h"

struct dapl_evd;
struct dapl_ia;

struct dapl_provider {
	DAT_PROVIDER
	table; /* what every object of its IAs points to; a copy of the const template */
	DAT_PROVIDER_INFO info;
	char *params; /* field 7 */
	struct dapl_provider *next;
};

/* The entry of that name that is being opened, or NULL. Release 2.1.10's libdat2 does not tell
 * which that is: there it is the one of that name that was registered last. */
struct dapl_provider *dapl_provider_find(const char *ia_name);

/* Calls each for the name of every entry. */
void dapl_provider_each(void (*each)(void *arg, const char *ia_name), void *arg);

/* Calls each for every open IA; none can be closed meanwhile. */
void dapl_provider_each_ia(void (*each)(void *arg, struct dapl_ia *ia), void *arg);

/* The list of open IAs. */
void dapl_provider_opened(struct dapl_ia *ia);
/* It gives up an async EVD that is not its own (IA-85). */
void dapl_provider_closing(struct dapl_ia *ia);
void dapl_provider_closed(struct dapl_ia *ia);
/* An EVD is about to go: no IA sends its asynchronous events, nor an EP of another one its
 * connection events there any more (IA-10). */
void dapl_provider_forget_evd(struct dapl_evd *evd);

#endif
