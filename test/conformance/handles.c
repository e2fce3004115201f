/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every call with every handle wrong: null, misaligned, unmapped, ordinary memory, a forgery, a
 * small number, freed, of another type. The documented code (GEN-20, GEN-21, EVD-5), never a crash,
 * and nothing changed (GEN-8).
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum kind {
	IA,
	PZ,
	LMR,
	RMR,
	CNO,
	EVD,
	EP,
	PSP,
	RSP,
	CSP,
	CR,
	SRQ,
	ANY
};

enum {
	FIRST = 1,    /* the handle the call is dispatched by */
	NULL_OK = 2,  /* no object is a legal value */
	OPTIONAL = 4, /* the call may be unsupported */
};

struct call {
	const char *name;
	enum kind kind;
	DAT_RETURN type, subtype;
	int flags;
	DAT_RETURN (*make)(struct world *w, DAT_HANDLE h);
};

/* Where calls leave what they make, if they make it. */
static DAT_HANDLE made;
static DAT_CONN_QUAL picked;
static DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
static DAT_COUNT more;
static DAT_EVD_HANDLE hint;
static DAT_EP_STATE state_now;
static DAT_EP_PARAM ep_param;
static DAT_RMR_CONTEXT rmr_context;
static DAT_LMR_TRIPLET segment;
static DAT_RMR_TRIPLET target;
static DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
static const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
static const DAT_CONTEXT context = { .as_64 = 1 };
static DAT_CONTEXT got;
static DAT_HANDLE_TYPE type_now;

#define ADDRESS w->ia.attr.ia_address_ptr
#define ATTR	(&w->attr)
#define NONE	DAT_HANDLE_NULL
#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

static DAT_RETURN create_lmr(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_PVOID what, DAT_PZ_HANDLE pz)
{
	DAT_REGION_DESCRIPTION desc;

	memset(&desc, 0, sizeof(desc));
	desc.for_va = what;
	return dat_lmr_create(ia, type, desc, 4096, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			      &made, NULL, NULL, NULL, NULL);
}

static DAT_RETURN modify_ep(struct world *w, DAT_EP_PARAM_MASK mask, DAT_HANDLE h)
{
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	param.pz_handle = h;
	param.recv_evd_handle = param.request_evd_handle = param.connect_evd_handle = h;
	return dat_ep_modify(w->ep, mask, &param);
}

static DAT_RETURN open_with(DAT_HANDLE h)
{
	DAT_EVD_HANDLE async = h;

	return dat_ia_open(harness_ia_name(), 8, &async, &made);
}

/* A function for each call; its name is the table's. */
#define DEFINE(id, kind, flags, call)                       \
	static DAT_RETURN id(struct world *w, DAT_HANDLE h) \
	{                                                   \
		(void)w;                                    \
		return call;                                \
	}
#define DEFINE_AS(id, kind, type, subtype, flags, call) DEFINE(id, kind, flags, call)

#define BY_KIND(C, A)                                                                             \
	C(ia_close, IA, FIRST, dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG))                            \
	C(ia_query, IA, FIRST, dat_ia_query(h, NULL, 0, NULL, 0, NULL))                           \
	C(cno_create, IA, FIRST, dat_cno_create(h, DAT_OS_WAIT_PROXY_AGENT_NULL, &made))          \
	C(evd_create, IA, FIRST, dat_evd_create(h, 4, NONE, DAT_EVD_SOFTWARE_FLAG, &made))        \
	C(ep_create, IA, FIRST, dat_ep_create(h, w->pz, w->dto, w->dto, w->connect, NULL, &made)) \
	C(lmr_create, IA, FIRST, create_lmr(h, DAT_MEM_TYPE_VIRTUAL, w->mem.base, w->pz))         \
	C(lmr_sync_read, IA, FIRST, dat_lmr_sync_rdma_read(h, &segment, 0))                       \
	C(lmr_sync_write, IA, FIRST, dat_lmr_sync_rdma_write(h, &segment, 0))                     \
	C(psp_create, IA, FIRST,                                                                  \
	  dat_psp_create(h, 40123, w->requests, DAT_PSP_CONSUMER_FLAG, &made))                    \
	C(psp_create_any, IA, FIRST,                                                              \
	  dat_psp_create_any(h, &picked, w->requests, DAT_PSP_CONSUMER_FLAG, &made))              \
	C(rsp_create, IA, FIRST, dat_rsp_create(h, 40124, w->ep, w->requests, &made))             \
	C(pz_create, IA, FIRST, dat_pz_create(h, &made))                                          \
	C(srq_create, IA, FIRST | OPTIONAL, dat_srq_create(h, w->pz, &srq_attr, &made))           \
	C(ep_create_with_srq, IA, FIRST | OPTIONAL,                                               \
	  dat_ep_create_with_srq(h, w->pz, w->dto, w->dto, w->connect, w->ep, ATTR, &made))       \
	C(pz_query, PZ, FIRST, dat_pz_query(h, (DAT_PZ_PARAM_MASK)0, NULL))                       \
	C(pz_free, PZ, FIRST, dat_pz_free(h))                                                     \
	C(rmr_create, PZ, FIRST | OPTIONAL, dat_rmr_create(h, &made))                             \
	C(lmr_create_pz, PZ, 0, create_lmr(w->ia.ia, DAT_MEM_TYPE_VIRTUAL, w->mem.base, h))       \
	C(ep_create_pz, PZ, NULL_OK,                                                              \
	  dat_ep_create(w->ia.ia, h, w->dto, w->dto, w->connect, NULL, &made))                    \
	C(srq_create_pz, PZ, OPTIONAL, dat_srq_create(w->ia.ia, h, &srq_attr, &made))             \
	C(evd_query, EVD, FIRST, dat_evd_query(h, (DAT_EVD_PARAM_MASK)0, NULL))                   \
	C(evd_modify_cno, EVD, FIRST, dat_evd_modify_cno(h, w->cno))                              \
	C(evd_enable, EVD, FIRST, dat_evd_enable(h))                                              \
	C(evd_disable, EVD, FIRST, dat_evd_disable(h))                                            \
	C(evd_wait, EVD, FIRST, dat_evd_wait(h, 0, 1, &event, &more))                             \
	C(evd_resize, EVD, FIRST, dat_evd_resize(h, 32))                                          \
	C(evd_post_se, EVD, FIRST, dat_evd_post_se(h, &event))                                    \
	C(evd_dequeue, EVD, FIRST, dat_evd_dequeue(h, &event))                                    \
	C(evd_set_unwaitable, EVD, FIRST, dat_evd_set_unwaitable(h))                              \
	C(evd_clear_unwaitable, EVD, FIRST, dat_evd_clear_unwaitable(h))                          \
	C(evd_free, EVD, FIRST, dat_evd_free(h))                                                  \
	A(ep_create_recv, EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV, NULL_OK,          \
	  dat_ep_create(w->ia.ia, w->pz, h, w->dto, w->connect, NULL, &made))                     \
	A(ep_create_request, EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST, NULL_OK,    \
	  dat_ep_create(w->ia.ia, w->pz, w->dto, h, w->connect, NULL, &made))                     \
	A(ep_create_connect, EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN, NULL_OK,       \
	  dat_ep_create(w->ia.ia, w->pz, w->dto, w->dto, h, NULL, &made))                         \
	A(psp_create_evd, EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR, 0,                  \
	  dat_psp_create(w->ia.ia, 40125, h, DAT_PSP_CONSUMER_FLAG, &made))                       \
	A(psp_create_any_evd, EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR, 0,              \
	  dat_psp_create_any(w->ia.ia, &picked, h, DAT_PSP_CONSUMER_FLAG, &made))                 \
	A(rsp_create_evd, EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR, 0,                  \
	  dat_rsp_create(w->ia.ia, 40126, w->ep, h, &made))                                       \
	A(ia_open_async, EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC, NULL_OK,          \
	  open_with(h))                                                                           \
	C(cno_modify_agent, CNO, FIRST, dat_cno_modify_agent(h, DAT_OS_WAIT_PROXY_AGENT_NULL))    \
	C(cno_query, CNO, FIRST, dat_cno_query(h, (DAT_CNO_PARAM_MASK)0, NULL))                   \
	C(cno_wait, CNO, FIRST, dat_cno_wait(h, 0, &hint))                                        \
	C(cno_free, CNO, FIRST, dat_cno_free(h))                                                  \
	C(evd_create_cno, CNO, NULL_OK,                                                           \
	  dat_evd_create(w->ia.ia, 4, h, DAT_EVD_SOFTWARE_FLAG, &made))                           \
	C(evd_modify_cno_cno, CNO, NULL_OK, dat_evd_modify_cno(w->soft, h))                       \
	C(lmr_query, LMR, FIRST, dat_lmr_query(h, (DAT_LMR_PARAM_MASK)0, NULL))                   \
	C(lmr_free, LMR, FIRST, dat_lmr_free(h))                                                  \
	C(lmr_create_lmr, LMR, 0, create_lmr(w->ia.ia, DAT_MEM_TYPE_LMR, h, w->pz))               \
	C(rmr_query, RMR, FIRST | OPTIONAL, dat_rmr_query(h, (DAT_RMR_PARAM_MASK)0, NULL))        \
	C(rmr_bind, RMR, FIRST | OPTIONAL,                                                        \
	  dat_rmr_bind(h, w->mem.lmr, &segment, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, w->a.ep,   \
		       cookie, DEFAULT, &rmr_context))                                            \
	C(rmr_free, RMR, FIRST | OPTIONAL, dat_rmr_free(h))                                       \
	C(psp_query, PSP, FIRST, dat_psp_query(h, (DAT_PSP_PARAM_MASK)0, NULL))                   \
	C(psp_free, PSP, FIRST, dat_psp_free(h))                                                  \
	C(rsp_query, RSP, FIRST, dat_rsp_query(h, (DAT_RSP_PARAM_MASK)0, NULL))                   \
	C(rsp_free, RSP, FIRST, dat_rsp_free(h))                                                  \
	C(cr_query, CR, FIRST, dat_cr_query(h, (DAT_CR_PARAM_MASK)0, NULL))                       \
	C(cr_accept, CR, FIRST, dat_cr_accept(h, w->ep, 0, NULL))                                 \
	C(cr_reject, CR, FIRST, dat_cr_reject(h, 0, NULL))                                        \
	C(cr_handoff, CR, FIRST | OPTIONAL, dat_cr_handoff(h, w->qual))                           \
	C(srq_free, SRQ, FIRST | OPTIONAL, dat_srq_free(h))                                       \
	C(srq_post_recv, SRQ, FIRST | OPTIONAL, dat_srq_post_recv(h, 1, &segment, cookie))        \
	C(srq_query, SRQ, FIRST | OPTIONAL, dat_srq_query(h, (DAT_SRQ_PARAM_MASK)0, NULL))        \
	C(srq_resize, SRQ, FIRST | OPTIONAL, dat_srq_resize(h, 8))                                \
	C(srq_set_lw, SRQ, FIRST | OPTIONAL, dat_srq_set_lw(h, 1))                                \
	C(ep_create_with_srq_srq, SRQ, OPTIONAL,                                                  \
	  dat_ep_create_with_srq(w->ia.ia, w->pz, w->dto, w->dto, w->connect, h, ATTR, &made))

#define BY_ENDPOINT(C, A)                                                                     \
	C(ep_query, EP, FIRST, dat_ep_query(h, 0, NULL))                                      \
	C(ep_modify, EP, FIRST, dat_ep_modify(h, 0, &ep_param))                               \
	C(ep_connect, EP, FIRST,                                                              \
	  dat_ep_connect(h, ADDRESS, w->qual, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT,            \
			 DAT_CONNECT_DEFAULT_FLAG))                                           \
	C(ep_dup_connect, EP, FIRST | OPTIONAL,                                               \
	  dat_ep_dup_connect(h, w->a.ep, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT))                \
	C(ep_dup_connect_dup, EP, OPTIONAL,                                                   \
	  dat_ep_dup_connect(w->ep, h, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT))                  \
	C(ep_disconnect, EP, FIRST, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG))              \
	C(ep_get_status, EP, FIRST, dat_ep_get_status(h, &state_now, NULL, NULL))             \
	C(ep_reset, EP, FIRST, dat_ep_reset(h))                                               \
	C(ep_free, EP, FIRST, dat_ep_free(h))                                                 \
	C(ep_recv_query, EP, FIRST | OPTIONAL, dat_ep_recv_query(h, &more, NULL))             \
	C(ep_set_watermark, EP, FIRST | OPTIONAL, dat_ep_set_watermark(h, 5, 5))              \
	C(ep_post_send, EP, FIRST, dat_ep_post_send(h, 1, &segment, cookie, DEFAULT))         \
	C(ep_post_recv, EP, FIRST, dat_ep_post_recv(h, 1, &segment, cookie, DEFAULT))         \
	C(ep_post_rdma_read, EP, FIRST,                                                       \
	  dat_ep_post_rdma_read(h, 1, &segment, cookie, &target, DEFAULT))                    \
	C(ep_post_rdma_write, EP, FIRST,                                                      \
	  dat_ep_post_rdma_write(h, 1, &segment, cookie, &target, DEFAULT))                   \
	C(rsp_create_ep, EP, NULL_OK, dat_rsp_create(w->ia.ia, 40127, h, w->requests, &made)) \
	C(cr_accept_ep, EP, 0, dat_cr_accept(w->cr, h, 0, NULL))                              \
	A(ep_modify_pz, PZ, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3, NULL_OK,                 \
	  modify_ep(w, DAT_EP_FIELD_PZ_HANDLE, h))                                            \
	A(ep_modify_recv, EVD, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3, NULL_OK,              \
	  modify_ep(w, DAT_EP_FIELD_RECV_EVD_HANDLE, h))                                      \
	A(ep_modify_request, EVD, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3, NULL_OK,           \
	  modify_ep(w, DAT_EP_FIELD_REQUEST_EVD_HANDLE, h))                                   \
	A(ep_modify_connect, EVD, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3, NULL_OK,           \
	  modify_ep(w, DAT_EP_FIELD_CONNECT_EVD_HANDLE, h))                                   \
	A(set_context, ANY, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1, FIRST,                   \
	  dat_set_consumer_context(h, context))                                               \
	A(get_context, ANY, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1, FIRST,                   \
	  dat_get_consumer_context(h, &got))                                                  \
	A(get_type, ANY, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1, FIRST,                      \
	  dat_get_handle_type(h, &type_now))

/* The calls that DAT 1.2 has not. */
#if DAT_VERSION_MAJOR > 1
static DAT_FD descriptor;
static DAT_COMM comm = { .domain = AF_INET, .type = SOCK_STREAM };

#define BY_NEW_CALLS(C, A)                                                                         \
	C(cno_fd_create, IA, FIRST, dat_cno_fd_create(h, &descriptor, &made))                      \
	C(csp_create, IA, FIRST | OPTIONAL, dat_csp_create(h, &comm, ADDRESS, w->requests, &made)) \
	C(rmr_create_for_ep, PZ, FIRST | OPTIONAL, dat_rmr_create_for_ep(h, &made))                \
	A(csp_create_evd, EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR, OPTIONAL,            \
	  dat_csp_create(w->ia.ia, &comm, ADDRESS, h, &made))                                      \
	C(cno_trigger, CNO, FIRST, dat_cno_trigger(h, &hint))                                      \
	C(csp_query, CSP, FIRST | OPTIONAL, dat_csp_query(h, (DAT_CSP_PARAM_MASK)0, NULL))         \
	C(csp_free, CSP, FIRST | OPTIONAL, dat_csp_free(h))                                        \
	C(ep_common_connect, EP, FIRST | OPTIONAL,                                                 \
	  dat_ep_common_connect(h, ADDRESS, CT_US, 0, NULL))                                       \
	C(ep_post_send_inv, EP, FIRST | OPTIONAL,                                                  \
	  dat_ep_post_send_with_invalidate(h, 1, &segment, cookie, DEFAULT, DAT_TRUE, 1))          \
	C(ep_post_read_to_rmr, EP, FIRST | OPTIONAL,                                               \
	  dat_ep_post_rdma_read_to_rmr(h, &target, cookie, &target, DEFAULT))                      \
	A(extension_op, ANY, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1, FIRST | OPTIONAL,            \
	  dat_extension_op(h, 1))
#else
#define DAT_INVALID_HANDLE_CSP DAT_NO_SUBTYPE
#define BY_NEW_CALLS(C, A)
#endif

BY_KIND(DEFINE, DEFINE_AS)
BY_ENDPOINT(DEFINE, DEFINE_AS)
BY_NEW_CALLS(DEFINE, DEFINE_AS)

#define DAT_INVALID_HANDLE_EVD DAT_INVALID_HANDLE_EVD_REQUEST

#define ROW(id, kind, flags, call) \
	{ #id, kind, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##kind, flags, id },
#define ROW_AS(id, kind, type, subtype, flags, call) { #id, kind, type, subtype, flags, id },

/* The rows of one table make a line of code each; the layout is the preprocessor's. */
static const struct call calls[] = { BY_KIND(ROW, ROW_AS) BY_ENDPOINT(ROW, ROW_AS)
					     BY_NEW_CALLS(ROW, ROW_AS) };

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static void try(struct world *w, const struct call *call, const char *what, DAT_HANDLE h)
{
	char text[128];

	snprintf(text, sizeof(text), "%s with %s", call->name, what);
	TALLY_AS(call->make(w, h), call->type, call->subtype, (call->flags & OPTIONAL) != 0, text);
}

/* ---- Handles that never were ---- */

/* GEN-6, EVD-5 */
static void gen_20_null_handles(void **state)
{
	struct world *w = *state;

	world_tally_begin();
	for (size_t i = 0; i < CALLS; i++) {
		const struct call *call = &calls[i];

		if ((call->flags & NULL_OK) != 0)
			continue;
		/* libdat2 rejects it before any provider can say that it lacks the call. */
		if ((call->flags & FIRST) != 0)
			TALLY_AS(call->make(w, DAT_HANDLE_NULL), call->type, call->subtype, false,
				 call->name);
		else
			try(w, call, "null", DAT_HANDLE_NULL);
	}
	world_tally_end(70);
	world_is_well(w);
}

/* The live object of a kind; null: there is none. */
static DAT_HANDLE live(struct world *w, enum kind kind)
{
	const DAT_HANDLE of[] = {
		[IA] = w->ia.ia, [PZ] = w->pz,	[LMR] = w->mem.lmr, [CNO] = w->cno,
		[EVD] = w->soft, [EP] = w->ep,	[PSP] = w->psp,	    [RSP] = w->rsp,
		[CR] = w->cr,	 [ANY] = w->ep,
	};

	return of[kind];
}

static void misaligned(struct world *w, const struct call *call)
{
	static const int offsets[] = { 1, 2, 4, 7, 8, 64 };
	char *handle = live(w, call->kind);

	if (call->kind == IA || handle == NULL)
		handle = w->pz;
	for (int i = 0; i < 6; i++)
		try(w, call, "a handle that is a few bytes off", handle + offsets[i]);
}

/* Memory that holds a copy of a live object, word for word. */
static void forged(struct world *w, const struct call *call)
{
	static _Alignas(64) char forgery[64];
	DAT_HANDLE handle = live(w, call->kind);

	if (call->kind == IA || handle == NULL)
		handle = w->pz;
	memcpy(forgery, handle, sizeof(forgery));
	try(w, call, "a forgery", forgery);
}

static void gen_21_wild_handles(void **state)
{
	static _Alignas(64) char zeroes[4096];
	static void *to_itself[64];
	static char text[] =
		"an ordinary string that is long enough to look like an object of some kind";
	void *unmapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *heap = calloc(64, sizeof(*heap));
	struct world *w = *state;
	uint64_t local[64];

	for (int i = 0; i < 64; i++) {
		to_itself[i] = to_itself;
		heap[i] = (uintptr_t)heap;
		local[i] = UINT64_C(0x5a5a5a5a5a5a5a5a);
	}
	assert_int_equal(munmap(unmapped, 4096), 0);
	world_tally_begin();
	for (size_t i = 0; i < CALLS; i++) {
		misaligned(w, &calls[i]);
		forged(w, &calls[i]);
		try(w, &calls[i], "zeroes", zeroes);
		try(w, &calls[i], "pointers to itself", to_itself);
		try(w, &calls[i], "heap memory", heap);
		try(w, &calls[i], "stack memory", local);
		try(w, &calls[i], "a string", text);
		try(w, &calls[i], "unmapped memory", unmapped);
		try(w, &calls[i], "a function", (DAT_HANDLE)(uintptr_t)gen_20_null_handles);
		try(w, &calls[i], "the last address", (DAT_HANDLE)UINTPTR_MAX);
		try(w, &calls[i], "an address no process has",
		    (DAT_HANDLE)(uintptr_t)UINT64_C(0x8000000000001000));
	}
	world_tally_end(1000);
	free(heap);
	world_is_well(w);
}

/* EVD-5 */
static void gen_21_small_numbers(void **state)
{
	static const uintptr_t numbers[] = { 3, 5, 8, 63, 64, 4095, 4096, 65536, 0x7fffffff };
	struct world *w = *state;

	world_tally_begin();
	for (size_t i = 0; i < CALLS; i++) {
		for (int n = 0; n < 9; n++)
			try(w, &calls[i], "a small number", (DAT_HANDLE)numbers[n]);
	}
	world_tally_end(700);
	world_is_well(w);
}

/* ---- Handles of other objects ---- */

static const char *const kind_names[] = {
	[IA] = "an IA",	  [PZ] = "a PZ",    [LMR] = "an LMR", [RMR] = "an RMR",
	[CNO] = "a CNO",  [EVD] = "an EVD", [EP] = "an EP",   [PSP] = "a PSP",
	[RSP] = "an RSP", [CSP] = "a CSP",  [CR] = "a CR",    [SRQ] = "an SRQ",
};

static void gen_21_handles_of_another_type(void **state)
{
	struct world *w = *state;

	world_tally_begin();
	for (size_t i = 0; i < CALLS; i++) {
		/* The special values of IA-3 are small numbers, which adapters have. */
		bool opens = calls[i].make == ia_open_async;

		for (enum kind kind = IA; kind < ANY && calls[i].kind != ANY; kind++) {
			if (kind != calls[i].kind && live(w, kind) != DAT_HANDLE_NULL &&
			    !(opens && kind == IA))
				try(w, &calls[i], kind_names[kind], live(w, kind));
		}
	}
	world_tally_end(500);
	world_is_well(w);
}

/* ---- Handles of objects that are gone ---- */

static DAT_HANDLE freed_ia(void)
{
	struct ct_ia ia;
	DAT_HANDLE handle;

	ct_open(&ia);
	handle = ia.ia;
	ct_close(&ia);
	return handle;
}

/* A handle that was good a moment ago. */
static DAT_HANDLE freed(struct world *w, enum kind kind)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;
	struct ct_mem mem;

	switch (kind) {
	case IA:
		return freed_ia();
	case LMR:
		ct_mem_open(&mem, w->ia.ia, w->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
		handle = mem.lmr;
		ct_mem_close(&mem);
		return handle;
	case EVD:
		handle = ct_evd(w->ia.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
		expect_ok(dat_evd_free(handle));
		return handle;
	case CNO:
		handle = ct_cno(w->ia.ia);
		expect_ok(dat_cno_free(handle));
		return handle;
	case EP:
		expect_ok(
			dat_ep_create(w->ia.ia, w->pz, w->dto, w->dto, w->connect, NULL, &handle));
		expect_ok(dat_ep_free(handle));
		return handle;
	case PSP:
		expect_ok(dat_psp_create_any(w->ia.ia, &picked, w->requests, DAT_PSP_CONSUMER_FLAG,
					     &handle));
		expect_ok(dat_psp_free(handle));
		return handle;
	default:
		handle = ct_pz(w->ia.ia);
		expect_ok(dat_pz_free(handle));
		return handle;
	}
}

static void gen_21_handles_of_destroyed_objects(void **state)
{
	struct world *w = *state;
	DAT_HANDLE handles[ANY + 1];

	for (enum kind kind = IA; kind <= ANY; kind++)
		handles[kind] = freed(w, kind);
	/* The adapter's number goes to the next that is opened: the tests below open none. */
	handles[IA] = freed_ia();
	world_tally_begin();
	for (size_t i = 0; i < CALLS; i++)
		try(w, &calls[i], "a destroyed object", handles[calls[i].kind]);
	for (size_t i = 0; i < CALLS; i++) {
		for (enum kind kind = PZ; kind < ANY; kind++)
			try(w, &calls[i], "a destroyed object of another kind", handles[kind]);
	}
	world_tally_end(900);
	world_is_well(w);
}

/* ---- GEN-22: objects of another adapter ---- */

static void gen_22_objects_of_another_instance_do_not_mix(void **state)
{
	struct world *w = *state;
	struct world *other;
	void *second;

	world_setup(&second);
	other = second;
	world_tally_begin();
	for (size_t i = 0; i < CALLS; i++) {
		/* What is dispatched by the handle itself is the other's own; IA-10 excepts the
		 * async EVD. */
		if ((calls[i].flags & FIRST) != 0 || calls[i].make == ia_open_async)
			continue;
		if (live(other, calls[i].kind) != DAT_HANDLE_NULL)
			try(w, &calls[i], "an object of another adapter",
			    live(other, calls[i].kind));
	}
	/* The dispatchers that would fit. */
	try(w,
	    &(const struct call){ "ep_create", EVD, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV,
				  0, ep_create_recv },
	    "a dispatcher of another adapter", other->dto);
	try(w,
	    &(const struct call){ "psp_create_any", EVD, DAT_INVALID_HANDLE,
				  DAT_INVALID_HANDLE_EVD_CR, 0, psp_create_any_evd },
	    "a dispatcher of another adapter", other->requests);
	world_tally_end(14);
	world_is_well(w);
	world_is_well(other);
	world_teardown(&second);
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(gen_20_null_handles),
		T(gen_21_wild_handles),
		T(gen_21_small_numbers),
		T(gen_21_handles_of_another_type),
		T(gen_21_handles_of_destroyed_objects),
		T(gen_22_objects_of_another_instance_do_not_mix),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
