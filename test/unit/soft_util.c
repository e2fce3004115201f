/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/soft_util.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "dapl/base/lock.h"
#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;

uint64_t now_ms(void)
{
	return dapl_now() / 1000000;
}

void pause_ms(int ms)
{
	poll(NULL, 0, ms);
}

unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* After so many octets what fill writes begins anew, which is copied: a sanitizer slows down loops. */
#define FILL_PERIOD 65536

static uint8_t octet(size_t i, unsigned seed)
{
	return (uint8_t)(seed + i * 7 + (i >> 8) * 13);
}

void fill(void *buf, size_t len, unsigned seed)
{
	uint8_t *p = buf;
	size_t done, n;

	for (done = 0; done < len && done < FILL_PERIOD; done++)
		p[done] = octet(done, seed);
	for (; done < len; done += n) {
		n = len - done < FILL_PERIOD ? len - done : FILL_PERIOD;
		memcpy(p + done, p, n);
	}
}

bool filled(const void *buf, size_t len, unsigned seed)
{
	const uint8_t *p = buf;

	for (size_t i = 0; i < len && i < FILL_PERIOD; i++)
		if (p[i] != octet(i, seed))
			return false;
	return len <= FILL_PERIOD || !memcmp(p, p + FILL_PERIOD, len - FILL_PERIOD);
}

/*
 * ThreadSanitizer takes the memory a send reads for read after the send, when the peer, being in
 * this process too, may long have answered and the test gone on.
 */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "intercept_send=0";
}

/* ---- Upcalls ---- */

static int on_request(void *owner, struct tp_conn *conn, const struct tp_conn_request *req)
{
	struct node *node = owner;
	int rc;

	pthread_mutex_lock(&node->lock);
	rc = node->refuse;
	if (!rc) {
		node->request[node->requests++] = conn;
		node->data_len = req->private_data_len;
		if (req->private_data_len)
			memcpy(node->data, req->private_data, req->private_data_len);
		pthread_cond_broadcast(&node->changed);
	}
	pthread_mutex_unlock(&node->lock);
	return rc;
}

static void on_event(void *owner, enum tp_conn_event what, int err, const void *data, uint32_t len)
{
	struct end *end = owner;
	struct event *event;

	pthread_mutex_lock(&end->node->lock);
	event = &end->events[end->num_events++ % MAX_EVENTS];
	event->event = what;
	event->turn = end->node->turns++;
	event->err = err;
	event->len = len;
	if (len)
		memcpy(event->data, data, len);
	pthread_cond_broadcast(&end->node->changed);
	pthread_mutex_unlock(&end->node->lock);
}

static void on_ud_event(void *owner, enum tp_conn_event what, int err,
			const struct tp_ud_peer *peer, const void *data, uint32_t len)
{
	(void)peer;
	on_event(owner, what, err, data, len);
}

static void on_cq(void *owner)
{
	struct end *end = owner;

	atomic_fetch_add(&end->cq_events, 1);
}

static void on_async(void *owner, enum tp_async_event event, void *object)
{
	struct node *node = owner;

	pthread_mutex_lock(&node->lock);
	node->asyncs++;
	node->async = event;
	node->async_object = object;
	pthread_cond_broadcast(&node->changed);
	pthread_mutex_unlock(&node->lock);
}

static const struct tp_upcalls upcalls = {
	.conn_request = on_request,
	.conn_event = on_event,
	.ud_event = on_ud_event,
	.cq_event = on_cq,
	.async = on_async,
};

/* ---- Nodes ---- */

/* What these tests see of the wire is that of TCP, with a CRC, unless they choose. */
__attribute__((constructor)) static void choose_wire(void)
{
	soft_config.link = SOFT_LINK_TCP;
	soft_config.crc = SOFT_CRC_YES;
}

/* The tunable without its reader, so that all tests can run on each link. */
static void choose_link(void)
{
	static const char *const names[] = {
		[SOFT_LINK_AUTO] = "auto", [SOFT_LINK_TCP] = "tcp", [SOFT_LINK_SHM] = "shm"
	};
	const char *name = getenv("DAPL_SOFT_LINK");

	for (int i = 0; name && i < 3; i++)
		if (!strcmp(name, names[i]))
			soft_config.link = i;
}

void node_open(struct node *node, const char *params)
{
	struct tp_device_init init = {
		.ia_name = "test", .params = params, .up = &upcalls, .owner = node
	};
	pthread_condattr_t attr;

	memset(node, 0, sizeof(*node));
	choose_link();
	pthread_mutex_init(&node->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&node->changed, &attr);
	node->loop = init.loop = soft_loop_start();
	assert_int_equal(t->device->open(&init, &node->dev), 0);
	assert_int_equal(t->pd->alloc(node->dev, &node->pd), 0);
	assert_int_equal(t->cm->listen(node->dev, 0, node, &node->listener), 0);
}

void node_close(struct node *node)
{
	if (node->listener)
		t->cm->unlisten(node->listener);
	t->pd->free(node->pd);
	t->device->close(node->dev);
	assert_true(soft_loop_stop(node->loop));
	pthread_cond_destroy(&node->changed);
	pthread_mutex_destroy(&node->lock);
}

static struct timespec deadline(int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += ms % 1000 * 1000000L;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	return ts;
}

struct tp_conn *node_request(struct node *node)
{
	struct timespec ts = deadline(DEADLINE_MS);
	struct tp_conn *conn = NULL;
	int rc = 0;

	pthread_mutex_lock(&node->lock);
	while (!node->requests && !rc)
		rc = pthread_cond_timedwait(&node->changed, &node->lock, &ts);
	if (node->requests) {
		conn = node->request[0];
		memmove(node->request, node->request + 1, --node->requests * sizeof(conn));
	}
	pthread_mutex_unlock(&node->lock);
	assert_non_null(conn);
	return conn;
}

void node_refuse(struct node *node, int rc)
{
	pthread_mutex_lock(&node->lock);
	node->refuse = rc;
	pthread_mutex_unlock(&node->lock);
}

unsigned node_asyncs(struct node *node)
{
	unsigned n;

	pthread_mutex_lock(&node->lock);
	n = node->asyncs;
	pthread_mutex_unlock(&node->lock);
	return n;
}

void node_await_asyncs(struct node *node, unsigned num)
{
	struct timespec ts = deadline(DEADLINE_MS);
	int rc = 0;

	pthread_mutex_lock(&node->lock);
	while (node->asyncs < num && !rc)
		rc = pthread_cond_timedwait(&node->changed, &node->lock, &ts);
	pthread_mutex_unlock(&node->lock);
	assert_int_equal(rc, 0);
}

/* ---- CQs ---- */

void new_cq(struct tp_device *dev, uint32_t cqe, void *owner, struct tp_cq **cq)
{
	struct dapl_lock *lock = malloc(sizeof(*lock));

	assert_non_null(lock);
	dapl_lock_init(lock);
	assert_int_equal(t->cq->create(dev, cqe, owner, cq), 0);
	(*cq)->lock = lock;
}

void free_cq(struct tp_cq *cq)
{
	struct dapl_lock *lock = cq->lock;

	t->cq->destroy(cq);
	dapl_lock_fini(lock);
	free(lock);
}

void arm_cq(struct tp_cq *cq, enum tp_arm how)
{
	dapl_lock(cq->lock);
	t->cq->arm(cq, how);
	dapl_unlock(cq->lock);
}

void disarm_cq(struct tp_cq *cq)
{
	dapl_lock(cq->lock);
	t->cq->disarm(cq);
	dapl_unlock(cq->lock);
}

bool cq_sleeps(struct tp_cq *cq)
{
	bool sleeps;

	dapl_lock(cq->lock);
	sleeps = t->cq->sleeps(cq);
	dapl_unlock(cq->lock);
	return sleeps;
}

/* ---- Ends ---- */

void end_create(struct end *end, struct node *node, const struct end_options *options)
{
	static const struct end_options usual = {
		.depth = 16, .sge = 4, .read_in = 4, .read_out = 4
	};
	const struct end_options *o = options ? options : &usual;

	memset(end, 0, sizeof(*end));
	end->node = node;
	new_cq(node->dev, o->depth * 4, end, &end->send_cq);
	end->recv_cq = o->recv_cq ? o->recv_cq : end->send_cq;
	end->foreign_cq = o->recv_cq;
	if (!o->recv_cq && !o->one_cq)
		new_cq(node->dev, o->depth * 4, end, &end->recv_cq);
	end->attr = (struct tp_qp_attr){ .pd = node->pd,
					 .send_cq = end->send_cq,
					 .recv_cq = end->recv_cq,
					 .max_send_wr = o->depth,
					 .max_recv_wr = o->depth,
					 .max_send_sge = o->sge,
					 .max_recv_sge = o->sge,
					 .max_read_in = o->read_in,
					 .max_read_out = o->read_out,
					 .ud = o->ud };
	assert_int_equal(t->qp->create(node->dev, &end->attr, end, &end->qp), 0);
}

void end_destroy(struct end *end)
{
	if (end->conn)
		t->cm->release(end->conn);
	end->qp->ops->destroy(end->qp);
	free_cq(end->send_cq);
	if (end->recv_cq != end->send_cq && !end->foreign_cq)
		free_cq(end->recv_cq);
}

void end_connect(struct end *end, struct node *to, const void *data, uint32_t len)
{
	struct tp_device_attr attr;
	struct tp_connect param = { .private_data = data, .private_data_len = len };

	t->device->query(to->dev, &attr);
	param.remote = (struct sockaddr *)&attr.addr;
	param.conn_qual = to->listener->conn_qual;
	assert_int_equal(t->cm->connect(end->qp, &param, end, &end->conn), 0);
}

void ends_connect(struct end *active, struct end *passive)
{
	end_connect(active, passive->node, NULL, 0);
	passive->conn = node_request(passive->node);
	assert_int_equal(t->cm->accept(passive->conn, passive->qp, NULL, 0, passive), 0);
	end_event(active, TP_CONN_ESTABLISHED);
	end_event(passive, TP_CONN_ESTABLISHED);
}

static bool await_event(struct end *end, int ms)
{
	struct timespec ts = deadline(ms);
	bool there;
	int rc = 0;

	pthread_mutex_lock(&end->node->lock);
	while (end->next_event == end->num_events && !rc)
		rc = pthread_cond_timedwait(&end->node->changed, &end->node->lock, &ts);
	there = end->next_event != end->num_events;
	pthread_mutex_unlock(&end->node->lock);
	return there;
}

struct event *end_any_event(struct end *end)
{
	if (!await_event(end, DEADLINE_MS))
		fail_msg("no event within the deadline");
	return &end->events[end->next_event++ % MAX_EVENTS];
}

struct event *end_event2(struct end *end, enum tp_conn_event a, enum tp_conn_event b)
{
	struct event *event;

	if (!await_event(end, DEADLINE_MS))
		fail_msg("no event %d within the deadline", a);
	event = end_any_event(end);
	if (event->event != a && event->event != b)
		fail_msg("event %d (%s) instead of %d", event->event, strerror(-event->err), a);
	return event;
}

struct event *end_event(struct end *end, enum tp_conn_event event)
{
	return end_event2(end, event, event);
}

unsigned end_events(struct end *end)
{
	unsigned n;

	pthread_mutex_lock(&end->node->lock);
	n = end->num_events;
	pthread_mutex_unlock(&end->node->lock);
	return n;
}

bool end_has_buffers(struct end *end)
{
	struct soft_conn *conn = soft_conn(end->conn);
	bool has;

	/* Other threads change them. */
	dapl_lock(&conn->qp->lock);
	has = conn->rx.stage != conn->rx.tiny || conn->tx.scratch != conn->tx.tiny;
	dapl_unlock(&conn->qp->lock);
	return has;
}

void ends_lose_buffers(struct end *a, struct end *b)
{
	uint64_t limit = now_ms() + DEADLINE_MS;

	while ((end_has_buffers(a) || end_has_buffers(b)) && now_ms() < limit)
		pause_ms(10);
	assert_false(end_has_buffers(a) || end_has_buffers(b));
}

void end_quiet(struct end *end, int ms)
{
	if (await_event(end, ms))
		fail_msg("unexpected event %d", end->events[end->next_event % MAX_EVENTS].event);
}

void end_reset(struct end *end)
{
	struct tp_wc wc;

	t->cm->release(end->conn);
	end->conn = NULL;
	assert_int_equal(t->qp->reset(end->qp), 0);
	while (try_wc(end->send_cq, &wc) || try_wc(end->recv_cq, &wc))
		;
}

/* ---- Completions ---- */

bool try_wc(struct tp_cq *cq, struct tp_wc *wc)
{
	bool got;

	dapl_lock(cq->lock);
	got = t->cq->poll(cq, wc) == 1;
	dapl_unlock(cq->lock);
	return got;
}

void poll_in_vain(struct tp_cq *cq, unsigned times)
{
	struct tp_wc wc;

	while (times--)
		assert_false(try_wc(cq, &wc));
}

struct tp_wc take_wc(struct tp_cq *cq)
{
	uint64_t end = now_ms() + DEADLINE_MS;
	struct tp_wc wc = { 0 };

	while (!try_wc(cq, &wc))
		if (now_ms() > end)
			fail_msg("no completion within the deadline");
	return wc;
}

struct tp_wc wait_wc(struct end *end, struct tp_cq *cq)
{
	uint64_t limit = now_ms() + DEADLINE_MS;
	struct tp_wc wc = { 0 };
	struct pollfd fd;
	unsigned seen;
	bool got;

	while (!try_wc(cq, &wc)) {
		/* Counted before the look: an event after it is then seen as a new one. */
		seen = atomic_load(&end->cq_events);
		arm_cq(cq, TP_ARM_WAITER);
		fd = (struct pollfd){ .fd = t->cq->fd(cq), .events = POLLIN };
		got = try_wc(cq, &wc);
		/* The test has no descriptor for cq_event: it looks at the count in short
		 * intervals. */
		while (!got && now_ms() <= limit)
			if (poll(&fd, 1, 5) > 0 || atomic_load(&end->cq_events) != seen)
				break;
		disarm_cq(cq);
		if (got)
			return wc;
		if (now_ms() > limit)
			fail_msg("no completion within the deadline");
	}
	return wc;
}

/* ---- Memory and posting ---- */

struct tp_mr *reg(struct node *node, void *addr, size_t len, uint32_t access)
{
	struct tp_mr_attr attr = { .addr = addr, .length = len, .access = access };
	struct tp_mr *mr;

	assert_int_equal(t->mr->reg(node->pd, &attr, &mr), 0);
	return mr;
}

void dereg(struct tp_mr *mr)
{
	t->mr->dereg(mr);
}

void post_recv(struct end *end, uint64_t id, void *addr, uint32_t len, struct tp_mr *mr)
{
	struct tp_sge sge = { (uintptr_t)addr, len, mr ? mr->lkey : 0 };

	assert_int_equal(end->qp->ops->post_recv(end->qp, id, &sge, 1), 0);
}

void post_send(struct end *end, uint64_t id, const void *addr, uint32_t len, struct tp_mr *mr,
	       uint32_t flags)
{
	struct tp_sge sge = { (uintptr_t)addr, len, mr ? mr->lkey : 0 };
	struct tp_wr wr = { .wr_id = id,
			    .opcode = TP_SEND,
			    .flags = flags,
			    .sge = &sge,
			    .num_sge = 1,
			    .length = len };

	assert_int_equal(end->qp->ops->post_send(end->qp, &wr), 0);
}

void post_rdma(struct end *end, enum tp_opcode opcode, uint64_t id, const void *addr, uint32_t len,
	       struct tp_mr *mr, const void *remote, uint32_t rkey, uint32_t flags)
{
	struct tp_sge sge = { (uintptr_t)addr, len, mr ? mr->lkey : 0 };
	struct tp_wr wr = { .wr_id = id,
			    .opcode = opcode,
			    .flags = flags,
			    .sge = &sge,
			    .num_sge = 1,
			    .length = len,
			    .remote_addr = (uintptr_t)remote,
			    .rkey = rkey };

	assert_int_equal(end->qp->ops->post_send(end->qp, &wr), 0);
}
