/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config.h"

#include "params.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_TIMEOUT = 256,
	OPT_HELP,
	OPT_VERSION,
	OPT_JSON,
	OPT_TAP,
	OPT_SWEEP,
	OPT_DURATION,
	OPT_REGRESS,
	OPT_QUICK,
	OPT_REPORT,
};

/* No letter takes an argument in one test and none in another: one string serves them all. */
static const char short_options[] = "+:T:D:n:dR:f:s:i:t:w:QVPrm:p:";

static const struct option long_options[] = {
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "tap", no_argument, NULL, OPT_TAP },
	{ "sweep", required_argument, NULL, OPT_SWEEP },
	{ "duration", required_argument, NULL, OPT_DURATION },
	{ "regress", required_argument, NULL, OPT_REGRESS },
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ NULL, 0, NULL, 0 },
};

/* What each test knows beyond -T -D -n -d -R, and how it calls a letter that it does not. */
static const struct {
	const char *letters;
	const char *complaint;
} tests[] = {
	[DT_TEST_NONE] = { "", "Invalid option" },
	[DT_TEST_SERVER] = { "", "Invalid Server option" },
	[DT_TEST_QUIT] = { "s", "Invalid Quit option" },
	[DT_TEST_TRANS] = { "sitwQVPr", "Invalid Transaction Test Parameter" },
	[DT_TEST_PERF] = { "simp", "Invalid Performance Test Parameter" },
	[DT_TEST_LIMIT] = { "mw", "Invalid Limit Test Parameter" },
	[DT_TEST_REGRESS] = { "s", "Invalid Regression Parameter" },
	[DT_TEST_REPORT] = { "s", "Invalid Report Parameter" },
};

static int test_parse(const char *text, enum dt_test *test)
{
	static const char letters[] = {
		[DT_TEST_SERVER] = 'S', [DT_TEST_QUIT] = 'Q',  [DT_TEST_TRANS] = 'T',
		[DT_TEST_PERF] = 'P',	[DT_TEST_LIMIT] = 'L',
	};

	for (size_t i = DT_TEST_SERVER; i < sizeof(letters); i++) {
		if (text[0] == letters[i] && !text[1]) {
			*test = (enum dt_test)i;
			return 0;
		}
	}
	fprintf(stderr, "Invalid Test Type\n");
	return -1;
}

static int qos_parse(const char *text, DAT_QOS *qos)
{
	static const struct {
		const char *name;
		DAT_QOS qos;
	} names[] = {
		{ "BE", DAT_QOS_BEST_EFFORT }, { "HT", DAT_QOS_HIGH_THROUGHPUT },
		{ "LL", DAT_QOS_LOW_LATENCY }, { "EC", DAT_QOS_ECONOMY },
		{ "PM", DAT_QOS_PREMIUM },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i].name)) {
			*qos = names[i].qos;
			return 0;
		}
	}
	fprintf(stderr, "Syntax Error -R<service reliability> option: %s\n", text);
	return -1;
}

static int name_parse(char *name, const char *text, char letter)
{
	if (*text && strlen(text) < DAT_NAME_MAX_LENGTH) {
		strcpy(name, text);
		return 0;
	}
	fprintf(stderr, "Syntax Error -%c option: a name has 1 to %d characters\n", letter,
		DAT_NAME_MAX_LENGTH - 1);
	return -1;
}

static int count_parse(uint32_t *count, const char *text, uint64_t max, const char *option)
{
	uint64_t value;

	if (dt_number_parse(text, 1, max, &value)) {
		fprintf(stderr, "Syntax Error %s option: %s is not a number from 1 to %llu\n",
			option, text, (unsigned long long)max);
		return -1;
	}
	*count = (uint32_t)value;
	return 0;
}

static int port_parse(DAT_CONN_QUAL *port, const char *text)
{
	uint64_t value;

	if (dt_number_parse(text, 0, UINT16_MAX, &value)) {
		fprintf(stderr, "Syntax Error -n<port number> option: %s\n", text);
		return -1;
	}
	*port = value;
	return 0;
}

static int eps_parse(struct dt_range *eps, const char *text)
{
	if (!dt_range_parse(text, DT_MAX_EPS, eps))
		return 0;
	fprintf(stderr, "Syntax Error -w<EPs/thread> option: %s\n", text);
	return -1;
}

/* -m is the mode of the performance test and the maximum of the limit test. */
static int mode_parse(struct dt_params *params, const char *text)
{
	if (params->test == DT_TEST_LIMIT)
		return count_parse(&params->maximum, text, INT32_MAX, "-m<maximum>");
	if (strcmp(text, "b") && strcmp(text, "p")) {
		fprintf(stderr, "Syntax Error -m <mode> option\n");
		return -1;
	}
	params->poll = *text == 'p';
	return 0;
}

/* FIRST..LAST, both with k, m or g if need be. */
static int sweep_parse(struct dt_range *sweep, const char *text)
{
	const char *dots = strstr(text, "..");
	char first[32];
	uint64_t low, high;

	if (dots && (size_t)(dots - text) < sizeof(first)) {
		snprintf(first, sizeof(first), "%.*s", (int)(dots - text), text);
		if (!dt_number_parse(first, 1, DT_MAX_SEG_SIZE, &low) &&
		    !dt_number_parse(dots + 2, low, DT_MAX_SEG_SIZE, &high)) {
			*sweep = (struct dt_range){ (uint32_t)low, (uint32_t)high, 0 };
			return 0;
		}
	}
	fprintf(stderr, "Syntax Error --sweep option: %s is not FIRST..LAST, sizes from 1 to %u\n",
		text, DT_MAX_SEG_SIZE);
	return -1;
}

static int path_parse(char *path, size_t size, const char *text)
{
	if (*text && strlen(text) < size) {
		strcpy(path, text);
		return 0;
	}
	fprintf(stderr, "Syntax Error --report option: not a file name\n");
	return -1;
}

static int long_option(struct dt_params *params, int letter, const char *text)
{
	switch (letter) {
	case OPT_JSON:
		params->format = DT_FORMAT_JSON;
		return 0;
	case OPT_TAP:
		params->format = DT_FORMAT_TAP;
		return 0;
	case OPT_SWEEP:
		return sweep_parse(&params->sweep, text);
	case OPT_DURATION:
		return count_parse(&params->duration_s, text, INT32_MAX, "--duration");
	case OPT_QUICK:
		params->quick = true;
		return 0;
	case OPT_REGRESS:
		return name_parse(params->server, text, 's');
	case OPT_REPORT:
		return path_parse(params->report, sizeof(params->report), text);
	default:
		return count_parse(&params->timeout_s, text, DT_MAX_TIMEOUT, "--timeout");
	}
}

static int pipeline_parse(struct dt_params *params, const char *text)
{
	if (!strcmp(text, "0")) {
		fprintf(stderr, "Pipeline size must not be 0\n");
		return -1;
	}
	return count_parse(&params->pipeline, text, DT_MAX_PIPELINE, "-p <pipeline>");
}

static int common_option(struct dt_params *params, int letter, const char *text)
{
	switch (letter) {
	case 'D':
		return name_parse(params->ia_name, text, 'D');
	case 'n':
		return port_parse(&params->port, text);
	case 'd':
		params->debug++;
		return 0;
	case 'R':
		return qos_parse(text, &params->qos);
	default:
		return long_option(params, letter, text);
	}
}

static int test_option(struct dt_params *params, int letter, const char *text)
{
	switch (letter) {
	case 's':
		return name_parse(params->server, text, 's');
	case 'i':
		return count_parse(&params->iterations, text, INT32_MAX, "-i<iterations>");
	case 't':
		return count_parse(&params->threads, text, DT_MAX_THREADS, "-t<num threads>");
	case 'w':
		if (params->test == DT_TEST_LIMIT)
			return count_parse(&params->width, text, DT_MAX_EPS, "-w<width>");
		return eps_parse(&params->eps, text);
	case 'm':
		return mode_parse(params, text);
	case 'p':
		return pipeline_parse(params, text);
	case 'Q':
		params->cno = true;
		return 0;
	case 'V':
		params->validate = true;
		return 0;
	case 'P':
		params->poll = true;
		return 0;
	default:
		params->rsp = true;
		return 0;
	}
}

static int complain(enum dt_test test, int letter)
{
	fprintf(stderr, "%s: %c\n", tests[test].complaint, letter);
	return -1;
}

static const char *argument_of(int opt)
{
	for (const struct option *o = long_options; o->name; o++)
		if (o->val == opt)
			return o->name;
	return "an option";
}

static int option(struct dt_params *params, int letter, const char *text)
{
	if (letter == ':') {
		if (optopt < OPT_TIMEOUT)
			fprintf(stderr, "dapltest: option requires an argument -- %c\n", optopt);
		else
			fprintf(stderr, "dapltest: %s requires an argument\n", argument_of(optopt));
		return -1;
	}
	if (letter == '?' && (!optopt || optopt >= OPT_TIMEOUT)) {
		fprintf(stderr, "dapltest: unknown option\n");
		return -1;
	}
	if (letter == '?')
		return complain(params->test, optopt);
	if (letter >= OPT_TIMEOUT || strchr("DndR", letter))
		return common_option(params, letter, text);
	if (!strchr(tests[params->test].letters, letter))
		return complain(params->test, letter);
	return test_option(params, letter, text);
}

/* -T may stand anywhere among the options, and decides what the others mean: it is found first. */
static enum dt_parsed find_test(struct dt_params *params, int argc, char **argv)
{
	int letter;

	opterr = 0;
	optind = 0;
	while ((letter = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (letter == 'T' && test_parse(optarg, &params->test))
			return DT_PARSED_ERROR;
		if (letter == OPT_REGRESS)
			params->test = DT_TEST_REGRESS;
		if (letter == OPT_REPORT)
			params->test = DT_TEST_REPORT;
		if (letter == OPT_HELP) {
			dt_usage(params->test, false);
			return DT_PARSED_DONE;
		}
		if (letter == OPT_VERSION) {
			puts("dapltest (" PACKAGE_NAME ") " PACKAGE_VERSION);
			return DT_PARSED_DONE;
		}
	}
	return DT_PARSED;
}

static int options_parse(struct dt_params *params, int argc, char **argv)
{
	int letter;

	optind = 0;
	while ((letter = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (letter == 'T')
			continue;
		if (letter == 'f') {
			fprintf(stderr, "-f <script_file> allows no additional options\n");
			return -1;
		}
		if (option(params, letter, optarg))
			return -1;
	}
	return 0;
}

static int operands_parse(struct dt_params *params, int argc, char **argv)
{
	switch (params->test) {
	case DT_TEST_TRANS:
		return dt_trans_ops_parse(params, argc, argv);
	case DT_TEST_PERF:
		return dt_perf_op_parse(params, argc, argv);
	case DT_TEST_LIMIT:
		return dt_limits_parse(params, argc, argv);
	default:
		if (argc) {
			fprintf(stderr, "dapltest: unexpected argument: %s\n", argv[0]);
			return -1;
		}
		return 0;
	}
}

static int check(const struct dt_params *params)
{
	bool client = params->test != DT_TEST_SERVER && params->test != DT_TEST_LIMIT;

	if (client && !params->server[0]) {
		fprintf(stderr, "Must specify server_name in command line or scriptfile\n");
		return -1;
	}
	if (client && !params->port) {
		fprintf(stderr, "Syntax Error -n<port number> option: 0 is for the server\n");
		return -1;
	}
	if ((params->sweep.last && params->test != DT_TEST_PERF) ||
	    (params->duration_s && params->test != DT_TEST_PERF && params->test != DT_TEST_TRANS)) {
		fprintf(stderr, "--sweep is for -T P, --duration for -T T and -T P\n");
		return -1;
	}
	if ((uint64_t)params->threads * params->eps.last > DT_MAX_EPS) {
		fprintf(stderr, "Error: %u threads of %u EPs: at most %u EPs in all\n",
			params->threads, params->eps.last, DT_MAX_EPS);
		return -1;
	}
	return 0;
}

static void set_defaults(struct dt_params *params)
{
	*params = (struct dt_params){
		.port = DT_DEFAULT_PORT,
		.qos = DAT_QOS_BEST_EFFORT,
		.timeout_s = DT_DEFAULT_TIMEOUT,
		.threads = 1,
		.eps = { 1, 1, 1 },
		.width = 1,
		.maximum = 1000,
	};
}

static enum dt_parsed parse(struct dt_params *params, int argc, char **argv)
{
	enum dt_parsed parsed;

	set_defaults(params);
	if (argc == 1)
		params->test = DT_TEST_SERVER;
	parsed = find_test(params, argc, argv);
	if (parsed != DT_PARSED)
		return parsed;
	params->iterations = params->test == DT_TEST_PERF ? 10000 : 1000;
	if (params->test == DT_TEST_NONE) {
		fprintf(stderr, "Must Specify Test (-T) option first\n");
		return DT_PARSED_ERROR;
	}
	if (options_parse(params, argc, argv) ||
	    operands_parse(params, argc - optind, argv + optind) || check(params))
		return DT_PARSED_ERROR;
	return DT_PARSED;
}

static enum dt_parsed parse_or_usage(struct dt_params *params, int argc, char **argv)
{
	enum dt_parsed parsed = parse(params, argc, argv);

	if (parsed == DT_PARSED_ERROR) {
		dt_usage(params->test, true);
		fprintf(stderr, "Command line syntax error\n");
	}
	return parsed;
}

enum dt_parsed dt_params_parse(struct dt_params *params, int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "-f"))
		return parse_or_usage(params, argc, argv);

	if (argc == 3)
		return dt_script_parse(params, argv[2]);
	fprintf(stderr, argc < 3 ? "Missing <script_file> with -f option\n"
				 : "-f <script_file> allows no additional options\n");
	dt_usage(DT_TEST_NONE, true);
	fprintf(stderr, "Command line syntax error\n");
	return DT_PARSED_ERROR;
}

/* Reads a script, which needs not end in a newline, into one string. */
static char *script_read(const char *path)
{
	size_t size = 65536, used;
	FILE *file = fopen(path, "re");
	char *text;

	if (!file) {
		fprintf(stderr, "Cannot open script file: %s (%s)\n", path, strerror(errno));
		return NULL;
	}
	text = malloc(size);
	used = text ? fread(text, 1, size, file) : 0;
	if (!text || ferror(file) || used == size || memchr(text, '\0', used)) {
		fprintf(stderr, "Cannot read script file: %s (%s)\n", path,
			text && used == size ? "longer than 64 KiB" : "no plain text");
		free(text);
		text = NULL;
	} else {
		text[used] = '\0';
	}
	fclose(file);
	return text;
}

/* Words between white space; '#' starts a comment that ends with its line. */
static int script_split(char *text, char **argv, int max)
{
	int argc = 1;

	while (argc < max) {
		text += strspn(text, " \t\r\n");
		if (*text == '#') {
			text += strcspn(text, "\n");
			continue;
		}
		if (!*text)
			break;
		argv[argc++] = text;
		text += strcspn(text, " \t\r\n");
		if (*text)
			*text++ = '\0';
	}
	return argc;
}

enum dt_parsed dt_script_parse(struct dt_params *params, const char *path)
{
	char *argv[1024] = { (char *)"dapltest" };
	char *text = script_read(path);
	enum dt_parsed parsed;
	int argc;

	if (!text) {
		dt_usage(DT_TEST_NONE, true);
		fprintf(stderr, "Command line syntax error\n");
		return DT_PARSED_ERROR;
	}
	argc = script_split(text, argv, 1023);
	/* A script may repeat the program's name, as the lines people paste into one do. */
	if (argc > 1 && !strcmp(argv[1], "dapltest")) {
		memmove(&argv[1], &argv[2], sizeof(argv[0]) * (size_t)(argc - 2));
		argc--;
	}
	argv[argc] = NULL;
	parsed = parse_or_usage(params, argc, argv);
	free(text);
	return parsed;
}

static void print_trans(const struct dt_params *params)
{
	printf("-------------------------------------\n"
	       "TransCmd.server_name              : %s\n"
	       "TransCmd.server_port_number       : %llu\n"
	       "TransCmd.num_iterations           : %u\n"
	       "TransCmd.num_threads              : %u\n"
	       "TransCmd.eps_per_thread           : %u\n"
	       "TransCmd.validate                 : %d\n"
	       "TransCmd.dapl_name                : %s\n"
	       "TransCmd.num_ops                  : %u\n",
	       params->server, (unsigned long long)params->port, params->iterations,
	       params->threads, params->eps.first, params->validate, params->ia_name,
	       params->num_ops);
	for (uint32_t i = 0; i < params->num_ops; i++) {
		const struct dt_op *op = &params->ops[i];

		printf("TransCmd.op[%u].transfer_type      : %s %s\n"
		       "TransCmd.op[%u].seg_size           : %u\n"
		       "TransCmd.op[%u].num_segs           : %u\n"
		       "TransCmd.op[%u].reap_send_on_recv  : %d\n",
		       i, dt_xfer_name(op->xfer), op->by_server ? " (server)" : " (client)", i,
		       op->seg_size, i, op->num_segs, i, op->reap_on_recv);
	}
}

static void print_perf(const struct dt_params *params)
{
	printf("-------------------------------------\n"
	       "PerfCmd.server_name              : %s\n"
	       "PerfCmd.server_port_number       : %llu\n"
	       "PerfCmd.dapl_name                : %s\n"
	       "PerfCmd.mode                     : %s\n"
	       "PerfCmd.num_iterations           : %u\n"
	       "PerfCmd.pipeline_len             : %d\n"
	       "PerfCmd.op.transfer_type         : %s\n"
	       "PerfCmd.op.num_segs              : %u\n"
	       "PerfCmd.op.seg_size              : %u\n",
	       params->server, (unsigned long long)params->port, params->ia_name,
	       params->poll ? "POLLING" : "BLOCKING", params->iterations,
	       params->pipeline ? (int)params->pipeline : -1, dt_xfer_name(params->ops[0].xfer),
	       params->ops[0].num_segs, params->ops[0].seg_size);
}

void dt_params_print(const struct dt_params *params)
{
	switch (params->test) {
	case DT_TEST_TRANS:
		print_trans(params);
		break;
	case DT_TEST_PERF:
		print_perf(params);
		break;
	case DT_TEST_QUIT:
		printf("Quit_Cmd.server_name: %s\nQuit_Cmd.device_name: %s\n", params->server,
		       params->ia_name);
		break;
	case DT_TEST_SERVER:
		printf("Server_Cmd.debug:       %d\nServer_Cmd.dapl_name: %s\n"
		       "Server_Cmd.port:       %llu\n",
		       params->debug, params->ia_name, (unsigned long long)params->port);
		break;
	default:
		break;
	}
	fflush(stdout);
}
