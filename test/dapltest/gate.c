/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gate.h"

int dt_gate_init(struct dt_gate *gate, uint32_t expected)
{
	gate->expected = expected;
	gate->arrived = 0;
	gate->round = 0;
	if (pthread_mutex_init(&gate->lock, NULL))
		return -1;
	if (pthread_cond_init(&gate->opened, NULL)) {
		pthread_mutex_destroy(&gate->lock);
		return -1;
	}
	return 0;
}

void dt_gate_destroy(struct dt_gate *gate)
{
	pthread_cond_destroy(&gate->opened);
	pthread_mutex_destroy(&gate->lock);
}

static void open_if_complete(struct dt_gate *gate)
{
	if (gate->arrived < gate->expected)
		return;
	gate->arrived = 0;
	gate->round++;
	pthread_cond_broadcast(&gate->opened);
}

void dt_gate_arrive(struct dt_gate *gate)
{
	uint32_t round;

	pthread_mutex_lock(&gate->lock);
	round = gate->round;
	gate->arrived++;
	open_if_complete(gate);
	while (round == gate->round)
		pthread_cond_wait(&gate->opened, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

void dt_gate_expect_less(struct dt_gate *gate, uint32_t missing)
{
	pthread_mutex_lock(&gate->lock);
	gate->expected -= missing;
	if (gate->expected)
		open_if_complete(gate);
	pthread_mutex_unlock(&gate->lock);
}
