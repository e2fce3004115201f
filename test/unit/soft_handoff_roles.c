/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/soft_handoff_roles.h"
#include "test/unit/soft_util.h"
#include "providers/soft/cm/handoff.h"
#include "providers/soft/link/link.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/un.h>
#include <unistd.h>

static const struct dapl_transport *const t = &dapl_module_transport;
static uint8_t in[64];

uint64_t word(int fd)
{
	struct pollfd watch = { .fd = fd, .events = POLLIN };
	uint64_t value = 0;

	assert_int_equal(poll(&watch, 1, DEADLINE_MS), 1);
	assert_int_equal(read(fd, &value, sizeof(value)), sizeof(value));
	return value;
}

void say(int fd, uint64_t value)
{
	if (write(fd, &value, sizeof(value)) != sizeof(value))
		_exit(9);
}

/* Role: takes requests until the other side closes; tells of each. */
static void server(int fd)
{
	struct node node;
	struct tp_mr *mr;
	struct tp_conn *conn;
	struct end b;
	uint64_t go;

	soft_config.handoff_ms = DEADLINE_MS;
	node_open(&node, "127.0.0.1");
	mr = reg(&node, in, sizeof(in), FULL);
	say(fd, node.listener->conn_qual);
	while (read(fd, &go, sizeof(go)) == sizeof(go)) {
		conn = node_request(&node);
		end_create(&b, &node, NULL);
		post_recv(&b, 1, in, sizeof(in), mr);
		b.conn = conn;
		t->cm->accept(conn, b.qp, "there", 5, &b);
		end_event(&b, TP_CONN_ESTABLISHED);
		say(fd, take_wc(b.recv_cq).status);
		pthread_mutex_lock(&node.lock);
		say(fd, node.data_len);
		pthread_mutex_unlock(&node.lock);
		end_event(&b, TP_CONN_DISCONNECTED);
		end_destroy(&b);
	}
	dereg(mr);
	node_close(&node);
}

/* The socket of a listener on the loopback address, which this process listens at, or connects to. */
static socklen_t name_of(const char *address, uint64_t qual, struct sockaddr_un *name)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	addr.sin_addr.s_addr = inet_addr(address);
	return soft_link_name(SOFT_HANDOFF_NAME, &addr, qual, name);
}

/* Role: another user, who takes the name of a listener of this one. */
static void squatter(int fd)
{
	struct sockaddr_un name;
	socklen_t len = name_of("127.0.0.1", HELD, &name);
	int server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	uint64_t go;

	/* The name is root's, the process is not. */
	if (seteuid(NOBODY) || bind(server, (struct sockaddr *)&name, len) || listen(server, 4) ||
	    seteuid(0))
		_exit(4);
	say(fd, 1);
	if (read(fd, &go, sizeof(go)))
		_exit(5);
}

/* Role: a server that behaves badly. */
static void bad_server(int out_fd, int how)
{
	static const int32_t no = -EINVAL;
	struct sockaddr_un name;
	socklen_t len = name_of("127.0.0.1", HELD, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), peer, fds[SOFT_LINK_FDS], num = SOFT_LINK_FDS;
	struct soft_handoff_packet packet;
	struct pollfd watch;

	if (bind(fd, (struct sockaddr *)&name, len) || listen(fd, 4))
		_exit(2);
	say(out_fd, 1);
	peer = accept(fd, NULL, NULL);
	watch = (struct pollfd){ .fd = peer, .events = POLLIN };
	poll(&watch, 1, -1);
	/* The descriptor is received, and kept. */
	if (soft_link_recv_fds(peer, &packet, sizeof(packet), fds, &num) <= 0 || num != 1)
		_exit(3);
	if (how == RUBBISH)
		send(peer, "too long to be an answer", 24, 0);
	else if (how == NO)
		send(peer, &no, sizeof(no), 0);
	else if (how == CLOSES)
		close(peer);
	pause();
}

/* Role: sends what it likes to a listener, with descriptors that are no requests. */
static void bad_session(int out_fd)
{
	struct soft_handoff_packet packet = { .magic = SOFT_HANDOFF_MAGIC };
	int fd[3 * SOFT_HANDOFF_SESSIONS], passed[SOFT_LINK_FDS] = { 0, 1 };
	struct sockaddr_un name;
	uint64_t qual;
	socklen_t len;

	if (read(out_fd, &qual, sizeof(qual)) != sizeof(qual))
		_exit(3);
	len = name_of("127.0.0.1", qual, &name);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 3 * SOFT_HANDOFF_SESSIONS; i++) {
			fd[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
			if (connect(fd[i], (struct sockaddr *)&name, len))
				continue;
			packet.magic = i % 5 ? SOFT_HANDOFF_MAGIC : 0;
			if (i % 4)
				soft_link_send_fds(fd[i], &packet, i % 3 ? sizeof(packet) : 10,
						   passed, i % 4 - 1);
		}
		poll(NULL, 0, 20);
		for (int i = 0; i < 3 * SOFT_HANDOFF_SESSIONS; i++)
			close(fd[i]);
	}
	say(out_fd, 1);
}

void role(const char *name, int fd)
{
	static const char *const servers[] = { "silent", "no", "closes", "rubbish" };

	alarm(60);
	if (!strcmp(name, "server"))
		server(fd);
	else if (!strcmp(name, "session"))
		bad_session(fd);
	else if (!strcmp(name, "squatter"))
		squatter(fd);
	for (int i = 0; i < 4; i++)
		if (!strcmp(name, servers[i]))
			bad_server(fd, i);
}
