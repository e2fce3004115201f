/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the library says of DAT 1.2, held against its headers: no other file includes them. */
#include "include/dat-1.2/dat/udat.h"
#include "include/dat-1.2/dat/dat_registry.h"

#include <assert.h>

#include "dat-1.2/fields.h"
#include "dat-1.2/old.h"

/* ---- The calls ---- */

#define DAT12_TYPES
typedef DAT_EP_ATTR DAT12_EP_ATTR;
typedef DAT_EP_PARAM DAT12_EP_PARAM;
typedef DAT_IA_ATTR DAT12_IA_ATTR;
typedef DAT_PROVIDER_ATTR DAT12_PROVIDER_ATTR;
typedef DAT_LMR_PARAM DAT12_LMR_PARAM;
typedef DAT_RMR_PARAM DAT12_RMR_PARAM;
typedef DAT_CNO_PARAM DAT12_CNO_PARAM;
typedef DAT_EVENT DAT12_EVENT;
typedef DAT_LMR_TRIPLET DAT12_LMR_TRIPLET;
typedef DAT_RMR_TRIPLET DAT12_RMR_TRIPLET;
#include "dat-1.2/calls.h"

#define CALL(name)                                                                              \
	static_assert(                                                                          \
		__builtin_types_compatible_p(__typeof__(dat12_##name), __typeof__(dat_##name)), \
		"dat_" #name " is not as the header declares it");
#include "dat-1.2/calls.def"
#undef CALL

/* ---- Small structures ---- */

#define SAME(mine, my_member, theirs, member)                                  \
	static_assert(offsetof(mine, my_member) == offsetof(theirs, member) && \
			      sizeof(((mine *)NULL)->my_member) ==             \
				      sizeof(((theirs *)NULL)->member),        \
		      #theirs "." #member " is elsewhere")
#define SAME_SIZE(mine, theirs) static_assert(sizeof(mine) == sizeof(theirs), #theirs)

SAME_SIZE(struct dat12_segment, DAT_LMR_TRIPLET);
SAME(struct dat12_segment, context, DAT_LMR_TRIPLET, lmr_context);
SAME(struct dat12_segment, address, DAT_LMR_TRIPLET, virtual_address);
SAME(struct dat12_segment, length, DAT_LMR_TRIPLET, segment_length);
SAME_SIZE(struct dat12_segment, DAT_RMR_TRIPLET);
SAME(struct dat12_segment, context, DAT_RMR_TRIPLET, rmr_context);
SAME(struct dat12_segment, address, DAT_RMR_TRIPLET, target_address);
SAME(struct dat12_segment, length, DAT_RMR_TRIPLET, segment_length);
SAME_SIZE(struct dat12_event, DAT_EVENT);
SAME(struct dat12_event, number, DAT_EVENT, event_number);
SAME(struct dat12_event, evd, DAT_EVENT, evd_handle);
SAME(struct dat12_event, data, DAT_EVENT, event_data);
SAME_SIZE(struct dat12_cno_param, DAT_CNO_PARAM);
SAME(struct dat12_cno_param, ia, DAT_CNO_PARAM, ia_handle);
SAME(struct dat12_cno_param, agent_data, DAT_CNO_PARAM, agent.instance_data);
SAME(struct dat12_cno_param, agent_func, DAT_CNO_PARAM, agent.proxy_agent_func);

#define IS_WORD(type, member, word)                                                        \
	static_assert(offsetof(type, member) == 8 * DAT12_##word, #type "." #member " is " \
									"elsewhere")
IS_WORD(DAT_DTO_COMPLETION_EVENT_DATA, ep_handle, DTO_EP);
IS_WORD(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie, DTO_COOKIE);
IS_WORD(DAT_DTO_COMPLETION_EVENT_DATA, status, DTO_STATUS);
IS_WORD(DAT_DTO_COMPLETION_EVENT_DATA, transfered_length, DTO_LENGTH);
IS_WORD(DAT_RMR_BIND_COMPLETION_EVENT_DATA, status, DTO_STATUS);

/* ---- Structures that differ ---- */

#define TABLE(name) dat12_old_##name
#include "dat-1.2/tables.def"

/* Whoever asks for all asks for what the tables have. */
#define OR(member, bit, kind) | (bit)
#define ALL(name, all)	      static_assert((0 DAT12_##name##_FIELDS(OR)) == (all), #all)
ALL(EP_ATTR, DAT_EP_FIELD_EP_ATTR_ALL);
ALL(EP_PARAM, DAT_EP_FIELD_ALL & ~DAT_EP_FIELD_EP_ATTR_ALL);
ALL(IA_ATTR, DAT_IA_FIELD_ALL);
ALL(PROVIDER_ATTR, DAT_PROVIDER_FIELD_ALL);
ALL(LMR_PARAM, DAT_LMR_FIELD_ALL);
ALL(RMR_PARAM, DAT_RMR_FIELD_ALL);

/* ---- Numbers of events ---- */

const uint32_t dat12_event_numbers[] = {
	DAT_DTO_COMPLETION_EVENT,
	DAT_RMR_BIND_COMPLETION_EVENT,
	DAT_CONNECTION_REQUEST_EVENT,
	DAT_CONNECTION_EVENT_ESTABLISHED,
	DAT_CONNECTION_EVENT_PEER_REJECTED,
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
	DAT_CONNECTION_EVENT_DISCONNECTED,
	DAT_CONNECTION_EVENT_BROKEN,
	DAT_CONNECTION_EVENT_TIMED_OUT,
	DAT_CONNECTION_EVENT_UNREACHABLE,
	DAT_ASYNC_ERROR_EVD_OVERFLOW,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC,
	DAT_ASYNC_ERROR_EP_BROKEN,
	DAT_ASYNC_ERROR_TIMED_OUT,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
	DAT_SOFTWARE_EVENT,
};

const unsigned int dat12_num_event_numbers =
	sizeof(dat12_event_numbers) / sizeof(dat12_event_numbers[0]);
