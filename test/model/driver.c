/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/model/batch.h"
#include "test/model/peer.h"
#include "test/model/watch.h"

struct driver {
	struct run *run;
	struct model model;
	struct program program;
	struct exec *exec[MAX_SIDES];
	struct peer *peer;
	struct batch *batch;	 /* null: one call after the other */
	struct watcher *watcher; /* null: nobody polls memory */
	bool replay;
};

static void say(const struct driver *d, const char *mark, const struct step *step)
{
	char text[200];

	if (!d->run->verbose)
		return;
	step_text(step, text, sizeof(text));
	fprintf(stderr, "%s%s\n", mark, text);
}

static void wrong(struct driver *d, const char *what)
{
	if (!d->run->error[0])
		snprintf(d->run->error, sizeof(d->run->error), "%s", what);
}

static void note_errors(struct driver *d)
{
	uint32_t place, length;
	char text[200];

	if (d->model.errors)
		wrong(d, d->model.error);
	if (!d->watcher || !watch_torn(d->watcher, &place, &length))
		return;
	snprintf(text, sizeof(text),
		 "DTO-47: the last byte of a write of %u bytes was there before byte %u", length,
		 place);
	wrong(d, text);
}

static void show(const struct result *result)
{
	const struct seen *seen;

	for (uint32_t i = 0; i < result->seen_count; i++) {
		seen = &result->seen[i];
		fprintf(stderr, "\tevent 0x%x evd %u handle %#llx cookie %#llx status %u length %u",
			seen->number, seen->evd, (unsigned long long)seen->handle,
			(unsigned long long)seen->cookie, seen->status, seen->length);
		fprintf(stderr, " request %u\n", seen->request);
	}
}

static bool make_call(struct driver *d, const struct call *call, struct result *result)
{
	if (d->peer && call->side == 1) {
		if (!peer_call(d->peer, call, result)) {
			wrong(d, "the other process does not answer: it hangs in the last step, or "
				 "is gone");
			return false;
		}
	} else {
		exec_call(d->exec[call->side], call, result);
	}
	if (d->run->verbose && result->rc != DAT_SUCCESS && result->rc != DAT_QUEUE_EMPTY)
		fprintf(stderr, "\t0x%x\n", result->rc);
	if (d->run->verbose && call->request)
		fprintf(stderr, "\trequest %u\n", call->request);
	if (d->run->verbose)
		show(result);
	return true;
}

/* A request of a connection that nobody has any more. */
static void reject_orphan(struct driver *d)
{
	struct call call = { .step = { .op = STEP_REJECT },
			     .side = d->model.orphan_side,
			     .request = d->model.orphan[--d->model.orphans] };
	struct result result;
	char text[200];

	if (!make_call(d, &call, &result) || result.rc == DAT_SUCCESS)
		return;
	snprintf(text, sizeof(text),
		 "CR-2: dat_cr_reject of request %u, whose active side is gone: 0x%x", call.request,
		 result.rc);
	wrong(d, text);
}

static void reject_orphans(struct driver *d)
{
	while (d->model.orphans)
		reject_orphan(d);
}

static bool do_call(struct driver *d, const struct call *call)
{
	struct result result;

	if (!make_call(d, call, &result))
		return false;
	d->model.batch++;
	model_done(&d->model, call, &result);
	reject_orphans(d);
	note_errors(d);
	return result.seen_count != 0;
}

/* Some of the writes are watched while they come. */
static bool prepare(struct driver *d, const struct step *step, struct call *call)
{
	const uint8_t *at;

	if (d->watcher && step->op >= STEP_WRITE)
		watch_end(d->watcher);
	if (!model_prepare(&d->model, step, call))
		return false;
	at = d->watcher ? model_watched(&d->model, call) : NULL;
	if (at)
		watch_for(d->watcher, at, call->length, call->cookie);
	return true;
}

static bool do_step(struct driver *d, const struct step *step)
{
	struct call call;

	return prepare(d, step, &call) && (do_call(d, &call), true);
}

/* ---- Calls that are made at once ---- */

/* Whether there were events. */
static bool run_batch(struct driver *d)
{
	bool any = false;
	const struct result *result;
	const struct call *call;

	if (!d->batch || !batch_count(d->batch))
		return false;
	batch_run(d->batch);
	d->model.batch++;
	for (uint32_t i = 0; i < batch_count(d->batch); i++) {
		call = batch_call(d->batch, i, &result);
		any |= result->seen_count != 0;
		if (d->run->verbose && (result->seen_count || call->step.op != STEP_POLL)) {
			say(d, "  ", &call->step);
			show(result);
		}
		model_done(&d->model, call, result);
		/* Before a call of the other side: they are this side's. */
		reject_orphans(d);
	}
	batch_clear(d->batch);
	note_errors(d);
	return any;
}

/* ---- Until nothing is owed any more ---- */

/* Takes what there is on all dispatchers, with threads at once; whether there was anything. */
static bool sweep(struct driver *d)
{
	struct call call = { .step = { .op = STEP_POLL }, .repeat = 1 };
	bool any = false;

	for (int i = 0; i < MAX_EVDS && !d->run->error[0]; i++) {
		if (!d->model.evd[i].live)
			continue;
		call.step.arg[0] = i;
		call.step.arg[1] = MAX_SEEN;
		call.side = model_side(&d->model, i);
		if (d->batch)
			batch_add(d->batch, &call);
		else
			any |= do_call(d, &call);
	}
	any |= run_batch(d);
	for (uint32_t side = 0; side < d->model.sides && !d->run->error[0]; side++) {
		call.step.arg[0] = MAX_EVDS;
		call.side = side;
		any |= do_call(d, &call);
	}
	return any;
}

/*
 * Sleeps where what is owed will be seen, and nowhere else: by the dispatcher's CNO if it has one.
 * Whoever else is concerned makes progress by itself, and the sleeper is woken (EVD-47, CNO-5).
 */
static void sleep_on(struct driver *d, int evd, const char *what)
{
	uint32_t limit_us = d->run->deadline_s * 500000;
	struct call call = { .step = { .op = STEP_WAIT, .arg = { evd, 1, (int)limit_us } },
			     .side = model_side(&d->model, evd) };
	struct result result;
	char text[400];

	if (d->model.evd[evd].cno)
		call.step = (struct step){ .op = STEP_CNO_WAIT,
					   .arg = { (int)call.side, (int)limit_us } };
	say(d, "", &call.step);
	if (!make_call(d, &call, &result))
		return;
	model_done(&d->model, &call, &result);
	reject_orphans(d);
	note_errors(d);
	if (result.rc == DAT_SUCCESS)
		return;
	snprintf(text, sizeof(text), "%s: not seen by who waits for it, %s",
		 d->model.evd[evd].cno ? "CNO-5" : "EVD-47", what);
	wrong(d, text);
}

/* What is owed comes, and seeds decide whether somebody polls everything or sleeps for it alone. */
static bool wait_for(struct driver *d, int evd, const char *what, unsigned int idle)
{
	struct call call = { .step = { .op = STEP_POLL, .arg = { evd, MAX_SEEN } } };

	if (!d->program.sleeps || !d->model.evd[evd].live || (d->peer && peer_stopped(d->peer))) {
		if (idle > 3)
			usleep(idle > 100 ? 1000 : 50);
		return sweep(d);
	}
	/* A CNO may have triggered for what is there already. */
	call.side = model_side(&d->model, evd);
	if (!do_call(d, &call))
		sleep_on(d, evd, what);
	return true;
}

static void settle(struct driver *d)
{
	uint64_t deadline = now_ms() + d->run->deadline_s * 1000;
	char what[300], text[400];
	unsigned int idle = 0;
	int evd;

	while (!d->run->error[0]) {
		if (!model_owes(&d->model, &evd, what, sizeof(what))) {
			if (!sweep(d))
				break;
			continue;
		}
		idle = wait_for(d, evd, what, idle) ? 0 : idle + 1;
		if (idle && now_ms() > deadline) {
			snprintf(text, sizeof(text), "never came: %s", what);
			wrong(d, text);
		}
	}
	if (!d->run->error[0])
		model_quiet(&d->model);
	note_errors(d);
}

/* ---- The end ---- */

static void each(struct driver *d, enum step_op op, int count, int arg1)
{
	struct step step = { .op = op };

	for (int i = 0; i < count && !d->run->error[0]; i++) {
		step.arg[0] = i;
		step.arg[1] = arg1;
		do_step(d, &step);
	}
}

static void tear_down(struct driver *d)
{
	char text[100];
	uint32_t rc;

	each(d, STEP_SCRIBBLE, CELLS * (int)d->model.sides, 0);
	settle(d);
	each(d, STEP_REJECT, MAX_CONNS, 0);
	settle(d);
	each(d, STEP_SP_FREE, MAX_SPS, 0);
	each(d, STEP_EP_FREE, MAX_EPS, 0);
	settle(d);
	each(d, STEP_REJECT, MAX_CONNS, 0);
	settle(d);
	each(d, STEP_RMR_FREE, MAX_RMRS, 0);
	each(d, STEP_SRQ_FREE, MAX_SRQS, 0);
	each(d, STEP_EVD_FREE, MAX_EVDS, 0);
	for (uint32_t side = 0; side < d->model.sides && !d->run->error[0]; side++) {
		if (d->peer && side == 1)
			rc = peer_close(d->peer);
		else
			rc = exec_close(d->exec[side]);
		if (rc != DAT_SUCCESS) {
			snprintf(text, sizeof(text),
				 "IA-27: closing gracefully where everything was freed: 0x%x", rc);
			wrong(d, text);
		}
	}
}

/* ---- Programs ---- */

static void stop(struct driver *d, unsigned int ms)
{
	d->model.stood_still |= ms >= d->model.facts[0].linger_ms / 2;
	peer_stop(d->peer, ms);
}

static bool special(struct driver *d, const struct step *step)
{
	if (step->op == STEP_PAUSE)
		usleep((unsigned int)step->arg[0] * 1000);
	else if (step->op == STEP_STOP_PEER && d->peer && !peer_stopped(d->peer))
		stop(d, (unsigned int)step->arg[0]);
	else if (step->op == STEP_SETTLE)
		settle(d);
	else
		return false;
	return true;
}

/* A step is written down before it is made: it may be the last. */
static void one_step(struct driver *d, const struct step *step)
{
	struct run *run = d->run;
	struct call call;
	bool own = step->op == STEP_PAUSE || step->op == STEP_STOP_PEER || step->op == STEP_SETTLE;

	if (d->batch && (batch_alone(step) || !batch_takes(d->batch, step)))
		run_batch(d);
	if (run->error[0])
		return;
	if (!own && !prepare(d, step, &call)) {
		if (d->replay)
			say(d, "# left out: ", step);
		return;
	}
	say(d, "", step);
	if (!d->replay)
		run->step[run->count++] = *step;
	if (own) {
		special(d, step);
	} else if (d->batch && !batch_alone(step)) {
		batch_add(d->batch, &call);
		return;
	} else {
		do_call(d, &call);
	}
	for (int i = 1; i < step_times(step) && !run->error[0]; i++)
		do_step(d, step);
}

static bool open_sides(struct driver *d)
{
	size_t size = (size_t)ARENA_BYTES * MAX_SIDES;
	uint8_t *arena =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct run *run = d->run;

	model_init(&d->model, run->sides);
	for (uint32_t side = 0; side < run->sides; side++)
		d->model.arena[side] = arena + (size_t)side * ARENA_BYTES;
	for (int i = 0; i < (CELLS - COUNTERS) * (int)run->sides; i++)
		cell_fill(&d->model, i);
	if (run->two_processes) {
		d->peer = peer_start(run->ia_name, d->model.arena[1], &d->model.facts[1]);
		if (!d->peer)
			return false;
	}
	for (uint32_t side = 0; side < (d->peer ? 1 : run->sides); side++) {
		d->exec[side] = exec_open(run->ia_name, d->model.arena[side], run->threads != 0,
					  &d->model.facts[side]);
		if (!d->exec[side])
			return false;
	}
	d->model.stood_still = d->model.facts[0].linger_ms < STILL_MS;
	return true;
}

void driver_run(struct run *run)
{
	struct driver *d = calloc(1, sizeof(*d));
	struct step step;

	d->run = run;
	d->replay = !run->random;
	if (!open_sides(d)) {
		wrong(d, "the adapter cannot be opened");
		return;
	}
	if (run->threads) {
		d->model.slack = 2 * MAX_BATCH;
		d->batch = batch_start(d->exec, run->threads);
	}
	program_start(&d->program, run->seed, run->two_processes, d->model.facts[0].linger_ms);
	if (d->program.watches && d->model.facts[0].ordered)
		d->watcher = watch_start();
	for (uint32_t i = 0; !run->error[0]; i++) {
		if (d->replay ? i >= run->count : run->count >= run->random)
			break;
		if (d->replay) {
			step = run->step[i];
		} else {
			d->program.stopped = d->peer && peer_stopped(d->peer);
			program_next(&d->program, &d->model, &step);
		}
		one_step(d, &step);
	}
	run_batch(d);
	if (!run->error[0])
		settle(d);
	if (!run->error[0])
		tear_down(d);
	if (d->batch && !run->error[0])
		batch_stop(d->batch);
	if (d->watcher)
		watch_stop(d->watcher);
	run->completions = d->model.completions;
	run->ended = 1;
	model_fini(&d->model);
	free(d);
}
