/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of the C library that are this program's. The loader finds them before the C library's,
 * for the libraries as for the program itself; what a world does not simulate goes on to the C
 * library.
 */
#ifndef SIM_LIBC_H
#define SIM_LIBC_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SIM_CALL __attribute__((visibility("default"), noinline))

/* Calls of the C library proper. */
#define LIBC(ret, name, params, args)                              \
	static ret libc_##name params                              \
	{                                                          \
		static ret(*real) params;                          \
                                                                   \
		if (!real)                                         \
			*(void **)&real = dlsym(RTLD_NEXT, #name); \
		return real args;                                  \
	}

/* Whether an object of this name is what is tested. */
bool libc_is_library(const char *name);
/* Finds the code of the libraries, which are loaded by now. */
void libc_find_libraries(void);
/* Whether an address is in it. */
bool libc_is_ours(const void *caller);
/* What the plan wants to fail does now, for a call of the libraries: errno is set. */
bool libc_fails(const char *call, const void *caller, int error);
#define FAILS(name, error) libc_fails(name, __builtin_return_address(0), error)
/* While it is false nothing is refused. */
extern bool libc_may_fail;

/* The thread that ends gives back what it has by its keys. */
void libc_keys_end(void);

/* Memory from outside the world. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t num, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

/*
 * Blocks that the libraries have allocated since a serial number, and have not freed: how many, and
 * where they come from. So many are excused as each thread leaves one for the next.
 */
uint32_t libc_blocks_since(uint64_t since, uint32_t threads, char *out, size_t size);
uint64_t libc_blocks_serial(void);

#endif
