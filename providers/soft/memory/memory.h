/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered memory and the windows on it. */
#ifndef SOFT_MEMORY_H
#define SOFT_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"

struct soft_qp;
struct soft_sqe;

enum {
	SOFT_STAG_ROUNDS = 22, /* of the cipher that makes the keys */
};

/* ---- Registered memory (stag.c) ---- */

enum {
	SOFT_ACCESS_LOCAL_READ = 0x01, /* beside TP_ACCESS_*: local segments may name it */
};

/* What a key names. One of a memory region does not change while its key is in the table. */
struct soft_region {
	atomic_uint key;
	uint32_t access;
	const struct tp_pd *pd; /* &soft_window_pd: the region of a window, see window.c */
	uint64_t start;		/* what its users call its first byte */
	uint64_t length;
	uint8_t *mem; /* that byte */
};

struct soft_mr {
	struct tp_mr base;
	struct soft_region region;
};

struct soft_stag_table;

struct soft_stags {
	struct soft_stag_table *_Atomic table;
	pthread_mutex_t lock;
	struct soft_stag_table *retired; /* smaller tables that readers may still look at */
	uint32_t live;
	uint32_t drawn; /* keys so far */
	uint16_t secret[SOFT_STAG_ROUNDS];
};

enum soft_stag_result {
	SOFT_STAG_OK,
	SOFT_STAG_INVALID,
	SOFT_STAG_BOUNDS,
	SOFT_STAG_ACCESS,
	SOFT_STAG_PD,
	SOFT_STAG_WRAP,
};

int soft_stags_init(struct soft_stags *stags);
void soft_stags_fini(struct soft_stags *stags);
/*
 * May qp do access to [addr, addr + len) by this key, and which memory is that? Call and use of the
 * memory under one of the QP's locks.
 */
enum soft_stag_result soft_stag_check(const struct soft_qp *qp, uint32_t key, uint64_t addr,
				      uint64_t len, uint32_t access, uint8_t **mem);
/* Ditto for a receive, which may be of another PD (SRQ-34). */
bool soft_stag_check_recv(const struct soft_qp *qp, uint32_t key, uint64_t addr, uint64_t len,
			  uint8_t **mem);
/* Ditto for memory that an earlier check has named: is it still the key's? */
bool soft_stag_holds(const struct soft_qp *qp, uint32_t key, const uint8_t *mem, uint64_t len,
		     uint32_t access);
/* A key nobody has or had for long; nobody can tell the next one. stags->lock held. */
uint32_t soft_stag_draw(struct soft_stags *stags);
/* The region of a key, or NULL. */
struct soft_region *soft_stag_find(struct soft_stags *stags, uint32_t key);
/* Enter a region under its key, and take it out. stags->lock held. -ENOMEM. */
int soft_stag_publish(struct soft_stags *stags, struct soft_region *region);
void soft_stag_unpublish(struct soft_stags *stags, struct soft_region *region);
extern const struct dapl_pd_ops soft_pd_ops;
extern const struct dapl_mr_ops soft_mr_ops;

/* ---- Memory windows (window.c) ---- */

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
					const struct soft_qp *qp, uint64_t addr, uint64_t len,
					uint32_t access, bool by_mem, uint8_t **mem);
/* Does what a posted binding asks; both locks held, nothing of the QP uses the window. */
enum soft_bind_result soft_window_bind(struct soft_qp *qp, struct soft_sqe *sqe);
/* Unbinds the window a posted binding is about and waits until nobody uses it. On the loop. */
void soft_window_clear(struct soft_qp *qp);
/* The requests that a QP drops: bindings among them are forgotten. tx_lock held. */
void soft_window_dropped(struct soft_qp *qp, struct soft_sqe *sqe);
/* The peer invalidates a key: false if it may not. rx_lock held. */
bool soft_window_invalidate(struct soft_qp *qp, uint32_t key);
extern const struct dapl_mw_ops soft_mw_ops;

#endif
