/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What rdma_cm tells of connections and their ends. */
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/zoo/observe.h"

#define PORT	  45393
#define NOBODYS	  45394
#define MS	  10000
#define PATIENCE  200000 /* ms, for what nobody answers */
#define REQ_BYTES 32
#define REP_BYTES 20
#define REJ_BYTES 17

struct end {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct end active, passive;
static struct rdma_cm_id *listener;
static const char *here; /* an address of the device */
static struct ibv_pd *pd;

static void check(const char *what, int failed)
{
	if (failed) {
		fprintf(stderr, "observe: %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

/*
 * Private data of a request by GID begins with as many bytes as rdma_cm has a header of where there
 * are IP addresses: a kernel takes what looks like one for it.
 */
static uint8_t header(void)
{
	return strchr(here, ':') ? 36 : 0;
}

/* ---- Events ---- */

static bool comes(struct end *end, int ms)
{
	struct pollfd poller = { .fd = end->channel->fd, .events = POLLIN };

	return poll(&poller, 1, ms) == 1;
}

static const char *data_of(const struct rdma_cm_event *event)
{
	static char text[64];
	const uint8_t *data = event->param.conn.private_data;
	int own = 0;

	if (data && event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		data += header();
	while (data && own < event->param.conn.private_data_len && data[own] == 0x5a)
		own++;
	snprintf(text, sizeof(text), "%d bytes, %d of them the peer's",
		 data ? event->param.conn.private_data_len : 0, own);
	return text;
}

/* The next event as text; what concerns a request gives its id. */
static void tell_event(const char *name, struct end *end, int ms, bool data)
{
	struct rdma_cm_event *event;

	if (!comes(end, ms)) {
		tell(name, "nothing");
		return;
	}
	check("rdma_get_cm_event", rdma_get_cm_event(end->channel, &event));
	/* Of no importance are status and data of what went well. */
	if (data)
		tell(name, "%s %d, %s", rdma_event_str(event->event), event->status,
		     data_of(event));
	else
		tell(name, "%s %d", rdma_event_str(event->event), event->status);
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		end->id = event->id;
	rdma_ack_cm_event(event);
}

static void await(struct end *end, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	check("poll", !comes(end, MS));
	check("rdma_get_cm_event", rdma_get_cm_event(end->channel, &event));
	check(rdma_event_str(event->event), event->event != type);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		end->id = event->id;
	rdma_ack_cm_event(event);
}

/* ---- Ends ---- */

static void to_state(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = 0;

	check("rdma_init_qp_attr", rdma_init_qp_attr(end->id, &attr, &mask));
	errno = ibv_modify_qp(end->qp, &attr, mask);
	check("ibv_modify_qp", errno);
}

static bool iwarp(void)
{
	return listener->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* On iWARP the kernel does it. */
static void to_ready(struct end *end)
{
	if (iwarp())
		return;
	to_state(end, IBV_QPS_RTR);
	to_state(end, IBV_QPS_RTS);
}

static void make_qp(struct end *end)
{
	struct ibv_qp_init_attr attr = { .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 4, 4, 1, 1, 0 } };
	/* soft-iWARP has no receive without a segment. */
	struct ibv_sge sge = { 0 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	end->qp = ibv_create_qp(pd, &attr);
	check("ibv_create_qp", !end->qp);
	to_state(end, IBV_QPS_INIT);
	check("ibv_post_recv", ibv_post_recv(end->qp, &wr, &bad));
}

static void resolve(const char *address, uint16_t port)
{
	struct sockaddr_storage from = address_of(here, 0), to = address_of(address, port);

	check("rdma_create_id", rdma_create_id(active.channel, &active.id, NULL, RDMA_PS_TCP));
	check("rdma_resolve_addr",
	      rdma_resolve_addr(active.id, (struct sockaddr *)&from, (struct sockaddr *)&to, MS));
	await(&active, RDMA_CM_EVENT_ADDR_RESOLVED);
	check("rdma_resolve_route", rdma_resolve_route(active.id, MS));
	await(&active, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static struct rdma_conn_param param_of(const struct end *end, uint8_t bytes)
{
	static uint8_t data[UINT8_MAX];

	memset(data, 0x5a, sizeof(data));
	return (struct rdma_conn_param){ .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7,
					 .qp_num = end->qp->qp_num,
					 .private_data = data,
					 .private_data_len = bytes };
}

static int try_connect(uint8_t bytes)
{
	struct rdma_conn_param param = param_of(&active, bytes);

	memset((void *)(uintptr_t)param.private_data, 0, header());
	param.private_data_len = (uint8_t)(param.private_data_len + header());

	return rdma_connect(active.id, &param) ? errno : 0;
}

static int try_accept(uint8_t bytes)
{
	struct rdma_conn_param param = param_of(&passive, bytes);

	/* It answers as soon as the connection is there. */
	if (!iwarp() && passive.qp->state == IBV_QPS_INIT)
		to_ready(&passive);
	return rdma_accept(passive.id, &param) ? errno : 0;
}

static void forget(struct end *end)
{
	if (end->qp)
		ibv_destroy_qp(end->qp);
	end->qp = NULL;
	check("rdma_destroy_id", rdma_destroy_id(end->id));
	end->id = NULL;
}

static void request(uint8_t bytes)
{
	resolve(here, PORT);
	make_qp(&active);
	check("rdma_connect", errno = try_connect(bytes));
}

/* The request is accepted: the active side's part of it. */
static void complete(void)
{
	if (iwarp())
		return;
	to_ready(&active);
	check("rdma_establish", rdma_establish(active.id));
}

static void establish(void)
{
	request(REQ_BYTES);
	await(&passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(&passive);
	check("rdma_accept", errno = try_accept(REP_BYTES));
	await(&active, iwarp() ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE);
	complete();
	await(&passive, RDMA_CM_EVENT_ESTABLISHED);
}

static void tell_receive(const char *name, struct end *end)
{
	struct ibv_wc wc;
	int i, n = 0;

	for (i = 0; i < 2000 && !n; i++) {
		n = ibv_poll_cq(end->cq, 1, &wc);
		if (!n)
			usleep(1000);
	}
	tell(name, "%s", n ? wc.status == IBV_WC_WR_FLUSH_ERR ? "flushed" : "other" : "nothing");
}

/* ---- Connections ---- */

static void observe_setup(void)
{
	request(REQ_BYTES);
	tell_event("cm request", &passive, MS, true);
	make_qp(&passive);
	tell_errno("cm disconnect a request", rdma_disconnect(passive.id) ? errno : 0);
	tell_errno("cm accept", try_accept(REP_BYTES));
	tell_event("cm accepted", &active, MS, true);
	complete();
	tell_event("cm accepted, the listener's", &passive, MS, false);
	tell_errno("cm accept again", try_accept(0));
	tell_errno("cm reject what is accepted", rdma_reject(passive.id, NULL, 0) ? errno : 0);
	tell_errno("cm connect again", try_connect(0));
	forget(&active);
	await(&passive, RDMA_CM_EVENT_DISCONNECTED);
	forget(&passive);
}

static void observe_sizes(void)
{
	resolve(here, PORT);
	make_qp(&active);
	tell_errno("cm connect with 57 bytes", try_connect(57));
	forget(&active);
	if (comes(&passive, 200)) {
		await(&passive, RDMA_CM_EVENT_CONNECT_REQUEST);
		rdma_destroy_id(passive.id);
	}
}

static void observe_rejects(void)
{
	uint8_t data[REJ_BYTES];
	int err;

	memset(data, 0x5a, sizeof(data));
	request(REQ_BYTES);
	await(&passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	tell_errno("cm reject", rdma_reject(passive.id, data, sizeof(data)) ? errno : 0);
	tell_event("cm rejected", &active, MS, true);
	tell_errno("cm disconnect what is rejected", rdma_disconnect(active.id) ? errno : 0);
	tell_receive("cm rejected, the receive", &active);
	forget(&active);
	forget(&passive);

	request(REQ_BYTES);
	await(&passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	forget(&passive);
	tell_event("cm request forgotten", &active, MS, false);
	forget(&active);

	resolve(here, NOBODYS);
	make_qp(&active);
	err = try_connect(REQ_BYTES);
	tell_errno("cm connect to no listener", err);
	tell_event("cm no listener", &active, err ? 200 : MS, false);
	forget(&active);
}

/* A request that is taken back before it is answered. */
static void observe_taken_back(void)
{
	request(REQ_BYTES);
	await(&passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(&passive);
	forget(&active);
	tell_event("cm request taken back", &passive, 500, false);
	forget(&passive);
}

static void observe_ends(void)
{
	establish();
	tell_errno("cm disconnect", rdma_disconnect(active.id) ? errno : 0);
	tell_event("cm disconnected, the peer's", &passive, MS, false);
	/* On InfiniBand the peer answers. */
	tell_errno("cm disconnect in return", rdma_disconnect(passive.id) ? errno : 0);
	tell_event("cm disconnected, one's own", &active, MS, false);
	tell_receive("cm disconnected, the peer's receive", &passive);
	tell_receive("cm disconnected, one's own receive", &active);
	tell_errno("cm disconnect again", rdma_disconnect(active.id) ? errno : 0);
	tell_event("cm disconnected, more", &active, 2000, false);
	tell_event("cm disconnected, more of the peer's", &passive, 2000, false);
	forget(&active);
	forget(&passive);

	establish();
	ibv_destroy_qp(active.qp);
	active.qp = NULL;
	tell_event("cm queue pair gone, one's own", &active, 200, false);
	tell_event("cm queue pair gone, the peer's", &passive, 200, false);
	forget(&active);
	tell_event("cm forgotten, the peer's", &passive, 500, false);
	forget(&passive);
}

static void observe_silence(const char *silent)
{
	int err;

	resolve(silent, PORT);
	make_qp(&active);
	err = try_connect(REQ_BYTES);
	tell_errno("cm connect to nobody", err);
	tell_event("cm nobody", &active, err ? 200 : PATIENCE, false);
	forget(&active);
}

static void open_end(struct end *end)
{
	end->channel = rdma_create_event_channel();
	check("rdma_create_event_channel", !end->channel);
}

void observe_connections(const char *address, const char *silent)
{
	struct sockaddr_storage addr = address_of(address, PORT);

	here = address;
	open_end(&active);
	open_end(&passive);
	check("rdma_create_id", rdma_create_id(passive.channel, &listener, NULL, RDMA_PS_TCP));
	check("rdma_bind_addr", rdma_bind_addr(listener, (struct sockaddr *)&addr));
	check("rdma_listen", rdma_listen(listener, 4));
	pd = ibv_alloc_pd(listener->verbs);
	active.cq = ibv_create_cq(listener->verbs, 64, NULL, NULL, 0);
	passive.cq = ibv_create_cq(listener->verbs, 64, NULL, NULL, 0);
	check("ibv_create_cq", !pd || !active.cq || !passive.cq);
	observe_setup();
	observe_sizes();
	observe_rejects();
	observe_taken_back();
	observe_ends();
	if (silent)
		observe_silence(silent);
	rdma_destroy_id(listener);
}
