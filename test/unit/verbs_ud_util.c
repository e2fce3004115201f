/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/verbs_ud_util.h"

#include <sys/eventfd.h>

#include "dapl/base/fd.h"
#include "dapl/base/loop_call.h"
#include "test/unit/verbs_util.h"

struct uk uk;

/* ---- The device ---- */

/* The table of states has no way from error but by a reset. */
static int modify_cmqp(enum ibv_qp_state to)
{
	bool refused = to == IBV_QPS_RTS && uk.cm_state == IBV_QPS_ERR;

	if (to == IBV_QPS_RESET) {
		uk.cm_resets++;
		uk.cm_receives = 0;
		refused = uk.cm_refusals;
		uk.cm_refusals -= refused;
	}
	if (refused)
		return EIO;
	uk.cm_begun += to == IBV_QPS_RTS && uk.cm_state == IBV_QPS_RTR;
	uk.cm_state = to;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int err;

	if (qp == &uk.cmqp) {
		pthread_mutex_lock(&uk.lock);
		err = modify_cmqp(attr->qp_state);
		pthread_mutex_unlock(&uk.lock);
		return err;
	}
	assert_ptr_equal(qp, &uk.ibqp);
	if (uk.refused && attr->qp_state == uk.refused) {
		uk.refused = 0;
		return EIO;
	}
	if (attr->qp_state == IBV_QPS_RESET)
		uk.receives = 0;
	if (attr->qp_state == IBV_QPS_RTR && (mask & IBV_QP_AV))
		uk.rtr = *attr;
	if (attr->qp_state == IBV_QPS_RTS)
		uk.rts = *attr;
	return 0;
}

/* One that never met a peer is destroyed with its receives. */
int ibv_destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	assert_ptr_equal(pd, &uk.ibpd);
	return init->qp_type == IBV_QPT_UD ? &uk.cmqp : &uk.ibqp;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)mask;
	(void)init;
	pthread_mutex_lock(&uk.lock);
	attr->qp_state = qp == &uk.cmqp ? uk.cm_state : uk.state ? uk.state : IBV_QPS_RTS;
	pthread_mutex_unlock(&uk.lock);
	return 0;
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	bool any;

	(void)ctx;
	pthread_mutex_lock(&uk.lock);
	*event = uk.event_of_device;
	any = event->element.qp;
	uk.event_of_device.element.qp = NULL;
	pthread_mutex_unlock(&uk.lock);
	errno = EAGAIN;
	return any ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *ctx, uint8_t number, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *port = (struct ibv_port_attr *)attr;

	(void)ctx;
	(void)number;
	if (uk.flushes) {
		uk.qp.ibqp = NULL;
		uk.qp.sq.mode = uk.qp.rq.mode = VRB_QUEUE_FLUSHED;
	}
	uk.flushes = false;
	port->active_mtu = IBV_MTU_1024;
	port->lid = uk.lid ? uk.lid : OWN_LID;
	port->link_layer = IBV_LINK_LAYER_INFINIBAND;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	(void)ctx;
	return &uk.ibpd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	assert_ptr_equal(pd, &uk.ibpd);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	uk.channel.context = ctx;
	uk.channel.fd = eventfd(0, EFD_CLOEXEC);
	return &uk.channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *user,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = &uk.ibcq[channel ? 1 : 0];

	(void)cqe;
	(void)vector;
	if (uk.no_cq) {
		errno = 0;
		return NULL;
	}
	cq->context = ctx;
	cq->cq_context = user;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	(void)pd;
	(void)access;
	uk.mr.addr = addr;
	uk.mr.length = length;
	return &uk.mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	(void)pd;
	uk.path = *attr;
	uk.num_ahs++;
	usleep(uk.ah_us);
	errno = ENOMEM;
	return uk.no_ah ? NULL : &uk.ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	assert_ptr_equal(ah, &uk.ah);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	uint64_t events;

	*cq = &uk.ibcq[1];
	*context = NULL;
	return read(channel->fd, &events, sizeof(events)) > 0 ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int num)
{
	assert_ptr_equal(cq, &uk.ibcq[1]);
	assert_int_equal(num, 1);
}

static int poll_received(int num, struct ibv_wc *wc)
{
	int given;

	pthread_mutex_lock(&uk.lock);
	for (given = 0; given < num && uk.num_cm_wcs; given++)
		wc[given] = uk.cm_wc[--uk.num_cm_wcs];
	uk.cm_receives -= (unsigned int)given;
	pthread_mutex_unlock(&uk.lock);
	return given;
}

/* What was sent has left. */
static int poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	struct vrb_ucm_queue *queue = &uk.ucm.queue;
	enum ibv_wc_status status;
	int i;

	if (cq == &uk.ibcq[1])
		return poll_received(num, wc);
	if ((uint32_t)num > queue->posted - queue->sent)
		num = (int)(queue->posted - queue->sent);
	pthread_mutex_lock(&uk.lock);
	status = uk.cm_sends;
	pthread_mutex_unlock(&uk.lock);
	for (i = 0; i < num; i++)
		wc[i] = (struct ibv_wc){ .status = status };
	return num;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	bool none;

	assert_ptr_equal(cq, &uk.ibcq[1]);
	pthread_mutex_lock(&uk.lock);
	none = uk.no_notice;
	pthread_mutex_unlock(&uk.lock);
	return none ? EIO : solicited;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)wr;
	(void)bad;
	pthread_mutex_lock(&uk.lock);
	uk.receives += qp == &uk.ibqp;
	uk.cm_receives += qp == &uk.cmqp;
	pthread_mutex_unlock(&uk.lock);
	return 0;
}

/* UCM-6, UCM-62 */
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_ptr_equal(qp, &uk.cmqp);
	assert_int_equal(wr->wr.ud.remote_qkey, UCM_QKEY);
	assert_true(wr->sg_list[0].length >= XCHG_HEADER && wr->sg_list[0].length <= UCM_MOST);
	pthread_mutex_lock(&uk.lock);
	assert_true(uk.num_sent < SENT);
	uk.sent[uk.num_sent].len = wr->sg_list[0].length;
	uk.sent[uk.num_sent].at = dapl_now();
	memcpy(uk.sent[uk.num_sent++].bytes, (void *)(uintptr_t)wr->sg_list[0].addr,
	       wr->sg_list[0].length);
	pthread_mutex_unlock(&uk.lock);
	return 0;
}

/* ---- The core ---- */

static int conn_request(void *owner, struct tp_conn *conn, const struct tp_conn_request *req)
{
	assert_ptr_equal(owner, &uk.listener);
	pthread_mutex_lock(&uk.lock);
	uk.request = conn;
	uk.num_requests++;
	uk.len = req->private_data_len;
	uk.truncated = req->truncated;
	uk.ud = req->ud;
	if (uk.len)
		memcpy(uk.data, req->private_data, uk.len);
	pthread_mutex_unlock(&uk.lock);
	return uk.refuses;
}

static void conn_event(void *owner, enum tp_conn_event event, int err, const void *data,
		       uint32_t len)
{
	assert_ptr_equal(owner, &uk.qp);
	pthread_mutex_lock(&uk.lock);
	assert_true(uk.num_events < sizeof(uk.event) / sizeof(uk.event[0]));
	uk.event[uk.num_events++] = event;
	uk.err = err;
	uk.len = len;
	if (len)
		memcpy(uk.data, data, len);
	pthread_mutex_unlock(&uk.lock);
}

static void ud_event(void *owner, enum tp_conn_event event, int err, const struct tp_ud_peer *peer,
		     const void *data, uint32_t len)
{
	assert_true(uk.qp.ud);
	assert_true((event == TP_CONN_ESTABLISHED) == (peer != NULL));
	if (peer)
		uk.peer = *peer;
	conn_event(owner, event, err, data, len);
}

static void async(void *owner, enum tp_async_event event, void *object)
{
	assert_ptr_equal(owner, &uk.dev);
	if (event == TP_ASYNC_DEVICE_FATAL)
		return;
	assert_ptr_equal(object, &uk.qp);
	assert_int_equal(event, TP_ASYNC_QP_ERROR);
}

static const struct tp_upcalls up = {
	.conn_request = conn_request, .conn_event = conn_event, .ud_event = ud_event, .async = async
};

void uk_await(const unsigned int *counter, unsigned int num)
{
	bool there = false;
	int i;

	for (i = 0; i < WAIT_MS && !there; i++) {
		pthread_mutex_lock(&uk.lock);
		there = *counter >= num;
		pthread_mutex_unlock(&uk.lock);
		if (!there)
			usleep(1000);
	}
	assert_true(there);
}

void uk_event(enum tp_conn_event event)
{
	uk_await(&uk.num_events, uk.seen + 1);
	assert_int_equal(uk.event[uk.seen++], event);
}

void uk_quiet(void)
{
	usleep(QUIET_MS * 1000);
	assert_int_equal(uk.num_events, uk.seen);
	assert_int_equal(uk.num_sent, uk.taken);
}

void uk_cm_state(enum ibv_qp_state state)
{
	pthread_mutex_lock(&uk.lock);
	uk.cm_state = state;
	pthread_mutex_unlock(&uk.lock);
}

void uk_cm_received(enum ibv_wc_status status)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&uk.lock);
	uk.cm_wc[uk.num_cm_wcs++] = (struct ibv_wc){ .status = status };
	pthread_mutex_unlock(&uk.lock);
	assert_int_equal(write(uk.channel.fd, &one, sizeof(one)), sizeof(one));
}

struct tp_conn *uk_request(unsigned int num)
{
	uk_await(&uk.num_requests, num);
	return uk.request;
}

void uk_accept(struct tp_conn *conn, const char *data)
{
	assert_int_equal(vrb_cm_ops.accept(conn, &uk.qp.base, data, (uint32_t)strlen(data), &uk.qp),
			 0);
}

void uk_done(struct tp_conn *conn)
{
	vrb_cm_ops.release(conn);
	atomic_store(&uk.qp.fault, 0);
	uk.state = 0;
}

struct tp_conn *uk_connect(const char *data)
{
	struct ucm_address to = { .lid = PEER_LID, .qpn = PEER_QPN, .type = XCHG_QPT_UD };
	struct sockaddr_in6 addr;
	struct tp_connect param = { .remote = (struct sockaddr *)&addr,
				    .conn_qual = SERVICE,
				    .private_data = data,
				    .private_data_len = (uint32_t)strlen(data) };
	struct tp_conn *conn;

	ucm_put_address((uint8_t *)&addr, &to);
	assert_int_equal(vrb_cm_ops.connect(&uk.qp.base, &param, &uk.qp, &conn), 0);
	return conn;
}

/* ---- Life ---- */

static void init_device(void)
{
	int i;

	uk.config = vrb_config;
	uk.ctx.ops.poll_cq = poll_cq;
	uk.ctx.ops.req_notify_cq = req_notify_cq;
	uk.ctx.ops.post_recv = post_recv;
	uk.ctx.ops.post_send = post_send;
	uk.dev.base.up = &up;
	uk.dev.base.owner = &uk.dev;
	uk.dev.config = &uk.config;
	uk.dev.cm = &uk.ucm;
	uk.dev.ctx = &uk.ctx;
	uk.dev.port = 1;
	uk.dev.watching = true;
	uk.dev.max_qp_wr = 64;
	uk.dev.attr.max_read_in = 16;
	pthread_mutex_init(&uk.dev.lock, NULL);
	pthread_mutex_init(&uk.dev.async_lock, NULL);
	pthread_mutex_init(&uk.dev.cm_lock, NULL);
	uk.ucm.dev = &uk.dev;
	list_init(&uk.ucm.listeners);
	list_init(&uk.ucm.lingering);
	for (i = 0; i < VRB_UCM_CHAINS; i++) {
		list_init(&uk.ucm.by_id[i]);
		list_init(&uk.ucm.by_peer[i]);
	}
}

static void notified(struct tp_task *task)
{
	uk.dev.qp_event(container_of(task, struct vrb_qp, task));
}

static void init_qp(void)
{
	uk.qp.task.run = notified;
	dapl_lock_init(&uk.qp_lock);
	uk.cmqp.context = &uk.ctx;
	uk.cmqp.qp_num = OWN_QPN;
	uk.ibqp.context = &uk.ctx;
	uk.ibqp.qp_num = 0x4711;
	uk.qp.base = (struct tp_qp){ .dev = &uk.dev.base, .owner = &uk.qp, .lock = &uk.qp_lock };
	uk.qp.dev = &uk.dev;
	uk.pd.ibpd = &uk.ibpd;
	uk.qp.pd = &uk.pd;
	uk.qp.ibqp = &uk.ibqp;
	uk.qp.init = true;
	uk.qp.max_read_in = 4;
	uk.qp.max_read_out = 16;
	vu_queue(&uk.qp.sq, &uk.qp, uk.ring[0], RING);
	vu_queue(&uk.qp.rq, &uk.qp, uk.ring[1], RING);
	uk.qp.rq.recv = uk.qp.rq.plain_recv = true;
	uk.qp.rq.sge = uk.sge;
	uk.qp.rq.max_sge = 1;
}

int uk_setup(void **state)
{
	(void)state;
	memset(&uk, 0, sizeof(uk));
	pthread_mutex_init(&uk.lock, NULL);
	init_device();
	init_qp();
	if (dapl_loop_create(&uk.dev.base.loop) || vrb_cm.start(&uk.dev))
		return -1;
	return vrb_cm_ops.listen(&uk.dev.base, SERVICE, &uk.listener, &uk.listener);
}

int uk_teardown(void **state)
{
	(void)state;
	if (uk.listener)
		vrb_cm_ops.unlisten(uk.listener);
	uk.config.ucm_drep_time_ms = 1; /* nobody answers any more */
	vrb_cm.stop(&uk.dev);
	assert_int_equal(uk.ucm.num_conns, 0);
	assert_int_equal(uk.ucm.num_lingering, 0);
	assert_int_equal(uk.ucm.num_ending, 0);
	assert_int_equal(uk.dev.num_open, 0);
	dapl_loop_destroy(uk.dev.base.loop);
	return 0;
}

/* ---- The peer ---- */

struct ucm_msg uk_take(enum ucm_op op)
{
	struct ucm_msg msg;
	const char *why;

	uk_await(&uk.num_sent, uk.taken + 1);
	assert_int_equal(ucm_decode(uk.sent[uk.taken].bytes, uk.sent[uk.taken].len, &msg, &why), 0);
	uk.taken++;
	assert_int_equal(msg.op, op);
	assert_int_equal(msg.src_qpn, OWN_QPN);
	assert_int_equal(msg.dst_qpn, PEER_QPN);
	return msg;
}

uint64_t uk_taken_at(void)
{
	return uk.sent[uk.taken - 1].at;
}

struct ucm_msg uk_peer(enum ucm_op op, bool asked, const struct ucm_msg *ours)
{
	struct ucm_msg msg = { .op = op,
			       .version = XCHG_VERSION,
			       .src_port = asked ? PEER_PORT : SERVICE,
			       .dst_port = ours ? ours->src_port : SERVICE,
			       .src_qpn = PEER_QPN,
			       .dst_qpn = OWN_QPN,
			       .src_id = PEER_ID,
			       .dst_id = ours ? ours->src_id : 0,
			       .end = { .reads_in = 2,
					.mtu = 5,
					.lid = PEER_LID,
					.qpn = PEER_EP,
					.qp_type = XCHG_QPT_RC } };

	return msg;
}

struct arrival {
	const void *bytes;
	size_t len;
	uint32_t from;
};

static int arrive(void *arg)
{
	const struct arrival *arrival = arg;

	vrb_ucm_receive(&uk.dev, uk.grh, arrival->bytes, arrival->len, arrival->from);
	return 0;
}

void uk_put_bytes(const void *bytes, size_t len, uint32_t from)
{
	struct arrival arrival = { .bytes = bytes, .len = len, .from = from };

	dapl_loop_call(uk.dev.base.loop, arrive, &arrival);
}

void uk_put(const struct ucm_msg *msg)
{
	uint8_t bytes[UCM_MOST];
	size_t len = ucm_encode(bytes, msg);

	bytes[1] = (uint8_t)msg->version;
	uk_put_bytes(bytes, len, PEER_QPN);
}
