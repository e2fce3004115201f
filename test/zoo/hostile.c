/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a device or the kernel may tell at a bad moment, in an odd order or once too often: nothing
 * breaks, a program hears of each end once, and nothing is left. zoo.sh runs it on each kind.
 */
#include "test/conformance/conn_util.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include "test/zoo/asks.h"

#define SETTLE_US 20000

static void nothing_is_left(void **state)
{
	cu_rig_close(*state);
	*state = NULL;
	assert_int_equal(count("ids") + count("qps") + count("cqs") + count("srqs") + count("mrs") +
				 count("pds"),
			 0);
}

static int end_rig(void **state)
{
	return *state ? cu_teardown(state) : 0;
}

static void transfer(struct cu_rig *rig, uint64_t cookie)
{
	expect_ok(cu_recv(&rig->p, 0, 64, cookie));
	expect_ok(ct_post_send(&rig->a, 0, 64, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, cookie, DAT_DTO_RECEIVE, 64);
	DONE(rig->a.request, rig->a.ep, cookie, DAT_DTO_SEND, 64);
}

/* ---- Completions of two ---- */

#define DTOS 8

/* An endpoint whose completions come to evd, connected to one of its own; false: evd takes no more. */
static bool open_pair(struct cu_rig *rig, DAT_EVD_HANDLE evd, const DAT_EP_ATTR *attr,
		      struct ct_end *a, struct ct_end *p)
{
	*a = rig->a;
	a->recv = a->request = evd;
	if (dat_ep_create(rig->ia, a->pz, evd, evd, a->connect, attr, &a->ep) != DAT_SUCCESS)
		return false;
	*p = rig->p;
	p->recv = p->request = ct_evd(rig->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	expect_ok(dat_ep_create(rig->ia, p->pz, p->recv, p->request, p->connect, NULL, &p->ep));
	cu_establish(rig, a, p);
	return true;
}

static void fail_one(struct ct_end *a, struct ct_end *p)
{
	DAT_LMR_TRIPLET iov = ct_segment(&a->mem, 0, 64);
	DAT_RMR_TRIPLET to = ct_target(&p->mem, 0, 64);

	to.rmr_context ^= 0x5500;
	expect_ok(dat_ep_post_rdma_write(a->ep, 1, &iov, cu_cookie(100), &to,
					 DAT_COMPLETION_DEFAULT_FLAG));
}

/* Each posted one completes once: those of the first by its fault or flushed, the second's well. */
static void a_fault_of_one_is_not_the_others(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE evd = ct_evd(rig->ia, 256, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	struct ct_end a[2], p[2];
	unsigned int seen[2][2 * DTOS + 1] = { { 0 } };
	DAT_DTO_COMPLETION_EVENT_DATA done;
	unsigned int which, i;

	for (i = 0; i < 2; i++)
		assert_true(open_pair(rig, evd, NULL, &a[i], &p[i]));
	for (i = 0; i < DTOS; i++) {
		expect_ok(cu_recv(&a[0], 0, 64, i));
		expect_ok(cu_recv(&a[1], 0, 64, i));
		expect_ok(cu_recv(&p[1], 0, 64, i));
	}
	fail_one(&a[0], &p[0]);
	for (i = 0; i < DTOS; i++) {
		expect_ok(ct_post_send(&a[1], 0, 64, DTOS + i, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&p[1], 0, 64, 200, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	for (i = 0; i < 3 * DTOS + 1; i++) {
		done = cu_completion(evd);
		which = done.ep_handle == a[1].ep;
		if (done.user_cookie.as_64 == 100)
			done.user_cookie.as_64 = 2 * DTOS;
		assert_true(done.user_cookie.as_64 <= 2 * DTOS);
		assert_int_equal(seen[which][done.user_cookie.as_64]++, 0);
		/* Not every adapter tells whose fault it was. */
		if (done.user_cookie.as_64 != 2 * DTOS)
			assert_true(which == (done.status == DAT_DTO_SUCCESS));
	}
	cu_quiet(evd, 50);
	nothing_is_left(state);
}

/* All that the endpoints of a dispatcher may have posted is flushed at once. */
static void flushed_endpoints_do_not_overflow_a_dispatcher(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE evd = ct_evd(rig->ia, 256, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	struct ct_end a[4], p[4];
	DAT_EP_ATTR attr;
	DAT_EVENT event;
	unsigned int num, i;

	ct_default_attr(rig->ia, &attr);
	attr.max_recv_dtos = attr.max_request_dtos = 50;
	for (num = 0; num < 4 && open_pair(rig, evd, &attr, &a[num], &p[num]); num++)
		for (i = 0; i < 50; i++)
			expect_ok(cu_recv(&a[num], 0, 64, i));
	assert_int_equal(num, 4);
	for (i = 0; i < num; i++)
		expect_ok(dat_ep_disconnect(a[i].ep, DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 50 * num; i++)
		cu_completion(evd);
	cu_quiet(evd, 50);
	assert_false(cu_next(rig->async, 50, &event));
	nothing_is_left(state);
}

/* ---- Events of the device ---- */

/* Faults break the connection; what else is said of a QP does nothing to it. */
static void events_of_queue_pairs_come_at_any_time(void **state)
{
	static const enum ibv_event_type harmless[] = {
		IBV_EVENT_COMM_EST,	IBV_EVENT_SQ_DRAINED,	       IBV_EVENT_PATH_MIG,
		IBV_EVENT_PATH_MIG_ERR, IBV_EVENT_QP_LAST_WQE_REACHED, IBV_EVENT_COMM_EST
	};
	static const enum ibv_event_type faults[] = { IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,
						      IBV_EVENT_QP_ACCESS_ERR };
	struct cu_rig *rig = *state;

	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		set("qp_event", harmless[i]);
	cu_establish(rig, &rig->a, &rig->p);
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		set("qp_event", harmless[i]);
		transfer(rig, i);
	}
	cu_quiet(rig->async, 50);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		set("qp_event", faults[i]);
		usleep(SETTLE_US);
	}
	cu_conn_ended(rig->a.connect, rig->a.ep);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	set("qp_event", IBV_EVENT_QP_LAST_WQE_REACHED);
	set("qp_event", IBV_EVENT_COMM_EST);
	usleep(SETTLE_US);
	cu_quiet(rig->a.connect, 50);
	cu_quiet(rig->p.connect, 50);
	ct_drain(rig->async);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	ct_drain(rig->async);
	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig, 77);
	nothing_is_left(state);
}

/* The event is read, or not yet, when its object goes. */
static void events_come_while_their_object_goes(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_HANDLE ep;

	for (int i = 0; i < 50; i++) {
		expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request,
					rig->a.connect, NULL, &ep));
		set("qp_event", i % 2 ? IBV_EVENT_QP_FATAL : IBV_EVENT_SQ_DRAINED);
		if (i % 3)
			usleep((useconds_t)i * 10);
		expect_ok(dat_ep_free(ep));
	}
	cu_quiet(rig->a.connect, 20);
	nothing_is_left(state);
}

/* A newer kernel may have events that no library here knows. */
static void unknown_events_do_nothing(void **state)
{
	struct cu_rig *rig = *state;

	cu_establish(rig, &rig->a, &rig->p);
	for (uint32_t type = IBV_EVENT_GID_CHANGE + 2; type < 64; type++)
		set("event", type);
	transfer(rig, 1);
	cu_quiet(rig->async, 50);
	nothing_is_left(state);
}

/* ---- Events of rdma_cm ---- */

static const enum rdma_cm_event_type strange[] = {
	RDMA_CM_EVENT_ADDR_RESOLVED,  RDMA_CM_EVENT_ADDR_ERROR,	     RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR,    RDMA_CM_EVENT_ESTABLISHED,     RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_MULTICAST_JOIN, RDMA_CM_EVENT_MULTICAST_ERROR, RDMA_CM_EVENT_ADDR_CHANGE,
	RDMA_CM_EVENT_TIMEWAIT_EXIT,  (enum rdma_cm_event_type)17,   (enum rdma_cm_event_type)250,
};

#define NUM_STRANGE (sizeof(strange) / sizeof(strange[0]))

static void tell_strange(void)
{
	for (size_t i = 0; i < NUM_STRANGE; i++) {
		set("cm_event", strange[i]);
		set("cm_failure", strange[i]);
	}
	usleep(SETTLE_US);
}

static void late_events_do_nothing_to_a_connection(void **state)
{
	struct cu_rig *rig = *state;

	cu_establish(rig, &rig->a, &rig->p);
	tell_strange();
	transfer(rig, 1);
	cu_quiet(rig->a.connect, 20);
	cu_end_connection(&rig->a, &rig->p);
	tell_strange();
	cu_quiet(rig->a.connect, 20);
	cu_quiet(rig->p.connect, 20);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	tell_strange();
	cu_establish(rig, &rig->a, &rig->p);
	transfer(rig, 2);
	nothing_is_left(state);
}

/* All that end a connection, one after the other. */
static void an_end_is_told_once(void **state)
{
	static const enum rdma_cm_event_type ends[] = {
		RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED,
		RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_DISCONNECTED
	};
	struct cu_rig *rig = *state;

	for (size_t first = 0; first < 4; first++) {
		cu_establish(rig, &rig->a, &rig->p);
		for (size_t i = 0; i < 5; i++) {
			set("cm_event", ends[(first + i) % 5]);
			set("cm_failure", ends[(first + i) % 5]);
		}
		cu_conn_ended(rig->a.connect, rig->a.ep);
		cu_conn_ended(rig->p.connect, rig->p.ep);
		usleep(SETTLE_US);
		cu_quiet(rig->a.connect, 20);
		cu_quiet(rig->p.connect, 20);
		ct_drain(rig->async);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
	nothing_is_left(state);
}

/* The endpoint, or the request, is gone when the kernel goes on about it. */
static void late_events_of_what_is_freed(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr;

	for (int i = 0; i < 10; i++) {
		cr = cu_request(rig, &rig->a);
		set("cm_event", strange[i % 4]);
		expect_ok(dat_ep_free(rig->a.ep));
		tell_strange();
		set("cm_failure", RDMA_CM_EVENT_DISCONNECTED);
		dat_cr_reject(cr, 0, NULL);
		tell_strange();
		expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request,
					rig->a.connect, NULL, &rig->a.ep));
		ct_drain(rig->a.connect);
	}
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_ep_free(rig->a.ep));
	rig->a.ep = DAT_HANDLE_NULL;
	tell_strange();
	nothing_is_left(state);
}

/* ---- Private data ---- */

static void check_data(const DAT_EVENT *event, const uint8_t *data, DAT_COUNT len)
{
	const DAT_CONNECTION_EVENT_DATA *got = &event->event_data.connect_event_data;

	if (got->private_data_size != len || (len && memcmp(got->private_data, data, (size_t)len)))
		fail_msg("%d bytes instead of %d", (int)got->private_data_size, (int)len);
}

/* Zeros at its end, and what looks like a mark, are data as well. */
static void every_length_of_a_reject(void **state)
{
	static const uint8_t fills[] = { 0x5a, 0, 0xff };
	static const uint8_t mark[4] = { 2, 0, 2, 0 };
	struct cu_rig *rig = *state;
	uint8_t data[256];
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	for (DAT_COUNT len = 0; len <= rig->prov.max_private_data_size; len++) {
		memset(data, fills[len % 3], sizeof(data));
		if (len % 4 == 1)
			memcpy(data, mark, sizeof(mark));
		cr = cu_request(rig, &rig->a);
		expect_ok(dat_cr_reject(cr, len, data));
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED,
			      &event);
		check_data(&event, data, len);
		expect_ok(dat_ep_reset(rig->a.ep));
	}
	nothing_is_left(state);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, end_rig)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_fault_of_one_is_not_the_others),
		T(flushed_endpoints_do_not_overflow_a_dispatcher),
		T(events_of_queue_pairs_come_at_any_time),
		T(events_come_while_their_object_goes),
		T(unknown_events_do_nothing),
		T(late_events_do_nothing_to_a_connection),
		T(an_end_is_told_once),
		T(late_events_of_what_is_freed),
		T(every_length_of_a_reject),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
