/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The module: what libdat2 calls to load and unload it, and the function table of its objects. */
#include <dlfcn.h>
#include <pthread.h>

#include "dapl/adapter/extension.h"
#include "dapl/adapter/ia_open.h"
#include "dapl/adapter/inspect.h"
#include "dapl/adapter/settings_command.h"
#include "dapl/base/config.h"
#include "dapl/connect/connect.h"
#include "dapl/connect/cr.h"
#include "dapl/endpoint/ep.h"
#include "dapl/event/cno.h"
#include "dapl/event/evd.h"
#include "dapl/memory/lmr.h"
#include "dapl/memory/rmr.h"
#include "dapl/transfer/bind.h"
#include "dapl/transfer/post.h"
#include "dapl/transfer/srq.h"
#include "dapl/transport.h"
#include "dat/dats.h"
#include "trace/log.h"

#define MODULE_EXPORT __attribute__((visibility("default")))

MODULE_EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data);
MODULE_EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);

static const DAT_PROVIDER table = {
	.ia_open_func = dapl_ia_open,
	.ia_query_func = dapl_ia_query,
	.ia_close_func = dapl_ia_close,
	.set_consumer_context_func = dapl_set_consumer_context,
	.get_consumer_context_func = dapl_get_consumer_context,
	.get_handle_type_func = dapl_get_handle_type,
	.cno_create_func = dapl_cno_create,
	.cno_modify_agent_func = dapl_cno_modify_agent,
	.cno_query_func = dapl_cno_query,
	.cno_free_func = dapl_cno_free,
	.cno_wait_func = dapl_cno_wait,
	.cr_query_func = dapl_cr_query,
	.cr_accept_func = dapl_cr_accept,
	.cr_reject_func = dapl_cr_reject,
	.cr_handoff_func = dapl_cr_handoff,
	.evd_create_func = dapl_evd_create,
	.evd_query_func = dapl_evd_query,
	.evd_modify_cno_func = dapl_evd_modify_cno,
	.evd_enable_func = dapl_evd_enable,
	.evd_disable_func = dapl_evd_disable,
	.evd_wait_func = dapl_evd_wait,
	.evd_resize_func = dapl_evd_resize,
	.evd_post_se_func = dapl_evd_post_se,
	.evd_dequeue_func = dapl_evd_dequeue,
	.evd_free_func = dapl_evd_free,
	.ep_create_func = dapl_ep_create,
	.ep_query_func = dapl_ep_query,
	.ep_modify_func = dapl_ep_modify,
	.ep_connect_func = dapl_ep_connect,
	.ep_dup_connect_func = dapl_ep_dup_connect,
	.ep_disconnect_func = dapl_ep_disconnect,
	.ep_post_send_func = dapl_ep_post_send,
	.ep_post_recv_func = dapl_ep_post_recv,
	.ep_post_rdma_read_func = dapl_ep_post_rdma_read,
	.ep_post_rdma_write_func = dapl_ep_post_rdma_write,
	.ep_get_status_func = dapl_ep_get_status,
	.ep_free_func = dapl_ep_free,
	.lmr_create_func = dapl_lmr_create,
	.lmr_query_func = dapl_lmr_query,
	.lmr_free_func = dapl_lmr_free,
	.rmr_create_func = dapl_rmr_create,
	.rmr_query_func = dapl_rmr_query,
	.rmr_bind_func = dapl_rmr_bind,
	.rmr_free_func = dapl_rmr_free,
	.psp_create_func = dapl_psp_create,
	.psp_query_func = dapl_psp_query,
	.psp_free_func = dapl_psp_free,
	.rsp_create_func = dapl_rsp_create,
	.rsp_query_func = dapl_rsp_query,
	.rsp_free_func = dapl_rsp_free,
	.pz_create_func = dapl_pz_create,
	.pz_query_func = dapl_pz_query,
	.pz_free_func = dapl_pz_free,
	.psp_create_any_func = dapl_psp_create_any,
	.ep_reset_func = dapl_ep_reset,
	.evd_set_unwaitable_func = dapl_evd_set_unwaitable,
	.evd_clear_unwaitable_func = dapl_evd_clear_unwaitable,
	.lmr_sync_rdma_read_func = dapl_lmr_sync_rdma,
	.lmr_sync_rdma_write_func = dapl_lmr_sync_rdma,
	.ep_create_with_srq_func = dapl_ep_create_with_srq,
	.ep_recv_query_func = dapl_ep_recv_query,
	.ep_set_watermark_func = dapl_ep_set_watermark,
	.srq_create_func = dapl_srq_create,
	.srq_free_func = dapl_srq_free,
	.srq_post_recv_func = dapl_srq_post_recv,
	.srq_query_func = dapl_srq_query,
	.srq_resize_func = dapl_srq_resize,
	.srq_set_lw_func = dapl_srq_set_lw,
	.csp_create_func = dapl_csp_create,
	.csp_query_func = dapl_csp_query,
	.csp_free_func = dapl_csp_free,
	.ep_common_connect_func = dapl_ep_common_connect,
	.rmr_create_for_ep_func = dapl_rmr_create_for_ep,
	.ep_post_send_with_invalidate_func = dapl_ep_post_send_with_invalidate,
	.ep_post_rdma_read_to_rmr_func = dapl_ep_post_rdma_read_to_rmr,
	.cno_fd_create_func = dapl_cno_fd_create,
	.cno_trigger_func = dapl_cno_trigger,
	.ia_ha_related_func = dapl_ia_ha_related,
	.handle_extendedop_func = dapl_extension_op,
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
