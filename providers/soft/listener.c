/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points: a listening descriptor, and the connections on it whose request has not come. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "dapl/trace.h"
#include "providers/soft/soft.h"

static const struct soft_link_class *const class = &soft_link_tcp;

enum {
	ACCEPTS_PER_EVENT = 64,
	PAUSE_MS = 100,
};

/* Out of descriptors or memory: the backlog waits, and so do we, instead of being told of it for
 * ever. */
static void listener_pause(struct soft_listener *listener, int err)
{
	if (!listener->starved)
		dapl_err("%s: cannot accept connections on qualifier %llu: %s", listener->dev->name,
			 (unsigned long long)listener->base.conn_qual, dapl_strerror(-err));
	listener->starved = true;
	dapl_loop_mod(listener->dev->base.loop, &listener->watch, 0);
	dapl_loop_timer(listener->dev->base.loop, &listener->pause,
			dapl_now() + PAUSE_MS * 1000000ull);
}

static void listener_resume(struct tp_timer *timer)
{
	struct soft_listener *listener = soft_container(timer, struct soft_listener, pause);

	dapl_loop_mod(listener->dev->base.loop, &listener->watch, EPOLLIN);
}

static void listener_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_listener *listener = soft_container(watch, struct soft_listener, watch);
	struct soft_link *link;
	int rc;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
		rc = class->accept(listener->dev, watch->fd, &link);
		switch (-rc) {
		case 0:
			listener->starved = false;
			soft_cm_half_open(listener, link);
			break;
		case EMFILE:
		case ENFILE:
		case ENOMEM:
		case ENOBUFS:
			listener_pause(listener, rc);
			return;
		case EINTR:
		case ECONNABORTED:
		case EPROTO:
			break;
		default:
			return;
		}
	}
}

/* Who listens can be handed requests by other processes. */
static void open_door(struct soft_dev *dev)
{
	bool tried;

	pthread_mutex_lock(&dev->lock);
	tried = dev->door_tried;
	dev->door_tried = true;
	pthread_mutex_unlock(&dev->lock);
	if (!tried)
		soft_door_open(dev);
}

/* On a qualifier of the program's choice, of the administrator's, or of the system's. */
static int listen_on(const struct soft_dev *dev, uint64_t *qual)
{
	static atomic_uint next; /* so that one that was just given up is not taken again at once */
	uint32_t min = (uint32_t)dev->config->port_min, max = (uint32_t)dev->config->port_max;
	uint32_t num = max > min ? max - min + 1 : 1, start, i;
	int fd = -EADDRINUSE;

	if (*qual || !min)
		return class->listen(&dev->addr, qual);
	start = atomic_fetch_add(&next, 1);
	for (i = 0; i < num && fd == -EADDRINUSE; i++) {
		*qual = min + (start + i) % num;
		fd = class->listen(&dev->addr, qual);
	}
	return fd;
}

int soft_listen(struct tp_device *base, uint64_t conn_qual, void *owner, struct tp_listener **out)
{
	struct soft_dev *dev = soft_dev(base);
	struct soft_listener *listener;
	int fd, rc = -EINVAL;

	if (conn_qual > UINT16_MAX)
		return rc;
	listener = calloc(1, sizeof(*listener));
	rc = -ENOMEM;
	if (!listener)
		goto explain;
	listener->base =
		(struct tp_listener){ .dev = base, .owner = owner, .conn_qual = conn_qual };
	fd = listen_on(dev, &listener->base.conn_qual);
	rc = fd;
	if (fd < 0)
		goto free_listener;
	listener->dev = dev;
	listener->watch.ready = listener_ready;
	listener->watch.fd = fd;
	listener->pause.expired = listener_resume;
	soft_list_init(&listener->half_open);
	*out = &listener->base;
	atomic_store(&dev->looped, true);
	rc = dapl_loop_add(base->loop, &listener->watch, EPOLLIN);
	if (!rc) {
		soft_handoff_enter(listener);
		open_door(dev);
		return 0;
	}
	class->unlisten(fd);
free_listener:
	free(listener);
explain:
	if (conn_qual && rc == -EADDRINUSE)
		dapl_trace(soft_in_use, DAPL_TRC_ERROR, dev, "ia=%s qualifier=%llu", dev->name,
			   (unsigned long long)conn_qual);
	else if (rc == -EADDRINUSE && dev->config->port_min)
		dapl_err("%s: all connection qualifiers from %lld to %lld are in use (options "
			 "port_min, port_max)",
			 dev->name, (long long)dev->config->port_min,
			 (long long)dev->config->port_max);
	else
		dapl_err("%s: not listening on qualifier %llu: %s", dev->name,
			 (unsigned long long)conn_qual, dapl_strerror(-rc));
	return !conn_qual && rc == -EADDRINUSE ? -EADDRNOTAVAIL : rc;
}

static int unlisten(void *arg)
{
	struct soft_listener *listener = arg;
	struct dapl_loop *loop = listener->dev->base.loop;
	struct soft_conn *conn;

	soft_handoff_leave(listener);
	dapl_loop_del(loop, &listener->watch);
	dapl_loop_timer_cancel(loop, &listener->pause);
	class->unlisten(listener->watch.fd);
	while (!soft_list_empty(&listener->half_open)) {
		conn = soft_container(listener->half_open.next, struct soft_conn, node);
		soft_conn_end(conn);
		soft_conn_release(conn);
	}
	free(listener);
	return 0;
}

void soft_unlisten(struct tp_listener *base)
{
	struct soft_listener *listener = soft_container(base, struct soft_listener, base);

	soft_dev_call(listener->dev, unlisten, listener);
}
