/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "providers/soft/cm/accept.h"
#include "providers/soft/cm/orphan.h"
#include "providers/soft/cm/ud.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"

/* ---- What the engine tells ---- */

/*
 * A peer that ends a connection because it has seen all of them come about has confirmed the others
 * before: they are told first.
 */
static void ended(struct soft_conn *conn)
{
	bool data_phase = conn->state == SOFT_CONN_LIVE || conn->state == SOFT_CONN_DRAINING;

	if (data_phase && conn->dev->cm->confirming) {
		dapl_loop_post(conn->base.dev->loop, &conn->task);
		return;
	}
	soft_conn_hold(conn);
	if (data_phase)
		soft_accept_confirm_all(conn->dev);
	soft_conn_finish(conn, SOFT_CAUSE_OVER);
	soft_conn_drop(conn);
}

static const struct soft_conn_hooks hooks = {
	.arrived = soft_accept_confirmed,
	.ended = ended,
};

/* ---- The program's calls ---- */

struct disconnect {
	struct soft_conn *conn;
	bool graceful;
};

static int disconnect_on_loop(void *arg)
{
	struct disconnect *disconnect = arg;
	struct soft_conn *conn = disconnect->conn;

	soft_conn_take(conn, disconnect->graceful ? SOFT_CAUSE_DISCONNECT_GRACEFUL
						  : SOFT_CAUSE_DISCONNECT);
	if (conn->state == SOFT_CONN_DRAINING)
		soft_conn_drain(conn);
	return 0;
}

void soft_disconnect(struct tp_conn *base, bool graceful)
{
	struct disconnect disconnect = { soft_conn(base), graceful };

	if (soft_is_ud(base))
		soft_ud_disconnect(base);
	else
		soft_dev_call(disconnect.conn->dev, disconnect_on_loop, &disconnect);
}

static int release_on_loop(void *arg)
{
	soft_conn_discard(arg, SOFT_CAUSE_DISCONNECT);
	return 0;
}

void soft_release(struct tp_conn *base)
{
	struct soft_conn *conn = soft_conn(base);

	if (soft_is_ud(base))
		soft_ud_release(base);
	else
		soft_dev_call(conn->dev, release_on_loop, conn);
}

/* lock held. */
static const char *link_why(const struct soft_conn *conn)
{
	bool tcp = conn->link_name && !strcmp(conn->link_name, "tcp");

	if (tcp && conn->link_why)
		return conn->link_why;
	if (conn->dev->config->link != SOFT_LINK_AUTO)
		return "option link";
	if (!tcp)
		return "both ends are on this host";
	return "the peer came so";
}

void soft_conn_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	struct soft_conn *conn = soft_conn(base);

	if (soft_is_ud(base)) {
		soft_ud_addr(base, addr);
		return;
	}
	pthread_mutex_lock(&conn->lock);
	addr->remote = conn->remote;
	addr->local_qual = conn->local_qual;
	addr->remote_qual = conn->remote_qual;
	addr->link = conn->link_name;
	addr->link_why = link_why(conn);
	if (conn->crc_why) {
		addr->crc = conn->crc ? "yes" : "no";
		addr->crc_why = conn->crc_why;
	}
	pthread_mutex_unlock(&conn->lock);
}

/* ---- The device's part ---- */

int soft_cm_open(struct soft_dev *dev)
{
	struct soft_cm *cm = calloc(1, sizeof(*cm));

	if (!cm)
		return -ENOMEM;
	list_init(&cm->awaiting);
	list_init(&cm->orphans);
	list_init(&cm->ud_active);
	list_init(&cm->ud_ports);
	for (int i = 0; i < SOFT_BUDGETS; i++)
		soft_budget_init(&cm->budget[i], (enum soft_budget_kind)i);
	dev->cm = cm;
	dev->hooks = &hooks;
	return 0;
}

static int unsent(void *arg)
{
	return soft_orphans_unsent(arg);
}

void soft_cm_settle(struct soft_dev *dev)
{
	uint64_t until = dapl_now() + (uint64_t)dev->config->linger_ms * 1000000;
	struct timespec pause = { .tv_nsec = 1000000 };
	const long longest = 16000000;

	if (dapl_loop_is_self(dev->base.loop))
		return;
	while (soft_dev_call(dev, unsent, dev) && dapl_now() < until) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < longest)
			pause.tv_nsec *= 2;
	}
}

void soft_cm_stop(struct soft_dev *dev)
{
	soft_orphans_close(dev);
	soft_ud_stop(dev);
}
