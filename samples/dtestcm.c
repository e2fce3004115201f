/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What setting up costs: opening an adapter, its objects, and many connections, in bursts. Options:
 * dtestcm(1).
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

struct options {
	const char *adapter, *host;
	DAT_CONN_QUAL port;
	unsigned int connections, burst, delay;
	bool verbose, multi, wait;
};

struct work {
	struct options opt;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr_evd, conn_evd, dto_evd;
	DAT_EP_HANDLE *ep;
};

/* Microseconds since *start, which becomes now. */
static double lap(double *start)
{
	double end = now(), took = (end - *start) * 1e6;

	*start = end;
	return took;
}

static void set_up(struct work *w)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_COUNT qlen = (DAT_COUNT)w->opt.connections + 8;
	double start = now();
	unsigned int i;

	must(dat_ia_open((DAT_NAME_PTR)w->opt.adapter, 8, &async, &w->ia), w->opt.adapter);
	printf(" open:      %10.2f usec\n", lap(&start));
	must(dat_pz_create(w->ia, &w->pz), "dat_pz_create");
	printf(" PZ create: %10.2f usec\n", lap(&start));
	must(dat_evd_create(w->ia, qlen, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &w->cr_evd),
	     "dat_evd_create");
	must(dat_evd_create(w->ia, 2 * qlen, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &w->conn_evd),
	     "dat_evd_create");
	must(dat_evd_create(w->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &w->dto_evd),
	     "dat_evd_create");
	printf(" EVD create:%10.2f usec avg\n", lap(&start) / 3);
	w->ep = calloc(w->opt.connections, sizeof(*w->ep));
	if (!w->ep)
		die("no memory for %u endpoints", w->opt.connections);
	for (i = 0; i < w->opt.connections; i++)
		must(dat_ep_create(w->ia, w->pz, w->dto_evd, w->dto_evd, w->conn_evd, NULL,
				   &w->ep[i]),
		     "dat_ep_create");
	printf(" EP create: %10.2f usec avg\n", lap(&start) / w->opt.connections);
}

static void tear_down(struct work *w)
{
	double start = now();
	unsigned int i;

	for (i = 0; i < w->opt.connections; i++)
		must(dat_ep_free(w->ep[i]), "dat_ep_free");
	printf(" EP free:   %10.2f usec avg\n", lap(&start) / w->opt.connections);
	must(dat_evd_free(w->cr_evd), "dat_evd_free");
	must(dat_evd_free(w->conn_evd), "dat_evd_free");
	must(dat_evd_free(w->dto_evd), "dat_evd_free");
	printf(" EVD free:  %10.2f usec avg\n", lap(&start) / 3);
	must(dat_pz_free(w->pz), "dat_pz_free");
	printf(" PZ free:   %10.2f usec\n", lap(&start));
	must(dat_ia_close(w->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	printf(" close:     %10.2f usec\n", lap(&start));
	free(w->ep);
}

/* The next event, by waiting or by polling. */
static DAT_EVENT next(const struct work *w, DAT_EVD_HANDLE evd)
{
	const struct side side = { .poll = !w->opt.wait };

	return side_next(&side, evd);
}

/* As long as it takes. */
static DAT_EVENT first_request(const struct work *w)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(w->cr_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "no client came");
	return event;
}

static void serve(struct work *w)
{
	unsigned int listeners = w->opt.multi ? w->opt.burst : 1, i;
	DAT_PSP_HANDLE *psp = calloc(listeners, sizeof(*psp));
	DAT_EVENT event;

	if (!psp)
		die("no memory for %u service points", listeners);
	for (i = 0; i < listeners; i++)
		must(dat_psp_create(w->ia, w->opt.port + i, w->cr_evd, DAT_PSP_CONSUMER_FLAG,
				    &psp[i]),
		     "dat_psp_create");
	printf("listening on port %u\n", (unsigned int)w->opt.port);
	fflush(stdout);
	for (i = 0; i < w->opt.connections; i++) {
		event = i ? next(w, w->cr_evd) : first_request(w);
		if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
			die("%s instead of a request", dat_event_name(event.event_number));
		must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, w->ep[i], 0,
				   NULL),
		     "dat_cr_accept");
	}
	for (i = 0; i < listeners; i++)
		must(dat_psp_free(psp[i]), "dat_psp_free");
	free(psp);
}

static void connect_one(struct work *w, unsigned int i)
{
	DAT_CONN_QUAL port = w->opt.port + (w->opt.multi ? i % w->opt.burst : 0);

	must(dat_ep_connect(w->ep[i], (DAT_IA_ADDRESS_PTR)host_address(w->ia, w->opt.host), port,
			    SAMPLE_SECONDS * 1000000, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG),
	     "dat_ep_connect");
}

/* How many more of the connections came to be; 0: refused, the server may only be starting. */
static unsigned int established(struct work *w, double *first)
{
	DAT_EVENT event = next(w, w->conn_evd);
	DAT_EP_HANDLE ep = event.event_data.connect_event_data.ep_handle;

	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (w->opt.verbose)
			printf("connected after %.2f usec\n", (now() - *first) * 1e6);
		return 1;
	}
	if (event.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED || ep != w->ep[0] ||
	    now() > *first + SAMPLE_SECONDS)
		die("%s", dat_event_name(event.event_number));
	must(dat_ep_reset(ep), "dat_ep_reset");
	return 0;
}

static void connect_all(struct work *w)
{
	double first = now(), start;
	unsigned int done = 0, begun = 1;

	/* The first one finds out whether the server is there. */
	for (connect_one(w, 0); !established(w, &first); connect_one(w, 0))
		usleep(50000);
	start = now();
	for (done = 1; done < w->opt.connections; done += established(w, &first))
		for (; begun < w->opt.connections && begun - done < w->opt.burst; begun++)
			connect_one(w, begun);
	start = now() - start;
	if (done > 1)
		printf(" Connections: %8.2f usec, CPS %.2f, Total %.2f secs, Num=%u\n",
		       start * 1e6 / (done - 1), (done - 1) / start, start, done);
}

/* Until every connection has ended, and before, if `up` says so, come to be: in any order. */
static void await(struct work *w, bool up)
{
	unsigned int to_come = up ? w->opt.connections : 0, to_end = w->opt.connections;
	DAT_EVENT event;

	while (to_come || to_end) {
		event = next(w, w->conn_evd);
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED && to_come) {
			if (w->opt.verbose)
				printf("connected, %u to come\n", to_come - 1);
			if (!--to_come) {
				printf(" ALL %u CONNECTED on server\n", w->opt.connections);
				sleep(w->opt.delay);
			}
		} else if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED && to_end) {
			to_end--;
		} else {
			die("%s", dat_event_name(event.event_number));
		}
	}
}

static const char usage[] =
	"usage: dtestcm [-mwv] [-u] [-P adapter] [-b burst] [-p port] [-c connections] [-d "
	"seconds] [-s | -h host]";

static struct options parse(int argc, char **argv)
{
	struct options opt = {
		.adapter = "soft-lo", .port = SAMPLE_PORT, .connections = 1000, .burst = 100
	};
	int c;

	answer_about(argc, argv, usage);
	while ((c = getopt(argc, argv, "mwvuP:b:p:c:d:sh:")) != -1)
		switch (c) {
		case 'm':
			opt.multi = true;
			break;
		case 'w':
			opt.wait = true;
			break;
		case 'v':
			opt.verbose = true;
			break;
		case 'u':
			die("this program does not try unreliable datagrams");
		case 'P':
			opt.adapter = optarg;
			break;
		case 'b':
			opt.burst = number_of(optarg, UINT_MAX, usage);
			break;
		case 'p':
			opt.port = number_of(optarg, UINT_MAX, usage);
			break;
		case 'c':
			opt.connections = number_of(optarg, UINT_MAX, usage);
			break;
		case 'd':
			opt.delay = number_of(optarg, UINT_MAX, usage);
			break;
		case 's':
			break;
		case 'h':
			opt.host = optarg;
			break;
		default:
			die("%s", usage);
		}
	if (optind < argc || !opt.burst || !opt.connections || opt.connections > 1000000)
		die("%s", usage);
	return opt;
}

int main(int argc, char **argv)
{
	struct work w = { .opt = parse(argc, argv) };
	unsigned int i;

	set_up(&w);
	if (w.opt.host) {
		connect_all(&w);
		printf(" ALL %u CONNECTED on client\n", w.opt.connections);
		sleep(w.opt.delay);
		for (i = 0; i < w.opt.connections; i++)
			must(dat_ep_disconnect(w.ep[i], DAT_CLOSE_GRACEFUL_FLAG),
			     "dat_ep_disconnect");
	} else {
		serve(&w);
	}
	await(&w, !w.opt.host);
	tear_down(&w);
	printf("%s PASSED\n", w.opt.host ? "client" : "server");
	return 0;
}
