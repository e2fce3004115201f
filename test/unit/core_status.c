/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a transport's errno becomes. */
#include "dapl/base/status.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define FAIL(type, subtype) (0x80000000u | (DAT_RETURN)(type) | (DAT_RETURN)(subtype))

static void each_errno_has_its_code(void **state)
{
	static const struct {
		int err;
		DAT_RETURN rc;
	} codes[] = {
		{ 0, DAT_SUCCESS },
		{ ENOMEM, FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY) },
		{ EMFILE, FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) },
		{ ENFILE, FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) },
		{ ENOSPC, FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) },
		{ EAGAIN, FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) },
		{ ENOBUFS, FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) },
		{ EOPNOTSUPP, FAIL(DAT_MODEL_NOT_SUPPORTED, 0) },
		{ ENOSYS, FAIL(DAT_MODEL_NOT_SUPPORTED, 0) },
		{ EADDRINUSE, FAIL(DAT_CONN_QUAL_IN_USE, 0) },
		{ EADDRNOTAVAIL, FAIL(DAT_INVALID_ADDRESS, 0) },
		{ ENODEV, FAIL(DAT_INVALID_ADDRESS, 0) },
		{ ENXIO, FAIL(DAT_INVALID_ADDRESS, 0) },
		{ EAFNOSUPPORT, FAIL(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED) },
		{ ENETUNREACH, FAIL(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE) },
		{ EHOSTUNREACH, FAIL(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE) },
		{ EACCES, FAIL(DAT_PRIVILEGES_VIOLATION, 0) },
		{ EPERM, FAIL(DAT_PRIVILEGES_VIOLATION, 0) },
		{ EINVAL, FAIL(DAT_INTERNAL_ERROR, 0) },
		{ EIO, FAIL(DAT_INTERNAL_ERROR, 0) },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_int_equal(dapl_status(-codes[i].err, DAT_RESOURCE_TEP), codes[i].rc);
}

/* GEN-2, GEN-3: only 0 is success, and every failure carries the class. */
static void no_failure_looks_like_success(void **state)
{
	int err;

	(void)state;
	for (err = 1; err < 4096; err++)
		assert_int_equal(dapl_status(-err, DAT_RESOURCE_DEVICE) >> 30, 2);
}

static void a_shortage_names_what_was_short(void **state)
{
	(void)state;
	assert_int_equal(DAT_GET_SUBTYPE(dapl_status(-ENOSPC, DAT_RESOURCE_MEMORY_REGION)),
			 DAT_RESOURCE_MEMORY_REGION);
	assert_int_equal(DAT_GET_SUBTYPE(dapl_status(-ENOMEM, DAT_RESOURCE_MEMORY_REGION)),
			 DAT_RESOURCE_MEMORY);
}

/* EVD-1 */
static void two_codes_are_bare(void **state)
{
	(void)state;
	assert_int_equal(DAPL_QUEUE_EMPTY, 0x000d0000);
	assert_int_equal(DAPL_TIMEOUT_EXPIRED, 0x000f0000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_errno_has_its_code),
		cmocka_unit_test(no_failure_looks_like_success),
		cmocka_unit_test(a_shortage_names_what_was_short),
		cmocka_unit_test(two_codes_are_bare),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
