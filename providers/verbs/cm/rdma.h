/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rdma_cm connection manager. */
#ifndef VERBS_RDMA_H
#define VERBS_RDMA_H

#include <rdma/rdma_cma.h>

#include "providers/verbs/cm/cm.h"
#include "providers/verbs/cm/private_data.h"
#include "providers/verbs/qp.h"

/* Attempts, where a port of the kernel's choice is taken by a TCP socket under an iWARP device. */
#define VRB_PORTS 16

#define VRB_PKEY_MASK 0x7fffU /* of a partition key: the rest says what kind of member it is */

/* What a device has of it: dev->cm. */
struct vrb_rdma {
	struct vrb_dev *dev;
	const struct vrb_rdma_ops *ops;
	struct rdma_event_channel *channel;
	struct tp_watch watch;
	bool by_gid;		  /* see vrb_gid_list */
	__be16 pkey;		  /* of its ids then */
	uint64_t moved;		  /* when a bond failed over last, of which each id tells; loop */
	struct vrb_conn *leaving; /* see vrb_conn_leave_id; dev->cm_lock */
};

static inline struct vrb_rdma *vrb_rdma(const struct vrb_dev *dev)
{
	return dev->cm;
}

/* An rdma_cm_id's context is the object; an id is not gone before its events are acknowledged. */
struct vrb_listener {
	struct tp_listener base;
	struct vrb_cm_object object;
	struct rdma_cm_id *id;
};

/* A call of rdma_connect that keeps nobody waiting (rdma_iwarp.c). */
struct vrb_connect_call {
	struct rdma_cm_id *id;
	struct rdma_conn_param param;
	void (*failed)(struct vrb_connect_call *call); /* on its thread, once err is set */
	_Atomic int err;
	bool begun;
	pthread_t thread;
};

/* Loop. 0, or -errno if there is no thread to be had. */
int vrb_connect_begin(struct vrb_connect_call *call);
/* The thread is gone when these return: once rdma_connect has returned; at the deadline (dapl_now)
 * at the latest. */
void vrb_connect_end(struct vrb_connect_call *call);
void vrb_connect_cancel(struct vrb_connect_call *call, uint64_t deadline);

enum vrb_conn_state {
	VRB_CONN_ADDR,	     /* active: resolving the address */
	VRB_CONN_ROUTE,	     /* active: finding the route */
	VRB_CONN_CONNECTING, /* active: the peer is to answer */
	VRB_CONN_REQUEST,    /* passive: the program is to answer */
	VRB_CONN_ACCEPTED,   /* passive: the peer is to confirm */
	VRB_CONN_OPEN,
	VRB_CONN_ENDED,
};

struct vrb_conn {
	struct tp_conn base;
	struct vrb_cm_object object;
	struct rdma_cm_id *id; /* NULL once the kernel is to forget it */
	struct vrb_qp *qp;
	enum vrb_conn_state state;
	bool quiet;		       /* no event is wanted any more */
	bool peer_gone;		       /* passive, unanswered: the peer gave up */
	bool watched;		       /* by the watchdog */
	bool left;		       /* released: its QP may be gone; dev->cm_lock */
	bool asked;		       /* the peer is to answer the end */
	bool answered;		       /* it has, or its time is over; dev->cm_lock once closed */
	struct vrb_conn *next, **link; /* of those that leave; dev->cm_lock */
	uint32_t tries;		       /* of the step that it is at */
	uint32_t ports;		       /* of this end that were taken: see VRB_PORTS */
	uint8_t reads_in, reads_out;   /* what the peers agreed on */
	struct tp_conn_addr addr;      /* local_qual under dev->cm_lock */
	struct sockaddr_storage to;
	struct ibv_qp_attr rts; /* of its QP, once accepted */
	int rts_mask;
	/* What is to be told from the loop. */
	bool has_pending;
	enum tp_conn_event pending_event;
	int pending_err;
	uint8_t data[VRB_PD_MAX_IWARP]; /* of the request here */
	uint32_t data_len;
	/* The kernel waits for the peer's answer in call, which may keep the id. */
	bool calling;
	struct vrb_connect_call call;
	/* What is left of an attempt that was given up then. */
	struct vrb_reap reap;
	uint64_t reap_by; /* the call ends */
	struct rdma_cm_id *reap_id;
	struct ibv_qp *reap_qp;
};

static inline struct vrb_conn *vrb_conn(struct tp_conn *base)
{
	return container_of(base, struct vrb_conn, base);
}

/* What InfiniBand and RoCE (rdma_ib.c), and iWARP (rdma_iwarp.c), do differently. */
struct vrb_rdma_ops {
	uint32_t max_private_data;
	/* Whether the peer's program may have refused, by the status of RDMA_CM_EVENT_REJECTED:
	 * InfiniBand's reason, or the errno of an iWARP driver. */
	bool (*by_program)(int status);
	/* A connection that is accepted, and not yet confirmed, is ended like an open one;
	 * InfiniBand has no end for it but a rejection. */
	bool ends_unconfirmed;
	/* The peer's end may overtake its confirmation. */
	bool end_may_overtake;
	/* The kernel repeats the end until the peer answers it, as long as there is the id. */
	bool end_is_answered;

	int (*connect)(struct vrb_conn *conn, struct rdma_conn_param *param);
	int (*accept)(struct vrb_conn *conn, struct rdma_conn_param *param, const void *data,
		      uint32_t len);
	/* The QP becomes ready for the peer. */
	int (*qp_ready)(struct vrb_conn *conn);
	/* Before a request is accepted, and when the peer has confirmed. InfiniBand's QP only receives
	 * between the two, and then the device tells when the peer sends before its confirmation is
	 * here (IBV_EVENT_COMM_EST). Or NULL: qp_ready, and nothing. */
	int (*qp_accepts)(struct vrb_conn *conn);
	int (*qp_confirmed)(struct vrb_conn *conn);
	/* Before the id of a request is destroyed: refuses it as if nobody listened. Or NULL. */
	void (*refuse)(struct rdma_cm_id *id);
	/* See private_data.h. NULL: all that comes is the program's. */
	uint32_t (*request_len)(const void *data, uint32_t len, bool flow_control);
	uint32_t (*reply_len)(const void *data, uint32_t len);
	uint32_t (*put_reject)(uint8_t *at, const void *data, uint32_t len);
	bool (*get_reject)(const void *data, uint32_t len, uint32_t *mark);
};

extern const struct vrb_rdma_ops vrb_rdma_ib;
extern const struct vrb_rdma_ops vrb_rdma_iwarp;

/* Gives up an attempt whose call nobody can wait for: of its answer nobody hears. */
void vrb_connect_abandon(struct vrb_conn *conn);

static inline const struct vrb_rdma_ops *vrb_conn_ops(const struct vrb_conn *conn)
{
	return vrb_rdma(conn->object.dev)->ops;
}

/* ---- rdma_device.c ---- */

/* struct vrb_cm.open and close. */
int vrb_rdma_open(struct vrb_dev *dev, const char *params);
void vrb_rdma_close(struct vrb_dev *dev);

/* ---- rdma_gid.c: InfiniBand without IP addresses, by AF_IB ---- */

struct vrb_wanted;
/* The GIDs of the InfiniBand ports that wanted means take the place of its addresses. 0 or -errno;
 * none is no error. */
int vrb_gid_list(struct vrb_wanted *wanted);
/* Which partition ids of this port are of: the one that is wanted, or the first. False: the port is
 * not in it. */
bool vrb_gid_partition(struct vrb_dev *dev, struct ibv_context *ctx, uint8_t port);
/* An IP address of this end or of the peer, with its port, as rdma_cm is to have it. */
void vrb_gid_wire(const struct vrb_dev *dev, struct sockaddr_storage *addr);

/* ---- rdma_ib.c ---- */

/* What rdma_cm puts before a request's private data, where there are IP addresses. */
#define VRB_GID_HEADER 36
/* Past the header, which has the peer's port. */
const uint8_t *vrb_gid_take_header(const uint8_t *data, uint32_t *len, uint16_t *port);

/* ---- rdma_conn.c; locked ---- */

struct vrb_conn *vrb_conn_new(struct vrb_dev *dev);
/* The loop finds the connection of a QP from here on. */
void vrb_conn_join(struct vrb_conn *conn, struct vrb_qp *qp);
/* No more. */
void vrb_conn_leave(struct vrb_conn *conn);
/* The core is told from the loop. */
void vrb_conn_tell_later(struct vrb_conn *conn, enum tp_conn_event event, int err);
/* Makes its id, bound, so that this end's port is known from now on (EP-13). */
int vrb_conn_make_id(struct vrb_conn *conn);
/* The kernel is to forget the id. */
void vrb_conn_drop_id(struct vrb_conn *conn);
/* The same, once the peer has answered the end or its time is over: what is left of the connection
 * waits for that. It is closed. */
void vrb_conn_leave_id(struct vrb_conn *conn);
/* What the kernel says of one that is closed. Loop. */
void vrb_conn_left(struct vrb_conn *conn, enum rdma_cm_event_type type);
/* Nobody waits any more; no event is read any more. */
void vrb_conn_all_left(struct vrb_rdma *rdma);
/* Takes the QP to a state in which it takes receives, and gives it them. */
int vrb_conn_init_qp(struct vrb_conn *conn);
/* Steps of the active side; what fails is told by the error. */
int vrb_conn_resolve_addr(struct vrb_conn *conn);
int vrb_conn_resolve_route(struct vrb_conn *conn);
int vrb_conn_connect(struct vrb_conn *conn);
/* What the kernel refused just now, by errno, that it should do: -errno, and a message where the
 * reason lies neither with the peer nor with the network. */
int vrb_conn_step_failed(const struct vrb_conn *conn, const char *what);
/* Begins anew from another port, where err of connect says that this end's is taken. Else -err. */
int vrb_conn_other_port(struct vrb_conn *conn, int err);
void vrb_conn_fill_param(const struct vrb_conn *conn, struct rdma_conn_param *param);
/* Established: the core may post, and is told. */
void vrb_conn_open(struct vrb_conn *conn, const void *data, uint32_t len);
/* Ends it, whatever its state, without a word to the core. */
void vrb_conn_end(struct vrb_conn *conn);
/* Ends it and tells the core. Loop. */
void vrb_conn_ended(struct vrb_conn *conn, enum tp_conn_event event, int err, const void *data,
		    uint32_t len);
/* Answers a request as if nobody listened. */
void vrb_rdma_refuse(struct vrb_dev *dev, struct rdma_cm_id *id);

/* ---- rdma_qp.c: a QP's states by what rdma_cm knows of the connection ---- */

int vrb_rdma_qp_to_init(struct vrb_qp *qp, struct rdma_cm_id *id);
int vrb_rdma_qp_to_rts(struct vrb_conn *conn);
/* The same in two steps; the kernel may know no more of the connection at the second one. */
int vrb_rdma_qp_to_rtr(struct vrb_conn *conn);
int vrb_rdma_qp_confirmed(struct vrb_conn *conn);

/* ---- rdma_map.c ---- */

/* Where a connection stands when the kernel ends it. */
enum vrb_phase {
	VRB_ACTIVE,   /* asked for here, not established */
	VRB_ACCEPTED, /* asked for by the peer and accepted, not established */
	VRB_OPEN,
};

/* An event that ends a connection or an attempt; how it ended is what the core is told.
 * by_program: its status may be that of a rejection by the peer's program. */
enum tp_conn_event vrb_map_end(enum vrb_phase phase, enum rdma_cm_event_type type, int status,
			       bool by_program);
/* A negative errno for its status. */
int vrb_map_end_errno(enum rdma_cm_event_type type, int status);

/* ---- rdma_event.c ---- */

/* The channel has something, and a QP's state changed: on the loop. */
void vrb_rdma_ready(struct tp_watch *watch, uint32_t events);
void vrb_rdma_qp_event(struct vrb_qp *qp);

#endif
