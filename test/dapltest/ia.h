/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The interface adapter of this process and the address of the server. */
#ifndef DAPLTEST_IA_H
#define DAPLTEST_IA_H

#include <dat/udat.h>
#include <sys/socket.h>

#include "report.h"

struct dt_ia {
	DAT_IA_HANDLE handle;
	DAT_EVD_HANDLE async_evd;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
};

/* Puts the name of the static registry's first entry into `name`, which has room for any. */
int dt_ia_first(struct dt_actor *actor, char *name);

int dt_ia_open(struct dt_actor *actor, struct dt_ia *ia, const char *name);

/* Reports the asynchronous errors that have come in since the last call. */
void dt_ia_report_async(const struct dt_actor *actor, const struct dt_ia *ia);

/* Gracefully; what is left in it is an error, reported, and taken down abruptly. */
int dt_ia_close(struct dt_actor *actor, struct dt_ia *ia);

/* Prints the limits of the adapter, for -d. */
void dt_ia_print(const struct dt_ia *ia);

/*
 * Resolves a host name or address to an address of the given family or, where it has none, of
 * another one.
 */
int dt_resolve(struct dt_actor *actor, const char *host, int family,
	       struct sockaddr_storage *address);

/* The address as text, for NI_MAXHOST bytes of it. */
void dt_address_print(const struct sockaddr_storage *address, char *text);

#endif
