/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses: of peers, and those that an entry of dat.conf may mean. */
#ifndef VERBS_ADDR_H
#define VERBS_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

void vrb_addr_set_port(struct sockaddr_storage *addr, uint16_t port);
/* Without its port; of AF_IB the GID, as an IPv6 address. */
void vrb_addr_copy(struct sockaddr_storage *to, const struct sockaddr *from);

/* "address port" for messages. */
#define VRB_ADDR_TEXT 64
const char *vrb_addr_text(const struct sockaddr_storage *addr, char text[VRB_ADDR_TEXT]);

/* What an entry means, in field 7: "interface-or-address-or-host 0" or "verbs-device port". The
 * first of the addresses that lies on a suitable device is it. */
struct vrb_wanted {
	char what[256];
	uint8_t port; /* of a verbs device; 0: any */
	bool by_device;
	uint32_t num;
	struct sockaddr_storage *addr;
};

/* Field 7: a name, and a number behind it (CM-9), or 0. 0, or -EINVAL for a text that is none. */
int vrb_addr_split(const char *params, char *name, size_t size, uint8_t *port);
/* The same of what is wanted. */
int vrb_addr_parse(const char *params, struct vrb_wanted *wanted);
/* The addresses are the caller's to free, also of a failure. */
int vrb_addr_list(struct vrb_wanted *wanted);
/* The interface that has it; empty: none has. */
void vrb_addr_interface(const struct sockaddr_storage *addr, char *name, size_t size);
/* One more. 0 or -ENOMEM. */
int vrb_addr_add(struct vrb_wanted *wanted, const struct sockaddr *addr);
/* Why there really is nothing: rc, or the lack of descriptors that is behind it. */
int vrb_addr_errno(int rc);

#endif
