/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Provider libraries in memory. */
#ifndef DAT_LOADER_H
#define DAT_LOADER_H

#include "dat/internal.h"

struct dat_module {
	void *dl; /* NULL: not loaded */
	DAT_PROVIDER_INIT_FUNC init;
	DAT_PROVIDER_FINI_FUNC fini;
};

/*
 * Loads the library and finds its entry points (REG-44). Loading one twice shares it, and each load
 * takes its own unload. On failure returns -1 and says why in reason, in the dynamic loader's
 * words.
 */
int dat_module_load(struct dat_module *module, const char *path, char *reason, size_t size);
void dat_module_unload(struct dat_module *module);

#endif
