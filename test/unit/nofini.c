/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A library with one of the two entry points: it must not be called. */
#include <dat/dat_registry.h>

#include <stdlib.h>

__attribute__((visibility("default"))) void dat_provider_init(const DAT_PROVIDER_INFO *info,
							      const char *instance_data)
{
	(void)info;
	(void)instance_data;
	abort();
}
