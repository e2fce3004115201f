/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Making, running and taking down a transaction test; trans_run.c is what its threads do. */
#include "trans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

/* The transaction test counts in millions, the performance test does not: so do its users. */
#define MB 1e6

/* Connections that the client's threads have under way at once, all together. */
#define MAX_CONNECTING 64

/* ---- what the operations need ---- */

static enum dt_role role_of(const struct dt_op *op, bool am_server)
{
	bool mine = op->by_server == am_server;

	switch (op->xfer) {
	case DT_XFER_SR:
		return mine ? DT_ROLE_SEND : DT_ROLE_RECV;
	case DT_XFER_RR:
		return mine ? DT_ROLE_READ : DT_ROLE_BE_READ;
	default:
		return mine ? DT_ROLE_WRITE : DT_ROLE_BE_WRITTEN;
	}
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void plan_op(struct dt_trans *trans, uint32_t index)
{
	const struct dt_op *op = &trans->params->ops[index];
	struct dt_link_needs *needs = &trans->needs;

	trans->roles[index] = role_of(op, trans->am_server);
	switch (trans->roles[index]) {
	case DT_ROLE_SEND:
		needs->send_segs = max_u32(needs->send_segs, op->num_segs);
		needs->requests += op->reap_on_recv;
		break;
	case DT_ROLE_RECV:
		needs->recv_segs = max_u32(needs->recv_segs, op->num_segs);
		trans->recv_order[trans->num_recvs++] = (uint8_t)index;
		break;
	case DT_ROLE_READ:
		needs->read_segs = max_u32(needs->read_segs, op->num_segs);
		needs->reads_out = 1;
		trans->peer_targets++;
		break;
	case DT_ROLE_WRITE:
		needs->write_segs = max_u32(needs->write_segs, op->num_segs);
		trans->peer_targets++;
		break;
	case DT_ROLE_BE_READ:
		needs->reads_in = 1;
		trans->num_targets++;
		break;
	case DT_ROLE_BE_WRITTEN:
		trans->num_targets++;
		break;
	}
}

static void plan(struct dt_trans *trans)
{
	/* One request beside those that wait for the next receive; the memory info is one too. */
	trans->needs = (struct dt_link_needs){
		.requests = 1, .recv_segs = 1, .send_segs = 1, .qos = trans->params->qos
	};
	for (uint32_t i = 0; i < trans->params->num_ops; i++)
		plan_op(trans, i);
	trans->needs.recvs = trans->num_recvs + 1;
}

/* Checked before anything is allocated: a client decides how much its server allocates. */
static int check_sizes(const struct dt_trans *trans)
{
	const DAT_IA_ATTR *attr = &trans->ia->attr;
	uint64_t bytes = 0, available;

	for (uint32_t i = 0; i < trans->params->num_ops; i++) {
		const struct dt_op *op = &trans->params->ops[i];
		uint64_t size = (uint64_t)op->seg_size * op->num_segs;
		uint64_t limit =
			op->xfer == DT_XFER_SR ? attr->max_message_size : attr->max_rdma_size;

		if (size > limit)
			return dt_fail(trans->actor,
				       "op %u: buffer too large: 0x%llx (maximum: 0x%llx bytes)", i,
				       (unsigned long long)size, (unsigned long long)limit);
		bytes += size;
	}
	bytes *= dt_trans_count(trans);
	available = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	if (bytes > available)
		return dt_fail(trans->actor,
			       "%llu bytes of buffers needed, more than half of the memory here",
			       (unsigned long long)bytes);
	return 0;
}

/* ---- endpoints and their buffers ---- */

static DAT_MEM_PRIV_FLAGS privileges_of(const struct dt_trans *trans, enum dt_role role)
{
	/* Some transports place what a read brings by a write of the peer (LMR-28). */
	bool read_is_write = trans->ia->provider.rdma_write_for_rdma_read_req;

	switch (role) {
	case DT_ROLE_RECV:
		return DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	case DT_ROLE_READ:
		return (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
					    (read_is_write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : 0));
	case DT_ROLE_BE_READ:
		return (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_READ_FLAG |
					    DAT_MEM_PRIV_REMOTE_READ_FLAG);
	case DT_ROLE_BE_WRITTEN:
		return (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
					    DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	default:
		return DAT_MEM_PRIV_LOCAL_READ_FLAG;
	}
}

static int create_pools(struct dt_trans_thread *thread, struct dt_trans_ep *ep)
{
	const struct dt_trans *trans = thread->trans;

	for (uint32_t i = 0; i < trans->params->num_ops; i++) {
		const struct dt_op *op = &trans->params->ops[i];
		enum dt_role role = trans->roles[i];
		bool target = role == DT_ROLE_BE_READ || role == DT_ROLE_BE_WRITTEN;

		if (dt_pool_create(&thread->actor, &ep->ops[i].pool, trans->ia, trans->pz,
				   op->num_segs, op->seg_size, !target, privileges_of(trans, role)))
			return -1;
	}
	return 0;
}

static int create_ep(struct dt_trans_thread *thread, struct dt_trans_ep *ep)
{
	const struct dt_trans *trans = thread->trans;
	struct dt_actor *actor = &thread->actor;
	const uint32_t head = DT_HEADER_SIZE + 4;

	ep->ops = calloc(trans->params->num_ops, sizeof(*ep->ops));
	if (!ep->ops)
		return dt_fail(actor, "no memory for EP context");
	if (dt_pool_create(actor, &ep->memory_out, trans->ia, trans->pz, 1,
			   head + 16 * trans->num_targets, false, DAT_MEM_PRIV_LOCAL_READ_FLAG) ||
	    dt_pool_create(actor, &ep->memory_in, trans->ia, trans->pz, 1,
			   head + 16 * trans->peer_targets, true, DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ||
	    create_pools(thread, ep) ||
	    dt_link_create(actor, &ep->link, trans->ia, trans->pz, &thread->evds, &trans->needs))
		return -1;
	return dt_trans_post_recvs(thread, ep);
}

static void destroy_ep(struct dt_trans_thread *thread, struct dt_trans_ep *ep)
{
	dt_link_free(&thread->actor, &ep->link);
	for (uint32_t i = 0; ep->ops && i < thread->trans->params->num_ops; i++)
		dt_pool_destroy(&thread->actor, &ep->ops[i].pool);
	dt_pool_destroy(&thread->actor, &ep->memory_in);
	dt_pool_destroy(&thread->actor, &ep->memory_out);
	free(ep->ops);
	ep->ops = NULL;
}

/* ---- threads ---- */

static int create_cno(struct dt_trans_thread *thread)
{
	DAT_OS_WAIT_PROXY_AGENT no_agent = { NULL, NULL };
	DAT_RETURN ret;

	if (!thread->trans->params->cno)
		return 0;
	ret = dat_cno_create(thread->trans->ia->handle, no_agent, &thread->cno);
	if (ret == DAT_SUCCESS)
		return 0;
	thread->cno = DAT_HANDLE_NULL;
	return dt_fail_dat(&thread->actor, ret, "dat_cno_create");
}

static void set_reapers(struct dt_trans_thread *thread)
{
	enum dt_reap_mode mode = DT_REAP_WAIT;

	if (thread->trans->params->poll)
		mode = DT_REAP_POLL;
	else if (thread->trans->params->cno)
		mode = DT_REAP_CNO;
	thread->recv = (struct dt_reaper){ mode, thread->evds.recv, thread->cno };
	thread->request = (struct dt_reaper){ mode, thread->evds.request, thread->cno };
}

static int create_evds(struct dt_trans_thread *thread)
{
	const struct dt_trans *trans = thread->trans;
	struct dt_actor *actor = &thread->actor;
	uint32_t eps = trans->eps_per_thread;

	if (create_cno(thread) ||
	    dt_evd_create(actor, trans->ia, "recv", eps * trans->needs.recvs, thread->cno,
			  DAT_EVD_DTO_FLAG, &thread->evds.recv) ||
	    dt_evd_create(actor, trans->ia, "request", eps * trans->needs.requests, thread->cno,
			  DAT_EVD_DTO_FLAG, &thread->evds.request))
		return -1;
	set_reapers(thread);
	if (trans->am_server) {
		thread->evds.cm = trans->server_cm;
		return 0;
	}
	return dt_evd_create(actor, trans->ia, "conn", 2 * eps, DAT_HANDLE_NULL,
			     DAT_EVD_CONNECTION_FLAG, &thread->evds.cm);
}

static int create_thread(struct dt_trans *trans, uint32_t index)
{
	struct dt_trans_thread *thread = &trans->threads[index];

	thread->trans = trans;
	thread->index = index;
	dt_actor_init(&thread->actor, "%s/%u", trans->actor->who, index);
	thread->eps = calloc(trans->eps_per_thread, sizeof(*thread->eps));
	if (!thread->eps)
		return dt_fail(&thread->actor, "no memory for EP context");
	if (create_evds(thread))
		return -1;
	while (thread->num_eps < trans->eps_per_thread) {
		struct dt_trans_ep *ep = &thread->eps[thread->num_eps++];

		ep->index = index * trans->eps_per_thread + thread->num_eps - 1;
		if (create_ep(thread, ep))
			return -1;
	}
	dt_trans_first_fill(thread);
	return 0;
}

static void destroy_thread(struct dt_trans_thread *thread)
{
	struct dt_actor *actor = &thread->actor;

	for (uint32_t i = 0; i < thread->num_eps; i++)
		destroy_ep(thread, &thread->eps[i]);
	if (!thread->trans->am_server)
		dt_evd_free(actor, "conn", &thread->evds.cm);
	dt_evd_free(actor, "request", &thread->evds.request);
	dt_evd_free(actor, "recv", &thread->evds.recv);
	if (thread->cno && dat_cno_free(thread->cno) != DAT_SUCCESS)
		dt_fail(actor, "dat_cno_free error");
	free(thread->eps);
}

static void adopt_failures(struct dt_trans *trans)
{
	for (uint32_t i = 0; i < trans->params->threads; i++)
		dt_adopt_failure(trans->actor, &trans->threads[i].actor);
}

int dt_trans_create(struct dt_trans *trans, struct dt_actor *actor, const struct dt_ia *ia,
		    DAT_PZ_HANDLE pz, const struct dt_params *params, uint32_t eps,
		    DAT_EVD_HANDLE server_cm, atomic_bool *stop)
{
	memset(trans, 0, sizeof(*trans));
	trans->actor = actor;
	trans->ia = ia;
	trans->pz = pz;
	trans->params = params;
	trans->eps_per_thread = eps;
	trans->am_server = server_cm != DAT_HANDLE_NULL;
	trans->server_cm = server_cm;
	trans->stop = stop;
	plan(trans);
	if (check_sizes(trans))
		return -1;
	if (dt_gate_init(&trans->gate, params->threads))
		return dt_fail(actor, "no memory");
	trans->threads = calloc(params->threads, sizeof(*trans->threads));
	if (!trans->threads) {
		dt_gate_destroy(&trans->gate);
		return dt_fail(actor, "no memory");
	}
	for (uint32_t i = 0; i < params->threads; i++) {
		if (create_thread(trans, i)) {
			adopt_failures(trans);
			dt_trans_destroy(trans);
			return -1;
		}
	}
	return 0;
}

void dt_trans_destroy(struct dt_trans *trans)
{
	if (!trans->threads)
		return;
	for (uint32_t i = 0; i < trans->params->threads; i++)
		if (trans->threads[i].trans)
			destroy_thread(&trans->threads[i]);
	adopt_failures(trans);
	dt_gate_destroy(&trans->gate);
	free(trans->threads);
	trans->threads = NULL;
}

uint32_t dt_trans_count(const struct dt_trans *trans)
{
	return trans->params->threads * trans->eps_per_thread;
}

static struct dt_trans_ep *ep_at(const struct dt_trans *trans, uint32_t index)
{
	return &trans->threads[index / trans->eps_per_thread].eps[index % trans->eps_per_thread];
}

struct dt_link *dt_trans_link(void *trans, uint32_t index)
{
	return &ep_at(trans, index)->link;
}

/* ---- connecting, on the client's side ---- */

static int start_connecting(struct dt_trans_thread *thread, struct dt_trans_ep *ep,
			    uint64_t deadline)
{
	const struct dt_trans *trans = thread->trans;
	const struct dt_hello hello = { trans->reply.session, ep->index };
	DAT_CONN_QUAL port = trans->reply.port + (trans->reply.port_per_ep ? ep->index : 0);

	dt_debug(1, "%s: Connect #%u on port 0x%llx", thread->actor.who, ep->index,
		 (unsigned long long)port);
	return dt_link_connect(&thread->actor, &ep->link, &trans->address, port, deadline,
			       trans->params->qos, &hello);
}

/* The server answers with what it was told; that shows that private data passes both ways. */
static int check_answer(struct dt_trans_thread *thread, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	const struct dt_trans *trans = thread->trans;
	struct dt_hello hello;

	if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return dt_fail(&thread->actor, "bad connection event: %s",
			       dt_event_name(event->event_number));
	if (dt_hello_decode(&hello, data->private_data, data->private_data_size) ||
	    hello.session != trans->reply.session || hello.index >= dt_trans_count(trans) ||
	    ep_at(trans, hello.index)->link.ep != data->ep_handle)
		return dt_fail(&thread->actor, "--Private Data mismatch!");
	dt_debug(1, "%s: Got Connection #%u", thread->actor.who, hello.index);
	return 0;
}

/* Not all at once: a listener has a backlog, and refuses what does not fit in (PSP-4). */
static uint32_t connect_window(const struct dt_trans *trans)
{
	uint32_t window = MAX_CONNECTING / trans->params->threads;

	return window ? window : 1;
}

static int connect_all(struct dt_trans_thread *thread)
{
	uint64_t deadline = dt_deadline_s(thread->trans->params->timeout_s);
	uint32_t window = connect_window(thread->trans), started = 0;
	struct dt_link *link;
	DAT_EVENT event;
	int ret;

	for (uint32_t up = 0; up < thread->num_eps; up++) {
		for (; started < thread->num_eps && started - up < window; started++)
			if (start_connecting(thread, &thread->eps[started], deadline))
				return -1;
		ret = dt_cm_wait(&thread->actor, thread->evds.cm, deadline, &event, &link);
		if (ret > 0)
			return dt_fail(&thread->actor, "not connected within the time limit");
		if (ret || check_answer(thread, &event))
			return -1;
	}
	return 0;
}

/* ---- running ---- */

static void set_stop_on(struct dt_trans *trans, int failed)
{
	if (failed)
		atomic_store(trans->stop, true);
}

static bool stopped(const struct dt_trans *trans)
{
	return atomic_load(trans->stop);
}

static int thread_run(struct dt_trans_thread *thread)
{
	struct dt_trans *trans = thread->trans;

	if (!trans->am_server)
		set_stop_on(trans, connect_all(thread));
	dt_gate_arrive(&trans->gate);
	if (stopped(trans))
		return -1;
	atomic_store(&trans->connected, true);
	set_stop_on(trans, dt_trans_exchange(thread));
	dt_gate_arrive(&trans->gate);
	if (stopped(trans))
		return -1;
	return dt_trans_iterate(thread);
}

static void break_links(struct dt_trans_thread *thread)
{
	atomic_store(thread->trans->stop, true);
	for (uint32_t i = 0; i < thread->num_eps; i++)
		dt_link_disconnect(&thread->actor, &thread->eps[i].link, false);
}

/* A side that fails breaks its connections: the other does not wait for it in vain. */
static void *thread_main(void *arg)
{
	struct dt_trans_thread *thread = arg;

	thread->completed = !thread_run(thread);
	if (!thread->completed)
		break_links(thread);
	return NULL;
}

void dt_trans_break(struct dt_trans *trans)
{
	for (uint32_t i = 0; i < trans->params->threads; i++)
		break_links(&trans->threads[i]);
}

int dt_trans_run(struct dt_trans *trans)
{
	uint32_t threads = trans->params->threads, started = 0, completed = 0;

	for (; started < threads; started++)
		if (pthread_create(&trans->threads[started].thread, NULL, thread_main,
				   &trans->threads[started]))
			break;
	if (started < threads) {
		dt_fail(trans->actor, "no thread %u of %u could be started", started, threads);
		set_stop_on(trans, -1);
		dt_gate_expect_less(&trans->gate, threads - started);
	}
	for (uint32_t i = 0; i < started; i++) {
		pthread_join(trans->threads[i].thread, NULL);
		completed += trans->threads[i].completed;
	}
	adopt_failures(trans);
	if (completed == threads)
		return 0;
	return trans->actor->failed ? -1 : dt_fail(trans->actor, "stopped before its end");
}

static void close_thread(struct dt_trans_thread *thread, uint64_t deadline, bool graceful)
{
	int ret = 0;

	for (uint32_t i = 0; i < thread->num_eps && !thread->trans->am_server; i++)
		dt_link_disconnect(&thread->actor, &thread->eps[i].link, graceful);
	for (uint32_t i = 0; i < thread->num_eps && !ret; i++) {
		struct dt_link *link = &thread->eps[i].link;

		ret = dt_link_await_down(&thread->actor, link, thread->evds.cm, deadline);
		if (!ret && graceful && link->ended_by &&
		    link->ended_by != DAT_CONNECTION_EVENT_DISCONNECTED)
			dt_warn(&thread->actor, "bad disconnect event: %s",
				dt_event_name(link->ended_by));
	}
	if (ret > 0)
		dt_fail(&thread->actor, "a connection did not end within the time limit");
	if (ret)
		for (uint32_t i = 0; i < thread->num_eps; i++)
			dt_link_disconnect(&thread->actor, &thread->eps[i].link, false);
}

void dt_trans_close(struct dt_trans *trans)
{
	uint64_t deadline = dt_deadline_s(trans->params->timeout_s);
	bool graceful = !trans->actor->failed;

	for (uint32_t i = 0; i < trans->params->threads; i++)
		close_thread(&trans->threads[i], deadline, graceful);
	adopt_failures(trans);
}

/* ---- results ---- */

static void print_bytes(const char *label, uint64_t bytes, double seconds)
{
	dt_say("%-17s: %10.2f MB - %10.2f MB/Sec", label, (double)bytes / MB,
	       (double)bytes / MB / seconds);
}

static struct dt_trans_stats sum_up(const struct dt_trans *trans)
{
	struct dt_trans_stats sum = trans->threads[0].stats;

	for (uint32_t i = 1; i < trans->params->threads; i++) {
		const struct dt_trans_stats *stats = &trans->threads[i].stats;

		sum.wqes += stats->wqes;
		sum.sent += stats->sent;
		sum.received += stats->received;
		sum.read += stats->read;
		sum.written += stats->written;
		if (stats->started_ns < sum.started_ns)
			sum.started_ns = stats->started_ns;
		if (stats->ended_ns > sum.ended_ns)
			sum.ended_ns = stats->ended_ns;
	}
	return sum;
}

void dt_trans_print(const struct dt_trans *trans)
{
	struct dt_trans_stats sum = sum_up(trans);
	double seconds = (double)(sum.ended_ns - sum.started_ns) / 1e9;

	if (seconds <= 0) {
		dt_say("----- Test completed successfully, but cannot calculate stats as not\n"
		       "----- enough time has lapsed.\n"
		       "----- Try running the test with more iterations.");
		return;
	}
	dt_say("----- Stats ---- : %u threads, %u EPs", trans->params->threads,
	       trans->eps_per_thread);
	dt_say("Total WQE        : %10.2f WQE/Sec", (double)sum.wqes / seconds);
	dt_say("Total Time       : %10.2f sec", seconds);
	print_bytes("Total Send", sum.sent, seconds);
	print_bytes("Total Recv", sum.received, seconds);
	print_bytes("Total RDMA Read", sum.read, seconds);
	print_bytes("Total RDMA Write", sum.written, seconds);
}

void dt_trans_result(const struct dt_trans *trans, struct dt_result *result)
{
	struct dt_trans_stats sum = sum_up(trans);

	result->threads = trans->params->threads;
	result->eps = trans->eps_per_thread;
	result->count = sum.wqes;
	result->seconds = (double)(sum.ended_ns - sum.started_ns) / 1e9;
	result->sent = sum.sent;
	result->received = sum.received;
	result->read = sum.read;
	result->written = sum.written;
}
