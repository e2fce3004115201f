/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine over TCP that has taken only a part of what is to be sent. */
#include "test/unit/soft_two.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct dapl_transport *const t = &dapl_module_transport;

enum {
	SIZE = 100000,
	PART = 5000,
};

/* ---- What TCP takes ---- */

static atomic_int room = INT_MAX;

/* How much of size bytes, or -1. */
static ssize_t taken(size_t size)
{
	int n = atomic_load(&room);

	if (!n) {
		errno = EAGAIN;
		return -1;
	}
	if (n == INT_MAX)
		return (ssize_t)size;
	if (size < (size_t)n)
		n = (int)size;
	atomic_fetch_sub(&room, n);
	return n;
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	ssize_t n = taken(size);

	return n < 0 ? n : syscall(SYS_sendto, fd, data, (size_t)n, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct iovec first = *msg->msg_iov;
	struct msghdr part = *msg;
	ssize_t n;

	if (atomic_load(&room) == INT_MAX)
		return syscall(SYS_sendmsg, fd, msg, flags);
	n = taken(first.iov_len);
	if (n < 0)
		return n;
	first.iov_len = (size_t)n;
	part.msg_iov = &first;
	part.msg_iovlen = 1;
	return syscall(SYS_sendmsg, fd, &part, flags);
}

/* ---- Messages that are here ---- */

/* DTO-90: a message that was here before a Receive completes it, whatever is half in behind it. */
static void before_one_that_is_half_in(void **state)
{
	struct end a, b;

	(void)state;
	pair(&a, &b, NULL);
	post_send(&a, 1, out, 100, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	atomic_store(&room, PART);
	post_rdma(&a, TP_RDMA_WRITE, 2, out, SIZE, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
	while (atomic_load(&room))
		pause_ms(1);
	pause_ms(50);
	post_recv(&b, 3, in + SIZE, 100, in_mr);
	assert_wc(take_wc(b.recv_cq), 3, SUCCESS);
	assert_memory_equal(in + SIZE, out, 100);
	atomic_store(&room, INT_MAX);
	assert_wc(take_wc(a.send_cq), 2, SUCCESS);
	unpair(&a, &b);
}

/* ---- A peer that is none ---- */

/* Takes the end's connection, in MPA of revision 1, and gives its socket. */
static int peer_of(struct end *end)
{
	static const uint8_t reply[20] = "MPA ID Rep Frame\x00\x01";
	struct tp_device_attr attr;
	struct sockaddr *to = (struct sockaddr *)&attr.addr;
	struct tp_connect param = { .remote = to };
	socklen_t len = sizeof(attr.addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0), conn;
	uint8_t request[20];

	t->device->query(right.dev, &attr);
	assert_int_equal(bind(fd, to, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, to, &len), 0);
	param.conn_qual = ntohs(((struct sockaddr_in *)to)->sin_port);
	end_create(end, &left, NULL);
	assert_int_equal(t->cm->connect(end->qp, &param, end, &end->conn), 0);
	conn = accept(fd, NULL, NULL);
	close(fd);
	assert_int_equal(recv(conn, request, sizeof(request), MSG_WAITALL), sizeof(request));
	assert_memory_equal(request, "MPA ID Req Frame", 16);
	assert_int_equal(write(conn, reply, sizeof(reply)), sizeof(reply));
	end_event(end, TP_CONN_ESTABLISHED);
	return conn;
}

/* DTO-5: the answer to a read that the peer has not been asked for is none. */
static void answered_before_it_is_asked(void **state)
{
	/* A Read Response of no bytes, and no sum. */
	static const uint8_t response[20] = { 0, 14, 0xc1, 0x42 };
	int64_t revision = soft_config.mpa_revision;
	struct end a;
	int conn;

	(void)state;
	soft_config.mpa_revision = 1;
	conn = peer_of(&a);
	atomic_store(&room, 0);
	post_rdma(&a, TP_RDMA_READ, 1, out, 0, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
	assert_int_equal(write(conn, response, sizeof(response)), sizeof(response));
	assert_int_not_equal(take_wc(a.send_cq).status, TP_WC_SUCCESS);
	atomic_store(&room, INT_MAX);
	end_event(&a, TP_CONN_BROKEN);
	end_destroy(&a);
	close(conn);
	soft_config.mpa_revision = revision;
}

static int set_up(void **state)
{
	soft_config.crc = SOFT_CRC_NO;
	return two_set_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_one_that_is_half_in),
		cmocka_unit_test(answered_before_it_is_asked),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, two_tear_down);
}
