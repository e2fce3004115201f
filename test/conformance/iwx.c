/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Socket service points: what they do, and their arguments (IWX-1 to IWX-14). */
#include "peer.h"
#include "sock_util.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum {
	PRIVATE = 40,
};

static void fill_private(uint8_t data[PRIVATE], uint8_t first)
{
	for (int i = 0; i < PRIVATE; i++)
		data[i] = (uint8_t)(first + i);
}

static void expect_private(const DAT_EVENT *event, uint8_t first)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	uint8_t expected[PRIVATE];

	fill_private(expected, first);
	assert_true(data->private_data_size >= PRIVATE);
	assert_memory_equal(data->private_data, expected, PRIVATE);
}

/* Messages, writes and reads in both directions. */
static void use(struct cu_rig *rig)
{
	struct ct_end *ends[] = { &rig->a, &rig->p, &rig->a };

	for (int i = 0; i < 2; i++) {
		struct ct_end *from = ends[i], *to = ends[i + 1];

		cu_fill(from->mem.base, 3000, (unsigned int)i + 1);
		expect_ok(cu_recv(to, 8192, 4096, 7));
		expect_ok(ct_post_send(from, 0, 3000, 8, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(from->request, from->ep, 8, DAT_DTO_SEND, 3000);
		DONE(to->recv, to->ep, 7, DAT_DTO_RECEIVE, 3000);
		FILLED(to->mem.base + 8192, 3000, (unsigned int)i + 1);
		expect_ok(cu_write(from, 0, 3000, 9, &to->mem, 16384, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(from->request, from->ep, 9, DAT_DTO_RDMA_WRITE, 3000);
		expect_ok(cu_read(from, 24576, 3000, 10, &to->mem, 16384,
				  DAT_COMPLETION_DEFAULT_FLAG));
		DONE(from->request, from->ep, 10, DAT_DTO_RDMA_READ, 3000);
		FILLED(from->mem.base + 24576, 3000, (unsigned int)i + 1);
	}
}

/* ---- Where there are none ---- */

static void iwx_2_3_refused_where_the_attribute_is_false(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	DAT_IW_SSP_PARAM param;
	DAT_IW_SSP_HANDLE ssp;

	if (so_there(rig->ia))
		harness_skip("the adapter has socket service points");
	pair = so_connect();
	expect_unsupported(dat_iw_ssp_create(rig->ia, pair.p, rig->p.ep, rig->cr, "go", 2, &ssp));
	expect_unsupported(dat_iw_socket_connect(rig->a.ep, pair.a, DAT_TIMEOUT_INFINITE, 0, NULL));
	expect_unsupported(dat_iw_ssp_query(rig->psp, DAT_IW_SSP_FIELD_ALL, &param));
	expect_unsupported(dat_iw_ssp_free(rig->psp));
	STATE(rig->p.ep, UNCONNECTED);
	STATE(rig->a.ep, UNCONNECTED);
	so_usable(&pair);
	so_close(&pair);
	cu_establish(rig, &rig->a, &rig->p);
}

/* ---- Connections ---- */

static void iwx_1_5_7_8_13_from_streaming_mode_to_rdma(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	uint8_t data[PRIVATE];
	DAT_IW_SSP_HANDLE ssp;
	DAT_CR_PARAM request;
	DAT_CR_HANDLE cr;
	DAT_EP_PARAM param;
	DAT_EVENT event;
	uint16_t port, peer;
	char final[2];

	SO_NEED(rig);
	pair = so_connect();
	port = so_port(pair.p);
	peer = so_port(pair.a);
	so_usable(&pair);
	expect_ok(dat_iw_ssp_create(rig->ia, pair.p, rig->p.ep, rig->cr, "go", 2, &ssp));
	STATE(rig->p.ep, RESERVED);
	assert_int_equal(so_state(ssp), DAT_IW_SSP_STATE_OPERATIONAL);
	close(pair.p);
	so_get(pair.a, final, 2);
	assert_memory_equal(final, "go", 2);
	fill_private(data, 1);
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, PRIVATE, data));
	close(pair.a);
	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle, ssp);
	assert_int_equal(event.event_data.cr_arrival_event_data.conn_qual, port);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	assert_int_equal(so_state(ssp), DAT_IW_SSP_STATE_NON_OPERATIONAL);
	STATE(rig->p.ep, PASSIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request));
	assert_ptr_equal(request.local_ep_handle, rig->p.ep);
	assert_int_equal(request.remote_port_qual, peer);
	assert_memory_equal(request.private_data, data, PRIVATE);
	fill_private(data, 101);
	expect_ok(dat_cr_accept(cr, NULL, PRIVATE, data));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	expect_private(&event, 101);
	cu_query(rig->a.ep, &param);
	assert_int_equal(param.remote_port_qual, port);
	assert_int_equal(((struct sockaddr_in *)param.remote_ia_address_ptr)->sin_addr.s_addr,
			 htonl(INADDR_LOOPBACK));
	use(rig);
	expect_ok(dat_iw_ssp_free(ssp));
	use(rig);
	cu_end_connection(&rig->a, &rig->p);
	cu_quiet(rig->cr, 0);
}

static void iwx_8_13_reject(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	uint8_t data[PRIVATE];
	DAT_IW_SSP_HANDLE ssp;
	DAT_EVENT event;

	SO_NEED(rig);
	pair = so_connect();
	ssp = so_ssp(rig, pair.p);
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	fill_private(data, 50);
	expect_ok(dat_cr_reject(so_request(rig, ssp), PRIVATE, data));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	expect_private(&event, 50);
	STATE(rig->p.ep, UNCONNECTED);
	so_close(&pair);
	expect_ok(dat_ep_reset(rig->a.ep));
	so_establish(rig, &ssp);
	use(rig);
}

static void iwx_8_null_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	DAT_IW_SSP_HANDLE ssp;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	SO_NEED(rig);
	pair = so_connect();
	expect_ok(dat_iw_ssp_create(rig->ia, pair.p, NULL, rig->cr, NULL, 0, &ssp));
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	so_close(&pair);
	cr = so_request(rig, ssp);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	STATE(param.local_ep_handle, TENTATIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
}

/* To a public service point of the adapter, which then answers. */
static void hand_on(struct cu_rig *rig, struct so_pair pair)
{
	DAT_IW_SSP_HANDLE ssp;

	ssp = so_ssp(rig, pair.p);
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	so_close(&pair);
	expect_ok(dat_cr_handoff(so_request(rig, ssp), rig->qual));
	STATE(rig->p.ep, UNCONNECTED);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	use(rig);
}

static void iwx_8_hand_on(void **state)
{
	SO_NEED((struct cu_rig *)*state);
	hand_on(*state, so_connect());
}

static void iwx_4_8_hand_on_of_another_address(void **state)
{
	struct so_pair pair;

	SO_NEED((struct cu_rig *)*state);
	pair = so_connect_family(AF_INET6);
	if (pair.a < 0)
		harness_skip("the host has no IPv6");
	hand_on(*state, pair);
}

/* The socket has an address that no adapter here has. */
static void iwx_4_addresses_need_not_be_the_adapters(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	DAT_IW_SSP_HANDLE ssp;

	SO_NEED(rig);
	pair = so_connect_family(AF_INET6);
	if (pair.a < 0)
		harness_skip("the host has no IPv6");
	ssp = so_ssp(rig, pair.p);
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	so_close(&pair);
	expect_ok(dat_cr_accept(so_request(rig, ssp), NULL, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	use(rig);
}

/* ---- Other implementations ---- */

static void iwx_1_8_a_peer_of_rfc_5044_asks(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	uint8_t data[512];
	uint16_t len = sizeof(data);
	DAT_IW_SSP_HANDLE ssp;

	SO_NEED(rig);
	pair = so_connect();
	/* It does not wait to be told, and its request lies in the socket. */
	fill_private(data, 3);
	so_put_frame(pair.a, false, 0, data, PRIVATE);
	expect_ok(cu_recv(&rig->p, 0, 64, 5));
	ssp = so_ssp(rig, pair.p);
	expect_ok(dat_cr_accept(so_request(rig, ssp), NULL, 2, (DAT_PVOID) "hi"));
	assert_int_equal(so_get_frame(pair.a, true, data, &len) & (SO_MPA_REJECT | SO_MPA_CRC), 0);
	assert_int_equal(len, 2);
	assert_memory_equal(data, "hi", 2);
	so_put_send(pair.a, 1, "message", 8);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	DONE(rig->p.recv, rig->p.ep, 5, DAT_DTO_RECEIVE, 8);
	assert_memory_equal(rig->p.mem.base, "message", 8);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	/* Although the program still has the socket open. */
	so_ended(pair.a);
	so_close(&pair);
}

static void iwx_1_13_a_peer_of_rfc_5044_answers(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	uint8_t data[512];
	uint16_t len = sizeof(data);
	DAT_EVENT event;

	SO_NEED(rig);
	pair = so_connect();
	expect_ok(cu_recv(&rig->a, 0, 64, 5));
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	so_get_frame(pair.p, false, data, &len);
	fill_private(data, 9);
	so_put_frame(pair.p, true, 0, data, PRIVATE);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	expect_private(&event, 9);
	so_put_send(pair.p, 1, "message", 8);
	DONE(rig->a.recv, rig->a.ep, 5, DAT_DTO_RECEIVE, 8);
	close(pair.p);
	pair.p = -1;
	cu_conn_ended(rig->a.connect, rig->a.ep);
	so_close(&pair);
}

static void iwx_13_a_peer_of_rfc_5044_rejects(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	uint8_t data[512];
	uint16_t len = sizeof(data);
	DAT_EVENT event;

	SO_NEED(rig);
	pair = so_connect();
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	so_get_frame(pair.p, false, data, &len);
	fill_private(data, 9);
	so_put_frame(pair.p, true, SO_MPA_REJECT, data, PRIVATE);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	expect_private(&event, 9);
	so_ended(pair.p);
	so_close(&pair);
}

/* ---- Two processes ---- */

static void server(int fd)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_IW_SSP_HANDLE ssp;
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), sock;
	char asked[5];

	ct_end_open(&rig->p, rig->ia, NULL);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	peer_put_word(fd, so_port(listener));
	sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	so_get(sock, asked, 5);
	assert_memory_equal(asked, "rdma?", 5);
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(dat_iw_ssp_create(rig->ia, sock, rig->p.ep, rig->cr, "rdma!", 5, &ssp));
	close(sock);
	expect_ok(dat_cr_accept(so_request(rig, ssp), NULL, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
	expect_ok(ct_post_send(&rig->p, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.request, rig->p.ep, 2, DAT_DTO_SEND, 64);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_rig_close(rig);
}

static void iwx_1_two_processes(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct peer *peer;
	char answer[5];
	int sock;

	SO_NEED(rig);
	peer = peer_start("server");
	addr.sin_port = htons((uint16_t)peer_get_word(peer->fd));
	sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	so_put(sock, "rdma?", 5);
	so_get(sock, answer, 5);
	assert_memory_equal(answer, "rdma!", 5);
	expect_ok(cu_recv(&rig->a, 64, 64, 1));
	expect_ok(dat_iw_socket_connect(rig->a.ep, sock, DAT_TIMEOUT_INFINITE, 0, NULL));
	close(sock);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_fill(rig->a.mem.base, 64, 4);
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 64);
	DONE(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE, 64);
	FILLED(rig->a.mem.base + 64, 64, 4);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	peer_finish(peer);
}

/* ---- The socket ---- */

/* IWX-6; what the provider takes with it is its own (IWX-5). */
static void iwx_5_6_options_and_descriptors(void **state)
{
	struct cu_rig *rig = *state;
	const struct linger linger = { .l_onoff = 1, .l_linger = 30 };
	int on = 1, idle = 77, value, flags;
	socklen_t len = sizeof(value);
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair;
	unsigned int fds;

	SO_NEED(rig);
	so_establish(rig, &ssp);
	expect_ok(dat_iw_ssp_free(ssp));
	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->p.ep));
	/* The last of the connection's may be closed behind its event. */
	do {
		fds = cu_count_fds();
		cu_quiet(rig->cr, 50);
	} while (cu_count_fds() != fds);
	pair = so_connect();
	assert_int_equal(setsockopt(pair.p, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(pair.p, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)), 0);
	assert_int_equal(setsockopt(pair.p, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	flags = fcntl(pair.p, F_GETFL);
	ssp = so_ssp(rig, pair.p);
	assert_int_equal(cu_count_fds(), fds + 3);
	assert_int_equal(fcntl(pair.p, F_GETFL), flags);
	assert_int_equal(getsockopt(pair.p, IPPROTO_TCP, TCP_KEEPIDLE, &value, &len), 0);
	assert_int_equal(value, idle);
	assert_int_equal(getsockopt(pair.p, IPPROTO_TCP, TCP_NODELAY, &value, &len), 0);
	assert_true(value);
	expect_ok(dat_iw_ssp_free(ssp));
	so_close(&pair);
	assert_int_equal(cu_count_fds(), fds);
}

static void refuse_socket(struct cu_rig *rig, int fd)
{
	DAT_IW_SSP_HANDLE ssp = rig;

	expect_arg(dat_iw_ssp_create(rig->ia, fd, rig->p.ep, rig->cr, "go", 2, &ssp), 3);
	assert_ptr_equal(ssp, rig);
	expect_arg(dat_iw_socket_connect(rig->a.ep, fd, CT_US, 0, NULL), 3);
	STATE(rig->p.ep, UNCONNECTED);
	STATE(rig->a.ep, UNCONNECTED);
}

static void iwx_4_what_is_no_connected_tcp_socket(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;
	unsigned int fds;
	int two[2];

	SO_NEED(rig);
	fds = cu_count_fds();
	refuse_socket(rig, -1);
	refuse_socket(rig, 100000);
	assert_int_equal(pipe(two), 0);
	refuse_socket(rig, two[1]);
	close(two[0]);
	close(two[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, two), 0);
	refuse_socket(rig, two[0]);
	close(two[0]);
	close(two[1]);
	pair.a = socket(AF_INET, SOCK_DGRAM, 0);
	pair.p = socket(AF_INET, SOCK_STREAM, 0);
	refuse_socket(rig, pair.a);
	refuse_socket(rig, pair.p);
	assert_int_equal(listen(pair.p, 1), 0);
	refuse_socket(rig, pair.p);
	so_close(&pair);
	pair = so_connect();
	assert_int_equal(shutdown(pair.p, SHUT_WR), 0);
	refuse_socket(rig, pair.p);
	so_close(&pair);
	assert_int_equal(cu_count_fds(), fds);
}

/* ---- Arguments ---- */

/* A failing call leaves the socket as it was (IWX-5). */
static void iwx_5_14_create_arguments(void **state)
{
	struct cu_rig *rig = *state, *other;
	struct ct_end foreign = { 0 };
	DAT_IW_SSP_HANDLE ssp, second;
	struct so_pair pair, more;

#define CREATE(ia, ep, evd, msg, len, out) \
	dat_iw_ssp_create((ia), pair.p, (ep), (evd), (msg), (len), (out))
	SO_NEED(rig);
	other = cu_rig_open();
	ct_end_open(&foreign, other->ia, NULL);
	pair = so_connect();
	more = so_connect();
	expect(CREATE(NULL, rig->p.ep, rig->cr, NULL, 0, &ssp), DAT_INVALID_HANDLE, CT_ANY_SUBTYPE);
	expect_handle(CREATE(rig->p.ep, rig->p.ep, rig->cr, NULL, 0, &ssp), IA);
	expect_handle(CREATE(rig->ia, rig->p.pz, rig->cr, NULL, 0, &ssp), EP);
	expect_handle(CREATE(rig->ia, foreign.ep, rig->cr, NULL, 0, &ssp), EP);
	expect_handle(CREATE(rig->ia, rig->p.ep, NULL, NULL, 0, &ssp), EVD_CR);
	expect_handle(CREATE(rig->ia, rig->p.ep, rig->p.recv, NULL, 0, &ssp), EVD_CR);
	expect_handle(CREATE(rig->ia, rig->p.ep, other->cr, NULL, 0, &ssp), EVD_CR);
	expect_arg(CREATE(rig->ia, rig->p.ep, rig->cr, NULL, 2, &ssp), 6);
	expect_arg(CREATE(rig->ia, rig->p.ep, rig->cr, "go", -1, &ssp), 7);
	expect_arg(CREATE(rig->ia, rig->p.ep, rig->cr, "go", 2, NULL), 8);
	STATE(rig->p.ep, UNCONNECTED);
	so_usable(&pair);
	ssp = so_ssp(rig, more.p);
	expect_state(CREATE(rig->ia, rig->p.ep, rig->cr, "go", 2, &second), EP_RESERVED);
	so_usable(&pair);
	expect_ok(dat_iw_ssp_free(ssp));
	so_close(&more);
	/* It can still become a connection. */
	expect_ok(CREATE(rig->ia, rig->p.ep, rig->cr, NULL, 0, &ssp));
	so_close(&pair);
	ct_end_close(&foreign);
	cu_rig_close(other);
#undef CREATE
}

static void iwx_13_14_connect_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_COUNT too_long = rig->prov.max_private_data_size + 1;
	struct so_pair pair;
	DAT_EP_HANDLE bare;

	SO_NEED(rig);
	pair = so_connect();
	expect_handle(dat_iw_socket_connect(rig->p.pz, pair.a, CT_US, 0, NULL), EP);
	expect_arg(dat_iw_socket_connect(rig->a.ep, pair.a, 0, 0, NULL), 4);
	expect_arg(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, -1, "x"), 5);
	expect_arg(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, too_long, "x"), 5);
	expect_arg(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 1, NULL), 6);
	expect_ok(
		dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, NULL, NULL, &bare));
	expect_handle(dat_iw_socket_connect(bare, pair.a, CT_US, 0, NULL), EVD_CONN);
	STATE(rig->a.ep, UNCONNECTED);
	so_usable(&pair);
	cu_establish(rig, &rig->a, &rig->p);
	expect_state(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL), EP_CONNECTED);
	so_usable(&pair);
	so_close(&pair);
}

static void iwx_9_14_query(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IW_SSP_PARAM param;
	DAT_HANDLE_TYPE type;
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair;

	SO_NEED(rig);
	pair = so_connect();
	ssp = so_ssp(rig, pair.p);
	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_iw_ssp_query(ssp, DAT_IW_SSP_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_int_equal(param.socket_id, pair.p);
	assert_ptr_equal(param.evd_handle, rig->cr);
	assert_ptr_equal(param.ep_handle, rig->p.ep);
	assert_int_equal(param.ssp_state, DAT_IW_SSP_STATE_OPERATIONAL);
	expect_ok(dat_get_handle_type(ssp, &type));
	assert_int_equal((int)type, DAT_IW_HANDLE_TYPE_SSP);
	expect_ok(dat_iw_ssp_query(ssp, 0, NULL));
	expect_arg(dat_iw_ssp_query(ssp, 0x20, &param), 3);
	expect_arg(dat_iw_ssp_query(ssp, DAT_IW_SSP_FIELD_ALL, NULL), 4);
	expect(dat_iw_ssp_query(rig->psp, DAT_IW_SSP_FIELD_ALL, &param), DAT_INVALID_HANDLE,
	       DAT_INVALID_HANDLE1);
	expect(dat_iw_ssp_free(rig->psp), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	expect_handle(dat_rsp_free(ssp), RSP);
	expect_ok(dat_iw_ssp_free(ssp));
	expect(dat_iw_ssp_free(ssp), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	expect(dat_iw_ssp_query(ssp, DAT_IW_SSP_FIELD_ALL, &param), DAT_INVALID_HANDLE,
	       DAT_INVALID_HANDLE1);
	so_close(&pair);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { { "server", server }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(iwx_2_3_refused_where_the_attribute_is_false),
		T(iwx_1_5_7_8_13_from_streaming_mode_to_rdma),
		T(iwx_8_13_reject),
		T(iwx_8_null_endpoint),
		T(iwx_8_hand_on),
		T(iwx_4_addresses_need_not_be_the_adapters),
		T(iwx_4_8_hand_on_of_another_address),
		T(iwx_1_8_a_peer_of_rfc_5044_asks),
		T(iwx_1_13_a_peer_of_rfc_5044_answers),
		T(iwx_13_a_peer_of_rfc_5044_rejects),
		T(iwx_1_two_processes),
		T(iwx_5_6_options_and_descriptors),
		T(iwx_4_what_is_no_connected_tcp_socket),
		T(iwx_5_14_create_arguments),
		T(iwx_13_14_connect_arguments),
		T(iwx_9_14_query),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
