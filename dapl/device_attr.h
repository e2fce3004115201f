/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a device can do, a part of the contract (dapl/transport.h). */
#ifndef DAPL_DEVICE_ATTR_H
#define DAPL_DEVICE_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct tp_device_attr {
	struct sockaddr_storage addr; /* the IA's own address, port 0 */
	char vendor_name[64];
	uint32_t hw_major, hw_minor, fw_major, fw_minor;
	uint32_t max_qp, max_qp_wr; /* WRs of one direction of one QP */
	uint32_t max_sge;	    /* segments of a send or receive */
	uint32_t max_sge_read, max_sge_write;
	uint32_t max_read_in,
		max_read_out; /* reads outstanding per QP, as target and as originator */
	uint32_t max_cq, max_cqe;
	uint32_t max_mr, max_pd;
	uint64_t max_mr_size;
	uint32_t max_msg_size, max_rdma_size; /* bytes */
	uint32_t max_datagram; /* bytes that a QP of datagrams sends at once; 0: there are none */
	uint32_t max_private_data; /* bytes, of connect, accept and reject alike */
	uint64_t max_conn_qual;	   /* largest qualifier that can be listened on */
	uint32_t max_srq, max_mw;  /* 0: the transport has none */
	uint32_t max_srq_wr, max_srq_sge;
	bool zero_based;	       /* tp_mr_attr.zero_based and tp_bind.zero_based work */
	bool read_needs_remote_write;  /* a read's sink needs remote write rights (LMR-28) */
	bool read_exposes_sink;	       /* a read tells the peer the sink's key (LMR-28) */
	bool mw_pd_scope, mw_qp_scope; /* RMR-4 */
	bool srq_limit;		       /* dapl_srq_ops.arm works (IA-67) */
	bool srq_count;		       /* dapl_srq_ops.available works (IA-69) */
	bool srq_pd_differs;	       /* a QP and its SRQ may have different PDs (IA-68) */
	bool recv_limits;  /* dapl_qp_ops.limit_recv works for QPs with an SRQ (IA-67) */
	bool ib_extension; /* the adapter is announced with the IB extension (IBX-2) */
	/* TP_CAN of those opcodes that not every device has. */
	uint32_t operations;
	bool delayed_ack; /* tp_qp_attr.delayed_ack works */
	bool handoff;	  /* dapl_cm_ops.handoff works */
	/* The named attributes of IBX-116; what is empty or 0 does not apply. */
	char ib_device[64];
	char gid[48];
	char gid_index[12], gid_type[16]; /* among the port's; of RoCE */
	char chosen_by[160];		  /* why it is this device, port and address */
	const char *carried_by, *crc; /* what carries connections, whether it is summed, and why */
	uint64_t node_guid;
	uint32_t mtu, port_num;
	const char *port_status; /* constant */
};

#endif
