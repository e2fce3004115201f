/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a program reads from the libraries, a line each: where, name, value. */
#ifndef ATTRIBUTES_H
#define ATTRIBUTES_H

#include <dat2/udat.h>

void tell(const char *where, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void tell_number(const char *where, const char *name, long long value);
/* A return value: its class, or DAT_SUCCESS. */
void tell_return(const char *where, DAT_RETURN rc);
/* A handle: given, null or other. */
void tell_handle(const char *where, const char *name, DAT_HANDLE handle, DAT_HANDLE given);
/* An address: own, peer's, null, or family and text. */
void tell_address(const char *where, const char *name, DAT_IA_ADDRESS_PTR address);
void tell_named(const char *where, const char *kind, DAT_COUNT num, const DAT_NAMED_ATTR *attr);

#define NUMBER(where, structure, field) tell_number(where, #field, (long long)(structure).field)

struct world {
	char *name;
	DAT_IA_HANDLE ia;
	DAT_IA_ADDRESS_PTR address, peer;
	DAT_COUNT max_private;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, req_evd;
};

extern struct world world;

/* What must work in any library. */
void must(const char *what, DAT_RETURN rc);
/* All of an endpoint's parameters. */
void tell_ep(const char *where, DAT_EP_HANDLE ep, DAT_PZ_HANDLE pz, DAT_SRQ_HANDLE srq);

/* attributes_ia.c */
void adapter(void);
/* attributes_conn.c: what is read on either side of connections. */
void serve(void);
void call(const char *server);

#endif
