/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/unsupported.h"

#include "dapl/ep.h"
#include "dapl/ia.h"
#include "dapl/status.h"

static DAT_RETURN no_model_on_ia(DAT_IA_HANDLE ia)
{
	return dapl_ia_get(ia) ? DAPL_NO_MODEL : DAPL_BAD_HANDLE(IA);
}

/* EP-54, SRQ-2 */
DAT_RETURN dapl_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				   DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
				   DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	(void)pz;
	(void)recv_evd;
	(void)request_evd;
	(void)connect_evd;
	(void)srq;
	(void)attr;
	(void)ep;
	return no_model_on_ia(ia);
}

/* SRQ-43, SRQ-44: only "off" is supported, which is how it always is. */
DAT_RETURN dapl_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
	if (!dapl_ep_get(ep))
		return DAPL_BAD_HANDLE(EP);
	if (soft < DAT_WATERMARK_INFINITE)
		return DAPL_BAD_ARG(2);
	if (hard < DAT_WATERMARK_INFINITE)
		return DAPL_BAD_ARG(3);
	return soft == DAT_WATERMARK_INFINITE && hard == DAT_WATERMARK_INFINITE ? DAT_SUCCESS
										: DAPL_NO_MODEL;
}

/* SRQ-2 */
DAT_RETURN dapl_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *srq)
{
	(void)pz;
	(void)attr;
	(void)srq;
	return no_model_on_ia(ia);
}

DAT_RETURN dapl_srq_free(DAT_SRQ_HANDLE srq)
{
	(void)srq;
	return DAPL_BAD_HANDLE(SRQ);
}

DAT_RETURN dapl_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT num_segments,
			      DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	(void)srq;
	(void)num_segments;
	(void)local_iov;
	(void)user_cookie;
	return DAPL_BAD_HANDLE(SRQ);
}

DAT_RETURN dapl_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	(void)srq;
	(void)mask;
	(void)param;
	return DAPL_BAD_HANDLE(SRQ);
}

DAT_RETURN dapl_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT num)
{
	(void)srq;
	(void)num;
	return DAPL_BAD_HANDLE(SRQ);
}

DAT_RETURN dapl_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark)
{
	(void)srq;
	(void)low_watermark;
	return DAPL_BAD_HANDLE(SRQ);
}
