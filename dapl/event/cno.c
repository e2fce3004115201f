/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/event/cno.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dapl/base/clock.h"
#include "dapl/base/fd.h"
#include "dapl/base/lock.h"
#include "dapl/base/status.h"
#include "dapl/object/ia.h"
#include "dapl/object/users.h"
#include "dat/dats.h"
#include "trace/log.h"
#include "util/thread.h"

/* ---- Agents ---- */

/* A proxy agent from its association until it was called: a trigger needs no memory. */
struct dapl_agent {
	DAT_OS_WAIT_PROXY_AGENT proxy;
	DAT_EVD_HANDLE evd;
	struct dapl_agent *next;
};

/* NULL in *out without a function to call. */
static DAT_RETURN agent_new(struct dapl_ia *ia, const DAT_OS_WAIT_PROXY_AGENT *proxy,
			    struct dapl_agent **out)
{
	int err;

	*out = NULL;
	if (!proxy || !proxy->proxy_agent_func)
		return DAT_SUCCESS;
	err = dapl_ia_need_agents(ia);
	if (err)
		return dapl_status(err, DAT_RESOURCE_DEVICE);
	*out = calloc(1, sizeof(**out));
	if (!*out) {
		dapl_err("proxy agent not associated: %s", dapl_strerror(ENOMEM));
		return DAPL_NO_RESOURCE(MEMORY);
	}
	(*out)->proxy = *proxy;
	return DAT_SUCCESS;
}

/*
 * Has the agent called, once (CNO-17), by a thread of the agents: it may call what waits for the
 * service thread or for locks of whoever triggered.
 */
static void detach_agent(struct dapl_cno *cno, DAT_EVD_HANDLE evd)
{
	struct dapl_agent *agent = cno->agent, **end = &cno->detached;

	dapl_assert_mutex_held(&cno->lock);
	if (!agent)
		return;
	cno->agent = NULL;
	agent->evd = evd;
	while (*end)
		end = &(*end)->next;
	*end = agent;
	dapl_loop_post(cno->obj.ia->agents, &cno->task);
}

/* The first one that is still to be called. */
static struct dapl_agent *take_detached(struct dapl_cno *cno, bool *more)
{
	struct dapl_agent *agent;

	pthread_mutex_lock(&cno->lock);
	agent = cno->detached;
	if (agent)
		cno->detached = agent->next;
	*more = cno->detached;
	pthread_mutex_unlock(&cno->lock);
	return agent;
}

/*
 * The IA whose agent the thread is in. Thread-local storage of a module is made at the first touch,
 * under a lock of the C library that a forked child may find taken for good.
 */
static pthread_key_t agent_of;
static bool has_key;

__attribute__((constructor)) static void make_key(void)
{
	has_key = !pthread_key_create(&agent_of, NULL);
}

static const struct dapl_ia *get_agent_of(void)
{
	return has_key ? pthread_getspecific(agent_of) : NULL;
}

static void set_agent_of(const struct dapl_ia *ia)
{
	if (has_key)
		pthread_setspecific(agent_of, ia);
}

/* Those of other modules' objects are known to libdat2 alone. */
static int count_agents(int more)
{
	return dats_agents ? dats_agents(more) : 0;
}

bool dapl_cno_in_agent(const struct dapl_ia *ia)
{
	return (ia->agents && dapl_loop_is_self(ia->agents)) || get_agent_of() || count_agents(0);
}

static void call_agent(const struct dapl_ia *ia, struct dapl_agent *agent)
{
	const struct dapl_ia *outer = get_agent_of();
	const struct dapl_agent call = *agent;

	free(agent);
	set_agent_of(ia);
	count_agents(1);
	call.proxy.proxy_agent_func(call.proxy.instance_data, call.evd);
	count_agents(-1);
	set_agent_of(outer);
}

/* The agent, or one of another adapter meanwhile, may free the CNO. */
static void call_next(struct tp_task *task)
{
	struct dapl_cno *cno = container_of(task, struct dapl_cno, task);
	struct dapl_ia *ia = cno->obj.ia;
	struct dapl_agent *agent;
	bool more;

	agent = take_detached(cno, &more);
	if (more)
		dapl_loop_post(ia->agents, &cno->task);
	dapl_loop_let_go(ia->agents);
	/* What runs here, or is started here, is the program's. */
	if (!ia->agents_called)
		dapl_thread_drop_priority();
	ia->agents_called = true;
	if (agent)
		call_agent(ia, agent);
}

/* Nobody frees the CNO meanwhile. */
static void call_detached(struct dapl_cno *cno)
{
	struct dapl_agent *agent;
	bool more;

	pthread_mutex_lock(&cno->lock);
	cno->callers++;
	pthread_mutex_unlock(&cno->lock);
	while ((agent = take_detached(cno, &more)))
		call_agent(cno->obj.ia, agent);
	pthread_mutex_lock(&cno->lock);
	if (!--cno->callers)
		pthread_cond_broadcast(&cno->called);
	pthread_mutex_unlock(&cno->lock);
}

static void wait_called(struct dapl_cno *cno)
{
	pthread_mutex_lock(&cno->lock);
	while (cno->callers)
		dats_cond_wait(&cno->called, &cno->lock);
	pthread_mutex_unlock(&cno->lock);
}

/*
 * No agent that was detached before runs after return. An agent, of whichever adapter, waits for
 * none: those that it would wait for might wait for it (CNO-19). No lock held.
 */
static void finish_agents(struct dapl_cno *cno)
{
	bool in_agent = dapl_cno_in_agent(cno->obj.ia);
	struct dapl_loop *agents = cno->obj.ia->agents;
	int i;

	if (!agents)
		return;
	/* Triggers meanwhile may have the loop take what was detached before them: twice. */
	for (i = 0; i < 2; i++) {
		if (in_agent)
			dapl_loop_cancel_early(agents, &cno->task);
		else
			dapl_loop_cancel(agents, &cno->task);
		call_detached(cno);
	}
	if (!in_agent)
		wait_called(cno);
}

/* ---- Sleeping and waking ---- */

/* Whether somebody sleeps on word, to be woken. */
static bool change_word(struct dapl_cno *cno)
{
	dapl_assert_mutex_held(&cno->lock);
	__atomic_store_n(&cno->word, cno->word + 1, __ATOMIC_RELEASE);
	return cno->waiters;
}

/* The descriptor is readable exactly while the CNO is triggered (CNO-9). */
static void set_triggered(struct dapl_cno *cno, bool triggered)
{
	dapl_assert_mutex_held(&cno->lock);
	if (cno->fd >= 0 && triggered && !cno->triggered)
		dapl_eventfd_signal(cno->fd);
	if (cno->fd >= 0 && !triggered && cno->triggered)
		dapl_eventfd_clear(cno->fd);
	cno->triggered = triggered;
}

void dapl_cno_trigger_by(struct dapl_cno *cno, DAT_EVD_HANDLE evd)
{
	bool asleep;

	pthread_mutex_lock(&cno->lock);
	cno->last = evd;
	set_triggered(cno, true);
	asleep = change_word(cno);
	detach_agent(cno, evd);
	pthread_mutex_unlock(&cno->lock);
	if (asleep) /* not before: who wakes up takes the lock at once */
		dapl_futex_wake(&cno->word, 1);
}

static void release_all(struct dapl_cno *cno)
{
	dapl_assert_mutex_held(&cno->lock);
	if (cno->waiters)
		cno->release_all++;
	if (change_word(cno))
		dapl_futex_wake(&cno->word, INT_MAX);
	detach_agent(cno, DAT_HANDLE_NULL);
}

void dapl_cno_evd_gone(struct dapl_cno *cno)
{
	finish_agents(cno);
	pthread_mutex_lock(&cno->lock);
	dapl_object_unuse(&cno->obj);
	if (atomic_fetch_sub(&cno->evds, 1) == 1)
		release_all(cno);
	pthread_mutex_unlock(&cno->lock);
}

/* ---- Calls ---- */

/* The CNO of a handle, locked; it is not freed before it is unlocked. NULL: it is none, or gone. */
static struct dapl_cno *lock_cno(DAT_CNO_HANDLE handle)
{
	struct dapl_cno *cno = dapl_cno_get(handle);

	if (!cno || !dapl_object_enter(&cno->obj, DAPL_TYPE_CNO))
		return NULL;
	pthread_mutex_lock(&cno->lock);
	if (dapl_cno_get(handle))
		return cno;
	pthread_mutex_unlock(&cno->lock);
	dapl_object_leave(&cno->obj);
	return NULL;
}

static void unlock_cno(struct dapl_cno *cno)
{
	pthread_mutex_unlock(&cno->lock);
	dapl_object_leave(&cno->obj);
}

struct dapl_cno *dapl_cno_use(DAT_CNO_HANDLE handle, const struct dapl_ia *ia)
{
	struct dapl_cno *cno = dapl_object_readable(handle) ? lock_cno(handle) : NULL;
	bool fits;

	if (!cno)
		return NULL;
	fits = cno->obj.ia == ia;
	if (fits)
		dapl_object_use(&cno->obj);
	unlock_cno(cno);
	return fits ? cno : NULL;
}

static void end(struct dapl_object *obj)
{
	struct dapl_cno *cno = container_of(obj, struct dapl_cno, obj);

	dapl_object_wait_left(obj);
	finish_agents(cno);
	free(cno->agent);
	if (cno->fd >= 0)
		close(cno->fd);
	pthread_cond_destroy(&cno->called);
	pthread_mutex_destroy(&cno->lock);
}

/* CNO-32 */
static void release_and_end(struct dapl_object *obj)
{
	struct dapl_cno *cno = container_of(obj, struct dapl_cno, obj);

	pthread_mutex_lock(&cno->lock);
	release_all(cno);
	pthread_mutex_unlock(&cno->lock);
	dapl_ia_end(obj);
}

const struct dapl_class dapl_cno_class = {
	.name = "CNO",
	.type = DAPL_TYPE_CNO,
	.handle_type = DAT_HANDLE_TYPE_CNO,
	.bad_handle = DAT_INVALID_HANDLE_CNO,
	.fields = 7, /* CNO-23 */
	.end = end,
	.close = release_and_end,
};

static DAT_RETURN cno_new(struct dapl_ia *ia, const DAT_OS_WAIT_PROXY_AGENT *proxy, int fd,
			  DAT_CNO_HANDLE *out)
{
	struct dapl_agent *agent;
	struct dapl_cno *cno;
	DAT_RETURN rc;

	rc = agent_new(ia, proxy, &agent);
	if (rc)
		return rc;
	cno = dapl_object_alloc(sizeof(*cno));
	rc = DAPL_NO_RESOURCE(MEMORY);
	if (!cno)
		goto free_agent;
	pthread_mutex_init(&cno->lock, NULL);
	pthread_cond_init(&cno->called, NULL);
	cno->agent = agent;
	cno->task.run = call_next;
	cno->fd = fd;
	rc = DAPL_BAD_HANDLE(IA);
	if (!dapl_ia_add(ia, &cno->obj, &dapl_cno_class, UINT32_MAX))
		goto release;
	*out = cno;
	return DAT_SUCCESS;

release:
	pthread_cond_destroy(&cno->called);
	pthread_mutex_destroy(&cno->lock);
	dapl_object_release(&cno->obj);
free_agent:
	free(agent);
	return rc;
}

DAT_RETURN dapl_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			   DAT_CNO_HANDLE *cno_handle)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (!cno_handle)
		return DAPL_BAD_ARG(3);
	return cno_new(ia, &agent, -1, cno_handle);
}

DAT_RETURN dapl_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *file_descriptor,
			      DAT_CNO_HANDLE *cno_handle)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	DAT_RETURN rc;
	int fd;

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (!file_descriptor)
		return DAPL_BAD_ARG(2);
	if (!cno_handle)
		return DAPL_BAD_ARG(3);
	fd = dapl_eventfd();
	dapl_fd_disown(fd);
	if (fd < 0) {
		rc = dapl_status(-errno, DAT_RESOURCE_DEVICE);
		dapl_err("CNO descriptor not created: %s", dapl_strerror(errno));
		return rc;
	}
	rc = cno_new(ia, NULL, fd, cno_handle);
	if (rc) {
		close(fd);
		return rc;
	}
	*file_descriptor = fd;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT proxy)
{
	struct dapl_cno *cno = dapl_cno_get(cno_handle);
	struct dapl_agent *agent, *old;
	DAT_RETURN rc;

	if (!cno || !dapl_object_enter(&cno->obj, DAPL_TYPE_CNO))
		return DAPL_BAD_HANDLE(CNO);
	rc = cno->fd >= 0 ? dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE)
			  : agent_new(cno->obj.ia, &proxy, &agent);
	if (!rc) {
		pthread_mutex_lock(&cno->lock);
		old = cno->agent;
		cno->agent = agent;
		pthread_mutex_unlock(&cno->lock);
		free(old);
	}
	dapl_object_leave(&cno->obj);
	return rc;
}

DAT_RETURN dapl_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct dapl_cno *cno;
	DAT_RETURN rc;

	if (!dapl_object_query(cno_handle, &dapl_cno_class, mask, param, &rc))
		return rc;
	cno = lock_cno(cno_handle);
	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	memset(param, 0, sizeof(*param));
	param->ia_handle = dapl_ia_handle(cno->obj.ia);
	if (cno->fd >= 0) {
		param->proxy_type = DAT_PROXY_TYPE_FD;
		param->proxy.fd = cno->fd;
	} else if (cno->agent) {
		param->proxy_type = DAT_PROXY_TYPE_AGENT;
		param->proxy.agent = cno->agent->proxy;
	} else {
		param->proxy_type = DAT_PROXY_TYPE_NONE;
	}
	unlock_cno(cno);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_free(DAT_CNO_HANDLE cno_handle)
{
	struct dapl_cno *cno = lock_cno(cno_handle);
	bool busy, mine;
	uint32_t waiters;

	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	waiters = cno->waiters;
	busy = waiters || dapl_object_users(&cno->obj);
	mine = !busy && dapl_object_retire(&cno->obj);
	pthread_mutex_unlock(&cno->lock);
	if (waiters)
		dapl_err_limited("CNO %p: not freed: %u threads wait on it", cno_handle, waiters);
	else if (busy)
		dapl_say_users(cno->obj.ia, cno_handle, &dapl_cno_class);
	dapl_object_leave(&cno->obj);
	if (busy)
		return DAPL_BAD_STATE(CNO_IN_USE);
	if (!mine) /* its IA is being closed */
		return DAPL_BAD_HANDLE(CNO);
	dapl_ia_end(&cno->obj);
	return DAT_SUCCESS;
}

/* Takes the trigger if there is one. */
static bool consume(struct dapl_cno *cno, DAT_EVD_HANDLE *evd)
{
	dapl_assert_mutex_held(&cno->lock);
	if (!cno->triggered)
		return false;
	set_triggered(cno, false);
	*evd = cno->last;
	return true;
}

/* Sleeps until there is something to return. */
static DAT_RETURN wait_locked(struct dapl_cno *cno, DAT_TIMEOUT timeout, uint64_t deadline,
			      DAT_EVD_HANDLE *evd)
{
	uint32_t released = cno->release_all, seen;
	int err = timeout ? 0 : -ETIMEDOUT;

	dapl_assert_mutex_held(&cno->lock);
	for (;;) {
		if (consume(cno, evd))
			return DAT_SUCCESS;
		*evd = DAT_HANDLE_NULL;
		if (cno->release_all != released)
			return DAT_SUCCESS;
		if (err == -ETIMEDOUT)
			return DAPL_QUEUE_EMPTY;
		if (err == -EINTR)
			return dapl_fail(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
		seen = cno->word;
		pthread_mutex_unlock(&cno->lock);
		err = dapl_futex_wait(&cno->word, seen, deadline);
		pthread_mutex_lock(&cno->lock);
	}
}

DAT_RETURN dapl_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	uint64_t deadline = dapl_deadline(timeout);
	struct dapl_cno *cno;
	DAT_RETURN rc;

	if (!dapl_cno_get(cno_handle))
		return DAPL_BAD_HANDLE(CNO);
	if (!evd)
		return DAPL_BAD_ARG(3);
	cno = lock_cno(cno_handle);
	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	cno->waiters++;
	rc = wait_locked(cno, timeout, deadline, evd);
	cno->waiters--;
	unlock_cno(cno);
	return rc;
}

DAT_RETURN dapl_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd)
{
	struct dapl_cno *cno;

	if (!dapl_cno_get(cno_handle))
		return DAPL_BAD_HANDLE(CNO);
	if (!evd)
		return DAPL_BAD_ARG(2);
	cno = lock_cno(cno_handle);
	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	if (!consume(cno, evd))
		*evd = DAT_HANDLE_NULL;
	unlock_cno(cno);
	return DAT_SUCCESS;
}
