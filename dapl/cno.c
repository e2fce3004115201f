/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/cno.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dapl/ia.h"
#include "dapl/lock.h"
#include "dapl/loop.h"
#include "dapl/status.h"
#include "dapl/trace.h"
#include "dapl/transport.h"

static_assert(sizeof(struct dapl_cno) <= DAPL_SLOT_SIZE, "a CNO is an object");

static atomic_bool agents;

bool dapl_cno_agents(void)
{
	return atomic_load_explicit(&agents, memory_order_relaxed);
}

/* lock held, where others know of the CNO */
static void set_agent(struct dapl_cno *cno, const DAT_OS_WAIT_PROXY_AGENT *agent)
{
	cno->agent = *agent;
	atomic_store_explicit(&agents, true, memory_order_relaxed);
}

/* ---- Sleeping and waking ---- */

/* lock held */
static void wake(struct dapl_cno *cno, int num)
{
	__atomic_store_n(&cno->word, cno->word + 1, __ATOMIC_RELEASE);
	if (cno->waiters)
		dapl_futex_wake(&cno->word, num);
}

/* The descriptor is readable exactly while the CNO is triggered (CNO-9); lock held. */
static void set_triggered(struct dapl_cno *cno, bool triggered)
{
	uint64_t value = 1;

	if (cno->fd >= 0 && triggered != cno->triggered) {
		if (triggered)
			while (write(cno->fd, &value, sizeof(value)) < 0 && errno == EINTR)
				;
		else
			while (read(cno->fd, &value, sizeof(value)) < 0 && errno == EINTR)
				;
	}
	cno->triggered = triggered;
}

static void detach_agent(struct dapl_cno *cno, DAT_EVD_HANDLE evd, struct dapl_agent_call *call)
{
	if (!cno->agent.proxy_agent_func)
		return;
	*call = (struct dapl_agent_call){ .func = cno->agent.proxy_agent_func,
					  .data = cno->agent.instance_data,
					  .evd = evd };
	memset(&cno->agent, 0, sizeof(cno->agent));
}

void dapl_cno_trigger_by(struct dapl_cno *cno, DAT_EVD_HANDLE evd, struct dapl_agent_call *call)
{
	pthread_mutex_lock(&cno->lock);
	cno->last = evd;
	set_triggered(cno, true);
	wake(cno, 1);
	detach_agent(cno, evd, call);
	pthread_mutex_unlock(&cno->lock);
}

void dapl_agent_invoke(const struct dapl_agent_call *call)
{
	if (call->func)
		call->func(call->data, call->evd);
}

/* lock held */
static void release_all(struct dapl_cno *cno, struct dapl_agent_call *call)
{
	if (cno->waiters)
		cno->release_all++;
	wake(cno, INT_MAX);
	detach_agent(cno, DAT_HANDLE_NULL, call);
}

void dapl_cno_evd_gone(struct dapl_cno *cno)
{
	struct dapl_agent_call call = { .func = NULL };

	pthread_mutex_lock(&cno->lock);
	dapl_object_unuse(&cno->obj);
	if (!dapl_object_users(&cno->obj))
		release_all(cno, &call);
	pthread_mutex_unlock(&cno->lock);
	dapl_agent_invoke(&call);
}

/* ---- Calls ---- */

static DAT_RETURN cno_new(DAT_IA_HANDLE ia_handle, const DAT_OS_WAIT_PROXY_AGENT *agent, int fd,
			  DAT_CNO_HANDLE *out)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	struct dapl_cno *cno;

	cno = dapl_object_alloc(sizeof(*cno));
	if (!cno)
		return DAPL_NO_RESOURCE(MEMORY);
	pthread_mutex_init(&cno->lock, NULL);
	if (agent && agent->proxy_agent_func)
		set_agent(cno, agent);
	cno->fd = fd;
	if (!dapl_ia_add(ia, &cno->obj, DAPL_TYPE_CNO, UINT32_MAX)) {
		dapl_object_release(&cno->obj);
		return DAPL_BAD_HANDLE(IA);
	}
	*out = cno;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			   DAT_CNO_HANDLE *cno_handle)
{
	if (!dapl_ia_get(ia_handle))
		return DAPL_BAD_HANDLE(IA);
	if (!cno_handle)
		return DAPL_BAD_ARG(3);
	return cno_new(ia_handle, &agent, -1, cno_handle);
}

DAT_RETURN dapl_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *file_descriptor,
			      DAT_CNO_HANDLE *cno_handle)
{
	DAT_RETURN rc;
	int fd;

	if (!dapl_ia_get(ia_handle))
		return DAPL_BAD_HANDLE(IA);
	if (!file_descriptor)
		return DAPL_BAD_ARG(2);
	if (!cno_handle)
		return DAPL_BAD_ARG(3);
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0) {
		rc = dapl_status(-errno, DAT_RESOURCE_DEVICE);
		dapl_err("CNO descriptor not created: %s", dapl_strerror(errno));
		return rc;
	}
	rc = cno_new(ia_handle, NULL, fd, cno_handle);
	if (rc) {
		close(fd);
		return rc;
	}
	*file_descriptor = fd;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dapl_cno *cno = dapl_cno_get(cno_handle);

	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	if (cno->fd >= 0)
		return dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	pthread_mutex_lock(&cno->lock);
	if (agent.proxy_agent_func)
		set_agent(cno, &agent);
	else
		memset(&cno->agent, 0, sizeof(cno->agent));
	pthread_mutex_unlock(&cno->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct dapl_cno *cno = dapl_cno_get(cno_handle);

	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	if ((uint32_t)mask > 7) /* CNO-23 */
		return DAPL_BAD_ARG(2);
	if (!param)
		return mask ? DAPL_BAD_ARG(3) : DAT_SUCCESS;
	memset(param, 0, sizeof(*param));
	param->ia_handle = dapl_ia_handle(cno->obj.ia);
	pthread_mutex_lock(&cno->lock);
	if (cno->fd >= 0) {
		param->proxy_type = DAT_PROXY_TYPE_FD;
		param->proxy.fd = cno->fd;
	} else if (cno->agent.proxy_agent_func) {
		param->proxy_type = DAT_PROXY_TYPE_AGENT;
		param->proxy.agent = cno->agent;
	} else {
		param->proxy_type = DAT_PROXY_TYPE_NONE;
	}
	pthread_mutex_unlock(&cno->lock);
	return DAT_SUCCESS;
}

/* Retired already. */
static void cno_delete(struct dapl_cno *cno)
{
	dapl_object_wait_left(&cno->obj);
	dapl_ia_remove(&cno->obj, DAPL_TYPE_CNO);
	if (cno->fd >= 0)
		close(cno->fd);
	pthread_mutex_destroy(&cno->lock);
	dapl_object_release(&cno->obj);
}

DAT_RETURN dapl_cno_free(DAT_CNO_HANDLE cno_handle)
{
	struct dapl_cno *cno = dapl_cno_get(cno_handle);
	bool busy;

	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	pthread_mutex_lock(&cno->lock);
	busy = cno->waiters || dapl_object_users(&cno->obj);
	if (!busy && !dapl_object_retire(&cno->obj, DAPL_TYPE_CNO)) {
		pthread_mutex_unlock(&cno->lock);
		return DAPL_BAD_HANDLE(CNO);
	}
	pthread_mutex_unlock(&cno->lock);
	if (busy)
		return DAPL_BAD_STATE(CNO_IN_USE);
	cno_delete(cno);
	return DAT_SUCCESS;
}

/* CNO-32 */
void dapl_cno_destroy(struct dapl_cno *cno)
{
	struct dapl_agent_call call = { .func = NULL };

	dapl_object_retire(&cno->obj, DAPL_TYPE_CNO);
	pthread_mutex_lock(&cno->lock);
	release_all(cno, &call);
	pthread_mutex_unlock(&cno->lock);
	dapl_agent_invoke(&call);
	cno_delete(cno);
}

/* Takes the trigger if there is one; lock held. */
static bool consume(struct dapl_cno *cno, DAT_EVD_HANDLE *evd)
{
	if (!cno->triggered)
		return false;
	set_triggered(cno, false);
	*evd = cno->last;
	return true;
}

/* Sleeps until there is something to return; lock held on entry and exit. */
static DAT_RETURN wait_locked(struct dapl_cno *cno, DAT_TIMEOUT timeout, uint64_t deadline,
			      DAT_EVD_HANDLE *evd)
{
	uint32_t released = cno->release_all, seen;
	int err = timeout ? 0 : -ETIMEDOUT;

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
	struct dapl_cno *cno = dapl_cno_get(cno_handle);
	DAT_RETURN rc;

	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	if (!evd)
		return DAPL_BAD_ARG(3);
	if (!dapl_object_enter(&cno->obj, DAPL_TYPE_CNO))
		return DAPL_BAD_HANDLE(CNO);
	dapl_loop_resume(cno->obj.ia->loop);
	pthread_mutex_lock(&cno->lock);
	rc = DAPL_BAD_HANDLE(CNO); /* gone before the waiter was counted (CNO-32) */
	if (dapl_cno_get(cno_handle)) {
		cno->waiters++;
		rc = wait_locked(cno, timeout, deadline, evd);
		cno->waiters--;
	}
	pthread_mutex_unlock(&cno->lock);
	dapl_object_leave(&cno->obj);
	return rc;
}

DAT_RETURN dapl_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd)
{
	struct dapl_cno *cno = dapl_cno_get(cno_handle);

	if (!cno)
		return DAPL_BAD_HANDLE(CNO);
	if (!evd)
		return DAPL_BAD_ARG(2);
	pthread_mutex_lock(&cno->lock);
	if (!consume(cno, evd))
		*evd = DAT_HANDLE_NULL;
	pthread_mutex_unlock(&cno->lock);
	return DAT_SUCCESS;
}
