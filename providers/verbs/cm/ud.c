/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/lock.h"
#include "dapl/base/loop_call.h"
#include "dapl/unsupported.h"
#include "trace/log.h"
#include "providers/verbs/cm/ud.h"

/* ---- The end ---- */

static int end_now(void *arg)
{
	struct vrb_conn *conn = arg;

	conn->quiet = true;
	vrb_ucm_end(conn, UCM_TELL);
	return 0;
}

static int end_gracefully(void *arg)
{
	struct vrb_conn *conn = arg;

	if (conn->state == UCM_CONNECTED)
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

	end_now(conn);
	dapl_loop_cancel(conn->dev->base.loop, &conn->task);
	if (conn->qp && conn->qp->conn == conn)
		conn->qp->conn = NULL;
	conn->qp = NULL;
	vrb_ucm_drop(conn);
	return 0;
}

static void cm_release(struct tp_conn *base)
{
	dapl_loop_call(base->dev->loop, release, vrb_conn(base));
}

/* Nothing of it changes. */
static void cm_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	*addr = vrb_conn(base)->addr;
}

/* ---- What the QP has to say ---- */

/* The device took it out of service with its receives; where its requests alone fail it goes on. */
static bool has_failed(struct vrb_qp *qp)
{
	enum vrb_mode mode;

	vrb_qp_lock(qp);
	mode = qp->sq.mode;
	vrb_qp_unlock(qp);
	return atomic_load(&qp->dev->gone) || vrb_qp_is_mute(qp) || mode == VRB_QUEUE_FLUSHING ||
	       vrb_qp_found_fault(qp);
}

static struct vrb_conn *unresolved(const struct vrb_qp *qp, const struct list *chain)
{
	struct vrb_conn *conn;

	list_for_each(conn, chain, by_id)
		if (conn->qp == qp && !conn->resolved && !vrb_ucm_is_over(conn))
			return conn;
	return NULL;
}

/* If all of a QP of datagrams failed, its work is flushed and its resolutions end. */
static void datagrams_event(struct vrb_qp *qp)
{
	bool gone = atomic_load(&qp->dev->gone);
	struct vrb_ucm *ucm = vrb_ucm(qp->dev);
	struct vrb_conn *conn;
	uint32_t i;

	if (!qp->served || !has_failed(qp))
		return;
	vrb_qp_to_error(qp);
	for (i = 0; i < VRB_UCM_CHAINS; i++)
		while ((conn = unresolved(qp, &ucm->by_id[i])))
			vrb_ucm_ended(conn, gone ? UCM_FORGET : UCM_TELL, TP_CONN_BROKEN,
				      gone ? -ENODEV : -EIO, NULL, 0);
}

static void qp_event(struct vrb_qp *qp)
{
	bool peer_sent = atomic_exchange(&qp->peer_sent, false);
	struct vrb_conn *conn = qp->conn;

	if (qp->ud)
		datagrams_event(qp);
	if (!conn)
		return;
	/* The peer's data is here, and its confirmation is not. */
	if (vrb_ucm_awaits_rtu(conn) && peer_sent)
		vrb_ucm_established(conn, NULL, 0);
	if (conn->state == UCM_CONNECTED || conn->state == UCM_WAIT_RTU) {
		if (atomic_load(&qp->fault))
			vrb_ucm_ended(conn, UCM_TELL, TP_CONN_BROKEN, -EIO, NULL, 0);
		else if (atomic_load(&qp->draining) && !vrb_queue_used(&qp->sq))
			vrb_ucm_ended(conn, UCM_TELL, TP_CONN_DISCONNECTED, 0, NULL, 0);
	} else if (atomic_load(&qp->dev->gone)) {
		vrb_ucm_ended(conn, UCM_FORGET, TP_CONN_UNREACHABLE, -ENODEV, NULL, 0);
	}
}

/* ---- Tables ---- */

const struct dapl_cm_ops vrb_cm_ops = {
	.listen = vrb_ucm_listen,
	.unlisten = vrb_ucm_unlisten,
	.connect = vrb_ucm_connect,
	.accept = vrb_ucm_accept,
	.reject = vrb_ucm_reject,
	.handoff = dapl_unsupported_handoff,
	.disconnect = cm_disconnect,
	.release = cm_release,
	.addr = cm_addr,
	.free_ah = vrb_ucm_free_ah,
};

/* The address has the number of the QP, and the port's LID. */
static int learn_address(struct vrb_dev *dev)
{
	struct ucm_address *own = &vrb_ucm(dev)->own;
	struct ibv_port_attr port;
	int err = ibv_query_port(dev->ctx, dev->port, &port);

	if (err) {
		dapl_err("%s: port %u of %s does not tell its address: %s", dev->name, dev->port,
			 dev->ibdev, dapl_strerror(abs(err)));
		return -abs(err);
	}
	own->lid = port.lid;
	own->qpn = vrb_ucm(dev)->queue.qp->qp_num;
	own->type = XCHG_QPT_UD;
	memcpy(own->gid, dev->gid.raw, sizeof(own->gid));
	memset(&dev->addr, 0, sizeof(dev->addr));
	ucm_put_address((uint8_t *)&dev->addr, own);
	dev->attr.addr = dev->addr;
	return 0;
}

static int start(struct vrb_dev *dev)
{
	int rc = vrb_ucm_queue_open(dev);

	if (rc)
		return rc;
	dev->attr.max_private_data = XCHG_DATA;
	dev->attr.max_conn_qual = UINT32_MAX; /* UCM-4, and EP-71 */
	dev->attr.max_datagram = dev->attr.mtu;
	dev->qp_event = qp_event;
	rc = learn_address(dev);
	if (!rc)
		rc = vrb_ucm_queue_start(dev, vrb_ucm_receive);
	if (rc)
		vrb_ucm_queue_close(dev);
	return rc;
}

static int drop_all(void *arg)
{
	vrb_ucm_drop_all(arg);
	vrb_ucm_queue_stop(arg);
	return 0;
}

/* Peers have the time of one repetition to hear of the end, since nobody answers them after it. */
static void stop(struct vrb_dev *dev)
{
	uint64_t until = dapl_now() + (uint64_t)dev->config->ucm_drep_time_ms * 2000000;
	uint32_t *ending = &vrb_ucm(dev)->num_ending, num;

	while (!atomic_load(&dev->gone) && dapl_now() < until &&
	       (num = __atomic_load_n(ending, __ATOMIC_ACQUIRE)))
		dapl_futex_wait(ending, num, until);
	dapl_loop_call(dev->base.loop, drop_all, dev);
	vrb_ucm_queue_close(dev);
}

const char vrb_cm_name[] = "UCM";

const struct vrb_cm vrb_cm = {
	.open = vrb_ucm_open,
	.close = vrb_ucm_close,
	.start = start,
	.stop = stop,
};
