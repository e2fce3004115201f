/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagram endpoints: the resolutions of their peers' addresses (IBX-58 to IBX-92). */
#ifndef DAPL_EP_UD_H
#define DAPL_EP_UD_H

#include <stdarg.h>

#include "dapl/endpoint/ep.h"

/*
 * One connect or accept of a datagram endpoint: what programs call the CM object of an ESTABLISHED
 * event. It is freed by dat_ib_ud_cm_free, with the endpoint or, one that failed and has nothing to
 * show, by a later connect or accept of the endpoint: never on the loop.
 */
struct dapl_resolution {
	struct dapl_ep *ep;
	struct dapl_resolution *next, **link; /* among those of the EP; EP lock, as what follows */
	struct tp_conn *conn;
	bool active, over, established;
	struct tp_timer timer; /* the consumer's, of an active one */
	uint32_t private_data_size;
	void *private_data; /* malloc'ed; of a passive one the request's */
};

/* Both in place of a connection, with cm_lock held; deadline: the consumer's (TMO-2), or 0. */
DAT_RETURN dapl_ud_connect(struct dapl_ep *ep, const struct tp_connect *param, uint64_t deadline);
/*
 * request: of the CR, malloc'ed, becomes the resolution's if that succeeds. 0 or a negative errno.
 */
int dapl_ud_accept(struct dapl_ep *ep, struct tp_conn *conn, void *request, uint32_t request_len,
		   const void *private_data, uint32_t len);
/* The tp_upcalls.ud_event of the core. */
void dapl_ud_event(void *conn_owner, enum tp_conn_event event, int err,
		   const struct tp_ud_peer *peer, const void *data, uint32_t len);

/* dat_ib_ud_ah_free and dat_ib_ud_cm_free; args begins with the first variadic argument. */
DAT_RETURN dapl_ext_ud_ah_free(DAT_HANDLE handle, va_list args);
DAT_RETURN dapl_ext_ud_cm_free(DAT_HANDLE handle, va_list args);

#endif
