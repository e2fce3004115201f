/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections per second, one after the other: over DAT with an endpoint each, and over plain TCP.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dat/udat.h>

#include "bench.h"

#define TIMEOUT 10000000

static void must(DAT_RETURN rc, const char *what)
{
	const char *major, *minor;

	if (rc == DAT_SUCCESS)
		return;
	dat_strerror(rc, &major, &minor);
	bench_die("%s: %s %s", what, major, minor);
}

static void expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT more;

	must(dat_evd_wait(evd, TIMEOUT, 1, event, &more), "dat_evd_wait");
	if (event->event_number != number)
		bench_die("event 0x%x instead of 0x%x", event->event_number, number);
}

double bench_dat_rate(const char *ia_name, bool active, int control, unsigned int count)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, cr, conn, dto;
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	DAT_IA_HANDLE ia;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;
	double start;
	unsigned int i;

	must(dat_ia_open((DAT_NAME_PTR)ia_name, 8, &async, &ia), ia_name);
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 8, NULL, DAT_EVD_CR_FLAG, &cr), "dat_evd_create");
	must(dat_evd_create(ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &conn), "dat_evd_create");
	must(dat_evd_create(ia, 8, NULL, DAT_EVD_DTO_FLAG, &dto), "dat_evd_create");
	if (!active) {
		must(dat_psp_create_any(ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp),
		     "dat_psp_create_any");
		if (write(control, &qual, sizeof(qual)) != (ssize_t)sizeof(qual))
			bench_die("the other end is gone");
	} else if (read(control, &qual, sizeof(qual)) != (ssize_t)sizeof(qual)) {
		bench_die("the other end is gone");
	}
	start = bench_now();
	for (i = 0; i < count; i++) {
		must(dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep), "dat_ep_create");
		if (active) {
			must(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&bench_server, qual, TIMEOUT, 0,
					    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
			     "dat_ep_connect");
			expect(conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
			must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
		} else {
			expect(cr, DAT_CONNECTION_REQUEST_EVENT, &event);
			must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0,
					   NULL),
			     "dat_cr_accept");
			expect(conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		}
		expect(conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		must(dat_ep_free(ep), "dat_ep_free");
	}
	start = bench_now() - start;
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return count / start;
}

/* A connection of TCP counts when one byte has come back over it, as a DAT one when both are told.
 */
double bench_tcp_rate(bool active, int control, unsigned int count)
{
	struct sockaddr_in addr = bench_server;
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	unsigned int i;
	double start;
	char c = 0;

	if (!active &&
	    (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 128) ||
	     getsockname(listener, (struct sockaddr *)&addr, &len) ||
	     write(control, &addr, sizeof(addr)) != (ssize_t)sizeof(addr)))
		bench_die("tcp listen: %s", strerror(errno));
	if (active && read(control, &addr, sizeof(addr)) != (ssize_t)sizeof(addr))
		bench_die("the other end is gone");
	start = bench_now();
	for (i = 0; i < count; i++) {
		fd = active ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)
			    : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0 ||
		    (active && (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
				send(fd, &c, 1, MSG_NOSIGNAL) != 1 || recv(fd, &c, 1, 0) != 1)) ||
		    (!active && (recv(fd, &c, 1, 0) != 1 || send(fd, &c, 1, MSG_NOSIGNAL) != 1)))
			bench_die("tcp: %s", strerror(errno));
		close(fd);
	}
	start = bench_now() - start;
	close(listener);
	return count / start;
}
