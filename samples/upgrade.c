/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A protocol over sockets that goes on over RDMA, on the same TCP connection: the client asks in a
 * line of text, the server's answer tells it to begin, and from there on they send messages. It
 * needs an adapter with the iWARP extension, which soft-lo is.
 *
 *   upgrade [-P ADAPTER] [-p PORT]              serves one client
 *   upgrade [-P ADAPTER] [-p PORT] HOST TEXT    sends it a text
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/dat_iw_extensions.h>

#include "sample.h"

static const char question[] = "UPGRADE\n";
static const char answer[] = "RDMA\n";

enum {
	LENGTH = 256,
	COOKIE = 1,
};

static void need_extension(const struct side *side)
{
	DAT_PROVIDER_ATTR attr;
	DAT_COUNT i;

	must(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
	     "dat_ia_query");
	for (i = 0; i < attr.num_provider_specific_attr; i++)
		if (!strcmp(attr.provider_specific_attr[i].name, DAT_IW_ATTR_SSP) &&
		    !strcmp(attr.provider_specific_attr[i].value, "TRUE"))
			return;
	die("the adapter has no connections over sockets");
}

/* Not a byte more: what follows is no longer the program's. */
static void expect_line(int fd, const char *line)
{
	char text[16] = "";

	if (recv(fd, text, strlen(line), MSG_WAITALL) != (ssize_t)strlen(line) ||
	    strcmp(text, line) != 0)
		die("\"%s\" instead of \"%s\"", text, line);
}

/* Accepts one connection at any of the host's addresses. */
static int accept_client(const char *port)
{
	struct addrinfo *address, hints = { .ai_flags = AI_PASSIVE, .ai_family = AF_INET };
	int listener, on = 1, fd;

	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(NULL, port, &hints, &address))
		die("no port %s", port);
	listener = socket(address->ai_family, SOCK_STREAM, 0);
	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(listener, address->ai_addr, address->ai_addrlen) || listen(listener, 1))
		die("cannot listen on port %s", port);
	printf("listening on port %s\n", port);
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("no client came");
	close(listener);
	freeaddrinfo(address);
	return fd;
}

static void serve(struct side *side, struct buffer *memory, const char *port)
{
	DAT_IW_SSP_HANDLE ssp;
	DAT_EVENT event;
	int fd = accept_client(port);

	expect_line(fd, question);
	/* The receive is there before anybody can send. */
	post_recv(side->ep, memory, 0, LENGTH, COOKIE);
	must(dat_iw_ssp_create(side->ia, fd, side->ep, side->cr_evd, answer, strlen(answer), &ssp),
	     "dat_iw_ssp_create");
	close(fd);
	event = side_expect(side, side->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, DAT_HANDLE_NULL, 0,
			   NULL),
	     "dat_cr_accept");
	side_expect(side, side->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	must(dat_iw_ssp_free(ssp), "dat_iw_ssp_free");
	side_complete(side, side->recv_evd, COOKIE);
	printf("%.*s\n", LENGTH, memory->base);
	side_expect(side, side->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static int connect_server(const char *host, const char *port)
{
	struct addrinfo *list, *address, hints = { .ai_socktype = SOCK_STREAM };
	int fd = -1, err = getaddrinfo(host, port, &hints, &list);

	if (err)
		die("%s: %s", host, gai_strerror(err));
	for (address = list; address; address = address->ai_next) {
		fd = socket(address->ai_family, SOCK_STREAM, 0);
		if (fd >= 0 && !connect(fd, address->ai_addr, address->ai_addrlen))
			break;
		close(fd);
	}
	if (!address)
		die("%s: nobody listens on port %s", host, port);
	freeaddrinfo(list);
	return fd;
}

static void ask(struct side *side, struct buffer *memory, const char *host, const char *port,
		const char *text)
{
	int fd = connect_server(host, port);

	if (send(fd, question, strlen(question), MSG_NOSIGNAL) != (ssize_t)strlen(question))
		die("the server is gone");
	expect_line(fd, answer);
	must(dat_iw_socket_connect(side->ep, fd, SAMPLE_SECONDS * 1000000, 0, NULL),
	     "dat_iw_socket_connect");
	close(fd);
	side_expect(side, side->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	snprintf(memory->base, LENGTH, "%s", text);
	post_send(side->ep, memory, 0, LENGTH, COOKIE);
	side_complete(side, side->request_evd, COOKIE);
	side_disconnect(side);
}

int main(int argc, char **argv)
{
	const char *adapter = "soft-lo", *port = "45250";
	struct side side = { .ia = DAT_HANDLE_NULL };
	struct buffer memory;
	int c;

	while ((c = getopt(argc, argv, "P:p:")) != -1)
		if (c == 'P')
			adapter = optarg;
		else if (c == 'p')
			port = optarg;
		else
			argc = 0;
	if (argc != optind && argc != optind + 2)
		die("usage: upgrade [-P adapter] [-p port] [host text]");

	side_open(&side, adapter, false, 16);
	need_extension(&side);
	side.ep = side_endpoint(&side, 4);
	buffer_register(&memory, &side, LENGTH, DAT_MEM_PRIV_ALL_FLAG);
	if (argc == optind)
		serve(&side, &memory, port);
	else
		ask(&side, &memory, argv[optind], port, argv[optind + 1]);
	buffer_free(&memory);
	side_close(&side);
	return 0;
}
