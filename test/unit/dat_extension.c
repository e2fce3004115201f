/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_extension_op: which provider gets the call, with which handle and arguments. */
#include "test/unit/dat_util.h"

#include <stdlib.h>

#define OPEN_OP	 (DAT_OPEN_EXTENSION_BASE)
#define CLOSE_OP (DAT_CLOSE_EXTENSION_BASE)
#define SOME_OP	 7

static struct fake with, without;
static DAT_HANDLE query_handle = (DAT_HANDLE)&with;

/* What the provider saw last, and what it answers. */
static struct {
	int calls;
	DAT_HANDLE handle;
	int op;
	const char *name;
	DAT_UINT64 number;
	DAT_RETURN rc;
} seen;

static DAT_RETURN extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DAT_HANDLE *out;

	seen.calls++;
	seen.handle = handle;
	seen.op = (int)op;
	if ((int)op == OPEN_OP) {
		seen.name = va_arg(args, const char *);
		out = va_arg(args, DAT_HANDLE *);
		*out = query_handle;
	}
	if ((int)op == OPEN_OP || (int)op == SOME_OP)
		seen.number = va_arg(args, DAT_UINT64);
	return seen.rc;
}

static DAT_RETURN op_open(const char *name, DAT_HANDLE *out)
{
	return dat_extension_op(DAT_HANDLE_NULL, (DAT_EXTENDED_OP)OPEN_OP, name, out,
				(DAT_UINT64)42);
}

static DAT_RETURN op_close(DAT_HANDLE handle)
{
	return dat_extension_op(handle, (DAT_EXTENDED_OP)CLOSE_OP);
}

static DAT_RETURN op_some(DAT_HANDLE handle)
{
	return dat_extension_op(handle, (DAT_EXTENDED_OP)SOME_OP, (DAT_UINT64)43);
}

static void ibx_6_null_handle(void **state)
{
	(void)state;
	assert_int_equal(op_some(NULL), RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	assert_int_equal(op_close(NULL), RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
}

static void gen_30d_no_extension_seen(void **state)
{
	DAT_IA_HANDLE ia;

	(void)state;
	fake.extension = DAT_EXTENSION_NONE;
	assert_int_equal(util_open("with", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	assert_int_equal(op_some(ia), RC(DAT_NOT_IMPLEMENTED, 0));
	assert_int_equal(seen.calls, 0);
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

/* IBX-7 */
static void gen_30a_open_and_close(void **state)
{
	DAT_HANDLE handle = NULL, second = NULL;

	(void)state;
	assert_int_equal(op_open("with", &handle), DAT_SUCCESS);
	assert_ptr_equal(handle, query_handle);
	assert_int_equal(seen.op, OPEN_OP);
	assert_string_equal(seen.name, "with");
	assert_int_equal(seen.number, 42);
	assert_null(seen.handle);
	/* It counts as an open (REG-49), as often as it is made (IBX-112). */
	assert_int_equal(dat_registry_remove_provider(&with.table, &with.info),
			 RC(DAT_PROVIDER_IN_USE, 0));
	query_handle = (DAT_HANDLE)&without;
	assert_int_equal(op_open("with", &second), DAT_SUCCESS);
	assert_int_equal(op_close(handle), DAT_SUCCESS);
	assert_int_equal(seen.op, CLOSE_OP);
	assert_ptr_equal(seen.handle, handle);
	assert_int_equal(op_close(handle), RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	assert_int_equal(dat_registry_remove_provider(&with.table, &with.info),
			 RC(DAT_PROVIDER_IN_USE, 0));
	/* A close that fails leaves it open. */
	seen.rc = RC(DAT_INTERNAL_ERROR, 0);
	assert_int_equal(op_close(second), seen.rc);
	seen.rc = DAT_SUCCESS;
	assert_int_equal(op_close(second), DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&with.table, &with.info), DAT_SUCCESS);
	assert_int_equal(dat_registry_add_provider(&with.table, &with.info), DAT_SUCCESS);
}

static void ibx_108_open_arguments(void **state)
{
	char name[257] = { 0 };
	DAT_HANDLE handle = &name;
	size_t i;

	(void)state;
	for (i = 0; i < 256; i++)
		name[i] = 'n';
	assert_int_equal(op_open(NULL, &handle), RC(DAT_INVALID_HANDLE, DAT_INVALID_ARG3));
	assert_null(handle); /* IBX-109 */
	assert_int_equal(op_open(name, &handle), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	assert_int_equal(op_open("with", NULL), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
	assert_int_equal(op_open("nobody", &handle),
			 RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	assert_int_equal(op_open("without", &handle), RC(DAT_NOT_IMPLEMENTED, 0)); /* IBX-114 */
	seen.rc = RC(DAT_INVALID_ADDRESS, 0);
	assert_int_equal(op_open("with", &handle), seen.rc);
	seen.rc = DAT_SUCCESS;
	assert_null(handle);
	/* Nothing stays open. */
	assert_int_equal(dat_registry_remove_provider(&with.table, &with.info), DAT_SUCCESS);
	assert_int_equal(dat_registry_add_provider(&with.table, &with.info), DAT_SUCCESS);
}

static void gen_30_operations(void **state)
{
	DAT_PROVIDER *object = &with.table, *bare = &without.table;
	DAT_IA_HANDLE ia, other;

	(void)state;
	fake.extension = DAT_EXTENSION_IB;
	assert_int_equal(util_open("with", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	assert_int_equal(util_open("without", 2, 0, DAT_FALSE, &other), DAT_SUCCESS);
	assert_int_equal(op_some(&object), DAT_SUCCESS);
	assert_ptr_equal(seen.handle, &object);
	assert_int_equal(seen.number, 43);
	/* (e) a NULL slot; an IA handle is translated (c), here to an IA whose table has none. */
	assert_int_equal(op_some(&bare), RC(DAT_NOT_IMPLEMENTED, 0));
	assert_int_equal(op_some(other), RC(DAT_NOT_IMPLEMENTED, 0));
	/* An ordinary IA is no query handle (IBX-115). */
	assert_int_equal(op_close(ia), RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	seen.rc = RC(DAT_LENGTH_ERROR, 0);
	assert_int_equal(op_some(&object), seen.rc);
	seen.rc = DAT_SUCCESS;
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(op_some(ia), RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
}

/* (c) The provider sees its own pointer. */
static void gen_30c_ia_handle(void **state)
{
	/* IBX-8 */
	DAT_PROVIDER *own;
	DAT_IA_HANDLE ia;

	(void)state;
	assert_int_equal(util_open("with", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	own = *(DAT_PROVIDER **)fake.last_ia;
	*(DAT_PROVIDER **)fake.last_ia = &with.table;
	assert_int_equal(op_some(ia), DAT_SUCCESS);
	assert_ptr_equal(seen.handle, fake.last_ia);
	*(DAT_PROVIDER **)fake.last_ia = own;
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ibx_6_null_handle),
		cmocka_unit_test(gen_30d_no_extension_seen),
		cmocka_unit_test(gen_30a_open_and_close),
		cmocka_unit_test(ibx_108_open_arguments),
		cmocka_unit_test(gen_30_operations),
		cmocka_unit_test(gen_30c_ia_handle),
	};

	util_conf("");
	fake_init(&with, "with", 2, 0, DAT_FALSE);
	fake_init(&without, "without", 2, 0, DAT_FALSE);
	with.table.handle_extendedop_func = extension;
	if (dat_registry_add_provider(&with.table, &with.info) != DAT_SUCCESS ||
	    dat_registry_add_provider(&without.table, &without.info) != DAT_SUCCESS)
		return 99;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
