/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/ud.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/base/config.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/ud.h"
#include "trace/log.h"

enum {
	FRAMES_PER_EVENT = 64,
	FIRST_REPEAT_MS = 50, /* doubled each time */
	LAST_REPEAT_MS = 1000,
	DEFAULT_TIME_MS = 30000, /* an active one's without option peer_timeout */
	LINGER_MS = 5000,	 /* answers repeated frames for so long */
	MAX_PENDING = 1024,	 /* requests at a port, unless option half_open says more */
	FRAME_MAX = SOFT_UD_HEADER + WIRE_MPA_PD_CONSUMER,
};

enum state {
	REQUESTING, /* active */
	REQUESTED,  /* passive: the program's to answer */
	REPLYING,   /* passive: ACK awaited */
	RESOLVED,
	REJECTED, /* passive: of nobody any more */
	OVER,	  /* it failed, or was given up */
};

struct soft_ud_conn {
	union {
		struct tp_conn base;
		struct soft_any_conn any;
	};
	struct soft_dev *dev;
	enum state state;
	struct soft_qp *qp;	   /* until the core gives it up */
	struct soft_ud_port *port; /* passive */
	struct list node;	   /* in port->conns, or soft_cm.ud_active */
	struct tp_watch watch;	   /* active; fd -1: none */
	struct tp_timer timer;
	uint64_t give_up;
	uint32_t repeat_ms;
	uint64_t id;
	struct sockaddr_storage remote; /* where frames go */
	uint64_t local_qual, remote_qual;
	struct soft_ud_frame peer; /* its names; without data */
	size_t out_len;
	uint8_t out[FRAME_MAX]; /* the last that needs an answer, or may be asked for again */
};

static struct soft_ud_conn *ud_conn(struct tp_conn *conn)
{
	return container_of(conn, struct soft_ud_conn, base);
}

/* ---- Frames ---- */

static void send_to(int fd, const void *buf, size_t len, const struct sockaddr_storage *to)
{
	/* What is lost is repeated, or asked for again. */
	(void)!sendto(fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to,
		      to ? soft_addr_len(to) : 0);
}

static void send_out(struct soft_ud_conn *conn)
{
	if (conn->port)
		send_to(conn->port->watch.fd, conn->out, conn->out_len, &conn->remote);
	else
		send_to(conn->watch.fd, conn->out, conn->out_len, NULL);
}

/* Makes the frame that is sent from here on: names of the QP, and private data. */
static void build(struct soft_ud_conn *conn, enum soft_ud_type type, const void *data, uint32_t len)
{
	const struct soft_ud *ud = conn->qp ? conn->qp->ud : NULL;
	struct soft_ud_frame frame = { .type = (uint8_t)type,
				       .id = conn->id,
				       .len = (uint16_t)len };

	if (ud) {
		frame.port = ud->port;
		frame.qpn = ud->qpn;
		frame.qkey = ud->qkey;
	}
	if (type == SOFT_UD_REJECT)
		frame.flags = SOFT_UD_PROGRAM;
	soft_ud_encode(conn->out, &frame);
	if (len)
		memcpy(conn->out + SOFT_UD_HEADER, data, len);
	conn->out_len = SOFT_UD_HEADER + len;
}

/* A frame without more to it. */
static void answer(struct soft_ud_port *port, const struct sockaddr_storage *to, uint64_t id,
		   enum soft_ud_type type)
{
	const struct soft_ud_frame frame = { .type = (uint8_t)type, .id = id };
	uint8_t buf[SOFT_UD_HEADER];

	soft_ud_encode(buf, &frame);
	send_to(port->watch.fd, buf, sizeof(buf), to);
}

/* ---- Life ---- */

static void set_timer(struct soft_ud_conn *conn, uint32_t ms)
{
	dapl_loop_timer(conn->dev->base.loop, &conn->timer, dapl_now() + ms * 1000000ull);
}

static bool is_pending(enum state state)
{
	return state == REQUESTED || state == REPLYING || state == REJECTED;
}

static void go(struct soft_ud_conn *conn, enum state state)
{
	if (conn->port)
		conn->port->pending += is_pending(state) - is_pending(conn->state);
	conn->state = state;
}

static void expired(struct tp_timer *timer);

static struct soft_ud_conn *conn_new(struct soft_dev *dev, enum state state,
				     struct soft_ud_port *port)
{
	struct soft_ud_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->any = (struct soft_any_conn){ .base = { .dev = &dev->base }, .ud = true };
	conn->dev = dev;
	conn->port = port;
	conn->state = OVER;
	go(conn, state);
	conn->watch.fd = -1;
	conn->timer.expired = expired;
	list_add(port ? &port->conns : &dev->cm->ud_active, &conn->node);
	return conn;
}

static void port_check(struct soft_ud_port *port)
{
	if (port->owner || !list_empty(&port->conns))
		return;
	dapl_loop_del(port->dev->base.loop, &port->watch);
	dapl_fd_close(port->watch.fd);
	list_del(&port->node);
	free(port);
}

/* Nothing is sent or heard any more. */
static void fall_silent(struct soft_ud_conn *conn)
{
	dapl_loop_timer_cancel(conn->dev->base.loop, &conn->timer);
	if (conn->watch.fd < 0)
		return;
	dapl_loop_del(conn->dev->base.loop, &conn->watch);
	dapl_fd_close(conn->watch.fd);
	conn->watch.fd = -1;
}

static void conn_free(struct soft_ud_conn *conn)
{
	struct soft_ud_port *port = conn->port;

	fall_silent(conn);
	go(conn, OVER);
	list_del(&conn->node);
	free(conn);
	if (port)
		port_check(port);
}

/* ---- Outcomes ---- */

static void fail(struct soft_ud_conn *conn, enum tp_conn_event event, int err, const void *data,
		 uint32_t len)
{
	char to[SOFT_ADDR_TEXT];

	if (event != TP_CONN_REJECTED)
		dapl_err_limited("%s: no address of a datagram endpoint %s %s: %s", conn->dev->name,
				 conn->port ? "acknowledged by" : "from",
				 soft_addr_text(&conn->remote, conn->remote_qual, to),
				 dapl_strerror(-err));
	fall_silent(conn);
	go(conn, OVER);
	conn->dev->base.up->ud_event(conn->base.owner, event, err, NULL, data, len);
}

static void resolve(struct soft_ud_conn *conn, const void *data, uint32_t len)
{
	struct tp_ud_peer peer = { .qpn = conn->peer.qpn };
	struct soft_ah *ah = calloc(1, sizeof(*ah));

	if (!ah) {
		fail(conn, TP_CONN_BROKEN, -ENOMEM, NULL, 0);
		return;
	}
	dapl_loop_timer_cancel(conn->dev->base.loop, &conn->timer);
	go(conn, RESOLVED);
	ah->addr = conn->remote;
	soft_addr_set_port(&ah->addr, conn->peer.port);
	ah->qkey = conn->peer.qkey;
	peer.ah = ah;
	conn->dev->base.up->ud_event(conn->base.owner, TP_CONN_ESTABLISHED, 0, &peer, data, len);
}

static void expired(struct tp_timer *timer)
{
	struct soft_ud_conn *conn = container_of(timer, struct soft_ud_conn, timer);

	if (conn->state != REQUESTING && conn->state != REPLYING) {
		conn_free(conn); /* it lingered */
		return;
	}
	if (!conn->repeat_ms) {
		fail(conn, TP_CONN_REFUSED, -ECONNREFUSED, NULL, 0);
		return;
	}
	if (dapl_now() >= conn->give_up) {
		fail(conn, conn->port ? TP_CONN_BROKEN : TP_CONN_UNREACHABLE, -ETIMEDOUT, NULL, 0);
		return;
	}
	send_out(conn);
	if (conn->repeat_ms < LAST_REPEAT_MS)
		conn->repeat_ms *= 2;
	set_timer(conn, conn->repeat_ms);
}

/* Sends, and repeats until there is an answer or the time is over. */
static void begin(struct soft_ud_conn *conn, uint64_t time_ms)
{
	conn->give_up = dapl_now() + time_ms * 1000000;
	conn->repeat_ms = FIRST_REPEAT_MS;
	send_out(conn);
	set_timer(conn, conn->repeat_ms);
}

static uint64_t active_time(const struct soft_ud_conn *conn)
{
	int64_t ms = conn->dev->config->peer_timeout_ms;

	return ms ? (uint64_t)ms : DEFAULT_TIME_MS;
}

/* ---- The active side ---- */

static void acknowledge(struct soft_ud_conn *conn)
{
	build(conn, SOFT_UD_ACK, NULL, 0);
	send_out(conn);
}

static void active_frame(struct soft_ud_conn *conn, const struct soft_ud_frame *frame)
{
	if (frame->id != conn->id)
		return;
	if (conn->state == RESOLVED && frame->type == SOFT_UD_REPLY)
		acknowledge(conn); /* the first was lost */
	if (conn->state != REQUESTING)
		return;
	switch (frame->type) {
	case SOFT_UD_WAIT:
		conn->give_up = dapl_now() + active_time(conn) * 1000000;
		break;
	case SOFT_UD_REPLY:
		conn->peer = *frame;
		acknowledge(conn);
		resolve(conn, frame->data, frame->len);
		break;
	case SOFT_UD_REJECT:
		if (frame->flags & SOFT_UD_PROGRAM)
			fail(conn, TP_CONN_REJECTED, 0, frame->data, frame->len);
		else
			fail(conn, TP_CONN_REFUSED, -ECONNREFUSED, NULL, 0);
		break;
	default:
		break;
	}
}

/* What the network says of a peer; of an exchange that is over it says nothing. */
static void active_error(struct soft_ud_conn *conn, int err)
{
	if (conn->state != REQUESTING)
		return;
	if (err == ECONNREFUSED)
		fail(conn, TP_CONN_REFUSED, -err, NULL, 0);
	else if (err == EHOSTUNREACH || err == ENETUNREACH || err == EHOSTDOWN || err == ENETDOWN)
		fail(conn, TP_CONN_UNREACHABLE, -err, NULL, 0);
}

static void active_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_ud_conn *conn = container_of(watch, struct soft_ud_conn, watch);
	struct soft_ud_frame frame;
	uint8_t buf[FRAME_MAX + 1];
	ssize_t len;

	for (int i = 0; i < FRAMES_PER_EVENT && watch->fd >= 0; i++) {
		len = recv(watch->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0)
			active_error(conn, errno);
		else if (soft_ud_decode(buf, (size_t)len, &frame))
			active_frame(conn, &frame);
		else
			soft_count(conn->dev, SOFT_COUNT_RCV);
	}
}

struct connecting {
	struct soft_qp *qp;
	const struct tp_connect *param;
	void *owner;
	struct tp_conn **out;
};

static int open_active(struct soft_ud_conn *conn)
{
	uint16_t port = 0;
	int fd = soft_ud_socket(conn->dev, &port);
	int rc;

	if (fd < 0)
		return fd == -EADDRINUSE ? -EADDRNOTAVAIL : fd;
	conn->local_qual = port;
	if (connect(fd, (struct sockaddr *)&conn->remote, soft_addr_len(&conn->remote)) ||
	    getrandom(&conn->id, sizeof(conn->id), 0) != sizeof(conn->id)) {
		rc = -errno;
		dapl_fd_close(fd);
		return rc;
	}
	conn->watch.fd = fd;
	conn->watch.ready = active_ready;
	atomic_store(&conn->dev->looped, true);
	rc = dapl_loop_add(conn->dev->base.loop, &conn->watch, EPOLLIN);
	if (!rc)
		return 0;
	conn->watch.fd = -1;
	dapl_fd_close(fd);
	return rc;
}

static int connect_on_loop(void *arg)
{
	const struct connecting *call = arg;
	const struct tp_connect *param = call->param;
	struct soft_ud_conn *conn = conn_new(call->qp->dev, REQUESTING, NULL);
	int rc;

	if (!conn)
		return -ENOMEM;
	soft_addr_copy(&conn->remote, param->remote);
	soft_addr_set_port(&conn->remote, (uint16_t)param->conn_qual);
	conn->remote_qual = param->conn_qual;
	conn->base.owner = call->owner;
	conn->qp = call->qp;
	rc = param->conn_qual && param->conn_qual <= UINT16_MAX ? open_active(conn) : -ECONNREFUSED;
	*call->out = &conn->base;
	if (!rc) {
		build(conn, SOFT_UD_REQUEST, param->private_data, param->private_data_len);
		begin(conn, active_time(conn));
		return 0;
	}
	if (rc == -ECONNREFUSED) { /* EP-71: told as if a peer had */
		conn->repeat_ms = 0;
		set_timer(conn, 0);
		return 0;
	}
	conn_free(conn);
	return rc;
}

int soft_ud_connect(struct soft_qp *qp, const struct tp_connect *param, void *owner,
		    struct tp_conn **out)
{
	struct connecting call = { qp, param, owner, out };

	if (param->remote->sa_family != qp->dev->addr.ss_family)
		return -EAFNOSUPPORT;
	return soft_dev_call(qp->dev, connect_on_loop, &call);
}

/* ---- The passive side ---- */

static bool is_port(struct soft_dev *dev, const struct soft_ud_port *wanted)
{
	struct soft_ud_port *port;

	list_for_each(port, &dev->cm->ud_ports, node)
		if (port == wanted)
			return true;
	return false;
}

static struct soft_ud_conn *find(struct soft_ud_port *port, const struct sockaddr_storage *from,
				 uint64_t id)
{
	struct soft_ud_conn *conn;

	list_for_each(conn, &port->conns, node)
		if (conn->id == id && soft_addr_equal(&conn->remote, from))
			return conn;
	return NULL;
}

/* Room for one more request; those that were rejected go first. */
static bool make_room(struct soft_ud_port *port)
{
	int64_t limit = port->dev->config->half_open ? port->dev->config->half_open : MAX_PENDING;
	struct soft_ud_conn *conn;

	if (port->pending < (uint64_t)limit)
		return true;
	list_for_each(conn, &port->conns, node)
		if (conn->state == REJECTED) {
			conn_free(conn);
			return true;
		}
	dapl_err_limited("%s: datagram endpoints ask at qualifier %u for more addresses than are "
			 "answered: %lld wait (option half_open)",
			 port->dev->name, port->port, (long long)limit);
	return false;
}

static void new_request(struct soft_ud_port *port, const struct sockaddr_storage *from,
			const struct soft_ud_frame *frame)
{
	const struct tp_conn_request req = { .private_data = frame->len ? frame->data : NULL,
					     .private_data_len = frame->len,
					     .ud = true };
	struct soft_ud_conn *conn;

	if (!port->owner) {
		answer(port, from, frame->id, SOFT_UD_REJECT);
		return;
	}
	conn = make_room(port) ? conn_new(port->dev, REQUESTED, port) : NULL;
	if (!conn)
		return; /* it will be repeated */
	conn->remote = *from;
	conn->local_qual = port->port;
	conn->remote_qual = soft_addr_port(from);
	conn->id = frame->id;
	conn->peer = *frame;
	if (!port->dev->base.up->conn_request(port->owner, &conn->base, &req))
		return;
	answer(port, from, frame->id, SOFT_UD_REJECT);
	conn_free(conn);
}

static void passive_frame(struct soft_ud_port *port, const struct sockaddr_storage *from,
			  const struct soft_ud_frame *frame)
{
	struct soft_ud_conn *conn = find(port, from, frame->id);

	if (frame->type == SOFT_UD_REQUEST && !conn)
		new_request(port, from, frame);
	else if (frame->type == SOFT_UD_REQUEST && conn->state == REQUESTED)
		answer(port, from, frame->id, SOFT_UD_WAIT);
	else if (frame->type == SOFT_UD_REQUEST && conn->state != OVER)
		send_out(conn);
	else if (frame->type == SOFT_UD_ACK && conn && conn->state == REPLYING)
		resolve(conn, NULL, 0);
}

static void port_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_ud_port *port = container_of(watch, struct soft_ud_port, watch);
	struct soft_dev *dev = port->dev;
	struct sockaddr_storage from;
	struct soft_ud_frame frame;
	uint8_t buf[FRAME_MAX + 1];
	socklen_t from_len;
	ssize_t len;

	/* The last one may go with what it is told. */
	for (int i = 0; i < FRAMES_PER_EVENT && is_port(dev, port); i++) {
		from_len = sizeof(from);
		memset(&from, 0, sizeof(from));
		len = recvfrom(watch->fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from,
			       &from_len);
		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0)
			continue;
		if (soft_ud_decode(buf, (size_t)len, &frame))
			passive_frame(port, &from, &frame);
		else
			soft_count(dev, SOFT_COUNT_RCV);
	}
}

struct replying {
	struct soft_ud_conn *conn;
	struct soft_qp *qp;
	void *owner;
	const void *data;
	uint32_t len;
};

static int accept_on_loop(void *arg)
{
	const struct replying *call = arg;
	struct soft_ud_conn *conn = call->conn;

	conn->base.owner = call->owner;
	conn->qp = call->qp;
	go(conn, REPLYING);
	build(conn, SOFT_UD_REPLY, call->data, call->len);
	begin(conn, (uint64_t)conn->dev->config->handshake_ms);
	return 0;
}

int soft_ud_accept(struct tp_conn *base, struct tp_qp *qp, const void *private_data, uint32_t len,
		   void *owner)
{
	struct replying call = { ud_conn(base), soft_qp(qp), owner, private_data, len };

	return soft_dev_call(call.conn->dev, accept_on_loop, &call);
}

static int reject_on_loop(void *arg)
{
	const struct replying *call = arg;

	go(call->conn, REJECTED);
	build(call->conn, SOFT_UD_REJECT, call->data, call->len);
	send_out(call->conn);
	set_timer(call->conn, LINGER_MS);
	return 0;
}

int soft_ud_reject(struct tp_conn *base, const void *private_data, uint32_t len)
{
	struct replying call = { ud_conn(base), NULL, NULL, private_data, len };

	return soft_dev_call(call.conn->dev, reject_on_loop, &call);
}

/* ---- Both ---- */

static int disconnect_on_loop(void *arg)
{
	struct soft_ud_conn *conn = arg;

	if (conn->state == RESOLVED)
		return 0;
	fall_silent(conn);
	go(conn, OVER);
	return 0;
}

void soft_ud_disconnect(struct tp_conn *conn)
{
	soft_dev_call(soft_dev(conn->dev), disconnect_on_loop, ud_conn(conn));
}

/* One that is resolved answers its peer for a while yet. */
static int release_on_loop(void *arg)
{
	struct soft_ud_conn *conn = arg;

	conn->qp = NULL;
	if (conn->state == REQUESTED)
		answer(conn->port, &conn->remote, conn->id, SOFT_UD_REJECT);
	if (conn->state == RESOLVED)
		set_timer(conn, LINGER_MS);
	else
		conn_free(conn);
	return 0;
}

void soft_ud_release(struct tp_conn *conn)
{
	soft_dev_call(soft_dev(conn->dev), release_on_loop, ud_conn(conn));
}

void soft_ud_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	struct soft_ud_conn *conn = ud_conn(base);

	addr->remote = conn->remote;
	soft_addr_set_port(&addr->remote, 0);
	addr->local_qual = conn->local_qual;
	addr->remote_qual = conn->remote_qual;
}

void soft_ud_free_ah(struct tp_device *dev, void *ah)
{
	free(ah);
}

/* ---- Ports ---- */

static struct soft_ud_port *find_port(struct soft_dev *dev, uint16_t number)
{
	struct soft_ud_port *port;

	list_for_each(port, &dev->cm->ud_ports, node)
		if (port->port == number)
			return port;
	return NULL;
}

static int open_port(struct soft_dev *dev, uint16_t number, struct soft_ud_port **out)
{
	struct soft_ud_port *port = calloc(1, sizeof(*port));
	int rc;

	if (!port)
		return -ENOMEM;
	port->dev = dev;
	port->port = number;
	port->watch.ready = port_ready;
	list_init(&port->conns);
	port->watch.fd = rc = soft_ud_socket(dev, &port->port);
	if (rc >= 0) {
		rc = dapl_loop_add(dev->base.loop, &port->watch, EPOLLIN);
		if (rc)
			dapl_fd_close(port->watch.fd);
	}
	if (rc) {
		free(port);
		return rc;
	}
	list_add(&dev->cm->ud_ports, &port->node);
	*out = port;
	return 0;
}

void soft_ud_listen(struct soft_dev *dev, uint16_t number, void *owner)
{
	struct soft_ud_port *port = find_port(dev, number);
	int rc = port ? 0 : open_port(dev, number, &port);

	if (rc)
		dapl_err_limited("%s: no datagram endpoints at qualifier %u: %s", dev->name, number,
				 dapl_strerror(-rc));
	else
		port->owner = owner;
}

void soft_ud_unlisten(struct soft_dev *dev, void *owner)
{
	struct soft_ud_port *port;

	list_for_each(port, &dev->cm->ud_ports, node)
		if (port->owner == owner)
			break;
	if (&port->node == &dev->cm->ud_ports)
		return;
	port->owner = NULL;
	port_check(port);
}

static void free_conns(struct list *conns)
{
	while (!list_empty(conns))
		conn_free(container_of(conns->next, struct soft_ud_conn, node));
}

void soft_ud_stop(struct soft_dev *dev)
{
	struct soft_ud_port *port;
	struct soft_ud_conn *conn;

	free_conns(&dev->cm->ud_active);
	while (!list_empty(&dev->cm->ud_ports)) {
		port = container_of(dev->cm->ud_ports.next, struct soft_ud_port, node);
		conn = container_of(port->conns.next, struct soft_ud_conn, node);
		conn_free(conn); /* the port goes with its last */
	}
}
