/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every call with each other argument wrong, one at a time (GEN-7): the documented code, and
 * nothing changed. */
#include "world.h"

#include <dat2/dat_registry.h>
#include <limits.h>

#define NONE	DAT_HANDLE_NULL
#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

/* What the versions have at other places, or of other width. */
#if DAT_VERSION_MAJOR > 1
#define CNO_MASK   0x7
#define EVD_FLAGS  0x3f1
#define LMR_MASK   0x7ff
#define PRIVILEGES (0x33 | 0x40)
#define BAD_ENTRY  BAD_ARGUMENT
#else
#define DAT_EXTENSION_BASE 0x10000000
#define CNO_MASK	   0x3
#define EVD_FLAGS	   0x1f1
#define LMR_MASK	   0x3ff
#define PRIVILEGES	   0x33
/* For modules, which are of 2.0 and get its words. */
#define BAD_ENTRY(call, n) TALLY(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n + 1)
#endif

static DAT_HANDLE made;
static const DAT_DTO_COOKIE cookie = { .as_64 = 1 };

/* Masks of 32 bits with each bit that is not defined. */
#define UNDEFINED_BITS(query, defined, n)                                     \
	do {                                                                  \
		for (volatile unsigned int bit_ = 1; bit_ != 0; bit_ <<= 1) { \
			if ((bit_ & (defined)) == 0)                          \
				BAD_ARGUMENT(query, n);                       \
		}                                                             \
	} while (0)

static void registry_calls(void **state)
{
	const DAT_PROVIDER *provider = (const DAT_PROVIDER *)state;
	DAT_PROVIDER_INFO info = { .ia_name = "", .dapl_version_major = 2 };
	DAT_PROVIDER_INFO *list[2] = { &info, NULL };
	DAT_COUNT count;

	world_tally_begin();
	BAD_ARGUMENT(dat_registry_list_providers(-1, &count, list), 1);
	BAD_ARGUMENT(dat_registry_list_providers(0, &count, list), 1);
	BAD_ARGUMENT(dat_registry_list_providers(INT_MIN, &count, list), 1);
	BAD_ARGUMENT(dat_registry_list_providers(1, NULL, list), 2);
	BAD_ARGUMENT(dat_registry_list_providers(1, &count, NULL), 3);
	BAD_ARGUMENT(dat_registry_list_providers(1, &count, list + 1), 3);
	BAD_ENTRY(dat_registry_add_provider(NULL, &info), 1);
	BAD_ENTRY(dat_registry_add_provider(provider, NULL), 2);
	BAD_ENTRY(dat_registry_add_provider(provider, &info), 2);
	memset(info.ia_name, 'x', sizeof(info.ia_name));
	BAD_ENTRY(dat_registry_add_provider(provider, &info), 2);
	strcpy(info.ia_name, "nobody-registered-this");
	BAD_ENTRY(dat_registry_remove_provider(NULL, &info), 1);
	BAD_ENTRY(dat_registry_remove_provider(provider, NULL), 2);
	BAD_ENTRY(dat_registry_remove_provider(provider, &info), 2);
	world_tally_end(13);
}

#if DAT_VERSION_MAJOR > 1
static void related_calls(void **state)
{
	DAT_HA_RELATIONSHIP relation;
	char too_long[DAT_NAME_MAX_LENGTH + 1];

	(void)state;
	memset(too_long, 'x', sizeof(too_long));
	world_tally_begin();
	BAD_ARGUMENT(dat_registry_providers_related(NULL, harness_ia_name(), &relation), 1);
	BAD_ARGUMENT(dat_registry_providers_related((char *)"", harness_ia_name(), &relation), 1);
	BAD_ARGUMENT(dat_registry_providers_related(too_long, harness_ia_name(), &relation), 1);
	BAD_ARGUMENT(dat_registry_providers_related(harness_ia_name(), NULL, &relation), 2);
	BAD_ARGUMENT(dat_registry_providers_related(harness_ia_name(), (char *)"", &relation), 2);
	BAD_ARGUMENT(dat_registry_providers_related(harness_ia_name(), harness_ia_name(), NULL), 3);
	TALLY(dat_registry_providers_related(harness_ia_name(), (char *)"unheard-of", &relation),
	      DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	world_tally_end(7);
}
#endif

static void strerror_calls(void **state)
{
	const char *major, *minor;

	(void)state;
	world_tally_begin();
	BAD_ARGUMENT(dat_strerror(0x00180000, &major, &minor), 1);
	BAD_ARGUMENT(dat_strerror(0x3ffe0000, &major, &minor), 1);
	BAD_ARGUMENT(dat_strerror(DAT_EXTENSION_BASE, &major, &minor), 1);
	BAD_ARGUMENT(dat_strerror(DAT_INVALID_STATE | 104, &major, &minor), 1);
	BAD_ARGUMENT(dat_strerror(DAT_INVALID_STATE | 0xffff, &major, &minor), 1);
	BAD_ARGUMENT(dat_strerror(DAT_SUCCESS, NULL, &minor), 2);
	world_tally_end(6);
	expect_ok(dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EVD_IN_USE,
			       &major, NULL));
	assert_string_equal(major, "DAT_INVALID_STATE");
}

static DAT_RETURN open_qlen(DAT_COUNT qlen)
{
	DAT_EVD_HANDLE async = NONE;

	return dat_ia_open(harness_ia_name(), qlen, &async, &made);
}

/* GEN-5, GEN-6, GEN-9, GEN-12 */
static void ia_calls(void **state)
{
	struct world *w = *state;
	DAT_EVD_HANDLE async = NONE;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	world_tally_begin();
	BAD_ARGUMENT(dat_ia_open(NULL, 8, &async, &made), 1);
	BAD_ARGUMENT(dat_ia_open((char *)"", 8, &async, &made), 1);
	BAD_ARGUMENT(open_qlen(0), 2);
	BAD_ARGUMENT(open_qlen(-1), 2);
	BAD_ARGUMENT(open_qlen(INT_MIN), 2);
	BAD_ARGUMENT(dat_ia_open(harness_ia_name(), 8, NULL, &made), 3);
	BAD_ARGUMENT(dat_ia_open(harness_ia_name(), 8, &async, NULL), 4);
	BAD_ARGUMENT(dat_ia_openv(harness_ia_name(), 8, &async, &made, DAT_VERSION_MAJOR,
				  DAT_VERSION_MINOR, (DAT_BOOLEAN)2),
		     7);
	BAD_ARGUMENT(dat_ia_query(w->ia.ia, NULL, UINT64_C(1) << 38, &attr, 0, NULL), 3);
	BAD_ARGUMENT(dat_ia_query(w->ia.ia, NULL, UINT64_MAX, &attr, 0, NULL), 3);
	BAD_ARGUMENT(dat_ia_query(w->ia.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL), 4);
	BAD_ARGUMENT(dat_ia_query(w->ia.ia, NULL, 0, NULL, UINT64_C(1) << 31, &prov), 5);
	BAD_ARGUMENT(dat_ia_query(w->ia.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL), 6);
	for (volatile int flags = 2; flags < 64; flags++)
		BAD_ARGUMENT(dat_ia_close(w->ia.ia, (DAT_CLOSE_FLAGS)flags), 2);
	BAD_ARGUMENT(dat_ia_close(w->ia.ia, (DAT_CLOSE_FLAGS)-1), 2);
	world_tally_end(70);
	world_is_well(w);
}

static void context_calls(void **state)
{
	struct world *w = *state;
	DAT_HANDLE handles[] = { w->ia.ia, w->pz,  w->mem.lmr, w->cno, w->soft,
				 w->ep,	   w->psp, w->rsp,     w->cr };

	world_tally_begin();
	for (int i = 0; i < 9; i++) {
		BAD_ARGUMENT(dat_get_consumer_context(handles[i], NULL), 2);
		BAD_ARGUMENT(dat_get_handle_type(handles[i], NULL), 2);
	}
	world_tally_end(18);
	world_is_well(w);
}

static DAT_RETURN post_se(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event = { .event_number = number };

	return dat_evd_post_se(evd, &event);
}

/* EVD-4 */
static void evd_calls(void **state)
{
	struct world *w = *state;
	DAT_IA_HANDLE ia = w->ia.ia;
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	DAT_COUNT more;

	world_tally_begin();
	BAD_ARGUMENT(dat_evd_create(ia, 0, NONE, DAT_EVD_DTO_FLAG, &made), 2);
	BAD_ARGUMENT(dat_evd_create(ia, INT_MIN, NONE, DAT_EVD_DTO_FLAG, &made), 2);
	BAD_ARGUMENT(dat_evd_create(ia, 4, NONE, (DAT_EVD_FLAGS)0, &made), 4);
	UNDEFINED_BITS(dat_evd_create(ia, 4, NONE, (DAT_EVD_FLAGS)bit_, &made), EVD_FLAGS, 4);
	BAD_ARGUMENT(dat_evd_create(ia, 4, NONE, DAT_EVD_DTO_FLAG, NULL), 5);
	TALLY(dat_evd_create(ia, INT_MAX, NONE, DAT_EVD_DTO_FLAG, &made),
	      DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	UNDEFINED_BITS(dat_evd_query(w->soft, (DAT_EVD_PARAM_MASK)bit_, &param), 0x1f, 2);
	BAD_ARGUMENT(dat_evd_query(w->soft, DAT_EVD_FIELD_ALL, NULL), 3);
	BAD_ARGUMENT(dat_evd_wait(w->soft, 0, 0, &event, &more), 3);
	BAD_ARGUMENT(dat_evd_wait(w->soft, 0, INT_MIN, &event, &more), 3);
	BAD_ARGUMENT(dat_evd_wait(w->soft, 0, INT_MAX, &event, &more), 3);
	BAD_ARGUMENT(dat_evd_wait(w->soft, 0, 1, NULL, &more), 4);
	BAD_ARGUMENT(dat_evd_wait(w->soft, 0, 1, &event, NULL), 5);
	BAD_ARGUMENT(dat_evd_dequeue(w->soft, NULL), 2);
	BAD_ARGUMENT(post_se(w->dto, DAT_SOFTWARE_EVENT), 1);
	BAD_ARGUMENT(dat_evd_post_se(w->soft, NULL), 2);
	BAD_ARGUMENT(post_se(w->soft, DAT_DTO_COMPLETION_EVENT), 2);
	BAD_ARGUMENT(dat_evd_resize(w->soft, 0), 2);
	BAD_ARGUMENT(dat_evd_resize(w->soft, INT_MIN), 2);
	BAD_ARGUMENT(dat_evd_resize(w->soft, INT_MAX), 2);
	TALLY(dat_evd_free(w->dto), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	TALLY(dat_evd_free(w->ia.async), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	world_tally_end(60);
	world_is_well(w);
}

static void cno_calls(void **state)
{
	struct world *w = *state;
	DAT_IA_HANDLE ia = w->ia.ia;
	DAT_CNO_PARAM param;
#if DAT_VERSION_MAJOR > 1
	DAT_FD fd;
#endif

	world_tally_begin();
	BAD_ARGUMENT(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL), 3);
#if DAT_VERSION_MAJOR > 1
	BAD_ARGUMENT(dat_cno_fd_create(ia, NULL, &made), 2);
	BAD_ARGUMENT(dat_cno_fd_create(ia, &fd, NULL), 3);
	BAD_ARGUMENT(dat_cno_trigger(w->cno, NULL), 2);
#endif
	UNDEFINED_BITS(dat_cno_query(w->cno, (DAT_CNO_PARAM_MASK)bit_, &param), CNO_MASK, 2);
	BAD_ARGUMENT(dat_cno_query(w->cno, DAT_CNO_FIELD_ALL, NULL), 3);
	BAD_ARGUMENT(dat_cno_wait(w->cno, 0, NULL), 3);
	world_tally_end(30);
	world_is_well(w);
}

static DAT_RETURN lmr(struct world *w, int type, void *va, DAT_VLEN len, int priv, int va_type,
		      DAT_LMR_HANDLE *handle)
{
	DAT_REGION_DESCRIPTION desc;

	memset(&desc, 0, sizeof(desc));
	desc.for_va = va;
	return dat_lmr_create(w->ia.ia, (DAT_MEM_TYPE)type, desc, len, w->pz,
			      (DAT_MEM_PRIV_FLAGS)priv, (DAT_VA_TYPE)va_type, handle, NULL, NULL,
			      NULL, NULL);
}

static void memory_calls(void **state)
{
	struct world *w = *state;
	void *base = w->mem.base;
	DAT_LMR_PARAM lmr_param;
	DAT_PZ_PARAM pz_param;

	world_tally_begin();
	BAD_ARGUMENT(dat_pz_create(w->ia.ia, NULL), 2);
	UNDEFINED_BITS(dat_pz_query(w->pz, (DAT_PZ_PARAM_MASK)bit_, &pz_param), 0x1, 2);
	BAD_ARGUMENT(dat_pz_query(w->pz, DAT_PZ_FIELD_ALL, NULL), 3);
	TALLY(dat_pz_free(w->pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	BAD_ARGUMENT(lmr(w, 3, base, 64, DAT_MEM_PRIV_ALL_FLAG, 0, &made), 2);
	BAD_ARGUMENT(lmr(w, -1, base, 64, DAT_MEM_PRIV_ALL_FLAG, 0, &made), 2);
	BAD_ARGUMENT(lmr(w, 0, NULL, 64, DAT_MEM_PRIV_ALL_FLAG, 0, &made), 3);
	BAD_ARGUMENT(lmr(w, 0, (void *)UINTPTR_MAX, 64, DAT_MEM_PRIV_ALL_FLAG, 0, &made), 3);
	TALLY(lmr(w, 0, base, 0, DAT_MEM_PRIV_ALL_FLAG, 0, &made), DAT_LENGTH_ERROR,
	      CT_ANY_SUBTYPE);
	TALLY(lmr(w, 0, base, UINT64_MAX, DAT_MEM_PRIV_ALL_FLAG, 0, &made), DAT_INVALID_PARAMETER,
	      CT_ANY_SUBTYPE);
	UNDEFINED_BITS(lmr(w, 0, base, 64, (int)bit_, 0, &made), PRIVILEGES, 6);
	BAD_ARGUMENT(lmr(w, 0, base, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0, &made), 6);
#if DAT_VERSION_MAJOR > 1
	BAD_ARGUMENT(lmr(w, 0, base, 64, DAT_MEM_PRIV_ALL_FLAG, 2, &made), 7);
	BAD_ARGUMENT(lmr(w, 0, base, 64, DAT_MEM_PRIV_ALL_FLAG, -1, &made), 7);
	BAD_ARGUMENT(lmr(w, 0, base, 64, DAT_MEM_PRIV_ALL_FLAG, 0, NULL), 8);
#else
	BAD_ARGUMENT(lmr(w, 0, base, 64, DAT_MEM_PRIV_ALL_FLAG, 0, NULL), 7);
#endif
	UNDEFINED_BITS(dat_lmr_query(w->mem.lmr, (DAT_LMR_PARAM_MASK)bit_, &lmr_param), LMR_MASK,
		       2);
	BAD_ARGUMENT(dat_lmr_query(w->mem.lmr, DAT_LMR_FIELD_ALL, NULL), 3);
	BAD_ARGUMENT(dat_lmr_sync_rdma_read(w->ia.ia, NULL, 1), 2);
	BAD_ARGUMENT(dat_lmr_sync_rdma_write(w->ia.ia, NULL, 1), 2);
	world_tally_end(90);
	world_is_well(w);
}

static DAT_RETURN ep(struct world *w, const DAT_EP_ATTR *attr)
{
	return dat_ep_create(w->ia.ia, w->pz, w->dto, w->dto, w->connect, attr, &made);
}

/* An endpoint with one attribute changed, at creation (EP-46) and by modification (EP-61). */
#define BAD_ATTRIBUTE(w, mask, member, value)                                                  \
	do {                                                                                   \
		DAT_EP_PARAM param_ = { .ep_attr = (w)->attr };                                \
		param_.ep_attr.member = (value);                                               \
		BAD_ARGUMENT(ep((w), &param_.ep_attr), 6);                                     \
		BAD_ARGUMENT(dat_ep_modify((w)->ep, DAT_EP_FIELD_EP_ATTR_##mask, &param_), 3); \
	} while (0)

static void ep_attributes(void **state)
{
	struct world *w = *state;

	world_tally_begin();
	BAD_ATTRIBUTE(w, MAX_RECV_DTOS, max_recv_dtos, -1);
	BAD_ATTRIBUTE(w, MAX_RECV_DTOS, max_recv_dtos, 0);
	BAD_ATTRIBUTE(w, MAX_REQUEST_DTOS, max_request_dtos, -1);
	BAD_ATTRIBUTE(w, MAX_REQUEST_DTOS, max_request_dtos, 0);
	BAD_ATTRIBUTE(w, MAX_RECV_IOV, max_recv_iov, -1);
	BAD_ATTRIBUTE(w, MAX_RECV_IOV, max_recv_iov, 0);
	BAD_ATTRIBUTE(w, MAX_REQUEST_IOV, max_request_iov, -1);
	BAD_ATTRIBUTE(w, MAX_RDMA_READ_IN, max_rdma_read_in, -1);
	BAD_ATTRIBUTE(w, MAX_RDMA_READ_OUT, max_rdma_read_out, -1);
	BAD_ATTRIBUTE(w, MAX_RDMA_READ_IOV, max_rdma_read_iov, -1);
	BAD_ATTRIBUTE(w, MAX_RDMA_WRITE_IOV, max_rdma_write_iov, -1);
#if DAT_VERSION_MAJOR > 1
	/* A service of an extension is not unknown. */
	if (w->ia.attr.extension_supported == DAT_EXTENSION_NONE) {
		DAT_EP_ATTR attr = w->attr;

		attr.service_type = DAT_SERVICE_TYPE_EXTENSION_BASE;
		TALLY(ep(w, &attr), DAT_MODEL_NOT_SUPPORTED, CT_ANY_SUBTYPE);
	}
#endif
	world_tally_end(22);
	world_is_well(w);
}

static void ep_calls(void **state)
{
	struct world *w = *state;
	DAT_EP_PARAM param = { .ep_attr = w->attr };

	world_tally_begin();
	BAD_ARGUMENT(dat_ep_create(w->ia.ia, w->pz, w->dto, w->dto, w->connect, NULL, NULL), 7);
	for (volatile int bit = 31; bit < 64; bit++) {
		BAD_ARGUMENT(dat_ep_query(w->ep, UINT64_C(1) << bit, &param), 2);
		BAD_ARGUMENT(dat_ep_modify(w->ep, UINT64_C(1) << bit, &param), 2);
	}
	BAD_ARGUMENT(dat_ep_query(w->ep, DAT_EP_FIELD_ALL, NULL), 3);
	BAD_ARGUMENT(dat_ep_modify(w->ep, DAT_EP_FIELD_PZ_HANDLE, NULL), 3);
	/* EP-59: never. */
	BAD_ARGUMENT(dat_ep_modify(w->ep, DAT_EP_FIELD_IA_HANDLE, &param), 2);
	BAD_ARGUMENT(dat_ep_modify(w->ep, DAT_EP_FIELD_EP_STATE, &param), 2);
	BAD_ARGUMENT(dat_ep_modify(w->ep, DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR, &param), 2);
	BAD_ARGUMENT(dat_ep_modify(w->ep, DAT_EP_FIELD_LOCAL_PORT_QUAL, &param), 2);
	BAD_ARGUMENT(dat_ep_modify(w->ep, DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR, &param), 2);
	BAD_ARGUMENT(dat_ep_modify(w->ep, DAT_EP_FIELD_REMOTE_PORT_QUAL, &param), 2);
	BAD_ARGUMENT(dat_ep_modify(w->ep, DAT_EP_FIELD_SRQ_HANDLE, &param), 2);
	for (volatile int flags = 2; flags < 16; flags++)
		BAD_ARGUMENT(dat_ep_disconnect(w->a.ep, (DAT_CLOSE_FLAGS)flags), 2);
	TALLY_OPTIONAL(dat_ep_set_watermark(w->ep, -2, -1), DAT_INVALID_PARAMETER,
		       DAT_INVALID_ARG2);
	TALLY_OPTIONAL(dat_ep_set_watermark(w->ep, -1, -2), DAT_INVALID_PARAMETER,
		       DAT_INVALID_ARG3);
	world_tally_end(90);
	expect_ok(dat_ep_get_status(w->ep, NULL, NULL, NULL));
	world_is_well(w);
}

static DAT_RETURN connect_with(struct world *w, DAT_TIMEOUT timeout, DAT_COUNT size, void *data,
			       int qos, int flags)
{
	return dat_ep_connect(w->ep, w->ia.attr.ia_address_ptr, w->qual, timeout, size, data,
			      (DAT_QOS)qos, (DAT_CONNECT_FLAGS)flags);
}

static void connect_calls(void **state)
{
	struct world *w = *state;
	DAT_COUNT most = w->ia.prov.max_private_data_size;
	static char data[65536];

	world_tally_begin();
	BAD_ARGUMENT(dat_ep_connect(w->ep, NULL, w->qual, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG),
		     2);
	BAD_ARGUMENT(connect_with(w, 0, 0, NULL, 0, 0), 4);
	BAD_ARGUMENT(connect_with(w, CT_US, -1, data, 0, 0), 5);
	BAD_ARGUMENT(connect_with(w, CT_US, INT_MIN, data, 0, 0), 5);
	BAD_ARGUMENT(connect_with(w, CT_US, most + 1, data, 0, 0), 5);
	BAD_ARGUMENT(connect_with(w, CT_US, INT_MAX, data, 0, 0), 5);
	BAD_ARGUMENT(connect_with(w, CT_US, 1, NULL, 0, 0), 6);
	BAD_ARGUMENT(connect_with(w, CT_US, most, NULL, 0, 0), 6);
	BAD_ARGUMENT(connect_with(w, CT_US, 0, NULL, 0x10, 0), 7);
	BAD_ARGUMENT(connect_with(w, CT_US, 0, NULL, -1, 0), 7);
	BAD_ARGUMENT(connect_with(w, CT_US, 0, NULL, 0, 4), 8);
	BAD_ARGUMENT(connect_with(w, CT_US, 0, NULL, 0, -1), 8);
#if DAT_VERSION_MAJOR > 1
	if (!w->ia.prov.supports_multipath) {
		/* HA-13 */
		TALLY(connect_with(w, CT_US, 0, NULL, 0, DAT_CONNECT_MULTIPATH_REQUIRED_FLAG),
		      DAT_MODEL_NOT_SUPPORTED, CT_ANY_SUBTYPE);
		TALLY(connect_with(w, CT_US, 0, NULL, 0, 3), DAT_MODEL_NOT_SUPPORTED,
		      CT_ANY_SUBTYPE);
	}
#else
	BAD_ARGUMENT(connect_with(w, CT_US, 0, NULL, 0, 2), 8);
#endif
	BAD_ARGUMENT(dat_cr_accept(w->cr, w->ep, -1, data), 3);
	BAD_ARGUMENT(dat_cr_accept(w->cr, w->ep, most + 1, data), 3);
	BAD_ARGUMENT(dat_cr_accept(w->cr, w->ep, 1, NULL), 4);
#if DAT_VERSION_MAJOR > 1
	BAD_ARGUMENT(dat_cr_reject(w->cr, -1, data), 2);
	BAD_ARGUMENT(dat_cr_reject(w->cr, most + 1, data), 2);
	BAD_ARGUMENT(dat_cr_reject(w->cr, 1, NULL), 3);
#endif
	TALLY_OPTIONAL(dat_cr_handoff(w->cr, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	world_tally_end(15);
	world_is_well(w);
}

static void service_point_calls(void **state)
{
	struct world *w = *state;
	DAT_IA_HANDLE ia = w->ia.ia;
	DAT_CONN_QUAL qual;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_CR_PARAM cr;

	world_tally_begin();
	BAD_ARGUMENT(dat_psp_create(ia, 0, w->requests, DAT_PSP_CONSUMER_FLAG, &made), 2);
	BAD_ARGUMENT(dat_psp_create(ia, 40128, w->requests, (DAT_PSP_FLAGS)2, &made), 4);
	BAD_ARGUMENT(dat_psp_create(ia, 40128, w->requests, (DAT_PSP_FLAGS)-1, &made), 4);
	BAD_ARGUMENT(dat_psp_create(ia, 40128, w->requests, DAT_PSP_CONSUMER_FLAG, NULL), 5);
	BAD_ARGUMENT(dat_psp_create_any(ia, NULL, w->requests, DAT_PSP_CONSUMER_FLAG, &made), 2);
	BAD_ARGUMENT(dat_psp_create_any(ia, &qual, w->requests, (DAT_PSP_FLAGS)2, &made), 4);
	BAD_ARGUMENT(dat_psp_create_any(ia, &qual, w->requests, DAT_PSP_CONSUMER_FLAG, NULL), 5);
	TALLY(dat_psp_create(ia, w->qual, w->requests, DAT_PSP_CONSUMER_FLAG, &made),
	      DAT_CONN_QUAL_IN_USE, CT_ANY_SUBTYPE);
	UNDEFINED_BITS(dat_psp_query(w->psp, (DAT_PSP_PARAM_MASK)bit_, &psp), 0xf, 2);
	BAD_ARGUMENT(dat_psp_query(w->psp, DAT_PSP_FIELD_ALL, NULL), 3);
	BAD_ARGUMENT(dat_rsp_create(ia, 0, w->ep, w->requests, &made), 2);
	BAD_ARGUMENT(dat_rsp_create(ia, 40129, w->ep, w->requests, NULL), 5);
	TALLY(dat_rsp_create(ia, w->qual, w->ep, w->requests, &made), DAT_CONN_QUAL_IN_USE,
	      CT_ANY_SUBTYPE);
	TALLY(dat_rsp_create(ia, 40129, w->a.ep, w->requests, &made), DAT_INVALID_STATE,
	      DAT_INVALID_STATE_EP_CONNECTED);
	TALLY(dat_rsp_create(ia, 40129, w->reserved, w->requests, &made), DAT_INVALID_STATE,
	      DAT_INVALID_STATE_EP_RESERVED);
	UNDEFINED_BITS(dat_rsp_query(w->rsp, (DAT_RSP_PARAM_MASK)bit_, &rsp), 0xf, 2);
	BAD_ARGUMENT(dat_rsp_query(w->rsp, DAT_RSP_FIELD_ALL, NULL), 3);
	UNDEFINED_BITS(dat_cr_query(w->cr, (DAT_CR_PARAM_MASK)bit_, &cr), 0x1f, 2);
	BAD_ARGUMENT(dat_cr_query(w->cr, DAT_CR_FIELD_ALL, NULL), 3);
	TALLY(dat_cr_accept(w->cr, w->a.ep, 0, NULL), DAT_INVALID_STATE,
	      DAT_INVALID_STATE_EP_CONNECTED);
	world_tally_end(95);
	world_is_well(w);
}

static void post_calls(void **state)
{
	struct world *w = *state;
	DAT_EP_HANDLE e = w->a.ep;
	DAT_LMR_TRIPLET iov[512] = { ct_segment(&w->a.mem, 0, 64), ct_segment(&w->a.mem, 64, 64) };
	DAT_RMR_TRIPLET to = ct_target(&w->p.mem, 0, 128);
	DAT_EP_PARAM param;

	expect_ok(dat_ep_query(e, DAT_EP_FIELD_ALL, &param));
	world_tally_begin();
	BAD_ARGUMENT(dat_ep_post_send(e, -1, iov, cookie, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_send(e, INT_MIN, iov, cookie, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_send(e, param.ep_attr.max_request_iov + 1, iov, cookie, DEFAULT),
		     2);
	BAD_ARGUMENT(dat_ep_post_send(e, INT_MAX, iov, cookie, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_send(e, 1, NULL, cookie, DEFAULT), 3);
	BAD_ARGUMENT(dat_ep_post_recv(e, -1, iov, cookie, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_recv(e, param.ep_attr.max_recv_iov + 1, iov, cookie, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_recv(e, INT_MAX, iov, cookie, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_recv(e, 1, NULL, cookie, DEFAULT), 3);
	BAD_ARGUMENT(dat_ep_post_rdma_write(e, -1, iov, cookie, &to, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_rdma_write(e, INT_MAX, iov, cookie, &to, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_rdma_write(e, 1, NULL, cookie, &to, DEFAULT), 3);
	BAD_ARGUMENT(dat_ep_post_rdma_write(e, 1, iov, cookie, NULL, DEFAULT), 5);
	BAD_ARGUMENT(dat_ep_post_rdma_read(e, -1, iov, cookie, &to, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_rdma_read(e, INT_MAX, iov, cookie, &to, DEFAULT), 2);
	BAD_ARGUMENT(dat_ep_post_rdma_read(e, 1, NULL, cookie, &to, DEFAULT), 3);
	BAD_ARGUMENT(dat_ep_post_rdma_read(e, 1, iov, cookie, NULL, DEFAULT), 5);
#if DAT_VERSION_MAJOR > 1
	TALLY_OPTIONAL(dat_ep_post_send_with_invalidate(e, -1, iov, cookie, DEFAULT, DAT_TRUE, 1),
		       DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	TALLY_OPTIONAL(
		dat_ep_post_send_with_invalidate(e, 1, iov, cookie, DEFAULT, (DAT_BOOLEAN)2, 1),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	TALLY_OPTIONAL(dat_ep_post_rdma_read_to_rmr(e, NULL, cookie, &to, DEFAULT),
		       DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	TALLY_OPTIONAL(dat_ep_post_rdma_read_to_rmr(e, &to, cookie, NULL, DEFAULT),
		       DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
#endif
	TALLY(dat_ep_post_send(w->ep, 1, iov, cookie, DEFAULT), DAT_INVALID_STATE,
	      DAT_INVALID_STATE_EP_UNCONNECTED);
	TALLY(dat_ep_post_rdma_write(w->reserved, 1, iov, cookie, &to, DEFAULT), DAT_INVALID_STATE,
	      DAT_INVALID_STATE_EP_RESERVED);
	TALLY(dat_ep_post_rdma_read(w->asker.ep, 1, iov, cookie, &to, DEFAULT), DAT_INVALID_STATE,
	      DAT_INVALID_STATE_EP_ACTCONNPENDING);
	world_tally_end(20);
	world_is_well(w);
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(registry_calls),
		T(strerror_calls),
		T(ia_calls),
		T(context_calls),
		T(evd_calls),
		T(cno_calls),
		T(memory_calls),
		T(ep_attributes),
		T(ep_calls),
		T(connect_calls),
		T(service_point_calls),
		T(post_calls),
#if DAT_VERSION_MAJOR > 1
		T(related_calls),
#endif
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
