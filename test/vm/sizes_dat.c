/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"
#include "sizes.h"

_Static_assert(PAIR_MEMORY >= SIZES_MOST, "the largest size");

static struct pair pair;
static const DAT_DTO_COOKIE no_cookie;

static void dat_open(const char *where)
{
	pair_open(&pair, where);
}

static void dat_close(void)
{
	pair_close(&pair);
}

static void post_recv(int side, size_t size)
{
	DAT_LMR_TRIPLET iov = pair_local(&pair, side, size);

	pair_ok("dat_ep_post_recv", dat_ep_post_recv(pair.side[side].ep, 1, &iov, no_cookie,
						     DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(int side, size_t size)
{
	DAT_LMR_TRIPLET iov = pair_local(&pair, side, size);

	pair_ok("dat_ep_post_send", dat_ep_post_send(pair.side[side].ep, 1, &iov, no_cookie,
						     DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_write(int side, size_t size)
{
	DAT_LMR_TRIPLET from = pair_local(&pair, side, size);
	DAT_RMR_TRIPLET to = pair_remote(&pair, !side, size);

	pair_ok("dat_ep_post_rdma_write",
		dat_ep_post_rdma_write(pair.side[side].ep, 1, &from, no_cookie, &to,
				       DAT_COMPLETION_DEFAULT_FLAG));
}

static void reap(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY)
		;
	pair_ok("a completion", event.event_data.dto_completion_event_data.status);
}

static void reap_recv(int side)
{
	reap(pair.side[side].recv);
}

static void reap_request(int side)
{
	reap(pair.side[side].request);
}

/* What plain verbs are asked for. */
static DAT_EP_ATTR small_attr(void)
{
	DAT_EP_PARAM param;

	pair_ok("dat_ep_query", dat_ep_query(pair.side[0].ep, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.max_recv_dtos = param.ep_attr.max_request_dtos = SIZES_DEPTH;
	param.ep_attr.max_recv_iov = param.ep_attr.max_request_iov = 1;
	return param.ep_attr;
}

static void crowd(int num)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EVD_HANDLE recv, request;
	DAT_EP_HANDLE ep;

	while (num--) {
		pair_evd(pair.ia, SIZES_DEPTH, DAT_EVD_DTO_FLAG, &recv);
		pair_evd(pair.ia, SIZES_DEPTH, DAT_EVD_DTO_FLAG, &request);
		pair_ok("dat_ep_create", dat_ep_create(pair.ia, pair.pz, recv, request,
						       pair.side[0].conn, &attr, &ep));
	}
}

static void connect_more(int num)
{
	DAT_EP_ATTR attr = small_attr();
	struct pair_listener listener;
	struct pair_side side[2];
	int i;

	pair.attr = &attr;
	pair_listen(&pair, &listener);
	for (i = 0; i < 2; i++)
		pair_side_evds(&pair, &side[i]);
	while (num--)
		pair_meet(&pair, &listener, &side[0], &side[1]);
	for (i = 0; i < 2; i++)
		pair_side_close(&side[i]);
	pair_unlisten(&listener);
	pair.attr = NULL;
}

const struct sizes_ops sizes_dat = {
	.open = dat_open,
	.post_recv = post_recv,
	.post_send = post_send,
	.post_write = post_write,
	.reap_recv = reap_recv,
	.reap_request = reap_request,
	.crowd = crowd,
	.connect = connect_more,
	.close = dat_close,
};
