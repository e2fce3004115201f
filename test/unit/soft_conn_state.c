/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of a connection's life: what it must never say, whatever its rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "providers/soft/cm/conn_state.h"

static void ends_are_final(void **state)
{
	(void)state;
	for (unsigned cause = 0; cause < SOFT_CAUSES; cause++)
		assert_false(soft_conn_step(SOFT_CONN_ENDED, cause).valid);
}

/* An end gives the link up, and nothing else does. */
static void links_go_with_the_end(void **state)
{
	struct soft_conn_step step;

	(void)state;
	for (unsigned cause = 0; cause < SOFT_CAUSES; cause++)
		for (unsigned from = 0; from < SOFT_CONN_STATES; from++) {
			step = soft_conn_step(from, cause);
			if (step.valid)
				assert_int_equal(step.next == SOFT_CONN_ENDED,
						 step.link != SOFT_LINK_STAYS);
		}
}

/* What the core has asked for itself it is not told of. */
static void own_ends_are_silent(void **state)
{
	static const enum soft_conn_cause own[] = { SOFT_CAUSE_REJECT, SOFT_CAUSE_HANDOFF,
						    SOFT_CAUSE_DISCONNECT };

	(void)state;
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		for (unsigned from = 0; from < SOFT_CONN_STATES; from++)
			assert_int_equal(soft_conn_step(from, own[i]).tell, SOFT_TELL_NOTHING);
}

/* From each state that the core knows there is a way out by release, and each state is reached. */
static void every_state_has_its_ways(void **state)
{
	bool reached[SOFT_CONN_STATES] = {
		[SOFT_CONN_CONNECTING] = true, [SOFT_CONN_HALF_OPEN] = true
	};
	struct soft_conn_step step;

	(void)state;
	for (unsigned from = 0; from < SOFT_CONN_ENDED; from++) {
		step = soft_conn_step(from, SOFT_CAUSE_DISCONNECT);
		assert_int_equal(step.valid, from != SOFT_CONN_HALF_OPEN);
		for (unsigned cause = 0; cause < SOFT_CAUSES; cause++) {
			step = soft_conn_step(from, cause);
			if (step.valid)
				reached[step.next] = true;
		}
	}
	for (unsigned i = 0; i < SOFT_CONN_STATES; i++)
		assert_true(reached[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_final),
		cmocka_unit_test(links_go_with_the_end),
		cmocka_unit_test(own_ends_are_silent),
		cmocka_unit_test(every_state_has_its_ways),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
