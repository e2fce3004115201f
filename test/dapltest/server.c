/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One EVD carries all that the server waits for: connection requests and, as software events, the
 * ends of sessions and the signals that a thread of their own takes.
 */
#include "server.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ia.h"
#include "listener.h"
#include "session.h"

#define SERVER_QLEN  256
#define MAX_SESSIONS 1024

struct server {
	struct dt_actor actor;
	const struct dt_params *params;
	struct dt_ia ia;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	struct dt_ports ports;
	struct dt_session *sessions;
	uint32_t num_sessions;
	uint32_t started;
	bool quit;
	pthread_t signal_thread;
	bool signal_thread_runs;
	atomic_bool signalled;
	atomic_bool ending;
};

/* ---- signals ---- */

static void stop_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

/* The first signal ends the server in good order, a second one at once. */
static void *signal_main(void *arg)
{
	DAT_EVENT wake = { .event_number = DAT_SOFTWARE_EVENT };
	struct server *server = arg;
	sigset_t set;
	int number;

	stop_signals(&set);
	while (!sigwait(&set, &number)) {
		if (atomic_load(&server->ending))
			break;
		if (atomic_exchange(&server->signalled, true))
			_exit(128 + number);
		dat_evd_post_se(server->evd, &wake);
	}
	return NULL;
}

static int start_signal_thread(struct server *server)
{
	if (pthread_create(&server->signal_thread, NULL, signal_main, server))
		return dt_fail(&server->actor, "no thread for signals");
	server->signal_thread_runs = true;
	return 0;
}

static void end_signal_thread(struct server *server)
{
	if (!server->signal_thread_runs)
		return;
	atomic_store(&server->ending, true);
	pthread_kill(server->signal_thread, SIGTERM);
	pthread_join(server->signal_thread, NULL);
}

/* ---- sessions ---- */

static void join_over(struct server *server, bool all)
{
	struct dt_session **at = &server->sessions;

	while (*at) {
		struct dt_session *session = *at;

		if (!all && !atomic_load(&session->over)) {
			at = &session->next;
			continue;
		}
		*at = session->next;
		server->num_sessions--;
		dt_session_join(session);
	}
}

static void look_for_quit(struct server *server)
{
	for (struct dt_session *session = server->sessions; session; session = session->next)
		if (atomic_load(&session->over) && session->quit_asked)
			server->quit = true;
	if (!atomic_load(&server->signalled))
		return;
	server->quit = true;
	for (struct dt_session *session = server->sessions; session; session = session->next)
		atomic_store(&session->stop, true);
}

static void say_ready(const struct server *server)
{
	dt_say("Dapltest: Service Point Ready - %s", server->params->ia_name);
}

static void start_session(struct server *server, DAT_CR_HANDLE cr)
{
	struct dt_session *session;

	if (server->num_sessions == MAX_SESSIONS) {
		dt_warn(&server->actor, "%u clients at once: one more is turned away",
			MAX_SESSIONS);
		dat_cr_reject(cr, 0, NULL);
		return;
	}
	dt_debug(1, "%s: Accepting Connection Request", server->actor.who);
	session = dt_session_start(&server->actor, &server->ia, &server->ports, server->evd, cr,
				   ++server->started, server->params->timeout_s);
	if (!session)
		return;
	session->next = server->sessions;
	server->sessions = session;
	server->num_sessions++;
	dt_debug(1, "%s: Waiting for another client...", server->actor.who);
	say_ready(server);
}

static int serve(struct server *server)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	while (!server->quit) {
		ret = dat_evd_wait(server->evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
		if (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
			continue;
		if (ret != DAT_SUCCESS)
			return dt_fail_dat(&server->actor, ret, "dat_evd_wait (CR)");
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			start_session(server, event.event_data.cr_arrival_event_data.cr_handle);
		look_for_quit(server);
		join_over(server, false);
	}
	return 0;
}

/* ---- starting and ending ---- */

static int create_psp(struct server *server)
{
	DAT_IA_HANDLE ia = server->ia.handle;
	DAT_RETURN ret;

	server->ports.base = server->params->port;
	if (server->ports.base)
		ret = dat_psp_create(ia, server->ports.base, server->evd, DAT_PSP_CONSUMER_FLAG,
				     &server->psp);
	else
		ret = dat_psp_create_any(ia, &server->ports.base, server->evd,
					 DAT_PSP_CONSUMER_FLAG, &server->psp);
	if (ret == DAT_SUCCESS)
		return 0;
	server->psp = DAT_HANDLE_NULL;
	if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE)
		dt_say("NOTICE: server already started for this NIC: %s", server->params->ia_name);
	return dt_fail_dat(&server->actor, ret, "dat_psp_create on port %llu",
			   (unsigned long long)server->ports.base);
}

static int start(struct server *server)
{
	if (dt_evd_create(&server->actor, &server->ia, "creq", SERVER_QLEN, DAT_HANDLE_NULL,
			  (DAT_EVD_FLAGS)(DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG), &server->evd) ||
	    start_signal_thread(server) || create_psp(server))
		return -1;
	dt_debug(1, "%s: PSP created", server->actor.who);
	if (!server->params->port)
		dt_say("Dapltest: Server Port - %llu", (unsigned long long)server->ports.base);
	say_ready(server);
	return 0;
}

/* Requests that came in with the last events are answered, not left to the EVD's end. */
static void turn_away(struct server *server)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(server->evd, &event) == DAT_SUCCESS)
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL);
}

static void end(struct server *server)
{
	DAT_RETURN ret;

	if (server->psp) {
		ret = dat_psp_free(server->psp);
		if (ret != DAT_SUCCESS)
			dt_fail_dat(&server->actor, ret, "dat_psp_free");
	}
	dt_debug(1, "%s: Waiting for clients to all go away...", server->actor.who);
	join_over(server, true);
	dt_debug(1, "%s: Cleaning up ...", server->actor.who);
	end_signal_thread(server);
	if (server->evd)
		turn_away(server);
	dt_evd_free(&server->actor, "creq", &server->evd);
	dt_ia_report_async(&server->actor, &server->ia);
}

static int open_and_serve(struct server *server, struct dt_params *params)
{
	int ret;

	if (!params->ia_name[0] && dt_ia_first(&server->actor, params->ia_name))
		return -1;
	if (params->debug)
		dt_params_print(params);
	if (dt_ia_open(&server->actor, &server->ia, params->ia_name))
		return -1;
	if (params->debug)
		dt_ia_print(&server->ia);
	ret = start(server) || serve(server) ? -1 : 0;
	end(server);
	return dt_ia_close(&server->actor, &server->ia) || ret ? -1 : 0;
}

int dt_server_run(struct dt_params *params)
{
	struct server server;
	sigset_t set;
	int ret;

	/* Before anything starts a thread: all inherit it, and the signals are the one thread's. */
	stop_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	memset(&server, 0, sizeof(server));
	server.params = params;
	pthread_mutex_init(&server.ports.lock, NULL);
	dt_actor_init(&server.actor, "DT_cs_Server");
	ret = open_and_serve(&server, params);
	pthread_mutex_destroy(&server.ports.lock);
	dt_say("%s (%s):  Exiting.", server.actor.who, params->ia_name);
	return ret || server.actor.failed ? -1 : 0;
}
