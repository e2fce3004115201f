/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/cm/budget.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/orphan.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	DISCARD_BYTES = 2048, /* on the stack of any thread of the program */
	DISCARDS_PER_EVENT = 64,
};

struct orphan {
	struct list node;
	struct soft_link *link;
	struct soft_rest rest;
	size_t sent;	 /* of rest.out */
	uint64_t unsent; /* when the timer was set */
	bool finished;	 /* our end is out */
	bool ended;	 /* the peer's has come */
};

/* Throws away what came. false: the peer is gone. */
static bool discard(struct orphan *orphan)
{
	uint8_t nowhere[DISCARD_BYTES];
	struct iovec iov = { .iov_base = nowhere, .iov_len = sizeof(nowhere) };
	ssize_t n;

	for (int i = 0; i < DISCARDS_PER_EVENT && !orphan->ended; i++) {
		n = orphan->link->class->recv(orphan->link, &iov, 1);
		if (n == -EAGAIN)
			return true;
		if (n < 0)
			return false;
		orphan->ended = !n;
	}
	return true;
}

static void orphan_free(struct orphan *orphan, bool abort)
{
	/* Whatever is unread when it is closed is answered with a reset. */
	if (!abort)
		discard(orphan);
	list_del(&orphan->node);
	soft_link_destroy(orphan->link, abort);
	free(orphan->rest.out);
	free(orphan);
}

/* Bytes that the peer's host does not have yet; our end is one more. */
static uint64_t unsent(const struct orphan *orphan)
{
	return orphan->link->class->unsent(orphan->link) + orphan->rest.len - orphan->sent +
	       !orphan->finished;
}

/* Ditto, of completed requests, or of the answer that it is owed. */
static uint64_t undelivered(const struct orphan *orphan)
{
	uint64_t all = unsent(orphan);
	uint64_t others = orphan->rest.tail + (orphan->rest.owed ? 0 : orphan->rest.len) + 1;

	return all > others ? all - others : 0;
}

static const char *undelivered_text(const struct orphan *orphan)
{
	return orphan->rest.owed ? "a rejection" : "completed requests";
}

/* Whether what is missing, beside our end, is of requests that did not complete. */
static bool may_cut(const struct orphan *orphan)
{
	return !undelivered(orphan) && unsent(orphan) > 1;
}

/* No more time. What completed is the kernel's to deliver, past the rest the peer hears the end. */
static void give_up(struct orphan *orphan)
{
	struct soft_link *link = orphan->link;
	bool cut = may_cut(orphan);

	if (cut && link->class->cut && !orphan->rest.fault)
		link->class->cut(link);
	orphan_free(orphan, cut);
}

static void orphan_ready(struct soft_link *link, uint32_t events)
{
	struct orphan *orphan = link->owner;
	int rc = 0;

	if (!orphan->finished) {
		rc = soft_link_send_all(link, orphan->rest.out, orphan->rest.len, &orphan->sent);
		if (rc > 0) {
			link->class->finish(link);
			orphan->finished = true;
		}
	}
	/* Once both have ended nothing can come that would be answered with a reset. */
	if (rc < 0 || !discard(orphan) || (orphan->ended && orphan->finished)) {
		orphan_free(orphan, false);
		return;
	}
	/* The end of what comes, EPOLLRDHUP or input without a byte, would be told again and again
	 * while there is no room for what is still to be sent. */
	events = (orphan->ended ? 0 : EPOLLIN) | (orphan->finished ? 0 : EPOLLOUT);
	if (soft_link_watch(link, events))
		orphan_free(orphan, false);
}

static void set_timer(struct orphan *orphan)
{
	orphan->unsent = unsent(orphan);
	soft_link_timeout(orphan->link, (uint32_t)orphan->link->dev->config->linger_ms);
}

static void orphan_expired(struct soft_link *link)
{
	uint32_t timeout = (uint32_t)link->dev->config->peer_timeout_ms;
	struct orphan *orphan = link->owner;
	char text[2 * SOFT_ADDR_TEXT + 8];

	if (!unsent(orphan) || (may_cut(orphan) && unsent(orphan) >= orphan->unsent)) {
		give_up(orphan);
	} else if (timeout && link->class->lost(link, timeout)) {
		if (undelivered(orphan))
			dapl_err_limited("%s: connection %s: %llu bytes of %s are lost, since the "
					 "peer's host has not answered for %u ms (option "
					 "peer_timeout)",
					 link->dev->name, soft_link_text(link, text),
					 (unsigned long long)undelivered(orphan),
					 undelivered_text(orphan), timeout);
		orphan_free(orphan, true);
	} else {
		set_timer(orphan);
	}
}

static bool delivered(struct soft_link *link)
{
	return !undelivered(link->owner);
}

/* Those that hold what the peer's host does not have go last. */
static void make_room(struct soft_dev *dev)
{
	const struct soft_budget *budget = &dev->cm->budget[SOFT_BUDGET_ORPHAN];
	char text[2 * SOFT_ADDR_TEXT + 8];
	struct soft_link *link;

	while (soft_budget_exceeded(dev, SOFT_BUDGET_ORPHAN)) {
		link = soft_budget_victim(budget, delivered);
		if (!link)
			link = soft_budget_victim(budget, NULL);
		if (!link)
			return;
		if (!delivered(link))
			dapl_err_limited(
				"%s: connection %s: %llu bytes of %s, which the peer's host "
				"has not taken, may be lost, since option lingering is "
				"reached",
				dev->name, soft_link_text(link, text),
				(unsigned long long)undelivered(link->owner),
				undelivered_text(link->owner));
		give_up(link->owner);
	}
}

void soft_orphan(struct soft_link *link, const struct soft_rest *rest)
{
	struct orphan *orphan = calloc(1, sizeof(*orphan));
	struct soft_dev *dev = link->dev;

	if (!orphan || soft_budget_enter(link, &dev->cm->budget[SOFT_BUDGET_ORPHAN])) {
		free(orphan);
		free(rest->out);
		link->class->finish(link);
		soft_link_destroy(link, false);
		return;
	}
	orphan->link = link;
	orphan->rest = *rest;
	link->owner = orphan;
	link->ready = orphan_ready;
	link->expired = orphan_expired;
	list_add(&dev->cm->orphans, &orphan->node);
	set_timer(orphan);
	orphan_ready(link, 0);
	make_room(dev);
}

void soft_orphans_close(struct soft_dev *dev)
{
	while (!list_empty(&dev->cm->orphans))
		give_up(container_of(dev->cm->orphans.next, struct orphan, node));
}

bool soft_orphans_unsent(const struct soft_dev *dev)
{
	const struct orphan *orphan;

	list_for_each(orphan, &dev->cm->orphans, node)
		if (unsent(orphan) && !orphan->link->class->cut)
			return true;
	return false;
}
