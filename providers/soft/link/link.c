/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the links of all classes share: watch and timer. */
#include "providers/soft/link/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/base/device.h"
#include "util/list.h"

static void watch_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_link *link = container_of(watch, struct soft_link, watch);

	link->ready(link, events);
}

static void timer_expired(struct tp_timer *timer)
{
	struct soft_link *link = container_of(timer, struct soft_link, timer);

	link->expired(link);
}

void soft_link_init(struct soft_link *link, const struct soft_link_class *class,
		    struct soft_dev *dev, int fd)
{
	memset(link, 0, sizeof(*link));
	link->class = class;
	link->dev = dev;
	link->fd = fd;
	link->watch.fd = fd;
	link->watch.ready = watch_ready;
	link->timer.expired = timer_expired;
}

bool soft_link_unquiet(struct soft_link *link)
{
	return false;
}

int soft_link_watch(struct soft_link *link, uint32_t events)
{
	return link->class->watch(link, events);
}

int soft_link_register(struct soft_link *link, uint32_t events)
{
	int rc;

	if (link->watched)
		return dapl_loop_mod(link->dev->base.loop, &link->watch, events);
	link->watched = true;
	atomic_store(&link->dev->looped, true);
	rc = dapl_loop_add(link->dev->base.loop, &link->watch, events);
	if (rc)
		link->watched = false;
	return rc;
}

void soft_link_timeout(struct soft_link *link, uint32_t ms)
{
	if (ms)
		dapl_loop_timer(link->dev->base.loop, &link->timer, dapl_now() + ms * 1000000ull);
	else
		dapl_loop_timer_cancel(link->dev->base.loop, &link->timer);
}

int soft_link_send_all(struct soft_link *link, uint8_t *buf, size_t len, size_t *sent)
{
	struct iovec iov;
	ssize_t n;

	while (*sent < len) {
		iov = (struct iovec){ .iov_base = buf + *sent, .iov_len = len - *sent };
		n = link->class->send(link, &iov, 1);
		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		*sent += (size_t)n;
	}
	return 1;
}

void soft_link_destroy(struct soft_link *link, bool abort)
{
	dapl_loop_timer_cancel(link->dev->base.loop, &link->timer);
	if (link->watched)
		dapl_loop_del(link->dev->base.loop, &link->watch);
	if (link->destroyed)
		link->destroyed(link);
	link->class->close(link, abort);
}

const char *soft_link_text(struct soft_link *link, char *buf)
{
	struct sockaddr_storage local = { 0 }, remote = { 0 };
	char texts[2][SOFT_ADDR_TEXT];
	uint64_t quals[2] = { 0 };

	link->class->names(link, &local, &quals[0], &remote, &quals[1]);
	snprintf(buf, 2 * SOFT_ADDR_TEXT + 8, "%s - %s", soft_addr_text(&local, quals[0], texts[0]),
		 soft_addr_text(&remote, quals[1], texts[1]));
	return buf;
}
