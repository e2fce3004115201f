/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads, locks and the clock. Locks lie in the C library's structures, all zero when free. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/sim/libc.h"
#include "test/sim/sim.h"

/* ---- Threads ---- */

SIM_CALL int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			    void *arg)
{
	struct fiber *fiber;

	(void)attr;
	fiber_point();
	if (FAILS("pthread_create", EAGAIN))
		return EAGAIN;
	fiber = fiber_start("thread", fiber_host(), run, arg);
	*thread = (pthread_t)fiber;
	return fiber ? 0 : EAGAIN;
}

SIM_CALL int pthread_join(pthread_t thread, void **value)
{
	fiber_point();
	return fiber_join((struct fiber *)thread, value);
}

SIM_CALL pthread_t pthread_self(void)
{
	return (pthread_t)fiber_self;
}

SIM_CALL int pthread_setname_np(pthread_t thread, const char *name)
{
	fiber_name((struct fiber *)thread, name);
	return 0;
}

/* ---- Values of threads ---- */

static void (*destructors[SIM_MAX_KEYS])(void *value);
static uint32_t num_keys;

SIM_CALL int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	if (num_keys == SIM_MAX_KEYS)
		return EAGAIN;
	*key = num_keys;
	destructors[num_keys++] = destructor;
	return 0;
}

SIM_CALL void *pthread_getspecific(pthread_key_t key)
{
	return fiber_values()[key];
}

SIM_CALL int pthread_setspecific(pthread_key_t key, const void *value)
{
	if (value && FAILS("pthread_setspecific", ENOMEM))
		return ENOMEM;
	fiber_values()[key] = (void *)(uintptr_t)value;
	return 0;
}

void libc_keys_end(void)
{
	void *value;

	for (uint32_t key = 0; key < num_keys; key++) {
		value = fiber_values()[key];
		fiber_values()[key] = NULL;
		if (value && destructors[key])
			destructors[key](value);
	}
}

/* ---- Mutexes ---- */

struct mutex {
	uint32_t owner; /* number of the fiber + 1; 0: nobody */
	uint32_t waiting;
};

static struct mutex *mutex_of(pthread_mutex_t *mutex)
{
	return (struct mutex *)(void *)mutex;
}

SIM_CALL int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	(void)attr;
	memset(mutex, 0, sizeof(*mutex));
	return 0;
}

SIM_CALL int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	if (mutex_of(mutex)->owner)
		sim_fail("a mutex is destroyed while it is held");
	return 0;
}

SIM_CALL int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);
	uint32_t self = fiber_id(fiber_self) + 1;

	fiber_point();
	if (m->owner == self)
		sim_fail("a thread waits for a mutex that it holds");
	while (m->owner) {
		m->waiting++;
		fiber_wait(m, SIM_NEVER);
		m->waiting--;
		sim_trace(SIM_LOCK, 0, 0, 0, 0);
	}
	m->owner = self;
	fiber_holds(1);
	return 0;
}

/* libdat2's, of who forks: nobody keeps it for long. */
SIM_CALL int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	(void)until;
	return pthread_mutex_lock(mutex);
}

static void unlock(struct mutex *m)
{
	if (m->owner != fiber_id(fiber_self) + 1)
		sim_fail("a mutex is unlocked by who does not hold it");
	m->owner = 0;
	fiber_holds(-1);
	if (m->waiting)
		fiber_wake(m, 1);
}

SIM_CALL int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	unlock(mutex_of(mutex));
	fiber_point();
	return 0;
}

/* ---- Conditions ---- */

SIM_CALL int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	(void)attr;
	memset(cond, 0, sizeof(*cond));
	return 0;
}

SIM_CALL int pthread_cond_destroy(pthread_cond_t *cond)
{
	(void)cond;
	return 0;
}

SIM_CALL int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	unlock(mutex_of(mutex));
	fiber_wait(cond, SIM_NEVER);
	return pthread_mutex_lock(mutex);
}

SIM_CALL int pthread_cond_broadcast(pthread_cond_t *cond)
{
	fiber_wake(cond, UINT32_MAX);
	fiber_point();
	return 0;
}

SIM_CALL int pthread_cond_signal(pthread_cond_t *cond)
{
	fiber_wake(cond, 1);
	fiber_point();
	return 0;
}

enum {
	ONCE_NEW,
	ONCE_RUNS,
	ONCE_DONE,
};

SIM_CALL int pthread_once(pthread_once_t *once, void (*run)(void))
{
	while (*once == ONCE_RUNS)
		fiber_wait(once, SIM_NEVER);
	if (*once == ONCE_DONE)
		return 0;
	*once = ONCE_RUNS;
	run();
	*once = ONCE_DONE;
	fiber_wake(once, UINT32_MAX);
	return 0;
}

/* ---- Futexes ---- */

static long futex_wait(const uint32_t *word, const void *key, uint32_t seen,
		       const struct timespec *until)
{
	uint64_t deadline = SIM_NEVER;
	int err;

	if (*word != seen) {
		errno = EAGAIN;
		return -1;
	}
	if (until)
		deadline = (uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec;
	/* One may wake for no reason. */
	if (sim_once_in(sim_plan.short_one_in))
		return 0;
	err = fiber_wait(key, deadline);
	sim_trace(SIM_FUTEX, deadline, (uint64_t)err, 0, 0);
	errno = err;
	return err ? -1 : 0;
}

SIM_CALL long syscall(long number, ...)
{
	const struct timespec *until;
	uint32_t *word, value;
	const void *key;
	va_list args;
	int op;

	if (number == SYS_sched_getattr) { /* as of a kernel without slices */
		errno = ENOSYS;
		return -1;
	}
	if (number != SYS_futex)
		sim_fail("system call %ld is not simulated", number);
	va_start(args, number);
	word = va_arg(args, uint32_t *);
	op = va_arg(args, int);
	value = va_arg(args, uint32_t);
	until = va_arg(args, const struct timespec *);
	va_end(args);
	fiber_point();
	key = op & FUTEX_PRIVATE_FLAG ? word : memory_shared(word);
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAKE)
		return fiber_wake(key, value);
	return futex_wait(word, key, value, until);
}

/* ---- Time ---- */

LIBC(int, clock_gettime, (clockid_t clock, struct timespec *ts), (clock, ts))

enum {
	DAY = 1700000000, /* on which worlds begin */
};

SIM_CALL int clock_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t now = sim_now;

	if (!sim_on)
		return libc_clock_gettime(clock, ts);
	fiber_point();
	if (clock == CLOCK_REALTIME)
		now += (uint64_t)DAY * 1000000000;
	*ts = (struct timespec){ (time_t)(now / 1000000000), (long)(now % 1000000000) };
	return 0;
}

SIM_CALL int nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	fiber_wait(NULL, sim_now + (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec);
	return 0;
}

SIM_CALL int usleep(useconds_t us)
{
	struct timespec time = { us / 1000000, (long)(us % 1000000) * 1000 };

	return nanosleep(&time, NULL);
}

/* ---- Who and what ---- */

SIM_CALL pid_t getpid(void)
{
	return 4242;
}

SIM_CALL pid_t gettid(void)
{
	return (pid_t)(4242 + fiber_id(fiber_self));
}

SIM_CALL ssize_t getrandom(void *out, size_t size, unsigned int flags)
{
	(void)flags;
	fiber_point();
	if (FAILS("getrandom", EINTR))
		return -1;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)out)[i] = (uint8_t)sim_random(256);
	return (ssize_t)size;
}
