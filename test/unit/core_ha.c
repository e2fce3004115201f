/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The groups of adapters that back each other up (HA-1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dapl/adapter/ha.h"

static void related(const char *groups, const char *one, const char *other)
{
	/* HA-7 */
	assert_true(dapl_ha_together(groups, one, other));
	assert_true(dapl_ha_together(groups, other, one));
}

static void unrelated(const char *groups, const char *one, const char *other)
{
	assert_false(dapl_ha_together(groups, one, other));
	assert_false(dapl_ha_together(groups, other, one));
}

static void a_group_relates_its_members(void **state)
{
	(void)state;
	related("a b", "a", "b");
	related("a,b", "a", "b");
	related(" a ,\tb\n", "a", "b");
	related("a b c", "a", "c");
	related("x y;a b", "a", "b");
	related(";; x ;a b;", "a", "b");
	/* One adapter may be in several. */
	related("a b; a c", "a", "c");
}

static void nothing_else_is_related(void **state)
{
	(void)state;
	unrelated("", "a", "b");
	unrelated(" ; ,; ", "a", "b");
	unrelated("a", "a", "b");
	unrelated("a;b", "a", "b");
	unrelated("a b; a c", "b", "c");
	/* Names count whole. */
	unrelated("ab ba", "a", "b");
	unrelated("a bb", "a", "b");
	unrelated("a b", "", "a");
}

static void a_name_alone_is_not_related_to_another_beginning(void **state)
{
	(void)state;
	unrelated("ofa-v2-ib0 ofa-v2-ib1", "ofa-v2-ib0", "ofa-v2-ib");
	unrelated("ofa-v2-ib0 ofa-v2-ib1", "ofa-v2-ib0", "ofa-v2-ib10");
	related("ofa-v2-ib0 ofa-v2-ib1", "ofa-v2-ib0", "ofa-v2-ib1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_relates_its_members),
		cmocka_unit_test(nothing_else_is_related),
		cmocka_unit_test(a_name_alone_is_not_related_to_another_beginning),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
