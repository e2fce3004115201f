/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libdat.so.1 exports. In C a call of DAT 1.2 is dat12_..., and dat_... is libdat2's (libdat2.h);
 * old.c holds these prototypes against the headers of DAT 1.2.
 *
 * Types that both editions have alike are written as in the headers, of which one edition has to be
 * included before.
 */
#ifndef DAT12_CALLS_H
#define DAT12_CALLS_H

/* Structures that differ; old.c says what they are. */
#ifndef DAT12_TYPES
typedef struct dat12_ep_attr DAT12_EP_ATTR;
typedef struct dat12_ep_param DAT12_EP_PARAM;
typedef struct dat12_ia_attr DAT12_IA_ATTR;
typedef struct dat12_provider_attr DAT12_PROVIDER_ATTR;
typedef struct dat12_lmr_param DAT12_LMR_PARAM;
typedef struct dat12_rmr_param DAT12_RMR_PARAM;
typedef struct dat12_cno_param DAT12_CNO_PARAM;
typedef struct dat12_event DAT12_EVENT;
typedef struct dat12_segment DAT12_LMR_TRIPLET;
typedef struct dat12_segment DAT12_RMR_TRIPLET;
#endif

#pragma GCC visibility push(default)

DAT_RETURN dat12_ia_openv(const DAT_NAME_PTR provider, DAT_COUNT asynch_evd_min_qlen,
			  DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle,
			  DAT_UINT32 dat_major_version_number, DAT_UINT32 dat_minor_version_number,
			  DAT_BOOLEAN dat_thread_safety) __asm__("dat_ia_openv");
DAT_RETURN dat12_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			  DAT_IA_ATTR_MASK ia_attr_mask, DAT12_IA_ATTR *ia_attr,
			  DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			  DAT12_PROVIDER_ATTR *provider_attr) __asm__("dat_ia_query");
DAT_RETURN dat12_ia_close(DAT_IA_HANDLE ia_handle,
			  DAT_CLOSE_FLAGS close_flags) __asm__("dat_ia_close");
DAT_RETURN dat12_set_consumer_context(DAT_HANDLE dat_handle,
				      DAT_CONTEXT context) __asm__("dat_set_consumer_context");
DAT_RETURN dat12_get_consumer_context(DAT_HANDLE dat_handle,
				      DAT_CONTEXT *context) __asm__("dat_get_consumer_context");
DAT_RETURN dat12_get_handle_type(DAT_HANDLE dat_handle,
				 DAT_HANDLE_TYPE *handle_type) __asm__("dat_get_handle_type");
DAT_RETURN dat12_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			  DAT_CR_PARAM *cr_param) __asm__("dat_cr_query");
DAT_RETURN dat12_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			   DAT_COUNT private_data_size,
			   const DAT_PVOID private_data) __asm__("dat_cr_accept");
DAT_RETURN dat12_cr_reject(DAT_CR_HANDLE cr_handle) __asm__("dat_cr_reject");
DAT_RETURN dat12_cr_handoff(DAT_CR_HANDLE cr_handle,
			    DAT_CONN_QUAL handoff) __asm__("dat_cr_handoff");
DAT_RETURN dat12_evd_resize(DAT_EVD_HANDLE evd_handle,
			    DAT_COUNT evd_min_qlen) __asm__("dat_evd_resize");
DAT_RETURN dat12_evd_post_se(DAT_EVD_HANDLE evd_handle,
			     const DAT12_EVENT *event) __asm__("dat_evd_post_se");
DAT_RETURN dat12_evd_dequeue(DAT_EVD_HANDLE evd_handle,
			     DAT12_EVENT *event) __asm__("dat_evd_dequeue");
DAT_RETURN dat12_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			   DAT_EVD_PARAM *evd_param) __asm__("dat_evd_query");
DAT_RETURN dat12_evd_free(DAT_EVD_HANDLE evd_handle) __asm__("dat_evd_free");
DAT_RETURN dat12_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			   DAT_EVD_HANDLE recv_completion_evd_handle,
			   DAT_EVD_HANDLE request_completion_evd_handle,
			   DAT_EVD_HANDLE connect_evd_handle, const DAT12_EP_ATTR *ep_attributes,
			   DAT_EP_HANDLE *ep_handle) __asm__("dat_ep_create");
DAT_RETURN dat12_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			  DAT12_EP_PARAM *ep_param) __asm__("dat_ep_query");
DAT_RETURN dat12_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			   const DAT12_EP_PARAM *ep_param) __asm__("dat_ep_modify");
DAT_RETURN dat12_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			    DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			    DAT_COUNT private_data_size, const DAT_PVOID private_data,
			    DAT_QOS quality_of_service,
			    DAT_CONNECT_FLAGS connect_flags) __asm__("dat_ep_connect");
DAT_RETURN dat12_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle,
				DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				const DAT_PVOID private_data,
				DAT_QOS quality_of_service) __asm__("dat_ep_dup_connect");
DAT_RETURN dat12_ep_disconnect(DAT_EP_HANDLE ep_handle,
			       DAT_CLOSE_FLAGS close_flags) __asm__("dat_ep_disconnect");
DAT_RETURN dat12_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			      DAT12_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags) __asm__("dat_ep_post_send");
DAT_RETURN dat12_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			      DAT12_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags) __asm__("dat_ep_post_recv");
DAT_RETURN
dat12_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			DAT12_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			const DAT12_RMR_TRIPLET *remote_iov,
			DAT_COMPLETION_FLAGS completion_flags) __asm__("dat_ep_post_rdma_read");
DAT_RETURN
dat12_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			 DAT12_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			 const DAT12_RMR_TRIPLET *remote_iov,
			 DAT_COMPLETION_FLAGS completion_flags) __asm__("dat_ep_post_rdma_write");
DAT_RETURN dat12_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			       DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle) __asm__("dat_ep_get_status");
DAT_RETURN dat12_ep_free(DAT_EP_HANDLE ep_handle) __asm__("dat_ep_free");
DAT_RETURN dat12_ep_reset(DAT_EP_HANDLE ep_handle) __asm__("dat_ep_reset");
DAT_RETURN dat12_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				    DAT_EVD_HANDLE recv_evd_handle,
				    DAT_EVD_HANDLE request_evd_handle,
				    DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				    const DAT12_EP_ATTR *ep_attributes,
				    DAT_EP_HANDLE *ep_handle) __asm__("dat_ep_create_with_srq");
DAT_RETURN dat12_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			       DAT_COUNT *bufs_alloc_span) __asm__("dat_ep_recv_query");
DAT_RETURN dat12_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				  DAT_COUNT hard_high_watermark) __asm__("dat_ep_set_watermark");
DAT_RETURN dat12_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			   DAT12_LMR_PARAM *lmr_param) __asm__("dat_lmr_query");
DAT_RETURN dat12_lmr_free(DAT_LMR_HANDLE lmr_handle) __asm__("dat_lmr_free");
DAT_RETURN dat12_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				    const DAT12_LMR_TRIPLET *local_segments,
				    DAT_VLEN num_segments) __asm__("dat_lmr_sync_rdma_read");
DAT_RETURN dat12_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				     const DAT12_LMR_TRIPLET *local_segments,
				     DAT_VLEN num_segments) __asm__("dat_lmr_sync_rdma_write");
DAT_RETURN dat12_rmr_create(DAT_PZ_HANDLE pz_handle,
			    DAT_RMR_HANDLE *rmr_handle) __asm__("dat_rmr_create");
DAT_RETURN dat12_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			   DAT12_RMR_PARAM *rmr_param) __asm__("dat_rmr_query");
DAT_RETURN dat12_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT12_LMR_TRIPLET *lmr_triplet,
			  DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			  DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			  DAT_RMR_CONTEXT *context) __asm__("dat_rmr_bind");
DAT_RETURN dat12_rmr_free(DAT_RMR_HANDLE rmr_handle) __asm__("dat_rmr_free");
DAT_RETURN dat12_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			    DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			    DAT_PSP_HANDLE *psp_handle) __asm__("dat_psp_create");
DAT_RETURN dat12_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
				DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
				DAT_PSP_HANDLE *psp_handle) __asm__("dat_psp_create_any");
DAT_RETURN dat12_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			   DAT_PSP_PARAM *psp_param) __asm__("dat_psp_query");
DAT_RETURN dat12_psp_free(DAT_PSP_HANDLE psp_handle) __asm__("dat_psp_free");
DAT_RETURN dat12_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			    DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			    DAT_RSP_HANDLE *rsp_handle) __asm__("dat_rsp_create");
DAT_RETURN dat12_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			   DAT_RSP_PARAM *rsp_param) __asm__("dat_rsp_query");
DAT_RETURN dat12_rsp_free(DAT_RSP_HANDLE rsp_handle) __asm__("dat_rsp_free");
DAT_RETURN dat12_pz_create(DAT_IA_HANDLE ia_handle,
			   DAT_PZ_HANDLE *pz_handle) __asm__("dat_pz_create");
DAT_RETURN dat12_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			  DAT_PZ_PARAM *pz_param) __asm__("dat_pz_query");
DAT_RETURN dat12_pz_free(DAT_PZ_HANDLE pz_handle) __asm__("dat_pz_free");
DAT_RETURN dat12_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			    DAT_SRQ_ATTR *srq_attr,
			    DAT_SRQ_HANDLE *srq_handle) __asm__("dat_srq_create");
DAT_RETURN dat12_srq_free(DAT_SRQ_HANDLE srq_handle) __asm__("dat_srq_free");
DAT_RETURN dat12_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			       DAT12_LMR_TRIPLET *local_iov,
			       DAT_DTO_COOKIE user_cookie) __asm__("dat_srq_post_recv");
DAT_RETURN dat12_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			   DAT_SRQ_PARAM *srq_param) __asm__("dat_srq_query");
DAT_RETURN dat12_srq_resize(DAT_SRQ_HANDLE srq_handle,
			    DAT_COUNT srq_max_recv_dto) __asm__("dat_srq_resize");
DAT_RETURN dat12_srq_set_lw(DAT_SRQ_HANDLE srq_handle,
			    DAT_COUNT low_watermark) __asm__("dat_srq_set_lw");
DAT_RETURN dat12_registry_list_providers(
	DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
	DAT_PROVIDER_INFO **dat_provider_list) __asm__("dat_registry_list_providers");
DAT_RETURN dat12_strerror(DAT_RETURN dat_function_return, const char **major_message_string,
			  const char **minor_message_string) __asm__("dat_strerror");
DAT_RETURN dat12_registry_add_provider(
	const DAT_PROVIDER *provider,
	const DAT_PROVIDER_INFO *provider_info) __asm__("dat_registry_add_provider");
DAT_RETURN dat12_registry_remove_provider(
	const DAT_PROVIDER *provider,
	const DAT_PROVIDER_INFO *provider_info) __asm__("dat_registry_remove_provider");
DAT_RETURN dat12_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			    DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			    DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			    DAT_VADDR *registered_address) __asm__("dat_lmr_create");
DAT_RETURN dat12_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			    DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			    DAT_EVD_HANDLE *evd_handle) __asm__("dat_evd_create");
DAT_RETURN dat12_evd_modify_cno(DAT_EVD_HANDLE evd_handle,
				DAT_CNO_HANDLE cno_handle) __asm__("dat_evd_modify_cno");
DAT_RETURN dat12_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			    DAT_CNO_HANDLE *cno_handle) __asm__("dat_cno_create");
DAT_RETURN dat12_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
				  DAT_OS_WAIT_PROXY_AGENT agent) __asm__("dat_cno_modify_agent");
DAT_RETURN dat12_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
			   DAT12_CNO_PARAM *cno_param) __asm__("dat_cno_query");
DAT_RETURN dat12_cno_free(DAT_CNO_HANDLE cno_handle) __asm__("dat_cno_free");
DAT_RETURN dat12_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			  DAT_EVD_HANDLE *evd_handle) __asm__("dat_cno_wait");
DAT_RETURN dat12_evd_enable(DAT_EVD_HANDLE evd_handle) __asm__("dat_evd_enable");
DAT_RETURN dat12_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			  DAT12_EVENT *event, DAT_COUNT *n_more_events) __asm__("dat_evd_wait");
DAT_RETURN dat12_evd_disable(DAT_EVD_HANDLE evd_handle) __asm__("dat_evd_disable");
DAT_RETURN dat12_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle) __asm__("dat_evd_set_unwaitable");
DAT_RETURN
dat12_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle) __asm__("dat_evd_clear_unwaitable");
DAT_RETURN dat12_get_ia_handle(DAT_IA_HANDLE ia,
			       DAT_IA_HANDLE *handle) __asm__("dats_get_ia_handle");

#pragma GCC visibility pop

#endif
