/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The active side of a resolution. */
#include "providers/soft/cm/ud_conn.h"

#include <errno.h>
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
	DEFAULT_TIME_MS = 30000, /* without option peer_timeout */
	BELIEVED_MS = 200,	 /* soft_ud_conn.repeat_ms when the second repetition is out */
};

static uint64_t active_time(const struct soft_ud_conn *conn)
{
	int64_t ms = conn->dev->config->peer_timeout_ms;

	return ms ? (uint64_t)ms : DEFAULT_TIME_MS;
}

static void acknowledge(struct soft_ud_conn *conn)
{
	soft_ud_build(conn, SOFT_UD_ACK, NULL, 0);
	soft_ud_send_out(conn);
}

static void active_frame(struct soft_ud_conn *conn, const struct soft_ud_frame *frame)
{
	if (frame->id != conn->id)
		return;
	if (conn->state == SOFT_UD_RESOLVED && frame->type == SOFT_UD_REPLY)
		acknowledge(conn); /* the first was lost */
	if (conn->state != SOFT_UD_REQUESTING)
		return;
	switch (frame->type) {
	case SOFT_UD_WAIT:
		conn->refused = false;
		conn->give_up = dapl_now() + active_time(conn) * 1000000;
		break;
	case SOFT_UD_REPLY:
		conn->peer = *frame;
		acknowledge(conn);
		soft_ud_resolve(conn, frame->data, frame->len);
		break;
	case SOFT_UD_REJECT:
		if (frame->flags & SOFT_UD_PROGRAM)
			soft_ud_fail(conn, TP_CONN_REJECTED, 0, frame->data, frame->len);
		else
			soft_ud_fail(conn, TP_CONN_REFUSED, -ECONNREFUSED, NULL, 0);
		break;
	default:
		break;
	}
}

/*
 * What the network says of a peer; of an exchange that is over it says nothing. Two programs that
 * tell each other where they listen may ask before they do: nobody is there if the second
 * repetition finds nobody either.
 */
static void active_error(struct soft_ud_conn *conn, int err)
{
	if (conn->state != SOFT_UD_REQUESTING)
		return;
	conn->refused = err == ECONNREFUSED;
	if (conn->refused && conn->repeat_ms >= BELIEVED_MS)
		soft_ud_fail(conn, TP_CONN_REFUSED, -err, NULL, 0);
	else if (err == EHOSTUNREACH || err == ENETUNREACH || err == EHOSTDOWN || err == ENETDOWN)
		soft_ud_fail(conn, TP_CONN_UNREACHABLE, -err, NULL, 0);
}

static void active_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_ud_conn *conn = container_of(watch, struct soft_ud_conn, watch);
	struct soft_ud_frame frame;
	uint8_t buf[SOFT_UD_SETUP_MAX + 1];
	ssize_t len;

	for (int i = 0; i < SOFT_UD_FRAMES_PER_EVENT && watch->fd >= 0; i++) {
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

/* What connect says of an address to which there is no way. */
static int no_way(int err)
{
	bool loopback = err == EINVAL; /* and the address is another host's */
	bool broadcast = err == EACCES;

	return loopback || broadcast || err == ENETDOWN ? -ENETUNREACH : -err;
}

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
		rc = no_way(errno);
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
	struct soft_ud_conn *conn = soft_ud_conn_new(call->qp->dev, SOFT_UD_REQUESTING, NULL);
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
		soft_ud_build(conn, SOFT_UD_REQUEST, param->private_data, param->private_data_len);
		soft_ud_begin(conn, active_time(conn));
		return 0;
	}
	if (rc == -ECONNREFUSED) { /* EP-71: told as if a peer had */
		conn->repeat_ms = 0;
		soft_ud_set_timer(conn, 0);
		return 0;
	}
	soft_ud_conn_free(conn);
	return rc;
}

int soft_ud_connect(struct soft_qp *qp, const struct tp_connect *param, void *owner,
		    struct tp_conn **out)
{
	struct connecting call = { qp, param, owner, out };
	char to[SOFT_ADDR_TEXT];
	int rc;

	if (param->remote->sa_family != qp->dev->addr.ss_family)
		return -EAFNOSUPPORT;
	rc = soft_dev_call(qp->dev, connect_on_loop, &call);
	if (rc)
		dapl_err("%s: not connecting to %s: %s", qp->dev->name,
			 soft_addr_text(param->remote, param->conn_qual, to),
			 dapl_port_strerror(-rc));
	return rc;
}
