/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "reap.h"

#include <sched.h>

#include "clock.h"

/* How many empty polls go by between two looks at the clock. */
#define POLLS_PER_CHECK 64

/*
 * How long a poll keeps the processor for itself. Then it is offered to others: with more polling
 * threads than processors, the one that is waited for must run.
 */
#define KEEP_NS 20000

static DAT_RETURN reap_poll(DAT_EVD_HANDLE evd, uint64_t deadline, DAT_EVENT *event)
{
	uint64_t started = 0, now;
	DAT_RETURN ret;

	for (uint32_t i = 1;; i++) {
		ret = dat_evd_dequeue(evd, event);
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
			return ret;
		if (i % POLLS_PER_CHECK)
			continue;
		now = dt_now_ns();
		if (now >= deadline)
			return DAT_TIMEOUT_EXPIRED;
		if (!started)
			started = now;
		else if (now - started > KEEP_NS)
			sched_yield();
	}
}

static DAT_RETURN reap_wait(DAT_EVD_HANDLE evd, uint64_t deadline, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	do
		ret = dat_evd_wait(evd, dt_left_us(deadline), 1, event, &more);
	while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
	return ret;
}

/* The CNO may have been triggered by the thread's other EVD: its hint is not looked at. */
static DAT_RETURN reap_cno(const struct dt_reaper *reaper, uint64_t deadline, DAT_EVENT *event)
{
	DAT_EVD_HANDLE hint;
	DAT_RETURN ret;

	for (;;) {
		ret = dat_evd_dequeue(reaper->evd, event);
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
			return ret;
		if (dt_expired(deadline))
			return DAT_TIMEOUT_EXPIRED;
		ret = dat_cno_wait(reaper->cno, dt_left_us(deadline), &hint);
		if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY &&
		    DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED &&
		    DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL)
			return ret;
	}
}

int dt_reap(struct dt_actor *actor, const struct dt_reaper *reaper, const char *what,
	    uint64_t deadline, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	switch (reaper->mode) {
	case DT_REAP_POLL:
		ret = reap_poll(reaper->evd, deadline, &event);
		break;
	case DT_REAP_CNO:
		ret = reap_cno(reaper, deadline, &event);
		break;
	default:
		ret = reap_wait(reaper->evd, deadline, &event);
		break;
	}
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(actor, ret, "waiting for a completion (%s)", what);
	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		return dt_fail(actor, "%s on a DTO EVD (%s)", dt_event_name(event.event_number),
			       what);
	*dto = event.event_data.dto_completion_event_data;
	return 0;
}

int dt_bad_status(struct dt_actor *actor, const char *what,
		  const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	return dt_fail(actor, "Test Error: %s-reaping DTO problem, status = %s", what,
		       dt_status_name(dto->status));
}

int dt_reap_success(struct dt_actor *actor, const struct dt_reaper *reaper, const char *what,
		    uint64_t deadline, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	if (dt_reap(actor, reaper, what, deadline, dto))
		return -1;
	return dto->status == DAT_DTO_SUCCESS ? 0 : dt_bad_status(actor, what, dto);
}
