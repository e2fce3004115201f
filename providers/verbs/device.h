/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The adapter: a verbs device, what it can do and how it differs from others.
 *
 * Locks: a queue's posting side is under the core's lock of its QP ("QP lock"), a CQ under that of
 * its EVD ("CQ lock"), so that posting and polling take none here. Who is not called with it takes
 * it by vrb_qp_lock or vrb_cq_lock, the QP's first; dev->lock may be held then, and an SRQ's or
 * dev->async_lock before the CQ's. The other locks of this transport are leaves.
 */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "util/compiler.h"
#include "providers/verbs/fork.h"
#include "providers/verbs/reap.h"

/* Requests of the transport's own that a QP has room for. */
#define VRB_DRAIN_WRS 2 /* of a graceful end, and of the flush behind it */
#define VRB_WAKE_WRS  2 /* see vrb_qp_wake_peer */

#define VRB_NAME_LEN	  64
#define VRB_NUMBER_CHAINS 64

/* struct vrb_config: the process's values of the tunables; a device's are vrb_dev.config. */
#define CONFIG	 vrb_config
#define TUNABLES "providers/verbs/tunables.def"
#include "dapl/base/config_declare.h"

/* ---- Quirks (quirks.c) ---- */

/* What some devices do and others do not; all zero is an InfiniBand adapter's behaviour. */
struct vrb_quirks {
	const char *kind; /* for traces */

	/* iWARP's reads arrive as tagged writes, at a key that the peer must be able to write to
	 * and learns (RFC 5040). */
	bool read_needs_remote_write;
	/* iWARP has no immediate data and no atomics (IBX-2). */
	bool no_ib_operations;
	/* iWARP completes a read when its data is there, behind requests posted later. */
	bool reads_out_of_order;
	/* Not every iWARP device ends a read of no bytes: a write of none replaces it. */
	bool empty_read_hangs;
	/* Nor does every one take a receive without a segment. */
	bool receive_needs_segment;
	/* iWARP's QPs are in error after every end of a connection, which so says nothing of a
	 * fault. */
	bool error_at_every_end;

	/* RoCE has one partition and needs no route to take receives: a step less is taken while
	 * the peer waits. */
	bool init_without_route;

	/* All local faults are one "operation error" or "general error": the segments are kept
	 * beside the request, and judged here, to tell which fault it was... */
	bool unnamed_faults;
	/* ...and, where they are in order, what a receive's fault was. */
	enum tp_wc_status receive_fault;
	/* A post queues a request and then makes a system call; where that fails the request stays
	 * queued all the same (siw_post_send of libsiw, post_send_db of librxe). */
	bool post_is_a_call;
	/* The call sends on a TCP connection, and raises SIGPIPE where the peer has closed that. */
	bool post_raises_sigpipe;
	/* The kernel copies the data anyway: inline data gains nothing. */
	bool no_inline;
	/* The library is known to take inline data from all segments of a request: those of irdma
	 * and i40iw sent the first alone. */
	bool inlines_segments;
	/* The kernel's number of the flag for an invalidated key, which in verbs means something
	 * else. */
	bool invalidated_as_csum;

	/* That a QP in error has given back what it took of its SRQ, it does not say. */
	bool no_last_wqe;
	/* soft-RoCE counts to six; seven, which the peer may ask for, is for ever. 0: no limit. */
	uint8_t max_retry;
	/* librxe fails a misaligned atomic when it is posted, instead of the peer (IBX-40). */
	bool checks_atomic_alignment;
	/* soft-RoCE's driver crashes on invalidating a key that the peer has invalidated. */
	bool stale_invalidate_crashes;

	/* soft-iWARP tells of solicited receives no more than of others. */
	bool no_solicited;
	/* soft-iWARP fails a request that meets a connection closed by the peer with a local error
	 * and a fatal event, instead of flushing it. */
	bool closed_is_fatal;
	/* Likewise, by IBV_EVENT_QP_REQ_ERR, an answer to the peer that meets an end. */
	bool unanswered_is_fatal;
	/* soft-iWARP flushes while the QP changes to error, or never: it forgets what was posted
	 * after it had gone there by itself. */
	bool flushes_at_once;
	/* soft-iWARP, closed in order first, may keep what it has not begun to send. */
	bool error_before_disconnect;
	/* soft-iWARP overlooks what came in while it connected: see vrb_qp_wake_peer. */
	bool needs_wake;
	/* libsiw takes the offset 0x90000 of a mapping for a failure, and the kernel gives out
	 * offsets from the lowest free one on: the context's first CQ, of so many entries, covers
	 * it. */
	uint32_t first_cq_len;
};

/* By what the device and its port say of themselves. */
struct vrb_quirks vrb_quirks_of(const struct ibv_device *device, uint32_t vendor,
				uint8_t link_layer);

/* ---- The device ---- */

struct vrb_qp;
struct vrb_mw;
struct vrb_mr;
struct vrb_late;

struct vrb_dev {
	struct tp_device base;
	char name[256]; /* of the IA */
	const struct vrb_config *config;
	char ibdev[VRB_NAME_LEN];
	struct ibv_context *ctx;
	uint8_t port;
	struct vrb_quirks quirks;
	bool on_demand;		      /* its regions are not pinned */
	bool windows;		      /* it has memory windows, and its library their calls */
	uint32_t max_qp_wr;	      /* what it names itself */
	bool no_resize;		      /* its CQs keep the length they are made with */
	_Atomic uint32_t next_vector; /* of completions, for the next CQ */
	atomic_bool gone;	      /* the device was removed: nothing will complete any more */
	struct sockaddr_storage addr;
	union ibv_gid gid; /* of the address */
	int gid_index;	   /* among the port's; -1: it is not there */
	bool gid_named;	   /* the connection manager says by its index which it is */
	char chosen_by[160];
	struct tp_device_attr attr;
	struct tp_watch async;
	_Atomic uint32_t
		async_told; /* events of the device, by bit, read elsewhere than on the loop */
	struct tp_task async_task;
	pthread_mutex_t async_lock; /* whose an object is that the device tells of */
	struct ibv_cq *null_cq;	    /* of queues that the program makes no use of */

	void *cm; /* the connection manager's own */
	/* The connection manager's: a QP failed, or has nothing outstanding any more. Loop. */
	void (*qp_event)(struct vrb_qp *qp);
	/* The QP of its own messages, if it has one: it hears that the device told of it, or of the
	 * port, or is gone. */
	_Atomic(struct ibv_qp *) cm_qp;
	atomic_bool cm_dead; /* a completion queue of it failed: to reset it does not help */
	struct tp_task cm_event;
	pthread_mutex_t cm_lock; /* the connection manager's leaf: which QP has which connection */

	pthread_mutex_t lock; /* everything below */
	struct vrb_qp *qps;
	uint32_t num_open; /* connections */
	bool watching;
	struct tp_timer watchdog;

	struct vrb_reaper reaper;
	struct vrb_late *late; /* see qp_late.c; under number_lock, as it is used as seldom */

	pthread_mutex_t mw_lock; /* which windows are bound through which QP */
	struct vrb_mw *mws;

	pthread_mutex_t number_lock; /* the QPs that have an SRQ */
	struct vrb_qp *by_number[VRB_NUMBER_CHAINS];

	pthread_mutex_t mr_lock;
	struct vrb_mr **mrs;	 /* by local key, chained */
	_Atomic uint32_t mr_gen; /* counts deregistrations */
};

static inline struct vrb_dev *vrb_dev(struct tp_device *base)
{
	return container_of(base, struct vrb_dev, base);
}

/* Takes over a descriptor that rdma-core opened: its number stands where rdma-core looks for it
 * (dapl/base/fd.h), and reading never blocks where nonblock says so. 0 or -errno. */
int vrb_own_fd(int *fd, bool nonblock);
/* The device that ctx belongs to becomes dev's, with both of its descriptors. */
int vrb_dev_open(struct vrb_dev *dev, struct ibv_device *device);
void vrb_dev_close(struct vrb_dev *dev);
/* Whether destroying failed by err with a reason to say so: of a device that is gone everything went
 * with it, and libibverbs keeps its own part (RDMAV_ALLOW_DISASSOC_DESTROY). */
static inline bool vrb_dev_kept(const struct vrb_dev *dev, int err)
{
	return err && !atomic_load(&dev->gone);
}
/* What is told of an object with this context is nobody's from here on: who had it may be freed. */
void vrb_dev_disown(struct vrb_dev *dev, void **context);
/* What an open device can do. */
int vrb_dev_learn(struct vrb_dev *dev);
/* port.c: where the adapter's GID stands among the port's, into attr. */
void vrb_port_learn(struct vrb_dev *dev);
/* What an event of a port means for the adapter; false: nothing. */
bool vrb_port_event(struct vrb_dev *dev, const struct ibv_async_event *event);
/* counters.c */
int vrb_dev_counters(struct tp_device *base, enum tp_counters group, uint64_t *value, uint32_t num);

#endif
