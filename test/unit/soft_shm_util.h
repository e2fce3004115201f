/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links over shared memory without connections above them, and peers made by hand. */
#ifndef TEST_SOFT_SHM_UTIL_H
#define TEST_SOFT_SHM_UTIL_H

#include "test/unit/soft_util.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "providers/soft/link/shm.h"

enum {
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
	NOBODY = 65534,
};

#define T(f) cmocka_unit_test_setup_teardown(f, shm_set_up, shm_tear_down)

extern struct node left, right; /* with shared memory where it can be */
extern struct soft_dev *dev;	/* the left one */
extern int listen_fd;
extern uint64_t qual; /* nobody else's, or what listen_fd listens at */
extern struct soft_link *act, *pas;
extern atomic_uint readies; /* how often the loop called for act or pas */

int shm_set_up(void **state);
int shm_tear_down(void **state);

void listen_here(void);
void connect_here(void);
void accept_here(void);
/* Both links, with nothing watched by the loop. */
void pair(void);
void end_link(struct soft_link **link, bool abort);
ssize_t put(struct soft_link *link, const void *data, size_t len);
ssize_t get(struct soft_link *link, void *data, size_t len);
/* Has a's end know that b has taken all but what is left. */
void acknowledge(struct soft_link *a, struct soft_link *b);
/* Wake-up bytes that wait at the link. */
int woken(struct soft_link *link);

/* What an active side does, step by step. */
extern const struct shm_hello right_hello;
int raw_connect(void);
int raw_hello(int fd, const struct shm_hello *hello, size_t len, const int *fds, int num);
int memory(off_t size, int seals);

#endif
