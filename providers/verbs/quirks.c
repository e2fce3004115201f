/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What each kind of device does: the first row that matches counts. */
#include "providers/verbs/device.h"

#define VENDOR_RXE  0xffffff
#define VENDOR_SIW  0x626d74
#define VENDOR_QEDR 0x1077

#define IWARP                                                                                  \
	.read_needs_remote_write = true, .no_ib_operations = true, .reads_out_of_order = true, \
	.empty_read_hangs = true, .receive_needs_segment = true, .error_at_every_end = true,   \
	.no_last_wqe = true

#define SOFTWARE                                                           \
	.post_is_a_call = true, .unnamed_faults = true, .no_inline = true, \
	.invalidated_as_csum = true

static const struct {
	int transport;	 /* enum ibv_transport_type; -1: any */
	int link_layer;	 /* -1: any */
	uint32_t vendor; /* 0: any */
	struct vrb_quirks quirks;
} kinds[] = {
	{ -1,
	  -1,
	  VENDOR_SIW,
	  { .kind = "soft-iWARP",
	    IWARP,
	    SOFTWARE,
	    .receive_fault = TP_WC_PARTIAL_PACKET, /* it names a wrong length itself */
	    .no_solicited = true,
	    .post_raises_sigpipe = true, /* siw_post_send sends without MSG_NOSIGNAL */
	    .closed_is_fatal = true,
	    .unanswered_is_fatal = true,
	    .flushes_at_once = true,
	    .error_before_disconnect = true,
	    .needs_wake = true,
	    .first_cq_len = 20000 /* of 32 bytes */ } },
	{ -1,
	  -1,
	  VENDOR_RXE,
	  { .kind = "soft-RoCE",
	    SOFTWARE,
	    .receive_fault = TP_WC_LOCAL_LENGTH, /* nothing else is left to be wrong */
	    .init_without_route = true,
	    .no_last_wqe = true,
	    .max_retry = 6,
	    .checks_atomic_alignment = true,
	    .stale_invalidate_crashes = true } },
	{ IBV_TRANSPORT_IWARP, -1, 0, { .kind = "iWARP", IWARP } },
	{ -1, IBV_LINK_LAYER_ETHERNET, 0, { .kind = "RoCE", .init_without_route = true } },
	{ -1, -1, 0, { .kind = "InfiniBand" } },
};

/* Read in rdma-core's providers: set_data_inl_seg of mlx5, and its like. */
static bool inlines_segments(uint32_t vendor)
{
	static const uint32_t known[] = {
		0x02c9,		     /* mlx5, mlx4 */
		0x1425,		     /* cxgb4 */
		0x14e4,		     /* bnxt_re */
		VENDOR_QEDR, 0x19e5, /* hns */
		0x1ded,		     /* erdma */
	};
	uint32_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == vendor)
			return true;
	return false;
}

struct vrb_quirks vrb_quirks_of(const struct ibv_device *device, uint32_t vendor,
				uint8_t link_layer)
{
	struct vrb_quirks quirks;
	uint32_t i = 0;

	while ((kinds[i].transport >= 0 && kinds[i].transport != (int)device->transport_type) ||
	       (kinds[i].link_layer >= 0 && kinds[i].link_layer != link_layer) ||
	       (kinds[i].vendor && kinds[i].vendor != vendor))
		i++;
	quirks = kinds[i].quirks;
	quirks.inlines_segments = inlines_segments(vendor);
	/* Not among the events that its driver knows (qedr_affiliated_event). */
	if (vendor == VENDOR_QEDR)
		quirks.no_last_wqe = true;
	return quirks;
}
