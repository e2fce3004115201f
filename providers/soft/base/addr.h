/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses: found, compared and written out. Every room may include it. */
#ifndef SOFT_ADDR_H
#define SOFT_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Finds the address that the parameters of an entry name (addr.c). */
int soft_addr_resolve(const char *ia_name, const char *params, struct sockaddr_storage *addr);
/* Whether an address is this host's: only then can it be bound. 0 or a negative errno. */
int soft_addr_bindable(const struct sockaddr_storage *addr);
/* Whether both are addresses of this host, so that what goes from one to the other stays on it. */
bool soft_addr_same_host(const struct sockaddr_storage *own, const struct sockaddr_storage *other);
/* Copies an AF_INET or AF_INET6 address without its port. */
void soft_addr_copy(struct sockaddr_storage *to, const struct sockaddr *from);
/* Of an AF_INET or AF_INET6 address: its size, and its port in host order. */
socklen_t soft_addr_len(const void *addr);
uint16_t soft_addr_port(const struct sockaddr_storage *addr);
void soft_addr_set_port(struct sockaddr_storage *addr, uint16_t port);
/* Whether both are the same, port included. */
bool soft_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Text of an address and a qualifier, for messages. Returns buf. */
enum {
	SOFT_ADDR_TEXT = 64
};
const char *soft_addr_text(const void *addr, uint64_t qual, char buf[SOFT_ADDR_TEXT]);

#endif
