/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opens an adapter in a process of its own, so that whatever its provider does stays there. */
#ifndef INFO_PROBE_H
#define INFO_PROBE_H

#include <stdint.h>

#include "tools/info/registry.h"

enum info_outcome {
	INFO_OPENED,
	INFO_NO_LIBRARY, /* it does not load or does not register the name */
	INFO_REFUSED,	 /* dat_ia_open failed otherwise */
	INFO_DIED,
	INFO_SILENT,  /* no answer in time */
	INFO_UNTRIED, /* no process could be made */
};

/*
 * One attribute. group: "ia", "transport", "vendor", "provider", "specific", or "setting", whose
 * text is a line of the control command "settings".
 */
struct info_attr {
	const char *group, *name;
	const char *text; /* for people */
	const char *json; /* a JSON value */
};

struct info_probe {
	enum info_outcome outcome;
	bool opened;	   /* whatever happened then */
	char *reason;	   /* why it is not open, or what went wrong after it was; NULL: nothing */
	const char *cause; /* the message nearest to it, without place and names; NULL: none */
	size_t cause_index;
	char **messages; /* what the libraries said */
	size_t num_messages;
	char **remarks; /* those that are about dapl.conf or the environment */
	size_t num_remarks;
	const char *loaded; /* the file that the library came from; NULL: not known */
	struct info_attr *attrs;
	size_t num_attrs;
	char *records; /* what they point into */
};

/* timeout in seconds. */
void info_probe(const struct info_registry *registry, const struct info_entry *entry,
		unsigned int timeout, struct info_probe *probe);
void info_probe_free(struct info_probe *probe);

/* From here on libdat2 finds this entry alone in this process; false and errno. */
bool info_probe_use(const struct info_entry *entry);

#endif
