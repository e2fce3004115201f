/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software engine: what was completed with success is delivered although the connection is over
 * and the peer stands still, by peers that are plain sockets (FL-13).
 */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;

enum {
	SIZE = 1 << 20,
	WINDOW = 4096,
	MESSAGE = 2048,
	FRAMING = 2 + 18 + 4, /* of a Send: length, header, CRC */
	LINGER_MS = 50,
	STILL_MS = 500, /* so long a peer stands still: many times LINGER_MS */
	IDLE_WAKEUPS = 40,
	BIG = 16 << 20, /* more than sockets hold */
	PATIENT_MS = 1000,
	PAUSE_MS = 400, /* of a peer that is slow, */
	PAUSES = 4,	/* together more than PATIENT_MS */
	PAUSE_BYTES = 128 << 10,
};

/* The linker sends the engine's calls here. */
static atomic_bool no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t num, size_t size);
void *__wrap_calloc(size_t num, size_t size);

void *__wrap_malloc(size_t size)
{
	return atomic_load(&no_memory) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t num, size_t size)
{
	return atomic_load(&no_memory) ? NULL : __real_calloc(num, size);
}

static int set_up(void **state)
{
	(void)state;
	soft_config.linger_ms = LINGER_MS;
	two_open(SIZE, FULL, FULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	two_close();
	soft_config.linger_ms = 2000;
	return 0;
}

/* ---- A peer that is a socket ---- */

static void await_input(int fd)
{
	struct pollfd watch = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&watch, 1, DEADLINE_MS), 1);
}

static void read_all(int fd, void *buf, size_t len)
{
	ssize_t n;

	for (uint8_t *at = buf; len; at += n, len -= (size_t)n) {
		await_input(fd);
		n = recv(fd, at, len, 0);
		assert_true(n > 0);
	}
}

static int raw_listen(struct sockaddr_in *name)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = WINDOW;
	socklen_t len = sizeof(*name);

	*name = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)name, sizeof(*name)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)name, &len), 0);
	return fd;
}

/* Connects the end to a socket whose window is small. */
static int raw_peer(struct end *end)
{
	static const uint8_t reply[20] = "MPA ID Rep Frame\x40\x01\0";
	struct tp_connect param = { 0 };
	struct sockaddr_in name;
	int listener = raw_listen(&name), fd;
	uint8_t frame[512];

	param.remote = (struct sockaddr *)&name;
	param.conn_qual = ntohs(name.sin_port);
	assert_int_equal(t->cm->connect(end->qp, &param, end, &end->conn), 0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	close(listener);
	read_all(fd, frame, 20);
	read_all(fd, frame + 20, (size_t)frame[18] << 8 | frame[19]);
	assert_int_equal(send(fd, reply, sizeof(reply), MSG_NOSIGNAL), sizeof(reply));
	end_event(end, TP_CONN_ESTABLISHED);
	return fd;
}

enum end_of_stream {
	IN_ORDER,
	CUT,
	RESET,
};

/* How many whole Sends there are up to the end of the stream. */
static unsigned raw_stream(int fd, bool slow, enum end_of_stream *how)
{
	uint8_t *fpdu = malloc(65536 + 8);
	unsigned sends = 0, pauses = slow ? PAUSES : 0;
	size_t have = 0, size = 4, read = 0;
	ssize_t n;

	for (;;) {
		await_input(fd);
		n = recv(fd, fpdu + have, size - have, 0);
		if (n <= 0)
			break;
		have += (size_t)n;
		read += (size_t)n;
		if (pauses && read > PAUSE_BYTES) {
			pauses--;
			read = 0;
			pause_ms(PAUSE_MS);
		}
		if (have == 4)
			size = ((((size_t)fpdu[0] << 8 | fpdu[1]) + 2 + 3) & ~(size_t)3) + 4;
		if (have == size) {
			sends += (fpdu[2] & 0x40) && (fpdu[3] & 0xf) == 3;
			have = 0;
			size = 4;
		}
	}
	*how = n ? RESET : have ? CUT : IN_ORDER;
	free(fpdu);
	return sends;
}

/* Posts Sends of a size until some do not complete; returns how many did. */
static unsigned send_until_full(struct end *end, unsigned num, uint32_t size)
{
	uint64_t quiet = now_ms() + 200;
	unsigned done = 0;
	struct tp_wc wc;

	for (unsigned i = 0; i < num; i++)
		post_send(end, i, out, size, out_mr, TP_WR_SIGNALED);
	while (done < num && now_ms() < quiet) {
		if (!try_wc(end->send_cq, &wc))
			continue;
		assert_int_equal(wc.status, TP_WC_SUCCESS);
		done++;
		quiet = now_ms() + 200;
	}
	return done;
}

/* ---- A sender whose peer stands still ---- */

/* All 64, and an end in order. */
static void expect_all(int fd)
{
	enum end_of_stream how;

	assert_int_equal(raw_stream(fd, false, &how), 64);
	assert_int_equal(how, IN_ORDER);
}

static void graceful(void **state)
{
	struct end_options options = { .depth = 64, .sge = 1 };
	struct end a;
	int fd;

	(void)state;
	end_create(&a, &left, &options);
	fd = raw_peer(&a);
	assert_int_equal(send_until_full(&a, 64, MESSAGE), 64);
	t->cm->disconnect(a.conn, true);
	end_event(&a, TP_CONN_DISCONNECTED);
	pause_ms(STILL_MS);
	expect_all(fd);
	close(fd);
	end_destroy(&a);
}

/* What completed fills the peer's window, for one of the sizes, so that the end alone is missing. */
static void full_window(void **state)
{
	struct end_options options = { .depth = 1, .sge = 1 };
	enum end_of_stream how;
	struct end a;
	int fd;

	(void)state;
	for (uint32_t size = WINDOW - 64; size <= WINDOW; size += 4) {
		end_create(&a, &left, &options);
		fd = raw_peer(&a);
		assert_int_equal(send_until_full(&a, 1, size - FRAMING), 1);
		t->cm->disconnect(a.conn, true);
		end_event(&a, TP_CONN_DISCONNECTED);
		end_destroy(&a);
		pause_ms(4 * LINGER_MS);
		assert_int_equal(raw_stream(fd, false, &how), 1);
		assert_int_equal(how, IN_ORDER);
		close(fd);
	}
}

/*
 * Ends with Sends under way, whose memory may go. What was completed before it arrives; what was
 * not may be cut off as soon as that has.
 */
static void end_in_flight(bool memory_goes)
{
	struct end_options options = { .depth = 512, .sge = 1 };
	enum end_of_stream how;
	struct tp_mr *mr = out_mr;
	unsigned done;
	struct end a;
	int fd;

	end_create(&a, &left, &options);
	fd = raw_peer(&a);
	if (memory_goes)
		out_mr = reg(&left, out, SIZE, FULL);
	done = send_until_full(&a, 512, 65536);
	assert_true(done > 0 && done < 512);
	if (memory_goes) {
		dereg(out_mr);
		out_mr = mr;
	}
	t->cm->disconnect(a.conn, false);
	end_destroy(&a);
	pause_ms(STILL_MS);
	assert_true(raw_stream(fd, false, &how) >= done);
	close(fd);
}

static void abrupt(void **state)
{
	(void)state;
	end_in_flight(false);
}

static void memory_gone(void **state)
{
	(void)state;
	end_in_flight(true);
}

/* The adapter is closed too, after what came from the peer was not looked at by anybody. */
static void closed(void **state)
{
	struct end_options options = { .depth = 64, .sge = 1 };
	static const uint8_t junk[4096];
	struct tp_mr *mr = out_mr;
	struct node node;
	struct end a;
	int fd;

	(void)state;
	node_open(&node, "lo");
	end_create(&a, &node, &options);
	fd = raw_peer(&a);
	out_mr = reg(&node, out, SIZE, FULL);
	assert_int_equal(send_until_full(&a, 64, MESSAGE), 64);
	dereg(out_mr);
	out_mr = mr;
	t->cm->disconnect(a.conn, true);
	end_event(&a, TP_CONN_DISCONNECTED);
	assert_int_equal(send(fd, junk, sizeof(junk), MSG_NOSIGNAL), sizeof(junk));
	end_destroy(&a);
	node_close(&node);
	pause_ms(STILL_MS);
	expect_all(fd);
	close(fd);
}

/* Closing waits for a peer that is slow, so that what it sends meanwhile costs it nothing. */
static void close_waits(void **state)
{
	struct end_options options = { .depth = 64, .sge = 1 };
	struct node node;
	uint64_t before;
	struct end a;
	int fd;

	(void)state;
	soft_config.linger_ms = STILL_MS;
	node_open(&node, "lo");
	end_create(&a, &node, &options);
	fd = raw_peer(&a);
	{
		struct tp_mr *mr = out_mr;

		out_mr = reg(&node, out, SIZE, FULL);
		assert_int_equal(send_until_full(&a, 64, MESSAGE), 64);
		dereg(out_mr);
		out_mr = mr;
	}
	t->cm->disconnect(a.conn, true);
	end_event(&a, TP_CONN_DISCONNECTED);
	end_destroy(&a);
	before = now_ms();
	node_close(&node);
	assert_true(now_ms() - before >= STILL_MS - 50);
	assert_true(now_ms() - before < DEADLINE_MS);
	close(fd);
}

/* The peer has ended and takes nothing: nobody looks at it again and again. */
static void no_spin(void **state)
{
	struct end_options options = { .depth = 512, .sge = 1 };
	enum end_of_stream how;
	uint64_t wakeups;
	unsigned done;
	struct end a;
	int fd;

	(void)state;
	soft_config.linger_ms = DEADLINE_MS;
	end_create(&a, &left, &options);
	fd = raw_peer(&a);
	done = send_until_full(&a, 512, 65535);
	assert_true(done > 0 && done < 512);
	t->cm->disconnect(a.conn, false);
	end_destroy(&a);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	pause_ms(20);
	wakeups = soft_loop_wakeups(left.loop);
	pause_ms(STILL_MS);
	assert_true(soft_loop_wakeups(left.loop) - wakeups < IDLE_WAKEUPS);
	assert_true(raw_stream(fd, false, &how) >= done);
	close(fd);
}

/* ---- What did not complete ---- */

struct cut_send {
	struct node node;
	struct end end;
	struct tp_mr *mr;
	uint8_t *bytes;
	int fd; /* the peer's */
};

/* A Send that sockets do not hold is under way when the connection is ended. */
static void cut_send(struct cut_send *cut)
{
	struct end_options options = { .depth = 1, .sge = 1 };

	soft_config.linger_ms = PATIENT_MS;
	node_open(&cut->node, "lo");
	end_create(&cut->end, &cut->node, &options);
	cut->fd = raw_peer(&cut->end);
	cut->bytes = calloc(1, BIG);
	cut->mr = reg(&cut->node, cut->bytes, BIG, FULL);
	post_send(&cut->end, 1, cut->bytes, BIG, cut->mr, TP_WR_SIGNALED);
	pause_ms(20);
	t->cm->disconnect(cut->end.conn, false);
	assert_wc(take_wc(cut->end.send_cq), 1, FLUSHED);
	end_destroy(&cut->end);
	dereg(cut->mr);
	free(cut->bytes);
}

/* A peer that takes it in, however slowly, sees an end in order. */
static void cut_taken(void **state)
{
	enum end_of_stream how;
	struct cut_send cut;

	(void)state;
	cut_send(&cut);
	assert_int_equal(raw_stream(cut.fd, true, &how), 0);
	assert_int_equal(how, IN_ORDER);
	close(cut.fd);
	node_close(&cut.node);
}

/* One that takes nothing is told in time. */
static void cut_not_taken(void **state)
{
	enum end_of_stream how;
	struct cut_send cut;

	(void)state;
	cut_send(&cut);
	pause_ms(2 * PATIENT_MS + STILL_MS);
	assert_int_equal(raw_stream(cut.fd, false, &how), 0);
	assert_int_equal(how, RESET);
	close(cut.fd);
	node_close(&cut.node);
}

static void *read_on(void *arg)
{
	enum end_of_stream how;

	pause_ms(PATIENT_MS / 5);
	raw_stream(*(int *)arg, false, &how);
	return (void *)(uintptr_t)how;
}

/* Both, where the adapter is closed at once: that waits for the peer. */
static void cut_closed_taken(void **state)
{
	struct cut_send cut;
	pthread_t reader;
	uint64_t before;
	void *how;

	(void)state;
	cut_send(&cut);
	assert_int_equal(pthread_create(&reader, NULL, read_on, &cut.fd), 0);
	before = now_ms();
	node_close(&cut.node);
	assert_true(now_ms() - before >= PATIENT_MS / 10);
	assert_int_equal(pthread_join(reader, &how), 0);
	assert_int_equal((uintptr_t)how, IN_ORDER);
	close(cut.fd);
}

static void cut_closed_not_taken(void **state)
{
	enum end_of_stream how;
	struct cut_send cut;

	(void)state;
	cut_send(&cut);
	node_close(&cut.node);
	raw_stream(cut.fd, false, &how);
	assert_int_equal(how, RESET);
	close(cut.fd);
}

/* ---- Without memory ---- */

static int set_up_patient(void **state)
{
	set_up(state);
	soft_config.linger_ms = DEADLINE_MS;
	return 0;
}

/* What is half out is sent to its end, and nothing that has come cuts it off. */
static void half_out_without_memory(void **state)
{
	struct end_options options = { .depth = 512, .sge = 1 };
	static const uint8_t junk[1] = { 0 };
	enum end_of_stream how;
	unsigned done;
	struct end a;
	int fd;

	(void)state;
	end_create(&a, &left, &options);
	fd = raw_peer(&a);
	done = send_until_full(&a, 512, 65536);
	assert_true(done > 0 && done < 512);
	atomic_store(&no_memory, true);
	t->cm->disconnect(a.conn, false);
	atomic_store(&no_memory, false);
	assert_int_equal(send(fd, junk, sizeof(junk), MSG_NOSIGNAL), sizeof(junk));
	assert_true(raw_stream(fd, false, &how) >= done);
	assert_int_equal(how, IN_ORDER);
	close(fd);
	end_destroy(&a);
}

static void rejected_without_memory(void **state)
{
	struct tp_conn *conn;
	struct end a;
	int rc;

	(void)state;
	end_create(&a, &left, NULL);
	end_connect(&a, &right, NULL, 0);
	conn = node_request(&right);
	atomic_store(&no_memory, true);
	rc = t->cm->reject(conn, "no such thing", 13);
	atomic_store(&no_memory, false);
	assert_int_equal(rc, 0);
	assert_int_equal(end_event(&a, TP_CONN_REJECTED)->len, 13);
	end_destroy(&a);
}

/* DTO-84: the peer hears what was wrong. */
static void terminated_without_memory(void **state)
{
	struct end a, b;

	(void)state;
	pair(&a, &b, NULL);
	atomic_store(&no_memory, true);
	post_rdma(&a, TP_RDMA_READ, 1, out, 8, out_mr, in, in_mr->rkey + 1, 0);
	end_event(&b, TP_CONN_BROKEN);
	end_event(&a, TP_CONN_BROKEN);
	atomic_store(&no_memory, false);
	assert_wc(take_wc(a.send_cq), 1, REMOTE_ACCESS);
	unpair(&a, &b);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(full_window),
		CASE(graceful),
		CASE(abrupt),
		CASE(memory_gone),
		CASE(closed),
		CASE(close_waits),
		CASE(no_spin),
		CASE(cut_taken),
		CASE(cut_not_taken),
		CASE(cut_closed_taken),
		CASE(cut_closed_not_taken),
		cmocka_unit_test_setup_teardown(half_out_without_memory, set_up_patient, tear_down),
		CASE(rejected_without_memory),
		CASE(terminated_without_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* Sockets. */
	unsetenv("DAPL_SOFT_LINK");
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
