/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A connection begins; an iWARP peer is asked on a thread that keeps nobody waiting. rdma_cm is this
 * program's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "providers/verbs/cm/rdma.h"
#include "test/unit/verbs_util.h"

/* What the kernel does; stuck: it refuses once there is room for the caller's write. */
static enum {
	AGREES,
	REFUSES,
	STUCK
} kernel;
static int full[2]; /* a pipe without room */
static sem_t entered;
static atomic_int failures; /* what is told orders what the thread did before what follows */

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	/* Not on the stack: AddressSanitizer's marks there outlive a thread that is cancelled. */
	static char byte;

	(void)id;
	assert_int_equal(param->retry_count, 5);
	sem_post(&entered);
	if (kernel == STUCK && write(full[1], &byte, 1) < 0)
		return -1;
	errno = ECONNREFUSED;
	return kernel == AGREES ? 0 : -1;
}

static void failed(struct vrb_connect_call *call)
{
	assert_int_equal(atomic_load(&call->err), ECONNREFUSED);
	atomic_fetch_add(&failures, 1);
}

static uint64_t in_ms(uint64_t ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + ms * 1000000;
}

#ifdef WITH_TSAN
/* clang-14's ThreadSanitizer does not see that this joins a thread, as it does with the other. */
int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
			 const struct timespec *until)
{
	struct timespec now, real;
	int64_t ns;

	clock_gettime(clock, &now);
	clock_gettime(CLOCK_REALTIME, &real);
	ns = (until->tv_sec - now.tv_sec) * INT64_C(1000000000) + until->tv_nsec - now.tv_nsec;
	if (ns < 0)
		ns = 0;
	ns += real.tv_sec * INT64_C(1000000000) + real.tv_nsec;
	real = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	return pthread_timedjoin_np(thread, result, &real);
}
#endif

static int setup(void **state)
{
	static struct vrb_connect_call call;
	char bytes[4096] = { 0 };

	call = (struct vrb_connect_call){ .param.retry_count = 5, .failed = failed };
	atomic_store(&failures, 0);
	sem_init(&entered, 0, 0);
	if (pipe2(full, O_NONBLOCK))
		return -1;
	while (write(full[1], bytes, sizeof(bytes)) > 0)
		;
	fcntl(full[1], F_SETFL, 0);
	*state = &call;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(full[0]);
	close(full[1]);
	sem_destroy(&entered);
	return 0;
}

static void consent_is_no_news(void **state)
{
	struct vrb_connect_call *call = *state;

	kernel = AGREES;
	assert_int_equal(vrb_connect_begin(call), 0);
	vrb_connect_end(call);
	assert_int_equal(atomic_load(&call->err), 0);
	assert_int_equal(atomic_load(&failures), 0);
	vrb_connect_end(call); /* there is none any more */
	vrb_connect_cancel(call, 0);
}

static void a_refusal_is_told_once(void **state)
{
	struct vrb_connect_call *call = *state;

	kernel = REFUSES;
	assert_int_equal(vrb_connect_begin(call), 0);
	vrb_connect_end(call);
	assert_int_equal(atomic_load(&failures), 1);
}

static void tmo_2_3_a_silent_peer_keeps_nobody(void **state)
{
	struct vrb_connect_call *call = *state;

	kernel = STUCK;
	assert_int_equal(vrb_connect_begin(call), 0);
	while (sem_wait(&entered))
		;
	vrb_connect_cancel(call, in_ms(20));
	assert_int_equal(atomic_load(&failures), 0);
}

/* One that has an answer in time is not cut short. */
static void an_answer_is_waited_for(void **state)
{
	struct vrb_connect_call *call = *state;
	char bytes[4096];

	kernel = STUCK;
	assert_int_equal(vrb_connect_begin(call), 0);
	while (sem_wait(&entered))
		;
	assert_true(read(full[0], bytes, sizeof(bytes)) > 0);
	vrb_connect_cancel(call, in_ms(20000));
	assert_int_equal(atomic_load(&failures), 1);
}

/* Told off before, while and after it asks: the thread is gone and tells at most once. */
static void tmo_3_cut_short_at_any_time(void **state)
{
	struct vrb_connect_call *call = *state;

	kernel = REFUSES;
	for (int i = 0; i < 500; i++) {
		atomic_store(&failures, 0);
		atomic_store(&call->err, 0);
		assert_int_equal(vrb_connect_begin(call), 0);
		for (int j = 0; j < i % 10; j++)
			usleep(10);
		vrb_connect_cancel(call, 0);
		assert_int_equal(atomic_load(&failures), !!atomic_load(&call->err));
	}
}

/* ---- The id ---- */

static struct {
	struct vrb_dev dev;
	struct vrb_rdma rdma;
	struct rdma_event_channel channel;
	struct ibv_qp ibqp;
	struct vrb_qp qp;
	struct rdma_cm_id id;
	struct tp_conn *conn;
	int begun; /* what the loop finds is locked and complete */
} c;

static void *loop_finds(void *arg)
{
	struct vrb_cm_object *object = arg;
	struct vrb_conn *conn = container_of(object, struct vrb_conn, object);

	if (pthread_mutex_trylock(&object->lock) == EBUSY)
		c.begun += conn->base.owner == &c && c.conn == &conn->base && c.qp.conn == conn;
	else
		pthread_mutex_unlock(&object->lock);
	return NULL;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space space)
{
	assert_ptr_equal(channel, &c.channel);
	(void)space;
	c.id.context = context;
	*id = &c.id;
	return 0;
}

/* The device is removed, of which the loop may read before this returns. */
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	pthread_t loop;

	(void)addr;
	assert_int_equal(pthread_create(&loop, NULL, loop_finds, id->context), 0);
	pthread_join(loop, NULL);
	errno = ENODEV;
	return -1;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_ptr_equal(id, &c.id);
	return 0;
}

static void an_id_has_its_connection_from_the_start(void **state)
{
	const struct sockaddr_in remote = { .sin_family = AF_INET };
	const struct tp_connect param = { .remote = (const struct sockaddr *)&remote,
					  .conn_qual = 5 };

	(void)state;
	c.dev.cm = &c.rdma;
	c.dev.addr.ss_family = AF_INET;
	c.rdma.dev = &c.dev;
	c.rdma.channel = &c.channel;
	pthread_mutex_init(&c.dev.cm_lock, NULL);
	c.qp.dev = &c.dev;
	c.qp.ibqp = &c.ibqp;
	assert_int_equal(vrb_cm_ops.connect(&c.qp.base, &param, &c, &c.conn), -ENODEV);
	assert_int_equal(c.begun, 1);
	assert_null(c.conn);
	assert_null(c.qp.conn);
}

static struct {
	enum tp_conn_event event;
	int err, num;
} heard;

static void conn_event(void *owner, enum tp_conn_event event, int err, const void *data,
		       uint32_t len)
{
	(void)data;
	assert_ptr_equal(owner, &c);
	assert_int_equal(len, 0);
	heard.event = event;
	heard.err = err;
	heard.num++;
}

static const struct tp_upcalls up = { .conn_event = conn_event };

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	(void)ctx;
	(void)event;
	errno = EAGAIN;
	return -1;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	assert_ptr_equal(qp, &c.ibqp);
	return 0;
}

/* A device that fails is still there for rdma_cm, which waits for what it does not say. */
static void attempts_end_with_their_device(void **state)
{
	static const enum vrb_conn_state states[] = { VRB_CONN_ADDR, VRB_CONN_ROUTE,
						      VRB_CONN_CONNECTING };
	static struct vrb_wr ring[2][2];
	struct vrb_conn *conn;
	struct dapl_lock lock;

	(void)state;
	dapl_lock_init(&lock);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		memset(&c, 0, sizeof(c));
		c.dev.cm = &c.rdma;
		c.dev.base.up = &up;
		c.dev.config = &vrb_config;
		c.rdma.ops = &vrb_rdma_ib;
		c.qp = (struct vrb_qp){ .dev = &c.dev, .ibqp = &c.ibqp, .base.lock = &lock };
		vu_queue(&c.qp.sq, &c.qp, ring[0], 2);
		vu_queue(&c.qp.rq, &c.qp, ring[1], 2);
		c.qp.rq.recv = true;
		conn = vrb_conn_new(&c.dev);
		assert_non_null(conn);
		conn->base.owner = &c;
		conn->id = &c.id;
		conn->state = states[i];
		vrb_conn_join(conn, &c.qp);
		vrb_rdma_qp_event(&c.qp);
		assert_int_equal(heard.num, i);
		atomic_store(&c.dev.gone, true);
		vrb_rdma_qp_event(&c.qp);
		assert_int_equal(heard.num, i + 1);
		assert_int_equal(heard.event, TP_CONN_UNREACHABLE);
		assert_int_equal(heard.err, -ENODEV);
		vrb_cm_ops.release(&conn->base);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(consent_is_no_news),
		T(a_refusal_is_told_once),
		T(tmo_2_3_a_silent_peer_keeps_nobody),
		T(an_answer_is_waited_for),
		T(tmo_3_cut_short_at_any_time),
		T(an_id_has_its_connection_from_the_start),
		T(attempts_end_with_their_device),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
