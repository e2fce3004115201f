/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The habits of a random program. */
#include "test/model/program.h"

#include <string.h>

const uint32_t program_weights[STEP_COUNT] = {
	[STEP_EVD_CREATE] = 6, [STEP_EVD_FREE] = 2,	   [STEP_EVD_RESIZE] = 4,
	[STEP_EVD_QUERY] = 1,  [STEP_POST_SE] = 6,	   [STEP_POLL] = 150,
	[STEP_WAIT] = 12,      [STEP_SP_CREATE] = 6,	   [STEP_SP_FREE] = 2,
	[STEP_SRQ_CREATE] = 6, [STEP_SRQ_FREE] = 1,	   [STEP_SRQ_RESIZE] = 4,
	[STEP_SRQ_QUERY] = 4,  [STEP_SRQ_RECV] = 40,	   [STEP_EP_CREATE] = 20,
	[STEP_EP_FREE] = 8,    [STEP_EP_RESET] = 16,	   [STEP_EP_QUERY] = 12,
	[STEP_CONNECT] = 24,   [STEP_ACCEPT] = 60,	   [STEP_REJECT] = 4,
	[STEP_HANDOFF] = 3,    [STEP_DISCONNECT] = 8,	   [STEP_RECV] = 200,
	[STEP_SEND] = 200,     [STEP_SEND_INVALIDATE] = 8, [STEP_WRITE] = 60,
	[STEP_READ] = 60,      [STEP_FETCH_ADD] = 16,	   [STEP_WRITE_IMMED] = 16,
	[STEP_RMR_CREATE] = 8, [STEP_RMR_BIND] = 40,	   [STEP_RMR_FREE] = 3,
	[STEP_SCRIBBLE] = 16,  [STEP_FILL] = 30,	   [STEP_PAUSE] = 1,
	[STEP_STOP_PEER] = 1,  [STEP_SETTLE] = 4,	   [STEP_CNO_WAIT] = 4,
	[STEP_TRESPASS] = 20,
};

uint32_t program_random(struct program *p, uint32_t below)
{
	p->state ^= p->state >> 12;
	p->state ^= p->state << 25;
	p->state ^= p->state >> 27;
	return (uint32_t)((p->state * 0x2545f4914f6cdd1dULL) >> 33) % (below ? below : 1);
}

bool program_one_in(struct program *p, uint32_t times)
{
	return !program_random(p, times);
}

/* Who waits and does not poll leaves its connections alone in between. */
static void wait_much(struct program *p)
{
	p->weight[STEP_POLL] = program_one_in(p, 2) ? 2 : 20;
	p->weight[STEP_WAIT] = 60;
	p->weight[STEP_SETTLE] = 40;
	p->max_wait_us = 30000;
	p->sleeps = true;
}

/* Few endpoints, and much that is under way on each. */
static void move_much(struct program *p)
{
	p->max_bytes = p->max_bytes < SMALL_BYTES ? SMALL_BYTES : p->max_bytes;
	p->max_depth = 255;
	p->max_times = 64;
	p->max_eps = 2U << program_random(p, 2);
}

/* A connection that may break for a reason hides others. */
static void use_windows(struct program *p)
{
	p->weight[STEP_RMR_CREATE] = 80;
	p->weight[STEP_RMR_BIND] = 600;
	p->weight[STEP_SEND_INVALIDATE] = 200;
	p->weight[STEP_TRESPASS] = program_one_in(p, 2) ? 300 : 30;
}

/* Many add at once, and those who take events see to it; none of them goes early. */
static void count_much(struct program *p)
{
	p->weight[STEP_FETCH_ADD] = p->weight[STEP_POLL] = 600;
	p->weight[STEP_EP_FREE] = p->weight[STEP_EP_RESET] = 2;
	p->weight[STEP_SETTLE] = 20;
	p->disconnects = 1;
	p->max_eps = 16;
	p->max_depth = 255;
	p->max_times = 64;
	p->hot = true;
}

/* Connections that end as soon as something was sent on them. */
static void come_and_go(struct program *p)
{
	p->weight[STEP_CONNECT] = p->weight[STEP_ACCEPT] = 200;
	p->weight[STEP_EP_RESET] = 100;
	p->disconnects = 12;
	p->max_times = 64;
}

/*
 * For any time, or for longer than a limit, behind more than a window takes in: more often where
 * the limit is short.
 */
static void stand_still(struct program *p, uint32_t limit_ms)
{
	p->stops = limit_ms < 1000 ? 12 : 1;
	if (program_one_in(p, 3))
		return;
	p->stop_ms = 2 * limit_ms;
	p->max_bytes = program_one_in(p, 2) ? 16384 : BIG_BYTES;
	p->max_depth = 255;
}

void program_start(struct program *p, uint64_t seed, bool two_processes, uint32_t limit_ms)
{
	static const uint32_t factor[] = { 1, 4, 4, 4, 4, 12 };
	static const uint32_t bytes[] = { 64, 2048, 2048, 16384, BIG_BYTES };
	static const uint32_t depth[] = { 4, 16, 64, 255 };
	static const uint32_t times[] = { 4, 16, 64 };

	memset(p, 0, sizeof(*p));
	p->state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	for (int i = 0; i < 8; i++)
		program_random(p, 2);
	for (unsigned int i = 0; i < STEP_COUNT; i++)
		p->weight[i] = program_weights[i] * factor[program_random(p, 6)];
	p->max_bytes = bytes[program_random(p, 5)];
	p->max_depth = depth[program_random(p, 4)];
	p->max_times = times[program_random(p, 3)];
	/* One connection alone is nobody's neighbour: what comes for another does not help it on. */
	p->max_eps = program_random(p, 3) ? 4U << program_random(p, 4) : 2;
	p->max_wait_us = program_random(p, 3) ? 3000 : 30000;
	p->max_evds = 2 + program_random(p, MAX_EVDS - 2);
	p->cnos = program_one_in(p, 2);
	p->watches = program_one_in(p, 2);
	p->sleeps = program_one_in(p, 2);
	p->disconnects = 4;
	p->lively = !program_one_in(p, 4);
	p->weight[STEP_TRESPASS] = 0;
	if (program_one_in(p, 3))
		wait_much(p);
	if (program_one_in(p, 3))
		move_much(p);
	if (program_one_in(p, 3))
		use_windows(p);
	if (program_one_in(p, 5))
		count_much(p);
	if (program_one_in(p, 5))
		come_and_go(p);
	if (two_processes)
		stand_still(p, limit_ms);
}
