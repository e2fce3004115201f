/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the victim: names of DAT values and other helpers, and the healthy connection that
 * runs meanwhile. */
#ifndef INTEROP_VICTIM_H
#define INTEROP_VICTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat2/udat.h>

#include "test/interop/commands.h"

#define SECOND 1000000u /* in the microseconds of a DAT_TIMEOUT */

/* Names without the common prefixes of the type, "?" for a value that has none. */
const char *victim_event_name(DAT_EVENT_NUMBER number);
const char *victim_status_name(DAT_DTO_COMPLETION_STATUS status);
const char *victim_operation_name(DAT_DTOS operation);
const char *victim_state_name(DAT_EP_STATE state);

/* "DAT_SUCCESS", or type/subtype, in a buffer of the calling thread. */
const char *victim_result(DAT_RETURN ret);

/* Descriptors without the one that counts them, and threads: before the first call, now, and once
 * the kernel, which lists a thread for a moment after it was joined, lists no more than before. */
void victim_start_counts(void);
void victim_print_counts(const char *prefix);
void victim_await_threads(void);

struct healthy_report {
	uint64_t rounds;   /* in all */
	int64_t worst_ms;  /* the longest round since the last report */
	const char *fault; /* what went wrong first, NULL if nothing did */
};

/* Connects two endpoints of the process and keeps a thread moving checked data between them. 0 or
 * -1. */
int healthy_start(DAT_IA_HANDLE ia);

/* How many rounds have run, 0 without the healthy connection. */
uint64_t healthy_rounds(void);

/* Waits until more rounds have run, 10 s at most. */
void healthy_wait(unsigned rounds, struct healthy_report *report);

void healthy_stop(void);

#endif
