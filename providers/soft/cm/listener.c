/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points: a listening descriptor, and the connections on it whose request has not come. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/conn.h"
#include "providers/soft/cm/handoff/handoff.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/config.h"
#include "providers/soft/device.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	ACCEPTS_PER_EVENT = 64,
	PAUSE_MS = 100,
};

static void watch_ears(struct soft_listener *listener, uint32_t events)
{
	for (uint32_t i = 0; i < listener->ears; i++)
		dapl_loop_mod(listener->dev->base.loop, &listener->ear[i].watch, events);
}

/*
 * Out of descriptors or memory, or broken: the backlog waits, and so do we, instead of being told
 * of it for ever; of a hang-up one is told whatever is watched.
 */
static void listener_pause(struct soft_listener *listener)
{
	listener->paused = true;
	watch_ears(listener, EPOLLONESHOT);
	dapl_loop_timer(listener->dev->base.loop, &listener->pause,
			dapl_now() + PAUSE_MS * 1000000ull);
}

static void listener_failed(struct soft_listener *listener, int err)
{
	if (!listener->starved)
		dapl_err_limited("%s: cannot accept connections on qualifier %llu: %s",
				 listener->dev->name, (unsigned long long)listener->base.conn_qual,
				 dapl_strerror(-err));
	listener->starved = true;
	listener_pause(listener);
}

static void listener_resume(struct tp_timer *timer)
{
	struct soft_listener *listener = soft_container(timer, struct soft_listener, pause);

	listener->paused = false;
	watch_ears(listener, EPOLLIN);
}

static void listener_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_ear *ear = soft_container(watch, struct soft_ear, watch);
	struct soft_listener *listener = ear->listener;
	struct soft_link *link;
	int rc;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_EVENT && !listener->paused; i++) {
		if (!soft_cm_room(listener->dev)) {
			listener_pause(listener);
			return;
		}
		rc = ear->class->accept(listener->dev, watch->fd, &link);
		switch (-rc) {
		case 0:
			listener->starved = false;
			soft_cm_half_open(listener, link);
			break;
		case EINTR:
		case ECONNABORTED:
		case EPROTO:
			break;
		case EAGAIN:
			return;
		default:
			listener_failed(listener, rc);
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
		return soft_link_tcp.listen(&dev->addr, qual);
	start = atomic_fetch_add(&next, 1);
	for (i = 0; i < num && fd == -EADDRINUSE; i++) {
		*qual = min + (start + i) % num;
		fd = soft_link_tcp.listen(&dev->addr, qual);
	}
	return fd;
}

/* Adds an ear of a descriptor, which it takes. */
static int add_ear(struct soft_listener *listener, const struct soft_link_class *class, int fd)
{
	struct soft_ear *ear = &listener->ear[listener->ears];
	int rc;

	ear->listener = listener;
	ear->class = class;
	ear->watch.ready = listener_ready;
	ear->watch.fd = fd;
	atomic_store(&listener->dev->looped, true);
	rc = dapl_loop_add(listener->dev->base.loop, &ear->watch, EPOLLIN);
	if (rc)
		class->unlisten(fd);
	else
		listener->ears++;
	return rc;
}

/* The qualifier is ours by TCP's ear; who finds no ear for shared memory takes that one. */
static int add_second_ear(struct soft_listener *listener)
{
	struct soft_dev *dev = listener->dev;
	int rc;

	if (dev->config->link == SOFT_LINK_TCP)
		return 0;
	rc = soft_link_shm.listen(&dev->addr, &listener->base.conn_qual);
	if (rc >= 0)
		rc = add_ear(listener, &soft_link_shm, rc);
	if (!rc || dev->config->link == SOFT_LINK_SHM)
		return rc;
	/* TCP's port is ours, and so ought to be this name. */
	if (rc == -EADDRINUSE)
		dapl_err_limited("%s: no shared memory on qualifier %llu: its name is taken, by a "
				 "process that has not the port",
				 dev->name, (unsigned long long)listener->base.conn_qual);
	dapl_trace(soft_no_shm, DAPL_TRC_NORMAL, dev, "ia=%s qualifier=%llu why=%s", dev->name,
		   (unsigned long long)listener->base.conn_qual, dapl_strerror(-rc));
	return 0;
}

static void remove_ears(struct soft_listener *listener)
{
	struct soft_ear *ear;

	/* TCP's, which holds the qualifier, last. */
	while (listener->ears) {
		ear = &listener->ear[--listener->ears];
		dapl_loop_del(listener->dev->base.loop, &ear->watch);
		ear->class->unlisten(ear->watch.fd);
	}
}

static void explain(const struct soft_dev *dev, uint64_t conn_qual, int err)
{
	if (conn_qual && err == -EADDRINUSE)
		dapl_trace(soft_in_use, DAPL_TRC_ERROR, dev, "ia=%s qualifier=%llu", dev->name,
			   (unsigned long long)conn_qual);
	else if (err == -EADDRINUSE && dev->config->port_min)
		dapl_err("%s: all connection qualifiers from %lld to %lld are in use (options "
			 "port_min, port_max)",
			 dev->name, (long long)dev->config->port_min,
			 (long long)dev->config->port_max);
	else
		dapl_err("%s: not listening on qualifier %llu: %s", dev->name,
			 (unsigned long long)conn_qual, dapl_strerror(-err));
}

int soft_listen(struct tp_device *base, uint64_t conn_qual, void *owner, struct tp_listener **out)
{
	struct soft_dev *dev = soft_dev(base);
	struct soft_listener *listener;
	int rc = -ENOMEM;

	if (conn_qual > UINT16_MAX)
		return -EINVAL;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		goto explain;
	listener->base =
		(struct tp_listener){ .dev = base, .owner = owner, .conn_qual = conn_qual };
	listener->dev = dev;
	listener->pause.expired = listener_resume;
	soft_list_init(&listener->half_open);
	rc = listen_on(dev, &listener->base.conn_qual);
	if (rc < 0)
		goto free_listener;
	*out = &listener->base;
	rc = add_ear(listener, &soft_link_tcp, rc);
	if (!rc)
		rc = add_second_ear(listener);
	if (!rc) {
		soft_handoff_enter(listener);
		open_door(dev);
		return 0;
	}
	remove_ears(listener);
free_listener:
	free(listener);
explain:
	explain(dev, conn_qual, rc);
	return !conn_qual && rc == -EADDRINUSE ? -EADDRNOTAVAIL : rc;
}

static int unlisten(void *arg)
{
	struct soft_listener *listener = arg;
	struct dapl_loop *loop = listener->dev->base.loop;
	struct soft_conn *conn;

	soft_handoff_leave(listener);
	remove_ears(listener);
	dapl_loop_timer_cancel(loop, &listener->pause);
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
