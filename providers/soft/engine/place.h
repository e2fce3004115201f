/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Placement of an FPDU's payload. Lock held. */
#ifndef SOFT_PLACE_H
#define SOFT_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct soft_conn;

/* Where the FPDU's payload from pos on goes: fills iov with at most len bytes; number, or -1 on a
 * fault. */
int soft_place_iov(struct soft_conn *conn, uint32_t pos, uint32_t len, struct iovec *iov, int max);
/* Where it goes is gone. */
void soft_place_fault(struct soft_conn *conn);
/* Starts an FPDU's payload: 1, 0 if it has to wait, -1 on a fault. */
int soft_place_begin(struct soft_conn *conn);
/* Copies the next len bytes to their place; false on a fault. */
bool soft_place_copy(struct soft_conn *conn, const uint8_t *src, uint32_t len);
/* The FPDU is complete and right: delivers what it ends. false on a fault. */
bool soft_place_done(struct soft_conn *conn);

#endif
