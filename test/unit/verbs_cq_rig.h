/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A completion queue, an SRQ and queue pairs on a device that is this program's; for verbs_cq.c. */
#ifndef VERBS_CQ_RIG_H
#define VERBS_CQ_RIG_H

#include "dapl/base/loop.h"
#include "providers/verbs/async.h"
#include "test/unit/verbs_util.h"

enum {
	QPS = 8,
	WCS = 8,
	FIRST_NUMBER = 100,
};

static struct {
	struct vrb_dev dev;
	struct vrb_pd pd;
	struct vrb_cq cq;
	struct dapl_lock qp_lock, cq_lock;
	struct vrb_srq *srq;
	struct ibv_context ctx;
	struct ibv_pd ibpd;
	struct ibv_cq ibcq, null_cq;
	struct ibv_srq ibsrq;
	struct ibv_qp ibqp[QPS];
	uint32_t made;
	uint64_t posted; /* wr_id of the last request, or receive of the SRQ */
	struct ibv_wc wc[WCS];
	int num_wc;
	bool last_words; /* a QP that is destroyed gives back a receive of the SRQ */
	bool closed;	 /* a post raises SIGPIPE */
	int unheard;	 /* why the kernel is not told of a request that is queued */
	struct ibv_async_event event;
	bool pending;
	atomic_bool unacked;
	atomic_uint notices;   /* of CQs */
	int told;	       /* asynchronous events */
	bool falls;	       /* below a limit of the SRQ, as soon as it is set */
	bool taken;	       /* a receive of the SRQ, at that moment */
	struct vrb_qp *doomed; /* what the program frees when it hears of one */
	struct tp_task settle;
	sem_t settled;
} t;

/* ---- What the device does ---- */

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp *ibqp = &t.ibqp[t.made];

	assert_ptr_equal(pd, &t.ibpd);
	assert_true(t.made < QPS);
	*ibqp = (struct ibv_qp){ .context = &t.ctx,
				 .qp_context = init->qp_context,
				 .qp_num = FIRST_NUMBER + t.made++ };
	return ibqp;
}

static void give(uint32_t number, enum ibv_wc_status status)
{
	assert_true(t.num_wc < WCS);
	t.wc[t.num_wc++] = (struct ibv_wc){ .wr_id = t.posted, .status = status, .qp_num = number };
}

int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	/* libibverbs waits for that: for another thread, or for ever for this one. */
	for (int i = 0; atomic_load(&t.unacked) && i < 10000; i++)
		usleep(1000);
	assert_false(atomic_load(&t.unacked));
	if (t.last_words)
		give(ibqp->qp_num, IBV_WC_WR_FLUSH_ERR);
	t.last_words = false;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	(void)ibqp;
	(void)attr;
	(void)mask;
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	(void)init;
	assert_ptr_equal(pd, &t.ibpd);
	t.ibsrq.context = &t.ctx;
	return &t.ibsrq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	assert_ptr_equal(srq, &t.ibsrq);
	return 0;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	assert_ptr_equal(srq, &t.ibsrq);
	(void)attr;
	if (t.falls && mask == IBV_SRQ_LIMIT)
		vrb_srq_event(t.srq, TP_ASYNC_SRQ_LIMIT);
	if (t.taken && mask == IBV_SRQ_LIMIT)
		give(FIRST_NUMBER, IBV_WC_SUCCESS);
	return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	(void)bad;
	t.posted = wr->wr_id;
	return 0;
}

static int post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)ibqp;
	(void)bad;
	t.posted = wr->wr_id;
	if (t.closed)
		raise(SIGPIPE);
	errno = t.unheard;
	return t.unheard ? -1 : 0;
}

static int poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	assert_ptr_equal(ibcq, &t.ibcq);
	assert_true(num > 0);
	if (!t.num_wc)
		return 0;
	*wc = t.wc[0];
	memmove(t.wc, t.wc + 1, (size_t)--t.num_wc * sizeof(t.wc[0]));
	return 1;
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	assert_ptr_equal(ctx, &t.ctx);
	errno = EAGAIN;
	if (!t.pending)
		return -1;
	t.pending = false;
	atomic_store(&t.unacked, true);
	*event = t.event;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
	atomic_store(&t.unacked, false);
}

/* ---- What the core does ---- */

static void cq_event(void *owner)
{
	(void)owner;
	atomic_fetch_add(&t.notices, 1);
}

static void async(void *owner, enum tp_async_event event, void *object)
{
	(void)owner;
	assert_int_equal(event, t.srq->base.owner ? TP_ASYNC_SRQ_LIMIT : TP_ASYNC_QP_ERROR);
	assert_ptr_equal(object, &t);
	t.told++;
	if (t.doomed)
		vrb_qp_ops.destroy(&t.doomed->base);
}

static const struct tp_upcalls up = {
	.cq_event = cq_event,
	.async = async,
};

static void no_connection(struct vrb_qp *qp)
{
	assert_null(qp->conn);
}

static void make_dev(bool iwarp)
{
	const struct ibv_device device = { .transport_type =
						   iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB };

	t.dev.base.up = &up;
	t.dev.config = &vrb_config;
	t.dev.ctx = &t.ctx;
	t.dev.qp_event = no_connection;
	t.dev.null_cq = &t.null_cq;
	t.dev.attr.max_srq = 1;
	t.dev.quirks = vrb_quirks_of(&device, iwarp ? 0x626d74 : 0xffffff, IBV_LINK_LAYER_ETHERNET);
	pthread_mutex_init(&t.dev.lock, NULL);
	pthread_mutex_init(&t.dev.async_lock, NULL);
	pthread_mutex_init(&t.dev.cm_lock, NULL);
	pthread_mutex_init(&t.dev.mw_lock, NULL);
	pthread_mutex_init(&t.dev.number_lock, NULL);
	pthread_mutex_init(&t.dev.mr_lock, NULL);
	vrb_reaper_init(&t.dev.reaper);
}

static int set_up(bool iwarp)
{
	const struct tp_srq_attr attr = { .pd = &t.pd.base, .max_wr = 1, .max_sge = 1 };
	struct tp_srq *srq;

	memset(&t, 0, sizeof(t));
	make_dev(iwarp);
	t.pd = (struct vrb_pd){ .base.dev = &t.dev.base, .ibpd = &t.ibpd };
	t.ctx.ops.poll_cq = poll_cq;
	t.ctx.ops.post_send = post_send;
	t.ctx.ops.post_srq_recv = post_srq_recv;
	t.ibcq = (struct ibv_cq){ .context = &t.ctx, .cqe = 1000 };
	dapl_lock_init(&t.qp_lock);
	dapl_lock_init(&t.cq_lock);
	t.cq = (struct vrb_cq){
		.base = { .dev = &t.dev.base, .ops = &vrb_cq_ops, .lock = &t.cq_lock },
		.dev = &t.dev,
		.ibcq = &t.ibcq,
		.ib_poll = poll_cq,
		.cqe = 16
	};
	if (dapl_loop_create(&t.dev.base.loop) ||
	    vrb_srq_ops.create(&t.dev.base, &attr, NULL, &srq))
		return -1;
	t.srq = vrb_srq(srq);
	return 0;
}

static int setup_rxe(void **state)
{
	(void)state;
	return set_up(false);
}

static int setup_siw(void **state)
{
	(void)state;
	return set_up(true);
}

static int teardown(void **state)
{
	(void)state;
	vrb_srq_ops.destroy(&t.srq->base);
	vrb_reaper_end(&t.dev.reaper);
	dapl_loop_destroy(t.dev.base.loop);
	free(t.cq.backlog);
	free(t.cq.deferred);
	return 0;
}

/* A QP in service. */
static struct vrb_qp *qp_new(bool with_srq)
{
	const struct tp_qp_attr attr = { .pd = &t.pd.base,
					 .send_cq = &t.cq.base,
					 .recv_cq = &t.cq.base,
					 .max_send_wr = 2,
					 .max_send_sge = 1,
					 .srq = with_srq ? &t.srq->base : NULL };
	struct tp_qp *qp;

	assert_int_equal(vrb_qp_ops.create(&t.dev.base, &attr, &t, &qp), 0);
	qp->lock = &t.qp_lock;
	atomic_store(&vrb_qp(qp)->live, true);
	vrb_qp_open(vrb_qp(qp));
	return vrb_qp(qp);
}

static struct tp_wc completion(void)
{
	struct tp_wc wc;

	assert_int_equal(vrb_cq_ops.poll(&t.cq.base, &wc), 1);
	return wc;
}

static void no_completion(void)
{
	struct tp_wc wc;

	assert_int_equal(vrb_cq_ops.poll(&t.cq.base, &wc), 0);
}

#endif
