/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a dispatcher has counted, and its line of the control command "objects". */
#include "dapl/event/evd.h"
#include "dapl/object/counters.h"
#include "dapl/object/describe.h"
#include "dapl/object/ia.h"

/* ---- Counters ---- */

static void read_all(struct dapl_evd *evd, uint64_t *value)
{
	const struct dapl_evd_counters *counters = &evd->counters;
	uint64_t missed = counters->missed +
			  atomic_load_explicit(&counters->missed_early, memory_order_relaxed);

	dapl_assert_held(&evd->obj.lock);
	value[DCNT_EVD_WAIT] = counters->waits;
	value[DCNT_EVD_WAIT_BLOCKED] = counters->blocked;
	value[DCNT_EVD_WAIT_NOTIFY] = counters->notified;
	value[DCNT_EVD_DEQUEUE_FOUND] =
		counters->taken + counters->kept + counters->polled - counters->waited;
	value[DCNT_EVD_DEQUEUE_NOT_FOUND] = missed;
	value[DCNT_EVD_DEQUEUE] = value[DCNT_EVD_DEQUEUE_FOUND] + missed;
	value[DCNT_EVD_DEQUEUE_POLL_FOUND] = counters->taken + counters->polled;
	value[DCNT_EVD_DEQUEUE_POLL] = value[DCNT_EVD_DEQUEUE_POLL_FOUND] + (evd->cq ? missed : 0);
	value[DCNT_EVD_CONN_CALLBACK] = counters->connections;
	value[DCNT_EVD_DTO_CALLBACK] = counters->notices;
}

void dapl_evd_read_counters(struct dapl_object *obj, struct dapl_counters_view *view)
{
	struct dapl_evd *evd = container_of(obj, struct dapl_evd, obj);

	dapl_lock(&obj->lock);
	read_all(evd, view->value);
	dapl_counters_since(view, evd->counted_before);
	dapl_unlock(&obj->lock);
}

/* ---- Description ---- */

struct evd_view {
	uint32_t events, qlen;
	bool waiter, disabled, overflowed;
	const struct dapl_cno *cno;
};

static bool look_at_evd(struct dapl_evd *evd, struct evd_view *view)
{
	if (!dapl_describe_lock(&evd->obj.lock))
		return false;
	*view = (struct evd_view){ evd->ring.count, evd->qlen,	     evd->waiter,
				   evd->disabled,   evd->overflowed, evd->cno };
	dapl_unlock(&evd->obj.lock);
	return true;
}

static void describe_streams(uint32_t flags, FILE *out)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ DAT_EVD_SOFTWARE_FLAG, "software" }, { DAT_EVD_CR_FLAG, "cr" },
		{ DAT_EVD_DTO_FLAG, "dto" },	       { DAT_EVD_CONNECTION_FLAG, "connection" },
		{ DAT_EVD_RMR_BIND_FLAG, "rmr_bind" }, { DAT_EVD_ASYNC_FLAG, "async" },
	};
	const char *separator = "";
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(flags & names[i].flag))
			continue;
		fprintf(out, "%s%s", separator, names[i].name);
		separator = "+";
	}
}

void dapl_evd_describe(struct dapl_object *obj, FILE *out)
{
	struct dapl_evd *evd = container_of(obj, struct dapl_evd, obj);
	struct evd_view view;

	fprintf(out, "evd\tia=%lu\tevd=%p\tstreams=", (unsigned long)dapl_ia_handle(obj->ia),
		(void *)evd);
	describe_streams(evd->flags, out);
	if (look_at_evd(evd, &view))
		fprintf(out, "\tqlen=%u\tevents=%u\twaiter=%d\tdisabled=%d\toverflowed=%d\tcno=%p",
			view.qlen, view.events, view.waiter, view.disabled, view.overflowed,
			(const void *)view.cno);
	fputc('\n', out);
}
