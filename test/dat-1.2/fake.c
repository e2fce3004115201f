/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/dat-1.2/fake.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct fake_call fake_last;
unsigned int fake_calls;

static struct {
	bool on;
	uint32_t word, second;
	unsigned int until;
	unsigned int num_puts;
	struct {
		unsigned int argument;
		const void *bytes;
		size_t len;
	} puts[3];
	unsigned int look;
	size_t look_len;
} fake;

void fake_answer(uint32_t word)
{
	memset(&fake, 0, sizeof(fake));
	memset(&fake_last, 0, sizeof(fake_last));
	fake.on = true;
	fake.word = word;
	fake.until = UINT32_MAX;
	fake_calls = 0;
}

void fake_put(unsigned int argument, const void *bytes, size_t len)
{
	fake.puts[fake.num_puts].argument = argument;
	fake.puts[fake.num_puts].bytes = bytes;
	fake.puts[fake.num_puts++].len = len;
}

void fake_look(unsigned int argument, size_t len)
{
	fake.look = argument;
	fake.look_len = len;
}

void fake_then(unsigned int calls, uint32_t word)
{
	fake.until = calls;
	fake.second = word;
}

void fake_off(void)
{
	fake.on = false;
}

typedef uint32_t (*call_func)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			      uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static uint32_t pass_on(const char *name, const uint64_t *w)
{
	call_func real = (call_func)(uintptr_t)dlvsym(RTLD_NEXT, name, "DAT_2.0");

	if (real == NULL)
		real = (call_func)(uintptr_t)dlvsym(RTLD_NEXT, name, "DAT_2.1");
	if (real == NULL)
		abort();
	return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
}

static uint32_t taken(const char *name, const uint64_t *words)
{
	if (!fake.on)
		return pass_on(name, words);
	fake_last.name = name;
	memcpy(fake_last.words, words, sizeof(fake_last.words));
	if (fake.look_len > 0 && words[fake.look] != 0)
		memcpy(fake_last.seen, (const void *)(uintptr_t)words[fake.look], fake.look_len);
	if (fake_calls++ >= fake.until)
		return fake.second;
	for (unsigned int i = 0; i < fake.num_puts; i++) {
		void *to = (void *)(uintptr_t)words[fake.puts[i].argument];

		if (to != NULL)
			memcpy(to, fake.puts[i].bytes, fake.puts[i].len);
	}
	return fake.word;
}

/* The words on the stack are there for calls of fewer arguments too, and are not looked at. */
#define CALL(name)                                                                          \
	uint32_t dat_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,     \
			    uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j,     \
			    uint64_t k, uint64_t l);                                        \
	__attribute__((visibility("default"), no_sanitize("address"))) uint32_t dat_##name( \
		uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,     \
		uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l)     \
	{                                                                                   \
		const uint64_t words[] = { a, b, c, d, e, f, g, h, i, j, k, l };            \
		return taken("dat_" #name, words);                                          \
	}
#include "dat-1.2/calls.def"
CALL(rmr_create_for_ep)
