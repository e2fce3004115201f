/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where threads wait for each other; unlike a barrier it can be told that one will not come. */
#ifndef DAPLTEST_GATE_H
#define DAPLTEST_GATE_H

#include <pthread.h>
#include <stdint.h>

struct dt_gate {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	uint32_t expected;
	uint32_t arrived;
	uint32_t round;
};

int dt_gate_init(struct dt_gate *gate, uint32_t expected);
void dt_gate_destroy(struct dt_gate *gate);
void dt_gate_arrive(struct dt_gate *gate);
void dt_gate_expect_less(struct dt_gate *gate, uint32_t missing);

#endif
