/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of librdmacm. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/zoo/rdma.h"

/* ---- Channels and ids ---- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct my_event_channel *my = calloc(1, sizeof(*my));

	zoo_global();
	if (my)
		my->chan = zoo_make_channel("create_event_channel", &my->ib.fd);
	if (my && my->chan)
		return &my->ib;
	free(my);
	return NULL;
}

void rdma_destroy_event_channel(struct rdma_event_channel *ib)
{
	struct my_event_channel *my = my(event_channel, ib);

	zoo_lock();
	zoo_chan_close(my->chan);
	zoo_unlock();
	close(ib->fd);
	free(my);
}

struct my_id *zoo_my_id(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps)
{
	struct my_id *my = calloc(1, sizeof(*my));

	if (!my)
		return NULL;
	my->ib.channel = channel;
	my->ib.context = context;
	my->ib.ps = ps;
	my->ib.qp_type = IBV_QPT_RC;
	pthread_mutex_init(&my->mutex, NULL);
	pthread_cond_init(&my->cond, NULL);
	return my;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context,
		   enum rdma_port_space ps)
{
	int err = zoo_refuses("create_id");
	struct my_id *my = err ? NULL : zoo_my_id(channel, context, ps);

	if (!my)
		return zoo_failed(err ? err : ENOMEM);
	zoo_global();
	zoo_lock();
	my->id = zoo_id_new(zoo_me, my(event_channel, channel)->chan);
	my->id->user = my;
	zoo_unlock();
	*out = &my->ib;
	return 0;
}

void zoo_id_free(struct zoo_id *id)
{
	zoo_free(id->resend);
	zoo_link_del(&id->link);
	zoo_link_del(&id->chain);
	zoo_free(id);
}

void zoo_reject_unanswered(struct zoo_id *id, int reason)
{
	struct zoo_link *link;
	struct zoo_id *peer;

	for (link = zoo->ids; link; link = link->next) {
		peer = zoo_entry(link, struct zoo_id, link);
		if (peer->peer != id->number)
			continue;
		id->peer = peer->number;
		zoo_send(id, ZOO_REJ, reason, NULL, false);
		return;
	}
}

void zoo_leave_listener(struct zoo_id *id)
{
	if (id->listener)
		id->listener->waiting--;
	id->listener = NULL;
}

void zoo_id_end(struct zoo_id *id)
{
	struct zoo_link *link;

	zoo_chan_purge(id->chan, id);
	zoo_leave_listener(id);
	if (id->state == ZOO_LISTEN)
		for (link = zoo->ids; link; link = link->next)
			if (zoo_entry(link, struct zoo_id, link)->listener == id)
				zoo_entry(link, struct zoo_id, link)->listener = NULL;
	if (id->card && zoo_iwarp(zoo_kind_of(id->card)))
		zoo_iwarp_end(id);
	else if (id->card)
		zoo_ib_end(id);
	zoo_id_free(id);
}

int rdma_destroy_id(struct rdma_cm_id *ib)
{
	struct my_id *my = my(id, ib);
	uint32_t delivered;

	if (zoo->destroy_us)
		usleep(zoo->destroy_us);
	zoo_global();
	zoo_lock();
	zoo_chan_purge(my->id->chan, my->id);
	delivered = my->id->delivered;
	zoo_id_end(my->id);
	zoo_unlock();
	zoo_await_acks(&my->mutex, &my->cond, &my->completed, delivered);
	free(my);
	return 0;
}

/* ---- Before connecting ---- */

#define MAX_BACKLOG 1024 /* what ucma_listen makes of 0, too (net.rdma_ucm.max_backlog) */

int rdma_listen(struct rdma_cm_id *ib, int backlog)
{
	struct zoo_id *id = my(id, ib)->id;
	int err = zoo_refuses("listen");

	zoo_lock();
	if (!err && id->state != ZOO_BOUND)
		err = EINVAL;
	if (!err) {
		id->state = ZOO_LISTEN;
		id->backlog =
			backlog > 0 && backlog < MAX_BACKLOG ? (uint32_t)backlog : MAX_BACKLOG;
	}
	zoo_unlock();
	return err ? zoo_failed(err) : 0;
}

int rdma_resolve_route(struct rdma_cm_id *ib, int timeout)
{
	(void)timeout;
	zoo_lock();
	zoo_id_event(my(id, ib)->id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	zoo_unlock();
	return 0;
}

int rdma_set_option(struct rdma_cm_id *ib, int level, int name, void *value, size_t len)
{
	if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_TOS && len == 1)
		my(id, ib)->id->tos = *(const uint8_t *)value;
	return 0;
}

/* ---- Connecting ---- */

static bool silent(const struct zoo_id *id)
{
	uint32_t i;

	for (i = 0; i < zoo->num_cards; i++)
		if (zoo_port_at(&zoo->cards[i], id->dst))
			return false;
	return true;
}

/* As soft-iWARP's: until TCP has an answer. */
static int await_tcp(struct zoo_id *id)
{
	bool waiting = true;

	while (waiting) {
		usleep(1000);
		zoo_lock();
		waiting = id->state == ZOO_REQ_SENT;
		zoo_unlock();
	}
	return ETIMEDOUT;
}

int rdma_connect(struct rdma_cm_id *ib, struct rdma_conn_param *param)
{
	struct zoo_id *id = my(id, ib)->id;
	bool iwarp = zoo_iwarp(zoo_kind_of(id->card));
	int err = zoo_refuses("connect");
	bool blocks;

	if (!err && !iwarp && param->private_data_len > zoo_req_data(id))
		err = EINVAL;
	if (err)
		return zoo_failed(err);
	zoo_lock();
	id->qpn = ib->qp ? ib->qp->qp_num : param->qp_num;
	if (iwarp)
		err = zoo_iwarp_take_qp(id);
	if (!err && id->state != ZOO_BOUND)
		err = EINVAL;
	blocks = zoo_kind_of(id->card)->connect_blocks;
	if (!err && blocks && !silent(id) && !zoo_listens(id->dst, id->dst_port))
		err = ECONNREFUSED;
	if (!err) {
		id->state = ZOO_REQ_SENT;
		zoo_send(id, ZOO_REQ, 0, param, true);
	}
	zoo_unlock();
	if (!err && blocks && silent(id))
		err = await_tcp(id);
	return err ? zoo_failed(err) : 0;
}

/* The kernel closes what a process had open before anybody hears of its end; the keeper does not. */
static void end_of_the_dead(struct zoo_id *peer)
{
	if (peer && kill(peer->proc->pid, 0) && errno == ESRCH)
		zoo_id_end(peer);
}

int rdma_accept(struct rdma_cm_id *ib, struct rdma_conn_param *param)
{
	struct zoo_id *id = my(id, ib)->id;
	bool iwarp = zoo_iwarp(zoo_kind_of(id->card));
	int err = zoo_refuses("accept");

	if (!err && zoo_qp_accepts(ib))
		err = errno;
	if (err)
		return zoo_failed(err);
	zoo_lock();
	end_of_the_dead(zoo_id_find(id->peer));
	id->qpn = ib->qp ? ib->qp->qp_num : param->qp_num;
	if (id->state != ZOO_REQ_RCVD)
		err = iwarp && id->state == ZOO_CLOSED ? ECONNRESET : EINVAL;
	if (!err && iwarp)
		err = zoo_iwarp_take_qp(id);
	if (!err) {
		id->state = ZOO_REP_SENT;
		if (iwarp)
			zoo_iwarp_accepted(id);
		zoo_send(id, ZOO_REP, 0, param, !iwarp);
	}
	zoo_unlock();
	return err ? zoo_failed(err) : 0;
}

static int reject(struct rdma_cm_id *ib, int reason, const void *data, uint8_t len)
{
	struct rdma_conn_param param = { .private_data = data, .private_data_len = len };
	struct zoo_id *id = my(id, ib)->id;
	int err = 0;

	zoo_lock();
	if (id->state != ZOO_REQ_RCVD)
		err = EINVAL;
	if (!err) {
		zoo_send(id, ZOO_REJ, reason, &param, false);
		id->state = ZOO_CLOSED;
	}
	zoo_unlock();
	return err ? zoo_failed(err) : 0;
}

int rdma_reject(struct rdma_cm_id *ib, const void *data, uint8_t len)
{
	const struct zoo_kind *kind = zoo_kind_of(my(id, ib)->id->card);

	return reject(ib, zoo_iwarp(kind) ? kind->reject_status : ZOO_REJ_CONSUMER, data, len);
}

int rdma_reject_ece(struct rdma_cm_id *ib, const void *data, uint8_t len)
{
	const struct zoo_kind *kind = zoo_kind_of(my(id, ib)->id->card);

	return reject(ib, zoo_iwarp(kind) ? kind->reject_status : ZOO_REJ_OPTION, data, len);
}

int rdma_establish(struct rdma_cm_id *ib)
{
	struct zoo_id *id = my(id, ib)->id;
	int err = 0;

	zoo_lock();
	if (id->state == ZOO_REP_RCVD) {
		id->state = ZOO_ESTABLISHED;
		zoo_send(id, ZOO_RTU, 0, NULL, false);
	} else {
		err = EINVAL;
	}
	zoo_unlock();
	return err ? zoo_failed(err) : 0;
}

int rdma_notify(struct rdma_cm_id *ib, enum ibv_event_type event)
{
	struct zoo_id *id = my(id, ib)->id;
	int err = 0;

	zoo_lock();
	if (event == IBV_EVENT_COMM_EST && id->state == ZOO_REP_SENT) {
		zoo_free(id->resend);
		id->resend = NULL;
		id->deadline = 0;
		id->state = ZOO_ESTABLISHED;
		zoo_id_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	} else {
		err = id->state == ZOO_ESTABLISHED ? EISCONN : EINVAL;
	}
	zoo_unlock();
	return err ? zoo_failed(err) : 0;
}

/* What the program began ends with the peer's answer, what the peer began with ours. Where there is
 * nothing to end, the call succeeds nevertheless (cma.c, rdma_disconnect). */
static int disconnect_ib(struct zoo_id *id)
{
	if (id->state == ZOO_ESTABLISHED || id->state == ZOO_REP_SENT) {
		id->state = ZOO_DREQ_SENT;
		zoo_send(id, ZOO_DREQ, 0, NULL, true);
	} else if (id->state == ZOO_DREQ_RCVD) {
		zoo_send(id, ZOO_DREP, 0, NULL, false);
		zoo_ib_closed(id);
	}
	return id->state < ZOO_REQ_SENT ? EINVAL : 0;
}

int rdma_disconnect(struct rdma_cm_id *ib)
{
	struct zoo_id *id = my(id, ib)->id;
	int err = 0;

	zoo_qp_ends(ib);
	zoo_lock();
	if (!zoo_iwarp(zoo_kind_of(id->card)))
		err = disconnect_ib(id);
	else if (id->state == ZOO_ESTABLISHED)
		zoo_iwarp_begin_close(id);
	else
		err = id->state < ZOO_REQ_SENT ? EINVAL : 0;
	zoo_unlock();
	return err ? zoo_failed(err) : 0;
}
