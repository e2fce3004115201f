/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/listener.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "dapl/base/fd.h"
#include "providers/soft/cm/accept.h"
#include "providers/soft/cm/handoff.h"
#include "providers/soft/cm/ud.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	ACCEPTS_PER_EVENT = 64,
	PAUSE_MS = 100,
	PORT_TRIES = 32, /* that are UDP's of others */
};

/* ---- Accepting connections ---- */

static void watch_sockets(struct soft_listener *listener, uint32_t events)
{
	for (uint32_t i = 0; i < listener->num_sockets; i++)
		dapl_loop_mod(listener->dev->base.loop, &listener->socket[i].watch, events);
}

/*
 * Out of descriptors or memory, or broken: the backlog waits, and so do we, instead of being told
 * of it for ever; of a hang-up one is told whatever is watched.
 */
static void listener_pause(struct soft_listener *listener)
{
	listener->paused = true;
	watch_sockets(listener, EPOLLONESHOT);
	dapl_loop_timer(listener->dev->base.loop, &listener->pause,
			dapl_now() + PAUSE_MS * 1000000ull);
}

static void listener_failed(struct soft_listener *listener, int err)
{
	if (!listener->failed)
		dapl_err_limited("%s: cannot accept connections on qualifier %llu: %s",
				 listener->dev->name, (unsigned long long)listener->base.conn_qual,
				 dapl_strerror(-err));
	listener->failed = true;
	listener_pause(listener);
}

static void listener_resume(struct tp_timer *timer)
{
	struct soft_listener *listener = container_of(timer, struct soft_listener, pause);

	listener->paused = false;
	watch_sockets(listener, EPOLLIN);
}

static int accept_one(struct soft_listener_socket *socket)
{
	struct soft_listener *listener = socket->listener;
	struct soft_link *link;
	int rc;

	if (!socket->class)
		return soft_handoff_accept(listener, socket->watch.fd);
	rc = socket->class->accept(listener->dev, socket->watch.fd, &link);
	if (!rc)
		soft_accept_link(listener, link);
	return rc;
}

static void listener_ready(struct tp_watch *watch, uint32_t events)
{
	struct soft_listener_socket *socket =
		container_of(watch, struct soft_listener_socket, watch);
	struct soft_listener *listener = socket->listener;
	int rc;

	for (int i = 0; i < ACCEPTS_PER_EVENT && !listener->paused; i++) {
		if (!soft_accept_room(listener->dev)) {
			listener_pause(listener);
			return;
		}
		rc = accept_one(socket);
		switch (-rc) {
		case 0:
			listener->failed = false;
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

/* On a qualifier of the program's choice, of the administrator's, or of the system's. */
static int listen_on(const struct soft_dev *dev, uint64_t *qual)
{
	static atomic_uint next; /* so that one that was just given up is not taken again at once */
	uint32_t min = (uint32_t)dev->config->port_min, max = (uint32_t)dev->config->port_max;
	uint32_t num = max > min ? max - min + 1 : 1, start, i;
	int fd = -EADDRINUSE;

	if (*qual || !min)
		return soft_link_tcp.listen(dev, qual);
	start = atomic_fetch_add(&next, 1);
	for (i = 0; i < num && fd == -EADDRINUSE; i++) {
		*qual = min + (start + i) % num;
		fd = soft_link_tcp.listen(dev, qual);
	}
	return fd;
}

/* A child of the process may have the socket, too. */
static void close_socket(int fd)
{
	(void)shutdown(fd, SHUT_RDWR);
	dapl_fd_close(fd);
}

/* Adds the socket of a descriptor, which it takes; fd may be a negative errno. */
static int add_socket(struct soft_listener *listener, const struct soft_link_class *class, int fd)
{
	struct soft_listener_socket *socket = &listener->socket[listener->num_sockets];
	int rc;

	if (fd < 0)
		return fd;
	socket->listener = listener;
	socket->class = class;
	socket->watch.ready = listener_ready;
	socket->watch.fd = fd;
	atomic_store(&listener->dev->looped, true);
	rc = dapl_loop_add(listener->dev->base.loop, &socket->watch, EPOLLIN);
	if (rc)
		close_socket(fd);
	else
		listener->num_sockets++;
	return rc;
}

/* Something that the listener goes without; TCP's port is its own, and so ought to be the names. */
static void unavailable(const struct soft_listener *listener, const char *what, int err)
{
	const char *ia = listener->dev->name;

	if (err == -EADDRINUSE)
		dapl_err_limited("%s: no %s on qualifier %llu: the name for it is taken, by a "
				 "process that has not the port",
				 ia, what, (unsigned long long)listener->base.conn_qual);
	dapl_trace(soft_unavailable, DAPL_TRC_NORMAL, listener->dev,
		   "ia=%s what=%s qualifier=%llu why=%s", ia, what,
		   (unsigned long long)listener->base.conn_qual, dapl_strerror(-err));
}

/* The process may have no Unix sockets: systemd's RestrictAddressFamilies=, a filter of calls. */
static bool denied(int err)
{
	return err == -EAFNOSUPPORT || err == -EPERM || err == -EACCES || err == -ENOSYS;
}

/* The qualifier is ours by TCP's socket; who finds none for shared memory takes that one. */
static int add_local_sockets(struct soft_listener *listener)
{
	const struct soft_dev *dev = listener->dev;
	int rc;

	if (dev->config->link != SOFT_LINK_TCP) {
		rc = soft_link_shm.listen(dev, &listener->base.conn_qual);
		rc = add_socket(listener, &soft_link_shm, rc);
		if (rc && dev->config->link == SOFT_LINK_SHM)
			return rc;
		if (rc)
			unavailable(listener, "shared memory", rc);
	}
	rc = add_socket(listener, NULL, soft_handoff_listen(listener));
	if (rc && rc != -EADDRINUSE && !denied(rc))
		return rc;
	if (rc)
		unavailable(listener, "handing on of requests", rc);
	return 0;
}

static void remove_sockets(struct soft_listener *listener)
{
	struct soft_listener_socket *socket;

	/* TCP's, which holds the qualifier, last. */
	while (listener->num_sockets) {
		socket = &listener->socket[--listener->num_sockets];
		dapl_loop_del(listener->dev->base.loop, &socket->watch);
		close_socket(socket->watch.fd);
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

struct opening {
	struct soft_listener *listener;
	struct tp_listener **out;
	struct soft_link *link; /* of a socket of the program */
};

/* TCP's socket, and UDP's for datagram endpoints; without that only where another has its port. */
static int listen_both(struct soft_listener *listener)
{
	struct soft_dev *dev = listener->dev;
	uint64_t *qual = &listener->base.conn_qual;
	bool any = !*qual;
	int fd, rc;

	for (int tries = 0;; tries++) {
		fd = listen_on(dev, qual);
		if (fd < 0)
			return fd;
		rc = soft_ud_listen(dev, (uint16_t)*qual, listener->base.owner);
		if (!rc)
			return fd;
		if (rc == -EADDRINUSE && (!any || tries == PORT_TRIES))
			break;
		close_socket(fd);
		if (rc != -EADDRINUSE)
			return rc;
		*qual = 0;
	}
	dapl_err_limited("%s: no datagram endpoints on qualifier %llu: %s", dev->name,
			 (unsigned long long)*qual, dapl_strerror(-rc));
	return fd;
}

/* On the loop, which else might look at the first one while the others come. */
static int open_sockets(void *arg)
{
	struct opening *opening = arg;
	struct soft_listener *listener = opening->listener;
	int rc = listen_both(listener);

	if (rc < 0)
		return rc;
	*opening->out = &listener->base;
	rc = add_socket(listener, &soft_link_tcp, rc);
	if (!rc)
		rc = add_local_sockets(listener);
	if (!rc)
		return 0;
	soft_ud_unlisten(listener->dev, listener->base.owner);
	remove_sockets(listener);
	return rc;
}

static struct soft_listener *listener_alloc(struct tp_device *dev, uint64_t conn_qual, void *owner)
{
	struct soft_listener *listener = calloc(1, sizeof(*listener));

	if (!listener)
		return NULL;
	listener->base = (struct tp_listener){ .dev = dev, .owner = owner, .conn_qual = conn_qual };
	listener->dev = soft_dev(dev);
	listener->pause.expired = listener_resume;
	list_init(&listener->half_open);
	list_init(&listener->sessions);
	return listener;
}

int soft_listen(struct tp_device *base, uint64_t conn_qual, void *owner, struct tp_listener **out)
{
	struct soft_dev *dev = soft_dev(base);
	struct soft_listener *listener;
	struct opening opening;
	int rc = -ENOMEM;

	if (conn_qual > UINT16_MAX)
		return -EINVAL;
	listener = listener_alloc(base, conn_qual, owner);
	if (!listener)
		goto explain;
	opening = (struct opening){ listener, out, NULL };
	rc = soft_dev_call(dev, open_sockets, &opening);
	if (!rc)
		return 0;
	free(listener);
explain:
	explain(dev, conn_qual, rc);
	return !conn_qual && rc == -EADDRINUSE ? -EADDRNOTAVAIL : rc;
}

/* ---- Sockets of the program ---- */

static int open_socket(void *arg)
{
	struct opening *opening = arg;
	int rc = soft_accept_socket(opening->listener, opening->link);

	if (!rc)
		*opening->out = &opening->listener->base;
	return rc;
}

static int listen_over(struct soft_listener *listener, int socket, struct tp_listener **out)
{
	struct opening opening = { listener, out, NULL };
	int rc = soft_link_of_socket(listener->dev, socket, &opening.link);

	return rc ? rc : soft_dev_call(listener->dev, open_socket, &opening);
}

int soft_listen_socket(struct tp_device *base, int socket, const void *message, uint32_t len,
		       void *owner, struct tp_listener **out)
{
	struct soft_listener *listener = listener_alloc(base, 0, owner);
	uint8_t *copy = len ? malloc(len) : NULL;
	int rc = -ENOMEM;

	if (listener && (copy || !len)) {
		if (len)
			memcpy(copy, message, len);
		listener->by_socket = true;
		listener->message = copy;
		listener->message_len = len;
		rc = listen_over(listener, socket, out);
	}
	if (!rc)
		return 0;
	if (rc != -EINVAL)
		dapl_err("%s: no service point on socket %d: %s", soft_dev(base)->name, socket,
			 dapl_strerror(-rc));
	free(copy);
	free(listener);
	return rc;
}

static int unlisten(void *arg)
{
	struct soft_listener *listener = arg;

	soft_ud_unlisten(listener->dev, listener->base.owner);
	remove_sockets(listener);
	dapl_loop_timer_cancel(listener->dev->base.loop, &listener->pause);
	soft_accept_stop(listener);
	soft_handoff_stop(listener);
	free(listener->message);
	free(listener);
	return 0;
}

void soft_unlisten(struct tp_listener *base)
{
	struct soft_listener *listener = container_of(base, struct soft_listener, base);

	soft_dev_call(listener->dev, unlisten, listener);
}
