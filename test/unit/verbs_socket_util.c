/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/verbs_socket_util.h"
#include "test/unit/verbs_util.h"

struct sk sk;

/* ---- The device ---- */

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	assert_ptr_equal(qp, &sk.ibqp);
	if (sk.refused && attr->qp_state == sk.refused) {
		sk.refused = 0;
		return EIO;
	}
	if (attr->qp_state == IBV_QPS_RTR && (mask & IBV_QP_AV))
		sk.rtr = *attr;
	if (attr->qp_state == IBV_QPS_RTS)
		sk.rts = *attr;
	return 0;
}

/* One that never met a peer is destroyed with its receives. */
int ibv_destroy_qp(struct ibv_qp *qp)
{
	assert_ptr_equal(qp, &sk.ibqp);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	(void)init;
	assert_ptr_equal(pd, &sk.ibpd);
	return &sk.ibqp;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)qp;
	(void)mask;
	(void)init;
	attr->qp_state = sk.state ? sk.state : IBV_QPS_RTS;
	return 0;
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	(void)ctx;
	(void)event;
	errno = EAGAIN;
	return -1;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *ctx, uint8_t number, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *port = (struct ibv_port_attr *)attr;

	(void)ctx;
	(void)number;
	port->active_mtu = IBV_MTU_1024;
	port->lid = 0x11;
	port->link_layer = IBV_LINK_LAYER_INFINIBAND;
	return 0;
}

/* ---- The core ---- */

static int conn_request(void *owner, struct tp_conn *conn, const struct tp_conn_request *req)
{
	assert_ptr_equal(owner, &sk.listener);
	pthread_mutex_lock(&sk.lock);
	sk.request = conn;
	sk.num_requests++;
	sk.len = req->private_data_len;
	sk.truncated = req->truncated;
	if (sk.len)
		memcpy(sk.data, req->private_data, sk.len);
	pthread_mutex_unlock(&sk.lock);
	return 0;
}

static void conn_event(void *owner, enum tp_conn_event event, int err, const void *data,
		       uint32_t len)
{
	assert_ptr_equal(owner, &sk.qp);
	pthread_mutex_lock(&sk.lock);
	assert_true(sk.num_events < sizeof(sk.event) / sizeof(sk.event[0]));
	sk.event[sk.num_events++] = event;
	sk.err = err;
	sk.len = len;
	if (len)
		memcpy(sk.data, data, len);
	pthread_mutex_unlock(&sk.lock);
}

static void conn_addr(void *owner)
{
	assert_ptr_equal(owner, &sk.qp);
}

static void async(void *owner, enum tp_async_event event, void *object)
{
	assert_ptr_equal(owner, &sk.dev);
	assert_ptr_equal(object, &sk.qp);
	assert_int_equal(event, TP_ASYNC_QP_ERROR);
}

static const struct tp_upcalls up = { .conn_request = conn_request,
				      .conn_event = conn_event,
				      .conn_addr = conn_addr,
				      .async = async };

void sk_await(const unsigned int *counter, unsigned int num)
{
	bool there = false;
	int i;

	for (i = 0; i < WAIT_MS && !there; i++) {
		pthread_mutex_lock(&sk.lock);
		there = *counter >= num;
		pthread_mutex_unlock(&sk.lock);
		if (!there)
			usleep(1000);
	}
	assert_true(there);
}

unsigned int sk_count(const unsigned int *counter)
{
	unsigned int num;

	pthread_mutex_lock(&sk.lock);
	num = *counter;
	pthread_mutex_unlock(&sk.lock);
	return num;
}

void sk_event(enum tp_conn_event event)
{
	sk_await(&sk.num_events, sk.seen + 1);
	assert_int_equal(sk.event[sk.seen++], event);
}

struct tp_conn *sk_request(unsigned int num)
{
	sk_await(&sk.num_requests, num);
	return sk.request;
}

/* ---- Life ---- */

int sk_setup(void **state)
{
	struct sockaddr_in *addr = (struct sockaddr_in *)&sk.dev.addr;

	(void)state;
	memset(&sk, 0, sizeof(sk));
	dapl_lock_init(&sk.qp_lock);
	pthread_mutex_init(&sk.lock, NULL);
	sk.config = vrb_config;
	sk.dev.base.up = &up;
	sk.dev.base.owner = &sk.dev;
	sk.dev.config = &sk.config;
	sk.dev.cm = &sk.scm;
	sk.dev.ctx = &sk.ctx;
	sk.dev.port = 1;
	sk.dev.watching = true;
	list_init(&sk.scm.half_open);
	pthread_mutex_init(&sk.dev.lock, NULL);
	pthread_mutex_init(&sk.dev.async_lock, NULL);
	pthread_mutex_init(&sk.dev.cm_lock, NULL);
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (dapl_loop_create(&sk.dev.base.loop) || vrb_cm.start(&sk.dev))
		return -1;
	sk.ibqp.context = &sk.ctx;
	sk.ibqp.qp_num = 0x4711;
	sk.qp.base = (struct tp_qp){ .dev = &sk.dev.base, .owner = &sk.qp, .lock = &sk.qp_lock };
	sk.qp.dev = &sk.dev;
	sk.pd.ibpd = &sk.ibpd;
	sk.qp.pd = &sk.pd;
	sk.qp.ibqp = &sk.ibqp;
	sk.qp.init = true;
	sk.qp.max_read_in = 4;
	sk.qp.max_read_out = 16;
	vu_queue(&sk.qp.sq, &sk.qp, sk.ring[0], RING);
	vu_queue(&sk.qp.rq, &sk.qp, sk.ring[1], RING);
	sk.qp.rq.recv = sk.qp.rq.plain_recv = true;
	return vrb_cm_ops.listen(&sk.dev.base, 0, &sk.listener, &sk.listener);
}

int sk_teardown(void **state)
{
	(void)state;
	if (sk.listener)
		vrb_cm_ops.unlisten(sk.listener);
	vrb_cm.stop(&sk.dev);
	assert_int_equal(sk.scm.num_half_open, 0);
	assert_int_equal(sk.dev.num_open, 0);
	dapl_loop_destroy(sk.dev.base.loop);
	return 0;
}

/* ---- Peers ---- */

int sk_peer(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons(scm_port(sk.listener->conn_qual));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

size_t sk_message(uint8_t bytes[XCHG_MOST], enum scm_op op, uint16_t version, const char *data)
{
	struct scm_msg msg = { .op = op,
			       .version = version,
			       .stray = version < 8,
			       .end.reads_in = 2,
			       .end.mtu = 5,
			       .end.lid = 0x22,
			       .end.qpn = 0x222,
			       .end.qp_type = XCHG_QPT_RC,
			       .addr = { .sin_family = AF_INET, .sin_port = htons(99) },
			       .data = (const uint8_t *)data,
			       .len = (uint16_t)strlen(data) };

	return scm_encode(bytes, &msg);
}

void sk_put(int fd, const void *bytes, size_t len)
{
	assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
}

int sk_peer_request(uint16_t version, const char *data)
{
	uint8_t bytes[XCHG_MOST];
	size_t len = sk_message(bytes, SCM_REQ, version, data);
	int fd = sk_peer();

	sk_put(fd, bytes, len);
	return fd;
}

ssize_t sk_take(int fd, uint8_t *to, size_t len)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	size_t have = 0;
	ssize_t got;

	while (have < len) {
		assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
		got = recv(fd, to + have, len - have, 0);
		if (got < 0)
			return have ? (ssize_t)have : -1;
		if (!got)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

void sk_assert_ended(int fd)
{
	uint8_t byte;

	assert_true(sk_take(fd, &byte, 1) <= 0);
	close(fd);
}

void sk_confirm(int fd)
{
	uint8_t word[SCM_WORD];

	scm_put_rtu(word, 9);
	sk_put(fd, word, sizeof(word));
}

void sk_accept(struct tp_conn *conn, const char *data)
{
	assert_int_equal(vrb_cm_ops.accept(conn, &sk.qp.base, data, (uint32_t)strlen(data), &sk.qp),
			 0);
}

void sk_done(struct tp_conn *conn)
{
	vrb_cm_ops.disconnect(conn, false);
	vrb_cm_ops.release(conn);
}
