/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUAL 45390
#define US   20000000

void pair_ok(const char *what, DAT_RETURN rc)
{
	if (rc != DAT_SUCCESS) {
		fprintf(stderr, "%s: 0x%x\n", what, rc);
		exit(1);
	}
}

static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	pair_ok("dat_evd_wait", dat_evd_wait(evd, US, 1, &event, &more));
	if (event.event_number != number) {
		fprintf(stderr, "event 0x%x instead of 0x%x\n", event.event_number, number);
		exit(1);
	}
	return event;
}

void pair_evd(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	pair_ok("dat_evd_create", dat_evd_create(ia, qlen, DAT_HANDLE_NULL, flags, evd));
}

void pair_side_evds(const struct pair *pair, struct pair_side *side)
{
	pair_evd(pair->ia, 8, DAT_EVD_CONNECTION_FLAG, &side->conn);
	pair_evd(pair->ia, 64, DAT_EVD_DTO_FLAG, &side->request);
	pair_evd(pair->ia, 64, DAT_EVD_DTO_FLAG, &side->recv);
	side->ep = DAT_HANDLE_NULL;
}

static void make_ep(const struct pair *pair, struct pair_side *side)
{
	pair_ok("dat_ep_create", dat_ep_create(pair->ia, pair->pz, side->recv, side->request,
					       side->conn, pair->attr, &side->ep));
}

void pair_listen(const struct pair *pair, struct pair_listener *listener)
{
	pair_evd(pair->ia, 8, DAT_EVD_CR_FLAG, &listener->requests);
	pair_ok("dat_psp_create", dat_psp_create(pair->ia, QUAL, listener->requests,
						 DAT_PSP_CONSUMER_FLAG, &listener->psp));
}

void pair_unlisten(struct pair_listener *listener)
{
	dat_psp_free(listener->psp);
	dat_evd_free(listener->requests);
}

static void connect_sides(const struct pair *pair, const struct pair_listener *listener,
			  struct pair_side *active, struct pair_side *passive)
{
	DAT_IA_ATTR attr;
	DAT_EVENT event;

	pair_ok("dat_ia_query", dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	pair_ok("dat_ep_connect", dat_ep_connect(active->ep, attr.ia_address_ptr, QUAL, US, 0, NULL,
						 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = next(listener->requests, DAT_CONNECTION_REQUEST_EVENT);
	pair_ok("dat_cr_accept", dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
					       passive->ep, 0, NULL));
	next(active->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	next(passive->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void pair_meet(const struct pair *pair, const struct pair_listener *listener,
	       struct pair_side *active, struct pair_side *passive)
{
	make_ep(pair, active);
	make_ep(pair, passive);
	connect_sides(pair, listener, active, passive);
	pair_ok("dat_ep_disconnect", dat_ep_disconnect(active->ep, DAT_CLOSE_ABRUPT_FLAG));
	next(active->conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	next(passive->conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_ok("dat_ep_free", dat_ep_free(active->ep));
	pair_ok("dat_ep_free", dat_ep_free(passive->ep));
	active->ep = passive->ep = DAT_HANDLE_NULL;
}

static void register_memory(struct pair *pair)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN registered;
	DAT_VADDR address;

	pair->memory = calloc(2, PAIR_MEMORY);
	if (!pair->memory) {
		fprintf(stderr, "no memory\n");
		exit(1);
	}
	region.for_va = pair->memory;
	pair_ok("dat_lmr_create",
		dat_lmr_create(pair->ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * PAIR_MEMORY, pair->pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &pair->lmr,
			       &pair->lmr_context, &pair->rmr_context, &registered, &address));
	pair->side[0].memory = pair->memory;
	pair->side[1].memory = pair->memory + PAIR_MEMORY;
}

void pair_open(struct pair *pair, const char *ia_name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct pair_listener listener;
	int i;

	memset(pair, 0, sizeof(*pair));
	pair_ok("dat_ia_open", dat_ia_open((DAT_NAME_PTR)ia_name, 8, &async, &pair->ia));
	pair_ok("dat_pz_create", dat_pz_create(pair->ia, &pair->pz));
	register_memory(pair);
	for (i = 0; i < 2; i++) {
		pair_side_evds(pair, &pair->side[i]);
		make_ep(pair, &pair->side[i]);
	}
	pair_listen(pair, &listener);
	connect_sides(pair, &listener, &pair->side[0], &pair->side[1]);
	pair_unlisten(&listener);
}

void pair_side_close(struct pair_side *side)
{
	if (side->ep)
		dat_ep_free(side->ep);
	dat_evd_free(side->request);
	dat_evd_free(side->recv);
	dat_evd_free(side->conn);
}

void pair_close(struct pair *pair)
{
	dat_ep_disconnect(pair->side[0].ep, DAT_CLOSE_ABRUPT_FLAG);
	pair_side_close(&pair->side[0]);
	pair_side_close(&pair->side[1]);
	dat_lmr_free(pair->lmr);
	dat_pz_free(pair->pz);
	dat_ia_close(pair->ia, DAT_CLOSE_ABRUPT_FLAG);
	free(pair->memory);
}

DAT_LMR_TRIPLET pair_local(const struct pair *pair, int side, size_t length)
{
	DAT_LMR_TRIPLET iov;

	memset(&iov, 0, sizeof(iov));
	iov.virtual_address = (DAT_VADDR)(DAT_UVERYLONG)pair->side[side].memory;
	iov.segment_length = (DAT_SEG_LENGTH)length;
	iov.lmr_context = pair->lmr_context;
	return iov;
}

DAT_RMR_TRIPLET pair_remote(const struct pair *pair, int side, size_t length)
{
	DAT_RMR_TRIPLET iov;

	memset(&iov, 0, sizeof(iov));
	iov.virtual_address = (DAT_VADDR)(DAT_UVERYLONG)pair->side[side].memory;
	iov.segment_length = (DAT_SEG_LENGTH)length;
	iov.rmr_context = pair->rmr_context;
	return iov;
}
