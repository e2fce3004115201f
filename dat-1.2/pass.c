/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls whose arguments both editions have alike: only the return word is translated (section 7). */
#include "dat-1.2/convert.h"

#define PASS(name, parameters, arguments)                \
	DAT_RETURN dat12_##name parameters               \
	{                                                \
		return dat12_word(dat_##name arguments); \
	}

PASS(set_consumer_context, (DAT_HANDLE dat_handle, DAT_CONTEXT context), (dat_handle, context))
PASS(get_consumer_context, (DAT_HANDLE dat_handle, DAT_CONTEXT *context), (dat_handle, context))
PASS(get_handle_type, (DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type),
     (dat_handle, handle_type))
PASS(cr_query, (DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask, DAT_CR_PARAM *cr_param),
     (cr_handle, cr_param_mask, cr_param))
PASS(cr_accept,
     (DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle, DAT_COUNT private_data_size,
      const DAT_PVOID private_data),
     (cr_handle, ep_handle, private_data_size, private_data))
PASS(cr_handoff, (DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff), (cr_handle, handoff))
PASS(evd_resize, (DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen), (evd_handle, evd_min_qlen))
PASS(evd_query,
     (DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask, DAT_EVD_PARAM *evd_param),
     (evd_handle, evd_param_mask, evd_param))
PASS(evd_free, (DAT_EVD_HANDLE evd_handle), (evd_handle))
PASS(ep_dup_connect,
     (DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle, DAT_TIMEOUT timeout,
      DAT_COUNT private_data_size, const DAT_PVOID private_data, DAT_QOS quality_of_service),
     (ep_handle, ep_dup_handle, timeout, private_data_size, private_data, quality_of_service))
PASS(ep_free, (DAT_EP_HANDLE ep_handle), (ep_handle))
PASS(ep_reset, (DAT_EP_HANDLE ep_handle), (ep_handle))
PASS(ep_recv_query,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated, DAT_COUNT *bufs_alloc_span),
     (ep_handle, nbufs_allocated, bufs_alloc_span))
PASS(ep_set_watermark,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark, DAT_COUNT hard_high_watermark),
     (ep_handle, soft_high_watermark, hard_high_watermark))
PASS(rmr_free, (DAT_RMR_HANDLE rmr_handle), (rmr_handle))
PASS(psp_create_any,
     (DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual, DAT_EVD_HANDLE evd_handle,
      DAT_PSP_FLAGS psp_flags, DAT_PSP_HANDLE *psp_handle),
     (ia_handle, conn_qual, evd_handle, psp_flags, psp_handle))
PASS(psp_query,
     (DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask, DAT_PSP_PARAM *psp_param),
     (psp_handle, psp_param_mask, psp_param))
PASS(psp_free, (DAT_PSP_HANDLE psp_handle), (psp_handle))
PASS(rsp_create,
     (DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
      DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle),
     (ia_handle, conn_qual, ep_handle, evd_handle, rsp_handle))
PASS(rsp_query,
     (DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask, DAT_RSP_PARAM *rsp_param),
     (rsp_handle, rsp_param_mask, rsp_param))
PASS(rsp_free, (DAT_RSP_HANDLE rsp_handle), (rsp_handle))
PASS(pz_create, (DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle), (ia_handle, pz_handle))
PASS(pz_query, (DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask, DAT_PZ_PARAM *pz_param),
     (pz_handle, pz_param_mask, pz_param))
PASS(pz_free, (DAT_PZ_HANDLE pz_handle), (pz_handle))
PASS(srq_create,
     (DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
      DAT_SRQ_HANDLE *srq_handle),
     (ia_handle, pz_handle, srq_attr, srq_handle))
PASS(srq_free, (DAT_SRQ_HANDLE srq_handle), (srq_handle))
PASS(srq_resize, (DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto),
     (srq_handle, srq_max_recv_dto))
PASS(srq_set_lw, (DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark), (srq_handle, low_watermark))
PASS(evd_modify_cno, (DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle),
     (evd_handle, cno_handle))
PASS(cno_create,
     (DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno_handle),
     (ia_handle, agent, cno_handle))
PASS(cno_modify_agent, (DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent),
     (cno_handle, agent))
PASS(cno_free, (DAT_CNO_HANDLE cno_handle), (cno_handle))
PASS(cno_wait, (DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle),
     (cno_handle, timeout, evd_handle))
PASS(evd_enable, (DAT_EVD_HANDLE evd_handle), (evd_handle))
PASS(evd_disable, (DAT_EVD_HANDLE evd_handle), (evd_handle))
PASS(evd_set_unwaitable, (DAT_EVD_HANDLE evd_handle), (evd_handle))
PASS(evd_clear_unwaitable, (DAT_EVD_HANDLE evd_handle), (evd_handle))
