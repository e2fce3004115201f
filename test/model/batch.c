/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/batch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_THREADS = 8,
};

struct task {
	struct call call;
	struct result result;
};

struct batch {
	struct exec *const *exec;
	pthread_t thread[MAX_THREADS];
	uint32_t threads, count, order[MAX_BATCH];
	struct task task[MAX_BATCH];
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	uint32_t round, busy;
	bool quit;
	_Atomic uint32_t next;
};

/* ---- Threads ---- */

static void work(struct batch *batch)
{
	struct task *task;
	uint32_t i;

	while ((i = atomic_fetch_add(&batch->next, 1)) < batch->count) {
		task = &batch->task[i];
		exec_call(batch->exec[task->call.side], &task->call, &task->result);
	}
}

static void *worker(void *arg)
{
	struct batch *batch = arg;
	uint32_t round = 0;

	pthread_mutex_lock(&batch->lock);
	while (!batch->quit) {
		if (batch->round == round) {
			pthread_cond_wait(&batch->more, &batch->lock);
			continue;
		}
		round = batch->round;
		pthread_mutex_unlock(&batch->lock);
		work(batch);
		pthread_mutex_lock(&batch->lock);
		if (!--batch->busy)
			pthread_cond_signal(&batch->done);
	}
	pthread_mutex_unlock(&batch->lock);
	return NULL;
}

struct batch *batch_start(struct exec *const *exec, uint32_t threads)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	batch->exec = exec;
	batch->threads = threads < MAX_THREADS ? threads : MAX_THREADS;
	pthread_mutex_init(&batch->lock, NULL);
	pthread_cond_init(&batch->more, NULL);
	pthread_cond_init(&batch->done, NULL);
	for (uint32_t i = 0; i < batch->threads; i++)
		pthread_create(&batch->thread[i], NULL, worker, batch);
	return batch;
}

void batch_stop(struct batch *batch)
{
	pthread_mutex_lock(&batch->lock);
	batch->quit = true;
	pthread_cond_broadcast(&batch->more);
	pthread_mutex_unlock(&batch->lock);
	for (uint32_t i = 0; i < batch->threads; i++)
		pthread_join(batch->thread[i], NULL);
	free(batch);
}

/* ---- What may be made at once ---- */

bool batch_alone(const struct step *step)
{
	if (step_times(step) > 1)
		return true;
	switch (step->op) {
	case STEP_EVD_CREATE:
	case STEP_EVD_FREE:
	case STEP_EVD_QUERY:
	case STEP_POST_SE:
	case STEP_SP_CREATE:
	case STEP_SP_FREE:
	case STEP_SRQ_CREATE:
	case STEP_SRQ_FREE:
	case STEP_SRQ_RESIZE:
	case STEP_SRQ_QUERY:
	case STEP_RMR_CREATE:
	case STEP_RMR_FREE:
	case STEP_TRESPASS:
	case STEP_SCRIBBLE:
	case STEP_FILL:
	case STEP_PAUSE:
	case STEP_STOP_PEER:
	case STEP_SETTLE:
		return true;
	default:
		return false;
	}
}

static bool takes_events(const struct step *step)
{
	return step->op == STEP_POLL || step->op == STEP_WAIT;
}

/* The endpoint a step is about, or -1. */
static int endpoint(const struct step *step)
{
	if (step->op == STEP_ACCEPT)
		return step->arg[1];
	if (step->op == STEP_RMR_BIND)
		return step->arg[2];
	if (step->op == STEP_REJECT || step->op == STEP_HANDOFF || step->op == STEP_SRQ_RECV ||
	    step->op <= STEP_CNO_WAIT)
		return -1;
	return step->arg[0];
}

static bool answers(const struct step *step)
{
	return step->op == STEP_ACCEPT || step->op == STEP_REJECT || step->op == STEP_HANDOFF;
}

static int window(const struct step *step)
{
	return step->op == STEP_RMR_BIND			 ? step->arg[0]
	       : step->op == STEP_SEND_INVALIDATE		 ? step->arg[1]
	       : step->op == STEP_READ || step->op == STEP_WRITE ? step->arg[4] - 1
								 : -1;
}

static int cell(const struct step *step)
{
	switch (step->op) {
	case STEP_READ:
	case STEP_WRITE:
	case STEP_WRITE_IMMED:
	case STEP_TRESPASS:
	case STEP_RMR_BIND:
		return step->arg[1];
	default:
		return -1;
	}
}

static bool meet(const struct step *x, const struct step *y)
{
	if (takes_events(x) && takes_events(y) && x->arg[0] == y->arg[0])
		return true;
	/* Atomics are posted by the dozen, as many as fit into the queue that there was. */
	if ((x->op == STEP_EVD_RESIZE && y->op == STEP_FETCH_ADD) ||
	    (y->op == STEP_EVD_RESIZE && x->op == STEP_FETCH_ADD))
		return true;
	if (x->op == STEP_EVD_RESIZE || y->op == STEP_EVD_RESIZE)
		return x->arg[0] == y->arg[0] && x->op != STEP_POLL && y->op != STEP_POLL &&
		       (takes_events(x) || takes_events(y) || x->op == y->op); /* EVD-79 */
	if (endpoint(x) >= 0 && endpoint(x) == endpoint(y))
		return true;
	if (answers(x) && answers(y))
		return true;
	if (x->op == STEP_CONNECT && y->op == STEP_CONNECT)
		return true;
	if (x->op == STEP_SRQ_RECV && y->op == STEP_SRQ_RECV && x->arg[0] == y->arg[0])
		return true;
	return (window(x) >= 0 && window(x) == window(y)) || (cell(x) >= 0 && cell(x) == cell(y));
}

bool batch_takes(const struct batch *batch, const struct step *step)
{
	for (uint32_t i = 0; i < batch->count; i++)
		if (meet(&batch->task[i].call.step, step))
			return false;
	return batch->count < MAX_BATCH;
}

void batch_add(struct batch *batch, const struct call *call)
{
	batch->task[batch->count++].call = *call;
}

uint32_t batch_count(const struct batch *batch)
{
	return batch->count;
}

/* What makes more possible is judged before what depends on it. */
static int rank(const struct step *step)
{
	switch (step->op) {
	case STEP_CONNECT:
	case STEP_ACCEPT:
	case STEP_REJECT:
	case STEP_HANDOFF:
	case STEP_DISCONNECT:
		return 0;
	case STEP_EP_FREE:
		return 2;
	case STEP_EP_RESET:
		return 3;
	case STEP_EP_QUERY:
		return 4;
	case STEP_POLL:
	case STEP_WAIT:
		return 5;
	default:
		return 1;
	}
}

void batch_run(struct batch *batch)
{
	uint32_t n = 0;

	for (int r = 0; r <= 5; r++)
		for (uint32_t i = 0; i < batch->count; i++)
			if (rank(&batch->task[i].call.step) == r)
				batch->order[n++] = i;
	atomic_store(&batch->next, 0);
	pthread_mutex_lock(&batch->lock);
	batch->round++;
	batch->busy = batch->threads;
	pthread_cond_broadcast(&batch->more);
	pthread_mutex_unlock(&batch->lock);
	work(batch);
	pthread_mutex_lock(&batch->lock);
	while (batch->busy)
		pthread_cond_wait(&batch->done, &batch->lock);
	pthread_mutex_unlock(&batch->lock);
}

const struct call *batch_call(const struct batch *batch, uint32_t i, const struct result **result)
{
	const struct task *task = &batch->task[batch->order[i]];

	*result = &task->result;
	return &task->call;
}

void batch_clear(struct batch *batch)
{
	batch->count = 0;
}
