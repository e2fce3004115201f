/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
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

/* Throws away what came. false: the peer is gone. */
static bool discard(struct soft_rest *rest)
{
	uint8_t nowhere[DISCARD_BYTES];
	struct iovec iov = { .iov_base = nowhere, .iov_len = sizeof(nowhere) };
	ssize_t n;

	for (int i = 0; i < DISCARDS_PER_EVENT && !rest->ended; i++) {
		n = rest->link->class->recv(rest->link, &iov, 1);
		if (n == -EAGAIN)
			return true;
		if (n < 0)
			return false;
		rest->ended = !n;
	}
	return true;
}

static void orphan_free(struct soft_conn *conn, bool abort)
{
	/* Whatever is unread when it is closed is answered with a reset. */
	if (!abort)
		discard(&conn->rest);
	list_del(&conn->node);
	soft_link_destroy(conn->rest.link, abort);
	soft_conn_drop(conn);
}

static size_t length(const struct soft_rest *rest)
{
	return rest->part[0].iov_len + rest->part[1].iov_len;
}

/* As soft_link_send_all. */
static int send_rest(struct soft_rest *rest)
{
	int rc = 1;
	size_t sent;

	for (struct iovec *part = rest->part; part < rest->part + 2 && rc > 0; part++) {
		if (!part->iov_len)
			continue;
		sent = 0;
		rc = soft_link_send_all(rest->link, part->iov_base, part->iov_len, &sent);
		part->iov_base = (uint8_t *)part->iov_base + sent;
		part->iov_len -= sent;
	}
	return rc;
}

/* Bytes that the peer's host does not have yet; our end is one more. */
static uint64_t unsent(const struct soft_rest *rest)
{
	return rest->link->class->unsent(rest->link) + length(rest) + !rest->finished;
}

/* Ditto, of completed requests, or of the answer that it is owed. */
static uint64_t undelivered(const struct soft_rest *rest)
{
	uint64_t all = unsent(rest);
	uint64_t others = rest->tail + (rest->owed ? 0 : rest->len) + 1;

	return all > others ? all - others : 0;
}

static const char *undelivered_text(const struct soft_rest *rest)
{
	return rest->owed ? "a rejection" : "completed requests";
}

/* Whether what is missing, beside our end, is of requests that did not complete. */
static bool may_cut(const struct soft_rest *rest)
{
	return !undelivered(rest) && unsent(rest) > 1;
}

/* No more time. What completed is the kernel's to deliver, past the rest the peer hears the end. */
static void give_up(struct soft_conn *conn)
{
	struct soft_link *link = conn->rest.link;
	bool cut = may_cut(&conn->rest);

	if (cut && link->class->cut && !conn->rest.fault)
		link->class->cut(link);
	orphan_free(conn, cut);
}

static void orphan_ready(struct soft_link *link, uint32_t events)
{
	struct soft_conn *conn = link->owner;
	struct soft_rest *rest = &conn->rest;
	int rc = rest->finished ? 1 : send_rest(rest);

	/* Once both have ended nothing can come that would be answered with a reset; to close the
	 * link says that we have. */
	if (rc < 0 || !discard(rest) || (rest->ended && rc > 0)) {
		orphan_free(conn, false);
		return;
	}
	if (rc > 0 && !rest->finished) {
		link->class->finish(link);
		rest->finished = true;
	}
	/* The end of what comes, EPOLLRDHUP or input without a byte, would be told again and again
	 * while there is no room for what is still to be sent. */
	events = (rest->ended ? 0 : EPOLLIN) | (rest->finished ? 0 : EPOLLOUT);
	if (soft_link_watch(link, events))
		orphan_free(conn, false);
}

static void set_timer(struct soft_rest *rest)
{
	rest->unsent = unsent(rest);
	soft_link_timeout(rest->link, (uint32_t)rest->link->dev->config->linger_ms);
}

static void orphan_expired(struct soft_link *link)
{
	uint32_t timeout = (uint32_t)link->dev->config->peer_timeout_ms;
	struct soft_conn *conn = link->owner;
	struct soft_rest *rest = &conn->rest;
	char text[2 * SOFT_ADDR_TEXT + 8];

	if (!unsent(rest) || (may_cut(rest) && unsent(rest) >= rest->unsent)) {
		give_up(conn);
	} else if (timeout && link->class->lost(link, timeout)) {
		if (undelivered(rest))
			dapl_err_limited("%s: connection %s: %llu bytes of %s are lost, since the "
					 "peer's host has not answered for %u ms (option "
					 "peer_timeout)",
					 link->dev->name, soft_link_text(link, text),
					 (unsigned long long)undelivered(rest),
					 undelivered_text(rest), timeout);
		orphan_free(conn, true);
	} else {
		set_timer(rest);
	}
}

static bool delivered(struct soft_link *link)
{
	const struct soft_conn *conn = link->owner;

	return !undelivered(&conn->rest);
}

/* Those that hold what the peer's host does not have go last. */
static void make_room(struct soft_dev *dev)
{
	const struct soft_budget *budget = &dev->cm->budget[SOFT_BUDGET_ORPHAN];
	char text[2 * SOFT_ADDR_TEXT + 8];
	const struct soft_rest *rest;
	struct soft_link *link;

	while (soft_budget_exceeded(dev, SOFT_BUDGET_ORPHAN)) {
		link = soft_budget_victim(budget, delivered);
		if (!link)
			link = soft_budget_victim(budget, NULL);
		if (!link)
			return;
		rest = &((struct soft_conn *)link->owner)->rest;
		if (undelivered(rest))
			dapl_err_limited(
				"%s: connection %s: %llu bytes of %s, which the peer's host "
				"has not taken, may be lost, since option lingering is "
				"reached",
				dev->name, soft_link_text(link, text),
				(unsigned long long)undelivered(rest), undelivered_text(rest));
		give_up(link->owner);
	}
}

void soft_orphan(struct soft_conn *conn, struct soft_link *link)
{
	struct soft_dev *dev = link->dev;

	soft_conn_hold(conn);
	conn->rest.link = link;
	conn->rest.len = length(&conn->rest);
	link->owner = conn;
	link->ready = orphan_ready;
	link->expired = orphan_expired;
	/* Without memory it is not counted, and ends as it would. */
	(void)soft_budget_enter(link, &dev->cm->budget[SOFT_BUDGET_ORPHAN], &conn->remote);
	list_add(&dev->cm->orphans, &conn->node);
	set_timer(&conn->rest);
	orphan_ready(link, 0);
	make_room(dev);
}

void soft_orphans_close(struct soft_dev *dev)
{
	while (!list_empty(&dev->cm->orphans))
		give_up(container_of(dev->cm->orphans.next, struct soft_conn, node));
}

bool soft_orphans_unsent(const struct soft_dev *dev)
{
	const struct soft_conn *conn;

	list_for_each(conn, &dev->cm->orphans, node)
		if (unsent(&conn->rest) && !conn->rest.link->class->cut)
			return true;
	return false;
}
