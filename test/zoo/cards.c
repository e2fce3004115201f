/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table. A row says where each of its facts was read: in the kernel's drivers/infiniband ("k:")
 * or rdma-core's providers ("u:"), and which are assumed. What a row does not say is as InfiniBand
 * has it. Part numbers and firmware versions stand for themselves. soft-RoCE and soft-iWARP are as
 * they were found to be (test/zoo/seen, test/vm/cards.sh).
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

/* Most cards take memory of any size, in pages of 4 KiB and above, and have a port. */
#define LIMITS .max_mr_size = UINT64_MAX, .page_size_cap = 0xfffff000, .phys_port_cnt = 1

/*
 * k: hw/mlx5/main.c, mlx5_ib_query_device: windows of both types, as many as regions; segments of a
 * send by a block of 512 bytes (30), of a receive 32, one of which an SRQ loses; reads 30
 * (MLX5_MAX_SGE_RD). All other limits are powers of two that the firmware names: assumed, those of
 * a ConnectX-6. max_qp_wr was the blocks of 64 bytes until Linux 6.18 (and 6.12.53), which counts
 * requests. u: mlx5/verbs.c, mlx5_calc_send_wqe, mlx5_calc_sq_size: a request takes 192 bytes and
 * its segments or inline data, the whole is a power of two. k: hw/mlx5/srq.c, mlx5_ib_modify_srq:
 * an SRQ is not resized. u: mlx5/cq.c, mlx5_cq_clean: what a QP leaves on its CQs goes with it.
 * hw/mlx5/odp.c, mlx5_ib_internal_fill_odp_caps: regions are paged in on demand, windows' too
 * (pagefault_single_data_segment). Assumed, for want of its source: LAST_WQE_REACHED, which the
 * firmware tells.
 */
#define ON_DEMAND                                                              \
	(IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | \
	 IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV)
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
	.sq_unit = 64, .last_wqe = true, .cleans_cq = true, .on_demand = ON_DEMAND

/*
 * irdma of an E810, the second generation. k: hw/irdma/verbs.c, irdma_query_device: windows of type
 * 1 alone (2B from the third generation on), as many as regions, one CQ entry less than there are;
 * hw/irdma/user.h: segments, inline data, messages, PDs, the size of memory; hw/irdma/icrdma_hw.c
 * and .h: pages, depths of reads, and that CQs are resized. 4063 requests are the 32768 quanta less
 * what is reserved, 8 a request. Numbers of QPs, CQs and regions are the firmware's: assumed.
 * u: irdma/umain.c: windows' calls, no SRQ without IRDMA_FEATURE_SRQ, which the third generation
 * has; irdma/uverbs.c, irdma_upost_send of releases 40 to 43: the first segment of inline data
 * alone; irdma_udestroy_qp: a QP cleans its CQs.
 */
#define IRDMA                                                                    \
	.device = "irdma", .vendor = 0x8086, .part = 0x1592, .firmware = "1.54", \
	.limits = { .phys_port_cnt = 1,                                          \
		    .max_mr_size = 0x200000000000,                               \
		    .page_size_cap = 0x40201000,                                 \
		    .max_qp = K(64),                                             \
		    .max_qp_wr = 4063,                                           \
		    .device_cap_flags = IBV_DEVICE_MEM_WINDOW,                   \
		    .max_sge = 13,                                               \
		    .max_sge_rd = 13,                                            \
		    .max_cq = K(128),                                            \
		    .max_cqe = M(1) - 2,                                         \
		    .max_mr = M(2),                                              \
		    .max_pd = K(256),                                            \
		    .max_qp_rd_atom = 127,                                       \
		    .max_qp_init_rd_atom = 255,                                  \
		    .atomic_cap = IBV_ATOMIC_NONE,                               \
		    .max_mw = M(2) },                                            \
	.max_msg = 0x7fffffff, .max_inline = 101, .inline_first_only = true, .cleans_cq = true

static const struct zoo_kind kinds[] = {
	{ .name = "mlx5-roce", .device = "mlx5", ROCE, MLX5 },
	{ .name = "mlx5-ib", .device = "mlx5", IB, MLX5 },
	/* Without IPoIB. */
	{ .name = "mlx5-noip", .device = "mlx5", IB, MLX5, .no_ip = true },
	/* k: hw/mlx4/main.c, mlx4_ib_query_device: both windows, of which it does not say how many;
	 * 16384 requests less MLX4_IB_SQ_MAX_SPARE; an SRQ's last entry is the driver's; reads of
	 * MLX4_MAX_SGE_RD. The other limits are the firmware's: assumed, those of a ConnectX-3.
	 * Assumed: u: mlx4/mlx4.c: windows' calls, resizing; k: hw/mlx4/srq.c, mlx4_ib_modify_srq:
	 * SRQs are not resized; inline data and LAST_WQE_REACHED. */
	{ .name = "mlx4",
	  .device = "mlx4",
	  ROCE,
	  .vendor = 0x02c9,
	  .part = 4103,
	  .firmware = "2.42.5000",
	  .limits = { LIMITS, .max_qp = 393152, .max_qp_wr = 16351,
		      .device_cap_flags = BOTH_WINDOWS, .max_sge = 32, .max_sge_rd = 30,
		      .max_cq = 65408, .max_cqe = M(4) - 1, .max_mr = 524032, .max_pd = 32764,
		      .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 128,
		      .atomic_cap = IBV_ATOMIC_HCA, .max_srq = 65472, .max_srq_wr = 16383,
		      .max_srq_sge = 31, .max_pkeys = 128 },
	  .max_msg = 1U << 30,
	  .max_inline = 460,
	  .last_wqe = true,
	  .cleans_cq = true },
	{ .name = "irdma-roce", ROCE, IRDMA, .limits.max_pkeys = 1 },
	/* k: hw/irdma/cm.c, irdma_cm_event_handler, IRDMA_CM_EVENT_MPA_REJECT: a refusal of the
	 * peer's program is -ECONNREFUSED, with its data. */
	{ .name = "irdma-iwarp", IWARP, IRDMA, .reject_status = -ECONNREFUSED },
	/* The driver that Linux 5.14 gave up for irdma, and rdma-core's up to release 33.
	 * k: hw/i40iw/i40iw_verbs.c, i40iw_query_device: windows announced, none of them; reads as
	 * deep one way as the other; memory no larger than a message. hw/irdma/i40iw_hw.h, which took
	 * its numbers over: segments, inline data, PDs. Assumed: max_qp_wr, and numbers of QPs and
	 * CQs, by the firmware; i40iw_cm.c: -ECONNREFUSED, as irdma's has it; u:
	 * i40iw/i40iw_uverbs.c: one segment of inline data, neither windows' calls nor resizing. */
	{ .name = "i40iw",
	  .device = "i40iw",
	  IWARP,
	  .vendor = 0x8086,
	  .part = 0x37d1,
	  .firmware = "0.2",
	  .limits = { .max_mr_size = 0x7fffffff,
		      .page_size_cap = 0xfffff000,
		      .phys_port_cnt = 1,
		      .max_qp = K(16),
		      .max_qp_wr = 511,
		      .device_cap_flags = IBV_DEVICE_MEM_WINDOW,
		      .max_sge = 3,
		      .max_sge_rd = 1,
		      .max_cq = K(32),
		      .max_cqe = M(1) - 1,
		      .max_mr = K(256),
		      .max_pd = K(32),
		      .max_qp_rd_atom = 63,
		      .max_qp_init_rd_atom = 63 },
	  .max_msg = 0x7fffffff,
	  .max_inline = 48,
	  .inline_first_only = true,
	  .no_mw_call = true,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .reject_status = -ECONNREFUSED },
	/* k: hw/bnxt_re/ib_verbs.c, bnxt_re_query_device: windows of both types; atomics where PCIe
	 * has them (IB_ATOMIC_GLOB; here: not); all numbers are the firmware's: assumed.
	 * bnxt_re_query_port: messages of 1 GiB. bnxt_re_resize_cq: a CQ whose last resizing nobody
	 * polled since is busy. hw/bnxt_re/main.c, bnxt_re_handle_qp_async_event: LAST_WQE_REACHED.
	 * u: bnxt_re/main.c: no windows' calls. */
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
	/* k: hw/cxgb4/provider.c, c4iw_query_device: windows announced (c4iw_register_device), none
	 * of them; four segments (T4_MAX_RECV_SGE), one of a read; other numbers are the adapter's:
	 * assumed. c4iw_query_port: messages of any size. SRQs are a T6's with firmware set up for
	 * them: not this one. hw/cxgb4/qp.c, c4iw_modify_qp: a QP in CLOSING refuses ERR with EINVAL,
	 * and c4iw_destroy_qp waits until the connection is gone. hw/cxgb4/cm.c, process_mpa_reply:
	 * -ECONNREFUSED. u: cxgb4/dev.c: no windows' calls; cxgb4/verbs.c, c4iw_resize_cq: -ENOSYS,
	 * as it stands there; cxgb4/qp.c, c4iw_post_send: a queue in error takes nothing. */
	{ .name = "cxgb4-iwarp",
	  .device = "cxgb4",
	  IWARP,
	  .vendor = 0x1425,
	  .part = 0x6401,
	  .firmware = "1.27.0.0",
	  .limits = { LIMITS, .max_qp = K(64), .max_qp_wr = 1024,
		      .device_cap_flags = IBV_DEVICE_MEM_WINDOW, .max_sge = 4, .max_sge_rd = 1,
		      .max_cq = K(64), .max_cqe = 65502, .max_mr = K(512), .max_pd = K(256),
		      .max_qp_rd_atom = 32, .max_qp_init_rd_atom = 32 },
	  .max_msg = 0xffffffff,
	  .max_inline = 64,
	  .no_mw_call = true,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = -ENOSYS,
	  .post_errno = -EINVAL,
	  .closing_refuses_error = true,
	  .reject_status = -ECONNREFUSED },
	/* k: hw/qedr/verbs.c, qedr_query_device: no windows announced; depths of reads are powers of
	 * two. Numbers are qed's, by the adapter's resources: assumed. hw/qedr/main.c,
	 * qedr_affiliated_event: LAST_WQE_REACHED is not among its events. u: qedr/qelr_main.c:
	 * neither windows' calls nor resizing. */
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
	  .resize_errno = EOPNOTSUPP },
	/* k: hw/hns/hns_roce_main.c, hns_roce_query_device: one segment of a read, no windows
	 * announced, though u: hns/hns_roce_u.c has their calls, and none for resizing. Numbers are
	 * the firmware's; here those that hw/hns/hns_roce_hw_v2.h had for want of it, until Linux
	 * 5.19, inline data as of the third version. Assumed: LAST_WQE_REACHED, messages, atomics. */
	{ .name = "hns",
	  .device = "hns",
	  ROCE,
	  .vendor = 0x19e5,
	  .part = 0xa222,
	  .firmware = "1.1.0",
	  .limits = { LIMITS, .max_qp = 0x1000, .max_qp_wr = 0x8000, .max_sge = 64, .max_sge_rd = 1,
		      .max_cq = 0x100000, .max_cqe = 0x400000, .max_mr = 0x100000,
		      .max_pd = 0x1000000, .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 128,
		      .atomic_cap = IBV_ATOMIC_HCA, .max_srq = 0x100000, .max_srq_wr = 0x8000,
		      .max_srq_sge = 64, .max_pkeys = 1 },
	  .max_msg = 0x40000000,
	  .max_inline = 1024,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .last_wqe = true,
	  .cleans_cq = true },
	/* k: hw/erdma/erdma_verbs.h: 8192 requests, six segments to send but one to receive, and
	 * uverbs announces the lesser (core/uverbs_cmd.c); depths, PDs, inline data.
	 * erdma_verbs.c, erdma_query_device: neither windows nor SRQs; erdma_qp_validate_cap: no
	 * queue without an entry; erdma_query_port: messages of any size. erdma_cm.c,
	 * erdma_proc_mpareply: a refusal is -ECONNRESET. Numbers of QPs, CQs and
	 * regions are the adapter's: assumed. u: erdma/erdma.c: neither
	 * resizing nor windows' calls. */
	{ .name = "erdma-iwarp",
	  .device = "erdma",
	  IWARP,
	  .vendor = 0x1ded,
	  .part = 0x107f,
	  .firmware = "0.2.0",
	  .limits = { LIMITS, .max_qp = K(128) - 1, .max_qp_wr = 8192, .max_sge = 1,
		      .max_sge_rd = 1, .max_cq = K(256) - 1, .max_cqe = M(1), .max_mr = K(256),
		      .max_pd = K(128), .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 128 },
	  .max_msg = 0xffffffff,
	  .max_inline = 96,
	  .min_wr = 1,
	  .no_mw_call = true,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .reject_status = -ECONNRESET },
	/* k: hw/mana/main.c, mana_ib_query_device: neither windows nor SRQs nor atomics, a CQ no
	 * longer than a queue pair's queue; mana_ib_query_port: it does not say how long a message
	 * may be, 16 MiB, before 2026. mana_ib_event_handler: a QP's fatal error is its only event.
	 * Numbers are the adapter's: assumed. u: mana/mana.c: no resizing. No inline data:
	 * mana/qp.c (assumed). */
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
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP },
	/* k: hw/hfi1/verbs.c, hfi1_fill_device_attr and the module's parameters: all limits, no
	 * windows, SRQs are resized. Assumed: sw/rdmavt: that they are (rvt_modify_srq), and
	 * LAST_WQE_REACHED (rvt_error_qp); the firmware's version. u: hfi1verbs/hfi1verbs.c:
	 * resizing, no windows' calls. */
	{ .name = "hfi1",
	  .device = "hfi1",
	  IB,
	  .vendor = 0x1175,
	  .part = 0x24f0,
	  .firmware = "1.27.0",
	  .limits = { .max_mr_size = UINT64_MAX,
		      .page_size_cap = 4096,
		      .phys_port_cnt = 1,
		      .max_qp = K(32),
		      .max_qp_wr = 0x3fff,
		      .device_cap_flags = IBV_DEVICE_SRQ_RESIZE,
		      .max_sge = 96,
		      .max_sge_rd = 96,
		      .max_cq = 0x1ffff,
		      .max_cqe = 0x2fffff,
		      .max_mr = K(64),
		      .max_pd = 0xffff,
		      .max_qp_rd_atom = 16,
		      .max_qp_init_rd_atom = 255,
		      .atomic_cap = IBV_ATOMIC_GLOB,
		      .max_srq = 1024,
		      .max_srq_wr = 0x1ffff,
		      .max_srq_sge = 128,
		      .max_pkeys = 16 },
	  .max_msg = 1U << 31,
	  .last_wqe = true },
	/* test/zoo/seen/rxe. k: sw/rxe/rxe_resp.c, check_rkey; sw/rxe/rxe_mw.c, rxe_invalidate_mw. */
	{ .name = "rxe",
	  .device = "rxe",
	  ROCE,
	  .vendor = 0xffffff,
	  .firmware = "0.0",
	  .limits = { LIMITS, .max_qp = 0xffff0, .max_qp_wr = M(1),
		      .device_cap_flags = BOTH_WINDOWS | IBV_DEVICE_SRQ_RESIZE, .max_sge = 32,
		      .max_sge_rd = 32, .max_cq = M(1), .max_cqe = 32767, .max_mr = 0x7ffff,
		      .max_pd = M(1), .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 128,
		      .atomic_cap = IBV_ATOMIC_HCA, .max_mw = 0x7ffff, .max_srq = 0xdffff,
		      .max_srq_wr = M(1), .max_srq_sge = 27, .max_pkeys = 64 },
	  .max_msg = M(8),
	  .max_inline = 512,
	  .no_window_bounds = true,
	  .invalidates_any = true,
	  .keeps_requests = true },
	/* test/zoo/seen/siw. k: sw/siw/siw_cm.c, siw_connect, kernel_bindconnect: a call of connect
	 * returns when TCP has an answer; siw_qp_rx.c, siw_proc_terminate: the peer's reason is dropped;
	 * siw_qp_tx.c, siw_qp_sq_proc_tx: a read of the peer is served without a look at its right. */
	{ .name = "siw",
	  .device = "siw",
	  IWARP,
	  .vendor = 0x626d74,
	  .part = 1,
	  .firmware = "0.1",
	  .limits = { .max_mr_size = UINT64_MAX,
		      .page_size_cap = 4096,
		      .phys_port_cnt = 1,
		      .max_qp = 102400,
		      .max_qp_wr = 32768,
		      .max_sge = 6,
		      .max_sge_rd = 1,
		      .max_cq = 102400,
		      .max_cqe = 3276800,
		      .max_mr = 1024000,
		      .max_pd = 102400,
		      .max_qp_rd_atom = 128,
		      .max_qp_init_rd_atom = 128,
		      .max_srq = 102400,
		      .max_srq_wr = 327680,
		      .max_srq_sge = 6 },
	  .max_msg = 0xffffffff,
	  .max_inline = 80,
	  .min_wr = 1,
	  .no_mw_call = true,
	  .resize = ZOO_RESIZE_UNSUPPORTED,
	  .resize_errno = EOPNOTSUPP,
	  .srq_resize_errno = EOPNOTSUPP,
	  .connect_blocks = true,
	  .keeps_requests = true,
	  .reads_any = true,
	  .no_terminate = true,
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
