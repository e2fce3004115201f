/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What stands in dapl.conf, whatever it may mean. */
#ifndef DAPL_CONF_H
#define DAPL_CONF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One line "name = value" of a section; of an IA's own section the IA's name is title. */
struct dapl_conf_line {
	char *section, *title, *name, *value; /* title: "" if the section has none */
	int line;
	atomic_bool reported; /* as wrong, by whoever checks the values */
};

struct dapl_conf {
	struct dapl_conf_line *lines; /* in their order */
	uint32_t num_lines;
};

/*
 * Reads the file of a path (util/read_file.h). What the grammar cannot take is
 * reported with its line, and the rest of the file is ignored (dapl_err). 0 or a negative errno.
 */
int dapl_conf_read(const char *path, struct dapl_conf *out);
void dapl_conf_free(struct dapl_conf *file);

#endif
