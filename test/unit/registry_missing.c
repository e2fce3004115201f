/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a user is told of a name that nothing serves: the file, the names near it, and where it is.
 * This program contains libdat2's objects, some compiled for directories beside the build.
 */
#include "test/unit/dat_util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY(name) name " u2.0 nonthreadsafe default /nonexistent/lib.so p.1.0 x y\n"

static const char own_path[] = UDAPL_SYSCONFDIR "/dat.conf";

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

struct request {
	const char *name;
	DAT_UINT32 major, minor;
	DAT_BOOLEAN thread_safety;
	DAT_RETURN_SUBTYPE subtype;
};

/* Asks twice; the second time nothing is to be said. */
static int ask(void *arg)
{
	const struct request *request = arg;
	DAT_IA_HANDLE ia;

	for (int i = 0; i < 2; i++)
		EXPECT_RC(util_open(request->name, request->major, request->minor,
				    request->thread_safety, &ia),
			  RC(DAT_PROVIDER_NOT_FOUND, request->subtype));
	return 0;
}

static void told(const struct request *request, const char *expected)
{
	struct outcome o;

	util_child(ask, (void *)(uintptr_t)request, &o);
	assert_string_equal(o.err, expected);
	assert_string_equal(o.out, "");
}

static void told_of_file(const char *text, const struct request *request, const char *before,
			 const char *after)
{
	const char *path = util_conf(text);
	char expected[4096];

	snprintf(expected, sizeof(expected), "dat: IA \"%s\" not opened: %s%s%s\n", request->name,
		 before, path, after);
	told(request, expected);
}

static const struct request mistyped = { "soft-l0", 2, 0, DAT_FALSE, DAT_NAME_NOT_REGISTERED };

static void near_names(void **state)
{
	const struct request part = { "mlx5_0", 2, 0, DAT_FALSE, DAT_NAME_NOT_REGISTERED };

	(void)state;
	told_of_file(ENTRY("soft-eth0") ENTRY("soft-lo"), &mistyped, "",
		     " has no entry of that name; near: soft-lo");
	told_of_file(ENTRY("soft-lo") ENTRY("ofa-v2-mlx5_0-1") ENTRY("ofa-v2-mlx5_0-1u"), &part, "",
		     " has no entry of that name; near: ofa-v2-mlx5_0-1, ofa-v2-mlx5_0-1u");
}

static void names_of_the_file(void **state)
{
	const struct request other = { "InfiniHost0", 2, 0, DAT_FALSE, DAT_NAME_NOT_REGISTERED };

	(void)state;
	told_of_file(ENTRY("soft-eth0") ENTRY("soft-lo") "soft-lo u2.0 threadsafe default "
							 "/nonexistent/lib.so p.1.0 x y\n",
		     &other, "", " has no entry of that name, but: soft-eth0, soft-lo");
	told_of_file(ENTRY("a") ENTRY("b") ENTRY("c") ENTRY("d") ENTRY("e") ENTRY("f") ENTRY("g")
			     ENTRY("h") ENTRY("i"),
		     &other, "", " has no entry of that name, but: a, b, c, d, e, f, g, h, ...");
	told_of_file("# nothing\n", &other, "",
		     " has no entries; dat-info --generate writes those of this host");
}

static void other_versions(void **state)
{
	const struct request safe = { "soft-lo", 2, 0, DAT_TRUE, DAT_THREAD_SAFETY_NOT_FOUND };
	const struct request minor = { "soft-lo", 2, 1, DAT_FALSE, DAT_MINOR_NOT_FOUND };
	const struct request major = { "soft-lo", 3, 0, DAT_FALSE, DAT_MAJOR_NOT_FOUND };
	const char text[] = "\n" ENTRY("soft-lo");

	(void)state;
	told_of_file(text, &safe, "the program asks for u2.0 threadsafe, and ",
		     ":2 is u2.0 nonthreadsafe");
	told_of_file(text, &minor, "the program asks for u2.1 nonthreadsafe, and ",
		     ":2 is u2.0 nonthreadsafe");
	told_of_file(text, &major, "the program asks for u3.0 nonthreadsafe, and ",
		     ":2 is u2.0 nonthreadsafe");
}

static void reg_19_lines_that_programs_pass_over(void **state)
{
	(void)state;
	told_of_file(ENTRY("soft-lo") "soft-l0 u2.0 nonthreadsafe nondefault /lib.so p.1.0 x y\n",
		     &mistyped, "", ":2 has that name, but is nondefault: programs do not get it");
	told_of_file("\nsoft-l0 k2.0 nonthreadsafe default /lib.so p.1.0 x y\n", &mistyped, "",
		     ":2 has that name, but is the kernel's: programs do not get it");
}

static void hidden_file(void **state)
{
	(void)state;
	unsetenv("DAT_OVERRIDE");
	write_file(own_path, ENTRY("soft-lo"));
	write_file(DAT_CONF_FALLBACK, ENTRY("soft-l0"));
	told(&mistyped, "dat: IA \"soft-l0\" not opened: " DAT_CONF_FALLBACK
			" has an entry of that name, but is not read, because " UDAPL_SYSCONFDIR
			"/dat.conf is there\n");
	write_file(DAT_CONF_FALLBACK, ENTRY("soft-eth0"));
	told(&mistyped, "dat: IA \"soft-l0\" not opened: " UDAPL_SYSCONFDIR
			"/dat.conf has no entry of that name; near: soft-lo\n");
	unlink(own_path);
	unlink(DAT_CONF_FALLBACK);
}

/* What was said of the file is not said again. */
static void no_file(void **state)
{
	(void)state;
	unsetenv("DAT_OVERRIDE");
	told(&mistyped, "dat: " UDAPL_SYSCONFDIR "/dat.conf: No such file or directory; the static "
			"registry is empty (dat-info --generate writes a file for this host)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_19_lines_that_programs_pass_over),
		cmocka_unit_test(near_names),
		cmocka_unit_test(names_of_the_file),
		cmocka_unit_test(other_versions),
		cmocka_unit_test(hidden_file),
		cmocka_unit_test(no_file),
	};

	unsetenv("DAT_TRACE_LEVEL");
	if (mkdir(UDAPL_SYSCONFDIR, 0755) && errno != EEXIST)
		return 99;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
