/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of libdat2 share: configuration files, child processes, providers made of nothing.
 */
#ifndef TEST_DAT_UTIL_H
#define TEST_DAT_UTIL_H

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#define RC(type, subtype) ((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))
#define NUM_OF(array)	  (sizeof(array) / sizeof((array)[0]))

/* A file of that content in a directory that lives as long as the test. The path is good for ever.
 */
const char *util_file(const char *name, const void *content, size_t length);

/* Makes the text this process's dat.conf. Before the first use of the static registry only. */
const char *util_conf(const char *text);

/* A group teardown that removes the directory. */
int util_cleanup(void **state);

/* What a child process left: its exit code or -signal, its output, and the expectation that failed.
 */
struct outcome {
	int code;
	char out[8192], err[32768], note[512];
};

/*
 * Runs body in a child process, which has a registry of its own, and collects what it writes. The
 * test fails if an expectation in the body did or the child was killed.
 */
void util_child(int (*body)(void *arg), void *arg, struct outcome *outcome);

/* For use in a body: leaves it with a note if the condition does not hold. */
#define EXPECT(cond)                                                       \
	do {                                                               \
		if (!(cond))                                               \
			return util_note(__FILE__, __LINE__, #cond, 0, 0); \
	} while (0)

#define EXPECT_RC(call, expected)                                                    \
	do {                                                                         \
		DAT_RETURN rc_ = (call), expected_ = (expected);                     \
		if (rc_ != expected_)                                                \
			return util_note(__FILE__, __LINE__, #call, rc_, expected_); \
	} while (0)

int util_note(const char *file, int line, const char *what, DAT_RETURN got, DAT_RETURN expected);

/* How often a text occurs in another. */
int util_count(const char *text, const char *what);

DAT_RETURN util_open(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		     DAT_BOOLEAN thread_safety, DAT_IA_HANDLE *ia);

DAT_PROVIDER_INFO util_info(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
			    DAT_BOOLEAN thread_safety);

/* A provider of the program's own, foreign to the arena: it opens, answers queries and closes. */
struct fake {
	DAT_PROVIDER table;
	DAT_PROVIDER_INFO info;
};

/* What all of them did, and what they are to answer. */
struct fake_control {
	int opens, closes, queries;
	DAT_RETURN open_rc, query_rc, close_rc;
	DAT_EXTENSION extension;
	DAT_IA_HANDLE last_ia;
};

extern struct fake_control fake;

void fake_init(struct fake *provider, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
	       DAT_BOOLEAN thread_safety);

#endif
