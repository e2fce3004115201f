/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is on its way between the ends of a simulated connection. */
#include <string.h>

#include "test/sim/libc.h"
#include "test/sim/net.h"

uint32_t bytes_put(struct bytes *bytes, const void *from, uint32_t length)
{
	if (bytes->start + bytes->length + length > bytes->size) {
		memmove(bytes->at, bytes->at + bytes->start, bytes->length);
		bytes->start = 0;
	}
	if (bytes->length + length > bytes->size) {
		bytes->size = (bytes->length + length) * 2;
		bytes->at = __libc_realloc(bytes->at, bytes->size);
	}
	memcpy(bytes->at + bytes->start + bytes->length, from, length);
	bytes->length += length;
	return length;
}

uint32_t bytes_take(struct bytes *bytes, void *to, uint32_t length)
{
	if (length > bytes->length)
		length = bytes->length;
	if (to)
		memcpy(to, bytes->at + bytes->start, length);
	bytes->start += length;
	bytes->length -= length;
	return length;
}
