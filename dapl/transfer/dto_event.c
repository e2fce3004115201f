/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions as events, but for the plain ones that dto.h makes inline. */
#include "dapl/transfer/dto.h"
#include "dapl/transfer/bind.h"
#include "dapl/transfer/srq.h"

/* ---- Receives ---- */

/* What a successful receive was, and what came with it (IBX-25, DTO-58). */
static DAT_EVENT_NUMBER odd_receive(const struct tp_wc *wc, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct dapl_ep *ep = dto->ep_handle;

	dto->rmr_context = wc->data;
	if (wc->flags & TP_WC_INVALIDATED) {
		dto->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		dapl_binder_invalidated(&ep->cold->binder, ep->obj.ia, wc->data);
		return DAT_DTO_COMPLETION_EVENT;
	}
	dto->operation = (DAT_DTOS)(wc->flags & TP_WC_WRITTEN ? DAT_IB_DTO_RECV_IMMED
							      : DAT_IB_DTO_RECV_MSG_IMMED);
	return DAPL_IB_DTO_EVENT;
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

static DAT_EVENT_NUMBER receive(const struct tp_wc *wc, struct dapl_ep *ep,
				DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	dto->ep_handle = ep;
	dto->operation = DAT_DTO_RECEIVE;
	dto->transfered_length = wc->byte_len;
	if (!wc->status && (wc->flags & DAPL_WC_ODD))
		return odd_receive(wc, dto);
	return DAT_DTO_COMPLETION_EVENT;
}

/* ---- Any completion ---- */

static void count_failure(const struct tp_wc *wc, struct dapl_ep *ep)
{
	atomic_fetch_add_explicit(wc->status == DAT_DTO_ERR_FLUSHED ? &ep->cold->flushed
								    : &ep->cold->failed,
				  1, memory_order_relaxed);
}

DAT_EVENT_NUMBER dapl_dto_fill_other(struct tp_wc wc, DAT_EVENT_DATA *data)
{
	struct dapl_slot *slot = dapl_slot_of(wc.wr_id);
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &data->dto_completion_event_data;
	DAT_EVENT_NUMBER number;

	if (wc.status)
		count_failure(&wc, dapl_dto_ep(&wc));
	if (slot->done.operation == DAPL_OP_BIND)
		return dapl_bind_event(&wc, slot, &data->rmr_completion_event_data);
	*dto = (DAT_DTO_COMPLETION_EVENT_DATA){ .user_cookie.as_64 = slot->done.user_cookie.as_64,
						.status = (DAT_DTO_COMPLETION_STATUS)wc.status };
	if (slot->done.operation == (DAT_DTOS)DAPL_OP_SRQ_RECEIVE) {
		number = receive(&wc, wc.qp_owner, dto);
		count(&wc, ((struct dapl_ep *)wc.qp_owner)->cold, false);
		dapl_srq_return(slot);
		return number;
	}
	if (slot->done.operation == DAT_DTO_RECEIVE) {
		number = receive(&wc, slot->done.ep_handle, dto);
		count(&wc, ((struct dapl_ep *)slot->done.ep_handle)->cold, true);
	} else {
		dto->ep_handle = slot->done.ep_handle;
		dto->operation = (DAT_DTOS)slot->done.operation;
		dto->transfered_length = slot->wr.length;
		number = DAPL_IB_DTO_EVENT;
	}
	dapl_slot_free(slot);
	return number;
}

static bool is_receive(DAT_DTOS operation)
{
	switch ((int)operation) {
	case DAT_DTO_RECEIVE:
	case DAT_DTO_RECEIVE_WITH_INVALIDATE:
	case DAT_IB_DTO_RECV_IMMED:
	case DAT_IB_DTO_RECV_MSG_IMMED:
		return true;
	default:
		return false;
	}
}

void dapl_dto_event(const struct tp_wc *wc, struct dapl_event *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->data.dto_completion_event_data;
	const struct dapl_slot *slot = dapl_slot_of(wc->wr_id);
	bool silent = slot->silent;
	const struct dapl_ep *ep;

	event->srq =
		slot->done.operation == (DAT_DTOS)DAPL_OP_SRQ_RECEIVE ? dapl_srq_hold(slot) : NULL;
	event->number = dapl_dto_fill(wc, &event->data);
	if (wc->status)
		silent = false; /* DTO-26 */
	else if (event->number != DAT_RMR_BIND_COMPLETION_EVENT && is_receive(dto->operation)) {
		ep = dto->ep_handle;
		if (ep->recv_mode == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			silent = !(wc->flags & TP_WC_SOLICITED);
	}
	event->silent = silent;
}

static DAT_IB_EXT_TYPE type_of(DAT_DTOS operation)
{
	switch ((int)operation) {
	case DAT_IB_DTO_FETCH_ADD:
		return DAT_IB_FETCH_AND_ADD;
	case DAT_IB_DTO_CMP_SWAP:
		return DAT_IB_CMP_AND_SWAP;
	case DAT_IB_DTO_RECV_IMMED:
		return DAT_IB_RDMA_WRITE_IMMED_DATA;
	case DAT_IB_DTO_RECV_MSG_IMMED:
		return DAT_IB_RECV_IMMED_DATA;
	default:
		return DAT_IB_RDMA_WRITE_IMMED;
	}
}

void dapl_dto_extension(DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	DAT_IB_EXTENSION_EVENT_DATA *ext =
		(DAT_IB_EXTENSION_EVENT_DATA *)&event->event_extension_data[0];

	ext->type = type_of(dto->operation);
	ext->status = dto->status ? DAT_IB_OP_ERR : DAT_OP_SUCCESS;
	ext->val.immed.data = dto->rmr_context; /* where it waited */
	dto->rmr_context = 0;
}
