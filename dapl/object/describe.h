/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the lines of the control commands "objects" and "settings" are made of (dapl/adapter). */
#ifndef DAPL_DESCRIBE_H
#define DAPL_DESCRIBE_H

#include <stdio.h>
#include <sys/socket.h>

#include "dapl/base/lock.h"

/* Takes a lock within a moment: that of an object always in use may be had by chance only. */
bool dapl_describe_lock(struct dapl_lock *lock);
/* Text from files and programs, which ends neither its field nor its line. */
void dapl_describe_text(const char *text, FILE *out);
/* KEY=ADDRESS, with the qualifier unless that is 0. */
void dapl_describe_addr(const char *key, const struct sockaddr_storage *addr, uint64_t qual,
			FILE *out);

#endif
