/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors of the world, what may be ready about them, and sets of them. */
#ifndef SIM_FILE_H
#define SIM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

enum sim_kind {
	SIM_FILE_SOCKET,
	SIM_FILE_EVENTFD,
	SIM_FILE_EPOLL,
};

struct sim_item;

struct sim_file {
	enum sim_kind kind;
	uint32_t descriptors;
	int host;
	uint32_t changes; /* how often it became ready for something */
	bool blocks;
	struct sim_item *watchers;		  /* of sets that it is in */
	uint32_t (*ready)(struct sim_file *file); /* as of EPOLLIN... */
	void (*closed)(struct sim_file *file);	  /* its last descriptor is */
};

enum {
	SIM_FIRST_FD = 100,
	SIM_FDS = 900,
};

void sim_file_init(struct sim_file *file, enum sim_kind kind, int flags);
/* The lowest free number; -1 and errno. */
int sim_fd_add(struct sim_file *file);
/* NULL: it is no descriptor of the world. */
struct sim_file *sim_fd(int fd);
bool sim_fd_is_ours(int fd);
int sim_fd_close(int fd);
uint32_t sim_fd_count(int host);
/* As the kernel does with those of a process that is killed. */
void sim_fd_close_all(int host);
/* Something about it has changed: whoever waits looks. */
void sim_file_changed(struct sim_file *file);
/* No descriptor of it any more: it leaves the sets that it is in. */
void sim_file_forget(struct sim_file *file);

#endif
