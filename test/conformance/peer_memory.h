/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that a peer reads and writes by RDMA. The order of its accesses and the program's comes
 * over the network, where ThreadSanitizer does not see it: such memory is filled and looked at with
 * these only.
 */
#ifndef PEER_MEMORY_H
#define PEER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define CU_PEER_MEMORY __attribute__((no_sanitize("thread")))

void cu_fill(void *buf, size_t len, unsigned int seed);
void cu_check_fill(const void *buf, size_t len, unsigned int seed, const char *file, int line);
#define FILLED(buf, len, seed) cu_check_fill((buf), (len), (seed), __FILE__, __LINE__)
void cu_set(void *buf, uint8_t value, size_t len);
void cu_check_all(const void *buf, uint8_t value, size_t len, const char *file, int line);
#define ALL(buf, value, len) cu_check_all((buf), (value), (len), __FILE__, __LINE__)
/* Both of whole words, and aligned so. */
void cu_check_same(const void *buf, const void *want, size_t len, const char *file, int line);
#define SAME_MEMORY(buf, want, len) cu_check_same((buf), (want), (len), __FILE__, __LINE__)

#endif
