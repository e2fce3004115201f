/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/dispositions.h"
#include "dat/object.h"
#include "trace/dat_log.h"

void dat_dispositions_save(struct dat_dispositions *dispositions)
{
	int i;

	dispositions->num_objects = dat_object_count();
	for (i = 1; i < _NSIG; i++)
		sigaction(i, NULL, &dispositions->was[i]); /* fails for those of the C library */
}

/* Whether a disposition is one that a library which came later has set. */
static int set_by_newer(const struct dat_dispositions *dispositions, const struct sigaction *was,
			const struct sigaction *now)
{
	struct dat_object object;

	if (now->sa_handler == was->sa_handler || now->sa_handler == SIG_DFL)
		return 0;
	if (now->sa_handler == SIG_IGN)
		return was->sa_handler == SIG_DFL;
	object = dat_object_of((const void *)now->sa_handler);
	return !object.number || object.number > dispositions->num_objects;
}

void dat_dispositions_restore(const struct dat_dispositions *dispositions, const char *library)
{
	struct sigaction now;
	int i;

	for (i = 1; i < _NSIG; i++) {
		if (sigaction(i, NULL, &now) ||
		    !set_by_newer(dispositions, &dispositions->was[i], &now))
			continue;
		sigaction(i, &dispositions->was[i], NULL);
		dat_trace(signal_put_back, DATS_TRC_NORMAL, NULL, "signal=%d library=%s", i,
			  library);
	}
}
