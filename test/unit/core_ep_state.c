/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state machine of endpoints against EP-129 and EP-131 to EP-149, written out here once more
 * and compared entry by entry.
 */
#include "dapl/endpoint/ep_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum {
	NUM = 9 /* states that occur */
};

/* In the order of the columns of EP-129. */
static const struct {
	const char *abbr, *name;
	uint8_t state;
	DAT_RETURN subtype;
} states[NUM] = {
	{ "U", "UNCONNECTED", 0, DAT_INVALID_STATE_EP_UNCONNECTED },
	{ "R", "RESERVED", 2, DAT_INVALID_STATE_EP_RESERVED },
	{ "P", "PASSIVE_CONNECTION_PENDING", 4, DAT_INVALID_STATE_EP_PASSCONNPENDING },
	{ "T", "TENTATIVE_CONNECTION_PENDING", 7, DAT_INVALID_STATE_EP_TENTCONNPENDING },
	{ "A", "ACTIVE_CONNECTION_PENDING", 6, DAT_INVALID_STATE_EP_ACTCONNPENDING },
	{ "CP", "COMPLETION_PENDING", 12, DAT_INVALID_STATE_EP_COMPLPENDING },
	{ "C", "CONNECTED", 9, DAT_INVALID_STATE_EP_CONNECTED },
	{ "DP", "DISCONNECT_PENDING", 10, DAT_INVALID_STATE_EP_DISCPENDING },
	{ "D", "DISCONNECTED", 11, DAT_INVALID_STATE_EP_DISCONNECTED },
};

static const struct {
	const char *name;
	uint16_t number;
} events[] = {
	{ "ESTABLISHED", 0x4001 },	 { "PEER_REJECTED", 0x4002 },
	{ "NON_PEER_REJECTED", 0x4003 }, { "ACCEPT_COMPLETION_ERROR", 0x4004 },
	{ "DISCONNECTED", 0x4005 },	 { "BROKEN", 0x4006 },
	{ "TIMED_OUT", 0x4007 },	 { "UNREACHABLE", 0x4008 },
};

/* "IS": refused; "-": cannot occur, and is refused; "ok"; "gone"; "->X"; "->X e:EVENT". */
struct row {
	enum dapl_ep_cause cause;
	const char *cells[NUM];
};

/* EP-129, with EP-59 for dat_ep_modify and DTO-20 for the posts. */
static const struct row calls[] = {
	{ DAPL_EP_CONNECT, { "->A", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS" } },
	{ DAPL_EP_UD_CONNECT,
	  { "->A", "IS", "IS", "IS", "ok", "ok", "IS", "IS", "IS" } }, /* IBX-62 */
	{ DAPL_EP_RSP_CREATE, { "->R", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS" } },
	{ DAPL_EP_RSP_FREE, { "-", "->U", "-", "-", "-", "-", "-", "-", "-" } },
	{ DAPL_EP_ACCEPT, { "->CP", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS" } },
	{ DAPL_EP_UD_ACCEPT, { "->CP", "IS", "IS", "IS", "ok", "ok", "IS", "IS", "IS" } },
	{ DAPL_EP_ACCEPT_OWN, { "-", "-", "->CP", "->CP", "-", "-", "-", "-", "-" } },
	{ DAPL_EP_REJECT, { "-", "-", "->U", "gone", "-", "-", "-", "-", "-" } },
	{ DAPL_EP_DISCONNECT,
	  { "IS", "IS", "IS", "IS", "->D e:DISCONNECTED", "->D e:DISCONNECTED",
	    "->D e:DISCONNECTED", "->D e:DISCONNECTED", "ok" } },
	{ DAPL_EP_DISCONNECT_GRACEFUL,
	  { "IS", "IS", "IS", "IS", "->D e:DISCONNECTED", "->D e:DISCONNECTED", "->DP", "ok",
	    "ok" } },
	{ DAPL_EP_RESET, { "ok", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "->U" } },
	{ DAPL_EP_FREE, { "gone", "IS", "IS", "IS", "gone", "gone", "gone", "gone", "gone" } },
	{ DAPL_EP_CLOSE,
	  { "gone", "gone", "gone", "gone", "gone", "gone", "gone", "gone", "gone" } },
	{ DAPL_EP_MODIFY_PZ, { "ok", "IS", "IS", "ok", "IS", "IS", "IS", "IS", "IS" } },
	{ DAPL_EP_MODIFY_QUEUES, { "ok", "ok", "ok", "ok", "IS", "IS", "IS", "IS", "IS" } },
	{ DAPL_EP_MODIFY_U, { "ok", "IS", "IS", "IS", "IS", "IS", "IS", "IS", "IS" } },
	{ DAPL_EP_POST_RECV, { "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok" } },
	{ DAPL_EP_POST_REQUEST, { "IS", "IS", "IS", "IS", "IS", "IS", "ok", "IS", "ok" } },
};

#define NPR "->D e:NON_PEER_REJECTED"
#define ACE "->D e:ACCEPT_COMPLETION_ERROR"

/* EP-131 to EP-149; what changes nothing and says nothing (EP-141, EP-149) is refused. */
static const struct row occurrences[] = {
	{ DAPL_EP_REQUEST, { "-", "->P", "-", "-", "-", "-", "-", "-", "-" } }, /* EP-132 */
	{ DAPL_EP_ESTABLISHED,							/* EP-134, EP-139 */
	  { "-", "-", "-", "-", "->C e:ESTABLISHED", "->C e:ESTABLISHED", "-", "-", "-" } },
	{ DAPL_EP_PEER_REJECTED, /* EP-135 */
	  { "-", "-", "-", "-", "->D e:PEER_REJECTED", "-", "-", "-", "-" } },
	{ DAPL_EP_REFUSED, { "-", "-", "-", "-", NPR, ACE, "-", "-", "-" } }, /* EP-136, EP-140 */
	{ DAPL_EP_TIMED_OUT,						      /* EP-137, EP-95 */
	  { "-", "-", "-", "-", "->D e:TIMED_OUT", "-", "-", "->D e:DISCONNECTED", "-" } },
	{ DAPL_EP_UNREACHABLE, /* EP-138, EP-140 */
	  { "-", "-", "-", "-", "->D e:UNREACHABLE", ACE, "-", "-", "-" } },
	{ DAPL_EP_ENDED, /* EP-136, EP-140, EP-142, EP-147, EP-148 */
	  { "-", "-", "-", "-", NPR, ACE, "->D e:DISCONNECTED", "->D e:DISCONNECTED", "-" } },
	{ DAPL_EP_BROKEN, /* EP-136, EP-140, EP-143 to EP-146, EP-148 */
	  { "-", "-", "-", "-", NPR, ACE, "->D e:BROKEN", "->D e:DISCONNECTED", "-" } },
};

static uint8_t state_of(const char *abbr, size_t len)
{
	size_t i;

	for (i = 0; i < NUM; i++)
		if (strlen(states[i].abbr) == len && !strncmp(states[i].abbr, abbr, len))
			return states[i].state;
	fail_msg("no state %s", abbr);
	return 0;
}

static uint16_t event_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (!strcmp(events[i].name, name))
			return events[i].number;
	fail_msg("no event %s", name);
	return 0;
}

static struct dapl_ep_step parse(const char *cell)
{
	struct dapl_ep_step step = { .verdict = DAPL_EP_REFUSE };
	const char *event = strstr(cell, " e:");

	if (!strcmp(cell, "ok")) {
		step.verdict = DAPL_EP_STAY;
	} else if (!strcmp(cell, "gone")) {
		step.verdict = DAPL_EP_GO;
		step.next = DAPL_EP_GONE;
	} else if (!strncmp(cell, "->", 2)) {
		step.verdict = DAPL_EP_GO;
		step.next =
			state_of(cell + 2, event ? (size_t)(event - cell) - 2 : strlen(cell + 2));
		step.event = event ? event_of(event + 3) : 0;
	}
	return step;
}

static void check_row(const struct row *row)
{
	struct dapl_ep_step is, expected;
	size_t i;

	for (i = 0; i < NUM; i++) {
		is = dapl_ep_step(states[i].state, row->cause);
		expected = parse(row->cells[i]);
		if (is.verdict != expected.verdict)
			fail_msg("%s in %s: verdict %d, not %d", dapl_ep_cause_text(row->cause),
				 states[i].abbr, is.verdict, expected.verdict);
		if (is.verdict == DAPL_EP_GO &&
		    (is.next != expected.next || is.event != expected.event))
			fail_msg("%s in %s: to %d with 0x%x, not to %d with 0x%x",
				 dapl_ep_cause_text(row->cause), states[i].abbr, is.next, is.event,
				 expected.next, expected.event);
	}
}

static void ep_129_calls(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		check_row(&calls[i]);
}

static void ep_131_occurrences(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(occurrences) / sizeof(occurrences[0]); i++)
		check_row(&occurrences[i]);
}

static void every_cause_is_in_one_row(void **state)
{
	unsigned int seen[DAPL_EP_NUM_CAUSES] = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		seen[calls[i].cause]++;
	for (i = 0; i < sizeof(occurrences) / sizeof(occurrences[0]); i++)
		seen[occurrences[i].cause]++;
	for (i = 0; i < DAPL_EP_NUM_CAUSES; i++)
		assert_int_equal(seen[i], 1);
}

/* EP-5 and EP-6: nothing enters the other states, and nothing works in them. */
static void other_states_never_occur(void **state)
{
	bool occurs[DAPL_EP_NUM_STATES] = { false };
	struct dapl_ep_step step;
	uint8_t i;
	int cause;

	(void)state;
	for (i = 0; i < NUM; i++)
		occurs[states[i].state] = true;
	for (i = 0; i < DAPL_EP_NUM_STATES; i++)
		for (cause = 0; cause < DAPL_EP_NUM_CAUSES; cause++) {
			step = dapl_ep_step(i, (enum dapl_ep_cause)cause);
			if (!occurs[i])
				assert_int_equal(step.verdict, DAPL_EP_REFUSE);
			else if (step.verdict == DAPL_EP_GO && step.next != DAPL_EP_GONE)
				assert_true(occurs[step.next]);
		}
}

/* Part 2's table of subtypes: the refusal names the state. */
static void a_refusal_names_the_state(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NUM; i++) {
		assert_int_equal(dapl_ep_state_error(states[i].state),
				 0x80000000u | DAT_INVALID_STATE | states[i].subtype);
		assert_string_equal(dapl_ep_state_name(states[i].state), states[i].name);
	}
	assert_int_equal(DAT_GET_TYPE(dapl_ep_state_error(DAPL_EP_GONE)), DAT_INVALID_STATE);
}

/* EP-151, EP-152: an outcome of connect and accept each, then one end. */
static void every_way_out_of_a_pending_state_says_one_thing(void **state)
{
	struct dapl_ep_step step;
	int cause;

	(void)state;
	for (cause = 0; cause < DAPL_EP_NUM_CAUSES; cause++) {
		step = dapl_ep_step(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, cause);
		if (step.verdict == DAPL_EP_GO && step.next != DAPL_EP_GONE)
			assert_true(step.event && step.event != 0x4004 && step.event != 0x4006);
		step = dapl_ep_step(DAT_EP_STATE_COMPLETION_PENDING, cause);
		if (step.verdict == DAPL_EP_GO && step.next != DAPL_EP_GONE)
			assert_true(step.event == 0x4001 || step.event == 0x4004 ||
				    step.event == 0x4005);
		step = dapl_ep_step(DAT_EP_STATE_CONNECTED, cause);
		if (step.verdict == DAPL_EP_GO && step.next == DAT_EP_STATE_DISCONNECTED)
			assert_true(step.event == 0x4005 || step.event == 0x4006);
		step = dapl_ep_step(DAT_EP_STATE_DISCONNECTED, cause);
		assert_int_equal(step.event, 0);
	}
}

static void three_states_are_connected(void **state)
{
	uint8_t i;

	(void)state;
	for (i = 0; i < DAPL_EP_NUM_STATES; i++)
		assert_int_equal(dapl_ep_state_connected(i), i == 9 || i == 13 || i == 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ep_129_calls),
		cmocka_unit_test(ep_131_occurrences),
		cmocka_unit_test(every_cause_is_in_one_row),
		cmocka_unit_test(other_states_never_occur),
		cmocka_unit_test(a_refusal_names_the_state),
		cmocka_unit_test(every_way_out_of_a_pending_state_says_one_thing),
		cmocka_unit_test(three_states_are_connected),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
