/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A hash table of entries that are used again but never given back, so that a reader may follow a
 * chain while it changes: it looks at the count of changes before and after, and looks again if
 * that was odd or is another.
 */
#include "dat-1.2/contexts.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NUM_CHAINS 1024

struct dat12_context {
	_Atomic(struct dat12_context *) next; /* in its chain, or among the free */
	_Atomic(DAT_LMR_CONTEXT) name;
	_Atomic(DAT_LMR_HANDLE) lmr;
	DAT_IA_HANDLE ia; /* this and the next under the lock */
	int closing;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct dat12_context *) chains[NUM_CHAINS];
static struct dat12_context *unused;
static atomic_uint changes; /* odd: under way */

static _Atomic(struct dat12_context *) *chain_of(DAT_LMR_CONTEXT name)
{
	return &chains[(name ^ name >> 10 ^ name >> 20) % NUM_CHAINS];
}

static void release(struct dat12_context *context)
{
	atomic_store(&context->next, unused);
	unused = context;
}

struct dat12_context *dat12_context_new(void)
{
	struct dat12_context *context;

	pthread_mutex_lock(&lock);
	context = unused;
	if (context)
		unused = atomic_load(&context->next);
	pthread_mutex_unlock(&lock);
	return context ? context : calloc(1, sizeof(*context));
}

void dat12_context_drop(struct dat12_context *context)
{
	pthread_mutex_lock(&lock);
	release(context);
	pthread_mutex_unlock(&lock);
}

void dat12_context_add(struct dat12_context *context, DAT_IA_HANDLE ia, DAT_LMR_CONTEXT name,
		       DAT_LMR_HANDLE lmr)
{
	_Atomic(struct dat12_context *) *chain = chain_of(name);

	context->ia = ia;
	context->closing = 0;
	pthread_mutex_lock(&lock);
	atomic_fetch_add(&changes, 1);
	atomic_store(&context->name, name);
	atomic_store(&context->lmr, lmr);
	atomic_store(&context->next, atomic_load(chain));
	atomic_store(chain, context);
	atomic_fetch_add(&changes, 1);
	pthread_mutex_unlock(&lock);
}

static void unlink_from(_Atomic(struct dat12_context *) *link)
{
	struct dat12_context *context = atomic_load(link);

	atomic_fetch_add(&changes, 1);
	atomic_store(link, atomic_load(&context->next));
	release(context);
	atomic_fetch_add(&changes, 1);
}

/* The oldest one: the handle may have been given to a new region already. */
void dat12_context_forget(DAT_LMR_CONTEXT name, DAT_LMR_HANDLE lmr)
{
	_Atomic(struct dat12_context *) *link, *found = NULL;
	struct dat12_context *context;

	pthread_mutex_lock(&lock);
	for (link = chain_of(name); (context = atomic_load(link)); link = &context->next)
		if (atomic_load(&context->name) == name && atomic_load(&context->lmr) == lmr)
			found = link;
	if (found)
		unlink_from(found);
	pthread_mutex_unlock(&lock);
}

void dat12_contexts_begin_close(DAT_IA_HANDLE ia)
{
	struct dat12_context *context;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < NUM_CHAINS; i++)
		for (context = atomic_load(&chains[i]); context;
		     context = atomic_load(&context->next))
			if (context->ia == ia)
				context->closing = 1;
	pthread_mutex_unlock(&lock);
}

void dat12_contexts_end_close(DAT_IA_HANDLE ia, int closed)
{
	_Atomic(struct dat12_context *) *link;
	struct dat12_context *context;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < NUM_CHAINS; i++) {
		link = &chains[i];
		while ((context = atomic_load(link))) {
			if (context->ia == ia && context->closing && closed) {
				unlink_from(link);
				continue;
			}
			if (context->ia == ia)
				context->closing = 0;
			link = &context->next;
		}
	}
	pthread_mutex_unlock(&lock);
}

unsigned int dat12_contexts_find(DAT_LMR_CONTEXT name, DAT_LMR_HANDLE *lmrs, unsigned int max)
{
	struct dat12_context *context;
	unsigned int before, num;

	for (;;) {
		before = atomic_load(&changes);
		num = 0;
		for (context = atomic_load(chain_of(name)); context && num < max;
		     context = atomic_load(&context->next)) {
			if (atomic_load(&changes) != before)
				break;
			if (atomic_load(&context->name) == name)
				lmrs[num++] = atomic_load(&context->lmr);
		}
		if (!(before & 1) && atomic_load(&changes) == before)
			return num;
		sched_yield();
	}
}

/* ---- fork: to a child belongs nothing that its parent had (GEN-32) ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	size_t i;

	for (i = 0; i < NUM_CHAINS; i++)
		while (atomic_load(&chains[i]))
			unlink_from(&chains[i]);
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}
