/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the files of libdat2: the public API with default visibility, and small helpers. */
#ifndef DAT_INTERNAL_H
#define DAT_INTERNAL_H

/* First of all, for it chooses what the system's headers declare. */
#include "config.h"

#include <stddef.h>

#pragma GCC visibility push(default)
#include <dat/udat.h>
#include <dat/dat_registry.h>
#include <dat/dat_trace.h>
#pragma GCC visibility pop
#include "util/compiler.h"

#include "dat/dats.h"
#include "util/compiler.h"

/* For data: declared so, it is reached without a detour through the global offset table. */
#define DAT_HIDDEN __attribute__((visibility("hidden")))

#define DAT_ERR(type, subtype) ((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

#endif
