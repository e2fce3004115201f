/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The QP that all messages of an adapter go through (UCM-1, UCM-6, UCM-7). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "dapl/base/fd.h"
#include "trace/log.h"
#include "providers/verbs/cm/ud.h"

enum {
	BATCH = 16,
	BATCHES = 16, /* before others have their turn on the loop */
	RECV_BYTES = VRB_UCM_GRH + XCHG_MOST,
	SLOW_NS = 10000000, /* the kernel has looked for a peer in vain */
	LOOK_NS = 50000000, /* between two looks for what the device does not tell of */
};

/* Bringing back a QP in error: how long between two times, which doubles so often. */
#define MEND_PAUSE_NS	  UINT64_C(50000000)
#define MEND_MOST_SHIFT	  5
#define MEND_MOST_REFUSED 16			/* in a row: some 20 s */
#define CALM_NS		  UINT64_C(10000000000) /* after which an error is a new one */

static uint8_t *recv_at(const struct vrb_ucm_queue *queue, uint64_t i)
{
	return queue->bytes + i * RECV_BYTES;
}

static uint8_t *send_at(const struct vrb_ucm_queue *queue, uint64_t i)
{
	return queue->bytes + (uint64_t)queue->size * RECV_BYTES + i * UCM_MOST;
}

static size_t num_bytes(const struct vrb_ucm_queue *queue)
{
	return (size_t)queue->size * (RECV_BYTES + UCM_MOST);
}

/* ---- Address handles: one of each peer's adapter, the oldest goes for one more ---- */

struct known {
	struct list chain, age;
	uint16_t lid;
	uint8_t gid[16];
	struct ibv_ah *ah;   /* NULL: it was looked for in vain */
	uint64_t not_before; /* looked for again; dapl_now */
};

static struct list *ah_chain(struct vrb_ucm_queue *queue, const struct ucm_address *to)
{
	uint32_t sum = to->lid, i;

	for (i = 0; i < sizeof(to->gid); i++)
		sum = sum * 31 + to->gid[i];
	return &queue->ahs[sum % VRB_UCM_AH_CHAINS];
}

static struct known *find_ah(struct list *chain, const struct ucm_address *to)
{
	struct known *known;

	list_for_each(known, chain, chain)
		if (known->lid == to->lid && !memcmp(known->gid, to->gid, sizeof(to->gid)))
			return known;
	return NULL;
}

static void forget_ah(struct vrb_ucm_queue *queue, struct known *known)
{
	list_del(&known->chain);
	list_del(&known->age);
	queue->num_ahs--;
	if (known->ah)
		ibv_destroy_ah(known->ah);
	free(known);
}

/*
 * RoCE's kernel looks for a neighbour that it does not know, for up to a second: the loop does so for
 * a quarter of the time at most, and for one neighbour for a tenth, since others wait meanwhile. A
 * message that is not sent is as good as lost on its way.
 */
static void make_ah(struct vrb_dev *dev, struct known *known)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	uint64_t begin = dapl_now(), took;
	int err;

	errno = EAGAIN;
	if (begin < queue->no_ah_until || begin < known->not_before)
		return;
	known->ah = vrb_ucm_ah(dev, queue->pd, known->lid, known->gid);
	err = errno;
	took = dapl_now() - begin;
	if (!known->ah && took > SLOW_NS) {
		queue->no_ah_until = begin + 4 * took;
		known->not_before = begin + 10 * took;
	}
	errno = err;
}

static struct known *know(struct vrb_ucm_queue *queue, const struct ucm_address *to)
{
	struct known *known;

	if (queue->num_ahs >= VRB_UCM_AH_MOST) {
		errno = EBUSY;
		if (queue->posted != queue->sent) /* one of those may have the oldest */
			return NULL;
		forget_ah(queue, container_of(queue->oldest_ah.next, struct known, age));
	}
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->lid = to->lid;
	memcpy(known->gid, to->gid, sizeof(known->gid));
	list_add(ah_chain(queue, to), &known->chain);
	list_add(&queue->oldest_ah, &known->age);
	queue->num_ahs++;
	return known;
}

/* NULL and errno. */
static struct ibv_ah *ah_to(struct vrb_dev *dev, const struct ucm_address *to)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	struct known *known = find_ah(ah_chain(queue, to), to);
	struct ibv_ah *ah;
	int err;

	if (!known)
		known = know(queue, to);
	if (!known)
		return NULL;
	if (!known->ah)
		make_ah(dev, known);
	ah = known->ah;
	err = errno;
	if (!ah && !known->not_before)
		forget_ah(queue, known);
	errno = err;
	return ah;
}

/* ---- Out of service ---- */

/* The first time at once, but never within what found the error. */
static void mend_later(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	uint32_t shift = queue->mends ? queue->mends - 1 : 0;
	uint64_t pause = queue->mends++ ? MEND_PAUSE_NS : 0;

	if (shift > MEND_MOST_SHIFT)
		shift = MEND_MOST_SHIFT;
	dapl_loop_timer(dev->base.loop, &queue->mend, dapl_now() + (pause << shift));
}

/* Something failed, or an event says so: whether all of the QP did. */
static void look_after(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (queue->broken || atomic_load(&dev->cm_dead) || atomic_load(&dev->gone))
		return;
	if (!ibv_query_qp(queue->qp, &attr, IBV_QP_STATE, &init) && attr.qp_state != IBV_QPS_ERR)
		return;
	dapl_err_limited("%s: QP 0x%x for connection messages is in error: it is reset", dev->name,
			 queue->qp->qp_num);
	queue->broken = true;
	if (dapl_now() - queue->mended_at > CALM_NS)
		queue->mends = 0;
	mend_later(dev);
}

/* A port may come back with another LID, by which peers know what is said of new connections. */
static void learn_lid(struct vrb_dev *dev)
{
	struct ibv_port_attr port;

	if (!ibv_query_port(dev->ctx, dev->port, &port))
		vrb_ucm(dev)->own.lid = port.lid;
}

static void device_event(struct tp_task *task)
{
	struct vrb_dev *dev = container_of(task, struct vrb_dev, cm_event);

	if (atomic_load(&dev->gone)) {
		vrb_ucm_forget_ends(dev);
		return;
	}
	look_after(dev);
	learn_lid(dev);
}

/* ---- Sending ---- */

/* An error stops the queue until it is told to go on, where it is not all of the QP's. */
static void send_failed(struct vrb_dev *dev, const struct ibv_wc *wc)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	if (atomic_load(&dev->gone) || vrb_ucm(dev)->queue.broken)
		return;
	dapl_err_limited("%s: message to a peer's connection manager not sent: %s", dev->name,
			 ibv_wc_status_str(wc->status));
	if (ibv_modify_qp(vrb_ucm(dev)->queue.qp, &attr, IBV_QP_STATE))
		look_after(dev);
}

static void reap_sent(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	struct ibv_wc wc[BATCH];
	int num, i;

	do {
		num = ibv_poll_cq(queue->send_cq, BATCH, wc);
		for (i = 0; i < num; i++) {
			queue->sent += queue->sent != queue->posted; /* else of before a reset */
			if (wc[i].status)
				send_failed(dev, &wc[i]);
		}
	} while (num == BATCH);
}

static int post_send(struct vrb_ucm_queue *queue, struct ibv_ah *ah, uint32_t qpn,
		     const void *bytes, size_t len)
{
	uint8_t *at = send_at(queue, queue->posted % queue->size);
	struct ibv_sge sge = { .addr = (uintptr_t)at,
			       .length = (uint32_t)len,
			       .lkey = queue->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	int err;

	memcpy(at, bytes, len);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = UCM_QKEY;
	err = ibv_post_send(queue->qp, &wr, &bad);
	if (!err)
		queue->posted++;
	return err;
}

/* 0 or an errno. A handle, which may take its time, is made for what can be sent alone. */
static int send_now(struct vrb_dev *dev, const struct ucm_address *to, const void *bytes,
		    size_t len)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	struct ibv_ah *ah;

	if (queue->broken)
		return ENOTCONN;
	if (queue->posted - queue->sent >= queue->size)
		return EBUSY;
	ah = ah_to(dev, to);
	return ah ? post_send(queue, ah, to->qpn, bytes, len) : errno;
}

void vrb_ucm_send(struct vrb_dev *dev, const struct ucm_address *to, const void *bytes, size_t len)
{
	int err;

	reap_sent(dev);
	err = send_now(dev, to, bytes, len);
	if (err && !atomic_load(&dev->gone))
		dapl_trace_limited(ucm_not_sent, DAPL_TRC_ERROR, dev, "ia=%s lid=%u qp=0x%x why=%s",
				   dev->name, to->lid, to->qpn, dapl_strerror(abs(err)));
}

void vrb_ucm_forget(struct vrb_dev *dev, const struct ucm_address *to)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	struct known *known = find_ah(ah_chain(queue, to), to);

	reap_sent(dev);
	/* Else it is looked for in its time, or one of those may have it. */
	if (known && known->ah && queue->posted == queue->sent)
		forget_ah(queue, known);
}

/* ---- Receiving ---- */

static int post_recv(const struct vrb_ucm_queue *queue, uint64_t i)
{
	struct ibv_sge sge = { .addr = (uintptr_t)recv_at(queue, i),
			       .length = RECV_BYTES,
			       .lkey = queue->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(queue->qp, &wr, &bad);
}

static void received(struct vrb_dev *dev, const struct ibv_wc *wc)
{
	const struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	const uint8_t *at = recv_at(queue, wc->wr_id);
	bool routed = vrb_xchg(dev)->ethernet && (wc->wc_flags & IBV_WC_GRH);

	if (wc->status)
		look_after(dev);
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	if (!wc->status && wc->byte_len >= VRB_UCM_GRH)
		queue->receive(dev, routed ? at : NULL, at + VRB_UCM_GRH,
			       wc->byte_len - VRB_UCM_GRH, wc->src_qp);
	if (!queue->broken)
		(void)post_recv(queue, wc->wr_id);
}

/* Whether there may be more. */
static bool receive_some(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	struct ibv_wc wc[BATCH];
	int num = BATCH, i, batches;

	for (batches = 0; num == BATCH && batches < BATCHES; batches++) {
		num = ibv_poll_cq(queue->recv_cq, BATCH, wc);
		for (i = 0; i < num; i++)
			received(dev, &wc[i]);
	}
	return num == BATCH;
}

static void receive_all(struct vrb_dev *dev)
{
	if (receive_some(dev))
		dapl_loop_post(dev->base.loop, &vrb_ucm(dev)->queue.more);
}

/* Where the device does not tell of what comes it is looked for. */
static void ask_for_notice(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	int err = ibv_req_notify_cq(queue->recv_cq, 0);

	if (!err || atomic_load(&dev->gone))
		return;
	dapl_err_limited("%s: notice of connection messages not requested: %s", dev->name,
			 dapl_strerror(abs(err)));
	dapl_loop_timer(dev->base.loop, &queue->look, dapl_now() + LOOK_NS);
}

static void look(struct tp_timer *timer)
{
	struct vrb_ucm *ucm = container_of(timer, struct vrb_ucm, queue.look);

	ask_for_notice(ucm->dev);
	receive_all(ucm->dev);
}

static void more(struct tp_task *task)
{
	struct vrb_ucm *ucm = container_of(task, struct vrb_ucm, queue.more);

	receive_all(ucm->dev);
}

static void ready(struct tp_watch *watch, uint32_t events)
{
	struct vrb_ucm *ucm = container_of(watch, struct vrb_ucm, queue.watch);
	struct ibv_cq *cq;
	void *context;

	if (events & (EPOLLERR | EPOLLHUP)) { /* the device was torn away */
		dapl_loop_del(ucm->dev->base.loop, watch);
		return;
	}
	while (!ibv_get_cq_event(ucm->queue.channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	ask_for_notice(ucm->dev);
	receive_all(ucm->dev);
}

/* ---- Into service ---- */

/* From reset; 0 or an errno of verbs. */
static int begin(const struct vrb_dev *dev, const struct vrb_ucm_queue *queue)
{
	int err = vrb_ucm_to_init(dev, queue->qp, 0); /* UCM-70 */
	uint32_t i;

	for (i = 0; !err && i < queue->size; i++)
		err = post_recv(queue, i);
	return err ? err : vrb_ucm_to_rts(queue->qp);
}

/* What came before the error is heard; what was flushed, or was not sent, the peers repeat. */
static void drain(struct vrb_dev *dev)
{
	uint32_t batches = vrb_ucm(dev)->queue.size / BATCH;

	while (receive_some(dev) && batches)
		batches--;
	reap_sent(dev);
}

/* The adapter's address names the QP, which therefore stays the same. */
static int bring_back(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int err;

	(void)ibv_modify_qp(queue->qp, &attr, IBV_QP_STATE); /* from half way to service, too */
	drain(dev);
	attr.qp_state = IBV_QPS_RESET;
	err = ibv_modify_qp(queue->qp, &attr, IBV_QP_STATE);
	drain(dev);
	queue->sent = queue->posted;
	return err ? err : begin(dev, queue);
}

static void mend(struct tp_timer *timer)
{
	struct vrb_ucm *ucm = container_of(timer, struct vrb_ucm, queue.mend);
	struct vrb_ucm_queue *queue = &ucm->queue;
	struct vrb_dev *dev = ucm->dev;
	int err;

	if (atomic_load(&dev->gone))
		return;
	err = bring_back(dev);
	queue->mended_at = dapl_now();
	queue->broken = err;
	queue->refused = err ? queue->refused + 1 : 0;
	if (!err)
		dapl_err_limited("%s: QP 0x%x for connection messages is in service again",
				 dev->name, queue->qp->qp_num);
	else if (queue->refused < MEND_MOST_REFUSED)
		mend_later(dev);
	else
		dapl_err("%s: QP 0x%x for connection messages not reset: %s: the adapter connects "
			 "to no peer any more",
			 dev->name, queue->qp->qp_num, dapl_strerror(abs(err)));
}

/* ---- Life ---- */

static int make_qp(struct vrb_dev *dev, struct vrb_ucm_queue *queue)
{
	struct ibv_qp_init_attr init = { .send_cq = queue->send_cq,
					 .recv_cq = queue->recv_cq,
					 .cap = { .max_send_wr = queue->size,
						  .max_recv_wr = queue->size,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_UD };

	queue->qp = VRB_GLOBAL(ibv_create_qp(queue->pd, &init));
	return queue->qp ? begin(dev, queue) : errno;
}

static int make_parts(struct vrb_dev *dev, struct vrb_ucm_queue *queue)
{
	queue->pd = ibv_alloc_pd(dev->ctx);
	queue->channel = queue->pd ? VRB_GLOBAL(ibv_create_comp_channel(dev->ctx)) : NULL;
	if (!queue->channel || vrb_own_fd(&queue->channel->fd, true))
		return errno;
	queue->send_cq = VRB_GLOBAL(ibv_create_cq(dev->ctx, (int)queue->size, dev, NULL, 0));
	queue->recv_cq =
		VRB_GLOBAL(ibv_create_cq(dev->ctx, (int)queue->size, dev, queue->channel, 0));
	if (!queue->send_cq || !queue->recv_cq)
		return errno;
	queue->bytes = mmap(NULL, num_bytes(queue), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (queue->bytes == MAP_FAILED) {
		queue->bytes = NULL;
		return errno;
	}
	queue->mr = VRB_GLOBAL(
		ibv_reg_mr(queue->pd, queue->bytes, num_bytes(queue), IBV_ACCESS_LOCAL_WRITE));
	return queue->mr ? make_qp(dev, queue) : errno;
}

int vrb_ucm_queue_open(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	uint32_t i;
	int err;

	for (i = 0; i < VRB_UCM_AH_CHAINS; i++)
		list_init(&queue->ahs[i]);
	list_init(&queue->oldest_ah);
	queue->more.run = more;
	queue->mend.expired = mend;
	queue->look.expired = look;
	queue->watch = (struct tp_watch){ .ready = ready, .fd = -1 };
	queue->size = (uint32_t)dev->config->ucm_qp_size;
	if (queue->size > dev->max_qp_wr)
		queue->size = dev->max_qp_wr;
	errno = 0;
	err = make_parts(dev, queue);
	if (!err && queue->qp)
		return 0;
	dapl_err("%s: no QP for connection messages, of %u entries (option ucm_qp_size): %s",
		 dev->name, queue->size,
		 err ? dapl_strerror(abs(err)) : "the driver gives no reason");
	vrb_ucm_queue_close(dev);
	return err ? -abs(err) : -ENOMEM;
}

/* A CQ that is not destroyed keeps its channel, but for the descriptor. */
static void close_channel(struct ibv_comp_channel *channel, bool kept)
{
	if (kept) {
		dapl_fd_close(channel->fd);
		return;
	}
	dapl_fd_disown(channel->fd);
	VRB_GLOBAL(ibv_destroy_comp_channel(channel));
}

void vrb_ucm_queue_close(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	int err = 0;

	if (queue->qp)
		VRB_GLOBAL(ibv_destroy_qp(queue->qp));
	while (!list_empty(&queue->oldest_ah))
		forget_ah(queue, container_of(queue->oldest_ah.next, struct known, age));
	if (queue->mr)
		ibv_dereg_mr(queue->mr);
	if (queue->bytes)
		munmap(queue->bytes, num_bytes(queue));
	if (queue->send_cq)
		VRB_GLOBAL(ibv_destroy_cq(queue->send_cq));
	if (queue->recv_cq)
		err = VRB_GLOBAL(ibv_destroy_cq(queue->recv_cq));
	if (queue->channel)
		close_channel(queue->channel, err);
	if (queue->pd)
		ibv_dealloc_pd(queue->pd);
	*queue = (struct vrb_ucm_queue){ 0 };
}

int vrb_ucm_queue_start(struct vrb_dev *dev, vrb_ucm_receiver *receive)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;
	int rc = abs(ibv_req_notify_cq(queue->recv_cq, 0));

	queue->receive = receive;
	queue->watch.fd = queue->channel->fd;
	rc = rc ? -rc : dapl_loop_add(dev->base.loop, &queue->watch, EPOLLIN);
	if (rc)
		return rc;
	dev->cm_event.run = device_event;
	atomic_store(&dev->cm_qp, queue->qp);
	return 0;
}

void vrb_ucm_queue_stop(struct vrb_dev *dev)
{
	struct vrb_ucm_queue *queue = &vrb_ucm(dev)->queue;

	dapl_loop_del(dev->base.loop, &queue->watch);
	dapl_loop_cancel(dev->base.loop, &queue->more);
	atomic_store(&dev->cm_qp, NULL);
	dapl_loop_cancel(dev->base.loop, &dev->cm_event);
	dapl_loop_timer_cancel(dev->base.loop, &queue->mend);
	dapl_loop_timer_cancel(dev->base.loop, &queue->look);
}
