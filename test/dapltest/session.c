/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "control.h"
#include "perf.h"
#include "trans.h"

/* Room for the control connection's own events and for stray requests. */
#define CM_QLEN 32

/* What a session works with; on its thread's stack. */
struct work {
	struct dt_session *session;
	struct dt_control control;
	struct dt_params params;
	DAT_PZ_HANDLE pz;
	bool refused; /* the client was told why there will be no test */
};

static int grow_cm_evd(struct work *work, uint32_t endpoints)
{
	struct dt_actor *actor = &work->session->actor;
	DAT_RETURN ret;

	/* Per endpoint one request, and then two events of its connection. */
	ret = dat_evd_resize(work->control.evds.cm, (DAT_COUNT)(CM_QLEN + 3 * endpoints));
	return ret == DAT_SUCCESS ? 0 : dt_fail_dat(actor, ret, "dat_evd_resize (conn)");
}

/* ---- accepting a test's connections ---- */

struct acceptor {
	struct work *work;
	const struct dt_listener *listener;
	dt_link_finder find;
	void *test;
	uint32_t count;
	uint32_t up;
};

/* The link a request is for, or null when it is for none, or for one that has its connection. */
static struct dt_link *link_wanted(const struct acceptor *acceptor, const DAT_CR_PARAM *param,
				   struct dt_hello *hello)
{
	const struct dt_session *session = acceptor->work->session;
	struct dt_link *link;

	if (dt_hello_decode(hello, param->private_data, param->private_data_size) ||
	    hello->session != session->id || hello->index >= acceptor->count)
		return NULL;
	link = acceptor->find(acceptor->test, hello->index);
	if (link->state != DT_LINK_IDLE)
		return NULL;
	if (acceptor->listener->rsps && param->local_ep_handle != link->ep)
		return NULL;
	return link;
}

static int answer(struct acceptor *acceptor, DAT_CR_HANDLE cr)
{
	struct dt_actor *actor = &acceptor->work->session->actor;
	struct dt_hello hello;
	struct dt_link *link;
	DAT_CR_PARAM param;
	DAT_RETURN ret;

	memset(&param, 0, sizeof(param));
	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(actor, ret, "dat_cr_query");
	link = link_wanted(acceptor, &param, &hello);
	if (!link) {
		dt_warn(actor, "a connection request that belongs to no test was rejected");
		dat_cr_reject(cr, 0, NULL);
		return 0;
	}
	dt_debug(1, "%s: Accept #%u", actor->who, hello.index);
	return dt_link_accept(actor, link, cr, acceptor->listener->rsps != NULL, &hello);
}

static int accept_event(struct acceptor *acceptor, const DAT_EVENT *event,
			const struct dt_link *link)
{
	struct dt_actor *actor = &acceptor->work->session->actor;

	if (!link)
		return answer(acceptor, event->event_data.cr_arrival_event_data.cr_handle);
	if (link == &acceptor->work->control.link)
		return dt_fail(actor, "the client went away");
	if (link->state != DT_LINK_UP)
		return dt_fail(actor, "bad connection event: %s",
			       dt_event_name(event->event_number));
	acceptor->up++;
	return 0;
}

static int accept_all(struct acceptor *acceptor)
{
	struct work *work = acceptor->work;
	struct dt_link *link;
	DAT_EVENT event;
	int ret;

	while (acceptor->up < acceptor->count) {
		ret = dt_cm_wait(&work->session->actor, work->control.evds.cm,
				 dt_deadline_s(work->params.timeout_s), &event, &link);
		if (ret > 0)
			return dt_fail(&work->session->actor,
				       "%u Server test connections did not report ready.",
				       acceptor->count - acceptor->up);
		if (ret || accept_event(acceptor, &event, link))
			return -1;
	}
	return 0;
}

/* ---- telling the client ---- */

static int send_reply(struct work *work, const struct dt_reply *reply)
{
	size_t length = dt_reply_encode(reply, dt_control_buffer(&work->control));

	return dt_control_send(&work->control, length);
}

/* Returns -1 for the caller to return. */
static int refuse(struct work *work)
{
	struct dt_reply reply = { .ok = false };

	snprintf(reply.text, sizeof(reply.text), "%s", work->session->actor.text);
	work->refused = !dt_control_send_last(
		&work->control, dt_reply_encode(&reply, dt_control_buffer(&work->control)));
	return -1;
}

/* The client says how its side ended, before or after ours has; both learn of the other. */
static int exchange_results(struct work *work)
{
	struct dt_actor *actor = &work->session->actor;
	struct dt_outcome outcome;
	void *message;
	int type;

	if (work->refused || work->control.link.state != DT_LINK_UP)
		return -1;
	do {
		type = dt_control_recv(&work->control, &message);
		if (type < 0)
			return -1;
		if (type == DT_MSG_ALIVE && dt_control_consumed(&work->control, message))
			return -1;
	} while (type == DT_MSG_ALIVE);
	if (type != DT_MSG_DONE || dt_outcome_decode(&outcome, message))
		return dt_fail(actor, "message %d when the client's outcome was due", type);
	if (!outcome.ok)
		dt_fail(actor, "the client reports: %s", outcome.text);
	return dt_control_send_last(
		&work->control,
		dt_outcome_encode(DT_MSG_RESULT, actor, dt_control_buffer(&work->control)));
}

/* ---- the tests ---- */

static int listen_for(struct work *work, struct acceptor *acceptor, struct dt_listener *listener,
		      bool rsps)
{
	struct dt_session *session = work->session;
	DAT_EVD_HANDLE evd = work->control.evds.cm;

	if (rsps)
		return dt_listen_rsps(&session->actor, listener, session->ia, evd, session->ports,
				      acceptor->find, acceptor->test, acceptor->count);
	return dt_listen_psp(&session->actor, listener, session->ia, evd, session->ports);
}

/* From the service points to the last connection. */
static int connect_test(struct work *work, dt_link_finder find, void *test, uint32_t count,
			bool rsps, const DAT_RMR_TRIPLET *target)
{
	struct dt_listener listener;
	struct acceptor acceptor = {
		.work = work, .listener = &listener, .find = find, .test = test, .count = count
	};
	struct dt_reply reply = { .ok = true, .session = work->session->id, .port_per_ep = rsps };
	int ret;

	if (listen_for(work, &acceptor, &listener, rsps))
		return refuse(work);
	reply.port = listener.port;
	if (target)
		reply.target = *target;
	ret = send_reply(work, &reply) || accept_all(&acceptor) ? -1 : 0;
	dt_unlisten(&work->session->actor, &listener);
	return ret;
}

static int run_trans(struct work *work)
{
	struct dt_session *session = work->session;
	struct dt_trans trans;
	int ret;

	dt_debug(1, "%s: Creating Transaction Test Thread", session->actor.who);
	if (grow_cm_evd(work, work->params.threads * work->params.eps.first) ||
	    dt_trans_create(&trans, &session->actor, session->ia, work->pz, &work->params,
			    work->params.eps.first, work->control.evds.cm, &session->stop))
		return refuse(work);
	ret = connect_test(work, dt_trans_link, &trans, dt_trans_count(&trans), work->params.rsp,
			   NULL);
	if (!ret)
		dt_trans_run(&trans);
	else
		dt_trans_break(&trans);
	ret = exchange_results(work);
	dt_trans_close(&trans);
	dt_trans_destroy(&trans);
	dt_say("Server: Transaction Test Finished for this client");
	return ret;
}

static int run_perf(struct work *work)
{
	struct dt_session *session = work->session;
	struct dt_perf perf;
	DAT_RMR_TRIPLET target;
	int ret;

	dt_debug(1, "%s: Creating Performance Test Thread", session->actor.who);
	if (grow_cm_evd(work, 1) || dt_perf_create(&perf, &session->actor, session->ia, work->pz,
						   &work->params, work->control.evds.cm))
		return refuse(work);
	target = dt_pool_remote(&perf.pool);
	if (connect_test(work, dt_perf_link, &perf, 1, false, &target))
		dt_link_disconnect(&session->actor, &perf.link, false);
	else if (dt_perf_echo(&perf))
		dt_link_disconnect(&session->actor, &perf.link, false);
	ret = exchange_results(work);
	dt_perf_close(&perf, !session->actor.failed);
	dt_perf_destroy(&perf);
	dt_say("Server: Finished performance test.  Detaching.\nServer: Finished performance test. "
	       " Exiting.");
	return ret;
}

static int run_quit(struct work *work)
{
	const struct dt_reply reply = { .ok = true };

	dt_debug(1, "Client Requests Server to Quit");
	work->session->quit_asked = true;
	return dt_control_send_last(&work->control,
				    dt_reply_encode(&reply, dt_control_buffer(&work->control)));
}

static int recv_command(struct work *work)
{
	struct dt_actor *actor = &work->session->actor;
	void *message;
	int type;

	dt_debug(1, "%s: Waiting for Client_Cmd_Info", actor->who);
	type = dt_control_recv(&work->control, &message);
	if (type < 0)
		return -1;
	if (type != DT_MSG_COMMAND || dt_command_decode(&work->params, message)) {
		dt_fail(actor, "Unknown TestType or parameters received");
		return refuse(work);
	}
	/* From now on the client says how long it may take between two messages. */
	if (work->params.timeout_s)
		work->control.timeout_s = work->params.timeout_s;
	return dt_control_consumed(&work->control, message);
}

static int serve(struct work *work)
{
	struct dt_session *session = work->session;
	DAT_CR_HANDLE cr = session->cr;

	session->cr = DAT_HANDLE_NULL;
	if (dt_link_accept(&session->actor, &work->control.link, cr, false, NULL) ||
	    dt_link_await_up(&session->actor, &work->control.link, work->control.evds.cm,
			     dt_deadline_s(session->timeout_s)) ||
	    recv_command(work))
		return -1;
	switch (work->params.test) {
	case DT_TEST_TRANS:
		return run_trans(work);
	case DT_TEST_PERF:
		return run_perf(work);
	default:
		return run_quit(work);
	}
}

/* The client closes the control connection when it has read the last message. */
static void close_control(struct work *work, bool served)
{
	struct dt_control *control = &work->control;
	struct dt_actor *actor = &work->session->actor;
	uint64_t deadline = dt_deadline_s(work->session->timeout_s);

	if (!served && !work->refused)
		dt_link_disconnect(actor, &control->link, false);
	if (dt_link_await_down(actor, &control->link, control->evds.cm, deadline))
		dt_link_disconnect(actor, &control->link, false);
}

static void work_through(struct work *work)
{
	struct dt_session *session = work->session;
	DAT_RETURN ret;

	ret = dat_pz_create(session->ia->handle, &work->pz);
	if (ret != DAT_SUCCESS) {
		dt_fail_dat(&session->actor, ret, "dat_pz_create");
		return;
	}
	if (!dt_control_create(&work->control, &session->actor, session->ia, work->pz, CM_QLEN,
			       DAT_EVD_CR_FLAG, session->timeout_s)) {
		close_control(work, !serve(work));
		dt_control_destroy(&work->control);
	}
	ret = dat_pz_free(work->pz);
	if (ret != DAT_SUCCESS)
		dt_fail_dat(&session->actor, ret, "dat_pz_free");
}

static void *session_main(void *arg)
{
	struct dt_session *session = arg;
	struct work work = { .session = session };
	DAT_EVENT wake = { .event_number = DAT_SOFTWARE_EVENT };

	work_through(&work);
	if (session->cr)
		dat_cr_reject(session->cr, 0, NULL);
	if (session->actor.failed)
		dt_ia_report_async(&session->actor, session->ia);
	atomic_store(&session->over, true);
	/* A full queue wakes the server just as well. */
	dat_evd_post_se(session->server_evd, &wake);
	return NULL;
}

static uint32_t random_id(uint32_t number)
{
	uint32_t id;

	return getrandom(&id, sizeof(id), 0) == sizeof(id) ? id : number;
}

struct dt_session *dt_session_start(const struct dt_actor *server, const struct dt_ia *ia,
				    struct dt_ports *ports, DAT_EVD_HANDLE server_evd,
				    DAT_CR_HANDLE cr, uint32_t number, uint32_t timeout_s)
{
	struct dt_session *session = calloc(1, sizeof(*session));

	if (session) {
		dt_actor_init(&session->actor, "Server[%u]", number);
		session->ia = ia;
		session->ports = ports;
		session->server_evd = server_evd;
		session->cr = cr;
		session->timeout_s = timeout_s;
		session->id = random_id(number);
		atomic_init(&session->stop, false);
		atomic_init(&session->over, false);
		if (!pthread_create(&session->thread, NULL, session_main, session))
			return session;
	}
	free(session);
	dt_warn(server, "no memory to create thread: a client is turned away");
	dat_cr_reject(cr, 0, NULL);
	return NULL;
}

void dt_session_join(struct dt_session *session)
{
	pthread_join(session->thread, NULL);
	free(session);
}
