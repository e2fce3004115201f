/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How a wrapper of a call is made. */
#ifndef FAULTS_WRAP_H
#define FAULTS_WRAP_H

#include <stdatomic.h>
#include <stdbool.h>

#define WRAPPER __attribute__((visibility("default"), noinline))

/* A call that has a wrapper, and how often libdat2 and the providers made it. */
struct call {
	const char *name;
	atomic_uint count;
	struct call *next;
};

extern struct call *interpose_calls_known;
/* Objects that are made and not destroyed. */
extern atomic_int interpose_made;
/* Of the armed fault. */
extern int interpose_error;

/* Whether the call is one of libdat2's or a provider's. */
bool interpose_is_ours(const void *caller);
/* Counts a call; sets errno and tells whether it is the one that fails. */
bool interpose_fails(struct call *call, const void *caller);
/* The function that a wrapper stands before. */
void *interpose_next(const char *name);

#define REGISTER(name)                                                 \
	static struct call call_##name = { #name, 0, NULL };           \
	static void __attribute__((constructor)) register_##name(void) \
	{                                                              \
		call_##name.next = interpose_calls_known;              \
		interpose_calls_known = &call_##name;                  \
	}

/* A call that returns failed where it fails. */
#define WRAP(ret, failed, name, params, args)                                   \
	REGISTER(name)                                                          \
	WRAPPER ret name params                                                 \
	{                                                                       \
		static _Atomic(ret(*) params) next;                             \
		ret(*real) params = atomic_load(&next);                         \
                                                                                \
		if (!real) {                                                    \
			*(void **)&real = interpose_next(#name);                \
			atomic_store(&next, real);                              \
		}                                                               \
		if (interpose_fails(&call_##name, __builtin_return_address(0))) \
			return failed;                                          \
		return real args;                                               \
	}

#endif
