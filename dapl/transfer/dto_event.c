/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions as events, but for the plain successes that an EVD takes by itself. */
#include "dapl/transfer/bind.h"
#include "dapl/transfer/dto.h"

/* What makes a successful receive more than one. */
#define WC_EXTRA (TP_WC_IMMEDIATE | TP_WC_WRITTEN | TP_WC_INVALIDATED)

/* ---- Receives ---- */

/* What came with a successful receive (IBX-25, DTO-58). */
static void describe_extra(const struct tp_wc *wc, struct dapl_event *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->data.dto_completion_event_data;
	struct dapl_ep *ep = dto->ep_handle;

	if (wc->flags & TP_WC_INVALIDATED) {
		dto->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		dto->rmr_context = wc->data;
		dapl_binder_invalidated(&ep->cold->binder, ep->obj.ia, wc->data);
		return;
	}
	event->number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
	event->immediate = wc->data;
	if (wc->flags & TP_WC_WRITTEN) {
		dto->operation = (DAT_DTOS)DAT_IB_DTO_RECV_IMMED;
		event->extension = DAT_IB_RDMA_WRITE_IMMED_DATA;
	} else {
		dto->operation = (DAT_DTOS)DAT_IB_DTO_RECV_MSG_IMMED;
		event->extension = DAT_IB_RECV_IMMED_DATA;
	}
}

/* own: posted to the EP, so that it is among those that were posted and are gone. */
static void count(const struct tp_wc *wc, struct dapl_ep_cold *cold, bool own)
{
	bool immediate = !wc->status && (wc->flags & (TP_WC_IMMEDIATE | TP_WC_WRITTEN));
	uint64_t *counter = &cold->recv_imm[wc->flags & TP_WC_WRITTEN ? 2 : 0];

	if (own && (wc->status || immediate))
		cold->recv_other++;
	if (wc->status)
		return;
	if (immediate) {
		counter[0]++;
		counter[1] += wc->byte_len;
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
	struct dapl_ep *ep = dapl_completion_ep(wc);
	bool extra = !wc->status && (wc->flags & WC_EXTRA);

	dto->ep_handle = ep;
	dto->operation = DAT_DTO_RECEIVE;
	dto->transfered_length = wc->byte_len;
	if (extra)
		describe_extra(wc, event);
	if (own && !wc->status && !extra)
		slot->moved += wc->byte_len;
	else
		count(wc, ep->cold, own);
	if (!wc->status && ep->recv_mode == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		event->silent = !(wc->flags & TP_WC_SOLICITED);
}

/* ---- Any completion ---- */

static void begin(const struct tp_wc *wc, const struct dapl_slot *slot, struct dapl_event *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->data.dto_completion_event_data;
	struct dapl_ep *ep = dapl_completion_ep(wc);

	event->number = DAT_DTO_COMPLETION_EVENT;
	event->silent = slot->silent && !wc->status; /* DTO-26 */
	event->leave = NULL;
	*dto = slot->done;
	dto->status = (DAT_DTO_COMPLETION_STATUS)wc->status;
	if (wc->status)
		atomic_fetch_add_explicit(wc->status == TP_WC_FLUSHED ? &ep->cold->flushed
								      : &ep->cold->failed,
					  1, memory_order_relaxed);
}

void dapl_dto_complete_shared(const struct tp_wc *wc, struct dapl_event *event)
{
	struct dapl_slot *slot = dapl_slot_of(wc->wr_id);

	begin(wc, slot, event);
	receive(wc, slot, false, event);
}

static DAT_IB_EXT_TYPE extension_of(DAT_DTOS operation)
{
	switch ((int)operation) {
	case DAT_IB_DTO_FETCH_ADD:
		return DAT_IB_FETCH_AND_ADD;
	case DAT_IB_DTO_CMP_SWAP:
		return DAT_IB_CMP_AND_SWAP;
	default:
		return DAT_IB_RDMA_WRITE_IMMED;
	}
}

void dapl_dto_complete(const struct tp_wc *wc, struct dapl_event *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->data.dto_completion_event_data;
	struct dapl_slot *slot = dapl_slot_of(wc->wr_id);

	begin(wc, slot, event);
	switch ((int)slot->done.operation) {
	case DAPL_OP_BIND:
		event->number = dapl_bind_event(wc, slot, &event->data.rmr_completion_event_data);
		return;
	case DAT_DTO_RECEIVE:
		receive(wc, slot, true, event);
		break;
	default:
		dto->transfered_length = slot->wr.length;
		if (slot->done.operation > DAT_DTO_RECEIVE) {
			event->number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
			event->extension = extension_of(slot->done.operation);
			event->immediate = 0;
		}
	}
	dapl_slot_free(slot);
}
