/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the files of libdat2: the public API with default visibility, and small helpers. */
#ifndef DAT_INTERNAL_H
#define DAT_INTERNAL_H

/* First of all, for it chooses what the system's headers declare. */
#include "config.h"

#include <stddef.h>

#define DATS_WEAK

#pragma GCC visibility push(default)
#include <dat/udat.h>
#include <dat/dat_registry.h>
#include <dat/dat_trace.h>
#include "dat/dats.h"
#pragma GCC visibility pop

/* For data: declared so, it is reached without a detour through the global offset table. */
#define DAT_HIDDEN __attribute__((visibility("hidden")))

#if defined(__SANITIZE_THREAD__)
#define DAT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DAT_TSAN 1
#endif
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define DAT_ERR(type, subtype) ((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

#endif
