/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links whose connection is over. The last bytes go out, then our end; what still comes is
 * discarded until the peer has ended too. Closing at once would let the kernel answer unread data
 * with a reset, and the peer would lose what it had not read (EP-98, FL-13).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "providers/soft/soft.h"

enum {
	DISCARD_BYTES = 16384,
	DISCARDS_PER_EVENT = 64,
	MAX_PERIODS = 30,
};

struct soft_linger {
	struct soft_list node;
	struct soft_link *link;
	uint8_t *out;
	size_t len, sent, sent_before;
	uint32_t unsent_before, periods;
	bool finished;
};

static void linger_free(struct soft_linger *linger, bool abort)
{
	soft_list_del(&linger->node);
	soft_link_destroy(linger->link, abort);
	free(linger->out);
	free(linger);
}

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

/* true once the peer has ended, or is gone. */
static bool discard(struct soft_linger *linger)
{
	uint8_t nowhere[DISCARD_BYTES];
	struct iovec iov = { .iov_base = nowhere, .iov_len = sizeof(nowhere) };
	ssize_t n;

	for (int i = 0; i < DISCARDS_PER_EVENT; i++) {
		n = linger->link->class->recv(linger->link, &iov, 1);
		if (n == -EAGAIN)
			return false;
		if (n <= 0)
			return true;
	}
	return false;
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
	if (err || (discard(linger) && linger->finished)) {
		linger_free(linger, false);
		return;
	}
	/* EPOLLRDHUP stays out: it would be reported again and again while bytes are still to be
	 * sent. */
	if (soft_link_watch(link, linger->finished ? EPOLLIN : EPOLLIN | EPOLLOUT))
		linger_free(linger, false);
}

static uint32_t period(const struct soft_link *link)
{
	return (uint32_t)link->dev->config->linger_ms;
}

/* Time is up. A slow peer that is still taking in what it was sent gets more of it, within reason.
 */
static void linger_expired(struct soft_link *link)
{
	struct soft_linger *linger = link->linger;
	uint32_t unsent = link->class->unsent(link);
	bool moved = linger->sent > linger->sent_before || unsent < linger->unsent_before;

	if (moved && ++linger->periods < MAX_PERIODS) {
		linger->sent_before = linger->sent;
		linger->unsent_before = unsent;
		soft_link_timeout(link, period(link));
		return;
	}
	linger_free(linger, unsent || !linger->finished);
}

void soft_linger(struct soft_link *link, uint8_t *out, size_t len)
{
	struct soft_linger *linger = calloc(1, sizeof(*linger));

	if (!linger) {
		free(out);
		link->class->finish(link);
		soft_link_destroy(link, false);
		return;
	}
	linger->link = link;
	linger->out = out;
	linger->len = len;
	link->linger = linger;
	link->owner = NULL;
	link->ready = linger_ready;
	link->expired = linger_expired;
	soft_list_add(&link->dev->lingers, &linger->node);
	linger->unsent_before = link->class->unsent(link);
	soft_link_timeout(link, period(link));
	linger_ready(link, 0);
}

void soft_linger_stop(struct soft_dev *dev)
{
	while (!soft_list_empty(&dev->lingers))
		linger_free(soft_container(dev->lingers.next, struct soft_linger, node), false);
}
