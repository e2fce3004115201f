/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The other side of the interoperation tests: obeys the commands of test/interop/victim, and
 * answers with the same words, but with calls of libibverbs and librdmacm on a device of the
 * kernel. One driver speaks with both.
 */
#include "test/vm/siw-peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct sockaddr_storage own;
struct rdma_cm_id *device_id;
struct rdma_event_channel *ep_channel;
struct ibv_pd *pd;
struct ibv_cq *cq;
struct ibv_comp_channel *completions;
struct region regions[MAX_REGIONS];
struct endpoint eps[MAX_EPS];
struct rdma_cm_id *requests[MAX_NOTES];
unsigned num_requests;
struct listening listens[MAX_LISTENS];
struct note notes[MAX_NOTES];
unsigned first_note, num_notes;
const char pending[] = "DAT_EP_STATE_ACTIVE_CONNECTION_PENDING";

/* ---- Arguments and answers ---- */

void print_result(int ret)
{
	if (ret == 0)
		printf("result=DAT_SUCCESS\n");
	else
		printf("result=%s\n", strerrorname_np(ret < 0 ? errno : ret));
}

struct endpoint *ep_of(const struct command *cmd)
{
	return &eps[number(cmd, "ep", 0) % MAX_EPS];
}

struct region *region_of(const struct command *cmd)
{
	return &regions[number(cmd, "region", 0) % MAX_REGIONS];
}

bool readable(int fd, int64_t end)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	int64_t left = end - now_ms();

	return poll(&poll_fd, 1, left > 0 ? (int)left : 0) == 1;
}

/* ---- Memory ---- */

/* DAT's rights: remote read 0x02, local write 0x10, remote write 0x20. */
static int access_of(uint64_t rights)
{
	return (rights & 0x02 ? IBV_ACCESS_REMOTE_READ : 0) |
	       (rights & 0x10 ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (rights & 0x20 ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE : 0);
}

static void do_region(const struct command *cmd)
{
	struct region *region = regions;
	size_t length = number(cmd, "length", 4096);

	while (region < regions + MAX_REGIONS - 1 && region->memory.map)
		region++;
	if (memory_map(&region->memory, length))
		return;
	/* Memory of no length does not register. */
	region->mr = ibv_reg_mr(pd, region->memory.start, length ? length : 1,
				access_of(number(cmd, "rights", 0x33)));
	printf("region=%d lmr_context=%u rmr_context=%u address=%llu length=%zu ",
	       (int)(region - regions), region->mr ? region->mr->lkey : 0,
	       region->mr ? region->mr->rkey : 0,
	       (unsigned long long)(uintptr_t)region->memory.start, length);
	print_result(region->mr ? 0 : -1);
}

static void do_unregister(const struct command *cmd)
{
	struct region *region = region_of(cmd);

	print_result(ibv_dereg_mr(region->mr));
	region->mr = NULL;
}

static void region_free(struct region *region)
{
	if (region->mr)
		ibv_dereg_mr(region->mr);
	memory_unmap(&region->memory);
	memset(region, 0, sizeof(*region));
}

static void do_fill(const struct command *cmd)
{
	memory_fill(&region_of(cmd)->memory, cmd);
}

static void do_set(const struct command *cmd)
{
	memory_set(&region_of(cmd)->memory, cmd);
}

static void do_show(const struct command *cmd)
{
	memory_show(&region_of(cmd)->memory, cmd);
}

static void do_drop(const struct command *cmd)
{
	region_free(region_of(cmd));
}

/* ---- Listening ---- */

static int listen_start(struct listening *listening)
{
	listening->channel = rdma_create_event_channel();
	if (!listening->channel)
		return -1;
	if (rdma_create_id(listening->channel, &listening->id, NULL, RDMA_PS_TCP))
		goto destroy_channel;
	if (rdma_bind_addr(listening->id, (struct sockaddr *)&own) ||
	    rdma_listen(listening->id, 16))
		goto destroy_id;
	return 0;

destroy_id:
	rdma_destroy_id(listening->id);
destroy_channel:
	rdma_destroy_event_channel(listening->channel);
	memset(listening, 0, sizeof(*listening));
	return -1;
}

static void do_listen(const struct command *cmd)
{
	struct listening *listening = listens;
	int ret;

	(void)cmd;
	while (listening < listens + MAX_LISTENS - 1 && listening->id)
		listening++;
	ret = listen_start(listening);
	printf("listen=%d conn_qual=%u evd_qlen=16 ", (int)(listening - listens),
	       ret ? 0 : ntohs(rdma_get_src_port(listening->id)));
	print_result(ret);
}

static void unlisten(struct listening *listening)
{
	if (listening->id)
		rdma_destroy_id(listening->id);
	if (listening->channel)
		rdma_destroy_event_channel(listening->channel);
	memset(listening, 0, sizeof(*listening));
}

static void do_unlisten(const struct command *cmd)
{
	unlisten(&listens[number(cmd, "listen", 0) % MAX_LISTENS]);
}

static void do_request(const struct command *cmd)
{
	struct listening *listening = &listens[number(cmd, "listen", 0) % MAX_LISTENS];
	int64_t end = now_ms() + (int64_t)number(cmd, "ms", 5000);
	const struct rdma_conn_param *param;
	struct rdma_cm_event *event;

	if (!listening->id || !readable(listening->channel->fd, end) ||
	    rdma_get_cm_event(listening->channel, &event)) {
		printf("event=none\n");
		return;
	}
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		printf("event=%s\n", rdma_event_str(event->event));
	} else {
		param = &event->param.conn;
		requests[num_requests % MAX_NOTES] = event->id;
		printf("event=DAT_CONNECTION_REQUEST_EVENT request=%u truncated=0 remote_port=%u "
		       "reads_in=%u reads_out=%u",
		       num_requests++ % MAX_NOTES, ntohs(rdma_get_dst_port(event->id)),
		       param->responder_resources, param->initiator_depth);
		print_bytes("data", param->private_data, param->private_data_len);
		printf("\n");
	}
	rdma_ack_cm_event(event);
}

static void do_reject(const struct command *cmd)
{
	struct rdma_cm_id **id = &requests[number(cmd, "request", 0) % MAX_NOTES];
	uint8_t data[256];
	size_t length = bytes(cmd, "data", data, sizeof(data) - 1);

	print_result(rdma_reject(*id, data, (uint8_t)length));
	rdma_destroy_id(*id);
	*id = NULL;
}

/* ---- Endpoints ---- */

static void do_ep(const struct command *cmd)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = (uint32_t)number(cmd, "depth", 128),
			 .max_recv_wr = (uint32_t)number(cmd, "depth", 128),
			 .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};
	struct endpoint *ep = eps;

	while (ep < eps + MAX_EPS - 1 && ep->qp)
		ep++;
	ep->qp = ibv_create_qp(pd, &attr);
	ep->reads_in = (unsigned)number(cmd, "reads_in", 4);
	ep->reads_out = (unsigned)number(cmd, "reads_out", 4);
	ep->state = "DAT_EP_STATE_UNCONNECTED";
	printf("ep=%d ", (int)(ep - eps));
	print_result(ep->qp ? 0 : -1);
}

static void ep_free(struct endpoint *ep)
{
	if (ep->qp)
		ibv_destroy_qp(ep->qp);
	if (ep->id)
		rdma_destroy_id(ep->id);
	for (unsigned i = 0; i < num_notes; i++)
		if (notes[(first_note + i) % MAX_NOTES].ep == ep)
			notes[(first_note + i) % MAX_NOTES].ep = NULL;
	memset(ep, 0, sizeof(*ep));
}

static void do_free(const struct command *cmd)
{
	ep_free(ep_of(cmd));
	print_result(0);
}

static void fill_param(const struct endpoint *ep, struct rdma_conn_param *param, uint8_t *data,
		       size_t length)
{
	*param = (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = (uint8_t)length,
		.responder_resources = (uint8_t)ep->reads_in,
		.initiator_depth = (uint8_t)ep->reads_out,
		.qp_num = ep->qp->qp_num,
	};
}

/* Address and route by calls that wait; what comes later is an event. */
static int resolve(struct endpoint *ep, struct sockaddr *remote, int ms)
{
	if (rdma_create_id(NULL, &ep->id, ep, RDMA_PS_TCP))
		return -1;
	if (rdma_bind_addr(ep->id, (struct sockaddr *)&own) ||
	    rdma_resolve_addr(ep->id, NULL, remote, ms) || rdma_resolve_route(ep->id, ms))
		return -1;
	return rdma_migrate_id(ep->id, ep_channel);
}

static int parse_address(const char *name, uint16_t port, struct sockaddr_storage *out)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *found;

	if (getaddrinfo(name, NULL, &hints, &found))
		return -1;
	memset(out, 0, sizeof(*out));
	memcpy(out, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	if (out->ss_family == AF_INET6)
		((struct sockaddr_in6 *)out)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)out)->sin_port = htons(port);
	return 0;
}

static void do_connect(const struct command *cmd)
{
	struct endpoint *ep = ep_of(cmd);
	struct sockaddr_storage remote;
	struct rdma_conn_param param;
	uint8_t data[256];
	int ret =
		parse_address(text(cmd, "address", ""), (uint16_t)number(cmd, "qual", 0), &remote);

	if (!ret)
		ret = resolve(ep, (struct sockaddr *)&remote, (int)number(cmd, "ms", 5000));
	if (!ret) {
		fill_param(ep, &param, data, bytes(cmd, "data", data, sizeof(data) - 1));
		ret = rdma_connect(ep->id, &param);
	}
	if (!ret)
		ep->state = pending;
	print_result(ret);
}

static void do_accept(const struct command *cmd)
{
	struct rdma_cm_id **request = &requests[number(cmd, "request", 0) % MAX_NOTES];
	struct endpoint *ep = ep_of(cmd);
	struct rdma_conn_param param;
	uint8_t data[256];
	int ret;

	ep->id = *request;
	ep->id->context = ep;
	*request = NULL;
	ret = rdma_migrate_id(ep->id, ep_channel);
	if (!ret) {
		fill_param(ep, &param, data, bytes(cmd, "data", data, sizeof(data) - 1));
		ret = rdma_accept(ep->id, &param);
	}
	if (!ret)
		ep->state = pending;
	print_result(ret);
}

static void do_state(const struct command *cmd)
{
	printf("state=%s ", ep_of(cmd)->state);
	print_result(0);
}

static void do_disconnect(const struct command *cmd)
{
	print_result(rdma_disconnect(ep_of(cmd)->id));
}

/* ---- Transfers ---- */

static int post_request(struct endpoint *ep, const struct command *cmd, struct ibv_sge *sge,
			enum operation op)
{
	static const enum ibv_wr_opcode opcodes[] = { [OP_SEND] = IBV_WR_SEND,
						      [OP_WRITE] = IBV_WR_RDMA_WRITE,
						      [OP_READ] = IBV_WR_RDMA_READ };
	struct ibv_send_wr wr = {
		.wr_id = number(cmd, "cookie", 0) | (uint64_t)op << OP_SHIFT,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcodes[op],
		.send_flags = IBV_SEND_SIGNALED | (number(cmd, "flags", 0) & 2 ? IBV_SEND_SOLICITED : 0),
		.wr.rdma = { .remote_addr = number(cmd, "remote_address", 0),
			     .rkey = (uint32_t)number(cmd, "rmr_context", 0) },
	}, *bad;

	return ibv_post_send(ep->qp, &wr, &bad);
}

static void do_post(const struct command *cmd)
{
	const char *what = text(cmd, "what", "recv");
	struct region *region = region_of(cmd);
	struct ibv_sge sge = {
		.addr = (uintptr_t)region->memory.start + number(cmd, "offset", 0),
		.length = (uint32_t)number(cmd, "length", region->memory.length),
		.lkey = region->mr ? region->mr->lkey : 0,
	};
	struct ibv_recv_wr wr = {
		.wr_id = number(cmd, "cookie", 0) | (uint64_t)OP_RECV << OP_SHIFT,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;
	struct endpoint *ep = ep_of(cmd);
	int ret;

	if (!strcmp(what, "recv"))
		ret = ibv_post_recv(ep->qp, &wr, &bad);
	else if (!strcmp(what, "send"))
		ret = post_request(ep, cmd, &sge, OP_SEND);
	else if (!strcmp(what, "write"))
		ret = post_request(ep, cmd, &sge, OP_WRITE);
	else
		ret = post_request(ep, cmd, &sge, OP_READ);
	print_result(ret);
}

/* ---- Start, commands, end ---- */

static const struct verb verbs[] = {
	{ "region", do_region },
	{ "unregister", do_unregister },
	{ "drop", do_drop },
	{ "set", do_set },
	{ "fill", do_fill },
	{ "show", do_show },
	{ "listen", do_listen },
	{ "unlisten", do_unlisten },
	{ "request", do_request },
	{ "accept", do_accept },
	{ "reject", do_reject },
	{ "ep", do_ep },
	{ "connect", do_connect },
	{ "state", do_state },
	{ "disconnect", do_disconnect },
	{ "free", do_free },
	{ "post", do_post },
	{ "wait", do_wait },
	{ NULL, NULL },
};

static int fail(const char *what)
{
	printf("failed=%s result=%s\n", what, strerrorname_np(errno));
	return 1;
}

static int start(const char *address)
{
	if (parse_address(address, 0, &own))
		return fail("address");
	ep_channel = rdma_create_event_channel();
	if (!ep_channel || rdma_create_id(ep_channel, &device_id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(device_id, (struct sockaddr *)&own) || !device_id->verbs)
		return fail("device");
	pd = ibv_alloc_pd(device_id->verbs);
	completions = ibv_create_comp_channel(device_id->verbs);
	if (!pd || !completions)
		return fail("pd");
	cq = ibv_create_cq(device_id->verbs, CQ_LENGTH, NULL, completions, 0);
	if (!cq)
		return fail("cq");
	printf("address=%s max_private_data=255 device=%s\nready=1 pid=%d\n", address,
	       ibv_get_device_name(device_id->verbs->device), (int)getpid());
	fflush(stdout);
	return 0;
}

static int finish(void)
{
	int ret;

	for (int i = 0; i < MAX_EPS; i++)
		ep_free(&eps[i]);
	for (int i = 0; i < MAX_LISTENS; i++)
		unlisten(&listens[i]);
	for (int i = 0; i < MAX_REGIONS; i++)
		region_free(&regions[i]);
	ret = ibv_destroy_cq(cq);
	if (!ret)
		ret = ibv_destroy_comp_channel(completions);
	if (!ret)
		ret = ibv_dealloc_pd(pd);
	if (!ret)
		ret = rdma_destroy_id(device_id);
	rdma_destroy_event_channel(ep_channel);
	printf("closed=1 ");
	print_result(ret);
	return ret ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s OWN-ADDRESS\n", argv[0]);
		return 2;
	}
	if (start(argv[1]))
		return 1;
	obey(verbs);
	return finish();
}
