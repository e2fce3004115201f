/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/adapter/upcalls.h"

#include "dapl/connect/connect.h"
#include "dapl/connect/sp.h"
#include "dapl/endpoint/ep_ud.h"
#include "dapl/event/async.h"
#include "dapl/object/code_names.h"
#include "dapl/transfer/srq.h"
#include "trace/log.h"

static void async_error(void *device_owner, enum tp_async_event event, void *object)
{
	struct dapl_ia *ia = device_owner;

	dapl_trace_limited(async_event, DAPL_TRC_ERROR, object, "ia=%p event=%s", (void *)ia,
			   dapl_async_event_name(event));
	switch (event) {
	case TP_ASYNC_QP_ERROR:
		dapl_async_error(ia, DAT_ASYNC_ERROR_EP_BROKEN, object, DAT_EP_TRANSFER_TO_ERROR);
		break;
	case TP_ASYNC_CQ_OVERFLOW:
		dapl_evd_overflow(object);
		break;
	case TP_ASYNC_SRQ_ERROR:
		dapl_srq_failed(object);
		dapl_async_error(ia, DAT_ASYNC_ERROR_EP_BROKEN, object, DAT_SRQ_TRANSFER_TO_ERROR);
		break;
	case TP_ASYNC_DEVICE_FATAL:
		dapl_internal_error("the device failed");
		dapl_async_error(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, dapl_ia_handle(ia),
				 DAT_IA_CATASTROPHIC_ERROR);
		break;
	case TP_ASYNC_DEVICE_OTHER:
		dapl_async_error(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, dapl_ia_handle(ia),
				 DAT_IA_OTHER_ERROR);
		break;
	default:
		break;
	}
}

static void async_event(void *device_owner, enum tp_async_event event, void *object)
{
	if (event == TP_ASYNC_QP_RECV_LIMIT)
		dapl_async_watermark(device_owner, object, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	else if (event == TP_ASYNC_SRQ_LIMIT)
		dapl_async_watermark(device_owner, object, DAT_SRQ_LOW_WATERMARK_EVENT);
	else
		async_error(device_owner, event, object);
}

static void conn_addr(void *owner)
{
	dapl_ep_learn_addr(owner);
}

const struct tp_upcalls dapl_upcalls = {
	.conn_request = dapl_sp_request,
	.listener_over = dapl_sp_over,
	.conn_event = dapl_ep_conn_event,
	.ud_event = dapl_ud_event,
	.conn_addr = conn_addr,
	.cq_event = dapl_evd_cq_event,
	.async = async_event,
};
