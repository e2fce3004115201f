/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trace levels, records, sinks and diagnostics. The environment is read at load, so each case is a
 * new process that performs one of the actions below.
 */
#include "test/unit/dat_util.h"

#define DATS_WEAK
#include <dat/dat_trace.h>
#include "dat/dats.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

static const char self[] = "/proc/self/exe";

static struct dats_point normal = { .level = 3, .name = "something", .format = "text=%s" };
static struct dats_point error = { .level = 1, .name = "wrong", .format = "text=%s" };
static struct dats_point detail = { .level = 7, .name = "detail", .format = "text=%s" };

/* What libdat2 hands to syslog arrives here. */
__attribute__((visibility("default"))) void syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	printf("syslog %d: ", priority);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	fflush(stdout);
}

/* ---- Actions ---- */

static void event(const char *text)
{
	dats_trace_record(DATS_HOOK_DAPL_EVENT, &normal, &normal, text);
}

static int do_levels(void)
{
	DAT_COUNT dat, dapl;

	EXPECT_RC(dat_trclvl_query(&dat, &dapl), DAT_SUCCESS);
	printf("%d %d", dat, dapl);
	return 0;
}

static int do_diag(void)
{
	dats_diag(DATS_HOOK_DAPL_ERROR, "something failed");
	return 0;
}

/* One record of each hook, at level 1 or 3, and one of detail. */
static int do_write(void)
{
	dats_trace_record(DATS_HOOK_DAPL_EVENT, &normal, &normal, "dapl event");
	dats_trace_record(DATS_HOOK_DAPL_ERROR, &error, NULL, "dapl error");
	dats_trace_record(DATS_HOOK_DAT_EVENT, &normal, NULL, "dat event");
	dats_trace_record(DATS_HOOK_DAT_ERROR, &error, NULL, "dat error");
	dats_trace_record(DATS_HOOK_DAPL_EVENT, &detail, NULL, "dapl detail");
	return errno == EXDEV ? 0 : 1;
}

static int do_long(void)
{
	char text[5000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	dats_diag(DATS_HOOK_DAT_ERROR, text);
	event(text);
	return 0;
}

static int do_open(void)
{
	DAT_IA_HANDLE ia;

	util_open("nobody", 2, 0, DAT_FALSE, &ia);
	return 0;
}

static int do_many(void)
{
	char text[64];
	int i;

	for (i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "record %d", i);
		event(text);
	}
	return 0;
}

/* With a limit that the file reaches on the way. */
static int do_limited(void)
{
	struct rlimit limit = { .rlim_cur = 2000, .rlim_max = 2000 };
	sigset_t pending;

	EXPECT(!setrlimit(RLIMIT_FSIZE, &limit));
	do_many();
	sigpending(&pending);
	EXPECT(!sigismember(&pending, SIGXFSZ));
	return 0;
}

static int do_dump(void)
{
	do_many();
	dats_trace_record(DATS_HOOK_DAPL_EVENT, &detail, NULL, "too detailed");
	return dats_control_run("dump", stdout);
}

static void *in_thread(void *text)
{
	event(text);
	return NULL;
}

static int do_threads(void)
{
	static char first[] = "by the first", second[] = "by the second";
	pthread_t thread;

	event("by main");
	pthread_create(&thread, NULL, in_thread, first);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, in_thread, second);
	pthread_join(thread, NULL);
	return dats_control_run("dump", stdout);
}

static int do_fork(void)
{
	pid_t child;

	event("before");
	child = fork();
	if (!child) {
		event("in the child");
		_exit(dats_control_run("dump", stdout) || fflush(stdout));
	}
	EXPECT(waitpid(child, NULL, 0) == child);
	return 0;
}

static int do_internal(void)
{
	event("what led to it");
	dats_trace_internal_error("this cannot be");
	event("between");
	dats_trace_internal_error("nor can this");
	return 0;
}

static int heard;

static void hear(void *arg, int hook, int level, const char *record)
{
	heard++;
	printf("%s 0x%X %d %s", (const char *)arg, (unsigned int)hook, level,
	       strstr(record, "dap"));
	event("a callback's own record");
}

static int do_callback(void)
{
	static char arg[] = "arg";

	EXPECT_RC(dat_trace_callback(hear, arg), DAT_SUCCESS);
	event("first");
	EXPECT_RC(dat_trclvl_modify(-1, 3), DAT_SUCCESS);
	event("dapl second");
	EXPECT_RC(dat_trace_callback(NULL, NULL), DAT_SUCCESS);
	event("third");
	EXPECT(heard == 1);
	return 0;
}

static int do_modify(void)
{
	DAT_COUNT dat = 99, dapl = 99;

	EXPECT_RC(dat_trclvl_query(NULL, &dapl), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT_RC(dat_trclvl_query(&dat, NULL), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	EXPECT_RC(dat_trclvl_modify(7, 3), DAT_SUCCESS);
	EXPECT_RC(dat_trclvl_query(&dat, &dapl), DAT_SUCCESS);
	EXPECT(dat == 7 && dapl == 3);
	EXPECT_RC(dat_trclvl_modify(-1, 10), DAT_SUCCESS);
	EXPECT_RC(dat_trclvl_query(&dat, &dapl), DAT_SUCCESS);
	EXPECT(dat == 7 && dapl == 10);
	EXPECT_RC(dat_trclvl_modify(11, 1), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT_RC(dat_trclvl_modify(-2, 1), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT_RC(dat_trclvl_modify(1, 11), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	EXPECT_RC(dat_trclvl_modify(1, -2), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	EXPECT_RC(dat_trclvl_query(&dat, &dapl), DAT_SUCCESS);
	EXPECT(dat == 7 && dapl == 10);
	EXPECT_RC(dat_trclvl_modify(0, 0), DAT_SUCCESS);
	event("nobody hears");
	EXPECT_RC(dat_trclvl_modify(-1, 3), DAT_SUCCESS);
	event("heard at once");
	return 0;
}

static int followed[4], num_followed;

static void follow(int level)
{
	followed[num_followed++] = level;
}

static int do_follow(void)
{
	struct dats_follower follower = { .level = follow };

	dats_trace_follow(&follower);
	dat_trclvl_modify(5, -1);
	dat_trclvl_modify(-1, 4);
	dats_trace_unfollow(&follower);
	dat_trclvl_modify(-1, 9);
	EXPECT(num_followed == 2 && followed[0] == 0 && followed[1] == 4);
	return 0;
}

/* What a file says counts less than the environment and than a call. */
static int do_defaults(void)
{
	EXPECT(!dats_trace_default("trace_level", "5"));
	EXPECT(!dats_trace_default("dat_trace_level", "5"));
	EXPECT(!dat_trclvl_modify(2, -1));
	EXPECT(!dats_trace_default("dat_trace_level", "6"));
	EXPECT(dats_trace_default("trace_level", "high") ==
	       (getenv("DAPL_TRACE_LEVEL") ? 0 : -EINVAL));
	EXPECT(dats_trace_default("colour", "red") == -ENOENT);
	EXPECT(dats_trace_default("trace_dest", "stderr,printer") == -EINVAL);
	EXPECT(dats_trace_default("trace_keep", "100") == -EINVAL);
	EXPECT(dats_trace_default("trace_size", "-1") == -EINVAL);
	return do_levels();
}

static int do_command(void)
{
	EXPECT(!dats_control_run("trace", stdout));
	EXPECT(!dats_control_run("trace 3", stdout));
	EXPECT(!dats_control_run("trace -1 7", stdout));
	EXPECT(dats_control_run("trace 11", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 3 -2", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace high", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 3x", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 3 x", stdout) == -EINVAL);
	EXPECT(dats_control_run("trace 1 2 3", stdout) == -EINVAL);
	EXPECT(!dats_control_run("trace", stdout));
	return 0;
}

/* A trace that goes to a pipe whose reader has gone. */
static int do_broken_pipe(void)
{
	int fds[2];

	EXPECT(!pipe(fds));
	close(fds[0]);
	dup2(fds[1], STDERR_FILENO);
	event("into nowhere");
	return errno == EXDEV ? 0 : 1;
}

static const struct {
	const char *name;
	int (*run)(void);
} actions[] = {
	{ "levels", do_levels },
	{ "diag", do_diag },
	{ "write", do_write },
	{ "long", do_long },
	{ "open", do_open },
	{ "many", do_many },
	{ "limited", do_limited },
	{ "dump", do_dump },
	{ "threads", do_threads },
	{ "fork", do_fork },
	{ "internal", do_internal },
	{ "callback", do_callback },
	{ "modify", do_modify },
	{ "follow", do_follow },
	{ "defaults", do_defaults },
	{ "command", do_command },
	{ "broken-pipe", do_broken_pipe },
};

static int act(const char *action)
{
	size_t i;

	for (i = 0; i < NUM_OF(actions); i++)
		if (!strcmp(actions[i].name, action)) {
			errno = EXDEV;
			return actions[i].run();
		}
	return 1;
}

/* ---- Runs ---- */

#define MAX_VARIABLES 5

struct setting {
	const char *variables[MAX_VARIABLES + 1]; /* NAME=value */
	const char *action;
};

static int run_self(void *arg)
{
	static const char *const ours[] = { "DAT_TRACE_LEVEL", "DAPL_TRACE_LEVEL", "DAT_DBG_TYPE",
					    "DAT_DBG_DEST",    "DAPL_DBG_TYPE",	   "DAPL_DBG_DEST",
					    "DAT_TRACE_DEST",  "DAT_TRACE_FILE",   "DAT_TRACE_SIZE",
					    "DAT_TRACE_KEEP" };
	const struct setting *setting = arg;
	size_t i;

	for (i = 0; i < NUM_OF(ours); i++)
		unsetenv(ours[i]);
	for (i = 0; setting->variables[i]; i++)
		putenv((char *)(uintptr_t)setting->variables[i]);
	execl(self, self, setting->action, (char *)NULL);
	return errno;
}

static struct outcome o;

#define run(...) run_setting(&(struct setting){ __VA_ARGS__ })

static void run_setting(struct setting *setting)
{
	util_child(run_self, setting, &o);
	if (o.code)
		print_message("%s: %s\n%s", setting->action, o.note, o.err);
	assert_int_equal(o.code, 0);
}

static void levels_are(const char *dat, const char *dapl, const char *expected)
{
	run({ dat ? dat : dapl, dat ? dapl : NULL }, "levels");
	assert_string_equal(o.out, expected);
}

/* How many lines of a text match a pattern from end to end. */
static int matches(const char *text, const char *pattern)
{
	char *copy = strdup(text), *line, *rest = copy, whole[512];
	regex_t compiled;
	int num = 0;

	snprintf(whole, sizeof(whole), "^%s$", pattern);
	assert_int_equal(regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB), 0);
	while ((line = strsep(&rest, "\n")))
		num += !regexec(&compiled, line, 0, NULL, 0);
	regfree(&compiled);
	free(copy);
	return num;
}

#define WHEN "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z"
#define HEAD "dat: trace " WHEN " [0-9]+\\.[0-9]+ "

/* ---- Levels ---- */

static void vnd_10_initial_levels(void **state)
{
	(void)state;
	levels_are(NULL, NULL, "0 0");
	levels_are("DAT_TRACE_LEVEL=7", "DAPL_TRACE_LEVEL=3", "7 3");
	levels_are("DAT_TRACE_LEVEL=10", "DAPL_TRACE_LEVEL=0", "10 0");
	assert_string_equal(o.err, "");
}

/* The provider core says it of its own variable. */
static void vnd_10_unusable_levels_are_told(void **state)
{
	static const char *const bad[] = { "11", "-1", "3x", "high", "99999999999999999999", " " };
	char variable[64], told[128];
	size_t i;

	(void)state;
	for (i = 0; i < NUM_OF(bad); i++) {
		snprintf(variable, sizeof(variable), "DAPL_TRACE_LEVEL=%s", bad[i]);
		levels_are(variable, NULL, "0 0");
		snprintf(variable, sizeof(variable), "DAT_TRACE_LEVEL=%s", bad[i]);
		levels_are(variable, NULL, "0 0");
		snprintf(told, sizeof(told),
			 "dat: DAT_TRACE_LEVEL: \"%s\" is not a number from 0 to 10; the default "
			 "stays\n",
			 bad[i]);
		assert_string_equal(o.err, told);
	}
	levels_are("DAT_TRACE_LEVEL=", "DAPL_TRACE_LEVEL=", "0 0");
	assert_string_equal(o.err, "");
}

static void vnd_9_query_and_modify(void **state)
{
	(void)state;
	run({ 0 }, "modify");
	assert_int_equal(matches(o.err, HEAD "0x5C3 3 something 0x[0-9a-f]+ heard at once"), 1);
	assert_int_equal(util_count(o.err, "\n"), 1);
	run({ 0 }, "follow");
}

/* REG-22 */
static void vnd_20_masks_of_release_2_1_10(void **state)
{
	(void)state;
	levels_are("DAT_DBG_TYPE=0x1", NULL, "1 0");
	levels_are("DAT_DBG_TYPE=0xff", NULL, "7 0");
	levels_are("DAT_DBG_TYPE=0", NULL, "0 0");
	levels_are("DAT_DBG_TYPE=0xff", "DAT_TRACE_LEVEL=3", "3 0");
	levels_are("DAPL_DBG_TYPE=1", NULL, "0 1");
	levels_are("DAPL_DBG_TYPE=0x8002", NULL, "0 7");
	levels_are("DAPL_DBG_TYPE=0xffff", "DAPL_TRACE_LEVEL=2", "0 2");
	levels_are("DAPL_DBG_TYPE=all", NULL, "0 0");
	/* To syslog only; a diagnostic stays where the user sees it. */
	run({ "DAT_DBG_DEST=2", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_string_equal(o.err, "");
	assert_int_equal(util_count(o.out, "syslog"), 2);
	run({ "DAPL_DBG_DEST=2", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_string_equal(o.err, "");
	run({ "DAT_DBG_DEST=2" }, "diag");
	assert_string_equal(o.err, "dat: something failed\n");
	run({ "DAPL_DBG_DEST=3", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_int_equal(util_count(o.err, "dat: trace"), 2);
	assert_int_equal(util_count(o.out, "syslog"), 2);
	run({ "DAPL_DBG_DEST=2", "DAT_TRACE_DEST=stderr", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_int_equal(util_count(o.err, "dat: trace"), 2);
	assert_string_equal(o.out, "");
}

static void settings_of_a_file_come_last(void **state)
{
	(void)state;
	run({ 0 }, "defaults");
	assert_string_equal(o.out, "2 5");
	run({ "DAPL_TRACE_LEVEL=4", "DAT_TRACE_LEVEL=1" }, "defaults");
	assert_string_equal(o.out, "2 4");
}

static void the_control_channel_reads_and_changes(void **state)
{
	(void)state;
	run({ 0 }, "command");
	assert_string_equal(o.out, "dat 0\ndapl 0\ndat 3\ndapl 3\ndat 3\ndapl 7\ndat 3\ndapl 7\n");
}

/* ---- Records ---- */

static void vnd_12_every_record_has_its_hook(void **state)
{
	(void)state;
	run({ "DAT_TRACE_LEVEL=3", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_int_equal(matches(o.err, HEAD "0x5C3 3 something 0x[0-9a-f]+ dapl event"), 1);
	assert_int_equal(matches(o.err, HEAD "0x5C4 1 wrong - dapl error"), 1);
	assert_int_equal(matches(o.err, HEAD "0x5C7 3 something - dat event"), 1);
	assert_int_equal(matches(o.err, HEAD "0x5C8 1 wrong - dat error"), 1);
	assert_int_equal(util_count(o.err, "\n"), 4);
	assert_string_equal(o.out, "");
}

static void vnd_11_a_level_shows_what_lies_below(void **state)
{
	(void)state;
	run({ "DAT_TRACE_LEVEL=1", "DAPL_TRACE_LEVEL=1" }, "write");
	assert_int_equal(util_count(o.err, " 1 wrong"), 2);
	assert_int_equal(util_count(o.err, "\n"), 2);
	run({ "DAPL_TRACE_LEVEL=6" }, "write");
	assert_int_equal(util_count(o.err, "\n"), 2);
	run({ "DAPL_TRACE_LEVEL=7" }, "write");
	assert_int_equal(util_count(o.err, "dapl detail"), 1);
	assert_int_equal(util_count(o.err, "\n"), 3);
	run({ 0 }, "write");
	assert_string_equal(o.err, "");
}

static void vnd_11_open_is_traced(void **state)
{
	(void)state;
	util_conf("");
	run({ "DAT_TRACE_LEVEL=0" }, "open");
	assert_string_equal(o.err, "");
	run({ 0 }, "open");
	assert_string_equal(o.err, "");
	run({ "DAT_TRACE_LEVEL=1" }, "open");
	assert_int_equal(
		matches(o.err,
			HEAD "0x5C8 1 ia_open_failed - name=nobody major=2 minor=0 rc=0x800a0064 "
			     "type=no provider serves the request subtype=the name is unknown or "
			     "its library does not load"),
		1);
	assert_int_equal(util_count(o.err, "\n"), 1);
	run({ "DAT_TRACE_LEVEL=3" }, "open");
	assert_int_equal(matches(o.err, HEAD "0x5C7 3 conf_read - file=[^ ]+ entries=0"), 1);
	assert_int_equal(util_count(o.err, "\n"), 2);
}

static void diagnostics(void **state)
{
	(void)state;
	run({ 0 }, "diag");
	assert_string_equal(o.err, "dat: something failed\n");
	run({ "DAT_TRACE_LEVEL=10", "DAPL_TRACE_LEVEL=10" }, "diag");
	assert_string_equal(o.err, "dat: something failed\n");
	run({ "DAT_TRACE_LEVEL=0" }, "diag");
	assert_string_equal(o.err, "");
	/* The other sinks get a record of it. */
	run({ "DAPL_TRACE_LEVEL=1", "DAT_TRACE_DEST=stderr,syslog" }, "diag");
	assert_string_equal(o.err, "dat: something failed\n");
	assert_int_equal(matches(o.out, "syslog 3: " HEAD "0x5C4 1 error - something failed"), 1);
}

static void long_messages(void **state)
{
	(void)state;
	run({ "DAPL_TRACE_LEVEL=3" }, "long");
	assert_int_equal(util_count(o.err, "\n"), 2);
	assert_int_equal(util_count(o.err, "dat: x"), 1);
	assert_int_equal(matches(o.err, HEAD "0x5C3 3 something 0x[0-9a-f]+ x+"), 1);
}

/* ---- Memory ---- */

static void the_last_records_are_kept_at_every_level(void **state)
{
	(void)state;
	run({ 0 }, "dump");
	assert_string_equal(o.err, "");
	assert_int_equal(util_count(o.out, "\n"), 64);
	assert_int_equal(matches(o.out, HEAD "0x5C3 3 something 0x[0-9a-f]+ record 36"), 1);
	assert_int_equal(matches(o.out, HEAD "0x5C3 3 something 0x[0-9a-f]+ record 99"), 1);
	assert_int_equal(util_count(o.out, "record 35"), 0);
	assert_true(strstr(o.out, "record 36") < strstr(o.out, "record 99"));
}

static void threads_keep_their_own(void **state)
{
	(void)state;
	run({ 0 }, "threads");
	/* The second took the ring of the first over, with what was in it. */
	assert_int_equal(util_count(o.out, "\n"), 3);
	assert_true(strstr(o.out, "by main") < strstr(o.out, "by the first"));
	assert_true(strstr(o.out, "by the first") < strstr(o.out, "by the second"));
	run({ 0 }, "fork");
	assert_int_equal(util_count(o.out, "before"), 1);
	assert_int_equal(util_count(o.out, "in the child"), 1);
}

static void an_internal_error_writes_them_once(void **state)
{
	(void)state;
	run({ 0 }, "internal");
	assert_int_equal(util_count(o.err, "dat: this cannot be\n"), 1);
	assert_int_equal(util_count(o.err, "what led to it"), 1);
	assert_int_equal(util_count(o.err, "between"), 1);
	assert_true(strstr(o.err, "what led to it") < strstr(o.err, "dat: nor can this"));
	assert_true(strstr(o.err, "dat: nor can this") < strstr(o.err, "between"));
	run({ "DAT_TRACE_LEVEL=0" }, "internal");
	assert_string_equal(o.err, "");
}

/* ---- Sinks ---- */

static void sink_standard_error_and_none(void **state)
{
	(void)state;
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=stderr" }, "write");
	assert_int_equal(util_count(o.err, "dat: trace"), 2);
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=none" }, "write");
	assert_string_equal(o.err, "");
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=stderr,printer" }, "write");
	assert_int_equal(util_count(o.err,
				    "dat: DAT_TRACE_DEST: \"stderr,printer\" is not a list of "
				    "stderr, syslog, file and none; the default stays\n"),
			 1);
	assert_int_equal(util_count(o.err, "dat: trace"), 2);
	run({ "DAPL_TRACE_LEVEL=3" }, "broken-pipe");
}

static void sink_syslog(void **state)
{
	(void)state;
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=syslog" }, "write");
	assert_string_equal(o.err, "");
	assert_int_equal(matches(o.out, "syslog 7: " HEAD "0x5C3 3 .* dapl event"), 1);
	assert_int_equal(matches(o.out, "syslog 3: " HEAD "0x5C4 1 .* dapl error"), 1);
}

static void sink_callback(void **state)
{
	(void)state;
	run({ "DAT_TRACE_DEST=none" }, "callback");
	assert_string_equal(o.err, "");
	assert_string_equal(o.out, "arg 0x5C3 3 dapl second\n");
}

/* ---- The file ---- */

static char dir[] = "/tmp/udapl-trace-XXXXXX";
static char file_variable[128], content[65536];

static const char *file_named(const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(file_variable, sizeof(file_variable), "DAT_TRACE_FILE=%s", path);
	return path;
}

static const char *read_file(const char *name)
{
	FILE *in = fopen(file_named(name), "re");
	size_t n;

	if (!in)
		return NULL;
	n = fread(content, 1, sizeof(content) - 1, in);
	content[n] = '\0';
	fclose(in);
	return content;
}

static void sink_file(void **state)
{
	struct stat st;

	(void)state;
	file_named("plain");
	run({ "DAPL_TRACE_LEVEL=3", file_variable }, "write");
	run({ "DAPL_TRACE_LEVEL=3", file_variable }, "write");
	assert_string_equal(o.err, "");
	assert_int_equal(matches(read_file("plain"), HEAD "0x5C3 3 .* dapl event"), 2);
	assert_int_equal(stat(file_named("plain"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	file_named("both");
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=file,stderr", file_variable }, "write");
	assert_int_equal(util_count(o.err, "dat: trace"), 2);
	assert_int_equal(util_count(read_file("both"), "dat: trace"), 2);
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=file" }, "write"); /* which? */
	assert_int_equal(util_count(o.err, "dat: trace"), 2);
	/* Nothing to write: no file. */
	file_named("unused");
	run({ file_variable }, "write");
	assert_null(read_file("unused"));
}

static void the_file_is_named_after_the_process(void **state)
{
	char name[64];
	const char *pid;

	(void)state;
	file_named("of-%p.log");
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=file,stderr", file_variable }, "write");
	pid = strstr(o.err, "Z ");
	assert_non_null(pid);
	snprintf(name, sizeof(name), "of-%d.log", atoi(pid + 2));
	assert_int_equal(util_count(read_file(name), "dat: trace"), 2);
}

static void the_file_is_rotated_by_size(void **state)
{
	(void)state;
	file_named("turning");
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=2000", "DAT_TRACE_KEEP=2", file_variable },
	    "many");
	assert_string_equal(o.err, "");
	assert_int_equal(util_count(read_file("turning"), "record 99\n"), 1);
	assert_true(strlen(content) < 2200);
	assert_non_null(read_file("turning.1"));
	assert_true(strlen(content) >= 2000 && strlen(content) < 2200);
	assert_non_null(read_file("turning.2"));
	assert_null(read_file("turning.3"));
	file_named("alone");
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=2000", "DAT_TRACE_KEEP=0", file_variable },
	    "many");
	assert_int_equal(util_count(read_file("alone"), "record 99\n"), 1);
	assert_null(read_file("alone.1"));
	file_named("whole");
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=0", file_variable }, "many");
	assert_int_equal(util_count(read_file("whole"), "\n"), 100);
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=much", "DAT_TRACE_KEEP=-1", file_variable },
	    "many");
	assert_int_equal(util_count(o.err, "DAT_TRACE_SIZE: \"much\" is not a number of bytes"), 1);
	assert_int_equal(util_count(o.err, "DAT_TRACE_KEEP: \"-1\" is not a number from 0 to 99"),
			 1);
	assert_int_equal(util_count(o.err, "\n"), 2);
}

static void a_file_that_does_not_open_is_told_once(void **state)
{
	char told[256];

	(void)state;
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_FILE=/nonexistent/trace" }, "write");
	assert_int_equal(util_count(o.err, "dat: trace file /nonexistent/trace: No such file or "
					   "directory; the trace goes to standard error\n"),
			 1);
	assert_int_equal(util_count(o.err, " 0x5C"), 2);
	assert_int_equal(mkfifo(file_named("fifo"), 0600), 0);
	run({ "DAPL_TRACE_LEVEL=3", file_variable }, "write");
	snprintf(told, sizeof(told), "dat: trace file %s/fifo: ", dir);
	assert_int_equal(util_count(o.err, told), 1);
	assert_int_equal(util_count(o.err, " 0x5C"), 2);
}

static void a_full_disk_is_told_once(void **state)
{
	(void)state;
	run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_FILE=/dev/full" }, "many");
	assert_string_equal(o.err,
			    "dat: trace file /dev/full: No space left on device; records are "
			    "lost\n");
}

static void a_file_as_large_as_the_limit_is_told_once(void **state)
{
	char told[256];

	(void)state;
	file_named("limited");
	run({ "DAPL_TRACE_LEVEL=3", file_variable }, "limited");
	snprintf(told, sizeof(told),
		 "dat: trace file %s/limited: it is as large as files may be (knob: ulimit -f); "
		 "records are lost\n",
		 dir);
	assert_string_equal(o.err, told);
	assert_int_equal(strlen(read_file("limited")), 2000);
}

/* The trace goes to standard error, and the file is as it was. */
static void is_refused(const char *name, const char *why)
{
	char told[256];

	file_named(name);
	run({ "DAPL_TRACE_LEVEL=3", file_variable }, "write");
	snprintf(told, sizeof(told),
		 "dat: trace file %s/%s: %s; the trace goes to standard error\n", dir, name, why);
	assert_int_equal(util_count(o.err, told), 1);
	assert_int_equal(util_count(o.err, " 0x5C"), 2);
}

static void a_link_or_anothers_file_is_refused(void **state)
{
	char target[256], link_path[256];

	(void)state;
	snprintf(target, sizeof(target), "%s", file_named("target"));
	fclose(fopen(target, "we"));
	snprintf(link_path, sizeof(link_path), "%s", file_named("symbolic"));
	assert_int_equal(symlink(target, link_path), 0);
	is_refused("symbolic", "it is a symbolic link");
	assert_int_equal(symlink("nothing", file_named("dangling")), 0);
	is_refused("dangling", "it is a symbolic link");
	assert_null(read_file("nothing"));
	assert_int_equal(link(target, file_named("hard")), 0);
	is_refused("hard", "it has other names");
	assert_int_equal(unlink(file_named("hard")), 0);
	assert_string_equal(read_file("target"), "");
	if (geteuid()) {
		print_message("a file of another user takes root\n");
		return;
	}
	assert_int_equal(chown(target, 65534, 65534), 0);
	is_refused("target", "it belongs to another user");
	assert_string_equal(read_file("target"), "");
}

static int clean_up(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || util_cleanup(state);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vnd_10_initial_levels),
		cmocka_unit_test(vnd_10_unusable_levels_are_told),
		cmocka_unit_test(vnd_9_query_and_modify),
		cmocka_unit_test(vnd_20_masks_of_release_2_1_10),
		cmocka_unit_test(settings_of_a_file_come_last),
		cmocka_unit_test(the_control_channel_reads_and_changes),
		cmocka_unit_test(vnd_12_every_record_has_its_hook),
		cmocka_unit_test(vnd_11_a_level_shows_what_lies_below),
		cmocka_unit_test(vnd_11_open_is_traced),
		cmocka_unit_test(diagnostics),
		cmocka_unit_test(long_messages),
		cmocka_unit_test(the_last_records_are_kept_at_every_level),
		cmocka_unit_test(threads_keep_their_own),
		cmocka_unit_test(an_internal_error_writes_them_once),
		cmocka_unit_test(sink_standard_error_and_none),
		cmocka_unit_test(sink_syslog),
		cmocka_unit_test(sink_callback),
		cmocka_unit_test(sink_file),
		cmocka_unit_test(the_file_is_named_after_the_process),
		cmocka_unit_test(the_file_is_rotated_by_size),
		cmocka_unit_test(a_file_that_does_not_open_is_told_once),
		cmocka_unit_test(a_full_disk_is_told_once),
		cmocka_unit_test(a_file_as_large_as_the_limit_is_told_once),
		cmocka_unit_test(a_link_or_anothers_file_is_refused),
	};

	if (argc > 1)
		return act(argv[1]);
	if (!mkdtemp(dir))
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
