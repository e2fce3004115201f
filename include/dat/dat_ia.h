/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ia.h
 * Interface adapters: what they can do, opening, querying and closing them.
 */
#ifndef DAT_IA_H
#define DAT_IA_H

#include "dat_types.h"
#include "udat_config.h"

/** To dat_ia_openv: make no asynchronous dispatcher; from it: there is none (IA-3). */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)0x1)
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)0x2)

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
	char adapter_name[256];		   /**< IA-17 */
	char vendor_name[256];		   /**< IA-18 */
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
	char provider_name[256];	   /**< IA-52 */
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

DAT_BEGIN_DECLS

/**
 * Open an interface adapter by name, asking for a version of the interface.
 *
 * Programs call dat_ia_open, which fills in the version they were compiled for. A name can be open
 * any number of times; each instance has its own handle, and objects made under one instance
 * belong to it alone (IA-1..IA-12). Names are those of dat.conf and of providers that registered
 * themselves; an entry fits when name, major version and thread safety are equal and its minor
 * version is equal or the next larger one (REG-23..REG-27). The provider's library is loaded when
 * needed (REG-43, REG-44).
 *
 * @param provider name of the adapter, NUL-terminated, 1 to 255 characters; never NULL.
 * @param asynch_evd_min_qlen events that a newly made asynchronous dispatcher must hold, more than
 *        0; ignored when none is made.
 * @param asynch_evd_handle in: DAT_HANDLE_NULL to have a dispatcher made, the handle of a
 *        dispatcher of the same provider that has DAT_EVD_ASYNC_FLAG, or DAT_EVD_ASYNC_EXISTS for
 *        none; out: the handle in use, DAT_EVD_OUT_OF_SCOPE for none (IA-3..IA-6, IA-10). Never
 *        NULL. Keeps its value on failure (IA-8).
 * @param ia_handle receives the handle, a small number; DAT_HANDLE_NULL on failure (IA-8). Never
 *        NULL.
 * @param dat_major_version_number major version wanted, DAT_VERSION_MAJOR.
 * @param dat_minor_version_number lowest minor version wanted, DAT_VERSION_MINOR.
 * @param thread_safety DAT_TRUE or DAT_FALSE, matched with the entry (REG-24).
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe, also against other opens and closes and the registry (GEN-23, GEN-25).
 *
 * @retval DAT_SUCCESS the adapter is open.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG1: the name is NULL, empty or too long.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: a dispatcher is to be made and the queue length
 *        is not positive.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: asynch_evd_handle is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: ia_handle is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: thread_safety is neither DAT_FALSE nor DAT_TRUE.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_ASYNC: the dispatcher passed in is not a live
 *        asynchronous one of this provider, or is DAT_EVD_OUT_OF_SCOPE.
 * @retval DAT_PROVIDER_NOT_FOUND no entry fits or none could be loaded; the subtype,
 *        DAT_NAME_NOT_REGISTERED, DAT_MAJOR_NOT_FOUND, DAT_MINOR_NOT_FOUND or
 *        DAT_THREAD_SAFETY_NOT_FOUND, tells what did not (REG-25).
 * @retval DAT_INVALID_ADDRESS the device, port or network interface of the entry does not exist or
 *        has no address.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: no memory; DAT_RESOURCE_TEVD: the queue
 *        length is beyond the device; DAT_RESOURCE_DEVICE: the device refuses one more context.
 * @retval DAT_INVALID_STATE the registry is shut down, at exit of the process (REG-6).
 * @retval DAT_INTERNAL_ERROR the device failed.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_openv(IN const DAT_NAME_PTR provider,
					   IN DAT_COUNT asynch_evd_min_qlen,
					   INOUT DAT_EVD_HANDLE *asynch_evd_handle,
					   OUT DAT_IA_HANDLE *ia_handle,
					   IN DAT_UINT32 dat_major_version_number,
					   IN DAT_UINT32 dat_minor_version_number,
					   IN DAT_BOOLEAN thread_safety);

/**
 * Open an adapter with the version that the program is compiled for; see dat_ia_openv.
 */
#define dat_ia_open(name, qlen, async_evd, ia)                                                \
	dat_ia_openv((name), (qlen), (async_evd), (ia), DAT_VERSION_MAJOR, DAT_VERSION_MINOR, \
		     DAT_THREADSAFE)

/**
 * Read the attributes of an open adapter and of its provider.
 *
 * Limits are those of the whole adapter, other users included: a request above a limit fails, one
 * below it may fail too (IA-13..IA-16). Each structure has its own mask; only selected fields may
 * be relied on. Strings, addresses and arrays in the structures belong to the provider and live
 * until the adapter is closed (GEN-11..GEN-14).
 *
 * @param ia_handle an open adapter.
 * @param async_evd_handle receives the asynchronous dispatcher, or DAT_EVD_OUT_OF_SCOPE; may be
 *        NULL (IA-14).
 * @param ia_attr_mask fields of ia_attr wanted, an OR of DAT_IA_FIELD_ values; 0 for none.
 * @param ia_attr receives the adapter's attributes; may be NULL when its mask is 0.
 * @param provider_attr_mask fields of provider_attr wanted, an OR of DAT_PROVIDER_FIELD_ values; 0
 *        for none.
 * @param provider_attr receives the provider's attributes; may be NULL when its mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ia_attr_mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: ia_attr is NULL and its mask is not 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: provider_attr_mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: provider_attr is NULL and its mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_query(IN DAT_IA_HANDLE ia_handle,
					   OUT DAT_EVD_HANDLE *async_evd_handle,
					   IN DAT_IA_ATTR_MASK ia_attr_mask,
					   OUT DAT_IA_ATTR *ia_attr,
					   IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
					   OUT DAT_PROVIDER_ATTR *provider_attr);

/**
 * Close an adapter.
 *
 * A graceful close succeeds only when no object that the program made is left; the dispatcher that
 * the open made does not count (IA-82..IA-86). An abrupt close destroys whatever is left:
 * connections are ended as by an abrupt disconnect, pending requests are refused, threads in
 * dat_evd_wait return DAT_ABORT, threads in dat_cno_wait return with DAT_HANDLE_NULL, and proxy
 * agents are called once with DAT_HANDLE_NULL (IA-87..IA-90). Events that were not taken are lost.
 *
 * @param ia_handle an open adapter; not valid after success.
 * @param close_flags DAT_CLOSE_ABRUPT_FLAG or DAT_CLOSE_GRACEFUL_FLAG.
 *
 * Events: none on this side; peers see DAT_CONNECTION_EVENT_DISCONNECTED (IA-88).
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe against opens and closes of other instances (GEN-25); needs serialising with every
 * other call on this instance (IA-91).
 *
 * @retval DAT_SUCCESS the adapter is closed.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: close_flags is neither of the two.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_IA_IN_USE: the close is graceful and objects are
 *        left, or the caller is a proxy agent of this adapter; nothing was changed.
 * @retval DAT_INSUFFICIENT_RESOURCES the device cannot be cleaned up.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_close(IN DAT_IA_HANDLE ia_handle,
					   IN DAT_CLOSE_FLAGS close_flags);

DAT_END_DECLS

#endif /* DAT_IA_H */
