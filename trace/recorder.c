/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each thread writes into a ring of its own, under a lock of its own that is free but for the
 * moment when somebody reads. The ring of a thread that ended keeps its records until another
 * thread takes it over, so there are never more rings than there were threads at one time.
 */
#include "trace/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ring {
	pthread_mutex_t lock;
	int taken;	      /* by a thread that lives */
	uint64_t put, unread; /* counts of records */
	struct ring *next;
	struct dat_record records[DAT_RECORDER_DEPTH];
};

/* Rings are only added, at the head. */
static struct ring *rings;
static pthread_mutex_t add_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t at_thread_end;
static int have_key;
static __thread struct ring *own;
static __thread pid_t own_tid;

static void leave(void *ring)
{
	own = NULL; /* a later destructor of the thread gets another */
	__atomic_store_n(&((struct ring *)ring)->taken, 0, __ATOMIC_RELEASE);
}

static struct ring *take_over(void)
{
	struct ring *ring;
	int not_taken;

	for (ring = __atomic_load_n(&rings, __ATOMIC_ACQUIRE); ring; ring = ring->next) {
		not_taken = 0;
		if (__atomic_compare_exchange_n(&ring->taken, &not_taken, 1, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return ring;
	}
	return NULL;
}

static struct ring *add(void)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	pthread_mutex_init(&ring->lock, NULL);
	ring->taken = 1;
	pthread_mutex_lock(&add_lock);
	ring->next = rings;
	__atomic_store_n(&rings, ring, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&add_lock);
	return ring;
}

/* A forked child has one thread; what the others held is nobody's now. */
void dat_recorder_abandon(void)
{
	struct ring *ring;

	own_tid = 0;
	pthread_mutex_init(&add_lock, NULL);
	for (ring = rings; ring; ring = ring->next) {
		pthread_mutex_init(&ring->lock, NULL);
		ring->taken = ring == own;
	}
}

static void start(void)
{
	have_key = !pthread_key_create(&at_thread_end, leave);
}

static struct ring *own_ring(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (own)
		return own;
	pthread_once(&once, start);
	if (!have_key)
		return NULL;
	own = take_over();
	if (!own)
		own = add();
	if (own && pthread_setspecific(at_thread_end, own))
		leave(own);
	return own;
}

pid_t dat_recorder_tid(void)
{
	if (!own_tid)
		own_tid = gettid();
	return own_tid;
}

void dat_recorder_put(const struct dat_record *record)
{
	struct ring *ring = own_ring();
	struct dat_record *slot;

	if (!ring)
		return;
	pthread_mutex_lock(&ring->lock);
	slot = &ring->records[ring->put % DAT_RECORDER_DEPTH];
	*slot = *record;
	slot->order = ring->put++;
	pthread_mutex_unlock(&ring->lock);
}

static size_t copy(struct ring *ring, int unread, struct dat_record *out, size_t room)
{
	uint64_t from;
	size_t num = 0;

	pthread_mutex_lock(&ring->lock);
	from = ring->put > DAT_RECORDER_DEPTH ? ring->put - DAT_RECORDER_DEPTH : 0;
	if (unread && from < ring->unread)
		from = ring->unread;
	for (; from < ring->put && num < room; from++)
		out[num++] = ring->records[from % DAT_RECORDER_DEPTH];
	if (unread)
		ring->unread = from;
	pthread_mutex_unlock(&ring->lock);
	return num;
}

static int by_time(const void *a, const void *b)
{
	const struct dat_record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

struct dat_record *dat_recorder_read(int unread, size_t *num)
{
	struct ring *first = __atomic_load_n(&rings, __ATOMIC_ACQUIRE), *ring;
	struct dat_record *all;
	size_t room = 0;

	*num = 0;
	for (ring = first; ring; ring = ring->next)
		room += DAT_RECORDER_DEPTH;
	all = room ? malloc(room * sizeof(*all)) : NULL;
	if (!all)
		return NULL;
	for (ring = first; ring; ring = ring->next)
		*num += copy(ring, unread, all + *num, room - *num);
	qsort(all, *num, sizeof(*all), by_time);
	return all;
}
