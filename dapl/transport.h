/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The contract between the provider core and a transport.
 *
 * A transport supplies one const struct dapl_transport; the core calls down through its tables and
 * the transport calls up through struct tp_upcalls. A module is the core linked with one transport.
 * This header, dapl/unsupported.h and those of dapl/base are all a transport may know of the core.
 *
 * General rules
 *
 * - Every function that can fail returns 0 (or a count) or a negative errno. The core alone speaks
 *   DAT_RETURN. The transport logs why, once, where it first knows (dapl_err in trace/log.h), with
 *   object, peer, errno text and the limit that was hit.
 * - No function of a table is NULL, but where it says so. What a transport does not
 *   support answers -EOPNOTSUPP (dapl/unsupported.h), and struct tp_device_attr says so.
 * - Objects are allocated by the transport, which embeds the tp_* base first in its own structure.
 *   The transport fills all members of the base; members marked "core" are the core's to read and
 *   write.
 * - Locks. "EP lock" and "EVD lock" are the core's locks of one endpoint and of one dispatcher;
 *   calls marked so come under them, and the transport may take them by tp_qp.lock and tp_cq.lock,
 *   the QP's before the CQ's and both before all of its own. It never calls up while it holds a
 *   lock of its own, except cq_event.
 * - Threads. Each open device has one service thread, the loop (dapl/base/loop.h). Everything that
 *   takes time or calls up (connection management, asynchronous errors) runs there, or on a thread
 *   that has entered it (dapl_loop_call). Polling threads only move data; when they find a broken
 *   connection they hand the rest to the loop.
 * - Teardown is close, stop, free: destroy functions stop new work, wait until no callback of the
 *   object runs on another thread, and free. Called on the loop itself they do not wait for it: an
 *   upcall on the loop may end with its connection released or its listener gone, so whoever made
 *   it touches neither afterwards unless it has seen to their life.
 * - Upcalls and calls cross: a call may come in while the upcall that allows it has not returned
 *   yet. What is said to follow an upcall follows its return.
 */
#ifndef DAPL_TRANSPORT_H
#define DAPL_TRANSPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "dapl/base/loop.h"
#include "dapl/device_attr.h"
#include "dapl/registration.h"
#include "dapl/work.h"

#define DAPL_TRANSPORT_VERSION 13

struct dapl_lock;
struct dapl_option;
struct tp_upcalls;

struct tp_device;
struct tp_srq;
struct tp_cq;
struct tp_qp;
struct tp_listener;
struct tp_conn;

/* ---- Device ---- */

struct tp_device_init {
	const char *ia_name; /* valid during open */
	const char *params;  /* field 7 of the dat.conf entry, never NULL; valid during open */
	const struct tp_upcalls *up; /* valid until close returned */
	struct dapl_loop *loop;	     /* ditto */
	void *owner;		     /* the core's IA, handed back in upcalls */
	const void *config; /* the IA's own values of the tunables, valid until close returned;
			       NULL: those of the transport's structure hold */
};

struct tp_device {
	const struct dapl_transport *transport;
	const struct tp_upcalls *up;
	struct dapl_loop *loop;
	void *owner;
};

enum tp_counters {
	TP_COUNTERS_LINK,
	TP_COUNTERS_DIAG,
};

struct dapl_device_ops {
	/*
	 * Opens the adapter that ia_name and params name. May block shortly. No lock held. Errors:
	 * -ENODEV, -EADDRNOTAVAIL (no such device, interface or address), -ENOMEM, -EMFILE, -EINVAL
	 * (params).
	 */
	int (*open)(const struct tp_device_init *init, struct tp_device **dev);
	/* All other objects of the device are gone. Stops its watches and timers, frees it. */
	void (*close)(struct tp_device *dev);
	/* Fills every member; a member that does not apply is 0. Any time, any thread. */
	void (*query)(struct tp_device *dev, struct tp_device_attr *attr);
	/*
	 * Reads the device's running counters of a group into value, in the order of the IA's
	 * counters from DCNT_IA_LNK_ERR_SYM or DCNT_IA_DIAG_RQ_... on; those it lacks stay 0. How
	 * many it set, or -EOPNOTSUPP. No lock held; may block shortly.
	 */
	int (*read_counters)(struct tp_device *dev, enum tp_counters group, uint64_t *value,
			     uint32_t num);
};

/* ---- Completion queues ---- */

enum tp_arm {
	TP_ARM_WAITER,	/* the caller goes to sleep on fd() and polls as soon as it is readable */
	TP_ARM_SLEEPER, /* ditto, in sleep() */
	TP_ARM_NOTIFY,	/* nobody sleeps: the transport makes progress by itself and calls cq_event
			*/
};

#define TP_WR_UNTOLD ((struct tp_wr *)1)

struct tp_cq {
	struct tp_device *dev;
	const struct dapl_cq_ops *ops;
	void *owner;		/* core */
	struct dapl_lock *lock; /* core: the EVD lock, from the return of create on */
	/*
	 * Core, EVD lock: all its completions are receives of QPs whose program is to be notified
	 * of solicited and of failed ones alone (EVD-17). Looked at by arm.
	 */
	bool solicited;
	/*
	 * Of a transport whose receives do not say TP_WC_SOLICITED: it armed for solicited and
	 * failed completions alone, and was notified of one. Set before disarm returns, or before
	 * the cq_event of it; rather once too often than not at all. The core clears it.
	 */
	_Atomic bool notified;
	/*
	 * What most polls come down to, or NULL. Takes the oldest completion if it is the success
	 * of a Send, RDMA Write or RDMA Read, or of a receive of a QP's own without flags but
	 * TP_WC_RECV and TP_WC_SOLICITED: what its wr_id is the address of, with the length of a
	 * receive filled in. NULL: there is none. TP_WR_UNTOLD: poll tells. EVD lock held.
	 */
	struct tp_wr *(*poll_plain)(struct tp_cq *cq);
};

struct dapl_cq_ops {
	/* Room for cqe completions at least. -ENOMEM, -EMFILE, -ENOSPC. No lock held. */
	int (*create)(struct tp_device *dev, uint32_t cqe, void *owner, struct tp_cq **cq);
	/* No QP refers to it any more. */
	void (*destroy)(struct tp_cq *cq);
	/*
	 * Room for cqe completions, or for those that are there if they are more; keeps every one,
	 * also those that arrive meanwhile (EVD-75). EVD lock held. -ENOMEM.
	 */
	int (*resize)(struct tp_cq *cq, uint32_t cqe);
	/*
	 * Takes the oldest completion: 1, or 0 if there is none. An empty queue makes the caller
	 * drive the connections that feed it first (EVD-67). The hot path: no allocation, no system
	 * call but the transport's own I/O, no lock that other queues share. EVD lock held.
	 */
	int (*poll)(struct tp_cq *cq, struct tp_wc *wc);
	/*
	 * Offers every completion the queue has, oldest first, and gives up those that remove
	 * returns true for; the others keep their order. Drives nothing. All that a QP completed is
	 * among them once the QP is in error, reset or destroyed. EVD lock held.
	 */
	void (*extract)(struct tp_cq *cq, bool (*remove)(void *arg, const struct tp_wc *wc),
			void *arg);
	/*
	 * Asks to be notified of the next completion added after this call, once, however often it
	 * was asked before; the latest way counts. With TP_ARM_WAITER by fd() becoming readable or
	 * by cq_event, whichever the transport has, with TP_ARM_SLEEPER by the return of sleep() or
	 * by cq_event; with TP_ARM_NOTIFY by cq_event. Poll again
	 * after arming: what came before is not announced. EVD lock held.
	 */
	void (*arm)(struct tp_cq *cq, enum tp_arm how);
	/* The waiter woke up, for whatever reason; consumes what made fd() readable if need be. EVD
	 * lock held. */
	void (*disarm)(struct tp_cq *cq);
	/* The descriptor a waiter sleeps on (input readiness), constant for the CQ's life; -1:
	 * cq_event only. */
	int (*fd)(struct tp_cq *cq);
	/*
	 * Optional, all or none: sleeps in place of the caller, who would look at fd() otherwise,
	 * until there is something to poll for, *word is not seen, or the deadline (dapl_now): 0,
	 * for any reason, -EAGAIN, -EINTR, -ETIMEDOUT. The EVD lock is not held. sleeps: whether it
	 * would, just now; asked before arming with TP_ARM_SLEEPER, EVD lock held. wake: *word has
	 * changed. Any thread, no lock that the engine takes before it calls up.
	 */
	bool (*sleeps)(struct tp_cq *cq);
	int (*sleep)(struct tp_cq *cq, const uint32_t *word, uint32_t seen, uint64_t deadline);
	void (*wake)(struct tp_cq *cq);
};

/* ---- Shared receive queues ---- */

struct tp_srq_attr {
	struct tp_pd *pd;
	uint32_t max_wr, max_sge;
};

struct tp_srq {
	struct tp_device *dev;
	const struct dapl_srq_ops *ops;
	void *owner; /* core */
};

struct dapl_srq_ops {
	/* Room for attr's numbers at least. -EOPNOTSUPP, -ENOMEM, -ENOSPC. No lock held. */
	int (*create)(struct tp_device *dev, const struct tp_srq_attr *attr, void *owner,
		      struct tp_srq **srq);
	/* No QP refers to it; receives in it vanish (SRQ-7). */
	void (*destroy)(struct tp_srq *srq);
	/* Room for max_wr, not less than are outstanding; loses none. SRQ lock held. -ENOMEM,
	 * -EOPNOTSUPP. */
	int (*resize)(struct tp_srq *srq, uint32_t max_wr);
	/* Adds a receive; the core counts. Its completion names the QP that took it. SRQ lock held;
	 * never blocks. -ENOMEM. */
	int (*post)(struct tp_srq *srq, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge);
	/* How many are there to be taken; only if tp_device_attr.srq_count. Any thread. */
	uint32_t (*available)(struct tp_srq *srq);
	/*
	 * One TP_ASYNC_SRQ_LIMIT when fewer than limit are there to be taken, at once if so now; 0
	 * for none. Replaces what was asked before (SRQ-25 to SRQ-27). SRQ lock held. -EOPNOTSUPP.
	 */
	int (*arm)(struct tp_srq *srq, uint32_t limit);
};

/* ---- Queue pairs ---- */

struct tp_qp_attr {
	struct tp_pd *pd;      /* may be NULL: such a QP is not posted to nor connected */
	struct tp_cq *send_cq; /* may be NULL: max_send_wr is 0 */
	struct tp_cq *recv_cq; /* may be NULL: max_recv_wr is 0 */
	uint32_t max_send_wr, max_recv_wr;
	uint32_t max_send_sge, max_recv_sge;
	uint32_t max_read_in, max_read_out;
	struct tp_srq *srq; /* receives come from there, max_recv_wr is 0; at creation only */
	bool delayed_ack;   /* what it acknowledges the target's program can see already */
	bool ud; /* sends and receives datagrams; only if tp_device_attr.max_datagram, without SRQ
		  */
};

struct tp_qp {
	struct tp_device *dev;
	const struct dapl_qp_ops *ops;
	void *owner;		/* core: the EP */
	struct dapl_lock *lock; /* core: the EP lock, from the return of create on */
	/*
	 * What most posts come down to, or NULL, for which the core puts post_send: as that, of a
	 * signalled Send or RDMA Write without other flags and with one segment, wr->one, which may
	 * be empty. wr_id is the address of wr, which stays as it is until its completion was
	 * polled; wr_id itself is the transport's to change. Anything but 0: the core calls
	 * post_send with wr as it is now, which takes back what was begun and decides. EP lock
	 * held, under which the transport may put another.
	 */
	int (*post_plain)(struct tp_qp *qp, struct tp_wr *wr);
};

/*
 * A QP is idle (receives may be posted and stay), connected (by cm, below), or in error. Entering
 * error completes everything outstanding once, in posting order per direction, finished work with
 * its own status and the rest TP_WC_FLUSHED (FL-1 to FL-4); posts to a QP in error are accepted and
 * flushed in their turn (FL-8). A connection attempt that fails puts the QP in error as well
 * (FL-9); an attempt that connect or accept refused by its return value leaves it idle. A Send that
 * finds no receive posted at the peer waits for one, and what was posted behind it too (DTO-90).
 *
 * A QP of datagrams (tp_qp_attr.ud) has no connection of its own: its first connect or accept makes
 * it active, and any number of them may be under way or over (IBX-62). Its one request is
 * TP_SEND_UD. A local fault completes that one with its status and flushes all requests from there
 * on, while receives go on (IBX-82); reset is not called. A datagram that finds no receive is
 * dropped, and so is one too long for it, or that receive completes with TP_WC_LOCAL_LENGTH
 * (IBX-84, IBX-85). The datagram lies behind the first TP_UD_RESERVED bytes of the receive.
 */
enum {
	TP_UD_RESERVED = 40, /* what the global routing header takes, whether or not there is one */
};

struct dapl_qp_ops {
	/* A new idle QP. -ENOMEM, -EMFILE. No lock held. */
	int (*create)(struct tp_device *dev, const struct tp_qp_attr *attr, void *owner,
		      struct tp_qp **qp);
	/*
	 * An idle QP becomes as attr says, but for its SRQ, or stays as it is; posted receives
	 * stay posted (EP-63) and complete to the new CQ. The core has checked that no limit falls
	 * below what is posted. EP lock held.
	 */
	int (*modify)(struct tp_qp *qp, const struct tp_qp_attr *attr);
	/*
	 * Error -> idle, both queues empty; no completion of older work appears after return
	 * (EP-108, EP-109). The QP has no connection any more. No lock held; may block shortly. A
	 * post that comes in meanwhile belongs to before or after, as pending then shows.
	 */
	int (*reset)(struct tp_qp *qp);
	/*
	 * Any state, connection released. No completion appears after return (EP-113). Windows of
	 * QP scope that were bound on it are unbound. No lock held.
	 */
	void (*destroy)(struct tp_qp *qp);
	/*
	 * Posts one request; connected or error state only. The core has checked the number of
	 * outstanding requests, segments and the length. Bad keys are reported by completion
	 * (DTO-83). wr_id and flags are the transport's to change. -ENOMEM: no room, -ENOTCONN:
	 * idle. EP lock held; never blocks.
	 */
	int (*post_send)(struct tp_qp *qp, struct tp_wr *wr);
	/* Posts one receive, any state. EP lock held; never blocks. */
	int (*post_recv)(struct tp_qp *qp, uint64_t wr_id, const struct tp_sge *sge,
			 uint32_t num_sge);
	/*
	 * For a QP with an SRQ: how many receives it may have taken and not completed. More than
	 * soft makes one TP_ASYNC_QP_RECV_LIMIT, more than hard breaks the connection (SRQ-41,
	 * SRQ-42); UINT32_MAX for no limit. Replaces what was set before and applies at once. No
	 * lock held. -EOPNOTSUPP.
	 */
	int (*limit_recv)(struct tp_qp *qp, uint32_t soft, uint32_t hard);
	/*
	 * How many receives (from an SRQ: those taken) and requests have not generated their
	 * completion (EP-103). Any thread.
	 */
	void (*pending)(struct tp_qp *qp, uint32_t *recv, uint32_t *send);
	/*
	 * How many requests are not over, while all that are succeeded; false: one did not. By it
	 * the core knows of unsignalled ones when no signalled one follows (DTO-17). NULL: it
	 * cannot be told. EP lock held.
	 */
	bool (*unfinished)(struct tp_qp *qp, uint32_t *num);
	/*
	 * Whether a message of the peer waits for a receive, as far as that can be told without
	 * waiting for those who move data; for messages. NULL: it cannot be told. Any thread.
	 */
	bool (*starved)(struct tp_qp *qp);
};

/* ---- Connection management ---- */

/*
 * A conn of a QP of datagrams resolves an address: connect, accept, reject, handoff, disconnect,
 * release and addr are as said below, with these differences. Its outcome is one ud_event in place
 * of the conn_event, ESTABLISHED or a failure, and nothing of it ever ends afterwards; the QP is
 * not touched by failures. One listener hears of both kinds (IBX-67), and a request is of the kind
 * of the QP that its peer connects. An established conn is kept until release, so that it can
 * answer its peer's retransmissions; address handles are independent of it. A transport that has
 * no answer gives up with UNREACHABLE, or on the passive side BROKEN, in a time that it bounds.
 */

struct tp_listener {
	struct tp_device *dev;
	void *owner;	    /* core: the service point */
	uint64_t conn_qual; /* what it listens on */
};

struct tp_conn {
	struct tp_device *dev;
	/* core: the EP, or of a QP of datagrams the resolution; NULL while a request waits for
	 * accept or reject */
	void *owner;
};

struct tp_connect {
	const struct sockaddr
		*remote; /* AF_INET or AF_INET6, port ignored; valid during the call */
	uint64_t conn_qual;
	const void *private_data;
	uint32_t private_data_len;
	int socket; /* of dapl_socket_ops.connect, which looks at neither remote nor conn_qual */
};

struct tp_conn_addr {
	struct sockaddr_storage remote;
	uint64_t local_qual;  /* EP-13, EP-76 */
	uint64_t remote_qual; /* EP-15 */
	/* What carries the connection, whether it is summed, and why; that lasts; NULL: unknown. */
	const char *link, *link_why, *crc, *crc_why;
};

struct dapl_cm_ops {
	/*
	 * Listens on conn_qual of the device's address, 0: on a free one of the transport's choice.
	 * A connect begun after return reaches it (PSP-2); *listener is set before the first
	 * request is told of, which may be before return. -EADDRINUSE (PSP-8), -EINVAL (not
	 * expressible, PSP-9), -EADDRNOTAVAIL (none free), -EMFILE, -ENOMEM, -EACCES. No lock held;
	 * may block shortly.
	 */
	int (*listen)(struct tp_device *dev, uint64_t conn_qual, void *owner,
		      struct tp_listener **listener);
	/*
	 * Stops listening and frees; no conn_request of it is running or comes after return.
	 * Requests handed over before are not touched (PSP-12). No lock held.
	 */
	void (*unlisten)(struct tp_listener *listener);
	/*
	 * Starts to connect qp, returns without waiting for the network; the outcome is one
	 * conn_event on the loop, possibly before connect has returned to its caller on another
	 * thread: *conn is set before anything can happen. The core has checked the private data's
	 * length and limits the time by calling disconnect. A qualifier that cannot be expressed
	 * has no listener: REFUSED follows (EP-71). -EADDRNOTAVAIL (no local port left),
	 * -EAFNOSUPPORT, -ENETUNREACH when known at once, -EMFILE, -ENOMEM. No lock.
	 */
	int (*connect)(struct tp_qp *qp, const struct tp_connect *param, void *owner,
		       struct tp_conn **conn);
	/*
	 * Answers a request. conn->owner is set to owner first. The outcome is one conn_event:
	 * ESTABLISHED or BROKEN; when the peer has already gone accept still returns 0 and BROKEN
	 * follows (CR-2). Bounded in time by the transport (TMO-7). -ENOMEM leaves the request as
	 * it was (CR-16). No lock held.
	 */
	int (*accept)(struct tp_conn *conn, struct tp_qp *qp, const void *private_data,
		      uint32_t len, void *owner);
	/*
	 * Refuses a request with the consumer's private data (PEER_REJECTED there) and frees conn.
	 * -ENOMEM leaves the request as it was; a peer that has gone is success. No lock held.
	 */
	int (*reject)(struct tp_conn *conn, const void *private_data, uint32_t len);
	/*
	 * Passes a request nobody has answered on to whoever listens on conn_qual of the same
	 * address, in this process or another of the same user, as if it had arrived there, and
	 * frees conn. -ECONNREFUSED: nobody does, as far as can be told (CR-21); -EINVAL: the
	 * qualifier cannot be expressed; -EOPNOTSUPP: not to that process, or not at all; -ENOMEM,
	 * -EMFILE. On failure the request is as it was. No lock held; may block shortly.
	 */
	int (*handoff)(struct tp_conn *conn, uint64_t conn_qual);
	/*
	 * Abrupt (graceful false), any time before release: ends the connection or the attempt,
	 * flushes the QP before it returns, and no conn_event comes after return; the peer sees an
	 * orderly end (EP-98) or a refused attempt. Graceful, when established: requests posted
	 * before are processed to their end, then the connection ends and one conn_event
	 * DISCONNECTED or BROKEN tells so (EP-95); may be followed by an abrupt one. Does not wait
	 * for the peer. No lock held.
	 */
	void (*disconnect)(struct tp_conn *conn, bool graceful);
	/*
	 * Frees conn: as abrupt disconnect if it has not ended, or, for a request nobody answered,
	 * as if no listener existed (IA-88). No callback of it is running after return, unless it
	 * is the caller. What the transport must still say to the peer it says in the background.
	 * No lock held.
	 */
	void (*release)(struct tp_conn *conn);
	/* Both ends' names and what is known of the connection, the rest zeroed. Valid from
	 * conn_request, or from connect's return on, until release. Any thread, the endpoint's lock
	 * may be held. */
	void (*addr)(struct tp_conn *conn, struct tp_conn_addr *addr);
	/*
	 * Gives back what a ud_event handed out; no request to it is outstanding, or its QP is
	 * destroyed. No lock held.
	 */
	void (*free_ah)(struct tp_device *dev, void *ah);
};

/*
 * Connections over a TCP socket that the program has connected and spoken over (IWX-1), by the
 * start-up of MPA (RFC 5044 section 7.1). The transport takes a descriptor of its own and keeps the
 * socket's options but those that its links cannot do without. On failure nothing was done to the
 * socket. -EINVAL: it is not one of TCP, or not connected; -EMFILE, -ENOMEM.
 */
struct dapl_socket_ops {
	/*
	 * A listener for the request that arrives over socket once message is out, which is copied.
	 * What comes of it is one conn_request or listener_over, within a time that the transport
	 * bounds. unlisten before that ends the connection, whoever else has the socket open.
	 */
	int (*listen)(struct tp_device *dev, int socket, const void *message, uint32_t len,
		      void *owner, struct tp_listener **listener);
	/* As connect, over param->socket. */
	int (*connect)(struct tp_qp *qp, const struct tp_connect *param, void *owner,
		       struct tp_conn **conn);
};

/* ---- Upcalls: what a transport tells the core ---- */

enum tp_conn_event {
	TP_CONN_ESTABLISHED, /* usable both ways; data = peer's accept data on the active side, else
				none */
	TP_CONN_REJECTED,    /* active: the peer's program refused; data = its reject data */
	TP_CONN_REFUSED,     /* active: refused below the program: nobody listens, no room, protocol
				error */
	TP_CONN_UNREACHABLE, /* active: no route, host silent, transport gave up */
	TP_CONN_DISCONNECTED, /* established connection ended in order, by the peer or by a graceful
				 end */
	TP_CONN_BROKEN,	      /* established or accepted connection lost */
};

enum tp_async_event {
	TP_ASYNC_QP_ERROR,    /* object: owner of the QP, whose connection is not released yet; the
				 transport found a fault of the peer's access */
	TP_ASYNC_CQ_OVERFLOW, /* object: owner of the CQ; a completion was lost (EVD-94), and the
				 connection of its QP breaks (EVD-95) */
	TP_ASYNC_QP_RECV_LIMIT, /* object: owner of the QP: dapl_qp_ops.limit_recv's soft limit */
	TP_ASYNC_SRQ_LIMIT,	/* object: owner of the SRQ: dapl_srq_ops.arm's limit */
	TP_ASYNC_SRQ_ERROR,	/* object: owner of the SRQ: no more receives are taken from it */
	TP_ASYNC_DEVICE_FATAL,	/* object: NULL; everything on the device is lost */
	TP_ASYNC_DEVICE_OTHER,	/* object: NULL; port down and the like */
};

struct tp_conn_request {
	const void *private_data; /* valid during the call */
	uint32_t private_data_len;
	bool truncated; /* PD-7 */
	bool ud;	/* the peer asks for the address of a QP of datagrams */
};

/* The peer of a resolution. */
struct tp_ud_peer {
	void *ah; /* the core's until free_ah; never NULL, and not given out twice */
	uint32_t qpn;
};

struct tp_upcalls {
	/*
	 * A complete request arrived. 0: the core keeps conn until accept, reject or release; a
	 * negative errno: the transport refuses it as if nobody listened and frees conn. Loop only,
	 * no lock held.
	 */
	int (*conn_request)(void *listener_owner, struct tp_conn *conn,
			    const struct tp_conn_request *req);
	/*
	 * No request comes over the socket of a listener of dapl_socket_ops, or conn_request
	 * failed for it. Loop only, no lock held.
	 */
	void (*listener_over)(void *listener_owner);
	/*
	 * The state of conn changed. Before TP_CONN_ESTABLISHED, and until its upcall has returned,
	 * no completion of the connection but flushes is in a CQ on the active side (EVD-12), but
	 * requests may be posted by then; before every other event the QP is in
	 * error and completely flushed (FL-5). data is valid during the call. err is a negative
	 * errno that says why, or 0. After an event other than ESTABLISHED none follows. Loop only,
	 * no lock held.
	 */
	void (*conn_event)(void *conn_owner, enum tp_conn_event event, int err, const void *data,
			   uint32_t len);
	/*
	 * A resolution ended. ESTABLISHED: peer is set, data = the peer's accept data on the active
	 * side; REJECTED: data = the peer's reject data. Else, and for err, as conn_event. A
	 * datagram of the peer may have come before. Loop only, no lock held.
	 */
	void (*ud_event)(void *conn_owner, enum tp_conn_event event, int err,
			 const struct tp_ud_peer *peer, const void *data, uint32_t len);
	/* What addr says of conn has changed before it could be established (EP-76). Loop only, no
	 * lock held. */
	void (*conn_addr)(void *conn_owner);
	/*
	 * An armed CQ got a completion, or is to be polled. Any thread, any transport lock may be
	 * held, also inside post_send and post_recv; does not block and does not call back into the
	 * transport.
	 */
	void (*cq_event)(void *cq_owner);
	/* Loop only, no lock held. */
	void (*async)(void *device_owner, enum tp_async_event event, void *object);
};

/* ---- The transport ---- */

struct dapl_transport {
	uint32_t version; /* DAPL_TRANSPORT_VERSION of its compilation */
	uint32_t size;	  /* sizeof(struct dapl_transport), ditto */
	const char *name; /* section of dapl.conf that holds its tunables */
	const char
		*provider_name; /* DAT_IB_PROVIDER_NAME: programs know the one of rdma_cm as CMA */
	uint32_t version_major,
		version_minor; /* of DAT_PROVIDER_ATTR: not below 2.0, which programs know */
	const struct dapl_option
		*options; /* its tunables (dapl/base/config.h), read before the first open */
	uint32_t num_options;
	void *config; /* the structure the options' offsets are relative to, of nothing but their
			 values; NULL without options */
	const struct dapl_device_ops *device;
	const struct dapl_pd_ops *pd;
	const struct dapl_mr_ops *mr;
	const struct dapl_mw_ops *mw;
	const struct dapl_srq_ops *srq;
	const struct dapl_cq_ops *cq;
	const struct dapl_qp_ops *qp;
	const struct dapl_cm_ops *cm;
	const struct dapl_socket_ops *socket; /* NULL: none (DAT_IW_ATTR_SSP) */
};

/* Each module's transport defines this one. */
extern const struct dapl_transport dapl_module_transport;

#endif
