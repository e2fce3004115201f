/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered memory. */
#ifndef SOFT_STAG_H
#define SOFT_STAG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"

enum {
	SOFT_STAG_ROUNDS = 22, /* of the cipher that makes the keys */
};

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

struct soft_dev;
struct soft_stag_table;

struct soft_stags {
	struct soft_stag_table *_Atomic table;
	pthread_mutex_t lock;
	struct soft_stag_table *retired; /* earlier tables that readers may still look at */
	struct tp_task settle;		 /* has them forgotten */
	uint32_t live;
	uint32_t drawn; /* keys so far */
	uint16_t secret[SOFT_STAG_ROUNDS];
	struct soft_dev *dev;
	/* Waits until nobody who may have seen a key that is gone is at work, peers among them if it
	 * is a region's; 0: a window's. No lock held. */
	void (*quiesce)(struct soft_dev *dev, uint32_t key);
};

/* What decides which keys a QP may use. */
struct soft_protection {
	struct soft_stags *stags;
	const struct tp_pd *pd;
	_Atomic uint64_t stream; /* of the device's connections so far; 0 while there is none */
};

enum soft_stag_result {
	SOFT_STAG_OK,
	SOFT_STAG_INVALID,
	SOFT_STAG_BOUNDS,
	SOFT_STAG_ACCESS,
	SOFT_STAG_PD,
	SOFT_STAG_WRAP,
};

/* Sets dev->stags: 0, -ENOMEM, or what getrandom(2) said. */
int soft_stags_init(struct soft_dev *dev, void (*quiesce)(struct soft_dev *dev, uint32_t key));
void soft_stags_fini(struct soft_stags *stags);
/* Keys and bindings that were taken out are forgotten by all: their memory may go. key: as for
 * quiesce. No lock held. */
void soft_stags_settle(struct soft_stags *stags, uint32_t key);
/*
 * Is access to [addr, addr + len) by this key allowed, and which memory is that? Call and use of
 * the memory under one of the QP's locks.
 */
enum soft_stag_result soft_stag_check(const struct soft_protection *prot, uint32_t key,
				      uint64_t addr, uint64_t len, uint32_t access, uint8_t **mem);
/* Ditto for a receive, whose PD may be another one, a shared receive queue's (SRQ-34). */
bool soft_stag_check_recv(const struct soft_protection *prot, const struct tp_pd *pd, uint32_t key,
			  uint64_t addr, uint64_t len, uint8_t **mem);
/* Ditto for memory that an earlier check has named: is it still the key's? */
bool soft_stag_holds(const struct soft_protection *prot, uint32_t key, const uint8_t *mem,
		     uint64_t len, uint32_t access);
/* A key nobody has or had for long; nobody can tell the next one. stags->lock held. */
uint32_t soft_stag_draw(struct soft_stags *stags);
/* The region of a key, or NULL. */
struct soft_region *soft_stag_find(struct soft_stags *stags, uint32_t key);
/* Enter a region under its key, and take it out. stags->lock held. -ENOMEM. */
int soft_stag_publish(struct soft_stags *stags, struct soft_region *region);
void soft_stag_unpublish(struct soft_stags *stags, struct soft_region *region);
extern const struct dapl_pd_ops soft_pd_ops;
extern const struct dapl_mr_ops soft_mr_ops;

#endif
