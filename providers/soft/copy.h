/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies into the program's memory. */
#ifndef SOFT_COPY_H
#define SOFT_COPY_H

#include <stddef.h>

/*
 * A program may look at the memory meanwhile, and reset what it has seen: each byte is stored once,
 * and the last one after all others (DTO-47), of which memcpy promises neither.
 */
void soft_copy_in(void *dst, const void *src, size_t len);

#endif
