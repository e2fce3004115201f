/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tells whoever asks from outside what the IAs of this module have.
 *
 * The lock of an IA's list keeps its objects where they are. Of an EP or EVD a few words are copied
 * under its own lock, which is waited for a moment only: who is busy all the time goes first.
 */
#include "dapl/adapter/inspect.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dapl/object/counters.h"
#include "dapl/transfer/dto.h"
#include "dapl/endpoint/ep.h"
#include "dapl/event/evd.h"
#include "dapl/object/ia.h"
#include "dapl/object/entries.h"
#include "dapl/connect/sp.h"
#include "dat/dats.h"

/* So long a lock is waited for: that of an object always in use may be had by chance only. */
#define PATIENCE_NS 5000000

static bool lock_soon(struct dapl_lock *lock)
{
	return dapl_lock_until(lock, dapl_now() + PATIENCE_NS);
}

/* Without the qualifier if that is 0. */
static void tell_addr(const char *key, const struct sockaddr_storage *addr, uint64_t qual,
		      FILE *out)
{
	bool v6 = addr->ss_family == AF_INET6;
	const void *at = v6 ? (const void *)&((const struct sockaddr_in6 *)addr)->sin6_addr
			    : (const void *)&((const struct sockaddr_in *)addr)->sin_addr;
	char host[INET6_ADDRSTRLEN] = "";

	if (v6 || addr->ss_family == AF_INET)
		inet_ntop(addr->ss_family, at, host, sizeof(host));
	if (qual)
		fprintf(out, v6 ? "\t%s=[%s]:%llu" : "\t%s=%s:%llu", key, host,
			(unsigned long long)qual);
	else
		fprintf(out, "\t%s=%s", key, host);
}

/* ---- Endpoints ---- */

struct ep_view {
	struct tp_conn_addr addr;
	bool addr_known;
	uint32_t recvs, max_recvs, requests, max_requests;
	const struct dapl_evd *recv_evd, *request_evd, *connect_evd;
	uint64_t count[DCNT_EP_ALL_COUNTERS];
	bool received; /* the counters of receives are among them */
};

static bool look_at_ep(struct dapl_ep *ep, struct ep_view *view)
{
	if (!lock_soon(&ep->lock))
		return false;
	view->addr_known = ep->cold->addr_known;
	if (view->addr_known)
		view->addr = ep->cold->addr;
	view->recvs = dapl_slots_used(&ep->recv);
	view->max_recvs = ep->recv.limit;
	view->requests = dapl_slots_used(&ep->request);
	view->max_requests = ep->request.limit;
	view->recv_evd = ep->recv_evd;
	view->request_evd = ep->request_evd;
	view->connect_evd = ep->connect_evd;
	view->received = dapl_counters_glance(ep, view->count);
	dapl_unlock(&ep->lock);
	return true;
}

static void tell_traffic(const struct ep_view *view, FILE *out)
{
	const uint64_t *n = view->count;

	fprintf(out,
		"\tconnects=%" PRIu64 "\tdisconnects=%" PRIu64 "\tsends=%" PRIu64
		"\tsent_bytes=%" PRIu64 "\twrites=%" PRIu64 "\twritten_bytes=%" PRIu64
		"\treads=%" PRIu64 "\tread_bytes=%" PRIu64 "\tatomics=%" PRIu64,
		n[DCNT_EP_CONNECT], n[DCNT_EP_DISCONNECT], n[DCNT_EP_POST_SEND],
		n[DCNT_EP_POST_SEND_DATA], n[DCNT_EP_POST_WRITE] + n[DCNT_EP_POST_WRITE_IMM],
		n[DCNT_EP_POST_WRITE_DATA] + n[DCNT_EP_POST_WRITE_IMM_DATA], n[DCNT_EP_POST_READ],
		n[DCNT_EP_POST_READ_DATA], n[DCNT_EP_POST_CMP_SWAP] + n[DCNT_EP_POST_FETCH_ADD]);
	if (view->received)
		fprintf(out, "\treceived=%" PRIu64 "\treceived_bytes=%" PRIu64,
			n[DCNT_EP_RECV] + n[DCNT_EP_RECV_IMM] + n[DCNT_EP_RECV_RDMA_IMM],
			n[DCNT_EP_RECV_DATA] + n[DCNT_EP_RECV_IMM_DATA]);
}

static void tell_ep(struct dapl_ia *ia, struct dapl_ep *ep, FILE *out)
{
	struct ep_view view;

	fprintf(out, "ep\tia=%lu\tep=%p\tstate=%s", (unsigned long)dapl_ia_handle(ia), (void *)ep,
		dapl_ep_state_name(dapl_ep_state(ep)));
	if (look_at_ep(ep, &view)) {
		if (view.addr_known) {
			tell_addr("local", &ia->attr->addr, view.addr.local_qual, out);
			tell_addr("remote", &view.addr.remote, view.addr.remote_qual, out);
		}
		fprintf(out,
			"\trecv_evd=%p\trequest_evd=%p\tconnect_evd=%p\trecvs=%u\tmax_recvs=%u\t"
			"requests=%u\tmax_requests=%u",
			(const void *)view.recv_evd, (const void *)view.request_evd,
			(const void *)view.connect_evd, view.recvs, view.max_recvs, view.requests,
			view.max_requests);
		tell_traffic(&view, out);
	}
	fprintf(out, "\terrors=%" PRIu64 "\tflushed=%" PRIu64,
		atomic_load_explicit(&ep->cold->failed, memory_order_relaxed),
		atomic_load_explicit(&ep->cold->flushed, memory_order_relaxed));
	fputc('\n', out);
}

/* ---- Event dispatchers ---- */

struct evd_view {
	uint32_t events, qlen;
	bool waiter, disabled, overflowed;
	const struct dapl_cno *cno;
};

static bool look_at_evd(struct dapl_evd *evd, struct evd_view *view)
{
	if (!lock_soon(&evd->obj.lock))
		return false;
	*view = (struct evd_view){ evd->ring.count, evd->qlen,	     evd->waiter,
				   evd->disabled,   evd->overflowed, evd->cno };
	dapl_unlock(&evd->obj.lock);
	return true;
}

static void tell_streams(uint32_t flags, FILE *out)
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

static void tell_evd(struct dapl_ia *ia, struct dapl_evd *evd, FILE *out)
{
	struct evd_view view;

	fprintf(out, "evd\tia=%lu\tevd=%p\tstreams=", (unsigned long)dapl_ia_handle(ia),
		(void *)evd);
	tell_streams(evd->flags, out);
	if (look_at_evd(evd, &view))
		fprintf(out, "\tqlen=%u\tevents=%u\twaiter=%d\tdisabled=%d\toverflowed=%d\tcno=%p",
			view.qlen, view.events, view.waiter, view.disabled, view.overflowed,
			(const void *)view.cno);
	fputc('\n', out);
}

/* ---- Service points ---- */

static void tell_sp(struct dapl_ia *ia, const char *kind, struct dapl_sp *sp, FILE *out)
{
	fprintf(out, "%s\tia=%lu\tsp=%p\tqual=%llu\tevd=%p\tlistening=%d\n", kind,
		(unsigned long)dapl_ia_handle(ia), (void *)sp, (unsigned long long)sp->conn_qual,
		(void *)sp->evd, sp->listening);
}

/* ---- All ---- */

static void tell_object(struct dapl_ia *ia, struct dapl_object *obj, FILE *out)
{
	/* One that is being freed has another tag already, and is no news. */
	switch (atomic_load_explicit(&obj->type, memory_order_acquire)) {
	case DAPL_TYPE_EP:
		tell_ep(ia, (struct dapl_ep *)obj, out);
		break;
	case DAPL_TYPE_EVD:
		tell_evd(ia, (struct dapl_evd *)obj, out);
		break;
	case DAPL_TYPE_PSP:
		tell_sp(ia, "psp", (struct dapl_sp *)obj, out);
		break;
	case DAPL_TYPE_RSP:
		tell_sp(ia, "rsp", (struct dapl_sp *)obj, out);
		break;
	case DAPL_TYPE_CSP:
		tell_sp(ia, "csp", (struct dapl_sp *)obj, out);
		break;
	}
}

static void tell_counts(const struct dapl_ia *ia, FILE *out)
{
	static const char *const names[DAPL_NUM_TYPES] = {
		[DAPL_TYPE_PZ - DAPL_TYPE_IA] = "pzs",	 [DAPL_TYPE_LMR - DAPL_TYPE_IA] = "lmrs",
		[DAPL_TYPE_RMR - DAPL_TYPE_IA] = "rmrs", [DAPL_TYPE_EVD - DAPL_TYPE_IA] = "evds",
		[DAPL_TYPE_CNO - DAPL_TYPE_IA] = "cnos", [DAPL_TYPE_EP - DAPL_TYPE_IA] = "eps",
		[DAPL_TYPE_PSP - DAPL_TYPE_IA] = "psps", [DAPL_TYPE_RSP - DAPL_TYPE_IA] = "rsps",
		[DAPL_TYPE_CSP - DAPL_TYPE_IA] = "csps", [DAPL_TYPE_CR - DAPL_TYPE_IA] = "crs",
		[DAPL_TYPE_SRQ - DAPL_TYPE_IA] = "srqs",
	};
	size_t i;

	for (i = 0; i < DAPL_NUM_TYPES; i++)
		if (names[i])
			fprintf(out, "\t%s=%u", names[i], ia->num_objects[i]);
}

static void tell_counters(struct dapl_ia *ia, FILE *out)
{
	uint64_t value[DCNT_IA_ALL_COUNTERS];
	size_t i;

	dapl_counters_of_ia(ia, value);
	for (i = 0; i < DCNT_IA_ALL_COUNTERS; i++)
		if (value[i])
			fprintf(out, "\t%s=%" PRIu64, dapl_ia_counter_names[i], value[i]);
}

static void tell_ia(void *arg, struct dapl_ia *ia)
{
	struct dapl_object *obj;
	FILE *out = arg;

	pthread_mutex_lock(&ia->lock);
	fprintf(out, "ia\tia=%lu\tname=%s\tclosing=%d", (unsigned long)dapl_ia_handle(ia),
		ia->entry->info.ia_name, ia->closing);
	tell_addr("address", &ia->attr->addr, 0, out);
	tell_counts(ia, out);
	tell_counters(ia, out);
	fputc('\n', out);
	for (obj = ia->objects; obj; obj = obj->next)
		tell_object(ia, obj, out);
	pthread_mutex_unlock(&ia->lock);
}

static int run(void *arg, const char *args, FILE *out)
{
	(void)arg;
	(void)args;
	dapl_open_each(tell_ia, out);
	return 0;
}

void dapl_inspect_offer(void)
{
	static struct dats_command command = {
		.name = "objects",
		.usage = "objects: open adapters, endpoints, dispatchers and service points",
		.run = run,
	};

	if (dats_control_add)
		dats_control_add(&command);
}
