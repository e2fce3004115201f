/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "workers.h"

#include <pthread.h>
#include <stdio.h>

unsigned int worker_rounds(unsigned int n)
{
	return harness_rounds(harness_sanitized() ? n / 5 : n);
}

static void *worker_thread(void *arg)
{
	struct worker *w = arg;

	w->run(w);
	return NULL;
}

void worker_start(struct worker *w, void (*run)(struct worker *))
{
	w->run = run;
	assert_int_equal(pthread_create(&w->thread, NULL, worker_thread, w), 0);
}

bool ended_well(struct worker *workers, unsigned int n)
{
	bool good = true;

	for (unsigned int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < n; i++) {
		if (workers[i].wrong[0] != '\0')
			print_error("thread %u: %s\n", i, workers[i].wrong);
		good = good && workers[i].wrong[0] == '\0';
	}
	return good;
}

void workers_join(struct worker *workers, unsigned int n)
{
	assert_true(ended_well(workers, n));
}

void open_pairs(struct cu_rig *rig, struct ct_end *a, struct ct_end *p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ct_end_open(&a[i], rig->ia, NULL);
		ct_end_open(&p[i], rig->ia, NULL);
		cu_establish(rig, &a[i], &p[i]);
	}
}

void close_pairs(struct ct_end *a, struct ct_end *p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ct_end_close(&a[i]);
		ct_end_close(&p[i]);
	}
}

bool poll_one(struct worker *w, DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	uint64_t deadline = ct_now_us() + CT_US;
	DAT_EVENT event;
	DAT_RETURN rc;

	while ((rc = dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY) {
		if (ct_now_us() > deadline) {
			WORKER_WRONG(w, "no completion");
			return false;
		}
		sched_yield();
	}
	if (rc != DAT_SUCCESS || event.event_number != DAT_DTO_COMPLETION_EVENT) {
		WORKER_WRONG(w, "dequeue returned 0x%x, event 0x%x", rc, event.event_number);
		return false;
	}
	*done = event.event_data.dto_completion_event_data;
	if (done->status != DAT_DTO_SUCCESS) {
		WORKER_WRONG(w, "status %d", done->status);
		return false;
	}
	return true;
}

bool wait_one(struct worker *w, DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN rc = dat_evd_wait(evd, CT_US, 1, &event, &more);

	if (rc != DAT_SUCCESS || event.event_number != DAT_DTO_COMPLETION_EVENT) {
		WORKER_WRONG(w, "wait returned 0x%x", rc);
		return false;
	}
	*done = event.event_data.dto_completion_event_data;
	if (done->status != DAT_DTO_SUCCESS)
		WORKER_WRONG(w, "status %d", done->status);
	return done->status == DAT_DTO_SUCCESS;
}
