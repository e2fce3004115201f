/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/soft_handoff_roles.h"
#include "test/unit/soft_util.h"
#include "providers/soft/cm/handoff/handoff.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>

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

/* Role: another user, who takes all names of this one's servers. */
static void squatter(int fd)
{
	struct soft_dev dev = { .addr.ss_family = AF_INET };
	struct sockaddr_un name;
	socklen_t len;
	uint64_t go;
	int server;

	/* Of an address that no other test uses. */
	((struct sockaddr_in *)&dev.addr)->sin_addr.s_addr = inet_addr(SQUATTED);
	for (uint32_t place = 0; place < SOFT_HANDOFF_NAMES; place++) {
		len = soft_handoff_name(&dev, place, &name);
		server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		/* The name is root's, the process is not. */
		if (seteuid(NOBODY) ||
		    (bind(server, (struct sockaddr *)&name, len) == 0 && listen(server, 4)) ||
		    seteuid(0))
			_exit(4);
	}
	say(fd, 1);
	if (read(fd, &go, sizeof(go)))
		_exit(5);
}

/* Role: a server that behaves badly. */
static void bad_server(int out_fd, int how)
{
	static const int32_t yes = 0, no = -EINVAL;
	struct soft_dev dev = { .addr.ss_family = AF_INET };
	struct sockaddr_un name;
	uint8_t packet[1024];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), peer;

	((struct sockaddr_in *)&dev.addr)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (uint32_t place = 0; place < SOFT_HANDOFF_NAMES; place++) {
		socklen_t len = soft_handoff_name(&dev, place, &name);

		if (!bind(fd, (struct sockaddr *)&name, len))
			break;
	}
	listen(fd, 4);
	say(out_fd, 1);
	peer = accept(fd, NULL, NULL);
	if (recv(peer, packet, sizeof(packet), 0) != sizeof(struct soft_handoff_ask))
		_exit(3);
	if (how == RUBBISH) {
		send(peer, "too long to be an answer", 24, 0);
		pause();
	}
	send(peer, &yes, sizeof(yes), 0);
	if (how == CLOSES) {
		close(peer);
		pause();
	}
	/* The descriptor is received, and kept. */
	{
		char control[CMSG_SPACE(sizeof(int))];
		struct iovec iov = { packet, sizeof(packet) };
		struct msghdr msg = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = control,
				      .msg_controllen = sizeof(control) };

		recvmsg(peer, &msg, 0);
	}
	if (how == NO)
		send(peer, &no, sizeof(no), 0);
	pause();
}

/* Role: a session that sends what it likes to every server, with descriptors that are no requests. */
static void bad_session(int out_fd)
{
	struct soft_dev dev = { .addr.ss_family = AF_INET };
	struct soft_handoff_ask ask = { SOFT_HANDOFF_ASK, 0 };
	struct soft_handoff_give give = { .kind = SOFT_HANDOFF_GIVE };
	int fd[3 * SOFT_HANDOFF_SESSIONS];
	struct sockaddr_un name;

	if (read(out_fd, &ask.qual, sizeof(ask.qual)) != sizeof(ask.qual))
		_exit(3);
	((struct sockaddr_in *)&dev.addr)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (uint32_t place = 0; place < 4; place++) {
		socklen_t len = soft_handoff_name(&dev, place, &name);

		for (unsigned i = 0; i < 3 * SOFT_HANDOFF_SESSIONS; i++) {
			char control[CMSG_SPACE(3 * sizeof(int))] = { 0 };
			struct iovec iov = { &give, i % 3 ? sizeof(give) : 10 };
			struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
			struct cmsghdr *cmsg = (struct cmsghdr *)(void *)control;
			unsigned num = i % 4;
			int passed[3] = { 0, 1, out_fd };

			fd[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
			if (connect(fd[i], (struct sockaddr *)&name, len))
				continue;
			if (i % 5)
				send(fd[i], &ask, sizeof(ask), MSG_NOSIGNAL);
			if (num) {
				msg.msg_control = control;
				msg.msg_controllen = CMSG_SPACE(num * sizeof(int));
				cmsg->cmsg_level = SOL_SOCKET;
				cmsg->cmsg_type = SCM_RIGHTS;
				cmsg->cmsg_len = CMSG_LEN(num * sizeof(int));
				memcpy(CMSG_DATA(cmsg), passed, num * sizeof(int));
			}
			sendmsg(fd[i], &msg, MSG_NOSIGNAL);
		}
		poll(NULL, 0, 20);
		for (unsigned i = 0; i < 3 * SOFT_HANDOFF_SESSIONS; i++)
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
