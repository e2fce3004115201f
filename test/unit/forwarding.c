/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A provider module that has another one do everything. */
#include <dat/dat_registry.h>

#include <dlfcn.h>

static void *other;

__attribute__((visibility("default"))) void dat_provider_init(const DAT_PROVIDER_INFO *info,
							      const char *instance_data)
{
	DAT_PROVIDER_INIT_FUNC init;

	other = dlopen(MODULE_DIR "/counting.so", RTLD_NOW | RTLD_LOCAL);
	*(void **)&init = dlsym(other, DAT_PROVIDER_INIT_FUNC_STR);
	init(info, instance_data);
}

__attribute__((visibility("default"))) void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	DAT_PROVIDER_FINI_FUNC fini;

	*(void **)&fini = dlsym(other, DAT_PROVIDER_FINI_FUNC_STR);
	fini(info);
	dlclose(other);
}
