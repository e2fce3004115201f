/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software engine: a rejection reaches a peer whose way back is cut for longer than option linger
 * (EP-135). Its loopback is the test's own, and is down meanwhile.
 */
#include "test/unit/soft_two.h"

#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct dapl_transport *const t = &dapl_module_transport;

enum {
	LINGER_MS = 50,
	CUT_MS = 500, /* many times LINGER_MS */
};

static void set_loopback(bool up)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = (short)(up ? IFF_UP : 0) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	close(fd);
}

static void rejected_while_cut(void **state)
{
	int64_t link = soft_config.link, linger = soft_config.linger_ms;
	struct tp_conn *conn;
	struct event *event;
	struct end a;

	(void)state;
	if (unshare(CLONE_NEWNET)) {
		print_message("not allowed to make a network of its own\n");
		skip();
	}
	set_loopback(true);
	soft_config.link = SOFT_LINK_TCP;
	soft_config.linger_ms = LINGER_MS;
	two_open(4096, FULL, FULL);
	end_create(&a, &left, NULL);
	end_connect(&a, &right, NULL, 0);
	conn = node_request(&right);
	set_loopback(false);
	assert_int_equal(t->cm->reject(conn, "no such thing", 13), 0);
	pause_ms(CUT_MS);
	set_loopback(true);
	event = end_event(&a, TP_CONN_REJECTED);
	assert_int_equal(event->len, 13);
	assert_memory_equal(event->data, "no such thing", 13);
	end_destroy(&a);
	two_close();
	soft_config.link = link;
	soft_config.linger_ms = linger;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rejected_while_cut),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
