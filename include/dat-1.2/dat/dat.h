/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat.h
 * Calls that programs and kernels share; programs include udat.h.
 */
#ifndef DAT_1_2_DAT_H
#define DAT_1_2_DAT_H

#include "udat_config.h"
#include "dat_attr.h"
#include "dat_ep.h"
#include "dat_evd.h"
#include "dat_mem.h"
#include "dat_sp.h"
#include "dat_srq.h"

/* Values of *asynch_evd_handle for dat_ia_openv: make none; from it: there is one elsewhere. */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)0x1)
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)0x2)

/** Open an adapter in the version that the program is compiled for; see dat_ia_openv. */
#define dat_ia_open(name, qlen, async_evd, ia)                                                \
	dat_ia_openv((name), (qlen), (async_evd), (ia), DAT_VERSION_MAJOR, DAT_VERSION_MINOR, \
		     DAT_THREADSAFE)

DAT_BEGIN_DECLS

/**
 * Open an adapter in the version named; programs call dat_ia_open. Major 1 and minor 2 are
 * served, by the lines of dat.conf that libdat-1.2(7) tells of, and all others refused. If
 * *asynch_evd_handle is NULL an EVD for asynchronous events is made and returned there.
 */
extern DAT_RETURN dat_ia_openv(IN const DAT_NAME_PTR provider, IN DAT_COUNT asynch_evd_min_qlen,
			       INOUT DAT_EVD_HANDLE *asynch_evd_handle,
			       OUT DAT_IA_HANDLE *ia_handle, IN DAT_UINT32 dat_major_version_number,
			       IN DAT_UINT32 dat_minor_version_number,
			       IN DAT_BOOLEAN dat_thread_safety);

/** Read the asynchronous EVD and the attributes that the masks name. */
extern DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle, OUT DAT_EVD_HANDLE *async_evd_handle,
			       IN DAT_IA_ATTR_MASK ia_attr_mask, OUT DAT_IA_ATTR *ia_attr,
			       IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			       OUT DAT_PROVIDER_ATTR *provider_attr);

/** Close an adapter; abruptly: with all that was made of it. */
extern DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS close_flags);

/** Attach a value of the program's to any object. */
extern DAT_RETURN dat_set_consumer_context(IN DAT_HANDLE dat_handle, IN DAT_CONTEXT context);

/** Read the value attached to an object. */
extern DAT_RETURN dat_get_consumer_context(IN DAT_HANDLE dat_handle, OUT DAT_CONTEXT *context);

/** Tell what kind of object a handle stands for. */
extern DAT_RETURN dat_get_handle_type(IN DAT_HANDLE dat_handle, OUT DAT_HANDLE_TYPE *handle_type);

/** List the names that dat_ia_open can open, at most max_to_return of them. */
extern DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
					      OUT DAT_COUNT *entries_returned,
					      OUT DAT_PROVIDER_INFO **dat_provider_list);

/** Name the type and the subtype of a return value. The strings are constant. */
extern DAT_RETURN dat_strerror(IN DAT_RETURN dat_function_return,
			       OUT const char **major_message_string,
			       OUT const char **minor_message_string);

DAT_END_DECLS

#endif /* DAT_1_2_DAT_H */
