/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What dat-info was asked for, and its parts. */
#ifndef INFO_INFO_H
#define INFO_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The exit status. */
enum {
	INFO_OK = 0,
	INFO_BAD = 1,	/* what was asked about is not as it should be, or is not there */
	INFO_USAGE = 2, /* the command line is wrong */
	INFO_FAIL = 3,	/* the tool itself could not do it */
};

enum info_mode {
	INFO_LIST,
	INFO_CHECK,
	INFO_GENERATE,
	INFO_SETTINGS,
	INFO_PROCESS,
	INFO_DOCTOR,
};

struct info_options {
	enum info_mode mode;
	bool verbose, json, watch;
	const char *file;     /* dat.conf; NULL: the one that programs read */
	const char *sysfs;    /* where devices are looked for */
	unsigned int timeout; /* seconds for each adapter */
	pid_t pid;
	const char *host; /* for the doctor */
	unsigned int port;
	uint64_t interval_ms; /* of watch */
	unsigned int rounds;  /* of watch; 0: until the program ends */
	char **names;	      /* of adapters; none: all */
	int num_names;
};

/* Each returns the exit status. */
int info_list(const struct info_options *options);
int info_check(const struct info_options *options);
int info_generate(const struct info_options *options);
int info_settings(const struct info_options *options);
int info_process(const struct info_options *options);
int info_doctor(const struct info_options *options);

#endif
