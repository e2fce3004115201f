/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The same over libibverbs, connected with librdmacm. */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sizes.h"

#define PORT	 45391
#define MS	 10000
#define COVERING 20000 /* entries of 32 bytes */

struct end {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *request, *recv;
	unsigned char *memory;
};

static struct end end[2];
static struct sockaddr_in address;
static struct rdma_cm_id *listener;
static struct ibv_cq *cover;
static struct ibv_pd *pd;
static struct ibv_mr *mr;

static void check(const char *what, int failed)
{
	if (failed) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(1);
	}
}

/* Waits for an event of the channel; the id it came for. */
static struct rdma_cm_id *await(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	check("rdma_get_cm_event", rdma_get_cm_event(channel, &event));
	if (event->event != type) {
		fprintf(stderr, "%s instead of %s\n", rdma_event_str(event->event),
			rdma_event_str(type));
		exit(1);
	}
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static struct ibv_cq *make_cq(struct ibv_context *verbs, int cqe)
{
	struct ibv_cq *cq = ibv_create_cq(verbs, cqe, NULL, NULL, 0);

	check("ibv_create_cq", !cq);
	return cq;
}

static void make_cqs(struct end *e, struct ibv_context *verbs)
{
	e->request = make_cq(verbs, 64);
	e->recv = make_cq(verbs, 64);
}

static void make_qp(struct end *e)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	attr.send_cq = e->request;
	attr.recv_cq = e->recv;
	attr.cap.max_send_wr = attr.cap.max_recv_wr = SIZES_DEPTH;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	check("rdma_create_qp", rdma_create_qp(e->id, pd, &attr));
}

static void register_memory(void)
{
	unsigned char *memory = calloc(2, SIZES_MOST);

	check("calloc", !memory);
	pd = ibv_alloc_pd(end[0].id->verbs);
	check("ibv_alloc_pd", !pd);
	mr = ibv_reg_mr(pd, memory, 2 * SIZES_MOST,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	check("ibv_reg_mr", !mr);
	end[0].memory = memory;
	end[1].memory = memory + SIZES_MOST;
}

static void make_channel(struct end *e)
{
	e->channel = rdma_create_event_channel();
	check("rdma_create_event_channel", !e->channel);
}

/* The address's network device is known from then on. */
static void look_for(struct end *active)
{
	struct sockaddr_in near = address;

	near.sin_port = 0;
	check("rdma_create_id", rdma_create_id(active->channel, &active->id, NULL, RDMA_PS_TCP));
	check("rdma_resolve_addr", rdma_resolve_addr(active->id, (struct sockaddr *)&near,
						     (struct sockaddr *)&address, MS));
	await(active->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	check("rdma_resolve_route", rdma_resolve_route(active->id, MS));
	await(active->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* The passive end's channel is the listener's. */
static void connect_ends(struct end *active, struct end *passive)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };

	make_qp(active);
	check("rdma_connect", rdma_connect(active->id, &param));
	passive->id = await(passive->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(passive);
	check("rdma_accept", rdma_accept(passive->id, &param));
	await(active->channel, RDMA_CM_EVENT_ESTABLISHED);
	await(passive->channel, RDMA_CM_EVENT_ESTABLISHED);
}

static void verbs_open(const char *where)
{
	int i;

	address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(PORT) };
	check(where, inet_pton(AF_INET, where, &address.sin_addr) != 1);
	make_channel(&end[0]);
	make_channel(&end[1]);
	check("rdma_create_id", rdma_create_id(end[1].channel, &listener, NULL, RDMA_PS_TCP));
	check("rdma_bind_addr", rdma_bind_addr(listener, (struct sockaddr *)&address));
	check("rdma_listen", rdma_listen(listener, 1));
	look_for(&end[0]);
	register_memory();
	/* libsiw takes the offset 0x90000 of a mapping for a failure: this covers it. */
	cover = ibv_create_cq(end[0].id->verbs, COVERING, NULL, NULL, 0);
	for (i = 0; i < 2; i++)
		make_cqs(&end[i], end[0].id->verbs);
	connect_ends(&end[0], &end[1]);
}

static struct ibv_sge local(int side, size_t size)
{
	return (struct ibv_sge){ .addr = (uintptr_t)end[side].memory,
				 .length = (uint32_t)size,
				 .lkey = mr->lkey };
}

static void post_recv(int side, size_t size)
{
	struct ibv_sge sge = local(side, size);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	check("ibv_post_recv", ibv_post_recv(end[side].id->qp, &wr, &bad));
}

static void post(int side, size_t size, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = local(side, size);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)end[!side].memory;
	wr.wr.rdma.rkey = mr->rkey;
	check("ibv_post_send", ibv_post_send(end[side].id->qp, &wr, &bad));
}

static void post_send(int side, size_t size)
{
	post(side, size, IBV_WR_SEND);
}

static void post_write(int side, size_t size)
{
	post(side, size, IBV_WR_RDMA_WRITE);
}

static void reap(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	if (n < 0 || wc.status) {
		fprintf(stderr, "a completion: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
}

static void reap_recv(int side)
{
	reap(end[side].recv);
}

static void reap_request(int side)
{
	reap(end[side].request);
}

static void crowd(int num)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct ibv_context *verbs = end[0].id->verbs;

	attr.cap.max_send_wr = attr.cap.max_recv_wr = SIZES_DEPTH;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	while (num--) {
		attr.send_cq = make_cq(verbs, SIZES_DEPTH);
		attr.recv_cq = make_cq(verbs, SIZES_DEPTH);
		check("ibv_create_qp", !ibv_create_qp(pd, &attr));
	}
}

static void forget(struct end *e)
{
	rdma_destroy_qp(e->id);
	check("rdma_destroy_id", rdma_destroy_id(e->id));
}

static void meet(struct end *active, struct end *passive)
{
	look_for(active);
	connect_ends(active, passive);
	check("rdma_disconnect", rdma_disconnect(active->id));
	await(passive->channel, RDMA_CM_EVENT_DISCONNECTED);
	/* InfiniBand's answer, which iWARP has none of. */
	rdma_disconnect(passive->id);
	await(active->channel, RDMA_CM_EVENT_DISCONNECTED);
	forget(active);
	forget(passive);
}

static void connect_more(int num)
{
	struct end active, passive = { .channel = end[1].channel };

	make_channel(&active);
	make_cqs(&active, end[0].id->verbs);
	make_cqs(&passive, end[0].id->verbs);
	while (num--)
		meet(&active, &passive);
	rdma_destroy_event_channel(active.channel);
	ibv_destroy_cq(active.request);
	ibv_destroy_cq(active.recv);
	ibv_destroy_cq(passive.request);
	ibv_destroy_cq(passive.recv);
}

static void verbs_close(void)
{
	unsigned char *memory = end[0].memory;
	int i;

	rdma_disconnect(end[0].id);
	for (i = 0; i < 2; i++) {
		rdma_destroy_qp(end[i].id);
		ibv_destroy_cq(end[i].request);
		ibv_destroy_cq(end[i].recv);
	}
	if (cover)
		ibv_destroy_cq(cover);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	free(memory);
	rdma_destroy_id(listener);
}

const struct sizes_ops sizes_verbs = {
	.open = verbs_open,
	.post_recv = post_recv,
	.post_send = post_send,
	.post_write = post_write,
	.reap_recv = reap_recv,
	.reap_request = reap_request,
	.crowd = crowd,
	.connect = connect_more,
	.close = verbs_close,
};
