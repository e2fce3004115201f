/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/exec.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>

#include "test/model/scribble.h"

enum {
	DEFAULT_LINGER_MS = 2000,
	MAX_READS = 16,
};

struct exec {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE buffers, cells;
	DAT_LMR_CONTEXT buffer_key;
	DAT_CNO_HANDLE cno;
	struct sockaddr_storage address;
	uint8_t *arena;
	DAT_EVD_HANDLE evd[MAX_EVDS + 1]; /* the last is the asynchronous one */
	DAT_EP_HANDLE ep[MAX_EPS];
	DAT_PSP_HANDLE sp[MAX_SPS];
	DAT_SRQ_HANDLE srq[MAX_SRQS];
	DAT_RMR_HANDLE rmr[MAX_RMRS];
	_Atomic(DAT_CR_HANDLE) request[MAX_REQUESTS];
	struct scribbler *scribbler;
	bool threaded;
	int reads; /* and atomics under way, at most */
};

/* ---- Events ---- */

static void take_request(struct exec *exec, const DAT_EVENT *event, struct seen *seen)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;
	DAT_CR_PARAM param;
	uint32_t size;

	seen->handle = (uintptr_t)data->sp_handle.psp_handle;
	seen->cookie = data->conn_qual;
	seen->status = dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, &param);
	if (seen->status != DAT_SUCCESS)
		return;
	seen->key = data->truncate_flag;
	size = (uint32_t)param.private_data_size;
	seen->private_size = size;
	memcpy(seen->private_data, param.private_data, size < PRIVATE_BYTES ? size : PRIVATE_BYTES);
	memcpy(&seen->request, seen->private_data, sizeof(seen->request));
	atomic_store(&exec->request[seen->request % MAX_REQUESTS], data->cr_handle);
	seen->length = param.local_ep_handle != DAT_HANDLE_NULL;
}

static void take_dto(const DAT_EVENT *event, struct seen *seen)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	const DAT_IB_EXTENSION_EVENT_DATA *ext = (const void *)event->event_extension_data;

	seen->handle = (uintptr_t)data->ep_handle;
	seen->cookie = data->user_cookie.as_64;
	seen->status = data->status;
	seen->length = data->transfered_length;
	seen->operation = data->operation;
	seen->key = data->rmr_context;
	if ((uint32_t)event->event_number == (uint32_t)DAT_IB_DTO_EVENT &&
	    ext->type == DAT_IB_RDMA_WRITE_IMMED_DATA)
		seen->key = ext->val.immed.data;
}

/* Private data live until the endpoint is freed or reset (EVT-22). */
static void take_private(struct exec *exec, const DAT_CONNECTION_EVENT_DATA *data,
			 struct seen *seen)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;
	uint32_t size = (uint32_t)data->private_data_size;

	seen->handle = (uintptr_t)data->ep_handle;
	seen->unread = exec->threaded;
	if (exec->threaded)
		return;
	for (int i = 0; i < MAX_EPS; i++)
		if (exec->ep[i] && exec->ep[i] == data->ep_handle)
			dat_ep_get_status(exec->ep[i], &state, NULL, NULL);
	if (state == DAT_EP_STATE_UNCONNECTED)
		return;
	seen->private_size = size;
	if (size)
		memcpy(seen->private_data, data->private_data,
		       size < PRIVATE_BYTES ? size : PRIVATE_BYTES);
}

static DAT_RETURN ep_free(DAT_EP_HANDLE *ep)
{
	DAT_RETURN rc = dat_ep_free(*ep);

	if (rc == DAT_SUCCESS)
		*ep = DAT_HANDLE_NULL;
	return rc;
}

static void take(struct exec *exec, unsigned int evd, const DAT_EVENT *event, struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	seen->number = event->event_number;
	seen->evd = evd;
	seen->evd_right = event->evd_handle == exec->evd[evd];
	if (seen->number == DAT_DTO_COMPLETION_EVENT ||
	    seen->number == (uint32_t)DAT_IB_DTO_EVENT) {
		take_dto(event, seen);
	} else if (seen->number == DAT_RMR_BIND_COMPLETION_EVENT) {
		seen->handle = (uintptr_t)event->event_data.rmr_completion_event_data.rmr_handle;
		seen->cookie = event->event_data.rmr_completion_event_data.user_cookie.as_64;
		seen->status = event->event_data.rmr_completion_event_data.status;
	} else if (seen->number == DAT_CONNECTION_REQUEST_EVENT) {
		take_request(exec, event, seen);
	} else if (seen->number == DAT_SOFTWARE_EVENT) {
		seen->cookie = (uintptr_t)event->event_data.software_event_data.pointer;
	} else if (seen->number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
		   seen->number <= DAT_CONNECTION_EVENT_UNREACHABLE) {
		take_private(exec, &event->event_data.connect_event_data, seen);
	} else {
		seen->handle = (uintptr_t)event->event_data.asynch_error_event_data.dat_handle;
		seen->status = (uint32_t)event->event_data.asynch_error_event_data.reason;
	}
}

static void poll_evd(struct exec *exec, const struct step *step, struct result *result)
{
	unsigned int evd = (unsigned int)step->arg[0];
	DAT_EVENT event;

	result->rc = DAT_SUCCESS;
	while (result->seen_count < (uint32_t)step->arg[1] && result->seen_count < MAX_SEEN) {
		result->rc = dat_evd_dequeue(exec->evd[evd], &event);
		if (result->rc != DAT_SUCCESS)
			break;
		take(exec, evd, &event, &result->seen[result->seen_count++]);
	}
	result->empty = result->rc == DAT_QUEUE_EMPTY;
}

static void wait_evd(struct exec *exec, const struct step *step, struct result *result)
{
	DAT_COUNT more = -1;
	DAT_EVENT event;

	result->rc = dat_evd_wait(exec->evd[step->arg[0]], (DAT_TIMEOUT)step->arg[2], step->arg[1],
				  &event, &more);
	result->value[0] = (uint64_t)(int64_t)more;
	if (result->rc == DAT_SUCCESS) {
		take(exec, (unsigned int)step->arg[0], &event, result->seen);
		result->seen_count = 1;
	}
}

/* Whose event triggered: its number, or one that none has. */
static void wait_cno(struct exec *exec, const struct step *step, struct result *result)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	result->rc = dat_cno_wait(exec->cno, (DAT_TIMEOUT)step->arg[1], &evd);
	for (result->value[0] = 0; result->value[0] < MAX_EVDS; result->value[0]++)
		if (evd && exec->evd[result->value[0]] == evd)
			break;
}

static DAT_RETURN call_evd(struct exec *exec, const struct call *call, struct result *result)
{
	DAT_EVD_HANDLE *evd = &exec->evd[call->step.arg[0]];
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_PARAM param = { 0 };
	DAT_RETURN rc;

	switch (call->step.op) {
	case STEP_EVD_CREATE:
		rc = dat_evd_create(exec->ia, call->step.arg[1],
				    call->step.arg[2] ? exec->cno : DAT_HANDLE_NULL,
				    DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG |
					    DAT_EVD_CONNECTION_FLAG | DAT_EVD_RMR_BIND_FLAG,
				    evd);
		break;
	case STEP_EVD_FREE:
		return dat_evd_free(*evd);
	case STEP_EVD_RESIZE:
		rc = dat_evd_resize(*evd, call->step.arg[1]);
		break;
	case STEP_POST_SE:
		event.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)call->cookie;
		return dat_evd_post_se(*evd, &event);
	default:
		rc = DAT_SUCCESS;
		break;
	}
	if (rc == DAT_SUCCESS)
		rc = dat_evd_query(*evd, DAT_EVD_FIELD_ALL, &param);
	result->value[0] = (uint64_t)param.evd_qlen;
	result->value[1] = param.evd_state;
	return rc;
}

/* ---- Connections ---- */

static DAT_RETURN ep_create(struct exec *exec, const struct step *step, struct result *result)
{
	DAT_EP_HANDLE *ep = &exec->ep[step->arg[0]];
	int depth = step->arg[4];
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = depth,
		.max_request_dtos = depth,
		.max_recv_iov = MAX_SEGMENTS,
		.max_request_iov = MAX_SEGMENTS,
		.max_rdma_read_in = depth < exec->reads ? depth : exec->reads,
		.max_rdma_read_out = depth < exec->reads ? depth : exec->reads,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EP_PARAM param = { 0 };
	DAT_RETURN rc;

	if (step->arg[5])
		rc = dat_ep_create_with_srq(exec->ia, exec->pz, exec->evd[step->arg[1]],
					    exec->evd[step->arg[2]], exec->evd[step->arg[3]],
					    exec->srq[step->arg[5] - 1], &attr, ep);
	else
		rc = dat_ep_create(exec->ia, exec->pz, exec->evd[step->arg[1]],
				   exec->evd[step->arg[2]], exec->evd[step->arg[3]], &attr, ep);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_query(*ep, DAT_EP_FIELD_ALL, &param);
	result->value[0] = (uintptr_t)*ep;
	result->value[1] = (uint64_t)param.ep_attr.max_recv_dtos;
	result->value[2] = (uint64_t)param.ep_attr.max_request_dtos;
	return rc;
}

static DAT_RETURN ep_query(DAT_EP_HANDLE ep, struct result *result)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_EP_PARAM param = { 0 };
	DAT_RETURN rc = dat_ep_get_status(ep, &state, &recv_idle, &request_idle);

	result->value[0] = state;
	result->value[1] = recv_idle;
	result->value[2] = request_idle;
	if (rc == DAT_SUCCESS)
		rc = dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);
	result->value[3] = param.ep_state;
	return rc;
}

static DAT_RETURN call_connection(struct exec *exec, const struct call *call, struct result *result)
{
	DAT_CR_HANDLE request = atomic_load(&exec->request[call->request % MAX_REQUESTS]);
	const struct step *step = &call->step;
	void *data = (void *)call->private_data;
	DAT_COUNT size = (DAT_COUNT)call->private_size;
	DAT_CONN_QUAL qual = 0;
	DAT_RETURN rc;

	switch (step->op) {
	case STEP_SP_CREATE:
		rc = dat_psp_create_any(exec->ia, &qual, exec->evd[step->arg[1]],
					DAT_PSP_CONSUMER_FLAG, &exec->sp[step->arg[0]]);
		result->value[0] = (uintptr_t)exec->sp[step->arg[0]];
		result->value[1] = qual;
		return rc;
	case STEP_SP_FREE:
		return dat_psp_free(exec->sp[step->arg[0]]);
	case STEP_CONNECT:
		return dat_ep_connect(
			exec->ep[step->arg[0]], (DAT_IA_ADDRESS_PTR)&exec->address, call->qual,
			step->arg[2] ? (DAT_TIMEOUT)step->arg[2] * 1000 : DAT_TIMEOUT_INFINITE,
			size, data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	case STEP_ACCEPT:
		return dat_cr_accept(request, exec->ep[step->arg[1]], size, data);
	case STEP_REJECT:
		return dat_cr_reject(request, size, data);
	case STEP_HANDOFF:
		return dat_cr_handoff(request, call->qual);
	default:
		return dat_ep_disconnect(exec->ep[step->arg[0]], step->arg[1]
									 ? DAT_CLOSE_GRACEFUL_FLAG
									 : DAT_CLOSE_ABRUPT_FLAG);
	}
}

/* ---- Transfers ---- */

/* Cuts bytes into segments; which is decided by the cookie. */
static void cut(const struct exec *exec, const struct call *call, uint64_t cookie, uint64_t at,
		DAT_LMR_TRIPLET *segment)
{
	uint32_t left = call->length, part;

	for (uint32_t i = 0; i < call->segments; i++) {
		part = i + 1 == call->segments ? left : left / (1 + (uint32_t)(cookie >> i) % 5);
		segment[i] = (DAT_LMR_TRIPLET){ at, part, exec->buffer_key };
		at += part;
		left -= part;
	}
}

static DAT_RETURN post(struct exec *exec, const struct call *call, uint64_t number)
{
	DAT_EP_HANDLE ep =
		call->step.op == STEP_SRQ_RECV ? DAT_HANDLE_NULL : exec->ep[call->step.arg[0]];
	DAT_DTO_COOKIE cookie = { .as_64 = call->cookie + number };
	DAT_RMR_TRIPLET remote = { call->remote_at, call->length, call->remote_key };
	DAT_COMPLETION_FLAGS flags = call->flags & 0xffff;
	DAT_LMR_TRIPLET local[MAX_SEGMENTS];
	DAT_COUNT count = (DAT_COUNT)call->segments;

	cut(exec, call, cookie.as_64, call->at + number * call->length, local);
	switch (call->step.op) {
	case STEP_RECV:
		return dat_ep_post_recv(ep, count, local, cookie, flags);
	case STEP_SRQ_RECV:
		return dat_srq_post_recv(exec->srq[call->step.arg[0]], count, local, cookie);
	case STEP_SEND:
		return dat_ep_post_send(ep, count, local, cookie, flags);
	case STEP_SEND_INVALIDATE:
		return dat_ep_post_send_with_invalidate(ep, count, local, cookie, flags, DAT_TRUE,
							call->remote_key);
	case STEP_WRITE:
		return dat_ep_post_rdma_write(ep, count, local, cookie, &remote, flags);
	case STEP_READ:
		return dat_ep_post_rdma_read(ep, count, local, cookie, &remote, flags);
	case STEP_TRESPASS:
		return call->request ? dat_ep_post_rdma_read(ep, count, local, cookie, &remote, 0)
				     : dat_ep_post_rdma_write(ep, count, local, cookie, &remote, 0);
	case STEP_FETCH_ADD:
		return dat_ib_post_fetch_and_add(ep, (uint64_t)call->step.arg[2], local, cookie,
						 &remote, flags);
	default:
		return dat_ib_post_rdma_write_immed(ep, count, local, cookie, &remote,
						    (uint32_t)call->step.arg[4], flags);
	}
}

static void post_all(struct exec *exec, const struct call *call, struct result *result)
{
	for (uint32_t i = 0; i < call->repeat; i++) {
		result->rc = post(exec, call, i);
		if (result->rc != DAT_SUCCESS)
			break;
		result->done++;
	}
}

/* ---- Memory windows and shared queues ---- */

static DAT_RETURN call_rmr(struct exec *exec, const struct call *call, struct result *result)
{
	const struct step *step = &call->step;
	DAT_RMR_HANDLE *rmr = &exec->rmr[step->arg[0]];
	DAT_LMR_TRIPLET range = { call->at, call->length, 0 };
	DAT_MEM_PRIV_FLAGS rights = step->arg[4] == 1	? DAT_MEM_PRIV_REMOTE_READ_FLAG
				    : step->arg[4] == 2 ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG
							: DAT_MEM_PRIV_ALL_FLAG;
	DAT_RMR_CONTEXT key = 0;
	DAT_RETURN rc;

	switch (step->op) {
	case STEP_RMR_CREATE:
		rc = step->arg[1] ? dat_rmr_create_for_ep(exec->pz, rmr)
				  : dat_rmr_create(exec->pz, rmr);
		result->value[0] = (uintptr_t)*rmr;
		return rc;
	case STEP_RMR_FREE:
		return dat_rmr_free(*rmr);
	default:
		rc = dat_rmr_bind(*rmr, exec->cells, &range, rights, DAT_VA_TYPE_VA,
				  exec->ep[step->arg[2]], (DAT_RMR_COOKIE){ .as_64 = call->cookie },
				  call->flags, &key);
		result->value[0] = key;
		return rc;
	}
}

static DAT_RETURN call_srq(struct exec *exec, const struct step *step, struct result *result)
{
	DAT_SRQ_HANDLE *srq = &exec->srq[step->arg[0]];
	DAT_SRQ_ATTR attr = { .max_recv_dtos = step->arg[1], .max_recv_iov = MAX_SEGMENTS };
	DAT_SRQ_PARAM param = { 0 };
	DAT_RETURN rc = DAT_SUCCESS;

	switch (step->op) {
	case STEP_SRQ_CREATE:
		rc = dat_srq_create(exec->ia, exec->pz, &attr, srq);
		break;
	case STEP_SRQ_FREE:
		return dat_srq_free(*srq);
	case STEP_SRQ_RESIZE:
		rc = dat_srq_resize(*srq, step->arg[1]);
		break;
	default:
		break;
	}
	if (rc == DAT_SUCCESS)
		rc = dat_srq_query(*srq, DAT_SRQ_FIELD_ALL, &param);
	result->value[0] = (uint64_t)param.max_recv_dtos;
	result->value[1] = (uint64_t)(int64_t)param.available_dto_count;
	result->value[2] = (uint64_t)(int64_t)param.outstanding_dto_count;
	return rc;
}

void exec_call(struct exec *exec, const struct call *call, struct result *result)
{
	const struct step *step = &call->step;

	memset(result, 0, offsetof(struct result, seen));
	if (step->op == STEP_POLL)
		poll_evd(exec, step, result);
	else if (step->op == STEP_WAIT)
		wait_evd(exec, step, result);
	else if (step->op == STEP_CNO_WAIT)
		wait_cno(exec, step, result);
	else if (step->op <= STEP_POST_SE)
		result->rc = call_evd(exec, call, result);
	else if (step->op == STEP_SRQ_RECV)
		post_all(exec, call, result);
	else if (step->op >= STEP_SRQ_CREATE && step->op <= STEP_SRQ_QUERY)
		result->rc = call_srq(exec, step, result);
	else if (step->op == STEP_EP_CREATE)
		result->rc = ep_create(exec, step, result);
	else if (step->op == STEP_EP_FREE)
		result->rc = ep_free(&exec->ep[step->arg[0]]);
	else if (step->op == STEP_EP_RESET)
		result->rc = dat_ep_reset(exec->ep[step->arg[0]]);
	else if (step->op == STEP_EP_QUERY)
		result->rc = ep_query(exec->ep[step->arg[0]], result);
	else if (step->op <= STEP_DISCONNECT)
		result->rc = call_connection(exec, call, result);
	else if (step->op <= STEP_TRESPASS)
		post_all(exec, call, result);
	else if (step->op <= STEP_RMR_FREE)
		result->rc = call_rmr(exec, call, result);
	else if (step->op == STEP_SCRIBBLE)
		scribble_set(exec->scribbler, (unsigned int)step->arg[0], step->arg[1]);
}

/* ---- Opening and closing ---- */

static const char *named(const DAT_NAMED_ATTR *attr, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(attr[i].name, name))
			return attr[i].value;
	return "";
}

static bool named_true(const DAT_PROVIDER_ATTR *prov, const DAT_IA_ATTR *ia, const char *name)
{
	return !strcmp(named(prov->provider_specific_attr, prov->num_provider_specific_attr, name),
		       "TRUE") ||
	       !strcmp(named(ia->vendor_attr, ia->num_vendor_attr, name), "TRUE") ||
	       !strcmp(named(ia->transport_attr, ia->num_transport_attr, name), "TRUE");
}

static DAT_RETURN query(struct exec *exec, struct exec_facts *facts)
{
	DAT_PROVIDER_ATTR prov = { 0 };
	DAT_IA_ATTR ia = { 0 };
	const char *first = getenv("UDAPL_LOAD_RECEIVES"), *link = getenv("DAPL_SOFT_LINK");
	const char *linger = getenv("DAPL_SOFT_LINGER");
	DAT_EVD_HANDLE async;
	DAT_RETURN rc = dat_ia_query(exec->ia, &async, DAT_IA_FIELD_ALL, &ia,
				     DAT_PROVIDER_FIELD_ALL, &prov);
	bool v6;

	if (rc != DAT_SUCCESS)
		return rc;
	v6 = ((struct sockaddr *)ia.ia_address_ptr)->sa_family == AF_INET6;
	memcpy(&exec->address, ia.ia_address_ptr,
	       v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	facts->has_rmr = ia.max_rmrs > 0 ? 1U + (uint32_t)prov.rmr_scope_supported : 0;
	facts->has_srq = prov.srq_supported;
	facts->segments = (uint32_t)ia.max_iov_segments_per_dto;
	facts->read_segments = (uint32_t)ia.max_iov_segments_per_rdma_read;
	facts->write_segments = (uint32_t)ia.max_iov_segments_per_rdma_write;
	facts->has_atomic = named_true(&prov, &ia, DAT_IB_ATTR_FETCH_AND_ADD);
	facts->has_immediate = named_true(&prov, &ia, DAT_IB_ATTR_IMMED_DATA);
	/* An iWARP device breaks a connection whose message finds no Receive (DTO-90). */
	facts->receives_first = ia.extension_supported == DAT_EXTENSION_NONE &&
				prov.rdma_read_lmr_rmr_context_exposure;
	facts->fails_answers = facts->gives_up = facts->connecting_first = facts->receives_first;
	if (first && !strcmp(first, "first"))
		facts->receives_first = true;
	facts->ordered = !strcmp(ia.vendor_name, "software iWARP");
	facts->resets = facts->ordered && link && !strcmp(link, "tcp");
	facts->linger_ms = linger ? (uint32_t)atoi(linger) : DEFAULT_LINGER_MS;
	exec->reads =
		ia.max_rdma_read_per_ep_in < MAX_READS ? ia.max_rdma_read_per_ep_in : MAX_READS;
	return DAT_SUCCESS;
}

/* Whether an adapter makes a queue longer shows only when it is tried. */
static uint32_t resizes_srqs(struct exec *exec)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq;
	uint32_t resizes;

	if (dat_srq_create(exec->ia, exec->pz, &attr, &srq) != DAT_SUCCESS)
		return 0;
	resizes = dat_srq_resize(srq, 16) == DAT_SUCCESS;
	dat_srq_free(srq);
	return resizes;
}

static DAT_RETURN open_memory(struct exec *exec, struct exec_facts *facts)
{
	DAT_REGION_DESCRIPTION buffers = { .for_va = exec->arena };
	DAT_REGION_DESCRIPTION cells = { .for_va = exec->arena + BUFFER_BYTES };
	DAT_RMR_CONTEXT key;
	DAT_RETURN rc;

	rc = dat_lmr_create(exec->ia, DAT_MEM_TYPE_VIRTUAL, buffers, BUFFER_BYTES, exec->pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &exec->buffers,
			    &exec->buffer_key, &key, NULL, NULL);
	if (rc != DAT_SUCCESS)
		return rc;
	facts->buffer_key = exec->buffer_key;
	rc = dat_lmr_create(exec->ia, DAT_MEM_TYPE_VIRTUAL, cells, CELLS * CELL_BYTES, exec->pz,
			    DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC, DAT_VA_TYPE_VA,
			    &exec->cells, NULL, &key, NULL, NULL);
	if (rc != DAT_SUCCESS) /* without the extension */
		rc = dat_lmr_create(exec->ia, DAT_MEM_TYPE_VIRTUAL, cells, CELLS * CELL_BYTES,
				    exec->pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &exec->cells,
				    NULL, &key, NULL, NULL);
	facts->cell_key = key;
	return rc;
}

struct exec *exec_open(const char *ia_name, uint8_t *arena, bool threaded, struct exec_facts *facts)
{
	struct exec *exec = calloc(1, sizeof(*exec));
	DAT_RETURN rc;

	exec->arena = arena;
	exec->threaded = threaded;
	rc = dat_ia_open((DAT_NAME_PTR)ia_name, 64, &exec->async, &exec->ia);
	if (rc != DAT_SUCCESS) {
		fprintf(stderr, "%s: dat_ia_open: 0x%x\n", ia_name, rc);
		free(exec);
		return NULL;
	}
	exec->evd[MAX_EVDS] = exec->async;
	rc = query(exec, facts);
	if (rc == DAT_SUCCESS)
		rc = dat_pz_create(exec->ia, &exec->pz);
	if (rc == DAT_SUCCESS)
		rc = open_memory(exec, facts);
	if (rc == DAT_SUCCESS && facts->has_srq)
		facts->resizes_srqs = resizes_srqs(exec);
	if (rc == DAT_SUCCESS)
		rc = dat_cno_create(exec->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &exec->cno);
	if (rc != DAT_SUCCESS) {
		fprintf(stderr, "%s: 0x%x\n", ia_name, rc);
		free(exec);
		return NULL;
	}
	exec->scribbler = scribble_start(arena + BUFFER_BYTES);
	return exec;
}

uint32_t exec_close(struct exec *exec)
{
	DAT_RETURN rc;

	scribble_stop(exec->scribbler);
	rc = dat_lmr_free(exec->buffers);
	if (rc == DAT_SUCCESS)
		rc = dat_lmr_free(exec->cells);
	if (rc == DAT_SUCCESS)
		rc = dat_pz_free(exec->pz);
	if (rc == DAT_SUCCESS)
		rc = dat_cno_free(exec->cno);
	if (rc == DAT_SUCCESS)
		rc = dat_ia_close(exec->ia, DAT_CLOSE_GRACEFUL_FLAG);
	free(exec);
	return rc;
}
