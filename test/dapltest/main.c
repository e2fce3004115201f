/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "client.h"
#include "limit.h"
#include "page.h"
#include "params.h"
#include "regress.h"
#include "report.h"
#include "results.h"
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
	case DT_TEST_REGRESS:
		return dt_regress_run(params);
	case DT_TEST_REPORT:
		return dt_page_run(params);
	default:
		return dt_client_run(params);
	}
}

int main(int argc, char **argv)
{
	struct dt_params params;
	int failed;

	switch (dt_params_parse(&params, argc, argv)) {
	case DT_PARSED:
		break;
	case DT_PARSED_DONE:
		return EXIT_OK;
	default:
		return EXIT_SYNTAX;
	}
	dt_set_debug(params.debug);
	dt_set_silent(params.format != DT_FORMAT_TEXT);
	failed = run(&params);
	if (params.test != DT_TEST_SERVER)
		dt_results_print(&params);
	return failed ? EXIT_FAILED : EXIT_OK;
}
