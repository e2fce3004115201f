/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors of CNOs. */
#include "harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

static DAT_EVD_HANDLE soft_evd(struct ct_ia *ia, DAT_CNO_HANDLE cno)
{
	return ct_evd(ia->ia, 16, cno, DAT_EVD_SOFTWARE_FLAG);
}

static void untriggered(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE hint = (DAT_EVD_HANDLE)&hint;

	expect_exact(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
	/* CNO-27 */
	assert_null(hint);
}

/* ---- Descriptors ---- */

static bool readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLIN) != 0;
}

static void cno_8_9_the_descriptor_is_readable_while_triggered(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, hint;
	DAT_FD fd = -1;

	expect_ok(dat_cno_fd_create(ia->ia, &fd, &cno));
	assert_true(fd >= 0);
	evd = soft_evd(ia, cno);
	for (int i = 0; i < 3; i++) {
		assert_false(readable(fd));
		expect_ok(ct_post_se(evd, 1));
		assert_true(readable(fd));
		expect_ok(ct_post_se(evd, 2));
		assert_true(readable(fd));
		/* CNO-13 by one call, CNO-12 by the other. */
		expect_ok(i & 1 ? dat_cno_wait(cno, 0, &hint) : dat_cno_trigger(cno, &hint));
		assert_ptr_equal(hint, evd);
		assert_false(readable(fd));
		assert_int_equal(ct_drain(evd), 2);
	}
	untriggered(cno);
}

static void cno_8_the_descriptor_works_with_epoll(void **state)
{
	struct ct_ia *ia = *state;
	struct epoll_event want = { .events = EPOLLIN }, got;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, hint;
	DAT_FD fd;

	assert_true(epoll >= 0);
	expect_ok(dat_cno_fd_create(ia->ia, &fd, &cno));
	evd = soft_evd(ia, cno);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &want), 0);
	assert_int_equal(epoll_wait(epoll, &got, 1, 0), 0);
	expect_ok(ct_post_se(evd, 1));
	assert_int_equal(epoll_wait(epoll, &got, 1, CT_MS), 1);
	expect_ok(dat_cno_trigger(cno, &hint));
	assert_int_equal(epoll_wait(epoll, &got, 1, 0), 0);
	close(epoll);
}

static void cno_9_epoll_level_and_edge(void **state)
{
	struct ct_ia *ia = *state;
	struct epoll_event level = { .events = EPOLLIN }, edge = { .events = EPOLLIN | EPOLLET };
	int by_level = epoll_create1(EPOLL_CLOEXEC), by_edge = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event got;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, hint;
	DAT_FD fd;

	expect_ok(dat_cno_fd_create(ia->ia, &fd, &cno));
	evd = soft_evd(ia, cno);
	assert_int_equal(epoll_ctl(by_level, EPOLL_CTL_ADD, fd, &level), 0);
	assert_int_equal(epoll_ctl(by_edge, EPOLL_CTL_ADD, fd, &edge), 0);
	for (int i = 0; i < 3; i++) {
		expect_ok(ct_post_se(evd, 1));
		expect_ok(ct_post_se(evd, 2));
		/* Readiness persists until the trigger is collected; its edge comes once. */
		assert_int_equal(epoll_wait(by_level, &got, 1, CT_MS), 1);
		assert_int_equal(epoll_wait(by_level, &got, 1, CT_MS), 1);
		assert_int_equal(epoll_wait(by_edge, &got, 1, CT_MS), 1);
		assert_int_equal(epoll_wait(by_edge, &got, 1, 0), 0);
		/* Emptying the dispatcher is not collecting. */
		assert_int_equal(ct_drain(evd), 2);
		assert_int_equal(epoll_wait(by_level, &got, 1, CT_MS), 1);
		expect_ok(dat_cno_trigger(cno, &hint));
		assert_int_equal(epoll_wait(by_level, &got, 1, 0), 0);
		assert_int_equal(epoll_wait(by_edge, &got, 1, 0), 0);
	}
	close(by_level);
	close(by_edge);
}

static void cno_9_a_connection_makes_the_descriptor_readable(void **state)
{
	struct ct_ia *ia = *state;
	struct pollfd pfd = { .events = POLLIN };
	struct ct_end a = { 0 }, p = { 0 };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;

	expect_ok(dat_cno_fd_create(ia->ia, &pfd.fd, &cno));
	p.recv = ct_evd(ia->ia, 64, cno, DAT_EVD_DTO_FLAG);
	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	for (uint64_t i = 0; i < 20; i++) {
		expect_ok(ct_post_recv(&p, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		assert_int_equal(poll(&pfd, 1, CT_MS), 1);
		expect_ok(dat_cno_trigger(cno, &hint));
		assert_ptr_equal(hint, p.recv);
		expect_ok(dat_evd_dequeue(p.recv, &event));
		assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, i);
		ct_completion(a.request, i, DAT_DTO_SUCCESS);
	}
}

static void cno_10_the_descriptor_belongs_to_the_object(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno;
	DAT_FD fd, again;

	expect_ok(dat_cno_fd_create(ia->ia, &fd, &cno));
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	expect_ok(dat_cno_free(cno));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	expect_ok(dat_cno_fd_create(ia->ia, &again, &cno));
	ct_close(ia);
	assert_int_equal(fcntl(again, F_GETFD), -1);
}

static void cno_11_such_an_object_takes_no_agent(void **state)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = NULL, .proxy_agent_func = NULL };
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno;
	DAT_FD fd;

	expect_ok(dat_cno_fd_create(ia->ia, &fd, &cno));
	agent.proxy_agent_func = (DAT_AGENT_FUNC)(uintptr_t)&agent;
	expect_type(dat_cno_modify_agent(cno, agent), DAT_INVALID_STATE);
}

static void cno_22_query_tells_the_descriptor(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_PARAM param;
	DAT_CNO_HANDLE cno;
	DAT_FD fd;

	expect_ok(dat_cno_fd_create(ia->ia, &fd, &cno));
	expect_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, ia->ia);
	assert_int_equal(param.proxy_type, DAT_PROXY_TYPE_FD);
	assert_int_equal(param.proxy.fd, fd);
}

static void cno_fd_create_checks_its_pointers(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno;
	DAT_FD fd;

	expect_arg(dat_cno_fd_create(ia->ia, NULL, &cno), 2);
	expect_arg(dat_cno_fd_create(ia->ia, &fd, NULL), 3);
	expect_arg(dat_cno_create(ia->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL), 3);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(cno_8_9_the_descriptor_is_readable_while_triggered),
		T(cno_8_the_descriptor_works_with_epoll),
		T(cno_9_epoll_level_and_edge),
		T(cno_9_a_connection_makes_the_descriptor_readable),
		T(cno_10_the_descriptor_belongs_to_the_object),
		T(cno_11_such_an_object_takes_no_agent),
		T(cno_22_query_tells_the_descriptor),
		T(cno_fd_create_checks_its_pointers),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
