/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the connection and transfer tests share: a rig of one IA with a service point and two ends
 * that can be connected to each other, and checks that name what they compare.
 */
#ifndef CONN_UTIL_H
#define CONN_UTIL_H

#include "harness.h"
#include "peer_memory.h"

#include <netinet/in.h>

#define CU_QUIET 500 /* silence that EV-T2 asks for, milliseconds */

/* A message longer than what a transport buffers by itself; known once a rig was opened. */
#define CU_BIG cu_big()
size_t cu_big(void);

struct cu_rig {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR attr;
	DAT_EVD_HANDLE cr;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct ct_end a, p; /* the side that connects and the one that accepts */
	struct ct_mem extra[8];
	unsigned num_extra;
	DAT_PROVIDER_ATTR prov;
};

/* The return code says that the provider has no such function or model (GEN-10). */
bool cu_unsupported(DAT_RETURN rc);

/* ---- Rigs -------------------------------------------------------------- */

/* cmocka set-up functions; *state becomes the rig. The first opens the IA with a PSP, the second
 * adds two ends with default attributes, the third connects them. */
int cu_setup_ia(void **state);
int cu_setup_ends(void **state);
int cu_setup_connected(void **state);
/* Closes the IA abruptly, ends child processes, frees memory. */
int cu_teardown(void **state);

struct cu_rig *cu_rig_open(void);
void cu_rig_close(struct cu_rig *rig);

/* As ct_end_open(), with completion EVDs of qlen events. */
void cu_end_open_qlen(struct cu_rig *rig, struct ct_end *end, const DAT_EP_ATTR *attr,
		      DAT_COUNT qlen);
/* The same with one EVD for receives, requests and connection events. */
void cu_end_open_merged(struct cu_rig *rig, struct ct_end *end, const DAT_EP_ATTR *attr);
/* Memory that the rig frees after its IA was closed. */
struct ct_mem *cu_extra_mem(struct cu_rig *rig, DAT_PZ_HANDLE pz, size_t len,
			    DAT_MEM_PRIV_FLAGS priv);

/* ---- Connections ------------------------------------------------------- */

/* A connection qualifier on which nobody listens. */
DAT_CONN_QUAL cu_free_qual(struct cu_rig *rig);
/* The IA's address with a port, for common service points. */
struct sockaddr_storage cu_service(const struct cu_rig *rig, DAT_CONN_QUAL port);
DAT_RETURN cu_connect(struct ct_end *end, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout);
/* The same to the service point of a rig, whose IA may be another one and have another address. */
DAT_RETURN cu_connect_to(struct ct_end *end, const struct cu_rig *to, DAT_TIMEOUT timeout);
/* Takes the next connection request from an EVD. */
DAT_CR_HANDLE cu_take_cr(DAT_EVD_HANDLE cr);
/* Connects a to the rig's PSP and accepts on p; both are connected on return. */
void cu_establish(struct cu_rig *rig, struct ct_end *a, struct ct_end *p);
/* Connects a to the rig's PSP and leaves it pending; the request. */
DAT_CR_HANDLE cu_request(struct cu_rig *rig, struct ct_end *a);
/*
 * The same with a timeout of *timeout, which is doubled and tried again where a loaded machine
 * needs longer to deliver the request; *begun is when the attempt began that delivered it. a must
 * have no Receives posted that the test counts on.
 */
DAT_CR_HANDLE cu_request_in(struct cu_rig *rig, struct ct_end *a, DAT_TIMEOUT *timeout,
			    uint64_t *begun);
/* Takes one event from evd: this one, of this EP, within CT_MS. */
void cu_conn_event(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number, DAT_EVENT *event);
/* The same: DISCONNECTED or BROKEN; which. */
DAT_EVENT_NUMBER cu_conn_ended(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep);
/* Disconnects a abruptly and waits until both ends have their DISCONNECTED. */
void cu_end_connection(struct ct_end *a, struct ct_end *p);

void cu_check_state(DAT_EP_HANDLE ep, DAT_EP_STATE state, const char *file, int line);
#define STATE(ep, s) cu_check_state((ep), DAT_EP_STATE_##s, __FILE__, __LINE__)
/* Polls until the EP is in the state, or not in it. */
void cu_await_state(DAT_EP_HANDLE ep, DAT_EP_STATE state);
/* All parameters. */
void cu_query(DAT_EP_HANDLE ep, DAT_EP_PARAM *param);
/* State, communicator, handles and attributes are as in an earlier query. */
void cu_check_params(DAT_EP_HANDLE ep, const DAT_EP_PARAM *before);
const char *cu_event_name(DAT_EVENT_NUMBER number);
/* The subtype of DAT_INVALID_STATE that names a state. */
int cu_state_subtype(DAT_EP_STATE state);

/* ---- Events ------------------------------------------------------------ */

/* Waits for the next event; whether one came within ms. */
bool cu_next(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *event);
/* Dequeues until there is an event, also a silent one; it must come within CT_MS. */
void cu_poll(DAT_EVD_HANDLE evd, DAT_EVENT *event);
/* No event comes within ms. */
void cu_quiet(DAT_EVD_HANDLE evd, unsigned int ms);

/* ---- Transfers --------------------------------------------------------- */

DAT_DTO_COOKIE cu_cookie(uint64_t value);

DAT_RETURN cu_recv(struct ct_end *end, size_t off, size_t len, uint64_t cookie);
DAT_RETURN cu_write(struct ct_end *end, size_t off, size_t len, uint64_t cookie,
		    const struct ct_mem *to, size_t to_off, DAT_COMPLETION_FLAGS flags);
DAT_RETURN cu_read(struct ct_end *end, size_t off, size_t len, uint64_t cookie,
		   const struct ct_mem *from, size_t from_off, DAT_COMPLETION_FLAGS flags);

/* Takes the next completion of evd within CT_MS. */
DAT_DTO_COMPLETION_EVENT_DATA cu_completion(DAT_EVD_HANDLE evd);
/* The same, and checks EP, cookie, status and, for a success, operation and length. */
void cu_check_done(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
		   DAT_DTO_COMPLETION_STATUS status, DAT_DTOS op, size_t len, const char *file,
		   int line);
#define DONE(evd, ep, cookie, op, len) \
	cu_check_done((evd), (ep), (cookie), DAT_DTO_SUCCESS, (op), (len), __FILE__, __LINE__)
#define FLUSHED(evd, ep, cookie, op) \
	cu_check_done((evd), (ep), (cookie), DAT_DTO_ERR_FLUSHED, (op), 0, __FILE__, __LINE__)

/* ---- The process ------------------------------------------------------- */

unsigned int cu_count_fds(void);
/*
 * Private memory of a process in KiB (pid 0: this one), and what it shares with a device, whose
 * queues lie there: how long they are is the device's choice. Clean pages do not count: those of
 * libraries become private when the last other process that has them ends.
 */
size_t cu_memory_kib(int pid, size_t *device);
size_t cu_private_kib(int pid);

#endif
