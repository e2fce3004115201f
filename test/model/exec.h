/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes the calls of one side. Knows the library and nothing of what is right. */
#ifndef EXEC_H
#define EXEC_H

#include <dat2/udat.h>

#include "test/model/call.h"

/* What a side tells of itself when it was opened. */
struct exec_facts {
	uint32_t buffer_key, cell_key;
	uint32_t has_rmr, has_srq, resizes_srqs, has_atomic, has_immediate, receives_first;
	uint32_t segments, read_segments, write_segments;
	/* An answer that its asker's end meets, even when all of it is sent, looks as one that was
	 * not allowed. */
	uint32_t fails_answers;
	uint32_t connecting_first; /* that side has to send first (RFC 5044) */
	uint32_t gives_up;	   /* the device, on a request that is not answered for seconds */
	uint32_t resets;	   /* a peer that takes in nothing */
	uint32_t linger_ms;	   /* for so long */
	uint32_t ordered;	   /* the last byte of a write comes last */
};

struct exec;

/*
 * Opens the adapter; null, and the reason on standard error. arena has ARENA_BYTES. threaded: calls
 * are made at once, and an endpoint may be freed while its event is looked at.
 */
struct exec *exec_open(const char *ia_name, uint8_t *arena, bool threaded,
		       struct exec_facts *facts);
void exec_call(struct exec *exec, const struct call *call, struct result *result);
/* Closes gracefully: everything must have been freed. */
uint32_t exec_close(struct exec *exec);

#endif
