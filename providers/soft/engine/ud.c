/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/engine/ud.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "dapl/base/fd.h"
#include "dapl/unsupported.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/memory/copy.h"
#include "trace/log.h"

enum {
	FRAMES_PER_EVENT = 64,
	SOCKET_BUFFER = 4 << 20, /* the kernel lowers it to its own limit */
};

/* ---- Sending ---- */

/* Copies the segments behind the header; false: not all of it is memory to be sent. */
static bool gather(const struct soft_qp *qp, const struct tp_wr *wr, uint8_t *to)
{
	uint32_t left = wr->length, n;
	uint8_t *mem;

	for (uint32_t i = 0; i < wr->num_sge && left; i++) {
		n = wr->sge[i].length < left ? wr->sge[i].length : left;
		if (!n)
			continue;
		if (soft_stag_check(&qp->prot, wr->sge[i].lkey, wr->sge[i].addr, n,
				    SOFT_ACCESS_LOCAL_READ, &mem) ||
		    !soft_copy_out(to, mem, n))
			return false;
		to += n;
		left -= n;
	}
	return true;
}

/* What the network does not take is lost, as datagrams may be (IBX-59, IBX-79). */
static void send_frame(struct soft_qp *qp, const struct tp_wr *wr, uint8_t *buf)
{
	const struct soft_ah *ah = wr->ah;
	struct soft_ud_frame frame = {
		.type = SOFT_UD_DATA,
		.flags = wr->flags & TP_WR_SOLICITED ? SOFT_UD_SOLICITED : 0,
		.qpn = wr->ud.qpn,
		.qkey = ah->qkey,
		.len = (uint16_t)wr->length,
	};

	soft_ud_encode(buf, &frame);
	if (sendto(qp->ud->watch.fd, buf, SOFT_UD_HEADER + wr->length, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)&ah->addr, soft_addr_len(&ah->addr)) < 0)
		soft_count(qp->dev, SOFT_COUNT_XMT_WAIT);
}

/* Whose completion is lost is never told that its request is over: nothing of it breaks (EVD-95). */
static int no_place(const struct soft_qp *qp)
{
	dapl_err_limited("%s: datagram not sent: no place for its completion (limit: the queue "
			 "length of its dispatcher; knob: evd_min_qlen of dat_evd_create, "
			 "dat_evd_resize)",
			 qp->dev->name);
	return -ENOMEM;
}

/* It is over as it is posted: its data is taken, and then the network has it or has not. */
static int ud_post_send(struct tp_qp *base, struct tp_wr *wr)
{
	struct soft_qp *qp = soft_qp(base);
	struct tp_wc wc = { .wr_id = wr->wr_id, .status = TP_WC_FLUSHED };
	uint8_t buf[SOFT_UD_FRAME_MAX];
	int rc = 0;

	if (atomic_load_explicit(&qp->state, memory_order_relaxed) == SOFT_QP_IDLE)
		return -ENOTCONN;
	if (wr->length > SOFT_UD_MAX)
		return -EINVAL;
	dapl_lock(&qp->lock);
	if (!qp->ud->broken)
		wc.status = gather(qp, wr, buf + SOFT_UD_HEADER)
				    ? TP_WC_SUCCESS
				    : TP_WC_LOCAL_PROTECTION; /* IBX-82 */
	if ((wc.status || wr->flags & TP_WR_SIGNALED) && !soft_complete_posted(qp, &wc))
		rc = no_place(qp);
	else if (wc.status)
		qp->ud->broken = true;
	else
		send_frame(qp, wr, buf);
	dapl_unlock(&qp->lock);
	return rc;
}

/* ---- Receiving; on the loop ---- */

/* Places it behind the reserved bytes; false: a key does not allow it, or the memory is gone. */
static bool scatter(struct soft_qp *qp, const struct soft_ud_frame *frame)
{
	struct iovec iov[SOFT_MAX_SGE];
	const uint8_t *from = frame->data;
	int num = frame->len ? soft_recv_iov(qp, TP_UD_RESERVED, frame->len, iov, SOFT_MAX_SGE) : 0;

	if (num < 0)
		return false;
	for (int i = 0; i < num; i++) {
		if (!soft_copy_in(iov[i].iov_base, from, iov[i].iov_len))
			return false;
		from += iov[i].iov_len;
	}
	return true;
}

/* Dropped where there is no Receive (IBX-85); one that is too small completes (IBX-84). */
static void receive(struct soft_qp *qp, const struct soft_ud_frame *frame)
{
	struct tp_wc wc = {
		.flags = TP_WC_RECV | TP_WC_DATAGRAM,
		.byte_len = TP_UD_RESERVED + frame->len,
	};

	if (frame->flags & SOFT_UD_SOLICITED)
		wc.flags |= TP_WC_SOLICITED;
	dapl_lock(&qp->lock);
	if (!soft_ring_used(&qp->rq)) {
		soft_count(qp->dev, SOFT_COUNT_RQ_OOS);
		goto unlock;
	}
	if (soft_recv_room(qp) < wc.byte_len)
		wc.status = TP_WC_LOCAL_LENGTH;
	else if (!scatter(qp, frame))
		wc.status = TP_WC_LOCAL_PROTECTION;
	soft_complete_recv(qp, &wc);
unlock:
	dapl_unlock(&qp->lock);
}

static void ud_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_ud *ud = container_of(watch, struct soft_ud, watch);
	struct soft_ud_frame frame;
	ssize_t len;

	for (int i = 0; i < FRAMES_PER_EVENT; i++) {
		len = recv(watch->fd, ud->frame, sizeof(ud->frame), MSG_DONTWAIT);
		if (len < 0 && errno != EINTR && errno != ECONNREFUSED)
			return;
		if (len < 0)
			continue;
		if (!soft_ud_decode(ud->frame, (size_t)len, &frame) || frame.type != SOFT_UD_DATA ||
		    frame.qpn != ud->qpn || frame.qkey != ud->qkey)
			soft_count(ud->qp->dev, SOFT_COUNT_RCV);
		else
			receive(ud->qp, &frame);
	}
}

/* ---- Life ---- */

static void set_int(int fd, int level, int name, int value)
{
	/* None of these is needed for correctness. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

int soft_ud_socket(const struct soft_dev *dev, uint16_t *port)
{
	struct sockaddr_storage addr = dev->addr;
	socklen_t len = sizeof(addr);
	int fd = dapl_fd_own(socket(addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int err;

	if (fd < 0)
		return -errno;
	set_int(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER);
	if (dev->config->tos && addr.ss_family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, (int)dev->config->tos);
	else if (dev->config->tos)
		set_int(fd, IPPROTO_IP, IP_TOS, (int)dev->config->tos);
	soft_addr_set_port(&addr, *port);
	if (bind(fd, (struct sockaddr *)&addr, soft_addr_len(&addr)) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len)) {
		err = -errno;
		dapl_fd_close(fd);
		return err;
	}
	*port = soft_addr_port(&addr);
	return fd;
}

static void ud_destroy(struct tp_qp *base)
{
	struct soft_ud *ud = soft_qp(base)->ud;

	dapl_loop_del(base->dev->loop, &ud->watch);
	dapl_fd_close(ud->watch.fd);
	free(ud);
	soft_qp_destroy(base);
}

static const struct dapl_qp_ops qp_ops = {
	.modify = soft_qp_modify,
	.reset = dapl_unsupported_reset,
	.destroy = ud_destroy,
	.post_send = ud_post_send,
	.post_recv = soft_qp_post_recv,
	.limit_recv = dapl_unsupported_limit_recv,
	.pending = soft_qp_pending,
};

/* Number and key are nobody's to guess: who was not told them reaches no Receive. */
static int choose_names(struct soft_ud *ud)
{
	uint32_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	ud->qpn = (random[0] << 16 | ud->port) & SOFT_UD_QPN_MASK;
	ud->qkey = random[1];
	return 0;
}

int soft_ud_open(struct soft_qp *qp)
{
	struct soft_ud *ud = calloc(1, sizeof(*ud));
	int rc = -ENOMEM;

	if (!ud)
		goto explain;
	ud->qp = qp;
	ud->watch.ready = ud_ready;
	ud->watch.fd = rc = soft_ud_socket(qp->dev, &ud->port);
	if (rc < 0)
		goto free_ud;
	rc = choose_names(ud);
	if (rc)
		goto close_fd;
	qp->ud = ud;
	qp->base.ops = &qp_ops;
	atomic_store(&qp->state, SOFT_QP_LIVE);
	atomic_store(&qp->dev->looped, true);
	rc = dapl_loop_add(qp->base.dev->loop, &ud->watch, EPOLLIN);
	if (!rc)
		return 0;
	qp->ud = NULL;
close_fd:
	dapl_fd_close(ud->watch.fd);
free_ud:
	free(ud);
explain:
	dapl_err("%s: no queue pair of datagrams: %s", qp->dev->name, dapl_strerror(-rc));
	return rc == -EADDRINUSE ? -EMFILE : rc;
}
