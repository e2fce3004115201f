/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting over InfiniBand and RoCE. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "providers/verbs/cm/rdma.h"

#define HEADER_PORT	     2
#define REJECTED_BY_CONSUMER 28 /* reason of a REJ message (IBTA volume 1, section 12.6.7.2) */

static void set_private_data(struct rdma_conn_param *param, const struct vrb_pd_frame *frame)
{
	param->private_data = frame->bytes;
	param->private_data_len = frame->len;
	param->flow_control = frame->flow_control;
}

/* It stands there, without an address, in by_gid too: room for it and the data in bytes. */
static void put_header(const struct vrb_conn *conn, struct rdma_conn_param *param,
		       uint8_t bytes[UINT8_MAX])
{
	const __be16 port = rdma_get_src_port(conn->id);

	memset(bytes, 0, VRB_GID_HEADER);
	memcpy(bytes + HEADER_PORT, &port, sizeof(port));
	memcpy(bytes + VRB_GID_HEADER, param->private_data, param->private_data_len);
	param->private_data = bytes;
	param->private_data_len = (uint8_t)(param->private_data_len + VRB_GID_HEADER);
}

const uint8_t *vrb_gid_take_header(const uint8_t *data, uint32_t *len, uint16_t *port)
{
	__be16 from = 0;

	if (*len < VRB_GID_HEADER) {
		*len = 0;
		return data;
	}
	memcpy(&from, data + HEADER_PORT, sizeof(from));
	*port = ntohs(from);
	*len -= VRB_GID_HEADER;
	return data + VRB_GID_HEADER;
}

static int ib_connect(struct vrb_conn *conn, struct rdma_conn_param *param)
{
	uint8_t with_header[UINT8_MAX];
	struct vrb_pd_frame frame;

	vrb_pd_request(&frame, conn->data, conn->data_len);
	set_private_data(param, &frame);
	if (vrb_rdma(conn->object.dev)->by_gid)
		put_header(conn, param, with_header);
	return rdma_connect(conn->id, param) ? vrb_conn_step_failed(conn, "not requested") : 0;
}

static int ib_accept(struct vrb_conn *conn, struct rdma_conn_param *param, const void *data,
		     uint32_t len)
{
	struct vrb_pd_frame frame;

	vrb_pd_reply(&frame, data, len);
	set_private_data(param, &frame);
	return rdma_accept(conn->id, param) ? vrb_conn_step_failed(conn, "not accepted") : 0;
}

/* A reject has reasons: the one that is not the program's is ours to give. */
static void ib_refuse(struct rdma_cm_id *id)
{
	if (rdma_reject_ece(id, NULL, 0))
		rdma_reject(id, NULL, 0);
}

static bool ib_by_program(int status)
{
	return status == REJECTED_BY_CONSUMER;
}

const struct vrb_rdma_ops vrb_rdma_ib = {
	.max_private_data = VRB_PD_MAX,
	.by_program = ib_by_program,
	.end_may_overtake = true,
	.end_is_answered = true,
	.connect = ib_connect,
	.accept = ib_accept,
	.qp_ready = vrb_rdma_qp_to_rts,
	.qp_accepts = vrb_rdma_qp_to_rtr,
	.qp_confirmed = vrb_rdma_qp_confirmed,
	.refuse = ib_refuse,
	.request_len = vrb_pd_request_len,
	.reply_len = vrb_pd_reply_len,
	.put_reject = vrb_pd_reject,
	.get_reject = vrb_pd_rejected,
};
