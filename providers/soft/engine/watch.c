/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/engine/drive.h"

#include <errno.h>
#include <sys/epoll.h>

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"

/* conn->lock held. */
static void arm_loop(struct soft_conn *conn)
{
	uint32_t events = soft_watch_wanted(conn) | EPOLLONESHOT;

	if (conn->broken)
		return;
	if (!atomic_load(&conn->unreceived))
		events |= EPOLLRDHUP;
	if (conn->armed == events)
		return;
	conn->armed = events;
	soft_link_watch(conn->link, events);
}

static enum soft_watcher which(const struct soft_member *member)
{
	return (enum soft_watcher)(member - member->conn->member);
}

/* conn->lock held. */
static void update_cq(struct soft_member *member)
{
	struct epoll_event event = { .data.ptr = member };
	struct soft_cq *cq = member->cq;
	struct soft_link *link;
	bool asleep, waits, few;

	soft_cq_wake(&cq->base);
	if (!member->enrolled)
		return;
	waits = atomic_load(&cq->waiter);
	few = soft_cq_few(cq);
	asleep = waits || atomic_load(&member->polled) == SOFT_NOT_POLLED;
	event.events = soft_watch_wanted(member->conn);
	/* What is polled directly is so also for room: only a waiter is told of that. */
	if (!asleep)
		event.events &= ~(uint32_t)EPOLLOUT;
	/* The set is looked at for the others. */
	if (!asleep && !few)
		event.events = 0;
	link = member->conn->link;
	if (link->class->arm)
		event.events = link->class->arm(link, which(member), event.events, asleep);
	if (member->events == event.events)
		return;
	if (!epoll_ctl(atomic_load(&cq->epfd), EPOLL_CTL_MOD, link->fd, &event))
		member->events = event.events;
}

static void update_cqs(struct soft_conn *conn)
{
	for (int i = 0; i < 2; i++)
		if (conn->member[i].cq)
			update_cq(&conn->member[i]);
}

void soft_watch_update_cqs(struct soft_conn *conn)
{
	pthread_mutex_lock(&conn->lock);
	if (conn->attached)
		update_cqs(conn);
	pthread_mutex_unlock(&conn->lock);
}

void soft_watch_update(struct soft_conn *conn)
{
	pthread_mutex_lock(&conn->lock);
	if (!conn->attached)
		goto unlock;
	update_cqs(conn);
	if (conn->armed)
		arm_loop(conn);
	else if (atomic_load(&conn->rx_stalled)) /* only the loop will notice the peer hang up */
		soft_conn_serve_later(conn);
unlock:
	pthread_mutex_unlock(&conn->lock);
}

void soft_watch_loop(struct soft_conn *conn)
{
	pthread_mutex_lock(&conn->lock);
	conn->armed = 0;
	arm_loop(conn);
	pthread_mutex_unlock(&conn->lock);
}

int soft_watch_add(struct soft_member *member)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = member };
	struct soft_conn *conn = member->conn;

	if (atomic_load(&conn->unreceived))
		return 0;
	if (epoll_ctl(atomic_load(&member->cq->epfd), EPOLL_CTL_ADD, conn->link->fd, &event))
		return -errno;
	member->enrolled = true;
	member->events = EPOLLIN;
	update_cq(member);
	return 0;
}

void soft_watch_remove(struct soft_member *member)
{
	struct soft_link *link = member->conn->link;

	if (!member->enrolled)
		return;
	epoll_ctl(atomic_load(&member->cq->epfd), EPOLL_CTL_DEL, link->fd, NULL);
	if (link->class->arm)
		link->class->arm(link, which(member), 0, false);
	member->enrolled = false;
}
