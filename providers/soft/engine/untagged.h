/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What arrives in order on a queue: Sends and immediates, which take Receives, and messages of one
 * segment. Lock held.
 */
#ifndef SOFT_UNTAGGED_H
#define SOFT_UNTAGGED_H

#include <stdbool.h>
#include <stdint.h>

struct soft_conn;

/* Start the payload of an FPDU: 1, 0 if it has to wait, -1 on a fault. */
int soft_untagged_begin(struct soft_conn *conn);
/* The FPDU is complete. A Send's: false on a fault. */
bool soft_untagged_done_send(struct soft_conn *conn);
void soft_untagged_done_immediate(struct soft_conn *conn);
void soft_untagged_done_held(struct soft_conn *conn);
/* Hands held messages to Receives that were posted since. false on a fault. */
bool soft_untagged_replay(struct soft_conn *conn);

#endif
