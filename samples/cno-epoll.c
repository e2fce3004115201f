/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An event loop of one thread: a server that sends back what its clients send, and meanwhile waits
 * for a timer with the same epoll (doc/cno-epoll.md).
 *
 *   cno-epoll [-P ADAPTER] [-p PORT] [-n CLIENTS]     serves so many clients (1)
 *   cno-epoll [-P ADAPTER] [-p PORT] HOST TEXT...     sends texts one by one, prints the answers
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sample.h"

#define MAX_CLIENTS 64
#define MAX_TEXT    256

/* Cookies: which client, and whether it is its receive or its send. */
#define RECV_OF(client) (2 * (DAT_UINT64)(client))
#define SEND_OF(client) (2 * (DAT_UINT64)(client) + 1)

struct client {
	DAT_EP_HANDLE ep;
	bool connected, sending;
	size_t text; /* 1 + length of one that is to be sent back */
};

struct server {
	struct side side;
	DAT_CNO_HANDLE cno;
	struct buffer memory; /* for each client what comes, and then what goes */
	struct client clients[MAX_CLIENTS];
	int wanted, come, gone;
};

/* ---- What may happen ---- */

static size_t place_in(int client)
{
	return (size_t)client * 2 * MAX_TEXT;
}

static size_t place_out(int client)
{
	return place_in(client) + MAX_TEXT;
}

static void receive(struct server *server, int client)
{
	post_recv(server->clients[client].ep, &server->memory, place_in(client), MAX_TEXT,
		  RECV_OF(client));
}

static void came(struct server *server, DAT_CR_HANDLE cr)
{
	int client = server->come;

	if (client == server->wanted) {
		must(dat_cr_reject(cr, 0, NULL), "dat_cr_reject");
		return;
	}
	server->come++;
	server->clients[client].ep = side_endpoint(&server->side, 4);
	receive(server, client);
	must(dat_cr_accept(cr, server->clients[client].ep, 0, NULL), "dat_cr_accept");
}

/*
 * Sends back what has come, if it can be sent. Whoever has the answer may send again at once, and a
 * message that finds no receive breaks the connection: the receive goes first.
 */
static void echo(struct server *server, int index)
{
	struct client *client = &server->clients[index];
	char *base = server->memory.base;
	size_t length;

	if (!client->connected || client->sending || !client->text)
		return;
	length = client->text - 1;
	client->text = 0;
	client->sending = true;
	memcpy(base + place_out(index), base + place_in(index), length);
	receive(server, index);
	post_send(client->ep, &server->memory, place_out(index), length, SEND_OF(index));
}

/* Nothing can be sent before; what the client sent may be here already. */
static void connected(struct server *server, DAT_EP_HANDLE ep)
{
	int client = 0;

	while (server->clients[client].ep != ep)
		client++;
	server->clients[client].connected = true;
	echo(server, client);
}

static void transferred(struct server *server, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	int client = (int)(dto->user_cookie.as_64 / 2);

	if (dto->status != DAT_DTO_SUCCESS)
		return; /* the connection has ended */
	if (dto->user_cookie.as_64 == SEND_OF(client))
		server->clients[client].sending = false;
	else
		server->clients[client].text = (size_t)dto->transfered_length + 1;
	echo(server, client);
}

static void handle(struct server *server, const DAT_EVENT *event)
{
	switch ((int)event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		came(server, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_DTO_COMPLETION_EVENT:
		transferred(server, &event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		connected(server, event->event_data.connect_event_data.ep_handle);
		break;
	default: /* disconnected, broken, not accepted */
		server->gone++;
		break;
	}
}

/* ---- The loop ---- */

/*
 * The descriptor is readable. The trigger is collected first: what arrives from then on makes the
 * descriptor readable again. And all dispatchers are emptied, whichever of them it was.
 */
static void drain(struct server *server)
{
	const DAT_EVD_HANDLE evds[] = { server->side.cr_evd, server->side.conn_evd,
					server->side.request_evd, server->side.recv_evd };
	DAT_EVD_HANDLE last;
	DAT_EVENT event;
	size_t i;

	must(dat_cno_trigger(server->cno, &last), "dat_cno_trigger");
	for (i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
		while (dat_evd_dequeue(evds[i], &event) == DAT_SUCCESS)
			handle(server, &event);
}

/* A dispatcher of an event loop gets its CNO before anything can arrive. */
static DAT_FD notify_by_descriptor(struct server *server)
{
	const DAT_EVD_HANDLE evds[] = { server->side.cr_evd, server->side.conn_evd,
					server->side.request_evd, server->side.recv_evd };
	DAT_FD fd;
	size_t i;

	must(dat_cno_fd_create(server->side.ia, &fd, &server->cno), "dat_cno_fd_create");
	for (i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
		must(dat_evd_modify_cno(evds[i], server->cno), "dat_evd_modify_cno");
	return fd;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl: %m");
}

static int make_timer(void)
{
	const struct itimerspec every = { .it_interval.tv_nsec = 100000000, .it_value.tv_nsec = 1 };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd < 0 || timerfd_settime(fd, 0, &every, NULL))
		die("timer: %m");
	return fd;
}

static void serve(struct server *server, DAT_CONN_QUAL port)
{
	double deadline = now() + SAMPLE_SECONDS;
	int epoll = epoll_create1(EPOLL_CLOEXEC), timer = make_timer(), i;
	struct epoll_event ready;
	uint64_t ticks = 0, more;
	int num;

	watch(epoll, notify_by_descriptor(server));
	watch(epoll, timer);
	buffer_register(&server->memory, &server->side, place_in(MAX_CLIENTS),
			DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	side_listen(&server->side, port);
	while (server->gone < server->wanted && now() < deadline) {
		num = epoll_wait(epoll, &ready, 1, -1);
		if (num < 0 && errno == EINTR)
			continue; /* by a stop, for one */
		if (num != 1)
			die("epoll_wait: %m");
		if (ready.data.fd != timer)
			drain(server);
		else if (read(timer, &more, sizeof(more)) == (ssize_t)sizeof(more))
			ticks += more;
	}
	printf("served %d clients, the timer came %s\n", server->gone, ticks ? "too" : "never");
	for (i = 0; i < server->come; i++)
		must(dat_ep_free(server->clients[i].ep), "dat_ep_free");
	buffer_free(&server->memory);
	close(timer);
	close(epoll);
	if (server->gone < server->wanted)
		die("no client any more for %d seconds", SAMPLE_SECONDS);
}

/* ---- The client ---- */

static void ask(struct side *side, const char *host, DAT_CONN_QUAL port, char **texts)
{
	struct buffer memory;
	size_t length;

	side->ep = side_endpoint(side, 4);
	buffer_register(&memory, side, 2 * MAX_TEXT,
			DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	side_connect(side, host, port, NULL, NULL);
	for (; *texts; texts++) {
		length = strnlen(*texts, MAX_TEXT);
		memcpy(memory.base, *texts, length);
		post_recv(side->ep, &memory, MAX_TEXT, MAX_TEXT, RECV_OF(0));
		post_send(side->ep, &memory, 0, length, SEND_OF(0));
		side_complete(side, side->request_evd, SEND_OF(0));
		length = side_complete(side, side->recv_evd, RECV_OF(0)).transfered_length;
		printf("%.*s\n", (int)length, memory.base + MAX_TEXT);
	}
	side_disconnect(side);
	buffer_free(&memory);
}

int main(int argc, char **argv)
{
	struct server server = { .wanted = 1 };
	const char *adapter = "soft-lo";
	DAT_CONN_QUAL port = SAMPLE_PORT;
	int c;

	while ((c = getopt(argc, argv, "P:p:n:")) != -1)
		if (c == 'P')
			adapter = optarg;
		else if (c == 'p')
			port = strtoul(optarg, NULL, 0);
		else if (c == 'n')
			server.wanted = atoi(optarg);
		else
			argc = 0;
	if (argc < optind || argc == optind + 1 || server.wanted < 1 || server.wanted > MAX_CLIENTS)
		die("usage: cno-epoll [-P adapter] [-p port] [-n clients] [host text...]");

	side_open(&server.side, adapter, false, 4 * MAX_CLIENTS);
	if (argc == optind)
		serve(&server, port);
	else
		ask(&server.side, argv[optind], port, &argv[optind + 1]);
	/* The dispatchers refer to the CNO until they are freed. */
	server.side.cno = server.cno;
	side_close(&server.side);
	return 0;
}
