/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program of DAT 1.2 whose posts and dequeues callgrind counts: cost-check runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dat/udat.h>

enum {
	ROUNDS = 20,
	BATCH = 8,
	SECONDS = 60,
};

static struct {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE cr_evd, connect_evd, dto_evd;
	DAT_EP_HANDLE active, passive;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	char memory[128];
} own;

static void must(DAT_RETURN rc, const char *what)
{
	if (rc == DAT_SUCCESS)
		return;
	fprintf(stderr, "%s: 0x%x\n", what, rc);
	exit(EXIT_FAILURE);
}
#define MUST(call) must(call, #call)

static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_wait(evd, SECONDS * 1000000, 1, &event, &more));
	must(event.event_number == wanted ? DAT_SUCCESS : (DAT_RETURN)event.event_number, "event");
	return event;
}

static void set_up(const char *name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = own.memory };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	MUST(dat_ia_open((DAT_NAME_PTR)name, 8, &async, &own.ia));
	MUST(dat_pz_create(own.ia, &pz));
	MUST(dat_evd_create(own.ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &own.cr_evd));
	MUST(dat_evd_create(own.ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &own.connect_evd));
	MUST(dat_evd_create(own.ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &own.dto_evd));
	MUST(dat_ep_create(own.ia, pz, own.dto_evd, own.dto_evd, own.connect_evd, NULL,
			   &own.active));
	MUST(dat_ep_create(own.ia, pz, own.dto_evd, own.dto_evd, own.connect_evd, NULL,
			   &own.passive));
	MUST(dat_lmr_create(own.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(own.memory), pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &own.context, &own.remote, NULL, NULL));
}

static void connect_both(void)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;
	DAT_EVENT event;

	MUST(dat_ia_query(own.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, DAT_PROVIDER_FIELD_NONE,
			  NULL));
	MUST(dat_psp_create_any(own.ia, &qual, own.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	MUST(dat_ep_connect(own.active, attr.ia_address_ptr, qual, SECONDS * 1000000, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = next(own.cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, own.passive, 0, NULL));
	next(own.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	next(own.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static __attribute__((noinline)) void counted_posts(void)
{
	DAT_LMR_TRIPLET from = { own.context, 0, (DAT_VADDR)(uintptr_t)own.memory, 64 };
	DAT_RMR_TRIPLET to = { own.remote, 0, (DAT_VADDR)(uintptr_t)own.memory + 64, 64 };
	DAT_DTO_COOKIE cookie = { .as_64 = 7 };
	int i;

	for (i = 0; i < BATCH; i++)
		MUST(dat_ep_post_rdma_write(own.active, 1, &from, cookie, &to,
					    DAT_COMPLETION_DEFAULT_FLAG));
}

static __attribute__((noinline)) void counted_dequeues(void)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	int i;

	dto = &event.event_data.dto_completion_event_data;
	for (i = 0; i < BATCH; i++) {
		MUST(dat_evd_dequeue(own.dto_evd, &event));
		must(dto->status == DAT_DTO_SUCCESS && dto->user_cookie.as_64 == 7 &&
				     dto->transfered_length == 64
			     ? DAT_SUCCESS
			     : DAT_INTERNAL_ERROR,
		     "completion");
	}
}

static void await_idle(void)
{
	DAT_BOOLEAN recv_idle, request_idle = DAT_FALSE;
	time_t end = time(NULL) + SECONDS;
	DAT_EP_STATE state;

	while (!request_idle) {
		MUST(dat_ep_get_status(own.active, &state, &recv_idle, &request_idle));
		must(time(NULL) < end ? DAT_SUCCESS : DAT_TIMEOUT_EXPIRED, "idle");
	}
}

int main(int argc, char **argv)
{
	int i;

	set_up(argc > 1 ? argv[1] : "soft-lo");
	connect_both();
	for (i = 0; i < ROUNDS; i++) {
		counted_posts();
		await_idle();
		counted_dequeues();
	}
	MUST(dat_ia_close(own.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
