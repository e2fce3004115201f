/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening, closing and listing: libdat2 knows which lines of dat.conf serve DAT 1.2 (section 10). */
#include <dat/dat_registry.h>

#include "dat-1.2/contexts.h"
#include "dat-1.2/convert.h"

/* The version of DAT that this library is. */
#define MAJOR 1
#define MINOR 2

DAT_RETURN dat12_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			  DAT_BOOLEAN thread_safety)
{
	if (major != MAJOR) /* D12-17 */
		return dat12_failure(DAT_ERR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND));
	if (minor != MINOR) /* D12-100 */
		return dat12_failure(DAT_ERR(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND));
	return dat12_word(dats_legacy_open(name, qlen, async_evd, ia, thread_safety));
}

DAT_RETURN dat12_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN rc;

	if (flags & DAT12_NEW_CLOSE_FLAGS)
		return dat12_bad_arg(2);
	dat12_contexts_begin_close(ia);
	rc = dat_ia_close(ia, flags);
	dat12_contexts_end_close(ia, rc == DAT_SUCCESS);
	return dat12_word(rc);
}

DAT_RETURN dat12_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
					 DAT_PROVIDER_INFO **list)
{
	return dat12_word(dats_legacy_list(max_to_return, entries_returned, list));
}

/*
 * ---- For modules of DAT 2.0 ----
 *
 * They name no version of these, and where this library comes first in a program they get them here
 * (D12-19). Modules of DAT 1.2, whose tables are others, are not run (D12-20).
 */

static int is_old(const DAT_PROVIDER_INFO *info)
{
	return info && info->dapl_version_major < 2;
}

DAT_RETURN dat12_registry_add_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	if (is_old(info))
		return dat12_failure(DAT_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	return dat_registry_add_provider(provider, info);
}

DAT_RETURN dat12_registry_remove_provider(const DAT_PROVIDER *provider,
					  const DAT_PROVIDER_INFO *info)
{
	if (is_old(info))
		return dat12_failure(DAT_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	return dat_registry_remove_provider(provider, info);
}

DAT_RETURN dat12_get_ia_handle(DAT_IA_HANDLE ia, DAT_IA_HANDLE *handle)
{
	return dats_get_ia_handle(ia, handle);
}
