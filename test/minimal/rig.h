/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two open IAs of the minimal transport, an end on each, and a service point on the second. */
#ifndef MINIMAL_RIG_H
#define MINIMAL_RIG_H

#include "test/conformance/harness.h"

struct rig {
	struct ct_ia ia, ib;
	struct ct_end a, b; /* a connects to b */
	DAT_EVD_HANDLE cr;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

/* To be called first in main: makes the dat.conf and names the adapter. */
void rig_main(void);

/* cmocka set-up and tear-down: *state is a struct rig; closing is abrupt. */
int rig_setup(void **state);
int rig_teardown(void **state);
/* With the two ends connected. */
int rig_setup_connected(void **state);

/* Makes an end whose receives, requests and connection events share one EVD. */
void rig_merged_end(struct ct_end *end, DAT_IA_HANDLE ia, const DAT_EP_ATTR *attr);

/* Starts to connect a to the service point. */
void rig_connect(struct rig *rig, DAT_TIMEOUT timeout);
/* Takes the next request. */
DAT_CR_HANDLE rig_take_cr(struct rig *rig);
/* Connects a to b. */
void rig_establish(struct rig *rig);
/* Takes the next event of an end's connect EVD. */
void rig_conn_event(struct ct_end *end, DAT_EVENT_NUMBER number);

#define RIG_TEST(f)	  cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)
#define RIG_CONNECTED(f)  cmocka_unit_test_setup_teardown(f, rig_setup_connected, rig_teardown)
#define RIG_NUM_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
