/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One endpoint and how its connection stands, and the EVD that tells of it. */
#ifndef DAPLTEST_LINK_H
#define DAPLTEST_LINK_H

#include <dat/udat.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ia.h"

#define DT_VERSION_TEXT 48

enum dt_link_state {
	DT_LINK_IDLE,
	DT_LINK_PENDING,
	DT_LINK_UP,
	DT_LINK_DOWN,
};

struct dt_link {
	DAT_EP_HANDLE ep;
	enum dt_link_state state;
	DAT_EVENT_NUMBER ended_by;
	char version[DT_VERSION_TEXT]; /* what an accepting server says of itself, or "" */
};

/* What an endpoint of a test must be able to do; zeros mean none of that kind. */
struct dt_link_needs {
	uint32_t recvs;
	uint32_t requests;
	uint32_t recv_segs;
	uint32_t send_segs;
	uint32_t read_segs;
	uint32_t write_segs;
	uint32_t reads_in;
	uint32_t reads_out;
	DAT_QOS qos;
};

struct dt_evds {
	DAT_EVD_HANDLE recv;
	DAT_EVD_HANDLE request;
	DAT_EVD_HANDLE cm;
};

/* Says which endpoint of which test a connection request is for. */
struct dt_hello {
	uint32_t session;
	uint32_t index;
};

#define DT_HELLO_SIZE 12

int dt_evd_create(struct dt_actor *actor, const struct dt_ia *ia, const char *what, uint32_t qlen,
		  DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
int dt_evd_free(struct dt_actor *actor, const char *what, DAT_EVD_HANDLE *evd);

int dt_link_create(struct dt_actor *actor, struct dt_link *link, const struct dt_ia *ia,
		   DAT_PZ_HANDLE pz, const struct dt_evds *evds, const struct dt_link_needs *needs);
int dt_link_connect(struct dt_actor *actor, struct dt_link *link,
		    const struct sockaddr_storage *address, DAT_CONN_QUAL port, uint64_t deadline,
		    DAT_QOS qos, const struct dt_hello *hello);

/* Answers a request with the link's endpoint, or with the request's own for an RSP. */
int dt_link_accept(struct dt_actor *actor, struct dt_link *link, DAT_CR_HANDLE cr, bool own_ep,
		   const struct dt_hello *hello);
int dt_link_free(struct dt_actor *actor, struct dt_link *link);

/* Ends the connection without waiting for the end; an idle or ended one is left alone. */
void dt_link_disconnect(struct dt_actor *actor, struct dt_link *link, bool graceful);

/*
 * Takes one event from a connection EVD. A connection event is entered into its link and reported
 * in `link`; a request leaves that null. Returns 1 when the deadline passed.
 */
int dt_cm_wait(struct dt_actor *actor, DAT_EVD_HANDLE evd, uint64_t deadline, DAT_EVENT *event,
	       struct dt_link **link);

/* Waits until the link is up; a link that came down instead is a failure. */
int dt_link_await_up(struct dt_actor *actor, struct dt_link *link, DAT_EVD_HANDLE evd,
		     uint64_t deadline);
int dt_link_await_down(struct dt_actor *actor, struct dt_link *link, DAT_EVD_HANDLE evd,
		       uint64_t deadline);

void dt_hello_encode(const struct dt_hello *hello, unsigned char *bytes);
int dt_hello_decode(struct dt_hello *hello, const void *bytes, DAT_COUNT size);

#endif
