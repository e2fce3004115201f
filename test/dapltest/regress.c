/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "regress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "clock.h"
#include "limit.h"
#include "results.h"
#include "summary.h"

#define MAX_ARGS 64
/* With --quick: of the iterations. */
#define QUICK_PART 1000

/* What stands on the command line after the server and the adapter. */
static const struct form {
	const char *name, *arguments;
} forms[] = {
	{ "conn", "-T T -i 1 -t 1 -w 1 client SR 4096 server SR 4096" },
	{ "trans", "-T T -i 8192 -t 1 -w 1 client SR 4096 server SR 4096" },
	{ "transm", "-T T -P -t 1 -w 1 -i 4096 client RW 4096 1 server RW 2048 4 server RR 1024 1 "
		    "client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f" },
	{ "transmx",
	  "-T T -P -t 1 -w 1 -i 8192 client RW 32768 4 server RW 32768 4 "
	  "server RR 32768 1 client RR 32768 1 client SR 16384 4 -f server SR 16384 4 -f" },
	{ "transt", "-T T -i 4096 -t 4 -w 1 client SR 8192 3 server SR 8192 3" },
	{ "transme", "-T T -P -t 1 -w 4 -i 4096 client RW 4096 1 server RW 2048 4 "
		     "server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f" },
	{ "transmet", "-T T -P -t 2 -w 4 -i 4096 client RW 4096 1 server RW 2048 4 "
		      "server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f" },
	{ "transmete", "-T T -P -t 4 -w 4 -i 8192 client RW 4096 1 server RW 2048 4 "
		       "server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f" },
	{ "validate", "-T T -V -t 2 -w 2 -i 1024 client RW 4096 1 server RW 2048 4 "
		      "server RR 1024 1 client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f" },
	{ "threads", "-T T -i 4096 -t 6 -w 1 client SR 8192 3 server SR 8192 3" },
	{ "threadsm", "-T T -i 4096 -t 4 -w 4 client SR 8192 3 server SR 8192 3" },
	{ "cno", "-T T -Q -i 4096 -t 2 -w 2 client SR 8192 3 server SR 8192 3" },
	{ "epa", "-T T -i 4096 -t 10 -w 10..50..20 client SR 8192 3 server SR 8192 3" },
	{ "perf", "-T P -i 2048 -m b RW 4096 2" },
	{ "rdma-read", "-T P -i 4096 RR 32768 1" },
	{ "rdma-write", "-T P -i 4096 RW 32768 4" },
	{ "send", "-T P -i 4096 SR 4096 1" },
	{ "bw", "-T P -i 4096 -p 16 -m b RW 65536 2" },
	{ "latb", "-T P -i 8192 -p 1 -m b RW 4 1" },
	{ "latp", "-T P -i 100000 -p 1 -m p RW 4 1" },
	{ "lim", "-T L -w 8 -m 100 limit_ia limit_pz limit_evd limit_ep limit_psp limit_lmr" },
	{ "lim-rpost", "-T L -w 8 -m 15 limit_rpost" },
};

#define NUM_FORMS (sizeof(forms) / sizeof(forms[0]))

static int split(char *text, char **argv)
{
	char *rest, *word;
	int argc = 0;

	argv[argc++] = (char *)"dapltest";
	for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	return argc;
}

/* The form's parameters with the adapter, server, port and time limit of the command. */
static int prepare(const struct form *form, const struct dt_params *all, struct dt_params *one)
{
	bool limits = strstr(form->arguments, "-T L") != NULL;
	char text[768], *argv[MAX_ARGS];
	int argc;

	/* Options come before operations: the server goes behind "-T T". */
	snprintf(text, sizeof(text), "%.4s %s%s%s", form->arguments, limits ? "" : "-s ",
		 limits ? "" : all->server, form->arguments + 4);
	argc = split(text, argv);
	if (dt_params_parse(one, argc, argv) != DT_PARSED)
		return -1;
	memcpy(one->ia_name, all->ia_name, sizeof(one->ia_name));
	one->port = all->port;
	one->timeout_s = all->timeout_s;
	one->debug = all->debug;
	one->format = all->format;
	if (all->quick)
		one->iterations = (one->iterations + QUICK_PART - 1) / QUICK_PART;
	return 0;
}

/* Why a form failed whose results begin at `first`. */
static const char *reason(uint32_t first)
{
	for (uint32_t i = first; i < dt_results_count(); i++)
		if (!dt_results_at(i)->ok)
			return dt_results_at(i)->error;
	return "it did not begin";
}

static int run_form(const struct form *form, const struct dt_params *params,
		    struct dt_verdict *verdict)
{
	uint64_t started_ns = dt_now_ns();
	struct dt_params *one = malloc(sizeof(*one));
	uint32_t first = dt_results_count();
	int ret = -1;

	*verdict = (struct dt_verdict){ .name = form->name, .reason = "no memory" };
	if (!one) {
		fprintf(stderr, "dapltest: no memory\n");
		return -1;
	}
	if (!prepare(form, params, one))
		ret = one->test == DT_TEST_LIMIT ? dt_limit_run(one) : dt_client_run(one);
	free(one);
	*verdict = (struct dt_verdict){ .name = form->name, .ok = !ret };
	verdict->seconds = (double)(dt_now_ns() - started_ns) / 1e9;
	if (ret)
		snprintf(verdict->reason, sizeof(verdict->reason), "%s", reason(first));
	if (ret)
		dt_say("REGRESS: %-10s FAILED: %s", form->name, verdict->reason);
	else
		dt_say("REGRESS: %-10s ok", form->name);
	return ret;
}

int dt_regress_run(struct dt_params *params)
{
	struct dt_verdict verdicts[NUM_FORMS];
	uint32_t num_failed = 0;

	for (size_t i = 0; i < NUM_FORMS; i++)
		if (run_form(&forms[i], params, &verdicts[i]))
			num_failed++;
	dt_summary_print(params, verdicts, NUM_FORMS);
	dt_say("REGRESS: %u of %zu forms passed", (unsigned int)NUM_FORMS - num_failed, NUM_FORMS);
	return num_failed ? -1 : 0;
}
