/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a user is told, on standard error and in one line, of a connection that fails and of a fork. */
#include "conn_util.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NOT_BY_TCP = 3
};

/* ---- The failures, each in a process of its own ---- */

static int nobody_listens(void)
{
	struct cu_rig *rig = cu_rig_open();
	struct ct_end end = { 0 };
	DAT_CONN_QUAL qual;

	ct_end_open(&end, rig->ia, NULL);
	qual = cu_free_qual(rig);
	printf("%u", (unsigned)qual);
	expect_ok(cu_connect(&end, qual, CT_US));
	cu_conn_event(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	ct_end_close(&end);
	cu_rig_close(rig);
	return 0;
}

/* A TCP listener that says nothing: TCP connects, and then there is no answer. */
static int no_answer(void)
{
	struct cu_rig *rig = cu_rig_open();
	struct sockaddr_storage addr = cu_service(rig, 0);
	socklen_t size = sizeof(addr);
	struct ct_end end = { 0 };
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!ct_has_ports(rig->attr.ia_address_ptr)) {
		close(fd);
		cu_rig_close(rig);
		return NOT_BY_TCP;
	}
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &size), 0);
	qual = ntohs(((struct sockaddr_in *)&addr)->sin_port);
	printf("%u", (unsigned)qual);
	ct_end_open(&end, rig->ia, NULL);
	expect_ok(cu_connect(&end, qual, 500000));
	assert_true(cu_next(end.connect, CT_MS, &event));
	ct_end_close(&end);
	close(fd);
	cu_rig_close(rig);
	return event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ? 0 : NOT_BY_TCP;
}

static int other_family(void)
{
	struct cu_rig *rig = cu_rig_open();
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	bool is_four = cu_service(rig, 0).ss_family == AF_INET;
	struct ct_end end = { 0 };

	printf("an address of IPv%d: the adapter's is one of IPv%d", is_four ? 6 : 4,
	       is_four ? 4 : 6);
	ct_end_open(&end, rig->ia, NULL);
	expect(dat_ep_connect(end.ep,
			      is_four ? (DAT_IA_ADDRESS_PTR)&six : (DAT_IA_ADDRESS_PTR)&four, 1,
			      CT_US, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
	       DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	ct_end_close(&end);
	cu_rig_close(rig);
	return 0;
}

static int use_after_fork(void)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_EVENT event;
	pid_t pid = fork();
	int status;

	if (!pid) {
		for (int i = 0; i < 2; i++)
			if (dat_evd_dequeue(rig->cr, &event) == DAT_SUCCESS ||
			    dat_ia_close(rig->ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS)
				_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	cu_rig_close(rig);
	return status ? 1 : 0;
}

/* The peer's message finds no Receive, until somebody has looked at what waits and been told. */
static int no_receive(void)
{
	const char *build = getenv("top_builddir");
	struct cu_rig *rig = cu_rig_open();
	char command[1024];

	if (strncmp(harness_ia_name(), "soft", 4) || !build)
		return NOT_BY_TCP;
	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(ct_post_send(&rig->a, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	sleep(6);
	snprintf(command, sizeof(command), "'%s/dat-info' --pid %d", build, (int)getpid());
	fflush(stdout);
	assert_int_equal(system(command), 0);
	expect_ok(ct_post_recv(&rig->p, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->p.recv, 2, DAT_DTO_SUCCESS);
	cu_rig_close(rig);
	return 0;
}

static const struct harness_child children[] = {
	{ "nobody_listens", nobody_listens }, { "no_answer", no_answer },
	{ "other_family", other_family },     { "use_after_fork", use_after_fork },
	{ "no_receive", no_receive },	      { 0 },
};

/* ---- What is said of them ---- */

/* One line with all of these in it. */
static void told(const struct harness_result *result, const char *what, const char *who,
		 const char *why)
{
	if (result->status || !strstr(result->err, what) || !strstr(result->err, who) ||
	    !strstr(result->err, why) || strchr(result->err, '\n') != strrchr(result->err, '\n'))
		fail_msg("status 0x%x, told \"%s\"; expected \"%s\", \"%s\" and \"%s\"",
			 (unsigned)result->status, result->err, what, who, why);
}

static void message_nobody_listens(void **state)
{
	struct harness_result result;

	(void)state;
	harness_spawn("nobody_listens", NULL, &result);
	told(&result, "not connected to", result.out, "Connection refused");
}

static void message_no_answer(void **state)
{
	struct harness_result result;

	(void)state;
	harness_spawn("no_answer", NULL, &result);
	if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == NOT_BY_TCP)
		harness_skip("# the transport does not connect by TCP");
	told(&result, "not connected to", result.out, "no answer within the program's time");
}

static void message_other_family(void **state)
{
	struct harness_result result;

	(void)state;
	harness_spawn("other_family", NULL, &result);
	told(&result, "not connecting to", result.out, "dat:");
}

static void message_use_after_fork(void **state)
{
	struct harness_result result;

	(void)state;
	harness_spawn("use_after_fork", NULL, &result);
	told(&result, "forked from one with open adapters", "are invalid here", "dat:");
}

static void message_no_receive(void **state)
{
	static const char *const look_each_second[] = { "DAPL_SOFT_PEER_TIMEOUT=3000", NULL };
	struct harness_result result;

	(void)state;
	harness_spawn("no_receive", look_each_second, &result);
	if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == NOT_BY_TCP)
		harness_skip("# the adapter decides how long a message waits");
	told(&result, "a message of the peer has waited", "s for a Receive", "posts none");
	if (!strstr(result.out, "a message waits for a Receive"))
		fail_msg("dat-info says: %s", result.out);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_nobody_listens), cmocka_unit_test(message_no_answer),
		cmocka_unit_test(message_other_family),	  cmocka_unit_test(message_use_after_fork),
		cmocka_unit_test(message_no_receive),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
