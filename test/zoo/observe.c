/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program sees of a verbs device: observe ADDRESS [SILENT]. Run on a card of the zoo and on
 * the device that the card plays, it says the same (test/zoo/zoo.sh, test/vm/cards.sh).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test/zoo/observe.h"

#define TCP_SERVICES UINT64_C(0x0000000001060000) /* RDMA_PS_TCP's service IDs; a port below */

static struct ibv_context *ctx;
static struct ibv_device_attr attr;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

void tell(const char *name, const char *format, ...)
{
	va_list args;

	printf("%s\t", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

void tell_errno(const char *name, int err)
{
	tell(name, "%s", err ? strerrorname_np(abs(err)) : "yes");
}

struct sockaddr_storage address_of(const char *text, uint16_t port)
{
	struct sockaddr_storage addr = { 0 };
	struct sockaddr_in *sin = (struct sockaddr_in *)&addr;
	struct sockaddr_ib *sib = (struct sockaddr_ib *)&addr;

	if (inet_pton(AF_INET, text, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		return addr;
	}
	if (inet_pton(AF_INET6, text, &sib->sib_addr) != 1) {
		fprintf(stderr, "observe: %s is no address\n", text);
		exit(1);
	}
	sib->sib_family = AF_IB;
	sib->sib_pkey = htobe16(0xffff);
	sib->sib_sid = htobe64(TCP_SERVICES | port);
	sib->sib_sid_mask = UINT64_MAX;
	return addr;
}

/* ---- What it announces ---- */

#define TELL(field) tell("limit " #field, "%lld", (long long)attr.field)

static void tell_limits(void)
{
	struct ibv_port_attr port;

	if (ibv_query_device(ctx, &attr) || ibv_query_port(ctx, 1, &port))
		exit(1);
	tell("transport", "%d", ctx->device->transport_type);
	tell("link layer", "%d", port.link_layer);
	tell("limit max_msg_sz", "%u", port.max_msg_sz);
	tell("limit vendor_id", "0x%x", attr.vendor_id);
	tell("limit vendor_part_id", "%u", attr.vendor_part_id);
	tell("limit windows", "%s%s%s%s", attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW ? "1 " : "",
	     attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A ? "2A " : "",
	     attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B ? "2B " : "",
	     attr.max_mw ? "some" : "none");
	tell("limit srq_resize", "%d", !!(attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE));
	TELL(max_mr_size);
	TELL(page_size_cap);
	TELL(max_qp);
	TELL(max_qp_wr);
	TELL(max_sge);
	TELL(max_sge_rd);
	TELL(max_cq);
	TELL(max_cqe);
	TELL(max_mr);
	TELL(max_pd);
	TELL(max_qp_rd_atom);
	TELL(max_qp_init_rd_atom);
	TELL(atomic_cap);
	TELL(max_mw);
	TELL(max_srq);
	TELL(max_srq_wr);
	TELL(max_srq_sge);
	TELL(max_pkeys);
	TELL(phys_port_cnt);
}

/* ---- Queues ---- */

static void try_cq(const char *name, int cqe)
{
	struct ibv_cq *one = ibv_create_cq(ctx, cqe, NULL, NULL, 0);

	tell_errno(name, one ? 0 : errno);
	if (one)
		ibv_destroy_cq(one);
}

static void observe_cqs(void)
{
	struct ibv_cq *one = ibv_create_cq(ctx, 16, NULL, NULL, 0);

	try_cq("cq max_cqe", attr.max_cqe);
	try_cq("cq max_cqe+1", attr.max_cqe + 1);
	try_cq("cq 0", 0);
	tell("cq 16 has at least 16", "%d", one->cqe >= 16);
	tell_errno("cq resize", ibv_resize_cq(one, 64));
	tell_errno("cq resize again", ibv_resize_cq(one, 128));
	ibv_destroy_cq(one);
}

/* 0 or an errno. */
static int try_qp_cap(struct ibv_qp_cap *cap, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .cap = *cap, .qp_type = IBV_QPT_RC
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	*cap = init.cap;
	if (!qp)
		return errno;
	ibv_destroy_qp(qp);
	return 0;
}

static int try_qp(int send_wr, int recv_wr, int send_sge, int recv_sge, unsigned int data)
{
	struct ibv_qp_cap cap = { .max_send_wr = (uint32_t)send_wr,
				  .max_recv_wr = (uint32_t)recv_wr,
				  .max_send_sge = (uint32_t)send_sge,
				  .max_recv_sge = (uint32_t)recv_sge,
				  .max_inline_data = data };

	return try_qp_cap(&cap, NULL);
}

/* The most of something that can be made: as is announced, or what is found below that. */
static unsigned int most(int (*make)(unsigned int), unsigned int announced)
{
	unsigned int good = 0, bad = announced, half;

	if (!make(announced))
		return announced;
	while (bad - good > 1) {
		half = good + (bad - good) / 2;
		if (make(half))
			bad = half;
		else
			good = half;
	}
	return good;
}

static int with_inline(unsigned int data)
{
	return try_qp(8, 8, 1, 1, data);
}

static int with_requests(unsigned int number)
{
	return try_qp((int)number, 8, 1, 1, 0);
}

static int with_receives(unsigned int number)
{
	return try_qp(8, (int)number, 1, 1, 0);
}

static void observe_qps(void)
{
	struct ibv_qp_cap cap = { 10, 10, 1, 1, 20 };
	int wr = attr.max_qp_wr, sge = attr.max_sge;

	tell_errno("qp of 10 and 20 bytes", try_qp_cap(&cap, NULL));
	tell("qp given", "%u requests, %u receives, %u and %u segments, %u bytes", cap.max_send_wr,
	     cap.max_recv_wr, cap.max_send_sge, cap.max_recv_sge, cap.max_inline_data);
	tell("qp most inline", "%u", most(with_inline, 4096));
	tell("qp most requests", "%u", most(with_requests, (unsigned int)wr));
	tell("qp most receives", "%u", most(with_receives, (unsigned int)wr));
	tell_errno("qp max_qp_wr+1 requests", try_qp(wr + 1, 8, 1, 1, 0));
	tell_errno("qp max_qp_wr+1 receives", try_qp(8, wr + 1, 1, 1, 0));
	tell_errno("qp max_sge to send", try_qp(8, 8, sge, 1, 0));
	tell_errno("qp max_sge to receive", try_qp(8, 8, 1, sge, 0));
	tell_errno("qp max_sge+1 to send", try_qp(8, 8, sge + 1, 1, 0));
	tell_errno("qp max_sge+1 to receive", try_qp(8, 8, 1, sge + 1, 0));
	tell_errno("qp no requests", try_qp(0, 8, 0, 1, 0));
	tell_errno("qp no receives", try_qp(8, 0, 1, 0, 0));
}

static void try_srq(const char *name, int wr, int sge)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = (uint32_t)wr,
						    .max_sge = (uint32_t)sge } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);

	tell_errno(name, srq ? 0 : errno);
	if (srq)
		ibv_destroy_srq(srq);
}

static void observe_srqs(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr to = { .max_wr = 64 };

	tell_errno("srq of 16", srq ? 0 : errno);
	if (!srq)
		return;
	tell("srq given", "%u receives, %u segments", init.attr.max_wr, init.attr.max_sge);
	try_srq("srq max_srq_wr", attr.max_srq_wr, 1);
	try_srq("srq max_srq_wr+1", attr.max_srq_wr + 1, 1);
	try_srq("srq max_srq_sge", 16, attr.max_srq_sge);
	try_srq("srq max_srq_sge+1", 16, attr.max_srq_sge + 1);
	try_srq("srq 0", 0, 1);
	tell_errno("srq limit",
		   ibv_modify_srq(srq, &(struct ibv_srq_attr){ .srq_limit = 4 }, IBV_SRQ_LIMIT));
	tell_errno("srq limit above its length",
		   ibv_modify_srq(srq, &(struct ibv_srq_attr){ .srq_limit = 4096 }, IBV_SRQ_LIMIT));
	tell_errno("srq resize", ibv_modify_srq(srq, &to, IBV_SRQ_MAX_WR));
	ibv_destroy_srq(srq);
}

/* ---- States ---- */

static int to_state(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr to = { .qp_state = state, .port_num = 1 };

	return ibv_modify_qp(qp, &to, mask | IBV_QP_STATE);
}

/* soft-iWARP has no receive without a segment. */
static int post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = { 0 };
	struct ibv_recv_wr wr = { .num_sge = 1, .sg_list = &sge }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

static void observe_states(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 }
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	int i, err = 0;

	tell_errno("in use: the queue ends", ibv_destroy_cq(cq));
	tell_errno("in use: the domain ends", ibv_dealloc_pd(pd));
	tell_errno("reset to ready", to_state(qp, IBV_QPS_RTS, 0));
	tell_errno(
		"reset to initialized",
		to_state(qp, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
	tell_errno("initialized: a receive", post_recv(qp));
	for (i = 0; i < 10000 && !err; i++)
		err = post_recv(qp);
	tell_errno("initialized: receives too many", err);
	tell_errno("initialized to error", to_state(qp, IBV_QPS_ERR, 0));
	ibv_destroy_qp(qp);
}

/* ---- Memory ---- */

static void try_mr(const char *name, void *at, size_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, length, access);

	tell_errno(name, mr ? 0 : errno);
	if (mr)
		ibv_dereg_mr(mr);
}

static void try_mw(const char *name, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	errno = 0;
	mw = ibv_alloc_mw(pd, type);
	tell_errno(name, mw ? 0 : errno);
	if (mw)
		ibv_dealloc_mw(mw);
}

static void observe_memory(void)
{
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(at + 4096, 4096);
	try_mr("mr", at, 4096, IBV_ACCESS_LOCAL_WRITE);
	try_mr("mr for writes of peers alone", at, 4096, IBV_ACCESS_REMOTE_WRITE);
	try_mr("mr for windows", at, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	try_mr("mr for atomics", at, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	try_mr("mr of what is not there", at + 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
	mprotect(at, 4096, PROT_READ);
	try_mr("mr to write what is read-only", at, 4096, IBV_ACCESS_LOCAL_WRITE);
	try_mr("mr to read what is read-only", at, 4096, 0);
	try_mw("window of type 1", IBV_MW_TYPE_1);
	try_mw("window of type 2", IBV_MW_TYPE_2);
	munmap(at, 4096);
}

/* ---- All of it ---- */

/* The device with this address, by rdma_cm. */
static void open_device(const char *address)
{
	struct sockaddr_storage addr = address_of(address, 0);
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr) || !id->verbs) {
		fprintf(stderr, "observe: no device at %s: %s\n", address, strerror(errno));
		exit(1);
	}
	ctx = id->verbs; /* open as long as the process */
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	if (!pd || !cq)
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: observe ADDRESS [SILENT]\n");
		return 2;
	}
	open_device(argv[1]);
	tell_limits();
	observe_cqs();
	observe_qps();
	observe_srqs();
	observe_states();
	observe_memory();
	observe_connections(argv[1], argv[2]);
	return 0;
}
