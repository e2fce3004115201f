/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl.conf, and the environment over it. */
#include "dapl/base/config.h"
#include "test/unit/core_config_util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct tunables {
	int64_t depth;
	int64_t eager;
	int64_t window;
} tunables;

static const struct dapl_option options[] = {
	{ .name = "depth",
	  .env = "TEST_DEPTH",
	  .type = DAPL_OPTION_INT,
	  .unit = "requests",
	  .help = "how deep",
	  .value_default = 16,
	  .value_min = 1,
	  .value_max = 1024,
	  .offset = offsetof(struct tunables, depth) },
	{ .name = "eager",
	  .env = "TEST_EAGER",
	  .type = DAPL_OPTION_BOOL,
	  .unit = "",
	  .help = "whether",
	  .value_default = 1,
	  .value_min = 0,
	  .value_max = 1,
	  .offset = offsetof(struct tunables, eager) },
	{ .name = "window",
	  .type = DAPL_OPTION_INT,
	  .unit = "bytes",
	  .help = "how wide",
	  .value_default = 65536,
	  .value_min = -1,
	  .value_max = INT64_C(1) << 40,
	  .offset = offsetof(struct tunables, window) },
};

#define NUM_OPTIONS (sizeof(options) / sizeof(options[0]))

static struct {
	const char *section;
	const struct dapl_option *table;
	uint32_t num;
} loaded;

static void load_now(void)
{
	dapl_config_load(loaded.section, loaded.table, loaded.num, loaded.num ? &tunables : NULL);
}

static void load_as(const char *section, const struct dapl_option *table, uint32_t num)
{
	loaded.section = section;
	loaded.table = table;
	loaded.num = num;
	hear(load_now);
}

static void load(const char *conf)
{
	write_conf(conf);
	memset(&tunables, 0xff, sizeof(tunables));
	load_as("test", options, NUM_OPTIONS);
}

static void values(int64_t depth, int64_t eager, int64_t window)
{
	assert_int_equal(tunables.depth, depth);
	assert_int_equal(tunables.eager, eager);
	assert_int_equal(tunables.window, window);
}

/* ---- The file ---- */

static void an_empty_file_gives_the_defaults(void **state)
{
	(void)state;
	load("");
	silent();
	values(16, 1, 65536);
	assert_int_equal(dapl_config.strict, 0);
}

static void a_section_gives_values(void **state)
{
	(void)state;
	load("# about\n\n test{depth=3 eager = off # why\n\twindow = \"0x100\"\n}\n");
	silent();
	values(3, 0, 256);
	load("test {\n depth = 1\n}\r\ntest { depth = 1024 }\ntest { window = -1 } # end");
	silent();
	values(1024, 1, -1);
}

static void other_sections_are_skipped(void **state)
{
	(void)state;
	load("other { depth = 9 anything = \"} # \\\" \" }\ntest { depth = 2 }\nlast { x = 1 }");
	silent();
	values(2, 1, 65536);
}

static void the_core_has_a_section(void **state)
{
	(void)state;
	load("dapl { strict = yes }");
	silent();
	assert_int_equal(dapl_config.strict, 1);
	load("dapl { strikt = yes }");
	heard("section dapl: unknown name strikt, near: strict");
	assert_int_equal(dapl_config.strict, 0);
}

static void switches_have_words(void **state)
{
	static const char *const words[2][4] = { { "no", "OFF", "false", "0" },
						 { "Yes", "on", "true", "1" } };
	char conf[64];
	int i, j;

	(void)state;
	for (i = 0; i < 2; i++)
		for (j = 0; j < 4; j++) {
			snprintf(conf, sizeof(conf), "test { eager = %s }", words[i][j]);
			load(conf);
			silent();
			values(16, i, 65536);
		}
	load("test { eager = maybe }");
	heard("eager is \"maybe\", which is not yes or no; yes stays");
	values(16, 1, 65536);
}

static void out_of_range_keeps_what_was(void **state)
{
	(void)state;
	load("test {\n depth = 0\n window = -2\n}");
	heard(":2, section test: depth is 0, but 1 to 1024 requests are possible; 16 stays");
	heard(":3, section test: window is -2, but -1 to 1099511627776 bytes are possible");
	assert_int_equal(lines(), 2);
	values(16, 1, 65536);
	load("test { depth = 99999999999999999999999 }");
	heard("which is not a number");
	values(16, 1, 65536);
	load("test { depth = 12x window = \"\" }");
	heard("depth is \"12x\", which is not a number; 16 stays");
	assert_int_equal(lines(), 2);
	values(16, 1, 65536);
}

static void unknown_names_are_told_with_near_ones(void **state)
{
	(void)state;
	load("test {\n dept = 7\n eagre = no\n qqqqqqqqqqqqqqqq = 1\n depth = 5\n}");
	heard(":2, section test: unknown name dept, near: depth\n");
	heard(":3, section test: unknown name eagre, near: eager\n");
	heard(":4, section test: unknown name qqqqqqqqqqqqqqqq\n");
	assert_int_equal(lines(), 3);
	values(5, 1, 65536);
	write_conf("none { depth = 7 }");
	load_as("none", NULL, 0);
	heard("section none: unknown name depth\n");
}

/* Wherever comments stand, and however long they are. */
static void comments_leave_the_lines_as_they_are(void **state)
{
	(void)state;
	load("# one\n// two\n/* three\n four */ test { # five\n\tdepth = 0 # six\n}\n");
	heard(":5, section test: depth is 0");
	load("/**/ test {\n\tdepth = // of what\n\t0x#10\n window = /* wide */ w\n}\n");
	heard(":3, section test: depth is \"0x\"");
	heard(":4, section test: window is \"w\"");
	load("other { a = \"#\" b = '//' c = x//y d = ${A#} e = \"${A\"#}\" }\ntest { depth = 0 }");
	heard(":2, section test: depth is 0");
	load("test { depth = 3 } # the end");
	silent();
	values(3, 1, 65536);
	load("test { depth = 3 } /* no end\ntest { depth = 4 }");
	silent();
	values(3, 1, 65536);
}

static void what_is_no_section_ends_the_reading(void **state)
{
	static const char *const bad[] = {
		"depth = 4",
		"test depth = 4",
		"test {\n depth 4 }",
		"test { depth = }",
		"test { depth = { }",
		"test { = 4 }",
		"}",
		"\"x\" \"y\"",
		"test { depth = 4 5 }",
	};
	char longest[600];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		load(bad[i]);
		heard("the rest is ignored");
		assert_int_equal(lines(), 1);
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	load(longest);
	heard("the rest is ignored");
	/* What came before holds. */
	load("test { depth = 4 }\ntest { window = 7\n eager }");
	heard(":3: ");
	values(4, 1, 7);
}

/* A disk that lost its power leaves some. */
static void what_comes_after_a_nul_byte_is_told_to_be_ignored(void **state)
{
	static const char text[] = "test { depth = 4 }\n\0test { depth = 5 }\n";

	(void)state;
	write_conf_bytes(text, sizeof(text) - 1);
	memset(&tunables, 0xff, sizeof(tunables));
	load_as("test", options, NUM_OPTIONS);
	heard(":2: holds a NUL byte; the rest is ignored");
	assert_int_equal(lines(), 1);
	values(4, 1, 65536);
	write_conf_bytes("", 1);
	load_as("test", options, NUM_OPTIONS);
	heard(":1: holds a NUL byte; the rest is ignored");
	values(16, 1, 65536);
}

static void a_missing_file_is_told_if_it_was_asked_for(void **state)
{
	(void)state;
	setenv("DAPL_CONF", "/nonexistent/dapl.conf", 1);
	load("test { depth = 4 }");
	heard("/nonexistent/dapl.conf: No such file");
	values(16, 1, 65536);
	setenv("DAPL_CONF", "/tmp", 1);
	load("test { depth = 4 }");
	heard("/tmp: Is a directory");
	values(16, 1, 65536);
	setenv("DAPL_CONF", "/dev/zero", 1);
	load("test { depth = 4 }");
	heard("/dev/zero: File too large");
	values(16, 1, 65536);
	unsetenv("DAPL_CONF");
	load("test { depth = 4 }"); /* nobody reads that one */
	silent();
	values(16, 1, 65536);
	setenv("DAPL_CONF", conf_path, 1);
}

/* ---- The environment ---- */

static void the_environment_comes_last(void **state)
{
	(void)state;
	setenv("TEST_DEPTH", "77", 1);
	setenv("TEST_EAGER", "no", 1);
	setenv("DAPL_STRICT", "1", 1);
	load("test { depth = 4 }");
	silent();
	values(77, 0, 65536);
	assert_int_equal(dapl_config.strict, 1);
	setenv("TEST_DEPTH", "4096", 1);
	setenv("TEST_EAGER", "sometimes", 1);
	setenv("DAPL_STRICT", "0", 1);
	load("test { depth = 4 eager = no }");
	heard("TEST_DEPTH: depth is 4096, but 1 to 1024 requests are possible; 4 stays");
	heard("TEST_EAGER: \"sometimes\" is not yes or no; no stays");
	values(4, 0, 65536);
	assert_int_equal(dapl_config.strict, 0);
	unsetenv("TEST_DEPTH");
	unsetenv("TEST_EAGER");
	unsetenv("DAPL_STRICT");
}

/* ---- Set-user-id programs ---- */

#define NOBODY 65534

/* The copy's part: what it made of the environment. */
static void report(void)
{
	dapl_config_load("test", options, NUM_OPTIONS, &tunables);
	printf("secure %d depth %d strict %d\n", getauxval(AT_SECURE) != 0, (int)tunables.depth,
	       (int)dapl_config.strict);
	fflush(stdout);
	_exit(0); /* leaks are not looked for in a set-user-id process */
}

static void make_copy(const char *copy)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	char buf[65536];
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, (size_t)n), n);
	close(in);
	close(out);
}

static void run_copy(const char *copy, char *out, size_t size)
{
	int pipe_fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (!pid) {
		dup2(pipe_fds[1], STDOUT_FILENO);
		execl(copy, copy, "report", (char *)NULL);
		_exit(127);
	}
	close(pipe_fds[1]);
	n = read(pipe_fds[0], out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	close(pipe_fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_set_user_id_program_trusts_no_environment(void **state)
{
	char copy[] = "/tmp/udapl-config-copy-XXXXXX", out[256];
	struct statvfs vfs;

	(void)state;
	assert_int_equal(statvfs("/tmp", &vfs), 0);
	if (geteuid() || (vfs.f_flag & ST_NOSUID)) {
		print_message("making a set-user-id file takes root and a file system for it\n");
		skip();
	}
	close(mkstemp(copy));
	unlink(copy);
	make_copy(copy);
	load("test { depth = 4 }\ndapl { strict = yes }");
	setenv("TEST_DEPTH", "5", 1);
	assert_int_equal(chmod(copy, 0755), 0);
	run_copy(copy, out, sizeof(out));
	assert_string_equal(out, "secure 0 depth 5 strict 1\n");
	assert_int_equal(chown(copy, NOBODY, NOBODY), 0);
	assert_int_equal(chmod(copy, 04755), 0);
	run_copy(copy, out, sizeof(out));
	unlink(copy);
	unsetenv("TEST_DEPTH");
	if (!strncmp(out, "secure 0", 8)) {
		print_message("the system ignores the bit\n");
		skip();
	}
	assert_string_equal(out, "secure 1 depth 16 strict 0\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_gives_the_defaults),
		cmocka_unit_test(a_section_gives_values),
		cmocka_unit_test(other_sections_are_skipped),
		cmocka_unit_test(the_core_has_a_section),
		cmocka_unit_test(switches_have_words),
		cmocka_unit_test(out_of_range_keeps_what_was),
		cmocka_unit_test(unknown_names_are_told_with_near_ones),
		cmocka_unit_test(comments_leave_the_lines_as_they_are),
		cmocka_unit_test(what_is_no_section_ends_the_reading),
		cmocka_unit_test(what_comes_after_a_nul_byte_is_told_to_be_ignored),
		cmocka_unit_test(a_missing_file_is_told_if_it_was_asked_for),
		cmocka_unit_test(the_environment_comes_last),
		cmocka_unit_test(a_set_user_id_program_trusts_no_environment),
	};

	if (argc > 1 && !strcmp(argv[1], "report"))
		report();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_conf, remove_conf);
}
