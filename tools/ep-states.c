/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints the state machine of endpoints, which is dapl/endpoint/ep_state.c, as doc/ep-states.md. */
#include <stdio.h>

#include "dapl/endpoint/ep_state.h"

/* The first cause that is no call. */
#define FIRST_OCCURRENCE DAPL_EP_REQUEST

static const struct {
	const char *abbr;
	uint8_t state;
} states[] = {
	{ "U", DAT_EP_STATE_UNCONNECTED },
	{ "R", DAT_EP_STATE_RESERVED },
	{ "P", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING },
	{ "T", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING },
	{ "A", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING },
	{ "CP", DAT_EP_STATE_COMPLETION_PENDING },
	{ "C", DAT_EP_STATE_CONNECTED },
	{ "DP", DAT_EP_STATE_DISCONNECT_PENDING },
	{ "D", DAT_EP_STATE_DISCONNECTED },
};

#define NUM_STATES (sizeof(states) / sizeof(states[0]))

static const struct {
	uint16_t number;
	const char *name;
} events[] = {
	{ DAT_CONNECTION_EVENT_ESTABLISHED, "ESTABLISHED" },
	{ DAT_CONNECTION_EVENT_PEER_REJECTED, "PEER_REJECTED" },
	{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "NON_PEER_REJECTED" },
	{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, "ACCEPT_COMPLETION_ERROR" },
	{ DAT_CONNECTION_EVENT_DISCONNECTED, "DISCONNECTED" },
	{ DAT_CONNECTION_EVENT_BROKEN, "BROKEN" },
	{ DAT_CONNECTION_EVENT_TIMED_OUT, "TIMED_OUT" },
	{ DAT_CONNECTION_EVENT_UNREACHABLE, "UNREACHABLE" },
};

static const char *abbr_of(uint8_t state)
{
	size_t i;

	for (i = 0; i < NUM_STATES; i++)
		if (states[i].state == state)
			return states[i].abbr;
	return "gone";
}

static const char *event_name(uint16_t number)
{
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i].number == number)
			return events[i].name;
	return "?";
}

static void print_cell(struct dapl_ep_step step)
{
	switch (step.verdict) {
	case DAPL_EP_REFUSE:
		printf(" |");
		break;
	case DAPL_EP_STAY:
		printf(" ok |");
		break;
	default:
		printf(" → %s%s%s |", abbr_of(step.next), step.event ? ", " : "",
		       step.event ? event_name(step.event) : "");
		break;
	}
}

static void print_table(const char *corner, int first, int end)
{
	size_t i;
	int cause;

	printf("\n| %s |", corner);
	for (i = 0; i < NUM_STATES; i++)
		printf(" %s |", states[i].abbr);
	printf("\n|---|");
	for (i = 0; i < NUM_STATES; i++)
		printf("---|");
	for (cause = first; cause < end; cause++) {
		printf("\n| %s |", dapl_ep_cause_text((enum dapl_ep_cause)cause));
		for (i = 0; i < NUM_STATES; i++)
			print_cell(dapl_ep_step(states[i].state, (enum dapl_ep_cause)cause));
	}
	printf("\n");
}

static void print_states(void)
{
	const char *major, *minor;
	size_t i;

	printf("\n| | `DAT_EP_STATE_...` | value | subtype of `DAT_INVALID_STATE` |\n"
	       "|---|---|---|---|\n");
	for (i = 0; i < NUM_STATES; i++) {
		dat_strerror(dapl_ep_state_error(states[i].state), &major, &minor);
		printf("| %s | %s | %u | `%s` |\n", states[i].abbr,
		       dapl_ep_state_name(states[i].state), states[i].state, minor);
	}
}

int main(void)
{
	printf("<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->\n"
	       "# States of an endpoint\n\n"
	       "Written by `tools/ep-states` from the table in `dapl/endpoint/ep_state.c`; `make "
	       "check` "
	       "compares the two.\n");
	print_states();
	printf("\n## What a program calls\n\n"
	       "`→ X` the endpoint goes to X, with a `DAT_CONNECTION_EVENT_...` on its connect "
	       "EVD if one is named;\n`→ gone` it is destroyed; `ok` success without a change of "
	       "state. Where nothing stands the call fails with\n`DAT_INVALID_STATE`, and the "
	       "subtype names the state.\n");
	print_table("call", 0, FIRST_OCCURRENCE);
	printf("\n## What happens\n\n"
	       "Where nothing stands the endpoint takes no notice.\n");
	print_table("occurrence", FIRST_OCCURRENCE, DAPL_EP_NUM_CAUSES);
	return ferror(stdout) || fflush(stdout);
}
