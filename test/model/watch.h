/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A thread that polls memory for a peer's write, as programs do in place of an event (DTO-47). */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct watcher;

struct watcher *watch_start(void);
/* A write of this pattern is about to be posted; nobody else writes there until watch_end. */
void watch_for(struct watcher *w, const uint8_t *at, uint32_t length, uint64_t pattern);
void watch_end(struct watcher *w);
/* Of a write of length bytes the last one was there before the one at this place; false: of none. */
bool watch_torn(const struct watcher *w, uint32_t *place, uint32_t *length);
void watch_stop(struct watcher *w);

#endif
