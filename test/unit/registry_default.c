/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where dat.conf is looked for when the environment does not say. This program contains libdat2's
 * objects, one of them compiled for a system configuration directory beside the build.
 */
#include "test/unit/dat_util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char default_path[] = UDAPL_SYSCONFDIR "/dat.conf";
static const char fallback_path[] = "/etc/dat.conf";

static void write_default(const char *text)
{
	FILE *file;

	unlink(default_path);
	if (!text)
		return;
	file = fopen(default_path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int lists_one(void *name)
{
	DAT_PROVIDER_INFO info, *list[1] = { &info };
	DAT_COUNT num = -1;

	EXPECT_RC(dat_registry_list_providers(1, &num, list), DAT_SUCCESS);
	EXPECT(num == 1);
	EXPECT(!strcmp(info.ia_name, name));
	return 0;
}

static int lists(void *arg)
{
	DAT_COUNT num;

	(void)arg;
	EXPECT_RC(dat_registry_list_providers(0, &num, NULL),
		  RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	return 0;
}

static void reg_9_default_file(void **state)
{
	struct outcome o;

	(void)state;
	write_default("by-default u2.0 nonthreadsafe default l p.1.0 x y\n");
	util_child(lists_one, (void *)(uintptr_t) "by-default", &o);
	assert_string_equal(o.err, "");
}

static void reg_8_override_wins(void **state)
{
	struct outcome o;

	(void)state;
	util_conf("override u2.0 nonthreadsafe default l p.1.0 x y\n");
	util_child(lists_one, (void *)(uintptr_t) "override", &o);
	/* And is not fallen back from. */
	setenv("DAT_OVERRIDE", "/nonexistent/dat.conf", 1);
	util_child(lists, NULL, &o);
	assert_string_equal(o.err,
			    "dat: /nonexistent/dat.conf: No such file or directory; the "
			    "static registry is empty (dat-info --generate writes a file for "
			    "this host)\n");
	unsetenv("DAT_OVERRIDE");
}

static void reg_9_fallback(void **state)
{
	int fallback = access(fallback_path, R_OK) == 0;
	char expected[4096] = "";
	struct outcome o;

	(void)state;
	write_default(NULL);
	util_child(lists, NULL, &o);
	if (!fallback)
		snprintf(expected, sizeof(expected),
			 "dat: %s: %s; the static registry is empty (dat-info --generate writes a "
			 "file for this host)\n",
			 default_path, strerror(ENOENT));
	assert_string_equal(o.err, expected);
	/* One that is there and cannot be opened is worth a word of its own. */
	assert_int_equal(symlink("dat.conf", default_path), 0);
	util_child(lists, NULL, &o);
	snprintf(expected, sizeof(expected), "dat: %s: %s; trying %s\n", default_path,
		 strerror(ELOOP), fallback_path);
	assert_memory_equal(o.err, expected, strlen(expected));
	write_default(NULL);
}

/* What old documents and other systems know: neither is looked at. */
static void reg_11_other_names_and_places(void **state)
{
	struct outcome o;

	(void)state;
	write_default("by-default u2.0 nonthreadsafe default l p.1.0 x y\n");
	setenv("DAT_CONF",
	       util_file("other.conf", "other u2.0 nonthreadsafe default l p.1.0 x y\n", 45), 1);
	util_child(lists_one, (void *)(uintptr_t) "by-default", &o);
	assert_string_equal(o.err, "");
	unsetenv("DAT_CONF");
	write_default(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_9_default_file),
		cmocka_unit_test(reg_8_override_wins),
		cmocka_unit_test(reg_9_fallback),
		cmocka_unit_test(reg_11_other_names_and_places),
	};

	unsetenv("DAT_OVERRIDE");
	unsetenv("DAT_TRACE_LEVEL");
	if (mkdir(UDAPL_SYSCONFDIR, 0755) && errno != EEXIST)
		return 99;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
