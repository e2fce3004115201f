/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ib_collective.h
 * Collective operations of the InfiniBand extension. Programs include dat_ib_extensions.h.
 */
#ifndef DAT_IB_COLLECTIVE_H
#define DAT_IB_COLLECTIVE_H

#include "udat.h"

/** Names of provider attributes of collectives, none of which is present (IBX-122). */
#define DAT_IB_COLL_ALLGATHER	   "DAT_COLL_ALLGATHER"
#define DAT_IB_COLL_ALLGATHERV	   "DAT_COLL_ALLGATHERV"
#define DAT_IB_COLL_ALLREDUCE	   "DAT_COLL_ALLREDUCE"
#define DAT_IB_COLL_ALLTOALL	   "DAT_COLL_ALLTOALL"
#define DAT_IB_COLL_ALLTOALLV	   "DAT_COLL_ALLTOALLV"
#define DAT_IB_COLL_BARRIER	   "DAT_COLL_BARRIER"
#define DAT_IB_COLL_BROADCAST	   "DAT_COLL_BROADCAST"
#define DAT_IB_COLL_GATHER	   "DAT_COLL_GATHER"
#define DAT_IB_COLL_GATHERV	   "DAT_COLL_GATHERV"
#define DAT_IB_COLL_READ_CLOCK	   "DAT_COLL_READ_CLOCK"
#define DAT_IB_COLL_REDUCE	   "DAT_COLL_REDUCE"
#define DAT_IB_COLL_REDUCE_SCATTER "DAT_COLL_REDUCE_SCATTER"
#define DAT_IB_COLL_SCAN	   "DAT_COLL_SCAN"
#define DAT_IB_COLL_SCATTER	   "DAT_COLL_SCATTER"
#define DAT_IB_COLL_SCATTERV	   "DAT_COLL_SCATTERV"
#define DAT_IB_COLL_SET_CLOCK	   "DAT_COLL_SET_CLOCK"

/** Group of a collective operation. */
typedef DAT_HANDLE DAT_IB_COLLECTIVE_HANDLE;

/** Member of a group. */
typedef void *DAT_IB_COLLECTIVE_MEMBER;

/** Number of a group. */
typedef unsigned int DAT_IB_COLLECTIVE_ID;

/** Rank of a member in its group. */
typedef unsigned int DAT_IB_COLLECTIVE_RANK;

/** Types that a reduction works on. */
typedef enum dat_ib_collective_data_type {
	DAT_IB_COLLECTIVE_TYPE_INT8 = 0,
	DAT_IB_COLLECTIVE_TYPE_UINT8 = 1,
	DAT_IB_COLLECTIVE_TYPE_INT16 = 2,
	DAT_IB_COLLECTIVE_TYPE_UINT16 = 3,
	DAT_IB_COLLECTIVE_TYPE_INT32 = 4,
	DAT_IB_COLLECTIVE_TYPE_UINT32 = 5,
	DAT_IB_COLLECTIVE_TYPE_INT64 = 6,
	DAT_IB_COLLECTIVE_TYPE_UINT64 = 7,
	DAT_IB_COLLECTIVE_TYPE_FLOAT = 8,
	DAT_IB_COLLECTIVE_TYPE_DOUBLE = 9,
	DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE = 10,
	DAT_IB_COLLECTIVE_TYPE_SHORT_INT = 11,
	DAT_IB_COLLECTIVE_TYPE_2INT = 12,
	DAT_IB_COLLECTIVE_TYPE_FLOAT_INT = 13,
	DAT_IB_COLLECTIVE_TYPE_LONG_INT = 14,
	DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT = 15
} DAT_IB_COLLECTIVE_DATA_TYPE;

/** Operations of a reduction. */
typedef enum dat_ib_collective_reduce_data_op {
	DAT_IB_COLLECTIVE_REDUCE_OP_MAX = 0,
	DAT_IB_COLLECTIVE_REDUCE_OP_MIN = 1,
	DAT_IB_COLLECTIVE_REDUCE_OP_SUM = 2,
	DAT_IB_COLLECTIVE_REDUCE_OP_PROD = 3,
	DAT_IB_COLLECTIVE_REDUCE_OP_LAND = 4,
	DAT_IB_COLLECTIVE_REDUCE_OP_BAND = 5,
	DAT_IB_COLLECTIVE_REDUCE_OP_LOR = 6,
	DAT_IB_COLLECTIVE_REDUCE_OP_BOR = 7,
	DAT_IB_COLLECTIVE_REDUCE_OP_LXOR = 8,
	DAT_IB_COLLECTIVE_REDUCE_OP_BXOR = 9,
	DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC = 10,
	DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC = 11
} DAT_IB_COLLECTIVE_REDUCE_DATA_OP;

/** Collective part of an extension event. */
typedef struct dat_ib_collective_event_data {
	DAT_HANDLE handle;
	DAT_CONTEXT context;
} DAT_IB_COLLECTIVE_EVENT_DATA;

/** Where the members of a group run. */
typedef struct dat_ib_collective_group {
	int local_size;
	int local_rank;
	int *local_ranks;
	int external_size;
	int external_rank;
	int *external_ranks;
	int *intranode_table;
	int *internode_table;
	int is_comm_world;
} DAT_IB_COLLECTIVE_GROUP;

/*
 * Collectives. Every one of them answers DAT_NOT_IMPLEMENTED (IBX-122); the macros are there so
 * that programs compile, and pass their arguments on in order.
 */

#define dat_ib_collective_create_member(ia_handle, progress_func, member, member_size)   \
	dat_extension_op((DAT_IA_HANDLE)(ia_handle), DAT_IB_COLLECTIVE_CREATE_MEMBER_OP, \
			 (void *)(progress_func), (DAT_IB_COLLECTIVE_MEMBER *)(member),  \
			 (DAT_UINT32 *)(member_size))

#define dat_ib_collective_free_member(ia_handle, member)                               \
	dat_extension_op((DAT_IA_HANDLE)(ia_handle), DAT_IB_COLLECTIVE_FREE_MEMBER_OP, \
			 (DAT_IB_COLLECTIVE_MEMBER)(member))

#define dat_ib_collective_create_group(members, group_size, self, group_id, group_info, evd, pd, \
				       user_context)                                             \
	dat_extension_op((DAT_EVD_HANDLE)(evd), DAT_IB_COLLECTIVE_CREATE_GROUP_OP,               \
			 (DAT_IB_COLLECTIVE_MEMBER *)(members), (DAT_COUNT)(group_size),         \
			 (DAT_IB_COLLECTIVE_RANK)(self), (DAT_IB_COLLECTIVE_ID)(group_id),       \
			 (DAT_IB_COLLECTIVE_GROUP *)(group_info), (DAT_PZ_HANDLE)(pd),           \
			 (user_context))

#define dat_ib_collective_free_group(coll_handle) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_FREE_GROUP_OP)

#define dat_ib_collective_set_clock(coll_handle, clock_value, user_context)                       \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SET_CLOCK_OP, \
			 (DAT_UINT64)(clock_value), (user_context))

#define dat_ib_collective_read_clock(coll_handle, clock_value)                                     \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_READ_CLOCK_OP, \
			 (DAT_UINT64 *)(clock_value))

#define dat_ib_collective_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root,      \
				  user_context, flags)                                          \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCATTER_OP, \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbuf),           \
			 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
			 (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_scatterv(coll_handle, sendbuf, sendsizes, displs, recvbuf, recvsize,     \
				   root, user_context, flags)                                      \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCATTERV_OP,   \
			 (void *)(sendbuf), (DAT_COUNT *)(sendsizes), (DAT_COUNT *)(displs),       \
			 (void *)(recvbuf), (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_gather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root,       \
				 user_context, flags)                                           \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_GATHER_OP,  \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbuf),           \
			 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
			 (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_gatherv(coll_handle, sendbuf, sendsize, recvbufs, recvsizes, displs,  \
				  root, user_context, flags)                                    \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_GATHERV_OP, \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbufs),          \
			 (DAT_COUNT *)(recvsizes), (DAT_COUNT *)(displs),                       \
			 (DAT_IB_COLLECTIVE_RANK)(root), (user_context),                        \
			 (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_allgather(coll_handle, sendbuf, sendsize, recvbuf, recvsize,            \
				    user_context, flags)                                          \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLGATHER_OP, \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbuf),             \
			 (DAT_COUNT)(recvsize), (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_allgatherv(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, displs,   \
				     user_context, flags)                                          \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLGATHERV_OP, \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbuf),              \
			 (DAT_COUNT *)(recvsizes), (DAT_COUNT *)(displs), (user_context),          \
			 (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_alltoall(coll_handle, sendbuf, sendsize, recvbuf, recvsize,            \
				   user_context, flags)                                          \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLTOALL_OP, \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbuf),            \
			 (DAT_COUNT)(recvsize), (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_alltoallv(coll_handle, sendbuf, sendsizes, senddspls, recvbuf,          \
				    recvsizes, recvdispls, user_context, flags)                   \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLTOALLV_OP, \
			 (void *)(sendbuf), (DAT_COUNT *)(sendsizes), (DAT_COUNT *)(senddspls),   \
			 (void *)(recvbuf), (DAT_COUNT *)(recvsizes), (DAT_COUNT *)(recvdispls),  \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_reduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type,  \
				 root, user_context, flags)                                    \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_REDUCE_OP, \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbuf),          \
			 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),        \
			 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_IB_COLLECTIVE_RANK)(root),  \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_allreduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type,  \
				    user_context, flags)                                          \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLREDUCE_OP, \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbuf),             \
			 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),           \
			 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context),                     \
			 (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_reduce_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, op, \
					 type, user_context, flags)                              \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle),                                \
			 DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP, (void *)(sendbuf),                 \
			 (DAT_COUNT)(sendsize), (void *)(recvbuf), (DAT_COUNT *)(recvsizes),     \
			 (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),                                 \
			 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context),                    \
			 (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_scan(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type,  \
			       user_context, flags)                                          \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCAN_OP, \
			 (void *)(sendbuf), (DAT_COUNT)(sendsize), (void *)(recvbuf),        \
			 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),      \
			 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context),                \
			 (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_broadcast(coll_handle, buf, size, root, user_context, flags)            \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_BROADCAST_OP, \
			 (void *)(buf), (DAT_COUNT)(size), (DAT_IB_COLLECTIVE_RANK)(root),        \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_barrier(coll_handle, user_context, flags)                             \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_BARRIER_OP, \
			 (user_context), (DAT_COMPLETION_FLAGS)(flags))

#endif /* DAT_IB_COLLECTIVE_H */
