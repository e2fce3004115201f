/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/engine/drive.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/rx.h"
#include "providers/soft/engine/tx.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	/*
	 * A program that stops polling serves its peers this much later, twice at most, or more
	 * where there are many (LOOK_MANY_NS); one that polls for a moment each time that something
	 * comes, and then looks at its memory, the first of these. What handing over saves: without
	 * it the service thread wakes for each message as well, and processor time per message is,
	 * measured in one process, for 8 bytes over TCP 7.4 us in place of 5.3, over shared memory
	 * 0.35 us in place of 0.26, and for 1 MiB over TCP 207 us in place of 158.
	 */
	LOOK_MIN_NS = 100000,
	LOOK_MAX_NS = 1000000,
	/* Of the time that a look at many takes, what they do beside it is the more; a process may
	 * be stopped in the middle of one. */
	LOOK_SHARE = 10,
	LOOK_MANY_NS = 10000000,
	/* What it costs to take back all of many would keep one who polls them from it for long. */
	TAKEN_PER_LOOK = 16,
	ROUNDS = 16, /* for others, who then have to take over */
	KEEPALIVE_MS = 10000,
	STARVED_MS = 3000, /* a message that waits so long for a Receive is worth a word */
	UNRECEIVED_LOOKS = 4,
};

static const uint64_t ms_ns = 1000000;

/* ---- The driver ---- */

/* Lock held. */
static void work(struct soft_qp *qp)
{
	uint32_t due = qp->due;

	qp->due = 0;
	if (!qp->conn || soft_conn_dead(qp->conn))
		return;
	if (due & SOFT_DRIVE_RX)
		soft_rx_run(qp->conn);
	if ((due | qp->due) & SOFT_DRIVE_TX && !soft_conn_dead(qp->conn)) {
		qp->due &= ~(uint32_t)SOFT_DRIVE_TX;
		soft_tx_run(qp->conn);
	}
	soft_direct_settle(qp->conn);
}

/* What one direction makes due in the other is done as well; lock held. */
static void move_data(struct soft_qp *qp, struct soft_cq *poller, uint32_t what)
{
	qp->due |= what;
	qp->poller = poller;
	if (atomic_load(&qp->state) == SOFT_QP_ERROR)
		soft_complete_late(qp);
	while (qp->due)
		work(qp);
	qp->poller = NULL;
}

static_assert(!((SOFT_DRIVE_RX | SOFT_DRIVE_TX) & ~DAPL_LOCK_REQUESTS), "asked of the driver");

/* For who has just become the driver, and polls that, or NULL. Whether anything moved. */
static bool drive(struct soft_qp *qp, struct soft_cq *poller, uint32_t what)
{
	uint32_t before = qp->moved;
	bool moved;

	for (int round = 0; round < ROUNDS; round++) {
		move_data(qp, poller, what);
		moved = qp->moved != before;
		what = dapl_serve_end(&qp->lock);
		if (!what)
			return moved;
	}
	what |= dapl_serve_stop(&qp->lock);
	move_data(qp, poller, what);
	moved = qp->moved != before;
	dapl_unlock(&qp->lock);
	return moved;
}

void soft_drive(struct soft_qp *qp, uint32_t what)
{
	if (dapl_serve(&qp->lock, what))
		drive(qp, NULL, what);
}

bool soft_drive_post(struct soft_qp *qp, const struct tp_wr *wr)
{
	uint32_t left;
	bool sent;

	if (!dapl_serve_try(&qp->lock))
		return false;
	sent = soft_request_at_once(qp, wr);
	left = dapl_serve_end(&qp->lock);
	if (left)
		drive(qp, NULL, left);
	return sent;
}

/* Leaves nothing behind: one who polls all the time would never let the driver go. */
bool soft_drive_poll(struct soft_qp *qp, struct soft_cq *cq, uint32_t what)
{
	return dapl_serve_try(&qp->lock) && drive(qp, cq, what);
}

/* ---- Answers that are owed before the peer is told of a fault ---- */

static void set_refusing_timer(struct soft_conn *conn)
{
	soft_link_timeout(conn->link, (uint32_t)conn->dev->config->linger_ms);
}

static void refusing(struct soft_link *link)
{
	struct soft_conn *conn = link->owner;
	struct soft_tx *tx = &conn->tx;

	dapl_lock(&conn->qp->lock);
	if (!soft_conn_dead(conn) && tx->tail == conn->refusing_tail) {
		soft_response_give_up(tx);
		soft_conn_fail(conn, &conn->fault);
	}
	conn->refusing_tail = tx->tail;
	dapl_unlock(&conn->qp->lock);
	set_refusing_timer(conn);
}

/* On the loop. */
static void await_answers(struct soft_conn *conn)
{
	if (!atomic_load(&conn->refusing) || conn->refusing_timed)
		return;
	conn->refusing_timed = true;
	conn->link->expired = refusing;
	set_refusing_timer(conn);
}

/* ---- The service thread, or a thread of the program ---- */

enum driver {
	DRIVER_SERVICE,
	DRIVER_POLLER,
	DRIVER_WAITER,
};

static bool notified(const struct soft_conn *conn)
{
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq && soft_cq_notify(conn->member[i].cq))
			return true;
	return false;
}

/* Who was there to drive since the last call. */
static enum driver driver(struct soft_conn *conn)
{
	enum driver found = DRIVER_SERVICE;
	struct soft_cq *cq;
	uint32_t polls;

	if (notified(conn))
		return DRIVER_SERVICE;
	for (int i = 0; i < 2; i++) {
		cq = conn->member[i].cq;
		if (!cq)
			continue;
		polls = atomic_load_explicit(&cq->polls, memory_order_relaxed);
		if (polls - conn->member[i].polls >= SOFT_CQ_POLLED)
			found = DRIVER_POLLER;
		else if (atomic_load(&cq->waiter) && found != DRIVER_POLLER)
			found = DRIVER_WAITER;
		conn->member[i].polls = polls;
	}
	return found;
}

static void take_back(struct soft_conn *conn)
{
	if (list_empty(&conn->handed_node))
		return;
	list_del(&conn->handed_node);
	atomic_fetch_sub(&conn->dev->num_handed, 1);
}

/* Or earlier, if that was to be. */
static void look_in(struct soft_dev *dev, uint64_t ns)
{
	uint64_t at = ns ? dapl_now() + ns : 0;

	pthread_mutex_lock(&dev->look_lock);
	if (!atomic_load(&dev->looking) || at < dev->look_at) {
		atomic_store(&dev->looking, true);
		dev->look_at = at;
		dapl_loop_timer(dev->base.loop, &dev->look, at);
	}
	pthread_mutex_unlock(&dev->look_lock);
}

void soft_drive_look(struct soft_dev *dev, bool now)
{
	if (atomic_load(&dev->num_handed) && (now || !atomic_load(&dev->looking)))
		look_in(dev, now ? 0 : LOOK_MAX_NS);
}

static uint64_t next_look(const struct soft_dev *dev)
{
	uint64_t least = dev->look_least_ns < LOOK_MANY_NS ? dev->look_least_ns : LOOK_MANY_NS;

	return dev->look_ns > least ? dev->look_ns : least;
}

static void look(struct tp_timer *timer)
{
	struct soft_dev *dev = container_of(timer, struct soft_dev, look);
	struct list *node, *next;
	struct soft_conn *conn;
	enum driver who;
	/* Where this thread has much to do on their processor they may not have had it. */
	bool doubtful = atomic_load(&dev->num_handed) > SOFT_CQ_FEW && !dev->look_doubted;
	bool polled = false, idle = false, left = false;
	unsigned int taken = 0;
	uint64_t began = dapl_now();

	/* A waiter that goes after this starts the timer again. */
	pthread_mutex_lock(&dev->look_lock);
	atomic_store(&dev->looking, false);
	pthread_mutex_unlock(&dev->look_lock);
	for (node = dev->handed.next; node != &dev->handed; node = next) {
		next = node->next;
		conn = container_of(node, struct soft_conn, handed_node);
		who = driver(conn);
		polled |= who == DRIVER_POLLER;
		idle |= who == DRIVER_SERVICE;
		if (who != DRIVER_SERVICE || (doubtful && !notified(conn)))
			continue;
		if (taken == TAKEN_PER_LOOK && !notified(conn)) {
			left = true;
			continue;
		}
		taken++;
		take_back(conn);
		soft_conn_serve_later(conn);
	}
	dev->look_least_ns = LOOK_SHARE * (dapl_now() - began);
	dev->look_doubted = idle && (doubtful || left);
	if (!polled && !dev->look_doubted)
		return;
	dev->look_ns = 2 * dev->look_ns < LOOK_MAX_NS ? 2 * dev->look_ns : LOOK_MAX_NS;
	look_in(dev, next_look(dev));
}

static void hand_over(struct soft_conn *conn)
{
	struct soft_dev *dev = conn->dev;

	conn->driven = false;
	/* An event that was on its way when the watch was changed finds it there already. */
	if (list_empty(&conn->handed_node)) {
		list_add(&dev->handed, &conn->handed_node);
		atomic_fetch_add(&dev->num_handed, 1);
	}
	dev->look_ns = LOOK_MIN_NS;
	look_in(dev, next_look(dev));
}

/* Whether it is this thread that drives. */
static bool serve(struct soft_conn *conn)
{
	take_back(conn);
	await_answers(conn);
	if (!dapl_serve(&conn->qp->lock, SOFT_DRIVE_RX | SOFT_DRIVE_TX))
		return false;
	drive(conn->qp, NULL, SOFT_DRIVE_RX | SOFT_DRIVE_TX);
	return true;
}

void soft_drive_serve(struct soft_conn *conn)
{
	serve(conn);
	conn->driven = false;
	if (!soft_conn_dead(conn))
		soft_watch_loop(conn);
}

void soft_drive_forget(struct soft_conn *conn)
{
	take_back(conn);
	pthread_mutex_lock(&conn->lock);
	conn->attached = false;
	pthread_mutex_unlock(&conn->lock);
}

/* ---- The peer has ended, and messages wait for Receives ---- */

/* The first message that waits; later once one was received. Lock held. */
static uint32_t first_waiting(const struct soft_conn *conn)
{
	const struct soft_rx *rx = &conn->rx;

	return rx->held ? rx->held->ddp.msn : rx->msn[WIRE_QN_SEND];
}

/* In pieces: the time in which this process is stopped does not count. */
static void set_unreceived_timer(struct soft_conn *conn)
{
	soft_link_timeout(conn->link,
			  (uint32_t)conn->dev->config->unreceived_ms / UNRECEIVED_LOOKS + 1);
}

/* So long none was received: they are lost. */
static void unreceived(struct soft_link *link)
{
	struct soft_conn *conn = link->owner;
	char text[2 * SOFT_ADDR_TEXT + 8];
	uint32_t first;

	dapl_lock(&conn->qp->lock);
	first = first_waiting(conn);
	if (first != conn->unreceived_msn)
		conn->unreceived_looks = 0;
	conn->unreceived_msn = first;
	if (soft_conn_dead(conn) || ++conn->unreceived_looks < UNRECEIVED_LOOKS) {
		set_unreceived_timer(conn);
	} else {
		dapl_err_limited(
			"%s: connection %s: messages of a peer that has ended are lost, since no "
			"%s came for them in %u ms (option unreceived)",
			conn->dev->name, soft_conn_text(conn, text),
			conn->rx.no_memory ? "memory" : "Receive",
			(uint32_t)conn->dev->config->unreceived_ms);
		soft_conn_lost(conn, conn->rx.err ? conn->rx.err : soft_conn_stream_error(conn),
			       TP_WC_FLUSHED);
	}
	dapl_unlock(&conn->qp->lock);
}

/* They are received as Receives are posted. Lock held. */
static void await_receives(struct soft_conn *conn)
{
	pthread_mutex_lock(&conn->lock);
	atomic_store(&conn->unreceived, true);
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq)
			soft_watch_remove(&conn->member[i]);
	pthread_mutex_unlock(&conn->lock);
	conn->unreceived_msn = first_waiting(conn);
	conn->link->expired = unreceived;
	set_unreceived_timer(conn);
}

/*
 * The peer hung up while nobody reads, since what it sent finds no Receive. Only what is read tells
 * whether there are whole messages, which were sent with success.
 */
static void hung_up(struct soft_conn *conn, uint32_t events)
{
	struct soft_qp *qp = conn->qp;

	dapl_lock(&qp->lock);
	conn->rx.hold_all = true;
	move_data(qp, NULL, SOFT_DRIVE_RX);
	if (atomic_load(&conn->rx_stalled) && !soft_conn_dead(conn)) {
		pthread_mutex_lock(&conn->lock);
		conn->broken = events & (EPOLLHUP | EPOLLERR);
		pthread_mutex_unlock(&conn->lock);
		if (!atomic_load(&conn->unreceived))
			await_receives(conn);
	}
	dapl_unlock(&qp->lock);
}

static void link_ready(struct soft_link *link, uint32_t events)
{
	bool ends = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR), driven, again;
	struct soft_conn *conn = link->owner;

	pthread_mutex_lock(&conn->lock);
	conn->armed = 0;
	pthread_mutex_unlock(&conn->lock);
	if (ends && atomic_load(&conn->rx_stalled))
		hung_up(conn, events);
	if (!soft_conn_dead(conn) && driver(conn) != DRIVER_SERVICE) {
		hand_over(conn);
		/* Of a peer who is gone nobody else tells who sleeps. */
		if (ends)
			soft_watch_update_cqs(conn);
		/* Who asked for notification, or stalled, before that was seen is seen now. */
		if (!notified(conn) && !atomic_load(&conn->rx_stalled))
			return;
	}
	driven = !serve(conn);
	again = driven && conn->driven;
	conn->driven = driven;
	if (soft_conn_dead(conn))
		return;
	/* Who drives for long does not poll meanwhile, and would have it told of all that comes. */
	if (again && !ends && !atomic_load(&conn->rx_stalled)) {
		hand_over(conn);
		if (!notified(conn))
			return;
		take_back(conn);
	}
	soft_watch_loop(conn);
}

/* ---- Peers that are gone without a word, buffers without use, and without memory ---- */

/* Said once of a connection: it is what programs that hang most often wait for. Lock held. */
static void look_for_receive(struct soft_conn *conn)
{
	uint32_t first = first_waiting(conn);
	char text[2 * SOFT_ADDR_TEXT + 8];
	uint64_t now = dapl_now();

	if (!soft_conn_starved(conn) || !conn->starved_since || first != conn->starved_msn) {
		conn->starved_since = soft_conn_starved(conn) ? now : 0;
		conn->starved_msn = first;
		return;
	}
	if (conn->starved_told || now - conn->starved_since < STARVED_MS * ms_ns)
		return;
	conn->starved_told = true;
	soft_conn_text(conn, text);
	dapl_trace_limited(soft_starved, DAPL_TRC_ERROR, conn, "ia=%s peer=%s", conn->dev->name,
			   text);
	dapl_err_limited("%s: connection %s: a message of the peer has waited %u s for a Receive, "
			 "and this program posts none",
			 conn->dev->name, text,
			 (uint32_t)((now - conn->starved_since) / (1000 * ms_ns)));
}

static void look_at(struct soft_conn *conn)
{
	if (!dapl_trylock(&conn->qp->lock))
		return;
	soft_rx_shrink(conn);
	soft_tx_shrink(conn);
	if (conn->link->class->rest)
		conn->link->class->rest(conn->link);
	if (!atomic_load(&conn->unreceived))
		look_for_receive(conn);
	dapl_unlock(&conn->qp->lock);
}

static void keepalive(struct tp_timer *timer)
{
	struct soft_dev *dev = container_of(timer, struct soft_dev, keepalive);
	uint32_t timeout = (uint32_t)dev->config->peer_timeout_ms, ms = KEEPALIVE_MS;
	struct soft_conn *conn;

	dev->keeping = !list_empty(&dev->conns);
	if (!dev->keeping)
		return;
	list_for_each(conn, &dev->conns, node) {
		look_at(conn);
		/* No Receive may come that it waits for, but behind it an answer; or memory. */
		if (atomic_load(&conn->rx_stalled))
			soft_conn_serve_later(conn);
		if (timeout && !soft_conn_dead(conn) &&
		    conn->link->class->lost(conn->link, timeout)) {
			dapl_trace_limited(soft_silent, DAPL_TRC_ERROR, conn, "ia=%s ms=%u",
					   dev->name, timeout);
			soft_conn_lost(conn, -ETIMEDOUT, TP_WC_FLUSHED);
		}
	}
	if (timeout && timeout / 3 < KEEPALIVE_MS)
		ms = timeout / 3 + 1;
	dapl_loop_timer(dev->base.loop, &dev->keepalive, dapl_now() + ms * ms_ns);
}

/* ---- Life ---- */

void soft_drive_init(struct soft_dev *dev)
{
	list_init(&dev->handed);
	list_init(&dev->conns);
	dev->look.expired = look;
	pthread_mutex_init(&dev->look_lock, NULL);
	dev->keepalive.expired = keepalive;
}

void soft_drive_stop(struct soft_dev *dev)
{
	dapl_loop_timer_cancel(dev->base.loop, &dev->look);
	pthread_mutex_destroy(&dev->look_lock);
	dapl_loop_timer_cancel(dev->base.loop, &dev->keepalive);
}

void soft_drive_open(struct soft_conn *conn)
{
	struct soft_dev *dev = conn->dev;

	conn->link->ready = link_ready;
	if (!dev->keeping)
		keepalive(&dev->keepalive);
	soft_drive_serve(conn);
}
