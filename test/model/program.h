/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random programs. Each has habits of its own, so that rare steps are common in some. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "test/model/model.h"

struct program {
	uint64_t state;
	uint32_t weight[STEP_COUNT];
	uint32_t max_bytes, max_depth, max_eps, max_evds, max_times;
	bool stopped; /* the other process stands still */
	uint32_t max_wait_us;
	uint32_t stops;	  /* how often it may */
	uint32_t stop_ms; /* at least so long; 0: any time */
	bool trespassed;  /* by the last step, if that was possible */
	bool watches;	  /* memory is polled for writes */
	bool cnos;
	bool lively;	      /* makes what it lacks */
	bool sleeps;	      /* for what is owed; else everything is polled meanwhile */
	uint32_t disconnects; /* how many times as often as usual */
	bool hot;	      /* one counter for all atomics of a side */
};

/* limit_ms: how long a peer may stand still before it is given up. */
void program_start(struct program *p, uint64_t seed, bool two_processes, uint32_t limit_ms);
uint32_t program_random(struct program *p, uint32_t below);
bool program_one_in(struct program *p, uint32_t times);
/* What a step's weight usually is. */
extern const uint32_t program_weights[STEP_COUNT];
/* A step that will often be possible where the model is now. */
void program_next(struct program *p, const struct model *m, struct step *step);

#endif
