/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Return words. */
#include "dat-1.2/convert.h"

/* Types that DAT 1.2 has not (D12-29, D12-30), by what they become. */
static const struct {
	DAT_UINT32 was, is;
} types[] = {
	{ DAT_NOT_IMPLEMENTED, 0xffff0000 },
	{ DAT_PORT_IN_USE, DAT_CONN_QUAL_IN_USE },
	{ DAT_COMM_NOT_SUPPORTED, DAT_MODEL_NOT_SUPPORTED },
};

/* Ranges of subtypes by their last, and the number that the last one has in DAT 1.2 (D12-31). */
static const struct {
	uint16_t last, is;
} subtypes[] = {
	{ DAT_INVALID_HANDLE_SRQ, 25 },	      { DAT_INVALID_HANDLE_CSP, 0 },
	{ DAT_INVALID_STATE_SRQ_IN_USE, 86 }, { DAT_INVALID_STATE_SRQ_SHUTDOWN, 85 },
	{ DAT_THREAD_SAFETY_NOT_FOUND, 101 },
};

#define NUM_OF(array) (sizeof(array) / sizeof((array)[0]))

DAT_UINT32 dat12_subtype(DAT_UINT32 subtype)
{
	size_t i;

	for (i = 0; i < NUM_OF(subtypes); i++)
		if (subtype <= subtypes[i].last)
			return subtypes[i].is ? subtypes[i].is - (subtypes[i].last - subtype) : 0;
	return 0;
}

static DAT_UINT32 old_type(DAT_UINT32 type)
{
	size_t i;

	if (type <= DAT_CONN_QUAL_UNAVAILABLE)
		return type;
	for (i = 0; i < NUM_OF(types); i++)
		if (types[i].was == type)
			return types[i].is;
	return DAT_INTERNAL_ERROR;
}

DAT_RETURN dat12_failure(DAT_RETURN rc)
{
	DAT_UINT32 type = old_type(DAT_GET_TYPE(rc));

	if (type & ~DAT_TYPE_MASK)
		return type;
	return (rc & ~(DAT_TYPE_MASK | DAT_SUBTYPE_MASK)) | type |
	       dat12_subtype(DAT_GET_SUBTYPE(rc));
}

DAT_RETURN dat12_bad_arg(unsigned int number)
{
	return dat12_failure(DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + number - 1));
}

unsigned int dat12_arg_of(DAT_RETURN rc)
{
	DAT_UINT32 subtype = DAT_GET_SUBTYPE(rc);

	if (DAT_GET_TYPE(rc) != DAT_INVALID_PARAMETER || subtype < DAT_INVALID_ARG1 ||
	    subtype > DAT_INVALID_ARG10)
		return 0;
	return subtype - DAT_INVALID_ARG1 + 1;
}
