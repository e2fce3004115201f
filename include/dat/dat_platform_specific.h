/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_platform_specific.h
 * What the interface needs to know of the platform: the base types, socket addresses and the
 * words that mark parameters. Every other header of the interface includes this one.
 */
#ifndef DAT_PLATFORM_SPECIFIC_H
#define DAT_PLATFORM_SPECIFIC_H

#include <stdarg.h>
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

/* What flags of a type and others that go with them are together: in C++ the type, without a cast. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define DAT_CXX_FLAGS(type, other)                                                   \
	extern "C++" {                                                               \
	constexpr inline type operator|(type a, other b)                             \
	{                                                                            \
		return static_cast<type>(static_cast<int>(a) | static_cast<int>(b)); \
	}                                                                            \
	}
#else
#define DAT_CXX_FLAGS(type, other)
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

#ifndef DAT_API
#define DAT_API
#endif
#ifndef DAT_EXPORT
#define DAT_EXPORT extern
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

/** Physical address; kernel interface only. */
typedef DAT_UINT64 DAT_PADDR;

/** Socket addresses: any, and IPv6. */
typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

/** Address families of adapters. */
#define DAT_AF_INET  AF_INET
#define DAT_AF_INET6 AF_INET6

/** Alignment in bytes that suits every provider; see optimal_buffer_alignment (IA-64). */
#define DAT_OPTIMAL_ALIGNMENT 256

/** An adapter's handle is a small number in the clothes of a pointer (GEN-17). */
#define DAT_IA_HANDLE_TO_UL(a) ((unsigned long)(a))
#define DAT_UL_TO_IA_HANDLE(a) ((DAT_IA_HANDLE)(unsigned long)(a))

#endif /* DAT_PLATFORM_SPECIFIC_H */
