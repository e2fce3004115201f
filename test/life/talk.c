/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How the two sides of a life move data, in every way there is. */
#include "talk.h"

#include <string.h>

#include <dat2/dat_ib_extensions.h>

static void send_message(enum kind kind, unsigned int place, uint32_t number, uint32_t window,
			 uint32_t invalidate)
{
	struct head head = { .kind = kind,
			     .serial = number,
			     .target = (uintptr_t)side_memory.target,
			     .counter = (uintptr_t)&side_memory.counter,
			     .key = self.rkey,
			     .window = window };
	uint8_t *at = side_memory.out[place];
	DAT_LMR_TRIPLET iov = side_local(at, MESSAGE);
	DAT_DTO_COOKIE cookie = side_cookie(REQUEST);

	memcpy(at, &head, sizeof(head));
	for (size_t i = sizeof(head); i < MESSAGE; i++)
		at[i] = (uint8_t)(number * 7 + i);
	if (invalidate)
		POST(cookie, dat_ep_post_send_with_invalidate(self.ep, 1, &iov, cookie,
							      DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
							      invalidate));
	else
		POST(cookie,
		     dat_ep_post_send(self.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void write_and_read(void)
{
	DAT_RMR_TRIPLET target = { self.peer.target, BLOCK, self.peer.key };
	DAT_RMR_TRIPLET count = { self.peer.counter, 8, self.peer.key };
	DAT_LMR_TRIPLET out = side_local(side_memory.source, BLOCK),
			in = side_local(side_memory.back, BLOCK);
	DAT_LMR_TRIPLET fetched[2] = { side_local(&side_memory.fetched[0], 8),
				       side_local(&side_memory.fetched[1], 8) };
	DAT_DTO_COOKIE cookie[4];

	for (int i = 0; i < 4; i++)
		cookie[i] = side_cookie(REQUEST);
	memset(side_memory.source, 0x40 + (int)(self.serial++ & 0x3f), BLOCK);
	memset(side_memory.back, 0, BLOCK);
	POST(cookie[0], dat_ep_post_rdma_write(self.ep, 1, &out, cookie[0], &target,
					       DAT_COMPLETION_DEFAULT_FLAG));
	POST(cookie[1], dat_ep_post_rdma_read(self.ep, 1, &in, cookie[1], &target,
					      DAT_COMPLETION_DEFAULT_FLAG));
	POST(cookie[2], dat_ib_post_fetch_and_add(self.ep, 1, &fetched[0], cookie[2], &count, 0));
	POST(cookie[3],
	     dat_ib_post_cmp_and_swap(self.ep, UINT64_MAX, 0, &fetched[1], cookie[3], &count, 0));
	UNTIL("write, read, atomics", !self.requests_out, true);
	if (self.ended || self.failed)
		return;
	if (memcmp(side_memory.source, side_memory.back, BLOCK))
		side_complain("other bytes were read than written");
	if (side_memory.fetched[1] != side_memory.fetched[0] + 1)
		side_complain("the counter went from %llu to %llu",
			      (unsigned long long)side_memory.fetched[0],
			      (unsigned long long)side_memory.fetched[1]);
}

static void use_window(uint32_t round)
{
	DAT_LMR_TRIPLET range = side_local(side_memory.target, BLOCK),
			out = side_local(side_memory.source, BLOCK);
	DAT_DTO_COOKIE cookie = side_cookie(REQUEST);
	DAT_RMR_COOKIE bind_cookie = { .as_64 = cookie.as_64 };
	DAT_RMR_CONTEXT window = 0;
	DAT_RMR_TRIPLET target = { .segment_length = BLOCK };

	POST(cookie, dat_rmr_bind(self.rmr, self.lmr, &range, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				  self.ep, bind_cookie, DAT_COMPLETION_DEFAULT_FLAG, &window));
	if (!window)
		return;
	send_message(KIND_WINDOW, 1, round, window, 0);
	UNTIL("the peer's window", self.heard[KIND_WINDOW] > round, true);
	if (self.ended || self.failed || !side_well())
		return;
	target.virtual_address = self.peer.target;
	target.rmr_context = self.peer.window;
	cookie = side_cookie(REQUEST);
	POST(cookie, dat_ep_post_rdma_write(self.ep, 1, &out, cookie, &target,
					    DAT_COMPLETION_DEFAULT_FLAG));
	cookie = side_cookie(REQUEST);
	target.rmr_context = self.peer.key;
	POST(cookie, dat_ib_post_rdma_write_immed(self.ep, 1, &out, cookie, &target, round, 0));
	send_message(KIND_LAST, 2, round, 0, self.peer.window);
	UNTIL("the last of a round", self.heard[KIND_LAST] > round && self.immediates > round,
	      true);
}

static void talk_round(uint32_t round)
{
	write_and_read();
	if (self.ended || self.failed || !side_well())
		return;
	use_window(round);
	if (self.ended || self.failed || !side_well())
		return;
	for (uint32_t i = 0; i < MESSAGES; i++)
		send_message(KIND_PLAIN, 3 + i, round * MESSAGES + i, 0, 0);
	UNTIL("messages", self.plain >= (round + 1) * MESSAGES && !self.requests_out, true);
	if (!self.ended && !self.failed && side_well())
		atomic_fetch_add(&self.report->rounds, 1);
}

void side_talk(void)
{
	uint64_t until;
	DAT_EVENT event;

	send_message(KIND_HELLO, 0, 0, 0, 0);
	UNTIL("hello", self.heard[KIND_HELLO] && !self.requests_out, true);
	self.report->step = "idle";
	for (until = side_now() + self.plan->idle_ms;
	     side_now() < until && !self.ended && !self.failed && side_well();)
		if (side_take(self.events, 10, &event))
			side_dispatch(&event);
	for (uint32_t round = 0;
	     round < self.plan->rounds && !self.ended && !self.failed && side_well(); round++)
		talk_round(round);
}
