/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CRC-32C (Castagnoli), the checksum of an FPDU (RFC 5044 section 4.4). The polynomial is
 * 0x1EDC6F41, reflected, with inversion before and after; the value travels in the byte order that
 * RFC 3720 appendix B.4 shows, which is least significant byte first.
 */
#ifndef SOFT_CRC32C_H
#define SOFT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * The sum of the bytes summed into crc followed by buf, at most INT_MAX bytes; crc is 0 for a fresh
 * start. Both inversions happen inside, so that calls chain: soft_crc32c(soft_crc32c(0, a, n), b, m)
 * is the sum of a then b.
 */
uint32_t soft_crc32c(uint32_t crc, const void *buf, size_t len);

/*
 * The same, and copies src to dst (which do not overlap). The sum is of the bytes that went to dst,
 * also when somebody writes to src meanwhile.
 */
uint32_t soft_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len);

#endif
