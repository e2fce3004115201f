/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_attr.h
 * Attributes of adapters and providers.
 */
#ifndef DAT_1_2_DAT_ATTR_H
#define DAT_1_2_DAT_ATTR_H

#include "dat_types.h"

/** Attributes of an adapter that dat_ia_query is asked for. */
typedef DAT_UINT64 DAT_IA_ATTR_MASK;
#define DAT_IA_FIELD_NONE				    UINT64_C(0x0)
#define DAT_IA_FIELD_IA_ADAPTER_NAME			    UINT64_C(0x1)
#define DAT_IA_FIELD_IA_VENDOR_NAME			    UINT64_C(0x2)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION		    UINT64_C(0x4)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION		    UINT64_C(0x8)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION		    UINT64_C(0x10)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION		    UINT64_C(0x20)
#define DAT_IA_FIELD_IA_ADDRESS_PTR			    UINT64_C(0x40)
#define DAT_IA_FIELD_IA_MAX_EPS				    UINT64_C(0x80)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP			    UINT64_C(0x100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN		    UINT64_C(0x200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT	    UINT64_C(0x400)
#define DAT_IA_FIELD_IA_MAX_EVDS			    UINT64_C(0x800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN			    UINT64_C(0x1000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO	    UINT64_C(0x2000)
#define DAT_IA_FIELD_IA_MAX_LMRS			    UINT64_C(0x4000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE		    UINT64_C(0x8000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS		    UINT64_C(0x10000)
#define DAT_IA_FIELD_IA_MAX_PZS				    UINT64_C(0x20000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE		    UINT64_C(0x40000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE			    UINT64_C(0x80000)
#define DAT_IA_FIELD_IA_MAX_RMRS			    UINT64_C(0x100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS		    UINT64_C(0x200000)
#define DAT_IA_FIELD_IA_MAX_SRQS			    UINT64_C(0x400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ			    UINT64_C(0x800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ		    UINT64_C(0x1000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ	    UINT64_C(0x2000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE	    UINT64_C(0x4000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN		    UINT64_C(0x8000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT		    UINT64_C(0x10000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED  UINT64_C(0x20000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED UINT64_C(0x40000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		    UINT64_C(0x80000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			    UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			    UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR			    UINT64_C(0x400000000)
#define DAT_IA_FIELD_ALL				    UINT64_C(0x7ffffffff)
#define DAT_IA_ALL					    DAT_IA_FIELD_ALL

/* Older names. */
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE   DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP DAT_IA_FIELD_IA_MAX_DTO_PER_EP_IN
#define max_mtu_size		       max_message_size
#define max_rdma_read_per_ep	       max_rdma_read_per_ep_in

/** Attributes of an adapter. */
typedef struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr; /**< 16 bytes for IPv4 */
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;
	DAT_COUNT max_rdma_read_per_ep_in;
	DAT_COUNT max_rdma_read_per_ep_out;
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_VLEN max_lmr_block_size;
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_VLEN max_message_size;
	DAT_VLEN max_rdma_size;
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
} DAT_IA_ATTR;

/** Attributes of a provider that dat_ia_query is asked for. */
typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;
#define DAT_PROVIDER_FIELD_NONE				  UINT64_C(0x0)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME		  UINT64_C(0x1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	  UINT64_C(0x2)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	  UINT64_C(0x4)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		  UINT64_C(0x8)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		  UINT64_C(0x10)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	  UINT64_C(0x20)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		  UINT64_C(0x40)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		  UINT64_C(0x80)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	  UINT64_C(0x100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		  UINT64_C(0x200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	  UINT64_C(0x400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		  UINT64_C(0x800)
#define DAT_PROVIDER_FIELD_EP_CREATOR			  UINT64_C(0x1000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT			  UINT64_C(0x2000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	  UINT64_C(0x4000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	  UINT64_C(0x8000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		  UINT64_C(0x10000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	  UINT64_C(0x20000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED UINT64_C(0x40000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		  UINT64_C(0x80000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	  UINT64_C(0x100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			  UINT64_C(0x200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	  UINT64_C(0x400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	  UINT64_C(0x800000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR	  UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR	  UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_ALL				  UINT64_C(0x3ffffff)

/** Who owns the array of segments when a post has returned. */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER = 0,
	DAT_IOV_PROVIDER_NOMOD = 1,
	DAT_IOV_PROVIDER_MOD = 2
} DAT_IOV_OWNERSHIP;

/** Whether public service points bring their endpoints. */
typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER = 0,
	DAT_PSP_CREATES_EP_IFASKED = 1,
	DAT_PSP_CREATES_EP_ALWAYS = 2
} DAT_EP_CREATOR_FOR_PSP;

/** Whether endpoints of one connection may share a zone. */
typedef enum dat_pz_support {
	DAT_PZ_UNIQUE = 0,
	DAT_PZ_SHAREABLE = 1
} DAT_PZ_SUPPORT;

/** Attributes of a provider. */
typedef struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major; /**< 1 */
	DAT_UINT32 dapl_version_minor; /**< 2 */
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_PZ_SUPPORT pz_support;
	DAT_UINT32 optimal_buffer_alignment;
	/* The constant member would keep C++ programs from declaring the structure. */
#ifdef __cplusplus
	DAT_BOOLEAN evd_stream_merging_supported[6][6];
#else
	const DAT_BOOLEAN evd_stream_merging_supported[6][6];
#endif
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;
	DAT_COUNT ep_recv_info_supported;
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
} DAT_PROVIDER_ATTR;

/** A name that dat_ia_open can open. */
typedef struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

#endif /* DAT_1_2_DAT_ATTR_H */
