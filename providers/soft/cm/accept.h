/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The passive side of setting up. On the loop but for accept and reject. */
#ifndef SOFT_ACCEPT_H
#define SOFT_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl/transport.h"

struct soft_conn;
struct soft_dev;
struct soft_link;
struct soft_listener;

/* Has the oldest go if there are too many whose request is awaited. false: there still are. */
bool soft_accept_room(struct soft_dev *dev);
/* A peer has connected; its request is awaited. Takes the link. */
void soft_accept_link(struct soft_listener *listener, struct soft_link *link);
/*
 * A peer that the program has connected to, whose request is awaited once the listener's message is
 * out. Takes the link. It counts in no budget: only the program makes such ones. 0, -ENOMEM.
 */
int soft_accept_socket(struct soft_listener *listener, struct soft_link *link);
/*
 * A peer whose request arrived elsewhere: hands it to the listener. Takes the descriptors, which
 * are those of a link's class, unless it fails: -ENOMEM, -EPROTO.
 */
int soft_accept_adopt(struct soft_listener *listener, const int *fds, int num, const uint8_t *frame,
		      size_t len);
/* Ends those whose request is awaited. */
void soft_accept_stop(struct soft_listener *listener);

int soft_accept(struct tp_conn *conn, struct tp_qp *qp, const void *private_data, uint32_t len,
		void *owner);
int soft_reject(struct tp_conn *conn, const void *private_data, uint32_t len);

/* The first FPDU is here. */
void soft_accept_confirmed(struct soft_conn *conn);
/* Tells the core of all accepts that peers have confirmed by now. */
void soft_accept_confirm_all(struct soft_dev *dev);

#endif
