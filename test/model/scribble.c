/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/scribble.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/model/call.h"

enum {
	ROUNDS = 200, /* of all that is chosen, without a pause */
};

struct scribbler {
	uint8_t *cells;
	pthread_t thread;
	_Atomic uint32_t chosen; /* a bit per cell */
	_Atomic uint64_t rounds; /* that the thread has looked at them */
	atomic_bool quit;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint64_t value = 0;
	uint32_t mask, busy = 0;

	while (!atomic_load(&s->quit)) {
		atomic_fetch_add(&s->rounds, 1);
		mask = atomic_load(&s->chosen);
		for (unsigned int cell = 0; cell < CELLS; cell++) {
			volatile uint64_t *at = (uint64_t *)(s->cells + cell * CELL_BYTES);

			for (size_t i = 0; mask & 1U << cell && i < CELL_BYTES / 8; i++)
				at[i] = value++;
		}
		/* The others need the processor too. */
		if (!mask || ++busy % ROUNDS == 0)
			usleep(mask ? 100 : 500);
	}
	return NULL;
}

struct scribbler *scribble_start(uint8_t *cells)
{
	struct scribbler *s = calloc(1, sizeof(*s));

	s->cells = cells;
	pthread_create(&s->thread, NULL, scribble, s);
	return s;
}

void scribble_set(struct scribbler *s, unsigned int cell, bool on)
{
	uint64_t round;

	if (on) {
		atomic_fetch_or(&s->chosen, 1U << cell);
		return;
	}
	/* The thread has looked once more. */
	atomic_fetch_and(&s->chosen, ~(1U << cell));
	round = atomic_load(&s->rounds);
	while (atomic_load(&s->rounds) < round + 2)
		usleep(50);
}

void scribble_stop(struct scribbler *s)
{
	atomic_store(&s->quit, true);
	pthread_join(s->thread, NULL);
	free(s);
}
