/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many connections that take their receives from one shared receive queue, which its owner refills
 * when it runs low. Options: dtestsrq(1).
 */
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

#define MAX_CONNECTIONS 100
#define MAX_BURST	100

struct options {
	const char *adapter, *host;
	DAT_CONN_QUAL port;
	size_t size;
	unsigned int connections, burst, bursts;
	bool verbose, srq;
};

struct work {
	struct options opt;
	struct side side;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep[MAX_CONNECTIONS];
	struct buffer sends, receives; /* one place per message of all bursts in flight */
	unsigned int places;
};

/* ---- Receives ---- */

/* Place n can take a message, of any connection with an SRQ, else of the one it belongs to. */
static void give(struct work *w, unsigned int n)
{
	DAT_LMR_TRIPLET segment = buffer_part(&w->receives, n * w->opt.size, w->opt.size);
	DAT_DTO_COOKIE cookie = { .as_64 = n };

	if (w->srq)
		must(dat_srq_post_recv(w->srq, 1, &segment, cookie), "dat_srq_post_recv");
	else
		must(dat_ep_post_recv(w->ep[n % w->opt.connections], 1, &segment, cookie,
				      DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ep_post_recv");
}

/* Every message says which connection and which of its messages it is, in network order. */
struct message {
	uint32_t connection, number;
};

static unsigned int index_of(const struct work *w, DAT_EP_HANDLE ep)
{
	unsigned int i;

	for (i = 0; i < w->opt.connections && w->ep[i] != ep; i++)
		;
	if (i == w->opt.connections)
		die("a completion of an unknown endpoint");
	return i;
}

/* A peer that has all it wants closes one connection after the other: what that one did not use. */
static bool left_over(const struct work *w, const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t got)
{
	return dto->status == DAT_DTO_ERR_FLUSHED && got == w->opt.burst * w->opt.bursts;
}

/* Whether every connection has brought as much. */
static bool all_have(const struct work *w, const uint32_t *next, uint32_t messages)
{
	unsigned int i;

	for (i = 0; i < w->opt.connections && next[i] >= messages; i++)
		;
	return i == w->opt.connections;
}

/*
 * The messages of a burst of every connection; next[i] is what connection i has to bring next. One
 * may be ahead of another: only when all have brought the burst may the peer be told to go on, or
 * it would find no receive on the slowest.
 */
static void receive(struct work *w, unsigned int burst, uint32_t *next)
{
	unsigned int i;

	while (!all_have(w, next, (burst + 1) * w->opt.burst)) {
		DAT_EVENT event = side_expect(&w->side, w->side.recv_evd, DAT_DTO_COMPLETION_EVENT);
		DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
		unsigned int place = (unsigned int)dto->user_cookie.as_64;
		struct message message;

		i = index_of(w, dto->ep_handle);
		if (left_over(w, dto, next[i]))
			continue;
		if (dto->status || dto->transfered_length != w->opt.size)
			die("receive failed: status %d, %llu bytes", dto->status,
			    (unsigned long long)dto->transfered_length);
		memcpy(&message, w->receives.base + place * w->opt.size, sizeof(message));
		message.number = ntohl(message.number);
		if (message.number != next[i])
			die("connection %u: message %u instead of %u", i, message.number, next[i]);
		next[i]++;
		give(w, place);
	}
}

/* ---- Sends ---- */

static void send_burst(struct work *w, unsigned int burst)
{
	unsigned int i, b, n = 0;

	for (b = 0; b < w->opt.burst; b++)
		for (i = 0; i < w->opt.connections; i++, n++) {
			struct message message = { htonl(i), htonl(burst * w->opt.burst + b) };

			memcpy(w->sends.base + n * w->opt.size, &message, sizeof(message));
			post_send(w->ep[i], &w->sends, n * w->opt.size, w->opt.size, n);
		}
	for (i = 0; i < n; i++) {
		DAT_EVENT event =
			side_expect(&w->side, w->side.request_evd, DAT_DTO_COMPLETION_EVENT);

		if (event.event_data.dto_completion_event_data.status)
			die("send failed: status %d",
			    event.event_data.dto_completion_event_data.status);
	}
}

/* ---- Set-up ---- */

static void make_srq(struct work *w)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = (DAT_COUNT)w->places,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_RETURN rc = dat_srq_create(w->side.ia, w->side.pz, &attr, &w->srq);

	if (DAT_GET_TYPE(rc) == DAT_MODEL_NOT_SUPPORTED)
		die("adapter %s has no shared receive queues (-S 0 does without)", w->opt.adapter);
	must(rc, "dat_srq_create");
}

static DAT_EP_HANDLE make_endpoint(struct work *w)
{
	DAT_EP_HANDLE model = side_endpoint(&w->side, (DAT_COUNT)w->opt.burst * 2), ep;
	DAT_EP_PARAM param;

	if (!w->srq)
		return model;
	must(dat_ep_query(model, DAT_EP_FIELD_ALL, &param), "dat_ep_query");
	must(dat_ep_free(model), "dat_ep_free");
	must(dat_ep_create_with_srq(w->side.ia, w->side.pz, w->side.recv_evd, w->side.request_evd,
				    w->side.conn_evd, w->srq, &param.ep_attr, &ep),
	     "dat_ep_create_with_srq");
	return ep;
}

static void set_up(struct work *w)
{
	unsigned int i;

	w->places = 2 * w->opt.burst * w->opt.connections; /* the peer may be a burst ahead */
	side_open(&w->side, w->opt.adapter, false, (DAT_COUNT)w->places + 2 * MAX_CONNECTIONS);
	buffer_register(&w->sends, &w->side, w->places * w->opt.size, DAT_MEM_PRIV_ALL_FLAG);
	buffer_register(&w->receives, &w->side, w->places * w->opt.size, DAT_MEM_PRIV_ALL_FLAG);
	if (w->opt.srq)
		make_srq(w);
	for (i = 0; i < w->opt.connections; i++)
		w->ep[i] = make_endpoint(w);
	for (i = 0; i < w->places; i++)
		give(w, i);
}

static void connect_all(struct work *w)
{
	unsigned int i;

	if (!w->opt.host)
		side_listen(&w->side, w->opt.port);
	for (i = 0; i < w->opt.connections; i++) {
		w->side.ep = w->ep[i];
		if (w->opt.host)
			side_connect(&w->side, w->opt.host, w->opt.port, NULL, NULL);
		else
			side_accept(&w->side, NULL, NULL);
	}
}

static void tear_down(struct work *w)
{
	unsigned int i;

	for (i = 0; i < w->opt.connections; i++) {
		w->side.ep = w->ep[i];
		side_disconnect(&w->side);
	}
	for (i = 0; i < w->opt.connections; i++)
		must(dat_ep_free(w->ep[i]), "dat_ep_free");
	if (w->srq)
		must(dat_srq_free(w->srq), "dat_srq_free");
	buffer_free(&w->sends);
	buffer_free(&w->receives);
	w->side.ep = DAT_HANDLE_NULL;
	side_close(&w->side);
}

static const char usage[] =
	"usage: dtestsrq [-v] [-u] [-P adapter] [-b bytes] [-B burst] [-t bursts] [-c "
	"connections] [-p port] [-S 0|1] [-s | -h host]";

static struct options parse(int argc, char **argv)
{
	struct options opt = { .adapter = "soft-lo",
			       .port = SAMPLE_PORT,
			       .size = 64,
			       .connections = 1,
			       .burst = 1,
			       .bursts = 3,
			       .srq = true };
	int c;

	answer_about(argc, argv, usage);
	while ((c = getopt(argc, argv, "vuP:b:B:t:c:p:S:l:q:sh:")) != -1)
		switch (c) {
		case 'v':
			opt.verbose = true;
			break;
		case 'u':
		case 'l':
		case 'q':
			die("this program does not try unreliable datagrams");
		case 'P':
			opt.adapter = optarg;
			break;
		case 'b':
			opt.size = number_of(optarg, UINT_MAX, usage);
			break;
		case 'B':
			opt.burst = number_of(optarg, UINT_MAX, usage);
			break;
		case 't':
			opt.bursts = number_of(optarg, UINT_MAX, usage);
			break;
		case 'c':
			opt.connections = number_of(optarg, UINT_MAX, usage);
			break;
		case 'p':
			opt.port = number_of(optarg, UINT_MAX, usage);
			break;
		case 'S':
			opt.srq = number_of(optarg, 1, usage);
			break;
		case 's':
			break;
		case 'h':
			opt.host = optarg;
			break;
		default:
			die("%s", usage);
		}
	if (optind < argc || opt.size < sizeof(struct message) || opt.size > 1u << 20 ||
	    !opt.burst || opt.burst > MAX_BURST || !opt.bursts || !opt.connections ||
	    opt.connections > MAX_CONNECTIONS)
		die("%s", usage);
	return opt;
}

int main(int argc, char **argv)
{
	struct work w = { .opt = parse(argc, argv) };
	uint32_t next[MAX_CONNECTIONS] = { 0 };
	unsigned int b;
	double start;

	set_up(&w);
	connect_all(&w);
	start = now();
	for (b = 0; b < w.opt.bursts; b++) {
		/* On iWARP the connecting side sends first (RFC 5044 section 7.1.2). */
		bool answer = !w.opt.host && !b;

		if (w.opt.verbose)
			printf("burst %u\n", b);
		if (answer)
			receive(&w, b, next);
		send_burst(&w, b);
		if (!answer)
			receive(&w, b, next);
	}
	start = now() - start;
	printf("%u connections, %u messages of %zu bytes each way: %.2f usec each, %s\n",
	       w.opt.connections, w.opt.connections * w.opt.burst * w.opt.bursts, w.opt.size,
	       start * 1e6 / (w.opt.connections * w.opt.burst * w.opt.bursts),
	       w.srq ? "one shared receive queue" : "receives of their own");
	tear_down(&w);
	printf("%s PASSED\n", w.opt.host ? "client" : "server");
	return 0;
}
