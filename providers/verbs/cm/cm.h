/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The seam to the connection managers. A module has one (Makemodule.am): the core calls it by
 * vrb_cm_ops, module.c by vrb_cm; it calls the core, and the functions of qp.h, cq.h, addr.h, map.h,
 * async.h and watchdog.h. Nothing above knows how connections come about.
 */
#ifndef VERBS_CM_H
#define VERBS_CM_H

#include "providers/verbs/device.h"

struct vrb_cm {
	/* Finds the device and the address that an entry of dat.conf means, and opens it: ctx,
	 * ibdev, port and addr. 0 or -errno, with a message. */
	int (*open)(struct vrb_dev *dev, const char *params);
	void (*close)(struct vrb_dev *dev);
	/* What the device can do is known: sets attr.max_private_data and qp_event, and handles
	 * its events on the loop from here on. */
	int (*start)(struct vrb_dev *dev);
	void (*stop)(struct vrb_dev *dev);
};

extern const struct vrb_cm vrb_cm;
/* What programs know it by (dapl_transport.provider_name). */
extern const char vrb_cm_name[];
/* The core's calls: listen, connect, accept and so on. */
extern const struct dapl_cm_ops vrb_cm_ops;

/* ---- What ends a connection, whoever made it (end.c) ---- */

struct vrb_qp;

/* Requests posted before are processed to their end, of which the manager hears (dev->qp_event). */
void vrb_cm_begin_drain(struct vrb_qp *qp);
/* Puts it in error and ends its drain. */
void vrb_cm_end_qp(struct vrb_qp *qp);
/*
 * The device found a fault of the peer's access, or of a request here, and the peer was faster to
 * end the connection. Not every device has an event for the first. How it ended: broken.
 */
enum tp_conn_event vrb_cm_fault_here(struct vrb_qp *qp);
/* Whether the reason of an end like this is a failure that the flush brought to light, or that the
 * device has yet to tell. qp may be NULL. */
bool vrb_cm_was_fault(struct vrb_qp *qp, enum tp_conn_event event);
/* Says once why; an end or a reject that a program asked for is no error. */
void vrb_cm_explain(const struct vrb_dev *dev, const struct tp_conn_addr *addr,
		    enum tp_conn_event event, int err);

/* ---- Connections and listeners of more threads than the loop (object.c) ---- */

/*
 * What is common to a connection and a listener: one thread at a time works on it, the loop with
 * its events or a call, and who has a reference finds it there.
 */
struct vrb_cm_object {
	struct vrb_dev *dev;
	bool listener;
	void (*free)(struct vrb_cm_object *object); /* without references */
	pthread_mutex_t lock;			    /* recursive */
	bool closed;				    /* nobody locks it any more; lock */
	_Atomic uint32_t refs;
};

/* With one reference. */
void vrb_cm_init(struct vrb_cm_object *object, struct vrb_dev *dev,
		 void (*free)(struct vrb_cm_object *object));
/* Takes and drops the lock, which nests. False: it is closed. */
bool vrb_cm_lock(struct vrb_cm_object *object);
void vrb_cm_unlock(struct vrb_cm_object *object);
/* Nobody locks it any more and, but for the caller, nobody has it locked. */
void vrb_cm_close(struct vrb_cm_object *object);
void vrb_cm_get(struct vrb_cm_object *object);
void vrb_cm_put(struct vrb_cm_object *object);

#endif
