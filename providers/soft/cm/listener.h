/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Listeners: a socket for each class of links, one for requests handed on, and connections whose
 * request is awaited.
 */
#ifndef SOFT_LISTENER_H
#define SOFT_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "dapl/transport.h"
#include "util/list.h"

struct soft_dev;
struct soft_link_class;
struct soft_listener;

struct soft_listener_socket {
	struct soft_listener *listener;
	const struct soft_link_class *class; /* NULL: requests are handed on there */
	struct tp_watch watch;
};

struct soft_listener {
	struct tp_listener base;
	struct soft_dev *dev;
	struct soft_listener_socket socket[3];
	uint32_t num_sockets;
	struct tp_timer pause;
	struct list half_open; /* connections whose request has not come */
	bool failed;	       /* could not accept, and said so */
	bool paused;	       /* nobody is accepted until the timer is over */
	struct list sessions;  /* of who hands requests on (handoff.h) */
	uint32_t num_sessions;
	/* Of a socket of the program (cm/socket.h): it listens nowhere, and sends this first. */
	bool by_socket;
	uint8_t *message;
	size_t message_len, message_sent;
};

int soft_listen(struct tp_device *dev, uint64_t conn_qual, void *owner, struct tp_listener **out);
/* For the one request over a socket of the program (dapl_socket_ops.listen). */
int soft_listen_socket(struct tp_device *dev, int socket, const void *message, uint32_t len,
		       void *owner, struct tp_listener **out);
void soft_unlisten(struct tp_listener *listener);

#endif
