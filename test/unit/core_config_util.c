/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/core_config_util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <cmocka.h>
#include <unistd.h>

char conf_path[64];
char said[16384];

int make_conf(void **state)
{
	int fd;

	(void)state;
	snprintf(conf_path, sizeof(conf_path), "/tmp/udapl-config-XXXXXX");
	fd = mkstemp(conf_path);
	if (fd < 0)
		return -1;
	close(fd);
	return setenv("DAPL_CONF", conf_path, 1);
}

int remove_conf(void **state)
{
	(void)state;
	return unlink(conf_path);
}

void write_conf_bytes(const char *bytes, size_t length)
{
	int fd = open(conf_path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

void write_conf(const char *text)
{
	write_conf_bytes(text, strlen(text));
}

void hear(void (*body)(void))
{
	int err = memfd_create("err", MFD_CLOEXEC), old = dup(STDERR_FILENO);
	ssize_t n;

	assert_true(err >= 0 && old >= 0);
	dup2(err, STDERR_FILENO);
	body();
	dup2(old, STDERR_FILENO);
	n = pread(err, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	close(err);
	close(old);
}

void heard(const char *what)
{
	if (strstr(said, what))
		return;
	print_message("expected \"%s\" in: %s\n", what, said); /* TAP shows no more of fail_msg */
	fail();
}

void silent(void)
{
	assert_string_equal(said, "");
}

unsigned int lines(void)
{
	unsigned int num = 0;
	const char *c;

	for (c = said; *c; c++)
		num += *c == '\n';
	return num;
}
