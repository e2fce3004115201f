/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is read on either side of connections: requests, private data, events, endpoints. */
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"

#define QUAL   45311
#define NOBODY 45312
#define US     30000000

/* Bytes of private data, round by round; LIMIT is the adapter's, BEYOND one more. */
#define LIMIT  -1
#define BEYOND -2

static const struct {
	const char *name;
	DAT_COUNT length;
	bool accept;
} rounds[] = {
	{ "private-0", 0, true },  { "private-20", 20, true },	{ "private-max", LIMIT, true },
	{ "rejected", 20, false }, { "beyond", BEYOND, false },
};

#define ROUNDS ((int)(sizeof(rounds) / sizeof(rounds[0])))

static unsigned char bytes[1000];

static DAT_COUNT length_of(int round)
{
	DAT_COUNT length = rounds[round].length;

	return length == LIMIT ? world.max_private : length == BEYOND ? 20 : length;
}

static void name_of(char *name, size_t size, const char *side, int round)
{
	snprintf(name, size, "%s.%s", side, rounds[round].name);
}

/* Where the pattern ends: a transport may add bytes behind it. */
static void tell_private(const char *where, DAT_COUNT size, const void *data, DAT_COUNT given)
{
	tell_number(where, "private_data_size", size);
	tell(where, "private_data", "%s",
	     !data						    ? "null"
	     : size >= given && !memcmp(data, bytes, (size_t)given) ? "as given"
								    : "other");
}

static void wait_for(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_COUNT more;

	must("dat_evd_wait", dat_evd_wait(evd, US, 1, event, &more));
}

static void conn_event(const char *where, DAT_EP_HANDLE ep, DAT_COUNT given)
{
	const DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	wait_for(world.conn_evd, &event);
	data = &event.event_data.connect_event_data;
	/* Over iWARP the release tells an orderly end now as this, now as that. */
	if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	    event.event_number == DAT_CONNECTION_EVENT_BROKEN)
		tell(where, "event", "an end");
	else
		tell(where, "event", "0x%x", event.event_number);
	tell_handle(where, "ep_handle", data->ep_handle, ep);
	tell_private(where, data->private_data_size, data->private_data, given);
}

static DAT_EP_HANDLE ep_new(void)
{
	DAT_EP_HANDLE ep;

	must("dat_ep_create", dat_ep_create(world.ia, world.pz, world.recv_evd, world.req_evd,
					    world.conn_evd, NULL, &ep));
	return ep;
}

/* One message each way, the client's first: what both see is read while they are connected. */
static char message[64];
static DAT_LMR_HANDLE lmr;
static DAT_LMR_TRIPLET segment;

static void message_new(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
	DAT_VLEN size;

	region.for_va = message;
	memset(&segment, 0, sizeof(segment));
	segment.virtual_address = (DAT_VADDR)(DAT_UVERYLONG)message;
	segment.segment_length = sizeof(message);
	must("dat_lmr_create",
	     dat_lmr_create(world.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(message), world.pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &segment.lmr_context,
			    &context, &size, &address));
}

static void hear(DAT_EP_HANDLE ep)
{
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = 1;
	must("dat_ep_post_recv",
	     dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void heard(void)
{
	DAT_EVENT event;

	wait_for(world.recv_evd, &event);
	must("message",
	     event.event_data.dto_completion_event_data.status ? DAT_ABORT : DAT_SUCCESS);
}

static void say(DAT_EP_HANDLE ep)
{
	DAT_DTO_COOKIE cookie;
	DAT_EVENT event;

	cookie.as_64 = 2;
	must("dat_ep_post_send",
	     dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	wait_for(world.req_evd, &event);
}

/* ---- The server ---- */

static void tell_request(const char *where, const DAT_EVENT *event, DAT_PSP_HANDLE psp,
			 DAT_COUNT given)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;
	DAT_CR_PARAM param;

	tell(where, "event", "0x%x", event->event_number);
	tell_handle(where, "sp_handle", data->sp_handle.psp_handle, psp);
	tell_address(where, "local_ia_address_ptr", data->local_ia_address_ptr);
	tell(where, "conn_qual", "%s", data->conn_qual == QUAL ? "given" : "other");
	memset(&param, 0, sizeof(param));
	tell_return(where, dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, &param));
	world.peer = param.remote_ia_address_ptr;
	tell_address(where, "remote_ia_address_ptr", param.remote_ia_address_ptr);
	tell(where, "remote_port_qual", "%s", param.remote_port_qual ? "a port" : "0");
	tell_private(where, param.private_data_size, param.private_data, given);
	tell_handle(where, "local_ep_handle", param.local_ep_handle, DAT_HANDLE_NULL);
}

static void serve_round(int round, DAT_PSP_HANDLE psp)
{
	DAT_COUNT given = length_of(round);
	DAT_EP_HANDLE ep = ep_new();
	DAT_CR_HANDLE cr;
	DAT_RETURN rc;
	DAT_EVENT event;
	char where[64], name[80];

	name_of(where, sizeof(where), "server", round);
	wait_for(world.cr_evd, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	snprintf(name, sizeof(name), "%s.request", where);
	tell_request(name, &event, psp, given);
	snprintf(name, sizeof(name), "%s.answer", where);
	if (!rounds[round].accept) {
		if (rounds[round].length == BEYOND)
			given = world.max_private + 1;
		rc = dat_cr_reject(cr, given, bytes);
		tell_return(name, rc);
		if (rc)
			must("dat_cr_reject", dat_cr_reject(cr, 0, NULL));
		must("dat_ep_free", dat_ep_free(ep));
		return;
	}
	hear(ep);
	tell_return(name, dat_cr_accept(cr, ep, given, bytes));
	snprintf(name, sizeof(name), "%s.established", where);
	conn_event(name, ep, 0);
	heard();
	snprintf(name, sizeof(name), "%s.ep", where);
	tell_ep(name, ep, world.pz, DAT_HANDLE_NULL);
	say(ep);
	snprintf(name, sizeof(name), "%s.ended", where);
	conn_event(name, ep, 0);
	snprintf(name, sizeof(name), "%s.ended-ep", where);
	tell_ep(name, ep, world.pz, DAT_HANDLE_NULL);
	must("dat_ep_free", dat_ep_free(ep));
}

void serve(void)
{
	DAT_PSP_HANDLE psp;
	int round;

	memset(bytes, 0x5a, sizeof(bytes));
	message_new();
	must("dat_psp_create",
	     dat_psp_create(world.ia, QUAL, world.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	printf("ready\n");
	for (round = 0; round < ROUNDS; round++)
		serve_round(round, psp);
	must("dat_psp_free", dat_psp_free(psp));
	must("dat_lmr_free", dat_lmr_free(lmr));
}

/* ---- The client ---- */

static DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_COUNT size)
{
	return dat_ep_connect(ep, world.peer, qual, US, size, size ? bytes : NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void call_round(int round)
{
	DAT_COUNT given = length_of(round);
	DAT_EP_HANDLE ep = ep_new();
	char where[64], name[80];

	name_of(where, sizeof(where), "client", round);
	if (rounds[round].accept)
		hear(ep);
	snprintf(name, sizeof(name), "%s.connect", where);
	tell_return(name, connect_to(ep, QUAL, given));
	snprintf(name, sizeof(name), "%s.answer", where);
	conn_event(name, ep, given);
	snprintf(name, sizeof(name), "%s.ep", where);
	tell_ep(name, ep, world.pz, DAT_HANDLE_NULL);
	if (rounds[round].accept) {
		say(ep);
		heard();
		snprintf(name, sizeof(name), "%s.disconnect", where);
		tell_return(name, dat_ep_disconnect(ep, DAT_CLOSE_DEFAULT));
		snprintf(name, sizeof(name), "%s.ended", where);
		conn_event(name, ep, 0);
		snprintf(name, sizeof(name), "%s.ended-ep", where);
		tell_ep(name, ep, world.pz, DAT_HANDLE_NULL);
	}
	must("dat_ep_free", dat_ep_free(ep));
}

/* Nobody listens there. */
static void call_nobody(const char *where, DAT_COUNT size)
{
	DAT_EP_HANDLE ep = ep_new();
	DAT_RETURN rc = connect_to(ep, NOBODY, size);
	char name[80];

	snprintf(name, sizeof(name), "%s.connect", where);
	tell_return(name, rc);
	snprintf(name, sizeof(name), "%s.answer", where);
	if (!rc)
		conn_event(name, ep, 0);
	snprintf(name, sizeof(name), "%s.ep", where);
	tell_ep(name, ep, world.pz, DAT_HANDLE_NULL);
	must("dat_ep_free", dat_ep_free(ep));
}

void call(const char *server)
{
	struct addrinfo *found;
	int round;

	if (getaddrinfo(server, NULL, NULL, &found)) {
		printf("failed: no address %s\n", server);
		exit(1);
	}
	world.peer = found->ai_addr;
	memset(bytes, 0x5a, sizeof(bytes));
	message_new();
	for (round = 0; round < ROUNDS; round++)
		call_round(round);
	call_nobody("client.nobody", 0);
	call_nobody("client.one-too-much", world.max_private + 1);
	must("dat_lmr_free", dat_lmr_free(lmr));
	freeaddrinfo(found);
}
