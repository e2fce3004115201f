/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queries of what is no endpoint: the mask in, the fields asked for out (D12-59, D12-60). */
#include "dat-1.2/convert.h"
#include "dat-1.2/old.h"

#include <string.h>

DAT_RETURN dat12_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			  DAT12_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
			  DAT12_PROVIDER_ATTR *provider_attr)
{
	DAT_PROVIDER_ATTR new_provider;
	uint64_t ia_bits, provider_bits;
	DAT_IA_ATTR new_ia;
	DAT_RETURN rc;

	if (!dat12_mask(&dat12_ia_attr_fields, ia_mask, &ia_bits))
		return dat12_bad_arg(3);
	if (!dat12_mask(&dat12_provider_attr_fields, provider_mask, &provider_bits))
		return dat12_bad_arg(5);
	memset(&new_ia, 0, sizeof(new_ia));
	memset((void *)&new_provider, 0, sizeof(new_provider));
	rc = dat_ia_query(ia, async_evd, ia_bits, ia_attr ? &new_ia : NULL, provider_bits,
			  provider_attr ? &new_provider : NULL);
	if (rc == DAT_SUCCESS && ia_attr)
		dat12_out(&dat12_ia_attr_fields, ia_mask, &new_ia, ia_attr);
	if (rc == DAT_SUCCESS && provider_attr)
		dat12_out(&dat12_provider_attr_fields, provider_mask, &new_provider, provider_attr);
	return dat12_word(rc);
}

DAT_RETURN dat12_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT12_LMR_PARAM *param)
{
	DAT_LMR_PARAM new;
	DAT_RETURN rc;
	uint64_t bits;

	if (!dat12_mask(&dat12_lmr_param_fields, mask, &bits))
		return dat12_bad_arg(2);
	memset(&new, 0, sizeof(new));
	rc = dat_lmr_query(lmr, (DAT_LMR_PARAM_MASK)bits, param ? &new : NULL);
	if (rc == DAT_SUCCESS && param)
		dat12_out(&dat12_lmr_param_fields, mask, &new, param);
	return dat12_word(rc);
}

DAT_RETURN dat12_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT12_RMR_PARAM *param)
{
	DAT_RMR_PARAM new;
	DAT_RETURN rc;
	uint64_t bits;

	if (!dat12_mask(&dat12_rmr_param_fields, mask, &bits))
		return dat12_bad_arg(2);
	memset(&new, 0, sizeof(new));
	rc = dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)bits, param ? &new : NULL);
	if (rc == DAT_SUCCESS && param)
		dat12_out(&dat12_rmr_param_fields, mask, &new, param);
	return dat12_word(rc);
}

/* The same layout and mask, but a state whose numbers were exchanged (D12-61). */
DAT_RETURN dat12_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	enum {
		OLD_OPERATIONAL,
		OLD_ERROR
	};
	DAT_SRQ_PARAM new;
	DAT_RETURN rc;

	if (param)
		new = *param; /* what is not asked for stays (D12-59) */
	rc = dat_srq_query(srq, mask ? mask | DAT_SRQ_FIELD_SRQ_STATE : mask, param ? &new : NULL);
	if (rc != DAT_SUCCESS || !param || !mask)
		return dat12_word(rc);
	new.srq_state = (DAT_SRQ_STATE)(new.srq_state == DAT_SRQ_STATE_OPERATIONAL ? OLD_OPERATIONAL
										   : OLD_ERROR);
	*param = new;
	return DAT_SUCCESS;
}

/* Bits of DAT 1.2. Those of DAT 2.0 are not distinct, so it is asked for all (D12-60). */
enum {
	OLD_CNO_IA = 1,
	OLD_CNO_AGENT = 2
};

DAT_RETURN dat12_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT12_CNO_PARAM *param)
{
	DAT_CNO_PARAM new;
	DAT_RETURN rc;

	if (mask & ~(uint32_t)(OLD_CNO_IA | OLD_CNO_AGENT))
		return dat12_bad_arg(2);
	memset(&new, 0, sizeof(new));
	rc = dat_cno_query(cno, mask ? DAT_CNO_FIELD_ALL : (DAT_CNO_PARAM_MASK)0,
			   param ? &new : NULL);
	if (rc != DAT_SUCCESS || !param)
		return dat12_word(rc);
	if (new.proxy_type != DAT_PROXY_TYPE_AGENT)
		new.proxy.agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	if (mask & OLD_CNO_IA)
		param->ia = new.ia_handle;
	if (mask & OLD_CNO_AGENT) {
		param->agent_data = new.proxy.agent.instance_data;
		param->agent_func = new.proxy.agent.proxy_agent_func;
	}
	return DAT_SUCCESS;
}
