/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A set-user-id program does not take its dat.conf, which names code to run, from the environment.
 * The test makes such a program of a copy of itself, so it is linked with libdat2's objects: the
 * loader would not take a library path from the environment either.
 */
#include "test/unit/dat_util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NOBODY 65534

static char copy[4096];

/* The copy's part: says whether it is a set-user-id process and whether it sees the entry. */
static int list_entries(void)
{
	DAT_PROVIDER_INFO infos[64], *list[64];
	DAT_COUNT num = 0, i;
	int seen = 0;

	for (i = 0; i < 64; i++)
		list[i] = &infos[i];
	dat_registry_list_providers(64, &num, list);
	for (i = 0; i < num; i++)
		seen |= !strcmp(infos[i].ia_name, "from-the-environment");
	printf("secure %d seen %d\n", getauxval(AT_SECURE) != 0, seen);
	fflush(stdout);
	_exit(0);
}

static int run_copy(void *arg)
{
	(void)arg;
	execl(copy, copy, "list", (char *)NULL);
	return errno;
}

static void make_copy(void)
{
	static char image[1 << 25];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t n;
	size_t length = 0;
	char *slash;

	while ((n = read(fd, image + length, sizeof(image) - length)) > 0)
		length += (size_t)n;
	close(fd);
	assert_in_range(length, 1, sizeof(image) - 1);
	snprintf(copy, sizeof(copy), "%s", util_file("setuid-copy", image, length));
	assert_int_equal(chmod(copy, 0755), 0);
	slash = strrchr(copy, '/');
	*slash = '\0';
	assert_int_equal(chmod(copy, 0711), 0);
	*slash = '/';
}

static void reg_8_not_in_set_user_id_programs(void **state)
{
	struct outcome o;

	(void)state;
	make_copy();
	setenv("DAT_TRACE_LEVEL", "0", 1); /* this machine's own dat.conf is not under test */
	util_child(run_copy, NULL, &o);
	assert_string_equal(o.out, "secure 0 seen 1\n");
	assert_int_equal(chown(copy, NOBODY, NOBODY), 0);
	assert_int_equal(chmod(copy, 04755), 0);
	util_child(run_copy, NULL, &o);
	assert_string_equal(o.out, "secure 1 seen 0\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_8_not_in_set_user_id_programs),
	};

	struct statvfs fs;

	(void)argv;
	if (argc > 1)
		return list_entries();
	if (geteuid()) {
		puts("1..0 # SKIP only root can make a program of another user");
		return 0;
	}
	if (statvfs("/tmp", &fs) || fs.f_flag & ST_NOSUID) {
		puts("1..0 # SKIP the file system of /tmp ignores set-user-id bits");
		return 0;
	}
	chmod(util_conf("from-the-environment u2.0 nonthreadsafe default l p.1.0 x y\n"), 0644);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
