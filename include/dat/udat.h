/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file udat.h
 * The interface for programs. This is the header to include.
 *
 * It is that of DAT 2.0. A program written to DAT 1.2 stops at the arguments of dat_lmr_create, at
 * .pad or at .target_address with it: compile and link it with `pkg-config --cflags --libs dat-1.2`
 * instead, whose headers are in include/dat-1.2/dat; or port it, see README.md.
 */
#ifndef UDAT_H
#define UDAT_H

#include "udat_config.h"
#include "dat.h"
#include "dat_cno.h"
#include "udat_vendor_specific.h"

DAT_BEGIN_DECLS

/**
 * Register memory for local use and, with remote privileges, for peers.
 *
 * The memory is pinned for the adapter and must stay allocated until the region is freed. Regions
 * may overlap and need no alignment (LMR-1..LMR-30). Local read is always granted; other access
 * needs its flag, and remote write or atomics need local write too (LMR-21..LMR-25).
 *
 * @param ia_handle an open adapter.
 * @param mem_type DAT_MEM_TYPE_VIRTUAL, DAT_MEM_TYPE_LMR or DAT_MEM_TYPE_SHARED_VIRTUAL; which
 *        member of region_description counts (LMR-9..LMR-17).
 * @param region_description start address, existing region, or address and cookie of shared
 *        memory. The 40 bytes of a cookie are copied (LMR-14).
 * @param length bytes, more than 0; ignored for DAT_MEM_TYPE_LMR.
 * @param pz_handle protection zone, kept in use until the region is freed; never NULL.
 * @param privileges an OR of DAT_MEM_PRIV_ flags.
 * @param va_type DAT_VA_TYPE_VA: segments name virtual addresses; DAT_VA_TYPE_ZB: offsets from the
 *        start of the region (LMR-18..LMR-20).
 * @param lmr_handle receives the handle; never NULL.
 * @param lmr_context receives the context for local segments, never 0; may be NULL.
 * @param rmr_context receives the context for peers, 0 without a remote privilege; may be NULL.
 * @param registered_length receives the bytes that are accessible; may be NULL.
 * @param registered_address receives the virtual address where they start; may be NULL.
 *
 * Events: none.
 * Blocking: for the time that pinning takes, never for a peer.
 * Threads: safe (LMR-30).
 *
 * @retval DAT_SUCCESS the memory is registered.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter;
 *        DAT_INVALID_HANDLE_PZ: pz_handle is NULL or not a zone of it; DAT_INVALID_HANDLE_LMR: the
 *        region named is not a live one of it.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: mem_type is none of the three.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: the range leaves the address space or is not
 *        mapped, or the cookie is NULL (LMR-6, LMR-16).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: the device cannot register that much (LMR-5).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: undefined privileges, or remote write or atomics
 *        without local write.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: va_type is neither of the two.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: lmr_handle is NULL.
 * @retval DAT_LENGTH_ERROR length is 0 (LMR-4).
 * @retval DAT_INVALID_STATE the memory is known not to be shared (LMR-16).
 * @retval DAT_MODEL_NOT_SUPPORTED the memory type or zero-based addressing is not supported
 *        (LMR-9, LMR-20).
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY_REGION: max_lmrs, the limit on pinned
 *        memory or the device's memory is reached; DAT_RESOURCE_MEMORY: no memory.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
					     IN DAT_REGION_DESCRIPTION region_description,
					     IN DAT_VLEN length, IN DAT_PZ_HANDLE pz_handle,
					     IN DAT_MEM_PRIV_FLAGS privileges,
					     IN DAT_VA_TYPE va_type, OUT DAT_LMR_HANDLE *lmr_handle,
					     OUT DAT_LMR_CONTEXT *lmr_context,
					     OUT DAT_RMR_CONTEXT *rmr_context,
					     OUT DAT_VLEN *registered_length,
					     OUT DAT_VADDR *registered_address);

/**
 * Read the parameters of a region.
 *
 * Values are those given to and returned by dat_lmr_create; for shared memory the cookie is the
 * provider's copy, which lives as long as the region (LMR-31..LMR-33).
 *
 * @param lmr_handle a region.
 * @param lmr_param_mask fields wanted, an OR of DAT_LMR_FIELD_ values; 0 for none.
 * @param lmr_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_LMR: lmr_handle is not a live region.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: lmr_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle,
					    IN DAT_LMR_PARAM_MASK lmr_param_mask,
					    OUT DAT_LMR_PARAM *lmr_param);

/**
 * Make an event dispatcher.
 *
 * It is born empty, enabled and waitable, and accepts only the streams that its flags name
 * (EVD-18, EVD-20..EVD-31).
 *
 * It never overflows if it holds the sum of what it can get before the program takes any: of every
 * endpoint max_recv_dtos if it is that of its receives, max_request_dtos if it is that of its
 * requests and binds, and 2 if it is that of its connection; of every service point as many
 * requests as may wait; and all software events (EVD-100). Where a completion finds it full, the
 * endpoint's connection breaks and DAT_ASYNC_ERROR_EVD_OVERFLOW is told.
 *
 * @param ia_handle an open adapter.
 * @param evd_min_qlen events to hold at least, 1 to the adapter's max_evd_qlen; dat_evd_query
 *        tells the real number.
 * @param cno_handle notification object of the same adapter that arrivals trigger; DAT_HANDLE_NULL
 *        for none.
 * @param evd_flags streams to accept, an OR of DAT_EVD_ flags; at least one.
 * @param evd_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS the dispatcher exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter;
 *        DAT_INVALID_HANDLE_CNO: cno_handle is not a notification object of it.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: evd_min_qlen is not positive.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: no flag, an undefined one, or streams that the
 *        provider does not merge (EVD-25, EVD-26).
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: evd_handle is NULL.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_TEVD: max_evd_qlen or the device's queues are
 *        exceeded; DAT_RESOURCE_MEMORY: no memory; or max_evds is reached.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
					     IN DAT_CNO_HANDLE cno_handle,
					     IN DAT_EVD_FLAGS evd_flags,
					     OUT DAT_EVD_HANDLE *evd_handle);

/**
 * Attach a dispatcher to another notification object.
 *
 * Arrivals that race with the call trigger the old or the new one, later ones only the new one.
 * Events already queued trigger nothing: drain the dispatcher once afterwards (EVD-36..EVD-40).
 *
 * @param evd_handle a dispatcher, the asynchronous one of an adapter included; a thread may be
 *        waiting on it.
 * @param cno_handle notification object of the same adapter; DAT_HANDLE_NULL to detach.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the dispatcher is attached.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher;
 *        DAT_INVALID_HANDLE_CNO: cno_handle is not a notification object of the same adapter.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle,
						 IN DAT_CNO_HANDLE cno_handle);

/**
 * Let arrivals trigger the notification object.
 *
 * Arrivals while disabled do not trigger it later. Threads in dat_evd_wait are served in both
 * states (EVD-41..EVD-44).
 *
 * @param evd_handle a dispatcher, with or without a notification object.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS the dispatcher is enabled, or was.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

/**
 * Keep arrivals from triggering the notification object.
 *
 * A waiter whose release was under way may still wake up afterwards (EVD-41..EVD-44).
 *
 * @param evd_handle a dispatcher, with or without a notification object.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS the dispatcher is disabled, or was.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

/**
 * Wait until a number of events is queued and take the oldest.
 *
 * Returns at once when that many are queued. Otherwise the arrival of a notification event that
 * reaches the number releases the caller; silent completions count but do not release (EVD-14,
 * EVD-45..EVD-63). When the time is up the queue is looked at once more. While a thread waits,
 * arrivals do not trigger the notification object.
 *
 * @param evd_handle a waitable dispatcher on which no other thread waits.
 * @param timeout microseconds on a monotonic clock; 0 never blocks, DAT_TIMEOUT_INFINITE never
 *        ends (EVD-49..EVD-51).
 * @param threshold events to be queued, 1 to the queue length; above 1 only while no endpoint
 *        configures the dispatcher for unsignalled or solicited completions (EVD-52, EVD-53).
 * @param event receives the oldest event; never NULL; defined for DAT_SUCCESS only.
 * @param nmore receives the number of events left; never NULL; also defined when the time is up or
 *        a signal came (EVD-61).
 *
 * Events: removes one.
 * Blocking: until the events are there, timeout is over or another thread ends the wait.
 * Threads: safe; one thread at a time waits on a dispatcher (EVD-7, EVD-54).
 *
 * @retval DAT_SUCCESS one event is stored in event.
 * @retval DAT_TIMEOUT_EXPIRED the time is up and too few events are queued; none was removed. The
 *        whole value is DAT_TIMEOUT_EXPIRED, without class bits (EVD-1, EVD-48).
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: threshold is not positive or above the queue
 *        length.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: event is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: nmore is NULL.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_EVD_WAITER: another thread waits;
 *        DAT_INVALID_STATE_EVD_UNWAITABLE: the dispatcher is, or was made, unwaitable;
 *        DAT_INVALID_STATE_EVD_CONFIG_NOTIFY or DAT_INVALID_STATE_EVD_CONFIG_SOLICITED: threshold
 *        above 1 is not possible here (EVD-53, EVD-54, EVD-56, EVD-58).
 * @retval DAT_ABORT the dispatcher was freed or its adapter closed meanwhile.
 * @retval DAT_INTERRUPTED_CALL a signal was handled in this thread; no event was removed (EVD-60).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
					   IN DAT_COUNT threshold, OUT DAT_EVENT *event,
					   OUT DAT_COUNT *nmore);

/**
 * Make dat_evd_wait fail on a dispatcher.
 *
 * A thread that waits is released with DAT_INVALID_STATE_EVD_UNWAITABLE. Notification objects and
 * dat_evd_dequeue are not affected (EVD-82, EVD-83, EVD-85, EVD-86).
 *
 * @param evd_handle a dispatcher.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS the dispatcher is unwaitable, or was.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/**
 * Make dat_evd_wait work on a dispatcher again.
 *
 * Wakes nobody. A thread that dat_evd_set_unwaitable released just before still returns with the
 * error (EVD-84..EVD-86).
 *
 * @param evd_handle a dispatcher.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS the dispatcher is waitable, or was.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

DAT_END_DECLS

#endif /* UDAT_H */
