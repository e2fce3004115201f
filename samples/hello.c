/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The smallest uDAPL program: `hello` waits for a message and prints it; `hello ADDRESS` sends one.
 * UDAPL_IA names the adapter (soft-lo).
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>
#include <dat/dat_names.h>

#define PORT	45249
#define SECONDS (10 * 1000000) /* timeouts are in microseconds */

static char memory[64];

/* Every call says how it went. */
static void must(DAT_RETURN rc, const char *what)
{
	const char *major, *minor;

	if (rc == DAT_SUCCESS)
		return;
	dat_strerror(rc, &major, &minor);
	fprintf(stderr, "%s: %s %s\n", what, major, minor);
	exit(EXIT_FAILURE);
}

/* Everything that happens arrives as an event. */
static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, SECONDS, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != wanted) {
		fprintf(stderr, "%s instead of %s\n", dat_event_name(event.event_number),
			dat_event_name(wanted));
		exit(EXIT_FAILURE);
	}
	return event;
}

static void serve(DAT_IA_HANDLE ia, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, DAT_EVD_HANDLE messages,
		  DAT_LMR_TRIPLET *segment)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	/* The receive is there before anybody can send. */
	must(dat_ep_post_recv(ep, 1, segment, (DAT_DTO_COOKIE){ .as_64 = 1 },
			      DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_recv");
	must(dat_psp_create(ia, PORT, evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	printf("listening on port %d\n", PORT);
	fflush(stdout);
	event = next(evd, DAT_CONNECTION_REQUEST_EVENT);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
	     "dat_cr_accept");
	next(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	next(messages, DAT_DTO_COMPLETION_EVENT);
	printf("%s\n", memory);
	next(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_psp_free(psp), "dat_psp_free");
}

static void greet(const char *host, DAT_IA_HANDLE ia, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
		  DAT_EVD_HANDLE messages, DAT_LMR_TRIPLET *segment)
{
	struct addrinfo *address, hints = { .ai_socktype = SOCK_STREAM };
	DAT_IA_ATTR attr;
	int err;

	/* "localhost" may be ::1 first, which an adapter of 127.0.0.1 does not reach. */
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL), "dat_ia_query");
	hints.ai_family = attr.ia_address_ptr->sa_family;
	err = getaddrinfo(host, NULL, &hints, &address);
	if (err) {
		fprintf(stderr, "%s: %s\n", host, gai_strerror(err));
		exit(EXIT_FAILURE);
	}
	must(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)address->ai_addr, PORT, SECONDS, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
	     "dat_ep_connect");
	freeaddrinfo(address);
	next(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	strcpy(memory, "hello, world");
	must(dat_ep_post_send(ep, 1, segment, (DAT_DTO_COOKIE){ .as_64 = 1 },
			      DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_send");
	next(messages, DAT_DTO_COMPLETION_EVENT);
	must(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	next(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

int main(int argc, char **argv)
{
	const char *adapter = getenv("UDAPL_IA");
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, evd, messages;
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_TRIPLET segment;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_EP_HANDLE ep;

	must(dat_ia_open((DAT_NAME_PTR)(adapter ? adapter : "soft-lo"), 8, &async_evd, &ia),
	     "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &evd),
	     "dat_evd_create");
	/* Of its own: a message may arrive before the server hears that it is connected. */
	must(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &messages),
	     "dat_evd_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			    DAT_VA_TYPE_VA, &lmr, &segment.lmr_context, NULL, NULL, NULL),
	     "dat_lmr_create");
	segment.virtual_address = (DAT_VADDR)(uintptr_t)memory;
	segment.segment_length = sizeof(memory);
	must(dat_ep_create(ia, pz, messages, messages, evd, NULL, &ep), "dat_ep_create");

	if (argc > 1)
		greet(argv[1], ia, ep, evd, messages, &segment);
	else
		serve(ia, ep, evd, messages, &segment);

	must(dat_ep_free(ep), "dat_ep_free");
	must(dat_lmr_free(lmr), "dat_lmr_free");
	must(dat_evd_free(messages), "dat_evd_free");
	must(dat_evd_free(evd), "dat_evd_free");
	must(dat_pz_free(pz), "dat_pz_free");
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	return 0;
}
