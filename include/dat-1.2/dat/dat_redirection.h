/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_redirection.h
 * The dispatch table of a DAT 1.2 provider, and macros that call through it. No such provider is run.
 */
#ifndef DAT_1_2_DAT_REDIRECTION_H
#define DAT_1_2_DAT_REDIRECTION_H

#include "dat_redirection_types.h"

/** Dispatch table of a provider. */
typedef struct dat_provider {
	const char *device_name;
	DAT_PVOID extension;
	DAT_IA_OPEN_FUNC ia_open_func;
	DAT_IA_QUERY_FUNC ia_query_func;
	DAT_IA_CLOSE_FUNC ia_close_func;
	DAT_SET_CONSUMER_CONTEXT_FUNC set_consumer_context_func;
	DAT_GET_CONSUMER_CONTEXT_FUNC get_consumer_context_func;
	DAT_GET_HANDLE_TYPE_FUNC get_handle_type_func;
	DAT_CNO_CREATE_FUNC cno_create_func;
	DAT_CNO_MODIFY_AGENT_FUNC cno_modify_agent_func;
	DAT_CNO_QUERY_FUNC cno_query_func;
	DAT_CNO_FREE_FUNC cno_free_func;
	DAT_CNO_WAIT_FUNC cno_wait_func;
	DAT_CR_QUERY_FUNC cr_query_func;
	DAT_CR_ACCEPT_FUNC cr_accept_func;
	DAT_CR_REJECT_FUNC cr_reject_func;
	DAT_CR_HANDOFF_FUNC cr_handoff_func;
	DAT_EVD_CREATE_FUNC evd_create_func;
	DAT_EVD_QUERY_FUNC evd_query_func;
	DAT_EVD_MODIFY_CNO_FUNC evd_modify_cno_func;
	DAT_EVD_ENABLE_FUNC evd_enable_func;
	DAT_EVD_DISABLE_FUNC evd_disable_func;
	DAT_EVD_WAIT_FUNC evd_wait_func;
	DAT_EVD_RESIZE_FUNC evd_resize_func;
	DAT_EVD_POST_SE_FUNC evd_post_se_func;
	DAT_EVD_DEQUEUE_FUNC evd_dequeue_func;
	DAT_EVD_FREE_FUNC evd_free_func;
	DAT_EP_CREATE_FUNC ep_create_func;
	DAT_EP_QUERY_FUNC ep_query_func;
	DAT_EP_MODIFY_FUNC ep_modify_func;
	DAT_EP_CONNECT_FUNC ep_connect_func;
	DAT_EP_DUP_CONNECT_FUNC ep_dup_connect_func;
	DAT_EP_DISCONNECT_FUNC ep_disconnect_func;
	DAT_EP_POST_SEND_FUNC ep_post_send_func;
	DAT_EP_POST_RECV_FUNC ep_post_recv_func;
	DAT_EP_POST_RDMA_READ_FUNC ep_post_rdma_read_func;
	DAT_EP_POST_RDMA_WRITE_FUNC ep_post_rdma_write_func;
	DAT_EP_GET_STATUS_FUNC ep_get_status_func;
	DAT_EP_FREE_FUNC ep_free_func;
	DAT_LMR_CREATE_FUNC lmr_create_func;
	DAT_LMR_QUERY_FUNC lmr_query_func;
	DAT_LMR_FREE_FUNC lmr_free_func;
	DAT_RMR_CREATE_FUNC rmr_create_func;
	DAT_RMR_QUERY_FUNC rmr_query_func;
	DAT_RMR_BIND_FUNC rmr_bind_func;
	DAT_RMR_FREE_FUNC rmr_free_func;
	DAT_PSP_CREATE_FUNC psp_create_func;
	DAT_PSP_QUERY_FUNC psp_query_func;
	DAT_PSP_FREE_FUNC psp_free_func;
	DAT_RSP_CREATE_FUNC rsp_create_func;
	DAT_RSP_QUERY_FUNC rsp_query_func;
	DAT_RSP_FREE_FUNC rsp_free_func;
	DAT_PZ_CREATE_FUNC pz_create_func;
	DAT_PZ_QUERY_FUNC pz_query_func;
	DAT_PZ_FREE_FUNC pz_free_func;
	DAT_PSP_CREATE_ANY_FUNC psp_create_any_func;
	DAT_EP_RESET_FUNC ep_reset_func;
	DAT_EVD_SET_UNWAITABLE_FUNC evd_set_unwaitable_func;
	DAT_EVD_CLEAR_UNWAITABLE_FUNC evd_clear_unwaitable_func;
	DAT_LMR_SYNC_RDMA_READ_FUNC lmr_sync_rdma_read_func;
	DAT_LMR_SYNC_RDMA_WRITE_FUNC lmr_sync_rdma_write_func;
	DAT_EP_CREATE_WITH_SRQ_FUNC ep_create_with_srq_func;
	DAT_EP_RECV_QUERY_FUNC ep_recv_query_func;
	DAT_EP_SET_WATERMARK_FUNC ep_set_watermark_func;
	DAT_SRQ_CREATE_FUNC srq_create_func;
	DAT_SRQ_FREE_FUNC srq_free_func;
	DAT_SRQ_POST_RECV_FUNC srq_post_recv_func;
	DAT_SRQ_QUERY_FUNC srq_query_func;
	DAT_SRQ_RESIZE_FUNC srq_resize_func;
	DAT_SRQ_SET_LW_FUNC srq_set_lw_func;
} DAT_PROVIDER;

/** The table of an object: its first word. */
#define DAT_HANDLE_TO_PROVIDER(handle) (*(DAT_PROVIDER **)(handle))

#define DAT_CR_ACCEPT(cr, ep, size, pdata) \
	(*DAT_HANDLE_TO_PROVIDER(cr)->cr_accept_func)((cr), (ep), (size), (pdata))

#define DAT_CR_HANDOFF(cr, qual) (*DAT_HANDLE_TO_PROVIDER(cr)->cr_handoff_func)((cr), (qual))

#define DAT_CR_QUERY(cr, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(cr)->cr_query_func)((cr), (mask), (param))

#define DAT_CR_REJECT(cr) (*DAT_HANDLE_TO_PROVIDER(cr)->cr_reject_func)((cr))

#define DAT_EP_CONNECT(ep, ia_addr, conn_qual, timeout, psize, pdata, qos, flags)               \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_connect_func)((ep), (ia_addr), (conn_qual), (timeout), \
						       (psize), (pdata), (qos), (flags))

#define DAT_EP_CREATE(ia, pz, in_evd, out_evd, connect_evd, attr, ep)                  \
	(*DAT_HANDLE_TO_PROVIDER(ia)->ep_create_func)((ia), (pz), (in_evd), (out_evd), \
						      (connect_evd), (attr), (ep))

#define DAT_EP_CREATE_WITH_SRQ(ia, pz, in_evd, out_evd, connect_evd, srq, attr, ep)             \
	(*DAT_HANDLE_TO_PROVIDER(ia)->ep_create_with_srq_func)((ia), (pz), (in_evd), (out_evd), \
							       (connect_evd), (srq), (attr), (ep))

#define DAT_EP_DISCONNECT(ep, flags) \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_disconnect_func)((ep), (flags))

#define DAT_EP_DUP_CONNECT(ep, dup, timeout, psize, pdata, qos)                             \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_dup_connect_func)((ep), (dup), (timeout), (psize), \
							   (pdata), (qos))

#define DAT_EP_FREE(ep) (*DAT_HANDLE_TO_PROVIDER(ep)->ep_free_func)((ep))

#define DAT_EP_GET_STATUS(ep, ep_state, recv_idle, request_idle)                         \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_get_status_func)((ep), (ep_state), (recv_idle), \
							  (request_idle))

#define DAT_EP_MODIFY(ep, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_modify_func)((ep), (mask), (param))

#define DAT_EP_POST_RDMA_READ(ep, size, lbuf, cookie, rbuf, flags)                            \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_post_rdma_read_func)((ep), (size), (lbuf), (cookie), \
							      (rbuf), (flags))

#define DAT_EP_POST_RDMA_WRITE(ep, size, lbuf, cookie, rbuf, flags)                            \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_post_rdma_write_func)((ep), (size), (lbuf), (cookie), \
							       (rbuf), (flags))

#define DAT_EP_POST_RECV(ep, size, lbuf, cookie, flags) \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_post_recv_func)((ep), (size), (lbuf), (cookie), (flags))

#define DAT_EP_POST_SEND(ep, size, lbuf, cookie, flags) \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_post_send_func)((ep), (size), (lbuf), (cookie), (flags))

#define DAT_EP_QUERY(ep, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_query_func)((ep), (mask), (param))

#define DAT_EP_RECV_QUERY(ep, nbuf_alloc, buf_span) \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_recv_query_func)((ep), (nbuf_alloc), (buf_span))

#define DAT_EP_RESET(ep) (*DAT_HANDLE_TO_PROVIDER(ep)->ep_reset_func)((ep))

#define DAT_EP_SET_WATERMARK(ep, soft_wm, hard_wm) \
	(*DAT_HANDLE_TO_PROVIDER(ep)->ep_set_watermark_func)((ep), (soft_wm), (hard_wm))

#define DAT_EVD_DEQUEUE(evd, event) (*DAT_HANDLE_TO_PROVIDER(evd)->evd_dequeue_func)((evd), (event))

#define DAT_EVD_FREE(evd) (*DAT_HANDLE_TO_PROVIDER(evd)->evd_free_func)((evd))

#define DAT_EVD_POST_SE(evd, event) (*DAT_HANDLE_TO_PROVIDER(evd)->evd_post_se_func)((evd), (event))

#define DAT_EVD_QUERY(evd, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(evd)->evd_query_func)((evd), (mask), (param))

#define DAT_EVD_RESIZE(evd, qsize) (*DAT_HANDLE_TO_PROVIDER(evd)->evd_resize_func)((evd), (qsize))

#define DAT_GET_CONSUMER_CONTEXT(handle, context) \
	(*DAT_HANDLE_TO_PROVIDER(handle)->get_consumer_context_func)((handle), (context))

#define DAT_GET_HANDLE_TYPE(handle, handle_type) \
	(*DAT_HANDLE_TO_PROVIDER(handle)->get_handle_type_func)((handle), (handle_type))

#define DAT_IA_QUERY(ia, evd, ia_msk, ia_ptr, p_msk, p_ptr)                                    \
	(*DAT_HANDLE_TO_PROVIDER(ia)->ia_query_func)((ia), (evd), (ia_msk), (ia_ptr), (p_msk), \
						     (p_ptr))

#define DAT_LMR_FREE(lmr) (*DAT_HANDLE_TO_PROVIDER(lmr)->lmr_free_func)((lmr))

#define DAT_LMR_QUERY(lmr, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(lmr)->lmr_query_func)((lmr), (mask), (param))

#define DAT_LMR_SYNC_RDMA_READ(ia, lbuf, size) \
	(*DAT_HANDLE_TO_PROVIDER(ia)->lmr_sync_rdma_read_func)((ia), (lbuf), (size))

#define DAT_LMR_SYNC_RDMA_WRITE(ia, lbuf, size) \
	(*DAT_HANDLE_TO_PROVIDER(ia)->lmr_sync_rdma_write_func)((ia), (lbuf), (size))

#define DAT_PSP_CREATE(ia, conn_qual, evd, flags, handle) \
	(*DAT_HANDLE_TO_PROVIDER(ia)->psp_create_func)((ia), (conn_qual), (evd), (flags), (handle))

#define DAT_PSP_CREATE_ANY(ia, conn_qual, evd, flags, handle)                                 \
	(*DAT_HANDLE_TO_PROVIDER(ia)->psp_create_any_func)((ia), (conn_qual), (evd), (flags), \
							   (handle))

#define DAT_PSP_FREE(psp) (*DAT_HANDLE_TO_PROVIDER(psp)->psp_free_func)((psp))

#define DAT_PSP_QUERY(psp, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(psp)->psp_query_func)((psp), (mask), (param))

#define DAT_PZ_CREATE(ia, pz) (*DAT_HANDLE_TO_PROVIDER(ia)->pz_create_func)((ia), (pz))

#define DAT_PZ_FREE(pz) (*DAT_HANDLE_TO_PROVIDER(pz)->pz_free_func)((pz))

#define DAT_PZ_QUERY(pz, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(pz)->pz_query_func)((pz), (mask), (param))

#define DAT_RMR_BIND(rmr, lmr, mem_priv, ep, cookie, flags, context)                            \
	(*DAT_HANDLE_TO_PROVIDER(rmr)->rmr_bind_func)((rmr), (lmr), (mem_priv), (ep), (cookie), \
						      (flags), (context))

#define DAT_RMR_CREATE(pz, rmr) (*DAT_HANDLE_TO_PROVIDER(pz)->rmr_create_func)((pz), (rmr))

#define DAT_RMR_FREE(rmr) (*DAT_HANDLE_TO_PROVIDER(rmr)->rmr_free_func)((rmr))

#define DAT_RMR_QUERY(rmr, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(rmr)->rmr_query_func)((rmr), (mask), (param))

#define DAT_RSP_CREATE(ia, conn_qual, ep, evd, handle) \
	(*DAT_HANDLE_TO_PROVIDER(ia)->rsp_create_func)((ia), (conn_qual), (ep), (evd), (handle))

#define DAT_RSP_FREE(rsp) (*DAT_HANDLE_TO_PROVIDER(rsp)->rsp_free_func)((rsp))

#define DAT_RSP_QUERY(rsp, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(rsp)->rsp_query_func)((rsp), (mask), (param))

#define DAT_SET_CONSUMER_CONTEXT(handle, context) \
	(*DAT_HANDLE_TO_PROVIDER(handle)->set_consumer_context_func)((handle), (context))

#define DAT_SRQ_CREATE(ia, pz, attr, srq) \
	(*DAT_HANDLE_TO_PROVIDER(ia)->srq_create_func)((ia), (pz), (attr), (srq))

#define DAT_SRQ_FREE(srq) (*DAT_HANDLE_TO_PROVIDER(srq)->srq_free_func)((srq))

#define DAT_SRQ_POST_RECV(srq, size, lbuf, cookie) \
	(*DAT_HANDLE_TO_PROVIDER(srq)->srq_post_recv_func)((srq), (size), (lbuf), (cookie))

#define DAT_SRQ_QUERY(srq, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(srq)->srq_query_func)((srq), (mask), (param))

#define DAT_SRQ_RESIZE(srq, qsize) (*DAT_HANDLE_TO_PROVIDER(srq)->srq_resize_func)((srq), (qsize))

#define DAT_SRQ_SET_LW(srq, lw) (*DAT_HANDLE_TO_PROVIDER(srq)->srq_set_lw_func)((srq), (lw))

#endif /* DAT_1_2_DAT_REDIRECTION_H */
