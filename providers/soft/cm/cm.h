/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Setting connections up. */
#ifndef SOFT_CM_H
#define SOFT_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl/transport.h"

struct soft_conn;
struct soft_dev;
struct soft_link;
struct soft_listener;

/* The loop's part of set-up; also called when the link is ready (cm.c). */
void soft_cm_ready(struct soft_link *link, uint32_t events);
void soft_cm_expired(struct soft_link *link);
/* Has the oldest go if there are too many whose request is awaited. false: there still are. */
bool soft_cm_room(struct soft_dev *dev);
/* A peer has connected; its request is awaited. Takes the link. */
void soft_cm_half_open(struct soft_listener *listener, struct soft_link *link);
/*
 * A peer whose request arrived elsewhere: hands it to the listener. Takes the descriptors, which
 * are those of a link's class, unless it fails: -ENOMEM, -EPROTO. On the loop.
 */
int soft_cm_adopt(struct soft_listener *listener, const int *fds, int num, const uint8_t *frame,
		  size_t len);
/* The passive side's wait for the first FPDU is over. */
void soft_cm_established(struct soft_conn *conn);
/* What peers have confirmed by now is told. */
void soft_cm_confirm(struct soft_dev *dev);

extern const struct dapl_cm_ops soft_cm_ops;

#endif
