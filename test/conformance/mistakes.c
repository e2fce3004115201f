/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What programs do wrong with the objects of one adapter: the call fails, and one line on standard
 * error says what is missing, who has it, or which limit it is. The table is doc/mistakes.md.
 */
#include "conn_util.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NOT_HERE = 3 /* the adapter cannot show it */
};

/* ---- The mistakes, each in a process of its own ---- */

static struct cu_rig *rig;

static DAT_EP_HANDLE new_ep(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE dto, const DAT_EP_ATTR *attr)
{
	DAT_EVD_HANDLE connect = ct_evd(rig->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(rig->ia, pz, dto, dto, connect, attr, &ep));
	return ep;
}

static DAT_EVD_HANDLE new_dto_evd(void)
{
	return ct_evd(rig->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
}

static int receive_without_zone(void)
{
	DAT_EP_HANDLE ep;

	rig = cu_rig_open();
	ep = new_ep(DAT_HANDLE_NULL, new_dto_evd(), NULL);
	expect_state(dat_ep_post_recv(ep, 0, NULL, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
		     EP_NOTREADY);
	cu_rig_close(rig);
	return 0;
}

static int connect_without_zone(void)
{
	struct ct_end end = { 0 };

	rig = cu_rig_open();
	end.ia = rig->ia;
	end.ep = new_ep(DAT_HANDLE_NULL, new_dto_evd(), NULL);
	expect_state(cu_connect(&end, rig->qual, CT_US), EP_NOTREADY);
	cu_rig_close(rig);
	return 0;
}

static int send_without_dispatcher(void)
{
	DAT_EP_HANDLE ep;

	rig = cu_rig_open();
	ep = new_ep(ct_pz(rig->ia), DAT_HANDLE_NULL, NULL);
	expect_state(dat_ep_post_send(ep, 0, NULL, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
		     EP_NOTREADY);
	cu_rig_close(rig);
	return 0;
}

static int zone_in_use(void)
{
	struct ct_mem mem;
	DAT_PZ_HANDLE pz;

	rig = cu_rig_open();
	pz = ct_pz(rig->ia);
	ct_mem_open(&mem, rig->ia, pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	printf("%p", new_ep(pz, new_dto_evd(), NULL));
	expect_state(dat_pz_free(pz), PZ_IN_USE);
	cu_rig_close(rig);
	return 0;
}

static int dispatcher_in_use(void)
{
	DAT_EVD_HANDLE evd;

	rig = cu_rig_open();
	evd = new_dto_evd();
	printf("%p", new_ep(ct_pz(rig->ia), evd, NULL));
	expect_state(dat_evd_free(evd), EVD_IN_USE);
	cu_rig_close(rig);
	return 0;
}

static int service_dispatcher_in_use(void)
{
	rig = cu_rig_open();
	printf("%p", rig->psp);
	expect_state(dat_evd_free(rig->cr), EVD_IN_USE);
	cu_rig_close(rig);
	return 0;
}

static int cno_in_use(void)
{
	DAT_CNO_HANDLE cno;

	rig = cu_rig_open();
	cno = ct_cno(rig->ia);
	printf("%p", ct_evd(rig->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG));
	expect_state(dat_cno_free(cno), CNO_IN_USE);
	cu_rig_close(rig);
	return 0;
}

static int graceful_close(void)
{
	rig = cu_rig_open();
	ct_pz(rig->ia);
	ct_pz(rig->ia);
	expect_state(dat_ia_close(rig->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	cu_rig_close(rig);
	return 0;
}

/* Ends that are connected; the attributes of the one that connects may be null. */
static void connect_ends(const DAT_EP_ATTR *attr)
{
	ct_end_open(&rig->a, rig->ia, attr);
	ct_end_open(&rig->p, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
}

/* The endpoint that the provider made gets its zone, but nobody to tell of its connection. */
static int accept_made_endpoint(void)
{
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM cr_param;
	DAT_EP_PARAM ep_param;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	DAT_RETURN rc;

	rig = cu_rig_open();
	rc = dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_PROVIDER_FLAG, &psp);
	if (cu_unsupported(rc))
		return NOT_HERE;
	expect_ok(rc);
	ct_end_open(&rig->a, rig->ia, NULL);
	expect_ok(cu_connect(&rig->a, qual, CT_US));
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	expect_handle(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP);
	ep_param.pz_handle = ct_pz(rig->ia);
	expect_ok(dat_ep_modify(cr_param.local_ep_handle, DAT_EP_FIELD_PZ_HANDLE, &ep_param));
	expect_handle(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP);
	printf("endpoint %p has no connect dispatcher, which dat_ep_modify",
	       cr_param.local_ep_handle);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	cu_rig_close(rig);
	return 0;
}

static int suppressed_only(void)
{
	DAT_EP_ATTR attr;
	DAT_RETURN rc;
	int i;

	rig = cu_rig_open();
	ct_default_attr(rig->ia, &attr);
	connect_ends(&attr);
	printf("%d", (int)attr.max_request_dtos);
	for (i = 0; i < attr.max_request_dtos; i++)
		expect_ok(cu_write(&rig->a, 0, 8, 1, &rig->p.mem, 0, DAT_COMPLETION_SUPPRESS_FLAG));
	for (i = 0; i < 100; i++) {
		rc = cu_write(&rig->a, 0, 8, 1, &rig->p.mem, 0, DAT_COMPLETION_SUPPRESS_FLAG);
		if (rc == DAT_SUCCESS)
			break;
		expect(rc, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		usleep(10000);
	}
	cu_rig_close(rig);
	return i < 100 ? NOT_HERE : 0;
}

/* Requests that tell of their completions are not to be complained about. */
static int full_queue(void)
{
	DAT_EP_ATTR attr;
	DAT_RETURN rc;
	int i;

	rig = cu_rig_open();
	ct_default_attr(rig->ia, &attr);
	connect_ends(&attr);
	for (i = 0; i < attr.max_request_dtos; i++)
		expect_ok(cu_write(&rig->a, 0, 8, 1, &rig->p.mem, 0,
				   i == 1 ? DAT_COMPLETION_DEFAULT_FLAG
					  : DAT_COMPLETION_SUPPRESS_FLAG));
	rc = cu_write(&rig->a, 0, 8, 1, &rig->p.mem, 0, DAT_COMPLETION_SUPPRESS_FLAG);
	expect(rc, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	cu_rig_close(rig);
	return 0;
}

static DAT_RETURN bind_part(DAT_RMR_HANDLE rmr, const struct ct_mem *mem)
{
	DAT_LMR_TRIPLET part = ct_segment(mem, 0, 4096);
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(rmr, mem->lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
			    rig->a.ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static int bind_without_local_write(void)
{
	DAT_RMR_HANDLE rmr;
	struct ct_mem *mem;

	rig = cu_rig_open();
	connect_ends(NULL);
	if (cu_unsupported(dat_rmr_create(rig->a.pz, &rmr)))
		return NOT_HERE;
	mem = cu_extra_mem(rig, rig->a.pz, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	expect(bind_part(rmr, mem), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	cu_rig_close(rig);
	return 0;
}

static int bind_across_zones(void)
{
	DAT_RMR_HANDLE rmr;

	rig = cu_rig_open();
	connect_ends(NULL);
	if (cu_unsupported(dat_rmr_create(rig->p.pz, &rmr)))
		return NOT_HERE;
	expect_type(bind_part(rmr, &rig->p.mem), DAT_PROTECTION_VIOLATION);
	cu_rig_close(rig);
	return 0;
}

/* taken: and the completion of the bind. */
static int bind_and_free(bool taken)
{
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	rig = cu_rig_open();
	rig->a.request =
		ct_evd(rig->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	connect_ends(NULL);
	if (cu_unsupported(dat_rmr_create(rig->a.pz, &rmr)))
		return NOT_HERE;
	expect_ok(bind_part(rmr, &rig->a.mem));
	if (taken)
		ct_next(rig->a.request, DAT_RMR_BIND_COMPLETION_EVENT, &event);
	printf("%p", rmr);
	expect_state(dat_lmr_free(rig->a.mem.lmr), LMR_IN_USE);
	cu_rig_close(rig);
	return 0;
}

static int region_in_use(void)
{
	return bind_and_free(true);
}

static int region_about_to_be_in_use(void)
{
	return bind_and_free(false);
}

/* A peer's access without the right for it; the software provider is both ends and says so.
 * Other adapters say nothing of it, and soft-iWARP does not look at the right of a Read. */
static int write_without_right(void)
{
	struct ct_mem *mem;

	if (strncmp(harness_ia_name(), "soft", 4) != 0)
		return NOT_HERE;
	rig = cu_rig_open();
	connect_ends(NULL);
	mem = cu_extra_mem(rig, rig->p.pz, 4096,
			   DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
	printf("0x%x", (unsigned int)mem->rmr_context);
	expect_ok(cu_write(&rig->a, 0, 8, 1, mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	cu_conn_ended(rig->p.connect, rig->p.ep);
	cu_conn_ended(rig->a.connect, rig->a.ep);
	cu_rig_close(rig);
	return 0;
}

static int read_without_right(void)
{
	struct ct_mem *mem;

	if (strncmp(harness_ia_name(), "soft", 4) != 0)
		return NOT_HERE;
	rig = cu_rig_open();
	connect_ends(NULL);
	mem = cu_extra_mem(rig, rig->p.pz, 4096,
			   DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	printf("0x%x", (unsigned int)mem->rmr_context);
	expect_ok(cu_read(&rig->a, 0, 8, 1, mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	cu_conn_ended(rig->p.connect, rig->p.ep);
	cu_conn_ended(rig->a.connect, rig->a.ep);
	cu_rig_close(rig);
	return 0;
}

/* Of the software provider; other adapters have kernel and wire between both ends. */
static int accept_after_the_peer_left(void)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (strncmp(harness_ia_name(), "soft", 4) != 0)
		return NOT_HERE;
	rig = cu_rig_open();
	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	cr = cu_request(rig, &rig->a);
	expect_ok(dat_ep_free(rig->a.ep));
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	ct_next(rig->p.connect, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, &event);
	cu_rig_close(rig);
	return 0;
}

static const struct harness_child children[] = {
	{ "receive_without_zone", receive_without_zone },
	{ "connect_without_zone", connect_without_zone },
	{ "send_without_dispatcher", send_without_dispatcher },
	{ "zone_in_use", zone_in_use },
	{ "dispatcher_in_use", dispatcher_in_use },
	{ "service_dispatcher_in_use", service_dispatcher_in_use },
	{ "cno_in_use", cno_in_use },
	{ "graceful_close", graceful_close },
	{ "accept_made_endpoint", accept_made_endpoint },
	{ "suppressed_only", suppressed_only },
	{ "full_queue", full_queue },
	{ "bind_without_local_write", bind_without_local_write },
	{ "bind_across_zones", bind_across_zones },
	{ "region_in_use", region_in_use },
	{ "region_about_to_be_in_use", region_about_to_be_in_use },
	{ "write_without_right", write_without_right },
	{ "read_without_right", read_without_right },
	{ "accept_after_the_peer_left", accept_after_the_peer_left },
	{ 0 },
};

/* ---- What is said of them ---- */

static void spawn(const char *name, struct harness_result *result)
{
	harness_spawn(name, NULL, result);
	if (WIFEXITED(result->status) && WEXITSTATUS(result->status) == NOT_HERE)
		harness_skip("# the adapter does not have it, or says it otherwise");
	if (result->status)
		fail_msg("%s: status 0x%x: %s", name, (unsigned)result->status, result->err);
}

/* A line with all of these. */
static void told(const char *name, const char *who, const char *what, const char *where)
{
	struct harness_result result;
	char *line, *rest = NULL;

	spawn(name, &result);
	for (line = strtok_r(result.err, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strstr(line, who) && strstr(line, what) &&
		    strstr(line, where ? where : result.out))
			return;
	fail_msg("no line with \"%s\", \"%s\" and \"%s\"", who, what, where ? where : result.out);
}

#define TOLD(name, who, what, where)                 \
	static void mistake_##name(void **state)     \
	{                                            \
		(void)state;                         \
		told(#name, (who), (what), (where)); \
	}

TOLD(receive_without_zone, "endpoint", "not ready for receives", "no protection zone")
TOLD(connect_without_zone, "endpoint", "not ready", "no protection zone")
TOLD(send_without_dispatcher, "endpoint", "not ready for requests", "without a request dispatcher")
TOLD(zone_in_use, "PZ", "not freed: in use by EP", NULL)
TOLD(dispatcher_in_use, "EVD", "not freed: in use by EP", NULL)
TOLD(service_dispatcher_in_use, "EVD", "not freed: in use by PSP", NULL)
TOLD(cno_in_use, "CNO", "not freed: in use by EVD", NULL)
TOLD(graceful_close, "not closed gracefully", "1 PSP", "2 PZ")
TOLD(accept_made_endpoint, "CR", "not accepted", NULL)
TOLD(suppressed_only, "no room for another request", "suppressed", NULL)
TOLD(bind_without_local_write, "LMR", "not bound for remote writes",
     "DAT_MEM_PRIV_LOCAL_WRITE_FLAG")
TOLD(bind_across_zones, "RMR", "not bound", "protection zone")
TOLD(region_in_use, "LMR", "not freed: in use by RMR", NULL)
TOLD(region_about_to_be_in_use, "LMR", "not freed: in use by RMR", NULL)
TOLD(write_without_right, "RDMA Write", "without DAT_MEM_PRIV_REMOTE_WRITE_FLAG", NULL)
TOLD(read_without_right, "RDMA Read", "without DAT_MEM_PRIV_REMOTE_READ_FLAG", NULL)
TOLD(accept_after_the_peer_left, "connection", "not established", "the peer gave up")

static void no_mistake_full_queue(void **state)
{
	struct harness_result result;

	(void)state;
	spawn("full_queue", &result);
	assert_string_equal(result.err, "");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistake_receive_without_zone),
		cmocka_unit_test(mistake_connect_without_zone),
		cmocka_unit_test(mistake_send_without_dispatcher),
		cmocka_unit_test(mistake_zone_in_use),
		cmocka_unit_test(mistake_dispatcher_in_use),
		cmocka_unit_test(mistake_service_dispatcher_in_use),
		cmocka_unit_test(mistake_cno_in_use),
		cmocka_unit_test(mistake_graceful_close),
		cmocka_unit_test(mistake_accept_made_endpoint),
		cmocka_unit_test(mistake_suppressed_only),
		cmocka_unit_test(no_mistake_full_queue),
		cmocka_unit_test(mistake_bind_without_local_write),
		cmocka_unit_test(mistake_bind_across_zones),
		cmocka_unit_test(mistake_region_in_use),
		cmocka_unit_test(mistake_region_about_to_be_in_use),
		cmocka_unit_test(mistake_write_without_right),
		cmocka_unit_test(mistake_read_without_right),
		cmocka_unit_test(mistake_accept_after_the_peer_left),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
