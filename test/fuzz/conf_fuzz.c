/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libFuzzer harness for the grammar of dat.conf; the seeds are in test/fuzz/conf. */
#include "dat/conf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dat_conf conf;
	size_t i;

	if (dat_conf_parse((const char *)data, size, &conf))
		return 0;
	for (i = 0; i < conf.num_entries; i++)
		if (!conf.entries[i].info.ia_name[0] || !conf.entries[i].lib_path[0] ||
		    !memchr(conf.entries[i].info.ia_name, '\0', DAT_NAME_MAX_LENGTH))
			abort();
	for (i = 0; i < conf.num_diags; i++)
		if (!conf.diags[i].line || !conf.diags[i].reason[0] ||
		    conf.diags[i].field > DAT_CONF_NUM_FIELDS + 1)
			abort();
	dat_conf_free(&conf);
	return 0;
}
