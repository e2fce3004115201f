/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Out of descriptors: the resource code, one message on standard error that names the
 * limit and its knob, and everything works again when there is room. Each case is a process of its
 * own.
 */
#include "limits_util.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- In the child ---- */

static int no_descriptor_to_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	struct limits_rig r;

	limits_open(&r);
	limits_hold(0);
	limits_mark("here");
	MUST_LACK(dat_ia_open(harness_ia_name(), 8, &async, &ia));
	limits_work_again(&r);
	return 0;
}

static int no_descriptor_to_listen(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct limits_rig r;

	limits_open(&r);
	limits_hold(0);
	limits_mark("here");
	if (!limits_lacked(
		    dat_psp_create_any(r.ia, &qual, r.requests, DAT_PSP_CONSUMER_FLAG, &psp)))
		MUST_OK(dat_psp_free(psp));
	limits_work_again(&r);
	return 0;
}

static int no_descriptor_to_reserve(void)
{
	DAT_RSP_HANDLE rsp;
	DAT_EP_STATE state;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct limits_rig r;

	limits_open(&r);
	MUST_OK(dat_psp_create_any(r.ia, &qual, r.requests, DAT_PSP_CONSUMER_FLAG, &psp));
	MUST_OK(dat_psp_free(psp));
	limits_hold(0);
	limits_mark("here");
	if (!limits_lacked(dat_rsp_create(r.ia, qual, r.p, r.requests, &rsp)))
		MUST_OK(dat_rsp_free(rsp));
	MUST_OK(dat_ep_get_status(r.p, &state, NULL, NULL));
	MUST(state == DAT_EP_STATE_UNCONNECTED);
	limits_work_again(&r);
	return 0;
}

static int no_descriptor_to_connect(void)
{
	DAT_EP_STATE state;
	struct limits_rig r;

	limits_open(&r);
	limits_hold(0);
	limits_mark("here");
	if (!limits_lacked(limits_connect(&r))) {
		limits_mark("again");
		limits_release();
		limits_connected(&r);
		MUST_OK(dat_ia_close(r.ia, DAT_CLOSE_ABRUPT_FLAG));
		return 0;
	}
	/* EP-155 */
	MUST_OK(dat_ep_get_status(r.a, &state, NULL, NULL));
	MUST(state == DAT_EP_STATE_UNCONNECTED);
	limits_work_again(&r);
	return 0;
}

static int no_descriptor_for_a_cno(void)
{
	DAT_CNO_HANDLE cno;
	struct limits_rig r;
	DAT_FD fd;

	limits_open(&r);
	limits_hold(0);
	limits_mark("here");
	MUST_LACK(dat_cno_fd_create(r.ia, &fd, &cno));
	limits_work_again(&r);
	return 0;
}

/* A wait that can have no descriptor goes without, and where one was needed that is told. */
static int no_descriptor_to_wait(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	struct limits_rig r;

	limits_open(&r);
	limits_hold(0);
	limits_mark("perhaps");
	MUST(dat_evd_wait(r.dto, 100000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	limits_mark("again");
	MUST(dat_evd_wait(r.dto, 100000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	limits_work_again(&r);
	return 0;
}

/* What a wait has left behind is given up for a dispatcher. */
static int a_spare_descriptor_for_a_dispatcher(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;
	struct limits_rig r;

	limits_open(&r);
	MUST(dat_evd_wait(r.dto, 1000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	limits_hold(0);
	limits_mark("again");
	MUST_OK(dat_evd_create(r.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	limits_work_again(&r);
	return 0;
}

/* The peer's socket takes the last one: the request waits outside, or is refused, and is told of
 * once. */
static int no_descriptor_to_accept(void)
{
	uint64_t until;
	DAT_EVENT event;
	DAT_COUNT more;
	struct limits_rig r;
	DAT_RETURN rc;

	limits_open(&r);
	/* Whoever waits has what it needs. */
	MUST(dat_evd_wait(r.requests, 1000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	MUST(dat_evd_wait(r.connect, 1000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	limits_hold(1);
	limits_mark("here");
	MUST_OK(limits_connect(&r));
	/* For a while nothing can come of it, and the message must not repeat. */
	until = ct_now_us() + 700000;
	while (ct_now_us() < until)
		ct_pause();
	rc = dat_evd_dequeue(r.requests, &event);
	if (rc == DAT_SUCCESS)
		dprintf(STDERR_FILENO, "(limit: none was needed; knob: none)\n");
	limits_mark("again");
	limits_release();
	if (rc != DAT_SUCCESS)
		rc = dat_evd_wait(r.requests, CT_US, 1, &event, &more);
	if (rc == DAT_SUCCESS) {
		MUST_OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, r.p, 0,
				      NULL));
		limits_next(r.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		limits_next(r.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	} else {
		limits_next(r.connect, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, &event);
		MUST_OK(dat_ep_reset(r.a));
		MUST_OK(limits_connect(&r));
		limits_connected(&r);
	}
	MUST_OK(dat_ia_close(r.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}

/*
 * Before anything is loaded the file and the library themselves need descriptors. By REG-10 and
 * REG-44 a file that cannot be read and a library that cannot be opened name no provider.
 */
static void open_nothing(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	limits_hold(0);
	limits_mark("here");
	rc = dat_ia_open(harness_ia_name(), 8, &async, &ia);
	MUST(DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES ||
	     DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND);
	limits_mark("again");
	limits_release();
}

static int no_descriptor_at_all(void)
{
	open_nothing();
	return 0;
}

static int no_descriptor_to_load(void)
{
	DAT_COUNT count;
	struct limits_rig r;

	/* The file is read at the first use. */
	MUST(dat_registry_list_providers(0, &count, NULL) != DAT_SUCCESS && count > 0);
	open_nothing();
	/* The next attempt loads it. */
	limits_open(&r);
	limits_work_again(&r);
	return 0;
}

/* Whether there were enough descriptors; the adapter is left open when it opened. */
static bool open_and_listen(struct limits_rig *r)
{
	DAT_RETURN rc;

	r->async = DAT_HANDLE_NULL;
	rc = dat_ia_open(harness_ia_name(), 8, &r->async, &r->ia);
	if (rc == DAT_SUCCESS) {
		MUST_OK(dat_evd_create(r->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &r->requests));
		rc = dat_psp_create_any(r->ia, &r->qual, r->requests, DAT_PSP_CONSUMER_FLAG,
					&r->psp);
	}
	if (rc == DAT_SUCCESS) {
		dprintf(STDERR_FILENO, "(limit: enough; knob: none)\n");
		return true;
	}
	MUST_LACK(rc);
	return false;
}

/* Opens and listens with ever more descriptors, until it works. */
static int few_descriptors(void)
{
	struct limits_rig keeper, r;
	bool works = false;

	/* Another instance keeps the library loaded. */
	limits_open_ia(&keeper);
	for (int spare = 0; spare < 64 && !works; spare++) {
		limits_hold(spare);
		limits_mark("here");
		works = open_and_listen(&r);
		limits_mark("again");
		if (r.ia != DAT_HANDLE_NULL)
			MUST_OK(dat_ia_close(r.ia, DAT_CLOSE_ABRUPT_FLAG));
		limits_release();
	}
	MUST(works);
	MUST_OK(dat_ia_close(keeper.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}

#define DESCRIPTORS(name)                       \
	static void nofile_##name(void **state) \
	{                                       \
		(void)state;                    \
		limits_run(#name);              \
	}

DESCRIPTORS(no_descriptor_to_open)
DESCRIPTORS(no_descriptor_to_listen)
DESCRIPTORS(no_descriptor_to_reserve)
DESCRIPTORS(no_descriptor_to_connect)
DESCRIPTORS(no_descriptor_for_a_cno)
DESCRIPTORS(no_descriptor_to_wait)
DESCRIPTORS(a_spare_descriptor_for_a_dispatcher)
DESCRIPTORS(no_descriptor_to_accept)
DESCRIPTORS(no_descriptor_at_all)
DESCRIPTORS(no_descriptor_to_load)
DESCRIPTORS(few_descriptors)

#define T(f) cmocka_unit_test(f)
#define C(f)          \
	{             \
#f, f \
	}

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		C(no_descriptor_to_open),
		C(no_descriptor_to_listen),
		C(no_descriptor_to_reserve),
		C(no_descriptor_to_connect),
		C(no_descriptor_for_a_cno),
		C(no_descriptor_to_wait),
		C(a_spare_descriptor_for_a_dispatcher),
		C(no_descriptor_to_accept),
		C(no_descriptor_at_all),
		C(no_descriptor_to_load),
		C(few_descriptors),
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(nofile_no_descriptor_to_open),
		T(nofile_no_descriptor_to_listen),
		T(nofile_no_descriptor_to_reserve),
		T(nofile_no_descriptor_to_connect),
		T(nofile_no_descriptor_for_a_cno),
		T(nofile_no_descriptor_to_wait),
		T(nofile_a_spare_descriptor_for_a_dispatcher),
		T(nofile_no_descriptor_to_accept),
		T(nofile_no_descriptor_at_all),
		T(nofile_no_descriptor_to_load),
		T(nofile_few_descriptors),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
