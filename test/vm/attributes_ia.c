/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an adapter says of itself, open and unopened. */
#include <stdio.h>
#include <string.h>

#include <dat2/udat.h>

#include <dat2/dat_ib_extensions.h>

#include "attributes.h"

void tell_named(const char *where, const char *kind, DAT_COUNT num, const DAT_NAMED_ATTR *attr)
{
	char name[128];
	DAT_COUNT i;

	tell(where, kind, "%s", num ? "some" : attr ? "none but an address" : "none");
	for (i = 0; i < num; i++) {
		snprintf(name, sizeof(name), "%s.%s", kind, attr[i].name);
		/* The values of these two are functions. */
		if (!strncmp(attr[i].name, "debug_", 6))
			tell(where, name, "%s", attr[i].value ? "function" : "null");
		else
			tell(where, name, "%s", attr[i].value ? attr[i].value : "null");
	}
}

/* ---- The adapter ---- */

static void tell_ia(const char *where, const DAT_IA_ATTR *attr)
{
	tell(where, "adapter_name", "%s", attr->adapter_name);
	tell(where, "vendor_name", "\"%s\"", attr->vendor_name);
	tell_address(where, "ia_address_ptr", attr->ia_address_ptr);
#define N(field) NUMBER(where, *attr, field);
	N(hardware_version_major)
	N(hardware_version_minor)
	N(firmware_version_major)
	N(firmware_version_minor)
	N(max_eps)
	N(max_dto_per_ep)
	N(max_rdma_read_per_ep_in)
	N(max_rdma_read_per_ep_out)
	N(max_evds)
	N(max_evd_qlen)
	N(max_iov_segments_per_dto)
	N(max_lmrs)
	N(max_lmr_block_size)
	tell(where, "max_lmr_virtual_address", "0x%llx",
	     (unsigned long long)attr->max_lmr_virtual_address);
	N(max_pzs)
	N(max_message_size)
	N(max_rdma_size)
	N(max_rmrs)
	tell(where, "max_rmr_target_address", "0x%llx",
	     (unsigned long long)attr->max_rmr_target_address);
	N(max_srqs)
	N(max_ep_per_srq)
	N(max_recv_per_srq)
	N(max_iov_segments_per_rdma_read)
	N(max_iov_segments_per_rdma_write)
	N(max_rdma_read_in)
	N(max_rdma_read_out)
	N(max_rdma_read_per_ep_in_guaranteed)
	N(max_rdma_read_per_ep_out_guaranteed)
	N(zb_supported)
	N(extension_supported)
	N(extension_version)
#undef N
	tell_named(where, "transport_attr", attr->num_transport_attr, attr->transport_attr);
	tell_named(where, "vendor_attr", attr->num_vendor_attr, attr->vendor_attr);
}

static void tell_merging(const char *where, const DAT_PROVIDER_ATTR *attr)
{
	static const char *const stream[6] = { "software", "cr", "dto", "conn", "bind", "async" };
	char name[64];
	int i, j;

	for (i = 0; i < 6; i++)
		for (j = 0; j < 6; j++) {
			snprintf(name, sizeof(name), "evd_stream_merging_supported.%s-%s",
				 stream[i], stream[j]);
			tell_number(where, name, attr->evd_stream_merging_supported[i][j]);
		}
}

static void tell_provider(const char *where, const DAT_PROVIDER_ATTR *attr)
{
	tell(where, "provider_name", "%s", attr->provider_name);
#define N(field) NUMBER(where, *attr, field);
	N(provider_version_major)
	N(provider_version_minor)
	N(dapl_version_major)
	N(dapl_version_minor)
	N(lmr_mem_types_supported)
	N(iov_ownership_on_return)
	N(dat_qos_supported)
	N(completion_flags_supported)
	N(is_thread_safe)
	N(max_private_data_size)
	N(supports_multipath)
	N(ep_creator)
	N(pz_support)
	N(optimal_buffer_alignment)
	N(srq_supported)
	N(srq_watermarks_supported)
	N(srq_ep_pz_difference_supported)
	N(srq_info_supported)
	N(ep_recv_info_supported)
	N(lmr_sync_req)
	N(dto_async_return_guaranteed)
	N(rdma_write_for_rdma_read_req)
	N(rdma_read_lmr_rmr_context_exposure)
	N(rmr_scope_supported)
	N(is_signal_safe)
	N(ha_supported)
	N(ha_loadbalancing)
#undef N
	tell_merging(where, attr);
	tell_named(where, "specific", attr->num_provider_specific_attr,
		   attr->provider_specific_attr);
}

void adapter(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR ia;
	DAT_HANDLE query = DAT_HANDLE_NULL;
	DAT_RETURN rc;

	memset(&ia, 0, sizeof(ia));
	memset(&provider, 0, sizeof(provider));
	must("dat_ia_query", dat_ia_query(world.ia, NULL, DAT_IA_FIELD_ALL, &ia,
					  DAT_PROVIDER_FIELD_ALL, &provider));
	tell_ia("ia", &ia);
	tell_provider("provider", &provider);
	memset(&ia, 0, sizeof(ia));
	memset(&provider, 0, sizeof(provider));
	rc = dat_ib_open_query(world.name, &query, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL,
			       &provider);
	tell_return("open-query", rc);
	if (rc)
		return;
	tell_ia("open-query.ia", &ia);
	tell_provider("open-query.provider", &provider);
	tell_return("close-query", dat_ib_close_query(query));
}
