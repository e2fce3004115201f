/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One live object of everything, for programs that call each function with wrong arguments; and a
 * tally of such calls, which survives a call that crashes.
 */
#ifndef WORLD_H
#define WORLD_H

#include "harness.h"

#include <signal.h>

struct world {
	struct ct_ia ia;
	DAT_PZ_HANDLE pz;
	struct ct_mem mem;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE soft, dto, connect, requests; /* dispatchers by what they carry */
	DAT_EP_HANDLE ep;			     /* unconnected, with all it needs */
	struct ct_end a, p;			     /* connected to each other */
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE reserved; /* the endpoint of the next */
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;    /* from the next */
	struct ct_end asker; /* pending */
	DAT_EP_ATTR attr;    /* good ones, to be changed */
};

/* cmocka set-up and tear-down; *state is the world. */
int world_setup(void **state);
int world_teardown(void **state);

/* Everything is still there and works. */
void world_is_well(struct world *world);

/* ---- The tally ---- */

extern sigjmp_buf world_jump;

/* Between the two, a fault jumps to world_jump. */
void world_tally_begin(void);
/* Fails the test if a call crashed or returned something else; at least so many calls must have
 * been made. */
void world_tally_end(int at_least);

/* optional: a refusal as not supported is as good (GEN-10). */
void world_tally(DAT_RETURN rc, bool crashed, DAT_RETURN type, int subtype, bool optional,
		 const char *what, int line);

#define TALLY_AS(call, type, subtype, optional, what)                                             \
	do {                                                                                      \
		volatile DAT_RETURN rc_ = DAT_SUCCESS;                                            \
		volatile bool crashed_ = true;                                                    \
		if (sigsetjmp(world_jump, 1) == 0) {                                              \
			rc_ = (call);                                                             \
			crashed_ = false;                                                         \
		}                                                                                 \
		world_tally(rc_, crashed_, (type), (int)(subtype), (optional), (what), __LINE__); \
	} while (0)

#define TALLY(call, type, subtype)	    TALLY_AS(call, type, subtype, false, #call)
#define TALLY_OPTIONAL(call, type, subtype) TALLY_AS(call, type, subtype, true, #call)
#define BAD_ARGUMENT(call, n)		    TALLY(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

#endif
