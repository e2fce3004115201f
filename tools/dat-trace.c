/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shows and changes the trace levels of a running program, and its last records. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/control.h"

static const char usage[] =
	"usage: dat-trace PID                        show the trace levels\n"
	"       dat-trace PID LEVEL                  set both, 0 (nothing) to 10 (everything)\n"
	"       dat-trace PID DAT_LEVEL DAPL_LEVEL   set them; -1 keeps one\n"
	"       dat-trace PID dump                   show the last records of every thread\n"
	"       dat-trace PID points                 list the trace points\n"
	"       dat-trace --help, --version          show this text, or the version\n"
	"The program must run under the same user and have an interface adapter open.\n";

static int fail_usage(void)
{
	fputs(usage, stderr);
	return 2;
}

/* Whether text is a level that the program may be asked for. */
static int is_level(const char *text, long *level)
{
	char *end;

	*level = strtol(text, &end, 10);
	if (end != text && !*end && *level >= -1 && *level <= 10)
		return 1;
	fprintf(stderr, "dat-trace: \"%s\" is not a level: 0 to 10, or -1 to keep it\n", text);
	return 0;
}

/* The line of the control channel that the arguments ask for; 0, or an exit status. */
static int compose(int num, char **args, char *line, size_t size)
{
	long dat, dapl;

	if (num == 0)
		snprintf(line, size, "trace");
	else if (num == 1 && (!strcmp(args[0], "dump") || !strcmp(args[0], "points")))
		snprintf(line, size, "%s", args[0]);
	else if (num > 2)
		return fail_usage();
	else if (!is_level(args[0], &dat) || !is_level(args[num - 1], &dapl))
		return 2;
	else
		snprintf(line, size, "trace %ld %ld", dat, dapl);
	return 0;
}

static int say(const char *text)
{
	fputs(text, stdout);
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "dat-trace: standard output: %s\n", strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	char line[64], why[512], *answer = NULL;
	pid_t pid;
	int err;

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return say(usage);
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return say("dat-trace (" PACKAGE_NAME ") " PACKAGE_VERSION "\n");
	if (argc < 2)
		return fail_usage();
	pid = control_pid(argv[1]);
	if (pid < 0) {
		fprintf(stderr, "dat-trace: \"%s\" is not a process id\n", argv[1]);
		return 2;
	}
	err = compose(argc - 2, argv + 2, line, sizeof(line));
	if (err)
		return err;
	if (control_ask(pid, line, &answer, why, sizeof(why))) {
		fprintf(stderr, "dat-trace: %s\n", why);
		return 1;
	}
	err = say(answer);
	free(answer);
	return err;
}
