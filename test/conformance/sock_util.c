/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sock_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* ---- Sockets ---- */

static uint16_t port_of(int fd, int (*name)(int fd, struct sockaddr *addr, socklen_t *len))
{
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);

	assert_int_equal(name(fd, (struct sockaddr *)&addr, &len), 0);
	return ntohs(addr.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&addr)->sin6_port
						: ((struct sockaddr_in *)&addr)->sin_port);
}

uint16_t so_port(int fd)
{
	return port_of(fd, getsockname);
}

uint16_t so_peer_port(int fd)
{
	return port_of(fd, getpeername);
}

struct so_pair so_connect_family(sa_family_t family)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *addr =
		family == AF_INET6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t len = family == AF_INET6 ? sizeof(six) : sizeof(four);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct so_pair pair = { -1, -1 };

	if (fd < 0 || bind(fd, addr, len)) {
		close(fd);
		return pair;
	}
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, addr, &len), 0);
	pair.a = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(pair.a, addr, len), 0);
	pair.p = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(pair.p >= 0);
	close(fd);
	return pair;
}

struct so_pair so_connect(void)
{
	struct so_pair pair = so_connect_family(AF_INET);

	assert_true(pair.a >= 0);
	return pair;
}

void so_close(struct so_pair *pair)
{
	if (pair->a >= 0)
		close(pair->a);
	if (pair->p >= 0)
		close(pair->p);
	pair->a = pair->p = -1;
}

static void await(int fd, short events)
{
	struct pollfd watch = { .fd = fd, .events = events };

	assert_int_equal(poll(&watch, 1, CT_MS), 1);
}

void so_put(int fd, const void *data, size_t len)
{
	const uint8_t *at = data;
	ssize_t n;

	while (len) {
		await(fd, POLLOUT);
		n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		assert_true(n > 0);
		at += n;
		len -= (size_t)n;
	}
}

void so_get(int fd, void *data, size_t len)
{
	uint8_t *at = data;
	ssize_t n;

	while (len) {
		await(fd, POLLIN);
		n = recv(fd, at, len, MSG_DONTWAIT);
		assert_true(n > 0);
		at += n;
		len -= (size_t)n;
	}
}

void so_ended(int fd)
{
	char bytes[4096];
	ssize_t n;

	do {
		await(fd, POLLIN);
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (n > 0);
	if (n < 0)
		assert_int_equal(errno, ECONNRESET);
}

void so_usable(struct so_pair *pair)
{
	char got[6];

	so_put(pair->a, "there", 6);
	so_get(pair->p, got, 6);
	assert_memory_equal(got, "there", 6);
	so_put(pair->p, "again", 6);
	so_get(pair->a, got, 6);
	assert_memory_equal(got, "again", 6);
}

/* ---- MPA ---- */

struct frame {
	char key[16];
	uint8_t flags, revision;
	uint16_t len;
};

static const char *key(bool reply)
{
	return reply ? "MPA ID Rep Frame" : "MPA ID Req Frame";
}

void so_put_frame(int fd, bool reply, uint8_t flags, const void *data, uint16_t len)
{
	struct frame frame = { .flags = flags, .revision = 1, .len = htons(len) };

	memcpy(frame.key, key(reply), sizeof(frame.key));
	so_put(fd, &frame, sizeof(frame));
	so_put(fd, data, len);
}

uint8_t so_get_frame(int fd, bool reply, void *data, uint16_t *len)
{
	struct frame frame;

	so_get(fd, &frame, sizeof(frame));
	assert_memory_equal(frame.key, key(reply), sizeof(frame.key));
	assert_true(ntohs(frame.len) <= *len);
	*len = ntohs(frame.len);
	so_get(fd, data, *len);
	return frame.flags;
}

void so_put_send(int fd, uint32_t msn, const void *data, uint16_t len)
{
	/* Untagged, last, version 1 of DDP and RDMAP; queue 0. */
	struct __attribute__((packed)) {
		uint16_t ulpdu;
		uint8_t ddp, rdmap;
		uint32_t reserved, queue, msn, offset;
	} head = {
		.ulpdu = htons((uint16_t)(18 + len)), .ddp = 0x41, .rdmap = 0x43, .msn = htonl(msn)
	};
	const uint8_t crc[4] = { 0 };

	assert_int_equal(len % 4, 0);
	so_put(fd, &head, sizeof(head));
	so_put(fd, data, len);
	so_put(fd, crc, sizeof(crc));
}

/* ---- Service points ---- */

bool so_there(DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR prov;
	DAT_COUNT i;

	expect_ok(dat_ia_query(ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &prov));
	for (i = 0; i < prov.num_provider_specific_attr; i++)
		if (!strcmp(prov.provider_specific_attr[i].name, DAT_IW_ATTR_SSP))
			return !strcmp(prov.provider_specific_attr[i].value, "TRUE");
	fail_msg("the adapter does not say whether it has %s", DAT_IW_ATTR_SSP);
	return false;
}

DAT_IW_SSP_HANDLE so_ssp(struct cu_rig *rig, int fd)
{
	DAT_IW_SSP_HANDLE ssp;

	expect_ok(dat_iw_ssp_create(rig->ia, fd, rig->p.ep, rig->cr, NULL, 0, &ssp));
	return ssp;
}

DAT_IW_SSP_STATE so_state(DAT_IW_SSP_HANDLE ssp)
{
	DAT_IW_SSP_PARAM param;

	expect_ok(dat_iw_ssp_query(ssp, DAT_IW_SSP_FIELD_SSP_STATE, &param));
	return param.ssp_state;
}

DAT_CR_HANDLE so_request(struct cu_rig *rig, DAT_IW_SSP_HANDLE ssp)
{
	DAT_EVENT event;

	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle, ssp);
	assert_int_equal(so_state(ssp), DAT_IW_SSP_STATE_NON_OPERATIONAL);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

void so_establish(struct cu_rig *rig, DAT_IW_SSP_HANDLE *ssp)
{
	struct so_pair pair = so_connect();

	*ssp = so_ssp(rig, pair.p);
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, DAT_TIMEOUT_INFINITE, 0, NULL));
	so_close(&pair);
	expect_ok(dat_cr_accept(so_request(rig, *ssp), NULL, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}
