/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The library's side of the interoperation tests: obeys commands with DAT calls. Objects are named
 * by small numbers.
 */
#include "test/interop/victim.h"

#include <dat2/dat_ib_extensions.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_REGIONS  256
#define MAX_EPS	     256
#define MAX_REQUESTS 1024
#define MAX_LISTENS  16
#define PAGE	     4096

/* Registered memory. */
struct region {
	struct memory memory;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_RMR_HANDLE rmr; /* made by the first bind */
};

struct listening {
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
};

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd, evd;
static DAT_PZ_HANDLE zones[2];
static struct region regions[MAX_REGIONS];
static DAT_EP_HANDLE eps[MAX_EPS];
static DAT_CR_HANDLE requests[MAX_REQUESTS];
static unsigned num_requests;
static struct listening listens[MAX_LISTENS];

/* ---- Arguments and answers ---- */

static void print_result(DAT_RETURN ret)
{
	printf("result=%s\n", victim_result(ret));
}

static struct region *region_of(const struct command *cmd)
{
	return &regions[number(cmd, "region", 0) % MAX_REGIONS];
}

static DAT_EP_HANDLE ep_of(const struct command *cmd)
{
	return eps[number(cmd, "ep", 0) % MAX_EPS];
}

static int ep_number(DAT_EP_HANDLE ep)
{
	for (int i = 0; i < MAX_EPS; i++)
		if (ep && eps[i] == ep)
			return i;
	return -1;
}

/* ---- Memory ---- */

static DAT_RETURN region_register(struct region *region, DAT_MEM_PRIV_FLAGS rights,
				  DAT_PZ_HANDLE pz)
{
	DAT_REGION_DESCRIPTION description = { .for_va = region->memory.start };

	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, description, region->memory.length, pz,
			      rights, DAT_VA_TYPE_VA, &region->lmr, &region->local, &region->remote,
			      NULL, NULL);
}

static int region_new(const struct command *cmd, size_t length, DAT_MEM_PRIV_FLAGS rights)
{
	int i = 0;
	DAT_RETURN ret;

	while (i < MAX_REGIONS && regions[i].memory.map)
		i++;
	if (i == MAX_REGIONS || memory_map(&regions[i].memory, length))
		return -1;
	ret = region_register(&regions[i], rights, zones[number(cmd, "pz", 0) & 1]);
	printf("region=%d lmr_context=%u rmr_context=%u address=%llu length=%zu result=%s\n", i,
	       regions[i].local, regions[i].remote,
	       (unsigned long long)(uintptr_t)regions[i].memory.start, length, victim_result(ret));
	return ret == DAT_SUCCESS ? i : -1;
}

static void do_region(const struct command *cmd)
{
	region_new(cmd, number(cmd, "length", PAGE),
		   (DAT_MEM_PRIV_FLAGS)number(cmd, "rights", DAT_MEM_PRIV_ALL_FLAG));
}

static void do_unregister(const struct command *cmd)
{
	struct region *region = region_of(cmd);

	print_result(dat_lmr_free(region->lmr));
	region->lmr = NULL;
}

static void region_free(struct region *region)
{
	if (region->rmr)
		dat_rmr_free(region->rmr);
	if (region->lmr)
		dat_lmr_free(region->lmr);
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

/* ---- Connections ---- */

static void do_listen(const struct command *cmd)
{
	DAT_COUNT length = (DAT_COUNT)number(cmd, "qlen", 64);
	DAT_CONN_QUAL qual = number(cmd, "qual", 0);
	DAT_EVD_PARAM param = { .evd_qlen = 0 };
	struct listening *listening;
	DAT_RETURN ret;
	int i = 0;

	while (i < MAX_LISTENS - 1 && listens[i].evd)
		i++;
	listening = &listens[i];
	ret = dat_evd_create(ia, length, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &listening->evd);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_query(listening->evd, DAT_EVD_FIELD_ALL, &param);
	if (ret == DAT_SUCCESS && qual)
		ret = dat_psp_create(ia, qual, listening->evd, DAT_PSP_CONSUMER_FLAG,
				     &listening->psp);
	else if (ret == DAT_SUCCESS)
		ret = dat_psp_create_any(ia, &qual, listening->evd, DAT_PSP_CONSUMER_FLAG,
					 &listening->psp);
	printf("listen=%d conn_qual=%llu evd_qlen=%d result=%s\n", i, (unsigned long long)qual,
	       (int)param.evd_qlen, victim_result(ret));
}

static void unlisten(struct listening *listening)
{
	if (listening->psp)
		dat_psp_free(listening->psp);
	if (listening->evd)
		dat_evd_free(listening->evd);
	memset(listening, 0, sizeof(*listening));
}

static void do_unlisten(const struct command *cmd)
{
	unlisten(&listens[number(cmd, "listen", 0) % MAX_LISTENS]);
}

static void print_request(const DAT_EVENT *event)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event->event_data.cr_arrival_event_data;
	DAT_CR_PARAM param;
	DAT_RETURN ret = dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param);

	if (ret != DAT_SUCCESS) {
		printf("event=%s result=%s\n", victim_event_name(event->event_number),
		       victim_result(ret));
		return;
	}
	requests[num_requests % MAX_REQUESTS] = arrival->cr_handle;
	printf("event=%s request=%u truncated=%d remote_port=%llu",
	       victim_event_name(event->event_number), num_requests++ % MAX_REQUESTS,
	       (int)arrival->truncate_flag, (unsigned long long)param.remote_port_qual);
	print_bytes("data", param.private_data, (size_t)param.private_data_size);
	printf("\n");
}

static void do_request(const struct command *cmd)
{
	struct listening *listening = &listens[number(cmd, "listen", 0) % MAX_LISTENS];
	DAT_TIMEOUT time = (DAT_TIMEOUT)number(cmd, "ms", 5000) * 1000;
	DAT_EVENT event;
	DAT_COUNT more;

	if (dat_evd_wait(listening->evd, time, 1, &event, &more) == DAT_SUCCESS)
		print_request(&event);
	else
		printf("event=none\n");
}

static void do_accept(const struct command *cmd)
{
	uint8_t data[1024];
	DAT_COUNT len = (DAT_COUNT)bytes(cmd, "data", data, sizeof(data));

	print_result(dat_cr_accept(requests[number(cmd, "request", 0) % MAX_REQUESTS], ep_of(cmd),
				   len, data));
}

static void do_reject(const struct command *cmd)
{
	uint8_t data[1024];
	DAT_COUNT len = (DAT_COUNT)bytes(cmd, "data", data, sizeof(data));

	print_result(dat_cr_reject(requests[number(cmd, "request", 0) % MAX_REQUESTS], len, data));
}

static void fill_attr(const struct command *cmd, DAT_EP_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->qos = DAT_QOS_BEST_EFFORT;
	attr->max_recv_dtos = (DAT_COUNT)number(cmd, "depth", 128);
	attr->max_request_dtos = (DAT_COUNT)number(cmd, "depth", 128);
	attr->max_recv_iov = 4;
	attr->max_request_iov = 4;
	attr->max_rdma_read_in = (DAT_COUNT)number(cmd, "reads_in", 4);
	attr->max_rdma_read_out = (DAT_COUNT)number(cmd, "reads_out", 4);
	attr->srq_soft_hw = -1;
}

static void do_ep(const struct command *cmd)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;
	int i = 0;

	while (i < MAX_EPS - 1 && eps[i])
		i++;
	fill_attr(cmd, &attr);
	ret = dat_ep_create(ia, zones[0], evd, evd, evd, &attr, &eps[i]);
	printf("ep=%d result=%s\n", i, victim_result(ret));
}

static int parse_address(const char *name, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = strchr(name, ':') ? AF_INET6 : AF_INET;
	return inet_pton(out->ss_family, name,
			 out->ss_family == AF_INET ? (void *)&four->sin_addr : &six->sin6_addr);
}

static void do_connect(const struct command *cmd)
{
	struct sockaddr_storage remote;
	uint8_t data[1024];
	DAT_COUNT len = (DAT_COUNT)bytes(cmd, "data", data, sizeof(data));

	if (parse_address(text(cmd, "address", "127.0.0.1"), &remote) != 1) {
		printf("result=bad_address\n");
		return;
	}
	print_result(dat_ep_connect(ep_of(cmd), (DAT_IA_ADDRESS_PTR)&remote, number(cmd, "qual", 0),
				    (DAT_TIMEOUT)number(cmd, "ms", 5000) * 1000, len, data,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void do_state(const struct command *cmd)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;
	DAT_RETURN ret = dat_ep_get_status(ep_of(cmd), &state, &recv_idle, &request_idle);

	printf("state=%s recv_idle=%d request_idle=%d result=%s\n", victim_state_name(state),
	       recv_idle, request_idle, victim_result(ret));
}

static void do_disconnect(const struct command *cmd)
{
	print_result(dat_ep_disconnect(ep_of(cmd), (DAT_CLOSE_FLAGS)number(cmd, "graceful", 0)));
}

static void do_reset(const struct command *cmd)
{
	print_result(dat_ep_reset(ep_of(cmd)));
}

static void do_free(const struct command *cmd)
{
	unsigned i = number(cmd, "ep", 0) % MAX_EPS;

	print_result(dat_ep_free(eps[i]));
	eps[i] = NULL;
}

/* ---- Transfers ---- */

/* Lets the peer of an endpoint use a part of a region. */
static void do_bind(const struct command *cmd)
{
	struct region *region = region_of(cmd);
	DAT_LMR_TRIPLET part = { (uintptr_t)region->memory.start + number(cmd, "offset", 0),
				 (DAT_SEG_LENGTH)number(cmd, "length", region->memory.length),
				 region->local };
	DAT_RMR_COOKIE cookie = { .as_64 = 0 };
	DAT_RMR_CONTEXT context = 0;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!region->rmr)
		ret = dat_rmr_create_for_ep(zones[0], &region->rmr);
	if (!ret)
		ret = dat_rmr_bind(region->rmr, region->lmr, &part,
				   (DAT_MEM_PRIV_FLAGS)number(cmd, "rights", DAT_MEM_PRIV_ALL_FLAG),
				   DAT_VA_TYPE_VA, ep_of(cmd), cookie, DAT_COMPLETION_DEFAULT_FLAG,
				   &context);
	printf("context=%u ", context);
	print_result(ret);
}

/* The requests of the extension, and the Send that invalidates. */
static DAT_RETURN post_special(const struct command *cmd, DAT_LMR_TRIPLET *segment,
			       DAT_RMR_TRIPLET *remote, DAT_DTO_COOKIE cookie,
			       DAT_COMPLETION_FLAGS flags)
{
	const char *what = text(cmd, "what", "");
	uint64_t arg = number(cmd, "arg", 0), swap = number(cmd, "swap", 0);
	DAT_EP_HANDLE ep = ep_of(cmd);

	if (!strcmp(what, "invalidate"))
		return dat_ep_post_send_with_invalidate(ep, 1, segment, cookie, flags, DAT_TRUE,
							(DAT_RMR_CONTEXT)arg);
	if (!strcmp(what, "fetch_add"))
		return dat_ib_post_fetch_and_add(ep, arg, segment, cookie, remote, flags);
	if (!strcmp(what, "cmp_swap"))
		return dat_ib_post_cmp_and_swap(ep, arg, swap, segment, cookie, remote, flags);
	return dat_ib_post_rdma_write_immed(ep, 1, segment, cookie, remote, (DAT_UINT32)arg, flags);
}

static void do_post(const struct command *cmd)
{
	const char *what = text(cmd, "what", "recv");
	DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)number(cmd, "flags", 0);
	struct region *region = region_of(cmd);
	DAT_DTO_COOKIE cookie = { .as_64 = number(cmd, "cookie", 0) };
	DAT_LMR_TRIPLET segment = { (uintptr_t)region->memory.start + number(cmd, "offset", 0),
				    (DAT_SEG_LENGTH)number(cmd, "length", region->memory.length),
				    region->local };
	DAT_RMR_TRIPLET remote = { number(cmd, "remote_address", 0), segment.segment_length,
				   (DAT_RMR_CONTEXT)number(cmd, "rmr_context", 0) };
	DAT_EP_HANDLE ep = ep_of(cmd);
	DAT_RETURN ret;

	if (!strcmp(what, "recv"))
		ret = dat_ep_post_recv(ep, 1, &segment, cookie, flags);
	else if (!strcmp(what, "send"))
		ret = dat_ep_post_send(ep, 1, &segment, cookie, flags);
	else if (!strcmp(what, "write"))
		ret = dat_ep_post_rdma_write(ep, 1, &segment, cookie, &remote, flags);
	else if (!strcmp(what, "read"))
		ret = dat_ep_post_rdma_read(ep, 1, &segment, cookie, &remote, flags);
	else
		ret = post_special(cmd, &segment, &remote, cookie, flags);
	print_result(ret);
}

/* ---- Events ---- */

static void print_event(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	const DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;
	const DAT_ASYNCH_ERROR_EVENT_DATA *err = &event->event_data.asynch_error_event_data;
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event->event_data.rmr_completion_event_data;
	const DAT_IB_EXTENSION_EVENT_DATA *ext = (const void *)event->event_extension_data;

	printf("event=%s", victim_event_name(event->event_number));
	if (event->event_number == DAT_DTO_COMPLETION_EVENT ||
	    event->event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT) {
		printf(" ep=%d op=%s status=%s length=%u cookie=%llu context=%u immediate=%u\n",
		       ep_number(dto->ep_handle), victim_operation_name(dto->operation),
		       victim_status_name(dto->status), (unsigned)dto->transfered_length,
		       (unsigned long long)dto->user_cookie.as_64, dto->rmr_context,
		       event->event_number == DAT_DTO_COMPLETION_EVENT ? 0 : ext->val.immed.data);
	} else if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
		printf(" status=%s\n", bind->status == DAT_RMR_BIND_SUCCESS
					       ? "DAT_RMR_BIND_SUCCESS"
					       : victim_status_name(bind->status));
	} else if (event->event_number & 0x4000) {
		printf(" ep=%d", ep_number(conn->ep_handle));
		print_bytes("data", conn->private_data, (size_t)conn->private_data_size);
		printf("\n");
	} else {
		printf(" ep=%d reason=%d\n", ep_number(err->dat_handle), (int)err->reason);
	}
}

/* Takes events until count have come or ms are over; on= names the queue. Where none came it tells
 * how many rounds of the healthy connection ended meanwhile. */
static void do_wait(const struct command *cmd)
{
	DAT_EVD_HANDLE from = strcmp(text(cmd, "on", "main"), "async") ? evd : async_evd;
	uint64_t count = number(cmd, "count", 1);
	int64_t end = now_ms() + (int64_t)number(cmd, "ms", 5000);
	DAT_EVENT event;
	DAT_COUNT more;

	while (count--) {
		int64_t left = end - now_ms();
		uint64_t rounds = healthy_rounds();

		if (dat_evd_wait(from, left > 0 ? (DAT_TIMEOUT)left * 1000 : 0, 1, &event, &more) !=
		    DAT_SUCCESS) {
			printf("event=none rounds=%llu\n",
			       (unsigned long long)(healthy_rounds() - rounds));
			return;
		}
		print_event(&event);
	}
}

static void do_healthy(const struct command *cmd)
{
	struct healthy_report report;

	healthy_wait((unsigned)number(cmd, "rounds", 5), &report);
	printf("rounds=%llu worst_ms=%lld fault=%s\n", (unsigned long long)report.rounds,
	       (long long)report.worst_ms, report.fault ? report.fault : "none");
}

static void do_counts(const struct command *cmd)
{
	(void)cmd;
	victim_print_counts("");
	printf("\n");
}

/* Tells the limit of descriptors and, unless fds is 0, sets it. */
static void do_limit(const struct command *cmd)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	printf("fds=%llu\n", (unsigned long long)limit.rlim_cur);
	limit.rlim_cur = number(cmd, "fds", 0);
	if (limit.rlim_cur)
		setrlimit(RLIMIT_NOFILE, &limit);
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
	{ "reset", do_reset },
	{ "free", do_free },
	{ "bind", do_bind },
	{ "post", do_post },
	{ "wait", do_wait },
	{ "healthy", do_healthy },
	{ "counts", do_counts },
	{ "limit", do_limit },
	{ NULL, NULL },
};

static int fail(const char *what, DAT_RETURN ret)
{
	printf("failed=%s result=%s\n", what, victim_result(ret));
	fflush(stdout);
	return 1;
}

static int start(const char *name)
{
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
	char address[INET6_ADDRSTRLEN] = "?";
	struct sockaddr *own;
	DAT_RETURN ret;

	victim_start_counts();
	async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_open((DAT_NAME_PTR)name, 256, &async_evd, &ia);
	if (ret != DAT_SUCCESS)
		return fail("dat_ia_open", ret);
	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider);
	if (ret == DAT_SUCCESS)
		ret = dat_pz_create(ia, &zones[0]);
	if (ret == DAT_SUCCESS)
		ret = dat_pz_create(ia, &zones[1]);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_create(ia, 4096, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd);
	if (ret != DAT_SUCCESS)
		return fail("setup", ret);
	own = attr.ia_address_ptr;
	inet_ntop(own->sa_family,
		  own->sa_family == AF_INET ? (void *)&((struct sockaddr_in *)own)->sin_addr
					    : &((struct sockaddr_in6 *)own)->sin6_addr,
		  address, sizeof(address));
	printf(" address=%s max_private_data=%d max_message=%u\n", address,
	       (int)provider.max_private_data_size, attr.max_message_size);
	return 0;
}

static int finish(void)
{
	DAT_RETURN ret;

	healthy_stop();
	for (int i = 0; i < MAX_EPS; i++)
		if (eps[i])
			dat_ep_free(eps[i]);
	for (int i = 0; i < MAX_LISTENS; i++)
		unlisten(&listens[i]);
	for (int i = 0; i < MAX_REGIONS; i++)
		region_free(&regions[i]);
	dat_evd_free(evd);
	dat_pz_free(zones[0]);
	dat_pz_free(zones[1]);
	ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	if (ret != DAT_SUCCESS) {
		printf("graceful=%s\n", victim_result(ret));
		ret = dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	printf("closed=%s ", victim_result(ret));
	victim_await_threads();
	victim_print_counts("end_");
	printf("\n");
	fflush(stdout);
	return ret == DAT_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct healthy_report report;

	if (start(argc > 1 ? argv[1] : "soft-lo"))
		return 1;
	if ((argc <= 2 || strcmp(argv[2], "alone")) && healthy_start(ia)) {
		healthy_wait(0, &report);
		printf("failed=healthy reason=%s\n", report.fault ? report.fault : "?");
		return 1;
	}
	printf("ready=1 pid=%d\n", (int)getpid());
	fflush(stdout);
	obey(verbs);
	return finish();
}
