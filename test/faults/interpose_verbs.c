/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of libibverbs and librdmacm: those that the provider imports, and those that verbs.h takes
 * out of a context, which the context gets when it is opened. What they make is counted.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "interpose.h"
#include "wrap.h"

#undef ibv_query_port
#undef ibv_reg_mr

/* A call that makes something. */
#define WRAP_NEW(ret, name, params, args)                         \
	REGISTER(name)                                            \
	WRAPPER ret name params                                   \
	{                                                         \
		const void *caller = __builtin_return_address(0); \
		static _Atomic(ret(*) params) next;               \
		ret(*real) params = atomic_load(&next);           \
		ret made;                                         \
                                                                  \
		if (!real) {                                      \
			*(void **)&real = interpose_next(#name);  \
			atomic_store(&next, real);                \
		}                                                 \
		if (interpose_fails(&call_##name, caller))        \
			return NULL;                              \
		made = real args;                                 \
		if (made && interpose_is_ours(caller))            \
			atomic_fetch_add(&interpose_made, 1);     \
		return made;                                      \
	}

/* One that destroys something, unless it fails. */
#define WRAP_END(name, params, args)                              \
	REGISTER(name)                                            \
	WRAPPER int name params                                   \
	{                                                         \
		const void *caller = __builtin_return_address(0); \
		static _Atomic(int(*) params) next;               \
		int(*real) params = atomic_load(&next);           \
		int err;                                          \
                                                                  \
		if (!real) {                                      \
			*(void **)&real = interpose_next(#name);  \
			atomic_store(&next, real);                \
		}                                                 \
		if (interpose_fails(&call_##name, caller))        \
			return interpose_error;                   \
		err = real args;                                  \
		if (!err && interpose_is_ours(caller))            \
			atomic_fetch_sub(&interpose_made, 1);     \
		return err;                                       \
	}

#define WRAP_VERB(name, params, args) WRAP(int, interpose_error, name, params, args)
#define WRAP_RDMA(name, params, args) WRAP(int, -1, name, params, args)

/* ---- Calls of a context ---- */

static struct ibv_context_ops ops;
static int (*query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *, size_t);

#define FAILS(name) interpose_fails(&call_##name, __builtin_return_address(0))

REGISTER(ibv_poll_cq)
static int op_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	return FAILS(ibv_poll_cq) ? -interpose_error : ops.poll_cq(cq, num, wc);
}

REGISTER(ibv_req_notify_cq)
static int op_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	return FAILS(ibv_req_notify_cq) ? interpose_error : ops.req_notify_cq(cq, solicited);
}

REGISTER(ibv_post_send)
static int op_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	*bad = wr;
	return FAILS(ibv_post_send) ? interpose_error : ops.post_send(qp, wr, bad);
}

REGISTER(ibv_post_recv)
static int op_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	*bad = wr;
	return FAILS(ibv_post_recv) ? interpose_error : ops.post_recv(qp, wr, bad);
}

REGISTER(ibv_post_srq_recv)
static int op_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	*bad = wr;
	return FAILS(ibv_post_srq_recv) ? interpose_error : ops.post_srq_recv(srq, wr, bad);
}

REGISTER(ibv_alloc_mw)
static struct ibv_mw *op_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = FAILS(ibv_alloc_mw) ? NULL : ops.alloc_mw(pd, type);

	if (mw)
		atomic_fetch_add(&interpose_made, 1);
	return mw;
}

REGISTER(ibv_dealloc_mw)
static int op_dealloc_mw(struct ibv_mw *mw)
{
	int err = FAILS(ibv_dealloc_mw) ? interpose_error : ops.dealloc_mw(mw);

	if (!err)
		atomic_fetch_sub(&interpose_made, 1);
	return err;
}

REGISTER(ibv_bind_mw)
static int op_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return FAILS(ibv_bind_mw) ? interpose_error : ops.bind_mw(qp, mw, bind);
}

REGISTER(ibv_query_port)
static int op_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr,
			 size_t size)
{
	return FAILS(ibv_query_port) ? interpose_error : query_port(ctx, port, attr, size);
}

/* The call for a library that has none in its contexts. */
WRAPPER int ibv_query_port(struct ibv_context *ctx, uint8_t port,
			   struct _compat_ibv_port_attr *attr)
{
	static int (*real)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *);

	if (!real)
		*(void **)&real = interpose_next("ibv_query_port");
	return FAILS(ibv_query_port) ? interpose_error : real(ctx, port, attr);
}

static void wrap_ops(struct ibv_context *ctx)
{
	struct verbs_context *verbs = verbs_get_ctx_op(ctx, query_port);

	ops = ctx->ops;
	ctx->ops.poll_cq = op_poll_cq;
	ctx->ops.req_notify_cq = op_req_notify_cq;
	ctx->ops.post_send = op_post_send;
	ctx->ops.post_recv = op_post_recv;
	ctx->ops.post_srq_recv = op_post_srq_recv;
	ctx->ops.alloc_mw = op_alloc_mw;
	ctx->ops.dealloc_mw = op_dealloc_mw;
	ctx->ops.bind_mw = op_bind_mw;
	if (!verbs)
		return;
	query_port = verbs->query_port;
	verbs->query_port = op_query_port;
}

REGISTER(ibv_open_device)
WRAPPER struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	static struct ibv_context *(*real)(struct ibv_device *);
	struct ibv_context *ctx;

	if (!real)
		*(void **)&real = interpose_next("ibv_open_device");
	ctx = FAILS(ibv_open_device) ? NULL : real(device);
	if (ctx) {
		wrap_ops(ctx);
		atomic_fetch_add(&interpose_made, 1);
	}
	return ctx;
}

/* ---- Devices ---- */

WRAP_END(ibv_close_device, (struct ibv_context * ctx), (ctx))
WRAP(struct ibv_device **, NULL, ibv_get_device_list, (int *num), (num))
WRAP_VERB(ibv_fork_init, (void), ())
WRAP_VERB(ibv_query_device, (struct ibv_context * ctx, struct ibv_device_attr *attr), (ctx, attr))
WRAP(int, -1, ibv_query_gid,
     (struct ibv_context * ctx, uint8_t port, int index, union ibv_gid *gid),
     (ctx, port, index, gid))

/* ---- Memory ---- */

WRAP_NEW(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context * ctx), (ctx))
WRAP_END(ibv_dealloc_pd, (struct ibv_pd * pd), (pd))
WRAP_NEW(struct ibv_mr *, ibv_reg_mr_iova2,
	 (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova, unsigned int access),
	 (pd, addr, length, iova, access))
WRAP_END(ibv_dereg_mr, (struct ibv_mr * mr), (mr))

/* ---- Queues ---- */

WRAP_NEW(struct ibv_comp_channel *, ibv_create_comp_channel, (struct ibv_context * ctx), (ctx))
WRAP_END(ibv_destroy_comp_channel, (struct ibv_comp_channel * channel), (channel))
WRAP_NEW(struct ibv_cq *, ibv_create_cq,
	 (struct ibv_context * ctx, int cqe, void *context, struct ibv_comp_channel *channel,
	  int vector),
	 (ctx, cqe, context, channel, vector))
WRAP_END(ibv_destroy_cq, (struct ibv_cq * cq), (cq))
WRAP_VERB(ibv_resize_cq, (struct ibv_cq * cq, int cqe), (cq, cqe))
WRAP_NEW(struct ibv_srq *, ibv_create_srq, (struct ibv_pd * pd, struct ibv_srq_init_attr *init),
	 (pd, init))
WRAP_END(ibv_destroy_srq, (struct ibv_srq * srq), (srq))
WRAP_VERB(ibv_modify_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr, int mask),
	  (srq, attr, mask))
WRAP_NEW(struct ibv_qp *, ibv_create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr *init),
	 (pd, init))
WRAP_END(ibv_destroy_qp, (struct ibv_qp * qp), (qp))
WRAP_VERB(ibv_modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask), (qp, attr, mask))
WRAP_VERB(ibv_query_qp,
	  (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init),
	  (qp, attr, mask, init))

/* ---- Connections ---- */

WRAP_NEW(struct rdma_event_channel *, rdma_create_event_channel, (void), ())

REGISTER(rdma_destroy_event_channel)
WRAPPER void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	static void (*real)(struct rdma_event_channel *);

	if (!real)
		*(void **)&real = interpose_next("rdma_destroy_event_channel");
	atomic_fetch_sub(&interpose_made, 1);
	real(channel);
}

REGISTER(rdma_create_id)
WRAPPER int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			   void *context, enum rdma_port_space ps)
{
	static int (*real)(struct rdma_event_channel *, struct rdma_cm_id **, void *,
			   enum rdma_port_space);

	if (!real)
		*(void **)&real = interpose_next("rdma_create_id");
	if (FAILS(rdma_create_id) || real(channel, id, context, ps))
		return -1;
	atomic_fetch_add(&interpose_made, 1);
	return 0;
}

WRAP_END(rdma_destroy_id, (struct rdma_cm_id * id), (id))
WRAP_RDMA(rdma_bind_addr, (struct rdma_cm_id * id, struct sockaddr *addr), (id, addr))
WRAP_RDMA(rdma_listen, (struct rdma_cm_id * id, int backlog), (id, backlog))
WRAP_RDMA(rdma_resolve_addr,
	  (struct rdma_cm_id * id, struct sockaddr *from, struct sockaddr *to, int ms),
	  (id, from, to, ms))
WRAP_RDMA(rdma_resolve_route, (struct rdma_cm_id * id, int ms), (id, ms))
WRAP_RDMA(rdma_set_option, (struct rdma_cm_id * id, int level, int name, void *value, size_t len),
	  (id, level, name, value, len))
WRAP_RDMA(rdma_init_qp_attr, (struct rdma_cm_id * id, struct ibv_qp_attr *attr, int *mask),
	  (id, attr, mask))
WRAP_RDMA(rdma_connect, (struct rdma_cm_id * id, struct rdma_conn_param *param), (id, param))
WRAP_RDMA(rdma_accept, (struct rdma_cm_id * id, struct rdma_conn_param *param), (id, param))
WRAP_RDMA(rdma_reject, (struct rdma_cm_id * id, const void *data, uint8_t len), (id, data, len))
WRAP_RDMA(rdma_reject_ece, (struct rdma_cm_id * id, const void *data, uint8_t len), (id, data, len))
WRAP_RDMA(rdma_establish, (struct rdma_cm_id * id), (id))
WRAP_RDMA(rdma_disconnect, (struct rdma_cm_id * id), (id))

/* The id of a request is the program's from here on, with its event. */
REGISTER(rdma_get_cm_event)
WRAPPER int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	static int (*real)(struct rdma_event_channel *, struct rdma_cm_event **);

	if (!real)
		*(void **)&real = interpose_next("rdma_get_cm_event");
	if (FAILS(rdma_get_cm_event) || real(channel, event))
		return -1;
	atomic_fetch_add(&interpose_made, (*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST ? 2 : 1);
	return 0;
}

WRAP_END(rdma_ack_cm_event, (struct rdma_cm_event * event), (event))
