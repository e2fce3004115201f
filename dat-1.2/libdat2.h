/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The headers of DAT 2.0, and libdat2 behind them: this library exports the same names, so a call of
 * dat_... is bound by name and version (D12-14).
 */
#ifndef DAT12_LIBDAT2_H
#define DAT12_LIBDAT2_H

#include "dat/legacy.h"
#include "util/compiler.h"

#define CALL(name)                                                          \
	extern __typeof__(dat_##name) dat_##name __asm__("libdat2_" #name); \
	__asm__(".symver libdat2_" #name ", dat_" #name "@DAT_2.0");
#include "dat-1.2/calls.def"
#undef CALL

extern __typeof__(dats_get_ia_handle) dats_get_ia_handle __asm__("libdat2_get_ia_handle");
__asm__(".symver libdat2_get_ia_handle, dats_get_ia_handle@DAT_2.0");

#define DAT_ERR(type, subtype) ((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

#endif
