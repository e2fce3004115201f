/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints. */
#ifndef DAPL_EP_H
#define DAPL_EP_H

#include <pthread.h>

#include <dat/dat_ib_extensions.h>

#include "dapl/endpoint/ep_state.h"
#include "dapl/event/evd.h"
#include "dapl/base/lock.h"
#include "dapl/object/object.h"
#include "dapl/memory/pz.h"
#include "dapl/transfer/qp.h"
#include "dapl/transport.h"

struct dapl_ep {
	union {
		struct dapl_object obj;
		struct dapl_qp qp; /* begins with obj; its lock is also that of state and conn */
	};
	_Atomic uint8_t state; /* DAT_EP_STATE or DAPL_EP_GONE; written under lock */
	struct dapl_evd *recv_evd, *request_evd, *connect_evd;
	struct tp_conn *conn; /* from connect or accept to reset or free */
	struct dapl_ep_cold *cold;
};

/* Slots that dat_ep_modify replaced while DTOs were posted in them; they go with the EP. */
struct dapl_retired {
	struct dapl_slot *slot;
	uint32_t size;
	struct dapl_retired *next;
};

/* What connecting, querying and modifying need. */
struct dapl_ep_cold {
	struct dapl_qp_cold qp;
	pthread_mutex_t cm_lock;
	DAT_EP_ATTR attr;
	DAT_COMM comm;
	struct tp_conn_addr addr; /* both ends, once known */
	bool addr_known;
	struct tp_timer timer; /* for the connection: connecting, draining */
	uint32_t undrained;    /* requests outstanding when a drain was looked at last */
	struct dapl_retired *retired;
	struct dapl_ep *ep;
	DAT_COUNT soft_mark, hard_mark; /* without SRQ; the transport counts with one */
	bool soft_armed;
	struct tp_task breaker; /* the hard mark was passed while posting */
	void *private_data;	/* of the last connection event; malloc'ed, EVT-22 */
	/* Of a datagram endpoint (ep_ud.h), and those of them that wait to be freed; EP lock. */
	struct dapl_resolution *resolutions, *failed;
	_Atomic uint64_t connects, disconnects;
	uint64_t counted_before[DCNT_EP_ALL_COUNTERS]; /* where the last reset was */
};

extern const struct dapl_class dapl_ep_class;

static inline struct dapl_ep *dapl_ep_get(DAT_EP_HANDLE handle)
{
	return dapl_object_self(handle, DAPL_TYPE_EP);
}

void dapl_ep_set_state(struct dapl_ep *ep, uint8_t state);
/* Whether anything may be posted, and why not: after a change of PZ or limits. */
void dapl_ep_update_slots(struct dapl_ep *ep);

static inline bool dapl_ep_attr_ud(const DAT_EP_ATTR *attr)
{
	return (int)attr->service_type == DAT_IB_SERVICE_TYPE_UD;
}

static inline uint8_t dapl_ep_state(const struct dapl_ep *ep)
{
	return atomic_load_explicit(&ep->state, memory_order_acquire);
}

/* ep.c: life, attributes */
struct dapl_ep_parts {
	struct dapl_pz *pz;
	struct dapl_evd *recv_evd, *request_evd, *connect_evd;
	struct dapl_srq *srq;
};

/*
 * The handles of dat_ep_create as objects, which stay until dapl_ep_leave_parts; the first that is
 * not one is named in the failure.
 */
DAT_RETURN dapl_ep_find_parts(const struct dapl_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			      DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			      struct dapl_ep_parts *parts);
/* ep, if any, has them by now. */
void dapl_ep_leave_parts(struct dapl_ep *ep, const struct dapl_ep_parts *parts);
/* The parts that an EP has; EP lock held, or nobody else knows it. */
struct dapl_ep_parts dapl_ep_parts_of(const struct dapl_ep *ep);
void dapl_ep_set_parts(struct dapl_ep *ep, const struct dapl_ep_parts *parts);
/* Calls dapl_object_use or dapl_object_unuse for each part that is there. */
void dapl_ep_each_part(const struct dapl_ep_parts *parts, void (*each)(struct dapl_object *obj));
/* Counts its streams in or out, of EVDs that it uses. */
void dapl_ep_count_streams(const struct dapl_ep *ep, int by);
/* state: U, or T for an EP made for a CR. attr is checked by the caller. */
DAT_RETURN dapl_ep_new(struct dapl_ia *ia, const struct dapl_ep_parts *parts,
		       const DAT_EP_ATTR *attr, uint8_t state, struct dapl_ep **out);
/* What both calls do that make one, once its parts are found, which they leave: bad_attr and
 * bad_handle are the answers for bad attributes and for no place for the handle. */
DAT_RETURN dapl_ep_create_of(struct dapl_ia *ia, const struct dapl_ep_parts *parts,
			     const DAT_EP_ATTR *ep_attr, DAT_RETURN bad_attr, DAT_RETURN bad_handle,
			     DAT_EP_HANDLE *ep_handle);
/* What the slots of its receives are told as. */
DAT_DTOS dapl_ep_recv_operation(bool ud);
/* What dat_ep_create gives for NULL attributes (EP-22 to EP-38). */
void dapl_ep_default_attr(const struct dapl_ia *ia, const struct dapl_ep_parts *parts,
			  DAT_EP_ATTR *attr);
/* The transport's view of parts and attr. */
void dapl_ep_qp_attr(const struct dapl_ep_parts *parts, const DAT_EP_ATTR *attr,
		     struct tp_qp_attr *qp);
/* Makes attr the EP's own and derives from it what the posting path needs. */
void dapl_ep_take_attr(struct dapl_ep *ep, const struct tp_device_attr *dev,
		       const DAT_EP_ATTR *attr);
/* Tears down an EP that the caller has retired, and whose state is GONE; no event of it comes
 * afterwards (EP-112, EP-113). */
void dapl_ep_delete(struct dapl_ep *ep);

/* ep_attr.c: whether attr fits the parts, once its numbers were lowered to the adapter's outside
 * strict mode; 0 or the failure, with bad_arg for a bad value. */
DAT_RETURN dapl_ep_check_attr(const struct dapl_ia *ia, const struct dapl_ep_parts *parts,
			      const struct dapl_ep *self, DAT_EP_ATTR *attr, DAT_RETURN bad_arg);
/* ep_named.c: whether the named attributes are known and possible (VND-17). */
bool dapl_ep_named_ok(const struct dapl_ia *ia, const DAT_EP_ATTR *attr);
/* What they say; of good ones only. */
bool dapl_ep_delayed_ack(const DAT_EP_ATTR *attr);
/* Puts constants in place of the caller's, which a query then reports (VND-18). */
void dapl_ep_name_attr(const struct tp_device_attr *dev, DAT_EP_ATTR *attr);
/* What the completion flags of an attribute make of a stream (DTO-24). */
enum dapl_stream dapl_ep_stream(DAT_COMPLETION_FLAGS flags, bool recv);

/* ep_srq.c */
/* Whether the watermarks of every EP of the adapter work: without an SRQ the core counts. */
bool dapl_ep_has_watermarks(const struct tp_device_attr *dev);
/* Sets and arms both; looks at the count later. No lock but cm_lock held. */
DAT_RETURN dapl_ep_set_marks(struct dapl_ep *ep, DAT_COUNT soft, DAT_COUNT hard);
/* The soft one of an attribute, where 0 means none as well; looks at the count. */
DAT_RETURN dapl_ep_set_soft(struct dapl_ep *ep, DAT_COUNT soft);
/* Compares the count with them, as far as they are set; no lock held. */
void dapl_ep_check_marks(struct dapl_qp *qp);
/* On the loop: the hard mark was passed. */
void dapl_ep_break(struct tp_task *task);

/* ep_counters.c: of its class */
void dapl_ep_describe(struct dapl_object *obj, FILE *out);
void dapl_ep_read_counters(struct dapl_object *obj, struct dapl_counters_view *view);

/* ep_event.c */
/*
 * Takes the step that cause calls for: DAT_SUCCESS with *step, or the DAT_INVALID_STATE of the
 * state. The event of the step is the caller's to post.
 */
DAT_RETURN dapl_ep_fire(struct dapl_ep *ep, enum dapl_ep_cause cause, struct dapl_ep_step *step);
DAT_RETURN dapl_ep_lock_and_fire(struct dapl_ep *ep, enum dapl_ep_cause cause,
				 struct dapl_ep_step *step);
/* Queues a connection event on the connect EVD, behind the completions that are there (FL-5). */
void dapl_ep_event(struct dapl_ep *ep, DAT_EVENT_NUMBER number, const void *data, uint32_t len);
/* Queues any event on the connect EVD. False: there is none (any more), or no room. */
bool dapl_ep_append_event(struct dapl_ep *ep, const struct dapl_event *event);
/* For the moment: it may be another IA's, which may be closing. No lock of the EP held. */
bool dapl_ep_has_connect_evd(struct dapl_ep *ep);
/* Its connect EVD, if it is this one, is about to go with the IA that owns it. */
void dapl_ep_forget(struct dapl_object *ep, struct dapl_object *evd);
/* ep_ud.c: gives up all resolutions, and with them their callbacks; no lock held. */
void dapl_ud_end(struct dapl_ep *ep);
/* The QP is destroyed, and nobody else knows the EP: gives back all address handles. */
void dapl_ud_free_ahs(struct dapl_ep *ep);

/* The connect or the drain took too long; on the loop. */
void dapl_ep_timed_out(struct tp_timer *timer);
/* A graceful disconnect waits for the outstanding requests, and so long for the next of them
 * (TMO-8). */
void dapl_ep_await_drain(struct dapl_ep *ep);
/* Gives up the connection, if any, and with it all callbacks of it. No lock held. */
void dapl_ep_drop_conn(struct dapl_ep *ep);
/* Fills in both ends' names as soon as they are known: those given, or those of the connection. */
void dapl_ep_set_addr(struct dapl_ep *ep, const struct tp_conn_addr *addr);
void dapl_ep_learn_addr(struct dapl_ep *ep);
/* The peer's address and qualifier as text for messages, which it returns. */
enum {
	DAPL_PEER_TEXT = 96
};
const char *dapl_ep_peer(struct dapl_ep *ep, char text[DAPL_PEER_TEXT]);

#endif
