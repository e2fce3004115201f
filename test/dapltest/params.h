/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What one run shall do, as the command line or a script file said it. */
#ifndef DAPLTEST_PARAMS_H
#define DAPLTEST_PARAMS_H

#include <dat/udat.h>
#include <stdbool.h>
#include <stdint.h>

/* The released program listens there too; it lies above Linux' default ephemeral ports. */
#define DT_DEFAULT_PORT	   62000
#define DT_DEFAULT_TIMEOUT 60
#define DT_MAX_TIMEOUT	   86400
#define DT_MAX_OPS	   100
/* -V appends three operations that synchronise the two sides. */
#define DT_SYNC_OPS	3
#define DT_ALL_OPS	(DT_MAX_OPS + DT_SYNC_OPS)
#define DT_MAX_THREADS	256
#define DT_MAX_EPS	16384
#define DT_MAX_SEG_SIZE (1u << 30)
#define DT_MAX_SEGS	1024
#define DT_MAX_PIPELINE (1u << 20)

enum dt_test {
	DT_TEST_NONE,
	DT_TEST_SERVER,
	DT_TEST_QUIT,
	DT_TEST_TRANS,
	DT_TEST_PERF,
	DT_TEST_LIMIT,
	DT_TEST_REGRESS, /* all the forms that users run, one after the other */
	DT_TEST_REPORT,	 /* every operation in every size, as a page with plots */
};

enum dt_format {
	DT_FORMAT_TEXT,
	DT_FORMAT_JSON,
	DT_FORMAT_TAP,
};

enum dt_xfer {
	DT_XFER_SR,
	DT_XFER_RR,
	DT_XFER_RW,
};

enum dt_limit {
	DT_LIMIT_IA,
	DT_LIMIT_PZ,
	DT_LIMIT_CNO,
	DT_LIMIT_EVD,
	DT_LIMIT_EP,
	DT_LIMIT_RSP,
	DT_LIMIT_PSP,
	DT_LIMIT_LMR,
	DT_LIMIT_RPOST,
	DT_LIMIT_SIZE_LMR,
	DT_LIMIT_COUNT,
};

struct dt_op {
	bool by_server; /* who initiates it */
	enum dt_xfer xfer;
	uint32_t seg_size;
	uint32_t num_segs;
	bool reap_on_recv;
};

struct dt_range {
	uint32_t first;
	uint32_t last;
	uint32_t step;
};

struct dt_params {
	enum dt_test test;
	int debug;
	char ia_name[DAT_NAME_MAX_LENGTH]; /* empty: the registry's first */
	char server[DAT_NAME_MAX_LENGTH];
	DAT_CONN_QUAL port; /* 0, server only: any free one */
	DAT_QOS qos;
	uint32_t timeout_s; /* for every single wait */

	uint32_t iterations;
	uint32_t threads;
	struct dt_range eps; /* per thread; the test runs once for each value */
	bool validate;
	bool poll;
	bool cno;
	bool rsp;
	uint32_t pipeline; /* 0: as much as the endpoint takes */
	uint32_t num_ops;
	struct dt_op ops[DT_ALL_OPS];

	uint32_t width;
	uint32_t maximum; /* 0: until the constructor fails */
	bool limits[DT_LIMIT_COUNT];

	enum dt_format format;
	struct dt_range
		sweep;	     /* performance test: of doublings of the segment size; last 0: none */
	uint32_t duration_s; /* again and again for so long; 0: once */
	bool quick;	     /* regression: a thousandth of the iterations */
	char report[4096];   /* where to write the report; empty: nowhere */
};

enum dt_parsed {
	DT_PARSED,
	DT_PARSED_DONE,	 /* help or version was printed */
	DT_PARSED_ERROR, /* the reason and the usage were printed */
};

/* argv[0] is the program's name, the rest the arguments. */
enum dt_parsed dt_params_parse(struct dt_params *params, int argc, char **argv);

/* The same with the arguments from a file, for `dapltest -f file`. */
enum dt_parsed dt_script_parse(struct dt_params *params, const char *path);

void dt_params_print(const struct dt_params *params);

/* From usage.c. */
void dt_usage(enum dt_test test, bool to_stderr);
const char *dt_limit_name(enum dt_limit limit);

/* From ops.c: the operations after the options; return -1 when they make no sense. */
int dt_trans_ops_parse(struct dt_params *params, int argc, char **argv);
int dt_perf_op_parse(struct dt_params *params, int argc, char **argv);
int dt_limits_parse(struct dt_params *params, int argc, char **argv);
const char *dt_xfer_name(enum dt_xfer xfer);

/* A decimal number, optionally followed by k, m or g (powers of 1024), within min..max. */
int dt_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* FIRST, FIRST..LAST or FIRST..LAST..STEP. */
int dt_range_parse(const char *text, uint32_t max, struct dt_range *range);

#endif
