/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_platform_specific.h
 * What the interface needs to know of the platform: base types, socket addresses, parameter words.
 */
#ifndef DAT_1_2_DAT_PLATFORM_SPECIFIC_H
#define DAT_1_2_DAT_PLATFORM_SPECIFIC_H

#ifdef DAT_PLATFORM_SPECIFIC_H
#error "the headers of DAT 2.0 are included already: put those of dat-1.2.pc first"
#endif

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

/* Everything declared between these two has C linkage and default visibility. */
#ifdef __cplusplus
#define DAT_BEGIN_DECLS \
	extern "C" {    \
	_Pragma("GCC visibility push(default)")
#define DAT_END_DECLS                 \
	_Pragma("GCC visibility pop") \
	}
#else
#define DAT_BEGIN_DECLS _Pragma("GCC visibility push(default)")
#define DAT_END_DECLS	_Pragma("GCC visibility pop")
#endif

/* Direction of a parameter: read by the call, written by it, or both. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#ifndef UINT64_C
#define UINT64_C(c) c##ULL
#endif

/** Unsigned integers of known size. */
typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;

/** The largest unsigned integer that fits a context. */
typedef unsigned long long DAT_UVERYLONG;

/** Pointer to anything. */
typedef void *DAT_PVOID;

/** A number of things, or a queue length; negative values are special. */
typedef int DAT_COUNT;

/** Physical address; kernel interface only. */
typedef DAT_UINT64 DAT_PADDR;

/** Socket addresses: any, and IPv6. */
typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

/** Address families of adapters. */
#define DAT_AF_INET  AF_INET
#define DAT_AF_INET6 AF_INET6

/** Alignment in bytes that suits every provider. */
#define DAT_OPTIMAL_ALIGNMENT 256

#endif /* DAT_1_2_DAT_PLATFORM_SPECIFIC_H */
