/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The passive side of resolutions, and the ports of service points. */
#include "providers/soft/cm/ud_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/base/config.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/ud.h"
#include "trace/log.h"

enum {
	MAX_PENDING = 1024, /* requests at a port, unless option half_open says more */
};

/* ---- Requests ---- */

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
		if (conn->state == SOFT_UD_REJECTED) {
			soft_ud_conn_free(conn);
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
		soft_ud_answer(port, from, frame->id, SOFT_UD_REJECT);
		return;
	}
	conn = make_room(port) ? soft_ud_conn_new(port->dev, SOFT_UD_REQUESTED, port) : NULL;
	if (!conn)
		return; /* it will be repeated */
	conn->remote = *from;
	conn->local_qual = port->port;
	conn->remote_qual = soft_addr_port(from);
	conn->id = frame->id;
	conn->peer = *frame;
	if (!port->dev->base.up->conn_request(port->owner, &conn->base, &req))
		return;
	soft_ud_answer(port, from, frame->id, SOFT_UD_REJECT);
	soft_ud_conn_free(conn);
}

static void passive_frame(struct soft_ud_port *port, const struct sockaddr_storage *from,
			  const struct soft_ud_frame *frame)
{
	struct soft_ud_conn *conn = find(port, from, frame->id);

	if (frame->type == SOFT_UD_REQUEST && !conn)
		new_request(port, from, frame);
	else if (frame->type == SOFT_UD_REQUEST && conn->state == SOFT_UD_REQUESTED)
		soft_ud_answer(port, from, frame->id, SOFT_UD_WAIT);
	else if (frame->type == SOFT_UD_REQUEST && conn->state != SOFT_UD_OVER)
		soft_ud_send_out(conn);
	else if (frame->type == SOFT_UD_ACK && conn && conn->state == SOFT_UD_REPLYING)
		soft_ud_resolve(conn, NULL, 0);
}

static void port_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_ud_port *port = container_of(watch, struct soft_ud_port, watch);
	struct soft_dev *dev = port->dev;
	struct sockaddr_storage from;
	struct soft_ud_frame frame;
	uint8_t buf[SOFT_UD_SETUP_MAX + 1];
	socklen_t from_len;
	ssize_t len;

	/* The last one may go with what it is told. */
	for (int i = 0; i < SOFT_UD_FRAMES_PER_EVENT && is_port(dev, port); i++) {
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
	soft_ud_go(conn, SOFT_UD_REPLYING);
	soft_ud_build(conn, SOFT_UD_REPLY, call->data, call->len);
	soft_ud_begin(conn, (uint64_t)conn->dev->config->handshake_ms);
	return 0;
}

int soft_ud_accept(struct tp_conn *base, struct tp_qp *qp, const void *private_data, uint32_t len,
		   void *owner)
{
	struct replying call = { soft_ud_conn_of(base), soft_qp(qp), owner, private_data, len };

	return soft_dev_call(call.conn->dev, accept_on_loop, &call);
}

static int reject_on_loop(void *arg)
{
	const struct replying *call = arg;

	soft_ud_go(call->conn, SOFT_UD_REJECTED);
	soft_ud_build(call->conn, SOFT_UD_REJECT, call->data, call->len);
	soft_ud_send_out(call->conn);
	soft_ud_set_timer(call->conn, SOFT_UD_LINGER_MS);
	return 0;
}

int soft_ud_reject(struct tp_conn *base, const void *private_data, uint32_t len)
{
	struct replying call = { soft_ud_conn_of(base), NULL, NULL, private_data, len };

	return soft_dev_call(call.conn->dev, reject_on_loop, &call);
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

int soft_ud_listen(struct soft_dev *dev, uint16_t number, void *owner)
{
	struct soft_ud_port *port = find_port(dev, number);
	int rc = port ? 0 : open_port(dev, number, &port);

	if (!rc)
		port->owner = owner;
	return rc;
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
	soft_ud_port_check(port);
}

static void free_conns(struct list *conns)
{
	while (!list_empty(conns))
		soft_ud_conn_free(container_of(conns->next, struct soft_ud_conn, node));
}

void soft_ud_stop(struct soft_dev *dev)
{
	struct soft_ud_port *port;
	struct soft_ud_conn *conn;

	free_conns(&dev->cm->ud_active);
	while (!list_empty(&dev->cm->ud_ports)) {
		port = container_of(dev->cm->ud_ports.next, struct soft_ud_port, node);
		conn = container_of(port->conns.next, struct soft_ud_conn, node);
		soft_ud_conn_free(conn); /* the port goes with its last */
	}
}
