/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file udat_redirection.h
 * Macros for the calls that only programs have.
 */
#ifndef DAT_1_2_UDAT_REDIRECTION_H
#define DAT_1_2_UDAT_REDIRECTION_H

#include "dat_redirection.h"

#define DAT_CNO_CREATE(ia, proxy, cno) \
	(*DAT_HANDLE_TO_PROVIDER(ia)->cno_create_func)((ia), (proxy), (cno))

#define DAT_CNO_FREE(cno) (*DAT_HANDLE_TO_PROVIDER(cno)->cno_free_func)((cno))

#define DAT_CNO_MODIFY_AGENT(cno, proxy) \
	(*DAT_HANDLE_TO_PROVIDER(cno)->cno_modify_agent_func)((cno), (proxy))

#define DAT_CNO_QUERY(cno, mask, param) \
	(*DAT_HANDLE_TO_PROVIDER(cno)->cno_query_func)((cno), (mask), (param))

#define DAT_CNO_WAIT(cno, timeout, evd) \
	(*DAT_HANDLE_TO_PROVIDER(cno)->cno_wait_func)((cno), (timeout), (evd))

#define DAT_EVD_CLEAR_UNWAITABLE(evd) \
	(*DAT_HANDLE_TO_PROVIDER(evd)->evd_clear_unwaitable_func)((evd))

#define DAT_EVD_CREATE(ia, qlen, cno, flags, handle) \
	(*DAT_HANDLE_TO_PROVIDER(ia)->evd_create_func)((ia), (qlen), (cno), (flags), (handle))

#define DAT_EVD_DISABLE(evd) (*DAT_HANDLE_TO_PROVIDER(evd)->evd_disable_func)((evd))

#define DAT_EVD_ENABLE(evd) (*DAT_HANDLE_TO_PROVIDER(evd)->evd_enable_func)((evd))

#define DAT_EVD_MODIFY_CNO(evd, cno) \
	(*DAT_HANDLE_TO_PROVIDER(evd)->evd_modify_cno_func)((evd), (cno))

#define DAT_EVD_SET_UNWAITABLE(evd) (*DAT_HANDLE_TO_PROVIDER(evd)->evd_set_unwaitable_func)((evd))

#define DAT_EVD_WAIT(evd, timeout, threshold, event, nmore)                                   \
	(*DAT_HANDLE_TO_PROVIDER(evd)->evd_wait_func)((evd), (timeout), (threshold), (event), \
						      (nmore))

#define DAT_LMR_CREATE(ia, mem_type, reg_desc, len, pz, priv, lmr, lmr_context, rmr_context,      \
		       reg_len, reg_addr)                                                         \
	(*DAT_HANDLE_TO_PROVIDER(ia)->lmr_create_func)((ia), (mem_type), (reg_desc), (len), (pz), \
						       (priv), (lmr), (lmr_context),              \
						       (rmr_context), (reg_len), (reg_addr))

#endif /* DAT_1_2_UDAT_REDIRECTION_H */
