/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A library with one of the two entry points: it must not be called. A constructor registers a
 * provider all the same, where the entry that names the library is called "constructed".
 */
#include <dat/dat_registry.h>

#include <stdlib.h>

static DAT_RETURN never_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			     DAT_IA_HANDLE *ia)
{
	(void)name, (void)qlen, (void)evd, (void)ia;
	abort();
}

static DAT_PROVIDER table = { .ia_open_func = never_open };

__attribute__((constructor)) static void construct(void)
{
	DAT_PROVIDER_INFO info = { .ia_name = "constructed", .dapl_version_major = 2 };

	dat_registry_add_provider(&table, &info);
}

__attribute__((visibility("default"))) void dat_provider_init(const DAT_PROVIDER_INFO *info,
							      const char *instance_data)
{
	(void)info;
	(void)instance_data;
	abort();
}
