/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * More than is kept for Receives waits at an endpoint, whose peer has ended and is gone (EP-98).
 * What comes bit by bit leaves the window of TCP small, so that the end does not get through.
 */
#include "test/model/kept.h"

#define SEND_ONE                              \
	{ STEP_SEND, { 0, 13000, 0, 0, 1 } }, \
	{                                     \
		STEP_SETTLE,                  \
		{                             \
			0                     \
		}                             \
	}
#define SEND_FIVE SEND_ONE, SEND_ONE, SEND_ONE, SEND_ONE, SEND_ONE

static const struct step program[] = {
	{ STEP_EVD_CREATE, { 0, 1024 } },
	{ STEP_SP_CREATE, { 0, 0 } },
	{ STEP_EP_CREATE, { 0, 0, 0, 0, 64, 0 } },
	{ STEP_EP_CREATE, { 1, 0, 0, 0, 64, 0 } },
	{ STEP_CONNECT, { 0, 0, 0 } },
	{ STEP_SETTLE, { 0 } },
	{ STEP_ACCEPT, { 0, 1 } },
	{ STEP_SETTLE, { 0 } },
	SEND_FIVE,
	SEND_FIVE,
	SEND_FIVE,
	SEND_FIVE,
	{ STEP_SEND, { 0, 131072, 0, 0, 9 } },
	{ STEP_DISCONNECT, { 0, 1 } },
	{ STEP_SETTLE, { 0 } },
	{ STEP_EP_FREE, { 0 } },
	{ STEP_SETTLE, { 0 } },
};

KEPT(program, 1, 0, 0)
