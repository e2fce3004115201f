/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "test/model/model.h"
#include "test/model/peer.h"

enum {
	PATIENCE_MS = 2, /* a write that takes longer is not worth a processor */
	LOOKS = 200,	 /* between two looks at the clock */
};

struct watcher {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more, idle;
	bool busy, quit;
	atomic_bool end;
	const uint8_t *at;
	uint32_t length;
	uint8_t expected[CELL_BYTES];
	_Atomic uint32_t torn, torn_of; /* the first that was found; torn_of 0: none */
};

/* Races with the library's stores: that is the point. */
#define NO_SANITIZER __attribute__((no_sanitize("thread")))

/* The highest place where a byte is not there, or the length; what comes late is looked at first. */
static NO_SANITIZER uint32_t missing(const struct watcher *w)
{
	const volatile uint8_t *at = w->at;

	for (uint32_t i = w->length - 1; i--;)
		if (at[i] != w->expected[i])
			return i;
	return w->length;
}

static NO_SANITIZER bool has_come(const struct watcher *w)
{
	const volatile uint8_t *last = w->at + w->length - 1;
	bool come = *last == w->expected[w->length - 1];

	atomic_thread_fence(memory_order_acquire);
	return come;
}

static void look(struct watcher *w)
{
	uint64_t limit = now_ms() + PATIENCE_MS;
	uint32_t place, i = 0;

	while (!has_come(w)) {
		if (atomic_load(&w->end) || (++i % LOOKS == 0 && now_ms() > limit))
			return;
	}
	place = missing(w);
	if (place < w->length && !atomic_load(&w->torn_of)) {
		atomic_store(&w->torn, place);
		atomic_store(&w->torn_of, w->length);
	}
}

static void *watch(void *arg)
{
	struct watcher *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->quit) {
		if (!w->busy) {
			pthread_cond_wait(&w->more, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		look(w);
		pthread_mutex_lock(&w->lock);
		w->busy = false;
		pthread_cond_signal(&w->idle);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct watcher *watch_start(void)
{
	struct watcher *w = calloc(1, sizeof(*w));

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	pthread_cond_init(&w->idle, NULL);
	pthread_create(&w->thread, NULL, watch, w);
	return w;
}

void watch_end(struct watcher *w)
{
	atomic_store(&w->end, true);
	pthread_mutex_lock(&w->lock);
	while (w->busy)
		pthread_cond_wait(&w->idle, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

void watch_for(struct watcher *w, const uint8_t *at, uint32_t length, uint64_t pattern)
{
	model_fill(w->expected, pattern, length);
	pthread_mutex_lock(&w->lock);
	atomic_store(&w->end, false);
	w->at = at;
	w->length = length;
	w->busy = !has_come(w); /* else it does not change */
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

bool watch_torn(const struct watcher *w, uint32_t *place, uint32_t *length)
{
	*length = atomic_load(&w->torn_of);
	*place = atomic_load(&w->torn);
	return *length != 0;
}

void watch_stop(struct watcher *w)
{
	watch_end(w);
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	free(w);
}
