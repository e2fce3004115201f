/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rdma_cm connection manager: the core's calls, and the steps of a connection. */
#include "providers/verbs/cm/cm.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"

#define BACKLOG	  1024	    /* requests that the kernel copies_sge for the loop */
#define PORTS	  16	    /* tried, where the kernel's choice is taken below */
#define ASKING_NS 500000000 /* for TCP's answer to an attempt that was given up */

/* ---- Subjects ---- */

bool vrb_enter(struct vrb_subject *subject)
{
	struct vrb_dev *dev = subject->dev;
	bool alive;

	pthread_mutex_lock(&dev->cm_lock);
	while (subject->busy && !pthread_equal(subject->by, pthread_self()))
		pthread_cond_wait(&dev->cm_left, &dev->cm_lock);
	alive = !subject->dead;
	if (alive) {
		subject->busy++;
		subject->by = pthread_self();
	}
	pthread_mutex_unlock(&dev->cm_lock);
	return alive;
}

void vrb_leave(struct vrb_subject *subject)
{
	struct vrb_dev *dev = subject->dev;

	pthread_mutex_lock(&dev->cm_lock);
	subject->busy--;
	pthread_cond_broadcast(&dev->cm_left);
	pthread_mutex_unlock(&dev->cm_lock);
}

void vrb_retire(struct vrb_subject *subject)
{
	struct vrb_dev *dev = subject->dev;
	struct vrb_conn *conn;

	pthread_mutex_lock(&dev->cm_lock);
	while (subject->busy && !pthread_equal(subject->by, pthread_self()))
		pthread_cond_wait(&dev->cm_left, &dev->cm_lock);
	subject->dead = true;
	if (!subject->listener) {
		conn = vrb_container(subject, struct vrb_conn, subject);
		if (conn->qp && conn->qp->conn == conn)
			conn->qp->conn = NULL;
	}
	pthread_cond_broadcast(&dev->cm_left);
	pthread_mutex_unlock(&dev->cm_lock);
}

void vrb_pin(struct vrb_subject *subject)
{
	pthread_mutex_lock(&subject->dev->cm_lock);
	subject->pins++;
	pthread_mutex_unlock(&subject->dev->cm_lock);
}

void vrb_unpin(struct vrb_subject *subject)
{
	bool last;

	pthread_mutex_lock(&subject->dev->cm_lock);
	last = !--subject->pins;
	pthread_mutex_unlock(&subject->dev->cm_lock);
	if (!last)
		return;
	if (subject->listener)
		free(vrb_container(subject, struct vrb_listener, subject));
	else
		free(vrb_container(subject, struct vrb_conn, subject));
}

struct vrb_conn *vrb_conn_new(struct vrb_dev *dev)
{
	struct vrb_conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		dapl_err_limited("%s: connection not made: %s", dev->name, dapl_strerror(ENOMEM));
		return NULL;
	}
	conn->base.dev = &dev->base;
	conn->subject = (struct vrb_subject){ .dev = dev, .pins = 1 };
	return conn;
}

/* The loop finds the connection of a QP from here on. */
static void join(struct vrb_conn *conn, struct vrb_qp *qp)
{
	struct vrb_dev *dev = conn->subject.dev;

	pthread_mutex_lock(&dev->cm_lock);
	conn->qp = qp;
	qp->conn = conn;
	pthread_mutex_unlock(&dev->cm_lock);
}

/* The core is told from the loop. */
static void tell_later(struct vrb_conn *conn, enum tp_conn_event event, int err)
{
	conn->late = true;
	conn->late_event = event;
	conn->late_err = err;
	vrb_qp_notify(conn->qp);
}

/* ---- Listening ---- */

static int listen_failed(struct vrb_dev *dev, uint64_t qual, int err)
{
	if (!qual && err == EADDRINUSE)
		err = EADDRNOTAVAIL;
	dapl_trace(rdma_no_listen, DAPL_TRC_ERROR, dev, "ia=%s qualifier=%llu why=%s", dev->name,
		   (unsigned long long)qual, dapl_strerror(err));
	switch (err) {
	case EADDRINUSE:
	case EADDRNOTAVAIL:
	case EMFILE:
	case ENFILE:
	case EACCES:
		return -err;
	default:
		return -ENOMEM;
	}
}

/* A port that the kernel chose may be taken below, by a TCP socket under an iWARP device. */
static int listen_on(struct vrb_dev *dev, uint64_t qual, struct vrb_listener *listener)
{
	struct sockaddr_storage addr = dev->addr;
	int tries = qual ? 1 : PORTS, err = 0;

	vrb_addr_set_port(&addr, (uint16_t)qual);
	while (tries--) {
		if (rdma_create_id(dev->channel, &listener->id, &listener->subject, RDMA_PS_TCP))
			return listen_failed(dev, qual, errno);
		if (!rdma_bind_addr(listener->id, (struct sockaddr *)&addr)) {
			listener->base.conn_qual = ntohs(rdma_get_src_port(listener->id));
			if (!rdma_listen(listener->id, BACKLOG))
				return 0;
		}
		err = errno;
		rdma_destroy_id(listener->id);
		if (err != EADDRINUSE)
			break;
	}
	return listen_failed(dev, qual, err);
}

static int cm_listen(struct tp_device *base, uint64_t qual, void *owner, struct tp_listener **out)
{
	struct vrb_dev *dev = vrb_dev(base);
	struct vrb_listener *listener;
	int rc;

	if (qual > UINT16_MAX)
		return -EINVAL;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return listen_failed(dev, qual, ENOMEM);
	listener->base = (struct tp_listener){ .dev = base, .owner = owner };
	listener->subject = (struct vrb_subject){ .dev = dev, .listener = true, .pins = 1 };
	/* A request may arrive before listen has returned: the core asks for the qualifier then. */
	vrb_enter(&listener->subject);
	*out = &listener->base;
	rc = listen_on(dev, qual, listener);
	vrb_leave(&listener->subject);
	if (rc) {
		*out = NULL;
		vrb_retire(&listener->subject);
		vrb_unpin(&listener->subject);
	}
	return rc;
}

static void cm_unlisten(struct tp_listener *base)
{
	struct vrb_listener *listener = vrb_container(base, struct vrb_listener, base);

	vrb_retire(&listener->subject);
	rdma_destroy_id(listener->id);
	vrb_unpin(&listener->subject);
}

/* ---- Steps of the active side ---- */

int vrb_conn_resolve_addr(struct vrb_conn *conn)
{
	conn->state = VRB_CONN_ADDR;
	return rdma_resolve_addr(conn->id, NULL, (struct sockaddr *)&conn->to,
				 (int)conn->subject.dev->config->arp_timeout_ms)
		       ? -errno
		       : 0;
}

int vrb_conn_resolve_route(struct vrb_conn *conn)
{
	conn->state = VRB_CONN_ROUTE;
	return rdma_resolve_route(conn->id, (int)conn->subject.dev->config->route_timeout_ms)
		       ? -errno
		       : 0;
}

static uint8_t lesser(uint32_t a, uint32_t b)
{
	return (uint8_t)(a < b ? a : b);
}

/* The connection may have been given up meanwhile, and its QP be gone. */
static void asking_failed(struct vrb_ask *ask)
{
	struct vrb_conn *conn = vrb_container(ask, struct vrb_conn, ask);
	struct vrb_dev *dev = conn->subject.dev;

	pthread_mutex_lock(&dev->cm_lock);
	if (!conn->subject.dead)
		vrb_qp_notify(conn->qp);
	pthread_mutex_unlock(&dev->cm_lock);
}

static int ask_iwarp(struct vrb_conn *conn, const struct rdma_conn_param *param)
{
	int rc;

	/* The kernel has the QP talk before it tells so. */
	if (conn->qp->rq.cq)
		vrb_cq_defer(conn->qp->rq.cq, conn->qp);
	vrb_qp_to_rts(conn->qp, conn->id, &conn->depth);
	conn->ask.id = conn->id;
	conn->ask.param = *param;
	conn->ask.param.private_data = conn->data;
	conn->ask.param.private_data_len = (uint8_t)conn->data_len;
	conn->ask.failed = asking_failed;
	atomic_store(&conn->ask.err, 0);
	rc = vrb_ask_begin(&conn->ask);
	conn->asking = !rc;
	return rc;
}

static int ask_ib(struct vrb_conn *conn, struct rdma_conn_param *param)
{
	struct vrb_pd_frame frame;

	vrb_pd_request(&frame, conn->data, conn->data_len);
	param->private_data = frame.bytes;
	param->private_data_len = frame.len;
	param->flow_control = frame.flow_control;
	return rdma_connect(conn->id, param) ? -errno : 0;
}

static void fill_param(const struct vrb_conn *conn, struct rdma_conn_param *param)
{
	*param = (struct rdma_conn_param){
		.responder_resources = conn->depth.in,
		.initiator_depth = conn->depth.out,
		.retry_count = (uint8_t)conn->subject.dev->config->ack_retry,
		.rnr_retry_count = (uint8_t)conn->subject.dev->config->rnr_retry,
		.qp_num = conn->qp->ibqp->qp_num,
	};
}

int vrb_conn_ask(struct vrb_conn *conn)
{
	struct rdma_conn_param param;
	int rc = 0;

	conn->state = VRB_CONN_ASKED;
	conn->depth = (struct vrb_depth){ lesser(conn->qp->max_read_in, UINT8_MAX),
					  lesser(conn->qp->max_read_out, UINT8_MAX) };
	if (!conn->ports)
		rc = vrb_qp_to_init(conn->qp, conn->id);
	if (!conn->ports && !rc)
		rc = vrb_qp_post_receives(conn->qp);
	if (rc)
		return rc;
	fill_param(conn, &param);
	return conn->subject.dev->iwarp ? ask_iwarp(conn, &param) : ask_ib(conn, &param);
}

void vrb_conn_open(struct vrb_conn *conn, const void *data, uint32_t len)
{
	struct vrb_dev *dev = conn->subject.dev;

	vrb_qp_open(conn->qp);
	conn->state = VRB_CONN_OPEN;
	conn->counted = true;
	pthread_mutex_lock(&dev->lock);
	dev->num_open++;
	if (!dev->pulsing)
		dapl_loop_timer(dev->base.loop, &dev->pulse,
				dapl_now() + (uint64_t)dev->config->pulse_ms * 1000000);
	dev->pulsing = true;
	pthread_mutex_unlock(&dev->lock);
	dev->base.up->conn_event(conn->base.owner, TP_CONN_ESTABLISHED, 0, len ? data : NULL, len);
}

/* ---- connect ---- */

/* A wish of the administrator's that the connection does not depend on. */
static void set_tos(struct vrb_conn *conn)
{
	const struct vrb_dev *dev = conn->subject.dev;
	uint8_t tos = (uint8_t)dev->config->tos;

	if (tos && rdma_set_option(conn->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)))
		dapl_err("%s: traffic class %u not set (option tos): %s", dev->name, tos,
			 dapl_strerror(errno));
}

/* A bound id, so that this end's port is known from now on (EP-13). */
static int open_id(struct vrb_conn *conn)
{
	struct vrb_dev *dev = conn->subject.dev;
	struct sockaddr_storage addr = dev->addr;
	int err;

	if (rdma_create_id(dev->channel, &conn->id, &conn->subject, RDMA_PS_TCP)) {
		err = errno;
		goto fail;
	}
	if (rdma_bind_addr(conn->id, (struct sockaddr *)&addr)) {
		err = errno == EADDRINUSE ? EADDRNOTAVAIL : errno;
		rdma_destroy_id(conn->id);
		conn->id = NULL;
		goto fail;
	}
	set_tos(conn);
	pthread_mutex_lock(&dev->cm_lock);
	conn->addr.local_qual = ntohs(rdma_get_src_port(conn->id));
	pthread_mutex_unlock(&dev->cm_lock);
	return 0;

fail:
	dapl_err("%s: connection not started: %s", dev->name, dapl_port_strerror(err));
	return err == ENODEV || err == EADDRNOTAVAIL || err == EMFILE || err == ENFILE ? -err
										       : -ENOMEM;
}

/* The kernel's choice is free among RDMA's ports; TCP sockets have theirs. */
int vrb_conn_other_port(struct vrb_conn *conn, int err)
{
	const char *name = conn->subject.dev->name;
	int rc;

	if (err != EADDRINUSE && err != EADDRNOTAVAIL)
		return -err;
	if (++conn->ports == PORTS) {
		dapl_err("%s: connection not asked for: %d ports were tried, the last one was "
			 "%llu: %s",
			 name, PORTS, (unsigned long long)conn->addr.local_qual,
			 dapl_port_strerror(err));
		return -err;
	}
	dapl_trace(rdma_port_taken, DAPL_TRC_NORMAL, conn, "ia=%s port=%llu why=%s", name,
		   (unsigned long long)conn->addr.local_qual, dapl_strerror(err));
	vrb_conn_drop_id(conn);
	rc = open_id(conn);
	if (rc)
		return rc;
	conn->subject.dev->base.up->conn_addr(conn->base.owner);
	return vrb_conn_resolve_addr(conn);
}

static void set_remote(struct vrb_conn *conn, const struct tp_connect *param)
{
	memcpy(&conn->to, param->remote,
	       param->remote->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						    : sizeof(struct sockaddr_in));
	vrb_addr_set_port(&conn->to, (uint16_t)param->conn_qual);
	conn->addr.remote = conn->to;
	vrb_addr_set_port(&conn->addr.remote, 0);
	conn->addr.remote_qual = param->conn_qual;
	conn->data_len = param->private_data_len;
	if (conn->data_len)
		memcpy(conn->data, param->private_data, conn->data_len);
}

static void start(struct vrb_conn *conn, uint64_t qual)
{
	int rc;

	if (!qual || qual > UINT16_MAX) {
		tell_later(conn, TP_CONN_REFUSED, -ECONNREFUSED);
		return;
	}
	rc = vrb_conn_resolve_addr(conn);
	if (rc)
		tell_later(conn, TP_CONN_UNREACHABLE, rc);
}

static int cm_connect(struct tp_qp *base, const struct tp_connect *param, void *owner,
		      struct tp_conn **out)
{
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_conn *conn = vrb_conn_new(qp->dev);
	int rc;

	if (!conn)
		return -ENOMEM;
	if (param->private_data_len > sizeof(conn->data)) {
		rc = -EINVAL;
		goto free_conn;
	}
	set_remote(conn, param);
	rc = vrb_qp_prepare(qp);
	if (!rc)
		rc = open_id(conn);
	if (rc)
		goto free_conn;
	conn->base.owner = owner;
	vrb_enter(&conn->subject);
	join(conn, qp);
	*out = &conn->base;
	start(conn, param->conn_qual);
	vrb_leave(&conn->subject);
	return 0;

free_conn:
	free(conn);
	return rc;
}

/* ---- accept and reject ---- */

static int answer(struct vrb_conn *conn, const void *data, uint32_t len)
{
	struct vrb_dev *dev = conn->subject.dev;
	struct rdma_conn_param param;
	struct vrb_pd_frame frame;
	int rc;

	rc = vrb_qp_to_init(conn->qp, conn->id);
	if (!rc)
		rc = vrb_qp_post_receives(conn->qp);
	if (!rc)
		rc = vrb_qp_to_rts(conn->qp, conn->id, &conn->depth);
	if (rc)
		return rc;
	fill_param(conn, &param);
	if (dev->iwarp) {
		param.private_data = data;
		param.private_data_len = (uint8_t)len;
	} else {
		vrb_pd_reply(&frame, data, len);
		param.private_data = frame.bytes;
		param.private_data_len = frame.len;
		param.flow_control = frame.flow_control;
	}
	return rdma_accept(conn->id, &param) ? -errno : 0;
}

static int cm_accept(struct tp_conn *base, struct tp_qp *qp_base, const void *data, uint32_t len,
		     void *owner)
{
	struct vrb_conn *conn = vrb_conn(base);
	struct vrb_qp *qp = vrb_qp(qp_base);
	int rc;

	rc = vrb_qp_prepare(qp);
	if (rc)
		return rc;
	vrb_enter(&conn->subject);
	conn->base.owner = owner;
	join(conn, qp);
	conn->state = VRB_CONN_ACCEPTED;
	conn->depth.in = lesser(conn->depth.in, qp->max_read_in);
	conn->depth.out = lesser(conn->depth.out, qp->max_read_out);
	rc = conn->gone ? -ECONNRESET : answer(conn, data, len);
	if (rc)
		tell_later(conn, TP_CONN_BROKEN, rc);
	vrb_leave(&conn->subject);
	return 0;
}

/* InfiniBand's reject has reasons: the one that is not the program's is ours to give. */
void vrb_refuse(struct vrb_dev *dev, struct rdma_cm_id *id)
{
	if (!dev->iwarp && rdma_reject_ece(id, NULL, 0))
		rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

void vrb_conn_drop_id(struct vrb_conn *conn)
{
	struct rdma_cm_id *id = conn->id;

	conn->id = NULL;
	if (id)
		rdma_destroy_id(id);
}

static int cm_reject(struct tp_conn *base, const void *data, uint32_t len)
{
	struct vrb_conn *conn = vrb_conn(base);
	uint8_t bytes[VRB_PD_REJECT_MAX];
	int rc = 0;

	vrb_enter(&conn->subject);
	if (conn->id && !conn->gone) {
		len = vrb_pd_reject(bytes, data, len, conn->subject.dev->iwarp);
		rc = rdma_reject(conn->id, bytes, (uint8_t)len);
	}
	if (rc)
		dapl_trace(rdma_no_reject, DAPL_TRC_NORMAL, conn, "ia=%s why=%s",
			   conn->subject.dev->name, dapl_strerror(errno));
	vrb_leave(&conn->subject);
	vrb_retire(&conn->subject);
	vrb_conn_drop_id(conn);
	vrb_unpin(&conn->subject);
	return 0;
}

/* ---- The end ---- */

static void uncount(struct vrb_conn *conn)
{
	struct vrb_dev *dev = conn->subject.dev;

	if (!conn->counted)
		return;
	conn->counted = false;
	pthread_mutex_lock(&dev->lock);
	dev->num_open--;
	pthread_mutex_unlock(&dev->lock);
}

static void reap_attempt(struct vrb_reap *item)
{
	struct vrb_conn *conn = vrb_container(item, struct vrb_conn, reap);
	int err;

	vrb_ask_cut(&conn->ask, conn->reap_by);
	rdma_destroy_id(conn->reap_id);
	err = conn->reap_qp ? ibv_destroy_qp(conn->reap_qp) : 0;
	if (err)
		dapl_err("%s: QP 0x%x not destroyed: %s", conn->subject.dev->name,
			 conn->reap_qp->qp_num, dapl_strerror(err));
	vrb_unpin(&conn->subject);
}

/* Of the answer, should it come, nobody hears. */
static void abandon_attempt(struct vrb_conn *conn)
{
	conn->asking = false;
	conn->reap.run = reap_attempt;
	conn->reap_by = dapl_now() + ASKING_NS;
	conn->reap_qp = vrb_qp_orphan(conn->qp);
	conn->reap_id = conn->id;
	conn->id = NULL;
	vrb_pin(&conn->subject);
	vrb_reap(conn->subject.dev, &conn->reap);
}

void vrb_conn_end(struct vrb_conn *conn)
{
	bool siw = conn->subject.dev->siw, talked;
	enum vrb_conn_state was = conn->state;
	struct vrb_qp *qp = conn->qp;

	conn->state = VRB_CONN_ENDED;
	if (was == VRB_CONN_ENDED)
		return;
	uncount(conn);
	if (conn->asking) {
		abandon_attempt(conn);
		return;
	}
	/* InfiniBand has no end for what the peer has not consented to, but a rejection. */
	talked = was == VRB_CONN_OPEN || (was == VRB_CONN_ACCEPTED && conn->subject.dev->iwarp);
	if (talked && conn->id && !siw)
		rdma_disconnect(conn->id);
	if (qp && atomic_exchange(&qp->draining, false) && qp->sq.cq)
		vrb_cq_drain(qp->sq.cq, false);
	if (qp)
		vrb_qp_to_error(qp);
	/* soft-iWARP's QP, closed in order first, may keep what it has not begun to send. */
	if (talked && conn->id && siw)
		rdma_disconnect(conn->id);
	/* Withdraws an attempt; with iWARP the kernel waits for the peer unless the QP failed. */
	if (!talked)
		vrb_conn_drop_id(conn);
}

void vrb_conn_over(struct vrb_conn *conn, enum tp_conn_event event, int err, const void *data,
		   uint32_t len)
{
	struct vrb_dev *dev = conn->subject.dev;

	if (conn->state == VRB_CONN_ENDED)
		return;
	vrb_conn_end(conn);
	/* A failure that the flush brought to light, or the device has yet to tell, is the reason.
	 */
	vrb_dev_events(dev);
	if (event == TP_CONN_DISCONNECTED && atomic_load(&conn->qp->fault)) {
		event = TP_CONN_BROKEN;
		err = -EIO;
	}
	if (!conn->silent)
		dev->base.up->conn_event(conn->base.owner, event, err, len ? data : NULL, len);
}

static void begin_drain(struct vrb_conn *conn)
{
	struct vrb_qp *qp = conn->qp;

	if (conn->state != VRB_CONN_OPEN || atomic_exchange(&qp->draining, true))
		return;
	vrb_qp_post_drain(qp);
	if (qp->sq.cq) {
		vrb_queue_choose_path(&qp->sq);
		vrb_cq_drain(qp->sq.cq, true);
	}
	vrb_qp_notify(qp);
}

static void cm_disconnect(struct tp_conn *base, bool graceful)
{
	struct vrb_conn *conn = vrb_conn(base);

	vrb_enter(&conn->subject);
	if (graceful) {
		begin_drain(conn);
	} else {
		conn->silent = true;
		vrb_conn_end(conn);
	}
	vrb_leave(&conn->subject);
}

static void cm_release(struct tp_conn *base)
{
	struct vrb_conn *conn = vrb_conn(base);
	struct rdma_cm_id *id;

	vrb_retire(&conn->subject);
	conn->silent = true;
	if (conn->state == VRB_CONN_REQUEST && conn->id && !conn->gone) {
		id = conn->id;
		conn->id = NULL;
		vrb_refuse(conn->subject.dev, id);
	}
	vrb_conn_end(conn);
	vrb_conn_drop_id(conn);
	vrb_unpin(&conn->subject);
}

static void cm_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	struct vrb_conn *conn = vrb_conn(base);

	pthread_mutex_lock(&conn->subject.dev->cm_lock);
	*addr = conn->addr;
	pthread_mutex_unlock(&conn->subject.dev->cm_lock);
}

const struct dapl_cm_ops vrb_cm_ops = {
	.listen = cm_listen,
	.unlisten = cm_unlisten,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.handoff = dapl_lacking_handoff,
	.disconnect = cm_disconnect,
	.release = cm_release,
	.addr = cm_addr,
};
