/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that loads libdat2 itself, with local scope, as language bindings do. Provider modules
 * find libdat2's functions all the same, though they do not name the library they are in.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test/unit/counting.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef DAT_RETURN open_fn(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *,
			   DAT_UINT32, DAT_UINT32, DAT_BOOLEAN);
typedef DAT_RETURN close_fn(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);

static struct counting counting;

static void reg_44_local_libdat2(void **state)
{
	void *dl = dlopen(LIBDAT2, RTLD_NOW | RTLD_LOCAL);
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	open_fn *open_ia;
	close_fn *close_ia;

	(void)state;
	assert_non_null(dl);
	*(void **)&open_ia = dlsym(dl, "dat_ia_openv");
	*(void **)&close_ia = dlsym(dl, "dat_ia_close");
	assert_int_equal(open_ia((DAT_NAME_PTR) "counting", 8, &evd, &ia, 2, 0, DAT_FALSE),
			 DAT_SUCCESS);
	assert_int_equal(close_ia(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(counting.inits, 1);
	assert_int_equal(counting.finis, 1);
	/* What others hold of it is not pulled from under them. */
	assert_int_equal(dlclose(dl), 0);
	assert_int_equal(open_ia((DAT_NAME_PTR) "counting", 8, &evd, &ia, 2, 0, DAT_FALSE),
			 DAT_SUCCESS);
	assert_int_equal(close_ia(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_44_local_libdat2),
	};
	int fd = memfd_create("dat.conf", 0);
	char path[64];

	dprintf(fd,
		"counting u2.0 nonthreadsafe default " MODULE_DIR
		"/counting.so p.1.0 \"%p\" \"\"\n",
		(void *)&counting);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", path, 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
