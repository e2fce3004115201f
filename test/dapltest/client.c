/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "client.h"

#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "control.h"
#include "perf.h"
#include "results.h"
#include "summary.h"
#include "trans.h"

/* What one test works with. */
struct work {
	struct dt_actor *actor;
	const struct dt_ia *ia;
	const struct dt_params *params;
	uint32_t eps;
	struct sockaddr_storage address;
	DAT_PZ_HANDLE pz;
	struct dt_control control;
	struct dt_reply reply;
	struct dt_result result;
};

/* ---- talking to the server ---- */

static int send_command(struct work *work)
{
	void *buffer = dt_control_buffer(&work->control);

	dt_debug(1, "%s: Sending Command", work->actor->who);
	return dt_control_send(&work->control, dt_command_encode(work->params, work->eps, buffer));
}

static int recv_reply(struct work *work)
{
	void *message;
	int type;

	dt_debug(1, "%s: Waiting for Server_Info", work->actor->who);
	type = dt_control_recv(&work->control, &message);
	if (type < 0)
		return -1;
	if (type != DT_MSG_REPLY || dt_reply_decode(&work->reply, message))
		return dt_fail(work->actor, "message %d when the server's reply was due", type);
	if (!work->reply.ok)
		return dt_fail(work->actor, "the server refuses: %s", work->reply.text);
	return dt_control_consumed(&work->control, message);
}

static int connect_control(struct work *work)
{
	uint64_t deadline = dt_deadline_s(work->params->timeout_s);

	dt_debug(1, "%s: Connect Endpoint", work->actor->who);
	if (dt_link_connect(work->actor, &work->control.link, &work->address, work->params->port,
			    deadline, DAT_QOS_BEST_EFFORT, NULL) ||
	    dt_link_await_up(work->actor, &work->control.link, work->control.evds.cm, deadline))
		return dt_fail(work->actor, "no connection to %s, port %llu", work->params->server,
			       (unsigned long long)work->params->port);
	dt_debug(1, "%s: Connected!", work->actor->who);
	dt_summary_met(work->ia, work->control.link.version);
	return 0;
}

/* Each side tells the other how it fared; a failure of either fails the test. */
static int exchange_results(struct work *work)
{
	struct dt_control *control = &work->control;
	struct dt_outcome outcome;
	bool own_failure = work->actor->failed;
	void *message;
	int type;

	if (dt_control_send(control, dt_outcome_encode(DT_MSG_DONE, work->actor,
						       dt_control_buffer(control))))
		return -1;
	type = dt_control_recv(control, &message);
	if (type < 0)
		return -1;
	if (type != DT_MSG_RESULT || dt_outcome_decode(&outcome, message))
		return dt_fail(work->actor, "message %d when the server's outcome was due", type);
	if (!outcome.ok && !own_failure)
		dt_fail(work->actor, "the server reports: %s", outcome.text);
	return outcome.ok && !own_failure ? 0 : -1;
}

/* ---- the tests ---- */

static int run_trans(struct work *work)
{
	struct dt_trans trans;
	atomic_bool stop;
	int ret;

	atomic_init(&stop, false);
	if (dt_trans_create(&trans, work->actor, work->ia, work->pz, work->params, work->eps,
			    DAT_HANDLE_NULL, &stop))
		return -1;
	trans.address = work->address;
	trans.reply = work->reply;
	ret = dt_trans_run(&trans);
	if (atomic_load(&trans.connected) && exchange_results(work))
		ret = -1;
	dt_trans_close(&trans);
	if (!ret) {
		dt_trans_print(&trans);
		dt_trans_result(&trans, &work->result);
	}
	dt_trans_destroy(&trans);
	return ret;
}

static int run_perf(struct work *work)
{
	struct dt_perf perf;
	int ret;

	if (dt_perf_create(&perf, work->actor, work->ia, work->pz, work->params, DAT_HANDLE_NULL))
		return -1;
	ret = dt_perf_connect(&perf, &work->address, &work->reply);
	if (!ret) {
		ret = dt_perf_run(&perf, &work->control);
		if (exchange_results(work))
			ret = -1;
	}
	dt_perf_close(&perf, !ret);
	if (!ret) {
		dt_perf_print(&perf);
		dt_perf_result(&perf, &work->result);
	}
	dt_perf_destroy(&perf);
	return ret;
}

static int run_test(struct work *work)
{
	switch (work->params->test) {
	case DT_TEST_TRANS:
		return run_trans(work);
	case DT_TEST_PERF:
		return run_perf(work);
	default:
		return 0;
	}
}

static void close_control(struct work *work)
{
	struct dt_control *control = &work->control;
	uint64_t deadline = dt_deadline_s(work->params->timeout_s);

	dt_debug(1, "%s: Cleaning Up ...", work->actor->who);
	dt_link_disconnect(work->actor, &control->link, !work->actor->failed);
	if (dt_link_await_down(work->actor, &control->link, control->evds.cm, deadline) > 0)
		dt_fail(work->actor, "bad disconnect event: none within the time limit");
}

static int with_control(struct work *work)
{
	int ret;

	if (dt_control_create(&work->control, work->actor, work->ia, work->pz, 4, (DAT_EVD_FLAGS)0,
			      work->params->timeout_s))
		return -1;
	ret = connect_control(work) || send_command(work) || recv_reply(work) || run_test(work) ? -1
												: 0;
	close_control(work);
	dt_control_destroy(&work->control);
	return ret;
}

static void name_result(const struct dt_params *params, uint32_t eps, char *name, size_t size)
{
	const struct dt_op *op = &params->ops[0];

	if (params->test == DT_TEST_PERF)
		snprintf(name, size, "%s %u x %u, %s, pipeline %u", dt_xfer_name(op->xfer),
			 op->seg_size, op->num_segs, params->poll ? "polling" : "blocking",
			 params->pipeline);
	else if (params->test == DT_TEST_TRANS)
		snprintf(name, size, "transactions of %u operations, %u threads, %u endpoints each",
			 params->num_ops, params->threads, eps);
	else
		snprintf(name, size, "quit");
}

static void keep_result(struct work *work, int failed)
{
	struct dt_result *result = &work->result;

	result->test = work->params->test;
	result->ok = !failed;
	name_result(work->params, work->eps, result->name, sizeof(result->name));
	if (failed)
		memcpy(result->error, work->actor->text, sizeof(result->error));
	dt_results_add(result);
}

/* One test with one number of endpoints, over a control connection of its own. */
static int run_one(struct dt_actor *actor, const struct dt_ia *ia, const struct dt_params *params,
		   const struct sockaddr_storage *address, uint32_t eps)
{
	struct work work = {
		.actor = actor, .ia = ia, .params = params, .eps = eps, .address = *address
	};
	DAT_RETURN ret;
	int result;

	ret = dat_pz_create(ia->handle, &work.pz);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(actor, ret, "dat_pz_create");
	result = with_control(&work);
	keep_result(&work, result || actor->failed);
	ret = dat_pz_free(work.pz);
	if (ret != DAT_SUCCESS)
		result = dt_fail_dat(actor, ret, "dat_pz_free");
	return result;
}

static int run_all(struct dt_actor *actor, const struct dt_ia *ia, const struct dt_params *params,
		   const struct sockaddr_storage *address)
{
	const struct dt_range *range = &params->eps;

	for (uint32_t eps = range->first; eps <= range->last; eps += range->step)
		if (run_one(actor, ia, params, address, eps))
			return -1;
	return 0;
}

/* Once, or for every size of the sweep. */
static int run_sweep(struct dt_actor *actor, const struct dt_ia *ia, const struct dt_params *params,
		     const struct sockaddr_storage *address)
{
	struct dt_params one = *params;
	uint64_t size;

	if (!params->sweep.last)
		return run_all(actor, ia, params, address);
	for (size = params->sweep.first; size <= params->sweep.last; size *= 2) {
		one.ops[0].seg_size = (uint32_t)size;
		if (run_all(actor, ia, &one, address))
			return -1;
	}
	return 0;
}

/* Once, or until the time is up; then says what it came to. */
static int run_for(struct dt_actor *actor, const struct dt_ia *ia, const struct dt_params *params,
		   const struct sockaddr_storage *address)
{
	uint64_t started = dt_now_ns(), end = dt_deadline_s(params->duration_s);
	uint32_t rounds = 0;
	double seconds;

	if (!params->duration_s)
		return run_sweep(actor, ia, params, address);
	do {
		if (run_sweep(actor, ia, params, address))
			return -1;
		rounds++;
	} while (!dt_expired(end));
	seconds = (double)(dt_now_ns() - started) / 1e9;
	dt_say("Soak: %u rounds in %.1f sec, %llu bytes moved, none wrong%s", rounds, seconds,
	       (unsigned long long)dt_results_bytes(),
	       params->validate ? "" : " as far as lengths tell (-V looks at every byte)");
	return 0;
}

/* A server that has addresses of several families is addressed as the adapter is itself. */
static int fit_address(struct dt_actor *actor, const struct dt_ia *ia,
		       const struct dt_params *params, struct sockaddr_storage *address)
{
	const struct sockaddr *own = (const struct sockaddr *)ia->attr.ia_address_ptr;

	if (!own || own->sa_family == address->ss_family)
		return 0;
	return dt_resolve(actor, params->server, own->sa_family, address);
}

static int open_and_run(struct dt_actor *actor, const struct dt_params *params,
			struct sockaddr_storage *address)
{
	struct dt_ia ia;
	int ret;

	if (dt_ia_open(actor, &ia, params->ia_name))
		return -1;
	if (params->debug)
		dt_ia_print(&ia);
	ret = fit_address(actor, &ia, params, address) || run_for(actor, &ia, params, address);
	dt_ia_report_async(actor, &ia);
	return dt_ia_close(actor, &ia) || ret ? -1 : 0;
}

static int prepare(struct dt_actor *actor, struct dt_params *params,
		   struct sockaddr_storage *address)
{
	char text[NI_MAXHOST];

	if (!params->ia_name[0] && dt_ia_first(actor, params->ia_name))
		return -1;
	if (params->debug && params->test != DT_TEST_QUIT)
		dt_params_print(params);
	if (dt_resolve(actor, params->server, AF_INET, address))
		return -1;
	dt_address_print(address, text);
	dt_say("Server Name: %s ", params->server);
	dt_say("Server Net Address: %s", text);
	dt_say("%s: Starting Test ... ", actor->who);
	if (params->test == DT_TEST_QUIT)
		dt_params_print(params);
	return 0;
}

int dt_client_run(struct dt_params *params)
{
	struct sockaddr_storage address;
	struct dt_actor actor;
	int ret;

	dt_actor_init(&actor, "DT_cs_Client");
	ret = prepare(&actor, params, &address) || open_and_run(&actor, params, &address);
	dt_say("%s: ========== End of Work -- Client Exiting", actor.who);
	return ret || actor.failed ? -1 : 0;
}
