/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What events carry: EVT-2 to EVT-32, and which adapter's dispatcher hears of an object (IA-7,
 * EVT-29, EVT-30). */
#include "harness.h"

struct pair {
	struct ct_ia *ia;
	DAT_EVD_HANDLE requests;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct ct_end a, p;
};

static void listen_on(struct pair *pair, struct ct_ia *ia)
{
	memset(pair, 0, sizeof(*pair));
	pair->ia = ia;
	pair->requests = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	expect_ok(dat_psp_create_any(ia->ia, &pair->qual, pair->requests, DAT_PSP_CONSUMER_FLAG,
				     &pair->psp));
	ct_end_open(&pair->a, ia->ia, NULL);
	ct_end_open(&pair->p, ia->ia, NULL);
}

static void connect_pair(struct pair *pair, struct ct_ia *ia)
{
	listen_on(pair, ia);
	ct_end_connect(&pair->a, &pair->p);
}

static DAT_RETURN request(struct pair *pair, DAT_COUNT size, void *data)
{
	return dat_ep_connect(pair->a.ep, pair->ia->attr.ia_address_ptr, pair->qual, CT_US, size,
			      data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* ---- Numbers and names ---- */

static void evt_4_classes_of_numbers(void **state)
{
	(void)state;
	assert_int_equal(DAT_DTO_COMPLETION_EVENT, 0x00001);
	assert_int_equal(DAT_RMR_BIND_COMPLETION_EVENT, 0x01001);
	assert_int_equal(DAT_CONNECTION_REQUEST_EVENT, 0x02001);
	assert_int_equal(DAT_CONNECTION_EVENT_ESTABLISHED, 0x04001);
	assert_int_equal(DAT_CONNECTION_EVENT_UNREACHABLE, 0x04008);
	assert_int_equal(DAT_ASYNC_ERROR_EVD_OVERFLOW, 0x08001);
	assert_int_equal(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, 0x08005);
	assert_int_equal(DAT_HA_DOWN_TO_1, 0x08101);
	assert_int_equal(DAT_SOFTWARE_EVENT, 0x10001);
	assert_int_equal(DAT_EXTENSION_EVENT, 0x20000);
	assert_int_equal(DAT_IB_EXTENSION_RANGE_BASE, 0x40000);
	assert_int_equal(DAT_IW_EXTENSION_RANGE_BASE, 0x80000);
}

static void evt_13_older_names(void **state)
{
	(void)state;
	assert_int_equal(DAT_DTO_LENGTH_ERROR, 2);
	assert_int_equal(DAT_DTO_FAILURE, 1);
	assert_int_equal(DAT_RMR_BIND_SUCCESS, 0);
	assert_int_equal(DAT_RMR_BIND_FAILURE, 1);
}

/* ---- Completions ---- */

struct expected {
	DAT_EP_HANDLE ep;
	uint64_t cookie;
	DAT_DTOS operation;
	size_t length;
};

/* EVT-2 and EVT-7: every field, over an event that was full of something else. */
static void completes(DAT_EVD_HANDLE evd, const struct expected *e)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data;
	DAT_EVENT event;
	DAT_COUNT more;

	memset(&event, 0xa5, sizeof(event));
	expect_ok(dat_evd_wait(evd, CT_US, 1, &event, &more));
	data = &event.event_data.dto_completion_event_data;
	assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
	assert_ptr_equal(event.evd_handle, evd);
	assert_ptr_equal(data->ep_handle, e->ep);
	assert_int_equal(data->user_cookie.as_64, e->cookie);
	assert_int_equal(data->status, DAT_DTO_SUCCESS);
	assert_int_equal(data->operation, e->operation);
	assert_int_equal(data->transfered_length, e->length);
}

static const uint64_t cookies[] = { 0, 1, UINT64_C(0xffffffffffffffff),
				    UINT64_C(0x8000000000000001) };

/* EVT-6 */
static void evt_7_10_11_send_and_receive(void **state)
{
	static const size_t lengths[] = { 0, 1, 63, 4096 };
	struct pair pair;

	connect_pair(&pair, *state);
	for (int i = 0; i < 4; i++) {
		struct expected sent = { pair.a.ep, cookies[i], DAT_DTO_SEND, lengths[i] };
		struct expected received = { pair.p.ep, ~cookies[i], DAT_DTO_RECEIVE, lengths[i] };

		/* The length is the message's, not the buffer's. */
		expect_ok(ct_post_recv(&pair.p, 0, 8192, ~cookies[i], DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&pair.a, 0, lengths[i], cookies[i],
				       DAT_COMPLETION_DEFAULT_FLAG));
		completes(pair.p.recv, &received);
		completes(pair.a.request, &sent);
	}
}

/* EVT-6 */
static void evt_7_10_11_reads_and_writes(void **state)
{
	static const size_t lengths[] = { 0, 1, 63, 4096 };
	struct pair pair;
	DAT_IA_ATTR ia;
	DAT_COUNT num;

	connect_pair(&pair, *state);
	expect_ok(dat_ia_query(pair.a.ia, NULL, DAT_IA_FIELD_ALL, &ia, 0, NULL));
	num = ia.max_iov_segments_per_dto > 1 ? 2 : 1;
	for (int i = 0; i < 4; i++) {
		DAT_LMR_TRIPLET segments[2] = { ct_segment(&pair.a.mem, 0, lengths[i]),
						ct_segment(&pair.a.mem, 8192, lengths[i]) };
		DAT_RMR_TRIPLET target = ct_target(&pair.p.mem, 0, (size_t)num * lengths[i]);
		struct expected written = { pair.a.ep, cookies[i], DAT_DTO_RDMA_WRITE,
					    (size_t)num * lengths[i] };
		struct expected read = { pair.a.ep, cookies[i], DAT_DTO_RDMA_READ, lengths[i] };
		DAT_DTO_COOKIE cookie = { .as_64 = cookies[i] };

		expect_ok(dat_ep_post_rdma_write(pair.a.ep, num, segments, cookie, &target,
						 DAT_COMPLETION_DEFAULT_FLAG));
		completes(pair.a.request, &written);
		target.segment_length = (DAT_SEG_LENGTH)lengths[i];
		expect_ok(dat_ep_post_rdma_read(pair.a.ep, 1, segments, cookie, &target,
						DAT_COMPLETION_DEFAULT_FLAG));
		completes(pair.a.request, &read);
	}
	/* DTO-41: the target hears of nothing. */
	ct_empty(pair.p.recv);
	ct_empty(pair.p.request);
}

static void evt_8_a_flushed_completion_names_its_work(void **state)
{
	struct pair pair;
	DAT_EVENT event;

	connect_pair(&pair, *state);
	expect_ok(ct_post_recv(&pair.p, 0, 64, cookies[3], DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_next(pair.p.recv, DAT_DTO_COMPLETION_EVENT, &event);
	assert_ptr_equal(event.event_data.dto_completion_event_data.ep_handle, pair.p.ep);
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, cookies[3]);
	assert_int_equal(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	assert_int_equal(event.event_data.dto_completion_event_data.operation, DAT_DTO_RECEIVE);
}

/* ---- Connection requests ---- */

/* EV-2 */
static void evt_18_a_request_at_a_public_service_point(void **state)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data;
	struct ct_ia *ia = *state;
	struct pair pair;
	DAT_EVENT event;
	DAT_COUNT more;

	listen_on(&pair, ia);
	expect_ok(request(&pair, 0, NULL));
	memset(&event, 0xa5, sizeof(event));
	expect_ok(dat_evd_wait(pair.requests, CT_US, 1, &event, &more));
	data = &event.event_data.cr_arrival_event_data;
	assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	assert_ptr_equal(event.evd_handle, pair.requests);
	assert_ptr_equal(data->sp_handle.psp_handle, pair.psp);
	assert_int_equal(data->conn_qual, pair.qual);
	assert_non_null(data->cr_handle);
	assert_int_equal(data->truncate_flag, DAT_FALSE);
	assert_int_equal(data->local_ia_address_ptr->sa_family, ia->attr.ia_address_ptr->sa_family);
	if (data->local_ia_address_ptr->sa_family == AF_INET)
		assert_memory_equal(&((struct sockaddr_in *)data->local_ia_address_ptr)->sin_addr,
				    &((struct sockaddr_in *)ia->attr.ia_address_ptr)->sin_addr, 4);
	expect_ok(dat_cr_reject(data->cr_handle, 0, NULL));
}

static void evt_19_a_request_at_a_reserved_service_point(void **state)
{
	struct pair pair;
	DAT_RSP_HANDLE rsp;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	listen_on(&pair, *state);
	expect_ok(dat_psp_free(pair.psp));
	expect_ok(dat_rsp_create(pair.ia->ia, pair.qual, pair.p.ep, pair.requests, &rsp));
	expect_ok(request(&pair, 0, NULL));
	ct_next(pair.requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	/* RSP-5 */
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle, rsp);
	assert_int_equal(event.event_data.cr_arrival_event_data.conn_qual, pair.qual);
	expect_ok(dat_cr_query(event.event_data.cr_arrival_event_data.cr_handle, DAT_CR_FIELD_ALL,
			       &param));
	assert_ptr_equal(param.local_ep_handle, pair.p.ep);
	expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	expect_ok(dat_rsp_free(rsp));
}

static void evt_20_private_data_live_as_long_as_the_request(void **state)
{
	char data[48] = "the private data of a connection request";
	struct pair pair;
	DAT_CR_PARAM first, second;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	listen_on(&pair, *state);
	expect_ok(request(&pair, sizeof(data), data));
	ct_next(pair.requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &first));
	assert_int_equal(first.private_data_size, sizeof(data));
	assert_memory_equal(first.private_data, data, sizeof(data));
	/* PD-9 */
	expect_ok(dat_psp_free(pair.psp));
	expect_ok(dat_evd_free(pair.requests));
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &second));
	assert_ptr_equal(second.private_data, first.private_data);
	assert_memory_equal(second.private_data, data, sizeof(data));
	expect_ok(dat_cr_reject(cr, 0, NULL));
}

/* ---- Connection events ---- */

static void connection_event(struct ct_end *end, DAT_EVENT_NUMBER number, DAT_COUNT size,
			     const void *data, DAT_EP_STATE state)
{
	const DAT_CONNECTION_EVENT_DATA *got;
	DAT_EVENT event;
	DAT_COUNT more;

	memset(&event, 0xa5, sizeof(event));
	expect_ok(dat_evd_wait(end->connect, CT_US, 1, &event, &more));
	/* EVT-24: the state comes before the event. */
	assert_int_equal(ct_ep_state(end->ep), state);
	got = &event.event_data.connect_event_data;
	assert_int_equal(event.event_number, number);
	assert_ptr_equal(event.evd_handle, end->connect);
	assert_ptr_equal(got->ep_handle, end->ep);
	assert_int_equal(got->private_data_size, size);
	if (size == 0)
		assert_null(got->private_data);
	else
		assert_memory_equal(got->private_data, data, (size_t)size);
}

/* EV-4 */
static void evt_21_24_an_accepted_connection(void **state)
{
	char data[40] = "what dat_cr_accept was given";
	struct pair pair;
	DAT_EVENT event;

	listen_on(&pair, *state);
	expect_ok(request(&pair, 0, NULL));
	ct_next(pair.requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, pair.p.ep,
				sizeof(data), data));
	connection_event(&pair.a, DAT_CONNECTION_EVENT_ESTABLISHED, sizeof(data), data,
			 DAT_EP_STATE_CONNECTED);
	connection_event(&pair.p, DAT_CONNECTION_EVENT_ESTABLISHED, 0, NULL,
			 DAT_EP_STATE_CONNECTED);
	expect_ok(dat_ep_disconnect(pair.p.ep, DAT_CLOSE_ABRUPT_FLAG));
	connection_event(&pair.a, DAT_CONNECTION_EVENT_DISCONNECTED, 0, NULL,
			 DAT_EP_STATE_DISCONNECTED);
	connection_event(&pair.p, DAT_CONNECTION_EVENT_DISCONNECTED, 0, NULL,
			 DAT_EP_STATE_DISCONNECTED);
	/* EVT-23 */
	ct_empty(pair.a.connect);
	ct_empty(pair.p.connect);
}

static void evt_21_a_rejected_connection(void **state)
{
	char data[40] = "what dat_cr_reject was given";
	struct pair pair;
	DAT_EVENT event;

	listen_on(&pair, *state);
	expect_ok(request(&pair, 0, NULL));
	ct_next(pair.requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, sizeof(data),
				data));
	connection_event(&pair.a, DAT_CONNECTION_EVENT_PEER_REJECTED, sizeof(data), data,
			 DAT_EP_STATE_DISCONNECTED);
	ct_empty(pair.a.connect);
}

static void evt_21_nobody_listens(void **state)
{
	struct pair pair;

	listen_on(&pair, *state);
	expect_ok(dat_psp_free(pair.psp));
	expect_ok(request(&pair, 0, NULL));
	connection_event(&pair.a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 0, NULL,
			 DAT_EP_STATE_DISCONNECTED);
	ct_empty(pair.a.connect);
}

static void evt_22_private_data_outlive_the_event(void **state)
{
	char data[40] = "kept until the endpoint is reset";
	struct pair pair;
	DAT_EVENT event;
	void *kept;

	listen_on(&pair, *state);
	expect_ok(request(&pair, 0, NULL));
	ct_next(pair.requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, pair.p.ep,
				sizeof(data), data));
	ct_next(pair.a.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	kept = event.event_data.connect_event_data.private_data;
	/* PD-8: aligned, and the program's to write. */
	assert_int_equal((uintptr_t)kept % 8, 0);
	memcpy(kept, data, sizeof(data));
	expect_ok(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_next(pair.a.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	assert_memory_equal(kept, data, sizeof(data));
	expect_ok(dat_ep_reset(pair.a.ep));
}

/* ---- Asynchronous events ---- */

/* Reads with a context that the target does not know; both ends break. */
static void violate(struct pair *pair)
{
	DAT_LMR_TRIPLET segment = ct_segment(&pair->a.mem, 0, 64);
	DAT_RMR_TRIPLET target = ct_target(&pair->p.mem, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT event;
	DAT_COUNT more;

	target.rmr_context ^= 0x40;
	expect_ok(dat_ep_post_rdma_read(pair->a.ep, 1, &segment, cookie, &target,
					DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(pair->a.request, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_ok(dat_evd_wait(pair->p.connect, CT_US, 1, &event, &more));
	assert_true(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		    event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* EP-154 */
static void evt_25_31_the_target_hears_of_a_violation(void **state)
{
	struct ct_ia *ia = *state;
	DAT_HANDLE_TYPE type;
	struct pair pair;
	DAT_EVENT event;

	connect_pair(&pair, ia);
	violate(&pair);
	ct_next(ia->async, DAT_ASYNC_ERROR_EP_BROKEN, &event);
	assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, pair.p.ep);
	/* DTO-87 */
	assert_in_range(event.event_data.asynch_error_event_data.reason, DAT_EP_TRANSFER_TO_ERROR,
			DAT_EP_OTHER_ERROR);
	/* EVT-26 */
	expect_ok(dat_get_handle_type(event.event_data.asynch_error_event_data.dat_handle, &type));
	assert_int_equal(type, DAT_HANDLE_TYPE_EP);
}

static void evt_15_an_error_status_breaks_once(void **state)
{
	struct pair pair;

	connect_pair(&pair, *state);
	expect_ok(ct_post_recv(&pair.a, 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG));
	violate(&pair);
	connection_event(&pair.a, DAT_CONNECTION_EVENT_BROKEN, 0, NULL, DAT_EP_STATE_DISCONNECTED);
	ct_completion(pair.a.recv, 3, DAT_DTO_ERR_FLUSHED);
	ct_empty(pair.a.connect);
	ct_empty(pair.p.connect);
}

static void evt_29_an_objects_event_goes_to_its_owner(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_ia other;
	struct pair pair;
	DAT_EVENT event;

	ct_open(&other);
	connect_pair(&pair, &other);
	violate(&pair);
	ct_next(other.async, DAT_ASYNC_ERROR_EP_BROKEN, &event);
	assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, pair.p.ep);
	ct_empty(ia->async);
	ct_close(&other);
}

static void ia_7_a_shared_dispatcher_hears_of_both(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_ia other = { .async = ia->async };
	struct pair pair;
	DAT_EVENT event;

	expect_ok(dat_ia_open(harness_ia_name(), 8, &other.async, &other.ia));
	expect_ok(dat_ia_query(other.ia, NULL, DAT_IA_FIELD_ALL, &other.attr, 0, NULL));
	connect_pair(&pair, &other);
	violate(&pair);
	ct_next(ia->async, DAT_ASYNC_ERROR_EP_BROKEN, &event);
	assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, pair.p.ep);
	ct_empty(ia->async);
	ct_close(&other);
}

static void evt_30_without_a_dispatcher_nobody_hears(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_ia other = { .async = DAT_EVD_ASYNC_EXISTS };
	struct pair pair;

	expect_ok(dat_ia_open(harness_ia_name(), 8, &other.async, &other.ia));
	expect_ok(dat_ia_query(other.ia, NULL, DAT_IA_FIELD_ALL, &other.attr, 0, NULL));
	connect_pair(&pair, &other);
	violate(&pair);
	ct_close(&other);
	ct_empty(ia->async);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(evt_4_classes_of_numbers),
		T(evt_13_older_names),
		T(evt_7_10_11_send_and_receive),
		T(evt_7_10_11_reads_and_writes),
		T(evt_8_a_flushed_completion_names_its_work),
		T(evt_18_a_request_at_a_public_service_point),
		T(evt_19_a_request_at_a_reserved_service_point),
		T(evt_20_private_data_live_as_long_as_the_request),
		T(evt_21_24_an_accepted_connection),
		T(evt_21_a_rejected_connection),
		T(evt_21_nobody_listens),
		T(evt_22_private_data_outlive_the_event),
		T(evt_25_31_the_target_hears_of_a_violation),
		T(evt_15_an_error_status_breaks_once),
		T(evt_29_an_objects_event_goes_to_its_owner),
		T(ia_7_a_shared_dispatcher_hears_of_both),
		T(evt_30_without_a_dispatcher_nobody_hears),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
