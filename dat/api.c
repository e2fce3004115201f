/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One thin entry per DAT call: check the handle, find the provider's table through the object's
 * first word, call. Handles are told good from bad in arena.h; here only the answer for a bad one
 * is decided (GEN-20). ia.c has the calls that do more than pass on: open, close, extensions.
 */
#include "dat/arena.h"
#include "dat/handle.h"

/*
 * Tables of arena users have no NULL slot (dats_provider_uses_arena), so only what leaves the fast
 * path is tested for one (GEN-10).
 */
#define CALL(handle, kind, slot, ...)                                                \
	do {                                                                         \
		const DAT_PROVIDER *provider = dat_arena_provider(handle), *foreign; \
                                                                                     \
		if (likely(provider != NULL))                                        \
			return provider->slot((handle), ##__VA_ARGS__);              \
		foreign = dat_foreign_provider(handle);                              \
		if (!foreign)                                                        \
			return dat_bad_handle(handle, DAT_INVALID_HANDLE_##kind);    \
		if (!foreign->slot)                                                  \
			return DAT_ERR(DAT_NOT_IMPLEMENTED, 0);                      \
		return foreign->slot((handle), ##__VA_ARGS__);                       \
	} while (0)

/* An IA handle is a number; the provider's pointer behind it was good when it was published. */
#define CALL_IA(handle, slot, ...)                                                     \
	do {                                                                           \
		DAT_IA_HANDLE ia = dat_handle_to_ia(handle);                           \
		const DAT_PROVIDER *provider = ia ? DAT_HANDLE_TO_PROVIDER(ia) : NULL; \
                                                                                       \
		if (unlikely(!provider))                                               \
			return dat_bad_handle(handle, DAT_INVALID_HANDLE_IA);          \
		if (unlikely(!provider->slot))                                         \
			return DAT_ERR(DAT_NOT_IMPLEMENTED, 0);                        \
		return provider->slot(ia, ##__VA_ARGS__);                              \
	} while (0)

/* A handle of any kind: an IA's number first (CTX-9), since no object lies at so low an address. */
#define CALL_ANY(handle, slot, ...)                                                \
	do {                                                                       \
		DAT_HANDLE object = (uintptr_t)(handle) < DAT_HANDLE_MAX           \
					    ? (DAT_HANDLE)dat_handle_to_ia(handle) \
					    : (handle);                            \
		const DAT_PROVIDER *provider = dat_handle_provider(object);        \
                                                                                   \
		if (unlikely(!provider))                                           \
			return dat_bad_handle(handle, DAT_INVALID_HANDLE1);        \
		if (unlikely(!provider->slot))                                     \
			return DAT_ERR(DAT_NOT_IMPLEMENTED, 0);                    \
		return provider->slot(object, ##__VA_ARGS__);                      \
	} while (0)

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask, DAT_PROVIDER_ATTR *provider_attr)
{
	CALL_IA(ia_handle, ia_query_func, async_evd_handle, ia_attr_mask, ia_attr,
		provider_attr_mask, provider_attr);
}

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	CALL_ANY(dat_handle, set_consumer_context_func, context);
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	CALL_ANY(dat_handle, get_consumer_context_func, context);
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	CALL_ANY(dat_handle, get_handle_type_func, handle_type);
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	CALL(cr_handle, CR, cr_query_func, cr_param_mask, cr_param);
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	CALL(cr_handle, CR, cr_accept_func, ep_handle, private_data_size, private_data);
}

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	CALL(cr_handle, CR, cr_reject_func, private_data_size, private_data);
}

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL conn_qual)
{
	CALL(cr_handle, CR, cr_handoff_func, conn_qual);
}

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	CALL(evd_handle, EVD_REQUEST, evd_resize_func, evd_min_qlen);
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	CALL(evd_handle, EVD_REQUEST, evd_post_se_func, event);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	CALL(evd_handle, EVD_REQUEST, evd_dequeue_func, event);
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	CALL(evd_handle, EVD_REQUEST, evd_query_func, evd_param_mask, evd_param);
}

DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	CALL(evd_handle, EVD_REQUEST, evd_free_func);
}

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle)
{
	CALL_IA(ia_handle, evd_create_func, evd_min_qlen, cno_handle, evd_flags, evd_handle);
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	CALL(evd_handle, EVD_REQUEST, evd_modify_cno_func, cno_handle);
}

DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	CALL(evd_handle, EVD_REQUEST, evd_enable_func);
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *n_more)
{
	CALL(evd_handle, EVD_REQUEST, evd_wait_func, timeout, threshold, event, n_more);
}

DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	CALL(evd_handle, EVD_REQUEST, evd_disable_func);
}

DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	CALL(evd_handle, EVD_REQUEST, evd_set_unwaitable_func);
}

DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	CALL(evd_handle, EVD_REQUEST, evd_clear_unwaitable_func);
}

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle)
{
	CALL_IA(ia_handle, cno_create_func, agent, cno_handle);
}

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	CALL(cno_handle, CNO, cno_modify_agent_func, agent);
}

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param)
{
	CALL(cno_handle, CNO, cno_query_func, cno_param_mask, cno_param);
}

DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	CALL(cno_handle, CNO, cno_free_func);
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	CALL(cno_handle, CNO, cno_wait_func, timeout, evd_handle);
}

DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *file_descriptor,
			     DAT_CNO_HANDLE *cno_handle)
{
	CALL_IA(ia_handle, cno_fd_create_func, file_descriptor, cno_handle);
}

DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle)
{
	CALL(cno_handle, CNO, cno_trigger_func, evd_handle);
}

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_completion_evd_handle,
			 DAT_EVD_HANDLE request_completion_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	CALL_IA(ia_handle, ep_create_func, pz_handle, recv_completion_evd_handle,
		request_completion_evd_handle, connect_evd_handle, ep_attributes, ep_handle);
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	CALL(ep_handle, EP, ep_query_func, ep_param_mask, ep_param);
}

DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	CALL(ep_handle, EP, ep_modify_func, ep_param_mask, ep_param);
}

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data,
			  DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags)
{
	CALL(ep_handle, EP, ep_connect_func, remote_ia_address, remote_conn_qual, timeout,
	     private_data_size, private_data, quality_of_service, connect_flags);
}

DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle,
			      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS quality_of_service)
{
	CALL(ep_handle, EP, ep_dup_connect_func, ep_dup_handle, timeout, private_data_size,
	     private_data, quality_of_service);
}

DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				 const DAT_PVOID private_data)
{
	CALL(ep_handle, EP, ep_common_connect_func, remote_ia_address, timeout, private_data_size,
	     private_data);
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS disconnect_flags)
{
	CALL(ep_handle, EP, ep_disconnect_func, disconnect_flags);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	CALL(ep_handle, EP, ep_post_send_func, num_segments, local_iov, user_cookie,
	     completion_flags);
}

DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context)
{
	CALL(ep_handle, EP, ep_post_send_with_invalidate_func, num_segments, local_iov, user_cookie,
	     completion_flags, invalidate_flag, rmr_context);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	CALL(ep_handle, EP, ep_post_recv_func, num_segments, local_iov, user_cookie,
	     completion_flags);
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	CALL(ep_handle, EP, ep_post_rdma_read_func, num_segments, local_iov, user_cookie,
	     remote_iov, completion_flags);
}

DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_iov,
					DAT_COMPLETION_FLAGS completion_flags)
{
	CALL(ep_handle, EP, ep_post_rdma_read_to_rmr_func, local_iov, user_cookie, remote_iov,
	     completion_flags);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	CALL(ep_handle, EP, ep_post_rdma_write_func, num_segments, local_iov, user_cookie,
	     remote_iov, completion_flags);
}

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	CALL(ep_handle, EP, ep_get_status_func, ep_state, recv_idle, request_idle);
}

DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	CALL(ep_handle, EP, ep_free_func);
}

DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	CALL(ep_handle, EP, ep_reset_func);
}

DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle)
{
	CALL_IA(ia_handle, ep_create_with_srq_func, pz_handle, recv_evd_handle, request_evd_handle,
		connect_evd_handle, srq_handle, ep_attributes, ep_handle);
}

DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	CALL(ep_handle, EP, ep_recv_query_func, nbufs_allocated, bufs_alloc_span);
}

DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	CALL(ep_handle, EP, ep_set_watermark_func, soft_high_watermark, hard_high_watermark);
}

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	CALL(lmr_handle, LMR, lmr_free_func);
}

DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	CALL_IA(ia_handle, lmr_sync_rdma_read_func, local_segments, num_segments);
}

DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	CALL_IA(ia_handle, lmr_sync_rdma_write_func, local_segments, num_segments);
}

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			  DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_handle,
			  DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
			  DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	CALL_IA(ia_handle, lmr_create_func, mem_type, region_description, length, pz_handle,
		privileges, va_type, lmr_handle, lmr_context, rmr_context, registered_length,
		registered_address);
}

DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	CALL(lmr_handle, LMR, lmr_query_func, lmr_param_mask, lmr_param);
}

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	CALL(pz_handle, PZ, rmr_create_func, rmr_handle);
}

DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	CALL(pz_handle, PZ, rmr_create_for_ep_func, rmr_handle);
}

DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	CALL(rmr_handle, RMR, rmr_query_func, rmr_param_mask, rmr_param);
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
			DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags, DAT_RMR_CONTEXT *rmr_context)
{
	CALL(rmr_handle, RMR, rmr_bind_func, lmr_handle, lmr_triplet, mem_priv, va_type, ep_handle,
	     user_cookie, completion_flags, rmr_context);
}

DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	CALL(rmr_handle, RMR, rmr_free_func);
}

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	CALL_IA(ia_handle, psp_create_func, conn_qual, evd_handle, psp_flags, psp_handle);
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	CALL_IA(ia_handle, psp_create_any_func, conn_qual, evd_handle, psp_flags, psp_handle);
}

DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	CALL(psp_handle, PSP, psp_query_func, psp_param_mask, psp_param);
}

DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	CALL(psp_handle, PSP, psp_free_func);
}

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
			  DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle)
{
	CALL_IA(ia_handle, rsp_create_func, conn_qual, ep_handle, evd_handle, rsp_handle);
}

DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	CALL(rsp_handle, RSP, rsp_query_func, rsp_param_mask, rsp_param);
}

DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	CALL(rsp_handle, RSP, rsp_free_func);
}

DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *communicator,
			  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
			  DAT_CSP_HANDLE *csp_handle)
{
	CALL_IA(ia_handle, csp_create_func, communicator, address, evd_handle, csp_handle);
}

DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param)
{
	CALL(csp_handle, CSP, csp_query_func, csp_param_mask, csp_param);
}

DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	CALL(csp_handle, CSP, csp_free_func);
}

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	CALL_IA(ia_handle, pz_create_func, pz_handle);
}

DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param)
{
	CALL(pz_handle, PZ, pz_query_func, pz_param_mask, pz_param);
}

DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	CALL(pz_handle, PZ, pz_free_func);
}

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
			  DAT_SRQ_HANDLE *srq_handle)
{
	CALL_IA(ia_handle, srq_create_func, pz_handle, srq_attr, srq_handle);
}

DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	CALL(srq_handle, SRQ, srq_free_func);
}

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	CALL(srq_handle, SRQ, srq_post_recv_func, num_segments, local_iov, user_cookie);
}

DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	CALL(srq_handle, SRQ, srq_query_func, srq_param_mask, srq_param);
}

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	CALL(srq_handle, SRQ, srq_resize_func, srq_max_recv_dto);
}

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	CALL(srq_handle, SRQ, srq_set_lw_func, low_watermark);
}
