/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a connection, whichever side asked for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/lock.h"
#include "trace/log.h"
#include "providers/verbs/cm/ud.h"
#include "providers/verbs/watchdog.h"

#define MS UINT64_C(1000000)

enum {
	MOST_LINGERING = 16384, /* the oldest goes for one more */
	MOST_SHIFT = 20,	/* of a time that doubles */
};

/* ---- Life ---- */

static void tell(struct tp_task *task)
{
	struct vrb_conn *conn = container_of(task, struct vrb_conn, task);

	vrb_ucm_ended(conn, conn->pending_rest, conn->pending_event, conn->pending_err, NULL, 0);
}

struct vrb_conn *vrb_ucm_new(struct vrb_dev *dev, enum vrb_ucm_state state)
{
	struct vrb_conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		dapl_err_limited("%s: connection not made: %s", dev->name, dapl_strerror(ENOMEM));
		return NULL;
	}
	conn->base.dev = &dev->base;
	conn->dev = dev;
	conn->state = state;
	conn->holds = 1;
	conn->task.run = tell;
	list_init(&conn->by_id);
	list_init(&conn->by_peer);
	list_init(&conn->rest);
	return conn;
}

void vrb_ucm_hold(struct vrb_conn *conn)
{
	conn->holds++;
}

void vrb_ucm_drop(struct vrb_conn *conn)
{
	if (--conn->holds)
		return;
	dapl_loop_cancel(conn->dev->base.loop, &conn->task);
	free(conn);
}

void vrb_ucm_join(struct vrb_conn *conn, struct vrb_qp *qp)
{
	conn->qp = qp;
	if (conn->ud)
		vrb_ud_qp_serve(qp);
	else
		qp->conn = conn;
	/* What came before is looked at again. */
	if (atomic_load(&qp->fault))
		vrb_qp_notify(qp);
}

void vrb_ucm_tell_later(struct vrb_conn *conn, enum vrb_ucm_rest rest, enum tp_conn_event event,
			int err)
{
	conn->pending_rest = rest;
	conn->pending_event = event;
	conn->pending_err = err;
	dapl_loop_post(conn->dev->base.loop, &conn->task);
}

/* ---- Names ---- */

static struct list *id_chain(struct vrb_ucm *ucm, uint32_t id)
{
	return &ucm->by_id[id % VRB_UCM_CHAINS];
}

/* On Ethernet, where hosts have no LID, the GID says which one. */
static struct list *peer_chain(struct vrb_ucm *ucm, uint32_t lid, const uint8_t *gid, uint32_t qpn,
			       uint32_t port)
{
	uint32_t host = lid ? lid : xchg_get32(gid + 12);

	return &ucm->by_peer[(host * 31 + qpn * 17 + port) % VRB_UCM_CHAINS];
}

bool vrb_ucm_is_of(const struct vrb_conn *conn, const struct ucm_msg *msg)
{
	return conn->port == msg->dst_port && conn->peer_port == msg->src_port &&
	       conn->to.qpn == msg->src_qpn && conn->to.lid == msg->end.lid &&
	       (msg->end.lid || !memcmp(conn->to.gid, msg->end.gid, sizeof(conn->to.gid)));
}

struct vrb_conn *vrb_ucm_by_id(struct vrb_dev *dev, uint32_t id)
{
	struct vrb_conn *conn;

	list_for_each(conn, id_chain(vrb_ucm(dev), id), by_id)
		if (conn->id == id)
			return conn;
	return NULL;
}

struct list *vrb_ucm_peer_chain(struct vrb_dev *dev, const struct ucm_msg *msg)
{
	return peer_chain(vrb_ucm(dev), msg->end.lid, msg->end.gid, msg->src_qpn, msg->src_port);
}

struct vrb_ucm_listener *vrb_ucm_listener(struct vrb_dev *dev, uint32_t service)
{
	struct vrb_ucm_listener *listener;

	list_for_each(listener, &vrb_ucm(dev)->listeners, node)
		if (listener->service == service)
			return listener;
	return NULL;
}

/* Peers take a number for a port, and tell it from the services that are listened on by that. */
int vrb_ucm_enter(struct vrb_conn *conn)
{
	struct vrb_ucm *ucm = vrb_ucm(conn->dev);

	if (ucm->num_conns >= UCM_ID_MAX / 2)
		return -EADDRNOTAVAIL;
	do
		ucm->last_id = ucm->last_id >= UCM_ID_MAX ? 1 : ucm->last_id + 1;
	while (vrb_ucm_by_id(conn->dev, ucm->last_id) || vrb_ucm_listener(conn->dev, ucm->last_id));
	conn->id = ucm->last_id;
	list_add(id_chain(ucm, conn->id), &conn->by_id);
	ucm->num_conns++;
	vrb_ucm_hold(conn);
	return 0;
}

void vrb_ucm_enter_peer(struct vrb_conn *conn)
{
	list_add(peer_chain(vrb_ucm(conn->dev), conn->to.lid, conn->to.gid, conn->to.qpn,
			    conn->peer_port),
		 &conn->by_peer);
}

/* From any state to one of its end. */
static void go(struct vrb_conn *conn, enum vrb_ucm_state state)
{
	struct vrb_ucm *ucm = vrb_ucm(conn->dev);
	uint32_t ending = ucm->num_ending;

	ending += (state == UCM_DREQ_SENT) - (conn->state == UCM_DREQ_SENT);
	__atomic_store_n(&ucm->num_ending, ending, __ATOMIC_RELEASE);
	if (!ending && conn->state == UCM_DREQ_SENT)
		dapl_futex_wake(&ucm->num_ending, 1);
	ucm->num_lingering += (state == UCM_TIME_WAIT) - (conn->state == UCM_TIME_WAIT);
	conn->state = state;
}

void vrb_ucm_leave(struct vrb_conn *conn)
{
	dapl_loop_timer_cancel(conn->dev->base.loop, &conn->timer);
	list_del(&conn->rest);
	go(conn, UCM_CLOSED);
	if (!conn->id)
		return;
	conn->id = 0;
	vrb_ucm(conn->dev)->num_conns--;
	list_del(&conn->by_id);
	list_del(&conn->by_peer);
	vrb_ucm_drop(conn);
}

/* ---- Messages ---- */

void vrb_ucm_fill(const struct vrb_conn *conn, enum ucm_op op, struct ucm_msg *msg)
{
	*msg = (struct ucm_msg){ .op = op,
				 .src_port = conn->port,
				 .dst_port = conn->peer_port,
				 .src_qpn = vrb_ucm(conn->dev)->own.qpn,
				 .dst_qpn = conn->to.qpn,
				 .src_id = conn->id,
				 .dst_id = conn->peer_id,
				 .retrans = conn->retrans,
				 .end = conn->own };
	memcpy(msg->dst, conn->peer_block, sizeof(msg->dst));
}

void vrb_ucm_say(struct vrb_conn *conn, enum ucm_op op)
{
	uint8_t bytes[UCM_MOST];
	struct ucm_msg msg;

	vrb_ucm_fill(conn, op, &msg);
	vrb_ucm_send(conn->dev, &conn->to, bytes, ucm_encode(bytes, &msg));
}

/* The time that doubles with each sending, and how many there are. */
static void limits(const struct vrb_conn *conn, uint64_t *base, uint32_t *most)
{
	const struct vrb_config *config = conn->dev->config;

	*most = (uint32_t)config->ucm_retry;
	*base = (uint64_t)(conn->state == UCM_WAIT_REP ? config->ucm_rep_time_ms
						       : config->ucm_rtu_time_ms) *
		MS;
	if (conn->state != UCM_DREQ_SENT)
		return;
	*most = (uint32_t)config->ucm_dreq_retry + 1;
	*base = (uint64_t)config->ucm_drep_time_ms * MS;
}

static void set_timer(struct vrb_conn *conn)
{
	uint32_t most, shift = conn->sendings - 1;
	uint64_t base;

	limits(conn, &base, &most);
	if (shift > MOST_SHIFT)
		shift = MOST_SHIFT;
	dapl_loop_timer(conn->dev->base.loop, &conn->timer, conn->since + (base << shift));
}

static void gave_up(struct vrb_conn *conn)
{
	vrb_ucm_forget(conn->dev, &conn->to);
	switch (conn->state) {
	case UCM_WAIT_REP:
		vrb_ucm_ended(conn, UCM_TELL, TP_CONN_UNREACHABLE, -ETIMEDOUT, NULL, 0);
		break;
	case UCM_WAIT_RTU:
		vrb_ucm_ended(conn, UCM_TELL, TP_CONN_BROKEN, -ETIMEDOUT, NULL, 0);
		break;
	default:
		vrb_ucm_linger(conn);
	}
}

static void unanswered(struct tp_timer *timer)
{
	struct vrb_conn *conn = container_of(timer, struct vrb_conn, timer);
	uint32_t most;
	uint64_t base;

	limits(conn, &base, &most);
	if (conn->sendings >= most) {
		gave_up(conn);
		return;
	}
	conn->sendings++;
	vrb_ucm_repeat(conn);
	set_timer(conn);
}

void vrb_ucm_repeat(struct vrb_conn *conn)
{
	conn->retrans++;
	ucm_set_retrans(conn->out, conn->retrans);
	vrb_ucm_send(conn->dev, &conn->to, conn->out, conn->out_len);
}

void vrb_ucm_ask(struct vrb_conn *conn, const struct ucm_msg *msg)
{
	conn->out_len = ucm_encode(conn->out, msg);
	conn->since = dapl_now();
	conn->sendings = 1;
	conn->timer.expired = unanswered;
	vrb_ucm_send(conn->dev, &conn->to, conn->out, conn->out_len);
	set_timer(conn);
}

/* ---- Established ---- */

/* The active side confirms before its program can end (see accepted of ud_active.c). */
static void resolved(struct vrb_conn *conn, const void *data, uint32_t len)
{
	struct vrb_dev *dev = conn->dev;
	struct tp_ud_peer peer = { .qpn = conn->peer.qpn };

	errno = 0;
	peer.ah = vrb_ucm_ah(dev, conn->qp->pd->ibpd, conn->peer.lid, conn->peer.gid);
	if (!peer.ah) {
		vrb_ucm_ended(conn, UCM_TELL, TP_CONN_BROKEN, errno ? -errno : -ENOMEM, NULL, 0);
		return;
	}
	if (conn->active)
		vrb_ucm_say(conn, UCM_RTU);
	conn->state = UCM_CONNECTED;
	conn->since = dapl_now();
	conn->resolved = conn->quiet = true;
	dev->base.up->ud_event(conn->base.owner, TP_CONN_ESTABLISHED, 0, &peer, len ? data : NULL,
			       len);
}

void vrb_ucm_established(struct vrb_conn *conn, const void *data, uint32_t len)
{
	struct vrb_dev *dev = conn->dev;

	dapl_loop_timer_cancel(dev->base.loop, &conn->timer);
	if (conn->ud) {
		resolved(conn, data, len);
		return;
	}
	vrb_qp_open(conn->qp);
	conn->state = UCM_CONNECTED;
	conn->since = dapl_now();
	conn->watched = true;
	vrb_watchdog_add(dev);
	dev->base.up->conn_event(conn->base.owner, TP_CONN_ESTABLISHED, 0, len ? data : NULL, len);
}

/* ---- The end ---- */

static void rested(struct tp_timer *timer)
{
	vrb_ucm_leave(container_of(timer, struct vrb_conn, timer));
}

void vrb_ucm_linger(struct vrb_conn *conn)
{
	struct vrb_ucm *ucm = vrb_ucm(conn->dev);

	if (conn->state == UCM_TIME_WAIT || !conn->id)
		return;
	if (ucm->num_lingering >= MOST_LINGERING)
		vrb_ucm_leave(container_of(ucm->lingering.next, struct vrb_conn, rest));
	go(conn, UCM_TIME_WAIT);
	conn->since = dapl_now();
	list_add(&ucm->lingering, &conn->rest);
	conn->timer.expired = rested;
	dapl_loop_timer(conn->dev->base.loop, &conn->timer,
			conn->since + (uint64_t)conn->dev->config->ucm_wait_time_ms * MS);
}

/* It is over here, whatever the peer knows of it. */
static void end_here(struct vrb_conn *conn)
{
	if (conn->watched)
		vrb_watchdog_remove(conn->dev);
	conn->watched = false;
	if (conn->qp && !conn->ud)
		vrb_cm_end_qp(conn->qp);
}

void vrb_ucm_say_end(struct vrb_conn *conn)
{
	struct ucm_msg msg;

	list_del(&conn->rest);
	go(conn, UCM_DREQ_SENT);
	vrb_ucm_fill(conn, UCM_DREQ, &msg);
	vrb_ucm_ask(conn, &msg);
}

/* The peer waits for an answer, and until it has one listens to no end (UCM-29). */
static bool is_request(const struct vrb_conn *conn)
{
	return !conn->active && (conn->ud || !conn->out_len);
}

void vrb_ucm_end(struct vrb_conn *conn, enum vrb_ucm_rest rest)
{
	if (vrb_ucm_is_over(conn))
		return;
	end_here(conn);
	if (!conn->id || rest == UCM_FORGET)
		vrb_ucm_leave(conn);
	else if (rest == UCM_LINGER || conn->peer_gone || conn->resolved)
		vrb_ucm_linger(conn);
	else if (is_request(conn))
		vrb_ucm_refuse(conn, UCM_REJ_CM, NULL, 0);
	else
		vrb_ucm_say_end(conn);
}

static void tell_core(const struct vrb_conn *conn, enum tp_conn_event event, int err,
		      const void *data, uint32_t len)
{
	const struct tp_upcalls *up = conn->dev->base.up;
	bool never_was = conn->ud && event == TP_CONN_BROKEN;

	vrb_cm_explain(conn->dev, &conn->addr, never_was ? TP_CONN_UNREACHABLE : event, err);
	if (!len)
		data = NULL;
	if (conn->ud)
		up->ud_event(conn->base.owner, event, event == TP_CONN_REJECTED ? 0 : err, NULL,
			     data, len);
	else
		up->conn_event(conn->base.owner, event, err, data, len);
}

void vrb_ucm_ended(struct vrb_conn *conn, enum vrb_ucm_rest rest, enum tp_conn_event event, int err,
		   const void *data, uint32_t len)
{
	if (vrb_ucm_is_over(conn))
		return;
	vrb_ucm_hold(conn);
	vrb_ucm_end(conn, rest);
	if (vrb_cm_was_fault(conn->qp, event)) {
		event = TP_CONN_BROKEN;
		err = -EIO;
	}
	if (!conn->quiet)
		tell_core(conn, event, err, data, len);
	vrb_ucm_drop(conn);
}

void vrb_ucm_forget_ends(struct vrb_dev *dev)
{
	struct list *head, *at;
	struct vrb_conn *conn;
	uint32_t i;

	for (i = 0; i < VRB_UCM_CHAINS; i++)
		for (head = &vrb_ucm(dev)->by_id[i], at = head->next; at != head;) {
			conn = container_of(at, struct vrb_conn, by_id);
			at = at->next;
			if (conn->state == UCM_DREQ_SENT)
				vrb_ucm_leave(conn);
		}
}

void vrb_ucm_drop_all(struct vrb_dev *dev)
{
	struct vrb_ucm *ucm = vrb_ucm(dev);
	uint32_t i;

	for (i = 0; i < VRB_UCM_CHAINS; i++)
		while (!list_empty(&ucm->by_id[i]))
			vrb_ucm_leave(container_of(ucm->by_id[i].next, struct vrb_conn, by_id));
}
