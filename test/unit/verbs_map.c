/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the verbs provider makes of the words of libibverbs and rdma_cm. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#include "providers/verbs/addr.h"
#include "providers/verbs/cm/rdma.h"
#include "providers/verbs/map.h"

static void evt_14_completion_codes(void **state)
{
	static const struct {
		enum ibv_wc_status ib;
		unsigned int dat;
	} rows[] = {
		{ IBV_WC_SUCCESS, 0 },
		{ IBV_WC_LOC_LEN_ERR, 2 },
		{ IBV_WC_LOC_QP_OP_ERR, 3 },
		{ IBV_WC_LOC_EEC_OP_ERR, 8 },
		{ IBV_WC_LOC_PROT_ERR, 4 },
		{ IBV_WC_WR_FLUSH_ERR, 1 },
		{ IBV_WC_MW_BIND_ERR, 11 },
		{ IBV_WC_BAD_RESP_ERR, 5 },
		{ IBV_WC_LOC_ACCESS_ERR, 4 },
		{ IBV_WC_REM_INV_REQ_ERR, 7 },
		{ IBV_WC_REM_ACCESS_ERR, 6 },
		{ IBV_WC_REM_OP_ERR, 7 },
		{ IBV_WC_RETRY_EXC_ERR, 8 },
		{ IBV_WC_RNR_RETRY_EXC_ERR, 9 },
		{ IBV_WC_LOC_RDD_VIOL_ERR, 4 },
		{ IBV_WC_REM_INV_RD_REQ_ERR, 7 },
		{ IBV_WC_REM_ABORT_ERR, 7 },
		{ IBV_WC_INV_EECN_ERR, 8 },
		{ IBV_WC_INV_EEC_STATE_ERR, 8 },
		{ IBV_WC_FATAL_ERR, 8 },
		{ IBV_WC_RESP_TIMEOUT_ERR, 9 },
		{ IBV_WC_GENERAL_ERR, 8 },
		{ IBV_WC_TM_ERR, 1 },
		{ (enum ibv_wc_status)1000, 1 },
		{ (enum ibv_wc_status) - 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(vrb_map_wc(rows[i].ib), rows[i].dat);
}

/* DTO-61: what the peer asked for and was refused is no fault of the receive it had taken. */
static void ibx_54_what_a_refused_request_had_taken(void **state)
{
	(void)state;
	assert_int_equal(vrb_map_received(IBV_WC_REM_ACCESS_ERR), TP_WC_FLUSHED);
	assert_int_equal(vrb_map_received(IBV_WC_REM_INV_REQ_ERR), TP_WC_LOCAL_PROTECTION);
	assert_int_equal(vrb_map_received(IBV_WC_LOC_LEN_ERR), TP_WC_LOCAL_LENGTH);
	assert_int_equal(vrb_map_received(IBV_WC_WR_FLUSH_ERR), TP_WC_FLUSHED);
}

/* What comes with a success: IBX-25, DTO-58. */
static void dto_58_ibx_25_words_of_a_success(void **state)
{
	static const struct {
		struct ibv_wc wc;
		bool recv;
		uint32_t flags;
	} rows[] = {
		{ { .opcode = IBV_WC_RDMA_WRITE }, false, 0 },
		{ { .opcode = IBV_WC_SEND, .wc_flags = IBV_WC_WITH_IMM }, false, 0 },
		{ { .opcode = IBV_WC_RECV }, true, TP_WC_RECV },
		{ { .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_WITH_IMM },
		  true,
		  TP_WC_RECV | TP_WC_IMMEDIATE },
		{ { .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_WITH_INV },
		  true,
		  TP_WC_RECV | TP_WC_INVALIDATED },
		{ { .opcode = IBV_WC_RECV_RDMA_WITH_IMM, .wc_flags = IBV_WC_WITH_IMM },
		  true,
		  TP_WC_RECV | TP_WC_IMMEDIATE | TP_WC_WRITTEN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(vrb_map_wc_flags(&rows[i].wc, rows[i].recv), rows[i].flags);
}

/* Every place of a group has a name of the kernel's, and DCNT_IA_DIAG_ERR_RQ_RAE begins the second.
 */
static void ibx_61_names_of_counters(void **state)
{
	const struct vrb_counters *link = vrb_map_counters(TP_COUNTERS_LINK);
	const struct vrb_counters *diag = vrb_map_counters(TP_COUNTERS_DIAG);

	(void)state;
	assert_int_equal(link->num, DCNT_IA_DIAG_ERR_RQ_RAE - DCNT_IA_LNK_ERR_RCV);
	assert_int_equal(diag->num, 9);
	assert_string_equal(link->name[DCNT_IA_LNK_ERR_RCV - DCNT_IA_LNK_ERR_RCV],
			    "port_rcv_errors");
	assert_string_equal(link->name[DCNT_IA_LNK_WARN_XMT_WAIT - DCNT_IA_LNK_ERR_RCV],
			    "port_xmit_wait");
	assert_string_equal(diag->name[DCNT_IA_DIAG_ERR_SQ_RAE - DCNT_IA_DIAG_ERR_RQ_RAE],
			    "sq_num_rae");
}

/* IBX-116 */
static void ibx_116_port_states(void **state)
{
	(void)state;
	assert_string_equal(vrb_map_port_state(IBV_PORT_NOP), "NOP");
	assert_string_equal(vrb_map_port_state(IBV_PORT_DOWN), "DOWN");
	assert_string_equal(vrb_map_port_state(IBV_PORT_INIT), "INIT");
	assert_string_equal(vrb_map_port_state(IBV_PORT_ARMED), "ARMED");
	assert_string_equal(vrb_map_port_state(IBV_PORT_ACTIVE), "ACTIVE");
	assert_string_equal(vrb_map_port_state(IBV_PORT_ACTIVE_DEFER), "DEFER");
	assert_string_equal(vrb_map_port_state((enum ibv_port_state)77), "UNKNOWN");
}

static void evt_28_asynchronous_events(void **state)
{
	static const struct {
		enum ibv_event_type type;
		enum vrb_async_object object;
		enum tp_async_event event;
	} rows[] = {
		{ IBV_EVENT_CQ_ERR, VRB_ASYNC_CQ, TP_ASYNC_CQ_OVERFLOW },
		{ IBV_EVENT_QP_FATAL, VRB_ASYNC_QP, TP_ASYNC_QP_ERROR },
		{ IBV_EVENT_QP_REQ_ERR, VRB_ASYNC_QP, TP_ASYNC_QP_ERROR },
		{ IBV_EVENT_QP_ACCESS_ERR, VRB_ASYNC_QP, TP_ASYNC_QP_ERROR },
		{ IBV_EVENT_SRQ_ERR, VRB_ASYNC_SRQ, TP_ASYNC_SRQ_ERROR },
		{ IBV_EVENT_SRQ_LIMIT_REACHED, VRB_ASYNC_SRQ, TP_ASYNC_SRQ_LIMIT },
		{ IBV_EVENT_DEVICE_FATAL, VRB_ASYNC_DEVICE, TP_ASYNC_DEVICE_FATAL },
		{ IBV_EVENT_PORT_ERR, VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		{ IBV_EVENT_LID_CHANGE, VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		{ IBV_EVENT_PKEY_CHANGE, VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		{ IBV_EVENT_SM_CHANGE, VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		{ IBV_EVENT_PORT_ACTIVE, VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		{ IBV_EVENT_GID_CHANGE, VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
	};
	static const enum ibv_event_type nothing[] = {
		IBV_EVENT_COMM_EST,
		IBV_EVENT_PATH_MIG,
		IBV_EVENT_PATH_MIG_ERR,
		IBV_EVENT_CLIENT_REREGISTER,
		IBV_EVENT_QP_LAST_WQE_REACHED,
		IBV_EVENT_WQ_FATAL,
		IBV_EVENT_SQ_DRAINED,
		(enum ibv_event_type)1000,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct vrb_async what = vrb_map_async(rows[i].type);

		assert_int_equal(what.object, rows[i].object);
		assert_int_equal(what.event, rows[i].event);
	}
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
		assert_int_equal(vrb_map_async(nothing[i]).object, VRB_ASYNC_NOBODY);
}

static void ev_5_ends_of_connections(void **state)
{
	static const struct {
		enum vrb_phase phase;
		enum rdma_cm_event_type type;
		int status;
		bool iwarp;
		enum tp_conn_event event;
	} rows[] = {
		/* InfiniBand: the program's reason, no listener, anything else. */
		{ VRB_ACTIVE, RDMA_CM_EVENT_REJECTED, 28, false, TP_CONN_REJECTED },
		{ VRB_ACTIVE, RDMA_CM_EVENT_REJECTED, 8, false, TP_CONN_REFUSED },
		{ VRB_ACTIVE, RDMA_CM_EVENT_REJECTED, 35, false, TP_CONN_REFUSED },
		{ VRB_ACTIVE, RDMA_CM_EVENT_REJECTED, 10, false, TP_CONN_REFUSED },
		/* iWARP: a reply that says no; one, or no listener, which brings no data. */
		{ VRB_ACTIVE, RDMA_CM_EVENT_REJECTED, -ECONNRESET, true, TP_CONN_REJECTED },
		{ VRB_ACTIVE, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, true, TP_CONN_REJECTED },
		{ VRB_ACTIVE, RDMA_CM_EVENT_REJECTED, -EPROTO, true, TP_CONN_REFUSED },
		{ VRB_ACTIVE, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, false, TP_CONN_UNREACHABLE },
		{ VRB_ACTIVE, RDMA_CM_EVENT_ROUTE_ERROR, -ENODEV, false, TP_CONN_UNREACHABLE },
		{ VRB_ACTIVE, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, false, TP_CONN_UNREACHABLE },
		{ VRB_ACTIVE, RDMA_CM_EVENT_CONNECT_ERROR, -ETIMEDOUT, true, TP_CONN_UNREACHABLE },
		{ VRB_ACTIVE, RDMA_CM_EVENT_CONNECT_ERROR, -EPROTO, true, TP_CONN_REFUSED },
		{ VRB_ACTIVE, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, false, TP_CONN_UNREACHABLE },
		{ VRB_ACTIVE, RDMA_CM_EVENT_DISCONNECTED, 0, false, TP_CONN_REFUSED },
		/* An accept ends in one of two ways, and this is the other. */
		{ VRB_ACCEPTED, RDMA_CM_EVENT_REJECTED, 28, false, TP_CONN_BROKEN },
		{ VRB_ACCEPTED, RDMA_CM_EVENT_UNREACHABLE, 0, false, TP_CONN_BROKEN },
		{ VRB_ACCEPTED, RDMA_CM_EVENT_CONNECT_ERROR, 0, true, TP_CONN_BROKEN },
		{ VRB_ACCEPTED, RDMA_CM_EVENT_DISCONNECTED, 0, true, TP_CONN_BROKEN },
		{ VRB_OPEN, RDMA_CM_EVENT_DISCONNECTED, 0, false, TP_CONN_DISCONNECTED },
		{ VRB_OPEN, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, false, TP_CONN_BROKEN },
		{ VRB_OPEN, RDMA_CM_EVENT_CONNECT_ERROR, 0, false, TP_CONN_BROKEN },
		/* 28: by the program; 4: it gave up */
		{ VRB_OPEN, RDMA_CM_EVENT_REJECTED, 28, false, TP_CONN_DISCONNECTED },
		{ VRB_OPEN, RDMA_CM_EVENT_REJECTED, 4, false, TP_CONN_BROKEN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(vrb_map_end(rows[i].phase, rows[i].type, rows[i].status,
					     rows[i].iwarp
						     ? vrb_rdma_iwarp.by_program(rows[i].status)
						     : vrb_rdma_ib.by_program(rows[i].status)),
				 rows[i].event);
	assert_int_equal(vrb_map_end_errno(RDMA_CM_EVENT_REJECTED, 28), -ECONNREFUSED);
	assert_int_equal(vrb_map_end_errno(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT), -ETIMEDOUT);
	assert_int_equal(vrb_map_end_errno(RDMA_CM_EVENT_DISCONNECTED, 0), 0);
}

/* Every length arrives, and the program's bytes are where a peer of release 2.1.10 looks for them.
 */
static void pd_5_every_length_arrives(void **state)
{
	uint8_t data[VRB_PD_MAX], wire[256];
	struct vrb_pd_frame frame;
	uint32_t len;

	(void)state;
	for (int fill = 0; fill < 256; fill++) {
		memset(data, fill, sizeof(data));
		for (len = 0; len <= VRB_PD_MAX; len++) {
			vrb_pd_request(&frame, data, len);
			assert_int_equal(frame.len, VRB_PD_MAX);
			assert_memory_equal(frame.bytes, data, len);
			assert_int_equal(
				vrb_pd_request_len(frame.bytes, VRB_PD_MAX, frame.flow_control),
				len);

			/* A reply is padded with zeroes to what its message holds. */
			vrb_pd_reply(&frame, data, len);
			assert_int_equal(frame.len, VRB_PD_FRAME);
			assert_memory_equal(frame.bytes, data, len);
			memset(wire, 0, sizeof(wire));
			memcpy(wire, frame.bytes, frame.len);
			assert_int_equal(vrb_pd_reply_len(wire, 196), len);
			assert_int_equal(vrb_pd_reply_len(wire, 148), len);
		}
	}
}

/* Data of a peer that does not tell its length stays as long as it came. */
static void pd_5_plain_data_stays_plain(void **state)
{
	uint8_t wire[256];

	(void)state;
	for (int fill = 0; fill < 256; fill++) {
		memset(wire, fill, sizeof(wire));
		assert_int_equal(vrb_pd_request_len(wire, VRB_PD_MAX, true), VRB_PD_MAX);
		assert_int_equal(vrb_pd_reply_len(wire, 196), 196);
		assert_int_equal(vrb_pd_reply_len(wire, 0), 0);
		assert_int_equal(vrb_pd_request_len(wire, 0, false), 0);
	}
	memset(wire, 0, sizeof(wire));
	assert_int_equal(vrb_pd_request_len(wire, VRB_PD_MAX, false), VRB_PD_MAX);
	/* A trailer that says more than there is room for is none. */
	memcpy(wire + VRB_PD_MAX, "uD\x00\xff", 4);
	assert_int_equal(vrb_pd_reply_len(wire, 196), 196);
}

/* EV-8, EV-9: the peer's consumer is known by release 2.1.10's mark, or by his data. */
static void ev_8_9_whose_rejection_it_is(void **state)
{
	static const uint8_t marked[] = { 2, 0, 2, 0 };
	uint8_t data[56], wire[VRB_PD_REJECT_MAX];
	uint32_t mark;

	(void)state;
	memset(data, 0x5a, sizeof(data));
	for (uint32_t len = 0; len <= sizeof(data); len++) {
		memset(wire, 0, sizeof(wire));
		assert_int_equal(vrb_pd_reject(wire, data, len), 4 + VRB_PD_FRAME);
		assert_memory_equal(wire, marked, 4);
		assert_memory_equal(wire + 4, data, len);
		assert_true(vrb_pd_rejected(wire, 148, &mark));
		assert_int_equal(mark, 4);
		assert_int_equal(vrb_pd_reply_len(wire + 4, 144), len);
		assert_int_equal(vrb_pd_reject_iwarp(wire, data, len), len ? len : 4);
		assert_true(vrb_pd_rejected_iwarp(wire, len ? len : 4, &mark));
		assert_int_equal(mark, len ? 0 : 4);
	}
	/* What the kernel says for others. */
	memset(wire, 0, sizeof(wire));
	assert_false(vrb_pd_rejected(wire, 148, &mark));
	assert_false(vrb_pd_rejected(wire, 0, &mark));
	assert_false(vrb_pd_rejected_iwarp(wire, 0, &mark));
	/* On iWARP zeros are data as good as others, and so is what looks like the mark. */
	assert_true(vrb_pd_rejected_iwarp(wire, 20, &mark));
	memcpy(data, marked, 4);
	assert_int_equal(vrb_pd_reject_iwarp(wire, data, 9), 13);
	assert_true(vrb_pd_rejected_iwarp(wire, 13, &mark));
	assert_int_equal(mark, 4);
	assert_memory_equal(wire + mark, data, 9);
}

static void packet_sizes(void **state)
{
	(void)state;
	assert_int_equal(vrb_map_mtu(4096, IBV_MTU_4096), IBV_MTU_4096);
	assert_int_equal(vrb_map_mtu(4096, IBV_MTU_1024), IBV_MTU_1024);
	assert_int_equal(vrb_map_mtu(4095, IBV_MTU_4096), IBV_MTU_2048);
	assert_int_equal(vrb_map_mtu(1024, IBV_MTU_4096), IBV_MTU_1024);
	assert_int_equal(vrb_map_mtu(511, IBV_MTU_4096), IBV_MTU_256);
	assert_int_equal(vrb_map_mtu(1, IBV_MTU_4096), IBV_MTU_256);
}

/* CM-9 */
static void a_port_is_a_whole_number(void **state)
{
	static const struct {
		const char *params;
		int port; /* -1: it is none */
	} rows[] = {
		{ "mlx5_0 2", 2 },
		{ " mlx5_0\t0x2 ", 2 },
		{ "mlx5_0", 0 },
		{ "mlx5_0 255 more", 255 },
		{ "mlx5_0 256", -1 },
		{ "mlx5_0 -1", -1 },
		{ "mlx5_0 4294967297", -1 },
		{ "mlx5_0 -4294967295", -1 },
		{ "mlx5_0 x", -1 },
		{ "mlx5_0 1x", -1 },
		{ "mlx5_0 99999999999999999999", -1 },
		{ " ", -1 },
	};
	struct vrb_wanted wanted;
	unsigned int i;
	int rc;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rc = vrb_addr_parse(rows[i].params, &wanted);
		assert_int_equal(rc, rows[i].port < 0 ? -EINVAL : 0);
		if (rc)
			continue;
		assert_string_equal(wanted.what, "mlx5_0");
		assert_int_equal(wanted.port, rows[i].port);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(evt_14_completion_codes),
		cmocka_unit_test(ev_8_9_whose_rejection_it_is),
		cmocka_unit_test(ibx_54_what_a_refused_request_had_taken),
		cmocka_unit_test(dto_58_ibx_25_words_of_a_success),
		cmocka_unit_test(ibx_61_names_of_counters),
		cmocka_unit_test(ibx_116_port_states),
		cmocka_unit_test(evt_28_asynchronous_events),
		cmocka_unit_test(ev_5_ends_of_connections),
		cmocka_unit_test(pd_5_every_length_arrives),
		cmocka_unit_test(pd_5_plain_data_stays_plain),
		cmocka_unit_test(packet_sizes),
		cmocka_unit_test(a_port_is_a_whole_number),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
