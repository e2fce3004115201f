/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of datagram endpoints share: a rig whose two ends are such, and their events. */
#ifndef UD_UTIL_H
#define UD_UTIL_H

#include "ext_util.h"

#define UU_HEADER 40 /* reserved in front of a Receive (IBX-83) */

/* As cu_setup_ends with datagram endpoints; skips where there are none (IBX-57). */
int uu_setup(void **state);
void uu_default_attr(const struct cu_rig *rig, DAT_EP_ATTR *attr);
/* One more end. */
void uu_end_open(struct cu_rig *rig, struct ct_end *end);

DAT_RETURN uu_connect(struct ct_end *end, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
		      const char *data);
/* Takes the next request of datagrams. */
DAT_CR_HANDLE uu_take_cr(struct cu_rig *rig);
DAT_RETURN uu_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, const char *data);
/* Takes an event of the end's connect EVD and compares all that IBX-20 to IBX-22 and the table of
 * IBX-69 say of it; data: the private data, NULL for none. Returns its extension part. */
DAT_IB_EXTENSION_EVENT_DATA uu_event(struct ct_end *end, int number, DAT_IB_EXT_TYPE type,
				     const char *data, DAT_EVENT *event);
/* Connects a to p; each gets the address of the other. */
void uu_resolve(struct cu_rig *rig, struct ct_end *a, struct ct_end *p,
		DAT_IB_EXTENSION_EVENT_DATA *active, DAT_IB_EXTENSION_EVENT_DATA *passive);

DAT_RETURN uu_send(struct ct_end *end, size_t len, uint64_t cookie, const DAT_IB_ADDR_HANDLE *to);
/* The completion of the end's request or Receive. */
void uu_sent(struct ct_end *end, uint64_t cookie, size_t len);
void uu_received(struct ct_end *end, uint64_t cookie, size_t len);

#endif
