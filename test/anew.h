/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A test that starts itself anew, to be another process or to begin with another environment. */
#ifndef TEST_ANEW_H
#define TEST_ANEW_H

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ANEW_WORDS = 16, /* of ARCH_RUN, and of arguments */
};

/*
 * Becomes this program with those arguments, which NULL ends. A program of another processor is run
 * by ARCH_RUN, as test/arch/check has it. Returns where that cannot be.
 */
static inline void exec_anew(const char *const argv[])
{
	const char *run = getenv("ARCH_RUN");
	char *words = strdup(run ? run : ""), *word, *rest = NULL, path[PATH_MAX];
	char *all[2 * ANEW_WORDS + 2];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int num = 0;

	if (!words || len < 0)
		return;
	path[len] = '\0';
	for (word = strtok_r(words, " ", &rest); word && num < ANEW_WORDS;
	     word = strtok_r(NULL, " ", &rest))
		all[num++] = word;
	all[num++] = path;
	for (; *argv && num < 2 * ANEW_WORDS + 1; argv++)
		all[num++] = (char *)(uintptr_t)*argv;
	all[num] = NULL;
	execvp(all[0], all);
}

#define EXEC_ANEW(...) exec_anew((const char *const[]){ __VA_ARGS__, NULL })

#endif
