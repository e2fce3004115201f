/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/dispositions.h"
#include "trace/dat_log.h"

#include <link.h>
#include <stdint.h>

/* Looks for the object that an address is in; objects come in the order they were loaded. */
struct search {
	uintptr_t addr;
	unsigned int num_objects;
	unsigned int found; /* its number from 1, or 0 */
};

static int look(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct search *search = arg;
	const ElfW(Phdr) * segment;
	uintptr_t offset = search->addr - object->dlpi_addr;
	int i;

	search->num_objects++;
	for (i = 0; i < object->dlpi_phnum; i++) {
		segment = &object->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && offset - segment->p_vaddr < segment->p_memsz)
			search->found = search->num_objects;
	}
	return 0;
}

void dat_dispositions_save(struct dat_dispositions *dispositions)
{
	struct search search = { .addr = 0 };
	int i;

	dl_iterate_phdr(look, &search);
	dispositions->num_objects = search.num_objects;
	for (i = 1; i < _NSIG; i++)
		sigaction(i, NULL, &dispositions->was[i]); /* fails for those of the C library */
}

/* Whether a disposition is one that a library which came later has set. */
static int set_by_newer(const struct dat_dispositions *dispositions, const struct sigaction *was,
			const struct sigaction *now)
{
	struct search search = { .addr = (uintptr_t)now->sa_handler };

	if (now->sa_handler == was->sa_handler || now->sa_handler == SIG_DFL)
		return 0;
	if (now->sa_handler == SIG_IGN)
		return was->sa_handler == SIG_DFL;
	dl_iterate_phdr(look, &search);
	return !search.found || search.found > dispositions->num_objects;
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
