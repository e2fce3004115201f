/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Child processes of a test: the test's own program started anew in a role, with a socket between
 * them. A child that fails a check ends with a non-zero status, which the parent notices.
 */
#ifndef PEER_H
#define PEER_H

#include "conn_util.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct peer {
	pid_t pid;
	int fd;
};

struct peer_role {
	const char *name;
	void (*run)(int fd);
};

/* To be called first in main: does not return in a child. roles ends with a null name. */
void peer_main(int argc, char **argv, const struct peer_role *roles);

/* Starts this program in a role; with the dat.conf that UDAPL_PEER_CONF names, if it does. */
struct peer *peer_start(const char *role);

/* Both sides: exactly len bytes, within a deadline. */
void peer_put(int fd, const void *buf, size_t len);
void peer_get(int fd, void *buf, size_t len);
void peer_put_word(int fd, uint64_t word);
uint64_t peer_get_word(int fd);

/* Where a process listens. Other processes may have other addresses on the same adapter (UCM-2). */
struct peer_service {
	DAT_CONN_QUAL qual;
	struct sockaddr_storage addr;
};

struct peer_service peer_service(const DAT_SOCK_ADDR *addr, DAT_CONN_QUAL qual);
/* Tells the other process of the rig's service point. */
void peer_put_service(int fd, const struct cu_rig *rig);
struct peer_service peer_get_service(int fd);
DAT_RETURN peer_connect(struct ct_end *end, const struct peer_service *to, DAT_TIMEOUT timeout);

/* Stops the process; it has stopped when the call returns. */
void peer_stop(struct peer *peer);
void peer_continue(struct peer *peer);
/* Sends SIGKILL and waits until the process is gone. */
void peer_kill(struct peer *peer);
/* Closes the socket and waits for an exit with status 0. */
void peer_finish(struct peer *peer);
/* Kills what is left. */
void peer_end_all(void);

#endif
