/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "client.h"
#include "limit.h"
#include "params.h"
#include "report.h"
#include "server.h"

/* As the released program has it: 1 for a command line that makes no sense, 100 for a failure. */
enum {
	EXIT_OK = 0,
	EXIT_SYNTAX = 1,
	EXIT_FAILED = 100,
};

static int run(struct dt_params *params)
{
	switch (params->test) {
	case DT_TEST_SERVER:
		return dt_server_run(params);
	case DT_TEST_LIMIT:
		return dt_limit_run(params);
	default:
		return dt_client_run(params);
	}
}

int main(int argc, char **argv)
{
	struct dt_params params;

	switch (dt_params_parse(&params, argc, argv)) {
	case DT_PARSED:
		break;
	case DT_PARSED_DONE:
		return EXIT_OK;
	default:
		return EXIT_SYNTAX;
	}
	dt_set_debug(params.debug);
	return run(&params) ? EXIT_FAILED : EXIT_OK;
}
