/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters of adapters, endpoints and dispatchers (IBX-94 to IBX-105). */
#include "conn_util.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>

static bool has_counters(const DAT_PROVIDER_ATTR *prov)
{
	for (DAT_COUNT i = 0; i < prov->num_provider_specific_attr; i++)
		if (strcmp(prov->provider_specific_attr[i].name, DAT_IB_ATTR_COUNTERS) == 0)
			return true;
	return false;
}

#define NEED_COUNTERS(rig)                                           \
	do {                                                         \
		if (!has_counters(&(rig)->prov))                     \
			harness_skip("the adapter has no counters"); \
	} while (0)

/* One counter, which is stored at its own index (IBX-98). */
static DAT_UINT64 count(DAT_HANDLE handle, int counter)
{
	DAT_UINT64 out[DCNT_IA_ALL_COUNTERS];

	memset(out, 0xa5, sizeof(out));
	expect_ok(dat_ib_query_counters(handle, counter, out, 0));
	for (int i = 0; i < DCNT_IA_ALL_COUNTERS; i++)
		if (i != counter)
			assert_int_equal(out[i], UINT64_C(0xa5a5a5a5a5a5a5a5));
	return out[counter];
}

#define COUNTS(handle, counter, value) assert_int_equal(count((handle), (counter)), (value))

/* ---- Calls ------------------------------------------------------------- */

/* IBX-9 */
static void ibx_94_counters_exist_as_announced(void **state)
{
	struct cu_rig *rig = *state;
	DAT_UINT64 out[DCNT_IA_ALL_COUNTERS];

	if (has_counters(&rig->prov)) {
		assert_int_equal(rig->attr.extension_supported, DAT_EXTENSION_IB);
		expect_ok(dat_ib_query_counters(rig->ia, DCNT_IA_ALL_COUNTERS, out, 0));
		return;
	}
	expect_type(dat_ib_query_counters(rig->ia, DCNT_IA_ALL_COUNTERS, out, 0),
		    DAT_NOT_IMPLEMENTED);
	expect_type(dat_ib_query_counters(rig->a.ep, DCNT_EP_ALL_COUNTERS, out, 0),
		    DAT_NOT_IMPLEMENTED);
	expect_type(dat_ib_print_counters(rig->ia, DCNT_IA_ALL_COUNTERS, 0), DAT_NOT_IMPLEMENTED);
	expect_type(dat_extension_op(rig->ia, DAT_IB_START_COUNTERS_OP, DCNT_IA_LNK),
		    DAT_NOT_IMPLEMENTED);
	expect_type(dat_extension_op(rig->ia, DAT_IB_STOP_COUNTERS_OP, DCNT_IA_LNK),
		    DAT_NOT_IMPLEMENTED);
}

static void all_zero(DAT_HANDLE handle, int all)
{
	DAT_UINT64 out[DCNT_IA_ALL_COUNTERS];

	memset(out, 0xa5, sizeof(out));
	expect_ok(dat_ib_query_counters(handle, all, out, 0));
	for (int i = 0; i < all; i++)
		assert_int_equal(out[i], 0);
	for (int i = all; i < DCNT_IA_ALL_COUNTERS; i++)
		assert_int_equal(out[i], UINT64_C(0xa5a5a5a5a5a5a5a5));
}

static void ibx_95_to_97_zero_at_creation(void **state)
{
	struct cu_rig *rig = *state;

	NEED_COUNTERS(rig);
	all_zero(rig->a.ep, DCNT_EP_ALL_COUNTERS);
	all_zero(rig->a.recv, DCNT_EVD_ALL_COUNTERS);
}

static void ibx_98_99_one_counter_and_its_reset(void **state)
{
	struct cu_rig *rig = *state;
	DAT_UINT64 out[DCNT_EVD_ALL_COUNTERS];

	NEED_COUNTERS(rig);
	ct_empty(rig->a.recv);
	ct_empty(rig->a.recv);
	COUNTS(rig->a.recv, DCNT_EVD_DEQUEUE, 2);
	expect_ok(dat_ib_query_counters(rig->a.recv, DCNT_EVD_DEQUEUE, out, 1));
	assert_int_equal(out[DCNT_EVD_DEQUEUE], 2);
	/* Only that one. */
	COUNTS(rig->a.recv, DCNT_EVD_DEQUEUE, 0);
	COUNTS(rig->a.recv, DCNT_EVD_DEQUEUE_NOT_FOUND, 2);
	ct_empty(rig->a.recv);
	COUNTS(rig->a.recv, DCNT_EVD_DEQUEUE, 1);
	COUNTS(rig->a.recv, DCNT_EVD_DEQUEUE_NOT_FOUND, 3);
	expect_ok(dat_ib_query_counters(rig->a.recv, DCNT_EVD_ALL_COUNTERS, out, 1));
	assert_int_equal(out[DCNT_EVD_DEQUEUE], 1);
	assert_int_equal(out[DCNT_EVD_DEQUEUE_NOT_FOUND], 3);
	all_zero(rig->a.recv, DCNT_EVD_ALL_COUNTERS);
}

static void ibx_100_101_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_UINT64 out[DCNT_IA_ALL_COUNTERS], untouched[DCNT_IA_ALL_COUNTERS];

	NEED_COUNTERS(rig);
	ct_empty(rig->a.recv);
	memset(out, 0xa5, sizeof(out));
	memset(untouched, 0xa5, sizeof(untouched));
	expect_arg(dat_ib_query_counters(rig->ia, -1, out, 1), 3);
	expect_arg(dat_ib_query_counters(rig->ia, DCNT_IA_ALL_COUNTERS + 1, out, 1), 3);
	expect_arg(dat_ib_query_counters(rig->a.ep, DCNT_EP_ALL_COUNTERS + 1, out, 1), 3);
	expect_arg(dat_ib_query_counters(rig->a.recv, DCNT_EVD_ALL_COUNTERS + 1, out, 1), 3);
	expect_arg(dat_ib_query_counters(rig->a.recv, DCNT_EVD_DEQUEUE, NULL, 1), 4);
	expect_type(dat_ib_query_counters(rig->psp, 0, out, 0), DAT_INVALID_HANDLE);
	expect_type(dat_ib_query_counters(rig->a.pz, 0, out, 0), DAT_INVALID_HANDLE);
	expect_type(dat_ib_query_counters(NULL, 0, out, 0), DAT_INVALID_HANDLE);
	expect_arg(dat_ib_print_counters(rig->ia, -1, 0), 3);
	expect_type(dat_ib_print_counters(rig->psp, 0, 0), DAT_INVALID_HANDLE);
	assert_memory_equal(out, untouched, sizeof(out));
	/* Nothing was reset. */
	COUNTS(rig->a.recv, DCNT_EVD_DEQUEUE, 1);
}

/* ---- Printing ---------------------------------------------------------- */

/* What a print wrote to standard output, in a file. */
static FILE *printed(DAT_HANDLE handle, int counter, int reset)
{
	FILE *file = tmpfile();
	int saved;

	assert_non_null(file);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_true(saved >= 0);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
	expect_ok(dat_ib_print_counters(handle, counter, reset));
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	rewind(file);
	return file;
}

/* Reads lines of host, process, name and value; how many. */
static int check_lines(FILE *file, const char *prefix, char (*names)[64], DAT_UINT64 *values)
{
	char line[256], host[65] = "", own[65] = "";
	unsigned long long value;
	int n = 0, pid;

	assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
	while (fgets(line, sizeof(line), file) != NULL) {
		assert_true(n < DCNT_IA_ALL_COUNTERS);
		assert_int_equal(sscanf(line, "%64s %d %63s %llu\n", host, &pid, names[n], &value),
				 4);
		assert_string_equal(host, own);
		assert_int_equal(pid, getpid());
		assert_memory_equal(names[n], prefix, strlen(prefix));
		for (int i = 0; i < n; i++)
			assert_string_not_equal(names[i], names[n]);
		values[n++] = value;
	}
	fclose(file);
	return n;
}

static void ibx_102_printed_line_by_line(void **state)
{
	static char names[DCNT_IA_ALL_COUNTERS][64];
	static DAT_UINT64 values[DCNT_IA_ALL_COUNTERS], out[DCNT_IA_ALL_COUNTERS];
	struct cu_rig *rig = *state;

	NEED_COUNTERS(rig);
	expect_ok(cu_recv(&rig->a, 0, 100, 1));
	expect_ok(dat_ib_query_counters(rig->ia, DCNT_IA_ALL_COUNTERS, out, 0));
	assert_int_equal(
		check_lines(printed(rig->ia, DCNT_IA_ALL_COUNTERS, 0), "DCNT_IA_", names, values),
		DCNT_IA_ALL_COUNTERS);
	assert_memory_equal(values, out, sizeof(values));
	assert_string_equal(names[DCNT_IA_DIAG_ERR_SQ_TREE], "DCNT_IA_DIAG_ERR_SQ_TREE");
	assert_int_equal(
		check_lines(printed(rig->a.ep, DCNT_EP_ALL_COUNTERS, 0), "DCNT_EP_", names, values),
		DCNT_EP_ALL_COUNTERS);
	assert_string_equal(names[DCNT_EP_POST_RECV_DATA], "DCNT_EP_POST_RECV_DATA");
	assert_int_equal(values[DCNT_EP_POST_RECV_DATA], 100);
	assert_int_equal(check_lines(printed(rig->a.recv, DCNT_EVD_ALL_COUNTERS, 0), "DCNT_EVD_",
				     names, values),
			 DCNT_EVD_ALL_COUNTERS);
	/* One, and its reset. */
	assert_int_equal(
		check_lines(printed(rig->a.ep, DCNT_EP_POST_RECV, 1), "DCNT_EP_", names, values),
		1);
	assert_string_equal(names[0], "DCNT_EP_POST_RECV");
	assert_int_equal(values[0], 1);
	COUNTS(rig->a.ep, DCNT_EP_POST_RECV, 0);
}

/* ---- Start and stop ---------------------------------------------------- */

static void ibx_103_104_start_and_stop(void **state)
{
	struct cu_rig *rig = *state;

	NEED_COUNTERS(rig);
	for (int type = DCNT_IA_CM; type <= DCNT_IA_DIAG; type++) {
		expect_ok(dat_extension_op(rig->ia, DAT_IB_START_COUNTERS_OP, type));
		expect_ok(dat_extension_op(rig->ia, DAT_IB_STOP_COUNTERS_OP, type));
	}
	/* Nothing happened in between on a quiet link. */
	COUNTS(rig->ia, DCNT_IA_LNK_ERR_RCV, 0);
	COUNTS(rig->ia, DCNT_IA_DIAG_ERR_SQ_RREE, 0);
	expect_arg(dat_extension_op(rig->ia, DAT_IB_START_COUNTERS_OP, -1), 3);
	expect_arg(dat_extension_op(rig->ia, DAT_IB_STOP_COUNTERS_OP, DCNT_IA_DIAG + 1), 3);
	expect_handle(dat_extension_op(rig->a.ep, DAT_IB_START_COUNTERS_OP, DCNT_IA_LNK), IA);
	expect_handle(dat_extension_op(rig->a.ep, DAT_IB_STOP_COUNTERS_OP, DCNT_IA_LNK), IA);
}

/* ---- What is counted exactly ------------------------------------------- */

static DAT_UINT64 before[DCNT_IA_ALL_COUNTERS];

/* How much an adapter's counter grew since before was taken. */
static void grew(DAT_IA_HANDLE ia, DAT_IA_COUNTERS counter, DAT_UINT64 by)
{
	COUNTS(ia, (int)counter, before[counter] + by);
}

static void ibx_105_objects_made_and_freed(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	struct ct_end end = { 0 };
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;

	NEED_COUNTERS(rig);
	expect_ok(dat_ib_query_counters(rig->ia, DCNT_IA_ALL_COUNTERS, before, 0));
	ct_end_open(&end, rig->ia, NULL);
	grew(rig->ia, DCNT_IA_PZ_CREATE, 1);
	grew(rig->ia, DCNT_IA_EVD_CREATE, 3);
	grew(rig->ia, DCNT_IA_EP_CREATE, 1);
	grew(rig->ia, DCNT_IA_LMR_CREATE, 1);
	expect_ok(dat_psp_create(rig->ia, qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_type(dat_psp_create(rig->ia, qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_CONN_QUAL_IN_USE);
	grew(rig->ia, DCNT_IA_PSP_CREATE, 1);
	expect_ok(dat_psp_free(psp));
	expect_ok(dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	grew(rig->ia, DCNT_IA_PSP_CREATE_ANY, 1);
	expect_ok(dat_psp_free(psp));
	grew(rig->ia, DCNT_IA_PSP_FREE, 2);
	expect_ok(dat_rsp_create(rig->ia, qual, end.ep, rig->cr, &rsp));
	expect_ok(dat_rsp_free(rsp));
	grew(rig->ia, DCNT_IA_RSP_CREATE, 1);
	grew(rig->ia, DCNT_IA_RSP_FREE, 1);
	expect_state(dat_pz_free(end.pz), PZ_IN_USE);
	ct_end_close(&end);
	grew(rig->ia, DCNT_IA_PZ_FREE, 1);
	grew(rig->ia, DCNT_IA_EVD_FREE, 3);
	grew(rig->ia, DCNT_IA_EP_FREE, 1);
	grew(rig->ia, DCNT_IA_LMR_FREE, 1);
}

static void ibx_105_remote_regions_and_shared_queues(void **state)
{
	struct cu_rig *rig = *state;
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;

	NEED_COUNTERS(rig);
	expect_ok(dat_ib_query_counters(rig->ia, DCNT_IA_ALL_COUNTERS, before, 0));
	if (rig->attr.max_rmrs > 0) {
		if (rig->prov.rmr_scope_supported == DAT_RMR_SCOPE_EP)
			expect_ok(dat_rmr_create_for_ep(rig->a.pz, &rmr));
		else
			expect_ok(dat_rmr_create(rig->a.pz, &rmr));
		grew(rig->ia, DCNT_IA_RMR_CREATE, 1);
		expect_ok(dat_rmr_free(rmr));
		grew(rig->ia, DCNT_IA_RMR_FREE, 1);
	}
	if (rig->prov.srq_supported) {
		expect_ok(dat_srq_create(rig->ia, rig->a.pz, &attr, &srq));
		grew(rig->ia, DCNT_IA_SRQ_CREATE, 1);
		expect_ok(dat_srq_free(srq));
		grew(rig->ia, DCNT_IA_SRQ_FREE, 1);
	}
}

static DAT_RETURN send_two(struct ct_end *end, size_t one, size_t two)
{
	DAT_LMR_TRIPLET seg[2] = { ct_segment(&end->mem, 0, one),
				   ct_segment(&end->mem, 8192, two) };

	return dat_ep_post_send(end->ep, 2, seg, cu_cookie(7), DAT_COMPLETION_DEFAULT_FLAG);
}

static void ibx_105_posts_and_their_bytes(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_LMR_TRIPLET seg[2];

	NEED_COUNTERS(rig);
	for (int i = 0; i < 3; i++)
		expect_ok(cu_recv(p, 1024 * (size_t)i, 500, (uint64_t)i));
	seg[0] = ct_segment(&p->mem, 4096, 10);
	seg[1] = ct_segment(&p->mem, 5120, 20);
	expect_ok(dat_ep_post_recv(p->ep, 2, seg, cu_cookie(3), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_recv(p->ep, 0, NULL, cu_cookie(4), DAT_COMPLETION_DEFAULT_FLAG));
	expect_arg(dat_ep_post_recv(p->ep, 1, NULL, cu_cookie(4), DAT_COMPLETION_DEFAULT_FLAG), 3);
	COUNTS(p->ep, DCNT_EP_POST_RECV, 5);
	COUNTS(p->ep, DCNT_EP_POST_RECV_DATA, 1530);
	expect_ok(ct_post_send(a, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(a, 0, 200, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	expect_ok(send_two(a, 30, 40));
	expect_ok(dat_ep_post_send(a->ep, 0, NULL, cu_cookie(8), DAT_COMPLETION_DEFAULT_FLAG));
	COUNTS(a->ep, DCNT_EP_POST_SEND, 4);
	COUNTS(a->ep, DCNT_EP_POST_SEND_DATA, 370);
	expect_ok(cu_write(a, 0, 4000, 9, &p->mem, 16384, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_write(a, 0, 1, 10, &p->mem, 16384, DAT_COMPLETION_SUPPRESS_FLAG));
	COUNTS(a->ep, DCNT_EP_POST_WRITE, 2);
	COUNTS(a->ep, DCNT_EP_POST_WRITE_DATA, 4001);
	expect_ok(cu_read(a, 0, 300, 11, &p->mem, 16384, DAT_COMPLETION_DEFAULT_FLAG));
	COUNTS(a->ep, DCNT_EP_POST_READ, 1);
	COUNTS(a->ep, DCNT_EP_POST_READ_DATA, 300);
	/* What is refused does not count. */
	expect_arg(dat_ep_post_send(a->ep, -1, NULL, cu_cookie(8), DAT_COMPLETION_DEFAULT_FLAG), 2);
	COUNTS(a->ep, DCNT_EP_POST_SEND, 4);
	COUNTS(a->ep, DCNT_EP_POST_SEND_UD, 0);
	DONE(a->request, a->ep, 1, DAT_DTO_SEND, 100);
	DONE(a->request, a->ep, 7, DAT_DTO_SEND, 70);
	DONE(a->request, a->ep, 8, DAT_DTO_SEND, 0);
	DONE(a->request, a->ep, 9, DAT_DTO_RDMA_WRITE, 4000);
	DONE(a->request, a->ep, 11, DAT_DTO_RDMA_READ, 300);
	DONE(p->recv, p->ep, 0, DAT_DTO_RECEIVE, 100);
	DONE(p->recv, p->ep, 1, DAT_DTO_RECEIVE, 200);
	DONE(p->recv, p->ep, 2, DAT_DTO_RECEIVE, 70);
	DONE(p->recv, p->ep, 3, DAT_DTO_RECEIVE, 0);
	COUNTS(p->ep, DCNT_EP_RECV, 4);
	COUNTS(p->ep, DCNT_EP_RECV_DATA, 370);
	/* A receive that is flushed was no success. */
	cu_end_connection(a, p);
	FLUSHED(p->recv, p->ep, 4, DAT_DTO_RECEIVE);
	COUNTS(p->ep, DCNT_EP_RECV, 4);
	COUNTS(a->ep, DCNT_EP_DISCONNECT, 1);
	COUNTS(a->ep, DCNT_EP_CONNECT, 1);
	COUNTS(p->ep, DCNT_EP_CONNECT, 0);
}

static void ibx_105_posts_that_are_refused_for_room(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;
	DAT_COUNT room;

	NEED_COUNTERS(rig);
	cu_query(rig->a.ep, &param);
	room = param.ep_attr.max_recv_dtos;
	for (DAT_COUNT i = 0; i < room; i++)
		expect_ok(cu_recv(&rig->a, 0, 10, 1));
	expect_type(cu_recv(&rig->a, 0, 10, 1), DAT_INSUFFICIENT_RESOURCES);
	COUNTS(rig->a.ep, DCNT_EP_POST_RECV, (DAT_UINT64)room);
	COUNTS(rig->a.ep, DCNT_EP_POST_RECV_DATA, (DAT_UINT64)room * 10);
}

static void ibx_105_extension_posts(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_LMR_TRIPLET local = ct_segment(&a->mem, 0, 8);
	DAT_RMR_TRIPLET remote = ct_target(&p->mem, 0, 8);
	DAT_RETURN rc;

	NEED_COUNTERS(rig);
	expect_ok(cu_recv(p, 4096, 64, 1));
	rc = dat_ib_post_rdma_write_immed(a->ep, 1, &local, cu_cookie(1), &remote, 5,
					  DAT_COMPLETION_DEFAULT_FLAG);
	if (cu_unsupported(rc))
		harness_skip("the adapter has no writes with immediate data");
	expect_ok(rc);
	COUNTS(a->ep, DCNT_EP_POST_WRITE_IMM, 1);
	COUNTS(a->ep, DCNT_EP_POST_WRITE_IMM_DATA, 8);
	COUNTS(a->ep, DCNT_EP_POST_WRITE, 0);
	ct_next(p->recv, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT, &(DAT_EVENT){ 0 });
	COUNTS(p->ep, DCNT_EP_RECV_RDMA_IMM, 1);
	COUNTS(p->ep, DCNT_EP_RECV_RDMA_IMM_DATA, 8);
	COUNTS(p->ep, DCNT_EP_RECV, 0);
}

static void ibx_105_waits_and_dequeues(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE evd = ct_evd(rig->ia, 8, NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;
	DAT_COUNT more;

	NEED_COUNTERS(rig);
	expect_type(dat_evd_wait(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	expect_type(dat_evd_wait(evd, 1000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	COUNTS(evd, DCNT_EVD_WAIT, 2);
	COUNTS(evd, DCNT_EVD_WAIT_BLOCKED, 1);
	for (uintptr_t i = 0; i < 3; i++)
		expect_ok(ct_post_se(evd, i));
	ct_take_se(evd, 0);
	ct_take_se(evd, 1);
	expect_ok(dat_evd_wait(evd, CT_US, 1, &event, &more));
	ct_empty(evd);
	COUNTS(evd, DCNT_EVD_WAIT, 3);
	COUNTS(evd, DCNT_EVD_WAIT_BLOCKED, 1);
	COUNTS(evd, DCNT_EVD_DEQUEUE, 3);
	COUNTS(evd, DCNT_EVD_DEQUEUE_FOUND, 2);
	COUNTS(evd, DCNT_EVD_DEQUEUE_NOT_FOUND, 1);
}

static void ibx_105_dequeued_completions(void **state)
{
	struct cu_rig *rig = *state;
	DAT_UINT64 found;
	DAT_EVENT event;

	NEED_COUNTERS(rig);
	for (int i = 0; i < 4; i++)
		expect_ok(cu_recv(&rig->p, 0, 16, 1));
	for (int i = 0; i < 4; i++)
		expect_ok(ct_post_send(&rig->a, 0, 16, 1, DAT_COMPLETION_DEFAULT_FLAG));
	for (int i = 0; i < 4; i++)
		cu_poll(rig->a.request, &event);
	found = count(rig->a.request, DCNT_EVD_DEQUEUE_FOUND);
	assert_int_equal(found, 4);
	COUNTS(rig->a.request, DCNT_EVD_DEQUEUE,
	       found + count(rig->a.request, DCNT_EVD_DEQUEUE_NOT_FOUND));
	assert_true(count(rig->a.request, DCNT_EVD_DEQUEUE_POLL) >=
		    count(rig->a.request, DCNT_EVD_DEQUEUE_POLL_FOUND));
	COUNTS(rig->a.connect, DCNT_EVD_CONN_CALLBACK, 1);
}

/* Counters go on through reset and larger queues. */
static void ibx_95_counters_outlive_the_connection(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_EP_PARAM param;

	NEED_COUNTERS(rig);
	expect_ok(cu_recv(p, 0, 64, 1));
	expect_ok(cu_recv(p, 0, 64, 2));
	expect_ok(ct_post_send(a, 0, 48, 1, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(p->recv, p->ep, 1, DAT_DTO_RECEIVE, 48);
	cu_end_connection(a, p);
	expect_ok(dat_ep_reset(a->ep));
	expect_ok(dat_ep_reset(p->ep));
	cu_query(p->ep, &param);
	expect_ok(cu_recv(p, 0, 64, 3));
	param.ep_attr.max_recv_dtos *= 4;
	expect_ok(dat_ep_modify(p->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	expect_ok(cu_recv(p, 0, 64, 4));
	ct_drain(p->recv);
	ct_drain(p->connect);
	cu_establish(rig, a, p);
	expect_ok(ct_post_send(a, 0, 16, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(a, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(p->recv, p->ep, 3, DAT_DTO_RECEIVE, 16);
	DONE(p->recv, p->ep, 4, DAT_DTO_RECEIVE, 8);
	COUNTS(p->ep, DCNT_EP_POST_RECV, 4);
	COUNTS(p->ep, DCNT_EP_POST_RECV_DATA, 256);
	COUNTS(p->ep, DCNT_EP_RECV, 3);
	COUNTS(p->ep, DCNT_EP_RECV_DATA, 72);
	COUNTS(a->ep, DCNT_EP_POST_SEND, 3);
	COUNTS(a->ep, DCNT_EP_CONNECT, 2);
	assert_int_equal(count(rig->ia, DCNT_IA_CM_ACTIVE_EST), 2);
	assert_int_equal(count(rig->ia, DCNT_IA_CM_PASSIVE_EST), 2);
	assert_int_equal(count(rig->ia, DCNT_IA_SP_CR), 2);
	assert_int_equal(count(rig->ia, DCNT_IA_SP_CR_ACCEPTED), 2);
}

static int stop_reading;

static void *read_often(void *ep)
{
	DAT_UINT64 out[DCNT_EP_ALL_COUNTERS];

	while (!__atomic_load_n(&stop_reading, __ATOMIC_RELAXED))
		dat_ib_query_counters(ep, DCNT_EP_ALL_COUNTERS, out, 0);
	return NULL;
}

/* GEN-24: another thread reads them meanwhile, as dat-info --pid does. */
static void ibx_105_connects_while_they_are_read(void **state)
{
	struct cu_rig *rig = *state;
	pthread_t thread;

	NEED_COUNTERS(rig);
	assert_int_equal(pthread_create(&thread, NULL, read_often, rig->a.ep), 0);
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	__atomic_store_n(&stop_reading, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	COUNTS(rig->a.ep, DCNT_EP_CONNECT, 1);
	COUNTS(rig->a.ep, DCNT_EP_DISCONNECT, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)
#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ibx_94_counters_exist_as_announced),
		T(ibx_95_to_97_zero_at_creation),
		T(ibx_98_99_one_counter_and_its_reset),
		T(ibx_100_101_arguments),
		T(ibx_102_printed_line_by_line),
		T(ibx_103_104_start_and_stop),
		T(ibx_105_objects_made_and_freed),
		T(ibx_105_remote_regions_and_shared_queues),
		C(ibx_105_posts_and_their_bytes),
		T(ibx_105_posts_that_are_refused_for_room),
		C(ibx_105_extension_posts),
		T(ibx_105_waits_and_dequeues),
		C(ibx_105_dequeued_completions),
		C(ibx_95_counters_outlive_the_connection),
		T(ibx_105_connects_while_they_are_read),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
