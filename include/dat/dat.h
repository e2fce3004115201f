/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat.h
 * The part of the interface that user and kernel consumers have in common. Programs include
 * udat.h, which includes this.
 *
 * Some rules hold for every call and are not repeated with each:
 *
 * - A call succeeded if and only if it returned DAT_SUCCESS. Errors have DAT_CLASS_ERROR set, but
 *   for a bare DAT_QUEUE_EMPTY or DAT_TIMEOUT_EXPIRED; compare DAT_GET_TYPE and, where a subtype
 *   is named, DAT_GET_SUBTYPE (GEN-1..GEN-6, EVD-1, EVD-2).
 * - DAT_INTERNAL_ERROR can come from any call when the library or the device fails (GEN-5).
 * - A handle that is NULL, was freed or names an object of another kind or another open adapter
 *   gives DAT_INVALID_HANDLE with the subtype of that parameter (GEN-20..GEN-22).
 * - A call that fails has no effect. What it would have returned through pointers is undefined
 *   unless the call says otherwise (GEN-8).
 * - What a provider does not implement answers DAT_NOT_IMPLEMENTED, what it implements without the
 *   model, flag or attribute asked for DAT_MODEL_NOT_SUPPORTED (GEN-10).
 * - Memory reached through pointers in a queried structure belongs to the provider and lives until
 *   the object is destroyed (GEN-14).
 * - Different objects may always be used from different threads at the same time (GEN-24). No call
 *   runs code of the program but proxy agents of notification objects (GEN-27).
 */
/* Names such as EVD-45 are those of the numbered clauses in doc/spec. */
#ifndef DAT_H
#define DAT_H

#include "dat_platform_specific.h"
#include "dat_error.h"
#include "dat_types.h"
#include "dat_ia.h"
#include "dat_event.h"
#include "dat_evd.h"
#include "dat_mem.h"
#include "dat_srq.h"
#include "dat_ep.h"
#include "dat_dto.h"
#include "dat_sp.h"
#include "dat_vendor_specific.h"

/** Key of a provider: name, version and thread safety (REG-2, REG-3). */
typedef struct dat_provider_info {
	char ia_name[256]; /**< NUL included */
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

/** Answer of dat_registry_providers_related (HA-1..HA-3). */
typedef enum dat_ha_relationship {
	DAT_HA_FALSE = 0,	/**< cannot back each other up */
	DAT_HA_TRUE = 1,	/**< can */
	DAT_HA_UNKNOWN = 2,	/**< an answer is missing */
	DAT_HA_CONFLICTING = 3, /**< the answers differ */
	DAT_HA_EXTENSION_BASE = 4
} DAT_HA_RELATIONSHIP;

DAT_BEGIN_DECLS

/**
 * List the adapters that the configuration file names.
 *
 * Entries are copied in the order of the file, one per combination of name, version and thread
 * safety; nothing is loaded, and a listed adapter may still fail to open (REG-28..REG-36).
 * Providers that registered themselves without an entry are not listed.
 *
 * @param max_to_return number of elements of dat_provider_list, more than 0; 0 asks for the number
 *        of entries only and is answered by an error (REG-32).
 * @param entries_returned receives the number of structures filled, or on every failure but its
 *        own absence the number of entries there are (REG-30, REG-34). Never NULL.
 * @param dat_provider_list array of max_to_return pointers, each to a structure of the caller's;
 *        may be NULL when max_to_return is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the entries, or as many as fit, were copied; there may be none.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG1: max_to_return is not positive.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: entries_returned is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: the list or an element that is needed is NULL.
 * @retval DAT_INVALID_STATE the registry is shut down, at exit of the process (REG-6).
 * @retval DAT_INTERNAL_ERROR the registry is damaged.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_registry_list_providers(IN DAT_COUNT max_to_return, OUT DAT_COUNT *entries_returned,
			    OUT DAT_PROVIDER_INFO **dat_provider_list);

/**
 * Name the type and the subtype of a return value.
 *
 * The strings are the names of the enumerators, such as "DAT_INVALID_PARAMETER" and
 * "DAT_INVALID_ARG2"; no subtype gives an empty string. They are constant and never freed. Class
 * bits are ignored, and type and subtype need not belong together (REG-53..REG-57).
 *
 * @param dat_function_return the value to name, DAT_SUCCESS included.
 * @param major_message_string receives the name of the type; never NULL.
 * @param minor_message_string receives the name of the subtype; may be NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS both names are stored.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG1: the type or the subtype is not one of this
 *        interface.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: major_message_string is NULL.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_strerror(IN DAT_RETURN dat_function_return,
					   OUT const char **major_message_string,
					   OUT const char **minor_message_string);

/**
 * Attach a value of the program's to an object.
 *
 * Every object stores one such value, all 64 bits of it, and never looks at it. It replaces the
 * former one; a NULL pointer removes it. It is not inherited by objects made from this one
 * (CTX-1..CTX-6).
 *
 * @param dat_handle any object: adapter, endpoint, dispatcher, request, service point, zone,
 *        region, notification object or shared receive queue.
 * @param context the value, as pointer, number or index.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the value is stored.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE1: dat_handle is not a live object.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_set_consumer_context(IN DAT_HANDLE dat_handle,
						       IN DAT_CONTEXT context);

/**
 * Read the value that dat_set_consumer_context attached.
 *
 * A new object has all bits zero (CTX-1..CTX-6).
 *
 * @param dat_handle any object.
 * @param context receives the value; never NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the value is stored in context.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE1: dat_handle is not a live object.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: context is NULL.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_get_consumer_context(IN DAT_HANDLE dat_handle,
						       OUT DAT_CONTEXT *context);

/**
 * Tell what kind of object a handle names.
 *
 * A connection request that was accepted, rejected or handed off is no object any more
 * (CTX-7..CTX-9).
 *
 * @param dat_handle any object.
 * @param handle_type receives the kind; never NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (GEN-23,
 * GEN-24).
 *
 * @retval DAT_SUCCESS the kind is stored.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE1: dat_handle is not a live object.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: handle_type is NULL.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_get_handle_type(IN DAT_HANDLE dat_handle,
						  OUT DAT_HANDLE_TYPE *handle_type);

/**
 * Carry out an operation of an extension.
 *
 * Programs call the macros of the extension's header, dat_ib_extensions.h, which convert every
 * argument to the type that the operation reads. An operation with the bit DAT_OPEN_EXTENSION_BASE
 * opens an adapter by name and ignores the handle, one with DAT_CLOSE_EXTENSION_BASE closes it
 * (GEN-30, IBX-6..IBX-16).
 *
 * @param handle the object that the operation works on, an adapter in the form that the program
 *        holds it.
 * @param operation an operation of the extension, such as those of DAT_IB_OP; further arguments
 *        depend on it.
 *
 * Events: those of the operation.
 * Blocking: no, but for opening, closing and printing (IBX-15).
 * Threads: as for posting where the operation posts; else calls on one object need serialising
 * unless the provider is thread safe (DTO-6, EVD-7, IBX-16).
 *
 * @retval DAT_SUCCESS the operation was done or accepted.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE1: handle is NULL and the operation is not one that
 *        opens; DAT_INVALID_HANDLE_IA where it closes, and the object's own kind where the handle
 *        is stale or does not fit the operation (IBX-6, IBX-11).
 * @retval DAT_INVALID_PARAMETER an argument is not acceptable; handle counts as the first,
 *        operation as the second (IBX-14).
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension or does not know the operation (IBX-9,
 *        IBX-10).
 * @retval DAT_MODEL_NOT_SUPPORTED the operation is known but the device lacks it (IBX-34).
 * @return operations have further codes of their own, named with their macros.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_extension_op(IN DAT_HANDLE handle, IN DAT_EXTENDED_OP operation,
					       IN...);

DAT_END_DECLS

#endif /* DAT_H */
