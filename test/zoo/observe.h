/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a program sees of a verbs device, a line for each fact: name, tab, value. */
#ifndef ZOO_OBSERVE_H
#define ZOO_OBSERVE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

void tell(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "yes" or the name of the errno that a call ended with. */
void tell_errno(const char *name, int err);

/* An IPv4 address, or the GID of an InfiniBand port (AF_IB), with this port. Ends the program if it
 * is neither. */
struct sockaddr_storage address_of(const char *text, uint16_t port);

/* observe_cm.c: connections over the address's device. What happens with silent, an address that
 * nobody answers at, takes the time of a timeout; NULL: it is left out. */
void observe_connections(const char *address, const char *silent);

#endif
