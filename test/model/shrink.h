/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs programs in processes of their own, and makes failing ones short. */
#ifndef SHRINK_H
#define SHRINK_H

#include "test/model/driver.h"

enum {
	DEADLINE_S = 20,
	SHRINK_DEADLINE_S = 6, /* many tries wait that long */
	SHRINK_S = 60,
};

enum {
	TUNABLES_CHOICES = 4096,
};

/* Shared memory for a run. */
struct run *run_map(int *fd);
void run_init(struct run *run);
/* main of a process that run_child started. */
int run_child_main(int fd);
/* Runs it in a process; false: it failed, and run->error says how. */
bool run_child(struct run *run, int fd, unsigned int limit_s, bool quiet);
/* Removes steps as long as the program fails; tries is how often one may pass that fails. */
/* false: it passes now. */
bool shrink(struct run *run, int fd, unsigned int tries, unsigned int seconds);
/* The program as C that test/model/kept.h turns into a test, and as text for -p. */
void run_print_c(FILE *out, const struct run *run);
void run_print_text(FILE *out, const struct run *run);
/* What the libraries said at the end of the last quiet run. */
void run_print_messages(FILE *out);
bool run_read(FILE *in, struct run *run);

#endif
