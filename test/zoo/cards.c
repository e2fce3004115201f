/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table. Files of rdma-core are named from its providers folder, files of the kernel from
 * drivers/infiniband. What cxgb4, bnxt_re and irdma do was read where it says. The places named in
 * the other rows, and every limit, are still to be checked against the sources and a card: until
 * then they are assumed. What a row does not say is as InfiniBand has it.
 */
#include "test/zoo/card.h"

#include <errno.h>
#include <string.h>

#define M(n) ((n)*1024 * 1024)
#define K(n) ((n)*1024)

#define ROCE  .transport = IBV_TRANSPORT_IB, .link_layer = IBV_LINK_LAYER_ETHERNET
#define IB    .transport = IBV_TRANSPORT_IB, .link_layer = IBV_LINK_LAYER_INFINIBAND
#define IWARP .transport = IBV_TRANSPORT_IWARP, .link_layer = IBV_LINK_LAYER_ETHERNET

#define BOTH_WINDOWS (IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B)

/* Common to all limits here; assumed. */
#define LIMITS .max_mr_size = UINT64_MAX, .page_size_cap = 0xfffff000, .phys_port_cnt = 1

/*
 * mlx5: hw/mlx5/main.c, mlx5_ib_query_device. A send queue has 32768 blocks of 64 bytes; a request
 * takes 192 and its segments or inline data, and the whole is a power of two: mlx5/verbs.c has
 * mlx5_calc_send_wqe, mlx5_calc_sq_size. An SRQ is not resized: mlx5_ib_modify_srq, hw/mlx5/srq.c.
 * What a QP leaves on its CQs goes with it: mlx5/cq.c, mlx5_cq_clean.
 */
#define MLX5                                                                             \
	.vendor = 0x02c9, .part = 4125, .firmware = "22.36.1010",                        \
	.limits = { LIMITS,                                                              \
		    .max_qp = K(128),                                                    \
		    .max_qp_wr = 32768,                                                  \
		    .device_cap_flags = BOTH_WINDOWS,                                    \
		    .max_sge = 30,                                                       \
		    .max_sge_rd = 30,                                                    \
		    .max_cq = M(16),                                                     \
		    .max_cqe = M(4) - 1,                                                 \
		    .max_mr = M(16),                                                     \
		    .max_pd = M(8),                                                      \
		    .max_qp_rd_atom = 16,                                                \
		    .max_qp_init_rd_atom = 16,                                           \
		    .atomic_cap = IBV_ATOMIC_HCA,                                        \
		    .max_mw = M(16),                                                     \
		    .max_srq = M(8),                                                     \
		    .max_srq_wr = 32767,                                                 \
		    .max_srq_sge = 31,                                                   \
		    .max_pkeys = 128 },                                                  \
	.max_msg = 1U << 30, .max_inline = 828, .sq_bytes = 32768 * 64, .sq_entry = 192, \
	.sq_unit = 64, .last_wqe = true, .cleans_cq = true

/*
 * irdma of an E810: hw/irdma/verbs.c, irdma_query_device; irdma/umain.c and uverbs.c: no SRQ before
 * the third generation, inline data up to 101 bytes, 8 quanta a request; windows of both types.
 * Releases 40 to 43 of rdma-core copy the first segment of inline data alone: irdma/uverbs.c,
 * irdma_upost_send. A QP cleans its CQs: irdma_udestroy_qp.
 */
#define IRDMA                                                                    \
	.device = "irdma", .vendor = 0x8086, .part = 0x1592, .firmware = "1.54", \
	.limits = { LIMITS,                                                      \
		    .max_qp = K(64),                                             \
		    .max_qp_wr = 4063,                                           \
		    .device_cap_flags = BOTH_WINDOWS,                            \
		    .max_sge = 13,                                               \
		    .max_sge_rd = 13,                                            \
		    .max_cq = K(128),                                            \
		    .max_cqe = M(1) - 1,                                         \
		    .max_mr = M(2),                                              \
		    .max_pd = K(256),                                            \
		    .max_qp_rd_atom = 64,                                        \
		    .max_qp_init_rd_atom = 64,                                   \
		    .atomic_cap = IBV_ATOMIC_NONE,                               \
		    .max_mw = M(2),                                              \
		    .max_pkeys = 1 },                                            \
	.max_msg = 0x7fffffff, .max_inline = 101, .inline_first_only = true, .cleans_cq = true

static const struct zoo_kind kinds[] = {
	{ .name = "mlx5-roce", .device = "mlx5", ROCE, MLX5 },
	{ .name = "mlx5-ib", .device = "mlx5", IB, MLX5 },
	/* Without IPoIB. */
	{ .name = "mlx5-noip", .device = "mlx5", IB, MLX5, .no_ip = true },
	/* hw/mlx4/main.c, mlx4_ib_query_device; mlx4/mlx4.c: windows, resizing. SRQs are not resized:
	 * hw/mlx4/srq.c, mlx4_ib_modify_srq. */
	{ .name = "mlx4",
	  .device = "mlx4",
	  ROCE,
	  .vendor = 0x02c9,
	  .part = 4103,
	  .firmware = "2.42.5000",
	  .limits = { LIMITS, .max_qp = 393152, .max_qp_wr = 16351,
		      .device_cap_flags = BOTH_WINDOWS, .max_sge = 32, .max_sge_rd = 30,
		      .max_cq = K(64), .max_cqe = M(4) - 1, .max_mr = K(512), .max_pd = 32764,
		      .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 128,
		      .atomic_cap = IBV_ATOMIC_HCA, .max_mw = K(512), .max_srq = K(64),
		      .max_srq_wr = 16383, .max_srq_sge = 31, .max_pkeys = 128 },
	  .max_msg = 1U << 30,
	  .max_inline = 460,
	  .last_wqe = true,
	  .cleans_cq = true },
	{ .name = "irdma-roce", ROCE, IRDMA },
	/* A refusal of the peer's program is -ECONNREFUSED, with its data: hw/irdma/cm.c,
	 * irdma_cm_event_handler, IRDMA_CM_EVENT_MPA_REJECT. */
	{ .name = "irdma-iwarp", IWARP, IRDMA, .reject_status = -ECONNREFUSED },
	/* hw/irdma/i40iw_hw.h and, of rdma-core up to release 33, i40iw/i40iw_uverbs.c: one segment
	 * of inline data, no windows' calls, no resizing. */
	{ .name = "i40iw",
	  .device = "i40iw",
	  IWARP,
	  .vendor = 0x8086,
	  .part = 0x37d1,
	  .firmware = "0.2",
	  .limits = { LIMITS, .max_qp = K(16), .max_qp_wr = 511,
		      .device_cap_flags = IBV_DEVICE_MEM_WINDOW, .max_sge = 3, .max_sge_rd = 1,
		      .max_cq = K(32), .max_cqe = M(1) - 1, .max_mr = K(256), .max_pd = K(32),
		      .max_qp_rd_atom = 63, .max_qp_init_rd_atom = 127, .max_mw = K(256),
		      .max_pkeys = 1 },
	  .max_msg = 0x7fffffff,
	  .max_inline = 48,
	  .inline_first_only = true,
	  .no_mw_call = true,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .reject_status = -ECONNREFUSED },
	/* bnxt_re/main.c: its library has no windows' calls, the kernel announces them
	 * (hw/bnxt_re/ib_verbs.c, bnxt_re_query_device). A CQ whose last resizing nobody polled since
	 * is busy: bnxt_re_resize_cq there. LAST_WQE_REACHED: hw/bnxt_re/main.c,
	 * bnxt_re_handle_qp_async_event. */
	{ .name = "bnxt_re",
	  .device = "bnxt_re",
	  ROCE,
	  .vendor = 0x14e4,
	  .part = 0x1750,
	  .firmware = "218.0.219.13",
	  .limits = { LIMITS, .max_qp = K(64), .max_qp_wr = 65408, .device_cap_flags = BOTH_WINDOWS,
		      .max_sge = 6, .max_sge_rd = 6, .max_cq = K(64), .max_cqe = M(1),
		      .max_mr = K(256), .max_pd = K(64), .max_qp_rd_atom = 126,
		      .max_qp_init_rd_atom = 126, .atomic_cap = IBV_ATOMIC_NONE, .max_mw = K(256),
		      .max_srq = K(8), .max_srq_wr = M(1) - 2, .max_srq_sge = 6, .max_pkeys = 1 },
	  .max_msg = 1U << 30,
	  .max_inline = 96,
	  .no_mw_call = true,
	  .resize = ZOO_RESIZE_BUSY,
	  .last_wqe = true,
	  .cleans_cq = true },
	/* cxgb4/dev.c: no windows' calls; cxgb4/verbs.c, c4iw_resize_cq: -ENOSYS, as it stands there.
	 * hw/cxgb4/qp.c, c4iw_modify_qp: a QP in CLOSING refuses ERR with EINVAL, and c4iw_destroy_qp
	 * waits until the connection is gone. hw/cxgb4/cm.c, process_mpa_reply: -ECONNREFUSED. */
	{ .name = "cxgb4-iwarp",
	  .device = "cxgb4",
	  IWARP,
	  .vendor = 0x1425,
	  .part = 0x6401,
	  .firmware = "1.27.0.0",
	  .limits = { LIMITS, .max_qp = K(64), .max_qp_wr = 1024,
		      .device_cap_flags = IBV_DEVICE_MEM_WINDOW, .max_sge = 4, .max_sge_rd = 1,
		      .max_cq = K(64), .max_cqe = 65502, .max_mr = K(512), .max_pd = K(256),
		      .max_qp_rd_atom = 32, .max_qp_init_rd_atom = 32, .max_mw = K(512),
		      .max_pkeys = 1 },
	  .max_msg = 0x7fffffff,
	  .max_inline = 64,
	  .no_mw_call = true,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = -ENOSYS,
	  .closing_refuses_error = true,
	  .reject_status = -ECONNREFUSED },
	/* hw/qedr/verbs.c, qedr_query_device: no windows. Resizing: qedr_resize_cq does nothing and
	 * succeeds. LAST_WQE_REACHED: hw/qedr/main.c, qedr_affiliated_event. */
	{ .name = "qedr",
	  .device = "qedr",
	  ROCE,
	  .vendor = 0x1077,
	  .part = 0x8070,
	  .firmware = "8.59.1.0",
	  .limits = { LIMITS, .max_qp = 8128, .max_qp_wr = 32767, .max_sge = 4, .max_sge_rd = 4,
		      .max_cq = K(16), .max_cqe = 8388544, .max_mr = K(128), .max_pd = K(64),
		      .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16,
		      .atomic_cap = IBV_ATOMIC_NONE, .max_srq = K(8), .max_srq_wr = 32767,
		      .max_srq_sge = 4, .max_pkeys = 1 },
	  .max_msg = 1U << 31,
	  .max_inline = 128,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .last_wqe = true },
	/* hw/hns/hns_roce_main.c, hns_roce_query_device: one segment of a read; hns/hns_roce_u.c:
	 * windows' calls, of which the kernel says nothing after 6.13 (assumed to be there); no
	 * resizing. */
	{ .name = "hns",
	  .device = "hns",
	  ROCE,
	  .vendor = 0x19e5,
	  .part = 0xa222,
	  .firmware = "1.1.0",
	  .limits = { LIMITS, .max_qp = K(256), .max_qp_wr = 32768, .max_sge = 64, .max_sge_rd = 1,
		      .max_cq = K(256), .max_cqe = M(4), .max_mr = M(1), .max_pd = M(4),
		      .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 128,
		      .atomic_cap = IBV_ATOMIC_HCA, .max_srq = K(32), .max_srq_wr = 32768,
		      .max_srq_sge = 64, .max_pkeys = 1 },
	  .max_msg = 0x40000000,
	  .max_inline = 1024,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .last_wqe = true,
	  .cleans_cq = true },
	/* hw/erdma/erdma_verbs.c, erdma_query_device: neither windows nor SRQs; erdma/erdma.c: no
	 * resizing. Its refusals: hw/erdma/erdma_cm.c, erdma_proc_mpareply: -ECONNRESET. */
	{ .name = "erdma-iwarp",
	  .device = "erdma",
	  IWARP,
	  .vendor = 0x1ded,
	  .part = 0x107f,
	  .firmware = "0.2.0",
	  .limits = { LIMITS, .max_qp = K(128) - 1, .max_qp_wr = 8192, .max_sge = 6,
		      .max_sge_rd = 1, .max_cq = K(256) - 1, .max_cqe = M(1), .max_mr = K(256),
		      .max_pd = K(128), .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 128,
		      .max_pkeys = 1 },
	  .max_msg = 0xffffffff,
	  .max_inline = 96,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .reject_status = -ECONNRESET },
	/* hw/mana/main.c, mana_ib_query_device: neither windows nor SRQs nor atomics, a CQ no longer
	 * than a queue pair's queue; mana/mana.c: no resizing. No inline data: mana/qp.c (assumed). */
	{ .name = "mana",
	  .device = "mana",
	  ROCE,
	  .vendor = 0x1414,
	  .part = 0xba,
	  .firmware = "0.0.0",
	  .limits = { LIMITS, .max_qp = K(16), .max_qp_wr = 4096, .max_sge = 8, .max_sge_rd = 8,
		      .max_cq = K(16), .max_cqe = 4096, .max_mr = K(64), .max_pd = K(16),
		      .max_qp_rd_atom = 32, .max_qp_init_rd_atom = 32,
		      .atomic_cap = IBV_ATOMIC_NONE, .max_pkeys = 1 },
	  .max_msg = 1U << 30,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP },
	/* hw/hfi1/verbs.c, hfi1_fill_device_attr, and sw/rdmavt: no windows; SRQs are resized
	 * (rvt_modify_srq), LAST_WQE_REACHED (rvt_error_qp). */
	{ .name = "hfi1",
	  .device = "hfi1",
	  IB,
	  .vendor = 0x1175,
	  .part = 0x24f0,
	  .firmware = "1.27.0",
	  .limits = { LIMITS, .max_qp = K(32), .max_qp_wr = 0x3fff,
		      .device_cap_flags = IBV_DEVICE_SRQ_RESIZE, .max_sge = 96, .max_sge_rd = 96,
		      .max_cq = 0x1ffff, .max_cqe = 0x2fffff, .max_mr = K(64), .max_pd = 0xffff,
		      .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 255,
		      .atomic_cap = IBV_ATOMIC_GLOB, .max_srq = 1024, .max_srq_wr = 0x1ffff,
		      .max_srq_sge = 255, .max_pkeys = 16 },
	  .max_msg = 1U << 31,
	  .last_wqe = true },
	/* sw/rxe/rxe_param.h; rxe/rxe.c. */
	{ .name = "rxe",
	  .device = "rxe",
	  ROCE,
	  .vendor = 0xffffff,
	  .firmware = "0.0",
	  .limits = { LIMITS, .max_qp = 0xffff0, .max_qp_wr = 0xfffff,
		      .device_cap_flags = BOTH_WINDOWS | IBV_DEVICE_SRQ_RESIZE, .max_sge = 32,
		      .max_sge_rd = 32, .max_cq = 0xfffff, .max_cqe = 32767, .max_mr = 0x7ffff,
		      .max_pd = 0xfffff, .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 128,
		      .atomic_cap = IBV_ATOMIC_HCA, .max_mw = 0x7ffff, .max_srq = 0xdffff,
		      .max_srq_wr = 0xfffff, .max_srq_sge = 27, .max_pkeys = 64 },
	  .max_msg = 1U << 31,
	  .max_inline = 512 },
	/* sw/siw/siw.h; siw/siw.c. Refusals: sw/siw/siw_cm.c, siw_proc_mpareply: -ECONNRESET. A call
	 * of connect returns when TCP has an answer: siw_connect, kernel_bindconnect. */
	{ .name = "siw",
	  .device = "siw",
	  IWARP,
	  .vendor = 0x626d74,
	  .part = 1,
	  .firmware = "0.1",
	  .limits = { LIMITS, .max_qp = K(64), .max_qp_wr = 65536, .max_sge = 6, .max_sge_rd = 1,
		      .max_cq = K(64), .max_cqe = 65536 * 6, .max_mr = K(640), .max_pd = K(64),
		      .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 128, .max_srq = K(64),
		      .max_srq_wr = 65536 * 10, .max_srq_sge = 6, .max_pkeys = 1 },
	  .max_msg = 0xffffffff,
	  .max_inline = 96,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .connect_blocks = true,
	  .reject_status = -ECONNRESET },
};

const struct zoo_kind *zoo_kind_by_name(const char *name)
{
	uint32_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

const struct zoo_kind *zoo_kind(uint32_t number)
{
	return &kinds[number];
}

uint32_t zoo_kind_number(const struct zoo_kind *kind)
{
	return (uint32_t)(kind - kinds);
}
