/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of the libraries, of libdat2 as of the provider core. */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>

static inline void dats_mutex_init_recursive(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* As pthread_cond_wait, and no cancellation point: who is cancelled there keeps the mutex for ever. */
static inline void dats_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_cond_wait(cond, mutex);
	pthread_setcancelstate(state, NULL);
}

/* The program's signals are for the program's threads, but for faults of this one. */
static inline int dats_thread_create(pthread_t *thread, const pthread_attr_t *attr,
				     const char *name, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(thread, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc)
		pthread_setname_np(*thread, name);
	return rc;
}

static inline int dats_thread_local_size(struct dl_phdr_info *object, size_t size, void *total)
{
	int i;

	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)total +=
				object->dlpi_phdr[i].p_memsz + object->dlpi_phdr[i].p_align;
	return 0;
}

/*
 * Starts a thread with so many bytes of stack. The C library puts the thread-local variables of the
 * program and its libraries there as well, so their size is added. 0 or an errno.
 */
static inline int dats_thread_start(pthread_t *thread, const char *name, size_t stack,
				    void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc)
		return rc;
	dl_iterate_phdr(dats_thread_local_size, &stack);
	rc = pthread_attr_setstacksize(&attr, stack);
	if (!rc)
		rc = dats_thread_create(thread, &attr, name, run, arg);
	/* The C library may want more than that, for libraries to come. */
	if (rc == EINVAL)
		rc = dats_thread_create(thread, NULL, name, run, arg);
	pthread_attr_destroy(&attr);
	return rc;
}

#endif
