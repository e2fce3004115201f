/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links whose connection is over. The last bytes go out, then our end; what still comes is
 * discarded until the peer has ended too. Closing at once would let the kernel answer unread data
 * with a reset, and the peer would lose what it had not read (EP-98, FL-13).
 *
 * What was completed with success is in the socket and may be long in coming out of it: a peer that
 * stands still has no room for it. As long as its host answers the link stays. For the rest, and
 * for the peer's end, there is the time of option linger.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "providers/soft/addr.h"
#include "providers/soft/cm/budget.h"
#include "providers/soft/cm/linger.h"
#include "providers/soft/config.h"
#include "providers/soft/device.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	DISCARD_BYTES = 16384,
	DISCARDS_PER_EVENT = 64,
};

struct soft_linger {
	struct soft_list node;
	struct soft_link *link;
	uint8_t *out;
	size_t len, sent;
	uint64_t tail;
	bool finished; /* our end is out */
	bool ended;    /* the peer's has come */
};

/* true once everything is out. */
static bool send_rest(struct soft_linger *linger, int *err)
{
	struct iovec iov;
	ssize_t n;

	while (linger->sent < linger->len) {
		iov = (struct iovec){ .iov_base = linger->out + linger->sent,
				      .iov_len = linger->len - linger->sent };
		n = linger->link->class->send(linger->link, &iov, 1);
		if (n < 0) {
			*err = n == -EAGAIN ? 0 : (int)n;
			return false;
		}
		linger->sent += (size_t)n;
	}
	return true;
}

/* Throws away what came. false: the peer is gone. */
static bool discard(struct soft_linger *linger)
{
	uint8_t nowhere[DISCARD_BYTES];
	struct iovec iov = { .iov_base = nowhere, .iov_len = sizeof(nowhere) };
	ssize_t n;

	for (int i = 0; i < DISCARDS_PER_EVENT && !linger->ended; i++) {
		n = linger->link->class->recv(linger->link, &iov, 1);
		if (n == -EAGAIN)
			return true;
		if (n < 0)
			return false;
		linger->ended = !n;
	}
	return true;
}

static void linger_free(struct soft_linger *linger, bool abort)
{
	/* Whatever is unread when it is closed is answered with a reset. */
	if (!abort)
		discard(linger);
	soft_list_del(&linger->node);
	soft_link_destroy(linger->link, abort);
	free(linger->out);
	free(linger);
}

static void linger_ready(struct soft_link *link, uint32_t events)
{
	struct soft_linger *linger = link->linger;
	int err = 0;

	(void)events;
	if (!linger->finished && send_rest(linger, &err)) {
		link->class->finish(link);
		linger->finished = true;
	}
	/* Once both have ended nothing can come that would be answered with a reset. */
	if (err || !discard(linger) || (linger->ended && linger->finished)) {
		linger_free(linger, false);
		return;
	}
	/* The end of what comes, EPOLLRDHUP or input without a byte, would be told again and again
	 * while there is no room for what is still to be sent. */
	events = (linger->ended ? 0 : EPOLLIN) | (linger->finished ? 0 : EPOLLOUT);
	if (soft_link_watch(link, events))
		linger_free(linger, false);
}

/* Bytes of completed requests that the peer's host does not have yet. */
static uint64_t undelivered(const struct soft_linger *linger)
{
	uint64_t unsent = linger->link->class->unsent(linger->link);
	uint64_t others = linger->tail + linger->sent + linger->finished; /* the end is one more */

	return unsent > others ? unsent - others : 0;
}

static void set_timer(struct soft_link *link)
{
	soft_link_timeout(link, (uint32_t)link->dev->config->linger_ms);
}

static void linger_expired(struct soft_link *link)
{
	uint32_t timeout = (uint32_t)link->dev->config->peer_timeout_ms;
	struct soft_linger *linger = link->linger;
	char text[2 * SOFT_ADDR_TEXT + 8];

	if (!undelivered(linger)) {
		linger_free(linger, !linger->finished || link->class->unsent(link));
	} else if (timeout && link->class->lost(link, timeout)) {
		dapl_err_limited(
			"%s: connection %s: %llu bytes of completed requests are lost, since the "
			"peer's host has not answered for %u ms (option peer_timeout)",
			link->dev->name, soft_link_text(link, text),
			(unsigned long long)undelivered(linger), timeout);
		linger_free(linger, true);
	} else {
		set_timer(link);
	}
}

static bool delivered(struct soft_link *link)
{
	return !undelivered(link->linger);
}

/* Those that hold what the peer's host does not have go last. */
static void make_room(struct soft_dev *dev)
{
	const struct soft_budget *budget = &dev->budget[SOFT_BUDGET_LINGER];
	char text[2 * SOFT_ADDR_TEXT + 8];
	struct soft_link *link;

	while (soft_budget_spent(dev, SOFT_BUDGET_LINGER)) {
		link = soft_budget_victim(budget, delivered);
		if (!link)
			link = soft_budget_victim(budget, NULL);
		if (!link)
			return;
		if (!delivered(link))
			dapl_err_limited("%s: connection %s: %llu bytes of completed requests, "
					 "which the peer's host has not taken, may be lost, since "
					 "option lingering is reached",
					 dev->name, soft_link_text(link, text),
					 (unsigned long long)undelivered(link->linger));
		linger_free(link->linger, false);
	}
}

void soft_linger(struct soft_link *link, uint8_t *out, size_t len, uint64_t tail)
{
	struct soft_linger *linger = calloc(1, sizeof(*linger));
	struct soft_dev *dev = link->dev;

	if (!linger || soft_budget_enter(link, &dev->budget[SOFT_BUDGET_LINGER])) {
		free(linger);
		free(out);
		link->class->finish(link);
		soft_link_destroy(link, false);
		return;
	}
	linger->link = link;
	linger->out = out;
	linger->len = len;
	linger->tail = tail;
	link->linger = linger;
	link->owner = NULL;
	link->ready = linger_ready;
	link->expired = linger_expired;
	soft_list_add(&dev->lingers, &linger->node);
	set_timer(link);
	linger_ready(link, 0);
	make_room(dev);
}

void soft_linger_stop(struct soft_dev *dev)
{
	while (!soft_list_empty(&dev->lingers))
		linger_free(soft_container(dev->lingers.next, struct soft_linger, node), false);
}

int soft_linger_busy(void *arg)
{
	const struct soft_dev *dev = arg;
	const struct soft_list *node;

	for (node = dev->lingers.next; node != &dev->lingers; node = node->next)
		if (undelivered(soft_container(node, struct soft_linger, node)))
			return 1;
	return 0;
}
