/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for the private data that comes with rdma_cm's events.
 *
 * An input: bits of enum bits, the connection's state, the event's type, its status, so many bytes
 * fewer than came that the program may have, and the data. What the program gets are the first
 * bytes of it, or those behind the mark of a rejection; and what is sent from the same bytes as
 * private data comes out at the other end as it was.
 */
#include "test/fuzz/insist.h"

#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/async.h"
#include "providers/verbs/cm/rdma.h"

enum bits {
	IWARP = 1,
	FLOW_CONTROL = 2,
	LISTENER = 4,
	REFUSE = 8,
	FAULT = 16,
	IPV6 = 32,
	BY_GID = 64,
};

enum {
	HEAD = 5,
};

static struct {
	unsigned bits;
	struct rdma_cm_event event;
	bool pending;
	uint8_t *data; /* of exactly its length */
	uint32_t len;
	struct vrb_dev dev;
	struct vrb_qp qp;
	struct vrb_rdma rdma;
	struct vrb_listener listener;
	struct vrb_conn conn;
	struct rdma_cm_id id;
	struct ibv_context ctx;
	struct ibv_device device;
	struct rdma_event_channel channel;
	unsigned told;
} t;

static const struct vrb_config config;

/* ---- What the program is given ---- */

static void given(const void *data, uint32_t len, uint32_t mark)
{
	const uint8_t *bytes = data;

	t.told++;
	insist(len <= t.dev.attr.max_private_data);
	insist(len + mark <= t.len);
	for (uint32_t i = 0; i < len; i++)
		insist(bytes[i] == t.data[mark + i]);
}

void vrb_conn_open(struct vrb_conn *conn, const void *data, uint32_t len)
{
	given(data, len, 0);
	conn->state = VRB_CONN_OPEN;
}

void vrb_conn_ended(struct vrb_conn *conn, enum tp_conn_event event, int err, const void *data,
		    uint32_t len)
{
	static const uint8_t by_consumer[4] = { 2, 0, 2, 0 };
	bool marked = t.len >= sizeof(by_consumer) && !memcmp(t.data, by_consumer, 4);

	insist(err <= 0);
	insist(event == TP_CONN_REJECTED || !len);
	given(data, len, event == TP_CONN_REJECTED && marked ? 4 : 0);
	conn->state = VRB_CONN_ENDED;
}

static int conn_request(void *owner, struct tp_conn *conn, const struct tp_conn_request *req)
{
	(void)owner;
	insist(conn == &t.conn.base);
	insist(!req->truncated || req->private_data_len == t.dev.attr.max_private_data);
	given(req->private_data, req->private_data_len,
	      t.rdma.by_gid && t.len >= VRB_GID_HEADER ? VRB_GID_HEADER : 0);
	return t.bits & REFUSE ? -ECONNREFUSED : 0;
}

static const struct tp_upcalls up = { .conn_request = conn_request };

/* ---- The rest of the provider, and the kernel ---- */

struct vrb_conn *vrb_conn_new(struct vrb_dev *dev)
{
	t.conn = (struct vrb_conn){ .object.dev = dev };
	return &t.conn;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	if (!t.pending) {
		errno = EAGAIN;
		return -1;
	}
	t.pending = false;
	*event = &t.event;
	return 0;
}

/* The event's data is gone with it. */
int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	free((void *)(uintptr_t)event->param.conn.private_data);
	return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	return event ? "event" : "address resolved";
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id->route.addr.src_sin.sin_port;
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id->route.addr.dst_sin.sin_port;
}

int rdma_establish(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

bool vrb_cm_lock(struct vrb_cm_object *object)
{
	return !object->closed;
}

bool vrb_qp_found_fault(struct vrb_qp *qp)
{
	(void)qp;
	return t.bits & FAULT;
}

enum tp_conn_event vrb_cm_fault_here(struct vrb_qp *qp)
{
	insist(qp == &t.qp);
	return TP_CONN_BROKEN;
}

#define NOTHING(name, ...)      \
	void name(__VA_ARGS__); \
	void name(__VA_ARGS__)  \
	{                       \
	}
#define SUCCESS(name, ...)     \
	int name(__VA_ARGS__); \
	int name(__VA_ARGS__)  \
	{                      \
		return 0;      \
	}

NOTHING(vrb_cm_unlock, struct vrb_cm_object *object __attribute__((unused)))
NOTHING(vrb_cm_close, struct vrb_cm_object *object __attribute__((unused)))
NOTHING(vrb_cm_get, struct vrb_cm_object *object __attribute__((unused)))
NOTHING(vrb_cm_put, struct vrb_cm_object *object __attribute__((unused)))
NOTHING(vrb_conn_drop_id, struct vrb_conn *conn __attribute__((unused)))
NOTHING(vrb_conn_left, struct vrb_conn *conn __attribute__((unused)),
	enum rdma_cm_event_type type __attribute__((unused)))
NOTHING(vrb_rdma_refuse, struct vrb_dev *dev __attribute__((unused)),
	struct rdma_cm_id *id __attribute__((unused)))
NOTHING(vrb_cq_defer, struct vrb_cq *cq __attribute__((unused)),
	struct vrb_qp *qp __attribute__((unused)))
NOTHING(vrb_cq_deliver, struct vrb_cq *cq __attribute__((unused)),
	struct vrb_qp *qp __attribute__((unused)))
NOTHING(vrb_reap, struct vrb_dev *dev __attribute__((unused)),
	struct vrb_reap *item __attribute__((unused)))
NOTHING(vrb_async_removed, struct vrb_dev *dev __attribute__((unused)))
NOTHING(vrb_addr_copy, struct sockaddr_storage *to __attribute__((unused)),
	const struct sockaddr *from __attribute__((unused)))
NOTHING(dapl_loop_post, struct dapl_loop *loop __attribute__((unused)),
	struct tp_task *task __attribute__((unused)))
SUCCESS(vrb_conn_resolve_addr, struct vrb_conn *conn __attribute__((unused)))
SUCCESS(vrb_conn_resolve_route, struct vrb_conn *conn __attribute__((unused)))
SUCCESS(vrb_conn_connect, struct vrb_conn *conn __attribute__((unused)))
SUCCESS(vrb_conn_other_port, struct vrb_conn *conn __attribute__((unused)),
	int err __attribute__((unused)))
SUCCESS(vrb_conn_step_failed, const struct vrb_conn *conn __attribute__((unused)),
	const char *what __attribute__((unused)))
SUCCESS(vrb_rdma_qp_to_rts, struct vrb_conn *conn __attribute__((unused)))
SUCCESS(vrb_rdma_qp_to_rtr, struct vrb_conn *conn __attribute__((unused)))
SUCCESS(vrb_rdma_qp_confirmed, struct vrb_conn *conn __attribute__((unused)))
SUCCESS(rdma_notify, struct rdma_cm_id *id __attribute__((unused)),
	enum ibv_event_type event __attribute__((unused)))
SUCCESS(rdma_connect, struct rdma_cm_id *id __attribute__((unused)),
	struct rdma_conn_param *param __attribute__((unused)))
SUCCESS(rdma_accept, struct rdma_cm_id *id __attribute__((unused)),
	struct rdma_conn_param *param __attribute__((unused)))
SUCCESS(rdma_reject, struct rdma_cm_id *id __attribute__((unused)),
	const void *data __attribute__((unused)), uint8_t len __attribute__((unused)))
SUCCESS(rdma_reject_ece, struct rdma_cm_id *id __attribute__((unused)),
	const void *data __attribute__((unused)), uint8_t len __attribute__((unused)))
SUCCESS(rdma_destroy_id, struct rdma_cm_id *id __attribute__((unused)))
SUCCESS(ibv_destroy_qp, struct ibv_qp *qp __attribute__((unused)))
SUCCESS(dapl_thread_start, pthread_t *thread __attribute__((unused)),
	const char *name __attribute__((unused)), size_t stack __attribute__((unused)),
	void *(*run)(void *)__attribute__((unused)), void *arg __attribute__((unused)))

struct ibv_qp *vrb_qp_orphan(struct vrb_qp *qp)
{
	(void)qp;
	return NULL;
}

void dapl_trace_out(const struct dats_point *point, const void *object, const char *fmt, ...)
{
	(void)point;
	(void)object;
	(void)fmt;
}

void dapl_diag(const char *fmt, ...)
{
	(void)fmt;
}

const char *dapl_strerror(int err)
{
	return err ? "error" : "none";
}

/* ---- Events ---- */

static void make_device(const uint8_t *head)
{
	memset(&t, 0, sizeof(t));
	t.bits = head[0];
	t.rdma = (struct vrb_rdma){ .dev = &t.dev,
				    .ops = t.bits & IWARP ? &vrb_rdma_iwarp : &vrb_rdma_ib,
				    .channel = &t.channel };
	t.rdma.by_gid = (t.bits & (BY_GID | IWARP)) == BY_GID;
	t.dev.cm = &t.rdma;
	t.dev.attr.max_private_data =
		t.rdma.ops->max_private_data - head[4] % (t.rdma.ops->max_private_data + 1);
	t.dev.base.up = &up;
	t.dev.config = &config;
	t.listener.object = (struct vrb_cm_object){ .dev = &t.dev, .listener = true };
	t.conn.object.dev = &t.dev;
	t.conn.qp = &t.qp;
	t.conn.id = &t.id;
	t.conn.state = head[1] % (VRB_CONN_ENDED + 1);
	t.ctx.device = &t.device;
	t.id.verbs = &t.ctx;
	t.id.route.addr.dst_addr.sa_family = t.bits & IPV6 ? AF_INET6 : AF_INET;
}

static void make_event(const uint8_t *head, const uint8_t *data, size_t size)
{
	struct rdma_conn_param *param = &t.event.param.conn;
	void *copy = malloc(size ? size : 1);

	insist(copy);
	if (size)
		memcpy(copy, data, size);
	t.event.id = &t.id;
	t.event.listen_id = &t.id;
	t.id.context = t.bits & LISTENER ? &t.listener.object : &t.conn.object;
	t.event.event = t.bits & LISTENER ? RDMA_CM_EVENT_CONNECT_REQUEST
					  : head[2] % (RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);
	t.event.status = (int8_t)head[3];
	param->private_data = copy;
	param->private_data_len = (uint8_t)size;
	param->flow_control = t.bits & FLOW_CONTROL;
	t.data = (uint8_t *)(uintptr_t)data;
	t.len = (uint32_t)size;
	t.pending = true;
	if (t.event.event == RDMA_CM_EVENT_CONNECT_REQUEST && !(t.bits & LISTENER))
		t.event.event = RDMA_CM_EVENT_CONNECT_RESPONSE;
}

/* ---- There and back ---- */

static void round_trip(const uint8_t *data, uint32_t len)
{
	struct vrb_pd_frame frame;
	uint8_t reject[VRB_PD_REJECT_MAX];
	uint32_t mark, all;

	if (t.bits & IWARP) {
		if (len > VRB_PD_MAX_IWARP)
			len = VRB_PD_MAX_IWARP;
		all = vrb_pd_reject_iwarp(reject, data, len);
		insist(all <= sizeof(reject));
		insist(vrb_pd_rejected_iwarp(reject, all, &mark));
		return;
	}
	if (len > VRB_PD_MAX)
		len = VRB_PD_MAX;
	vrb_pd_request(&frame, data, len);
	insist(frame.len <= sizeof(frame.bytes));
	insist(vrb_pd_request_len(frame.bytes, frame.len, frame.flow_control) == len);
	insist(!len || !memcmp(frame.bytes, data, len));
	vrb_pd_reply(&frame, data, len);
	insist(frame.len <= sizeof(frame.bytes));
	insist(vrb_pd_reply_len(frame.bytes, frame.len) == len);
	insist(!len || !memcmp(frame.bytes, data, len));
	all = vrb_pd_reject(reject, data, len);
	insist(all <= sizeof(reject));
	insist(vrb_pd_rejected(reject, all, &mark) && mark == 4);
	insist(vrb_pd_reply_len(reject + mark, all - mark) == len);
	insist(!len || !memcmp(reject + mark, data, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD)
		return 0;
	size = size - HEAD < UINT8_MAX ? size : HEAD + UINT8_MAX;
	make_device(data);
	make_event(data, data + HEAD, size - HEAD);
	vrb_rdma_ready(&t.rdma.watch, 1);
	insist(t.told <= 2);
	round_trip(data + HEAD, (uint32_t)(size - HEAD));
	return 0;
}
