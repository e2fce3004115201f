/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How a test asks the zoo it runs in (control.h): by the library that the module has loaded. */
#ifndef ZOO_ASKS_H
#define ZOO_ASKS_H

#include "test/conformance/harness.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "test/zoo/control.h"

static inline void *zoo_symbol(const char *name)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW), *found;

	assert_non_null(library);
	found = dlsym(library, name);
	assert_non_null(found);
	return found;
}

static inline void set(const char *name, uint32_t value)
{
	int (*control)(const char *, uint32_t) = (__typeof__(control))zoo_symbol("zoo_control");

	assert_int_equal(control(name, value), 0);
}

static inline uint32_t count(const char *what)
{
	uint32_t (*counted)(const char *) = (__typeof__(counted))zoo_symbol("zoo_count");

	return counted(what);
}

static inline unsigned int number(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? (unsigned int)strtoul(value, NULL, 0) : otherwise;
}

#endif
