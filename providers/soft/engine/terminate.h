/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The last bytes of a connection, and the peer's Terminate. Lock held. */
#ifndef SOFT_TERMINATE_H
#define SOFT_TERMINATE_H

#include <stddef.h>
#include <stdint.h>

struct soft_conn;

/*
 * The bytes that must follow for the peer to see whole FPDUs only: the rest of one that was sent in
 * part, and after it the Terminate of conn->fault, if any, in *out (malloced); NULL if there are
 * none, or they cannot be had.
 */
void soft_terminate_rest(struct soft_conn *conn, uint8_t **out, size_t *len);
/* One has come: it ends the connection. */
void soft_terminate_arrived(struct soft_conn *conn);

#endif
