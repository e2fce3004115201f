/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that processes share, by cookie (LMR-13 to LMR-17), and coherence (LMR-39 to LMR-41). */
#include "conn_util.h"
#include "peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHARED 65536

/* All 40 bytes count, and they are no text. */
static const char cookie_bytes[DAT_LMR_COOKIE_SIZE] = {
	'r', 'i', 'n', 'g', 0, 1, 2, 3, [30] = 0, [38] = (char)0xff, [39] = 'x'
};

/* ---- Memory ------------------------------------------------------------ */

static void shm_name(char name[32], pid_t pid)
{
	snprintf(name, 32, "/udapl-lmr-%d", (int)pid);
}

/* Maps the memory that the test's process made, which makes it itself. */
static void *map_shared(pid_t maker)
{
	bool make = maker == getpid();
	char name[32];
	void *base;
	int fd;

	shm_name(name, maker);
	fd = shm_open(name, O_RDWR | (make ? O_CREAT | O_EXCL : 0), 0600);
	assert_true(fd >= 0);
	if (make)
		assert_int_equal(ftruncate(fd, SHARED), 0);
	base = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	close(fd);
	return base;
}

static void unlink_shared(void)
{
	char name[32];

	shm_name(name, getpid());
	shm_unlink(name);
}

static DAT_RETURN create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *base, DAT_VLEN len,
			 DAT_LMR_COOKIE cookie, struct ct_mem *mem)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN registered = 0;
	DAT_VADDR start = 0;
	DAT_RETURN rc;

	memset(&region, 0, sizeof(region));
	region.for_shared_memory.virtual_address = base;
	region.for_shared_memory.shared_memory_id = cookie;
	memset(mem, 0, sizeof(*mem));
	rc = dat_lmr_create(ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, len, pz, DAT_MEM_PRIV_ALL_FLAG,
			    DAT_VA_TYPE_VA, &mem->lmr, &mem->lmr_context, &mem->rmr_context,
			    &registered, &start);
	if (rc == DAT_SUCCESS) {
		mem->base = base;
		mem->len = len;
		/* LMR-3 */
		assert_int_equal(registered, len);
		assert_int_equal(start, (uintptr_t)base);
	}
	return rc;
}

static struct ct_mem create_ok(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *base)
{
	char cookie[DAT_LMR_COOKIE_SIZE];
	struct ct_mem mem;

	memcpy(cookie, cookie_bytes, sizeof(cookie));
	expect_ok(create(ia, pz, base, SHARED, &cookie, &mem));
	/* LMR-14: the 40 bytes have been copied. */
	memset(cookie, 0, sizeof(cookie));
	return mem;
}

static bool supported(const struct cu_rig *rig)
{
	return rig->prov.lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL;
}

/* Writes to a peer; when the read behind it is done the bytes are in place there. */
static void write_to(struct ct_end *end, size_t len, const struct ct_mem *to, size_t off)
{
	expect_ok(cu_write(end, 0, len, 1, to, off, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_read(end, 60000, 64, 2, to, off, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(end->request, end->ep, 1, DAT_DTO_RDMA_WRITE, len);
	DONE(end->request, end->ep, 2, DAT_DTO_RDMA_READ, 64);
}

/* ---- One process ------------------------------------------------------- */

/* LMR-17 */
static void lmr_13_14_registered_and_remembered(void **state)
{
	struct cu_rig *rig = *state;
	void *base = map_shared(getpid());
	DAT_LMR_PARAM param;
	struct ct_mem mem;

	unlink_shared();
	if (!supported(rig))
		harness_skip("the provider registers no shared memory");
	mem = create_ok(rig->ia, rig->a.pz, base);
	/* LMR-15, LMR-27 */
	assert_int_not_equal(mem.lmr_context, 0);
	assert_int_not_equal(mem.rmr_context, 0);
	expect_ok(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param));
	assert_int_equal(param.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
	assert_int_equal(param.length, SHARED);
	assert_ptr_equal(param.region_desc.for_shared_memory.virtual_address, base);
	/* LMR-31: the provider's copy. */
	assert_memory_equal(*param.region_desc.for_shared_memory.shared_memory_id, cookie_bytes,
			    DAT_LMR_COOKIE_SIZE);
	expect_ok(dat_lmr_free(mem.lmr));
	munmap(base, SHARED);
}

static void lmr_15_each_creation_has_its_own_contexts(void **state)
{
	struct cu_rig *rig = *state;
	void *one = map_shared(getpid()), *two;
	struct ct_mem first, second;
	DAT_LMR_PARAM param;
	char name[32];
	int fd;

	shm_name(name, getpid());
	fd = shm_open(name, O_RDWR, 0600);
	assert_true(fd >= 0);
	two = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	close(fd);
	unlink_shared();
	if (!supported(rig))
		harness_skip("the provider registers no shared memory");
	first = create_ok(rig->ia, rig->a.pz, one);
	second = create_ok(rig->ia, rig->p.pz, two);
	assert_int_not_equal(first.lmr_context, second.lmr_context);
	assert_int_not_equal(first.rmr_context, second.rmr_context);
	cu_establish(rig, &rig->a, &rig->p);
	/* What comes in by one mapping is there by the other. */
	cu_fill(rig->a.mem.base, 4096, 3);
	write_to(&rig->a, 4096, &second, 512);
	FILLED((uint8_t *)one + 512, 4096, 3);
	/* Any order of destruction. */
	expect_ok(dat_lmr_free(first.lmr));
	expect_ok(dat_lmr_query(second.lmr, DAT_LMR_FIELD_ALL, &param));
	assert_memory_equal(*param.region_desc.for_shared_memory.shared_memory_id, cookie_bytes,
			    DAT_LMR_COOKIE_SIZE);
	expect_ok(dat_lmr_free(second.lmr));
	munmap(one, SHARED);
	munmap(two, SHARED);
}

static void lmr_16_arguments(void **state)
{
	struct cu_rig *rig = *state;
	char cookie[DAT_LMR_COOKIE_SIZE] = "cookie";
	void *base = map_shared(getpid());
	struct ct_mem mem;

	unlink_shared();
	if (!supported(rig)) {
		/* LMR-9 */
		expect_type(create(rig->ia, rig->a.pz, base, SHARED, &cookie, &mem),
			    DAT_MODEL_NOT_SUPPORTED);
		harness_skip("the provider registers no shared memory");
	}
	expect_arg(create(rig->ia, rig->a.pz, base, SHARED, NULL, &mem), 3);
	expect_arg(create(rig->ia, rig->a.pz, NULL, SHARED, &cookie, &mem), 3);
	/* LMR-4 */
	expect_type(create(rig->ia, rig->a.pz, base, 0, &cookie, &mem), DAT_LENGTH_ERROR);
	munmap(base, SHARED);
	/* LMR-6 */
	expect_arg(create(rig->ia, rig->a.pz, base, SHARED, &cookie, &mem), 3);
}

/* ---- Two processes ----------------------------------------------------- */

/* Registers the same memory and connects, to be written to. */
static void sharer(int fd)
{
	pid_t maker = (pid_t)peer_get_word(fd);
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);
	void *base = map_shared(maker);
	struct ct_mem mem;

	ct_end_open(&rig->a, rig->ia, NULL);
	mem = create_ok(rig->ia, rig->a.pz, base);
	expect_ok(peer_connect(&rig->a, &there, DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	peer_put_word(fd, (uintptr_t)base);
	peer_put_word(fd, mem.rmr_context);
	/* The other process has written; both see it. */
	peer_get_word(fd);
	FILLED((uint8_t *)base + 1024, 8192, 7);
	cu_fill((uint8_t *)base + 32768, 8192, 8);
	peer_put_word(fd, 1);
	/* It frees its own region; this one stays good. */
	peer_get_word(fd);
	FILLED((uint8_t *)base + 2048, 4096, 9);
	expect_ok(dat_lmr_free(mem.lmr));
	munmap(base, SHARED);
	peer_put_word(fd, 1);
	peer_get_word(fd);
	cu_rig_close(rig);
}

static void lmr_13_two_processes(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem own, remote = { .len = SHARED };
	struct peer *peer;
	uint8_t *base;

	if (!supported(rig))
		harness_skip("the provider registers no shared memory");
	base = map_shared(getpid());
	own = create_ok(rig->ia, rig->p.pz, base);
	peer = peer_start("sharer");
	peer_put_word(peer->fd, (uint64_t)getpid());
	peer_put_service(peer->fd, rig);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	remote.base = (uint8_t *)(uintptr_t)peer_get_word(peer->fd);
	remote.rmr_context = (DAT_RMR_CONTEXT)peer_get_word(peer->fd);
	unlink_shared();
	/* By the peer's region into the memory that is here as well. */
	cu_fill(rig->p.mem.base, 8192, 7);
	write_to(&rig->p, 8192, &remote, 1024);
	FILLED(base + 1024, 8192, 7);
	peer_put_word(peer->fd, 1);
	peer_get_word(peer->fd);
	/* What the peer's program wrote, read by its region and seen here. */
	FILLED(base + 32768, 8192, 8);
	expect_ok(cu_read(&rig->p, 16384, 8192, 2, &remote, 32768, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.request, rig->p.ep, 2, DAT_DTO_RDMA_READ, 8192);
	FILLED(rig->p.mem.base + 16384, 8192, 8);
	expect_ok(dat_lmr_free(own.lmr));
	munmap(base, SHARED);
	cu_fill(rig->p.mem.base, 4096, 9);
	write_to(&rig->p, 4096, &remote, 2048);
	peer_put_word(peer->fd, 1);
	peer_get_word(peer->fd);
	peer_put_word(peer->fd, 1);
	peer_finish(peer);
}

/* ---- Coherence --------------------------------------------------------- */

static void sync_both(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN num, bool good)
{
	if (good) {
		expect_ok(dat_lmr_sync_rdma_read(ia, segments, num));
		expect_ok(dat_lmr_sync_rdma_write(ia, segments, num));
	} else {
		expect_arg(dat_lmr_sync_rdma_read(ia, segments, num), 2);
		expect_arg(dat_lmr_sync_rdma_write(ia, segments, num), 2);
	}
}

static int segments(void)
{
	struct cu_rig *rig = cu_rig_open();
	bool lax = !harness_strict() && !rig->prov.lmr_sync_req;
	struct ct_mem *small;
	DAT_LMR_TRIPLET seg[3];

	ct_end_open(&rig->a, rig->ia, NULL);
	small = cu_extra_mem(rig, rig->a.pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	seg[0] = ct_segment(&rig->a.mem, 0, rig->a.mem.len);
	seg[1] = ct_segment(small, 100, 3996);
	seg[2] = ct_segment(small, 0, 0);
	seg[2].lmr_context = 0; /* length 0 is skipped */
	sync_both(rig->ia, seg, 3, true);
	sync_both(rig->ia, NULL, 0, true);
	sync_both(rig->ia, NULL, 1, false);
	seg[1].segment_length++;
	sync_both(rig->ia, seg, 1, true);
	sync_both(rig->ia, seg, 3, lax);
	seg[1] = ct_segment(small, 0, 16);
	seg[1].virtual_address--;
	sync_both(rig->ia, seg, 3, lax);
	/* Of another region. */
	seg[1] = ct_segment(small, 0, 16);
	seg[1].lmr_context = rig->a.mem.lmr_context;
	sync_both(rig->ia, seg, 2, lax);
	seg[1] = ct_segment(small, 0, 16);
	expect_ok(dat_lmr_free(small->lmr));
	small->lmr = NULL;
	sync_both(rig->ia, seg, 2, lax);
	expect_handle(dat_lmr_sync_rdma_read(NULL, seg, 1), IA);
	expect_handle(dat_lmr_sync_rdma_write(rig->psp, seg, 1), IA);
	cu_rig_close(rig);
	return 0;
}

/* LMR-39, LMR-40 */
static void lmr_41_segments_are_checked_under_strict(void **state)
{
	(void)state;
	harness_both_strict("segments");
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "segments", segments }, { NULL, NULL } };
	static const struct peer_role roles[] = { { "sharer", sharer }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(lmr_13_14_registered_and_remembered),
		T(lmr_15_each_creation_has_its_own_contexts),
		T(lmr_16_arguments),
		T(lmr_13_two_processes),
		cmocka_unit_test(lmr_41_segments_are_checked_under_strict),
	};

	harness_child_main(argc, argv, children);
	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
