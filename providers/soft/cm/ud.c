/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/ud_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/ud.h"
#include "trace/log.h"

enum {
	FIRST_REPEAT_MS = 50, /* doubled each time */
	LAST_REPEAT_MS = 1000,
};

/* ---- Frames ---- */

static void send_to(int fd, const void *buf, size_t len, const struct sockaddr_storage *to)
{
	/* What is lost is repeated, or asked for again. */
	(void)!sendto(fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to,
		      to ? soft_addr_len(to) : 0);
}

void soft_ud_send_out(struct soft_ud_conn *conn)
{
	if (conn->port)
		send_to(conn->port->watch.fd, conn->out, conn->out_len, &conn->remote);
	else
		send_to(conn->watch.fd, conn->out, conn->out_len, NULL);
}

void soft_ud_build(struct soft_ud_conn *conn, enum soft_ud_type type, const void *data,
		   uint32_t len)
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

void soft_ud_answer(struct soft_ud_port *port, const struct sockaddr_storage *to, uint64_t id,
		    enum soft_ud_type type)
{
	const struct soft_ud_frame frame = { .type = (uint8_t)type, .id = id };
	uint8_t buf[SOFT_UD_HEADER];

	soft_ud_encode(buf, &frame);
	send_to(port->watch.fd, buf, sizeof(buf), to);
}

/* ---- Life ---- */

void soft_ud_set_timer(struct soft_ud_conn *conn, uint32_t ms)
{
	dapl_loop_timer(conn->dev->base.loop, &conn->timer, dapl_now() + ms * 1000000ull);
}

static bool is_pending(enum soft_ud_state state)
{
	return state == SOFT_UD_REQUESTED || state == SOFT_UD_REPLYING || state == SOFT_UD_REJECTED;
}

void soft_ud_go(struct soft_ud_conn *conn, enum soft_ud_state state)
{
	if (conn->port)
		conn->port->pending += is_pending(state) - is_pending(conn->state);
	conn->state = state;
}

static void expired(struct tp_timer *timer);

struct soft_ud_conn *soft_ud_conn_new(struct soft_dev *dev, enum soft_ud_state state,
				      struct soft_ud_port *port)
{
	struct soft_ud_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->any = (struct soft_any_conn){ .base = { .dev = &dev->base }, .ud = true };
	conn->dev = dev;
	conn->port = port;
	conn->state = SOFT_UD_OVER;
	soft_ud_go(conn, state);
	conn->watch.fd = -1;
	conn->timer.expired = expired;
	list_add(port ? &port->conns : &dev->cm->ud_active, &conn->node);
	return conn;
}

void soft_ud_port_check(struct soft_ud_port *port)
{
	if (port->owner || !list_empty(&port->conns))
		return;
	dapl_loop_del(port->dev->base.loop, &port->watch);
	dapl_fd_close(port->watch.fd);
	list_del(&port->node);
	free(port);
}

/* Nothing is sent or heard any more. */
static void end(struct soft_ud_conn *conn)
{
	soft_ud_go(conn, SOFT_UD_OVER);
	dapl_loop_timer_cancel(conn->dev->base.loop, &conn->timer);
	if (conn->watch.fd < 0)
		return;
	dapl_loop_del(conn->dev->base.loop, &conn->watch);
	dapl_fd_close(conn->watch.fd);
	conn->watch.fd = -1;
}

void soft_ud_conn_free(struct soft_ud_conn *conn)
{
	struct soft_ud_port *port = conn->port;

	end(conn);
	list_del(&conn->node);
	free(conn);
	if (port)
		soft_ud_port_check(port);
}

/* ---- Outcomes ---- */

void soft_ud_fail(struct soft_ud_conn *conn, enum tp_conn_event event, int err, const void *data,
		  uint32_t len)
{
	char to[SOFT_ADDR_TEXT];

	if (event != TP_CONN_REJECTED)
		dapl_err_limited("%s: no address of a datagram endpoint %s %s: %s", conn->dev->name,
				 conn->port ? "acknowledged by" : "from",
				 soft_addr_text(&conn->remote, conn->remote_qual, to),
				 dapl_strerror(-err));
	end(conn);
	conn->dev->base.up->ud_event(conn->base.owner, event, err, NULL, data, len);
}

void soft_ud_resolve(struct soft_ud_conn *conn, const void *data, uint32_t len)
{
	struct tp_ud_peer peer = { .qpn = conn->peer.qpn };
	struct soft_ah *ah = calloc(1, sizeof(*ah));

	if (!ah) {
		soft_ud_fail(conn, TP_CONN_BROKEN, -ENOMEM, NULL, 0);
		return;
	}
	dapl_loop_timer_cancel(conn->dev->base.loop, &conn->timer);
	soft_ud_go(conn, SOFT_UD_RESOLVED);
	ah->addr = conn->remote;
	soft_addr_set_port(&ah->addr, conn->peer.port);
	ah->qkey = conn->peer.qkey;
	peer.ah = ah;
	conn->dev->base.up->ud_event(conn->base.owner, TP_CONN_ESTABLISHED, 0, &peer, data, len);
}

static void expired(struct tp_timer *timer)
{
	struct soft_ud_conn *conn = container_of(timer, struct soft_ud_conn, timer);

	if (conn->state != SOFT_UD_REQUESTING && conn->state != SOFT_UD_REPLYING) {
		soft_ud_conn_free(conn); /* it lingered */
		return;
	}
	if (!conn->repeat_ms || (conn->refused && dapl_now() >= conn->give_up)) {
		soft_ud_fail(conn, TP_CONN_REFUSED, -ECONNREFUSED, NULL, 0);
		return;
	}
	if (dapl_now() >= conn->give_up) {
		soft_ud_fail(conn, conn->port ? TP_CONN_BROKEN : TP_CONN_UNREACHABLE, -ETIMEDOUT,
			     NULL, 0);
		return;
	}
	soft_ud_send_out(conn);
	if (conn->repeat_ms < LAST_REPEAT_MS)
		conn->repeat_ms *= 2;
	soft_ud_set_timer(conn, conn->repeat_ms);
}

void soft_ud_begin(struct soft_ud_conn *conn, uint64_t time_ms)
{
	conn->give_up = dapl_now() + time_ms * 1000000;
	conn->repeat_ms = FIRST_REPEAT_MS;
	soft_ud_send_out(conn);
	soft_ud_set_timer(conn, conn->repeat_ms);
}

/* ---- Both ---- */

static int disconnect_on_loop(void *arg)
{
	struct soft_ud_conn *conn = arg;

	if (conn->state != SOFT_UD_RESOLVED)
		end(conn);
	return 0;
}

void soft_ud_disconnect(struct tp_conn *conn)
{
	soft_dev_call(soft_dev(conn->dev), disconnect_on_loop, soft_ud_conn_of(conn));
}

/* One that is resolved answers its peer for a while yet. */
static int release_on_loop(void *arg)
{
	struct soft_ud_conn *conn = arg;

	conn->qp = NULL;
	if (conn->state == SOFT_UD_REQUESTED)
		soft_ud_answer(conn->port, &conn->remote, conn->id, SOFT_UD_REJECT);
	if (conn->state == SOFT_UD_RESOLVED)
		soft_ud_set_timer(conn, SOFT_UD_LINGER_MS);
	else
		soft_ud_conn_free(conn);
	return 0;
}

void soft_ud_release(struct tp_conn *conn)
{
	soft_dev_call(soft_dev(conn->dev), release_on_loop, soft_ud_conn_of(conn));
}

void soft_ud_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	struct soft_ud_conn *conn = soft_ud_conn_of(base);

	addr->remote = conn->remote;
	soft_addr_set_port(&addr->remote, 0);
	addr->local_qual = conn->local_qual;
	addr->remote_qual = conn->remote_qual;
}

void soft_ud_free_ah(struct tp_device *dev, void *ah)
{
	free(ah);
}
