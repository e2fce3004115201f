/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Return words, masks and structures, from DAT 2.0 to 1.2 and back. */
#ifndef DAT12_CONVERT_H
#define DAT12_CONVERT_H

#include <stdbool.h>

#include "dat-1.2/libdat2.h"
#include "dat-1.2/calls.h"

/* ---- Return words ---- */

/* D12-28 to D12-31, of what is not DAT_SUCCESS. */
DAT_RETURN dat12_failure(DAT_RETURN rc);

static inline DAT_RETURN dat12_word(DAT_RETURN rc)
{
	return likely(rc == DAT_SUCCESS) ? rc : dat12_failure(rc);
}

/* The number of a subtype of DAT 2.0, 0 if DAT 1.2 has not such. */
DAT_UINT32 dat12_subtype(DAT_UINT32 subtype);

/* That parameter of the prototype of DAT 1.2 is wrong. */
DAT_RETURN dat12_bad_arg(unsigned int number);

/* The parameter that a word of DAT 2.0 says is wrong, 0 if it says nothing of one. */
unsigned int dat12_arg_of(DAT_RETURN rc);

/* ---- Structures ---- */

struct dat12_struct; /* that differs: see fields.h */

extern const struct dat12_struct dat12_ep_attr_fields, dat12_ep_param_fields, dat12_ia_attr_fields,
	dat12_provider_attr_fields, dat12_lmr_param_fields, dat12_rmr_param_fields;

#define DAT12_ALL UINT64_MAX

/* The bits of DAT 2.0; false: some of these are none of DAT 1.2. */
bool dat12_mask(const struct dat12_struct *fields, uint64_t old_mask, uint64_t *new_mask);

/* Copies the fields of a mask of DAT 1.2 and leaves all others. */
void dat12_out(const struct dat12_struct *fields, uint64_t old_mask, const void *new_one,
	       void *old_one);
/* False: one of them has a value that DAT 2.0 cannot express, or that DAT 1.2 does not know. */
bool dat12_in(const struct dat12_struct *fields, uint64_t old_mask, const void *old_one,
	      void *new_one);

/* ---- Single values ---- */

/* D12-62 */
static inline DAT_EP_STATE dat12_ep_state(DAT_EP_STATE state)
{
	return state > DAT_EP_STATE_COMPLETION_PENDING ? DAT_EP_STATE_CONNECTED : state;
}

/* What DAT 1.2 knows of flags. */
#define DAT12_COMPLETION_FLAGS                                                 \
	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |   \
	 DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG | \
	 DAT_COMPLETION_EVD_THRESHOLD_FLAG)

/* And bits that only DAT 2.0 knows (D12-64). */
#define DAT12_NEW_COMPLETION_FLAGS ((uint32_t)DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)
#define DAT12_NEW_CONNECT_FLAGS	   ((uint32_t)DAT_CONNECT_MULTIPATH_REQUIRED_FLAG)
#define DAT12_NEW_PRIVILEGES	   (~(uint32_t)0 << 6)
#define DAT12_NEW_EVD_FLAGS	   (~(uint32_t)0 << 9)
#define DAT12_NEW_CLOSE_FLAGS	   ((uint32_t)0x2000) /* closes an adapter opened to be asked */

#endif
