/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Out of descriptors or memory: the resource code, one message on standard error that names the
 * limit and its knob, and everything works again when there is room. Each case is a process of its
 * own.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- In the child ---- */

/* Anything that must not happen ends the child; the parent shows what it wrote to standard output.
 */
#define MUST(condition)                                                        \
	do {                                                                   \
		if (!(condition)) {                                            \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define MUST_OK(call)                                                                   \
	do {                                                                            \
		DAT_RETURN must_ = (call);                                              \
		if (must_ != DAT_SUCCESS) {                                             \
			printf("%s:%d: %s\n  returned %s\n", __FILE__, __LINE__, #call, \
			       ct_rc_name(must_));                                      \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

#define MUST_LACK(call)                                                                 \
	do {                                                                            \
		DAT_RETURN must_ = (call);                                              \
		if (DAT_GET_TYPE(must_) != DAT_INSUFFICIENT_RESOURCES ||                \
		    (must_ & DAT_CLASS_ERROR) == 0) {                                   \
			printf("%s:%d: %s\n  returned %s\n", __FILE__, __LINE__, #call, \
			       ct_rc_name(must_));                                      \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

static int held[4096];
static int num_held;

/* Takes all descriptors up to the limit, but some. */
static void hold_descriptors(int spare)
{
	struct rlimit limit;
	int fd;

	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = 256;
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	while (num_held < 4096 && (fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		held[num_held++] = fd;
	MUST(num_held > spare);
	while (spare-- > 0)
		close(held[--num_held]);
}

static void release_descriptors(void)
{
	while (num_held > 0)
		close(held[--num_held]);
}

/* Marks the part of standard error that the parent looks at. */
static void mark(const char *what)
{
	fflush(stdout);
	dprintf(STDERR_FILENO, "=== %s\n", what);
}

struct rig {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, requests, dto, connect;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE a, p;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;
};

static void open_ia(struct rig *r)
{
	r->async = DAT_HANDLE_NULL;
	MUST_OK(dat_ia_open(harness_ia_name(), 8, &r->async, &r->ia));
	MUST_OK(dat_ia_query(r->ia, NULL, DAT_IA_FIELD_ALL, &r->attr, 0, NULL));
}

static void open_rig(struct rig *r)
{
	open_ia(r);
	MUST_OK(dat_pz_create(r->ia, &r->pz));
	MUST_OK(dat_evd_create(r->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &r->requests));
	MUST_OK(dat_evd_create(r->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &r->dto));
	MUST_OK(dat_evd_create(r->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &r->connect));
	MUST_OK(dat_ep_create(r->ia, r->pz, r->dto, r->dto, r->connect, NULL, &r->a));
	MUST_OK(dat_ep_create(r->ia, r->pz, r->dto, r->dto, r->connect, NULL, &r->p));
	MUST_OK(dat_psp_create_any(r->ia, &r->qual, r->requests, DAT_PSP_CONSUMER_FLAG, &r->psp));
}

static DAT_RETURN start_connect(struct rig *r)
{
	return dat_ep_connect(r->a, r->attr.ia_address_ptr, r->qual, DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT more;

	MUST_OK(dat_evd_wait(evd, CT_US, 1, event, &more));
	MUST(event->event_number == number);
}

/* From the request on. */
static void finish_connect(struct rig *r)
{
	DAT_EVENT event;

	next(r->requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	MUST_OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, r->p, 0, NULL));
	next(r->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	next(r->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* With room again the same process works. */
static void works_again(struct rig *r)
{
	mark("again");
	release_descriptors();
	MUST_OK(start_connect(r));
	finish_connect(r);
	MUST_OK(dat_ia_close(r->ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* Whether a call failed for want of a descriptor; not every transport needs one there. */
static bool lacked(DAT_RETURN rc)
{
	if (rc == DAT_SUCCESS) {
		dprintf(STDERR_FILENO, "(limit: none was needed; knob: none)\n");
		return false;
	}
	MUST_LACK(rc);
	return true;
}

static int no_descriptor_to_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	struct rig r;

	open_rig(&r);
	hold_descriptors(0);
	mark("here");
	MUST_LACK(dat_ia_open(harness_ia_name(), 8, &async, &ia));
	works_again(&r);
	return 0;
}

static int no_descriptor_to_listen(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct rig r;

	open_rig(&r);
	hold_descriptors(0);
	mark("here");
	if (!lacked(dat_psp_create_any(r.ia, &qual, r.requests, DAT_PSP_CONSUMER_FLAG, &psp)))
		MUST_OK(dat_psp_free(psp));
	works_again(&r);
	return 0;
}

static int no_descriptor_to_reserve(void)
{
	DAT_RSP_HANDLE rsp;
	DAT_EP_STATE state;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct rig r;

	open_rig(&r);
	MUST_OK(dat_psp_create_any(r.ia, &qual, r.requests, DAT_PSP_CONSUMER_FLAG, &psp));
	MUST_OK(dat_psp_free(psp));
	hold_descriptors(0);
	mark("here");
	if (!lacked(dat_rsp_create(r.ia, qual, r.p, r.requests, &rsp)))
		MUST_OK(dat_rsp_free(rsp));
	MUST_OK(dat_ep_get_status(r.p, &state, NULL, NULL));
	MUST(state == DAT_EP_STATE_UNCONNECTED);
	works_again(&r);
	return 0;
}

static int no_descriptor_to_connect(void)
{
	DAT_EP_STATE state;
	struct rig r;

	open_rig(&r);
	hold_descriptors(0);
	mark("here");
	if (!lacked(start_connect(&r))) {
		mark("again");
		release_descriptors();
		finish_connect(&r);
		MUST_OK(dat_ia_close(r.ia, DAT_CLOSE_ABRUPT_FLAG));
		return 0;
	}
	/* EP-155 */
	MUST_OK(dat_ep_get_status(r.a, &state, NULL, NULL));
	MUST(state == DAT_EP_STATE_UNCONNECTED);
	works_again(&r);
	return 0;
}

static int no_descriptor_for_a_cno(void)
{
	DAT_CNO_HANDLE cno;
	struct rig r;
	DAT_FD fd;

	open_rig(&r);
	hold_descriptors(0);
	mark("here");
	MUST_LACK(dat_cno_fd_create(r.ia, &fd, &cno));
	works_again(&r);
	return 0;
}

/* A wait that can have no descriptor goes without, and where one was needed that is told. */
static int no_descriptor_to_wait(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	struct rig r;

	open_rig(&r);
	hold_descriptors(0);
	mark("perhaps");
	MUST(dat_evd_wait(r.dto, 100000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	mark("again");
	MUST(dat_evd_wait(r.dto, 100000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	works_again(&r);
	return 0;
}

/* What a wait has left behind is given up for a dispatcher. */
static int a_spare_descriptor_for_a_dispatcher(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;
	struct rig r;

	open_rig(&r);
	MUST(dat_evd_wait(r.dto, 1000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	hold_descriptors(0);
	mark("again");
	MUST_OK(dat_evd_create(r.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	works_again(&r);
	return 0;
}

/* The peer's socket takes the last one: the request waits outside, or is refused, and is told of
 * once. */
static int no_descriptor_to_accept(void)
{
	uint64_t until;
	DAT_EVENT event;
	DAT_COUNT more;
	struct rig r;
	DAT_RETURN rc;

	open_rig(&r);
	/* Whoever waits has what it needs. */
	MUST(dat_evd_wait(r.requests, 1000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	MUST(dat_evd_wait(r.connect, 1000, 1, &event, &more) == DAT_TIMEOUT_EXPIRED);
	hold_descriptors(1);
	mark("here");
	MUST_OK(start_connect(&r));
	/* For a while nothing can come of it, and the message must not repeat. */
	until = ct_now_us() + 700000;
	while (ct_now_us() < until)
		ct_pause();
	rc = dat_evd_dequeue(r.requests, &event);
	if (rc == DAT_SUCCESS)
		dprintf(STDERR_FILENO, "(limit: none was needed; knob: none)\n");
	mark("again");
	release_descriptors();
	if (rc != DAT_SUCCESS)
		rc = dat_evd_wait(r.requests, CT_US, 1, &event, &more);
	if (rc == DAT_SUCCESS) {
		MUST_OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, r.p, 0,
				      NULL));
		next(r.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		next(r.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	} else {
		next(r.connect, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, &event);
		MUST_OK(dat_ep_reset(r.a));
		MUST_OK(start_connect(&r));
		finish_connect(&r);
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

	hold_descriptors(0);
	mark("here");
	rc = dat_ia_open(harness_ia_name(), 8, &async, &ia);
	MUST(DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES ||
	     DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND);
	mark("again");
	release_descriptors();
}

static int no_descriptor_at_all(void)
{
	open_nothing();
	return 0;
}

static int no_descriptor_to_load(void)
{
	DAT_COUNT count;
	struct rig r;

	/* The file is read at the first use. */
	MUST(dat_registry_list_providers(0, &count, NULL) != DAT_SUCCESS && count > 0);
	open_nothing();
	/* The next attempt loads it. */
	open_rig(&r);
	works_again(&r);
	return 0;
}

/* Whether there were enough descriptors; the adapter is left open when it opened. */
static bool open_and_listen(struct rig *r)
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
	struct rig keeper, r;
	bool works = false;

	/* Another instance keeps the library loaded. */
	open_ia(&keeper);
	for (int spare = 0; spare < 64 && !works; spare++) {
		hold_descriptors(spare);
		mark("here");
		works = open_and_listen(&r);
		mark("again");
		if (r.ia != DAT_HANDLE_NULL)
			MUST_OK(dat_ia_close(r.ia, DAT_CLOSE_ABRUPT_FLAG));
		release_descriptors();
	}
	MUST(works);
	MUST_OK(dat_ia_close(keeper.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}

/* ---- Memory ---- */

/* Leaves so many bytes of address space. */
static void limit_memory(size_t spare)
{
	unsigned long pages = 0;
	struct rlimit limit;
	FILE *file = fopen("/proc/self/statm", "re");

	MUST(file != NULL && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	MUST(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + spare;
	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void unlimit_memory(void)
{
	struct rlimit limit;

	MUST(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
}

static int no_memory_for_dispatchers(void)
{
	static DAT_EVD_HANDLE evds[4096];
	DAT_COUNT qlen;
	DAT_RETURN rc;
	struct rig r;
	int n = 0;

	open_rig(&r);
	qlen = r.attr.max_evd_qlen < 65536 ? r.attr.max_evd_qlen : 65536;
	limit_memory(64 << 20);
	mark("here");
	do {
		rc = dat_evd_create(r.ia, qlen, DAT_HANDLE_NULL,
				    DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &evds[n]);
		n += rc == DAT_SUCCESS;
	} while (rc == DAT_SUCCESS && n < 4096);
	MUST_LACK(rc);
	mark("again");
	unlimit_memory();
	while (n > 0)
		MUST_OK(dat_evd_free(evds[--n]));
	works_again(&r);
	return 0;
}

static int no_memory_for_endpoints(void)
{
	static DAT_EP_HANDLE eps[65536];
	DAT_EP_PARAM param;
	DAT_RETURN rc;
	struct rig r;
	int n = 0;

	open_rig(&r);
	MUST_OK(dat_ep_query(r.a, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.max_recv_dtos = param.ep_attr.max_request_dtos =
		r.attr.max_dto_per_ep < 4096 ? r.attr.max_dto_per_ep : 4096;
	limit_memory(64 << 20);
	mark("here");
	do {
		rc = dat_ep_create(r.ia, r.pz, r.dto, r.dto, r.connect, &param.ep_attr, &eps[n]);
		n += rc == DAT_SUCCESS;
	} while (rc == DAT_SUCCESS && n < 65536);
	MUST_LACK(rc);
	mark("again");
	unlimit_memory();
	while (n > 0)
		MUST_OK(dat_ep_free(eps[--n]));
	works_again(&r);
	return 0;
}

static int no_memory_for_a_resize(void)
{
	DAT_COUNT qlen;
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE evd;
	struct rig r;

	open_rig(&r);
	MUST_OK(dat_evd_create(r.ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	MUST_OK(dat_evd_post_se(evd, &event));
	qlen = r.attr.max_evd_qlen;
	limit_memory((size_t)qlen * sizeof(DAT_EVENT) / 8);
	mark("here");
	MUST_LACK(dat_evd_resize(evd, qlen));
	mark("again");
	unlimit_memory();
	/* The queue is what it was. */
	MUST_OK(dat_evd_dequeue(evd, &event));
	MUST_OK(dat_evd_resize(evd, 100));
	works_again(&r);
	return 0;
}

/* A process that starts with little address space opens the adapter, or is told what it lacks. */
static int little_memory(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	mark("here");
	rc = dat_ia_open(harness_ia_name(), 8, &async, &ia);
	if (rc != DAT_SUCCESS) {
		MUST_LACK(rc);
		return 0;
	}
	dprintf(STDERR_FILENO, "(limit: enough; knob: none)\n");
	mark("again");
	MUST_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}

static int start_with_little_memory(void)
{
	struct rlimit limit = { .rlim_cur = 512 << 20, .rlim_max = 512 << 20 };

	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	execl("/proc/self/exe", program_invocation_name, "--child", "little_memory", (char *)NULL);
	return 1;
}

/* ---- In the parent ---- */

static void section_ends(const char *name, int lines)
{
	int wanted = strcmp(name, "here") == 0 ? 1 : 0;

	if (strcmp(name, "perhaps") == 0 && lines <= 2)
		return;
	if (lines != wanted)
		fail_msg("%d messages after \"%s\" instead of %d", lines, name, wanted);
}

/* After each mark "here" comes one line, which names limit and knob, and after "perhaps" at
 * most one for each of two descriptors; otherwise none. */
static void told_once(const char *err)
{
	char section[32] = "the start", copy[8192];
	char *rest = copy, *line;
	int lines = 0, knocks = 0, marks = 0;

	snprintf(copy, sizeof(copy), "%s", err);
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (strncmp(line, "=== ", 4) == 0) {
			section_ends(section, lines);
			snprintf(section, sizeof(section), "%s", line + 4);
			lines = knocks = 0;
			marks++;
		} else if (line[0] != '\0') {
			/* Another program of this user that listens or connects meanwhile. */
			if (strstr(line, "other processes cannot hand requests on") == NULL)
				lines++;
			else if (++knocks > 1)
				fail_msg("said twice: %s", line);
			if (strstr(line, "limit: ") == NULL || strstr(line, "knob: ") == NULL)
				fail_msg("no limit or knob in: %s", line);
		}
	}
	section_ends(section, lines);
	assert_true(marks > 0);
}

static void run(const char *child)
{
	static struct harness_result result;

	harness_spawn(child, NULL, &result);
	if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0)
		fail_msg("status 0x%x\n%s%s", (unsigned int)result.status, result.out, result.err);
	print_message("%s", result.err);
	told_once(result.err);
	/* Libraries never write there. */
	assert_string_equal(result.out, "");
}

#define DESCRIPTORS(name)                       \
	static void nofile_##name(void **state) \
	{                                       \
		(void)state;                    \
		run(#name);                     \
	}

#define MEMORY(name)                                                           \
	static void memory_##name(void **state)                                \
	{                                                                      \
		(void)state;                                                   \
		if (harness_sanitized())                                       \
			harness_skip("sanitizers need all the address space"); \
		run(#name);                                                    \
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
MEMORY(no_memory_for_dispatchers)
MEMORY(no_memory_for_endpoints)
MEMORY(no_memory_for_a_resize)
MEMORY(start_with_little_memory)

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
		C(no_memory_for_dispatchers),
		C(no_memory_for_endpoints),
		C(no_memory_for_a_resize),
		C(start_with_little_memory),
		C(little_memory),
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
		T(memory_no_memory_for_dispatchers),
		T(memory_no_memory_for_endpoints),
		T(memory_no_memory_for_a_resize),
		T(memory_start_with_little_memory),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
