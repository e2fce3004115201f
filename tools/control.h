/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tools share to talk to a running uDAPL program (dat/dats.h, the control channel). */
#ifndef TOOLS_CONTROL_H
#define TOOLS_CONTROL_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Asks the program one line. 0: *answer is its text, to be freed. Else a negative errno, and why
 * says in a sentence what is wrong: -ESRCH no such process, -ECONNREFUSED not a uDAPL program or no
 * IA open yet, -EPERM another user's, -EINVAL what the program itself answered, -ETIMEDOUT.
 */
int control_ask(pid_t pid, const char *line, char **answer, char *why, size_t size);

/* A process id from text; -1 if it is none. */
pid_t control_pid(const char *text);

#endif
