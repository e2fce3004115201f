/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file udat_config.h
 * The version of the interface that dat_ia_open asks for.
 */
#ifndef DAT_1_2_UDAT_CONFIG_H
#define DAT_1_2_UDAT_CONFIG_H

#include "dat_types.h"

#define DAT_VERSION_MAJOR 1
#define DAT_VERSION_MINOR 2

/* Lines of dat.conf for programs say nonthreadsafe. */
#define DAT_THREADSAFE DAT_FALSE

#endif /* DAT_1_2_UDAT_CONFIG_H */
