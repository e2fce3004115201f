/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a test asks of the zoo it is in: control.h. */
#include <errno.h>
#include <string.h>

#include "test/zoo/control.h"
#include "test/zoo/engine.h"

static void tell_all(struct zoo_card *card, enum ibv_event_type type)
{
	struct zoo_link *link;

	/* Each open device has a channel that its CQs name. */
	for (link = zoo->cqs; link; link = link->next) {
		struct zoo_cq *cq = zoo_entry(link, struct zoo_cq, link);

		if (cq->card == card && !cq->chan)
			zoo_async(cq->async, card, NULL, NULL, type);
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
	} else if (!strcmp(name, "moved")) {
		card->moved = true;
	} else if (!strcmp(name, "removed")) {
		card->removed = true;
		tell_all(card, IBV_EVENT_DEVICE_FATAL);
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
	else if (!strcmp(what, "vectors"))
		num = vectors();
	zoo_unlock();
	return num;
}
