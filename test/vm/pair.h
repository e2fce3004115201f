/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two connected endpoints of one adapter in one process, and registered memory for each. Uses what
 * release 2.1.10 exports only. Whatever fails is told on standard error and ends the process.
 */
#ifndef VM_PAIR_H
#define VM_PAIR_H

#include <dat2/udat.h>

#define PAIR_MEMORY ((size_t)1 << 20)

struct pair_side {
	DAT_EVD_HANDLE conn, request, recv;
	DAT_EP_HANDLE ep;
	unsigned char *memory; /* PAIR_MEMORY bytes */
};

struct pair_listener {
	DAT_EVD_HANDLE requests;
	DAT_PSP_HANDLE psp;
};

struct pair {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	unsigned char *memory;
	DAT_EP_ATTR *attr; /* of endpoints to come; NULL: the provider's */
	struct pair_side side[2];
};

void pair_ok(const char *what, DAT_RETURN rc);
void pair_evd(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
/* Opens the adapter and connects side 0 to side 1. */
void pair_open(struct pair *pair, const char *ia_name);
void pair_close(struct pair *pair);
/* A service point, as long as it is wanted. */
void pair_listen(const struct pair *pair, struct pair_listener *listener);
void pair_unlisten(struct pair_listener *listener);
/* A side without endpoint; the end of it. */
void pair_side_evds(const struct pair *pair, struct pair_side *side);
void pair_side_close(struct pair_side *side);
/* Endpoints for both sides: made, connected, disconnected and freed. */
void pair_meet(const struct pair *pair, const struct pair_listener *listener,
	       struct pair_side *active, struct pair_side *passive);
/* The first length bytes of a side's memory, here and as the other side names them. */
DAT_LMR_TRIPLET pair_local(const struct pair *pair, int side, size_t length);
DAT_RMR_TRIPLET pair_remote(const struct pair *pair, int side, size_t length);

#endif
