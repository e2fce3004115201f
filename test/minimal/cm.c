/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Listeners and connections: two structures that know each other. */
#include "test/minimal/minimal.h"

#include "dapl/unsupported.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct listener {
	struct tp_listener base;
	struct mini_conn *requests, **requests_end; /* not handed to the core yet */
	struct tp_task task;
	struct listener *next;
};

__attribute__((visibility("default"))) _Atomic uintptr_t mini_told_by;
__attribute__((visibility("default"))) void (*_Atomic mini_before_request)(void);
__attribute__((visibility("default"))) void (*_Atomic mini_before_destroy)(void);

static struct listener *listeners;
static uint64_t last_port = MINI_LAST_QUAL; /* of active sides: above all qualifiers */

static struct mini_conn *conn_of(struct tp_conn *base)
{
	return mini_container(base, mini_conn, base);
}

/* ---- Ends ---- */

static void say(struct mini_conn *conn, enum tp_conn_event event)
{
	conn->event = event;
	conn->due = true;
	dapl_loop_post(conn->base.dev->loop, &conn->task);
}

/* Ends both sides and tells the peer; lock held. */
static void part(struct mini_conn *conn, enum tp_conn_event event)
{
	struct mini_conn *peer = conn->peer;

	conn->peer = NULL;
	if (conn->qp)
		mini_qp_fail(conn->qp);
	if (!peer)
		return;
	peer->peer = NULL;
	if (!peer->qp)
		return; /* its request has no answer yet: accept will notice */
	mini_qp_fail(peer->qp);
	if (event == TP_CONN_DISCONNECTED && !peer->told)
		event = peer->active ? TP_CONN_REFUSED : TP_CONN_BROKEN;
	say(peer, event);
}

void mini_conn_end(struct mini_conn *conn, enum tp_conn_event event)
{
	part(conn, event);
	say(conn, event);
}

/* Tells the core what is due. */
static void tell(struct tp_task *task)
{
	struct mini_conn *conn = mini_container(task, mini_conn, task);
	struct tp_device *dev = conn->base.dev;
	enum tp_conn_event event;
	bool due, fault, open;
	uint32_t len = 0;

	pthread_mutex_lock(&mini_lock);
	due = conn->due;
	fault = conn->fault;
	event = conn->event;
	open = due && event == TP_CONN_ESTABLISHED;
	if (conn->active && (open || event == TP_CONN_REJECTED))
		len = conn->len;
	conn->due = conn->fault = false;
	conn->told |= open;
	conn->busy = true;
	pthread_mutex_unlock(&mini_lock);

	if (fault)
		dev->up->async(dev->owner, TP_ASYNC_QP_ERROR, conn->qp->base.owner);
	if (due)
		atomic_store(&mini_told_by, (uintptr_t)pthread_self());
	if (due)
		dev->up->conn_event(conn->base.owner, event, 0, conn->data, len);

	pthread_mutex_lock(&mini_lock);
	conn->busy = false;
	conn->open |= open;
	if (open && conn->peer) {
		mini_qp_run(conn->peer->qp);
		mini_qp_run(conn->qp);
	}
	pthread_mutex_unlock(&mini_lock);
	if (conn->dead)
		free(conn);
}

static struct mini_conn *conn_new(void)
{
	struct mini_conn *conn = calloc(1, sizeof(*conn));

	if (conn)
		conn->task.run = tell;
	return conn;
}

static void set_data(struct mini_conn *conn, const void *data, uint32_t len)
{
	conn->len = len;
	if (len)
		memcpy(conn->data, data, len);
}

/* A request comes to nothing. */
static void refuse(struct mini_conn *conn)
{
	pthread_mutex_lock(&mini_lock);
	part(conn, TP_CONN_REFUSED);
	pthread_mutex_unlock(&mini_lock);
	free(conn);
}

/* ---- Listeners ---- */

static struct listener *find(uint64_t conn_qual)
{
	struct listener *listener = listeners;

	while (listener && listener->base.conn_qual != conn_qual)
		listener = listener->next;
	return listener;
}

/* Hands one request to the core, which may free the listener meanwhile. */
static void announce(struct tp_task *task)
{
	struct listener *listener = mini_container(task, listener, task);
	const struct tp_upcalls *up = listener->base.dev->up;
	void *owner = listener->base.owner;
	void (*before)(void) = atomic_load(&mini_before_request);
	struct tp_conn_request request;
	struct mini_conn *conn;

	pthread_mutex_lock(&mini_lock);
	conn = listener->requests;
	if (conn)
		listener->requests = conn->next;
	if (listener->requests)
		dapl_loop_post(listener->base.dev->loop, task);
	else
		listener->requests_end = &listener->requests;
	pthread_mutex_unlock(&mini_lock);
	if (!conn)
		return;
	if (before)
		before();
	request = (struct tp_conn_request){ .private_data = conn->data,
					    .private_data_len = conn->len };
	if (up->conn_request(owner, &conn->base, &request))
		refuse(conn);
}

static int cm_listen(struct tp_device *dev, uint64_t conn_qual, void *owner,
		     struct tp_listener **out)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	uint64_t qual = conn_qual ? conn_qual : MINI_FIRST_QUAL;
	int rc = 0;

	if (!listener)
		return -ENOMEM;
	listener->task.run = announce;
	listener->requests_end = &listener->requests;
	pthread_mutex_lock(&mini_lock);
	while (!conn_qual && qual <= MINI_LAST_QUAL && find(qual))
		qual++;
	if (qual > MINI_LAST_QUAL)
		rc = conn_qual ? -EINVAL : -EADDRNOTAVAIL;
	else if (find(qual))
		rc = -EADDRINUSE;
	if (rc) {
		free(listener);
		goto unlock;
	}
	listener->base = (struct tp_listener){ .dev = dev, .owner = owner, .conn_qual = qual };
	listener->next = listeners;
	listeners = listener;
	*out = &listener->base;
unlock:
	pthread_mutex_unlock(&mini_lock);
	return rc;
}

static void cm_unlisten(struct tp_listener *base)
{
	struct listener *listener = mini_container(base, listener, base), **link;
	struct mini_conn *conn;

	pthread_mutex_lock(&mini_lock);
	for (link = &listeners; *link != listener; link = &(*link)->next)
		;
	*link = listener->next;
	pthread_mutex_unlock(&mini_lock);
	dapl_loop_cancel(base->dev->loop, &listener->task);
	while ((conn = listener->requests)) {
		listener->requests = conn->next;
		refuse(conn);
	}
	free(listener);
}

/* ---- Connections ---- */

static bool is_self(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET &&
	       ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

/* Queues the passive side of a request; lock held. */
static void request(struct listener *listener, struct mini_conn *conn, struct mini_conn *peer,
		    const struct tp_connect *param)
{
	peer->base.dev = listener->base.dev;
	memcpy(&peer->addr.remote, param->remote, sizeof(struct sockaddr_in));
	peer->addr.local_qual = param->conn_qual;
	peer->addr.remote_qual = conn->addr.local_qual;
	set_data(peer, param->private_data, param->private_data_len);
	peer->peer = conn;
	conn->peer = peer;
	*listener->requests_end = peer;
	listener->requests_end = &peer->next;
	dapl_loop_post(listener->base.dev->loop, &listener->task);
}

static int cm_connect(struct tp_qp *qp, const struct tp_connect *param, void *owner,
		      struct tp_conn **out)
{
	struct mini_conn *conn = conn_new(), *peer = conn_new();
	bool self = is_self(param->remote);
	struct listener *listener;

	if (!conn || !peer) {
		free(conn);
		free(peer);
		return -ENOMEM;
	}
	conn->base = (struct tp_conn){ .dev = qp->dev, .owner = owner };
	conn->active = true;
	conn->qp = mini_container(qp, mini_qp, base);
	memcpy(&conn->addr.remote, param->remote,
	       param->remote->sa_family == AF_INET ? sizeof(struct sockaddr_in)
						   : sizeof(struct sockaddr_in6));
	conn->addr.remote_qual = param->conn_qual;
	pthread_mutex_lock(&mini_lock);
	*out = &conn->base;
	conn->addr.local_qual = ++last_port;
	listener = self ? find(param->conn_qual) : NULL;
	if (listener) {
		request(listener, conn, peer, param);
	} else {
		free(peer);
		mini_qp_fail(conn->qp);
		say(conn, self ? TP_CONN_REFUSED : TP_CONN_UNREACHABLE);
	}
	pthread_mutex_unlock(&mini_lock);
	return 0;
}

static int cm_accept(struct tp_conn *base, struct tp_qp *qp, const void *private_data, uint32_t len,
		     void *owner)
{
	struct mini_conn *conn = conn_of(base), *peer;

	pthread_mutex_lock(&mini_lock);
	base->owner = owner;
	conn->qp = mini_container(qp, mini_qp, base);
	peer = conn->peer;
	if (peer) {
		conn->qp->state = peer->qp->state = MINI_CONNECTED;
		conn->qp->conn = conn;
		peer->qp->conn = peer;
		set_data(peer, private_data, len);
		say(peer, TP_CONN_ESTABLISHED);
		say(conn, TP_CONN_ESTABLISHED);
	} else {
		mini_qp_fail(conn->qp);
		say(conn, TP_CONN_BROKEN);
	}
	pthread_mutex_unlock(&mini_lock);
	return 0;
}

static int cm_reject(struct tp_conn *base, const void *private_data, uint32_t len)
{
	struct mini_conn *conn = conn_of(base);

	pthread_mutex_lock(&mini_lock);
	if (conn->peer)
		set_data(conn->peer, private_data, len);
	part(conn, TP_CONN_REJECTED);
	pthread_mutex_unlock(&mini_lock);
	free(conn);
	return 0;
}

static void cm_disconnect(struct tp_conn *base, bool graceful)
{
	struct mini_conn *conn = conn_of(base);

	pthread_mutex_lock(&mini_lock);
	if (graceful && conn->peer) {
		conn->draining = true;
		mini_qp_run(conn->qp);
	} else if (!graceful) {
		part(conn, conn->qp ? TP_CONN_DISCONNECTED : TP_CONN_REFUSED);
		conn->due = conn->fault = false;
	}
	pthread_mutex_unlock(&mini_lock);
	if (!graceful)
		dapl_loop_cancel(base->dev->loop, &conn->task);
}

static void cm_release(struct tp_conn *base)
{
	struct mini_conn *conn = conn_of(base);

	cm_disconnect(base, false);
	if (conn->busy) /* then this is its upcall */
		conn->dead = true;
	else
		free(conn);
}

static void cm_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	*addr = conn_of(base)->addr;
}

const struct dapl_cm_ops mini_cm_ops = {
	.listen = cm_listen,
	.unlisten = cm_unlisten,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.handoff = dapl_unsupported_handoff,
	.free_ah = dapl_unsupported_free_ah,
	.disconnect = cm_disconnect,
	.release = cm_release,
	.addr = cm_addr,
};
