/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The other processes of the tests of handing requests on. */
#ifndef SOFT_HANDOFF_ROLES_H
#define SOFT_HANDOFF_ROLES_H

#include <stdint.h>

enum {
	NOBODY = 65534,
	HELD = 9, /* the qualifier whose name somebody has who does not listen on it */
};

enum {
	SILENT,	 /* takes the request, and says nothing */
	NO,	 /* takes the request, and says no */
	CLOSES,	 /* takes it, and closes */
	RUBBISH, /* answers with what is no answer */
};

/* Reads the other process's qualifier, or what it says. */
uint64_t word(int fd);
void say(int fd, uint64_t value);
void role(const char *name, int fd);

#endif
