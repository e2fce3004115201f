/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Trace levels, diagnostics and where they go. The environment is read at load, so each case is a
 * new process. */
#include "test/unit/dat_util.h"

#define DATS_WEAK
#include "dat/dats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char self[] = "/proc/self/exe";

struct setting {
	const char *variables[3]; /* NAME=value */
	const char *action;
};

/* Runs this program anew with the variables set. */
static int run_self(void *arg)
{
	const struct setting *setting = arg;
	size_t i;

	unsetenv("DAT_TRACE_LEVEL");
	unsetenv("DAPL_TRACE_LEVEL");
	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAT_DBG_DEST");
	for (i = 0; i < NUM_OF(setting->variables) && setting->variables[i]; i++)
		putenv((char *)(uintptr_t)setting->variables[i]);
	execl(self, self, setting->action, (char *)NULL);
	return errno;
}

/* What the new process does. */
static int act(const char *action)
{
	int *levels = dats_trace_levels();
	DAT_IA_HANDLE ia;

	errno = EXDEV;
	if (!strcmp(action, "levels"))
		fprintf(stderr, "%d %d", levels[0], levels[1]);
	if (!strcmp(action, "diag"))
		dats_diag(DATS_HOOK_DAPL_ERROR, "something failed");
	if (!strcmp(action, "write"))
		dats_trace_write(DATS_HOOK_DAPL_EVENT, 3, "something happened");
	if (!strcmp(action, "long")) {
		char text[5000];

		memset(text, 'x', sizeof(text));
		text[sizeof(text) - 1] = '\0';
		dats_diag(DATS_HOOK_DAT_ERROR, text);
		dats_trace_write(DATS_HOOK_DAT_EVENT, 3, text);
	}
	if (!strcmp(action, "open"))
		util_open("nobody", 2, 0, DAT_FALSE, &ia);
	else if (errno != EXDEV)
		return 1;
	return 0;
}

static void run(const char *one, const char *two, const char *action, struct outcome *o)
{
	struct setting setting = { { one, one ? two : NULL, NULL }, action };

	util_child(run_self, &setting, o);
	assert_string_equal(o->out, "");
}

static void levels_are(const char *dat, const char *dapl, const char *expected)
{
	struct outcome o;

	run(dat, dapl, "levels", &o);
	assert_string_equal(o.err, expected);
}

static void vnd_10_initial_levels(void **state)
{
	(void)state;
	levels_are(NULL, NULL, "0 0");
	levels_are("DAT_TRACE_LEVEL=7", "DAPL_TRACE_LEVEL=3", "7 3");
	levels_are("DAT_TRACE_LEVEL=10", "DAPL_TRACE_LEVEL=0", "10 0");
	levels_are("DAT_TRACE_LEVEL=11", "DAPL_TRACE_LEVEL=-1", "0 0");
	levels_are("DAT_TRACE_LEVEL=3x", "DAPL_TRACE_LEVEL=", "0 0");
	levels_are("DAT_TRACE_LEVEL=high", "DAPL_TRACE_LEVEL=99999999999999999999", "0 0");
}

static void reg_22_debug_variables(void **state)
{
	struct outcome o;

	(void)state;
	levels_are("DAT_DBG_TYPE=0x1", NULL, "1 0");
	levels_are("DAT_DBG_TYPE=0xff", NULL, "7 0");
	levels_are("DAT_DBG_TYPE=0", NULL, "0 0");
	levels_are("DAT_DBG_TYPE=0xff", "DAT_TRACE_LEVEL=3", "3 0");
	/* To syslog only; a diagnostic stays where the user sees it. */
	run("DAT_DBG_DEST=2", NULL, "write", &o);
	assert_string_equal(o.err, "");
	run("DAT_DBG_DEST=2", NULL, "diag", &o);
	assert_string_equal(o.err, "dat: something failed\n");
	run("DAT_DBG_DEST=3", NULL, "write", &o);
	assert_string_equal(o.err, "dat: trace 0x5C3 3 something happened\n");
}

static void vnd_12_records(void **state)
{
	struct outcome o;

	(void)state;
	run(NULL, NULL, "write", &o);
	assert_string_equal(o.err, "dat: trace 0x5C3 3 something happened\n");
}

static void diagnostics(void **state)
{
	struct outcome o;

	(void)state;
	run(NULL, NULL, "diag", &o);
	assert_string_equal(o.err, "dat: something failed\n");
	run("DAT_TRACE_LEVEL=10", NULL, "diag", &o);
	assert_string_equal(o.err, "dat: something failed\n");
	run("DAT_TRACE_LEVEL=0", NULL, "diag", &o);
	assert_string_equal(o.err, "");
}

static void long_messages(void **state)
{
	struct outcome o;

	(void)state;
	run(NULL, NULL, "long", &o);
	assert_int_equal(util_count(o.err, "\n"), 2);
	assert_int_equal(util_count(o.err, "dat: x"), 1);
	assert_int_equal(util_count(o.err, "dat: trace 0x5C7 3 x"), 1);
}

static void vnd_11_open_is_traced(void **state)
{
	struct outcome o;

	(void)state;
	util_conf("");
	run("DAT_TRACE_LEVEL=0", NULL, "open", &o);
	assert_string_equal(o.err, "");
	run(NULL, NULL, "open", &o);
	assert_string_equal(o.err, "");
	run("DAT_TRACE_LEVEL=1", NULL, "open", &o);
	assert_string_equal(
		o.err,
		"dat: trace 0x5C8 1 open nobody u2.0: 0x800a0064, no provider serves the request: "
		"the name is unknown or its library does not load\n");
	run("DAT_TRACE_LEVEL=3", NULL, "open", &o);
	assert_int_equal(util_count(o.err, "dat: trace 0x5C7 3 "), 1);
	assert_int_equal(util_count(o.err, "dat: trace 0x5C8 1 "), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vnd_10_initial_levels), cmocka_unit_test(reg_22_debug_variables),
		cmocka_unit_test(vnd_12_records),	 cmocka_unit_test(diagnostics),
		cmocka_unit_test(long_messages),	 cmocka_unit_test(vnd_11_open_is_traced),
	};

	if (argc > 1)
		return act(argv[1]);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
