/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connecting over iWARP. soft-iWARP's rdma_connect keeps its caller in the kernel until TCP has an
 * answer, minutes where packets are lost: a thread of its own waits there. The kernel waits
 * interruptibly, in a write to the event channel; librdmacm holds no lock and no memory around it,
 * so that the thread may be cancelled there.
 */
#include <errno.h>
#include <time.h>

#include "trace/log.h"
#include "util/signals.h"
#include "providers/verbs/cm/rdma.h"

#define ABANDONED_NS 500000000 /* for TCP's answer to an attempt that was given up */

/* ---- The call ---- */

static void *run_call(void *arg)
{
	struct vrb_connect_call *call = arg;
	int err;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	err = rdma_connect(call->id, &call->param) ? errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (err) {
		atomic_store(&call->err, err);
		call->failed(call);
	}
	return NULL;
}

int vrb_connect_begin(struct vrb_connect_call *call)
{
	int err =
		dapl_thread_start(&call->thread, "dapl-connect", DAPL_SMALL_STACK, run_call, call);

	if (err) {
		dapl_err("connection not started: no thread for it (process limit RLIMIT_NPROC, "
			 "kernel's threads-max): %s",
			 dapl_strerror(err));
		return -err;
	}
	call->begun = true;
	return 0;
}

void vrb_connect_end(struct vrb_connect_call *call)
{
	if (call->begun)
		pthread_join(call->thread, NULL);
	call->begun = false;
}

/* A peer that is there answers soon, and had better not see half an attempt. */
void vrb_connect_cancel(struct vrb_connect_call *call, uint64_t deadline)
{
	struct timespec ts = { .tv_sec = (time_t)(deadline / 1000000000),
			       .tv_nsec = (long)(deadline % 1000000000) };

	if (!call->begun)
		return;
	call->begun = false;
	if (!pthread_clockjoin_np(call->thread, NULL, CLOCK_MONOTONIC, &ts))
		return;
	pthread_cancel(call->thread);
	pthread_join(call->thread, NULL);
}

/* ---- Connecting ---- */

/* The connection may have been given up meanwhile, and its QP be gone. */
static void call_failed(struct vrb_connect_call *call)
{
	struct vrb_conn *conn = container_of(call, struct vrb_conn, call);
	struct vrb_dev *dev = conn->object.dev;

	pthread_mutex_lock(&dev->cm_lock);
	if (!conn->left)
		vrb_qp_notify(conn->qp);
	pthread_mutex_unlock(&dev->cm_lock);
}

/* iwarp's QPs follow the kernel. */
static int iwarp_qp_ready(struct vrb_conn *conn)
{
	atomic_store(&conn->qp->live, true);
	return 0;
}

static int iwarp_connect(struct vrb_conn *conn, struct rdma_conn_param *param)
{
	int rc;

	/* The kernel has the QP talk before it tells so. */
	if (conn->qp->rq.cq)
		vrb_cq_defer(conn->qp->rq.cq, conn->qp);
	iwarp_qp_ready(conn);
	param->private_data = conn->data;
	param->private_data_len = (uint8_t)conn->data_len;
	conn->call.id = conn->id;
	conn->call.param = *param;
	conn->call.failed = call_failed;
	atomic_store(&conn->call.err, 0);
	rc = vrb_connect_begin(&conn->call);
	conn->calling = !rc;
	return rc;
}

static void reap_attempt(struct vrb_reap *item)
{
	struct vrb_conn *conn = container_of(item, struct vrb_conn, reap);
	int err;

	vrb_connect_cancel(&conn->call, conn->reap_by);
	VRB_GLOBAL(rdma_destroy_id(conn->reap_id));
	err = conn->reap_qp ? VRB_GLOBAL(ibv_destroy_qp(conn->reap_qp)) : 0;
	if (vrb_dev_kept(conn->object.dev, err))
		dapl_err("%s: QP 0x%x not destroyed: %s", conn->object.dev->name,
			 conn->reap_qp->qp_num, dapl_strerror(err));
	vrb_cm_put(&conn->object);
}

void vrb_connect_abandon(struct vrb_conn *conn)
{
	conn->calling = false;
	conn->reap.run = reap_attempt;
	conn->reap_by = dapl_now() + ABANDONED_NS;
	conn->reap_qp = vrb_qp_orphan(conn->qp);
	conn->reap_id = conn->id;
	conn->id = NULL;
	vrb_cm_get(&conn->object);
	vrb_reap(conn->object.dev, &conn->reap);
}

static int iwarp_accept(struct vrb_conn *conn, struct rdma_conn_param *param, const void *data,
			uint32_t len)
{
	struct dats_signals signals;
	int rc;

	param->private_data = data;
	param->private_data_len = (uint8_t)len;
	/* soft-iWARP sends the reply in this call, and the peer may have closed. */
	dats_signals_block(&signals);
	rc = rdma_accept(conn->id, param) ? vrb_conn_step_failed(conn, "not accepted") : 0;
	dats_signals_restore(&signals);
	return rc;
}

/*
 * An MPA reply that says no: of soft-iWARP and erdma the first, of irdma, i40iw and cxgb4 the
 * second, which all have for TCP's refusal too. That one brings no data, which tells them apart.
 */
static bool iwarp_by_program(int status)
{
	return status == -ECONNRESET || status == -ECONNREFUSED;
}

const struct vrb_rdma_ops vrb_rdma_iwarp = {
	.max_private_data = VRB_PD_MAX_IWARP,
	.by_program = iwarp_by_program,
	.ends_unconfirmed = true,
	.connect = iwarp_connect,
	.accept = iwarp_accept,
	.qp_ready = iwarp_qp_ready,
	.put_reject = vrb_pd_reject_iwarp,
	.get_reject = vrb_pd_rejected_iwarp,
};
