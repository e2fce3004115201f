/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a test asks of the zoo it is in: control.h. */
#include <errno.h>
#include <string.h>

#include "test/zoo/control.h"
#include "test/zoo/engine.h"

static void tell_all(struct zoo_card *card, uint32_t type)
{
	struct zoo_link *link;

	/* Each open device has a channel that its CQs name. */
	for (link = zoo->cqs; link; link = link->next) {
		struct zoo_cq *cq = zoo_entry(link, struct zoo_cq, link);

		if (cq->card == card && !cq->chan)
			zoo_async(cq->async, card, NULL, NULL, type);
	}
}

/* Requests that nobody acknowledged are repeated. */
static void repeat_all(void)
{
	struct zoo_link *link, *next;

	for (link = zoo->qps; link; link = next) {
		next = link->next;
		zoo_progress(zoo_entry(link, struct zoo_qp, link));
	}
}

/* rdma_cm's ids of the device hear of it too (cma.c, cma_process_remove). */
static void remove_card(struct zoo_card *card)
{
	struct zoo_link *link;
	struct zoo_id *id;

	card->removed = true;
	for (link = zoo->qps; link; link = link->next)
		if (zoo_entry(link, struct zoo_qp, link)->card == card)
			zoo_entry(link, struct zoo_qp, link)->closing = false;
	tell_all(card, IBV_EVENT_DEVICE_FATAL);
	for (link = zoo->ids; link; link = link->next) {
		id = zoo_entry(link, struct zoo_id, link);
		if (id->card == card && id->user)
			zoo_id_event(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL);
	}
}

/* What the firmware finds wrong by itself. */
static void fail_qps(struct zoo_card *card)
{
	struct zoo_link *link, *next;
	struct zoo_qp *qp;

	for (link = zoo->qps; link; link = next) {
		next = link->next;
		qp = zoo_entry(link, struct zoo_qp, link);
		if (qp->card != card || qp->state == IBV_QPS_ERR || !qp->remote)
			continue;
		zoo_async(qp->async, qp, &qp->user, &qp->delivered, IBV_EVENT_QP_FATAL);
		zoo_qp_to_error(qp);
	}
}

static int fail_qp(uint32_t number)
{
	struct zoo_qp *qp = zoo_qp_find(number);

	if (!qp)
		return EINVAL;
	zoo_async(qp->async, qp, &qp->user, &qp->delivered, IBV_EVENT_QP_FATAL);
	zoo_qp_to_error(qp);
	return 0;
}

static void fail_cqs(struct zoo_card *card)
{
	struct zoo_link *link;
	struct zoo_cq *cq;

	for (link = zoo->cqs; link; link = link->next) {
		cq = zoo_entry(link, struct zoo_cq, link);
		if (cq->card != card || !cq->chan)
			continue;
		cq->overrun = true;
		zoo_async(cq->async, cq, &cq->user, &cq->async_delivered, IBV_EVENT_CQ_ERR);
	}
}

/* A bond that fails over (cma.c, cma_netdev_change). */
static void change_addrs(struct zoo_card *card)
{
	struct zoo_link *link;
	struct zoo_id *id;

	for (link = zoo->ids; link; link = link->next) {
		id = zoo_entry(link, struct zoo_id, link);
		if (id->card == card && id->user)
			zoo_id_event(id, RDMA_CM_EVENT_ADDR_CHANGE, 0, NULL);
	}
}

/* Whatever state they are in. */
static void tell_qps(enum ibv_event_type type)
{
	struct zoo_link *link;
	struct zoo_qp *qp;

	for (link = zoo->qps; link; link = link->next) {
		qp = zoo_entry(link, struct zoo_qp, link);
		zoo_async(qp->async, qp, &qp->user, &qp->delivered, type);
	}
}

static void tell_ids(enum rdma_cm_event_type type, int status)
{
	struct zoo_link *link;
	struct zoo_id *id;

	for (link = zoo->ids; link; link = link->next) {
		id = zoo_entry(link, struct zoo_id, link);
		if (id->user && id->state != ZOO_LISTEN)
			zoo_id_event(id, type, status, NULL);
	}
}

static int set_card(const char *name, struct zoo_card *card)
{
	if (!strcmp(name, "port_down")) {
		card->port_down = true;
		tell_all(card, IBV_EVENT_PORT_ERR);
	} else if (!strcmp(name, "port_up")) {
		card->port_down = false;
		tell_all(card, IBV_EVENT_PORT_ACTIVE);
		repeat_all();
	} else if (!strcmp(name, "moved")) {
		card->moved = true;
	} else if (!strcmp(name, "stayed")) {
		card->moved = false;
	} else if (!strcmp(name, "removed")) {
		remove_card(card);
	} else if (!strcmp(name, "qp_error")) {
		fail_qps(card);
	} else if (!strcmp(name, "cq_error")) {
		fail_cqs(card);
	} else if (!strcmp(name, "addr_change")) {
		change_addrs(card);
	} else {
		return EINVAL;
	}
	return 0;
}

int zoo_control(const char *name, uint32_t value)
{
	int err = zoo_attach();

	if (err)
		return err;
	zoo_lock();
	if (!strcmp(name, "loss"))
		zoo->loss = value;
	else if (!strcmp(name, "duplicate"))
		zoo->duplicate = value;
	else if (!strcmp(name, "delay_us"))
		zoo->delay_us = value;
	else if (!strcmp(name, "lose_rtu"))
		zoo->lose = ZOO_RTU + 1;
	else if (!strcmp(name, "command_us"))
		zoo->command_us = value;
	else if (!strcmp(name, "fail_qp"))
		err = fail_qp(value);
	else if (!strcmp(name, "qp_event"))
		tell_qps(value);
	else if (!strcmp(name, "cm_event"))
		tell_ids(value, 0);
	else if (!strcmp(name, "cm_failure"))
		tell_ids(value, -ETIMEDOUT);
	else if (!strcmp(name, "event"))
		tell_all(&zoo->cards[0], value);
	else
		err = value < zoo->num_cards ? set_card(name, &zoo->cards[value]) : EINVAL;
	zoo_unlock();
	return err;
}

static uint32_t length(const struct zoo_link *list)
{
	uint32_t num = 0;

	for (; list; list = list->next)
		num++;
	return num;
}

static uint32_t vectors(void)
{
	struct zoo_link *link;
	uint32_t used = 0;

	for (link = zoo->cqs; link; link = link->next)
		used |= 1U << zoo_entry(link, struct zoo_cq, link)->vector;
	return (uint32_t)__builtin_popcount(used);
}

static uint32_t longest_cq(void)
{
	struct zoo_link *link;
	uint32_t cqe = 0;

	for (link = zoo->cqs; link; link = link->next)
		if (zoo_entry(link, struct zoo_cq, link)->cqe > cqe)
			cqe = zoo_entry(link, struct zoo_cq, link)->cqe;
	return cqe;
}

static uint32_t on_demand(void)
{
	struct zoo_link *link;
	uint32_t num = 0;

	for (link = zoo->mrs; link; link = link->next)
		num += !!(zoo_entry(link, struct zoo_key, link)->access & IBV_ACCESS_ON_DEMAND);
	return num;
}

/* How a connection goes over the network: of one that is ready to send. UINT32_MAX: there is none. */
static uint32_t route(const char *what)
{
	const struct zoo_qp *qp;
	struct zoo_link *link;

	for (link = zoo->qps; link; link = link->next) {
		qp = zoo_entry(link, struct zoo_qp, link);
		if (qp->state != IBV_QPS_RTS)
			continue;
		if (!strcmp(what, "pkey"))
			return zoo_pkey(qp->card, qp->attr.pkey_index);
		if (!strcmp(what, "sl"))
			return qp->attr.ah_attr.sl;
		if (!strcmp(what, "port"))
			return qp->attr.port_num;
		if (!strcmp(what, "gid_index"))
			return qp->attr.ah_attr.grh.sgid_index;
		if (!strcmp(what, "tclass"))
			return qp->attr.ah_attr.grh.traffic_class;
	}
	return UINT32_MAX;
}

uint32_t zoo_count(const char *what)
{
	uint32_t num = UINT32_MAX;

	if (zoo_attach())
		return num;
	zoo_lock();
	if (!strcmp(what, "ids"))
		num = length(zoo->ids);
	else if (!strcmp(what, "qps"))
		num = length(zoo->qps);
	else if (!strcmp(what, "cqs"))
		num = length(zoo->cqs);
	else if (!strcmp(what, "cqe"))
		num = longest_cq();
	else if (!strcmp(what, "ahs"))
		num = zoo->num_ahs;
	else if (!strcmp(what, "cm_sent"))
		num = zoo->num_cm_sent;
	else if (!strcmp(what, "srqs"))
		num = length(zoo->srqs);
	else if (!strcmp(what, "mrs"))
		num = length(zoo->mrs);
	else if (!strcmp(what, "pds"))
		num = length(zoo->pds);
	else if (!strcmp(what, "msgs"))
		num = length(zoo->msgs);
	else if (!strcmp(what, "on_demand"))
		num = on_demand();
	else if (!strcmp(what, "vectors"))
		num = vectors();
	else
		num = route(what);
	zoo_unlock();
	return num;
}
