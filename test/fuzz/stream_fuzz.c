/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for what a peer may send the software provider, before a connection is made and
 * after; test/fuzz/stream_seeds.py writes the seeds.
 *
 * An input's first byte says what the rest is: 0, the stream from its first byte on; else records
 * of two bytes of length and so many of an FPDU's payload, sent in FPDUs whose length and padding
 * are right (attacked_fpdu), over a connection that was made as it should be.
 */
#include "test/fuzz/soft_attacked.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static const struct dapl_transport *const t = &dapl_module_transport;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	attacked_init(SOFT_LINK_TCP);
	return 0;
}

static int dial(void)
{
	const struct linger forget = { .l_onoff = 1 };
	struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	struct tp_device_attr attr;
	struct sockaddr_in to;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	t->device->query(attacked_node.dev, &attr);
	memcpy(&to, &attr.addr, sizeof(to));
	to.sin_port = htons((uint16_t)attacked_node.listener->conn_qual);
	insist(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	insist(!connect(fd, (struct sockaddr *)&to, sizeof(to)));
	/* Or the ports are used up after some ten thousand. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &forget, sizeof(forget));
	return fd;
}

/* The other side may have ended the connection. */
static void say(int fd, const void *data, size_t len)
{
	const uint8_t *at = data;
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
	}
}

static int open_connection(struct attacked *at)
{
	uint8_t reply[20];
	int fd = dial();

	attacked_open(at);
	say(fd, mpa_request, sizeof(mpa_request));
	attacked_accept(at, 0);
	insist(recv(fd, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply));
	insist(!memcmp(reply, "MPA ID Rep Frame", 16));
	end_event(&at->end, TP_CONN_ESTABLISHED);
	return fd;
}

static void connected(const uint8_t *data, size_t size)
{
	static uint8_t fpdu[MAX_FPDU];
	struct attacked at;
	int fd = open_connection(&at);
	size_t len;

	attacked_post(&at);
	for (; size >= 2; data += len, size -= len) {
		len = (size_t)data[0] << 8 | data[1];
		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		say(fd, fpdu, attacked_fpdu(fpdu, data, len));
	}
	attacked_hang_up(fd);
	end_event2(&at.end, TP_CONN_DISCONNECTED, TP_CONN_BROKEN);
	attacked_collect(&at);
	end_destroy(&at.end);
}

static void unconnected(const uint8_t *data, size_t size)
{
	int fd = dial();

	say(fd, data, size);
	attacked_hang_up(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	attacked_begin();
	node_refuse(&attacked_node, data[0] ? 0 : -ECONNREFUSED);
	if (data[0])
		connected(data + 1, size - 1);
	else
		unconnected(data + 1, size - 1);
	attacked_end();
	return 0;
}
