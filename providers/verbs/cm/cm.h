/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The seam to the connection managers. A module has one (Makemodule.am): the core calls it by
 * vrb_cm_ops, module.c by vrb_cm; it calls the core, and the functions of qp.h, cq.h, async.h and watchdog.h. Nothing
 * above knows how connections come about.
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

/* ---- Connections and listeners (object.c) ---- */

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
