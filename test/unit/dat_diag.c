/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a user is told of a bad dat.conf or library: one located message, and the good entries still
 * work. */
#include "test/unit/dat_util.h"
#include "test/unit/counting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNTING MODULE_DIR "/counting.so"
#define NOENTRY	 MODULE_DIR "/noentry.so"
#define NOFINI	 MODULE_DIR "/nofini.so"

static struct counting counting;

/* Text of a file whose good entry is served by the counting module; %s is the line under test. */
static const char *conf_with(const char *line)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "%s\n"
		 "good u2.0 nonthreadsafe default " COUNTING " p.1.0 \"%p\" \"\"\n",
		 line, (void *)&counting);
	return util_conf(text);
}

static int good_entry_works(void)
{
	DAT_IA_HANDLE ia;

	EXPECT_RC(util_open("good", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	EXPECT_RC(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	return 0;
}

/* Asks for the entry under test, which is bad, then for the good one. */
static int bad_then_good(void *arg)
{
	const DAT_RETURN not_found = RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	DAT_IA_HANDLE ia;

	(void)arg;
	EXPECT_RC(util_open("bad", 2, 0, DAT_FALSE, &ia), not_found);
	EXPECT(ia == DAT_HANDLE_NULL);
	/* What a library that is gone tried to register is not there either. */
	EXPECT_RC(util_open("another-name", 2, 0, DAT_FALSE, &ia), not_found);
	return good_entry_works();
}

/* The line expected, then at most that names are not opened; nothing on standard output. */
static void first_message(const struct outcome *o, const char *expected)
{
	const char *line = o->err + strlen(expected);

	assert_memory_equal(o->err, expected, strlen(expected));
	for (; *line; line = strchr(line, '\n') + 1)
		assert_memory_equal(line, "dat: IA \"", 9);
	assert_string_equal(o->out, "");
}

/* Exactly one line on standard error, the one expected, and nothing on standard output. */
static void one_message(const struct outcome *o, const char *expected)
{
	assert_string_equal(o->err, expected);
	assert_int_equal(util_count(o->err, "\n"), 1);
	assert_int_equal(util_count(o->err, "dat: "), 1);
	assert_string_equal(o->out, "");
}

static void bad_line(const char *line, const char *reason)
{
	const char *path = conf_with(line);
	char expected[4096];
	struct outcome o;

	util_child(bad_then_good, NULL, &o);
	snprintf(expected, sizeof(expected), "dat: %s:1: %s\n", path, reason);
	first_message(&o, expected);
}

static void reg_18_unknown_field(void **state)
{
	(void)state;
	bad_line("bad u2.0 safe default lib p.1.0 x y",
		 "field 3 (thread_safety): \"safe\" is neither threadsafe nor nonthreadsafe");
	bad_line("bad u2.0 nonthreadsafe default lib p.1.0 x y z",
		 "field 9 (excess): an entry has 8 fields");
	bad_line("bad u2.0 nonthreadsafe default lib p.1.0 x",
		 "field 8 (platform_params): missing; an entry has 8 fields");
}

static void reg_18_bad_version(void **state)
{
	(void)state;
	bad_line("bad u2 nonthreadsafe default lib p.1.0 x y",
		 "field 2 (api_version): \"u2\" is not a version such as u2.0 (u or k, major, dot, "
		 "minor)");
}

static void reg_16_unterminated_quote(void **state)
{
	(void)state;
	bad_line("bad u2.0 nonthreadsafe default \"lib p.1.0 x y",
		 "field 5 (lib_path): the quoted string does not end on its line");
}

static void reg_3_overlong_name(void **state)
{
	char line[512];

	(void)state;
	memset(line, 'b', 256);
	strcpy(line + 256, " u2.0 nonthreadsafe default lib p.1.0 x y");
	bad_line(line, "field 1 (ia_name): 256 characters long; 255 are allowed");
}

static void nul_bytes(void **state)
{
	char text[1024];
	int length = snprintf(text, sizeof(text),
			      "b*d u2.0 nonthreadsafe default lib p.1.0 x y\n"
			      "good u2.0 nonthreadsafe default " COUNTING " p.1.0 \"%p\" \"\"\n",
			      (void *)&counting);
	char expected[4096];
	const char *path;
	struct outcome o;

	(void)state;
	text[1] = '\0';
	path = util_file("dat.conf", text, (size_t)length);
	setenv("DAT_OVERRIDE", path, 1);
	util_child(bad_then_good, NULL, &o);
	snprintf(expected, sizeof(expected), "dat: %s:1: field 1 (ia_name): holds a NUL byte\n",
		 path);
	first_message(&o, expected);
}

static void reg_44_no_library(void **state)
{
	(void)state;
	bad_line("bad u2.0 nonthreadsafe default /nonexistent/lib.so p.1.0 x y",
		 "field 5 (lib_path): bad: /nonexistent/lib.so: /nonexistent/lib.so: cannot open "
		 "shared object "
		 "file: No such file or directory");
}

static void reg_44_not_a_library(void **state)
{
	const char *path = util_file("text.so", "hello\n", 6);
	char line[1024], reason[2048];

	(void)state;
	snprintf(line, sizeof(line), "bad u2.0 nonthreadsafe default %s p.1.0 x y", path);
	snprintf(reason, sizeof(reason), "field 5 (lib_path): bad: %s: %s: file too short", path,
		 path);
	bad_line(line, reason);
}

static void reg_44_no_entry_points(void **state)
{
	(void)state;
	bad_line("bad u2.0 nonthreadsafe default " NOENTRY " p.1.0 x y",
		 "field 5 (lib_path): bad: " NOENTRY ": " NOENTRY
		 ": undefined symbol: dat_provider_init");
	bad_line("bad u2.0 nonthreadsafe default " NOFINI " p.1.0 x y",
		 "field 5 (lib_path): bad: " NOFINI ": " NOFINI
		 ": undefined symbol: dat_provider_fini");
}

static void reg_44_not_registered(void **state)
{
	static struct counting silent = { .skip_register = 1 };
	char line[1024];

	(void)state;
	snprintf(line, sizeof(line), "bad u2.0 nonthreadsafe default " COUNTING " p.1.0 %p y",
		 (void *)&silent);
	bad_line(line, "field 5 (lib_path): bad: " COUNTING
		       ": dat_provider_init did not register this name");
}

static void reg_46_other_name(void **state)
{
	static struct counting other = { .other_name = 1 };
	char line[1024];

	(void)state;
	snprintf(line, sizeof(line), "bad u2.0 nonthreadsafe default " COUNTING " p.1.0 %p y",
		 (void *)&other);
	bad_line(line, "field 5 (lib_path): bad: " COUNTING
		       ": dat_provider_init did not register this name");
}

static int good_only(void *arg)
{
	(void)arg;
	return good_entry_works();
}

/* Libraries are looked at only when their entry is asked for. */
static void other_entries_are_quiet(void **state)
{
	struct outcome o;

	(void)state;
	conf_with("bad u2.0 nonthreadsafe default /nonexistent/lib.so p.1.0 x y");
	util_child(good_only, NULL, &o);
	assert_string_equal(o.err, "");
	assert_string_equal(o.out, "");
}

static void reg_20_duplicate(void **state)
{
	char line[1024], expected[2048];
	const char *path;
	struct outcome o;

	(void)state;
	/* The first does not load, and the second, of which the user was told, serves. */
	snprintf(line, sizeof(line),
		 "good u2.0 nonthreadsafe default /nonexistent/lib.so p.1.0 x y");
	path = conf_with(line);
	util_child(good_only, NULL, &o);
	snprintf(expected, sizeof(expected),
		 "dat: %s:2: field 1 (ia_name): duplicate of line 1, used only if that one cannot "
		 "be loaded\n"
		 "dat: %s:1: field 5 (lib_path): good: /nonexistent/lib.so: /nonexistent/lib.so: "
		 "cannot open "
		 "shared object file: No such file or directory\n",
		 path, path);
	assert_string_equal(o.err, expected);
}

static int empty_registry(void *arg)
{
	DAT_PROVIDER_INFO info, *list[1] = { &info };
	struct fake dynamic;
	DAT_COUNT num = -1;
	DAT_IA_HANDLE ia;

	(void)arg;
	EXPECT_RC(dat_registry_list_providers(1, &num, list), DAT_SUCCESS);
	EXPECT(num == 0);
	EXPECT_RC(util_open("bad", 2, 0, DAT_FALSE, &ia),
		  RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	fake_init(&dynamic, "dynamic", 2, 0, DAT_FALSE);
	EXPECT_RC(dat_registry_add_provider(&dynamic.table, &dynamic.info), DAT_SUCCESS);
	EXPECT_RC(util_open("dynamic", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	EXPECT_RC(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	return 0;
}

static void no_file(const char *path, const char *reason)
{
	char expected[4096];
	struct outcome o;

	setenv("DAT_OVERRIDE", path, 1);
	util_child(empty_registry, NULL, &o);
	snprintf(expected, sizeof(expected), "dat: %s: %s; the static registry is empty%s\n",
		 *path ? path : "DAT_OVERRIDE is empty", reason,
		 strstr(reason, "No such file")
			 ? " (dat-info --generate writes a file for this host)"
			 : "");
	one_message(&o, expected);
}

static void reg_10_missing_file(void **state)
{
	(void)state;
	no_file("/nonexistent/dat.conf", "No such file or directory");
	no_file("", "No such file or directory");
}

static int as_nobody(void *arg)
{
	EXPECT(!setgid(65534) && !setuid(65534));
	return empty_registry(arg);
}

static void reg_10_unreadable_file(void **state)
{
	const char *path = util_file("secret.conf", "", 0);
	char expected[4096], *slash;
	struct outcome o;

	(void)state;
	if (geteuid()) {
		chmod(path, 0);
		no_file(path, "Permission denied");
		return;
	}
	/* To root every file is readable. */
	chmod(path, 0600);
	setenv("DAT_OVERRIDE", path, 1);
	snprintf(expected, sizeof(expected), "%s", path);
	slash = strrchr(expected, '/');
	*slash = '\0';
	chmod(expected, 0711);
	util_child(as_nobody, NULL, &o);
	snprintf(expected, sizeof(expected),
		 "dat: %s: Permission denied; the static registry is empty\n", path);
	one_message(&o, expected);
}

static void reg_10_odd_files(void **state)
{
	char *fifo = strdup(util_file("fifo", "", 0));
	struct outcome o;

	(void)state;
	no_file("/", "Is a directory");
	no_file("/dev/zero", "File too large");
	unlink(fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	setenv("DAT_OVERRIDE", fifo, 1); /* nobody writes to it */
	util_child(empty_registry, NULL, &o);
	first_message(&o, "");
	setenv("DAT_OVERRIDE", "/dev/null", 1);
	util_child(empty_registry, NULL, &o);
	first_message(&o, "");
	free(fifo);
}

static int read_from_pipe(void *arg)
{
	const char *text = arg;
	char path[32];
	int ends[2];

	EXPECT(!pipe(ends));
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	setenv("DAT_OVERRIDE", path, 1);
	if (!fork()) {
		_exit(write(ends[1], text, strlen(text)) < 0);
	}
	close(ends[1]);
	return good_entry_works();
}

static void reg_8_pipe(void **state)
{
	char text[1024];
	struct outcome o;

	(void)state;
	snprintf(text, sizeof(text),
		 "good u2.0 nonthreadsafe default " COUNTING " p.1.0 \"%p\" \"\"\n",
		 (void *)&counting);
	util_child(read_from_pipe, text, &o);
	assert_string_equal(o.err, "");
}

static int add_only(void *arg)
{
	struct fake dynamic;
	DAT_IA_HANDLE ia;

	(void)arg;
	fake_init(&dynamic, "dynamic", 2, 0, DAT_FALSE);
	EXPECT_RC(dat_registry_add_provider(&dynamic.table, &dynamic.info), DAT_SUCCESS);
	EXPECT_RC(util_open("dynamic", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	return 0;
}

/* Who does not need the file is not told of its absence. */
static void reg_36_quiet_without_need(void **state)
{
	struct outcome o;

	(void)state;
	setenv("DAT_OVERRIDE", "/nonexistent/dat.conf", 1);
	util_child(add_only, NULL, &o);
	assert_string_equal(o.err, "");
}

static int change_of_mind(void *arg)
{
	DAT_COUNT num;

	EXPECT_RC(dat_registry_list_providers(0, &num, NULL),
		  RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT(num == 1);
	setenv("DAT_OVERRIDE", arg, 1);
	EXPECT_RC(dat_registry_list_providers(0, &num, NULL),
		  RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT(num == 1);
	return good_entry_works();
}

static void reg_5_read_once(void **state)
{
	struct outcome o;

	(void)state;
	conf_with("");
	util_child(change_of_mind, (void *)(uintptr_t)util_file("empty.conf", "", 0), &o);
	assert_string_equal(o.err, "");
}

/* The file that is read at last, where the first one could not be for lack of descriptors. */
static int read_the_second(void *second)
{
	struct rlimit limit, none;
	DAT_IA_HANDLE ia;
	DAT_COUNT num;

	EXPECT(!getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	EXPECT(!setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_RC(dat_registry_list_providers(0, &num, NULL),
		  RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT(num == 0);
	EXPECT(!setrlimit(RLIMIT_NOFILE, &limit));
	setenv("DAT_OVERRIDE", second, 1);
	EXPECT_RC(util_open("none", 2, 0, DAT_FALSE, &ia),
		  RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	return 0;
}

static void reg_5_the_file_that_was_read_is_named(void **state)
{
	const char *second = util_file("second.conf", "", 0);
	char expected[512];
	struct outcome o;

	(void)state;
	conf_with("");
	util_child(read_the_second, (void *)(uintptr_t)second, &o);
	snprintf(expected, sizeof(expected), "dat: IA \"none\" not opened: %s has no entries",
		 second);
	assert_int_equal(util_count(o.err, expected), 1);
}

static int open_what_is_no_text(void *name)
{
	DAT_IA_HANDLE ia;

	EXPECT_RC(util_open(name, 2, 0, DAT_FALSE, &ia),
		  RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	return 0;
}

/* Nobody makes lines of his own, or the terminal do something. */
static void a_name_cannot_break_a_line(void **state)
{
	const char *name = "a\ndat: b\r\x1b[2J\x7f", *masked = "\"a?dat: b??[2J?\"";
	struct outcome o;

	(void)state;
	conf_with("");
	util_child(open_what_is_no_text, (void *)(uintptr_t)name, &o);
	assert_int_equal(util_count(o.err, "\n"), 1);
	assert_int_equal(util_count(o.err, masked), 1);
	setenv("DAT_TRACE_LEVEL", "10", 1);
	util_child(open_what_is_no_text, (void *)(uintptr_t)name, &o);
	unsetenv("DAT_TRACE_LEVEL");
	assert_int_equal(util_count(o.err, "\n"), util_count(o.err, "\ndat: ") + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_18_unknown_field),
		cmocka_unit_test(reg_18_bad_version),
		cmocka_unit_test(reg_16_unterminated_quote),
		cmocka_unit_test(reg_3_overlong_name),
		cmocka_unit_test(nul_bytes),
		cmocka_unit_test(reg_44_no_library),
		cmocka_unit_test(reg_44_not_a_library),
		cmocka_unit_test(reg_44_no_entry_points),
		cmocka_unit_test(reg_44_not_registered),
		cmocka_unit_test(reg_46_other_name),
		cmocka_unit_test(other_entries_are_quiet),
		cmocka_unit_test(reg_20_duplicate),
		cmocka_unit_test(reg_10_missing_file),
		cmocka_unit_test(reg_10_unreadable_file),
		cmocka_unit_test(reg_10_odd_files),
		cmocka_unit_test(reg_8_pipe),
		cmocka_unit_test(reg_36_quiet_without_need),
		cmocka_unit_test(reg_5_read_once),
		cmocka_unit_test(reg_5_the_file_that_was_read_is_named),
		cmocka_unit_test(a_name_cannot_break_a_line),
	};

	unsetenv("DAT_TRACE_LEVEL");
	unsetenv("DAT_DBG_TYPE");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
