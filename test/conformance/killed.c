/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer that is killed in the middle of one large transfer, again and again: who wrote, who was
 * written to, who was read from (EP-140 to EP-148, EV-17, DTO-84).
 */
#include "conn_util.h"
#include "peer.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	ZONE = 65536, /* before and behind the region, of the same mapping */
	FRESH = 0xee,
	GUARD = 0xa5,
	LATEST_US = 40000, /* after the transfer has begun */
};

/* Less where that takes too long. */
static size_t length(void)
{
	if (harness_emulated())
		return 4 << 20;
	if (harness_sanitized() || strncmp(harness_ia_name(), "soft", 4))
		return 64 << 20;
	return 1 << 30;
}

/* UDAPL_KILLS of each kind, or a few. */
static unsigned int rounds(void)
{
	const char *asked = getenv("UDAPL_KILLS");

	return asked ? (unsigned int)atoi(asked) : 5;
}

/* ---- What the other process does --------------------------------------- */

/* A region between two zones that are nobody's. */
static uint8_t *region_open(struct cu_rig *rig, struct ct_mem *mem)
{
	uint8_t *map = mmap(NULL, length() + 2 * ZONE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	DAT_REGION_DESCRIPTION region;

	assert_true(map != MAP_FAILED);
	memset(map, GUARD, ZONE);
	memset(map + ZONE + length(), GUARD, ZONE);
	*mem = (struct ct_mem){ .base = map + ZONE, .len = length() };
	region.for_va = mem->base;
	expect_ok(dat_lmr_create(rig->ia, DAT_MEM_TYPE_VIRTUAL, region, length(), rig->p.pz,
				 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &mem->lmr,
				 &mem->lmr_context, &mem->rmr_context, NULL, NULL));
	return map;
}

static void region_close(struct ct_mem *mem)
{
	expect_ok(dat_lmr_free(mem->lmr));
	munmap(mem->base - ZONE, length() + 2 * ZONE);
}

static void zones_are_whole(const struct ct_mem *mem)
{
	cu_check_all(mem->base - ZONE, GUARD, ZONE, __FILE__, __LINE__);
	cu_check_all(mem->base + length(), GUARD, ZONE, __FILE__, __LINE__);
}

static struct cu_rig *active(int fd, struct ct_mem *mem)
{
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);

	ct_end_open(&rig->p, rig->ia, NULL);
	region_open(rig, mem);
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(peer_connect(&rig->p, &there, DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	return rig;
}

/* Its region, and then nothing: what is done to it needs no call of its program. */
static void victim(int fd)
{
	struct ct_mem mem;

	active(fd, &mem);
	peer_put_word(fd, (uintptr_t)mem.base);
	peer_put_word(fd, mem.rmr_context);
	peer_get_word(fd);
}

/* Writes all of its region to the one that it is told of. */
static void writer(int fd)
{
	struct ct_mem mem, there = { .len = length() };
	struct cu_rig *rig = active(fd, &mem);
	DAT_LMR_TRIPLET from = ct_segment(&mem, 0, length());
	DAT_RMR_TRIPLET to;

	there.base = (uint8_t *)(uintptr_t)peer_get_word(fd);
	there.rmr_context = (DAT_RMR_CONTEXT)peer_get_word(fd);
	to = ct_target(&there, 0, length());
	expect_ok(dat_ep_post_rdma_write(rig->p.ep, 1, &from, cu_cookie(1), &to,
					 DAT_COMPLETION_DEFAULT_FLAG));
	cu_completion(rig->p.request);
	peer_get_word(fd);
}

/* ---- The survivor ------------------------------------------------------ */

static struct peer *start(struct cu_rig *rig, const char *role)
{
	struct peer *peer = peer_start(role);
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	peer_put_service(peer->fd, rig);
	/* It fills its gigabyte first. */
	if (!cu_next(rig->cr, 6 * CT_MS, &event))
		fail_msg("no connection request arrived");
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	for (unsigned int i = 0; i < 2; i++)
		expect_ok(cu_recv(&rig->p, i * 64, 64, i));
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	return peer;
}

static void pause_us(unsigned int us)
{
	const struct timespec ts = { .tv_nsec = (long)us * 1000 };

	nanosleep(&ts, NULL);
}

/* The end is told once, and what was posted is given back, in order and none with success. */
static void ended(struct cu_rig *rig)
{
	cu_conn_ended(rig->p.connect, rig->p.ep);
	for (unsigned int i = 0; i < 2; i++)
		FLUSHED(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE);
	expect_ok(dat_ep_reset(rig->p.ep));
	/* Who sleeps where there is no connection does so on a descriptor, made then. */
	cu_quiet(rig->p.recv, 1);
	cu_quiet(rig->p.request, 1);
	cu_quiet(rig->p.connect, 1);
}

static unsigned int fds;

/* The first round has made what is made at the first need. */
static void no_descriptor_is_left(unsigned int round)
{
	if (!round) {
		ct_pause();
		fds = cu_count_fds();
	} else {
		ct_await(cu_count_fds() <= fds);
	}
}

/* The first byte of the region, which a peer writes. */
CU_PEER_MEMORY static void freshen(const struct ct_mem *mem)
{
	*(volatile uint8_t *)mem->base = FRESH;
}

CU_PEER_MEMORY static bool is_fresh(const struct ct_mem *mem)
{
	return *(volatile uint8_t *)mem->base == FRESH;
}

static void the_writer_is_killed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem mem;

	region_open(rig, &mem);
	for (unsigned int round = 0; round < rounds(); round++) {
		struct peer *peer = start(rig, "writer");

		freshen(&mem);
		peer_put_word(peer->fd, (uintptr_t)mem.base);
		peer_put_word(peer->fd, mem.rmr_context);
		ct_await(!is_fresh(&mem));
		pause_us((unsigned int)rand() % LATEST_US);
		peer_kill(peer);
		ended(rig);
		/* It stays as it is: nobody writes there any more. */
		freshen(&mem);
		zones_are_whole(&mem);
		no_descriptor_is_left(round);
		assert_true(is_fresh(&mem));
	}
	region_close(&mem);
}

/* What this side asks of one that is killed: success if it was fast enough, or an end. */
static void asked_of_the_killed(struct cu_rig *rig, bool read)
{
	struct ct_mem mem, there = { .len = length() };
	DAT_DTO_COMPLETION_EVENT_DATA done;
	DAT_LMR_TRIPLET here;
	DAT_RMR_TRIPLET to;

	region_open(rig, &mem);
	here = ct_segment(&mem, 0, length());
	for (unsigned int round = 0; round < rounds(); round++) {
		struct peer *peer = start(rig, "victim");

		there.base = (uint8_t *)(uintptr_t)peer_get_word(peer->fd);
		there.rmr_context = (DAT_RMR_CONTEXT)peer_get_word(peer->fd);
		to = ct_target(&there, 0, length());
		expect_ok((read ? dat_ep_post_rdma_read : dat_ep_post_rdma_write)(
			rig->p.ep, 1, &here, cu_cookie(7), &to, DAT_COMPLETION_DEFAULT_FLAG));
		pause_us((unsigned int)rand() % LATEST_US);
		peer_kill(peer);
		done = cu_completion(rig->p.request);
		assert_int_equal(done.user_cookie.as_64, 7);
		if (done.status != DAT_DTO_SUCCESS && done.status != DAT_DTO_ERR_FLUSHED)
			assert_int_equal(done.status, DAT_DTO_ERR_TRANSPORT);
		ended(rig);
		zones_are_whole(&mem);
		no_descriptor_is_left(round);
	}
	region_close(&mem);
}

static void who_is_written_to_is_killed(void **state)
{
	asked_of_the_killed(*state, false);
}

static void who_is_read_from_is_killed(void **state)
{
	asked_of_the_killed(*state, true);
}

static int teardown(void **state)
{
	peer_end_all();
	return cu_teardown(state);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = {
		{ "victim", victim },
		{ "writer", writer },
		{ NULL, NULL },
	};
	const struct CMUnitTest tests[] = {
		T(the_writer_is_killed),
		T(who_is_written_to_is_killed),
		T(who_is_read_from_is_killed),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
