/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of endpoints that have structures, states or flags to convert. */
#include "dat-1.2/convert.h"

#include <string.h>

/* D12-50: *new stays NULL without attributes. */
static bool attr_in(const DAT12_EP_ATTR *old, DAT_EP_ATTR *room, const DAT_EP_ATTR **new)
{
	*new = old ? room : NULL;
	return !old || dat12_in(&dat12_ep_attr_fields, DAT12_ALL, old, room);
}

DAT_RETURN dat12_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			   DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			   const DAT12_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	const DAT_EP_ATTR *new;
	DAT_EP_ATTR room;

	if (!attr_in(attr, &room, &new))
		return dat12_bad_arg(6);
	return dat12_word(dat_ep_create(ia, pz, recv_evd, request_evd, connect_evd, new, ep));
}

DAT_RETURN dat12_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
				    DAT_SRQ_HANDLE srq, const DAT12_EP_ATTR *attr,
				    DAT_EP_HANDLE *ep)
{
	const DAT_EP_ATTR *new;
	DAT_EP_ATTR room;

	if (!attr_in(attr, &room, &new))
		return dat12_bad_arg(7);
	return dat12_word(
		dat_ep_create_with_srq(ia, pz, recv_evd, request_evd, connect_evd, srq, new, ep));
}

DAT_RETURN dat12_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT12_EP_PARAM *param)
{
	DAT_EP_PARAM new;
	uint64_t bits;

	if (!dat12_mask(&dat12_ep_param_fields, mask, &bits))
		return dat12_bad_arg(2);
	memset(&new, 0, sizeof(new));
	if (param && !dat12_in(&dat12_ep_param_fields, mask, param, &new))
		return dat12_bad_arg(3);
	return dat12_word(dat_ep_modify(ep, bits, param ? &new : NULL));
}

DAT_RETURN dat12_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT12_EP_PARAM *param)
{
	DAT_EP_PARAM new;
	DAT_RETURN rc;
	uint64_t bits;

	if (!dat12_mask(&dat12_ep_param_fields, mask, &bits))
		return dat12_bad_arg(2);
	memset(&new, 0, sizeof(new));
	rc = dat_ep_query(ep, bits, param ? &new : NULL);
	if (rc == DAT_SUCCESS && param)
		dat12_out(&dat12_ep_param_fields, mask, &new, param);
	return dat12_word(rc);
}

DAT_RETURN dat12_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle)
{
	DAT_RETURN rc = dat_ep_get_status(ep, state, recv_idle, request_idle);

	if (rc == DAT_SUCCESS && state)
		*state = dat12_ep_state(*state);
	return dat12_word(rc);
}

DAT_RETURN dat12_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
			    DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			    DAT_CONNECT_FLAGS flags)
{
	if (flags & DAT12_NEW_CONNECT_FLAGS)
		return dat12_bad_arg(8);
	return dat12_word(dat_ep_connect(ep, address, qual, timeout, size, data, qos, flags));
}

DAT_RETURN dat12_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	if (flags & DAT12_NEW_CLOSE_FLAGS)
		return dat12_bad_arg(2);
	return dat12_word(dat_ep_disconnect(ep, flags));
}

/* D12-66 */
DAT_RETURN dat12_cr_reject(DAT_CR_HANDLE cr)
{
	return dat12_word(dat_cr_reject(cr, 0, NULL));
}

/* D12-114: programs count upwards from their process id as long as a qualifier is in use. */
DAT_RETURN dat12_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			    DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	DAT_RETURN rc = dat_psp_create(ia, qual, evd, flags, psp);

	if (DAT_GET_TYPE(rc) == DAT_PRIVILEGES_VIOLATION)
		rc = DAT_ERR(DAT_CONN_QUAL_IN_USE, 0);
	return dat12_word(rc);
}
