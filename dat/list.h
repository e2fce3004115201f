/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT_LIST_H
#define DAT_LIST_H

#include "dat/internal.h"

struct dat_static;

/* Gives the keys to the list, up to max of them; counts all if there is no list. */
typedef DAT_COUNT dat_list_keys(const struct dat_static *sr, DAT_COUNT max,
				DAT_PROVIDER_INFO **list);

/* A list of keys as programs ask for one (REG-30 to REG-34). */
DAT_RETURN dat_list(dat_list_keys *keys, DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
		    DAT_PROVIDER_INFO *list[]);

#endif
