/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points. */
#ifndef SOFT_LISTENER_H
#define SOFT_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "util/list.h"

struct soft_dev;
struct soft_link_class;
struct soft_listener;

/* A service point (listener.c): one ear for each class of links. */
struct soft_ear {
	struct soft_listener *listener;
	const struct soft_link_class *class;
	struct tp_watch watch;
};

enum {
	SOFT_EARS = 2,
};

struct soft_listener {
	struct tp_listener base;
	struct soft_dev *dev;
	struct soft_ear ear[SOFT_EARS];
	uint32_t ears;
	struct tp_timer pause;
	struct soft_list half_open; /* connections whose request has not come */
	bool starved;		    /* could not accept, and said so */
	bool paused;		    /* nobody is accepted until the timer is over */
	struct soft_list handoff_node;
};

int soft_listen(struct tp_device *dev, uint64_t conn_qual, void *owner, struct tp_listener **out);
void soft_unlisten(struct tp_listener *listener);

#endif
