/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The module: what libdat2 calls to load and unload it, and the function table of its objects. */
#include <dlfcn.h>
#include <pthread.h>

#include "dapl/adapter/ia_open.h"
#include "dapl/adapter/inspect.h"
#include "dapl/adapter/settings_command.h"
#include "dapl/base/config.h"
#include "dapl/transport.h"
#include "dat/dats.h"
#include "trace/log.h"

#define MODULE_EXPORT __attribute__((visibility("default")))

MODULE_EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data);
MODULE_EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);

static const DAT_PROVIDER table = {
#define CALL(name) .name##_func = dapl_##name,
#include "dapl/object/calls.def"
#undef CALL
};

/* ---- Load and unload ---- */

static bool contract_matches(void)
{
	const struct dapl_transport *transport = &dapl_module_transport;

	if (transport->version == DAPL_TRANSPORT_VERSION && transport->size == sizeof(*transport))
		return true;
	dapl_err("transport %s is built for contract %u of %u bytes, the core for %u of %zu bytes",
		 transport->name, transport->version, transport->size, DAPL_TRANSPORT_VERSION,
		 sizeof(*transport));
	return false;
}

/*
 * Threads may still be on their way out of a call when the last IA closes (IA-87), so the code has
 * to stay although libdat2 unloads the module.
 */
static void stay_mapped(void)
{
	Dl_info self;
	void *module;

	if (!dladdr((void *)dat_provider_init, &self) || !self.dli_fname)
		return;
	module = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
	if (module)
		dlclose(module);
}

static void set_up(void)
{
	const struct dapl_transport *transport = &dapl_module_transport;

	stay_mapped();
	dapl_config_load(transport->name, transport->options, transport->num_options,
			 transport->config);
	dapl_settings_trace();
	dapl_settings_offer();
	dapl_inspect_offer();
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct dapl_entry *entry;

	if (!contract_matches())
		return;
	pthread_once(&once, set_up);
	entry = dapl_entry_add(info, instance_data ? instance_data : "", &table);
	if (!entry)
		return;
	if ((!dats_provider_uses_arena || !dats_provider_uses_arena(&entry->table)) &&
	    dat_registry_add_provider(&entry->table, info) == DAT_SUCCESS)
		return;
	dapl_err("IA %s not registered", info->ia_name);
	dat_provider_fini(info);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct dapl_entry *entry = dapl_entry_remove(info);

	if (!entry)
		return;
	dat_registry_remove_provider(&entry->table, info);
	dapl_entry_retire(entry);
}
