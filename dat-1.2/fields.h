/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The members of the structures that differ, in rows: name, bit of the mask that asks for it, and
 * what its value takes beside a change of place and width. old.c and convert.c make tables of the
 * same rows, each with the offsets, sizes and bits that its edition's headers have.
 */
#ifndef DAT12_FIELDS_H
#define DAT12_FIELDS_H

#include <stddef.h>
#include <stdint.h>

enum dat12_kind {
	DAT12_PLAIN,
	DAT12_STATE,	  /* states of endpoints that 1.2 has not (D12-62) */
	DAT12_COMPLETION, /* completion flags (D12-64) */
	DAT12_PRIVILEGES, /* of memory */
	DAT12_LIMIT,	  /* a saturated length (D12-54) */
	DAT12_MAJOR,	  /* the version in use (D12-55) */
	DAT12_MINOR,
};

struct dat12_field {
	uint16_t offset, size;
	uint32_t kind;
	uint64_t bit;
};

/* tables.def; both of a structure have as many rows. */
extern const struct dat12_field dat12_old_ep_attr[], dat12_old_ep_param[], dat12_old_ia_attr[],
	dat12_old_provider_attr[], dat12_old_lmr_param[], dat12_old_rmr_param[];

#define DAT12_EP_ATTR_FIELDS(F)                                                                \
	F(service_type, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, PLAIN)                              \
	F(max_message_size, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, PLAIN)                      \
	F(max_rdma_size, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, PLAIN)                            \
	F(qos, DAT_EP_FIELD_EP_ATTR_QOS, PLAIN)                                                \
	F(recv_completion_flags, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, COMPLETION)       \
	F(request_completion_flags, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, COMPLETION) \
	F(max_recv_dtos, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, PLAIN)                            \
	F(max_request_dtos, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, PLAIN)                      \
	F(max_recv_iov, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, PLAIN)                              \
	F(max_request_iov, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, PLAIN)                        \
	F(max_rdma_read_in, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, PLAIN)                      \
	F(max_rdma_read_out, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, PLAIN)                    \
	F(srq_soft_hw, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, PLAIN)                                \
	F(max_rdma_read_iov, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, PLAIN)                    \
	F(max_rdma_write_iov, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, PLAIN)                  \
	F(ep_transport_specific_count, DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, PLAIN)         \
	F(ep_transport_specific, DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR, PLAIN)          \
	F(ep_provider_specific_count, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, PLAIN)           \
	F(ep_provider_specific, DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, PLAIN)

/* But for ep_attr. */
#define DAT12_EP_PARAM_FIELDS(F)                                            \
	F(ia_handle, DAT_EP_FIELD_IA_HANDLE, PLAIN)                         \
	F(ep_state, DAT_EP_FIELD_EP_STATE, STATE)                           \
	F(local_ia_address_ptr, DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR, PLAIN)   \
	F(local_port_qual, DAT_EP_FIELD_LOCAL_PORT_QUAL, PLAIN)             \
	F(remote_ia_address_ptr, DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR, PLAIN) \
	F(remote_port_qual, DAT_EP_FIELD_REMOTE_PORT_QUAL, PLAIN)           \
	F(pz_handle, DAT_EP_FIELD_PZ_HANDLE, PLAIN)                         \
	F(recv_evd_handle, DAT_EP_FIELD_RECV_EVD_HANDLE, PLAIN)             \
	F(request_evd_handle, DAT_EP_FIELD_REQUEST_EVD_HANDLE, PLAIN)       \
	F(connect_evd_handle, DAT_EP_FIELD_CONNECT_EVD_HANDLE, PLAIN)       \
	F(srq_handle, DAT_EP_FIELD_SRQ_HANDLE, PLAIN)

#define DAT12_IA_ATTR_FIELDS(F)                                                                    \
	F(adapter_name, DAT_IA_FIELD_IA_ADAPTER_NAME, PLAIN)                                       \
	F(vendor_name, DAT_IA_FIELD_IA_VENDOR_NAME, PLAIN)                                         \
	F(hardware_version_major, DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION, PLAIN)                   \
	F(hardware_version_minor, DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION, PLAIN)                   \
	F(firmware_version_major, DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION, PLAIN)                   \
	F(firmware_version_minor, DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION, PLAIN)                   \
	F(ia_address_ptr, DAT_IA_FIELD_IA_ADDRESS_PTR, PLAIN)                                      \
	F(max_eps, DAT_IA_FIELD_IA_MAX_EPS, PLAIN)                                                 \
	F(max_dto_per_ep, DAT_IA_FIELD_IA_MAX_DTO_PER_EP, PLAIN)                                   \
	F(max_rdma_read_per_ep_in, DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN, PLAIN)                 \
	F(max_rdma_read_per_ep_out, DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT, PLAIN)               \
	F(max_evds, DAT_IA_FIELD_IA_MAX_EVDS, PLAIN)                                               \
	F(max_evd_qlen, DAT_IA_FIELD_IA_MAX_EVD_QLEN, PLAIN)                                       \
	F(max_iov_segments_per_dto, DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO, PLAIN)               \
	F(max_lmrs, DAT_IA_FIELD_IA_MAX_LMRS, PLAIN)                                               \
	F(max_lmr_block_size, DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE, LIMIT)                           \
	F(max_lmr_virtual_address, DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS, PLAIN)                 \
	F(max_pzs, DAT_IA_FIELD_IA_MAX_PZS, PLAIN)                                                 \
	F(max_message_size, DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE, PLAIN)                               \
	F(max_rdma_size, DAT_IA_FIELD_IA_MAX_RDMA_SIZE, PLAIN)                                     \
	F(max_rmrs, DAT_IA_FIELD_IA_MAX_RMRS, PLAIN)                                               \
	F(max_rmr_target_address, DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS, PLAIN)                   \
	F(max_srqs, DAT_IA_FIELD_IA_MAX_SRQS, PLAIN)                                               \
	F(max_ep_per_srq, DAT_IA_FIELD_IA_MAX_EP_PER_SRQ, PLAIN)                                   \
	F(max_recv_per_srq, DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ, PLAIN)                               \
	F(max_iov_segments_per_rdma_read, DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ, PLAIN)   \
	F(max_iov_segments_per_rdma_write, DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE, PLAIN) \
	F(max_rdma_read_in, DAT_IA_FIELD_IA_MAX_RDMA_READ_IN, PLAIN)                               \
	F(max_rdma_read_out, DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT, PLAIN)                             \
	F(max_rdma_read_per_ep_in_guaranteed, DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED,  \
	  PLAIN)                                                                                   \
	F(max_rdma_read_per_ep_out_guaranteed,                                                     \
	  DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED, PLAIN)                              \
	F(num_transport_attr, DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR, PLAIN)                           \
	F(transport_attr, DAT_IA_FIELD_IA_TRANSPORT_ATTR, PLAIN)                                   \
	F(num_vendor_attr, DAT_IA_FIELD_IA_NUM_VENDOR_ATTR, PLAIN)                                 \
	F(vendor_attr, DAT_IA_FIELD_IA_VENDOR_ATTR, PLAIN)

#define DAT12_PROVIDER_ATTR_FIELDS(F)                                                            \
	F(provider_name, DAT_PROVIDER_FIELD_PROVIDER_NAME, PLAIN)                                \
	F(provider_version_major, DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR, PLAIN)              \
	F(provider_version_minor, DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR, PLAIN)              \
	F(dapl_version_major, DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR, MAJOR)                      \
	F(dapl_version_minor, DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR, MINOR)                      \
	F(lmr_mem_types_supported, DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED, PLAIN)             \
	F(iov_ownership_on_return, DAT_PROVIDER_FIELD_IOV_OWNERSHIP, PLAIN)                      \
	F(dat_qos_supported, DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED, PLAIN)                        \
	F(completion_flags_supported, DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED, COMPLETION) \
	F(is_thread_safe, DAT_PROVIDER_FIELD_IS_THREAD_SAFE, PLAIN)                              \
	F(max_private_data_size, DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE, PLAIN)                \
	F(supports_multipath, DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH, PLAIN)                      \
	F(ep_creator, DAT_PROVIDER_FIELD_EP_CREATOR, PLAIN)                                      \
	F(pz_support, DAT_PROVIDER_FIELD_PZ_SUPPORT, PLAIN)                                      \
	F(optimal_buffer_alignment, DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT, PLAIN)          \
	F(evd_stream_merging_supported, DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED, PLAIN)  \
	F(srq_supported, DAT_PROVIDER_FIELD_SRQ_SUPPORTED, PLAIN)                                \
	F(srq_watermarks_supported, DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED, PLAIN)          \
	F(srq_ep_pz_difference_supported, DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED,     \
	  PLAIN)                                                                                 \
	F(srq_info_supported, DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED, PLAIN)                      \
	F(ep_recv_info_supported, DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED, PLAIN)              \
	F(lmr_sync_req, DAT_PROVIDER_FIELD_LMR_SYNC_REQ, PLAIN)                                  \
	F(dto_async_return_guaranteed, DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED, PLAIN)    \
	F(rdma_write_for_rdma_read_req, DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ, PLAIN)  \
	F(num_provider_specific_attr, DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR, PLAIN)      \
	F(provider_specific_attr, DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR, PLAIN)

#define DAT12_LMR_PARAM_FIELDS(F)                                \
	F(ia_handle, DAT_LMR_FIELD_IA_HANDLE, PLAIN)             \
	F(mem_type, DAT_LMR_FIELD_MEM_TYPE, PLAIN)               \
	F(region_desc, DAT_LMR_FIELD_REGION_DESC, PLAIN)         \
	F(length, DAT_LMR_FIELD_LENGTH, PLAIN)                   \
	F(pz_handle, DAT_LMR_FIELD_PZ_HANDLE, PLAIN)             \
	F(mem_priv, DAT_LMR_FIELD_MEM_PRIV, PRIVILEGES)          \
	F(lmr_context, DAT_LMR_FIELD_LMR_CONTEXT, PLAIN)         \
	F(rmr_context, DAT_LMR_FIELD_RMR_CONTEXT, PLAIN)         \
	F(registered_size, DAT_LMR_FIELD_REGISTERED_SIZE, PLAIN) \
	F(registered_address, DAT_LMR_FIELD_REGISTERED_ADDRESS, PLAIN)

#define DAT12_RMR_PARAM_FIELDS(F)                                        \
	F(ia_handle, DAT_RMR_FIELD_IA_HANDLE, PLAIN)                     \
	F(pz_handle, DAT_RMR_FIELD_PZ_HANDLE, PLAIN)                     \
	F(lmr_triplet.lmr_context, DAT_RMR_FIELD_LMR_TRIPLET, PLAIN)     \
	F(lmr_triplet.virtual_address, DAT_RMR_FIELD_LMR_TRIPLET, PLAIN) \
	F(lmr_triplet.segment_length, DAT_RMR_FIELD_LMR_TRIPLET, PLAIN)  \
	F(mem_priv, DAT_RMR_FIELD_MEM_PRIV, PRIVILEGES)                  \
	F(rmr_context, DAT_RMR_FIELD_RMR_CONTEXT, PLAIN)

#endif
