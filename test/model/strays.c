/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of endpoints that are gone come to both sides at once: each rejects its own (CR-2). */
#include "test/model/kept.h"

static const struct step program[] = {
	{ STEP_EVD_CREATE, { 0, 300 } },
	{ STEP_EVD_CREATE, { 1, 300 } },
	{ STEP_EVD_CREATE, { 2, 300 } },
	{ STEP_EVD_CREATE, { 3, 300 } },
	{ STEP_SP_CREATE, { 0, 0 } },
	{ STEP_SP_CREATE, { 1, 1 } },
	{ STEP_EP_CREATE, { 2, 2, 2, 2, 16, 0 } },
	{ STEP_EP_CREATE, { 3, 3, 3, 3, 16, 0 } },
	{ STEP_CONNECT, { 2, 1, 0 } },
	{ STEP_PAUSE, { 50 } },
	{ STEP_CONNECT, { 3, 0, 0 } },
	{ STEP_PAUSE, { 150 } },
	{ STEP_EP_FREE, { 2 } },
	{ STEP_EP_FREE, { 3 } },
	{ STEP_PAUSE, { 50 } },
	{ STEP_POLL, { 2, 10 } },
	{ STEP_POLL, { 3, 10 } },
	{ STEP_PAUSE, { 50 } },
	{ STEP_POLL, { 0, 10 } },
	{ STEP_POLL, { 1, 10 } },
	{ STEP_SETTLE, { 0 } },
};

KEPT(program, 2, 0, 3)
