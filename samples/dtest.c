/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Send and receive, RDMA Write and RDMA Read between two programs, each step checked and timed:
 * what most programs written to uDAPL do, in one place. Options: dtest(1).
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

#define PORT	45248
#define MSG_LEN 64

struct options {
	const char *adapter, *host;
	size_t size;
	unsigned int burst, delay;
	bool verbose, cno, poll;
};

/* One buffer: what the peer reads and writes, what is written from and read into, and messages. */
struct work {
	struct options opt;
	struct side side;
	struct buffer data, msg;
	struct region mine, theirs;
	unsigned int received; /* messages, so far */
};

static char *target(struct work *w)
{
	return w->data.base;
}

static char *local(struct work *w)
{
	return w->data.base + w->opt.size;
}

/* What side `who` writes at `offset`. */
static char pattern(bool server, size_t offset)
{
	return (char)((server ? 0x53 : 0x43) + offset % 61);
}

static void fill(char *to, size_t size, bool server)
{
	size_t i;

	for (i = 0; i < size; i++)
		to[i] = pattern(server, i);
}

static void verify(const char *data, size_t size, bool server, const char *what)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (data[i] != pattern(server, i))
			die("%s: wrong byte 0x%02x at offset %zu of %zu", what,
			    (unsigned char)data[i], i, size);
}

static void say(const struct work *w, const char *text)
{
	if (w->opt.verbose)
		printf("%d %s\n", (int)getpid(), text);
}

static void report(const struct work *w, const char *what, double seconds, size_t size,
		   const char *measured)
{
	double each = seconds * 1e6 / w->opt.burst;

	printf("%-12s %7u x %8zu bytes  %10.2f usec each  %10.2f MB/sec  %s\n", what, w->opt.burst,
	       size, each, (double)size / each, measured);
}

/*
 * Tells the peer that a step is done, and waits until it is done there as well. The first word is
 * the connecting side's: on iWARP nothing else may be sent before it (RFC 5044 section 7.1.2).
 */
static void meet(struct work *w, const char *step)
{
	size_t half = MSG_LEN / 2;
	bool answer = !w->opt.host && !w->received;

	say(w, step);
	if (answer)
		side_complete(&w->side, w->side.recv_evd, w->received++);
	post_send(w->side.ep, &w->msg, 0, half, 1);
	side_complete(&w->side, w->side.request_evd, 1);
	if (!answer)
		side_complete(&w->side, w->side.recv_evd, w->received++);
	post_recv(w->side.ep, &w->msg, half, half, w->received + 1);
}

/* Both sides send, receive, and answer. */
static void messages(struct work *w)
{
	double start = now();
	unsigned int i;

	for (i = 0; i < w->opt.burst; i++)
		meet(w, "message");
	report(w, "send/receive", now() - start, MSG_LEN / 2, "(both ways at once)");
}

/* A burst of which only the last makes a completion. */
static void rdma(struct work *w, bool read)
{
	DAT_RMR_TRIPLET there = region_part(&w->theirs, 0, w->opt.size);
	DAT_LMR_TRIPLET here = buffer_part(&w->data, w->opt.size, w->opt.size);
	unsigned int i;

	for (i = 1; i <= w->opt.burst; i++) {
		DAT_DTO_COOKIE cookie = { .as_64 = i };
		/* Every tenth is told of: suppressed requests take room until a later one is not.
		 */
		bool told = i % 10 == 0 || i == w->opt.burst;
		DAT_COMPLETION_FLAGS flags =
			told ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG;

		must(read ? dat_ep_post_rdma_read(w->side.ep, 1, &here, cookie, &there, flags)
			  : dat_ep_post_rdma_write(w->side.ep, 1, &here, cookie, &there, flags),
		     read ? "dat_ep_post_rdma_read" : "dat_ep_post_rdma_write");
		if (told)
			side_complete(&w->side, w->side.request_evd, i);
	}
}

static void run(struct work *w, bool server)
{
	static const char in_flight[] = "(ten in flight: not a latency)";
	size_t size = w->opt.size;
	double start;

	messages(w);

	fill(local(w), size, server);
	start = now();
	rdma(w, false);
	report(w, "RDMA write", now() - start, size, in_flight);
	meet(w, "RDMA writes done");
	verify(target(w), size, !server, "what the peer wrote");

	fill(target(w), size, server);
	memset(local(w), 0, size);
	meet(w, "ready to be read");
	start = now();
	rdma(w, true);
	report(w, "RDMA read", now() - start, size, in_flight);
	verify(local(w), size, !server, "what was read");
	meet(w, "RDMA reads done");
}

static const char usage[] =
	"usage: dtest [-P adapter] [-b bytes] [-B burst] [-v] [-c] [-p] [-d seconds] [-s | -h "
	"host]";

static struct options parse(int argc, char **argv)
{
	struct options opt = { .adapter = "soft-lo", .size = 64, .burst = 1000 };
	int c;

	answer_about(argc, argv, usage);
	while ((c = getopt(argc, argv, "P:b:B:vcpd:sh:")) != -1)
		switch (c) {
		case 'P':
			opt.adapter = optarg;
			break;
		case 'b':
			opt.size = number_of(optarg, UINT_MAX, usage);
			break;
		case 'B':
			opt.burst = number_of(optarg, UINT_MAX, usage);
			break;
		case 'v':
			opt.verbose = true;
			break;
		case 'c':
			opt.cno = true;
			break;
		case 'p':
			opt.poll = true;
			break;
		case 'd':
			opt.delay = number_of(optarg, UINT_MAX, usage);
			break;
		case 's':
			opt.host = NULL;
			break;
		case 'h':
			opt.host = optarg;
			break;
		default:
			die("%s", usage);
		}
	if (optind < argc || !opt.size || opt.size > 1u << 30 || !opt.burst)
		die("%s", usage);
	return opt;
}

int main(int argc, char **argv)
{
	struct work w = { .opt = parse(argc, argv) };

	side_open(&w.side, w.opt.adapter, w.opt.cno, 64);
	w.side.poll = w.opt.poll;
	w.side.ep = side_endpoint(&w.side, 16);
	buffer_register(&w.data, &w.side, 2 * w.opt.size, DAT_MEM_PRIV_ALL_FLAG);
	buffer_register(&w.msg, &w.side, MSG_LEN, DAT_MEM_PRIV_ALL_FLAG);
	w.mine = buffer_region(&w.data);
	/* The peer is at most one message ahead. */
	post_recv(w.side.ep, &w.msg, MSG_LEN / 2, MSG_LEN / 2, 0);
	post_recv(w.side.ep, &w.msg, MSG_LEN / 2, MSG_LEN / 2, 1);
	if (w.opt.host) {
		side_connect(&w.side, w.opt.host, PORT, &w.mine, &w.theirs);
	} else {
		side_listen(&w.side, PORT);
		side_accept(&w.side, &w.mine, &w.theirs);
	}
	if (w.theirs.size != w.data.size)
		die("the peer's -b is %llu", (unsigned long long)w.theirs.size / 2);
	say(&w, "connected");

	run(&w, !w.opt.host);

	sleep(w.opt.delay);
	side_disconnect(&w.side);
	buffer_free(&w.data);
	buffer_free(&w.msg);
	side_close(&w.side);
	printf("%s PASSED\n", w.opt.host ? "client" : "server");
	return 0;
}
