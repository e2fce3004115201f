/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "harness.h"

#include <errno.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* ---- The program ---- */

char *harness_ia_name(void)
{
	static char fallback[] = "soft-lo";
	char *name = getenv("UDAPL_IA");

	return name != NULL && name[0] != '\0' ? name : fallback;
}

static void excluded(void **state)
{
	(void)state;
	skip();
}

/* A line of the file: adapter pattern, program/test or test pattern, reason. */
static void exclude_by(char *line, struct CMUnitTest *tests, size_t count)
{
	char *rest = line, *adapter, *test, *reason;

	adapter = strsep(&rest, " \t");
	while (rest != NULL && (*rest == ' ' || *rest == '\t'))
		rest++;
	test = strsep(&rest, " \t");
	if (adapter[0] == '#' || test == NULL || rest == NULL)
		return;
	reason = rest + strspn(rest, " \t");
	if (fnmatch(adapter, harness_ia_name(), 0) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (fnmatch(test, tests[i].name, 0) != 0)
			continue;
		printf("# %s is excluded for %s: %s\n", tests[i].name, harness_ia_name(), reason);
		tests[i].test_func = excluded;
		tests[i].setup_func = NULL;
		tests[i].teardown_func = NULL;
	}
}

static void exclude(struct CMUnitTest *tests, size_t count)
{
	const char *path = getenv("UDAPL_EXCLUSIONS");
	char line[1024];
	FILE *file = path != NULL ? fopen(path, "re") : NULL;

	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		exclude_by(line, tests, count);
	}
	fclose(file);
}

int harness_run(const struct CMUnitTest *tests, size_t count)
{
	struct CMUnitTest *copy = calloc(count, sizeof(*copy));
	int rc;

	if (copy == NULL)
		return 1;
	memcpy(copy, tests, count * sizeof(*copy));
	setvbuf(stdout, NULL, _IOLBF, 0);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	exclude(copy, count);
	cmocka_set_test_filter(getenv("UDAPL_TESTS"));
	rc = _cmocka_run_group_tests("tests", copy, count, NULL, NULL);
	free(copy);
	return rc;
}

bool harness_sanitized(void)
{
#ifdef SANITIZED
	return true;
#else
	return false;
#endif
}

bool harness_emulated(void)
{
	return getenv("UDAPL_VM") != NULL;
}

unsigned int harness_rounds(unsigned int n)
{
	const char *env = getenv("UDAPL_BRIEF");

	return env != NULL && strcmp(env, "1") == 0 ? (n + 9) / 10 : n;
}

bool ct_has_ports(const DAT_SOCK_ADDR *addr)
{
	return addr->sa_family != AF_INET6 || !((const struct sockaddr_in6 *)addr)->sin6_flowinfo;
}

/* ---- Return codes ---- */

const char *ct_rc_name(DAT_RETURN rc)
{
	static _Thread_local char texts[4][160];
	static _Thread_local unsigned int next;
	char *text = texts[next++ % 4];
	const char *major = "?", *minor = "";

	if (dat_strerror(rc, &major, &minor) != DAT_SUCCESS)
		major = "unknown";
	snprintf(text, sizeof(texts[0]), "%s %s (0x%08x)", major, minor, rc);
	return text;
}

static bool subtypes_are_advisory(void)
{
	const char *env = getenv("UDAPL_SUBTYPES");

	return env != NULL && strcmp(env, "advisory") == 0;
}

static DAT_RETURN as_word(DAT_RETURN type, int subtype)
{
	return type | (subtype > 0 ? (DAT_RETURN)subtype : 0);
}

void ct_expect(DAT_RETURN rc, DAT_RETURN type, int subtype, const char *what, const char *file,
	       int line)
{
	bool same_type = type == DAT_SUCCESS ? rc == DAT_SUCCESS : DAT_GET_TYPE(rc) == type;
	bool same_subtype = subtype == CT_ANY_SUBTYPE || type == DAT_SUCCESS ||
			    DAT_GET_SUBTYPE(rc) == (DAT_RETURN)subtype;

	if (same_type && same_subtype)
		return;
	print_error("%s\n  returned %s\n  expected %s\n", what, ct_rc_name(rc),
		    ct_rc_name(as_word(type, subtype)));
	if (!same_type || !subtypes_are_advisory())
		_fail(file, line);
}

void ct_expect_exact(DAT_RETURN rc, DAT_RETURN word, const char *what, const char *file, int line)
{
	if (rc == word)
		return;
	print_error("%s\n  returned %s\n  expected exactly %s\n", what, ct_rc_name(rc),
		    ct_rc_name(word));
	_fail(file, line);
}

void ct_expect_unsupported(DAT_RETURN rc, const char *what, const char *file, int line)
{
	if (DAT_GET_TYPE(rc) == DAT_MODEL_NOT_SUPPORTED || DAT_GET_TYPE(rc) == DAT_NOT_IMPLEMENTED)
		return;
	print_error("%s\n  returned %s\n  expected a refusal as not supported\n", what,
		    ct_rc_name(rc));
	_fail(file, line);
}

/* ---- Objects ---- */

void ct_open(struct ct_ia *ia)
{
	memset(ia, 0, sizeof(*ia));
	expect_ok(dat_ia_open(harness_ia_name(), 64, &ia->async, &ia->ia));
	expect_ok(dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_ALL, &ia->attr, DAT_PROVIDER_FIELD_ALL,
			       &ia->prov));
}

void ct_close(struct ct_ia *ia)
{
	expect_ok(dat_ia_close(ia->ia, DAT_CLOSE_ABRUPT_FLAG));
	memset(ia, 0, sizeof(*ia));
}

int ct_setup(void **state)
{
	struct ct_ia *ia = calloc(1, sizeof(*ia));

	assert_non_null(ia);
	ct_open(ia);
	*state = ia;
	return 0;
}

int ct_teardown(void **state)
{
	struct ct_ia *ia = *state;

	if (ia->ia != DAT_HANDLE_NULL)
		ct_close(ia);
	ct_waiters_free();
	free(ia);
	return 0;
}

DAT_EVD_HANDLE ct_evd(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	expect_ok(dat_evd_create(ia, qlen, cno, flags, &evd));
	assert_non_null(evd);
	return evd;
}

DAT_EVD_PARAM ct_evd_param(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	return param;
}

DAT_CNO_HANDLE ct_cno(DAT_IA_HANDLE ia)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	expect_ok(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	assert_non_null(cno);
	return cno;
}

DAT_PZ_HANDLE ct_pz(DAT_IA_HANDLE ia)
{
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;

	expect_ok(dat_pz_create(ia, &pz));
	assert_non_null(pz);
	return pz;
}

DAT_EP_STATE ct_ep_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	expect_ok(dat_ep_get_status(ep, &state, NULL, NULL));
	/* EP-6: a test for "connected" accepts all three. */
	if (state == DAT_EP_STATE_CONNECTED_SINGLE_PATH ||
	    state == DAT_EP_STATE_CONNECTED_MULTI_PATH)
		state = DAT_EP_STATE_CONNECTED;
	return state;
}

void ct_mem_open(struct ct_mem *mem, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, size_t len,
		 DAT_MEM_PRIV_FLAGS priv)
{
	DAT_REGION_DESCRIPTION region;

	memset(mem, 0, sizeof(*mem));
	mem->len = len;
	mem->base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(mem->base, MAP_FAILED);
	region.for_va = mem->base;
	expect_ok(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, len, pz, priv, DAT_VA_TYPE_VA,
				 &mem->lmr, &mem->lmr_context, &mem->rmr_context, NULL, NULL));
}

void ct_mem_close(struct ct_mem *mem)
{
	if (mem->lmr != DAT_HANDLE_NULL)
		expect_ok(dat_lmr_free(mem->lmr));
	munmap(mem->base, mem->len);
	memset(mem, 0, sizeof(*mem));
}

DAT_LMR_TRIPLET ct_segment(const struct ct_mem *mem, size_t offset, size_t len)
{
	DAT_LMR_TRIPLET segment = {
		.virtual_address = (DAT_VADDR)((uintptr_t)mem->base + offset),
		.segment_length = (DAT_SEG_LENGTH)len,
		.lmr_context = mem->lmr_context,
	};

	return segment;
}

DAT_RMR_TRIPLET ct_target(const struct ct_mem *mem, size_t offset, size_t len)
{
	DAT_RMR_TRIPLET target = {
		.virtual_address = (DAT_VADDR)((uintptr_t)mem->base + offset),
		.segment_length = (DAT_SEG_LENGTH)len,
		.rmr_context = mem->rmr_context,
	};

	return target;
}

void ct_default_attr(DAT_IA_HANDLE ia, DAT_EP_ATTR *attr)
{
	struct ct_end end = { 0 };
	DAT_EP_PARAM param;

	ct_end_open(&end, ia, NULL);
	expect_ok(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param));
	*attr = param.ep_attr;
	/* The arrays would go with the endpoint. */
	attr->ep_transport_specific_count = 0;
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific_count = 0;
	attr->ep_provider_specific = NULL;
	ct_end_close(&end);
}

void ct_end_open(struct ct_end *end, DAT_IA_HANDLE ia, const DAT_EP_ATTR *attr)
{
	end->ia = ia;
	if (end->pz == DAT_HANDLE_NULL)
		end->pz = ct_pz(ia);
	if (end->recv == DAT_HANDLE_NULL)
		end->recv = ct_evd(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	if (end->request == DAT_HANDLE_NULL)
		end->request = ct_evd(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	if (end->connect == DAT_HANDLE_NULL)
		end->connect = ct_evd(ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG);
	ct_mem_open(&end->mem, ia, end->pz, 65536, DAT_MEM_PRIV_ALL_FLAG);
	expect_ok(
		dat_ep_create(ia, end->pz, end->recv, end->request, end->connect, attr, &end->ep));
	assert_non_null(end->ep);
}

void ct_end_close(struct ct_end *end)
{
	expect_ok(dat_ep_free(end->ep));
	ct_mem_close(&end->mem);
	expect_ok(dat_pz_free(end->pz));
	expect_ok(dat_evd_free(end->recv));
	if (end->request != end->recv)
		expect_ok(dat_evd_free(end->request));
	if (end->connect != end->recv && end->connect != end->request)
		expect_ok(dat_evd_free(end->connect));
	memset(end, 0, sizeof(*end));
}

static void connection_event(struct ct_end *end, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	ct_next(end->connect, number, &event);
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, end->ep);
}

void ct_end_connect(struct ct_end *active, struct ct_end *passive)
{
	DAT_EVD_HANDLE evd = ct_evd(passive->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;
	DAT_EVENT event;

	expect_ok(dat_ia_query(passive->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	expect_ok(dat_psp_create_any(passive->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(dat_ep_connect(active->ep, attr.ia_address_ptr, qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive->ep, 0,
				NULL));
	connection_event(active, DAT_CONNECTION_EVENT_ESTABLISHED);
	connection_event(passive, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_ok(dat_psp_free(psp));
	expect_ok(dat_evd_free(evd));
}

DAT_RETURN ct_post_recv(struct ct_end *end, size_t offset, size_t len, uint64_t cookie,
			DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = ct_segment(&end->mem, offset, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_recv(end->ep, 1, &segment, c, flags);
}

DAT_RETURN ct_post_send(struct ct_end *end, size_t offset, size_t len, uint64_t cookie,
			DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = ct_segment(&end->mem, offset, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_send(end->ep, 1, &segment, c, flags);
}

/* ---- Events ---- */

DAT_RETURN ct_post_se(DAT_EVD_HANDLE evd, uintptr_t value)
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.event_data.software_event_data.pointer = (DAT_PVOID)value;
	return dat_evd_post_se(evd, &event);
}

void ct_next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT more;

	memset(event, 0, sizeof(*event));
	expect_ok(dat_evd_wait(evd, CT_US, 1, event, &more));
	assert_int_equal(event->event_number, number);
	assert_ptr_equal(event->evd_handle, evd);
}

void ct_take_se(DAT_EVD_HANDLE evd, uintptr_t value)
{
	DAT_EVENT event;

	memset(&event, 0xa5, sizeof(event));
	expect_ok(dat_evd_dequeue(evd, &event));
	assert_int_equal(event.event_number, DAT_SOFTWARE_EVENT);
	assert_ptr_equal(event.evd_handle, evd);
	assert_int_equal((uintptr_t)event.event_data.software_event_data.pointer, value);
}

void ct_completion(DAT_EVD_HANDLE evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event;

	ct_next(evd, DAT_DTO_COMPLETION_EVENT, &event);
	assert_int_equal(event.event_data.dto_completion_event_data.status, status);
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
}

void ct_empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	expect_exact(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

unsigned int ct_drain(DAT_EVD_HANDLE evd)
{
	unsigned int n = 0;
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		n++;
	return n;
}

/* ---- Time ---- */

static uint64_t clock_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t ct_now_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

uint64_t ct_thread_cpu_us(void)
{
	return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t ct_process_cpu_us(void)
{
	return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

void ct_pause(void)
{
	poll(NULL, 0, 1);
}

bool ct_receives_first(const DAT_IA_ATTR *attr, const DAT_PROVIDER_ATTR *prov)
{
#if DAT_VERSION_MAJOR > 1
	return attr->extension_supported == DAT_EXTENSION_NONE &&
	       prov->rdma_read_lmr_rmr_context_exposure;
#else /* whose attributes do not tell */
	(void)attr;
	(void)prov;
	return strncmp(harness_ia_name(), "soft", 4) != 0;
#endif
}
