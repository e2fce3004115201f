/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections and their ends without data. */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;

enum {
	SILENCE_MS = 1500,
	FULL_BACKLOG = 4, /* the listener, and more than it takes */
	ATTEMPTS = 20,
};

/* ---- Connections ---- */

static void connect_and_disconnect(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 508 };
	struct tp_conn_addr at_left, at_right;
	uint8_t data[MAX_DATA];
	struct event *event;
	struct end a, b;

	(void)state;
	fill(data, sizeof(data), 5);
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	for (unsigned i = 0; i < 3; i++) {
		end_connect(&a, &right, data, sizes[i]);
		b.conn = node_request(&right);
		assert_int_equal(right.data_len, sizes[i]);
		assert_true(filled(right.data, sizes[i], 5));
		assert_int_equal(t->cm->accept(b.conn, b.qp, data, sizes[2 - i], &b), 0);
		event = end_event(&a, TP_CONN_ESTABLISHED);
		assert_int_equal(event->len, sizes[2 - i]);
		assert_true(filled(event->data, event->len, 5));
		assert_int_equal(end_event(&b, TP_CONN_ESTABLISHED)->len, 0);
		t->cm->addr(a.conn, &at_left);
		t->cm->addr(b.conn, &at_right);
		assert_int_equal(at_left.local_qual, at_right.remote_qual);
		assert_int_equal(at_left.remote_qual, right.listener->conn_qual);
		assert_int_equal(at_right.local_qual, right.listener->conn_qual);
		t->cm->disconnect(i & 1 ? a.conn : b.conn, false);
		end_event(i & 1 ? &b : &a, TP_CONN_DISCONNECTED);
		end_quiet(&a, 20);
		end_quiet(&b, 20);
		end_reset(&a);
		end_reset(&b);
	}
	unpair(&a, &b);
}

static void refusals(void **state)
{
	struct tp_device_attr attr;
	struct tp_connect param = { 0 };
	struct tp_listener *other;
	struct event *event;
	struct end a;

	(void)state;
	end_create(&a, &left, NULL);
	/* The program rejects. */
	end_connect(&a, &right, "why", 3);
	assert_int_equal(t->cm->reject(node_request(&right), "no such thing", 13), 0);
	event = end_event(&a, TP_CONN_REJECTED);
	assert_int_equal(event->len, 13);
	assert_memory_equal(event->data, "no such thing", 13);
	end_reset(&a);
	/* The core refuses. */
	node_refuse(&right, -ENOSPC);
	end_connect(&a, &right, NULL, 0);
	end_event(&a, TP_CONN_REFUSED);
	end_reset(&a);
	node_refuse(&right, 0);
	/* Nobody answers, and the device goes. */
	end_connect(&a, &right, NULL, 0);
	t->cm->release(node_request(&right));
	end_event(&a, TP_CONN_REFUSED);
	end_reset(&a);
	/* Nobody listens. */
	assert_int_equal(t->cm->listen(right.dev, 0, &right, &other), 0);
	t->device->query(right.dev, &attr);
	param.remote = (struct sockaddr *)&attr.addr;
	param.conn_qual = other->conn_qual;
	assert_int_equal(t->cm->listen(left.dev, other->conn_qual, &left, &other), -EADDRINUSE);
	t->cm->unlisten(other);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(t->cm->connect(a.qp, &param, &a, &a.conn), 0);
		end_event(&a, TP_CONN_REFUSED);
		end_reset(&a);
		param.conn_qual = i ? 0 : 1ull << 40;
	}
	end_destroy(&a);
}

static atomic_bool host_is_silent, reason_is_lost;
static atomic_int listening = -1;

static void reset_next(int fd)
{
	const struct linger reset = { .l_onoff = 1 };
	int conn = accept(fd, NULL, NULL);

	(void)setsockopt(conn, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(conn);
}

/*
 * What the kernel says of a host that has left everything unanswered, and if it says no reason; or
 * the peer resets the connection when it has just said that it stands.
 */
int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	int rc = (int)syscall(SYS_getsockopt, fd, level, name, value, size);
	struct tcp_info *info = value;

	if (!rc && level == IPPROTO_TCP && name == TCP_INFO && atomic_load(&host_is_silent)) {
		info->tcpi_last_ack_recv = 1000;
		info->tcpi_unacked = info->tcpi_retransmits = 1;
	}
	if (!rc && level == SOL_SOCKET && name == SO_ERROR && atomic_load(&reason_is_lost))
		*(int *)value = 0;
	if (!rc && level == SOL_SOCKET && name == SO_ERROR && atomic_load(&listening) >= 0)
		reset_next(atomic_exchange(&listening, -1));
	return rc;
}

/* TMO-5: without a limit a program may take its time to answer, and its host may not. */
static void silent_host(void **state)
{
	int64_t timeout = soft_config.peer_timeout_ms;
	struct tp_conn *request;
	struct end a;

	(void)state;
	soft_config.peer_timeout_ms = 300;
	end_create(&a, &left, NULL);
	end_connect(&a, &right, NULL, 0);
	request = node_request(&right);
	end_quiet(&a, 600);
	atomic_store(&host_is_silent, true);
	assert_int_equal(end_event(&a, TP_CONN_UNREACHABLE)->err, -ETIMEDOUT);
	atomic_store(&host_is_silent, false);
	t->cm->release(request);
	end_destroy(&a);
	soft_config.peer_timeout_ms = timeout;
}

/* Ditto, who does not even answer TCP: whose backlog is full. */
static void no_answer(void **state)
{
	int64_t timeout = soft_config.peer_timeout_ms;
	struct tp_device_attr attr;
	struct sockaddr *to = (struct sockaddr *)&attr.addr;
	struct tp_connect param = { .remote = to };
	socklen_t len = sizeof(attr.addr);
	int fd[FULL_BACKLOG];
	uint64_t start;
	struct end a;

	(void)state;
	t->device->query(right.dev, &attr);
	for (int i = 0; i < FULL_BACKLOG; i++) {
		fd[i] = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (i) {
			(void)connect(fd[i], to, len);
			continue;
		}
		assert_int_equal(bind(fd[i], to, len), 0);
		assert_int_equal(listen(fd[i], 0), 0);
		assert_int_equal(getsockname(fd[i], to, &len), 0);
	}
	/* Of both families it lies there. */
	param.conn_qual = ntohs(((struct sockaddr_in *)to)->sin_port);
	soft_config.peer_timeout_ms = SILENCE_MS;
	end_create(&a, &left, NULL);
	start = now_ms();
	assert_int_equal(t->cm->connect(a.qp, &param, &a, &a.conn), 0);
	assert_int_equal(end_event(&a, TP_CONN_UNREACHABLE)->err, -ETIMEDOUT);
	assert_in_range(now_ms() - start, SILENCE_MS, 3 * SILENCE_MS);
	soft_config.peer_timeout_ms = timeout;
	end_destroy(&a);
	for (int i = 0; i < FULL_BACKLOG; i++)
		close(fd[i]);
}

/* IBX-74: nobody listens, which is not believed at once, and is when the time is over. */
static void no_datagram_listener(void **state)
{
	static const struct end_options options = { .depth = 4, .sge = 1, .ud = true };
	int64_t timeout = soft_config.peer_timeout_ms;
	struct tp_device_attr attr;
	struct tp_connect param = { .remote = (struct sockaddr *)&attr.addr };
	socklen_t len = sizeof(attr.addr);
	struct end a;
	int fd;

	(void)state;
	t->device->query(right.dev, &attr);
	fd = socket(attr.addr.ss_family, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&attr.addr, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&attr.addr, &len), 0);
	close(fd);
	/* Of both families it lies there. */
	param.conn_qual = ntohs(((struct sockaddr_in *)&attr.addr)->sin_port);
	for (int ms = 0; ms <= 60; ms += 60) {
		soft_config.peer_timeout_ms = ms;
		end_create(&a, &left, &options);
		assert_int_equal(t->cm->connect(a.qp, &param, &a, &a.conn), 0);
		assert_int_equal(end_event(&a, TP_CONN_REFUSED)->err, -ECONNREFUSED);
		end_destroy(&a);
	}
	soft_config.peer_timeout_ms = timeout;
}

/* EP-138: an attempt that ends without a reason was refused by nobody. */
static void no_reason(void **state)
{
	struct tp_device_attr attr;
	struct tp_connect param = { .remote = (struct sockaddr *)&attr.addr };
	struct tp_listener *other;
	struct end a;

	(void)state;
	t->device->query(right.dev, &attr);
	assert_int_equal(t->cm->listen(right.dev, 0, &right, &other), 0);
	param.conn_qual = other->conn_qual;
	t->cm->unlisten(other);
	end_create(&a, &left, NULL);
	atomic_store(&reason_is_lost, true);
	assert_int_equal(t->cm->connect(a.qp, &param, &a, &a.conn), 0);
	end_event(&a, TP_CONN_UNREACHABLE);
	atomic_store(&reason_is_lost, false);
	end_destroy(&a);
}

/* EP-138: one that its peer resets was refused, however early the reset comes. */
static void reset_at_once(void **state)
{
	struct tp_device_attr attr;
	struct sockaddr *to = (struct sockaddr *)&attr.addr;
	struct tp_connect param = { .remote = to };
	socklen_t len = sizeof(attr.addr);
	struct end a;
	int fd;

	(void)state;
	t->device->query(right.dev, &attr);
	fd = socket(to->sa_family, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, to, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, to, &len), 0);
	/* Of both families it lies there. */
	param.conn_qual = ntohs(((struct sockaddr_in *)to)->sin_port);
	end_create(&a, &left, NULL);
	atomic_store(&listening, fd);
	assert_int_equal(t->cm->connect(a.qp, &param, &a, &a.conn), 0);
	end_event(&a, TP_CONN_REFUSED);
	assert_int_equal(atomic_load(&listening), -1);
	end_destroy(&a);
	close(fd);
}

struct attempt {
	struct end a;
	struct tp_connect param;
	int listener;
	bool there;
};

static int connect_and_look(void *arg)
{
	struct attempt *attempt = arg;
	struct end *a = &attempt->a;
	uint8_t request[20];
	int rc = t->cm->connect(a->qp, &attempt->param, a, &a->conn), conn;

	if (rc)
		return rc;
	conn = accept4(attempt->listener, NULL, NULL, SOCK_NONBLOCK);
	attempt->there = recv(conn, request, sizeof(request), 0) == sizeof(request);
	close(conn);
	return 0;
}

/*
 * Within a host the peer has the request when the call returns: no thread is waited for. But a busy
 * kernel may leave what it has to do for later now and then.
 */
static void request_is_out_at_once(void **state)
{
	struct attempt attempt = { .listener = -1 };
	struct tp_device_attr attr;
	struct sockaddr *to = (struct sockaddr *)&attr.addr;
	socklen_t len = sizeof(attr.addr);

	(void)state;
	t->device->query(right.dev, &attr);
	attempt.listener = socket(to->sa_family, SOCK_STREAM, 0);
	assert_int_equal(bind(attempt.listener, to, len), 0);
	assert_int_equal(listen(attempt.listener, ATTEMPTS), 0);
	assert_int_equal(getsockname(attempt.listener, to, &len), 0);
	attempt.param.remote = to;
	/* Of both families it lies there. */
	attempt.param.conn_qual = ntohs(((struct sockaddr_in *)to)->sin_port);
	for (int i = 0; i < ATTEMPTS && !attempt.there; i++) {
		end_create(&attempt.a, &left, NULL);
		assert_int_equal(soft_dev_call(soft_dev(left.dev), connect_and_look, &attempt), 0);
		t->cm->disconnect(attempt.a.conn, true);
		end_destroy(&attempt.a);
	}
	close(attempt.listener);
	assert_true(attempt.there);
}

static void aborted_attempts(void **state)
{
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	for (int i = 0; i < 20; i++) {
		post_recv(&a, 77, out, 8, out_mr);
		end_connect(&a, &right, NULL, 0);
		b.conn = node_request(&right);
		t->cm->disconnect(a.conn, i & 1);
		/* Flushed before it returns, and no event. */
		assert_wc(take_wc(a.recv_cq), 77, FLUSHED);
		assert_int_equal(t->cm->accept(b.conn, b.qp, NULL, 0, &b), 0);
		end_event(&b, TP_CONN_BROKEN);
		end_quiet(&a, 1);
		end_reset(&a);
		end_reset(&b);
	}
	assert_false(try_wc(a.recv_cq, &wc));
	unpair(&a, &b);
}

/* The network takes nothing. */
static atomic_bool jammed;

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	ssize_t sent;

	if (jammed) {
		errno = EAGAIN;
		return -1;
	}
	sent = syscall(SYS_sendto, fd, data, size, flags, NULL, 0);
	if (sent < 0 && errno == ECONNREFUSED && atomic_load(&reason_is_lost))
		errno = EPIPE; /* as where SO_ERROR has told it already */
	return sent;
}

static int accept_and_leave(void *arg)
{
	struct end *b = arg;
	int rc;

	jammed = true;
	rc = t->cm->accept(b->conn, b->qp, NULL, 0, b);
	t->cm->release(b->conn);
	jammed = false;
	b->conn = NULL;
	return rc;
}

/* Whoever accepts and goes before the reply is out refuses: it is asked no second time (SIM-5). */
static void accepted_and_gone(void **state)
{
	unsigned before = right.requests;
	struct end a, b;

	(void)state;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	end_connect(&a, &right, NULL, 0);
	b.conn = node_request(&right);
	assert_int_equal(soft_dev_call(soft_dev(right.dev), accept_and_leave, &b), 0);
	end_event(&a, TP_CONN_REFUSED);
	end_quiet(&b, 20);
	assert_int_equal(right.requests - before, 0);
	unpair(&a, &b);
}

static int watch_in_vain(struct soft_link *link, uint32_t events)
{
	(void)link;
	(void)events;
	return -ENOSPC;
}

static ssize_t send_nothing(struct soft_link *link, const struct iovec *iov, int num)
{
	(void)link;
	(void)iov;
	(void)num;
	return -EAGAIN;
}

struct other_class {
	struct soft_conn *conn;
	struct soft_link_class class;
};

static int set_class(void *arg)
{
	struct other_class *other = arg;

	other->conn->link->class = &other->class;
	return 0;
}

/* The link of an accepted connection cannot be watched: it fails at once, and not in a while. */
static void accepted_and_not_watched(void **state)
{
	int64_t handshake = soft_config.handshake_ms;
	static struct other_class other[2];
	struct end a, b;

	(void)state;
	soft_config.handshake_ms = 10 * DEADLINE_MS;
	for (int half = 0; half < 2; half++) {
		end_create(&a, &left, NULL);
		end_create(&b, &right, NULL);
		end_connect(&a, &right, NULL, 0);
		b.conn = node_request(&right);
		other[half].conn = soft_conn(b.conn);
		other[half].class = *other[half].conn->link->class;
		other[half].class.watch = watch_in_vain;
		if (half)
			other[half].class.send = send_nothing;
		soft_dev_call(soft_dev(right.dev), set_class, &other[half]);
		assert_int_equal(t->cm->accept(b.conn, b.qp, NULL, 0, &b), 0);
		assert_int_equal(end_event(&b, TP_CONN_BROKEN)->err, -ENOSPC);
		end_any_event(&a);
		unpair(&a, &b);
	}
	soft_config.handshake_ms = handshake;
}

static void both_disconnect(void **state)
{
	struct end a, b;

	(void)state;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	for (int i = 0; i < 50; i++) {
		ends_connect(&a, &b);
		t->cm->disconnect(a.conn, false);
		t->cm->disconnect(b.conn, false);
		end_reset(&a);
		end_reset(&b);
		/* The second one's own call may have been too late for its event. */
		a.next_event = a.num_events;
		b.next_event = b.num_events;
	}
	unpair(&a, &b);
}

/* With an argument only the tests that match it run. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_and_disconnect),
		cmocka_unit_test(refusals),
		cmocka_unit_test(aborted_attempts),
		cmocka_unit_test(accepted_and_gone),
		cmocka_unit_test(accepted_and_not_watched),
		cmocka_unit_test(both_disconnect),
		cmocka_unit_test(silent_host),
		cmocka_unit_test(no_answer),
		cmocka_unit_test(no_datagram_listener),
		cmocka_unit_test(no_reason),
		cmocka_unit_test(reset_at_once),
		cmocka_unit_test(request_is_out_at_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, two_set_up, two_tear_down);
}
