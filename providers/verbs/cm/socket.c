/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's calls. */
#include <errno.h>

#include "dapl/base/loop_call.h"
#include "dapl/unsupported.h"
#include "providers/verbs/cm/socket.h"

/* ---- The end ---- */

static int end_now(void *arg)
{
	struct vrb_conn *conn = arg;

	conn->quiet = true;
	vrb_scm_end(conn);
	return 0;
}

static int end_gracefully(void *arg)
{
	struct vrb_conn *conn = arg;

	if (conn->state == SCM_CONNECTED)
		vrb_cm_begin_drain(conn->qp);
	return 0;
}

static void cm_disconnect(struct tp_conn *base, bool graceful)
{
	dapl_loop_call(base->dev->loop, graceful ? end_gracefully : end_now, vrb_conn(base));
}

static int release(void *arg)
{
	struct vrb_conn *conn = arg;

	if (conn->state == SCM_CONSUMER)
		vrb_scm_refuse(conn);
	end_now(conn);
	if (conn->qp && conn->qp->conn == conn)
		conn->qp->conn = NULL;
	conn->qp = NULL;
	vrb_scm_drop(conn);
	return 0;
}

static void cm_release(struct tp_conn *base)
{
	dapl_loop_call(base->dev->loop, release, vrb_conn(base));
}

static void cm_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	struct vrb_conn *conn = vrb_conn(base);

	pthread_mutex_lock(&conn->dev->cm_lock);
	*addr = conn->addr;
	pthread_mutex_unlock(&conn->dev->cm_lock);
}

/* ---- What the QP has to say ---- */

static void qp_event(struct vrb_qp *qp)
{
	struct vrb_conn *conn = qp->conn;

	atomic_store(&qp->peer_sent, false);
	if (!conn)
		return;
	if (conn->state == SCM_CONNECTED || conn->state == SCM_WAIT_RTU) {
		if (atomic_load(&qp->fault))
			vrb_scm_ended(conn, TP_CONN_BROKEN, -EIO, NULL, 0);
		else if (atomic_load(&qp->draining) && !vrb_queue_used(&qp->sq))
			vrb_scm_ended(conn, TP_CONN_DISCONNECTED, 0, NULL, 0);
	} else if (atomic_load(&qp->dev->gone)) {
		vrb_scm_ended(conn, TP_CONN_UNREACHABLE, -ENODEV, NULL, 0);
	}
}

/* ---- Tables ---- */

const struct dapl_cm_ops vrb_cm_ops = {
	.listen = vrb_scm_listen,
	.unlisten = vrb_scm_unlisten,
	.connect = vrb_scm_connect,
	.accept = vrb_scm_accept,
	.reject = vrb_scm_reject,
	.handoff = dapl_unsupported_handoff,
	.free_ah = dapl_unsupported_free_ah,
	.disconnect = cm_disconnect,
	.release = cm_release,
	.addr = cm_addr,
};

static int start(struct vrb_dev *dev)
{
	dev->attr.max_private_data = XCHG_DATA;
	dev->attr.max_conn_qual = UINT32_MAX; /* SCM-1, and EP-71 */
	dev->qp_event = qp_event;
	return 0;
}

static int drop_all(void *arg)
{
	vrb_scm_drop_half_open(arg, NULL);
	return 0;
}

static void stop(struct vrb_dev *dev)
{
	dapl_loop_call(dev->base.loop, drop_all, dev);
}

const char vrb_cm_name[] = "SCM";

const struct vrb_cm vrb_cm = {
	.open = vrb_scm_open,
	.close = vrb_scm_close,
	.start = start,
	.stop = stop,
};
