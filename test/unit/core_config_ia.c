/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapl.conf: choices, texts, and values that each IA has of its own. */
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

struct lively {
	int64_t link;
	const char *file;
	int64_t depth;
	int64_t level;
};

static const char *const links[] = { "auto", "tcp", "shm", NULL };

static const struct dapl_option lively_options[] = {
	{ .name = "link",
	  .env = "DAPL_TEST_LINK",
	  .type = DAPL_OPTION_CHOICE,
	  .unit = "",
	  .help = "which way",
	  .value_default = 0,
	  .choices = links,
	  .offset = offsetof(struct lively, link) },
	{ .name = "file",
	  .env = "DAPL_TEST_FILE",
	  .type = DAPL_OPTION_TEXT,
	  .unit = "",
	  .help = "where to",
	  .offset = offsetof(struct lively, file) },
	{ .name = "depth",
	  .env = "DAPL_TEST_DEPTH",
	  .type = DAPL_OPTION_INT,
	  .unit = "",
	  .help = "how deep",
	  .value_default = 16,
	  .value_min = 1,
	  .value_max = 100,
	  .offset = offsetof(struct lively, depth) },
	{ .name = "level",
	  .type = DAPL_OPTION_INT,
	  .unit = "",
	  .help = "of everybody",
	  .value_default = 1,
	  .value_min = 0,
	  .value_max = 10,
	  .of_process = true,
	  .offset = offsetof(struct lively, level) },
};

static struct lively lively;

static void load_lively(void)
{
	dapl_config_load("lively", lively_options, 4, &lively);
}

static struct lively *one, *other;

static void open_both(void)
{
	free(one);
	free(other);
	one = dapl_config_for_ia("one");
	other = dapl_config_for_ia("other");
}

static void choices_and_texts(void **state)
{
	(void)state;
	write_conf("lively { link = SHM file = \"/a b\" }");
	hear(load_lively);
	silent();
	assert_int_equal(lively.link, 2);
	assert_string_equal(lively.file, "/a b");
	write_conf("lively { link = udp }");
	hear(load_lively);
	heard("link is \"udp\", which is not one of auto, tcp, shm; auto stays");
	assert_int_equal(lively.link, 0);
	assert_string_equal(lively.file, "");
	setenv("DAPL_TEST_LINK", "tcp", 1);
	setenv("DAPL_TEST_FILE", "/from/outside", 1);
	hear(load_lively);
	unsetenv("DAPL_TEST_LINK");
	unsetenv("DAPL_TEST_FILE");
	assert_int_equal(lively.link, 1);
	assert_string_equal(lively.file, "/from/outside");
}

static void an_ia_has_values_of_its_own(void **state)
{
	(void)state;
	write_conf("ia one { depth = 7\n link = shm }\nlively { depth = 5 }\n"
		   "ia \"other\" { depth = 1000\n dept = 2\n strict = yes\n level = 3 }\n");
	hear(load_lively);
	silent();
	hear(open_both);
	assert_int_equal(one->depth, 7);
	assert_int_equal(one->link, 2);
	assert_int_equal(other->depth, 5);
	assert_int_equal(other->link, 0);
	assert_int_equal(other->level, 1);
	assert_int_equal(lively.depth, 5);
	heard(":4, section ia other: depth is 1000, but 1 to 100 are possible; 5 stays");
	heard(":5, section ia other: unknown name dept, near: depth");
	heard(":6, section ia other: strict is the whole process's");
	heard(":7, section ia other: level is the whole process's");
	assert_int_equal(lines(), 4);
	hear(open_both); /* said once */
	silent();
	setenv("DAPL_TEST_DEPTH", "9", 1);
	hear(load_lively);
	hear(open_both);
	unsetenv("DAPL_TEST_DEPTH");
	assert_int_equal(one->depth, 9); /* the environment comes last */
	assert_int_equal(other->depth, 9);
	assert_int_equal(one->link, 2);
	free(one);
	free(other);
	one = other = NULL;
}

static char listed[4096];

static void list(void *arg, const struct dapl_setting *setting)
{
	size_t used = strlen(listed);

	(void)arg;
	snprintf(listed + used, sizeof(listed) - used, "%s.%s=%s from %s\n", setting->section,
		 setting->option->name, setting->value, setting->origin);
}

static void settings_are_listed_with_their_origin(void **state)
{
	char expected[1024];

	(void)state;
	write_conf("ia one { depth = 7 }\nlively {\n depth = 5\n link = tcp }");
	setenv("DAPL_TEST_LINK", "shm", 1);
	hear(load_lively);
	silent();
	unsetenv("DAPL_TEST_LINK");
	listed[0] = '\0';
	dapl_config_each(NULL, list, NULL);
	snprintf(expected, sizeof(expected),
		 "lively.link=shm from environment\nlively.file= from default\n"
		 "lively.depth=5 from %s:3\nlively.level=1 from default\n",
		 conf_path);
	if (!strstr(listed, "dapl.strict=no from default\n") || !strstr(listed, expected))
		fail_msg("%s", listed);
	listed[0] = '\0';
	dapl_config_each("one", list, NULL);
	snprintf(expected, sizeof(expected), "lively.depth=7 from %s:1\n", conf_path);
	assert_string_equal(listed, expected);
	listed[0] = '\0';
	dapl_config_each("nobody", list, NULL);
	assert_string_equal(listed, "");
}

/* ---- What looks like ours and is not ---- */

static void near_sections_and_variables_are_told(void **state)
{
	(void)state;
	write_conf("livly { depth = 7 }\nsomething { x = 1 }");
	setenv("DAPL_TEST_DEPHT", "7", 1);
	setenv("DAPL_OF_ANOTHER", "7", 1);
	setenv("DAPL_NETWORK_NODES", "7", 1);
	hear(load_lively);
	unsetenv("DAPL_TEST_DEPHT");
	unsetenv("DAPL_OF_ANOTHER");
	unsetenv("DAPL_NETWORK_NODES");
	heard(":1: unknown section livly, near: lively");
	heard("DAPL_TEST_DEPHT: unknown variable, near: DAPL_TEST_DEPTH");
	heard("DAPL_NETWORK_NODES has no effect on provider lively: ");
	assert_int_equal(lines(), 3);
	assert_int_equal(lively.depth, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(choices_and_texts),
		cmocka_unit_test(an_ia_has_values_of_its_own),
		cmocka_unit_test(settings_are_listed_with_their_origin),
		cmocka_unit_test(near_sections_and_variables_are_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_conf, remove_conf);
}
