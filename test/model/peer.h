/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The other process: makes the calls of side 1 that it is sent, and stands still when told to. */
#ifndef PEER_H
#define PEER_H

#include "test/model/exec.h"

struct peer;

/* Starts it, in a process that has not used the library yet. Null: it could not open. */
struct peer *peer_start(const char *ia_name, uint8_t *arena, struct exec_facts *facts);
/* false: it did not answer within the time. A peer that stands still goes on first, in time. */
bool peer_call(struct peer *peer, const struct call *call, struct result *result);
void peer_stop(struct peer *peer, unsigned int ms);
/* Goes on if its time is over; whether it stands still. */
bool peer_stopped(struct peer *peer);
/* The result of exec_close there. */
uint32_t peer_close(struct peer *peer);

uint64_t now_ms(void);

#endif
