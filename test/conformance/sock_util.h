/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* TCP sockets of a program, and peers that speak MPA by hand (RFC 5044 section 7.1). */
#ifndef SOCK_UTIL_H
#define SOCK_UTIL_H

#include "conn_util.h"

#include <sys/socket.h>

#include <dat2/dat_iw_extensions.h>

/* Two ends of a TCP connection over loopback. */
struct so_pair {
	int a, p;
};

struct so_pair so_connect(void);
/* Ditto, of a family. The first is -1 where the host has none. */
struct so_pair so_connect_family(sa_family_t family);
void so_close(struct so_pair *pair);
/* The port of an end, or of its peer. */
uint16_t so_port(int fd);
uint16_t so_peer_port(int fd);

/* All of it, within CT_MS. */
void so_put(int fd, const void *data, size_t len);
void so_get(int fd, void *data, size_t len);
/* Within CT_MS the other side ends or resets; bytes before that are skipped. */
void so_ended(int fd);
/* The connection still carries bytes both ways, and none are in it. */
void so_usable(struct so_pair *pair);

enum {
	SO_MPA_CRC = 0x40,
	SO_MPA_REJECT = 0x20,
};

/* A start-up frame of revision 1. */
void so_put_frame(int fd, bool reply, uint8_t flags, const void *data, uint16_t len);
/* Takes one; its flags. *len is the room in data, and becomes the length. */
uint8_t so_get_frame(int fd, bool reply, void *data, uint16_t *len);
/* A Send of one segment without CRC; len: a multiple of 4. */
void so_put_send(int fd, uint32_t msn, const void *data, uint16_t len);

/* Whether the adapter has socket service points (IWX-2). */
bool so_there(DAT_IA_HANDLE ia);
/* Ends a test where it has none. */
#define SO_NEED(rig)                                                              \
	do {                                                                      \
		if (!so_there((rig)->ia))                                         \
			harness_skip("the adapter has no socket service points"); \
	} while (0)

/* An SSP on the passive endpoint and a socket, without a message. */
DAT_IW_SSP_HANDLE so_ssp(struct cu_rig *rig, int fd);
DAT_IW_SSP_STATE so_state(DAT_IW_SSP_HANDLE ssp);
/* Takes the SSP's request. */
DAT_CR_HANDLE so_request(struct cu_rig *rig, DAT_IW_SSP_HANDLE ssp);
/* Connects the rig's ends over a new pair, whose descriptors are closed at once. */
void so_establish(struct cu_rig *rig, DAT_IW_SSP_HANDLE *ssp);

#endif
