/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat-info: what adapters a host has for uDAPL programs, and whether they can be opened. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/info/info.h"

enum {
	OPT_CHECK = 256,
	OPT_GENERATE,
	OPT_SETTINGS,
	OPT_PID,
	OPT_WATCH,
	OPT_INTERVAL,
	OPT_COUNT,
	OPT_SYSFS,
	OPT_DOCTOR,
	OPT_PORT,
	OPT_VERSION,
};

static const char usage_text[] =
	"Usage: dat-info [-v] [NAME...]    the adapters of dat.conf; -v opens each and tells its\n"
	"                                  attributes, or why it cannot be opened\n"
	"       dat-info --check           tell what is wrong with dat.conf and dapl.conf\n"
	"       dat-info --generate        write a dat.conf for this host\n"
	"       dat-info --settings [-v]   the tunables in force, and where they come from\n"
	"       dat-info --pid PID         what a running program has open; --watch: again and "
	"again\n"
	"       dat-info --doctor HOST     what stands between this host and that one, and how to "
	"mend it\n"
	"\n"
	"  -v, --verbose        tell all there is to tell\n"
	"  -f, --file FILE      this dat.conf, not the one that programs read\n"
	"  -j, --json           write JSON\n"
	"  -t, --timeout N      give each adapter N seconds, 1 to 3600 (10)\n"
	"      --sysfs DIR      look for devices in DIR (/sys)\n"
	"      --interval N     watch every N seconds, 1 to 3600 (2)\n"
	"      --count N        watch N times and end\n"
	"      --port N         the port there that the doctor tries (62000, dapltest's)\n"
	"  -h, --help           this text\n"
	"      --version        the version\n"
	"\n"
	"Exit status: 0 all is well, 1 something is not, 2 wrong command line, 3 it cannot be "
	"told.\n"
	"See dat-info(1).\n";

static const struct option long_options[] = {
	{ "verbose", no_argument, NULL, 'v' },
	{ "json", no_argument, NULL, 'j' },
	{ "file", required_argument, NULL, 'f' },
	{ "timeout", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "generate", no_argument, NULL, OPT_GENERATE },
	{ "pid", required_argument, NULL, OPT_PID },
	{ "watch", no_argument, NULL, OPT_WATCH },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "settings", no_argument, NULL, OPT_SETTINGS },
	{ "doctor", required_argument, NULL, OPT_DOCTOR },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "sysfs", required_argument, NULL, OPT_SYSFS },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static void __attribute__((noreturn)) usage(void)
{
	fputs("Try dat-info --help.\n", stderr);
	exit(INFO_USAGE);
}

static long number(const char *option, const char *text, long min, long max)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < min || value > max) {
		fprintf(stderr, "dat-info: %s: \"%s\" is no number from %ld to %ld\n", option, text,
			min, max);
		usage();
	}
	return value;
}

/* The status to end with: what could not be written was not told. */
static int finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "dat-info: standard output: %s\n", strerror(errno));
	return INFO_FAIL;
}

static void set_mode(struct info_options *options, enum info_mode mode)
{
	if (options->mode != INFO_LIST && options->mode != mode) {
		fputs("dat-info: --check, --generate, --settings, --pid and --doctor exclude each "
		      "other\n",
		      stderr);
		usage();
	}
	options->mode = mode;
}

static void take_option(struct info_options *options, int option)
{
	switch (option) {
	case 'v':
		options->verbose = true;
		break;
	case 'j':
		options->json = true;
		break;
	case 'f':
		options->file = optarg;
		break;
	case 't':
		options->timeout = (unsigned int)number("--timeout", optarg, 1, 3600);
		break;
	case 'h':
		fputs(usage_text, stdout);
		exit(finish(INFO_OK));
	case OPT_CHECK:
		set_mode(options, INFO_CHECK);
		break;
	case OPT_GENERATE:
		set_mode(options, INFO_GENERATE);
		break;
	case OPT_SETTINGS:
		set_mode(options, INFO_SETTINGS);
		break;
	case OPT_PID:
		set_mode(options, INFO_PROCESS);
		options->pid = (pid_t)number("--pid", optarg, 1, INT_MAX);
		break;
	case OPT_DOCTOR:
		set_mode(options, INFO_DOCTOR);
		options->host = optarg;
		break;
	case OPT_PORT:
		options->port = (unsigned int)number("--port", optarg, 1, 65535);
		break;
	case OPT_WATCH:
		options->watch = true;
		break;
	case OPT_INTERVAL:
		options->interval_ms = 1000 * (uint64_t)number("--interval", optarg, 1, 3600);
		break;
	case OPT_COUNT:
		options->rounds = (unsigned int)number("--count", optarg, 1, INT_MAX);
		break;
	case OPT_SYSFS:
		options->sysfs = optarg;
		break;
	case OPT_VERSION:
		puts("dat-info (" PACKAGE_NAME ") " PACKAGE_VERSION);
		exit(finish(INFO_OK));
	default:
		usage();
	}
}

static void take_options(struct info_options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "vjf:t:h", long_options, NULL)) != -1)
		take_option(options, option);
	options->names = argv + optind;
	options->num_names = argc - optind;
	if (options->watch && options->mode != INFO_PROCESS) {
		fputs("dat-info: --watch needs --pid\n", stderr);
		usage();
	}
	if (options->num_names && options->mode != INFO_LIST) {
		fprintf(stderr, "dat-info: names are for the list only: %s\n", options->names[0]);
		usage();
	}
}

static int run(const struct info_options *options)
{
	switch (options->mode) {
	case INFO_CHECK:
		return info_check(options);
	case INFO_GENERATE:
		return info_generate(options);
	case INFO_SETTINGS:
		return info_settings(options);
	case INFO_PROCESS:
		return info_process(options);
	case INFO_DOCTOR:
		return info_doctor(options);
	default:
		return info_list(options);
	}
}

/*
 * What libdat2 and the providers say is what this program is for, but DAT_TRACE_LEVEL=0 silences
 * them, and libdat2 has read it by now.
 */
static void undo_silence(char **argv)
{
	const char *level = getenv("DAT_TRACE_LEVEL");

	if (!level || strtol(level, NULL, 0) > 0)
		return;
	unsetenv("DAT_TRACE_LEVEL");
	execv("/proc/self/exe", argv);
}

/* No file of ours is to get the number of a standard descriptor that is closed. Writes still fail. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct info_options options = {
		.sysfs = "/sys", .timeout = 10, .port = 62000, .interval_ms = 2000
	};

	fill_standard_descriptors();
	undo_silence(argv);
	take_options(&options, argc, argv);
	return finish(run(&options));
}
