/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages between connection managers: sent, lost, late, repeated. */
#include <errno.h>
#include <string.h>

#include "test/zoo/cm.h"

/* ---- Ids ---- */

struct zoo_id *zoo_id_find(uint64_t number)
{
	struct zoo_link *link = zoo->id_chains[number % ZOO_CHAINS];

	for (; link; link = link->next)
		if (zoo_entry(link, struct zoo_id, chain)->number == number)
			return zoo_entry(link, struct zoo_id, chain);
	return NULL;
}

struct zoo_id *zoo_id_new(struct zoo_proc *proc, struct zoo_chan *chan)
{
	struct zoo_id *id = zoo_alloc(sizeof(*id));

	id->proc = proc;
	id->chan = chan;
	id->number = zoo->next_id++;
	zoo_link_add(&zoo->ids, &id->link);
	zoo_link_add(&zoo->id_chains[id->number % ZOO_CHAINS], &id->chain);
	return id;
}

void zoo_id_event(struct zoo_id *id, enum rdma_cm_event_type type, int status,
		  const struct zoo_msg *msg)
{
	struct zoo_event *event;

	if (id->quiet)
		return;
	event = zoo_alloc(sizeof(*event));
	event->object = id;
	event->delivered = &id->delivered;
	event->user_of = &id->user;
	event->type = (int)type;
	event->status = status;
	if (msg) {
		event->param = msg->param;
		event->param.qp_num = msg->qpn;
		memcpy(event->data, msg->data, sizeof(event->data));
	}
	zoo_chan_push(id->chan, event);
}

/* ---- Arriving ---- */

static struct zoo_card *card_at(struct in_addr addr)
{
	uint32_t i;

	for (i = 0; i < zoo->num_cards; i++)
		if (zoo_port_at(&zoo->cards[i], addr) && !zoo->cards[i].removed &&
		    !zoo->cards[i].port_down)
			return &zoo->cards[zoo->cards[i].moved ? (i + 1) % zoo->num_cards : i];
	return NULL;
}

static struct zoo_id *listener_at(struct in_addr addr, uint16_t port, bool gid)
{
	struct zoo_link *link;
	struct zoo_id *id;

	for (link = zoo->ids; link; link = link->next) {
		id = zoo_entry(link, struct zoo_id, link);
		if (id->state == ZOO_LISTEN && id->src_port == port && id->gid == gid &&
		    (!id->src.s_addr || id->src.s_addr == addr.s_addr))
			return id;
	}
	return NULL;
}

bool zoo_listens(struct in_addr addr, uint16_t port)
{
	return listener_at(addr, port, false);
}

static bool seen(const struct zoo_msg *msg)
{
	struct zoo_link *link;

	for (link = zoo->ids; link; link = link->next)
		if (zoo_entry(link, struct zoo_id, link)->peer == msg->from)
			return true;
	return false;
}

static void transmit(const struct zoo_msg *msg);

/* Of nobody in particular. */
static void answer(const struct zoo_msg *msg, enum zoo_msg_kind kind, int status)
{
	struct zoo_msg reply = { .kind = kind, .to = msg->from, .from = msg->to, .status = status };

	transmit(&reply);
}

/* What begins like rdma_cm's header is taken for one (cma_save_ip_info), and lacks the addresses. */
static bool is_refused(const struct zoo_msg *msg)
{
	return msg->gid && (msg->data[0] || msg->data[1] >> 4 == 4 || msg->data[1] >> 4 == 6);
}

static void request(struct zoo_card *card, const struct zoo_msg *msg)
{
	bool iwarp = zoo_iwarp(zoo_kind_of(card));
	struct zoo_id *listener = listener_at(msg->addr, msg->port, msg->gid), *id;
	struct zoo_event *event;

	if (seen(msg))
		return;
	if (is_refused(msg)) {
		answer(msg, ZOO_REJ, 28 /* consumer defined: cm_destroy_id of the new id */);
		return;
	}
	if (!listener || listener->waiting >= listener->backlog) {
		answer(msg, ZOO_REJ, iwarp ? -ECONNREFUSED : 8 /* invalid service */);
		return;
	}
	id = zoo_id_new(listener->proc, listener->chan);
	id->card = card;
	id->peer = msg->from;
	id->listener = listener;
	id->state = ZOO_REQ_RCVD;
	id->src = msg->addr;
	id->src_port = msg->port;
	id->dst = msg->src;
	id->dst_port = msg->src_port;
	id->gid = msg->gid;
	id->pkey = msg->pkey;
	id->tos = msg->tos;
	id->remote_qpn = msg->qpn;
	id->param = msg->param;
	listener->waiting++;
	zoo_id_event(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, msg);
	for (event = listener->chan->first; event->next; event = event->next)
		;
	event->id = id;
}

static void deliver(const struct zoo_msg *msg)
{
	struct zoo_id *id;

	if (msg->kind == ZOO_REQ) {
		struct zoo_card *card = card_at(msg->addr);

		if (card)
			request(card, msg);
		return;
	}
	id = zoo_id_find(msg->to);
	if (!id && msg->kind == ZOO_DREQ)
		answer(msg, ZOO_DREP, 0);
	else if (!id && msg->kind == ZOO_REP)
		answer(msg, ZOO_REJ, ZOO_REJ_NOBODYS);
	if (!id || id->card->removed || id->card->port_down)
		return;
	if (zoo_iwarp(zoo_kind_of(id->card)))
		zoo_iwarp_receive(id, msg);
	else
		zoo_ib_receive(id, msg);
}

/* ---- On the way ---- */

static void later(const struct zoo_msg *msg, uint64_t ns)
{
	struct zoo_msg *copy = zoo_alloc(sizeof(*copy));

	*copy = *msg;
	copy->due = zoo_now() + ns;
	zoo_link_add(&zoo->msgs, &copy->link);
	zoo_at(copy->due);
}

static void transmit(const struct zoo_msg *msg)
{
	uint64_t ns = (uint64_t)zoo->delay_us * 1000;

	zoo->num_cm_sent++;
	if (zoo->lose == msg->kind + 1) {
		zoo->lose = 0;
		return;
	}
	if (zoo->duplicate && zoo_random() < zoo->duplicate)
		later(msg, ns + 2000000);
	if (zoo->loss && zoo_random() < zoo->loss)
		return;
	if (ns)
		later(msg, ns);
	else
		deliver(msg);
}

void zoo_send(struct zoo_id *id, enum zoo_msg_kind kind, int status,
	      const struct rdma_conn_param *param, bool repeat)
{
	struct zoo_msg msg = { .kind = kind,
			       .from = id->number,
			       .to = kind == ZOO_REQ ? 0 : id->peer,
			       .src = id->src,
			       .src_port = id->src_port,
			       .addr = id->dst,
			       .port = id->dst_port,
			       .gid = id->gid,
			       .pkey = id->pkey,
			       .tos = id->tos,
			       .status = status,
			       .qpn = id->qpn };

	if (param) {
		msg.param = *param;
		if (param->private_data_len)
			memcpy(msg.data, param->private_data, param->private_data_len);
	}
	zoo_free(id->resend);
	id->resend = NULL;
	id->deadline = 0;
	if (repeat) {
		id->resend = zoo_alloc(sizeof(msg));
		*id->resend = msg;
		id->tries = zoo->cm_retries;
		id->deadline = zoo_now() + (uint64_t)zoo->cm_timeout_ms * 1000000;
		zoo_at(id->deadline);
	}
	transmit(&msg);
}

/* ---- Time ---- */

static void expired(struct zoo_id *id, uint64_t now)
{
	struct zoo_msg msg;

	if (!id->resend || !id->tries--) {
		id->deadline = 0;
		if (zoo_iwarp(zoo_kind_of(id->card)))
			zoo_iwarp_gave_up(id);
		else
			zoo_ib_gave_up(id);
		return;
	}
	id->deadline = now + (uint64_t)zoo->cm_timeout_ms * 1000000;
	msg = *id->resend;
	transmit(&msg);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static void deliver_due(uint64_t now)
{
	struct zoo_link *link;
	struct zoo_msg *msg;

	for (link = zoo->msgs; link;) {
		msg = zoo_entry(link, struct zoo_msg, link);
		link = link->next;
		if (msg->due > now)
			continue;
		zoo_link_del(&msg->link);
		deliver(msg);
		zoo_free(msg);
		link = zoo->msgs;
	}
}

uint64_t zoo_wire_expired(uint64_t now)
{
	struct zoo_link *link;
	uint64_t next = 0;
	struct zoo_id *id;

	deliver_due(now);
	for (link = zoo->ids; link;) {
		id = zoo_entry(link, struct zoo_id, link);
		link = link->next;
		if (!id->deadline || id->deadline > now)
			continue;
		expired(id, now);
		link = zoo->ids; /* others may be gone */
	}
	for (link = zoo->ids; link; link = link->next)
		next = earlier(next, zoo_entry(link, struct zoo_id, link)->deadline);
	for (link = zoo->msgs; link; link = link->next)
		next = earlier(next, zoo_entry(link, struct zoo_msg, link)->due);
	return next;
}
