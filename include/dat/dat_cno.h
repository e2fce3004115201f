/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_cno.h
 * Consumer notification objects: one place to wait for several event dispatchers.
 */
#ifndef DAT_CNO_H
#define DAT_CNO_H

#include "dat_types.h"

DAT_BEGIN_DECLS

/** Function that a CNO calls when an event arrives and nobody waits on it. */
typedef void (*DAT_AGENT_FUNC)(IN DAT_PVOID instance_data, IN DAT_EVD_HANDLE evd_handle);

/** Function and argument for one call on the next trigger (CNO-16..CNO-21). */
typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;	 /**< its first argument */
	DAT_AGENT_FUNC proxy_agent_func; /**< NULL for no agent */
} DAT_OS_WAIT_PROXY_AGENT;

/** No agent. */
#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL (DAT_OS_WAIT_PROXY_AGENT{ NULL, NULL })
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL ((DAT_OS_WAIT_PROXY_AGENT){ NULL, NULL })
#endif

/** What a notification object has besides its waiters (CNO-22). */
typedef enum dat_proxy_type {
	DAT_PROXY_TYPE_NONE = 0,
	DAT_PROXY_TYPE_AGENT = 1, /**< proxy.agent */
	DAT_PROXY_TYPE_FD = 2	  /**< proxy.fd */
} DAT_PROXY_TYPE;

/** Parameters of a notification object (CNO-22..CNO-24). */
typedef struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PROXY_TYPE proxy_type;
	union {
		DAT_OS_WAIT_PROXY_AGENT agent;
		DAT_FD fd;
		DAT_PVOID none;
	} proxy;
} DAT_CNO_PARAM;

/** Values of the mask of dat_cno_query, which are not distinct bits (CNO-23). */
typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE = 0x1,
	DAT_CNO_FIELD_PROXY_TYPE = 0x2,
	DAT_CNO_FIELD_PROXY = 0x3,
	DAT_CNO_FIELD_ALL = 0x4
} DAT_CNO_PARAM_MASK;

/**
 * Make a notification object.
 *
 * It is born untriggered, without dispatchers. A notification event that arrives on an enabled
 * dispatcher attached to it, while no thread waits on that dispatcher, triggers it: a waiter is
 * released, or the next one returns at once (CNO-1..CNO-7).
 *
 * @param ia_handle an open adapter.
 * @param agent function to call on the next trigger and its argument; DAT_OS_WAIT_PROXY_AGENT_NULL
 *        for none. It is called once and must be attached again for more (CNO-17). A thread of the
 *        adapter's that does nothing else calls it; it may make every call but dat_ia_close, and
 *        must not block (CNO-19).
 * @param cno_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS the object exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: cno_handle is NULL.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: no memory; DAT_RESOURCE_DEVICE: no
 *        descriptor for who calls agents.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_create(IN DAT_IA_HANDLE ia_handle,
					     IN DAT_OS_WAIT_PROXY_AGENT agent,
					     OUT DAT_CNO_HANDLE *cno_handle);

/**
 * Make a notification object with a file descriptor for poll, select or epoll.
 *
 * The descriptor is readable exactly while the object is triggered: readiness stays, however often
 * it is asked for, until dat_cno_trigger or dat_cno_wait collects the trigger, and each trigger
 * after that is a new edge for EPOLLET. Arrivals trigger, not events that are queued already. The
 * program collects the trigger first and then empties all dispatchers of the object; the other way
 * round an event that came in between would lie unseen (CNO-6). The descriptor
 * belongs to the object: it is neither read,
 * written nor closed by the program, and has close-on-exec set. Such an object never has a proxy
 * agent (CNO-8..CNO-12).
 *
 * @param ia_handle an open adapter.
 * @param file_descriptor receives the descriptor; never NULL.
 * @param cno_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS the object exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: file_descriptor is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: cno_handle is NULL.
 * @retval DAT_INSUFFICIENT_RESOURCES no memory or no descriptor.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider has no descriptors.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle,
						OUT DAT_FD *file_descriptor,
						OUT DAT_CNO_HANDLE *cno_handle);

/**
 * Replace the proxy agent of a notification object.
 *
 * The call triggers nothing, even if the object is triggered; an agent that was already detached
 * for a call may still be running when it returns (CNO-11, CNO-16..CNO-21).
 *
 * @param cno_handle a notification object.
 * @param agent the new agent; DAT_OS_WAIT_PROXY_AGENT_NULL removes the old one.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the agent is replaced.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CNO: cno_handle is not a live notification object.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the provider rejects the agent; ours reject
 *        none.
 * @retval DAT_INVALID_STATE the object has a file descriptor (CNO-11).
 * @retval DAT_INSUFFICIENT_RESOURCES as dat_cno_create; the old agent stays.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
						   IN DAT_OS_WAIT_PROXY_AGENT agent);

/**
 * Read the parameters of a notification object.
 *
 * proxy_type tells which member of proxy counts; after an agent was called there is none
 * (CNO-22..CNO-24). The values of DAT_CNO_PARAM_MASK are not distinct bits; every number from 0 to
 * 7 is accepted, and all fields are filled.
 *
 * @param cno_handle a notification object.
 * @param cno_param_mask 0 to 7, DAT_CNO_FIELD_ALL among them.
 * @param cno_param receives the fields; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CNO: cno_handle is not a live notification object.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask is above 7.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: cno_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_query(IN DAT_CNO_HANDLE cno_handle,
					    IN DAT_CNO_PARAM_MASK cno_param_mask,
					    OUT DAT_CNO_PARAM *cno_param);

/**
 * Wait until a notification object is triggered.
 *
 * The dispatcher handed out is a hint: it may be empty, and others may hold events, so all
 * dispatchers of the object are to be drained after each wake-up. No event is removed. A caller
 * that times out or is interrupted leaves a trigger for the next one (CNO-5, CNO-6,
 * CNO-25..CNO-33).
 *
 * @param cno_handle a notification object; any number of threads may wait.
 * @param timeout microseconds on a monotonic clock; 0 polls, DAT_TIMEOUT_INFINITE never ends.
 * @param evd_handle receives the dispatcher that triggered last; DAT_HANDLE_NULL when the time is
 *        up, when the last dispatcher was freed or when the adapter was closed. Never NULL.
 *
 * Events: none.
 * Blocking: until a trigger or timeout.
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS the object was triggered, or lost its last dispatcher, or its adapter was
 *        closed (CNO-31, CNO-32).
 * @retval DAT_QUEUE_EMPTY the time is up. The whole value is DAT_QUEUE_EMPTY, without class bits
 *        (EVD-1, CNO-27).
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CNO: cno_handle is not a live notification object.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: evd_handle is NULL.
 * @retval DAT_INTERRUPTED_CALL a signal was handled in this thread (CNO-30).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
					   OUT DAT_EVD_HANDLE *evd_handle);

/**
 * Collect the trigger of a notification object without waiting.
 *
 * In spite of its name it triggers nothing. A triggered object becomes untriggered and its
 * descriptor unreadable (CNO-13..CNO-15).
 *
 * @param cno_handle a notification object, with or without a file descriptor.
 * @param evd_handle receives the dispatcher that triggered last, DAT_HANDLE_NULL if the object was
 *        not triggered; never NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe on one object from several threads (EVD-7).
 *
 * @retval DAT_SUCCESS evd_handle is stored, also when there was no trigger.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CNO: cno_handle is not a live notification object.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: evd_handle is NULL.
 * @retval DAT_MODEL_NOT_SUPPORTED the provider cannot collect triggers.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle,
					      OUT DAT_EVD_HANDLE *evd_handle);

/**
 * Destroy a notification object.
 *
 * A pending trigger and an attached agent are dropped without a call; an agent that was detached
 * for a call has returned before, unless it is the caller (CNO-34, CNO-35).
 *
 * @param cno_handle a notification object to which no dispatcher is attached and on which nobody
 *        waits; not valid after success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the object is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_CNO: cno_handle is not a live notification object.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_CNO_IN_USE: a dispatcher is attached or a thread
 *        waits; nothing was changed.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

DAT_END_DECLS

#endif /* DAT_CNO_H */
