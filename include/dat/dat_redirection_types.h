/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_redirection_types.h
 * Types of the slots of the dispatch table.
 */
#ifndef DAT_REDIRECTION_TYPES_H
#define DAT_REDIRECTION_TYPES_H

#include "dat.h"
#include "dat_cno.h"

DAT_BEGIN_DECLS

/*
 * Types of the slots. Parameters and results are those of the call of the same name, but that an
 * adapter is the provider's own pointer, not its number. Our providers leave no slot NULL; where a
 * foreign one does, the call answers DAT_NOT_IMPLEMENTED (GEN-10).
 */

/** Type of dat_ia_openv itself; no slot has it. */
typedef DAT_RETURN (*DAT_IA_OPENV_FUNC)(IN const DAT_NAME_PTR provider,
					IN DAT_COUNT asynch_evd_min_qlen,
					INOUT DAT_EVD_HANDLE *asynch_evd_handle,
					OUT DAT_IA_HANDLE *ia_handle,
					IN DAT_UINT32 dat_major_version_number,
					IN DAT_UINT32 dat_minor_version_number,
					IN DAT_BOOLEAN thread_safety);
typedef DAT_RETURN (*DAT_IA_OPEN_FUNC)(IN const DAT_NAME_PTR provider,
				       IN DAT_COUNT asynch_evd_min_qlen,
				       INOUT DAT_EVD_HANDLE *asynch_evd_handle,
				       OUT DAT_IA_HANDLE *ia_handle);
typedef DAT_RETURN (*DAT_IA_QUERY_FUNC)(IN DAT_IA_HANDLE ia_handle,
					OUT DAT_EVD_HANDLE *async_evd_handle,
					IN DAT_IA_ATTR_MASK ia_attr_mask, OUT DAT_IA_ATTR *ia_attr,
					IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
					OUT DAT_PROVIDER_ATTR *provider_attr);
typedef DAT_RETURN (*DAT_IA_CLOSE_FUNC)(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS close_flags);
typedef DAT_RETURN (*DAT_SET_CONSUMER_CONTEXT_FUNC)(IN DAT_HANDLE dat_handle,
						    IN DAT_CONTEXT context);
typedef DAT_RETURN (*DAT_GET_CONSUMER_CONTEXT_FUNC)(IN DAT_HANDLE dat_handle,
						    OUT DAT_CONTEXT *context);
typedef DAT_RETURN (*DAT_GET_HANDLE_TYPE_FUNC)(IN DAT_HANDLE dat_handle,
					       OUT DAT_HANDLE_TYPE *handle_type);
typedef DAT_RETURN (*DAT_CNO_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle,
					  IN DAT_OS_WAIT_PROXY_AGENT agent,
					  OUT DAT_CNO_HANDLE *cno_handle);
typedef DAT_RETURN (*DAT_CNO_MODIFY_AGENT_FUNC)(IN DAT_CNO_HANDLE cno_handle,
						IN DAT_OS_WAIT_PROXY_AGENT agent);
typedef DAT_RETURN (*DAT_CNO_QUERY_FUNC)(IN DAT_CNO_HANDLE cno_handle,
					 IN DAT_CNO_PARAM_MASK cno_param_mask,
					 OUT DAT_CNO_PARAM *cno_param);
typedef DAT_RETURN (*DAT_CNO_FREE_FUNC)(IN DAT_CNO_HANDLE cno_handle);
typedef DAT_RETURN (*DAT_CNO_WAIT_FUNC)(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
					OUT DAT_EVD_HANDLE *evd_handle);
typedef DAT_RETURN (*DAT_CR_QUERY_FUNC)(IN DAT_CR_HANDLE cr_handle,
					IN DAT_CR_PARAM_MASK cr_param_mask,
					OUT DAT_CR_PARAM *cr_param);
typedef DAT_RETURN (*DAT_CR_ACCEPT_FUNC)(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
					 IN DAT_COUNT private_data_size,
					 IN const DAT_PVOID private_data);
typedef DAT_RETURN (*DAT_CR_REJECT_FUNC)(IN DAT_CR_HANDLE cr_handle, IN DAT_COUNT private_data_size,
					 IN const DAT_PVOID private_data);
typedef DAT_RETURN (*DAT_CR_HANDOFF_FUNC)(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff);
typedef DAT_RETURN (*DAT_EVD_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
					  IN DAT_CNO_HANDLE cno_handle, IN DAT_EVD_FLAGS evd_flags,
					  OUT DAT_EVD_HANDLE *evd_handle);
typedef DAT_RETURN (*DAT_EVD_QUERY_FUNC)(IN DAT_EVD_HANDLE evd_handle,
					 IN DAT_EVD_PARAM_MASK evd_param_mask,
					 OUT DAT_EVD_PARAM *evd_param);
typedef DAT_RETURN (*DAT_EVD_MODIFY_CNO_FUNC)(IN DAT_EVD_HANDLE evd_handle,
					      IN DAT_CNO_HANDLE cno_handle);
typedef DAT_RETURN (*DAT_EVD_ENABLE_FUNC)(IN DAT_EVD_HANDLE evd_handle);
typedef DAT_RETURN (*DAT_EVD_DISABLE_FUNC)(IN DAT_EVD_HANDLE evd_handle);
typedef DAT_RETURN (*DAT_EVD_WAIT_FUNC)(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
					IN DAT_COUNT threshold, OUT DAT_EVENT *event,
					OUT DAT_COUNT *nmore);
typedef DAT_RETURN (*DAT_EVD_RESIZE_FUNC)(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_qlen);
typedef DAT_RETURN (*DAT_EVD_POST_SE_FUNC)(IN DAT_EVD_HANDLE evd_handle, IN const DAT_EVENT *event);
typedef DAT_RETURN (*DAT_EVD_DEQUEUE_FUNC)(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event);
typedef DAT_RETURN (*DAT_EVD_FREE_FUNC)(IN DAT_EVD_HANDLE evd_handle);
typedef DAT_RETURN (*DAT_EP_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
					 IN DAT_EVD_HANDLE recv_completion_evd_handle,
					 IN DAT_EVD_HANDLE request_completion_evd_handle,
					 IN DAT_EVD_HANDLE connect_evd_handle,
					 IN const DAT_EP_ATTR *ep_attributes,
					 OUT DAT_EP_HANDLE *ep_handle);
typedef DAT_RETURN (*DAT_EP_QUERY_FUNC)(IN DAT_EP_HANDLE ep_handle,
					IN DAT_EP_PARAM_MASK ep_param_mask,
					OUT DAT_EP_PARAM *ep_param);
typedef DAT_RETURN (*DAT_EP_MODIFY_FUNC)(IN DAT_EP_HANDLE ep_handle,
					 IN DAT_EP_PARAM_MASK ep_param_mask,
					 IN const DAT_EP_PARAM *ep_param);
typedef DAT_RETURN (*DAT_EP_CONNECT_FUNC)(IN DAT_EP_HANDLE ep_handle,
					  IN DAT_IA_ADDRESS_PTR remote_ia_address,
					  IN DAT_CONN_QUAL remote_conn_qual, IN DAT_TIMEOUT timeout,
					  IN DAT_COUNT private_data_size,
					  IN const DAT_PVOID private_data,
					  IN DAT_QOS quality_of_service,
					  IN DAT_CONNECT_FLAGS connect_flags);
typedef DAT_RETURN (*DAT_EP_DUP_CONNECT_FUNC)(IN DAT_EP_HANDLE ep_handle,
					      IN DAT_EP_HANDLE ep_dup_handle,
					      IN DAT_TIMEOUT timeout,
					      IN DAT_COUNT private_data_size,
					      IN const DAT_PVOID private_data,
					      IN DAT_QOS quality_of_service);
typedef DAT_RETURN (*DAT_EP_DISCONNECT_FUNC)(IN DAT_EP_HANDLE ep_handle,
					     IN DAT_CLOSE_FLAGS disconnect_flags);
typedef DAT_RETURN (*DAT_EP_POST_SEND_FUNC)(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
					    IN DAT_LMR_TRIPLET *local_iov,
					    IN DAT_DTO_COOKIE user_cookie,
					    IN DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RECV_FUNC)(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
					    IN DAT_LMR_TRIPLET *local_iov,
					    IN DAT_DTO_COOKIE user_cookie,
					    IN DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_FUNC)(IN DAT_EP_HANDLE ep_handle,
						 IN DAT_COUNT num_segments,
						 IN DAT_LMR_TRIPLET *local_iov,
						 IN DAT_DTO_COOKIE user_cookie,
						 IN const DAT_RMR_TRIPLET *remote_iov,
						 IN DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_WRITE_FUNC)(IN DAT_EP_HANDLE ep_handle,
						  IN DAT_COUNT num_segments,
						  IN DAT_LMR_TRIPLET *local_iov,
						  IN DAT_DTO_COOKIE user_cookie,
						  IN const DAT_RMR_TRIPLET *remote_iov,
						  IN DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_EP_GET_STATUS_FUNC)(IN DAT_EP_HANDLE ep_handle, OUT DAT_EP_STATE *ep_state,
					     OUT DAT_BOOLEAN *recv_idle,
					     OUT DAT_BOOLEAN *request_idle);
typedef DAT_RETURN (*DAT_EP_FREE_FUNC)(IN DAT_EP_HANDLE ep_handle);
typedef DAT_RETURN (*DAT_LMR_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
					  IN DAT_REGION_DESCRIPTION region_description,
					  IN DAT_VLEN length, IN DAT_PZ_HANDLE pz_handle,
					  IN DAT_MEM_PRIV_FLAGS privileges, IN DAT_VA_TYPE va_type,
					  OUT DAT_LMR_HANDLE *lmr_handle,
					  OUT DAT_LMR_CONTEXT *lmr_context,
					  OUT DAT_RMR_CONTEXT *rmr_context,
					  OUT DAT_VLEN *registered_length,
					  OUT DAT_VADDR *registered_address);
typedef DAT_RETURN (*DAT_LMR_QUERY_FUNC)(IN DAT_LMR_HANDLE lmr_handle,
					 IN DAT_LMR_PARAM_MASK lmr_param_mask,
					 OUT DAT_LMR_PARAM *lmr_param);
typedef DAT_RETURN (*DAT_LMR_FREE_FUNC)(IN DAT_LMR_HANDLE lmr_handle);
typedef DAT_RETURN (*DAT_RMR_CREATE_FUNC)(IN DAT_PZ_HANDLE pz_handle,
					  OUT DAT_RMR_HANDLE *rmr_handle);
typedef DAT_RETURN (*DAT_RMR_QUERY_FUNC)(IN DAT_RMR_HANDLE rmr_handle,
					 IN DAT_RMR_PARAM_MASK rmr_param_mask,
					 OUT DAT_RMR_PARAM *rmr_param);
typedef DAT_RETURN (*DAT_RMR_BIND_FUNC)(IN DAT_RMR_HANDLE rmr_handle, IN DAT_LMR_HANDLE lmr_handle,
					IN const DAT_LMR_TRIPLET *lmr_triplet,
					IN DAT_MEM_PRIV_FLAGS mem_priv, IN DAT_VA_TYPE va_type,
					IN DAT_EP_HANDLE ep_handle, IN DAT_RMR_COOKIE user_cookie,
					IN DAT_COMPLETION_FLAGS completion_flags,
					OUT DAT_RMR_CONTEXT *rmr_context);
typedef DAT_RETURN (*DAT_RMR_FREE_FUNC)(IN DAT_RMR_HANDLE rmr_handle);
typedef DAT_RETURN (*DAT_PSP_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
					  IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
					  OUT DAT_PSP_HANDLE *psp_handle);
typedef DAT_RETURN (*DAT_PSP_QUERY_FUNC)(IN DAT_PSP_HANDLE psp_handle,
					 IN DAT_PSP_PARAM_MASK psp_param_mask,
					 OUT DAT_PSP_PARAM *psp_param);
typedef DAT_RETURN (*DAT_PSP_FREE_FUNC)(IN DAT_PSP_HANDLE psp_handle);
typedef DAT_RETURN (*DAT_RSP_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
					  IN DAT_EP_HANDLE ep_handle, IN DAT_EVD_HANDLE evd_handle,
					  OUT DAT_RSP_HANDLE *rsp_handle);
typedef DAT_RETURN (*DAT_RSP_QUERY_FUNC)(IN DAT_RSP_HANDLE rsp_handle,
					 IN DAT_RSP_PARAM_MASK rsp_param_mask,
					 OUT DAT_RSP_PARAM *rsp_param);
typedef DAT_RETURN (*DAT_RSP_FREE_FUNC)(IN DAT_RSP_HANDLE rsp_handle);
typedef DAT_RETURN (*DAT_PZ_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle, OUT DAT_PZ_HANDLE *pz_handle);
typedef DAT_RETURN (*DAT_PZ_QUERY_FUNC)(IN DAT_PZ_HANDLE pz_handle,
					IN DAT_PZ_PARAM_MASK pz_param_mask,
					OUT DAT_PZ_PARAM *pz_param);
typedef DAT_RETURN (*DAT_PZ_FREE_FUNC)(IN DAT_PZ_HANDLE pz_handle);
typedef DAT_RETURN (*DAT_PSP_CREATE_ANY_FUNC)(IN DAT_IA_HANDLE ia_handle,
					      OUT DAT_CONN_QUAL *conn_qual,
					      IN DAT_EVD_HANDLE evd_handle,
					      IN DAT_PSP_FLAGS psp_flags,
					      OUT DAT_PSP_HANDLE *psp_handle);
typedef DAT_RETURN (*DAT_EP_RESET_FUNC)(IN DAT_EP_HANDLE ep_handle);
typedef DAT_RETURN (*DAT_EVD_SET_UNWAITABLE_FUNC)(IN DAT_EVD_HANDLE evd_handle);
typedef DAT_RETURN (*DAT_EVD_CLEAR_UNWAITABLE_FUNC)(IN DAT_EVD_HANDLE evd_handle);
typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_READ_FUNC)(IN DAT_IA_HANDLE ia_handle,
						  IN const DAT_LMR_TRIPLET *local_segments,
						  IN DAT_VLEN num_segments);
typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_WRITE_FUNC)(IN DAT_IA_HANDLE ia_handle,
						   IN const DAT_LMR_TRIPLET *local_segments,
						   IN DAT_VLEN num_segments);
typedef DAT_RETURN (*DAT_EP_CREATE_WITH_SRQ_FUNC)(
	IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle, IN DAT_EVD_HANDLE recv_evd_handle,
	IN DAT_EVD_HANDLE request_evd_handle, IN DAT_EVD_HANDLE connect_evd_handle,
	IN DAT_SRQ_HANDLE srq_handle, IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);
typedef DAT_RETURN (*DAT_EP_RECV_QUERY_FUNC)(IN DAT_EP_HANDLE ep_handle,
					     OUT DAT_COUNT *nbufs_allocated,
					     OUT DAT_COUNT *bufs_alloc_span);
typedef DAT_RETURN (*DAT_EP_SET_WATERMARK_FUNC)(IN DAT_EP_HANDLE ep_handle,
						IN DAT_COUNT soft_high_watermark,
						IN DAT_COUNT hard_high_watermark);
typedef DAT_RETURN (*DAT_SRQ_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
					  IN DAT_SRQ_ATTR *srq_attr,
					  OUT DAT_SRQ_HANDLE *srq_handle);
typedef DAT_RETURN (*DAT_SRQ_FREE_FUNC)(IN DAT_SRQ_HANDLE srq_handle);
typedef DAT_RETURN (*DAT_SRQ_POST_RECV_FUNC)(IN DAT_SRQ_HANDLE srq_handle,
					     IN DAT_COUNT num_segments,
					     IN DAT_LMR_TRIPLET *local_iov,
					     IN DAT_DTO_COOKIE user_cookie);
typedef DAT_RETURN (*DAT_SRQ_QUERY_FUNC)(IN DAT_SRQ_HANDLE srq_handle,
					 IN DAT_SRQ_PARAM_MASK srq_param_mask,
					 OUT DAT_SRQ_PARAM *srq_param);
typedef DAT_RETURN (*DAT_SRQ_RESIZE_FUNC)(IN DAT_SRQ_HANDLE srq_handle,
					  IN DAT_COUNT srq_max_recv_dto);
typedef DAT_RETURN (*DAT_SRQ_SET_LW_FUNC)(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT low_watermark);
typedef DAT_RETURN (*DAT_CSP_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle, IN DAT_COMM *communicator,
					  IN DAT_IA_ADDRESS_PTR address,
					  IN DAT_EVD_HANDLE evd_handle,
					  OUT DAT_CSP_HANDLE *csp_handle);
typedef DAT_RETURN (*DAT_CSP_QUERY_FUNC)(IN DAT_CSP_HANDLE csp_handle,
					 IN DAT_CSP_PARAM_MASK csp_param_mask,
					 OUT DAT_CSP_PARAM *csp_param);
typedef DAT_RETURN (*DAT_CSP_FREE_FUNC)(IN DAT_CSP_HANDLE csp_handle);
typedef DAT_RETURN (*DAT_EP_COMMON_CONNECT_FUNC)(IN DAT_EP_HANDLE ep_handle,
						 IN DAT_IA_ADDRESS_PTR remote_ia_address,
						 IN DAT_TIMEOUT timeout,
						 IN DAT_COUNT private_data_size,
						 IN const DAT_PVOID private_data);
typedef DAT_RETURN (*DAT_RMR_CREATE_FOR_EP_FUNC)(IN DAT_PZ_HANDLE pz_handle,
						 OUT DAT_RMR_HANDLE *rmr_handle);
typedef DAT_RETURN (*DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC)(
	IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie, IN DAT_COMPLETION_FLAGS completion_flags,
	IN DAT_BOOLEAN invalidate_flag, IN DAT_RMR_CONTEXT rmr_context);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_TO_RMR_FUNC)(IN DAT_EP_HANDLE ep_handle,
							IN const DAT_RMR_TRIPLET *local_iov,
							IN DAT_DTO_COOKIE user_cookie,
							IN const DAT_RMR_TRIPLET *remote_iov,
							IN DAT_COMPLETION_FLAGS completion_flags);
typedef DAT_RETURN (*DAT_CNO_FD_CREATE_FUNC)(IN DAT_IA_HANDLE ia_handle,
					     OUT DAT_FD *file_descriptor,
					     OUT DAT_CNO_HANDLE *cno_handle);
typedef DAT_RETURN (*DAT_CNO_TRIGGER_FUNC)(IN DAT_CNO_HANDLE cno_handle,
					   OUT DAT_EVD_HANDLE *evd_handle);
typedef DAT_RETURN (*DAT_IA_HA_RELATED_FUNC)(IN DAT_IA_HANDLE ia_handle,
					     IN const DAT_NAME_PTR provider,
					     OUT DAT_BOOLEAN *answer);
typedef DAT_RETURN (*DAT_HANDLE_EXTENDEDOP_FUNC)(IN DAT_HANDLE handle, IN DAT_EXTENDED_OP operation,
						 IN va_list args);

DAT_END_DECLS

#endif /* DAT_REDIRECTION_TYPES_H */
