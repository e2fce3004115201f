/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The other side of the interoperation tests: obeys the commands of test/interop/victim, and
 * answers with the same words, but with calls of libibverbs and librdmacm on a device of the
 * kernel. One driver speaks with both.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS    16
#define MAX_REGIONS 256
#define MAX_EPS	    64
#define MAX_NOTES   256
#define MAX_LISTENS 16
#define MARGIN	    4096
#define CANARY	    0xc5
#define SILENCE	    120000
#define CQ_LENGTH   4096
#define OP_SHIFT    56 /* of a work request's number: operation above, cookie below */

struct command {
	const char *verb;
	unsigned count;
	struct {
		const char *key, *value;
	} args[MAX_ARGS];
};

/* Registered memory with canaries around it. */
struct region {
	uint8_t *memory;
	size_t length;
	struct ibv_mr *mr;
};

struct endpoint {
	struct ibv_qp *qp;
	struct rdma_cm_id *id;
	unsigned reads_in, reads_out;
	const char *state;
};

struct listening {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

/* A connection event not yet told. */
struct note {
	struct endpoint *ep;
	enum rdma_cm_event_type kind;
	int status;
	size_t length;
	uint8_t data[256];
};

enum operation {
	OP_RECV,
	OP_SEND,
	OP_WRITE,
	OP_READ,
};

static struct sockaddr_storage own;
static struct rdma_cm_id *device_id;
static struct rdma_event_channel *ep_channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *completions;
static struct region regions[MAX_REGIONS];
static struct endpoint eps[MAX_EPS];
static struct rdma_cm_id *requests[MAX_NOTES];
static unsigned num_requests;
static struct listening listens[MAX_LISTENS];
static struct note notes[MAX_NOTES];
static unsigned first_note, num_notes;
static bool quitting;
static const char pending[] = "DAT_EP_STATE_ACTIVE_CONNECTION_PENDING";

/* ---- Arguments and answers ---- */

static const char *text(const struct command *cmd, const char *key, const char *otherwise)
{
	for (unsigned i = 0; i < cmd->count; i++)
		if (!strcmp(cmd->args[i].key, key))
			return cmd->args[i].value;
	return otherwise;
}

static uint64_t number(const struct command *cmd, const char *key, uint64_t otherwise)
{
	const char *value = text(cmd, key, NULL);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static int nibble(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static size_t bytes(const struct command *cmd, const char *key, uint8_t *out, size_t room)
{
	const char *value = text(cmd, key, "");
	size_t n = strlen(value) / 2;

	if (n > room)
		n = room;
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(nibble(value[2 * i]) << 4 | nibble(value[2 * i + 1]));
	return n;
}

static void print_bytes(const char *key, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = data;

	printf(" %s=", key);
	for (size_t i = 0; i < len; i++) {
		putchar(digits[p[i] >> 4]);
		putchar(digits[p[i] & 15]);
	}
}

/* The outcome of calls that return 0, an errno value, or -1 and errno. */
static void print_result(int ret)
{
	if (ret == 0)
		printf("result=DAT_SUCCESS\n");
	else
		printf("result=%s\n", strerrorname_np(ret < 0 ? errno : ret));
}

static struct endpoint *ep_of(const struct command *cmd)
{
	return &eps[number(cmd, "ep", 0) % MAX_EPS];
}

static struct region *region_of(const struct command *cmd)
{
	return &regions[number(cmd, "region", 0) % MAX_REGIONS];
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool readable(int fd, int64_t end)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	int64_t left = end - now();

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
	uint8_t *base;

	while (region < regions + MAX_REGIONS - 1 && region->memory)
		region++;
	region->length = number(cmd, "length", 4096);
	base = malloc(region->length + 2 * MARGIN);
	if (!base)
		return;
	memset(base, CANARY, region->length + 2 * MARGIN);
	region->memory = base + MARGIN;
	/* Memory of no length does not register. */
	region->mr = ibv_reg_mr(pd, region->memory, region->length ? region->length : 1,
				access_of(number(cmd, "rights", 0x33)));
	printf("region=%d lmr_context=%u rmr_context=%u address=%llu length=%zu ",
	       (int)(region - regions), region->mr ? region->mr->lkey : 0,
	       region->mr ? region->mr->rkey : 0, (unsigned long long)(uintptr_t)region->memory,
	       region->length);
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
	if (region->memory)
		free(region->memory - MARGIN);
	memset(region, 0, sizeof(*region));
}

static void do_drop(const struct command *cmd)
{
	region_free(region_of(cmd));
}

/* The pattern of the victim. */
static void do_fill(const struct command *cmd)
{
	struct region *region = region_of(cmd);
	size_t seed = number(cmd, "seed", 0);

	for (size_t i = 0; i < region->length; i++)
		region->memory[i] = (uint8_t)(i * 31 + (i >> 8) * 17 + seed);
}

static void do_set(const struct command *cmd)
{
	struct region *region = region_of(cmd);
	size_t offset = number(cmd, "offset", 0);

	if (region->memory && offset <= region->length)
		bytes(cmd, "bytes", region->memory + offset, region->length - offset);
}

static bool intact(const struct region *region)
{
	for (size_t i = 0; i < MARGIN; i++)
		if (region->memory[-1 - (ptrdiff_t)i] != CANARY ||
		    region->memory[region->length + i] != CANARY)
			return false;
	return true;
}

static void do_show(const struct command *cmd)
{
	struct region *region = region_of(cmd);
	size_t offset = number(cmd, "offset", 0), length = number(cmd, "length", region->length);

	if (!region->memory || offset + length > region->length)
		return;
	printf("intact=%d", intact(region));
	print_bytes("bytes", region->memory + offset, length);
	printf("\n");
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
	int64_t end = now() + (int64_t)number(cmd, "ms", 5000);
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
		.addr = (uintptr_t)region->memory + number(cmd, "offset", 0),
		.length = (uint32_t)number(cmd, "length", region->length),
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

/* ---- Events ---- */

/* Takes over what the connection manager has to tell. */
static void collect_notes(void)
{
	struct rdma_cm_event *event;
	struct note *note;

	while (num_notes < MAX_NOTES && readable(ep_channel->fd, 0) &&
	       !rdma_get_cm_event(ep_channel, &event)) {
		if (event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			note = &notes[(first_note + num_notes++) % MAX_NOTES];
			note->ep = event->id->context;
			note->kind = event->event;
			note->status = event->status;
			note->length = event->param.conn.private_data_len;
			if (note->length)
				memcpy(note->data, event->param.conn.private_data, note->length);
		}
		rdma_ack_cm_event(event);
	}
}

static const char *event_name(enum rdma_cm_event_type kind)
{
	switch (kind) {
	case RDMA_CM_EVENT_ESTABLISHED:
		return "DAT_CONNECTION_EVENT_ESTABLISHED";
	case RDMA_CM_EVENT_REJECTED:
		return "DAT_CONNECTION_EVENT_PEER_REJECTED";
	case RDMA_CM_EVENT_UNREACHABLE:
		return "DAT_CONNECTION_EVENT_UNREACHABLE";
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return "DAT_CONNECTION_EVENT_NON_PEER_REJECTED";
	case RDMA_CM_EVENT_DISCONNECTED:
		return "DAT_CONNECTION_EVENT_DISCONNECTED";
	default:
		return rdma_event_str(kind);
	}
}

/* After an error of the stream, soft-iWARP does not flush what is posted of itself. */
static void flush(struct endpoint *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE);
}

static bool tell_note(void)
{
	struct note *note = &notes[first_note];

	if (!num_notes)
		return false;
	first_note = (first_note + 1) % MAX_NOTES;
	num_notes--;
	if (note->ep && note->kind == RDMA_CM_EVENT_DISCONNECTED)
		flush(note->ep);
	if (note->ep)
		note->ep->state = note->kind == RDMA_CM_EVENT_ESTABLISHED
					  ? "DAT_EP_STATE_CONNECTED"
					  : "DAT_EP_STATE_DISCONNECTED";
	printf("event=%s ep=%d status=%d", event_name(note->kind),
	       note->ep ? (int)(note->ep - eps) : -1, note->status);
	print_bytes("data", note->data, note->length);
	printf("\n");
	return true;
}

static const char *status_name(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return "DAT_DTO_SUCCESS";
	case IBV_WC_WR_FLUSH_ERR:
		return "DAT_DTO_ERR_FLUSHED";
	case IBV_WC_LOC_LEN_ERR:
		return "DAT_DTO_ERR_LOCAL_LENGTH";
	case IBV_WC_LOC_PROT_ERR:
		return "DAT_DTO_ERR_LOCAL_PROTECTION";
	case IBV_WC_REM_ACCESS_ERR:
		return "DAT_DTO_ERR_REMOTE_ACCESS";
	default:
		return "DAT_DTO_ERR_TRANSPORT";
	}
}

static bool tell_completion(void)
{
	static const char *const operations[] = { [OP_RECV] = "DAT_DTO_RECEIVE",
						  [OP_SEND] = "DAT_DTO_SEND",
						  [OP_WRITE] = "DAT_DTO_RDMA_WRITE",
						  [OP_READ] = "DAT_DTO_RDMA_READ" };
	struct ibv_wc wc;
	int ep = 0;

	if (ibv_poll_cq(cq, 1, &wc) != 1)
		return false;
	while (ep < MAX_EPS && !(eps[ep].qp && eps[ep].qp->qp_num == wc.qp_num))
		ep++;
	printf("event=DAT_DTO_COMPLETION_EVENT ep=%d op=%s status=%s length=%u cookie=%llu wc=%d\n",
	       ep, operations[(wc.wr_id >> OP_SHIFT) & 3], status_name(wc.status), wc.byte_len,
	       (unsigned long long)(wc.wr_id & ~(~0ULL << OP_SHIFT)), (int)wc.status);
	return true;
}

static bool connecting(void)
{
	for (int i = 0; i < MAX_EPS; i++)
		if (eps[i].state == pending)
			return true;
	return false;
}

/*
 * Nothing comes before the connection of an endpoint, though its first message may be here before
 * the connection manager says so; and the end comes last, as the kernel has put every completion of
 * before into the queue.
 */
static bool tell_event(void)
{
	collect_notes();
	if (connecting() || (num_notes && notes[first_note].kind == RDMA_CM_EVENT_ESTABLISHED))
		return tell_note();
	return tell_completion() || tell_note();
}

static void sleep_until(int64_t end)
{
	struct pollfd fds[] = { { .fd = completions->fd, .events = POLLIN },
				{ .fd = ep_channel->fd, .events = POLLIN } };
	int64_t left = end - now();
	struct ibv_cq *which;
	void *context;

	poll(fds, 2, left > 0 ? (int)left : 0);
	if (fds[0].revents && !ibv_get_cq_event(completions, &which, &context))
		ibv_ack_cq_events(which, 1);
}

static void wait_main(int64_t end)
{
	while (!tell_event()) {
		ibv_req_notify_cq(cq, 0);
		if (tell_event())
			return;
		if (now() >= end) {
			printf("event=none\n");
			return;
		}
		sleep_until(end);
	}
}

static void wait_async(int64_t end)
{
	struct ibv_async_event event;

	if (!readable(device_id->verbs->async_fd, end) ||
	    ibv_get_async_event(device_id->verbs, &event)) {
		printf("event=none\n");
		return;
	}
	printf("event=IBV_EVENT_%d\n", (int)event.event_type);
	ibv_ack_async_event(&event);
}

static void do_wait(const struct command *cmd)
{
	int64_t end = now() + (int64_t)number(cmd, "ms", 5000);

	if (strcmp(text(cmd, "on", "main"), "async"))
		wait_main(end);
	else
		wait_async(end);
}

static void do_quit(const struct command *cmd)
{
	(void)cmd;
	quitting = true;
}

/* ---- Start, commands, end ---- */

static const struct {
	const char *verb;
	void (*run)(const struct command *cmd);
} verbs[] = {
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
	{ "quit", do_quit },
};

static void obey(char *line)
{
	struct command cmd = { .verb = strtok(line, " \n") };
	char *word, *value;

	if (!cmd.verb)
		return;
	while (cmd.count < MAX_ARGS && (word = strtok(NULL, " \n"))) {
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		cmd.args[cmd.count].key = word;
		cmd.args[cmd.count++].value = value ? value : "";
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verbs[i].verb, cmd.verb))
			verbs[i].run(&cmd);
	printf("done=%s\n", cmd.verb);
	fflush(stdout);
}

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
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	size_t room = 0;
	char *line = NULL;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: %s OWN-ADDRESS\n", argv[0]);
		return 2;
	}
	ret = start(argv[1]);
	/* The driver sends a command, then waits for its answer: no line is left in the buffer. */
	while (!ret && !quitting && poll(&input, 1, SILENCE) == 1 &&
	       getline(&line, &room, stdin) > 0)
		obey(line);
	free(line);
	return ret ? ret : finish();
}
