/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening and closing of IAs, the questions that need an open one, and extension operations. */
#include "dat/arena.h"
#include "dat/dats.h"
#include "dat/fork.h"
#include "dat/handle.h"
#include "dat/ia.h"
#include "dat/missing.h"
#include "dat/registry.h"
#include "dat/source.h"
#include "dat/strerror.h"
#include "trace/control.h"
#include "trace/dat_log.h"
#include "util/list.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The version and thread safety by which extension opens find their provider (IBX-106). */
#define EXT_MAJOR 2
#define EXT_MINOR 0

static __thread int agents;

int dats_agents(int more)
{
	return agents += more;
}

/* An extension open that awaits its close; the handle is the provider's own. */
struct ext_open {
	struct list link;
	DAT_HANDLE handle;
	struct dat_entry *entry;
	int closing;
};

pthread_mutex_t dat_ext_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list ext_opens = LIST_EMPTY(ext_opens);
static int ext_seen; /* some IA that was opened has an extension (GEN-30) */

void dat_ia_fill_key(DAT_PROVIDER_INFO *key, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		     DAT_BOOLEAN thread_safety)
{
	memset(key, 0, sizeof(*key));
	strncpy(key->ia_name, name, sizeof(key->ia_name) - 1);
	key->dapl_version_major = major;
	key->dapl_version_minor = minor;
	key->is_thread_safe = thread_safety;
}

/* IA-9: one query for the extension; its failure changes nothing. */
static void note_extension(const DAT_PROVIDER *provider, DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR *provider_attr = calloc(1, sizeof(*provider_attr));
	DAT_IA_ATTR *ia_attr = calloc(1, sizeof(*ia_attr));
	DAT_EVD_HANDLE evd;

	if (ia_attr && provider_attr && provider->ia_query_func &&
	    provider->ia_query_func(ia, &evd, DAT_IA_FIELD_IA_EXTENSION, ia_attr, 0,
				    provider_attr) == DAT_SUCCESS &&
	    ia_attr->extension_supported != DAT_EXTENSION_NONE)
		__atomic_store_n(&ext_seen, 1, __ATOMIC_RELAXED);
	free(ia_attr);
	free(provider_attr);
}

/* What libdat2 itself can tell of the async EVD (IA-3); the provider knows the rest. */
static DAT_RETURN check_async_evd(DAT_EVD_HANDLE evd, DAT_COUNT qlen)
{
	if (!evd)
		return qlen > 0 ? DAT_SUCCESS : DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (evd != DAT_EVD_ASYNC_EXISTS && !dat_handle_provider(evd))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	return DAT_SUCCESS;
}

DAT_RETURN dat_ia_check_open(const char *name, DAT_COUNT qlen, const DAT_EVD_HANDLE *async_evd,
			     DAT_IA_HANDLE *ia, DAT_BOOLEAN thread_safety)
{
	if (ia)
		*ia = DAT_HANDLE_NULL;
	if (!dat_name_is_legal(name))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!async_evd)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ia)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (thread_safety != DAT_FALSE && thread_safety != DAT_TRUE)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	return check_async_evd(*async_evd, qlen);
}

static DAT_RETURN open_entry(struct dat_entry *entry, const DAT_NAME_PTR name, DAT_COUNT qlen,
			     DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *handle)
{
	const DAT_PROVIDER *provider = entry->provider, *before;
	DAT_EVD_HANDLE evd = *async_evd;
	DAT_IA_HANDLE ia = NULL;
	DAT_RETURN rc;

	if (!provider->ia_open_func)
		return DAT_ERR(DAT_NOT_IMPLEMENTED, 0);
	*handle = dat_handle_reserve();
	if (!*handle)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	before = dat_calls(provider);
	rc = provider->ia_open_func(name, qlen, &evd, &ia);
	dat_calls(before);
	if (rc == DAT_SUCCESS && !ia)
		rc = DAT_ERR(DAT_INTERNAL_ERROR, 0);
	if (rc != DAT_SUCCESS) {
		dat_handle_release(*handle);
		return rc;
	}
	dat_handle_publish(*handle, ia, entry);
	*async_evd = evd;
	note_extension(provider, ia);
	return DAT_SUCCESS;
}

DAT_RETURN dat_ia_open_entry(struct dat_entry *entry, const DAT_NAME_PTR name, DAT_COUNT qlen,
			     DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	DAT_IA_HANDLE handle = NULL;
	DAT_RETURN rc = open_entry(entry, name, qlen, async_evd, &handle);

	if (rc != DAT_SUCCESS) {
		dat_registry_release(entry);
		return rc;
	}
	*ia = handle;
	dat_control_open();
	return DAT_SUCCESS;
}

void dat_ia_trace_open(const DAT_PROVIDER_INFO *wanted, DAT_IA_HANDLE handle, DAT_RETURN rc)
{
	if (rc == DAT_SUCCESS)
		dat_trace(ia_open, DATS_TRC_NORMAL, handle, "name=%s", wanted->ia_name);
	else
		dat_trace(ia_open_failed, DATS_TRC_ERROR, NULL,
			  "name=%s major=%u minor=%u rc=0x%x type=%s subtype=%s", wanted->ia_name,
			  wanted->dapl_version_major, wanted->dapl_version_minor, rc,
			  dat_type_text(rc), dat_subtype_text(rc));
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN thread_safety)
{
	DAT_PROVIDER_INFO wanted;
	struct dat_entry *entry;
	DAT_RETURN rc;

	rc = dat_ia_check_open(ia_name, async_evd_min_qlen, async_evd_handle, ia_handle,
			       thread_safety);
	if (rc != DAT_SUCCESS)
		return rc;
	dat_ia_fill_key(&wanted, ia_name, major, minor, thread_safety);
	rc = dat_registry_acquire(&wanted, &entry);
	if (rc == DAT_SUCCESS)
		rc = dat_ia_open_entry(entry, ia_name, async_evd_min_qlen, async_evd_handle,
				       ia_handle);
	else
		dat_missing_say(&wanted, rc);
	dat_ia_trace_open(&wanted, *ia_handle, rc);
	return rc;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags)
{
	const DAT_PROVIDER *provider;
	struct dat_entry *entry;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	if (!dat_handle_to_ia(ia_handle))
		return dat_bad_handle(ia_handle, DAT_INVALID_HANDLE_IA);
	if (ia_flags != DAT_CLOSE_ABRUPT_FLAG && ia_flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ia = dat_handle_begin_close(ia_handle, &entry);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	provider = DAT_HANDLE_TO_PROVIDER(ia);
	rc = provider->ia_close_func ? provider->ia_close_func(ia, ia_flags)
				     : DAT_ERR(DAT_NOT_IMPLEMENTED, 0);
	if (rc == DAT_SUCCESS)
		dat_trace(ia_close, DATS_TRC_NORMAL, ia_handle, "flags=%u", ia_flags);
	else
		dat_trace(ia_close_failed, DATS_TRC_ERROR, ia_handle, "rc=0x%x text=%s", rc,
			  dat_type_text(rc));
	if (rc != DAT_SUCCESS) {
		dat_handle_cancel_close(ia_handle);
		return rc;
	}
	dat_handle_release(ia_handle);
	dat_registry_release(entry);
	dat_control_close();
	return DAT_SUCCESS;
}

/* What an open IA of one name says about another name: 0, 1, or -1 if nobody answers (HA-2). */
static int ask_related(const DAT_NAME_PTR of, const DAT_NAME_PTR about)
{
	DAT_IA_HANDLE handle = dat_handle_pin_name(of), ia;
	DAT_BOOLEAN answer = DAT_FALSE;
	const DAT_PROVIDER *provider;
	DAT_RETURN rc = DAT_NOT_IMPLEMENTED;

	if (!handle)
		return -1;
	ia = dat_handle_to_ia(handle);
	provider = DAT_HANDLE_TO_PROVIDER(ia);
	if (provider->ia_ha_related_func)
		rc = provider->ia_ha_related_func(ia, about, &answer);
	dat_handle_unpin(handle);
	return rc == DAT_SUCCESS ? answer != DAT_FALSE : -1;
}

DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
					  DAT_HA_RELATIONSHIP *relationship)
{
	int one, two;

	if (!dat_name_is_legal(name1))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!dat_name_is_legal(name2))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!relationship)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (dat_registry_finalised())
		return DAT_ERR(DAT_INVALID_STATE, 0);
	if (!dat_registry_has_name(name1) || !dat_registry_has_name(name2))
		return DAT_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (!strcmp(name1, name2)) {
		*relationship = DAT_HA_TRUE;
		return DAT_SUCCESS;
	}
	one = ask_related(name1, name2);
	two = ask_related(name2, name1);
	if (one < 0 || two < 0)
		*relationship = DAT_HA_UNKNOWN;
	else if (one != two)
		*relationship = DAT_HA_CONFLICTING;
	else
		*relationship = one ? DAT_HA_TRUE : DAT_HA_FALSE;
	return DAT_SUCCESS;
}

/* Remembers through which entry an extension handle was opened. */
static int ext_remember(DAT_HANDLE handle, struct dat_entry *entry)
{
	struct ext_open *open = calloc(1, sizeof(*open));

	if (!open)
		return -1;
	open->handle = handle;
	open->entry = entry;
	pthread_mutex_lock(&dat_ext_lock);
	list_add(&ext_opens, &open->link);
	pthread_mutex_unlock(&dat_ext_lock);
	return 0;
}

static struct ext_open *ext_begin_close(DAT_HANDLE handle)
{
	struct ext_open *open, *found = NULL;

	pthread_mutex_lock(&dat_ext_lock);
	list_for_each(open, &ext_opens, link)
		if (open->handle == handle && !open->closing)
			found = open;
	if (found)
		found->closing = 1;
	pthread_mutex_unlock(&dat_ext_lock);
	return found;
}

/* Forgets an open whose close succeeded, else makes it live again. */
static void ext_end_close(struct ext_open *open, int closed)
{
	pthread_mutex_lock(&dat_ext_lock);
	open->closing = 0;
	if (closed)
		list_del(&open->link);
	pthread_mutex_unlock(&dat_ext_lock);
	if (closed)
		free(open);
}

void dat_ext_abandon(void)
{
	list_init(&ext_opens);
}

static DAT_RETURN call_extension(const DAT_PROVIDER *provider, DAT_HANDLE handle,
				 DAT_EXTENDED_OP op, va_list args)
{
	if (!provider->handle_extendedop_func)
		return DAT_ERR(DAT_NOT_IMPLEMENTED, 0);
	return provider->handle_extendedop_func(handle, op, args);
}

/* Closes what the provider opened although libdat2 has no memory to note it. */
static void ext_undo(const DAT_PROVIDER *provider, DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	va_list args;

	va_start(args, op);
	call_extension(provider, handle, op, args);
	va_end(args);
}

/* The variable arguments begin with the IA's name and the place for the handle (IBX-7). */
static DAT_RETURN ext_open(DAT_EXTENDED_OP op, va_list args)
{
	const DAT_PROVIDER *before;
	DAT_PROVIDER_INFO wanted;
	struct dat_entry *entry;
	const char *name;
	DAT_HANDLE *out;
	DAT_RETURN rc;
	va_list peek;

	va_copy(peek, args);
	name = va_arg(peek, const char *);
	out = va_arg(peek, DAT_HANDLE *);
	va_end(peek);
	if (out)
		*out = DAT_HANDLE_NULL;
	if (!name)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_ARG3);
	if (!dat_name_is_legal(name))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!out)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	dat_ia_fill_key(&wanted, name, EXT_MAJOR, EXT_MINOR, DAT_FALSE);
	rc = dat_registry_acquire(&wanted, &entry);
	if (rc != DAT_SUCCESS) {
		dat_missing_say(&wanted, rc);
		return rc;
	}
	before = dat_calls(entry->provider);
	rc = call_extension(entry->provider, DAT_HANDLE_NULL, op, args);
	dat_calls(before);
	if (rc == DAT_SUCCESS && ext_remember(*out, entry)) {
		ext_undo(entry->provider, *out,
			 op - DAT_OPEN_EXTENSION_BASE + DAT_CLOSE_EXTENSION_BASE);
		rc = DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	if (rc == DAT_SUCCESS) {
		__atomic_store_n(&ext_seen, 1, __ATOMIC_RELAXED);
		return rc;
	}
	*out = DAT_HANDLE_NULL;
	dat_registry_release(entry);
	return rc;
}

static DAT_RETURN ext_close(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	struct ext_open *open = handle ? ext_begin_close(handle) : NULL;
	struct dat_entry *entry;
	DAT_RETURN rc;

	if (!open)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	entry = open->entry;
	rc = call_extension(entry->provider, handle, op, args);
	ext_end_close(open, rc == DAT_SUCCESS);
	if (rc == DAT_SUCCESS)
		dat_registry_release(entry);
	return rc;
}

/* An operation on an object or an IA. */
static DAT_RETURN ext_call(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	const DAT_PROVIDER *provider;

	if (!handle)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!__atomic_load_n(&ext_seen, __ATOMIC_RELAXED))
		return DAT_ERR(DAT_NOT_IMPLEMENTED, 0);
	if ((uintptr_t)handle < DAT_HANDLE_MAX)
		handle = dat_handle_to_ia(handle);
	provider = dat_handle_provider(handle);
	if (!provider)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	return call_extension(provider, handle, op, args);
}

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...)
{
	DAT_RETURN rc;
	va_list args;

	va_start(args, operation);
	if (operation & DAT_OPEN_EXTENSION_BASE)
		rc = ext_open(operation, args);
	else if (operation & DAT_CLOSE_EXTENSION_BASE)
		rc = ext_close(handle, operation, args);
	else
		rc = ext_call(handle, operation, args);
	va_end(args);
	return rc;
}
