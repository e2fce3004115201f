/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every call that libdat2 passes on: X(name of call and slot, kind of the first argument,
 * arguments). The first argument is h; the others are as empty as their types allow.
 */
#ifndef TEST_DAT_CALLS_H
#define TEST_DAT_CALLS_H

/* clang-format off */
#define DAT_CALLS(X) \
	X(ia_query, IA, (h, NULL, 0, NULL, 0, NULL)) \
	X(set_consumer_context, ANY, (h, no_context)) \
	X(get_consumer_context, ANY, (h, NULL)) \
	X(get_handle_type, ANY, (h, NULL)) \
	X(cr_query, CR, (h, 0, NULL)) \
	X(cr_accept, CR, (h, NULL, 0, NULL)) \
	X(cr_reject, CR, (h, 0, NULL)) \
	X(cr_handoff, CR, (h, 0)) \
	X(evd_resize, EVD, (h, 0)) \
	X(evd_post_se, EVD, (h, NULL)) \
	X(evd_dequeue, EVD, (h, NULL)) \
	X(evd_query, EVD, (h, 0, NULL)) \
	X(evd_free, EVD, (h)) \
	X(evd_create, IA, (h, 0, NULL, 0, NULL)) \
	X(evd_modify_cno, EVD, (h, NULL)) \
	X(evd_enable, EVD, (h)) \
	X(evd_wait, EVD, (h, 0, 0, NULL, NULL)) \
	X(evd_disable, EVD, (h)) \
	X(evd_set_unwaitable, EVD, (h)) \
	X(evd_clear_unwaitable, EVD, (h)) \
	X(cno_create, IA, (h, no_agent, NULL)) \
	X(cno_modify_agent, CNO, (h, no_agent)) \
	X(cno_query, CNO, (h, 0, NULL)) \
	X(cno_free, CNO, (h)) \
	X(cno_wait, CNO, (h, 0, NULL)) \
	X(cno_fd_create, IA, (h, NULL, NULL)) \
	X(cno_trigger, CNO, (h, NULL)) \
	X(ep_create, IA, (h, NULL, NULL, NULL, NULL, NULL, NULL)) \
	X(ep_query, EP, (h, 0, NULL)) \
	X(ep_modify, EP, (h, 0, NULL)) \
	X(ep_connect, EP, (h, NULL, 0, 0, 0, NULL, 0, 0)) \
	X(ep_dup_connect, EP, (h, NULL, 0, 0, NULL, 0)) \
	X(ep_common_connect, EP, (h, NULL, 0, 0, NULL)) \
	X(ep_disconnect, EP, (h, 0)) \
	X(ep_post_send, EP, (h, 0, NULL, no_cookie, 0)) \
	X(ep_post_send_with_invalidate, EP, (h, 0, NULL, no_cookie, 0, 0, 0)) \
	X(ep_post_recv, EP, (h, 0, NULL, no_cookie, 0)) \
	X(ep_post_rdma_read, EP, (h, 0, NULL, no_cookie, NULL, 0)) \
	X(ep_post_rdma_read_to_rmr, EP, (h, NULL, no_cookie, NULL, 0)) \
	X(ep_post_rdma_write, EP, (h, 0, NULL, no_cookie, NULL, 0)) \
	X(ep_get_status, EP, (h, NULL, NULL, NULL)) \
	X(ep_free, EP, (h)) \
	X(ep_reset, EP, (h)) \
	X(ep_create_with_srq, IA, (h, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) \
	X(ep_recv_query, EP, (h, NULL, NULL)) \
	X(ep_set_watermark, EP, (h, 0, 0)) \
	X(lmr_free, LMR, (h)) \
	X(lmr_sync_rdma_read, IA, (h, NULL, 0)) \
	X(lmr_sync_rdma_write, IA, (h, NULL, 0)) \
	X(lmr_create, IA, (h, 0, no_region, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL)) \
	X(lmr_query, LMR, (h, 0, NULL)) \
	X(rmr_create, PZ, (h, NULL)) \
	X(rmr_create_for_ep, PZ, (h, NULL)) \
	X(rmr_query, RMR, (h, 0, NULL)) \
	X(rmr_bind, RMR, (h, NULL, NULL, 0, 0, NULL, no_cookie, 0, NULL)) \
	X(rmr_free, RMR, (h)) \
	X(psp_create, IA, (h, 0, NULL, 0, NULL)) \
	X(psp_create_any, IA, (h, NULL, NULL, 0, NULL)) \
	X(psp_query, PSP, (h, 0, NULL)) \
	X(psp_free, PSP, (h)) \
	X(rsp_create, IA, (h, 0, NULL, NULL, NULL)) \
	X(rsp_query, RSP, (h, 0, NULL)) \
	X(rsp_free, RSP, (h)) \
	X(csp_create, IA, (h, NULL, NULL, NULL, NULL)) \
	X(csp_query, CSP, (h, 0, NULL)) \
	X(csp_free, CSP, (h)) \
	X(pz_create, IA, (h, NULL)) \
	X(pz_query, PZ, (h, 0, NULL)) \
	X(pz_free, PZ, (h)) \
	X(srq_create, IA, (h, NULL, NULL, NULL)) \
	X(srq_free, SRQ, (h)) \
	X(srq_post_recv, SRQ, (h, 0, NULL, no_cookie)) \
	X(srq_query, SRQ, (h, 0, NULL)) \
	X(srq_resize, SRQ, (h, 0)) \
	X(srq_set_lw, SRQ, (h, 0))
/* clang-format on */

#endif
