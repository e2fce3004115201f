/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_registry_providers_related. */
#include "test/unit/dat_util.h"

#include <stdlib.h>
#include <string.h>

struct related_ia {
	DAT_PROVIDER *provider;
	char name[32];
};

/* What the provider of a says about b, and the other way: 0, 1, or -1 for an error. */
static int a_of_b, b_of_a;

static struct fake a, b;
static DAT_PROVIDER objects;
static DAT_IA_HANDLE ia_a, ia_b;

static DAT_RETURN related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *answer)
{
	struct related_ia *object = (struct related_ia *)ia;
	int value = !strcmp(object->name, "a") ? a_of_b : b_of_a;

	assert_string_equal(name, !strcmp(object->name, "a") ? "b" : "a");
	if (value < 0)
		return RC(DAT_MODEL_NOT_SUPPORTED, 0);
	*answer = value ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

static DAT_RETURN open_related(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			       DAT_IA_HANDLE *ia)
{
	struct related_ia *object = calloc(1, sizeof(*object));

	(void)qlen;
	(void)evd;
	object->provider = &objects;
	strcpy(object->name, name);
	*ia = (DAT_IA_HANDLE)object;
	return DAT_SUCCESS;
}

static DAT_RETURN ask(const char *one, const char *two, DAT_HA_RELATIONSHIP *relationship)
{
	return dat_registry_providers_related((DAT_NAME_PTR)(uintptr_t)one,
					      (DAT_NAME_PTR)(uintptr_t)two, relationship);
}

/* Both ways round (HA-7). */
static void answers(const char *one, const char *two, DAT_HA_RELATIONSHIP expected)
{
	DAT_HA_RELATIONSHIP relationship = 99;

	assert_int_equal(ask(one, two, &relationship), DAT_SUCCESS);
	assert_int_equal(relationship, expected);
	relationship = 99;
	assert_int_equal(ask(two, one, &relationship), DAT_SUCCESS);
	assert_int_equal(relationship, expected);
}

static void ha_3_combinations(void **state)
{
	(void)state;
	assert_int_equal(util_open("a", 2, 0, DAT_FALSE, &ia_a), DAT_SUCCESS);
	assert_int_equal(util_open("b", 2, 0, DAT_FALSE, &ia_b), DAT_SUCCESS);
	a_of_b = b_of_a = 1;
	answers("a", "b", DAT_HA_TRUE);
	a_of_b = b_of_a = 0;
	answers("a", "b", DAT_HA_FALSE);
	a_of_b = 1;
	answers("a", "b", DAT_HA_CONFLICTING);
	b_of_a = -1;
	answers("a", "b", DAT_HA_UNKNOWN);
	a_of_b = -1;
	answers("a", "b", DAT_HA_UNKNOWN);
	objects.ia_ha_related_func = NULL;
	answers("a", "b", DAT_HA_UNKNOWN);
	objects.ia_ha_related_func = related;
	assert_int_equal(dat_ia_close(ia_a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(dat_ia_close(ia_b, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void ha_2_not_open(void **state)
{
	(void)state;
	a_of_b = b_of_a = 1;
	answers("a", "b", DAT_HA_UNKNOWN);
	assert_int_equal(util_open("a", 2, 0, DAT_FALSE, &ia_a), DAT_SUCCESS);
	answers("a", "b", DAT_HA_UNKNOWN);
	assert_int_equal(dat_ia_close(ia_a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void ha_4_itself(void **state)
{
	(void)state;
	a_of_b = b_of_a = 0;
	answers("a", "a", DAT_HA_TRUE);
	answers("static", "static", DAT_HA_TRUE);
}

/* HA-5: the library of the static entry does not exist, and nobody looks. */
static void ha_5_static_name(void **state)
{
	(void)state;
	answers("a", "static", DAT_HA_UNKNOWN);
}

static void ha_8_arguments(void **state)
{
	DAT_HA_RELATIONSHIP relationship;
	char longest[257] = { 0 };

	(void)state;
	memset(longest, 'n', 256);
	assert_int_equal(ask(NULL, "b", &relationship),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(ask("", "b", &relationship), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(ask(longest, "b", &relationship),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(ask("a", NULL, &relationship),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(ask("a", "", &relationship), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(ask("a", longest, &relationship),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(ask("a", "b", NULL), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	assert_int_equal(ask("a", "nobody", &relationship),
			 RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	assert_int_equal(ask("nobody", "nobody", &relationship),
			 RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ha_3_combinations), cmocka_unit_test(ha_2_not_open),
		cmocka_unit_test(ha_4_itself),	     cmocka_unit_test(ha_5_static_name),
		cmocka_unit_test(ha_8_arguments),
	};

	util_conf("static u1.2 threadsafe default /nonexistent/lib.so p.1.0 x y\n");
	fake_init(&a, "a", 2, 0, DAT_FALSE);
	fake_init(&b, "b", 2, 0, DAT_FALSE);
	objects = a.table;
	objects.ia_ha_related_func = related;
	a.table.ia_open_func = b.table.ia_open_func = open_related;
	if (dat_registry_add_provider(&a.table, &a.info) != DAT_SUCCESS ||
	    dat_registry_add_provider(&b.table, &b.info) != DAT_SUCCESS)
		return 99;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
