/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection requests. */
#ifndef DAPL_CR_H
#define DAPL_CR_H

#include <pthread.h>

#include "dapl/connect/sp.h"
#include "dapl/endpoint/ep.h"

struct dapl_cr {
	struct dapl_object obj;
	pthread_mutex_t lock; /* of the call that tries to answer it; never taken on the loop */
	struct tp_conn *conn; /* NULL: answered */
	struct dapl_ep *ep; /* of the RSP, or made for the request; NULL: the consumer brings one */
	bool accepted;	    /* the EP stays, and of datagrams it has the private data, too */
	bool truncated;
	bool ud; /* of datagrams, as the EP has to be */
	struct tp_conn_addr addr;
	uint32_t private_data_size;
	void *private_data; /* malloc'ed, writable for the consumer (PD-8) */
};

extern const struct dapl_class dapl_cr_class;

/* A CR for conn, in the IA's list, and maybe an EP in T that is made for it. NULL: no memory, no EP
 * can be made, or the IA is being closed. */
struct dapl_cr *dapl_cr_new(struct dapl_ia *ia, struct tp_conn *conn,
			    const struct tp_conn_request *req, bool with_ep);
/* The one EP it can be accepted on; the EP gets the peer's address (EP-13 to EP-15). */
void dapl_cr_bring_ep(struct dapl_cr *cr, struct dapl_ep *ep);
/* Announces it on the service point's EVD, which keeps a place for that or not. False: no room, the
 * CR is the caller's. */
bool dapl_cr_announce(struct dapl_cr *cr, struct dapl_sp *sp, bool reserved);
/* Such a CR is announced at once. As tp_upcalls.conn_request. */
int dapl_cr_arrive(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req,
		   bool with_ep);
/* Refuses as if nobody had listened, and frees with what was made for it (EVD-92, IA-88). */
void dapl_cr_discard(DAT_CR_HANDLE cr);

#endif
