/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The address handles that a datagram endpoint holds: those which its ESTABLISHED events gave out,
 * until they are given back (IBX-88). A tree by value: any value that a program passes may be
 * looked up. EP lock held. */
#ifndef DAPL_AH_H
#define DAPL_AH_H

#include <stdbool.h>

struct dapl_ahs {
	void *root; /* of tsearch(3) */
};

/* False: no memory. */
bool dapl_ah_add(struct dapl_ahs *ahs, void *ah);
bool dapl_ah_held(const struct dapl_ahs *ahs, const void *ah);
/* False: it is not held. */
bool dapl_ah_remove(struct dapl_ahs *ahs, const void *ah);
/* Removes any one; NULL: none is left. */
void *dapl_ah_take(struct dapl_ahs *ahs);

#endif
