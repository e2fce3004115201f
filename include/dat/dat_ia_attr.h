/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ia_attr.h
 * Attributes of adapters and of their providers, which dat_ia_query reads.
 */
#ifndef DAT_IA_ATTR_H
#define DAT_IA_ATTR_H

#include "dat_types.h"
#include "udat_config.h"

/** Extensions that an adapter can have. */
typedef enum dat_extension {
	DAT_EXTENSION_NONE = 0,
	DAT_EXTENSION_IB = 1,
	DAT_EXTENSION_IW = 2
} DAT_EXTENSION;

/** Older names of the extensions. */
#define DAT_IB_EXTENSION DAT_EXTENSION_IB
#define DAT_IW_EXTENSION DAT_EXTENSION_IW

/** Attributes of an adapter; limits are totals of the device (IA-16..IA-51). */
typedef struct dat_ia_attr {
	char adapter_name[256];		   /**< that of dat.conf */
	char vendor_name[256];		   /**< free text */
	DAT_UINT32 hardware_version_major; /**< 0 if unknown */
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major; /**< 0 if unknown */
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;		/**< how other hosts reach it */
	DAT_COUNT max_eps;				/**< endpoints */
	DAT_COUNT max_dto_per_ep;			/**< outstanding transfers, per direction */
	DAT_COUNT max_rdma_read_per_ep_in;		/**< reads as target */
	DAT_COUNT max_rdma_read_per_ep_out;		/**< reads as originator */
	DAT_COUNT max_evds;				/**< dispatchers */
	DAT_COUNT max_evd_qlen;				/**< events per dispatcher */
	DAT_COUNT max_iov_segments_per_dto;		/**< of a send or receive */
	DAT_COUNT max_lmrs;				/**< local memory regions */
	DAT_SEG_LENGTH max_lmr_block_size;		/**< bytes in one, saturating */
	DAT_VADDR max_lmr_virtual_address;		/**< highest address in one */
	DAT_COUNT max_pzs;				/**< protection zones */
	DAT_SEG_LENGTH max_message_size;		/**< bytes in a message */
	DAT_SEG_LENGTH max_rdma_size;			/**< bytes in a read or write */
	DAT_COUNT max_rmrs;				/**< remote memory regions */
	DAT_VADDR max_rmr_target_address;		/**< highest address in one */
	DAT_COUNT max_srqs;				/**< 0: not supported */
	DAT_COUNT max_ep_per_srq;			/**< endpoints that share one */
	DAT_COUNT max_recv_per_srq;			/**< receives posted to one */
	DAT_COUNT max_iov_segments_per_rdma_read;	/**< local segments */
	DAT_COUNT max_iov_segments_per_rdma_write;	/**< local segments */
	DAT_COUNT max_rdma_read_in;			/**< whole adapter */
	DAT_COUNT max_rdma_read_out;			/**< whole adapter */
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed; /**< whatever others use */
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed; /**< whatever others use */
	DAT_BOOLEAN zb_supported;			 /**< zero-based addresses */
	DAT_EXTENSION extension_supported;
	DAT_COUNT extension_version;	/**< that of the IB extension, if it has it or not */
	DAT_COUNT num_transport_attr;	/**< entries of transport_attr */
	DAT_NAMED_ATTR *transport_attr; /**< NULL if there are none */
	DAT_COUNT num_vendor_attr;	/**< entries of vendor_attr */
	DAT_NAMED_ATTR *vendor_attr;	/**< found by name (VND-1) */
} DAT_IA_ATTR;

/** Older names of two fields. */
#define max_mtu_size	     max_message_size
#define max_rdma_read_per_ep max_rdma_read_per_ep_in

/** Selects fields of DAT_IA_ATTR, an OR of DAT_IA_FIELD_ values. */
typedef DAT_UINT64 DAT_IA_ATTR_MASK;

/** Fields of DAT_IA_ATTR; what has no field of that name is an older name. */
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
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE			    UINT64_C(0x40000)
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
#define DAT_IA_FIELD_IA_ZB_SUPPORTED			    UINT64_C(0x80000000)
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED		    UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_EXTENSION			    UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION		    UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		    UINT64_C(0x400000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			    UINT64_C(0x800000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			    UINT64_C(0x1000000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR			    UINT64_C(0x2000000000)
#define DAT_IA_FIELD_ALL				    UINT64_C(0x3fffffffff)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP			    DAT_IA_FIELD_IA_MAX_DTO_PER_EP_IN
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP_IN		    DAT_IA_FIELD_IA_MAX_DTO_PER_EP
#define DAT_IA_ALL					    DAT_IA_FIELD_ALL

/** Whose the array of segments is when a post has returned (IA-56). */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER = 0,	    /**< the program's at once */
	DAT_IOV_PROVIDER_NOMOD = 1, /**< the provider's until completion, unchanged */
	DAT_IOV_PROVIDER_MOD = 2    /**< the provider's until completion, may change */
} DAT_IOV_OWNERSHIP;

/** Who makes the endpoint of a connection request (IA-62, PSP-6). */
typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER = 0,	/**< only the program */
	DAT_PSP_CREATES_EP_IFASKED = 1, /**< either */
	DAT_PSP_CREATES_EP_ALWAYS = 2	/**< only the provider */
} DAT_EP_CREATOR_FOR_PSP;

/** Whether protection zones can be shared (IA-63). */
typedef enum dat_pz_support {
	DAT_PZ_UNIQUE = 0,   /**< private to their creator */
	DAT_PZ_SHAREABLE = 1 /**< shared between owners */
} DAT_PZ_SUPPORT;

/** How load is spread over paths (IA-78). */
typedef DAT_UINT32 DAT_HA_LB;

/** None; connections spread over paths; one connection spread over paths. */
#define DAT_HA_LB_NONE	    ((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM ((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM ((DAT_HA_LB)2)

/** Attributes of a provider, for one open adapter (IA-52..IA-81). */
typedef struct dat_provider_attr {
	char provider_name[256];	   /**< the name of the adapter */
	DAT_UINT32 provider_version_major; /**< of the provider */
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major; /**< of the interface */
	DAT_UINT32 dapl_version_minor;
	DAT_MEM_TYPE lmr_mem_types_supported;		 /**< OR of them */
	DAT_IOV_OWNERSHIP iov_ownership_on_return;	 /**< of segment arrays */
	DAT_QOS dat_qos_supported;			 /**< OR of them */
	DAT_COMPLETION_FLAGS completion_flags_supported; /**< OR of them */
	DAT_BOOLEAN is_thread_safe;			 /**< GEN-24 */
	DAT_COUNT max_private_data_size;		 /**< bytes */
	DAT_BOOLEAN supports_multipath;			 /**< HA-10 */
	DAT_EP_CREATOR_FOR_PSP ep_creator;		 /**< PSP-6 */
	DAT_PZ_SUPPORT pz_support;			 /**< IA-63 */
	DAT_UINT32 optimal_buffer_alignment;		 /**< bytes, a hint */
	/* The constant member would keep C++ programs from declaring the structure. */
#ifdef __cplusplus
	DAT_BOOLEAN evd_stream_merging_supported[6][6];
#else
	const DAT_BOOLEAN evd_stream_merging_supported[6][6];
#endif
	DAT_BOOLEAN srq_supported;			/**< SRQ-2 */
	DAT_COUNT srq_watermarks_supported;		/**< bits, SRQ-3 */
	DAT_BOOLEAN srq_ep_pz_difference_supported;	/**< SRQ-34 */
	DAT_COUNT srq_info_supported;			/**< bits, SRQ-3 */
	DAT_COUNT ep_recv_info_supported;		/**< bits, SRQ-3 */
	DAT_BOOLEAN lmr_sync_req;			/**< LMR-39 */
	DAT_BOOLEAN dto_async_return_guaranteed;	/**< DTO-83 */
	DAT_BOOLEAN rdma_write_for_rdma_read_req;	/**< LMR-28 */
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure; /**< LMR-28 */
	DAT_RMR_SCOPE rmr_scope_supported;		/**< RMR-4 */
	DAT_BOOLEAN is_signal_safe;			/**< EVD-9 */
	DAT_BOOLEAN ha_supported;			/**< HA-9 */
	DAT_HA_LB ha_loadbalancing;			/**< IA-78 */
	DAT_COUNT num_provider_specific_attr;		/**< entries of it */
	DAT_NAMED_ATTR *provider_specific_attr;		/**< NULL if there are none */
} DAT_PROVIDER_ATTR;

/** Selects fields of DAT_PROVIDER_ATTR, an OR of DAT_PROVIDER_FIELD_ values. */
typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

/** Fields of DAT_PROVIDER_ATTR. */
#define DAT_PROVIDER_FIELD_NONE				      UINT64_C(0x0)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME		      UINT64_C(0x1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	      UINT64_C(0x2)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	      UINT64_C(0x4)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		      UINT64_C(0x8)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		      UINT64_C(0x10)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	      UINT64_C(0x20)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		      UINT64_C(0x40)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		      UINT64_C(0x80)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	      UINT64_C(0x100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		      UINT64_C(0x200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	      UINT64_C(0x400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		      UINT64_C(0x800)
#define DAT_PROVIDER_FIELD_EP_CREATOR			      UINT64_C(0x1000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT			      UINT64_C(0x2000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	      UINT64_C(0x4000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	      UINT64_C(0x8000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		      UINT64_C(0x10000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	      UINT64_C(0x20000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED     UINT64_C(0x40000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		      UINT64_C(0x80000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	      UINT64_C(0x100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			      UINT64_C(0x200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	      UINT64_C(0x400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	      UINT64_C(0x800000)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED		      UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE		      UINT64_C(0x4000000)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED			      UINT64_C(0x8000000)
#define DAT_PROVIDER_FIELD_HA_LB			      UINT64_C(0x10000000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR	      UINT64_C(0x20000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR	      UINT64_C(0x40000000)
#define DAT_PROVIDER_FIELD_ALL				      UINT64_C(0x7fffffff)

#endif /* DAT_IA_ATTR_H */
