/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What ends a connection, whichever connection manager made it. */
#include <errno.h>

#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/async.h"
#include "providers/verbs/cm/cm.h"
#include "providers/verbs/qp.h"

void vrb_cm_begin_drain(struct vrb_qp *qp)
{
	if (atomic_exchange(&qp->draining, true))
		return;
	/* Nothing tells when the last one is done, then; a QP in error, which may refuse too, does. */
	if (vrb_qp_drain(qp) == -ENOMEM)
		vrb_qp_set_fault(qp, TP_WC_TRANSPORT);
	if (qp->sq.cq) {
		vrb_queue_choose_path(&qp->sq);
		vrb_cq_drain(qp->sq.cq, true);
	}
	vrb_qp_notify(qp);
}

void vrb_cm_end_qp(struct vrb_qp *qp)
{
	if (atomic_exchange(&qp->draining, false) && qp->sq.cq)
		vrb_cq_drain(qp->sq.cq, false);
	atomic_store(&qp->ended, true);
	vrb_qp_to_error(qp);
}

enum tp_conn_event vrb_cm_fault_here(struct vrb_qp *qp)
{
	struct vrb_dev *dev = qp->dev;

	vrb_qp_collect(qp);
	if (vrb_qp_set_fault(qp, TP_WC_TRANSPORT) && !atomic_exchange(&qp->fault_told, true))
		dev->base.up->async(dev->base.owner, TP_ASYNC_QP_ERROR, qp->base.owner);
	return TP_CONN_BROKEN;
}

bool vrb_cm_was_fault(struct vrb_qp *qp, enum tp_conn_event event)
{
	if (!qp)
		return false;
	vrb_async_poll(qp->dev);
	return event == TP_CONN_DISCONNECTED && atomic_load(&qp->fault);
}

void vrb_cm_explain(const struct vrb_dev *dev, const struct tp_conn_addr *addr,
		    enum tp_conn_event event, int err)
{
	struct sockaddr_storage peer = addr->remote;
	char text[VRB_ADDR_TEXT];

	if (!err || event == TP_CONN_REJECTED || event == TP_CONN_DISCONNECTED)
		return;
	vrb_addr_set_port(&peer, (uint16_t)addr->remote_qual);
	dapl_err_limited("%s: %s %s: %s", dev->name,
			 event == TP_CONN_BROKEN ? "connection lost with" : "not connected to",
			 vrb_addr_text(&peer, text), dapl_strerror(-err));
}
