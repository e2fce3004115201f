/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Traces into a file. */
#include "test/unit/dat_trace_util.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Runs ---- */

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
	trace_run({ "DAPL_TRACE_LEVEL=3", file_variable }, "write");
	trace_run({ "DAPL_TRACE_LEVEL=3", file_variable }, "write");
	assert_string_equal(trace_out.err, "");
	assert_int_equal(matches(read_file("plain"), HEAD "0x5C3 3 .* dapl event"), 2);
	assert_int_equal(stat(file_named("plain"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	file_named("both");
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=file,stderr", file_variable }, "write");
	assert_int_equal(util_count(trace_out.err, "dat: trace"), 2);
	assert_int_equal(util_count(read_file("both"), "dat: trace"), 2);
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=file" }, "write"); /* which? */
	assert_int_equal(util_count(trace_out.err, "dat: trace"), 2);
	/* Nothing to write: no file. */
	file_named("unused");
	trace_run({ file_variable }, "write");
	assert_null(read_file("unused"));
}

/* Records, a file that is opened, and ones that are moved aside. */
static void a_small_stack_is_enough(void **state)
{
	(void)state;
	file_named("small");
	trace_run(
		{ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=2000", "DAT_TRACE_KEEP=2", file_variable },
		"small");
	assert_int_equal(trace_out.code, 0);
	assert_non_null(read_file("small.2"));
}

static void the_file_is_named_after_the_process(void **state)
{
	char name[64];
	const char *pid;

	(void)state;
	file_named("of-%p.log");
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_DEST=file,stderr", file_variable }, "write");
	pid = strstr(trace_out.err, "Z ");
	assert_non_null(pid);
	snprintf(name, sizeof(name), "of-%d.log", atoi(pid + 2));
	assert_int_equal(util_count(read_file(name), "dat: trace"), 2);
}

static void no_file_of_the_programs_is_written_to(void **state)
{
	(void)state;
	file_named("closed");
	trace_run({ "DAPL_TRACE_LEVEL=3", file_variable }, "closed");
	assert_int_equal(trace_out.code, 0);
	assert_int_equal(util_count(read_file("closed"), "before"), 1);
	assert_int_equal(util_count(read_file("closed"), "after"), 1);
}

static void the_file_is_rotated_by_size(void **state)
{
	(void)state;
	file_named("turning");
	trace_run(
		{ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=2000", "DAT_TRACE_KEEP=2", file_variable },
		"many");
	assert_string_equal(trace_out.err, "");
	assert_int_equal(util_count(read_file("turning"), "record 99\n"), 1);
	assert_true(strlen(content) < 2200);
	assert_non_null(read_file("turning.1"));
	assert_true(strlen(content) >= 2000 && strlen(content) < 2200);
	assert_non_null(read_file("turning.2"));
	assert_null(read_file("turning.3"));
	file_named("alone");
	trace_run(
		{ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=2000", "DAT_TRACE_KEEP=0", file_variable },
		"many");
	assert_int_equal(util_count(read_file("alone"), "record 99\n"), 1);
	assert_null(read_file("alone.1"));
	file_named("whole");
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=0", file_variable }, "many");
	assert_int_equal(util_count(read_file("whole"), "\n"), 100);
	trace_run(
		{ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=much", "DAT_TRACE_KEEP=-1", file_variable },
		"many");
	assert_int_equal(
		util_count(trace_out.err, "DAT_TRACE_SIZE: \"much\" is not a number of bytes"), 1);
	assert_int_equal(
		util_count(trace_out.err, "DAT_TRACE_KEEP: \"-1\" is not a number from 0 to 99"),
		1);
	assert_int_equal(util_count(trace_out.err, "\n"), 2);
}

static void a_file_that_does_not_open_is_told_once(void **state)
{
	char told[256];

	(void)state;
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_FILE=/nonexistent/trace" }, "write");
	assert_int_equal(util_count(trace_out.err,
				    "dat: trace file /nonexistent/trace: No such file or "
				    "directory; the trace goes to standard error\n"),
			 1);
	assert_int_equal(util_count(trace_out.err, " 0x5C"), 2);
	assert_int_equal(mkfifo(file_named("fifo"), 0600), 0);
	trace_run({ "DAPL_TRACE_LEVEL=3", file_variable }, "write");
	snprintf(told, sizeof(told), "dat: trace file %s/fifo: ", dir);
	assert_int_equal(util_count(trace_out.err, told), 1);
	assert_int_equal(util_count(trace_out.err, " 0x5C"), 2);
}

static void a_folder_in_the_way_is_told_once(void **state)
{
	char told[256];

	(void)state;
	assert_int_equal(mkdir(file_named("stuck.1"), 0700), 0);
	file_named("stuck");
	trace_run(
		{ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_SIZE=2000", "DAT_TRACE_KEEP=1", file_variable },
		"many");
	snprintf(told, sizeof(told),
		 "dat: trace file %s/stuck.1: Is a directory; the trace grows\n", dir);
	assert_string_equal(trace_out.err, told);
	assert_int_equal(util_count(read_file("stuck"), "\n"), 100);
}

static void a_full_disk_is_told_once(void **state)
{
	(void)state;
	trace_run({ "DAPL_TRACE_LEVEL=3", "DAT_TRACE_FILE=/dev/full" }, "many");
	assert_string_equal(trace_out.err,
			    "dat: trace file /dev/full: No space left on device; records are "
			    "lost\n");
}

static void a_file_as_large_as_the_limit_is_told_once(void **state)
{
	char told[256];

	(void)state;
	file_named("limited");
	trace_run({ "DAPL_TRACE_LEVEL=3", file_variable }, "limited");
	snprintf(told, sizeof(told),
		 "dat: trace file %s/limited: it is as large as files may be (knob: ulimit -f); "
		 "records are lost\n",
		 dir);
	assert_string_equal(trace_out.err, told);
	assert_int_equal(strlen(read_file("limited")), 2000);
}

/* The trace goes to standard error, and the file is as it was. */
static void is_refused(const char *name, const char *why)
{
	char told[256];

	file_named(name);
	trace_run({ "DAPL_TRACE_LEVEL=3", file_variable }, "write");
	snprintf(told, sizeof(told),
		 "dat: trace file %s/%s: %s; the trace goes to standard error\n", dir, name, why);
	assert_int_equal(util_count(trace_out.err, told), 1);
	assert_int_equal(util_count(trace_out.err, " 0x5C"), 2);
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
		cmocka_unit_test(sink_file),
		cmocka_unit_test(the_file_is_named_after_the_process),
		cmocka_unit_test(no_file_of_the_programs_is_written_to),
		cmocka_unit_test(the_file_is_rotated_by_size),
		cmocka_unit_test(a_small_stack_is_enough),
		cmocka_unit_test(a_file_that_does_not_open_is_told_once),
		cmocka_unit_test(a_folder_in_the_way_is_told_once),
		cmocka_unit_test(a_full_disk_is_told_once),
		cmocka_unit_test(a_file_as_large_as_the_limit_is_told_once),
		cmocka_unit_test(a_link_or_anothers_file_is_refused),
	};

	if (argc > 1)
		return trace_act(argv[1]);
	if (!mkdtemp(dir))
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
