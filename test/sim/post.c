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
	end_post(end, posts, "dat_ep_post_recv",
		 dat_ep_post_recv(end->ep, num, piece, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static uint32_t some_length(uint32_t most)
{
	static const uint32_t reach[] = { 16, 64, 256, 256, 1024, 4096, BUFFER };
	uint32_t below = reach[sim_random(sizeof(reach) / sizeof(*reach))];

	return sim_random(below < most ? below : most) + 1;
}

static void post_send(struct end *end, struct post *post, DAT_DTO_COOKIE cookie)
{
	uint8_t *at = end->memory->out[post->slot];
	DAT_LMR_TRIPLET piece[2];
	DAT_COUNT num;

	post->length = 8 + some_length(BUFFER - 8);
	memcpy(at, &post->length, 4);
	memcpy(at + 4, &end->writes, 4);
	judge_fill(at + 8, judge_pattern(end, OP_SEND, end->sent), post->length - 8);
	num = cut(end, at, post->length, piece);
	end->sent++;
	if (!end_post(end, &end->request, "dat_ep_post_send",
		      dat_ep_post_send(end->ep, num, piece, cookie, DAT_COMPLETION_DEFAULT_FLAG)))
		end->sent--;
}

static DAT_RMR_TRIPLET remote(const struct end *peer, void *at, uint32_t length)
{
	return (DAT_RMR_TRIPLET){ (DAT_VADDR)(uintptr_t)at, length, peer->host->remote_key };
}

static void post_write(struct end *end, struct post *post, DAT_DTO_COOKIE cookie)
{
	struct end *peer = &end->pair->end[!end->which];
	uint8_t *at = end->memory->out[post->slot];
	DAT_RMR_TRIPLET target;
	DAT_LMR_TRIPLET piece[2];
	DAT_COUNT num;

	post->length = some_length(TARGET);
	judge_fill(at, judge_pattern(end, OP_WRITE, end->writes), post->length);
	target = remote(peer, peer->memory->target[end->writes], post->length);
	if (peer->window && sim_random(2))
		target.rmr_context = peer->window;
	num = cut(end, at, post->length, piece);
	end->pair->life.write_length[end->which][end->writes] = post->length;
	if (end_post(end, &end->request, "dat_ep_post_rdma_write",
		     dat_ep_post_rdma_write(end->ep, num, piece, cookie, &target,
					    DAT_COMPLETION_DEFAULT_FLAG)))
		end->writes++;
}

static void post_read(struct end *end, struct post *post, DAT_DTO_COOKIE cookie)
{
	struct end *peer = &end->pair->end[!end->which];
	DAT_RMR_TRIPLET source;
	DAT_LMR_TRIPLET piece;

	post->length = some_length(TARGET);
	source = remote(peer, peer->memory->source, post->length);
	piece = segment(end, end->memory->out[post->slot], post->length);
	end_post(end, &end->request, "dat_ep_post_rdma_read",
		 dat_ep_post_rdma_read(end->ep, 1, &piece, cookie, &source,
				       DAT_COMPLETION_DEFAULT_FLAG));
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

static void post_bind(struct end *end, DAT_RMR_COOKIE cookie)
{
	DAT_LMR_TRIPLET range = segment(end, end->memory->target, sizeof(end->memory->target));
	DAT_RMR_CONTEXT window;

	if (end_post(end, &end->request, "dat_rmr_bind",
		     dat_rmr_bind(end->rmr, end->host->lmr, &range, DAT_MEM_PRIV_ALL_FLAG,
				  DAT_VA_TYPE_VA, end->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
				  &window)))
		(void)window;
}

void life_post_request(struct end *end)
{
	static const enum op ops[] = { OP_SEND,	 OP_SEND, OP_SEND, OP_WRITE,
				       OP_WRITE, OP_READ, OP_ADD,  OP_BIND };
	enum op op = ops[sim_random(sizeof(ops) / sizeof(*ops))];
	struct posts *posts = &end->request;
	struct post *post;
	DAT_DTO_COOKIE cookie;

	if (posts->count == QUEUE || (op == OP_WRITE && end->writes == TARGETS))
		return;
	post = next_post(posts, op, 0);
	cookie.as_64 = life_cookie(end, false, post->number);
	begin_post(posts);
	if (op == OP_SEND)
		post_send(end, post, cookie);
	else if (op == OP_WRITE)
		post_write(end, post, cookie);
	else if (op == OP_READ)
		post_read(end, post, cookie);
	else if (op == OP_ADD)
		post_add(end, post, cookie);
	else
		post_bind(end, (DAT_RMR_COOKIE){ .as_64 = cookie.as_64 });
}
