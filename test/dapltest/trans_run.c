/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One thread of the transaction test at work. All endpoints of a thread share its EVDs; a cookie
 * says whose completion it is. Per endpoint completions come in posting order (DTO-65), which is
 * checked.
 *
 * Every receive is posted again as soon as it is consumed. As each side sends at least once in
 * every iteration, no send ever finds its receive missing: to send operation k of the next
 * iteration a side has to have heard from the other since that one consumed k of this.
 */
#include "trans.h"

#include "clock.h"

/* The message that precedes the operations, as an operation number in a cookie. */
#define MEMORY_OP 255

static uint32_t timeout_of(const struct dt_trans_thread *thread)
{
	return thread->trans->params->timeout_s;
}

static uint32_t op_size(const struct dt_op *op)
{
	return op->seg_size * op->num_segs;
}

static DAT_DTO_COOKIE make_cookie(uint32_t ep, uint32_t op, uint32_t sequence)
{
	return (DAT_DTO_COOKIE){ .as_64 = (uint64_t)ep << 40 | (uint64_t)op << 32 | sequence };
}

static uint32_t index_in_thread(const struct dt_trans_thread *thread, const struct dt_trans_ep *ep)
{
	return (uint32_t)(ep - thread->eps);
}

/* The same on both sides, for the data that crosses in one operation of one iteration. */
static uint64_t seed_of(const struct dt_trans_ep *ep, uint32_t op, uint32_t iteration)
{
	uint64_t x = (uint64_t)ep->index << 40 | (uint64_t)op << 32 | iteration;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static int check(struct dt_trans_thread *thread, const struct dt_trans_ep *ep, uint32_t op_index,
		 uint32_t iteration)
{
	const struct dt_op *op = &thread->trans->params->ops[op_index];
	struct dt_mismatch bad;

	if (dt_pool_check(&ep->ops[op_index].pool, seed_of(ep, op_index, iteration), &bad))
		return 0;
	return dt_fail(&thread->actor,
		       "Validation Error :: iteration %u EP %u op %u (%s %s %u x %u bytes) "
		       "seg=%u byte=%u ptr=%p: Expected %02x Got %02x",
		       iteration, ep->index, op_index, op->by_server ? "server" : "client",
		       dt_xfer_name(op->xfer), op->num_segs, op->seg_size, bad.segment, bad.byte,
		       (const void *)bad.where, bad.expected, bad.got);
}

/* ---- completions ---- */

static struct dt_trans_ep *ep_of(struct dt_trans_thread *thread, const char *what,
				 const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	uint64_t index = dto->user_cookie.as_64 >> 40;

	if (index >= thread->num_eps) {
		dt_fail(&thread->actor, "%s: Cookie mismatch (got %llx)", what,
			(unsigned long long)dto->user_cookie.as_64);
		return NULL;
	}
	if (dto->ep_handle != thread->eps[index].link.ep) {
		dt_fail(&thread->actor, "%s: EndPoint mismatch (got %p wanted %p)", what,
			(void *)dto->ep_handle, (void *)thread->eps[index].link.ep);
		return NULL;
	}
	return &thread->eps[index];
}

static int check_completion(struct dt_trans_thread *thread, const char *what,
			    const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t sequence,
			    uint32_t length)
{
	if ((uint32_t)dto->user_cookie.as_64 != sequence)
		return dt_fail(&thread->actor, "%s: Cookie mismatch (got %x wanted %x)", what,
			       (uint32_t)dto->user_cookie.as_64, sequence);
	if (dto->transfered_length != length)
		return dt_fail(&thread->actor, "%s: Length mismatch (xfer 0x%x wanted 0x%x)", what,
			       (unsigned int)dto->transfered_length, length);
	return 0;
}

static uint32_t memory_size(uint32_t targets)
{
	return DT_HEADER_SIZE + 4 + 16 * targets;
}

/* The length a message of this operation must have, seen from the side that sends or receives. */
static uint32_t message_size(const struct dt_trans *trans, uint32_t op, bool receiving)
{
	if (op != MEMORY_OP)
		return op_size(&trans->params->ops[op]);
	return memory_size(receiving ? trans->peer_targets : trans->num_targets);
}

static int reap_request(struct dt_trans_thread *thread)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto;
	struct dt_trans_ep *ep;
	uint32_t op;

	if (dt_reap_success(&thread->actor, &thread->request, "request",
			    dt_deadline_s(timeout_of(thread)), &dto))
		return -1;
	ep = ep_of(thread, "request", &dto);
	op = (uint32_t)(dto.user_cookie.as_64 >> 32 & 0xff);
	if (!ep || check_completion(thread, "request", &dto, ep->requests_done,
				    message_size(thread->trans, op, false)))
		return -1;
	ep->requests_done++;
	return 0;
}

static int drain_requests(struct dt_trans_thread *thread, const struct dt_trans_ep *ep)
{
	while (ep->requests_done != ep->requests_posted)
		if (reap_request(thread))
			return -1;
	return 0;
}

static uint32_t expected_recv(const struct dt_trans *trans, const struct dt_trans_ep *ep)
{
	if (!ep->recvs_done)
		return MEMORY_OP;
	return trans->recv_order[(ep->recvs_done - 1) % trans->num_recvs];
}

static int reap_recv(struct dt_trans_thread *thread)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto;
	struct dt_trans_ep *ep;

	if (dt_reap_success(&thread->actor, &thread->recv, "recv",
			    dt_deadline_s(timeout_of(thread)), &dto))
		return -1;
	ep = ep_of(thread, "recv", &dto);
	if (!ep ||
	    check_completion(thread, "recv", &dto, ep->recvs_done,
			     message_size(thread->trans, expected_recv(thread->trans, ep), true)))
		return -1;
	ep->recvs_done++;
	return 0;
}

static int await_recv(struct dt_trans_thread *thread, struct dt_trans_ep *ep)
{
	while (ep->recvs_done == ep->recvs_taken)
		if (reap_recv(thread))
			return -1;
	ep->recvs_taken++;
	return 0;
}

/* ---- posting ---- */

static int post_recv(struct dt_trans_thread *thread, struct dt_trans_ep *ep, uint32_t op,
		     struct dt_pool *pool)
{
	DAT_DTO_COOKIE cookie = make_cookie(index_in_thread(thread, ep), op, ep->recvs_posted);
	DAT_RETURN ret;

	ret = dat_ep_post_recv(ep->link.ep, (DAT_COUNT)pool->num_segs, pool->iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(&thread->actor, ret, "Test Error: dat_ep_post_recv");
	ep->recvs_posted++;
	return 0;
}

static int post_send(struct dt_trans_thread *thread, struct dt_trans_ep *ep, uint32_t op,
		     struct dt_pool *pool)
{
	DAT_DTO_COOKIE cookie = make_cookie(index_in_thread(thread, ep), op, ep->requests_posted);
	DAT_RETURN ret;

	ret = dat_ep_post_send(ep->link.ep, (DAT_COUNT)pool->num_segs, pool->iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(&thread->actor, ret, "Test Error: dat_ep_post_send");
	ep->requests_posted++;
	return 0;
}

static int post_rdma(struct dt_trans_thread *thread, struct dt_trans_ep *ep, uint32_t op,
		     bool is_read)
{
	struct dt_trans_op *part = &ep->ops[op];
	DAT_DTO_COOKIE cookie = make_cookie(index_in_thread(thread, ep), op, ep->requests_posted);
	DAT_RETURN ret;

	ret = (is_read ? dat_ep_post_rdma_read : dat_ep_post_rdma_write)(
		ep->link.ep, (DAT_COUNT)part->pool.num_segs, part->pool.iov, cookie, &part->remote,
		DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return dt_fail_dat(&thread->actor, ret, "Test Error: dat_ep_post_rdma_%s",
				   is_read ? "read" : "write");
	ep->requests_posted++;
	return 0;
}

int dt_trans_post_recvs(struct dt_trans_thread *thread, struct dt_trans_ep *ep)
{
	const struct dt_trans *trans = thread->trans;

	if (post_recv(thread, ep, MEMORY_OP, &ep->memory_in))
		return -1;
	for (uint32_t i = 0; i < trans->num_recvs; i++) {
		uint32_t op = trans->recv_order[i];

		if (post_recv(thread, ep, op, &ep->ops[op].pool))
			return -1;
	}
	return 0;
}

/* ---- memory ---- */

/* Gives the peer what it will read, and blank room for what it will write, in an iteration. */
static void refill_targets(const struct dt_trans *trans, struct dt_trans_ep *ep, uint32_t iteration)
{
	for (uint32_t op = 0; op < trans->params->num_ops; op++) {
		if (trans->roles[op] == DT_ROLE_BE_READ)
			dt_pool_fill(&ep->ops[op].pool, seed_of(ep, op, iteration));
		else if (trans->roles[op] == DT_ROLE_BE_WRITTEN)
			dt_pool_clear(&ep->ops[op].pool);
	}
}

void dt_trans_first_fill(struct dt_trans_thread *thread)
{
	for (uint32_t i = 0; i < thread->num_eps; i++)
		refill_targets(thread->trans, &thread->eps[i], 0);
}

static int send_memory(struct dt_trans_thread *thread, struct dt_trans_ep *ep)
{
	const struct dt_trans *trans = thread->trans;
	DAT_RMR_TRIPLET targets[DT_ALL_OPS];
	uint32_t count = 0;

	for (uint32_t op = 0; op < trans->params->num_ops; op++)
		if (trans->roles[op] == DT_ROLE_BE_READ || trans->roles[op] == DT_ROLE_BE_WRITTEN)
			targets[count++] = dt_pool_remote(&ep->ops[op].pool);
	dt_memory_encode(targets, count, ep->memory_out.memory);
	return post_send(thread, ep, MEMORY_OP, &ep->memory_out);
}

static int recv_memory(struct dt_trans_thread *thread, struct dt_trans_ep *ep)
{
	const struct dt_trans *trans = thread->trans;
	DAT_RMR_TRIPLET targets[DT_ALL_OPS];
	uint32_t count = 0;
	int type;

	if (await_recv(thread, ep))
		return -1;
	type = dt_message_check(&thread->actor, ep->memory_in.memory,
				memory_size(trans->peer_targets));
	if (type < 0)
		return -1;
	if (type != DT_MSG_MEMORY ||
	    dt_memory_decode(targets, trans->peer_targets, ep->memory_in.memory))
		return dt_fail(&thread->actor, "no usable memory info from the other side");
	for (uint32_t op = 0; op < trans->params->num_ops; op++) {
		if (trans->roles[op] != DT_ROLE_READ && trans->roles[op] != DT_ROLE_WRITE)
			continue;
		ep->ops[op].remote = targets[count++];
		dt_debug(2, "RemoteMemInfo va=%llx, ctx=%x",
			 (unsigned long long)ep->ops[op].remote.virtual_address,
			 (unsigned int)ep->ops[op].remote.rmr_context);
	}
	return 0;
}

/*
 * The client speaks first. With iWARP the accepting side has to wait for a message before it sends
 * one (RFC 5044, 7.1.2, rule 4), and not every device keeps what it is given until then.
 */
static int exchange(struct dt_trans_thread *thread, struct dt_trans_ep *ep)
{
	if (recv_memory(thread, ep) || (thread->trans->am_server && send_memory(thread, ep)))
		return -1;
	return drain_requests(thread, ep);
}

int dt_trans_exchange(struct dt_trans_thread *thread)
{
	for (uint32_t i = 0; i < thread->num_eps && !thread->trans->am_server; i++)
		if (send_memory(thread, &thread->eps[i]))
			return -1;
	for (uint32_t i = 0; i < thread->num_eps; i++)
		if (exchange(thread, &thread->eps[i]))
			return -1;
	return 0;
}

/* ---- the operations ---- */

static int do_send(struct dt_trans_thread *thread, uint32_t op, uint32_t iteration)
{
	const struct dt_params *params = thread->trans->params;

	for (uint32_t i = 0; i < thread->num_eps; i++) {
		struct dt_trans_ep *ep = &thread->eps[i];

		if (params->validate)
			dt_pool_fill(&ep->ops[op].pool, seed_of(ep, op, iteration));
		if (post_send(thread, ep, op, &ep->ops[op].pool))
			return -1;
	}
	if (params->ops[op].reap_on_recv)
		return 0;
	for (uint32_t i = 0; i < thread->num_eps; i++)
		if (drain_requests(thread, &thread->eps[i]))
			return -1;
	return 0;
}

/* The receive after which the peer's RDMA of this iteration is known to have arrived. */
static bool is_sync_point(const struct dt_trans *trans, uint32_t op)
{
	uint32_t first = trans->params->num_ops - DT_SYNC_OPS;

	return trans->params->validate && op == (trans->am_server ? first + 1 : first);
}

static int sync_targets(struct dt_trans_thread *thread, struct dt_trans_ep *ep, uint32_t iteration)
{
	const struct dt_trans *trans = thread->trans;

	for (uint32_t op = 0; op < trans->params->num_ops; op++)
		if (trans->roles[op] == DT_ROLE_BE_WRITTEN && check(thread, ep, op, iteration))
			return -1;
	refill_targets(trans, ep, iteration + 1);
	return 0;
}

static int recv_one(struct dt_trans_thread *thread, struct dt_trans_ep *ep, uint32_t op,
		    uint32_t iteration)
{
	struct dt_pool *pool = &ep->ops[op].pool;

	if (await_recv(thread, ep))
		return -1;
	if (thread->trans->params->validate) {
		if (check(thread, ep, op, iteration))
			return -1;
		dt_pool_clear(pool);
	}
	if (post_recv(thread, ep, op, pool))
		return -1;
	if (is_sync_point(thread->trans, op) && sync_targets(thread, ep, iteration))
		return -1;
	return drain_requests(thread, ep);
}

static int do_recv(struct dt_trans_thread *thread, uint32_t op, uint32_t iteration)
{
	for (uint32_t i = 0; i < thread->num_eps; i++)
		if (recv_one(thread, &thread->eps[i], op, iteration))
			return -1;
	return 0;
}

static int do_rdma(struct dt_trans_thread *thread, uint32_t op, uint32_t iteration, bool is_read)
{
	const struct dt_params *params = thread->trans->params;

	for (uint32_t i = 0; i < thread->num_eps; i++) {
		struct dt_trans_ep *ep = &thread->eps[i];

		if (params->validate && !is_read)
			dt_pool_fill(&ep->ops[op].pool, seed_of(ep, op, iteration));
		if (post_rdma(thread, ep, op, is_read))
			return -1;
	}
	for (uint32_t i = 0; i < thread->num_eps; i++) {
		struct dt_trans_ep *ep = &thread->eps[i];

		if (drain_requests(thread, ep))
			return -1;
		if (!params->validate || !is_read)
			continue;
		if (check(thread, ep, op, iteration))
			return -1;
		dt_pool_clear(&ep->ops[op].pool);
	}
	return 0;
}

/* RDMA counts on both sides: what the peer's operations move here is part of the load too. */
static void count_op(struct dt_trans_thread *thread, uint32_t op)
{
	uint64_t bytes = (uint64_t)op_size(&thread->trans->params->ops[op]) * thread->num_eps;
	struct dt_trans_stats *stats = &thread->stats;

	stats->wqes += thread->num_eps;
	switch (thread->trans->roles[op]) {
	case DT_ROLE_SEND:
		stats->sent += bytes;
		break;
	case DT_ROLE_RECV:
		stats->received += bytes;
		break;
	case DT_ROLE_READ:
	case DT_ROLE_BE_READ:
		stats->read += bytes;
		break;
	default:
		stats->written += bytes;
		break;
	}
}

static int do_op(struct dt_trans_thread *thread, uint32_t op, uint32_t iteration)
{
	count_op(thread, op);
	switch (thread->trans->roles[op]) {
	case DT_ROLE_SEND:
		return do_send(thread, op, iteration);
	case DT_ROLE_RECV:
		return do_recv(thread, op, iteration);
	case DT_ROLE_READ:
		return do_rdma(thread, op, iteration, true);
	case DT_ROLE_WRITE:
		return do_rdma(thread, op, iteration, false);
	default:
		return 0;
	}
}

static int iterate(struct dt_trans_thread *thread)
{
	const struct dt_trans *trans = thread->trans;

	for (uint32_t iteration = 0; iteration < trans->params->iterations; iteration++) {
		if (atomic_load_explicit(trans->stop, memory_order_relaxed))
			return -1;
		dt_debug(4, "%s: iteration: %u", thread->actor.who, iteration);
		if (!trans->am_server && !thread->index)
			dt_progress("iterations", iteration, trans->params->iterations);
		for (uint32_t op = 0; op < trans->params->num_ops; op++)
			if (do_op(thread, op, iteration))
				return -1;
	}
	for (uint32_t i = 0; i < thread->num_eps; i++)
		if (drain_requests(thread, &thread->eps[i]))
			return -1;
	return 0;
}

int dt_trans_iterate(struct dt_trans_thread *thread)
{
	dt_debug(1, "%s: Begin...", thread->actor.who);
	thread->stats.started_ns = dt_now_ns();
	if (iterate(thread))
		return -1;
	if (!thread->trans->am_server && !thread->index)
		dt_progress_end();
	thread->stats.ended_ns = dt_now_ns();
	dt_debug(1, "%s: End Successfully", thread->actor.who);
	return 0;
}
