/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_evd.h
 * Event dispatchers: the queues that events are taken from. The calls that create them and wait
 * on them are in udat.h.
 */
#ifndef DAT_EVD_H
#define DAT_EVD_H

#include "dat_event.h"

/** Streams that a dispatcher accepts (EVD-10). */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG = 0x1,	/**< dat_evd_post_se */
	DAT_EVD_CR_FLAG = 0x10,		/**< connection requests */
	DAT_EVD_DTO_FLAG = 0x20,	/**< completions of transfers */
	DAT_EVD_CONNECTION_FLAG = 0x40, /**< connection events */
	DAT_EVD_RMR_BIND_FLAG = 0x80,	/**< completions of binds */
	DAT_EVD_ASYNC_FLAG = 0x100,	/**< asynchronous errors */
	DAT_EVD_DEFAULT_FLAG = 0x1f0,	/**< all but software events */
	DAT_EVD_EXTENSION_BASE = 0x200
} DAT_EVD_FLAGS;
DAT_CXX_FLAGS(DAT_EVD_FLAGS, DAT_EVD_FLAGS)

/**
 * State of a dispatcher: an OR of one value from each of two groups, and in strict mode from the
 * third one, CONFIG, as well (EVD-16, EVD-17).
 */
typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED = 0x1,	       /**< arrivals trigger */
	DAT_EVD_STATE_DISABLED = 0x2,	       /**< they do not */
	DAT_EVD_STATE_WAITABLE = 0x4,	       /**< dat_evd_wait works */
	DAT_EVD_STATE_UNWAITABLE = 0x8,	       /**< it does not */
	DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,    /**< a two-bit field: */
	DAT_EVD_STATE_CONFIG_SOLICITED = 0x20, /**< mask with 0x30 */
	DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30  /**< and compare */
} DAT_EVD_STATE;

/** Parameters of a dispatcher (EVD-32). */
typedef struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen; /**< the real length */
	DAT_EVD_STATE evd_state;
	DAT_CNO_HANDLE cno_handle; /**< or DAT_HANDLE_NULL */
	DAT_EVD_FLAGS evd_flags;
} DAT_EVD_PARAM;

/** Selects fields of DAT_EVD_PARAM. */
typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE = 0x1,
	DAT_EVD_FIELD_EVD_QLEN = 0x2,
	DAT_EVD_FIELD_EVD_STATE = 0x4,
	DAT_EVD_FIELD_CNO = 0x8,
	DAT_EVD_FIELD_EVD_FLAGS = 0x10,
	DAT_EVD_FIELD_ALL = 0x1f
} DAT_EVD_PARAM_MASK;

DAT_BEGIN_DECLS

/**
 * Change the number of events that a dispatcher holds.
 *
 * No event is lost, duplicated or reordered, and endpoints that use the dispatcher keep working. A
 * queue may stay larger than asked (EVD-75..EVD-81).
 *
 * @param evd_handle a dispatcher, the asynchronous one of an adapter included.
 * @param evd_qlen events to hold at least, 1 to the adapter's max_evd_qlen.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the queue holds at least that many.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: evd_qlen is not positive or above max_evd_qlen.
 * @retval DAT_INVALID_STATE more events are queued than would fit; with
 *        DAT_INVALID_STATE_EVD_WAITER: a thread is in dat_evd_wait (EVD-77, EVD-79).
 * @retval DAT_INSUFFICIENT_RESOURCES no memory or no resource of the device.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_resize(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_qlen);

/**
 * Put a software event on a dispatcher.
 *
 * The queued event carries the number DAT_SOFTWARE_EVENT, the dispatcher and the pointer from
 * event_data.software_event_data; nothing behind that pointer is touched. It can release a waiter
 * and trigger the notification object before the call returns (EVD-69..EVD-74).
 *
 * @param evd_handle a dispatcher with DAT_EVD_SOFTWARE_FLAG.
 * @param event the event, with number DAT_SOFTWARE_EVENT; copied, never NULL.
 *
 * Events: DAT_SOFTWARE_EVENT on evd_handle.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the event is queued.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG1: the dispatcher lacks DAT_EVD_SOFTWARE_FLAG.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: event is NULL or has another number.
 * @retval DAT_QUEUE_FULL the queue is full; this is no overflow and has no other effect (EVD-73).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle,
					      IN const DAT_EVENT *event);

/**
 * Take the oldest event from a dispatcher.
 *
 * Works in every state of the dispatcher. Calling it in a loop makes progress by itself: a
 * finished transfer is found without any wait before (EVD-64..EVD-68).
 *
 * @param evd_handle a dispatcher.
 * @param event receives the event; never NULL; not touched when there is none.
 *
 * Events: removes one.
 * Blocking: no.
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS one event is stored in event.
 * @retval DAT_QUEUE_EMPTY there is none. The whole value is DAT_QUEUE_EMPTY, without class bits
 *        (EVD-1, EVD-65).
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: event is NULL.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_EVD_WAITER: a thread is in dat_evd_wait on this
 *        dispatcher (EVD-55).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event);

/**
 * Read the parameters of a dispatcher.
 *
 * evd_qlen is the real length, which may exceed the one asked for; evd_state is an OR of values
 * of DAT_EVD_STATE (EVD-16, EVD-17, EVD-32..EVD-35).
 *
 * @param evd_handle a dispatcher, the asynchronous one of an adapter included.
 * @param evd_param_mask fields wanted, an OR of DAT_EVD_FIELD_ values; 0 for none.
 * @param evd_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: evd_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_query(IN DAT_EVD_HANDLE evd_handle,
					    IN DAT_EVD_PARAM_MASK evd_param_mask,
					    OUT DAT_EVD_PARAM *evd_param);

/**
 * Destroy a dispatcher and discard its events.
 *
 * A thread in dat_evd_wait is released with DAT_ABORT, and the call returns when that thread no
 * longer touches the dispatcher. If the dispatcher was the last one of its notification object,
 * the waiters there are released too. Requests whose arrival was never taken are refused
 * (EVD-87..EVD-92).
 *
 * @param evd_handle a dispatcher that nothing feeds; not valid after success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the dispatcher is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: evd_handle is not a live dispatcher.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_EVD_IN_USE: an endpoint, a service point or an
 *        adapter still delivers to it; so it is for the dispatcher that dat_ia_open made (EVD-88,
 *        EVD-89).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

DAT_END_DECLS

#endif /* DAT_EVD_H */
