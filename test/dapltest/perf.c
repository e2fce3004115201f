/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config.h"

#include "perf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"

#define MB 1048576.0

/*
 * A call shorter than this is taken to have kept the processor, without asking the kernel: a thread
 * that waits is gone for microseconds, one that polls loses the processor for a time slice.
 */
#define SHORT_WAIT_NS 2000
#define SHORT_POLL_NS 20000

/* How many messages are on their way unless the command says so. */
#define MESSAGE_PIPELINE 16

/* ---- making and connecting ---- */

static bool is_message(const struct dt_perf *perf)
{
	return perf->params->ops[0].xfer == DT_XFER_SR;
}

static DAT_MEM_PRIV_FLAGS privileges_of(const struct dt_perf *perf)
{
	bool is_read = perf->params->ops[0].xfer == DT_XFER_RR;
	unsigned int flags;

	if (is_message(perf))
		flags = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	else if (perf->am_server)
		flags = is_read ? DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG
				: DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	else if (is_read && perf->ia->provider.rdma_write_for_rdma_read_req)
		flags = DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	else
		flags = is_read ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : DAT_MEM_PRIV_LOCAL_READ_FLAG;
	return (DAT_MEM_PRIV_FLAGS)flags;
}

static uint32_t lower(uint32_t value, DAT_COUNT limit)
{
	return limit >= 1 && value > (uint32_t)limit ? (uint32_t)limit : value;
}

/* As much as is asked for, or as the adapter can have in flight, but no more than there are. */
static uint32_t choose_pipeline(const struct dt_perf *perf)
{
	const DAT_IA_ATTR *attr = &perf->ia->attr;
	uint32_t pipeline = perf->params->iterations;

	if (is_message(perf)) {
		/* Both sides must come to the same number: so many receives are there. */
		uint32_t wanted =
			perf->params->pipeline ? perf->params->pipeline : MESSAGE_PIPELINE;

		return wanted < pipeline ? wanted : pipeline;
	}
	if (perf->params->pipeline && perf->params->pipeline < pipeline)
		pipeline = perf->params->pipeline;
	pipeline = lower(pipeline, attr->max_dto_per_ep);
	pipeline = lower(pipeline, attr->max_evd_qlen);
	if (perf->params->ops[0].xfer != DT_XFER_RR)
		return pipeline;
	return lower(lower(pipeline, attr->max_rdma_read_per_ep_in),
		     attr->max_rdma_read_per_ep_out);
}

static struct dt_link_needs needs_of(const struct dt_perf *perf)
{
	const struct dt_op *op = &perf->params->ops[0];
	bool is_read = op->xfer == DT_XFER_RR;
	struct dt_link_needs needs = { .qos = perf->params->qos };

	if (is_message(perf)) {
		needs.recvs = needs.requests = perf->pipeline;
		needs.recv_segs = needs.send_segs = op->num_segs;
		return needs;
	}
	if (perf->am_server) {
		needs.reads_in = is_read ? perf->pipeline : 0;
		return needs;
	}
	needs.requests = perf->pipeline;
	needs.reads_out = is_read ? perf->pipeline : 0;
	*(is_read ? &needs.read_segs : &needs.write_segs) = op->num_segs;
	return needs;
}

static int check_size(const struct dt_perf *perf)
{
	const struct dt_op *op = &perf->params->ops[0];
	uint64_t size = (uint64_t)op->seg_size * op->num_segs;
	uint64_t max =
		is_message(perf) ? perf->ia->attr.max_message_size : perf->ia->attr.max_rdma_size;

	if (is_message(perf) && perf->pipeline > (uint32_t)perf->ia->attr.max_dto_per_ep)
		return dt_fail(perf->actor, "pipeline %u: the adapter has %d receives per endpoint",
			       perf->pipeline, perf->ia->attr.max_dto_per_ep);
	if (size <= max)
		return 0;
	return dt_fail(perf->actor, "buffer too large: 0x%llx (maximum: 0x%llx bytes)",
		       (unsigned long long)size, (unsigned long long)max);
}

/* The buffer of all receives: nobody looks into it. */
static int post_recv(struct dt_perf *perf, uint32_t number)
{
	DAT_DTO_COOKIE cookie = { .as_64 = number };
	DAT_RETURN ret;

	ret = dat_ep_post_recv(perf->link.ep, (DAT_COUNT)perf->in.num_segs, perf->in.iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	return ret == DAT_SUCCESS
		       ? 0
		       : dt_fail_dat(perf->actor, ret, "Post %u: dat_ep_post_recv", number);
}

static int create_receives(struct dt_perf *perf, DAT_PZ_HANDLE pz)
{
	const struct dt_op *op = &perf->params->ops[0];
	uint32_t i;

	if (!is_message(perf))
		return 0;
	if (dt_pool_create(perf->actor, &perf->in, perf->ia, pz, op->num_segs, op->seg_size, false,
			   privileges_of(perf)))
		return -1;
	for (i = 0; i < perf->pipeline; i++)
		if (post_recv(perf, i))
			return -1;
	return 0;
}

static int create(struct dt_perf *perf, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE server_cm)
{
	const struct dt_op *op = &perf->params->ops[0];
	struct dt_actor *actor = perf->actor;
	uint32_t recvs, requests;
	struct dt_link_needs needs;

	perf->pipeline = choose_pipeline(perf);
	perf->posted_ns = calloc(perf->pipeline, sizeof(*perf->posted_ns));
	if (!perf->posted_ns)
		return dt_fail(actor, "no memory for %u operations in flight", perf->pipeline);
	perf->evds.cm = server_cm;
	recvs = is_message(perf) ? perf->pipeline : 1;
	requests = perf->am_server && !is_message(perf) ? 1 : perf->pipeline;
	if (check_size(perf) ||
	    (!server_cm && dt_evd_create(actor, perf->ia, "conn", 4, DAT_HANDLE_NULL,
					 DAT_EVD_CONNECTION_FLAG, &perf->evds.cm)) ||
	    dt_evd_create(actor, perf->ia, "recv", recvs, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			  &perf->evds.recv) ||
	    dt_evd_create(actor, perf->ia, "request", requests, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			  &perf->evds.request) ||
	    dt_pool_create(actor, &perf->pool, perf->ia, pz, op->num_segs, op->seg_size,
			   !perf->am_server, privileges_of(perf)))
		return -1;
	perf->reaper = (struct dt_reaper){ perf->params->poll ? DT_REAP_POLL : DT_REAP_WAIT,
					   perf->evds.request, DAT_HANDLE_NULL };
	perf->recv_reaper = perf->reaper;
	perf->recv_reaper.evd = perf->evds.recv;
	needs = needs_of(perf);
	return dt_link_create(actor, &perf->link, perf->ia, pz, &perf->evds, &needs) ||
			       create_receives(perf, pz)
		       ? -1
		       : 0;
}

int dt_perf_create(struct dt_perf *perf, struct dt_actor *actor, const struct dt_ia *ia,
		   DAT_PZ_HANDLE pz, const struct dt_params *params, DAT_EVD_HANDLE server_cm)
{
	memset(perf, 0, sizeof(*perf));
	perf->actor = actor;
	perf->ia = ia;
	perf->params = params;
	perf->am_server = server_cm != DAT_HANDLE_NULL;
	if (!create(perf, pz, server_cm))
		return 0;
	dt_perf_destroy(perf);
	return -1;
}

void dt_perf_destroy(struct dt_perf *perf)
{
	dt_link_free(perf->actor, &perf->link);
	dt_pool_destroy(perf->actor, &perf->pool);
	dt_pool_destroy(perf->actor, &perf->in);
	dt_evd_free(perf->actor, "request", &perf->evds.request);
	dt_evd_free(perf->actor, "recv", &perf->evds.recv);
	if (!perf->am_server)
		dt_evd_free(perf->actor, "conn", &perf->evds.cm);
	free(perf->posted_ns);
	perf->posted_ns = NULL;
}

struct dt_link *dt_perf_link(void *perf, uint32_t index)
{
	(void)index;
	return &((struct dt_perf *)perf)->link;
}

int dt_perf_connect(struct dt_perf *perf, const struct sockaddr_storage *address,
		    const struct dt_reply *reply)
{
	uint64_t deadline = dt_deadline_s(perf->params->timeout_s);
	const struct dt_hello hello = { reply->session, 0 };
	const struct dt_op *op = &perf->params->ops[0];

	perf->remote = reply->target;
	if (perf->remote.segment_length != op->seg_size * op->num_segs)
		return dt_fail(perf->actor, "the server offers %u bytes instead of %u",
			       (unsigned int)perf->remote.segment_length,
			       op->seg_size * op->num_segs);
	dt_debug(1, "%s: Connect on port 0x%llx", perf->actor->who,
		 (unsigned long long)reply->port);
	if (dt_link_connect(perf->actor, &perf->link, address, reply->port, deadline,
			    perf->params->qos, &hello))
		return -1;
	return dt_link_await_up(perf->actor, &perf->link, perf->evds.cm, deadline);
}

void dt_perf_close(struct dt_perf *perf, bool graceful)
{
	uint64_t deadline = dt_deadline_s(perf->params->timeout_s);

	if (!perf->am_server)
		dt_link_disconnect(perf->actor, &perf->link, graceful);
	if (!dt_link_await_down(perf->actor, &perf->link, perf->evds.cm, deadline))
		return;
	dt_fail(perf->actor, "the connection did not end within the time limit");
	dt_link_disconnect(perf->actor, &perf->link, false);
}

/* ---- measuring ---- */

static void times_add(struct dt_times *times, uint64_t ns)
{
	if (!times->count || ns < times->min_ns)
		times->min_ns = ns;
	if (ns > times->max_ns)
		times->max_ns = ns;
	times->sum_ns += ns;
	times->count++;
}

/* How often this thread has lost the processor so far, willingly or not. */
static uint64_t count_switches(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		return 0;
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static void call_add(struct dt_call_times *calls, uint64_t ns, uint64_t switches)
{
	times_add(switches ? &calls->disturbed : &calls->undisturbed, ns);
	calls->switches += switches;
}

static int post_send(struct dt_perf *perf, uint64_t number)
{
	DAT_DTO_COOKIE cookie = { .as_64 = number };
	DAT_RETURN ret;

	ret = dat_ep_post_send(perf->link.ep, (DAT_COUNT)perf->pool.num_segs, perf->pool.iov,
			       cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return ret == DAT_SUCCESS ? 0
				  : dt_fail_dat(perf->actor, ret, "Post %llu: dat_ep_post_send",
						(unsigned long long)number);
}

static int post_one(struct dt_perf *perf)
{
	bool is_read = perf->params->ops[0].xfer == DT_XFER_RR;
	DAT_DTO_COOKIE cookie = { .as_64 = perf->posts.undisturbed.count +
					   perf->posts.disturbed.count };
	DAT_RETURN ret;

	if (is_message(perf))
		return post_send(perf, cookie.as_64);
	ret = (is_read ? dat_ep_post_rdma_read : dat_ep_post_rdma_write)(
		perf->link.ep, (DAT_COUNT)perf->pool.num_segs, perf->pool.iov, cookie,
		&perf->remote, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS)
		return 0;
	return dt_fail_dat(perf->actor, ret, "Post %llu: dat_ep_post_rdma_%s",
			   (unsigned long long)cookie.as_64, is_read ? "read" : "write");
}

/* A message came back, after it had left. */
static int reap_message(struct dt_perf *perf, uint64_t deadline, uint32_t sequence)
{
	const struct dt_op *op = &perf->params->ops[0];
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	if (dt_reap_success(perf->actor, &perf->recv_reaper, "RECV", deadline, &dto))
		return -1;
	if (dto.user_cookie.as_64 != sequence ||
	    dto.transfered_length != op->seg_size * op->num_segs)
		return dt_fail(perf->actor, "receive %llu of %u bytes instead of %u of %u",
			       (unsigned long long)dto.user_cookie.as_64,
			       (unsigned int)dto.transfered_length, sequence,
			       op->seg_size * op->num_segs);
	return post_recv(perf, sequence + perf->pipeline);
}

static int reap_one(struct dt_perf *perf, uint64_t deadline, uint32_t sequence)
{
	const struct dt_op *op = &perf->params->ops[0];
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	if (is_message(perf) && reap_message(perf, deadline, sequence))
		return -1;
	if (dt_reap_success(perf->actor, &perf->reaper, dt_xfer_name(op->xfer), deadline, &dto))
		return -1;
	if (dto.ep_handle != perf->link.ep || dto.user_cookie.as_64 != sequence ||
	    dto.transfered_length != op->seg_size * op->num_segs)
		return dt_fail(perf->actor,
			       "Cookie mismatch (got %llx wanted %x) or Length "
			       "mismatch (xfer 0x%x wanted 0x%x)",
			       (unsigned long long)dto.user_cookie.as_64, sequence,
			       (unsigned int)dto.transfered_length, op->seg_size * op->num_segs);
	return 0;
}

/* Where the measuring stands: the end of one call is the start of the next. */
struct progress {
	uint32_t posted;
	uint32_t reaped;
	uint64_t now_ns;
	uint64_t switches;
	uint64_t alive_due_ns;
};

static uint64_t call_ended(const struct dt_perf *perf, struct dt_call_times *calls,
			   struct progress *at)
{
	uint64_t now = dt_now_ns();
	uint64_t spent = now - at->now_ns;
	uint64_t switches = at->switches;

	if (spent >= (perf->params->poll ? SHORT_POLL_NS : SHORT_WAIT_NS))
		switches = count_switches();
	call_add(calls, spent, switches - at->switches);
	at->switches = switches;
	at->now_ns = now;
	return now;
}

static int fill_pipeline(struct dt_perf *perf, struct progress *at)
{
	while (at->posted < perf->params->iterations && at->posted - at->reaped < perf->pipeline) {
		perf->posted_ns[at->posted % perf->pipeline] = at->now_ns;
		if (post_one(perf))
			return -1;
		call_ended(perf, &perf->posts, at);
		at->posted++;
	}
	return 0;
}

static uint64_t alive_interval_ns(const struct dt_perf *perf)
{
	return (uint64_t)perf->params->timeout_s * 1000000000u / 4;
}

/* Tells the server in good time that it must not give this client up. */
static int stay_alive(struct dt_perf *perf, struct dt_control *control, struct progress *at)
{
	/* Messages tell by themselves. */
	if (at->now_ns < at->alive_due_ns || is_message(perf))
		return 0;
	at->alive_due_ns = at->now_ns + alive_interval_ns(perf);
	return dt_control_send(control, dt_alive_encode(dt_control_buffer(control)));
}

static int measure(struct dt_perf *perf, struct dt_control *control, struct progress *at)
{
	uint64_t timeout_ns = (uint64_t)perf->params->timeout_s * 1000000000u;

	while (at->reaped < perf->params->iterations) {
		uint64_t ended, spent;

		if (fill_pipeline(perf, at) || reap_one(perf, at->now_ns + timeout_ns, at->reaped))
			return -1;
		ended = call_ended(perf, &perf->reaps, at);
		spent = ended - perf->posted_ns[at->reaped % perf->pipeline];
		times_add(&perf->latency, spent);
		dt_histogram_add(&perf->histogram, spent);
		at->reaped++;
		dt_progress("operations", at->reaped, perf->params->iterations);
		if (stay_alive(perf, control, at))
			return -1;
	}
	return 0;
}

int dt_perf_run(struct dt_perf *perf, struct dt_control *control)
{
	uint64_t cpu_ns = dt_cpu_ns(), started_ns = dt_now_ns();
	struct progress at = {
		.now_ns = started_ns,
		.switches = count_switches(),
		.alive_due_ns = started_ns + alive_interval_ns(perf),
	};

	dt_debug(1, "%s: Begin...", perf->actor->who);
	if (measure(perf, control, &at))
		return -1;
	dt_progress_end();
	perf->elapsed_ns = at.now_ns - started_ns;
	perf->cpu_ns = dt_cpu_ns() - cpu_ns;
	return 0;
}

int dt_perf_echo(struct dt_perf *perf)
{
	uint64_t timeout_ns = (uint64_t)perf->params->timeout_s * 1000000000u;
	DAT_DTO_COMPLETION_EVENT_DATA dto;
	uint32_t i;

	if (!is_message(perf))
		return 0;
	for (i = 0; i < perf->params->iterations; i++) {
		if (reap_message(perf, dt_now_ns() + timeout_ns, i) || post_send(perf, i))
			return -1;
		if (dt_reap_success(perf->actor, &perf->reaper, "SEND", dt_now_ns() + timeout_ns,
				    &dto))
			return -1;
	}
	return 0;
}

/* ---- results ---- */

static const char *type_of(const struct dt_perf *perf)
{
	static const char *const types[] = { "SR", "RR", "RW" };

	return types[perf->params->ops[0].xfer];
}

static double mean_us(uint64_t count, uint64_t sum_ns)
{
	return count ? (double)sum_ns / (double)count / 1e3 : 0;
}

static void print_times(const struct dt_times *times)
{
	dt_say("    Arithmetic mean      : %.2f us", mean_us(times->count, times->sum_ns));
	dt_say("    maximum              : %.2f us", (double)times->max_ns / 1e3);
	dt_say("    minimum              : %.2f us\n", (double)times->min_ns / 1e3);
}

static void print_calls(const char *title, const char *what, const struct dt_call_times *calls)
{
	dt_say("%s", title);
	dt_say("    %llu %s without context switches", (unsigned long long)calls->undisturbed.count,
	       what);
	print_times(&calls->undisturbed);
	if (!calls->disturbed.count) {
		dt_say("    0 %s with context switches\n", what);
		return;
	}
	dt_say("    %llu %s with context switches", (unsigned long long)calls->disturbed.count,
	       what);
	dt_say("    %llu number of context switches", (unsigned long long)calls->switches);
	print_times(&calls->disturbed);
}

static double call_mean_us(const struct dt_call_times *calls)
{
	return mean_us(calls->undisturbed.count + calls->disturbed.count,
		       calls->undisturbed.sum_ns + calls->disturbed.sum_ns);
}

/* A step of the histogram may end above the longest time. */
static double percentile_us(const struct dt_perf *perf, int i)
{
	uint64_t ns = dt_histogram_percentile(&perf->histogram, dt_percentiles[i]);

	return (double)(ns < perf->latency.max_ns ? ns : perf->latency.max_ns) / 1e3;
}

void dt_perf_result(const struct dt_perf *perf, struct dt_result *result)
{
	const struct dt_op *op = &perf->params->ops[0];
	uint64_t bytes = (uint64_t)op->seg_size * op->num_segs * perf->params->iterations;
	int i;

	result->xfer = op->xfer;
	result->polling = perf->params->poll;
	result->seg_size = op->seg_size;
	result->num_segs = op->num_segs;
	result->pipeline = perf->pipeline;
	result->count = perf->params->iterations;
	result->seconds = (double)perf->elapsed_ns / 1e9;
	result->cpu_percent = 100.0 * (double)perf->cpu_ns / (double)perf->elapsed_ns;
	result->mean_us = mean_us(perf->latency.count, perf->latency.sum_ns);
	result->min_us = (double)perf->latency.min_ns / 1e3;
	result->max_us = (double)perf->latency.max_ns / 1e3;
	for (i = 0; i < DT_NUM_PERCENTILES; i++)
		result->percentile_us[i] = percentile_us(perf, i);
	result->post_us = call_mean_us(&perf->posts);
	result->reap_us = call_mean_us(&perf->reaps);
	*(op->xfer == DT_XFER_RR   ? &result->read
	  : op->xfer == DT_XFER_RW ? &result->written
				   : &result->sent) = bytes;
}

/* What the times above are, for those who do not know what the test does. */
static void print_meaning(const struct dt_perf *perf)
{
	static const char *const latency[] = {
		[DT_XFER_SR] = "from the post of a message until it came back: a round trip",
		[DT_XFER_RR] = "from the post of a read until its data is here: a round trip",
		[DT_XFER_RW] = "from the post of a write to its completion, before the peer has it",
	};

	dt_say("NOTE: latency is %s", latency[perf->params->ops[0].xfer]);
	if (perf->pipeline > 1)
		dt_say("NOTE: %u in flight wait for each other: -p 1 times one alone",
		       perf->pipeline);
	dt_say("NOTE: post is the call that posts, reap the wait for a completion");
}

void dt_perf_print(const struct dt_perf *perf)
{
	static const char rule[] =
		"---------------------------------------------------------------------";
	const struct dt_op *op = &perf->params->ops[0];
	const char *type = type_of(perf);
	int i;
	uint32_t count = perf->params->iterations;
	double seconds = (double)perf->elapsed_ns / 1e9;
	double megabytes = (double)count * op->seg_size * op->num_segs / MB;
	double cpu = 100.0 * (double)perf->cpu_ns / (double)perf->elapsed_ns;

	dt_say("------------------------- Statistics -------------------------");
	dt_say("    Mode                 : %s", perf->params->poll ? "polling" : "blocking");
	dt_say("    Operation Type       : %s", type);
	dt_say("    Number of Operations : %u", count);
	dt_say("    Segment Size         : %u", op->seg_size);
	dt_say("    Number of Segments   : %u ", op->num_segs);
	dt_say("    Pipeline Length      : %u\n", perf->pipeline);
	dt_say("    Total Time           : %.2f sec", seconds);
	dt_say("    Total Data Exchanged : %.2f MB", megabytes);
	dt_say("    CPU Utilization      : %.2f", cpu);
	dt_say("    Operation Throughput : %.2f ops/sec", count / seconds);
	dt_say("    Bandwidth            : %.2f MB/sec\n", megabytes / seconds);
	dt_say("Latency");
	print_times(&perf->latency);
	print_calls("Time Per Post", "posts", &perf->posts);
	print_calls("Time Per Reap", "reaps", &perf->reaps);
	for (i = 0; i < DT_NUM_PERCENTILES; i++)
		dt_say("Latency percentile %-5g: %.2f us", dt_percentiles[i],
		       percentile_us(perf, i));
	print_meaning(perf);
	dt_say("NOTE: 1 MB = 1024 KB = 1048576 B \n%s", rule);
	dt_say("raw: %s, %u, %u, %u, %u, %.2f, %.2f, %.2f, %.2f, %.2f, %.2f \n%s", type, count,
	       op->seg_size, op->num_segs, perf->pipeline, cpu, count / seconds,
	       megabytes / seconds, mean_us(perf->latency.count, perf->latency.sum_ns),
	       call_mean_us(&perf->posts), call_mean_us(&perf->reaps), rule);
}
