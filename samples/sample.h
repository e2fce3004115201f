/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the samples share: an adapter with the objects of one connection, registered memory, and
 * waiting that ends. Every function here succeeds or ends the program with the reason on standard
 * error.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>
#include <dat/dat_names.h>

#define SAMPLE_PORT    45248
#define SAMPLE_SECONDS 20 /* longer than this nothing takes */

/* The program's half of a connection. */
struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_CNO_HANDLE cno; /* DAT_HANDLE_NULL: wait on the EVDs */
	bool poll;	    /* dequeue in a loop instead of waiting */
	DAT_EVD_HANDLE cr_evd, conn_evd, request_evd, recv_evd;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
};

/* Memory that both sides may use. */
struct buffer {
	char *base;
	DAT_VLEN size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

/* What a peer must know of a buffer to reach it. */
struct region {
	DAT_VADDR address;
	DAT_UINT64 size;
	DAT_RMR_CONTEXT rmr_context;
	DAT_UINT32 number; /* free for the program */
};

/* Ends the program unless rc is DAT_SUCCESS. */
void must(DAT_RETURN rc, const char *what);
/* Ends the program with a reason. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* --help or --version alone: prints usage, or which release the program is of, and ends it. */
void answer_about(int argc, char **argv, const char *usage);
/* An option's number, from 0 to max; anything else prints usage and ends the program. */
unsigned int number_of(const char *text, unsigned int max, const char *usage);

/* Opens an adapter; use_cno: its EVDs report to a CNO. qlen: completions that may wait. */
void side_open(struct side *side, const char *adapter, bool use_cno, DAT_COUNT qlen);
/* An endpoint with the adapter's defaults, for as many as qlen requests and receives. */
DAT_EP_HANDLE side_endpoint(struct side *side, DAT_COUNT depth);
/* Listens on port until side_close, and says so on standard output. */
void side_listen(struct side *side, DAT_CONN_QUAL port);
/*
 * Accepts a connection on side->ep. Where each side's buffer is travels as private data; mine and
 * theirs may be NULL.
 */
void side_accept(struct side *side, const struct region *mine, struct region *theirs);
/* Connects side->ep to host, a name or an address, where the server listens already. */
void side_connect(struct side *side, const char *host, DAT_CONN_QUAL port,
		  const struct region *mine, struct region *theirs);
/* Ends the connection of side->ep and waits until it has ended. */
void side_disconnect(struct side *side);
/* Frees everything. */
void side_close(struct side *side);

/* The address of a host, of the family of the adapter's own. */
const struct sockaddr *host_address(DAT_IA_HANDLE ia, const char *host);

/* The next event of an EVD, by waiting, by the CNO or by polling, whichever the side does. */
DAT_EVENT side_next(const struct side *side, DAT_EVD_HANDLE evd);
/* The same, and it must be this one. */
DAT_EVENT side_expect(const struct side *side, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
/* The completion of the request or receive with this cookie, which must have succeeded. */
DAT_DTO_COMPLETION_EVENT_DATA side_complete(const struct side *side, DAT_EVD_HANDLE evd,
					    DAT_UINT64 cookie);

/* Allocates and registers. */
void buffer_register(struct buffer *buffer, const struct side *side, size_t size,
		     DAT_MEM_PRIV_FLAGS rights);
void buffer_free(struct buffer *buffer);
/* Part of a buffer, as the posting calls want it. */
DAT_LMR_TRIPLET buffer_part(const struct buffer *buffer, size_t offset, size_t length);
/* Part of the peer's, ditto. */
DAT_RMR_TRIPLET region_part(const struct region *region, size_t offset, size_t length);
struct region buffer_region(const struct buffer *buffer);

/* Posts a receive into, or a send from, part of a buffer. The cookie comes back in the completion.
 */
void post_recv(DAT_EP_HANDLE ep, const struct buffer *buffer, size_t offset, size_t length,
	       DAT_UINT64 cookie);
void post_send(DAT_EP_HANDLE ep, const struct buffer *buffer, size_t offset, size_t length,
	       DAT_UINT64 cookie);

/* Seconds since some time. */
double now(void);

#endif
