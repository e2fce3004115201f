/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who drives a connection. Whoever polls or waits on one of its CQs does; the loop drives those
 * that nobody polls, so that a passive target serves its peer.
 *
 * The loop watches each connection for one event at a time. When one comes and a CQ of the
 * connection was polled since the loop looked last, or has a sleeper, the connection is left to the
 * poller: the loop does not touch it and does not watch it, but looks again at the next tick. A
 * connection whose CQs were not polled between two ticks and have no sleeper is served by the loop
 * and watched again. Ticks slow down, and stop when only sleepers' connections are left; a sleeper
 * that goes away then starts them again (kick). A CQ armed for notification has nobody who polls by
 * himself: its connections are the loop's.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "providers/soft/config.h"
#include "providers/soft/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	TICK_MIN_MS = 1,
	TICK_POLLED_MS = 4,  /* slowest while somebody polls */
	TICK_WAITED_MS = 16, /* beyond that they stop while all sleep */
	PULSE_MS = 10000,
	OVER_LOOKS = 4,
};

static const uint64_t ms_ns = 1000000;

/* ---- What is watched ---- */

static uint32_t wanted(const struct soft_conn *conn)
{
	return (atomic_load(&conn->rx_stalled) ? 0 : EPOLLIN) |
	       (atomic_load(&conn->qp->tx_stalled) ? EPOLLOUT : 0);
}

/* conn->lock held. */
static void arm(struct soft_conn *conn, uint32_t events)
{
	if (conn->deaf)
		return;
	events |= (atomic_load(&conn->over) ? 0 : EPOLLRDHUP) | EPOLLONESHOT;
	if (conn->armed == events)
		return;
	conn->armed = events;
	soft_link_watch(conn->link, events);
}

void soft_progress_doze(struct soft_conn *conn)
{
	pthread_mutex_lock(&conn->lock);
	for (int i = 0; i < 2 && conn->attached; i++)
		if (conn->member[i].cq)
			soft_cq_watch(&conn->member[i], wanted(conn));
	pthread_mutex_unlock(&conn->lock);
}

void soft_progress_watch(struct soft_conn *conn)
{
	uint32_t events;

	pthread_mutex_lock(&conn->lock);
	if (!conn->attached)
		goto unlock;
	events = wanted(conn);
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq)
			soft_cq_watch(&conn->member[i], events);
	if (conn->armed) {
		arm(conn, events);
	} else if (!(events & EPOLLIN)) {
		/* Nobody reads it: only the loop will notice the peer hang up. */
		atomic_store(&conn->arm_wanted, true);
		dapl_loop_post(conn->base.dev->loop, &conn->task);
	}
unlock:
	pthread_mutex_unlock(&conn->lock);
}

/* ---- Left to the poller ---- */

/* Whether one of its CQs wants the loop to drive. */
static bool notify(const struct soft_conn *conn)
{
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq && soft_cq_notify(conn->member[i].cq))
			return true;
	return atomic_load(&conn->solo);
}

/* Whether one of its CQs was polled since the last call. */
static bool polled(struct soft_conn *conn)
{
	bool moved = false;
	uint32_t now;

	for (int i = 0; i < 2; i++) {
		if (!conn->member[i].cq)
			continue;
		now = atomic_load_explicit(&conn->member[i].cq->activity, memory_order_relaxed);
		moved |= now != conn->member[i].seen;
		conn->member[i].seen = now;
	}
	return moved;
}

static bool waited(const struct soft_conn *conn)
{
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq && atomic_load(&conn->member[i].cq->waiter))
			return true;
	return false;
}

static bool is_left(const struct soft_conn *conn)
{
	return !soft_list_empty(&conn->left_node);
}

static void set_tick(struct soft_dev *dev)
{
	dapl_loop_timer(dev->base.loop, &dev->tick, dapl_now() + dev->tick_ms * ms_ns);
}

static void leave(struct soft_conn *conn)
{
	struct soft_dev *dev = conn->dev;

	/* An event that was on its way when the watch was changed finds it here already. */
	if (is_left(conn))
		return;
	soft_list_add(&dev->left, &conn->left_node);
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq)
			atomic_fetch_add(&conn->member[i].cq->left, 1);
	atomic_store(&dev->ticks_asleep, false);
	dev->tick_ms = TICK_MIN_MS;
	set_tick(dev);
}

static void take_back(struct soft_conn *conn)
{
	if (!is_left(conn))
		return;
	soft_list_del(&conn->left_node);
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq)
			atomic_fetch_sub(&conn->member[i].cq->left, 1);
}

void soft_progress_forget(struct soft_conn *conn)
{
	take_back(conn);
	pthread_mutex_lock(&conn->lock);
	conn->attached = false;
	pthread_mutex_unlock(&conn->lock);
}

/* ---- The loop drives ---- */

void soft_progress_serve(struct soft_conn *conn)
{
	take_back(conn);
	soft_qp_progress(conn->qp, true);
	if (soft_conn_dead(conn)) {
		conn->dev->hooks->ended(conn);
		return;
	}
	pthread_mutex_lock(&conn->lock);
	conn->armed = 0;
	arm(conn, wanted(conn));
	pthread_mutex_unlock(&conn->lock);
}

/* ---- The peer has ended, and messages wait for Receives ---- */

/* The first message that waits; later once one was received. rx_lock held. */
static uint32_t first_waiting(const struct soft_conn *conn)
{
	const struct soft_rx *rx = &conn->rx;

	return rx->held ? rx->held->ddp.msn : rx->msn[WIRE_QN_SEND];
}

/* In pieces: the time in which this process is stopped does not count. */
static void set_over_timer(struct soft_conn *conn)
{
	soft_link_timeout(conn->link, (uint32_t)conn->dev->config->unreceived_ms / OVER_LOOKS + 1);
}

/* So long none was received: they are lost. */
static void unreceived(struct soft_link *link)
{
	struct soft_conn *conn = link->owner;
	struct soft_qp *qp = conn->qp;
	char text[2 * SOFT_ADDR_TEXT + 8];
	uint32_t first;

	pthread_mutex_lock(&qp->rx_lock);
	first = first_waiting(conn);
	if (first != conn->over_msn)
		conn->over_looks = 0;
	conn->over_msn = first;
	if (soft_conn_dead(conn) || ++conn->over_looks < OVER_LOOKS) {
		set_over_timer(conn);
	} else {
		dapl_err_limited(
			"%s: connection %s: messages of a peer that has ended are lost, since no "
			"Receive came for them in %u ms (option unreceived)",
			conn->dev->name, soft_conn_text(conn, text),
			(uint32_t)conn->dev->config->unreceived_ms);
		soft_conn_lost(conn, conn->rx.err ? conn->rx.err : soft_conn_stream_error(conn),
			       TP_WC_FLUSHED);
	}
	soft_qp_rx_unlock(qp);
}

/* They are received as Receives are posted. rx_lock held. */
static void await_receives(struct soft_conn *conn)
{
	pthread_mutex_lock(&conn->lock);
	atomic_store(&conn->over, true);
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq)
			soft_cq_forget(&conn->member[i]);
	pthread_mutex_unlock(&conn->lock);
	conn->over_msn = first_waiting(conn);
	conn->link->expired = unreceived;
	set_over_timer(conn);
}

/*
 * The peer hung up while nobody reads, since what it sent finds no Receive. Only what is read tells
 * whether there are whole messages, which were sent with success.
 */
static void hung_up(struct soft_conn *conn, uint32_t events)
{
	struct soft_qp *qp = conn->qp;

	pthread_mutex_lock(&qp->rx_lock);
	conn->rx.hold_all = true;
	if (!soft_conn_dead(conn))
		soft_rx_run(conn);
	if (atomic_load(&conn->rx_stalled) && !soft_conn_dead(conn)) {
		pthread_mutex_lock(&conn->lock);
		conn->deaf = events & (EPOLLHUP | EPOLLERR);
		pthread_mutex_unlock(&conn->lock);
		if (!atomic_load(&conn->over))
			await_receives(conn);
	}
	soft_qp_rx_unlock(qp);
}

void soft_progress_ready(struct soft_link *link, uint32_t events)
{
	struct soft_conn *conn = link->owner;

	pthread_mutex_lock(&conn->lock);
	conn->armed = 0;
	pthread_mutex_unlock(&conn->lock);
	soft_conn_hold(conn);
	if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) && atomic_load(&conn->rx_stalled))
		hung_up(conn, events);
	if (!soft_conn_dead(conn) && !notify(conn) && (polled(conn) || waited(conn))) {
		leave(conn);
		/* Armed for notification, or stalled, before it was on the list? */
		if (notify(conn) || atomic_load(&conn->rx_stalled))
			soft_progress_serve(conn);
	} else {
		soft_progress_serve(conn);
	}
	soft_conn_drop(conn);
}

/* ---- Ticks ---- */

/* Has the loop serve a connection, not from inside a walk over the list. */
static void serve_later(struct soft_conn *conn)
{
	take_back(conn);
	atomic_store(&conn->rx_wanted, true);
	dapl_loop_post(conn->base.dev->loop, &conn->task);
}

/* Looks at all that are left: whether one was polled. Those that are on their own leave the list.
 */
static bool look(struct soft_dev *dev)
{
	struct soft_list *node, *next;
	struct soft_conn *conn;
	bool moved = false;

	for (node = dev->left.next; node != &dev->left; node = next) {
		next = node->next;
		conn = soft_container(node, struct soft_conn, left_node);
		if (notify(conn))
			serve_later(conn);
		else if (polled(conn))
			moved = true;
		else if (!waited(conn))
			serve_later(conn);
	}
	return moved;
}

/* All that are left have sleepers. Stops the ticks unless one went away just now. */
static void sleep_ticks(struct soft_dev *dev)
{
	struct soft_list *node;

	atomic_store(&dev->ticks_asleep, true);
	for (node = dev->left.next; node != &dev->left; node = node->next) {
		if (waited(soft_container(node, struct soft_conn, left_node)))
			continue;
		atomic_store(&dev->ticks_asleep, false);
		dev->tick_ms = TICK_MIN_MS;
		set_tick(dev);
		return;
	}
}

void soft_progress_tick(struct tp_timer *timer)
{
	struct soft_dev *dev = soft_container(timer, struct soft_dev, tick);
	bool moved = look(dev);

	if (soft_list_empty(&dev->left))
		return;
	dev->tick_ms *= 2;
	if (moved && dev->tick_ms > TICK_POLLED_MS)
		dev->tick_ms = TICK_POLLED_MS;
	if (dev->tick_ms > TICK_WAITED_MS)
		sleep_ticks(dev);
	else
		set_tick(dev);
}

/* A sleeper went, or somebody asked for notification. */
void soft_progress_kick(struct tp_task *task)
{
	struct soft_dev *dev = soft_container(task, struct soft_dev, kick);
	struct soft_list *node, *next;
	struct soft_conn *conn;

	for (node = dev->left.next; node != &dev->left; node = next) {
		next = node->next;
		conn = soft_container(node, struct soft_conn, left_node);
		if (notify(conn))
			serve_later(conn);
		else
			polled(conn);
	}
	if (soft_list_empty(&dev->left))
		return;
	atomic_store(&dev->ticks_asleep, false);
	dev->tick_ms = TICK_MIN_MS;
	set_tick(dev);
}

/* ---- The pulse: peers that are gone without a word, buffers without use ---- */

static void shrink(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	if (pthread_mutex_trylock(&qp->rx_lock))
		return;
	soft_rx_shrink(conn);
	soft_qp_rx_unlock(qp);
}

void soft_progress_pulse(struct tp_timer *timer)
{
	struct soft_dev *dev = soft_container(timer, struct soft_dev, pulse);
	uint32_t timeout = (uint32_t)dev->config->peer_timeout_ms;
	struct soft_list *node;
	struct soft_conn *conn;

	dev->pulsing = !soft_list_empty(&dev->conns);
	if (!dev->pulsing)
		return;
	for (node = dev->conns.next; node != &dev->conns; node = node->next) {
		conn = soft_container(node, struct soft_conn, node);
		shrink(conn);
		if (timeout && !soft_conn_dead(conn) &&
		    conn->link->class->lost(conn->link, timeout)) {
			dapl_trace_limited(soft_silent, DAPL_TRC_ERROR, conn, "ia=%s ms=%u",
					   dev->name, timeout);
			soft_conn_lost(conn, -ETIMEDOUT, TP_WC_FLUSHED);
		}
	}
	dapl_loop_timer(dev->base.loop, &dev->pulse,
			dapl_now() + (timeout ? timeout / 3 + 1 : PULSE_MS) * ms_ns);
}
