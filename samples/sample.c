/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* program_invocation_short_name */
#endif
#include "sample.h"

#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_NAME	"udapl"
#define PACKAGE_VERSION "sample"
#endif

#define TIMEOUT (SAMPLE_SECONDS * 1000000)

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

void answer_about(int argc, char **argv, const char *usage)
{
	if (argc != 2)
		return;
	if (!strcmp(argv[1], "--version"))
		printf("%s (%s) %s\n", program_invocation_short_name, PACKAGE_NAME,
		       PACKAGE_VERSION);
	else if (!strcmp(argv[1], "--help"))
		puts(usage);
	else
		return;
	exit(EXIT_SUCCESS);
}

unsigned int number_of(const char *text, unsigned int max, const char *usage)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || strchr(text, '-') || value > max)
		die("%s", usage);
	return (unsigned int)value;
}

void must(DAT_RETURN rc, const char *what)
{
	const char *major, *minor;

	if (rc == DAT_SUCCESS)
		return;
	dat_strerror(rc, &major, &minor);
	die("%s: %s %s", what, major, minor);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- The adapter and the objects of a connection ---- */

void side_open(struct side *side, const char *adapter, bool use_cno, DAT_COUNT qlen)
{
	DAT_EVD_HANDLE *const dto[] = { &side->request_evd, &side->recv_evd };
	DAT_COUNT i;

	must(dat_ia_open((DAT_NAME_PTR)adapter, 8, &side->async_evd, &side->ia), adapter);
	must(dat_pz_create(side->ia, &side->pz), "dat_pz_create");
	if (use_cno)
		must(dat_cno_create(side->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &side->cno),
		     "dat_cno_create");
	must(dat_evd_create(side->ia, qlen, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &side->cr_evd),
	     "dat_evd_create");
	must(dat_evd_create(side->ia, qlen, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &side->conn_evd),
	     "dat_evd_create");
	for (i = 0; i < 2; i++)
		must(dat_evd_create(side->ia, qlen, side->cno, DAT_EVD_DTO_FLAG, dto[i]),
		     "dat_evd_create");
}

DAT_EP_HANDLE side_endpoint(struct side *side, DAT_COUNT depth)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	/* An endpoint made without attributes has the adapter's defaults, which modify changes. */
	must(dat_ep_create(side->ia, side->pz, side->recv_evd, side->request_evd, side->conn_evd,
			   NULL, &ep),
	     "dat_ep_create");
	param.ep_attr.max_recv_dtos = depth;
	param.ep_attr.max_request_dtos = depth;
	must(dat_ep_modify(
		     ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
		     &param),
	     "dat_ep_modify");
	return ep;
}

const struct sockaddr *host_address(DAT_IA_HANDLE ia, const char *host)
{
	static struct sockaddr_storage address;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	DAT_IA_ATTR attr;
	int err;

	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL), "dat_ia_query");
	hints.ai_family = attr.ia_address_ptr->sa_family;
	err = getaddrinfo(host, NULL, &hints, &found);
	if (err)
		die("%s: %s", host, gai_strerror(err));
	memcpy(&address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return (struct sockaddr *)&address;
}

/* As it travels: the peer's processor may have another byte order. */
static struct region in_network_order(const struct region *region)
{
	return (struct region){
		.address = htobe64(region->address),
		.size = htobe64(region->size),
		.rmr_context = htobe32(region->rmr_context),
		.number = htobe32(region->number),
	};
}

/* What the peer sent along. */
static void take_region(struct region *region, const void *data, DAT_COUNT size)
{
	struct region sent;

	if (!region)
		return;
	if (size < (DAT_COUNT)sizeof(sent))
		die("the peer did not say where its memory is");
	memcpy(&sent, data, sizeof(sent));
	*region = in_network_order(&sent); /* there and back is the same */
}

void side_listen(struct side *side, DAT_CONN_QUAL port)
{
	must(dat_psp_create(side->ia, port, side->cr_evd, DAT_PSP_CONSUMER_FLAG, &side->psp),
	     "dat_psp_create");
	printf("listening on port %u\n", (unsigned int)port);
	fflush(stdout);
}

/* The one event that a connection begins with. */
static DAT_EVENT await_established(struct side *side)
{
	DAT_COUNT more;
	DAT_EVENT event;

	must(dat_evd_wait(side->conn_evd, TIMEOUT + 1000000, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		die("not connected: %s", dat_event_name(event.event_number));
	return event;
}

/* A server waits for its first client as long as it takes. */
static DAT_TIMEOUT patience = DAT_TIMEOUT_INFINITE;

void side_accept(struct side *side, const struct region *mine, struct region *theirs)
{
	DAT_CR_HANDLE cr;
	struct region sent = mine ? in_network_order(mine) : (struct region){ 0 };
	DAT_CR_PARAM param;
	DAT_COUNT more;
	DAT_EVENT event;

	must(dat_evd_wait(side->cr_evd, patience, 1, &event, &more), "no client came");
	patience = TIMEOUT;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	take_region(theirs, param.private_data, param.private_data_size);
	must(dat_cr_accept(cr, side->ep, mine ? sizeof(sent) : 0, mine ? &sent : NULL),
	     "dat_cr_accept");
	await_established(side);
}

void side_connect(struct side *side, const char *host, DAT_CONN_QUAL port,
		  const struct region *mine, struct region *theirs)
{
	struct region sent = mine ? in_network_order(mine) : (struct region){ 0 };
	DAT_EVENT event;

	must(dat_ep_connect(side->ep, (DAT_IA_ADDRESS_PTR)host_address(side->ia, host), port,
			    TIMEOUT, mine ? sizeof(sent) : 0, mine ? &sent : NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
	     "dat_ep_connect");
	event = await_established(side);
	take_region(theirs, event.event_data.connect_event_data.private_data,
		    event.event_data.connect_event_data.private_data_size);
}

void side_disconnect(struct side *side)
{
	DAT_EVENT event;

	/* The peer may have been first. */
	dat_ep_disconnect(side->ep, DAT_CLOSE_GRACEFUL_FLAG);
	must(dat_evd_wait(side->conn_evd, TIMEOUT, 1, &event, &(DAT_COUNT){ 0 }), "dat_evd_wait");
	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
	    event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		die("%s instead of an end", dat_event_name(event.event_number));
}

void side_close(struct side *side)
{
	const DAT_EVD_HANDLE evds[] = { side->cr_evd, side->conn_evd, side->request_evd,
					side->recv_evd };
	size_t i;

	if (side->psp)
		must(dat_psp_free(side->psp), "dat_psp_free");
	if (side->ep)
		must(dat_ep_free(side->ep), "dat_ep_free");
	for (i = 0; i < 4; i++)
		must(dat_evd_free(evds[i]), "dat_evd_free");
	if (side->cno)
		must(dat_cno_free(side->cno), "dat_cno_free");
	must(dat_pz_free(side->pz), "dat_pz_free");
	must(dat_ia_close(side->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
}

/* ---- Events ---- */

/* Dequeues, and in between waits for the CNO or not at all. */
static DAT_RETURN poll_for(const struct side *side, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	double deadline = now() + SAMPLE_SECONDS;
	DAT_EVD_HANDLE who;
	DAT_RETURN rc;

	for (;;) {
		rc = dat_evd_dequeue(evd, event);
		if (DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY || now() > deadline)
			return rc;
		if (side->poll)
			continue;
		rc = dat_cno_wait(side->cno, TIMEOUT, &who);
		if (rc != DAT_SUCCESS)
			return rc;
	}
}

DAT_EVENT side_next(const struct side *side, DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT event;

	if ((side->poll || side->cno) && evd != side->conn_evd)
		must(poll_for(side, evd, &event), "waiting for an event");
	else
		must(dat_evd_wait(evd, TIMEOUT, 1, &event, &more), "dat_evd_wait");
	return event;
}

DAT_EVENT side_expect(const struct side *side, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event = side_next(side, evd);

	if (event.event_number != number)
		die("%s instead of %s", dat_event_name(event.event_number), dat_event_name(number));
	return event;
}

DAT_DTO_COMPLETION_EVENT_DATA side_complete(const struct side *side, DAT_EVD_HANDLE evd,
					    DAT_UINT64 cookie)
{
	DAT_EVENT event = side_expect(side, evd, DAT_DTO_COMPLETION_EVENT);
	DAT_DTO_COMPLETION_EVENT_DATA dto = event.event_data.dto_completion_event_data;

	if (dto.status != DAT_DTO_SUCCESS)
		die("transfer %llu failed: %s", (unsigned long long)dto.user_cookie.as_64,
		    dat_dto_status_name(dto.status));
	if (dto.user_cookie.as_64 != cookie)
		die("transfer %llu completed instead of %llu",
		    (unsigned long long)dto.user_cookie.as_64, (unsigned long long)cookie);
	return dto;
}

/* ---- Memory and transfers ---- */

void buffer_register(struct buffer *buffer, const struct side *side, size_t size,
		     DAT_MEM_PRIV_FLAGS rights)
{
	DAT_REGION_DESCRIPTION region;

	buffer->base = calloc(1, size);
	if (!buffer->base)
		die("no memory for %zu bytes", size);
	buffer->size = size;
	region.for_va = buffer->base;
	must(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, size, side->pz, rights,
			    DAT_VA_TYPE_VA, &buffer->lmr, &buffer->lmr_context,
			    &buffer->rmr_context, NULL, NULL),
	     "dat_lmr_create");
}

void buffer_free(struct buffer *buffer)
{
	must(dat_lmr_free(buffer->lmr), "dat_lmr_free");
	free(buffer->base);
}

DAT_LMR_TRIPLET buffer_part(const struct buffer *buffer, size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)(buffer->base + offset),
		.segment_length = (DAT_SEG_LENGTH)length,
		.lmr_context = buffer->lmr_context,
	};
}

DAT_RMR_TRIPLET region_part(const struct region *region, size_t offset, size_t length)
{
	return (DAT_RMR_TRIPLET){
		.virtual_address = region->address + offset,
		.segment_length = (DAT_SEG_LENGTH)length,
		.rmr_context = region->rmr_context,
	};
}

struct region buffer_region(const struct buffer *buffer)
{
	return (struct region){
		.address = (DAT_VADDR)(uintptr_t)buffer->base,
		.size = buffer->size,
		.rmr_context = buffer->rmr_context,
	};
}

void post_recv(DAT_EP_HANDLE ep, const struct buffer *buffer, size_t offset, size_t length,
	       DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET segment = buffer_part(buffer, offset, length);

	must(dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = cookie },
			      DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_recv");
}

void post_send(DAT_EP_HANDLE ep, const struct buffer *buffer, size_t offset, size_t length,
	       DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET segment = buffer_part(buffer, offset, length);

	must(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = cookie },
			      DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_send");
}
