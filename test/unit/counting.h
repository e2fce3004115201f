/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between a test and the provider module that counts: the entry's ia_params begin with the address
 * of this. */
#ifndef TEST_COUNTING_H
#define TEST_COUNTING_H

#include <dat/dat_registry.h>

struct counting {
	/* What happened. */
	int inits, finis, opens, closes;
	int wrong; /* rules broken: init twice, fini with an IA open, and so on */
	char instance_data[256];
	DAT_PROVIDER_INFO info;
	DAT_RETURN add_rc;

	/* What to do. */
	int skip_register, other_name, leave_entry, from_thread, uses_arena;
	int twice; /* another thread registers, and then init */
	DAT_RETURN open_rc;
	void *(*meanwhile)(void *); /* in another thread, before init registers */

	int inside; /* the module's own */
};

#endif
