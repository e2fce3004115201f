/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Taking DTO completions: by waiting, by polling, or through a CNO. */
#ifndef DAPLTEST_REAP_H
#define DAPLTEST_REAP_H

#include <dat/udat.h>
#include <stdbool.h>
#include <stdint.h>

#include "report.h"

enum dt_reap_mode {
	DT_REAP_WAIT,
	DT_REAP_POLL,
	DT_REAP_CNO,
};

struct dt_reaper {
	enum dt_reap_mode mode;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno; /* DT_REAP_CNO only */
};

/*
 * Takes the next completion, whatever its status. A time-out is a failure, which names `what`; so
 * is any event that is no DTO completion.
 */
int dt_reap(struct dt_actor *actor, const struct dt_reaper *reaper, const char *what,
	    uint64_t deadline, DAT_DTO_COMPLETION_EVENT_DATA *dto);

/* The same, and an unsuccessful completion is a failure too. */
int dt_reap_success(struct dt_actor *actor, const struct dt_reaper *reaper, const char *what,
		    uint64_t deadline, DAT_DTO_COMPLETION_EVENT_DATA *dto);

int dt_bad_status(struct dt_actor *actor, const char *what,
		  const DAT_DTO_COMPLETION_EVENT_DATA *dto);

#endif
