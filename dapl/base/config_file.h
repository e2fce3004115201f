/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What stands in dapl.conf, whatever it may mean. */
#ifndef DAPL_CONFIG_FILE_H
#define DAPL_CONFIG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define DAPL_CONFIG_FILE_MAX (1 << 20)

/* One line "name = value" of a section; of an IA's own section the IA's name is title. */
struct dapl_config_line {
	char *section, *title, *name, *value; /* title: "" if the section has none */
	int line;
	bool told; /* for the use of who judges: reported as wrong */
};

struct dapl_config_file {
	struct dapl_config_line *lines; /* in their order */
	uint32_t num_lines;
};

/*
 * Reads the file of a path, of at most DAPL_CONFIG_FILE_MAX bytes. What the grammar cannot take is
 * reported with its line, and the rest of the file is ignored (dapl_err). 0 or a negative errno.
 */
int dapl_config_file_read(const char *path, struct dapl_config_file *out);
void dapl_config_file_free(struct dapl_config_file *file);

#endif
