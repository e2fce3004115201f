/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions as events, but for the plain successes that an EVD takes by itself. */
#include <assert.h>

#include "dapl/transfer/qp.h"
#include "dapl/object/ia.h"
#include "dapl/transfer/dto.h"
#include "dapl/transfer/operations.h"

#define same_status(tp, dat) static_assert((int)(tp) == (int)(dat), "completion status")
same_status(TP_WC_SUCCESS, DAT_DTO_SUCCESS);
same_status(TP_WC_FLUSHED, DAT_DTO_ERR_FLUSHED);
same_status(TP_WC_LOCAL_LENGTH, DAT_DTO_ERR_LOCAL_LENGTH);
same_status(TP_WC_LOCAL_EP, DAT_DTO_ERR_LOCAL_EP);
same_status(TP_WC_LOCAL_PROTECTION, DAT_DTO_ERR_LOCAL_PROTECTION);
same_status(TP_WC_BAD_RESPONSE, DAT_DTO_ERR_BAD_RESPONSE);
same_status(TP_WC_REMOTE_ACCESS, DAT_DTO_ERR_REMOTE_ACCESS);
same_status(TP_WC_REMOTE_RESPONDER, DAT_DTO_ERR_REMOTE_RESPONDER);
same_status(TP_WC_TRANSPORT, DAT_DTO_ERR_TRANSPORT);
same_status(TP_WC_RECEIVER_NOT_READY, DAT_DTO_ERR_RECEIVER_NOT_READY);
same_status(TP_WC_PARTIAL_PACKET, DAT_DTO_ERR_PARTIAL_PACKET);
same_status(TP_WC_BIND_FAILED, DAT_RMR_OPERATION_FAILED);

/* What makes a successful receive more than one. */
#define WC_EXTRA (TP_WC_IMMEDIATE | TP_WC_WRITTEN | TP_WC_INVALIDATED)

/* ---- Receives ---- */

/* What came with a successful receive (IBX-25, DTO-58). */
static void describe_extra(const struct tp_wc *wc, struct dapl_event *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->data.dto_completion_event_data;
	struct dapl_qp *qp = dto->ep_handle;

	if (wc->flags & TP_WC_INVALIDATED) {
		dto->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		dto->rmr_context = wc->data;
		dapl_binder_invalidated(&qp->cold->binder, qp->obj.ia, wc->data);
		return;
	}
	event->number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
	event->immediate = wc->data;
	dto->operation = (DAT_DTOS)(wc->flags & TP_WC_WRITTEN ? DAT_IB_DTO_RECV_IMMED
							      : DAT_IB_DTO_RECV_MSG_IMMED);
	event->extension = dapl_operation_event_type((uint32_t)dto->operation);
}

static void count_extended(struct dapl_qp_cold *cold, DAT_EP_COUNTERS counter, uint32_t bytes)
{
	uint64_t *value = &cold->recv_extended[counter - DCNT_EP_RECV_UD];

	value[0]++;
	value[1] += bytes;
}

/* own: posted to the EP, so that it is among those that were posted and are gone. */
static void count(const struct tp_wc *wc, struct dapl_qp_cold *cold, bool own)
{
	bool immediate = !wc->status && (wc->flags & (TP_WC_IMMEDIATE | TP_WC_WRITTEN));

	if (own && (wc->status || immediate))
		cold->recv_other++;
	if (wc->status)
		return;
	if (immediate) {
		count_extended(cold,
			       wc->flags & TP_WC_WRITTEN ? DCNT_EP_RECV_RDMA_IMM : DCNT_EP_RECV_IMM,
			       wc->byte_len);
		return;
	}
	if (!own)
		cold->recv_shared++;
	cold->recv_bytes += wc->byte_len;
}

static void receive(const struct tp_wc *wc, struct dapl_slot *slot, bool own,
		    struct dapl_event *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->data.dto_completion_event_data;
	struct dapl_qp *qp = dapl_completion_ep(wc);
	bool extra = !wc->status && (wc->flags & WC_EXTRA);

	dto->ep_handle = qp;
	dto->operation = DAT_DTO_RECEIVE;
	dto->transfered_length = wc->byte_len;
	if (extra)
		describe_extra(wc, event);
	if (own && !wc->status && !extra)
		slot->moved += wc->byte_len;
	else
		count(wc, qp->cold, own);
	if (!wc->status && qp->recv_stream == DAPL_STREAM_SOLICITED)
		event->silent = !(wc->flags & TP_WC_SOLICITED);
}

/* Its bytes begin behind the reserved ones, which count (IBX-25, IBX-83). */
static void receive_datagram(const struct tp_wc *wc, struct dapl_qp *qp, struct dapl_event *event)
{
	event->number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
	event->extension = DAT_IB_UD_RECV;
	event->immediate = 0;
	event->data.dto_completion_event_data.transfered_length = wc->byte_len;
	qp->cold->recv_other++;
	if (wc->status)
		return;
	count_extended(qp->cold, DCNT_EP_RECV_UD, wc->byte_len);
	if (qp->recv_stream == DAPL_STREAM_SOLICITED)
		event->silent = !(wc->flags & TP_WC_SOLICITED);
}

/* ---- Binds ---- */

/* Gives the slot back, too: what the bind did to its region counts from here on. */
static void complete_bind(const struct tp_wc *wc, struct dapl_slot *slot, struct dapl_event *event)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data = &event->data.rmr_completion_event_data;
	struct dapl_qp *qp = slot->done.ep_handle;
	struct dapl_bind *bind = slot->bind;

	event->number = DAT_RMR_BIND_COMPLETION_EVENT;
	data->user_cookie.as_64 = slot->done.user_cookie.as_64;
	data->status = (DAT_DTO_COMPLETION_STATUS)wc->status;
	if (wc->status && wc->status != TP_WC_FLUSHED)
		data->status = DAT_RMR_OPERATION_FAILED; /* EVT-17 */
	dapl_lock(&qp->obj.ia->bind_lock);
	data->rmr_handle = bind->handle;
	dapl_slot_free(slot);
	dapl_bind_completed(bind, wc->status);
	dapl_unlock(&qp->obj.ia->bind_lock);
}

/* ---- Any completion ---- */

static void begin(const struct tp_wc *wc, const struct dapl_slot *slot, struct dapl_event *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->data.dto_completion_event_data;
	struct dapl_qp *qp = dapl_completion_ep(wc);

	event->number = DAT_DTO_COMPLETION_EVENT;
	event->silent = slot->silent && !wc->status; /* DTO-26 */
	event->leave = NULL;
	*dto = slot->done;
	dto->status = (DAT_DTO_COMPLETION_STATUS)wc->status;
	if (wc->status)
		atomic_fetch_add_explicit(wc->status == TP_WC_FLUSHED ? &qp->cold->flushed
								      : &qp->cold->failed,
					  1, memory_order_relaxed);
}

void dapl_dto_complete_shared(const struct tp_wc *wc, struct dapl_event *event)
{
	struct dapl_slot *slot = dapl_slot_of(wc->wr_id);

	begin(wc, slot, event);
	receive(wc, slot, false, event);
}

void dapl_dto_complete(const struct tp_wc *wc, struct dapl_event *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->data.dto_completion_event_data;
	struct dapl_slot *slot = dapl_slot_of(wc->wr_id);

	begin(wc, slot, event);
	switch ((int)slot->done.operation) {
	case DAPL_OP_BIND:
		complete_bind(wc, slot, event);
		return;
	case DAT_DTO_RECEIVE:
		receive(wc, slot, true, event);
		break;
	case DAT_IB_DTO_RECV_UD:
		receive_datagram(wc, slot->done.ep_handle, event);
		break;
	default:
		dto->transfered_length = slot->wr.length;
		if (slot->done.operation > DAT_DTO_RECEIVE) {
			event->number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
			event->extension =
				dapl_operation_event_type((uint32_t)slot->done.operation);
			event->immediate = 0;
		}
	}
	dapl_slot_free(slot);
}
