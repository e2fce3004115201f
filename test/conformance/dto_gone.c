/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that unmap what is registered lose no more than the connection that uses it (DTO-84).
 */
#include "conn_util.h"
#include "ext_util.h"
#include "util/compiler.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ThreadSanitizer does an atomic access with locks of its own held, which a fault leaves behind. */
#ifdef WITH_TSAN
#define NEED_FAULTS() harness_skip("ThreadSanitizer survives no fault in an atomic access")
#else
#define NEED_FAULTS() ((void)0)
#endif

enum {
	LONG = 1 << 20,
	ONE = 0x5a,
};

static const size_t gone_lengths[] = { 8, 200, 1000, 5000, 60000, LONG };

/* Registered memory of which all from an offset on is taken away. */
static struct ct_mem *gone(struct cu_rig *rig, struct ct_end *end, size_t from)
{
	struct ct_mem *mem = cu_extra_mem(rig, end->pz, LONG, XU_ALL);

	cu_set(mem->base, ONE, LONG);
	assert_ptr_equal(mmap(mem->base + from, mem->len - from, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 mem->base + from);
	return mem;
}

/* A request of a's with this local and this remote memory. */
static void request_gone(struct cu_rig *rig, DAT_DTOS kind, struct ct_mem *local,
			 struct ct_mem *remote, size_t len)
{
	DAT_LMR_TRIPLET iov = ct_segment(local, 0, len), in = ct_segment(remote, 0, len);
	DAT_RMR_TRIPLET to = ct_target(remote, 0, len);

	if (kind == DAT_DTO_SEND) {
		expect_ok(dat_ep_post_recv(rig->p.ep, 1, &in, cu_cookie(1),
					   DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_ep_post_send(rig->a.ep, 1, &iov, cu_cookie(2),
					   DAT_COMPLETION_DEFAULT_FLAG));
	} else if (kind == DAT_DTO_RDMA_WRITE) {
		expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &iov, cu_cookie(2), &to,
						 DAT_COMPLETION_DEFAULT_FLAG));
	} else {
		expect_ok(dat_ep_post_rdma_read(rig->a.ep, 1, &iov, cu_cookie(2), &to,
						DAT_COMPLETION_DEFAULT_FLAG));
	}
}

static void check_ended(struct cu_rig *rig)
{
	cu_conn_ended(rig->a.connect, rig->a.ep);
	cu_conn_ended(rig->p.connect, rig->p.ep);
}

/* The sizes, each with all of the memory gone and with all but the first page. */
static void every_gone(void (*one)(struct cu_rig *rig, size_t len, size_t from))
{
	void *state;

	for (size_t i = 0; i < sizeof(gone_lengths) / sizeof(gone_lengths[0]); i++) {
		for (size_t from = 0; from < gone_lengths[i] && from <= 4096; from += 4096) {
			assert_int_equal(cu_setup_connected(&state), 0);
			one(state, gone_lengths[i], from);
			check_ended(state);
			assert_int_equal(cu_teardown(&state), 0);
		}
	}
}

static void source_gone(struct cu_rig *rig, DAT_DTOS kind, size_t len, size_t from)
{
	struct ct_mem *remote = cu_extra_mem(rig, rig->p.pz, LONG, DAT_MEM_PRIV_ALL_FLAG);

	/* What was posted before is not concerned. */
	expect_ok(cu_write(&rig->a, 0, 64, 1, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	request_gone(rig, kind, gone(rig, &rig->a, from), remote, len);
	DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_WRITE, 64);
	ct_completion(rig->a.request, 2, DAT_DTO_ERR_LOCAL_PROTECTION);
}

static void send_source_gone(struct cu_rig *rig, size_t len, size_t from)
{
	source_gone(rig, DAT_DTO_SEND, len, from);
}

static void write_source_gone(struct cu_rig *rig, size_t len, size_t from)
{
	source_gone(rig, DAT_DTO_RDMA_WRITE, len, from);
}

static void read_sink_gone(struct cu_rig *rig, size_t len, size_t from)
{
	source_gone(rig, DAT_DTO_RDMA_READ, len, from);
}

static void read_source_gone(struct cu_rig *rig, size_t len, size_t from)
{
	struct ct_mem *local = cu_extra_mem(rig, rig->a.pz, LONG, DAT_MEM_PRIV_ALL_FLAG);

	request_gone(rig, DAT_DTO_RDMA_READ, local, gone(rig, &rig->p, from), len);
	ct_completion(rig->a.request, 2, DAT_DTO_ERR_REMOTE_ACCESS);
}

/* A success, or what DTO-84 says (DTO-86). */
static void check_either_status(struct cu_rig *rig, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_DTO_COMPLETION_EVENT_DATA done = cu_completion(rig->a.request);

	if (done.status != DAT_DTO_SUCCESS && done.status != status)
		fail_msg("status %d", (int)done.status);
}

static void write_target_gone(struct cu_rig *rig, size_t len, size_t from)
{
	struct ct_mem *local = cu_extra_mem(rig, rig->a.pz, LONG, DAT_MEM_PRIV_ALL_FLAG);

	request_gone(rig, DAT_DTO_RDMA_WRITE, local, gone(rig, &rig->p, from), len);
	check_either_status(rig, DAT_DTO_ERR_REMOTE_ACCESS);
}

static void receive_gone(struct cu_rig *rig, size_t len, size_t from)
{
	struct ct_mem *local = cu_extra_mem(rig, rig->a.pz, LONG, DAT_MEM_PRIV_ALL_FLAG);

	request_gone(rig, DAT_DTO_SEND, local, gone(rig, &rig->p, from), len);
	ct_completion(rig->p.recv, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	check_either_status(rig, DAT_DTO_ERR_REMOTE_RESPONDER);
}

/* ---- A program with a handler of its own -------------------------------- */

static sigjmp_buf own_jump;
static volatile sig_atomic_t own_faults;

static void own_handler(int signo)
{
	(void)signo;
	own_faults++;
	siglongjmp(own_jump, 1);
}

static CU_PEER_MEMORY void fault(const struct ct_mem *mem)
{
	(void)*(const volatile uint8_t *)mem->base;
}

/* The adapter's faults are not the program's, whose own come to its handler as ever. */
static int own_handler_child(void)
{
	struct sigaction action = { .sa_handler = own_handler };
	struct ct_mem *mem;
	struct cu_rig *rig;
	void *state;

	sigaction(SIGSEGV, &action, NULL);
	cu_setup_connected(&state);
	rig = state;
	mem = gone(rig, &rig->p, 0);
	request_gone(rig, DAT_DTO_RDMA_WRITE, &rig->a.mem, mem, 64);
	check_ended(rig);
	if (own_faults)
		return 1;
	for (int i = 1; i <= 3; i++) {
		if (!sigsetjmp(own_jump, 1))
			fault(mem);
		if (own_faults != i)
			return 2;
	}
	cu_teardown(&state);
	return 0;
}

static int no_handler_child(void)
{
	void *state;

	cu_setup_connected(&state);
	fault(gone(state, &((struct cu_rig *)state)->p, 0));
	return 0;
}

static const struct harness_child children[] = {
	{ "own_handler", own_handler_child },
	{ "no_handler", no_handler_child },
	{ NULL, NULL },
};

/* ---- Tests -------------------------------------------------------------- */

static void dto_84_source_memory_is_gone(void **state)
{
	(void)state;
	NEED_FAULTS();
	every_gone(send_source_gone);
	every_gone(write_source_gone);
}

static void dto_84_sink_memory_is_gone(void **state)
{
	(void)state;
	NEED_FAULTS();
	every_gone(read_sink_gone);
	every_gone(receive_gone);
}

static void dto_84_target_memory_is_gone(void **state)
{
	(void)state;
	NEED_FAULTS();
	every_gone(read_source_gone);
	every_gone(write_target_gone);
}

static void dto_84_an_atomics_memory_is_gone(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *mem;
	DAT_LMR_TRIPLET iov = ct_segment(&rig->a.mem, 0, 8);
	DAT_RMR_TRIPLET to;

	NEED_FAULTS();
	xu_need(rig, DAT_IB_ATTR_FETCH_AND_ADD);
	mem = gone(rig, &rig->p, 0);
	to = ct_target(mem, 0, 8);
	expect_ok(dat_ib_post_fetch_and_add(rig->a.ep, 1, &iov, cu_cookie(2), &to,
					    DAT_COMPLETION_DEFAULT_FLAG));
	XDONE(rig->a.request, rig->a.ep, 2, DAT_DTO_ERR_REMOTE_ACCESS, DAT_IB_DTO_FETCH_ADD,
	      DAT_IB_FETCH_AND_ADD, 0, 0);
	check_ended(rig);
}

static void dto_84_the_programs_handler_keeps_its_faults(void **state)
{
	struct harness_result result;

	(void)state;
	NEED_FAULTS();
	harness_spawn_ok("own_handler", NULL);
	harness_spawn("no_handler", NULL, &result);
	assert_true(WIFSIGNALED(result.status) || harness_sanitized());
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dto_84_source_memory_is_gone),
		cmocka_unit_test(dto_84_sink_memory_is_gone),
		cmocka_unit_test(dto_84_target_memory_is_gone),
		C(dto_84_an_atomics_memory_is_gone),
		cmocka_unit_test(dto_84_the_programs_handler_keeps_its_faults),
	};

	harness_child_main(argc, argv, children);

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
