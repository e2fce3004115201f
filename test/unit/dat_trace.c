/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trace levels, records, sinks and diagnostics. The environment is read at load, so each case is a
 * new process that performs one action.
 */
#include "test/unit/dat_trace_util.h"
#include "util/compiler.h"

#include <stdio.h>
#include <string.h>

/* ---- Levels ---- */

static void vnd_10_initial_levels(void **state)
{
	(void)state;
	levels_are(NULL, NULL, "0 0");
	levels_are("DAT_TRACE_LEVEL=7", "DAPL_TRACE_LEVEL=3", "7 3");
	levels_are("DAT_TRACE_LEVEL=10", "DAPL_TRACE_LEVEL=0", "10 0");
	assert_string_equal(trace_out.err, "");
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
		assert_string_equal(trace_out.err, told);
	}
	levels_are("DAT_TRACE_LEVEL=", "DAPL_TRACE_LEVEL=", "0 0");
	assert_string_equal(trace_out.err, "");
}

static void vnd_9_query_and_modify(void **state)
{
	(void)state;
	trace_run({ 0 }, "modify");
	assert_int_equal(matches(trace_out.err, HEAD "0x5C3 3 something 0x[0-9a-f]+ heard at once"),
			 1);
	assert_int_equal(util_count(trace_out.err, "\n"), 1);
	trace_run({ 0 }, "follow");
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
	trace_run({ "DAT_DBG_DEST=2", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_string_equal(trace_out.err, "");
	assert_int_equal(util_count(trace_out.out, "syslog"), 2);
	trace_run({ "DAPL_DBG_DEST=2", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_string_equal(trace_out.err, "");
	trace_run({ "DAT_DBG_DEST=2" }, "diag");
	assert_string_equal(trace_out.err, "dat: something failed\n");
	trace_run({ "DAPL_DBG_DEST=3", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_int_equal(util_count(trace_out.err, "dat: trace"), 2);
	assert_int_equal(util_count(trace_out.out, "syslog"), 2);
	trace_run({ "DAPL_DBG_DEST=2", "DAT_TRACE_DEST=stderr", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_int_equal(util_count(trace_out.err, "dat: trace"), 2);
	assert_string_equal(trace_out.out, "");
}

static void settings_of_a_file_come_last(void **state)
{
	(void)state;
	trace_run({ 0 }, "defaults");
	assert_string_equal(trace_out.out, "2 5");
	trace_run({ "DAPL_TRACE_LEVEL=4", "DAT_TRACE_LEVEL=1" }, "defaults");
	assert_string_equal(trace_out.out, "2 4");
}

static void the_control_channel_reads_and_changes(void **state)
{
	(void)state;
	trace_run({ 0 }, "command");
	assert_string_equal(trace_out.out,
			    "dat 0\ndapl 0\ndat 3\ndapl 3\ndat 3\ndapl 7\ndat 3\ndapl 7\n");
}

/* ---- Records ---- */

static void vnd_12_every_record_has_its_hook(void **state)
{
	(void)state;
	trace_run({ "DAT_TRACE_LEVEL=3", "DAPL_TRACE_LEVEL=3" }, "write");
	assert_int_equal(matches(trace_out.err, HEAD "0x5C3 3 something 0x[0-9a-f]+ dapl event"),
			 1);
	assert_int_equal(matches(trace_out.err, HEAD "0x5C4 1 wrong - dapl error"), 1);
	assert_int_equal(matches(trace_out.err, HEAD "0x5C7 3 something - dat event"), 1);
	assert_int_equal(matches(trace_out.err, HEAD "0x5C8 1 wrong - dat error"), 1);
	assert_int_equal(util_count(trace_out.err, "\n"), 4);
	assert_string_equal(trace_out.out, "");
}

static void vnd_11_a_level_shows_what_lies_below(void **state)
{
	(void)state;
	trace_run({ "DAT_TRACE_LEVEL=1", "DAPL_TRACE_LEVEL=1" }, "write");
	assert_int_equal(util_count(trace_out.err, " 1 wrong"), 2);
	assert_int_equal(util_count(trace_out.err, "\n"), 2);
	trace_run({ "DAPL_TRACE_LEVEL=6" }, "write");
	assert_int_equal(util_count(trace_out.err, "\n"), 2);
	trace_run({ "DAPL_TRACE_LEVEL=7" }, "write");
	assert_int_equal(util_count(trace_out.err, "dapl detail"), 1);
	assert_int_equal(util_count(trace_out.err, "\n"), 3);
	trace_run({ 0 }, "write");
	assert_string_equal(trace_out.err, "");
}

static void vnd_11_open_is_traced(void **state)
{
	(void)state;
	util_conf("");
	trace_run({ "DAT_TRACE_LEVEL=0" }, "open");
	assert_string_equal(trace_out.err, "");
	/* Who opens is told why not, whatever is traced. */
	trace_run({ 0 }, "open");
	assert_int_equal(util_count(trace_out.err, "dat: IA \"nobody\" not opened: "), 1);
	assert_int_equal(util_count(trace_out.err, "\n"), 1);
	trace_run({ "DAT_TRACE_LEVEL=1" }, "open");
	assert_int_equal(
		matches(trace_out.err,
			HEAD "0x5C8 1 ia_open_failed - name=nobody major=2 minor=0 rc=0x800a0064 "
			     "type=no provider serves the request subtype=the name is unknown or "
			     "its library does not load"),
		1);
	assert_int_equal(util_count(trace_out.err, "\n"), 2);
	trace_run({ "DAT_TRACE_LEVEL=3" }, "open");
	assert_int_equal(matches(trace_out.err, HEAD "0x5C7 3 conf_read - file=[^ ]+ entries=0"),
			 1);
	assert_int_equal(util_count(trace_out.err, "\n"), 3);
}

static void diagnostics(void **state)
{
	(void)state;
	trace_run({ 0 }, "diag");
	assert_string_equal(trace_out.err, "dat: something failed\n");
	trace_run({ "DAT_TRACE_LEVEL=10", "DAPL_TRACE_LEVEL=10" }, "diag");
	assert_string_equal(trace_out.err, "dat: something failed\n");
	trace_run({ "DAT_TRACE_LEVEL=0" }, "diag");
	assert_string_equal(trace_out.err, "");
	/* The other sinks get a record of it. */
	trace_run({ "DAPL_TRACE_LEVEL=1", "DAT_TRACE_DEST=stderr,syslog" }, "diag");
	assert_string_equal(trace_out.err, "dat: something failed\n");
	assert_int_equal(
		matches(trace_out.out, "syslog 3: " HEAD "0x5C4 1 error - something failed"), 1);
}

static void long_messages(void **state)
{
	(void)state;
	trace_run({ "DAPL_TRACE_LEVEL=3" }, "long");
	assert_int_equal(util_count(trace_out.err, "\n"), 2);
	assert_int_equal(util_count(trace_out.err, "dat: x"), 1);
	assert_int_equal(matches(trace_out.err, HEAD "0x5C3 3 something 0x[0-9a-f]+ x+"), 1);
}

/* ---- Memory ---- */

static void the_last_records_are_kept_at_every_level(void **state)
{
	(void)state;
	trace_run({ 0 }, "dump");
	assert_string_equal(trace_out.err, "");
	assert_int_equal(util_count(trace_out.out, "\n"), 64);
	assert_int_equal(matches(trace_out.out, HEAD "0x5C3 3 something 0x[0-9a-f]+ record 36"), 1);
	assert_int_equal(matches(trace_out.out, HEAD "0x5C3 3 something 0x[0-9a-f]+ record 99"), 1);
	assert_int_equal(util_count(trace_out.out, "record 35"), 0);
	assert_true(strstr(trace_out.out, "record 36") < strstr(trace_out.out, "record 99"));
}

static void threads_keep_their_own(void **state)
{
	(void)state;
	trace_run({ 0 }, "threads");
	/* The second took the ring of the first over, with what was in it. */
	assert_int_equal(util_count(trace_out.out, "\n"), 3);
	assert_true(strstr(trace_out.out, "by main") < strstr(trace_out.out, "by the first"));
	assert_true(strstr(trace_out.out, "by the first") < strstr(trace_out.out, "by the second"));
	trace_run({ 0 }, "fork");
	assert_int_equal(util_count(trace_out.out, "before"), 1);
	assert_int_equal(util_count(trace_out.out, "in the child"), 1);
}

static void an_internal_error_writes_them_once(void **state)
{
	(void)state;
	trace_run({ 0 }, "internal");
	assert_int_equal(util_count(trace_out.err, "dat: this cannot be\n"), 1);
	assert_int_equal(util_count(trace_out.err, "what led to it"), 1);
	assert_int_equal(util_count(trace_out.err, "between"), 1);
	assert_true(strstr(trace_out.err, "what led to it") <
		    strstr(trace_out.err, "dat: nor can this"));
	assert_true(strstr(trace_out.err, "dat: nor can this") < strstr(trace_out.err, "between"));
	trace_run({ "DAT_TRACE_LEVEL=0" }, "internal");
	assert_string_equal(trace_out.err, "");
}

/* ---- Sinks ---- */

static void sink_standard_error_and_none(void **state)
{
	(void)state;
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=stderr" }, "write");
	assert_int_equal(util_count(trace_out.err, "dat: trace"), 2);
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=none" }, "write");
	assert_string_equal(trace_out.err, "");
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=stderr,printer" }, "write");
	assert_int_equal(util_count(trace_out.err,
				    "dat: DAT_TRACE_DEST: \"stderr,printer\" is not a list of "
				    "stderr, syslog, file and none; the default stays\n"),
			 1);
	assert_int_equal(util_count(trace_out.err, "dat: trace"), 2);
	trace_run({ "DAPL_TRACE_LEVEL=3" }, "broken-pipe");
}

static void sink_syslog(void **state)
{
	(void)state;
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=syslog" }, "write");
	assert_string_equal(trace_out.err, "");
	assert_int_equal(matches(trace_out.out, "syslog 7: " HEAD "0x5C3 3 .* dapl event"), 1);
	assert_int_equal(matches(trace_out.out, "syslog 3: " HEAD "0x5C4 1 .* dapl error"), 1);
#ifndef WITH_TSAN /* it misses the other thread in a child that ends */
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=syslog" }, "fork-syslog");
	assert_int_equal(util_count(trace_out.out, "in the child"), 1);
#endif
}

static void sink_callback(void **state)
{
	(void)state;
	trace_run({ "DAT_TRACE_DEST=none" }, "callback");
	assert_string_equal(trace_out.err, "");
	assert_string_equal(trace_out.out, "arg 0x5C3 3 dapl second\n");
	trace_run({ "DAT_TRACE_DEST=none" }, "callback-end");
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
	};

	if (argc > 1)
		return trace_act(argv[1]);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
