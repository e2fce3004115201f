/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "conn_util.h"
#include "peer.h"
#include "util/compiler.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- Checks ------------------------------------------------------------ */

static uint64_t now_ms(void)
{
	return ct_now_us() / 1000;
}

bool cu_unsupported(DAT_RETURN rc)
{
	return DAT_GET_TYPE(rc) == DAT_MODEL_NOT_SUPPORTED ||
	       DAT_GET_TYPE(rc) == DAT_NOT_IMPLEMENTED;
}

const char *cu_event_name(DAT_EVENT_NUMBER number)
{
	switch ((int)number) {
	case DAT_DTO_COMPLETION_EVENT:
		return "DTO completion";
	case DAT_CONNECTION_REQUEST_EVENT:
		return "CONNECTION_REQUEST";
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "ACCEPT_COMPLETION_ERROR";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "TIMED_OUT";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	}
	return "another event";
}

int cu_state_subtype(DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return DAT_INVALID_STATE_EP_UNCONNECTED;
	case DAT_EP_STATE_RESERVED:
		return DAT_INVALID_STATE_EP_RESERVED;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_PASSCONNPENDING;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_ACTCONNPENDING;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_TENTCONNPENDING;
	case DAT_EP_STATE_COMPLETION_PENDING:
		return DAT_INVALID_STATE_EP_COMPLPENDING;
	case DAT_EP_STATE_CONNECTED:
#if DAT_VERSION_MAJOR > 1
	case DAT_EP_STATE_CONNECTED_SINGLE_PATH:
	case DAT_EP_STATE_CONNECTED_MULTI_PATH:
#endif
		return DAT_INVALID_STATE_EP_CONNECTED;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return DAT_INVALID_STATE_EP_DISCPENDING;
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_INVALID_STATE_EP_DISCONNECTED;
	default:
		return -2;
	}
}

void cu_check_state(DAT_EP_HANDLE ep, DAT_EP_STATE state, const char *file, int line)
{
	DAT_EP_STATE got = ct_ep_state(ep);

	if (got == state)
		return;
	print_error("EP state is %d, not %d\n", (int)got, (int)state);
	_fail(file, line);
}

void cu_await_state(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	uint64_t deadline = now_ms() + CT_MS;

	while (ct_ep_state(ep) != state) {
		if (now_ms() > deadline)
			fail_msg("EP stays in state %d instead of %d", (int)ct_ep_state(ep),
				 (int)state);
		ct_pause();
	}
}

void cu_query(DAT_EP_HANDLE ep, DAT_EP_PARAM *param)
{
	memset(param, 0xa5, sizeof(*param));
	expect_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, param));
}

void cu_check_params(DAT_EP_HANDLE ep, const DAT_EP_PARAM *before)
{
	DAT_EP_PARAM now;

	cu_query(ep, &now);
	assert_int_equal(now.ep_state, before->ep_state);
#if DAT_VERSION_MAJOR > 1
	assert_memory_equal(&now.comm, &before->comm, sizeof(now.comm));
#endif
	assert_ptr_equal(now.pz_handle, before->pz_handle);
	assert_ptr_equal(now.recv_evd_handle, before->recv_evd_handle);
	assert_ptr_equal(now.request_evd_handle, before->request_evd_handle);
	assert_ptr_equal(now.connect_evd_handle, before->connect_evd_handle);
	assert_memory_equal(&now.ep_attr, &before->ep_attr,
			    offsetof(DAT_EP_ATTR, ep_transport_specific_count));
}

/* ---- Rigs -------------------------------------------------------------- */

struct ct_mem *cu_extra_mem(struct cu_rig *rig, DAT_PZ_HANDLE pz, size_t len,
			    DAT_MEM_PRIV_FLAGS priv)
{
	struct ct_mem *mem = &rig->extra[rig->num_extra];

	assert_true(rig->num_extra < sizeof(rig->extra) / sizeof(rig->extra[0]));
	ct_mem_open(mem, rig->ia, pz, len, priv);
	rig->num_extra++;
	return mem;
}

void cu_end_open_qlen(struct cu_rig *rig, struct ct_end *end, const DAT_EP_ATTR *attr,
		      DAT_COUNT qlen)
{
	end->recv = ct_evd(rig->ia, qlen, NULL, DAT_EVD_DTO_FLAG);
	end->request = ct_evd(rig->ia, qlen, NULL, DAT_EVD_DTO_FLAG);
	ct_end_open(end, rig->ia, attr);
}

void cu_end_open_merged(struct cu_rig *rig, struct ct_end *end, const DAT_EP_ATTR *attr)
{
	end->recv = ct_evd(rig->ia, 128, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	end->request = end->connect = end->recv;
	ct_end_open(end, rig->ia, attr);
}

/* More than sockets and rings hold; ThreadSanitizer looks at some 20 MB in a second. */
#ifdef WITH_TSAN
#define BIG ((size_t)16 << 20)
#else
#define BIG ((size_t)64 << 20)
#endif

static size_t big;

size_t cu_big(void)
{
	assert_true(big > 0);
	return big;
}

static void set_big(const DAT_IA_ATTR *attr)
{
	big = BIG;
	if (big > attr->max_message_size)
		big = (size_t)attr->max_message_size;
	if (big > attr->max_rdma_size)
		big = (size_t)attr->max_rdma_size;
}

struct cu_rig *cu_rig_open(void)
{
	struct cu_rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	expect_ok(dat_ia_open(harness_ia_name(), 64, &rig->async, &rig->ia));
	expect_ok(dat_ia_query(rig->ia, NULL, DAT_IA_FIELD_ALL, &rig->attr, DAT_PROVIDER_FIELD_ALL,
			       &rig->prov));
	set_big(&rig->attr);
	rig->cr = ct_evd(rig->ia, 64, NULL, DAT_EVD_CR_FLAG);
	expect_ok(
		dat_psp_create_any(rig->ia, &rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &rig->psp));
	return rig;
}

static void unmap(struct ct_mem *mem)
{
	if (mem->base != NULL)
		munmap(mem->base, mem->len);
}

void cu_rig_close(struct cu_rig *rig)
{
	expect_ok(dat_ia_close(rig->ia, DAT_CLOSE_ABRUPT_FLAG));
	unmap(&rig->a.mem);
	unmap(&rig->p.mem);
	for (unsigned int i = 0; i < rig->num_extra; i++)
		unmap(&rig->extra[i]);
	free(rig);
}

int cu_setup_ia(void **state)
{
	*state = cu_rig_open();
	return 0;
}

int cu_setup_ends(void **state)
{
	struct cu_rig *rig;

	cu_setup_ia(state);
	rig = *state;
	ct_end_open(&rig->a, rig->ia, NULL);
	ct_end_open(&rig->p, rig->ia, NULL);
	return 0;
}

int cu_setup_connected(void **state)
{
	struct cu_rig *rig;

	cu_setup_ends(state);
	rig = *state;
	cu_establish(rig, &rig->a, &rig->p);
	return 0;
}

int cu_teardown(void **state)
{
	peer_end_all();
	ct_waiters_free();
	if (*state != NULL)
		cu_rig_close(*state);
	*state = NULL;
	return 0;
}

/* ---- Events ------------------------------------------------------------ */

bool cu_next(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *event)
{
	uint64_t deadline = now_ms() + ms;
	uint64_t now = now_ms();
	DAT_COUNT more;
	DAT_RETURN rc;

	memset(event, 0, sizeof(*event));
	do {
		rc = dat_evd_wait(evd, now < deadline ? (DAT_TIMEOUT)(deadline - now) * 1000 : 0, 1,
				  event, &more);
		now = now_ms();
	} while (DAT_GET_TYPE(rc) == DAT_INTERRUPTED_CALL);
	if (DAT_GET_TYPE(rc) == DAT_TIMEOUT_EXPIRED)
		return false;
	expect_ok(rc);
	assert_ptr_equal(event->evd_handle, evd);
	/* What is found at the end of a long wait only did not wake the waiter (EVD-46). */
	if (ms >= CT_MS && now >= deadline)
		fail_msg("%s came without a wake-up", cu_event_name(event->event_number));
	return true;
}

void cu_poll(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	uint64_t deadline = now_ms() + CT_MS;
	DAT_RETURN rc;

	while ((rc = dat_evd_dequeue(evd, event)) == DAT_QUEUE_EMPTY) {
		if (now_ms() > deadline)
			fail_msg("no event");
	}
	expect_ok(rc);
}

void cu_quiet(DAT_EVD_HANDLE evd, unsigned int ms)
{
	DAT_EVENT event;

	if (cu_next(evd, ms, &event))
		fail_msg("unexpected %s (0x%x)", cu_event_name(event.event_number),
			 event.event_number);
}

/* ---- Connections ------------------------------------------------------- */

DAT_CONN_QUAL cu_free_qual(struct cu_rig *rig)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	expect_ok(dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(dat_psp_free(psp));
	return qual;
}

struct sockaddr_storage cu_service(const struct cu_rig *rig, DAT_CONN_QUAL port)
{
	struct sockaddr_storage addr = { 0 };

	if (rig->attr.ia_address_ptr->sa_family == AF_INET6) {
		memcpy(&addr, rig->attr.ia_address_ptr, sizeof(struct sockaddr_in6));
		((struct sockaddr_in6 *)&addr)->sin6_port = htons((uint16_t)port);
	} else {
		memcpy(&addr, rig->attr.ia_address_ptr, sizeof(struct sockaddr_in));
		((struct sockaddr_in *)&addr)->sin_port = htons((uint16_t)port);
	}
	return addr;
}

DAT_RETURN cu_connect(struct ct_end *end, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	DAT_IA_ATTR attr;

	expect_ok(dat_ia_query(end->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	return dat_ep_connect(end->ep, attr.ia_address_ptr, qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_RETURN cu_connect_to(struct ct_end *end, const struct cu_rig *to, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(end->ep, to->attr.ia_address_ptr, to->qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE cu_take_cr(DAT_EVD_HANDLE cr)
{
	DAT_EVENT event;

	if (!cu_next(cr, CT_MS, &event))
		fail_msg("no connection request arrived");
	assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	assert_non_null(event.event_data.cr_arrival_event_data.cr_handle);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

void cu_conn_event(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_EVENT own;

	if (event == NULL)
		event = &own;
	if (!cu_next(evd, CT_MS, event))
		fail_msg("no event instead of %s", cu_event_name(number));
	if (event->event_number != number)
		fail_msg("%s (0x%x) instead of %s", cu_event_name(event->event_number),
			 event->event_number, cu_event_name(number));
	assert_ptr_equal(event->event_data.connect_event_data.ep_handle, ep);
}

DAT_EVENT_NUMBER cu_conn_ended(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	if (!cu_next(evd, CT_MS, &event))
		fail_msg("no event instead of DISCONNECTED or BROKEN");
	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
	    event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		fail_msg("%s (0x%x) instead of DISCONNECTED or BROKEN",
			 cu_event_name(event.event_number), event.event_number);
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, ep);
	STATE(ep, DISCONNECTED);
	return event.event_number;
}

DAT_CR_HANDLE cu_request(struct cu_rig *rig, struct ct_end *a)
{
	expect_ok(cu_connect_to(a, rig, DAT_TIMEOUT_INFINITE));
	return cu_take_cr(rig->cr);
}

static bool delivered_in(struct cu_rig *rig, struct ct_end *a, DAT_TIMEOUT timeout,
			 DAT_CR_HANDLE *cr)
{
	DAT_EVENT event;

	expect_ok(cu_connect_to(a, rig, timeout));
	if (cu_next(rig->cr, timeout / 1000 + 1000, &event)) {
		assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
		*cr = event.event_data.cr_arrival_event_data.cr_handle;
		return true;
	}
	cu_conn_event(a->connect, a->ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
	expect_ok(dat_ep_reset(a->ep));
	return false;
}

DAT_CR_HANDLE cu_request_in(struct cu_rig *rig, struct ct_end *a, DAT_TIMEOUT *timeout,
			    uint64_t *begun)
{
	DAT_CR_HANDLE cr = NULL;

	*begun = ct_now_us();
	while (!delivered_in(rig, a, *timeout, &cr)) {
		*timeout *= 2;
		assert_true(*timeout < CT_US);
		*begun = ct_now_us();
	}
	return cr;
}

void cu_establish(struct cu_rig *rig, struct ct_end *a, struct ct_end *p)
{
	DAT_CR_HANDLE cr = cu_request(rig, a);

	expect_ok(dat_cr_accept(cr, p->ep, 0, NULL));
	cu_conn_event(p->connect, p->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(a->connect, a->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	STATE(a->ep, CONNECTED);
	STATE(p->ep, CONNECTED);
}

void cu_end_connection(struct ct_end *a, struct ct_end *p)
{
	expect_ok(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(a->connect, a->ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_conn_event(p->connect, p->ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(a->ep, DISCONNECTED);
	STATE(p->ep, DISCONNECTED);
}

/* ---- Transfers --------------------------------------------------------- */

DAT_DTO_COOKIE cu_cookie(uint64_t value)
{
	DAT_DTO_COOKIE cookie = { .as_64 = value };

	return cookie;
}

DAT_RETURN cu_recv(struct ct_end *end, size_t off, size_t len, uint64_t cookie)
{
	return ct_post_recv(end, off, len, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN cu_write(struct ct_end *end, size_t off, size_t len, uint64_t cookie,
		    const struct ct_mem *to, size_t to_off, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = ct_segment(&end->mem, off, len);
	DAT_RMR_TRIPLET target = ct_target(to, to_off, len);

	return dat_ep_post_rdma_write(end->ep, 1, &seg, cu_cookie(cookie), &target, flags);
}

DAT_RETURN cu_read(struct ct_end *end, size_t off, size_t len, uint64_t cookie,
		   const struct ct_mem *from, size_t from_off, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = ct_segment(&end->mem, off, len);
	DAT_RMR_TRIPLET target = ct_target(from, from_off, len);

	return dat_ep_post_rdma_read(end->ep, 1, &seg, cu_cookie(cookie), &target, flags);
}

DAT_DTO_COMPLETION_EVENT_DATA cu_completion(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (!cu_next(evd, CT_MS, &event))
		fail_msg("no completion");
	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		fail_msg("%s (0x%x) instead of a completion", cu_event_name(event.event_number),
			 event.event_number);
	return event.event_data.dto_completion_event_data;
}

void cu_check_done(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
		   DAT_DTO_COMPLETION_STATUS status, DAT_DTOS op, size_t len, const char *file,
		   int line)
{
	DAT_DTO_COMPLETION_EVENT_DATA done = cu_completion(evd);
	DAT_DTOS was = ct_operation(&done, op);

	if (done.ep_handle == ep && done.user_cookie.as_64 == cookie && done.status == status &&
	    was == op && (status != DAT_DTO_SUCCESS || done.transfered_length == len))
		return;
	print_error("completion: EP %p cookie 0x%llx status %d operation %d length %llu\n"
		    "      wanted EP %p cookie 0x%llx status %d operation %d length %zu\n",
		    done.ep_handle, (unsigned long long)done.user_cookie.as_64, (int)done.status,
		    (int)was, (unsigned long long)done.transfered_length, ep,
		    (unsigned long long)cookie, (int)status, (int)op, len);
	_fail(file, line);
}

/* ---- The process ------------------------------------------------------- */

unsigned int cu_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* Memory that a device's driver maps: the queues of the device. */
static bool of_a_device(const char *mapped)
{
	return strncmp(mapped, "/dev/", 5) == 0 && strncmp(mapped, "/dev/shm/", 9) != 0 &&
	       strcmp(mapped, "/dev/zero") != 0;
}

size_t cu_memory_kib(int pid, size_t *device)
{
	char path[64], line[512], mapped[256] = "";
	size_t sum = 0, kib;
	unsigned long from, to;
	FILE *f;

	*device = 0;
	if (pid == 0)
		snprintf(path, sizeof(path), "/proc/self/smaps");
	else
		snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "Private_Dirty: %zu", &kib) == 1)
			*(of_a_device(mapped) ? device : &sum) += kib;
		else if (sscanf(line, "Private_Clean: %zu", &kib) == 1)
			*device += of_a_device(mapped) ? kib : 0;
		else if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %255s", &from, &to, mapped) == 2)
			mapped[0] = '\0'; /* anonymous */
	}
	fclose(f);
	return sum;
}

size_t cu_private_kib(int pid)
{
	size_t device;

	return cu_memory_kib(pid, &device);
}
