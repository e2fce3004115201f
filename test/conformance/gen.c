/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is said of all calls at once: handles, waiting, order of checks, tracing. */
#include "conn_util.h"

static void gen_15_the_null_handle_is_zero(void **state)
{
	DAT_HANDLE zero;

	(void)state;
	memset(&zero, 0, sizeof(zero));
	assert_true(zero == DAT_HANDLE_NULL);
	assert_int_equal(sizeof(DAT_HANDLE), sizeof(void *));
}

/* ---- Handles ---- */

static void of_dispatchers(struct cu_rig *rig)
{
	DAT_CNO_HANDLE cno = ct_cno(rig->ia);
	DAT_EVD_HANDLE evd = ct_evd(rig->ia, 4, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_PARAM param = ct_evd_param(evd);
	DAT_CNO_PARAM cno_param;
	DAT_EVD_HANDLE async;

	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_ptr_equal(param.cno_handle, cno);
	expect_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &cno_param));
	assert_ptr_equal(cno_param.ia_handle, rig->ia);
	assert_ptr_equal(ct_evd_param(rig->async).ia_handle, rig->ia);
	expect_ok(dat_ia_query(rig->ia, &async, 0, NULL, 0, NULL));
	assert_ptr_equal(async, rig->async);
}

static void of_memory(struct cu_rig *rig)
{
	DAT_LMR_PARAM lmr;
	DAT_PZ_PARAM pz;

	expect_ok(dat_pz_query(rig->a.pz, DAT_PZ_FIELD_ALL, &pz));
	assert_ptr_equal(pz.ia_handle, rig->ia);
	expect_ok(dat_lmr_query(rig->a.mem.lmr, DAT_LMR_FIELD_ALL, &lmr));
	assert_ptr_equal(lmr.ia_handle, rig->ia);
	assert_ptr_equal(lmr.pz_handle, rig->a.pz);
}

static void of_connections(struct cu_rig *rig)
{
	DAT_PSP_PARAM psp;
	DAT_EP_PARAM ep;
	DAT_EVENT event;

	expect_ok(dat_psp_query(rig->psp, DAT_PSP_FIELD_ALL, &psp));
	assert_ptr_equal(psp.ia_handle, rig->ia);
	assert_ptr_equal(psp.evd_handle, rig->cr);
	cu_query(rig->a.ep, &ep);
	assert_ptr_equal(ep.ia_handle, rig->ia);
	assert_ptr_equal(ep.pz_handle, rig->a.pz);
	assert_ptr_equal(ep.recv_evd_handle, rig->a.recv);
	assert_ptr_equal(ep.request_evd_handle, rig->a.request);
	assert_ptr_equal(ep.connect_evd_handle, rig->a.connect);
	expect_ok(cu_connect(&rig->a, rig->qual, DAT_TIMEOUT_INFINITE));
	/* cu_next looks at evd_handle. */
	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.psp_handle, rig->psp);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, rig->p.ep, 0,
				NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	expect_ok(cu_write(&rig->a, 0, 64, 1, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_WRITE, 64);
}

static void gen_19_evd_6_reported_handles_are_those_given_out(void **state)
{
	struct cu_rig *rig = *state;

	of_dispatchers(rig);
	of_memory(rig);
	of_connections(rig);
}

/* ---- Waiting ---- */

/*
 * What they wait for cannot come: nobody answers the request, and nobody takes the message. The
 * calls return nevertheless.
 */
static void gen_26_evd_8_calls_that_start_work_do_not_wait_for_it(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end other = { 0 };

	ct_end_open(&other, rig->ia, NULL);
	expect_ok(cu_connect(&other, rig->qual, DAT_TIMEOUT_INFINITE));
	STATE(other.ep, ACTIVE_CONNECTION_PENDING);
	cu_take_cr(rig->cr);
	STATE(other.ep, ACTIVE_CONNECTION_PENDING);
	/* Dispatchers with nothing in them. */
	expect_ok(dat_evd_disable(rig->a.request));
	expect_ok(dat_evd_enable(rig->a.request));
	expect_ok(dat_evd_set_unwaitable(rig->a.request));
	expect_ok(dat_evd_clear_unwaitable(rig->a.request));
	expect_ok(dat_evd_resize(rig->a.request, 128));
	ct_empty(rig->a.request);
	cu_quiet(rig->a.request, 0);
	ct_end_close(&other);
}

static void gen_26_a_graceful_disconnect_does_not_wait(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *big = cu_extra_mem(rig, rig->a.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);

	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->a.ep, DISCONNECT_PENDING);
}

/* ---- Order of checks ---- */

/* GEN-7: handles before everything else. */
static void evd_3_a_bad_handle_comes_first(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE freed = ct_evd(rig->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE handles[] = { DAT_HANDLE_NULL, freed, rig->a.pz };

	expect_ok(dat_evd_free(freed));
	for (int i = 0; i < 3; i++) {
		DAT_EVD_HANDLE evd = handles[i];

		expect_type(dat_evd_wait(evd, 0, 0, NULL, NULL), DAT_INVALID_HANDLE);
		expect_type(dat_evd_dequeue(evd, NULL), DAT_INVALID_HANDLE);
		expect_type(dat_evd_post_se(evd, NULL), DAT_INVALID_HANDLE);
		expect_type(dat_evd_resize(evd, -1), DAT_INVALID_HANDLE);
		expect_type(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)-1, NULL), DAT_INVALID_HANDLE);
		expect_type(dat_cno_wait(evd, 0, NULL), DAT_INVALID_HANDLE);
		expect_type(dat_ep_post_recv(evd == rig->a.pz ? rig->a.pz : evd, -1, NULL,
					     cu_cookie(0), (DAT_COMPLETION_FLAGS)0x40),
			    DAT_INVALID_HANDLE);
	}
	expect_type(dat_evd_create(freed, -1, freed, (DAT_EVD_FLAGS)0, NULL), DAT_INVALID_HANDLE);
}

/* ---- Streams ---- */

static const DAT_EVD_FLAGS streams[] = {
	DAT_EVD_SOFTWARE_FLAG,	 DAT_EVD_CR_FLAG,	DAT_EVD_DTO_FLAG,
	DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};

static void evd_10_each_stream_has_its_flag(void **state)
{
	static const int values[] = { 0x001, 0x010, 0x020, 0x040, 0x080, 0x100 };

	(void)state;
	for (int i = 0; i < 6; i++)
		assert_int_equal(streams[i], values[i]);
	assert_int_equal(DAT_EVD_DEFAULT_FLAG, 0x1f0);
}

static void evd_26_streams_share_as_the_matrix_says(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE evd;

	for (int row = 0; row < 6; row++) {
		for (int col = 0; col < 6; col++) {
			DAT_EVD_FLAGS both = (DAT_EVD_FLAGS)(streams[row] | streams[col]);
			DAT_BOOLEAN may = rig->prov.evd_stream_merging_supported[row][col];

			assert_int_equal(may, rig->prov.evd_stream_merging_supported[col][row]);
			if (row == col)
				assert_int_equal(may, DAT_TRUE);
			if (!may) {
				expect_arg(dat_evd_create(rig->ia, 4, NULL, both, &evd), 4);
				continue;
			}
			expect_ok(dat_evd_create(rig->ia, 4, NULL, both, &evd));
			expect_ok(dat_evd_free(evd));
		}
	}
}

/* ---- Tracing ---- */

/* A session whose every result is checked. */
static int session(void)
{
	struct cu_rig *rig = cu_rig_open();

	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	expect_arg(cu_connect(&rig->a, rig->qual, 0), 4);
	for (unsigned int i = 0; i < 3; i++) {
		cu_establish(rig, &rig->a, &rig->p);
		cu_fill(rig->a.mem.base, 4096, i);
		expect_ok(cu_recv(&rig->p, 0, 4096, 1));
		expect_ok(cu_recv(&rig->p, 4096, 4096, 2));
		expect_ok(ct_post_send(&rig->a, 0, 4096, 3, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_SEND, 4096);
		DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 4096);
		FILLED(rig->p.mem.base, 4096, i);
		cu_end_connection(&rig->a, &rig->p);
		FLUSHED(rig->p.recv, rig->p.ep, 2, DAT_DTO_RECEIVE);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
	cu_rig_close(rig);
	return 0;
}

static void traced(const char *const *env)
{
	static struct harness_result result;

	harness_spawn("session", env, &result);
	if (result.status != 0)
		fail_msg("status 0x%x\n%s", result.status, result.err);
	assert_string_equal(result.out, "");
}

static void vnd_13_20_tracing_changes_no_result(void **state)
{
	static const char *const none[] = { "DAT_TRACE_LEVEL=0", "DAPL_TRACE_LEVEL=0", NULL };
	static const char *const all[] = { "DAT_TRACE_LEVEL=10", "DAPL_TRACE_LEVEL=10", NULL };
	static const char *const older[] = { "DAT_DBG_TYPE=0xff", "DAT_DBG_DEST=1",
					     "DAPL_DBG_TYPE=0xffffffff", "DAPL_DBG_DEST=1", NULL };

	(void)state;
	traced(none);
	traced(all);
	traced(older);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "session", session }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(gen_15_the_null_handle_is_zero),
		T(gen_19_evd_6_reported_handles_are_those_given_out),
		T(gen_26_evd_8_calls_that_start_work_do_not_wait_for_it),
		T(gen_26_a_graceful_disconnect_does_not_wait),
		T(evd_3_a_bad_handle_comes_first),
		T(evd_10_each_stream_has_its_flag),
		T(evd_26_streams_share_as_the_matrix_says),
		T(vnd_13_20_tracing_changes_no_result),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
