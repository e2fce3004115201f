/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that are made at once, by several threads. They must not meet: a batch has one call for
 * each endpoint, one that takes events from each dispatcher, and so on; what they share is inside
 * the library. Their results are judged in an order in which each may have happened.
 */
#ifndef BATCH_H
#define BATCH_H

#include "test/model/model.h"

enum {
	MAX_BATCH = 12,
};

struct batch;

struct batch *batch_start(struct exec *const *exec, uint32_t threads);
void batch_stop(struct batch *batch);
/* false: the step may meet one that is in it, or the batch is full; run it first. */
bool batch_takes(const struct batch *batch, const struct step *step);
void batch_add(struct batch *batch, const struct call *call);
/* Whether a step is made alone. */
bool batch_alone(const struct step *step);
uint32_t batch_count(const struct batch *batch);
/* Makes the calls; then they are there in the order in which to judge them. */
void batch_run(struct batch *batch);
const struct call *batch_call(const struct batch *batch, uint32_t i, const struct result **result);
void batch_clear(struct batch *batch);

#endif
