/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory windows. */
#ifndef SOFT_WINDOW_H
#define SOFT_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "providers/soft/memory/stag.h"

/* The PD of every window's region: it is no QP's. */
extern const struct tp_pd soft_window_pd;

struct soft_mw {
	struct tp_mw base;
	struct soft_region region; /* its key: of the binding, 0 while unbound */

	/* What it is bound to; changed under soft_stags.lock, seq being odd meanwhile. */
	atomic_uint seq;
	atomic_uint access, mr_key;
	_Atomic uint64_t start, length, stream;
	uint8_t *_Atomic mem;

	/* Bindings that are posted and not done, and on which connection; under soft_stags.lock. */
	uint32_t queued;
	uint64_t queued_stream;
};

/* A posted binding; lies where other requests have their segments. */
struct soft_bind {
	struct soft_mw *mw; /* NULL: freed meanwhile */
	uint64_t addr, length;
	uint32_t mr_key; /* 0: unbind */
	uint32_t access;
	bool zero_based;
};

enum soft_bind_result {
	SOFT_BIND_DONE,
	SOFT_BIND_FAILED,
	SOFT_BIND_LATER, /* the loop has to take others off the window first */
};

/* soft_stag_check and soft_stag_holds (by_mem) of a window's key. */
enum soft_stag_result soft_window_check(struct soft_region *region, uint32_t key,
					const struct soft_protection *prot, uint64_t addr,
					uint64_t len, uint32_t access, bool by_mem, uint8_t **mem);
/* A binding is posted: the key that it is to have, 0 if it unbinds. */
uint32_t soft_window_post(struct soft_protection *prot, const struct soft_bind *bind);
/* The connection on which a window is bound, or is to be; 0: none. */
uint64_t soft_window_stream(struct soft_mw *mw);
/* Does what a posted binding asks; both locks of the QP held, nothing of it uses the window. */
enum soft_bind_result soft_window_bind(const struct soft_protection *prot, struct soft_bind *bind,
				       uint32_t key);
void soft_window_unbind(struct soft_mw *mw);
/* A posted binding is not to be done. The QP's lock held. */
void soft_window_drop(struct soft_bind *bind);
/* The peer invalidates a key: false if it may not. Both locks of the QP held. */
bool soft_window_invalidate(const struct soft_protection *prot, uint32_t key);

#endif
