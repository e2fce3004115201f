/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an end posts, as chance says. */
#include <string.h>

#include <dat2/dat_ib_extensions.h>

#include "test/sim/life.h"

static DAT_LMR_TRIPLET segment(const struct end *end, void *at, uint32_t length)
{
	return (DAT_LMR_TRIPLET){ (DAT_VADDR)(uintptr_t)at, length, end->host->key };
}

/* One piece, or two. */
static DAT_COUNT cut(const struct end *end, uint8_t *at, uint32_t length, DAT_LMR_TRIPLET *out)
{
	uint32_t first = length && sim_random(3) == 0 ? sim_random(length) : length;

	out[0] = segment(end, at, first);
	out[1] = segment(end, at + first, length - first);
	return first < length ? 2 : 1;
}

static struct post *next_post(struct posts *posts, enum op op, uint32_t length)
{
	struct post *post = &posts->post[(posts->first + posts->count) % QUEUE];

	*post = (struct post){ .op = op,
			       .length = length,
			       .slot = (posts->first + posts->count) % QUEUE,
			       .number = posts->posted };
	return post;
}

/* Counted before the call, since it may complete on another thread at once. */
static void begin_post(struct posts *posts)
{
	posts->count++;
	posts->posted++;
}

static bool end_post(struct end *end, struct posts *posts, const char *name, DAT_RETURN rc)
{
	if (judge_call(end, name, rc))
		return true;
	posts->count--;
	posts->posted--;
	return false;
}

static void post_shared(struct end *end)
{
	struct host *host = end->host;
	uint32_t slot = 0;
	DAT_DTO_COOKIE cookie;
	DAT_LMR_TRIPLET piece;

	while (slot < SHARED && host->posted[slot])
		slot++;
	if (slot == SHARED)
		return;
	cookie.as_64 = 0xffffull << 32 | (uint64_t)host->index << 16 | slot;
	piece = segment(end, host->pool[slot], BUFFER);
	host->posted[slot] = true;
	if (!judge_call(end, "dat_srq_post_recv", dat_srq_post_recv(host->srq, 1, &piece, cookie)))
		host->posted[slot] = false;
}

/* For messages of a peer that has ended. */
static bool in_time(const struct end *end)
{
	const struct life *life = &end->pair->life;

	return life->ending && end->left == STAYS && end->phase == PHASE_CONNECTED &&
	       sim_now - life->ended < world.unreceived_ms * 500000ull;
}

void life_post_recv(struct end *end)
{
	struct posts *posts = &end->recv;
	struct post *post = next_post(posts, OP_RECV, BUFFER);
	DAT_DTO_COOKIE cookie = { .as_64 = life_cookie(end, true, post->number) };
	DAT_LMR_TRIPLET piece[2];
	DAT_COUNT num;

	if (end->host->srq) {
		post_shared(end);
		return;
	}
	if (posts->count == QUEUE)
		return;
	num = cut(end, end->memory->in[post->slot], BUFFER, piece);
	begin_post(posts);
	if (end_post(end, posts, "dat_ep_post_recv",
		     dat_ep_post_recv(end->ep, num, piece, cookie, DAT_COMPLETION_DEFAULT_FLAG)) &&
	    in_time(end))
		end->receives_then = (uint32_t)posts->posted;
}

static uint32_t some_length(uint32_t most)
{
	static const uint32_t reach[] = { 16, 64, 256, 256, 1024, 4096, BUFFER };
	uint32_t below = reach[sim_random(sizeof(reach) / sizeof(*reach))];

	return sim_random(below < most ? below : most) + 1;
}

static void post_send(struct end *end, struct post *post, DAT_DTO_COOKIE cookie)
{
	struct window *window = &end->pair->end[!end->which].window;
	uint8_t *at = end->memory->out[post->slot];
	bool invalidates = post->op == OP_INVALIDATE;
	DAT_LMR_TRIPLET piece[2];
	DAT_COUNT num;
	DAT_RETURN rc;

	post->length = some_length(BUFFER);
	judge_fill(at, judge_pattern(end, OP_SEND, end->sent), post->length);
	num = cut(end, at, post->length, piece);
	end->message[end->sent++] = (struct message){ .op = post->op,
						      .length = post->length,
						      .writes = end->writes,
						      .window = invalidates ? window->key : 0 };
	window->dying |= invalidates;
	rc = invalidates
		     ? dat_ep_post_send_with_invalidate(end->ep, num, piece, cookie,
							DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
							window->key)
		     : dat_ep_post_send(end->ep, num, piece, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (!end_post(end, &end->request, "dat_ep_post_send", rc))
		end->sent--;
}

static DAT_RMR_TRIPLET remote(const struct end *peer, void *at, uint32_t length)
{
	return (DAT_RMR_TRIPLET){ (DAT_VADDR)(uintptr_t)at, length, peer->host->remote_key };
}

/* Through the peer's window, where there is one that allows it. */
static bool use_window(const struct end *peer, DAT_MEM_PRIV_FLAGS right, DAT_RMR_TRIPLET *there)
{
	const struct window *window = &peer->window;

	if (!window->key || window->dying || !(window->rights & right) || !sim_random(4))
		return false;
	there->rmr_context = window->key;
	return true;
}

static DAT_RETURN write_immediate(struct end *end, DAT_COUNT num, DAT_LMR_TRIPLET *piece,
				  DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *target)
{
	uint32_t number = end->sent++, immediate = sim_random(UINT32_MAX);
	DAT_RETURN rc;

	end->message[number] = (struct message){ .op = OP_IMMEDIATE,
						 .length = (uint32_t)target->segment_length,
						 .immediate = immediate,
						 .writes = end->writes + 1 };
	rc = dat_ib_post_rdma_write_immed(end->ep, num, piece, cookie, target, immediate,
					  DAT_COMPLETION_DEFAULT_FLAG);
	if (rc != DAT_SUCCESS)
		end->sent--;
	return rc;
}

static void post_write(struct end *end, struct post *post, DAT_DTO_COOKIE cookie)
{
	struct end *peer = &end->pair->end[!end->which];
	uint8_t *at = end->memory->out[post->slot];
	uint32_t slot = end->writes;
	DAT_RMR_TRIPLET target;
	DAT_LMR_TRIPLET piece[2];
	DAT_COUNT num;
	DAT_RETURN rc;

	post->length = some_length(TARGET);
	judge_fill(at, judge_pattern(end, OP_WRITE, slot), post->length);
	target = remote(peer, peer->memory->target[slot], post->length);
	if (use_window(peer, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &target))
		peer->window.writers = slot + 1;
	num = cut(end, at, post->length, piece);
	end->pair->life.write_length[end->which][slot] = post->length;
	rc = post->op == OP_IMMEDIATE ? write_immediate(end, num, piece, cookie, &target)
				      : dat_ep_post_rdma_write(end->ep, num, piece, cookie, &target,
							       DAT_COMPLETION_DEFAULT_FLAG);
	if (end_post(end, &end->request, "dat_ep_post_rdma_write", rc))
		end->writes++;
}

/* Of what is there from the beginning, or of what this end has written. */
static void post_read(struct end *end, struct post *post, DAT_DTO_COOKIE cookie)
{
	struct end *peer = &end->pair->end[!end->which];
	uint32_t slot = end->writes ? sim_random(end->writes) : 0;
	DAT_RMR_TRIPLET source;
	DAT_LMR_TRIPLET piece;

	post->length = some_length(TARGET);
	source = remote(peer, peer->memory->source, post->length);
	if (end->writes && sim_random(2)) {
		post->target = slot + 1;
		post->length = 1 + sim_random(end->pair->life.write_length[end->which][slot]);
		source = remote(peer, peer->memory->target[slot], post->length);
		post->window = use_window(peer, DAT_MEM_PRIV_REMOTE_READ_FLAG, &source);
	}
	peer->window.readers += post->window;
	piece = segment(end, end->memory->out[post->slot], post->length);
	if (!end_post(end, &end->request, "dat_ep_post_rdma_read",
		      dat_ep_post_rdma_read(end->ep, 1, &piece, cookie, &source,
					    DAT_COMPLETION_DEFAULT_FLAG)))
		peer->window.readers -= post->window;
}

static void post_add(struct end *end, struct post *post, DAT_DTO_COOKIE cookie)
{
	struct end *peer = &end->pair->end[!end->which];
	DAT_RMR_TRIPLET target = remote(peer, &peer->memory->counter, 8);
	DAT_LMR_TRIPLET piece = segment(end, end->memory->out[post->slot], 8);

	post->length = 1 + sim_random(1000);
	end_post(end, &end->request, "dat_ib_post_fetch_and_add",
		 dat_ib_post_fetch_and_add(end->ep, post->length, &piece, cookie, &target,
					   DAT_COMPLETION_DEFAULT_FLAG));
}

/* ---- Windows ---- */

static bool may_bind(const struct window *window)
{
	return window->rmr && !window->binding && !window->next && !window->dying &&
	       !window->readers && window->arrived >= window->writers;
}

/* The context is known when the call returns, and valid when the bind has completed. */
static void settle_bind(struct window *window)
{
	if (window->binding || !window->next)
		return;
	window->dead = window->old ? window->old : window->dead;
	window->key = window->next;
	window->next = 0;
}

void life_bound(struct end *end, bool ok)
{
	end->window.binding = false;
	end->window.dying |= !ok;
	settle_bind(&end->window);
}

static void post_bind(struct end *end, DAT_RMR_COOKIE cookie)
{
	static const DAT_MEM_PRIV_FLAGS rights[] = { DAT_MEM_PRIV_ALL_FLAG, DAT_MEM_PRIV_ALL_FLAG,
						     DAT_MEM_PRIV_REMOTE_READ_FLAG,
						     DAT_MEM_PRIV_REMOTE_WRITE_FLAG };
	DAT_LMR_TRIPLET range = segment(end, end->memory->target, sizeof(end->memory->target));
	struct window *window = &end->window;
	DAT_RMR_CONTEXT key = 0;

	window->old = window->key;
	window->key = 0;
	window->binding = true;
	window->rights = rights[sim_random(sizeof(rights) / sizeof(*rights))];
	if (end_post(end, &end->request, "dat_rmr_bind",
		     dat_rmr_bind(window->rmr, end->host->lmr, &range, window->rights,
				  DAT_VA_TYPE_VA, end->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
				  &key))) {
		window->next = key;
		settle_bind(window);
	} else {
		window->binding = false;
		window->dying = true;
	}
}

/* Which context of the peer's does not allow which access; 0: none. */
static DAT_RMR_CONTEXT forbidden(const struct window *window, bool *read)
{
	bool granted = window->key && !window->dying && !window->binding && !window->next;

	*read = sim_random(2);
	if (window->dead && (sim_random(2) || !granted))
		return window->dead;
	if (!granted || (window->rights & DAT_MEM_PRIV_REMOTE_READ_FLAG &&
			 window->rights & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return 0;
	*read = !(window->rights & DAT_MEM_PRIV_REMOTE_READ_FLAG);
	return window->key;
}

/* ---- Any request ---- */

static DAT_DTO_COOKIE begin_request(struct end *end, enum op op, struct post **post)
{
	*post = next_post(&end->request, op, 0);
	begin_post(&end->request);
	return (DAT_DTO_COOKIE){ .as_64 = life_cookie(end, false, (*post)->number) };
}

void life_trespass(struct end *end)
{
	struct end *peer = &end->pair->end[!end->which];
	struct life *life = &end->pair->life;
	DAT_RMR_TRIPLET there;
	DAT_LMR_TRIPLET piece;
	DAT_RMR_CONTEXT key;
	DAT_DTO_COOKIE cookie;
	struct post *post;
	bool read;

	key = forbidden(&peer->window, &read);
	if (!key || life->excused || life->ending || end->request.count == QUEUE)
		return;
	life->excused = life->trespassed[end->which] = true;
	cookie = begin_request(end, read ? OP_TRESPASS_READ : OP_TRESPASS_WRITE, &post);
	memset(end->memory->out[post->slot], 0xee, TARGET);
	post->length = some_length(TARGET);
	there = remote(peer, peer->memory->target[TARGETS], post->length);
	there.rmr_context = key;
	piece = segment(end, end->memory->out[post->slot], post->length);
	end_post(end, &end->request, "dat_ep_post_rdma",
		 read ? dat_ep_post_rdma_read(end->ep, 1, &piece, cookie, &there,
					      DAT_COMPLETION_DEFAULT_FLAG)
		      : dat_ep_post_rdma_write(end->ep, 1, &piece, cookie, &there,
					       DAT_COMPLETION_DEFAULT_FLAG));
}

static bool possible(const struct end *end, enum op op)
{
	const struct window *theirs = &end->pair->end[!end->which].window;

	switch (op) {
	case OP_SEND:
		return end->sent < MESSAGES;
	case OP_WRITE:
		return end->writes < TARGETS;
	case OP_IMMEDIATE:
		return end->sent < MESSAGES && end->writes < TARGETS;
	case OP_BIND:
		return may_bind(&end->window);
	case OP_INVALIDATE:
		return end->sent < MESSAGES && theirs->of_ep && theirs->key && !theirs->dying &&
		       !theirs->readers;
	default:
		return true;
	}
}

static void post_request(struct end *end, enum op op)
{
	DAT_DTO_COOKIE cookie;
	struct post *post;

	if (end->request.count == QUEUE || !possible(end, op))
		return;
	cookie = begin_request(end, op, &post);
	if (op == OP_SEND || op == OP_INVALIDATE)
		post_send(end, post, cookie);
	else if (op == OP_WRITE || op == OP_IMMEDIATE)
		post_write(end, post, cookie);
	else if (op == OP_READ)
		post_read(end, post, cookie);
	else if (op == OP_ADD)
		post_add(end, post, cookie);
	else
		post_bind(end, (DAT_RMR_COOKIE){ .as_64 = cookie.as_64 });
}

void life_post_request(struct end *end)
{
	static const enum op ops[] = { OP_SEND,	 OP_SEND,  OP_SEND,	 OP_SEND,
				       OP_WRITE, OP_WRITE, OP_READ,	 OP_ADD,
				       OP_BIND,	 OP_BIND,  OP_IMMEDIATE, OP_INVALIDATE };

	post_request(end, ops[sim_random(sizeof(ops) / sizeof(*ops))]);
}

void life_post_question(struct end *end)
{
	post_request(end, sim_random(2) ? OP_READ : OP_ADD);
}
