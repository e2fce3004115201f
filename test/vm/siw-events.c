/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What siw-peer tells of its device and connections. */

#include "test/vm/siw-peer.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* ---- Events ---- */

/* Takes over what the connection manager has to tell. */
static void collect_notes(void)
{
	struct rdma_cm_event *event;
	struct note *note;

	while (num_notes < MAX_NOTES && readable(ep_channel->fd, 0) &&
	       !rdma_get_cm_event(ep_channel, &event)) {
		if (event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			note = &notes[(first_note + num_notes++) % MAX_NOTES];
			note->ep = event->id->context;
			note->kind = event->event;
			note->status = event->status;
			note->length = event->param.conn.private_data_len;
			if (note->length)
				memcpy(note->data, event->param.conn.private_data, note->length);
		}
		rdma_ack_cm_event(event);
	}
}

static const char *event_name(enum rdma_cm_event_type kind)
{
	switch (kind) {
	case RDMA_CM_EVENT_ESTABLISHED:
		return "DAT_CONNECTION_EVENT_ESTABLISHED";
	case RDMA_CM_EVENT_REJECTED:
		return "DAT_CONNECTION_EVENT_PEER_REJECTED";
	case RDMA_CM_EVENT_UNREACHABLE:
		return "DAT_CONNECTION_EVENT_UNREACHABLE";
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return "DAT_CONNECTION_EVENT_NON_PEER_REJECTED";
	case RDMA_CM_EVENT_DISCONNECTED:
		return "DAT_CONNECTION_EVENT_DISCONNECTED";
	default:
		return rdma_event_str(kind);
	}
}

/* After an error of the stream, soft-iWARP does not flush what is posted of itself. */
static void flush(struct endpoint *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE);
}

static bool tell_note(void)
{
	struct note *note = &notes[first_note];

	if (!num_notes)
		return false;
	first_note = (first_note + 1) % MAX_NOTES;
	num_notes--;
	if (note->ep && note->kind == RDMA_CM_EVENT_DISCONNECTED)
		flush(note->ep);
	if (note->ep)
		note->ep->state = note->kind == RDMA_CM_EVENT_ESTABLISHED
					  ? "DAT_EP_STATE_CONNECTED"
					  : "DAT_EP_STATE_DISCONNECTED";
	printf("event=%s ep=%d status=%d", event_name(note->kind),
	       note->ep ? (int)(note->ep - eps) : -1, note->status);
	print_bytes("data", note->data, note->length);
	printf("\n");
	return true;
}

static const char *status_name(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return "DAT_DTO_SUCCESS";
	case IBV_WC_WR_FLUSH_ERR:
		return "DAT_DTO_ERR_FLUSHED";
	case IBV_WC_LOC_LEN_ERR:
		return "DAT_DTO_ERR_LOCAL_LENGTH";
	case IBV_WC_LOC_PROT_ERR:
		return "DAT_DTO_ERR_LOCAL_PROTECTION";
	case IBV_WC_REM_ACCESS_ERR:
		return "DAT_DTO_ERR_REMOTE_ACCESS";
	default:
		return "DAT_DTO_ERR_TRANSPORT";
	}
}

static bool tell_completion(void)
{
	static const char *const operations[] = { [OP_RECV] = "DAT_DTO_RECEIVE",
						  [OP_SEND] = "DAT_DTO_SEND",
						  [OP_WRITE] = "DAT_DTO_RDMA_WRITE",
						  [OP_READ] = "DAT_DTO_RDMA_READ" };
	struct ibv_wc wc;
	int ep = 0;

	if (ibv_poll_cq(cq, 1, &wc) != 1)
		return false;
	while (ep < MAX_EPS && !(eps[ep].qp && eps[ep].qp->qp_num == wc.qp_num))
		ep++;
	printf("event=DAT_DTO_COMPLETION_EVENT ep=%d op=%s status=%s length=%u cookie=%llu wc=%d\n",
	       ep, operations[(wc.wr_id >> OP_SHIFT) & 3], status_name(wc.status), wc.byte_len,
	       (unsigned long long)(wc.wr_id & ~(~0ULL << OP_SHIFT)), (int)wc.status);
	return true;
}

static bool connecting(void)
{
	for (int i = 0; i < MAX_EPS; i++)
		if (eps[i].state == pending)
			return true;
	return false;
}

/*
 * Nothing comes before the connection of an endpoint, though its first message may be here before
 * the connection manager says so; and the end comes last, as the kernel has put every completion of
 * before into the queue.
 */
static bool tell_event(void)
{
	collect_notes();
	if (connecting() || (num_notes && notes[first_note].kind == RDMA_CM_EVENT_ESTABLISHED))
		return tell_note();
	return tell_completion() || tell_note();
}

static void sleep_until(int64_t end)
{
	struct pollfd fds[] = { { .fd = completions->fd, .events = POLLIN },
				{ .fd = ep_channel->fd, .events = POLLIN } };
	int64_t left = end - now_ms();
	struct ibv_cq *which;
	void *context;

	poll(fds, 2, left > 0 ? (int)left : 0);
	if (fds[0].revents && !ibv_get_cq_event(completions, &which, &context))
		ibv_ack_cq_events(which, 1);
}

static void wait_main(int64_t end)
{
	while (!tell_event()) {
		ibv_req_notify_cq(cq, 0);
		if (tell_event())
			return;
		if (now_ms() >= end) {
			printf("event=none\n");
			return;
		}
		sleep_until(end);
	}
}

static void wait_async(int64_t end)
{
	struct ibv_async_event event;

	if (!readable(device_id->verbs->async_fd, end) ||
	    ibv_get_async_event(device_id->verbs, &event)) {
		printf("event=none\n");
		return;
	}
	printf("event=IBV_EVENT_%d\n", (int)event.event_type);
	ibv_ack_async_event(&event);
}

void do_wait(const struct command *cmd)
{
	int64_t end = now_ms() + (int64_t)number(cmd, "ms", 5000);

	if (strcmp(text(cmd, "on", "main"), "async"))
		wait_main(end);
	else
		wait_async(end);
}
