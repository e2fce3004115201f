/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A remote calculator: the client puts its first number into the server's memory by RDMA Write and
 * sends the second one as a message; the server answers with the sum. The message tells the server
 * that the written number is there too: a Send does not overtake an RDMA Write.
 *
 *   sum [-P ADAPTER] [-p PORT]                serves one client
 *   sum [-P ADAPTER] [-p PORT] HOST A B       asks for A + B
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample.h"

/* Numbers travel in network byte order. The client writes first, and sends second or the answer. */
struct numbers {
	uint32_t first, second;
};

enum {
	RECV = 1,
	WRITE,
	SEND
};

static void serve(struct side *side, DAT_CONN_QUAL port)
{
	struct buffer memory;
	struct numbers *numbers;
	struct region mine;

	buffer_register(&memory, side, sizeof(struct numbers), DAT_MEM_PRIV_ALL_FLAG);
	numbers = (struct numbers *)memory.base;
	mine = buffer_region(&memory);
	post_recv(side->ep, &memory, offsetof(struct numbers, second), 4, RECV);
	side_listen(side, port);
	side_accept(side, &mine, NULL);

	side_complete(side, side->recv_evd, RECV);
	numbers->second = htonl(ntohl(numbers->first) + ntohl(numbers->second));
	post_send(side->ep, &memory, offsetof(struct numbers, second), 4, SEND);
	side_complete(side, side->request_evd, SEND);
	side_expect(side, side->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	buffer_free(&memory);
}

static void ask(struct side *side, const char *host, DAT_CONN_QUAL port, const char *a,
		const char *b)
{
	DAT_RMR_TRIPLET there;
	DAT_LMR_TRIPLET here;
	struct buffer memory;
	struct numbers *numbers;
	struct region theirs;

	buffer_register(&memory, side, 2 * sizeof(struct numbers), DAT_MEM_PRIV_ALL_FLAG);
	numbers = (struct numbers *)memory.base;
	numbers[0].first = htonl((uint32_t)strtoul(a, NULL, 0));
	numbers[0].second = htonl((uint32_t)strtoul(b, NULL, 0));
	post_recv(side->ep, &memory, sizeof(struct numbers), 4, RECV); /* for the answer */
	side_connect(side, host, port, NULL, &theirs);

	here = buffer_part(&memory, offsetof(struct numbers, first), 4);
	there = region_part(&theirs, offsetof(struct numbers, first), 4);
	must(dat_ep_post_rdma_write(side->ep, 1, &here, (DAT_DTO_COOKIE){ .as_64 = WRITE }, &there,
				    DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_rdma_write");
	post_send(side->ep, &memory, offsetof(struct numbers, second), 4, SEND);
	side_complete(side, side->request_evd, WRITE);
	side_complete(side, side->request_evd, SEND);
	side_complete(side, side->recv_evd, RECV);
	printf("%" PRIu32 "\n", ntohl(numbers[1].first));
	side_disconnect(side);
	buffer_free(&memory);
}

int main(int argc, char **argv)
{
	const char *adapter = "soft-lo";
	DAT_CONN_QUAL port = SAMPLE_PORT;
	struct side side = { .ia = DAT_HANDLE_NULL };
	int c;

	while ((c = getopt(argc, argv, "P:p:")) != -1)
		if (c == 'P')
			adapter = optarg;
		else if (c == 'p')
			port = strtoul(optarg, NULL, 0);
		else
			argc = 0;
	if (argc != optind && argc != optind + 3)
		die("usage: sum [-P adapter] [-p port] [host a b]");

	side_open(&side, adapter, false, 16);
	side.ep = side_endpoint(&side, 4);
	if (argc == optind)
		serve(&side, port);
	else
		ask(&side, argv[optind], port, argv[optind + 1], argv[optind + 2]);
	side_close(&side);
	return 0;
}
