/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file udat_config.h
 * The version of the interface that dat_ia_open asks for.
 */
#ifndef UDAT_CONFIG_H
#define UDAT_CONFIG_H

#include "dat_types.h"

#undef DAT_VERSION_MAJOR
#undef DAT_VERSION_MINOR
#undef DAT_THREADSAFE
#undef DAT_EXTENSIONS

#define DAT_VERSION_MAJOR 2
#define DAT_VERSION_MINOR 0

/* Always DAT_FALSE, so that entries of dat.conf say nonthreadsafe (REG-21). */
#define DAT_THREADSAFE DAT_FALSE

#define DAT_EXTENSIONS 1

#endif /* UDAT_CONFIG_H */
