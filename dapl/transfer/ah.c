/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/transfer/ah.h"

#include <search.h>
#include <stddef.h>
#include <stdint.h>

static int compare(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

bool dapl_ah_add(struct dapl_ahs *ahs, void *ah)
{
	return tsearch(ah, &ahs->root, compare);
}

bool dapl_ah_held(const struct dapl_ahs *ahs, const void *ah)
{
	return tfind(ah, &ahs->root, compare);
}

bool dapl_ah_remove(struct dapl_ahs *ahs, const void *ah)
{
	return dapl_ah_held(ahs, ah) && tdelete(ah, &ahs->root, compare);
}

void *dapl_ah_take(struct dapl_ahs *ahs)
{
	/* A node begins with its key. */
	void *ah = ahs->root ? *(void **)ahs->root : NULL;

	if (ah)
		tdelete(ah, &ahs->root, compare);
	return ah;
}
